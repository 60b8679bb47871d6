"""Boards with faults put in: the verdict names exactly those, with kind and place.

Boards are made at random: pads with holes on a lattice, tracks between them, a zone around some. The print is
what the drawing with its faults gives, blurred by the spot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shapely
from exposures import STILL, exposure
from shapes import minus, plus

from laserpath import Settings, Spot, plan, profiles
from laserpath.design.board import BoardExposure, load_board
from laserpath.design.scene import Scene
from laserpath.machine.powers import energies
from laserpath.measure import edge_errors, inspect
from laserpath.physics.dose import accurate_model
from laserpath.report.wording import kinds
from laserpath.types import Design, EnergyPath, Pads, Point, Process
from laserpath.types.results import Fault, Inspection, Measurement

SAMPLES = Path(__file__).parents[2] / "samples"
PROCESS = Process()
FWHM = PROCESS.spot.fwhm

STEP, PAD, HOLE, TRACK, CLEAR = 1.6, 0.9, 0.4, 0.25, 0.2
"""mm: pitch of the lattice, diameters of pads and holes, widths of tracks and of gaps around a zone."""
COLUMNS, ROWS = 7, 5
NOTHING = shapely.Polygon()
SPIRAL = [(7 + 0.04 * t * math.cos(2 * t), 4 + 0.04 * t * math.sin(2 * t)) for t in np.linspace(0, 7, 60)]
"""mm, over a hole of the sample board."""


@dataclass(frozen=True)
class Board:
    """pads: their middles.  nets: of each, its name.  copper: without holes.

    tracks: (n, 2, 2) both ends of each that no zone covers.
    """

    pads: np.ndarray
    nets: tuple[str, ...]
    tracks: np.ndarray
    copper: shapely.MultiPolygon

    @property
    def design(self) -> Design:
        areas = shapely.MultiPolygon(discs(self.pads, PAD))
        pins = tuple(f"P{k}" for k in range(len(self.pads)))
        return Design(self.copper, "board", pads=Pads(areas, pins, self.nets))


def discs(points: np.ndarray, diameter: float) -> list[shapely.Geometry]:
    return list(shapely.buffer(shapely.points(points), diameter / 2, quad_segs=16))


def board(rng: np.random.Generator) -> Board:
    """Nets of a few pads each; most points of the lattice have a pad."""
    places = np.stack(np.meshgrid(np.arange(COLUMNS), np.arange(ROWS)), axis=-1).reshape(-1, 2)
    net, tracks = np.arange(len(places)), []
    pairs = [(a, b) for a in range(len(places)) for b in range(a) if np.abs(places[a] - places[b]).sum() == 1]
    for a, b in rng.permutation(pairs):
        together = np.isin(net, (net[a], net[b]))
        if net[a] != net[b] and together.sum() <= 5 and rng.random() < 0.7:
            net[together] = net[a]
            tracks.append((a, b))
    ends = np.array(tracks)
    used = np.bincount(ends.ravel(), minlength=len(places))
    has_pad = (used < 2) | (rng.random(len(places)) < 0.5)
    xy = places * STEP
    lines = [shapely.LineString(xy[pair]).buffer(TRACK / 2) for pair in ends]
    nets = {}
    for number in np.unique(net):
        own = [line for line, (a, _) in zip(lines, ends, strict=True) if net[a] == number]
        nets[number] = plus(*own, *discs(xy[(net == number) & has_pad], PAD))
    # A zone fills a corner of the board, as part of the net of one pad in it.
    poured = net[rng.choice(np.flatnonzero(places[:, 0] >= 4))]
    zone = shapely.box(3.5 * STEP, -0.5 * STEP, (COLUMNS - 0.5) * STEP, (ROWS - 0.5) * STEP)
    others = plus(*(area for number, area in nets.items() if number != poured))
    copper = plus(others, nets[poured], minus(zone, others.buffer(CLEAR)).buffer(-0.1).buffer(0.1))
    copper = minus(copper, plus(*discs(xy[has_pad], HOLE)))
    free = xy[ends[net[ends[:, 0]] != poured]]
    names = tuple(f"N{number}" for number in net[has_pad])
    return Board(xy[has_pad], names, free, shapely.MultiPolygon(shapely.get_parts(copper).tolist()))


@dataclass(frozen=True)
class Damage:
    """A fault to put into a board. place: mm.  less, more: what is not exposed, and what is in addition."""

    kind: str
    place: Point
    less: shapely.Geometry = NOTHING
    more: shapely.Geometry = NOTHING


def cut(made: Board, rng: np.random.Generator) -> Damage:
    a, b = made.tracks[rng.integers(len(made.tracks))]
    at = a + rng.uniform(0.4, 0.6) * (b - a)
    along = (b - a) / np.hypot(*(b - a)) * rng.uniform(0.1, 0.2)
    gap = shapely.LineString([at - along, at + along]).buffer(TRACK, cap_style="flat")
    return Damage("cut", tuple(at), less=gap)


def bridge(made: Board, rng: np.random.Generator) -> Damage:
    parts = shapely.get_parts(made.copper)
    while True:
        a, b = rng.choice(len(parts), 2, replace=False)
        line = shapely.shortest_line(parts[a], parts[b])
        wire = line.buffer(rng.uniform(0.06, 0.15))
        if line.length < STEP and len(shapely.STRtree(parts).query(wire, predicate="intersects")) == 2:
            return Damage("joined", line.centroid.coords[0], more=wire)


def hole(made: Board, rng: np.random.Generator) -> Damage:
    at = made.pads[rng.integers(len(made.pads))]
    return Damage("filled", tuple(at), more=discs(at[None], HOLE + 0.05)[0])


def pad(made: Board, rng: np.random.Generator) -> Damage:
    at = made.pads[rng.integers(len(made.pads))]
    return Damage("pad", tuple(at), less=discs(at[None], PAD + 0.02)[0])


def damages(made: Board, rng: np.random.Generator) -> list[Damage]:
    """One to four faults, apart from each other."""
    some: list[Damage] = []
    wanted = rng.choice([cut, bridge, hole, pad], rng.integers(1, 5), replace=False)
    while len(some) < len(wanted):
        one = wanted[len(some)](made, rng)
        if all(math.dist(one.place, other.place) > STEP for other in some):
            some.append(one)
    return some


def inspected(made: Design, lit: shapely.Geometry) -> Inspection:
    """What is wrong where `lit` is exposed."""
    exposed = exposure(made, PROCESS, lit=Design(shapely.MultiPolygon(shapely.get_parts(lit).tolist())))
    return inspect(exposed, Scene(made, exposed.grid, PROCESS.spot, PROCESS.resin))


def names(made: Board, one: Damage) -> str:
    """What is said about the pad or the nets that a fault concerns."""
    if one.kind in ("pad", "filled"):
        k = int(np.argmin(np.hypot(*(made.pads - one.place).T)))
        return f"P{k} of net {made.nets[k]}"
    parts = [part for part in made.copper.geoms if part.intersects(plus(one.less, one.more))]
    pads = [shapely.Point(xy).buffer(PAD / 2) for xy in made.pads]
    nets = [{net for pad, net in zip(pads, made.nets, strict=True) if pad.intersects(part)} for part in parts]
    every = sorted({net for some in nets for net in some})
    return f"of net{'s' * (len(every) > 1)} {' and '.join(every)}" if every else ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_the_verdict_names_exactly_the_faults_of_a_board(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = board(rng)
    put = damages(made, rng)
    lit = minus(plus(made.copper, *(one.more for one in put)), *(one.less for one in put))
    found = inspected(made.design, lit)
    assert found.flaws == ()
    assert sorted(one.kind for one in found.faults) == sorted(one.kind for one in put)
    for one in put:
        (seen,) = (fault for fault in found.faults if fault.kind == one.kind)
        assert math.dist(seen.at, one.place) < 0.3 * FWHM
        assert seen.net == names(made, one)
    whole = inspected(made.design, made.copper)
    assert (whole.faults, whole.flaws) == ((), ())


@pytest.mark.parametrize(("share", "kind"), [(0.6, "pad"), (0.4, "bite")])
def test_a_pad_of_which_half_is_missing_is_lost(share: float, kind: str) -> None:
    """Also one in a zone, where no track is cut."""
    zone, hole = shapely.box(0, 0, 3, 3), shapely.Point(1.5, 1.5).buffer(HOLE / 2)
    area = shapely.MultiPolygon([minus(zone, hole)])
    made = Design(area, "zone", pads=Pads(shapely.MultiPolygon([shapely.box(1, 1, 2, 2)]), ("U1.3",), ("",)))
    lit = minus(area, shapely.box(1, 1, 1 + share, 2))
    found = inspected(made, lit)
    assert [one.kind for one in (*found.faults, *found.flaws)] == [kind]


def test_a_fault_of_a_board_is_named_as_one_of_a_board() -> None:
    at, net = (1.0, 2.0), "of net GND"
    found = [
        Fault("cut", at, 0.3, 0.01, net=net),
        Fault("joined", at, 0.2, 0.01, net="of nets GND and VCC"),
        Fault("filled", at, 0.4, 0.1, net=""),
        Fault("pad", at, 0.9, 0.6, net="R1.2 of net GND"),
    ]
    assert kinds(found, FWHM) == (
        "1 track cut, 0.30 mm at (1.000, 2.000), of net GND",
        "1 bridge between nets, 0.20 mm at (1.000, 2.000), of nets GND and VCC",
        "1 hole closed, 0.40 mm at (1.000, 2.000)",
        "1 pad lost, 0.90 mm at (1.000, 2.000), R1.2 of net GND",
    )
    assert kinds([replace(found[0], net=None)], FWHM) == ("1 cut through a part, 0.30 mm at (1.000, 2.000)",)


@cache
def planned() -> tuple[Scene, EnergyPath]:
    """The front of the sample board, two pads with a track and one track more, and its path as executed."""
    front, _ = load_board([SAMPLES / "board"], tolerance=0.002).designs(BoardExposure(drill_clear=0.0))
    process = Process(Spot(fwhm=FWHM), profiles.resin("generic-405"), profiles.machine("grbl-diode-405"))
    made = plan(front, process, Settings(iterations=40, report="brief", origin="own"))
    scene = Scene(made.design, made.report.executed.grid, process.spot, process.resin)
    return scene, energies(made.shipped.executed, process.spot)


def dark(path: EnergyPath, where: shapely.Geometry) -> EnergyPath:
    """The path without the light that it leaves there, to a hundredth of a millimetre."""
    count = np.maximum(1, np.ceil(path.length / 0.01)).astype(int)
    move = np.repeat(np.arange(len(path)), count)
    share = (np.arange(len(move)) - np.repeat(np.cumsum(count) - count, count)) / count[move]
    xy = np.vstack([path.xy[move] + share[:, None] * np.diff(path.xy, axis=0)[move], path.xy[-1:]])
    middle = (xy[1:] + xy[:-1]) / 2
    energy = np.where(shapely.contains_xy(where, middle), 0.0, path.energy[move])
    return EnergyPath(xy, energy, path.speed[move])


def lit_too(path: EnergyPath, *line: Point) -> EnergyPath:
    """The path with a line more, as strong as its strongest one."""
    xy = np.vstack([path.xy, line])
    energy = np.concatenate([path.energy, [0.0], np.full(len(line) - 1, path.energy.max())])
    return EnergyPath(xy, energy, np.append(path.speed, np.full(len(line), path.speed[-1])))


PROGRAMS = {
    "as planned": (lambda path: path, None, (0, 0)),
    "a track is cut": (lambda path: dark(path, shapely.box(4.3, 1.5, 4.6, 2.5)), "cut", (4.45, 2)),
    "a bridge": (lambda path: lit_too(path, (2, 2), (2, 5)), "joined", (2, 3.6)),
    "a hole is closed": (lambda path: lit_too(path, *SPIRAL), "filled", (7, 4)),
    "a pad is lost": (lambda path: dark(path, shapely.Point(7, 4).buffer(0.52)), "pad", (7, 4)),
}


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_fault_of_a_program_is_named(name: str) -> None:
    """Light that a planned program leaves out, or has in addition, as the controller executes it."""
    scene, path = planned()
    spoil, kind, place = PROGRAMS[name]
    spoilt = spoil(path)
    dose = accurate_model(scene.grid, scene.spot).line_dose(spoilt.xy, spoilt.energy)
    exposed = Measurement(None, STILL, scene.grid, dose, edge_errors(dose, scene))  # type: ignore[arg-type]
    found = inspect(exposed, scene).faults
    assert [one.kind for one in found] == [kind] * bool(kind)
    assert all(math.dist(one.at, place) < 1.5 * FWHM for one in found)

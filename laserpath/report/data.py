"""The records that a page is made from: an exposed program, its track, its dose, its worst places, its text.

A **raster** of the dose ÷ critical dose is interpolated by cubic splines, which is accurate enough at the 3
and more pixels per FWHM of a grid. `measure.cured_fraction` and `design.target.rasterise` give the fractions
of each pixel that are cured, c, and drawn, w: min(c, w) of it is right, max(c − w, 0) overcured and
max(w − c, 0) undercured. Its colour is the mixture, so that the picture shows the areas of the table.

A **track** is the position and power of the laser over time, as the controller executes the path. It is a
list of knots (t, x, y). Between two knots the spot moves straight and at constant speed: these are the pieces
of `gcode.motion` with the lag of mirrors and laser. If there are more pieces than a page can hold, every
second inner knot is dropped, repeatedly, where that moves the spot at the knot's time by no more than a
tolerance, and the powers of both pieces agree within another; both tolerances double when that is not enough.
The remaining knots keep their exact time and place, and a merged piece has the energy of its parts.

A **place** is where the print differs from the design: a connected run of contour samples whose |EPE| is in
the worst twentieth and above `FLOOR_FWHM`, or that have no edge at all. Samples less than `_LINK` FWHM apart
are connected, so that both sides of a slit that filled in are one place. Its coordinates and EPE are those of
its worst sample.

Where the edge as commanded is less than half as wrong, the controller is the reason: it brakes, and its
power does not follow exactly. Otherwise the design gives the reason: the width of the feature
(where the print stays inside) or of the gap (where it goes outside) along the normals of the place's
samples, and whether a corner is near. A feature or gap narrower than the spot comes first, because it
explains the error of a corner too.

A feature or gap far narrower than the spot is the reason even where it is right as commanded. Across a
width w the dose bends by about w²/8 · D″. With D″ ≈ 9 critical doses per FWHM², as the largest dose allows,
that is 7 % at w = FWHM/4 and 0.3 % at FWHM/20, which no machine's levels and steps keep everywhere.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol
from urllib.parse import quote

import numpy as np
import shapely
from PIL import Image
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import gcode
from laserpath.base.arrays import Bools, Floats, block_means
from laserpath.base.overlay import clipped, crossings
from laserpath.design.scene import Scene
from laserpath.design.target import rasterise
from laserpath.machine import convert
from laserpath.machine.program import lagged
from laserpath.measure import cured_fraction, inspect
from laserpath.measure.exposure import Lost, lost_in_motion
from laserpath.measure.inspection import finer
from laserpath.physics import optics
from laserpath.report.canvas import OVER, PAPER, RIGHT, SHARPEST, UNDER, Box, Pixels
from laserpath.report.wording import kind_of, number
from laserpath.types import Design, Grid, Machine, Point, Process, Settings, Toolpath
from laserpath.types.results import Edges, Inspection, Report, Sensitivity

_FINEST = 1 / 200
"""First tolerance of position, in FWHM of the spot. A larger one drops more knots at once."""
_POWERS = 1 / 255
"""First tolerance of power, as a share of full power. A larger one merges more pieces at once."""
_ROUNDS, _PASSES = 12, 6
"""Tolerances, each twice the one before, and passes with each. More of them thin a long track further."""


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """t: (N+1,) s, rising from 0.  xy: (N+1, 2) mm.  power: (N,) mW.  off: largest shift of xy, mm."""

    t: Floats
    xy: Floats
    power: Floats
    off: float = 0.0

    def __len__(self) -> int:
        return len(self.power)

    @property
    def on(self) -> Bools:
        """(N,) whether the laser is on."""
        return self.power > 0

    @property
    def speed(self) -> Floats:
        """(N,) mm/s, as executed."""
        length = np.hypot(*np.diff(self.xy, axis=0).T)
        return length / np.diff(self.t)


def track(run: gcode.motion.Executed, machine: Machine) -> Track:
    """Position and power of the spot during a run."""
    moves = lagged(run, machine)
    t = np.concatenate([[0.0], np.cumsum(moves.duration)])
    # A piece may be so short that adding its duration does not change the time.
    kept = np.diff(t) > 0
    ends = np.concatenate([[True], kept])
    return Track(t[ends], moves.xy[ends], moves.power[kept] * machine.power_max)


def thinned(whole: Track, most: int, fwhm: float, power_max: float) -> Track:
    """The track with about `most` pieces at most, or with as few as the last tolerance allows."""
    thin, place, power = whole, _FINEST * fwhm, 0.0
    for _ in range(_ROUNDS):
        if len(thin) <= most:
            break
        for _ in range(_PASSES):
            before = len(thin)
            thin = _halved(thin, place / _PASSES, power)
            if len(thin) in (before, most):
                break
        place, power = 2 * place, max(2 * power, _POWERS * power_max)
    return thin


def _halved(whole: Track, tolerance: float, power: float) -> Track:
    """The track without those of every second inner knot that the tolerances allow to drop."""
    t, xy = whole.t, whole.xy
    inner = np.arange(1, len(whole), 2)
    part = ((t[inner] - t[inner - 1]) / (t[inner + 1] - t[inner - 1]))[:, None]
    moved = np.hypot(*(xy[inner - 1] * (1 - part) + xy[inner + 1] * part - xy[inner]).T)
    before, after = whole.power[inner - 1], whole.power[inner]
    alike = (np.abs(after - before) <= power) & ((before > 0) == (after > 0))
    dropped = inner[(moved <= tolerance) & alike]
    if not len(dropped):
        return whole
    kept = np.ones(len(t), dtype=bool)
    kept[dropped] = False
    energy = np.add.reduceat(whole.power * np.diff(t), np.flatnonzero(kept[:-1]))
    off = whole.off + float(moved[np.isin(inner, dropped)].max())
    return Track(t[kept], xy[kept], energy / np.diff(t[kept]), off)


_STRIP = 1 << 20
"""Pixels of a picture that are worked on at a time: more take more memory, fewer take longer."""

_FINER = 6
"""Largest factor by which pixels are made smaller. A larger one smooths edges and takes longer to draw."""


@dataclass(frozen=True, slots=True)
class DoseRaster:
    """dose: (rows, columns) mJ/mm² on `grid`; it may be a view.  critical_dose: mJ/mm²."""

    grid: Grid
    dose: Floats
    critical_dose: float

    @property
    def extent(self) -> Box:
        """(x0, x1, y0, y1), mm."""
        return self.grid.extent


class HasDose(Protocol):
    """Anything with a dose on a grid: a measurement, an unconstrained optimum, an exposed program."""

    @property
    def grid(self) -> Grid:
        """The grid of the dose."""

    @property
    def dose(self) -> Floats:
        """(rows, columns) mJ/mm²."""


def window(exposure: HasDose, box: Box, critical_dose: float, pixels: int) -> DoseRaster:
    """The dose in `box`, with about `pixels` or more along its longer side."""
    grid = exposure.grid
    rows, columns = grid.shape
    c0, r0 = np.clip(np.floor(grid.to_pixels(box[:2])).astype(int), 0, (columns - 2, rows - 2))
    c1, r1 = np.clip(np.ceil(grid.to_pixels(box[2:])).astype(int) + 1, (c0 + 2, r0 + 2), (columns, rows))
    part = grid.part(slice(r0, r1), slice(c0, c1))
    times = min(_FINER, math.ceil(pixels / max(part.shape)))
    return DoseRaster(*finer(part, exposure.dose[r0:r1, c0:c1], times), critical_dose)


def coarser(field: DoseRaster) -> DoseRaster:
    """A raster of no more pixels than a page shows: the mean doses of squares of pixels."""
    grid, (rows, columns) = field.grid, field.grid.shape
    times = math.ceil(max(rows, columns) / SHARPEST)
    if times < 2:
        return field
    shape = rows // times, columns // times
    dose = np.empty(shape)
    for some in strips(grid.part(slice(times * shape[0]), slice(times * shape[1])), times):
        means = block_means(field.dose[some, : times * shape[1]], times)
        dose[some.start // times : some.stop // times] = means
    (x, y), middle = grid.origin, grid.pitch * (times - 1) / 2
    return DoseRaster(Grid((x + middle, y + middle), times * grid.pitch, shape), dose, field.critical_dose)


def coverage(design: Design, grid: Grid) -> Floats:
    """(rows, columns) fraction of each pixel that is drawn; the design may reach outside the grid."""
    x0, x1, y0, y1 = grid.extent
    inset = grid.pitch * 1e-6
    area = clipped(design.area, x0 + inset, y0 + inset, x1 - inset, y1 - inset)
    parts = [g for g in shapely.get_parts(shapely.make_valid(area)) if g.area > 0]
    polygons = [g for part in parts for g in shapely.get_parts(part) if g.geom_type == "Polygon"]
    if not polygons:
        return np.zeros(grid.shape)
    return rasterise(Design(shapely.MultiPolygon(polygons)), grid).coverage


_MIXED = np.array(
    [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (RIGHT, OVER, UNDER, PAPER)], np.float32
)
"""(4, 3) colours 0..255 of what is right, overcured, undercured, and neither cured nor drawn."""


def cure_picture(field: DoseRaster, design: Design | None) -> tuple[Pixels, Box]:
    """(rows, columns, 3) colour 0..255: right, overcured and undercured shares of each pixel; and its extent.

    Without a design everything that cures is right. Of more pixels than a page shows squares are averaged.
    """
    block = math.ceil(max(field.grid.shape) / SHARPEST)
    rows, columns = (block * (n // block) for n in field.grid.shape)
    image = np.empty((rows // block, columns // block, 3), np.uint8)
    grid = field.grid.part(slice(rows), slice(columns))
    for some in strips(grid, block):
        colours = Image.fromarray(_cured_rows(field, design, some)[:, :columns])
        image[some.start // block : some.stop // block] = np.asarray(colours.reduce(block))
    return image, grid.extent


def strips(grid: Grid, block: int = 1) -> Iterator[slice]:
    """Rows of a grid, a multiple of `block` at a time: a picture of all takes 60 bytes a pixel meanwhile."""
    count = block * max(1, _STRIP // grid.shape[1] // block)
    for first in range(0, grid.shape[0], count):
        yield slice(first, min(first + count, grid.shape[0]))


def _cured_rows(field: DoseRaster, design: Design | None, rows: slice) -> Pixels:
    """Some rows of `cure_picture`."""
    # How steep a dose is in a row follows from those beside it.
    first, last = max(rows.start - 1, 0), min(rows.stop + 1, field.grid.shape[0])
    own = slice(rows.start - first, rows.stop - first)
    cured = cured_fraction(field.dose[first:last], field.critical_dose)[own]
    drawn = cured if design is None else coverage(design, field.grid.part(rows, slice(None)))
    right, either = np.minimum(cured, drawn), np.maximum(cured, drawn)
    shares = [part.astype(np.float32) for part in (right, either - drawn, either - cured, 1 - either)]
    image = np.empty((*right.shape, 3), np.uint8)
    for channel, mixed in enumerate(_MIXED.T):
        # Half a unit more, cut off, is the nearest one.
        image[..., channel] = sum(colour * share for colour, share in zip(mixed, shares, strict=True)) + 0.5
    return image


LISTED = 10
"""Largest number of places listed."""

_MARKED = 5
"""Largest number of faults listed before the places of the contour."""

FLOOR_FWHM = 0.05
"""Smallest |EPE| of a place, in FWHM. A larger floor hides small errors."""

_WORST = 95.0
"""Percentile of |EPE| from which a sample belongs to a place. A higher one makes places shorter."""
_LINK = 0.6
"""Distance, in FWHM, below which two samples are one place."""
_RAY = 3.0
"""Length, in FWHM, of the rays that measure the width of a feature or gap."""
_FAINT_FWHM = 0.25
"""Width of a feature or gap, in FWHM, up to which it is the reason even if it is right as commanded."""
_BLAME = 0.5
"""|EPE| as commanded ÷ as executed, below which the controller is the reason."""
_RAYS = 25
"""Rays per place; more measure its width more reliably and take longer."""
_CORNER = 4.0
"""Length of contour, in FWHM, up to which a corner explains an error."""

_GRAZING = 0.05
"""Width, in FWHM, below which a ray near a corner is taken to graze the edge around the corner."""

REASONS = {
    "feature": "feature {} the spot",
    "gap": "gap {} the spot",
    "corner": "corner sharper than the spot",
    "no edge": "no edge prints near here",
    "motion": "the controller brakes here (right as commanded)",
    "dose": "dose along the edge",
    "lost": "feature lost",
    "filled": "hole closed",
    "closed": "gap closed",
    "cut": "part cut",
    "joined": "parts joined",
    "pad": "pad lost",
    "pinhole": "pinhole in a part",
    "hole": "hole in a part",
    "slit": "slit in a part",
    "speck": "speck beside the parts",
    "bite": "piece missing",
    "blob": "piece too much",
}
"""Kinds of place, in words; the braces take 'narrower than' or 'hardly wider than'.

The last twelve are those of `results.Fault`, where a large pinhole is a hole or a slit.
"""

_TOO_LITTLE = ("lost", "pad", "cut", "pinhole", "bite")


@dataclass(frozen=True, slots=True)
class Place:
    """xy: mm.  normal: outward.  epe: mm, + printed outside the design.  missing: no edge within the cap.

    extent: mm of contour.  kind: key of `REASONS`.  width: mm of the narrow feature or gap, or None.
    spot: its FWHM, mm, if known.
    size: mm, of a fault away from the contour samples; its epe, ± half the size, then has no meaning.
    across: width of a long, narrow fault, mm.
    """

    xy: Point
    normal: Point
    epe: float
    missing: bool
    extent: float
    kind: str
    width: float | None = None
    spot: float | None = None
    size: float | None = None
    across: float | None = None

    @property
    def narrower(self) -> bool:
        """Whether the feature or gap is narrower than the spot."""
        return self.width is not None and (self.spot is None or self.width < self.spot)

    @property
    def off(self) -> str:
        """The edge error as text; a lower bound where no edge prints."""
        return f"{'≥ ' * self.missing}{'−' if self.epe < 0 else '+'}{number(1000 * abs(self.epe), 2)} µm"

    @property
    def amount(self) -> str:
        """The size of the fault, or the edge error, as text."""
        if self.size:
            width = "" if self.across is None else f"{number(1000 * self.across, 2)} × "
            return f"{width}{number(1000 * self.size, 2)} µm"
        return "no edge" if self.missing else self.off

    @property
    def cause(self) -> str:
        """The likely reason in a few words, with the width of a narrow feature or gap."""
        reason = REASONS[self.kind].format("narrower than" if self.narrower else "hardly wider than")
        if self.width is None:
            return reason
        # One decimal below 100 µm: a whole 99.7 would read '100 µm', narrower than a spot of 100 µm.
        return f"{reason}, {round(self.width * 1000, 1 if self.width < 0.1 else 0):g} µm wide"

    @property
    def reason(self) -> str:
        """The cause, and whether an edge prints."""
        return self.cause + ("; no edge prints" if self.missing and self.kind != "no edge" else "")


def worst_places(
    edges: Edges, design: Design, fwhm: float, commanded: Edges | None = None
) -> tuple[Place, ...]:
    """At most `LISTED` places of `edges`, the worst first. commanded: the edges as commanded."""
    error = np.abs(edges.epe)
    if not len(error):
        return ()
    least = max(float(np.percentile(error, _WORST)), FLOOR_FWHM * fwhm)
    chosen = np.flatnonzero((error >= least) | edges.missing)
    if not len(chosen):
        return ()
    label = _linked(edges.xy[chosen], _LINK * fwhm)
    order = np.lexsort((chosen, ~edges.missing[chosen], -error[chosen]))
    _, first = np.unique(label[order], return_index=True)
    heads = order[np.sort(first)][:LISTED]
    # Samples are evenly spaced on each ring, and all rings have nearly the same spacing.
    spacing = design.area.length / len(error)
    counts = np.bincount(label)
    places = [
        _place(
            edges, chosen[label == label[h]], int(chosen[h]), spacing * int(counts[label[h]]), design, fwhm
        )
        for h in heads
    ]
    if commanded is None or len(commanded.epe) != len(error):
        return tuple(places)
    right = np.abs(commanded.epe[chosen[heads]]) < _BLAME * error[chosen[heads]]
    braked = (_braked(place, fwhm) for place in places)
    return tuple(b if r else place for place, b, r in zip(places, braked, right, strict=True))


def _braked(place: Place, fwhm: float) -> Place:
    """A place that is right as commanded: the controller is the reason, unless it is too fine for any."""
    if place.width is not None and place.width <= _FAINT_FWHM * fwhm:
        return place
    return replace(place, kind="motion", width=None)


def marked(places: Sequence[Place], inspection: Inspection, fwhm: float) -> tuple[Place, ...]:
    """The places, preceded by the faults that lie at none of them; at most `LISTED`."""
    unseen = [
        Place(one.at, (0.0, 1.0), (-0.5 if one.kind in _TOO_LITTLE else 0.5) * one.size, False, one.size,
              kind_of(one, fwhm), size=one.size, across=one.width)
        for one in (*inspection.faults, *inspection.flaws)
        if all(math.dist(one.at, place.xy) > one.size / 2 + fwhm for place in places)
    ]  # fmt: skip
    return (*unseen[:_MARKED], *places)[:LISTED]


def _linked(xy: Floats, distance: float) -> np.ndarray:
    """(N,) group of each point; points closer than `distance` are in one group."""
    pairs = cKDTree(xy).query_pairs(distance, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(xy), len(xy)))
    return np.asarray(connected_components(graph, directed=False)[1])


def _narrowness(edges: Edges, run: np.ndarray, sign: int, design: Design, longest: float) -> float:
    """Median over a run of samples of the distance to the opposite contour, mm, at most `longest`.

    sign: +1 along the outward normal (the width of a gap), −1 against it (of a feature).
    """
    some = run[:: max(1, len(run) // _RAYS)]
    xy, way = edges.xy[some], sign * edges.normal[some]
    # Rays start a little off the contour, or their first crossing would be the sample itself.
    rays = shapely.linestrings(np.stack([xy + 1e-3 * longest * way, xy + longest * way], axis=1))
    x0, y0, x1, y1 = shapely.total_bounds(rays)
    near = clipped(design.area.boundary, x0 - longest, y0 - longest, x1 + longest, y1 + longest)
    distance = shapely.distance(shapely.points(xy), crossings(rays, near))
    return float(np.median(np.where(np.isfinite(distance), distance, longest)))


def _place(edges: Edges, run: np.ndarray, i: int, extent: float, design: Design, fwhm: float) -> Place:
    """The place of the samples `run`; i: the worst of them."""
    epe, missing = float(edges.epe[i]), bool(edges.missing[i])
    sign = 1 if epe > 0 else -1
    width: float | None = _narrowness(edges, run, sign, design, _RAY * fwhm)
    cornered = edges.corner[i] and extent < _CORNER * fwhm
    grazing = cornered and width is not None and width < _GRAZING * fwhm
    # A width just above the spot's prints as badly as one just below, so that it is a reason too.
    if width is not None and width < 1.05 * fwhm and not grazing:
        kind = "gap" if sign > 0 else "feature"
    else:
        kind, width = "corner" if cornered else "no edge" if missing else "dose", None
    (x, y), (u, v) = edges.xy[i].tolist(), edges.normal[i].tolist()
    return Place((x, y), (u, v), epe, missing, extent, kind, width, fwhm)


_GOOD_FWHM = 0.15
"""Tolerance of the edge, in FWHM, where the user gave none. A larger one lets more plans pass as good."""


@dataclass(frozen=True, slots=True)
class Picture:
    """title: above it.  source: data URI.  text: below it.  alt: for readers who cannot see it."""

    title: str
    source: str
    alt: str
    text: str

    @classmethod
    def from_png(cls, title: str, png: bytes, alt: str, text: str) -> Picture:
        """A PNG file as a picture of the page."""
        return cls(title, "data:image/png;base64," + base64.b64encode(png).decode("ascii"), alt, text)

    @classmethod
    def from_svg(cls, title: str, svg: str, alt: str, text: str) -> Picture:
        """The text of an SVG file as a picture of the page."""
        return cls(title, "data:image/svg+xml," + _NOT_PLAIN.sub(_escaped, svg), alt, text)


_NOT_PLAIN = re.compile(r"""[%#"'<>&\t\r\n]|[^ -~]+""")
"""What may not stand in a data URI between double quotes. Of SVG that is little, mostly numbers: base64
would make it a third longer."""


def _escaped(found: re.Match[str]) -> str:
    """Percent-encoded (RFC 3986)."""
    return quote(found[0], safe="")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table of figures. note: under its title.  figures: as in `Measurement.as_dict`."""

    title: str
    note: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Underlay:
    """What lies under the layers of a board. outline, holes: in the coordinates of the designs' common page.

    backs: names of the designs that are mirrored.  axis: in which direction, `x` or `y`.
    """

    outline: Design
    holes: Design | None
    backs: frozenset[str]
    axis: str


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page that is not derived from its figures.

    name: the heading.  subtitle: below it.  header: comment lines of the program.  project: text of the
    laserpath.toml that plans the program again.  headline: the verdict's first line, where no design is
    compared.  answers: (question, answer), after those of the verdict.  columns: further columns of the table
    of figures.  pictures: further pictures, before those of every page.
    sensitivity: to the machine, if it was computed.  illustrated: with its pictures; the viewer needs none.
    """

    name: str
    subtitle: str = ""
    warnings: Sequence[str] = ()
    header: Sequence[str] = ()
    project: str = ""
    headline: str = ""
    answers: Sequence[tuple[str, str]] = ()
    columns: Sequence[Column] = ()
    pictures: Sequence[Picture] = ()
    sensitivity: Sensitivity | None = None
    illustrated: bool = True


@dataclass(frozen=True, eq=False)
class ShownProgram:
    """A program and its dose, with or without the scene of a design to compare it with.

    toolpath: as written.  run: as the controller executes it, from the work zero.
    dose: (rows, columns) mJ/mm² on `grid`, as executed.  scene: on the same grid.
    edges: of the design in this dose, as the verdict counts them.
    """

    toolpath: Toolpath
    run: gcode.motion.Executed
    grid: Grid
    dose: Floats
    process: Process
    scene: Scene | None = None
    edges: Edges | None = None

    @property
    def design(self) -> Design | None:
        """The design to compare the program with."""
        return self.scene.design if self.scene else None

    @property
    def done(self) -> str:
        """The effect of the light on the resin: 'cure' or 'clear'."""
        return self.process.resin.done

    @cached_property
    def light(self) -> Toolpath:
        """The toolpath with the light of its powers at full feed, mW."""
        return convert.as_light(self.toolpath, self.process.machine)

    @property
    def fwhm(self) -> float:
        """FWHM of the spot that exposes, mm."""
        return optics.fwhm(self.process.spot)

    @cached_property
    def track(self) -> Track:
        """Position and power of the spot over time."""
        return track(self.run, self.process.machine)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1), mm, that a map shows: the design, or else the exposing moves."""
        if self.design is not None:
            return self.design.bounds
        on = self.toolpath.on
        if not on.any():
            x0, x1, y0, y1 = self.grid.extent
            return x0, y0, x1, y1
        lit = np.concatenate([self.toolpath.xy[:-1][on], self.toolpath.xy[1:][on]])
        (x0, y0), (x1, y1) = lit.min(axis=0).tolist(), lit.max(axis=0).tolist()
        return x0, y0, x1, y1


@dataclass(frozen=True, slots=True)
class PageData:
    """The measurement of a program against its design, from which verdict, advice and tables are made.

    toolpath: as written.  settings: None if another tool wrote the program.  loss: (iterations,) history.
    places: the worst ones, the worst first.  inspection: differences between the print and the design.
    """

    report: Report
    design: Design
    toolpath: Toolpath
    process: Process
    settings: Settings | None
    loss: Floats
    places: Sequence[Place]
    inspection: Inspection

    @classmethod
    def of(
        cls,
        report: Report,
        design: Design,
        toolpath: Toolpath,
        process: Process,
        settings: Settings | None = None,
        loss: Floats | None = None,
    ) -> PageData:
        """The data of a measured program; the report's inspection is made here if it has none."""
        executed, fwhm = report.executed, optics.fwhm(process.spot)
        inspection = report.inspection
        if inspection is None:
            inspection = inspect(executed, Scene(design, executed.grid, process.spot, process.resin))
        commanded = None if report.commanded is None else report.commanded.edges
        places = worst_places(inspection.edges or executed.edges, design, fwhm, commanded)
        history = np.zeros(0) if loss is None else loss
        return cls(report, design, toolpath, process, settings, history, places, inspection)

    def exposed(self, run: gcode.motion.Executed) -> ShownProgram:
        """The program with its dose; run: its execution by the controller."""
        executed, process = self.report.executed, self.process
        scene = Scene(self.design, executed.grid, process.spot, process.resin)
        return ShownProgram(self.toolpath, run, executed.grid, executed.dose, process, scene, self.edges)

    @property
    def done(self) -> str:
        """The effect of the light on the resin: 'cure' or 'clear'."""
        return self.process.resin.done

    @property
    def tolerance(self) -> float:
        """Tolerance of 95 % of the edge, FWHM: the one in the settings, or the one that counts as good."""
        return (self.settings and self.settings.max_epe_fwhm) or _GOOD_FWHM

    @property
    def planned(self) -> bool:
        """Whether laserpath planned the program."""
        return self.settings is not None

    @property
    def fwhm(self) -> float:
        """FWHM of the spot that exposes, mm."""
        return optics.fwhm(self.process.spot)

    @property
    def edges(self) -> Edges:
        """The edges as executed; at rounded corners they are measured along the bisector (`Inspection`)."""
        return self.inspection.edges or self.report.executed.edges

    @property
    def lost(self) -> Lost | None:
        """The loss of cured area by the controller, why, and the remedy; None if small, or if not known."""
        report = self.report
        if report.commanded is None:
            return None
        return lost_in_motion(report.commanded, report.executed, self.toolpath, self.design, self.process)

    def micrometres(self, fwhms: float) -> str:
        """A length given in FWHM, as text in µm."""
        return f"{number(fwhms * self.fwhm * 1000, 2)} µm"

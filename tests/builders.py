"""Small designs, grids and toolpaths that several tests use. Lengths in mm."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import strategies as st
from shapely import affinity
from shapes import NODING

import gcode
from laserpath.base.arrays import Floats
from laserpath.design import scene as design_scene
from laserpath.design.scene import Sampler, Scene
from laserpath.machine.powers import energies
from laserpath.machine.program import MachineProgram, Transmitted, execute
from laserpath.measure.exposure import Exposure
from laserpath.physics import optics
from laserpath.types import Design, EnergyPath, Grid, Machine, Process, Resin, Spot, Target, Toolpath

FWHM = 0.1
SPOT = Spot(fwhm=FWHM)
SPEED = 50.0
SPOKEN = {
    "grbl": Machine(),
    "grblhal": Machine(dialect="grblhal"),
    "marlin": Machine(dialect="marlin"),
    "klipper": Machine(dialect="klipper", look_ahead=1000, segment_rate=1000),
    "smoothieware": Machine(dialect="smoothieware"),
    "linuxcnc": Machine(dialect="linuxcnc", look_ahead=200, segment_rate=500),
    "generic": Machine(dialect="generic"),
}
"""Dialect → the generic machine, with what its controller needs."""


def design(*shapes: shapely.Geometry, name: str = "test") -> Design:
    """The union of some shapes."""
    return Design(shapely.union_all(shapes, grid_size=NODING), name=name)


def centred_grid(half: float, pixels_per_fwhm: float = 6.0) -> Grid:
    """A square grid about the origin that reaches `half` mm to each side, a pixel centre at (0, 0)."""
    n = int(np.ceil(half / FWHM * pixels_per_fwhm))
    pitch = FWHM / pixels_per_fwhm
    return Grid(origin=(-n * pitch, -n * pitch), pitch=pitch, shape=(2 * n + 1, 2 * n + 1))


def scene(made: Design, grid: Grid, critical_dose: float = 0.2, spot: Spot = SPOT) -> Scene:
    """A design on a grid, for a resin of a critical dose."""
    return Scene(made, grid, spot, Resin(critical_dose=critical_dose))


def expose(
    path: Toolpath, made: Design, target: Target, process: Process, sent: Transmitted | None = None
) -> Exposure:
    """The exposure of a toolpath of which no text is written; its own dose is the target."""
    scene = Scene.of(made, target, process.spot, process.resin)
    return Exposure(MachineProgram.of(path, process, sent), scene, path)


def executed(program: str, process: Process) -> gcode.motion.Executed:
    """A whole program, read back, as its controller runs it."""
    machine = process.machine
    read = gcode.read(
        program, gcode.dialect(machine.dialect), machine.s_max, rapid_speed=min(machine.rapid_speed)
    )
    return execute(read.moves, read.characters, process)


def coordinates(grid: Grid) -> tuple[Floats, Floats]:
    """x and y of all pixel centres, (rows, columns) each."""
    x, y = np.meshgrid(grid.x(), grid.y())
    return x, y


def read(grid: Grid, xy: Floats, field: Floats) -> Floats:
    """(M,) a function (rows, columns) on a grid at places (M, 2), mm."""
    return Sampler.of(grid, xy, np.zeros_like(xy))(field)[0]


def path(xy: Floats, power: float | Floats = 1.0, speed: float | Floats = SPEED) -> Toolpath:
    """A toolpath through the vertices; one power or speed stands for all moves."""
    n = len(xy) - 1
    return Toolpath(xy, np.broadcast_to(power, n), np.broadcast_to(speed, n))


def energy_path(xy: Floats, power: float | Floats = 1.0, speed: float | Floats = SPEED) -> EnergyPath:
    """The same for one photon, with the line energies that those powers give."""
    return energies(path(xy, power, speed), SPOT)


def random_path(rng: np.random.Generator, moves: int = 12, half: float = 0.3) -> Toolpath:
    """Random vertices, powers and speeds, two of the moves dark."""
    power = rng.uniform(0.5, 5, moves)
    power[[3, 7]] = 0
    return Toolpath(rng.uniform(-half, half, (moves + 1, 2)), power, rng.uniform(20, 50, moves))


def airy_line(start: Floats, end: Floats, at: Floats) -> Floats:
    """The dose (M,) at points (M, 2) of a segment of line energy 1, by Gauss–Legendre of high order."""
    length = float(np.hypot(*(np.asarray(end) - start)))
    pieces = max(1, int(np.ceil(length / FWHM)))
    node, weight = np.polynomial.legendre.leggauss(24)
    t = ((np.arange(pieces)[:, None] + 0.5 + node / 2) / pieces).ravel()
    w = np.tile(weight, pieces) * length / (2 * pieces)
    points = np.asarray(start) + t[:, None] * (np.asarray(end) - start)
    radius = np.hypot(*(at[:, None] - points[None]).transpose(2, 0, 1))
    return optics.profile(SPOT, radius) @ w


POCKET = shapely.Polygon(
    [(0.40625, -0.70365), (-0.26563, -0.46008), (-1, 0), (-0.375, 0.64952), (0.25, 0.43301), (0.53906, 0)],
    [[(0.1, 0.17321), (-0.15, 0.25981), (-0.4, 0), (-0.10625, -0.18403), (0.1625, -0.28146), (0.21563, 0)]],
)
"""Beside the hole's lower right corner it is 0.17 deep, but mitred level lines end above a depth of 0.16."""


def outlines_sampled(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The widths of the spots for which outlines are sampled from now on."""
    widths, real = [], design_scene.contour_samples

    def note(made: Design, fwhm: float) -> design_scene.Samples:
        widths.append(fwhm)
        return real(made, fwhm)

    monkeypatch.setattr(design_scene, "contour_samples", note)
    return widths


@st.composite
def polygons(draw: st.DrawFn) -> shapely.Polygon:
    """A star-shaped polygon about (0, 0), of radius 0.2 to 1, often with a hole."""
    n = draw(st.integers(3, 12))
    radius = draw(st.lists(st.floats(0.2, 1.0), min_size=n, max_size=n))
    turn = draw(st.floats(0, 6.28))
    angle = turn + 2 * np.pi * np.arange(n) / n
    outer = shapely.Polygon(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
    if draw(st.booleans()):
        return outer.difference(affinity.scale(outer, 0.4, 0.4, origin=(0, 0)), grid_size=NODING)
    return outer

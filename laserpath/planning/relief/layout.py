"""The layout of a relief, fixed before its powers are optimised: place, grid, lines, speed; and a forecast.

**Raster**: horizontal lines a pitch apart, back and forth, cut into pieces, where there is a target dose.
Lines a pitch p apart leave a ripple of the relative amplitude 2 H(1/p), where H is the spot's transfer
function; an Airy spot leaves none for p ≤ 0.972 FWHM, its cut-off.

**Strokes** instead (`--initial strokes`) are laid one after the other where most dose is missing
(`lay_strokes`), fitted together (`strokes.additive`) and turned into lines side by side, in short moves
whose energies are then optimised like those of a raster.

The forecast write time is that of the raster with estimated powers, by the controller's planner: for six
pictures of 5 to 30 mm it was 0.98 to 1.05 times the plan's. Planning takes, in processor seconds for p pixels
of the grid and n moves of the raster,

    iterations   60 ns p + 1.2 µs n + 5 ms each; on average half of the allowed ones, of at most `_MOST`
    the rest     1 µs p + 20 µs n + 2.5 s, for preparing, measuring and drawing
    memory       400 MB + 130 B p

For the same pictures that was 0.5 to 2.3 times the measured time: a smooth picture needs one iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import shapely
from scipy import ndimage

import gcode
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError, figure, one_line
from laserpath.base.overlay import clipped
from laserpath.base.plan_steps import PlanPart
from laserpath.design.target import COARSEST, affordable, grid_for
from laserpath.machine import convert
from laserpath.machine.attenuation import Strength, check_process
from laserpath.machine.convert import slow_host
from laserpath.machine.heights import check_bed
from laserpath.machine.placement import placed
from laserpath.machine.powers import energy_at_full_power, speed_at_full_power, to_levels
from laserpath.machine.rest import RESTS, rested
from laserpath.operators.strokes import fit_additive, lay_strokes
from laserpath.physics import optics
from laserpath.physics.resin import power_for
from laserpath.planning.costs import PlanStep, pace
from laserpath.planning.curve import order, quicker
from laserpath.planning.curve.order import subdivided
from laserpath.planning.curve.strokes import side_by_side
from laserpath.planning.forecasts import BASE_BYTES, Forecast, coarser, slowed, tight
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.relief.target import GreyTarget
from laserpath.types import Design, EnergyPath, Grid, Machine, Process, Relief, Resin, Settings, Toolpath

PITCH_FWHM = 0.9
PIECE_FWHM = 0.5
"""Length of a piece of one power: a longer one lets the link feed more speed, and the spot blurs a shorter
one."""

_DARK = 1e-3
"""Share of the largest dose below which a place is left dark: a larger one writes less of a faint picture."""


def resample(relief: Relief, values: Floats, grid: Grid) -> Floats:
    """`values` of a relief's pixels on another grid: averaged over its pixels, then linear between them."""
    share = grid.pitch / relief.grid.pitch
    smooth = ndimage.uniform_filter(values, max(1, round(share)), mode="constant") if share > 1 else values
    columns, rows = np.meshgrid(grid.x(), grid.y())
    x0, y0 = relief.grid.origin
    pixels = [(rows - y0) / relief.grid.pitch, (columns - x0) / relief.grid.pitch]
    return ndimage.map_coordinates(smooth, pixels, order=1, mode="constant", cval=0.0)


def raster(dose: Floats, grid: Grid, fwhm: float, piece: float) -> tuple[Floats, Bools]:
    """The vertices (N+1, 2) mm of a path over the whole target, and whether each move (N,) may be on.

    dose: (rows, columns), the target on `grid`.  piece: length of a piece of one power, mm.
    Raises InputError if the target is 0 everywhere.
    """
    near = ndimage.maximum_filter(dose, max(1, round(fwhm / 2 / grid.pitch))) > _DARK * dose.max()
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    if not len(rows):
        raise InputError("the target dose is 0 everywhere")
    y0, y1 = grid.y()[rows[[0, -1]]]
    x0, x1 = grid.x()[columns[[0, -1]]]
    count = max(1, round((y1 - y0) / (PITCH_FWHM * fwhm)) + 1)
    pieces = max(1, int(np.ceil((x1 - x0) / piece)))
    ends = np.linspace(x0, x1, pieces + 1)
    points, lit = [], []
    for n, y in enumerate(np.linspace(y0, y1, count) if count > 1 else [(y0 + y1) / 2]):
        xs = ends[::-1] if n % 2 else ends
        on = _lit_at(near, grid, (xs[1:] + xs[:-1]) / 2, float(y))
        if on.any():
            first, last = np.flatnonzero(on)[[0, -1]]
            points.append(np.stack([xs[first : last + 2], np.full(last - first + 2, y)], axis=1))
            lit.append(np.append(on[first : last + 1], False))  # then to the next line, dark
    return np.concatenate(points), np.concatenate(lit)[:-1]


def _lit_at(near: Bools, grid: Grid, x: Floats, y: float) -> Bools:
    columns, row = grid.to_pixels(np.stack([x, np.full_like(x, y)], axis=1)).T
    inside = np.clip(np.rint(columns).astype(int), 0, grid.shape[1] - 1)
    lit: Bools = near[np.clip(np.rint(row).astype(int), 0, grid.shape[0] - 1), inside]
    return lit


def with_runs(path: Toolpath, length: float, low: float, high: float) -> tuple[Toolpath, bool]:
    """The path with dark runs before and after each horizontal line, and whether all runs have room.

    The runs let the head have the commanded speed at both ends of a line.
    length: of a run, mm.  low, high: the machine's range in x, mm.
    """
    on, whole = path.on, True
    xy: list[Floats] = []
    power: list[Floats] = []
    speed: list[Floats] = []
    rapid = path.speed[~on].max(initial=path.speed.max())
    starts, ends = _rows(path)
    for a, b in zip(starts, ends, strict=True):
        way = 1.0 if path.xy[b, 0] > path.xy[a, 0] else -1.0
        run = path.xy[[a, b]] + length * np.array([[-way, 0.0], [way, 0.0]])
        whole &= bool(((run[:, 0] >= low) & (run[:, 0] <= high)).all())
        run[:, 0] = np.clip(run[:, 0], low, high)
        xy += [run[:1], path.xy[a : b + 1], run[1:]]
        power += [np.zeros(2), path.power[a:b], np.zeros(1)]
        speed += [np.full(2, rapid), path.speed[a:b], np.full(1, rapid)]
    joined = np.concatenate(xy)
    longer = Toolpath(joined, np.concatenate(power)[1:], np.concatenate(speed)[1:])
    real = longer.length > 0
    return Toolpath(joined[np.append(True, real)], longer.power[real], longer.speed[real]), whole


def _rows(path: Toolpath) -> tuple[Indices, Indices]:
    """First and last lit vertex of each horizontal line."""
    leaves = path.xy[1:, 1] != path.xy[:-1, 1]
    row = np.concatenate([[0], np.cumsum(leaves)])
    lit = np.unique(row[:-1][path.on])
    starts = np.array([int(np.flatnonzero((row[:-1] == r) & path.on)[0]) for r in lit], dtype=np.int64)
    ends = np.array([int(np.flatnonzero((row[:-1] == r) & path.on)[-1]) + 1 for r in lit], dtype=np.int64)
    return starts, ends


STROKES = 256
"""Strokes of a grey picture unless the user says how many: more show finer detail and take longer."""

_ITERATIONS = 60
"""Most iterations of the fit: the energies are optimised again afterwards."""


_LAYING, _FITTING, _PIXELS = 15e-9, 0.5e-6, 2.0
"""Seconds for laying one stroke, for each pixel of the grid; for one iteration of the fit, for each pixel
near strokes; and how many of these there are for each pixel of the grid, as strokes overlap. Measured."""


@dataclass(frozen=True, slots=True, eq=False)
class StrokeLines:
    """xy: (N+1, 2) mm.  lit: (N,) whether each move may be on.  energy: (N,) mJ/mm, of its line.

    stopped: whether the user stopped the fit of the strokes.
    """

    xy: Floats
    lit: Bools
    energy: Floats
    stopped: bool


def seconds_of(pixels: float, most: int) -> float:
    """Seconds for laying and fitting strokes on a grid of so many pixels."""
    return most * _LAYING * pixels + _ITERATIONS * _FITTING * _PIXELS * pixels


@dataclass(slots=True)
class _Steps:
    """Reports strokes and iterations as the steps of one stage. stopped: by the user."""

    most: int
    progress: Callable[[Progress], None] | None
    done: int = 0
    stopped: bool = field(default=False, init=False)

    def __call__(self, number: int, loss: float) -> None:
        """Report a step."""
        if self.progress is None:
            return
        try:
            self.progress(Progress(PlanPart.FIT, self.done + number, self.most + _ITERATIONS, loss))
        except KeyboardInterrupt:
            self.stopped = True
            raise


def _inside(lines: Sequence[Floats], wanted: Bools, grid: Grid, fwhm: float) -> list[Floats]:
    """The lines (K, 2) mm cut off half an FWHM outside the wanted pixels' bounds: the sides of a wide stroke
    may lie outside the grid.
    """
    rows, columns = (np.flatnonzero(wanted.any(axis=axis)) for axis in (1, 0))
    x, y = grid.x()[columns[[0, -1]]], grid.y()[rows[[0, -1]]]
    room = fwhm / 2
    cut = clipped(shapely.multilinestrings(list(lines)), x[0] - room, y[0] - room, x[1] + room, y[1] + room)
    return [shapely.get_coordinates(part) for part in shapely.get_parts(cut) if part.length > 0]


def stroke_lines(
    target: GreyTarget,
    grid: Grid,
    fwhm: float,
    most: int,
    machine: Machine,
    progress: Callable[[Progress], None] | None = None,
) -> StrokeLines:
    """The lines of a target's strokes.

    grid: of the target.  fwhm: of the spot, mm.  most: number of strokes.  progress: called for each stroke
    and in each iteration of their fit; a KeyboardInterrupt from it ends with what there is.
    """
    steps = _Steps(most, progress)
    scale = max(float(np.sum(target.residual(np.zeros(grid.shape))[0] ** 2)), 1e-30)

    def loss(dose: Floats) -> tuple[float, Floats]:
        error, slope = target.residual(dose)
        return float((error**2).sum() / scale), 2 / scale * error * slope

    found = lay_strokes(target.dose, grid, fwhm, most, steps)
    if not steps.stopped:
        steps.done = most
        found = fit_additive(found, grid, fwhm, loss, _ITERATIONS, steps).strokes
    fitted = side_by_side(found, fwhm, PITCH_FWHM * fwhm)
    tour = quicker(order(_inside(fitted.strokes, target.dose > 0, grid, fwhm)), machine)
    pieces = subdivided(tour, PIECE_FWHM * fwhm)
    xy = np.concatenate(pieces)
    lit = np.ones(len(xy) - 1, dtype=bool)
    lit[np.cumsum([len(piece) for piece in pieces[:-1]]) - 1] = False
    energy = np.where(lit, fitted.energies((xy[1:] + xy[:-1]) / 2), 0.0)
    return StrokeLines(xy, lit, energy, steps.stopped)


_HEADROOM = 1.25
"""Largest line energy, relative to that in a wide black area: a larger one lets edges be sharper, and lowers
the speed."""

_MOST, _DONE = 60, 0.5
"""Forecast: the most iterations that are counted, and the share of them that is needed on average."""

_BYTES_PER_PIXEL = 130.0


@dataclass(frozen=True, slots=True, eq=False)
class ReliefLayout:
    """A relief on the machine, its powers not yet optimised. settings: with the origin and pixels in effect.

    target: on `grid`.  design: the rectangle that the picture fills.  xy: (N+1, 2) mm, the raster, or fitted
    strokes, whose moves `lit` (N,) may be on.  start: (N,) mJ/mm, the initial line energies.  speed: mm/s.
    requested: pixels per FWHM of the given settings.  notes: why the picture was moved from its place.
    stopped: whether the user stopped the fit of the strokes.
    """

    relief: Relief
    process: Process
    settings: Settings
    design: Design
    grid: Grid
    target: GreyTarget
    xy: Floats
    lit: Bools
    start: Floats
    speed: float
    requested: float
    notes: tuple[str, ...]
    stopped: bool = False

    __repr__ = one_line

    @property
    def energy_max(self) -> float:
        """The largest line energy at this speed, mJ/mm."""
        return float(energy_at_full_power(self.speed, self.process.machine, self.process.spot))

    @property
    def ramp(self) -> float:
        """The distance in which the head reaches its speed, mm."""
        machine = self.process.machine
        return float(self.speed**2 / (2 * machine.acceleration[0]) + self.speed * machine.shaping)

    def toolpath(self, energy: Floats) -> tuple[Toolpath, bool]:
        """The path for line energies (N,) mJ/mm, with powers on levels and dark runs to reach the speed.

        The second value is whether the machine has room for all runs.  Raises InputError if every line needs
        less than half of the laser's lowest level, so that all stay dark.
        """
        machine, spot = self.process.machine, self.process.spot
        energy = np.minimum(energy, self.energy_max)
        lines = EnergyPath(self.xy, energy, np.where(energy > 0, self.speed, min(machine.rapid_speed)))
        path = to_levels(lines, machine, spot, self.speed / min(machine.speed_max))
        if self.settings.initial == "strokes":
            return path, True
        width = machine.size[0]
        ends = (-width / 2, width / 2) if self.settings.origin == "centre" else (0.0, width)
        return with_runs(path, self.ramp, *ends)


def lay_out(
    relief: Relief,
    process: Process,
    settings: Settings | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> ReliefLayout:
    """Place a relief on the machine and lay raster lines over it.

    Only these settings have an effect: iterations, pixels_per_fwhm, origin, offset and passes; and strokes,
    if the initial curve is 'strokes', which takes the place of the raster. Fitting them takes a while:
    progress is called for each step, and a KeyboardInterrupt from it ends the fit with the strokes so far.
    """
    settings = replace(settings or Settings(), pitch_fwhm=PITCH_FWHM)
    check_process(process, settings)
    relief, design, origin, notes = _placed(relief, process, settings)
    fine = affordable(design, process.spot, settings.pixels_per_fwhm)
    requested, settings = settings.pixels_per_fwhm, replace(settings, origin=origin, pixels_per_fwhm=fine)
    spot, machine, fwhm = process.spot, process.machine, optics.fwhm(process.spot)
    grid = grid_for(design, spot, fine)
    target = _target(relief, grid, process.resin)
    black = _HEADROOM * float(target.dose.max()) * PITCH_FWHM * fwhm
    allowed = float(speed_at_full_power(black, machine, spot))
    speed = min(*machine.speed_max, PIECE_FWHM * fwhm * convert.segment_rate(machine), allowed)
    if settings.initial == "strokes":
        coarse = grid_for(design, spot, min(fine, COARSEST))
        rough, most = _target(relief, coarse, process.resin), settings.strokes or STROKES
        lines = stroke_lines(rough, coarse, fwhm, most, machine, progress)
        xy, lit, start, stopped = lines.xy, lines.lit, lines.energy, lines.stopped
    else:
        xy, lit = raster(target.dose, grid, fwhm, PIECE_FWHM * fwhm)
        start, stopped = _start(target, grid, xy, lit, fwhm), False
    return ReliefLayout(
        relief, process, settings, design, grid, target, xy, lit, start, speed, requested, notes, stopped
    )  # fmt: skip


def _target(relief: Relief, grid: Grid, resin: Resin) -> GreyTarget:
    """The target of a relief on a grid."""
    height = None if relief.height is None else resample(relief, relief.height, grid)
    return GreyTarget(resample(relief, relief.dose, grid), height, resin)


def forecast_fit(relief: Relief, process: Process, settings: Settings) -> Forecast | None:
    """The time for fitting a relief's strokes and for what follows; None if it is to have a raster.

    The write time is not known before they are fitted, and is 0 here.
    """
    if settings.initial != "strokes":
        return None
    fwhm, area = optics.fwhm(process.spot), float(np.prod(relief.size))
    pixels, moves = area * (settings.pixels_per_fwhm / fwhm) ** 2, area / (PITCH_FWHM * PIECE_FWHM * fwhm**2)
    return _expected(pixels, moves, settings, _fitting(relief, process, settings))


def _fitting(relief: Relief, process: Process, settings: Settings) -> float:
    """Seconds for fitting the strokes of a relief."""
    if settings.initial != "strokes":
        return 0.0
    fine = min(settings.pixels_per_fwhm, COARSEST)
    pixels = float(np.prod(relief.size)) * (fine / optics.fwhm(process.spot)) ** 2
    return seconds_of(pixels, settings.strokes or STROKES)


def _expected(pixels: float, moves: float, settings: Settings, fitting: float) -> Forecast:
    """The time and memory of planning, without what depends on the lines."""
    most = min(settings.iterations, _MOST)
    iteration = 60e-9 * pixels + 1.2e-6 * moves + 5e-3
    steps = (
        PlanStep(PlanPart.START, pace() * 1.0),
        *([PlanStep(PlanPart.FIT, pace() * fitting, settings.strokes or STROKES)] if fitting else ()),
        PlanStep("powers", pace() * _DONE * most * iteration, _DONE * most),
        PlanStep(PlanPart.MEASURE, pace() * (1e-6 * pixels + 2e-5 * moves)),
        PlanStep(PlanPart.REPORT, pace() * 1.5),
    )
    return Forecast(steps, memory=BASE_BYTES + _BYTES_PER_PIXEL * pixels, write_seconds=0.0)


def forecast_relief(layout: ReliefLayout) -> Forecast:
    """The time and memory of planning a relief, and its write time.

    Raises InputError if nothing would be exposed.
    """
    pixels, lines = float(np.prod(layout.grid.shape)), float(len(layout.lit))
    _check_levels(layout)
    path, _ = layout.toolpath(layout.start)
    machine = layout.process.machine
    moves = rested(convert.to_moves(path, machine), machine)
    seconds = gcode.motion.profile(moves, convert.limits(machine)).duration
    fitting = _fitting(layout.relief, layout.process, layout.settings)
    expected = _expected(pixels, lines, layout.settings, fitting)
    return replace(
        expected,
        write_seconds=float(seconds[:RESTS].sum() + layout.settings.passes * seconds[RESTS:].sum()),
        notes=(*_slow(layout), *slow_host(machine)),
        warnings=(*coarser(layout.settings, layout.requested), *tight(expected.memory)),
    )


def strength_for(target: GreyTarget, speed: float, process: Process) -> Strength:
    """The laser's weakest level compared with the power that black needs at a speed, mm/s."""
    q = float(target.dose.max()) * PITCH_FWHM * optics.fwhm(process.spot)
    return Strength(process.machine, float(power_for(q, speed, process.spot)), speed)


def _check_levels(layout: ReliefLayout) -> None:
    """Raise InputError if the laser's lowest level is too strong even for black."""
    strength = strength_for(layout.target, layout.speed, layout.process)
    if strength.ratio > 2:
        raise InputError(
            f"{strength.sentence('black')}, so the program would expose nothing; {strength.filter}"
        )


def _slow(layout: ReliefLayout) -> tuple[str, ...]:
    """A sentence if lines are written below the machine's full speed."""
    machine, fwhm = layout.process.machine, optics.fwhm(layout.process.spot)
    fastest = min(machine.speed_max)
    if layout.speed >= fastest:
        return ()
    if layout.speed < PIECE_FWHM * fwhm * convert.segment_rate(machine):
        return (slowed(machine, layout.speed, "black"),)
    return (
        f"the link carries {figure(convert.segment_rate(machine), 3)} moves/s, each of half a spot: lines "
        f"are written at {figure(layout.speed, 2)} mm/s, below the {fastest:g} mm/s of the machine",
    )


def _placed(
    relief: Relief, process: Process, settings: Settings
) -> tuple[Relief, Design, str, tuple[str, ...]]:
    """(relief on the machine, the rectangle that it fills as a design, origin in effect, notes)."""
    x0, x1, y0, y1 = relief.grid.extent
    sheet = Design(
        shapely.box(x0, y0, x1, y1),
        relief.name,
        (x0, y0, x1, y1),
        relief.warnings,
        relief.source,
        relief.recipe,
        relief.file,
    )
    resin = replace(process.resin, tone="negative")
    place = placed(sheet, resin, process.machine, process.spot, settings.origin, settings.offset)
    p = relief.grid.pitch / 2
    check_bed(place.design, process)
    origin = (place.design.bounds[0] + p, place.design.bounds[1] + p)
    moved = replace(relief, grid=replace(relief.grid, origin=origin))
    return moved, place.design, place.origin, place.notes


def _start(target: GreyTarget, grid: Grid, xy: Floats, lit: Bools, fwhm: float) -> Floats:
    """(N,) mJ/mm, the initial line energies: a wide area of lines a pitch apart gets the dose q/pitch."""
    middle = grid.to_pixels((xy[1:] + xy[:-1]) / 2)
    column, row = np.clip(np.rint(middle).astype(int), 0, np.array(grid.shape[::-1]) - 1).T
    start: Floats = target.dose[row, column] * PITCH_FWHM * fwhm * lit
    return np.maximum(start, 1e-3 * start.max() * lit)

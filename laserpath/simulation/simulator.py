"""The steps of a simulation: program → moves → executed → exposed → measured, with warnings.

An executed path → dose → figures, on a grid that holds the light, all of the cured area and the design.

Where the work zeros differ, the program is first moved onto its design: a translation, no rotation, no scale.

**Level.** Where an edge prints depends on the exposure. Edges are taken at the dose above which the print has
the area of the design: it is then neither too wide nor too narrow.

**Coarse.** Of all shifts s by whole pixels, take the one with the largest overlap ∫ c(x) w(x − s) dx, with c
the cured fraction at that level and w the coverage of the design (one FFT). Shifting changes neither area, so
this shift also has the largest IoU. Where many shifts are equally good, their middle is taken.

**Fine.** An edge at x with normal n is off by ε. If the print is shifted by t and too wide by b all around,
then ε ≈ n·t + b; t follows by least squares over the edges that print. The design is moved by t until t
vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy import ndimage
from scipy.signal import fftconvolve

import gcode
from laserpath.base.arrays import Floats, block_means
from laserpath.base.errors import InputError, figure
from laserpath.base.quantities import place
from laserpath.design import as_design, tolerance_for
from laserpath.design.scene import Scene
from laserpath.design.target import MARGIN_FWHM, grid_for, rasterise
from laserpath.machine import convert
from laserpath.machine.heights import FOLLOWS
from laserpath.machine.phase import phase_warnings
from laserpath.machine.placement import Placed, placed
from laserpath.machine.program import MachineProgram, Transmitted, execute, moves_from_zero
from laserpath.measure import best_exposure, cured_fraction, edge_errors, edges_at, rounded_off
from laserpath.measure.exposure import Exposure, missing
from laserpath.measure.window import Disturbance, disturbed
from laserpath.operators.volume import CuredDepth, cured_depth
from laserpath.operators.volume.depth import check_working_curve
from laserpath.physics import optics
from laserpath.physics.dose import accurate_model
from laserpath.report.canvas import Box, grown
from laserpath.report.wording import area, number
from laserpath.simulation import source
from laserpath.simulation.result import BestExposure, PathExposure, Simulation, dose_figures
from laserpath.simulation.source import Height, Program, ProgramLayer, Source, darkened, flat, layer
from laserpath.types import Design, Grid, Point, Process, Resin, Settings, Spot, Target, Toolpath
from laserpath.types.results import KeyFigures, Sensitivity

_OVER = 1.05
"""Ratio of the largest dose to the resin's limit above which a warning is given. A larger one warns less."""

_NEAR_FWHM, _APART = 1.0, 0.7
"""Distance, in FWHM, between the middles of light and design, and IoU. A larger distance together with a
smaller IoU gives the warning that they lie apart."""


@dataclass(frozen=True, slots=True)
class Choices:
    """How a program is read, and whether it is moved onto its design.

    dialect: of the program; None: the machine's.  s_max: the S value of full power; None: the machine's.
    height: Z of the layer, mm; 'all': all heights at once; None: the first.
    align: find the translation between program and design, and move the program by it.
    sensitivity: also expose the program on machines that differ; needs a design.
    depth: also compute how deep it cures; needs the resin's working curve.
    """

    dialect: str | None = None
    s_max: float | None = None
    height: Height = None
    align: bool = False
    sensitivity: bool = False
    depth: bool = False


def simulate(
    program: Program,
    process: Process | None = None,
    design: Design | str | None = None,
    settings: Settings | None = None,
    choices: Choices | None = None,
    *,
    name: str = "",
    progress: Listener | None = None,
) -> Simulation:
    """Expose a program, a file (a Path, or a str without line ends) or a text, on a machine and a resin.

    design: a file, or a `Design` in mm; it is placed by the `origin` and `offset` of the settings. Without
    settings the origin is 'auto'.
    progress: called with the name of each stage. Raises InputError for a program that cannot be simulated.
    """
    process, choices = process or Process(), choices or Choices()
    settings = settings or Settings(origin="auto")
    _check(choices, process)
    report = progress or (lambda stage: None)
    report("reading")
    read = source.read(program, process.machine, choices.dialect, choices.s_max, name)
    process = replace(process, machine=read.machine)
    chosen = layer(read.moves, choices.height, along=any(line.startswith(FOLLOWS) for line in read.head))
    place = None if design is None else _placed(design, process, settings, _lit(chosen, read.moves))
    drawn = place.design if place else None
    report("executing")
    shipped = _shipped(read, chosen, process)
    report("exposing")
    if drawn is not None and choices.align:
        shipped = shipped.moved(shift_onto(drawn, shipped, settings, read.name))
    executed = exposure_of(shipped, drawn, settings, read.name)
    report("measuring")
    return Simulation(
        name=read.name, process=process, shipped=shipped, executed=executed,
        best=at_best_power(executed),
        within=None if drawn is None else settings.max_epe_fwhm, head=read.head,
        warnings=tuple(_warnings(executed, shipped, read, chosen, place, choices.align)),
        sensitivity=_sensitivity(read, chosen, executed, shipped) if choices.sensitivity else None,
        depth=_depth(shipped, executed) if choices.depth else None,
    )  # fmt: skip


def _check(choices: Choices, process: Process) -> None:
    """Raise InputError for a choice that the process cannot meet, before anything is computed."""
    if choices.depth:
        check_working_curve(process.resin)


def _depth(shipped: MachineProgram, executed: PathExposure) -> CuredDepth:
    """How deep the executed program cures."""
    return cured_depth(shipped.executed, executed.grid, executed.light, shipped.process)


def _warnings(
    executed: PathExposure,
    shipped: MachineProgram,
    read: Source,
    chosen: ProgramLayer,
    place: Placed | None,
    aligned: bool,
) -> Iterator[str]:
    """All warnings, the worst first."""
    process = shipped.process
    yield from _of_dose(executed, process)
    yield from _of_shift(shipped.shift, optics.fwhm(process.spot))
    yield from read.remarks
    yield from chosen.remarks
    if place:
        yield from place.design.warnings
        yield from place.notes
    yield from _of_place(executed, shipped, aligned)
    yield from phase_warnings(shipped.run, process)


def _of_dose(executed: PathExposure, process: Process) -> Iterator[str]:
    """A dose that is too low or too high."""
    dose, resin = executed.figures, process.resin
    if dose.cured == 0:
        yield (
            f"nothing {resin.done}s: the largest dose executed is {number(dose.dose_max, 2)} of the critical "
            f"one; it would take more than {number(1 / max(dose.dose_max, 1e-12), 2)} times the dose"
        )
    if dose.dose_max > _OVER * resin.over_dose:
        yield (
            f"the largest dose as executed is {number(dose.dose_max)} critical doses, at "
            f"{place(dose.brightest, optics.fwhm(process.spot))} mm: {area(dose.over_dosed, 2)} of the "
            f"{area(dose.cured, 2)} that {resin.done}s get more than the resin's limit of {resin.over_dose:g}"
        )
    if executed.overflow:
        yield f"what {resin.done}s reaches beyond the area that is simulated: the dose is far too high"


def _of_shift(shift: Point, fwhm: float) -> Iterator[str]:
    """A program that was moved onto its design. shift: mm.  fwhm: of the spot, mm."""
    if shift != (0.0, 0.0):
        yield (
            f"the program was moved by {place(shift, fwhm)} mm onto the design; where the file "
            "has it, it is that far off"
        )


def _of_place(executed: PathExposure, shipped: MachineProgram, aligned: bool) -> Iterator[str]:
    """Coarse pixels, a program that lies elsewhere, and edges that do not print."""
    fwhm, grid, scene = optics.fwhm(shipped.process.spot), executed.grid, executed.scene
    if fwhm / grid.pitch < 1.5 * COARSEST:
        yield (
            f"with so many spots to expose the dose was computed with {number(fwhm / grid.pitch, 2)} pixels "
            "across one: areas and edges are less exact"
        )
    measured = executed.measured
    if scene is None or measured is None:
        return
    x, y = (_middle(scene.design.bounds) - _middle(lit_box(shipped.executed))).tolist()
    if not aligned and measured.figures.iou < _APART and max(abs(x), abs(y)) > _NEAR_FWHM * fwhm:
        yield (
            f"what is exposed lies elsewhere than the design: its middle would have to move by "
            f"{place((x, y), fwhm)} mm; if the program has another work zero: --align"
        )
    yield from missing(rounded_off(measured.edges, measured.dose, scene), fwhm)


def _middle(box: Box) -> Floats:
    return np.array([box[0] + box[2], box[1] + box[3]]) / 2


Listener = Callable[[str], None]


def _placed(design: Design | str, process: Process, settings: Settings, lit: Floats) -> Placed:
    """The design where a plan would place it.

    With the origin 'auto', a design without a page is placed either at its own coordinates, as in other
    tools, or with its corner at the work zero, as in a plan: the place whose corner is nearer to that of the
    light. lit: (N, 2) mm.
    """
    spot = process.spot
    design = as_design(design, tolerance_for(spot))
    arguments = design, process.resin, process.machine, spot
    automatic = placed(*arguments, settings.origin, settings.offset)
    if settings.origin != "auto" or design.page is not None or not automatic.notes or not len(lit):
        return automatic
    try:
        own = placed(*arguments, "page", settings.offset)
    except InputError:  # its own coordinates are off the machine
        return automatic
    first = lit.min(axis=0)
    apart = [float(np.hypot(*(first - one.design.bounds[:2]))) for one in (own, automatic)]
    return own if apart[0] < apart[1] else automatic


def _lit(chosen: ProgramLayer, moves: gcode.Moves) -> Floats:
    """(N, 2) mm, both ends of the lit moves of the chosen layer."""
    on = moves.on & chosen.rows
    return np.concatenate([moves.xy[:-1][on], moves.xy[1:][on]])


def _shipped(read: Source, chosen: ProgramLayer, process: Process, override: float = 1.0) -> MachineProgram:
    """The moves of the chosen layer as written, and as the controller executes the whole file.

    override: of the feed, by the controller.
    """
    machine, moves = process.machine, read.moves
    chords, row = moves.cut(gcode.motion.ARC_TOLERANCE)
    path, chord = convert.toolpath_of(flat(darkened(chords, chosen.rows[row])), machine)
    sent = Transmitted.of(read.program.characters, row[chord], read.program.lines)
    run = execute(moves_from_zero(moves, machine), np.append(0, read.program.characters), process, override)
    kept = np.concatenate([[False], chosen.rows])[run.row]
    run = replace(run, power=np.where(kept, run.power, 0.0), light=np.where(kept, run.light, 0.0))
    return MachineProgram.of(path, process, sent, execution=run)


def _sensitivity(
    read: Source, chosen: ProgramLayer, executed: PathExposure, shipped: MachineProgram
) -> Sensitivity:
    """The prints of the whole file on machines that differ."""
    scene, measured = executed.scene, executed.measured
    if scene is None or measured is None:
        raise InputError("the sensitivity of a program is that of its edges, so a design is needed")

    def program(one: Disturbance) -> MachineProgram:
        process = replace(shipped.process, machine=one.machine)
        return one.lit(_shipped(read, chosen, process, one.override)).moved(shipped.shift)

    found = disturbed(shipped.process.machine, scene, program)
    return Sensitivity(KeyFigures.of(measured), tuple(found))


PIXELS = 1 << 24
"""Pixels above which the grid is made coarser, down to COARSEST pixels per FWHM."""

PIXELS_MAX = 1 << 25
"""Pixels above which a program is refused."""

COARSEST = 3.0
"""Fewest pixels per FWHM. A dose is exact with 2.1; the figures measured in it need a few more."""

_ASTRAY_FWHM = 2.0
"""Distance beyond the design, half of the dark margin, up to which light needs no larger grid."""


def lit_box(*paths: Toolpath) -> Box:
    """The box around the lit moves."""
    ends = [xy[path.on] for path in paths for xy in (path.xy[:-1], path.xy[1:])]
    points = np.concatenate(ends)
    (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return x0, y0, x1, y1


def joined(a: Box, b: Box) -> Box:
    """The box around both boxes."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def within(inner: Box, outer: Box) -> bool:
    """Whether the first box lies in the second."""
    return joined(inner, outer) == outer


def box_of(lit: Box, design: Design | None, spot: Spot) -> Box:
    """The box for the grid: around the design, and around the light where that lies elsewhere."""
    if design is None:
        return lit
    near = grown(design.bounds, _ASTRAY_FWHM * optics.fwhm(spot))
    return design.bounds if within(lit, near) else joined(lit, design.bounds)


def grid_around(box: Box, spot: Spot, pixels_per_fwhm: float, extra: float, name: str) -> Grid:
    """The grid around a box and a dark margin. extra: FWHM beyond the usual margin.

    Raises InputError, which names the content of the grid, for more than PIXELS_MAX pixels.
    """
    fwhm = optics.fwhm(spot)
    rim = max(extra * fwhm, 0.0 if min(box[2] - box[0], box[3] - box[1]) > 0 else 0.5 * fwhm)
    box = grown(box, rim)
    width, height = box[2] - box[0], box[3] - box[1]
    spots = (width / fwhm + 2 * MARGIN_FWHM + 1) * (height / fwhm + 2 * MARGIN_FWHM + 1)
    fine = min(pixels_per_fwhm, max(math.sqrt(PIXELS / spots), min(COARSEST, pixels_per_fwhm)))
    if spots * fine**2 > PIXELS_MAX:
        raise InputError(
            f"{name} reaches over {figure(width, 4)} × {figure(height, 4)} mm: {figure(spots * fine**2, 2)} "
            f"pixels even with {fine:g} across the spot of {fwhm:g} mm, above {figure(PIXELS_MAX, 2)}; "
            "simulate a part of it, or a wider spot"
        )
    return grid_for(Design(shapely.box(*box), "view"), spot, fine)


def rim(dose: Floats) -> float:
    """The largest dose on the outermost pixels."""
    return float(max(dose[0].max(), dose[-1].max(), dose[:, 0].max(), dose[:, -1].max()))


_PIXELS = 1 << 22
"""Pixels of the coarse overlap; with more, the shift is finer and the FFT takes longer."""

_SAME = 2e-3
"""Relative difference up to which overlaps count as equally good."""

_SLOPE = (0.02, 0.9)
"""Lowest and highest level, relative to the largest dose; outside this range edges are ill-defined."""

_STEPS, _SETTLED_FWHM = 8, 1e-4
_FEWEST = 8


def translation(dose: Floats, grid: Grid, design: Design, spot: Spot) -> Point:
    """The translation (x, y) mm that lays a design on its print."""
    level = _level(dose, grid, design)
    return _fine(dose, grid, design, spot, level, np.array(_coarse(dose, grid, design, level)))


def _level(dose: Floats, grid: Grid, design: Design) -> float:
    """The dose above which the area equals the design's, kept within _SLOPE."""
    count = min(round(design.area.area / grid.pixel_area), dose.size - 1)
    level = float(np.partition(dose.ravel(), dose.size - 1 - count)[dose.size - 1 - count])
    low, high = _SLOPE
    return min(max(level, low * float(dose.max())), high * float(dose.max()))


def _coarse(dose: Floats, grid: Grid, design: Design, level: float) -> Point:
    """The translation to about a pixel, from the overlap of all shifts."""
    cured = cured_fraction(dose, level)
    (width, height), (rows, columns) = design.size, grid.shape
    many = (columns + width / grid.pitch) * (rows + height / grid.pitch)
    field, pitch, corner = _blocks(cured, grid, max(1, int(np.ceil(np.sqrt(many / _PIXELS)))))
    target = _raster(design, pitch)
    v, u = _middle_of_best(fftconvolve(field, target.coverage[::-1, ::-1]))
    # Pixel (0, 0) of the full convolution: the last pixel of the design lies on the first of the field.
    last = target.grid.of_pixels(np.array(target.grid.shape[::-1]) - 1)
    x, y = corner + pitch * np.array([u, v]) - last
    return float(x), float(y)


def _blocks(field: Floats, grid: Grid, times: int) -> tuple[Floats, float, Floats]:
    """(means of times × times pixels, their pitch, centre of the first), padded with zeros."""
    return block_means(field, times), grid.pitch * times, np.array(grid.origin) + grid.pitch * (times - 1) / 2


def _raster(design: Design, pitch: float) -> Target:
    """The coverage of the design alone, in pixels of any pitch."""
    x0, y0, x1, y1 = design.bounds
    shape = int((y1 - y0) / pitch) + 2, int((x1 - x0) / pitch) + 2
    return rasterise(design, Grid((x0 + pitch / 4, y0 + pitch / 4), pitch, shape))


def _middle_of_best(overlap: Floats) -> tuple[float, float]:
    """(row, column) of the largest overlap: the middle of the region of equally good ones."""
    best = np.unravel_index(int(np.argmax(overlap)), overlap.shape)
    parts, _ = ndimage.label(overlap >= (1 - _SAME) * overlap[best])
    v, u = ndimage.center_of_mass(parts == parts[best])
    return float(v), float(u)


def _fine(dose: Floats, grid: Grid, design: Design, spot: Spot, level: float, shift: Floats) -> Point:
    """The translation from the edges, by least squares for shift and overexposure."""
    x0, x1, y0, y1 = grid.extent
    for _ in range(_STEPS):
        edges = edge_errors(dose, Scene(design.moved(shift[0], shift[1]), grid, spot, Resin()), level)
        (x, y), used = edges.xy.T, ~edges.missing
        used &= (x > x0) & (x < x1) & (y > y0) & (y < y1)
        if used.sum() < _FEWEST:
            break
        unknowns = np.column_stack([edges.normal[used], np.ones(used.sum())])
        by = np.linalg.lstsq(unknowns, edges.epe[used], rcond=None)[0][:2]
        shift = shift + by
        if np.hypot(*by) < _SETTLED_FWHM * optics.fwhm(spot):
            break
    return float(shift[0]), float(shift[1])


_MARGINS = (6.0, 18.0)
"""FWHM beyond the usual margin, tried in turn while the cured area reaches the grid's rim."""


def shift_onto(design: Design, program: MachineProgram, settings: Settings, name: str) -> Point:
    """The translation that lays a program on its design, mm. name: of the program, for errors."""
    spot = program.process.spot
    grid = grid_around(lit_box(program.executed), spot, settings.pixels_per_fwhm, 0.0, repr(name))
    dose = accurate_model(grid, spot).dose(program.executed)
    x, y = translation(dose, grid, design, spot)
    return -x, -y


def exposure_of(
    program: MachineProgram, design: Design | None, settings: Settings, name: str
) -> PathExposure:
    """The exposure, on a grid that holds all of the cured area if memory allows. name: of the program."""
    critical, spot = program.process.resin.critical_dose, program.process.spot
    box = box_of(lit_box(program.shifted_path, program.executed), design, spot)
    what = f"{name!r} with its design (--align lays one on the other)" if design else repr(name)
    grid = grid_around(box, spot, settings.pixels_per_fwhm, 0.0, what)
    scene = Scene(design, grid, spot, program.process.resin) if design else None
    executed = _exposure(program, scene, grid)
    for extra in _MARGINS:
        if rim(executed.dose) < critical:
            break
        try:
            grid = grid_around(box, spot, settings.pixels_per_fwhm, extra, what)
        except InputError:
            break  # keep the largest grid so far
        scene = replace(scene, grid=grid) if scene else None
        executed = _exposure(program, scene, grid)
    return replace(executed, overflow=rim(executed.dose) >= critical)


def _exposure(program: MachineProgram, scene: Scene | None, grid: Grid) -> PathExposure:
    """The exposure of the executed path, measured in the scene on this grid if there is one."""
    resin = program.process.resin
    if scene is not None:
        measured = Exposure(program, scene).executed
        figures = dose_figures(measured.light, measured.dose, grid, resin)
        return PathExposure(figures, program.motion, grid, measured.dose, measured.light, scene, measured)
    dose = accurate_model(grid, program.process.spot).dose(program.executed)
    if not np.isfinite(dose).all():
        raise InputError("the dose is not finite; the program holds values that cannot be exposed")
    light = dose
    if resin.kinetics is not None:
        from laserpath.measure.conversion import equivalent_dose  # Taichi, which others need not wait for

        dose = equivalent_dose(program, grid)
    return PathExposure(dose_figures(light, dose, grid, resin), program.motion, grid, dose, light)


def at_best_power(executed: PathExposure) -> BestExposure | None:
    """The power at which the same path is most accurate; None without a design, or light along its outline.

    None for a resin with kinetics, too, whose conversion is not scaled by the power.
    """
    scene = executed.scene
    if scene is None or scene.resin.kinetics is not None:
        return None
    try:
        factor = best_exposure(executed.dose, scene)
    except InputError:
        return None
    (edges,) = edges_at(executed.dose, scene, (factor,))
    error = np.abs(edges.epe) / scene.fwhm
    return BestExposure(factor, edges, float(error.mean()), float(np.percentile(error, 95)))

"""The steps of a simulation: program → moves → executed → exposed → measured, with warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.quantities import place
from laserpath.design import FLATTEN_FWHM, as_design
from laserpath.machine import convert
from laserpath.machine.phase import phase_warnings
from laserpath.machine.placement import Placed, placed
from laserpath.machine.program import MachineProgram, Transmitted, execute, moves_from_zero
from laserpath.measure import rounded_off
from laserpath.measure.disturbance import Disturbance, disturbed
from laserpath.measure.exposure import missing
from laserpath.operators.volume import CuredDepth, cured_depth
from laserpath.operators.volume.depth import check_working_curve
from laserpath.physics import optics
from laserpath.report.canvas import Box
from laserpath.report.wording import area, number
from laserpath.simulation import source
from laserpath.simulation.exposing import COARSEST, at_best_power, exposure_of, lit_box, shift_onto
from laserpath.simulation.result import PathExposure, Simulation
from laserpath.simulation.source import Height, Program, ProgramLayer, Source, darkened, flat, layer
from laserpath.types import Design, Point, Process, Settings
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
    chosen = layer(read.moves, choices.height)
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
    done = "cures" if resin.tone == "negative" else "is cleared"
    if dose.cured == 0:
        yield (
            f"nothing {done}: the largest dose executed is {number(dose.dose_max, 2)} of the critical one; "
            f"it would take more than {number(1 / max(dose.dose_max, 1e-12), 2)} times the dose"
        )
    if dose.dose_max > _OVER * resin.over_dose:
        yield (
            f"the largest dose as executed is {number(dose.dose_max)} critical doses, at "
            f"{place(dose.brightest, optics.fwhm(process.spot))} mm: {area(dose.over_dosed, 2)} of the "
            f"{area(dose.cured, 2)} that {done} get more than the resin's limit of {resin.over_dose:g}"
        )
    if executed.overflow:
        yield f"what {done} reaches beyond the area that is simulated: the dose is far too high"


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
    design = as_design(design, FLATTEN_FWHM * spot.fwhm)
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
        return _shipped(read, chosen, process, one.override).moved(shipped.shift)

    found = disturbed(shipped.process.machine, scene, program)
    return Sensitivity(KeyFigures.of(measured), tuple(found))

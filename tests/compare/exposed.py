"""One design, printed three ways and measured alike: the plan, each baseline, the limit."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import baselines
import numpy as np

import gcode
from laserpath import Measurement, Plan, Process, Settings, measure, plan
from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, Transmitted
from laserpath.measure.exposure import Exposure
from laserpath.physics import optics
from laserpath.planning.stages import final_loss
from laserpath.planning.unconstrained import unconstrained_optimum
from laserpath.types import Design, Target
from laserpath.types.results import Edges, PrintFigures

_TRIED = 25
"""Power level at which a baseline is executed first, to find the levels that are tried."""


@dataclass(frozen=True)
class Print:
    """name; what was measured; lines: of G-code that move the head.  dose: (rows, columns) mJ/mm².

    write_time: s; NaN of the limit, which has no path.
    """

    name: str
    figures: PrintFigures
    write_time: float
    lines: int
    dose: Floats
    edges: Edges


@dataclass(frozen=True)
class Compared:
    """One design.  seconds: that planning took."""

    design: Design
    process: Process
    target: Target
    plan: Print
    baselines: tuple[Print, ...]
    limit: Print
    unprintable: tuple[str, ...]
    seconds: float

    @property
    def best(self) -> Print:
        """The baseline of the lowest mean EPE."""
        return min(self.baselines, key=lambda one: one.figures.epe_mean)

    @property
    def common(self) -> Print | None:
        """The hatch of FWHM/2, if there is one."""
        return next((one for one in self.baselines if one.name == baselines.COMMON), None)


def compare(path: str, process: Process, settings: Settings) -> Compared:
    """Plan the design in a file, and print it in every way."""
    begun = time.perf_counter()
    planned = plan(path, process, settings)
    seconds = time.perf_counter() - begun
    found = planned.report.limit or _limit(planned)
    return Compared(
        design=planned.design,
        process=process,
        target=planned.target,
        plan=_planned(planned),
        baselines=tuple(
            _baseline(name, lines, planned)
            for name, lines in baselines.candidates(planned.design, optics.fwhm(process.spot)).items()
        ),
        limit=Print("limit", found.figures, float("nan"), 0, found.dose, found.edges),
        unprintable=measure.summary(found.unprintable),
        seconds=seconds,
    )


def moving(program: str) -> int:
    """How many lines of a program move the head."""
    return len(re.findall(r"^[^;(\n]*X", program, re.M))


def _planned(planned: Plan) -> Print:
    return _print("plan", planned.report.executed, planned.program)


def _baseline(name: str, lines: list[Floats], planned: Plan) -> Print:
    """One power level, that of the lowest mean EPE as executed."""
    process, machine = planned.process, planned.process.machine
    scene = Scene.of(planned.design, planned.target, process.spot, process.resin)

    def at_level(level: int) -> tuple[Measurement, str]:
        path = baselines.toolpath(lines, machine, level * machine.power_max / machine.power_levels)
        program = gcode.write(convert.to_moves(path, machine), gcode.dialect(machine.dialect), machine.s_max)
        sent = Transmitted(np.full(len(path), 25), program.count("\n"))
        return Exposure(MachineProgram.of(path, process, sent), scene).executed, program

    dose = at_level(_TRIED)[0].dose
    near = round(_TRIED * measure.best_exposure(dose, scene) ** (1 / process.resin.order))
    levels = {min(max(near + k, machine.level_min), machine.power_levels) for k in (-1, 0, 1)}
    best, program = min(map(at_level, levels), key=lambda one: one[0].figures.epe_mean)
    return _print(name, best, program)


def _print(name: str, measured: Measurement, program: str) -> Print:
    return Print(
        name, measured.figures, measured.motion.write_time, moving(program), measured.dose, measured.edges
    )


def _limit(planned: Plan) -> measure.Limit:
    """Of a design so large that its plan has none."""
    process = planned.process
    scene = Scene.of(planned.design, planned.target, process.spot, process.resin)
    return unconstrained_optimum(scene, final_loss(scene))


def geometric_mean(values: list[float]) -> float:
    """exp of the mean logarithm."""
    return float(np.exp(np.log(values).mean()))

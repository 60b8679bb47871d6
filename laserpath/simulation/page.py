"""The page of a simulation: that of a report, and what is to be said of a program that is another's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import gcode
from laserpath import optics, report
from laserpath.report import ExposedProgram
from laserpath.report.numbers import number

if TYPE_CHECKING:
    from laserpath.simulation.result import Simulation

_MISPLACED = 0.5
"""Overlap (IoU) below which no power makes the design."""
_WORTH = 0.9
"""Of the mean edge error as it is: what another power must bring it below to be told as a gain."""


def page(simulation: Simulation) -> str:
    """The HTML text."""
    s = simulation
    text = report.PageText(s.name, warnings=s.warnings, answers=tuple(answers(s)), header=s.head)
    return report.render_exposure(exposed(s), text, s.commanded.measured, s.executed.measured)


def exposed(simulation: Simulation) -> ExposedProgram:
    """The simulation as the report's pictures take it."""
    executed = simulation.executed
    edges = executed.measured.edges if executed.measured else None
    return ExposedProgram(
        simulation.toolpath, simulation.run, executed.grid, executed.dose, simulation.process,
        simulation.design, edges,
    )  # fmt: skip


def answers(simulation: Simulation) -> Iterator[tuple[str, str]]:
    """(question, answer) about the program and its power."""
    yield "What this file is", what_it_is(simulation)
    if simulation.best is not None:
        yield "Whether another power would do better", another_power(simulation)


def what_it_is(simulation: Simulation) -> str:
    """How many moves at which powers and speeds, and how it was read."""
    path, machine = simulation.toolpath, simulation.process.machine
    on = path.on
    power, speed = path.power[on], path.speed[on]
    levels = _range(power.min(), power.max())
    moves = f"{on.sum()} exposing moves" if on.sum() != 1 else "One exposing move"
    dialect = gcode.dialect(machine.dialect)
    return (
        f"{moves}, {number(float(path.length[on].sum()))} mm with {levels} mW at "
        f"{_range(speed.min(), speed.max())} mm/s. Read as {dialect.name} writes it, with "
        f"{machine.power_max:g} mW at S{machine.s_max:g}."
    )


def another_power(simulation: Simulation) -> str:
    """What the same path could do at its best single factor of the dose."""
    best, measured = simulation.best, simulation.executed.measured
    if best is None or measured is None:
        return ""
    micrometres = 1000 * optics.fwhm(simulation.process.spot)
    now, then = measured.figures.epe_mean, best.epe_mean
    order = simulation.process.resin.order
    if measured.figures.iou < _MISPLACED:
        return "That cannot be said: what cures and the design hardly overlap. Is it in the right place?"
    if then > _WORTH * now:
        return "For the edges hardly: their mean error is about the least that this path can have."
    power = best.factor ** (1 / order)
    return (
        f"With {number(best.factor, 2)} times the dose ({number(power, 2)} times the power, or "
        f"{number(1 / best.factor, 2)} times the speed) the edges of the same path would be "
        f"{number(then * micrometres, 2)} µm off on average instead of {number(now * micrometres, 2)} µm, "
        "as far as the machine keeps that power or speed."
    )


def _range(low: float, high: float) -> str:
    """`3`, or `1.2 to 3`."""
    a, b = number(float(low)), number(float(high))
    return a if a == b else f"{a} to {b}"

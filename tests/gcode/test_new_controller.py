"""A controller added in one file: its class, its dialect, and a plan for it. It is CONTRIBUTING's recipe.

The toy is a galvo scanner that neither accelerates nor rounds: every move has its commanded speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import shapely

import gcode
import laserpath
from gcode.controllers import find, register
from gcode.controllers.common import Executed
from gcode.controllers.interface import Controller, Hardware, Notation
from gcode.move import Ints, Moves
from laserpath.machine import convert
from laserpath.types import Design, Machine, Process, Settings

DIALECT = """
controller = "galvo"
power = "S{power}"
power_max = 4095
power_decimals = 0
arcs = false
unknown = ["G64", "M67", "M68", "M106", "M107", "SET_PIN"]
"""
"""As a user's file has it; a package offers a `gcode.Dialect` by an entry point (docs/plugins.md)."""


@register
@dataclass(frozen=True, slots=True)
class Galvo(Controller):
    """A scanner whose mirrors jump at `jump` mm/s; a jump is a rapid."""

    name: ClassVar[str] = "galvo"
    title: ClassVar[str] = "a galvo card"
    notation: ClassVar[Notation] = Notation(inches=False)
    serial: ClassVar[bool] = False
    sees_all: ClassVar[bool] = True
    power_follows: ClassVar[bool] = False

    jump: float = 1000.0

    @classmethod
    def of(cls, machine: Hardware) -> Galvo:
        return cls(min(machine.rapid_speed))

    @classmethod
    def deviation_of(cls, machine: Hardware) -> float:
        return 1.0  # corners cost nothing

    @property
    def buffered(self) -> int:
        return 1

    @property
    def ramp(self) -> float:
        return 1e9

    def run(self, moves: Moves, sent: Ints, levels: int | None, longest: float) -> Executed:
        speed = np.where(moves.rapid, self.jump, moves.speed)
        duration = np.where(moves.still, moves.dwell, moves.length / speed)
        power = moves.power if levels is None else np.rint(moves.power * levels) / levels
        return Executed(np.arange(len(moves)), duration, moves.xyz, power, (0.0, float(duration.sum())))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine whose dialect names the new controller."""
    (tmp_path / "galvo.toml").write_text(DIALECT)
    return Machine(
        name="scanner", dialect=str(tmp_path / "galvo.toml"), power_levels=4095, baud=None, steps=None,
        acceleration=(1e6, 1e6), rapid_speed=(1000.0, 1000.0), segment_rate=1e5, look_ahead=100,
    )  # fmt: skip


def test_it_is_found_by_its_name(machine: Machine) -> None:
    assert find("galvo") is Galvo
    assert convert.controller(machine) == Galvo(1000.0)
    assert convert.limits(machine).junction_deviation == 1.0, "for paths, too"


def test_a_name_stands_for_one_controller() -> None:
    class Other(Galvo):
        name: ClassVar[str] = "grbl"

    with pytest.raises(gcode.GcodeError, match="controller 'grbl' exists already"):
        register(Other)
    with pytest.raises(gcode.GcodeError, match="controller 'galva' is unknown; known: grbl, marlin"):
        find("galva")


def test_a_plan_for_it_is_executed_by_it(machine: Machine) -> None:
    tab = Design(shapely.box(1, 1, 2, 1.6), "tab")
    settings = Settings(iterations=20, quality="draft", initial="contour", report="brief")
    plan = laserpath.plan(tab, Process(machine=machine), settings)
    assert plan.report.executed.figures.iou > 0.93
    program = gcode.read(plan.program, convert.dialect_of(machine), rapid_speed=1000.0)
    due = program.moves.length / np.where(program.moves.rapid, 1000.0, program.moves.speed)
    travel = np.hypot(*program.moves.xy[0]) / 1000.0  # from the work zero, before the first row
    moving = np.linalg.norm(np.diff(plan.run.xyz, axis=0), axis=1) > 0
    assert plan.run.duration[moving].sum() == pytest.approx(travel + due.sum(), rel=1e-3), (
        "it never accelerates"
    )
    dialect = gcode.dialect(machine.dialect)
    findings = gcode.check(plan.program, dialect, convert.envelope(machine, dialect))
    assert [finding for finding in findings if finding.error] == []

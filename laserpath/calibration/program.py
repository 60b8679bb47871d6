"""The strokes of a chart as G-code that a machine executes as commanded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.arrays import Floats
from laserpath.calibration.matrix import run_up
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.program import EYE_SAFETY, early
from laserpath.types import Machine, Process

_ROUNDING = 1e-6
"""Error of a division, in digits of S; a larger one rounds up what has to be rounded down."""


@dataclass(frozen=True, slots=True, eq=False)
class Stroke:
    """xy: (K, 2) mm, written at one level and speed, mm/s. of: the item's id, '' of labels and marks."""

    xy: Floats
    level: int
    speed: float
    of: str = ""

    def moved(self, dx: float, dy: float) -> Stroke:
        """The stroke, shifted by (dx, dy) mm."""
        return Stroke(self.xy + (dx, dy), self.level, self.speed, self.of)

    def ends(self, machine: Machine) -> Floats:
        """(2, 2) mm, where the head begins and ends: for an item, with a dark run-up before and after."""
        if not self.of:
            return self.xy[[0, -1]]
        along = self.xy[-1] - self.xy[0]
        run = along / np.hypot(*along) * run_up(self.speed, machine)
        return np.array([self.xy[0] - run, self.xy[-1] + run])


def moves_of(strokes: Sequence[Stroke], process: Process) -> gcode.Moves:
    """Rapids between strokes, dark lines before and after those of items, whose ids are comments."""
    machine, digit = process.machine, convert.board(process).digit
    xy: list[Floats] = [np.zeros(2)]
    power: list[float] = []
    speed: list[float] = []
    kind: list[int] = []
    comments: list[tuple[int, str]] = []

    def go(to: Floats, level: int, fast: float, how: gcode.Kind) -> None:
        if not np.array_equal(to, xy[-1]):
            xy.append(to)
            # Rounded up to the digits of S, it might be the next level.
            power.append(np.floor(level / machine.power_levels / digit + _ROUNDING) * digit)
            speed.append(fast)
            kind.append(how)

    item = ""
    for stroke in strokes:
        before, behind = stroke.ends(machine)
        go(before, 0, min(machine.rapid_speed), gcode.Kind.RAPID)
        if stroke.of != item:
            item = stroke.of
            comments.append((len(power), item or "labels"))
        go(stroke.xy[0], 0, stroke.speed, gcode.Kind.LINE)
        for point in stroke.xy[1:]:
            go(point, stroke.level, stroke.speed, gcode.Kind.LINE)
        go(behind, 0, stroke.speed, gcode.Kind.LINE)
    dynamic = np.full(len(power), convert.power_follows(machine))
    moves = gcode.Moves(
        np.array(xy), np.array(power), np.array(speed), np.array(kind, dtype=np.int8), dynamic=dynamic,
        comments=tuple(comments),
    )  # fmt: skip
    return early(moves, process)


def write(strokes: Sequence[Stroke], process: Process, head: Iterable[str]) -> tuple[str, float]:
    """The program and its write time in s. head: lines of its header."""
    machine = process.machine
    moves = moves_of(strokes, process)
    seconds = gcode.motion.execute(moves, convert.controller(machine)).write_time
    head = (next(iter(head)), *EYE_SAFETY, *tuple(head)[1:])
    return verified(moves, machine, head)[0], seconds

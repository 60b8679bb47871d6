"""Is a program fit for a machine? Findings with their lines, before anything burns.

Three kinds of rules, each in a module of its own:

    notation   words, characters and line lengths that this controller does not take
    lights     where the laser is on: in rapids, at standstill, at the end, or nowhere
    paths      places, speeds, powers and accelerations within the machine's

A program that cannot be read has that as one error; what the text alone says is said all the same.
An error is what ruins the plate or is refused by the controller; a warning is what the user may want so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gcode.checking import lights, notation, paths
from gcode.checking.envelope import Envelope
from gcode.checking.findings import Finding
from gcode.checking.paths import Pace
from gcode.checking.text import Text, often
from gcode.dialects.record import Dialect
from gcode.errors import GcodeError
from gcode.reading.parser import read
from gcode.reading.program import Program

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Checked:
    """findings: by line.  moves: how many.  write_time: s.  box: (x0, y0, x1, y1) mm of all moves.

    A program that cannot be read has no moves; without moves, the box is None.
    """

    findings: tuple[Finding, ...]
    moves: int = 0
    write_time: float = 0.0
    box: Box | None = None

    @property
    def errors(self) -> int:
        """How many of the findings are errors."""
        return sum(finding.error for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many are not."""
        return len(self.findings) - self.errors


def check(text: str, dialect: Dialect, machine: Envelope) -> tuple[Finding, ...]:
    """What is wrong with a program, by line; never raises for any text."""
    return examine(text, dialect, machine).findings


def examine(text: str, dialect: Dialect, machine: Envelope) -> Checked:
    """`check`, and how much there is to write."""
    characters = Text(text)
    findings = [
        *notation.check(characters, dialect), *notation.powers(characters, dialect, machine.s_max)
    ]  # fmt: skip
    try:
        program = read(text, dialect, machine.s_max, rapid_speed=min(machine.rapid))
    except GcodeError as error:
        findings += [*_unreadable(error, findings), *lights.unlit(characters, dialect)]
        return Checked(_sorted(findings))
    findings += _passed_over(program, characters, dialect, findings)
    findings += lights.check(program, characters, dialect)
    if not len(program.moves):
        return Checked(_sorted(findings))
    pace = Pace.of(program, machine, dialect)
    findings += paths.check(program, characters, pace, machine, dialect)
    return Checked(_sorted(findings), len(program.moves), pace.write_time, _box(program))


def _unreadable(error: GcodeError, known: list[Finding]) -> list[Finding]:
    """Why the reader stops, unless an error of that line says so already."""
    if any(finding.error and finding.line == error.line for finding in known):
        return []
    message = str(error).split(": ", 1)[-1] if error.line is not None else str(error)
    return [Finding("error", error.line or 1, error.column, message)]


def _passed_over(program: Program, text: Text, dialect: Dialect, known: list[Finding]) -> list[Finding]:
    """What the reader notes, unless it has been said, or the dialect itself writes that line."""
    places = {(finding.line, finding.column) for finding in known}
    own = {line for group in dialect.fixed_lines for line in group}
    return [
        Finding("warning", note.line, note.column, note.message + often(note.count))
        for note in program.notes
        if (note.line, note.column) not in places and text.line(note.line).strip() not in own
    ]


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line, f.column or 0, f.severity, f.message)))


def _box(program: Program) -> Box:
    extent = paths.extent(program.moves)
    low, high = np.min(extent[:, :2], axis=0), np.max(extent[:, 2:], axis=0)
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])

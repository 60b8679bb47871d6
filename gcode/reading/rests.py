"""Lines that turn the laser on, or up, while the head is at rest: a program of ours has none.

Power belongs into the line of a move, or directly before it where the controller takes power and moves in one
queue (SET_PIN) or lets the power wait for the move (M67). A line that only sets the power at once (M68, or
GRBL's `G1 F60 S500`) belongs directly before a dwell. Anywhere else the head stands in the light for as long
as the controller takes to get on, however short the program makes it.

A line that arms the laser before any power was stated lights with what an earlier program left.

What counts is the power that the next G1 would have, or an output has already. That is above what shines: a
GRBL that was armed by M4, or was in G0 last, is dark at rest only while it is in laser mode ($32=1).
"""

from __future__ import annotations

from gcode.move import Kind
from gcode.reading.interpreter import Interpreter

_BLANK = (";", "(", "%")


class RestLight:
    """Watches the lines that the shortcut does not read.

    lit: numbers of the lines found.  due: the line of a power command whose move or dwell has not come yet,
    0 without one.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.lit: list[int] = []
        self.due = 0
        self._dwells_only = False
        self._power, self._rows = 0.0, 0
        self._armed = (False, False)

    def before(self) -> None:
        """Remember the state before a line."""
        laser = self.interpreter.laser
        self._power, self._rows = self._ready(), len(self.interpreter.rows)
        self._armed = laser.armed, laser.dynamic

    def after(self, text: str) -> None:
        """Judge the line that has been executed."""
        power, rows, laser = self._ready(), self.interpreter.rows, self.interpreter.laser
        added = len(rows) > self._rows
        if not added and power == self._power and text.lstrip()[:1] in ("", *_BLANK):
            return
        waits = added and rows.kind[-1] & 7 == Kind.DWELL
        draws = added and not waits and self.interpreter.motion != 0
        shines = waits and rows.power[-1] > 0
        if self.due:
            self._settle(draws=draws, shines=shines)
        blind = laser.armed and not self._armed[0] and not laser.stated
        stays = laser.armed and not laser.dynamic and self._armed[1] and power > 0  # M3 after M4
        if blind or stays or (power > self._power and not draws):
            self._rise(rests=not added)

    def expect(self, line: int) -> None:
        """Note a power command in `line`, read by the shortcut, whose move has not come yet."""
        self.due, self._dwells_only = line, False

    def end(self) -> list[int]:
        """The lines found, once all have been read."""
        if self.due:
            self.lit.append(self.due)
            self.due = 0
        return self.lit

    def _settle(self, *, draws: bool, shines: bool) -> None:
        if not (shines or (draws and not self._dwells_only)):
            self.lit.append(self.due)
        self.due = 0

    def _rise(self, *, rests: bool) -> None:
        laser, dialect = self.interpreter.laser, self.interpreter.dialect
        line = self.interpreter.rows.line
        commands = laser.patterns.letter is None or bool(dialect.power_still)
        if rests and commands and (laser.armed, laser.dynamic) == self._armed:
            self.due, self._dwells_only = line, bool(dialect.power_still) and not laser.waiting
        else:
            self.lit.append(line)

    def _ready(self) -> float:
        """The power of a G1 that comes next, or of an output now, 0…1."""
        laser = self.interpreter.laser
        return max(laser.moving(1), laser.pin_still if laser.pin_live else 0.0)

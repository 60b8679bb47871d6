"""What LinuxCNC's interpreter makes of a program: canonical motions, from what `rs274` prints.

    rs274 -t /dev/null -g FILE        -t: it wants a table of tools; -g: it goes to the end by itself

prints a line for each call of a canonical function, four digits after the point, six for outputs, after two
columns (a count, and N with the line's number or dots). Its tables lie in $HOME/.tool.mmap, so each run gets
a home of its own. As of LinuxCNC 2.9, in program units (mm after G21, inches after G20), positions absolute:

    G20, G21            USE_LENGTH_UNITS(CANON_UNITS_INCHES | CANON_UNITS_MM)   at the start: mm
    G0                  STRAIGHT_TRAVERSE(x, y, z, a, b, c)
    G1                  STRAIGHT_FEED(x, y, z, a, b, c)        also where it ends where it starts
    G2, G3              ARC_FEED(x, y, centre x, centre y, turns, z, a, b, c)
                        turns: −1 clockwise, 1 counter-clockwise, by P more; I and J, absolute ones of G90.1,
                        and R all come out as the centre; a full circle with I and J ends where it starts
    G4 P                DWELL(s)
    F                   SET_FEED_RATE(units/min)               first of all that the line does: where it also
                        changes the units, F is still in the old ones.  G93: as units/min, of each move
    S                   SET_SPINDLE_SPEED(0, S)                before what else the line does
    M3, M4, M5          START_SPINDLE_CLOCKWISE(0), START_SPINDLE_COUNTERCLOCKWISE(0), STOP_SPINDLE_TURNING(0)
    M67 E Q, M62 P      SET_MOTION_OUTPUT_VALUE(E,Q), SET_MOTION_OUTPUT_BIT(P)   from the next motion on
    M68 E Q, M64 P      SET_AUX_OUTPUT_VALUE(E,Q), SET_AUX_OUTPUT_BIT(P)         at once
    G64 P Q             SET_MOTION_CONTROL_MODE(CANON_CONTINUOUS, P) and SET_NAIVECAM_TOLERANCE(Q)
    G61                 SET_MOTION_CONTROL_MODE(CANON_EXACT_PATH)
    G91, G90.1, G93     only COMMENT("interpreter: …"); the positions that follow are absolute all the same
    G92, G92.1          SET_G92_OFFSET(x, y, …): the machine is at position + offset, in the units of now
    G54 … G59           SET_G5X_OFFSET(1 … 6, x, y, …)         the same
    G28, G30            STRAIGHT_TRAVERSE by way of the point that is given; G53: to machine coordinates
    (text)              COMMENT("text");  a comment after `;` is not printed
    M0, M1              PROGRAM_STOP(), OPTIONAL_PROGRAM_STOP()
    M2, M30, %          SET_FEED_RATE(0), STOP_SPINDLE_TURNING(0), PROGRAM_END();  % instead: FINISH()

M67 waits for a motion that goes somewhere; an M68 before it does not call it off (`tpSetAout` in LinuxCNC's
trajectory planner keeps it until a segment is added, and it adds none without length).

An error is a sentence and the line on stderr, and exit code 1: an unknown G or M, two of a group in a line,
G1 with no feed, an arc whose radii differ or whose R is too small, a file without M2, M30 or %, a line
beyond 252 characters, the CR of CR LF among them, `1e3`, carriage returns alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

RAPID, LINE, CLOCKWISE, COUNTERCLOCKWISE, DWELL = range(5)
PRINTED = 0.5001e-4
"""Half of the last digit that it prints, in its units."""

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Motion:
    """One canonical motion. Places in mm, in the machine's coordinates.

    kind: the G word, 4 for a dwell.  centre: of arcs.  turns: whole and begun ones, of arcs.  speed: mm/s of
    feeds.  spindle: the S word while M3 or M4 turn it, else 0.  analog: the output 0 of M67 and M68, None if
    the program has none.  seconds: of dwells.
    """

    kind: int
    start: Point
    end: Point
    speed: float
    spindle: float
    analog: float | None
    centre: tuple[float, float] | None = None
    turns: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """The motions of a program, and what the output 0 is set to when it is over."""

    motions: tuple[Motion, ...]
    analog_at_end: float | None


class RefusedError(Exception):
    """The message of the interpreter on a program that it refused."""


@dataclass(slots=True)
class _Machine:
    """The state that the calls describe, and the motions so far."""

    unit: float = 1.0
    here: Point = (0.0, 0.0, 0.0)
    g5x: Point = (0.0, 0.0, 0.0)
    g92: Point = (0.0, 0.0, 0.0)
    feed: float = 0.0
    speed_word: float = 0.0
    turning: bool = False
    analog: float | None = None
    pending: float | None = None
    motions: list[Motion] = field(default_factory=list)

    def place(self, *values: float) -> tuple[float, ...]:
        """Program coordinates → mm of the machine."""
        offsets = (self.g5x[k] + self.g92[k] for k in range(3))
        return tuple(v * self.unit + offset for v, offset in zip(values, offsets, strict=False))

    def move(self, kind: int, end: tuple[float, ...], centre: tuple[float, ...] = (), turns: int = 0) -> None:
        x, y, z = end
        middle = (centre[0], centre[1]) if centre else None
        if self.pending is not None and (middle or self.here != (x, y, z)):
            self.analog, self.pending = self.pending, None
        self.motions.append(
            Motion(kind, self.here, (x, y, z), self.feed, self._spindle, self.analog, middle, turns)
        )
        self.here = (x, y, z)

    def wait(self, seconds: float) -> None:
        self.motions.append(
            Motion(DWELL, self.here, self.here, self.feed, self._spindle, self.analog, seconds=seconds)
        )

    @property
    def _spindle(self) -> float:
        return self.speed_word if self.turning else 0.0

    def call(self, name: str, argument: str) -> None:
        """One canonical function with what stands between its brackets."""
        number = [float(n) for n in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", argument)]
        match name:
            case "USE_LENGTH_UNITS":
                self.unit = {"CANON_UNITS_MM": 1.0, "CANON_UNITS_INCHES": 25.4}[argument]
            case "STRAIGHT_TRAVERSE" | "STRAIGHT_FEED":
                self.move(RAPID if name == "STRAIGHT_TRAVERSE" else LINE, self.place(*number[:3]))
            case "ARC_FEED":
                x, y, i, j, turns, z = number[:6]
                kind = CLOCKWISE if turns < 0 else COUNTERCLOCKWISE
                self.move(kind, self.place(x, y, z), self.place(i, j), abs(int(turns)))
            case "DWELL":
                self.wait(number[0])
            case "SET_FEED_RATE":
                self.feed = number[0] * self.unit / 60
            case "SET_SPINDLE_SPEED":
                self.speed_word = number[1]
            case "START_SPINDLE_CLOCKWISE" | "START_SPINDLE_COUNTERCLOCKWISE" | "STOP_SPINDLE_TURNING":
                self.turning = name.startswith("START")
            case "SET_MOTION_OUTPUT_VALUE" if number[0] == 0:
                self.pending = number[1]
            case "SET_AUX_OUTPUT_VALUE" if number[0] == 0:
                self.analog = number[1]
            case "SET_G5X_OFFSET":
                self.g5x = (number[1] * self.unit, number[2] * self.unit, number[3] * self.unit)
            case "SET_G92_OFFSET":
                self.g92 = (number[0] * self.unit, number[1] * self.unit, number[2] * self.unit)
            case "SET_XY_ROTATION" if number[0] != 0:
                raise NotImplementedError(f"the coordinates are turned by {number[0]:g}°")
            case "SELECT_PLANE" if argument != "CANON_PLANE_XY":
                raise NotImplementedError(f"arcs are in {argument}")


def read(printed: str) -> Run:
    """What the printed calls do."""
    machine = _Machine()
    for line in printed.splitlines():
        call = re.match(r" *\d+ +N[\d.]+ +([A-Z0-9_]+)\((.*)\)$", line)
        if call:
            machine.call(call[1], call[2])
    return Run(tuple(machine.motions), machine.analog if machine.pending is None else machine.pending)


def run(program: Path, text: str) -> Run:
    """What the program `text` does. Raises RefusedError with the message of the interpreter."""
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "program.ngc"
        file.write_bytes(text.encode("latin-1", "replace"))
        done = subprocess.run(
            [program, "-t", "/dev/null", "-g", file],
            env=os.environ | {"HOME": home}, cwd=home, stdin=subprocess.DEVNULL, timeout=60,
            check=False, capture_output=True, text=True, encoding="latin-1",
        )  # fmt: skip
    if done.returncode:
        raise RefusedError(done.stderr.removeprefix("executing").strip())
    return read(done.stdout)

"""A program of any tool → its moves on one machine and in one plane, with a sentence for each assumption.

The text is read as the controller reads it, as far as its behaviour is known. A power above the machine's
full power is exposed at full power; `$30=` in the file sets full power; a command that no move depends on is
passed over. Each of these gives a remark. A motion whose effect is not known is refused with its line.

Moves at several heights are projected onto the one plane that is exposed: a move of length L and speed v in
space, and of length L_xy in the plane, goes at v L_xy/L in the plane, so it takes as long. Where L_xy = 0, it
stands still for L/v. The spot is taken as focused at every height.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import gcode
from gcode.move import Kind
from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.design import refuse_drawing
from laserpath.machine import convert
from laserpath.types import Machine

FINDINGS_MAX = 12
"""Findings of a check that are reported at most, errors before warnings."""

_PASSED_MAX = 20
"""Largest number of assumptions; with more, an unknown command is refused instead of passed over."""

_TRIED_BYTES = 1 << 22
"""Length of a dark file, in characters, up to which other dialects are tried."""

_COMMAND = re.compile(
    r"[ \t]*(?:N\d+[ \t]*)?(M[ \t]*\d+(?:\.\d+)?|[A-Z_]{2}\w*(?![\w.]))([^;(\n]*)", re.IGNORECASE
)
_EFFECT = re.compile(r"[XYZIJRS][ \t]*[-+.\d]", re.IGNORECASE)
_FULL = re.compile(r"\$30=[\d.]+ makes S([\d.]+) full power")
_ABOVE = re.compile(r"power S?([\d.eE+]+) is outside 0…")
_POWER = re.compile(r"(?<![A-Z_])S[ \t]*\+?(\d+\.?\d*|\.\d+)", re.IGNORECASE)
_IDLE = re.compile(r"(\S+) (?:neither moves nor lights|is an extruder's)")
_COMMENT = re.compile(r";[^\n]*|\([^)\n]*\)?")

_HEAD = 200
"""Comments of a program's head that the page shows; a plan's head has some fifty lines, more where they are
wrapped."""

Program = str | bytes | Path


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A program as its controller reads it.

    machine: with the dialect and the S value of full power with which the program was read.
    remarks: a sentence for each assumption, then the findings of a check.  head: the first comments.
    """

    name: str
    program: gcode.Program
    machine: Machine
    remarks: tuple[str, ...]
    head: tuple[str, ...]

    @property
    def moves(self) -> gcode.Moves:
        """From the end of the first G0."""
        return self.program.moves


def read(
    program: Program, machine: Machine, dialect: str | None = None, s_max: float | None = None, name: str = ""
) -> Source:
    """The moves of a program, a file or a text. s_max: the S value of full power; None: the machine's.

    name: instead of the file's. Raises InputError for a program that cannot be read or exposes nothing.
    """
    title, text = _text(program)
    title = name or title
    machine = _with_dialect(machine, dialect, s_max)
    try:
        attempt = _Attempt(text, machine, machine.s_max, fixed=s_max is not None)
        parsed, attempt = _read_leniently(attempt)
    except gcode.GcodeError as error:
        hint = _hint(text, machine, "can be read")
        raise InputError(f"{title!r} cannot be simulated: {error}{hint}") from None
    machine, used = attempt.machine, _dialect_of(attempt.machine)
    # With the full power it was read with; otherwise a power above the machine's would hide all others.
    envelope = convert.envelope(replace(machine, s_max=attempt.full), used)
    checked = gcode.examine(attempt.text, used, envelope)
    _refuse_dark(title, text, parsed, machine, checked)
    head = tuple(comment for row, comment in parsed.moves.comments[:_HEAD] if row == 0)
    return Source(title, parsed, machine, (*attempt.remarks, *_findings(checked, attempt.remarks)), head)


def _dialect_of(machine: Machine) -> gcode.Dialect:
    return gcode.dialect(machine.dialect)


def _with_dialect(machine: Machine, dialect: str | None, s_max: float | None) -> Machine:
    """The machine with the program's dialect and full power."""
    other = gcode.dialect(dialect or machine.dialect)
    own = other.name == _dialect_of(machine).name
    full = s_max or (machine.s_max if own else other.power_max)
    return replace(machine, dialect=machine.dialect if own else dialect or machine.dialect, s_max=full)


# The text


def _text(program: Program) -> tuple[str, str]:
    """(name, text) of a file or a text; a str without a line end is a path."""
    if isinstance(program, str) and program and not re.search(r"[\r\n]", program):
        program = Path(program)
    title, data = ("program", program) if not isinstance(program, Path) else (program.name, _bytes(program))
    if not data or not data.strip():
        raise InputError(f"{title!r} is empty")
    if isinstance(data, bytes):
        refuse_drawing(data, str(program) if isinstance(program, Path) else "")
    binary = data.find(b"\0") if isinstance(data, bytes) else data.find("\0")
    if binary >= 0:
        raise InputError(f"{title!r} is not text: its byte {binary} is 0")
    return title, data if isinstance(data, str) else data.decode("utf-8", "surrogateescape")


def _bytes(path: Path) -> bytes:
    try:
        return limits.content(path, "program")
    except InputError as error:
        if path.is_fifo() or path.is_char_device():
            raise InputError(f"{error}; say - to read stdin") from None
        raise


# Reading


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A text, and how to read it.

    full: the S value of full power, the machine's or a larger one of the text.  fixed: whether `$30=` in the
    text cannot change it.
    """

    text: str
    machine: Machine
    full: float
    fixed: bool
    remarks: tuple[str, ...] = ()


def _read_leniently(attempt: _Attempt) -> tuple[gcode.Program, _Attempt]:
    """The program, and the attempt that succeeded; errors that another reading avoids become remarks."""
    while True:
        machine, dialect = attempt.machine, _dialect_of(attempt.machine)
        try:
            program = gcode.read(attempt.text, dialect, attempt.full, rapid_speed=min(machine.rapid_speed))
            return _capped(program, attempt), attempt
        except gcode.GcodeError as error:
            other = _other_attempt(attempt, error)
            if other is None:
                raise
            attempt = other


def _other_attempt(attempt: _Attempt, error: gcode.GcodeError) -> _Attempt | None:
    """Another way to read the text, if the error allows one."""
    line, machine, remarks = f"line {error.line}", attempt.machine, attempt.remarks
    if not attempt.fixed and (full := _FULL.search(str(error))):
        remark = f"{line}: $30 makes S{full[1]} full power, and so it is taken"
        machine = replace(machine, s_max=float(full[1]))
        return replace(attempt, machine=machine, full=machine.s_max, fixed=True, remarks=(*remarks, remark))
    capped = attempt.full > machine.s_max
    if not capped and (above := _ABOVE.search(str(error))) and _caps(machine):
        most = max(_largest_power(attempt.text), float(above[1]))
        remark = (
            f"{line}: S{above[1]} is above the machine's full power, S{machine.s_max:g}, at which the "
            f"controller caps it; if S{most:g} is full power: --s-max {most:g}"
        )
        return replace(attempt, full=most, remarks=(*remarks, remark))
    if len(remarks) < _PASSED_MAX and (command := _harmless(attempt.text, error)):
        remark = f"{line}: {command} is skipped; what the machine does there is not known"
        return replace(attempt, text=_without(attempt.text, command), remarks=(*remarks, remark))
    return None


def _caps(machine: Machine) -> bool:
    """Whether the controller caps S, and S stands for nothing but power."""
    dialect = _dialect_of(machine)
    return not dialect.power_line and not dialect.notation.one_command


def _largest_power(text: str) -> float:
    return max((float(word[1]) for word in _POWER.finditer(_COMMENT.sub("", text))), default=0.0)


def _capped(program: gcode.Program, attempt: _Attempt) -> gcode.Program:
    """The program with its powers capped at the machine's full power."""
    if attempt.full == attempt.machine.s_max:
        return program
    power = np.minimum(program.moves.power * (attempt.full / attempt.machine.s_max), 1.0)
    return replace(program, moves=replace(program.moves, power=power))


def _harmless(text: str, error: gcode.GcodeError) -> str | None:
    """The unknown command of the refused line, if nothing in that line could move the head or set power."""
    line = text.splitlines()[error.line - 1] if error.line is not None else ""
    command = _COMMAND.match(line)
    if command is None or "is unknown" not in str(error) or _EFFECT.search(command[2]):
        return None
    return re.sub(r"\s", "", command[1])


def _without(text: str, command: str) -> str:
    """The text with the lines that begin with the command emptied."""
    word = re.sub(r"(?<=^M)", r"[ \\t]*", re.escape(command), flags=re.IGNORECASE)
    pattern = rf"^[ \t]*(?:N\d+[ \t]*)?{word}(?![\d.])[^\r\n]*"
    return re.sub(pattern, "", text, flags=re.IGNORECASE | re.MULTILINE)


# Remarks


def _findings(checked: gcode.Checked, remarks: tuple[str, ...]) -> Iterator[str]:
    """The findings of a check, errors first, without the lines that the remarks name already."""
    lines = {sentence.split(":")[0] for sentence in remarks}
    idle = [match[1] for f in checked.findings if (match := _IDLE.match(f.message))]
    findings = [f for f in checked.findings if f"line {f.line}" not in lines and not _IDLE.match(f.message)]
    findings.sort(key=lambda f: not f.error)
    for finding in findings[:FINDINGS_MAX]:
        yield f"line {finding.line}: {finding.message}"
    if (more := len(findings) - FINDINGS_MAX) > 0:
        yield f"{more} more findings of `laserpath check` are left out"
    if idle:
        words = ", ".join(dict.fromkeys(idle))
        yield f"what neither moves nor lights is skipped: {words}"


def lit(moves: gcode.Moves) -> np.ndarray:
    """(N,) whether a move exposes anything: it is on, and has a length or a dwell time."""
    exposes = np.where(moves.still, moves.dwell > 0, moves.length > 0)
    return moves.on & exposes


def _refuse_dark(
    name: str, text: str, program: gcode.Program, machine: Machine, checked: gcode.Checked
) -> None:
    """Raise for a program that exposes nothing, with the reason, and the dialects in which it would."""
    if lit(program.moves).any():
        return
    reasons = [f.message for f in checked.findings if "expose" in f.message or "nothing moves" in f.message]
    reason = reasons[0].removeprefix("nothing is exposed: ") if reasons else "no move has any power"
    hint = _hint(text, machine, "exposes something")
    raise InputError(f"{name!r} exposes nothing as {_dialect_of(machine).name}: {reason}{hint}")


def _hint(text: str, machine: Machine, then: str) -> str:
    """The other dialects in which the program works, as a hint. then: a verb for its effect in them."""
    others = list(_other_dialects(text, machine)) if len(text) <= _TRIED_BYTES else []
    return f"; as {' or '.join(others)} it {then}: --dialect {others[0]}" if others else ""


def _other_dialects(text: str, machine: Machine) -> Iterator[str]:
    """The dialects in which a program exposes something."""
    for name, other in gcode.DIALECTS.items():
        if name == _dialect_of(machine).name:
            continue
        try:
            if lit(gcode.parse(text, other)).any():
                yield name
        except gcode.GcodeError:
            continue


_SAME = 1e-3
"""Distance in mm up to which heights count as one."""

_GENTLE, _CLIMBING = 0.1, 0.8
"""Steepest slope of a bed, and the share of the lit way on such slopes from which a file follows one."""

_LISTED = 4
"""Heights that a sentence lists at most."""

Height = float | str | None


@dataclass(frozen=True, slots=True, eq=False)
class ProgramLayer:
    """The lit moves of one height. rows: (N,) bool.  height: mm; None: all.  heights: (H,) mm of the file."""

    rows: Bools
    height: float | None
    heights: Floats

    @property
    def remarks(self) -> tuple[str, ...]:
        """A sentence if the file has more than one height, with the one that was chosen."""
        if len(self.heights) == 1:
            return ()
        some = f"{len(self.heights)} heights, Z {listed(self.heights)} mm"
        if self.height is None:
            return (f"the file exposes at {some}: what falls at all of them is added up, all in focus",)
        return (
            f"the file exposes at {some}: taken as layers, of which this is the one at Z {self.height:g}; "
            "--z picks another, --z all adds them up; the times are those of the whole file",
        )


def layer(moves: gcode.Moves, height: Height = None, *, along: bool = False) -> ProgramLayer:
    """The moves of one height; None: of the first lit one; 'all': of all heights.

    along: whether the file says that its Z follows the bed; one whose lit way climbs throughout does so, too.
    Raises InputError if nothing is lit at that height.
    """
    on = lit(moves)
    z = np.rint(_levelled(moves, on, along) / _SAME) * _SAME
    heights, first = np.unique(z[on], return_index=True)
    if height == "all" or (len(heights) == 1 and height is None):
        return ProgramLayer(on, None, heights)
    if height is None:
        height = float(heights[np.argmin(first)])
    near = np.abs(heights - float(height)) <= _SAME
    if not near.any():
        raise InputError(f"nothing is exposed at Z {height} mm; the file exposes at Z {listed(heights)} mm")
    chosen = float(heights[near][0])
    return ProgramLayer(on & (np.abs(z - chosen) <= _SAME / 2), chosen, heights)


def _levelled(moves: gcode.Moves, on: Bools, along: bool) -> Floats:
    """(N,) mm, the height of each move; of a file that follows the bed, that of all moves in their layer.

    A layer of such a file ends where the head moves in Z alone. Its height is the middle one of its moves.
    """
    z, climb = moves.z[1:], np.abs(np.diff(moves.z))
    across = np.hypot(*np.diff(moves.xy, axis=0).T)
    gently = (climb > _SAME / 10) & (climb < _GENTLE * across)
    if not (along or across[on & gently].sum() > _CLIMBING * across[on].sum()):
        return z
    levelled = z.copy()
    for own in np.split(np.arange(len(z)), np.flatnonzero((climb > 0) & (across == 0))):
        if on[own].any():
            levelled[own] = np.median(z[own[on[own]]])
    return levelled


def listed(heights: Floats) -> str:
    """`0.1, 0.2 … 1.2`"""
    texts = [f"{round(z, 3):g}" for z in heights.tolist()]
    if len(texts) > _LISTED:
        return f"{', '.join(texts[: _LISTED - 1])} … {texts[-1]}"
    return ", ".join(texts)


def darkened(moves: gcode.Moves, kept: Bools) -> gcode.Moves:
    """The same moves with the power of only the kept rows."""
    return moves if kept[moves.on].all() else replace(moves, power=np.where(kept, moves.power, 0.0))


def flat(moves: gcode.Moves) -> gcode.Moves:
    """Straight moves projected onto the plane, each with its duration unchanged."""
    if not np.ptp(moves.z):
        return moves
    across = np.hypot(*np.diff(moves.xy, axis=0).T)
    duration = moves.duration
    stands = moves.still | (across == 0)
    speed = np.where(stands, 1.0, across / np.where(stands, 1.0, duration))
    kind = np.where(stands, Kind.DWELL, np.where(moves.rapid, Kind.RAPID, Kind.LINE)).astype(np.int8)
    return gcode.Moves(
        moves.xy, moves.power, speed, kind,
        dwell=np.where(stands, duration, 0.0), dynamic=moves.dynamic,
    )  # fmt: skip

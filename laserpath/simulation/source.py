"""A program of any tool → its moves on one machine, and in sentences all that had to be taken for granted.

What a controller would do is followed as far as it is known. A power above the machine's full one shines as
full power; `$30=` in the file says what full power is; a line that only asks for what no move depends on is
passed over. Each of that is told. A motion whose effect is not known is refused with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import gcode
from laserpath.base.errors import InputError
from laserpath.machine import convert
from laserpath.types import Machine

BYTES_MAX = 1 << 29
FINDINGS_MAX = 12
"""Of a check, told; the first ones, errors before warnings."""

_PASSED_MAX = 20
"""Different commands that are passed over."""

_TRIED_BYTES = 1 << 22
"""Of a dark file, up to which other dialects are tried."""

_COMMAND = re.compile(
    r"[ \t]*(?:N\d+[ \t]*)?(M[ \t]*\d+(?:\.\d+)?|[A-Z_]{2}\w*(?![\w.]))([^;(\n]*)", re.IGNORECASE
)
_EFFECT = re.compile(r"[XYZIJRS][ \t]*[-+.\d]", re.IGNORECASE)
_FULL = re.compile(r"\$30=[\d.]+ makes S([\d.]+) full power")
_ABOVE = re.compile(r"power S?([\d.eE+]+) is outside 0…")
_POWER = re.compile(r"(?<![A-Z_])S[ \t]*\+?(\d+\.?\d*|\.\d+)", re.IGNORECASE)
_IDLE = re.compile(r"(\S+) (?:neither moves nor lights|is an extruder's)")
_COMMENT = re.compile(r";[^\n]*|\([^)\n]*\)?")

Program = str | bytes | Path


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A program as its controller takes it.

    machine: with the dialect and the number of full power that the program is read with.
    remarks: a sentence for each thing that was taken for granted, then what a check of the file finds.
    head: its first comments.
    """

    name: str
    said: gcode.Program
    machine: Machine
    remarks: tuple[str, ...]
    head: tuple[str, ...]

    @property
    def moves(self) -> gcode.Moves:
        """From where the first G0 leads to."""
        return self.said.moves


def read(
    program: Program, machine: Machine, dialect: str | None = None, s_max: float | None = None, name: str = ""
) -> Source:
    """The moves of a program, a file's or a text's. s_max: the number of full power; None: the machine's."""
    title, text = _text(program)
    title = name or title
    machine = _spoken(machine, dialect, s_max)
    try:
        said, reading = _leniently(_Reading(text, machine, machine.s_max, fixed=s_max is not None))
    except gcode.GcodeError as error:
        hint = _hint(text, machine, "can be read")
        raise InputError(f"{title!r} cannot be simulated: {error}{hint}") from None
    machine, spoken = reading.machine, _of(reading.machine)
    # With the number that it was read with: else a power above the machine's hides all that follows.
    envelope = convert.envelope(replace(machine, s_max=reading.full), spoken)
    found = gcode.examine(reading.text, spoken, envelope)
    _refuse_dark(title, text, said, machine, found)
    head = tuple(comment for row, comment in said.moves.comments[:40] if row == 0)
    return Source(title, said, machine, (*reading.remarks, *_told(found, reading.remarks)), head)


def _of(machine: Machine) -> gcode.Dialect:
    return gcode.dialect(machine.dialect)


def _spoken(machine: Machine, dialect: str | None, s_max: float | None) -> Machine:
    """The machine, as if its controller spoke the program's dialect."""
    spoken = gcode.dialect(dialect or machine.dialect)
    own = spoken.name == _of(machine).name
    full = s_max or (machine.s_max if own else spoken.power_max)
    return replace(machine, dialect=machine.dialect if own else dialect or machine.dialect, s_max=full)


# What is in the file


def _text(program: Program) -> tuple[str, str]:
    """(name, text) of a file or a text; a str without a line end is a file's path."""
    if isinstance(program, str) and program and not re.search(r"[\r\n]", program):
        program = Path(program)
    title, data = ("program", program) if not isinstance(program, Path) else (program.name, _bytes(program))
    if not data or not data.strip():
        raise InputError(f"{title!r} is empty")
    binary = data.find(b"\0") if isinstance(data, bytes) else data.find("\0")
    if binary >= 0:
        raise InputError(f"{title!r} is no text: its byte {binary} is 0")
    return title, data if isinstance(data, str) else data.decode("utf-8", "surrogateescape")


def _bytes(path: Path) -> bytes:
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{str(path)!r} is not a plain file; say - to read stdin")
        if path.is_file() and (size := path.stat().st_size) > BYTES_MAX:
            raise InputError(f"{str(path)!r} has {size / 2**20:.0f} MiB, above {BYTES_MAX / 2**20:.0f} MiB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"program {str(path)!r} cannot be read: {reason}") from None


# What its controller makes of it


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text, and how it is read. full: number of full power, the machine's or, where powers are above, the
    largest one.  fixed: whether the file may not change it.
    """

    text: str
    machine: Machine
    full: float
    fixed: bool
    remarks: tuple[str, ...] = ()


def _leniently(reading: _Reading) -> tuple[gcode.Program, _Reading]:
    """The moves, and how they were read: each refusal that need not be one is got round, and told."""
    while True:
        machine = reading.machine
        try:
            said = gcode.read(reading.text, _of(machine), reading.full, rapid_speed=min(machine.rapid_speed))
            return _capped(said, reading), reading
        except gcode.GcodeError as error:
            other = _around(reading, error)
            if other is None:
                raise
            reading = other


def _around(reading: _Reading, error: gcode.GcodeError) -> _Reading | None:
    """Another way to read it, if what is refused need not be."""
    line, machine, remarks = f"line {error.line}", reading.machine, reading.remarks
    if not reading.fixed and (full := _FULL.search(str(error))):
        remark = f"{line}: $30 makes S{full[1]} full power, and so it is taken"
        machine = replace(machine, s_max=float(full[1]))
        return replace(reading, machine=machine, full=machine.s_max, fixed=True, remarks=(*remarks, remark))
    capped = reading.full > machine.s_max
    if not capped and (above := _ABOVE.search(str(error))) and _caps(machine):
        most = max(_largest_power(reading.text), float(above[1]))
        remark = (
            f"{line}: S{above[1]} is above the machine's full power, S{machine.s_max:g}, at which the "
            f"controller caps it; if S{most:g} is full power: --s-max {most:g}"
        )
        return replace(reading, full=most, remarks=(*remarks, remark))
    if len(remarks) < _PASSED_MAX and (command := _harmless(reading.text, error)):
        remark = f"{line}: {command} is passed over; what the machine does there is not known"
        return replace(reading, text=_without(reading.text, command), remarks=(*remarks, remark))
    return None


def _caps(machine: Machine) -> bool:
    """Whether its S is a word that the controller caps, and no other number would be taken for one."""
    spoken = _of(machine)
    return not spoken.power_line and spoken.controller in ("grbl", "trapezoid")


def _largest_power(text: str) -> float:
    return max((float(found[1]) for found in _POWER.finditer(_COMMENT.sub("", text))), default=0.0)


def _capped(said: gcode.Program, reading: _Reading) -> gcode.Program:
    """The program with the powers of the machine, where it was read with a larger number of full power."""
    if reading.full == reading.machine.s_max:
        return said
    power = np.minimum(said.moves.power * (reading.full / reading.machine.s_max), 1.0)
    return replace(said, moves=replace(said.moves, power=power))


def _harmless(text: str, error: gcode.GcodeError) -> str | None:
    """The unknown command of the refused line, if nothing in that line could move or light."""
    line = text.splitlines()[error.line - 1] if error.line is not None else ""
    found = _COMMAND.match(line)
    if found is None or "is unknown" not in str(error) or _EFFECT.search(found[2]):
        return None
    return re.sub(r"\s", "", found[1])


def _without(text: str, command: str) -> str:
    """The text with empty lines for those that begin with the command."""
    said = re.sub(r"(?<=^M)", r"[ \\t]*", re.escape(command), flags=re.IGNORECASE)
    pattern = rf"^[ \t]*(?:N\d+[ \t]*)?{said}(?![\d.])[^\r\n]*"
    return re.sub(pattern, "", text, flags=re.IGNORECASE | re.MULTILINE)


# What is told


def _told(found: gcode.Checked, known: tuple[str, ...]) -> Iterator[str]:
    """What a check of the file finds, errors first; nothing that is known already."""
    lines = {sentence.split(":")[0] for sentence in known}
    idle = [(f, said[1]) for f in found.findings if (said := _IDLE.match(f.message))]
    findings = [f for f in found.findings if f"line {f.line}" not in lines and not _IDLE.match(f.message)]
    findings.sort(key=lambda f: not f.error)
    for finding in findings[:FINDINGS_MAX]:
        yield f"line {finding.line}: {finding.message}"
    if (more := len(findings) - FINDINGS_MAX) > 0:
        yield f"{more} more findings of `laserpath check` are left out"
    if idle:
        words = ", ".join(dict.fromkeys(word for _, word in idle))
        yield f"what neither moves nor lights is passed over: {words}"


def lit(moves: gcode.Moves) -> np.ndarray:
    """(N,) whether light falls anywhere in a move, or while it stands."""
    there = np.where(moves.still, moves.dwell > 0, moves.length > 0)
    return moves.on & there


def _refuse_dark(name: str, text: str, said: gcode.Program, machine: Machine, found: gcode.Checked) -> None:
    """Raise for a program that exposes nothing, with the reason, and the dialects in which it would."""
    if lit(said.moves).any():
        return
    reasons = [f.message for f in found.findings if "expose" in f.message or "nothing moves" in f.message]
    reason = reasons[0].removeprefix("nothing is exposed: ") if reasons else "no move has any power"
    hint = _hint(text, machine, "exposes something")
    raise InputError(f"{name!r} exposes nothing as {_of(machine).name}: {reason}{hint}")


def _hint(text: str, machine: Machine, then: str) -> str:
    """In which other dialects it would go, if in any."""
    others = list(_other_dialects(text, machine)) if len(text) <= _TRIED_BYTES else []
    return f"; as {' or '.join(others)} it {then}: --dialect {others[0]}" if others else ""


def _other_dialects(text: str, machine: Machine) -> Iterator[str]:
    """The dialects in which a program exposes something."""
    for name, other in gcode.DIALECTS.items():
        if name == _of(machine).name:
            continue
        try:
            if lit(gcode.parse(text, other)).any():
                yield name
        except gcode.GcodeError:
            continue

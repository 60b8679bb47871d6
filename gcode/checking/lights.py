"""Where the laser is on: never in a rapid, at a standstill or at the end; and somewhere, at all.

The reader (`parser`) is the controller here: it knows that GRBL is dark in G0 and lit after `M3 S500`, that
Klipper's pin stays as it is, that Marlin follows S only after `M3 I`. So what the file means to light and
this controller does not is found as moves without light.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gcode.checking.findings import Finding
from gcode.checking.text import Text, first_motion, often
from gcode.dialects.record import Dialect
from gcode.reading.program import Program

_STOPS = re.compile(r"M[ \t]*0*(?:2|30)(?![\d.])", re.IGNORECASE)
_WORDS = re.compile(r"(?<![A-Za-z_])([MmSs])[ \t]*(\d+\.?\d*|\.\d+)")
_LASER = re.compile(r"M[ \t]*0*([345])(?![\d.])", re.IGNORECASE)


def check(program: Program, text: Text, dialect: Dialect) -> Iterator[Finding]:
    """Findings of all rules about the laser, and about what the file leaves unsaid."""
    moves = program.moves
    moving = ~moves.still & (moves.length > 0)
    if not moving.any() and first_motion(text) is None:
        yield Finding("error", 1, None, "nothing moves: the file has no G0, G1, G2 or G3 with a place")
        return
    if not (moving & moves.on).any():
        yield _nothing(text, dialect)
    yield from _lit_rapids(program)
    yield from _standstills(program)
    yield from _before_motion(text, dialect)
    yield from _at_end(program, text, dialect)
    yield from _resets(text, dialect)
    yield from _stated(program, text, dialect)


def _nothing(text: Text, dialect: Dialect) -> Finding:
    """Why nothing is exposed, as far as the words tell."""
    powers = text.at("S")
    powers = powers[np.isin(text.next(powers, 1), np.frombuffer(b"+.0123456789 \t", dtype=np.uint8))]
    where = text.place(int(powers[0]))[0] if powers.size else 1
    if powers.size and dialect.power_line:
        reason = f"S is ignored by {dialect.name}, which wants {dialect.power.format(power='…')}"
    elif powers.size and dialect.controller == "marlin":
        reason = f"S on G1 is ignored by {dialect.name} unless M3 I S0 stands before it"
    elif powers.size:
        reason = "the laser is not armed, or S is 0, wherever it moves"
    else:
        reason = f"no line says a power, {dialect.power.format(power='…')}"
    return Finding("error", where, None, f"nothing is exposed: {reason}")


def unlit(text: Text, dialect: Dialect) -> Iterator[Finding]:
    """Whether nothing is exposed for want of a word, of a program that cannot be read."""
    codes = "".join(sorted({said[0] for said in (dialect.power, dialect.power_still) if said}))
    marlin = dialect.controller == "marlin"
    if first_motion(text) is None:
        return
    if dialect.power_line:
        commands = {re.split(r"[ \d]", said)[0] for said in (dialect.power, dialect.power_still) if said}
        pattern = "|".join(map(re.escape, commands))
    elif marlin:
        codes, pattern = "M", r"M[ \t]*0*(?:106|[34](?![\d.])[^\n]*(?:I|S[ \t]*0*\.?0*[1-9]))"
    elif dialect.laser_on and not dialect.always_dynamic:
        codes, pattern = "M", r"M[ \t]*0*(?:[34](?!\d)|106)"
    else:
        return
    any_power = re.compile(pattern, re.IGNORECASE)
    if not any(any_power.match(text.words, k) for k in text.at(codes).tolist()):
        yield _nothing(text, dialect)


def _lit_rapids(program: Program) -> Iterator[Finding]:
    rows = program.lit_rapids
    if rows.size:
        k = int(rows[0])
        message = f"the laser is on in a rapid, at power {program.moves.power[k]:.3g}"
        yield Finding("error", int(program.line[k]), None, message + often(rows.size, "moves"))


def _standstills(program: Program) -> Iterator[Finding]:
    moves = program.moves
    rows = np.flatnonzero(moves.still & moves.on)
    if rows.size:
        k = int(rows[0])
        wait = f" for {moves.dwell[k]:.3g} s" if moves.dwell[k] else ""
        message = f"the laser is on at a standstill{wait}, at power {moves.power[k]:.3g}"
        yield Finding("error", int(program.line[k]), None, message + often(rows.size, "places"))


def _before_motion(text: Text, dialect: Dialect) -> Iterator[Finding]:
    """M3 with power before the first motion: no move tells of this standstill."""
    end = first_motion(text)
    if end is None or dialect.power != "S{power}" or dialect.always_dynamic or dialect.controller == "marlin":
        return  # what Marlin does with M3 has a rule of its own
    power, armed = 0.0, False
    for number, line in enumerate(text.words[: text.words.rfind("\n", 0, end) + 1].split("\n"), start=1):
        for letter, value in _WORDS.findall(line):
            if letter in "Ss":
                power = float(value)
            elif float(value) in (3, 4, 5):
                armed = float(value) == 3 or (float(value) == 4 and not dialect.laser_on_dynamic)
        if armed and power > 0:
            message = f"the laser is on at a standstill before the first motion, at S{power:g}"
            yield Finding("error", number, None, message)
            return


def _at_end(program: Program, text: Text, dialect: Dialect) -> Iterator[Finding]:
    """On every exit: the end of the file, and M2 or M30."""
    last = program.lines
    if program.power_at_end > 0:
        message = f"the laser is on at the end of the file, at power {program.power_at_end:.3g}"
        yield Finding("error", last, None, message)
        return
    off = " and ".join(dialect.laser_off) or "M5"
    if program.armed_at_end and dialect.laser_on:
        message = f"the laser is still armed at the end of the file; {off} is missing"
        yield Finding("warning", last, None, message)
        return
    if (
        not program.ended
        and "M2" in dialect.footer
        and dialect.controller == "trapezoid"
        and not text.has("%")
    ):
        yield Finding("warning", last, None, "M2 is missing at the end; LinuxCNC refuses such a file")
    at = text.at("M")
    words = [(k, m[1]) for k in at[-8:].tolist() if (m := _LASER.match(text.words, k))]
    ends = [k for k in at[-8:].tolist() if _STOPS.match(text.words, k)]
    if ends and words and words[-1][1] != "5" and words[-1][0] < ends[-1]:
        message = f"{off} is missing before the end, which alone disarms the laser"
        yield text.finding("warning", ends[-1], message)


def _resets(text: Text, dialect: Dialect) -> Iterator[Finding]:
    """G1 without S behind a G0, where a G0 sets the power to 0."""
    if not dialect.rapid_resets:
        return
    pattern = re.compile(r"G0*0(?!\d)[^\n]*\n\s*(G0*1(?!\d)(?:(?![Ss][ \t]*[\d.+])[^\n])*)(?:\n|$)")
    at = text.at("G")
    rapid = text.next(at, 1) == ord("0")
    found = [m.start(1) for k in at[rapid].tolist() if (m := pattern.match(text.words, k))]
    if found:
        message = f"G1 without S is dark behind a G0, which sets the power of {dialect.name} to 0"
        yield text.finding("warning", found[0], message, len(found))


def _stated(program: Program, text: Text, dialect: Dialect) -> Iterator[Finding]:
    """Units, plane, absolute or relative: nothing is known of the controller before."""
    offset = first_motion(text)
    line = text.place(offset)[0] if offset is not None else int(program.line[0])
    if not program.start_stated:
        message = "the first move begins wherever the head is: no G0 X Y comes before"
        yield Finding("warning", line, None, message)
    unit = "G20" if dialect.units == "inch" else "G21"
    in_mm = "warning" if dialect.controller == "klipper" else "error"  # which is always in mm
    # Another plane is refused where it matters, with an arc; and not every controller knows the word.
    plane = program.plane_stated or not any("G17" in line.split() for line in dialect.header)
    for stated, severity, what in (
        (program.units_stated, in_mm, f"mm or inches: {unit}"),
        (program.distance_stated, "error", "absolute or relative: G90 or G91"),
        (plane, "warning", "the plane: G17"),
    ):
        if not stated:
            yield Finding(severity, line, None, f"the file does not say, before its first motion, {what}")

"""Rules on units: lit moves in inches where the program was in millimetres, or the other way round.

A `G20` among the lines of a program in mm, added by hand or by two files that were joined, makes what follows
25.4 times as large; on a large machine it is still within the work area. Scripts of other tools that move in
inches and go back to mm before anything is lit are as they should be, and so is a file all in inches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from gcode.checking.findings import Finding
from gcode.checking.text import Text
from gcode.dialects.record import Dialect
from gcode.reading.program import Program

_UNITS = re.compile(r"G[ \t]*0*(2[01])(?![\d.])", re.IGNORECASE)
_NAMES = {20: "inches (G20)", 21: "mm (G21)"}
_OWN = "laserpath "
"""How the first comment of laserpath's programs begins; they are in the units of their dialect."""


def check(program: Program, text: Text, dialect: Dialect) -> Iterator[Finding]:
    """The finding that lit moves are in other units than an earlier line says, or than laserpath writes."""
    found = [(k, int(m[1])) for k in text.at("G").tolist() if (m := _UNITS.match(text.words, k))]
    lit = program.line[program.moves.on]
    if not found or not lit.size:
        return
    stated = np.array([unit for _, unit in found])
    before = np.searchsorted(text.rows(np.array([k for k, _ in found])) + 1, lit, side="right")
    usual = 20 if dialect.units == "inch" else 21
    used = np.append(usual, stated)[before]  # usual where none is stated, which has a finding of its own
    odd = used != usual
    if odd.any() and (used[0] == usual or usual in stated[: before[0]]):
        change = int(before[np.argmax(odd)]) - 1
    elif odd.any() and not odd.all():
        change = int(before[np.argmin(odd)]) - 1
    elif odd.any() and any(comment.startswith(_OWN) for _, comment in program.moves.comments[:1]):
        message = (
            f"lit moves are in {_NAMES[41 - usual]}, but laserpath writes {dialect.name} in {_NAMES[usual]}"
        )
        yield text.finding("warning", found[before[0] - 1][0], message)
        return
    else:
        return
    old, new = _NAMES[41 - found[change][1]], _NAMES[found[change][1]]
    message = f"the units change from {old} to {new} in mid-program, and lit moves follow"
    yield text.finding("warning", found[change][0], message)

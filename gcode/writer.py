"""Moves → the text of a program.

A rapid is `G0 X Y`, everything else `G1 X Y` with F and S where they differ from what the
controller remembers: at 115 200 baud every word left out is time. F = 60·speed (mm/min, converted
here and nowhere else) rounded down, so that no feed is above a speed limit that the moves keep.
S = s_max·power. GRBL's duty is floor((levels − 1)·S/s_max) + 1 of `levels`; S = s_max·n/levels
gives back n for every n as long as its rounding is finer than s_max/levels², hence `_s_decimals`.

A move that has no length once it is rounded is left out: it has no line energy, and with dynamic
power the laser is dark at standstill anyway. The head is not parked: the moves do not say so.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator

from gcode.dialects import Dialect
from gcode.errors import GcodeError
from gcode.move import Moves

_SPELLED = str.maketrans(
    {"µ": "u", "μ": "u", "²": "2", "³": "3", "·": "*", "×": "x", "–": "-", "−": "-", "Ø": "O"}
)


def write(moves: Moves, dialect: Dialect, s_max: float, header: Iterable[str] = ()) -> str:
    """The program of `moves`, LF line ends. header: comments for the top of it.

    The program goes to moves.xy[0] first, in a rapid; the laser is off before and after.
    """
    if not (math.isfinite(s_max) and s_max > 0):
        raise GcodeError(f"s_max is {s_max}, but must be above 0")
    lines = [comment for text in header for comment in _comments(text, dialect)]
    lines += [*dialect.header, dialect.laser_off, dialect.laser_on]
    lines += _body(moves, dialect, s_max)
    lines += dialect.footer
    for line in lines:
        if len(line) > dialect.line_limit:
            raise GcodeError(
                f"line {line[:40]!r}… has {len(line)} characters, above {dialect.name}'s {dialect.line_limit}"
            )
    return "\n".join(lines) + "\n"


def _body(moves: Moves, dialect: Dialect, s_max: float) -> Iterator[str]:
    """One line a move."""
    place = [
        f"X{number(x, dialect.xy_decimals)} Y{number(y, dialect.xy_decimals)}" for x, y in moves.xy.tolist()
    ]
    decimals = _s_decimals(dialect, s_max)
    yield f"G0 {place[0]}"
    here, s_now, f_now = place[0], "", ""
    for there, power, speed, rapid in zip(
        place[1:], moves.power.tolist(), moves.speed.tolist(), moves.rapid.tolist(), strict=True
    ):
        if there == here:
            continue
        here = there
        if rapid:
            s_now = ""  # a lit move after a rapid says its power itself
            yield f"G0 {there}"
            continue
        words, s, f = f"G1 {there}", f"S{number(s_max * power, decimals)}", f"F{feed(speed, dialect)}"
        if f != f_now:
            words, f_now = f"{words} {f}", f
        if s != s_now:
            words, s_now = f"{words} {s}", s
        yield words


def number(value: float, decimals: int) -> str:
    """Plain decimal notation without trailing zeros, without a minus at zero."""
    text = f"{value:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def feed(speed: float, dialect: Dialect) -> str:
    """mm/s → mm/min, rounded down (up by at most 1e-6 of the last digit, for 49.9999999999)."""
    scale = 10**dialect.feed_decimals
    rounded = math.floor(speed * 60 * scale + 1e-6) / scale
    if rounded <= 0:
        raise GcodeError(
            f"speed {speed:g} mm/s is below the smallest feed that can be written, F{1 / scale:g}"
        )
    return number(rounded, dialect.feed_decimals)


def _s_decimals(dialect: Dialect, s_max: float) -> int:
    """Digits of S: the dialect's, or more where they would not tell two PWM levels apart."""
    if dialect.power_levels is None:
        return dialect.s_decimals
    return max(dialect.s_decimals, math.ceil(math.log10(dialect.power_levels**2 / s_max)))


def _comments(text: str, dialect: Dialect) -> Iterator[str]:
    """`text` as comment lines: printable ASCII, none of the controller's real-time characters.

    GRBL acts on `!`, `?`, `~` and on every byte above 127 the moment it receives them, in a
    comment too.
    """
    for part in text.splitlines():
        plain = unicodedata.normalize("NFKD", part.translate(_SPELLED))
        plain = "".join(c for c in plain if not unicodedata.combining(c))
        safe = "".join(c if " " <= c <= "\x7e" and c not in dialect.realtime else "." for c in plain)
        prefix = f"{dialect.comment} "
        for row in textwrap.wrap(safe, dialect.line_limit - len(prefix)):
            yield prefix + row

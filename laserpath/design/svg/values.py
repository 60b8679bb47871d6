"""Numbers, lengths and transforms as SVG and CSS write them.

Lengths come out in px, 96 to the inch. Matrices are (3, 3), applied to column vectors (x, y, 1).
"""

from __future__ import annotations

import math
import re

import numpy as np

from laserpath.base.arrays import Floats

PX_PER_MM = 96 / 25.4
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
NUMBERS = re.compile(NUMBER)
ABSOLUTE = {
    "": 1.0, "px": 1.0, "in": 96.0, "mm": PX_PER_MM, "cm": 10 * PX_PER_MM,
    "q": PX_PER_MM / 4, "pt": 96 / 72, "pc": 16.0,
}  # fmt: skip
RELATIVE = {"em": 1.0, "rem": 1.0, "ex": 0.5, "ch": 0.5}
LARGE = 1e30  # limit of numbers, so that products of several stay finite
ANGLES = {"": 1.0, "deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
_LENGTH = re.compile(rf"\s*({NUMBER})\s*([a-zA-Z]*|%)\s*")
_LIST = re.compile(rf"(?:[\s,]*+{NUMBER})*+[\s,]*")
_FUNCTION = re.compile(r"[\s,]*([a-zA-Z]+)\s*\(([^()]*)\)[\s,]*")
_ARGUMENT = re.compile(rf"[\s,]*({NUMBER})\s*([a-zA-Z%]*)[\s,]*")


class NotUnderstood(ValueError):
    """A value that is invalid for its attribute; the attribute counts as not given."""


class NotFinite(ValueError):
    """NaN, infinity, or a number that is too large. text: as written in the file."""

    def __init__(self, text: str) -> None:
        super().__init__(f"holds {text!r}, but numbers must be finite and below {LARGE:g}")


def number(text: str) -> float:
    """A plain number."""
    if NUMBERS.fullmatch(text.strip()) is None:
        raise _wrong(text)
    return _finite(text)


def numbers(text: str) -> list[float]:
    """Numbers separated by spaces or commas."""
    if _LIST.fullmatch(text) is None:
        raise _wrong(text)
    return [_finite(n) for n in NUMBERS.findall(text)]


def length(text: str, percent_of: float | None, font_size: float = 16.0) -> float:
    """A length in px. percent_of: 100 % in px; None: percentages are invalid."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise _wrong(text)
    value, unit = _finite(match[1]), match[2].lower()
    if unit == "%" and percent_of is not None:
        return value / 100 * percent_of
    if unit in RELATIVE:
        return value * RELATIVE[unit] * font_size
    if unit not in ABSOLUTE:
        raise NotUnderstood(text)
    return value * ABSOLUTE[unit]


def lengths(text: str, percent_of: float | None, font_size: float = 16.0) -> list[float]:
    """Lengths separated by spaces or commas, px."""
    return [length(part, percent_of, font_size) for part in re.split(r"[\s,]+", text.strip()) if part]


def matrix(a: float, b: float, c: float, d: float, e: float, f: float) -> Floats:
    """The transform (x, y) → (a x + c y + e, b x + d y + f)."""
    return np.array([[a, c, e], [b, d, f], [0.0, 0.0, 1.0]])


IDENTITY = matrix(1, 0, 0, 1, 0, 0)
IDENTITY.flags.writeable = False


def translation(x: float, y: float) -> Floats:
    """The transform that shifts by (x, y)."""
    return matrix(1, 0, 0, 1, x, y)


def apply(m: Floats, points: Floats) -> Floats:
    """(..., 2) points transformed; unlike with `@`, equal points stay equal to the last bit."""
    x, y = points[..., 0], points[..., 1]
    out = np.empty_like(points)
    for k in (0, 1):
        out[..., k] = m[k, 0] * x + m[k, 1] * y + m[k, 2]
    return out


def stretch(m: Floats) -> float:
    """The largest factor by which the matrix lengthens a vector."""
    (a, c), (b, d) = m[:2, :2].tolist()
    return (math.hypot(a + d, b - c) + math.hypot(a - d, b + c)) / 2


def transform(text: str) -> Floats:
    """A list of transform functions, as an attribute or in CSS."""
    out, at = IDENTITY, 0
    if text.strip() in ("", "none"):
        return out
    while at < len(text):
        match = _FUNCTION.match(text, at)
        if match is None:
            raise _wrong(text)
        out = out @ _function(match[1].lower(), match[2])
        at = match.end()
    return out


def _function(name: str, arguments: str) -> Floats:
    """One transform function."""
    units = ANGLES if name.startswith(("rotate", "skew")) else ABSOLUTE
    values: list[float] = []
    at = 0
    while at < len(arguments):
        match = _ARGUMENT.match(arguments, at)
        if match is None:
            raise _wrong(arguments)
        unit = match[2].lower() if not (name == "rotate" and values) else ""
        if unit not in units:
            raise NotUnderstood(arguments)
        values.append(_finite(match[1]) * units[unit])
        at = match.end()
    return _build(name, values)


def _build(name: str, v: list[float]) -> Floats:
    """The matrix of a function of plain numbers; angles in degrees."""
    match name, v:
        case "matrix", [a, b, c, d, e, f]:
            return matrix(a, b, c, d, e, f)
        case "translate", [x, *rest] if len(rest) < 2:
            return translation(x, rest[0] if rest else 0.0)
        case "translatex", [x]:
            return translation(x, 0)
        case "translatey", [y]:
            return translation(0, y)
        case "scale", [x, *rest] if len(rest) < 2:
            return matrix(x, 0, 0, rest[0] if rest else x, 0, 0)
        case "scalex", [x]:
            return matrix(x, 0, 0, 1, 0, 0)
        case "scaley", [y]:
            return matrix(1, 0, 0, y, 0, 0)
        case "rotate", [angle]:
            c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            return matrix(c, s, -s, c, 0, 0)
        case "rotate", [angle, x, y]:
            return translation(x, y) @ _build("rotate", [angle]) @ translation(-x, -y)
        case "skewx", [angle]:
            return matrix(1, 0, math.tan(math.radians(angle)), 1, 0, 0)
        case "skewy", [angle]:
            return matrix(1, math.tan(math.radians(angle)), 0, 1, 0, 0)
        case "skew", [x, *rest] if len(rest) < 2:
            slopes = [math.tan(math.radians(angle)) for angle in [x, *rest, 0.0][:2]]
            return matrix(1, slopes[1], slopes[0], 1, 0, 0)
    raise NotUnderstood(name)


def _finite(text: str) -> float:
    value = float(text)
    if not abs(value) < LARGE:
        raise NotFinite(text)
    return value


def _wrong(text: str) -> ValueError:
    """The error for a text that is no number: NotFinite for NaN and infinity, else NotUnderstood."""
    match = re.search(r"(?i)(?<![a-z])[-+]?(nan|inf(inity)?)(?![a-z])", text)
    return NotFinite(match[0]) if match else NotUnderstood(text)

"""Numbers, lengths, transforms and viewports as SVG and CSS write them.

Lengths come out in px, 96 to the inch. Matrices are (3, 3), applied to column vectors (x, y, 1).

A viewBox (x, y, w, h) is mapped onto a viewport (X, Y, W, H) in px. Default xMidYMid meet:
one scale min(W/w, H/h), centred.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError

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


Box = tuple[float, float, float, float]
ALIGN = {"Min": 0.0, "Mid": 0.5, "Max": 1.0}
_ASPECT = re.compile(r"(?:defer\s+)?(none|x(Min|Mid|Max)Y(Min|Mid|Max))(?:\s+(meet|slice))?")


@dataclass(frozen=True, slots=True)
class Page:
    """The outermost viewport. width, height: px, or None if the file does not give them.

    box: the viewBox, if any.  named: whether the size has a unit.  warning: how the size was guessed, or ''.
    """

    width: float | None
    height: float | None
    box: Box | None
    named: bool
    warning: str


def view_box(text: str | None) -> Box | None:
    """(x, y, width, height), or None. Raises NotUnderstood unless width and height are positive."""
    if text is None or not text.strip():
        return None
    values = numbers(text)
    if len(values) != 4 or values[2] <= 0 or values[3] <= 0:
        raise NotUnderstood(text)
    return values[0], values[1], values[2], values[3]


def fit(box: Box, viewport: Box, aspect: str = "") -> Floats:
    """The matrix from viewBox to viewport coordinates. aspect: preserveAspectRatio."""
    (x, y, w, h), (vx, vy, vw, vh) = box, viewport
    match = _ASPECT.fullmatch(aspect.strip() or "xMidYMid")
    if match is None:
        raise NotUnderstood(aspect)
    sx, sy = vw / w, vh / h
    if match[1] == "none":
        return matrix(sx, 0, 0, sy, vx - x * sx, vy - y * sy)
    s = max(sx, sy) if match[4] == "slice" else min(sx, sy)
    dx, dy = ALIGN[match[2]] * (vw - w * s), ALIGN[match[3]] * (vh - h * s)
    return matrix(s, 0, 0, s, vx + dx - x * s, vy + dy - y * s)


def page(width: str | None, height: str | None, box_text: str | None) -> Page:
    """The page from the attributes of the outermost svg element.

    Plain numbers are px. A missing size (or auto, or a percentage, which is of the viewer's window)
    follows from the other one and the viewBox's aspect, else from the viewBox in px; without a
    viewBox the page is the drawing's extent.
    """
    try:
        box = view_box(box_text)
    except NotUnderstood:
        raise InputError(
            f"viewBox is {box_text!r}, but must be x y width height, the last two above 0"
        ) from None
    w, h = _side("width", width, box), _side("height", height, box)
    warning = ""
    if w is None and h is None:
        page = "the viewBox counts in px" if box else "the page is what is drawn, and lengths count in px"
        warning = f"svg has no width and height of its own: {page} of 1/96 inch"
    if box is not None:
        if w is None:
            w = box[2] if h is None else h * box[2] / box[3]
        if h is None:
            h = w * box[3] / box[2]
    elif (w is None) != (h is None):
        warning = "svg has only one of width and height and no viewBox: the page is what is drawn"
        w = h = None
    named = any(re.search(r"\d\s*[a-zA-Z]+\s*$", side or "") for side in (width, height))
    return Page(w, h, box, named, warning)


def _side(name: str, text: str | None, box: Box | None) -> float | None:
    """The width or height of the page in px, or None."""
    if text is None or text.strip().lower() in ("", "auto"):
        return None
    percent = text.strip().endswith("%")
    try:
        value = length(text, 1.0)
    except NotUnderstood:
        raise InputError(f"page {name} is {text!r}, but must be a length, such as 20mm") from None
    if value <= 0:
        raise InputError(f"page {name} is {text!r}, but must be above 0")
    return None if percent else value

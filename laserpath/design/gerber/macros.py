"""Aperture macros: shapes made of primitives, whose parameters may be expressions.

    %AMNAME*                 primitives and assignments, each ended by *
    $4=$1x0.75*              + - x / and brackets; $1, $2 … are given where the macro is used, else 0
    1,1,$4,0,0*              code, exposure, …; exposure 0 erases earlier primitives of this macro

Primitives are rotated about the macro's origin. Sources: Gerber specification 2024.05, section 4.5; for the
moiré (6) and the lower left line (22), which are no longer in it, that of 2012.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from shapely.affinity import rotate
from shapely.geometry.base import BaseGeometry

from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, minus
from laserpath.design.gerber.shapes import disc, rectangle, regular
from laserpath.design.joined import check_reach, joined

_TOKEN = re.compile(r"\$\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[-+xX/()]")
_COMMENT = re.compile(r"0(?![\d.])")
_DEEPEST = 50  # nested brackets of an expression
_LONGEST = 2000  # characters of an expression; the time grows with the square of their number
_MOST_RINGS = 1000  # rings of a moiré

Numbers = dict[int, float]
Drawn = tuple[bool, BaseGeometry]  # whether it adds; its area


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro as it is written: its name and its statements."""

    name: str
    statements: tuple[str, ...]


def parse(text: str) -> Macro:
    """Parse the text after AM in an extended command."""
    name, *statements = (part.strip() for part in text.split("*"))
    if not name:
        raise InputError("an aperture macro has no name")
    kept = (statement for statement in statements if statement and not _COMMENT.match(statement))
    return Macro(name, tuple(re.sub(r"\s+", "", statement) for statement in kept))


def shape(macro: Macro, given: Sequence[float], scale: float, tolerance: float) -> BaseGeometry:
    """The macro's area in mm. given: $1, $2 …  scale: mm of the file's unit.  tolerance: mm."""
    values: Numbers = dict(enumerate(given, 1))
    area: BaseGeometry = EMPTY
    adding: list[BaseGeometry] = []
    for adds, piece in _drawn(macro, values, scale, tolerance):
        if adds:
            adding.append(piece)
        elif adding or not area.is_empty:
            area = minus(joined([area, *adding]), piece)
            adding = []
    return joined([area, *adding]) if adding else area


def _drawn(macro: Macro, values: Numbers, scale: float, tolerance: float) -> Iterator[Drawn]:
    """The primitives in their order."""
    for statement in macro.statements:
        if statement.startswith("$"):
            name, equals, expression = statement[1:].partition("=")
            if not (equals and name.isdecimal() and len(name) < 10):
                raise InputError(f"macro {macro.name}: {statement[:40]!r} is not an assignment")
            values[int(name)] = _value(expression, values, macro)
            continue
        code, *fields = statement.split(",")
        numbers = [_value(field, values, macro) for field in fields]
        check_reach(f"macro {macro.name}: primitive {statement[:40]!r}", np.array(numbers) * scale)
        try:
            yield from _PRIMITIVES[code](numbers, _Lengths(scale, tolerance))
        except KeyError:
            raise InputError(f"macro {macro.name}: {code[:20]!r} is not the number of a primitive") from None
        except (IndexError, ValueError) as error:
            if isinstance(error, InputError):
                raise InputError(f"macro {macro.name}: {error}") from None
            raise InputError(f"macro {macro.name}: primitive {statement[:40]!r} lacks numbers") from None


# Primitives: numbers → (whether it adds, area)


@dataclass(frozen=True, slots=True)
class _Lengths:
    """unit: the file's unit in mm.  tolerance: mm."""

    unit: float
    tolerance: float


def _turned(area: BaseGeometry, numbers: list[float], place: int, scale: _Lengths) -> BaseGeometry:
    """The area in mm, rotated about the origin by numbers[place], if there is one."""
    angle = numbers[place] if len(numbers) > place else 0.0
    area = rotate(area, angle, origin=(0, 0)) if angle % 360 else area
    return shapely.transform(area, lambda xy: xy * scale.unit)


def _circle(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    on, diameter, x, y = n[:4]
    yield bool(on), _turned(_disc(diameter, (x, y), scale), n, 4, scale)


def _disc(diameter: float, centre: tuple[float, float], scale: _Lengths) -> BaseGeometry:
    return disc(_size(diameter), centre, scale.tolerance / scale.unit)


def _vector(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    on, width, x0, y0, x1, y1 = n[:6]
    length = math.hypot(x1 - x0, y1 - y0)
    bar = rectangle(length, _size(width), ((x0 + x1) / 2, (y0 + y1) / 2))
    bar = rotate(bar, math.atan2(y1 - y0, x1 - x0), use_radians=True)
    yield bool(on), _turned(bar, n, 6, scale)


def _centre(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    on, width, height, x, y = n[:5]
    yield bool(on), _turned(rectangle(_size(width), _size(height), (x, y)), n, 5, scale)


def _lower_left(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    on, width, height, x, y = n[:5]
    bar = rectangle(_size(width), _size(height), (x + width / 2, y + height / 2))
    yield bool(on), _turned(bar, n, 5, scale)


def _outline(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    count = _whole(n[1], 1, 1_000_000)
    xy = np.array(n[2 : 4 + 2 * count]).reshape(-1, 2)
    if len(xy) != count + 1:
        raise IndexError
    if count < 3:
        return
    check_reach("an outline", xy)
    yield bool(n[0]), _turned(joined([shapely.polygons(xy)]), n, 4 + 2 * count, scale)


def _polygon(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    on, count, x, y, diameter = n[:5]
    yield bool(on), _turned(regular(_size(diameter), _whole(count, 3, 1000), 0.0, (x, y)), n, 5, scale)


def _moire(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    x, y, outer, thickness, gap, count, width, length = n[:8]
    pieces = [rectangle(_size(length), _size(width), (x, y)), rectangle(_size(width), _size(length), (x, y))]
    for _ in range(_whole(count, 0, _MOST_RINGS)):
        if outer <= 0:
            break
        ring = _disc(outer, (x, y), scale)
        pieces.append(minus(ring, _disc(max(outer - 2 * thickness, 0.0), (x, y), scale)))
        outer -= 2 * (thickness + gap)
    yield True, _turned(joined(pieces), n, 8, scale)


def _thermal(n: list[float], scale: _Lengths) -> Iterator[Drawn]:
    x, y, outer, inner, gap = n[:5]
    ring = minus(_disc(outer, (x, y), scale), _disc(inner, (x, y), scale))
    for size in ((2 * outer, _size(gap)), (_size(gap), 2 * outer)):
        ring = minus(ring, rectangle(*size, (x, y)))
    yield True, _turned(ring, n, 5, scale)


_PRIMITIVES = {
    "1": _circle,
    "2": _vector,
    "20": _vector,
    "21": _centre,
    "22": _lower_left,
    "4": _outline,
    "5": _polygon,
    "6": _moire,
    "7": _thermal,
}


def _size(value: float) -> float:
    if value < 0:
        raise InputError(f"a size is {value:g}, but must not be below 0")
    return value


def _whole(value: float, least: int, most: int) -> int:
    if not (least <= value <= most) or value != round(value):
        raise InputError(f"a count is {value:g}, but must be a whole number from {least} to {most}")
    return int(value)


# Arithmetic


def _value(text: str, values: Numbers, macro: Macro) -> float:
    """The value of an expression."""
    if len(text) > _LONGEST:
        raise InputError(
            f"macro {macro.name[:40]}: an expression has {len(text)} characters, above {_LONGEST}"
        )
    tokens = _TOKEN.findall(text)
    try:
        if sum(map(len, tokens)) != len(text):
            raise ValueError
        value, rest = _sum(tokens, values, 0)
        if rest:
            raise ValueError
    except (ValueError, IndexError, OverflowError):
        raise InputError(f"macro {macro.name}: {text[:40]!r} cannot be worked out") from None
    except ZeroDivisionError:
        raise InputError(f"macro {macro.name}: {text[:40]!r} divides by zero") from None
    if not math.isfinite(value):
        raise InputError(f"macro {macro.name}: {text[:40]!r} is not finite")
    return value


def _sum(tokens: list[str], values: Numbers, depth: int) -> tuple[float, list[str]]:
    """The value of terms joined by + and −, from the left; and the tokens after them."""
    if depth > _DEEPEST:
        raise ValueError
    total, rest = _product(tokens, values, depth)
    while rest and rest[0] in "+-":
        term, after = _product(rest[1:], values, depth)
        total, rest = (total + term if rest[0] == "+" else total - term), after
    return total, rest


def _product(tokens: list[str], values: Numbers, depth: int) -> tuple[float, list[str]]:
    """The same for factors joined by x and /."""
    product, rest = _factor(tokens, values, depth)
    while rest and rest[0] in "xX/":
        factor, after = _factor(rest[1:], values, depth)
        product, rest = (product / factor if rest[0] == "/" else product * factor), after
    return product, rest


def _factor(tokens: list[str], values: Numbers, depth: int) -> tuple[float, list[str]]:
    """The same for a number, a variable, a bracket, or one of them with a sign."""
    first, rest = tokens[0], tokens[1:]
    if first in ("+", "-"):
        value, rest = _factor(rest, values, depth + 1) if depth < _DEEPEST else (math.nan, [])
        return (-value if first == "-" else value), rest
    if first == "(":
        value, rest = _sum(rest, values, depth + 1)
        if rest[0] != ")":
            raise ValueError
        return value, rest[1:]
    if first.startswith("$"):
        return values.get(int(first[1:10]), 0.0), rest
    return float(first), rest

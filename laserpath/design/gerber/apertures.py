"""Apertures: the shapes that are flashed and that lines are drawn with.

    C,d   circle      R,w,h  rectangle     O,w,h  obround     P,d,n,angle  regular polygon
    and after these the diameter of a round hole, or the sides of a rectangular one (older files)

A hole is transparent, not clear: objects below it stay. Lines are drawn with circles; older files draw
straight lines with other convex apertures, whose track is the hull of both ends.

Curves become polygons within a tolerance, with their vertices on the curve. Aperture macros are shapes made
of primitives, whose parameters may be expressions:

    %AMNAME*                 primitives and assignments, each ended by *
    $4=$1x0.75*              + - x / and brackets; $1, $2 … are given where the macro is used, else 0
    1,1,$4,0,0*              code, exposure, …; exposure 0 erases earlier primitives of this macro

Primitives are rotated about the macro's origin. Sources: Gerber specification 2024.05, section 4.5; for the
moiré (6) and the lower left line (22), which are no longer in it, that of 2012.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from shapely import affinity
from shapely.affinity import rotate
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, minus
from laserpath.design.fill import check_reach, joined
from laserpath.design.svg.paint import PaintLayer

MOST_STEPS = 4096  # edges of a circle
Point = tuple[float, float]


def step(radius: float, tolerance: float) -> float:
    """Angle between the vertices of a circle whose edges are within the tolerance, radians."""
    angle = 2 * math.acos(max(1 - tolerance / radius, 0.0)) if radius > tolerance else math.pi / 4
    return min(max(angle, 2 * math.pi / MOST_STEPS), math.pi / 4)


def disc(diameter: float, centre: Point, tolerance: float) -> BaseGeometry:
    """A disc as a polygon."""
    if diameter <= 0:
        return EMPTY
    n = math.ceil(2 * math.pi / step(diameter / 2, tolerance))
    n += -n % 4  # the width and the height are exact
    return regular(diameter, n, 0.0, centre)


def regular(diameter: float, n: int, degrees: float, centre: Point) -> BaseGeometry:
    """A regular polygon of n sides in a circle of that diameter. degrees: of its first corner."""
    if diameter <= 0:
        return EMPTY
    angle = np.radians(degrees) + 2 * np.pi * np.arange(n) / n
    return shapely.polygons(
        np.array(centre) + diameter / 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    )


def rectangle(width: float, height: float, centre: Point) -> BaseGeometry:
    """A rectangle about `centre`."""
    if width <= 0 or height <= 0:
        return EMPTY
    (x, y) = centre
    return shapely.box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def obround(width: float, height: float, tolerance: float) -> BaseGeometry:
    """A rectangle about the origin whose shorter sides are semicircles."""
    if width <= 0 or height <= 0:
        return EMPTY
    length, across = max(width, height), min(width, height)
    ends = np.array([[(across - length) / 2, 0.0], [(length - across) / 2, 0.0]])
    area = stadiums(ends[:1], ends[1:], across, tolerance)[0]
    return area if width >= height else rotate(area, 90, origin=(0, 0))


def stadiums(start: Floats, end: Floats, width: float, tolerance: float) -> Floats:
    """(n,) areas of straight strokes with round ends. start, end: (n, 2)."""
    along = end - start
    length = np.hypot(*along.T)
    u = np.divide(along, length[:, None], out=np.tile([1.0, 0.0], (len(along), 1)), where=length[:, None] > 0)
    half = math.ceil(math.pi / step(width / 2, tolerance))
    half += half % 2  # the tip is on the axis
    angle = np.pi / 2 + np.pi * np.arange(half + 1) / half
    around = width / 2 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    turn = np.stack([u, np.stack([-u[:, 1], u[:, 0]], axis=1)], axis=1)  # (n, 2, 2): x and y axis of each
    rim = np.einsum("kc,ncd->nkd", around, turn)
    return shapely.polygons(np.concatenate([start[:, None] + rim, end[:, None] - rim], axis=1))


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


_DEFINITION = re.compile(r"ADD0*(\d{1,9})([A-Za-z_.$][^,]*)(?:,(.*))?", re.S)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
_SIZES = {
    "C": (1, 1),
    "R": (2, 2),
    "O": (2, 2),
    "P": (2, 3),
}  # fewest and most sizes, without those of a hole
CONVEX = 1e-9  # share of the convex hull's area that a convex aperture may lack


@dataclass(frozen=True, slots=True, eq=False)
class Aperture:
    """area: mm, about the origin.  round: diameter of a circle, mm; None: another shape.

    pen: the shape that straight lines are drawn with; None: they cannot be.  holed: the area has a hole,
    which the pen has not.  layers: of a block with both polarities.
    """

    area: BaseGeometry
    round: float | None
    pen: BaseGeometry | None
    holed: bool = False
    layers: tuple[PaintLayer, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """LM, LR and LS: mirror 'N', 'X', 'Y' or 'XY', then degrees anticlockwise, then a scale factor."""

    mirror: str = "N"
    degrees: float = 0.0
    scale: float = 1.0

    def __call__(self, area: BaseGeometry) -> BaseGeometry:
        """The area transformed about the origin."""
        sx, sy = (-self.scale if axis in self.mirror else self.scale for axis in "XY")
        area = affinity.scale(area, sx, sy, origin=(0, 0))
        return affinity.rotate(area, self.degrees, origin=(0, 0)) if self.degrees % 360 else area

    def aperture(self, aperture: Aperture) -> Aperture:
        """The aperture transformed."""
        if self == Turn():
            return aperture
        return Aperture(
            self(aperture.area),
            None if aperture.round is None else aperture.round * self.scale,
            None if aperture.pen is None else self(aperture.pen),
            aperture.holed,
            tuple(
                PaintLayer(layer.solid, None, [self(p) for p in layer.pieces]) for layer in aperture.layers
            ),
        )


def define(text: str, known: Mapping[str, Macro], scale: float, tolerance: float) -> tuple[int, Aperture]:
    """The number and the aperture of an AD command. scale: mm of the file's unit.  tolerance: mm."""
    match = _DEFINITION.fullmatch(re.sub(r"\s+", "", text).rstrip("*"))
    if not match:
        raise InputError(f"{text[:40]!r} defines no aperture")
    number, name, given = int(match[1]), match[2], _numbers(match[3] or "", text)
    if number < 10:
        raise InputError(f"aperture D{number} is below D10")
    if name in _SIZES:
        return number, _standard(name, given, text, scale, tolerance)
    if name not in known:
        raise InputError(f"aperture D{number} uses the macro {name[:40]!r}, which is not defined")
    area = shape(known[name], given, scale, tolerance)
    check_reach(f"aperture D{number}", shapely.get_coordinates(area))
    return number, of_area(area)


def of_area(area: BaseGeometry) -> Aperture:
    """An aperture of any shape; it can draw lines if it is convex."""
    hull = shapely.convex_hull(area)
    convex = not area.is_empty and hull.area - area.area <= CONVEX * hull.area
    return Aperture(area, None, hull if convex else None)


def _numbers(text: str, whole: str) -> list[float]:
    parts = re.split("[xX]", text) if text else []
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise InputError(f"{whole[:40]!r} has sizes that are not numbers")
    return [float(part) for part in parts]


def _standard(name: str, given: Sequence[float], text: str, scale: float, tolerance: float) -> Aperture:
    """One of the four standard apertures."""
    least, most = _SIZES[name]
    if not least <= len(given) <= most + 2:
        raise InputError(f"{text[:40]!r} has {len(given)} sizes, which do not fit the aperture {name}")
    counts = (1,) if name == "P" else ()
    lengths = [
        value if k in (*counts, 2 if name == "P" else -1) else value * scale for k, value in enumerate(given)
    ]
    check_reach(f"aperture {text[:40]!r}", np.array(given) * scale)
    if any(value < 0 for k, value in enumerate(given) if not (name == "P" and k == 2)):
        raise InputError(f"{text[:40]!r} has a size below 0")
    solid = _solid(name, lengths, text, tolerance)
    area = minus(solid, _hole(lengths[most:], tolerance))
    return Aperture(area, lengths[0] if name == "C" else None, solid, area is not solid)


def _solid(name: str, n: Sequence[float], text: str, tolerance: float) -> BaseGeometry:
    """A standard aperture without its hole."""
    if name == "C":
        return disc(n[0], (0.0, 0.0), tolerance)
    if name == "R":
        return rectangle(n[0], n[1], (0.0, 0.0))
    if name == "O":
        return obround(n[0], n[1], tolerance)
    if n[1] != round(n[1]) or not 3 <= n[1] <= 1000:
        raise InputError(f"{text[:40]!r} has {n[1]:g} corners, but a polygon has 3 to 1000")
    return regular(n[0], int(n[1]), n[2] if len(n) > 2 else 0.0, (0.0, 0.0))


def _hole(sides: Sequence[float], tolerance: float) -> BaseGeometry:
    """A hole: round for one size, rectangular for two."""
    if len(sides) == 2:
        return rectangle(sides[0], sides[1], (0.0, 0.0))
    return disc(sides[0], (0.0, 0.0), tolerance) if sides else EMPTY

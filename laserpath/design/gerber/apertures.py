"""Apertures: the shapes that are flashed and that lines are drawn with.

    C,d   circle      R,w,h  rectangle     O,w,h  obround     P,d,n,angle  regular polygon
    and after these the diameter of a round hole, or the sides of a rectangular one (older files)

A hole is transparent, not clear: objects below it stay. Lines are drawn with circles; older files draw
straight lines with other convex apertures, whose track is the hull of both ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from shapely import affinity
from shapely.geometry.base import BaseGeometry

from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, minus
from laserpath.design.gerber import macros
from laserpath.design.gerber.shapes import disc, obround, rectangle, regular
from laserpath.design.joined import check_reach
from laserpath.design.svg.paint import PaintLayer

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
    which the pen has not.  layers: of a block with both polarities.  objects: of a block, with all copies.
    """

    area: BaseGeometry
    round: float | None
    pen: BaseGeometry | None
    holed: bool = False
    layers: tuple[PaintLayer, ...] = ()
    objects: int = 1


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
            aperture.objects,
        )


def define(
    text: str, known: Mapping[str, macros.Macro], scale: float, tolerance: float
) -> tuple[int, Aperture]:
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
    area = macros.shape(known[name], given, scale, tolerance)
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

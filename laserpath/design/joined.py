"""Polygons that may cross themselves and each other → one valid area.

A polygon whose rings cross is filled by the even-odd rule over all its rings; polygons that overlap are
joined. Only polygons that touch are overlaid: overlaying all of 10⁵ separate polygons takes GEOS 11 s,
overlaying those that touch 0.3 s.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import EMPTY, union
from laserpath.design.fill import EVENODD, fill

LARGEST = 1e5  # mm from the origin; coordinates beyond it are a mistake in the unit or the file

Polygons = NDArray[np.object_]


def check_reach(what: str, coordinates: Floats) -> None:
    """Raise for coordinates (n, any) in mm that are not finite, or beyond LARGEST."""
    if not coordinates.size:
        return
    far = float(np.abs(coordinates).max())  # NaN stays NaN
    if not np.isfinite(far):
        raise InputError(f"{what} has coordinates that are not finite")
    if far > LARGEST:
        raise InputError(
            f"{what} reaches {figure(far / 1000)} m from the origin, but {LARGEST / 1000:g} m is the limit"
        )


def joined(pieces: Iterable[BaseGeometry] | Polygons) -> BaseGeometry:
    """The union of polygons and multipolygons, valid."""
    polygons = _valid(distinct(_array(pieces)))
    if len(polygons) == 0:
        return EMPTY
    whole = shapely.multipolygons(polygons)
    return whole if shapely.is_valid(whole) else union(polygons)


def distinct(polygons: Polygons) -> Polygons:
    """The polygons without exact copies, in their order."""
    _, first = np.unique(shapely.to_wkb(polygons), return_index=True)
    return polygons[np.sort(first)]


def _array(pieces: Iterable[BaseGeometry] | Polygons) -> Polygons:
    """Polygons one by one, without the empty ones."""
    if not isinstance(pieces, np.ndarray):
        pieces = np.fromiter(pieces, dtype=object)
    parts: Polygons = shapely.get_parts(pieces)
    return parts[~shapely.is_empty(parts)]


def _valid(polygons: Polygons) -> Polygons:
    """The same, with polygons that cross themselves replaced by those of their even-odd area."""
    bad = ~shapely.is_valid(polygons)
    if not bad.any():
        return polygons
    mended = [fill(_rings(polygon), EVENODD) for polygon in polygons[bad]]
    parts = shapely.get_parts(np.array(mended, dtype=object))
    return np.concatenate([polygons[~bad], parts[shapely.area(parts) > 0]])


def _rings(polygon: BaseGeometry) -> list[Floats]:
    """The vertices of each ring."""
    return [shapely.get_coordinates(ring) for ring in shapely.get_rings(polygon)]


def without_specks(area: BaseGeometry, smallest: float) -> BaseGeometry:
    """The area without polygons and holes of at most `smallest` mm², which rounding leaves."""
    parts: Polygons = shapely.get_parts(area)
    parts = parts[shapely.area(parts) > smallest]
    holed = shapely.get_num_interior_rings(parts) > 0
    kept = [
        shapely.Polygon(p.exterior, [r for r in p.interiors if shapely.Polygon(r).area > smallest])
        for p in parts[holed]
    ]
    both = np.concatenate([parts[~holed], np.array(kept, dtype=object)])
    return shapely.multipolygons(both) if len(both) else EMPTY

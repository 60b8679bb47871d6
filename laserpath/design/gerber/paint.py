"""Gerber's objects in their order: consecutive flashes, strokes and regions of one polarity are one layer.

Inside a layer the order does not matter, so that 10⁶ flashes of an aperture are made at once. Copies of a
block (step and repeat, block apertures) are one layer too, if the block has one polarity or the copies do not
overlap.

Flashes on a regular lattice that overlap their neighbours are united in blocks of 8 × 8 places. Uniting 50
000 overlapping discs one by one takes seconds. In an array nearly all blocks look the same, so each different
block is united once, and its area is then placed wherever the block occurs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.overlay import union
from laserpath.design.curves import Pen, Polyline, stroke
from laserpath.design.fill import Polygons, check_reach, joined
from laserpath.design.gerber.apertures import Aperture, Point, stadiums
from laserpath.design.svg.paint import PaintLayer, compose

LEAST = 1000
"""Flashes of an array below which it does not matter."""
_SIDE = 8  # places of a block in each direction: one bit each of 64
_OFF = 1e-9  # mm, from a place of the lattice, for a flash on it
_GAIN = 4  # times a block has to occur, on average

Places = list[tuple[BaseGeometry, Floats]]
"""Areas, and the points (n, 2) where each is placed."""


def blocks(area: BaseGeometry, points: Floats) -> Places:
    """Fewer, larger areas and their points with the same union as `area` at all points (n, 2), mm."""
    whole = [(area, points)]
    if len(points) < LEAST or area.is_empty:
        return whole
    x0, y0, x1, y1 = area.bounds
    pitch = np.array([_pitch(points[:, 0]), _pitch(points[:, 1])])
    if (pitch > (x1 - x0, y1 - y0)).all():
        return whole
    origin = points.min(axis=0)
    place = np.rint((points - origin) / pitch)
    if np.abs(place * pitch + origin - points).max() > _OFF:
        return whole
    tile, mask = _masks(place.astype(np.int64))
    kinds, kind = np.unique(mask, return_inverse=True)
    if len(kinds) * _GAIN > len(mask):
        return whole
    corners = origin + tile * (_SIDE * pitch)
    return [(_united(area, bits, pitch), corners[kind.ravel() == k]) for k, bits in enumerate(kinds)]


def _pitch(x: Floats) -> float:
    """The smallest distance of different coordinates; any length if there is only one."""
    steps = np.diff(np.unique(x))
    return float(min(steps[steps > _OFF], default=1.0))


def _masks(place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """(m, 2) numbers of the blocks, and (m,) which of its 64 places each has. place: (n, 2), no two equal."""
    tile, inside = np.divmod(place, _SIDE)
    tiles, which = np.unique(tile, axis=0, return_inverse=True)
    bits = np.uint64(1) << (inside[:, 0] * _SIDE + inside[:, 1]).astype(np.uint64)
    mask = np.zeros(len(tiles), dtype=np.uint64)
    np.bitwise_or.at(mask, which.ravel(), bits)
    return tiles, mask


def _united(area: BaseGeometry, bits: np.uint64, pitch: Floats) -> BaseGeometry:
    """The area of one block."""
    at = np.flatnonzero(bits >> np.arange(_SIDE**2, dtype=np.uint64) & np.uint64(1))
    shifts = np.stack(np.divmod(at, _SIDE), axis=1) * pitch
    copies = [shapely.transform(area, lambda xy, shift=shift: xy + shift) for shift in shifts]
    return union(copies)


Path = list[Point]


@dataclass(slots=True)
class _Coat:
    """Objects of one polarity."""

    solid: bool
    flashes: dict[Aperture, list[Point]] = field(default_factory=lambda: defaultdict(list))
    paths: dict[Aperture, list[Path]] = field(default_factory=lambda: defaultdict(list))
    contours: list[Path] = field(default_factory=list)
    pieces: list[Polygons] = field(default_factory=list)


@dataclass(slots=True)
class Painting:
    """The coats of an image, the lowest first. tolerance: mm.

    objects: how many polygons there will be, at least.
    """

    tolerance: float
    objects: int = 0
    coats: list[_Coat] = field(default_factory=list)

    def flash(self, aperture: Aperture, point: Point, solid: bool) -> None:
        """Add a flash of an aperture or of a block."""
        if not aperture.layers:
            parts = int(shapely.get_num_geometries(aperture.area))
            self._coat(solid, parts).flashes[aperture].append(point)
            return
        self._coat(solid, sum(_count(layer.pieces) for layer in aperture.layers))
        for layer in aperture.layers:
            self.add(layer.solid == solid, moved(np.array(layer.pieces, dtype=object), np.array([point])))

    def draw(self, aperture: Aperture, path: Path, solid: bool) -> None:
        """Add a stroke through at least two points."""
        self._coat(solid).paths[aperture].append(path)

    def fill(self, contour: Path, solid: bool) -> None:
        """Add a contour of a region."""
        self._coat(solid).contours.append(contour)

    def add(self, solid: bool, pieces: Polygons) -> None:
        """Add polygons of blocks, which are counted already."""
        self._coat(solid, len(pieces)).pieces.append(pieces)

    def layers(self) -> list[PaintLayer]:
        """The layers of the image, the lowest first."""
        areas = ((coat.solid, joined(_pieces(coat, self.tolerance))) for coat in self.coats)
        return [PaintLayer(solid, None, [area]) for solid, area in areas if not area.is_empty]

    def _coat(self, solid: bool, objects: int = 1) -> _Coat:
        """The coat that takes the next objects."""
        self.objects += objects
        limits.spend()
        if self.objects > limits.now().shapes:
            raise limits.exceeded("the file draws more than {} polygons", "shapes", "split it")
        if not self.coats or self.coats[-1].solid != solid:
            self.coats.append(_Coat(solid))
        return self.coats[-1]


def area(layers: Sequence[PaintLayer]) -> BaseGeometry:
    """The solid area of all layers."""
    return compose(layers)


def repeat(layers: Sequence[PaintLayer], shifts: Floats, into: Painting) -> None:
    """Add copies of a block to a painting, each over the previous ones. shifts: (n, 2) mm."""
    if not layers:
        return
    if len(layers) == 1:
        shifts = np.unique(shifts, axis=0)  # copies in the same place
    parts = [shapely.get_parts(np.array(layer.pieces, dtype=object)) for layer in layers]
    count = sum(map(len, parts)) * len(shifts)
    what = f"step and repeat makes {limits.counted(count)} polygons"
    limits.check("shapes", count, what, "split the file")
    if len(layers) == 1 or _apart(layers, shifts):
        for layer, pieces in zip(layers, parts, strict=True):
            into.add(layer.solid, moved(pieces, shifts))
        return
    for shift in shifts:
        for layer, pieces in zip(layers, parts, strict=True):
            into.add(layer.solid, moved(pieces, shift[None]))


def _apart(layers: Sequence[PaintLayer], shifts: Floats) -> bool:
    """Whether the boxes of the copies do not meet."""
    bounds = np.array([piece.bounds for layer in layers for piece in layer.pieces])
    low, high = bounds[:, :2].min(axis=0), bounds[:, 2:].max(axis=0)
    boxes = shapely.box(*(low + shifts).T, *(high + shifts).T)
    return shapely.STRtree(boxes).query(boxes, predicate="intersects").shape[1] == len(boxes)


def _count(pieces: Sequence[BaseGeometry]) -> int:
    return int(shapely.get_num_geometries(np.array(pieces, dtype=object)).sum())


def moved(pieces: Polygons, shifts: Floats) -> Polygons:
    """Each piece at each of the shifts (n, 2), as polygons."""
    parts = shapely.get_parts(pieces)
    if len(parts) == 0:
        return parts
    _, xy, (rings, polygons) = shapely.to_ragged_array(parts)
    n = len(shifts)
    many = (xy[None, :, :2] + shifts[:, None]).reshape(-1, 2)
    # Not by from_ragged_array: shapely 2.1.0 writes beyond its memory for polygons with five holes.
    made = shapely.linearrings(many, indices=_owners(rings, n))
    copies: Polygons = shapely.polygons(made, indices=_owners(polygons, n))
    return copies


def _owners(offsets: NDArray[np.integer], n: int) -> NDArray[np.intp]:
    """The ring of each vertex, or the polygon of each ring, in n consecutive copies."""
    return np.repeat(np.arange(n * (len(offsets) - 1)), np.tile(np.diff(offsets), n))


def _pieces(coat: _Coat, tolerance: float) -> Polygons:
    """All polygons of a coat, valid or not."""
    out = list(coat.pieces)
    for area, points in _uncovered(coat.flashes):
        out += [moved(np.array([block], dtype=object), shifts) for block, shifts in blocks(area, points)]
    for aperture, paths in coat.paths.items():
        out.append(_strokes(aperture, paths, tolerance))
    if coat.contours:
        xy = np.array([point for contour in coat.contours for point in contour])
        check_reach("a region", xy)
        sizes = [len(contour) for contour in coat.contours]
        out.append(shapely.polygons(shapely.linearrings(xy, indices=np.repeat(np.arange(len(sizes)), sizes))))
    return np.concatenate(out) if out else np.empty(0, dtype=object)


def _uncovered(flashes: dict[Aperture, list[Point]]) -> list[tuple[BaseGeometry, Floats]]:
    """Areas and the points (n, 2) where they are flashed, without flashes that the largest there covers."""
    if not flashes:
        return []
    areas = np.array([aperture.area for aperture in flashes], dtype=object)
    points = np.concatenate([np.array(points) for points in flashes.values()])
    check_reach("a flash", points)
    which = np.repeat(np.arange(len(areas)), [len(points) for points in flashes.values()])
    order = np.lexsort((which, -shapely.area(areas)[which], points[:, 1], points[:, 0]))
    points, which = points[order], which[order]
    begins = np.append(True, (points[1:] != points[:-1]).any(axis=1))
    largest = which[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    pairs, pair = np.unique(np.stack([largest, which]), axis=1, return_inverse=True)
    covered = shapely.covers(*areas[pairs])[pair.ravel()] & ~begins
    return [(area, points[(which == k) & ~covered]) for k, area in enumerate(areas)]


def _strokes(aperture: Aperture, paths: list[Path], tolerance: float) -> Polygons:
    """Polygons whose union is the area of the strokes."""
    check_reach("a line", np.array([point for path in paths for point in path]))
    if aperture.round is None:
        return _hulls(aperture.pen, paths)
    single = np.array([path for path in paths if len(path) == 2]).reshape(-1, 2, 2)
    straight = stadiums(single[:, 0], single[:, 1], aperture.round, tolerance)
    pen = Pen(aperture.round, "round", "round", 4.0, tolerance)
    longer = [piece for path in paths if len(path) > 2 for piece in _chain(np.array(path), pen)]
    return np.concatenate([straight, np.array(longer, dtype=object)])


def _chain(points: Floats, pen: Pen) -> list[BaseGeometry]:
    """The pieces of a stroke through several points; it is closed if it ends where it began."""
    closed = bool((points[0] == points[-1]).all()) and len(points) > 3
    return stroke(Polyline(points, np.ones(len(points), dtype=bool)), closed, pen)


def _hulls(pen: BaseGeometry | None, paths: list[Path]) -> Polygons:
    """The tracks of a convex pen along straight lines."""
    segments = np.array([pair for path in paths for pair in pairwise(path)])
    rim = shapely.get_coordinates(pen)
    if len(rim) == 0:
        return np.empty(0, dtype=object)
    xy = (segments[:, :, None] + rim).reshape(len(segments), -1, 2)
    clouds = shapely.multipoints(
        shapely.points(xy.reshape(-1, 2)), indices=np.repeat(np.arange(len(xy)), xy.shape[1])
    )
    hulls: Polygons = shapely.convex_hull(clouds)
    return hulls

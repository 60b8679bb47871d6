"""What of a part's layers cannot print: islands, spans over nothing, cavities that trap resin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
import shapely

from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import minus, union, within

_SPAN = 1.0
"""mm, from what is below, from which an overhang is warned of: a larger one warns of fewer."""
_TOUCH = 1e-6
"""mm², by which areas of neighbouring layers must overlap to hang together: a larger one ignores slivers."""
_SAID = 3
"""Most places of one kind that are named."""
_OUTSIDE = 0


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A place of a part that cannot print. kind: a key of `_ADVICE`.  layer: its number, from 0.

    place: (x, y) mm, where it is exposed.  sentence: which says all of it, and where it was drawn.
    """

    kind: str
    layer: int
    place: tuple[float, float]
    sentence: str


_ADVICE = {
    "island": "it hangs on nothing until other layers reach it, so support it",
    "span": "support it",
    "cavity": "give it a hole to drain through",
}


def unprintable(z: Sequence[float], areas: Sequence[shapely.MultiPolygon]) -> tuple[Unsupported, ...]:
    """What cannot print in layers: islands, spans over nothing, the widest first, cavities that trap resin.

    z: (K,) mm, tops of the layers, lowest first.  areas: (K,) of them; equal ones are the same object.
    Raises InputError for a layer that lies over nothing of the one below.
    """
    islands: list[Unsupported] = []
    spans: list[tuple[float, Unsupported]] = []
    for k in range(1, len(areas)):
        below, above = areas[k - 1], areas[k]
        if below is above:
            continue
        shapely.prepare(below)
        apart = [
            piece for piece in above.geoms
            if not shapely.intersects(below, piece) or within(piece, below).area < _TOUCH
        ]  # fmt: skip
        if len(apart) == len(above.geoms):
            raise InputError(
                f"layer {k + 1} at z {z[k]:g} mm lies over nothing of layer {k}, so what is above hangs on "
                "nothing: put all layers where they belong in one system of coordinates"
            )
        if apart:
            islands += [
                _named("island", k, one, f"layer {k + 1} at z {z[k]:g} mm has an island") for one in apart
            ]
            continue
        corners = shapely.get_coordinates(shapely.segmentize(minus(above, below), _SPAN / 4))
        points = shapely.points(corners)
        far = points[~shapely.dwithin(below, points, _SPAN)]
        if len(far):
            distances = shapely.distance(far, below)
            reach, place = float(distances.max()), far[int(distances.argmax())]
            sentence = f"layer {k + 1} at z {z[k]:g} mm reaches {figure(reach)} mm over nothing"
            spans.append((reach, _named("span", k, place, sentence)))
    widest = [one for _, one in sorted(spans, key=lambda pair: (-pair[0], pair[1].sentence))]
    return (*islands, *widest, *_trapped(z, areas))


def warnings_of(found: Sequence[Unsupported]) -> tuple[str, ...]:
    """A sentence for each of the first places of each kind, with what to do."""
    by_kind = (([one.sentence for one in found if one.kind == kind], kind) for kind in _ADVICE)
    return tuple(said for sentences, kind in by_kind for said in _few(sentences, _ADVICE[kind]))


def _few(sentences: Sequence[str], advice: str) -> list[str]:
    """The first of some sentences, with what to do, and how many more there are."""
    more = len(sentences) - _SAID
    rest = f"; {more} more of the kind" if more > 0 else ""
    return [
        f"{sentence}: {advice}" if k < min(_SAID, len(sentences)) - 1 else f"{sentence}: {advice}{rest}"
        for k, sentence in enumerate(sentences[:_SAID])
    ]


def _named(kind: str, layer: int, shape: shapely.Geometry, what: str) -> Unsupported:
    """A place in a shape, in words. what: the sentence up to there."""
    at = shapely.point_on_surface(shape)
    return Unsupported(kind, layer, (at.x, at.y), f"{what} at ({at.x:.2f}, {at.y:.2f}) mm")


def _trapped(z: Sequence[float], areas: Sequence[shapely.MultiPolygon]) -> list[Unsupported]:
    """Cavities that are closed all around, the plate below the first layer included.

    The voids of a layer are its holes and the outside. Voids of neighbouring layers are one where they
    overlap; those that are never one with the outside are cavities.
    """
    count, links = 1, list[tuple[int, int]]()
    holes: _Holes = {}
    seen: dict[int, list[tuple[int, shapely.Geometry]]] = {}
    before = shapely.MultiPolygon()
    for k, area in enumerate(areas):
        if k == 0 or area is not before:
            now = _holes(area, count)
            count += len(now)
            beside: dict[int, list[shapely.Geometry]] = defaultdict(list)
            for m, n in _meeting(holes, now):
                beside[m].append(now[n])
                beside[n].append(holes[m])
                if within(holes[m], now[n]).area > _TOUCH:
                    links.append((m, n))
            for some, solid in ((now if k else {}, before), (holes, area)):
                for n, hole in some.items():
                    if minus(minus(hole, union(beside[n])), solid).area > _TOUCH:
                        links.append((n, _OUTSIDE))
            holes, before = now, area
        for n, hole in holes.items():
            seen.setdefault(n, []).append((k, hole))
    links += [(n, _OUTSIDE) for n in holes]  # above the last layer there is nothing
    ends = np.array(links, dtype=np.int64).reshape(-1, 2).T
    graph = scipy.sparse.coo_array((np.ones(len(links)), tuple(ends)), shape=(count, count))
    void = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    cavities: dict[int, list[tuple[int, shapely.Geometry]]] = {}
    for n, parts in seen.items():
        if void[n] != void[_OUTSIDE]:
            cavities.setdefault(void[n], []).extend(parts)
    return [_cavity(parts, (0.0, *z)) for parts in cavities.values()]


_Holes = dict[int, shapely.Geometry]
"""The holes of a layer by their numbers."""


def _meeting(some: _Holes, others: _Holes) -> Iterator[tuple[int, int]]:
    """The numbers of holes of two layers that meet."""
    names, other_names = list(some), list(others)
    shapes, other_shapes = (np.array(list(holes.values()), dtype=object) for holes in (some, others))
    pairs = shapely.STRtree(other_shapes).query(shapes, predicate="intersects")
    yield from ((names[a], other_names[b]) for a, b in pairs.T)


def _cavity(parts: Sequence[tuple[int, shapely.Geometry]], ends: Sequence[float]) -> Unsupported:
    """What is trapped in the parts (layer, area) of a cavity. ends: mm, of the layers, the plate first."""
    volume = sum((ends[k + 1] - ends[k]) * area.area for k, area in parts)
    low, high = min(k for k, _ in parts), max(k for k, _ in parts)
    said = f"{figure(volume)} mm³ of resin are trapped from z {ends[low]:g} to {ends[high + 1]:g} mm"
    return _named("cavity", low, parts[0][1], said)


def _holes(area: shapely.MultiPolygon, first: int) -> _Holes:
    """The holes of an area, without what is solid in them, numbered from `first`."""
    parts = shapely.get_parts(area)
    tree = shapely.STRtree(parts)
    rings = [(k, shapely.Polygon(ring)) for k, polygon in enumerate(parts) for ring in polygon.interiors]
    inside = (union(parts[[j for j in tree.query(ring) if j != k]]) for k, ring in rings)
    return dict(enumerate((minus(ring, one) for (_, ring), one in zip(rings, inside, strict=True)), first))

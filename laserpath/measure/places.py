"""What a dose does not print, place by place: clusters of contour samples, with a sentence each.

A sample is bad where its edge is missing or misplaced by more than a threshold. How wide the material is
behind it and the gap before it is measured along its normal, up to 2 FWHM, and says what it belongs to:

- *gap*: cured outside, and there is more of the design within 2 FWHM; *feature*: uncured inside, and the
  design ends within 2 FWHM; or the other way round, a gap too wide, a feature too wide;
- *corner*: near a turn (`design.contour`), and the gap or feature is no narrower than 0.75 FWHM;
- *edge*: anything else.

A gap closes and a feature is lost where the nearest edge is missing or beyond the other side of it. At one
exact dose even a gap of FWHM/3 can be kept open, but no process is that exact: what is lost within the dose
window counts, too. Bad samples of one kind and sign within 0.75 FWHM of each other are one place. A single
sample at a corner, whose normal runs along the other wall, loses nothing that is wider than 0.75 FWHM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.overlay import crossings
from laserpath.base.quantities import decimals
from laserpath.design.scene import Scene
from laserpath.measure.figures import DOSE_BAND, edges_at
from laserpath.types import Design
from laserpath.types.results import Edges, Unprintable, at_exposure

THRESHOLD_FWHM = 0.1
"""Edge error in FWHM above which a place is named, unless another threshold is given."""

_REACH_FWHM = 2.0
_SLACK_FWHM = 0.01
_LINK_FWHM = 0.75
_NARROW_FWHM = 0.75
"""Width in FWHM below which a place is a feature or a gap even at its corners; above it is a corner."""

_KINDS = ("gap", "feature", "corner", "edge")


def unprintable(
    dose: Floats, scene: Scene, threshold_fwhm: float = THRESHOLD_FWHM
) -> tuple[Unprintable, ...]:
    """Where a dose misses the design, and what is lost at dose ±10 %; what is lost comes first.

    dose: (rows, columns) mJ/mm² on the scene's grid.  threshold_fwhm: smaller misplacements are left out.
    """
    exposures = (1.0, *DOSE_BAND)
    places: list[Unprintable] = []
    for exposure, edges in zip(exposures, edges_at(dose, scene, exposures), strict=True):
        new = _places(edges, scene, threshold_fwhm, exposure)
        if exposure != 1:
            listed = {k for one in places if one.lost for k in one.samples}
            new = [one for one in new if one.lost and listed.isdisjoint(one.samples)]
        places += new
    return tuple(sorted(places, key=lambda one: (not one.lost, one.exposure != 1, -abs(one.error), one.at)))


def _places(edges: Edges, scene: Scene, threshold_fwhm: float, exposure: float) -> list[Unprintable]:
    """The places at one exposure."""
    design, fwhm = scene.design, scene.fwhm
    bad = np.flatnonzero(edges.missing | (np.abs(edges.epe) > threshold_fwhm * fwhm))
    if not len(bad):
        return []
    ways = _Ways(
        gap=_way(design, edges.xy[bad], edges.normal[bad], fwhm, solid=False),
        wall=_way(design, edges.xy[bad], -edges.normal[bad], fwhm, solid=True),
    )
    kind, crossed, lost = _judge(edges, bad, ways, fwhm)
    wide = np.minimum(ways.gap, ways.wall) >= _NARROW_FWHM * fwhm
    # What is crossed goes together, such as the end of a lost line with its sides.
    group = np.where(crossed, len(_KINDS), kind) * 2 + (edges.epe[bad] > 0)
    judged = _Judged(kind, lost, ways, wide)
    clusters = _clusters(edges.xy[bad], group, _LINK_FWHM * fwhm)
    return [_place(edges, bad, members, judged, fwhm, exposure) for members in clusters]


def _place(
    edges: Edges, bad: Indices, members: Indices, judged: _Judged, fwhm: float, exposure: float
) -> Unprintable:
    """One cluster of bad samples; members: indices into `bad`."""
    kind, lost, ways = judged.kind, judged.lost, judged.ways
    some = members[lost[members]]
    if len(some) == 1 and edges.corner[bad[some[0]]] and judged.wide[some[0]]:
        kind[some], lost[some], some = _KINDS.index("corner"), False, members[:0]
    some = some if len(some) else members
    name = _KINDS[np.bincount(kind[some]).argmax()]
    some = some[kind[some] == _KINDS.index(name)]
    width, side = {"gap": (ways.gap, 1), "feature": (ways.wall, -1)}.get(name, (np.zeros(len(bad)), 0))
    middle = edges.xy[bad[some]] + side * width[some, None] / 2 * edges.normal[bad[some]]
    x, y = middle[np.argmin(np.hypot(*(middle - middle.mean(axis=0)).T))]
    worst = int(bad[members][np.argmax(np.abs(edges.epe[bad[members]]))])
    return Unprintable(
        kind=name,
        lost=bool(lost[some[0]]),
        at=(float(x), float(y)),
        width=float(width[some].min()) if side else None,
        error=float(edges.epe[worst]),
        samples=bad[members],
        exposure=exposure,
        capped=bool(edges.missing[worst]),
        decimals=decimals(fwhm),
    )


def summary(places: Sequence[Unprintable], listed: int = 3) -> tuple[str, ...]:
    """One sentence for each kind and fate: how many, how bad, and where the worst are, in mm."""
    groups: dict[tuple[str, bool, float], list[Unprintable]] = {}
    for one in places:
        groups.setdefault((one.kind, one.lost, one.exposure), []).append(one)
    sentences = []
    for (kind, lost, exposure), some in groups.items():
        n = len(some)
        where = ", ".join(one.where for one in some[:listed])
        if lost:
            fate = {"gap": ("closes", "close")}.get(kind, ("is lost", "are lost"))[n > 1] + at_exposure(
                exposure
            )
        else:
            worst = max(some, key=lambda one: abs(one.error))
            most = "at least" if worst.capped else "up to"
            fate = f"{'is' if n == 1 else 'are'} off by {most} {abs(worst.error):.{worst.decimals}f} mm"
        first = ", the first" if lost else ", the worst"
        sentences.append(f"{n} {kind}{'s' * (n > 1)} {fate}{first * (n > listed)} at {where} mm")
    return tuple(sentences)


@dataclass(frozen=True, slots=True)
class _Ways:
    """(M,) mm from each sample: across the gap before it, across the material behind it; inf if far."""

    gap: Floats
    wall: Floats


@dataclass(frozen=True, slots=True)
class _Judged:
    """(M,) of each bad sample: index into the kinds, whether it is lost, ways, whether both are wide."""

    kind: Indices
    lost: Bools
    ways: _Ways
    wide: Bools


def _judge(edges: Edges, bad: Indices, ways: _Ways, fwhm: float) -> tuple[Indices, Bools, Bools]:
    """(M,) index into the kinds; whether no edge is printed; whether that is a gap's or a feature's end."""
    epe, outside = edges.epe[bad], edges.epe[bad] > 0
    # Cured outside, a gap suffers if there is one, else the feature; uncured inside, the other way round.
    of_gap = np.where(outside, np.isfinite(ways.gap), np.isinf(ways.wall) & np.isfinite(ways.gap))
    width = np.where(of_gap, ways.gap, ways.wall)
    crossed = edges.missing[bad] | (np.abs(epe) >= width)
    lost = crossed & np.isfinite(width) & (of_gap == outside)
    kind = np.where(np.isinf(width), _KINDS.index("edge"), np.where(of_gap, 0, 1))
    kind[edges.corner[bad] & ~lost & (width >= _NARROW_FWHM * fwhm)] = _KINDS.index("corner")
    return kind, crossed, lost


def _way(design: Design, xy: Floats, direction: Floats, fwhm: float, *, solid: bool) -> Floats:
    """(M,) mm from each point along its direction to where the design ends (solid) or begins; inf if farther.

    The design is grown (or shrunk) by FWHM/100 first: a line from a corner along the other wall shall not
    count as leaving it.
    """
    slack = _SLACK_FWHM * fwhm
    rim = design.area.buffer(slack if solid else -slack, join_style="mitre").boundary
    shapely.prepare(rim)
    rays = shapely.linestrings(np.stack([xy, xy + (_REACH_FWHM * fwhm + slack) * direction], axis=1))
    way = shapely.distance(shapely.points(xy), crossings(rays, rim))
    return np.where(np.isnan(way), np.inf, way - slack)


def _clusters(xy: Floats, group: Indices, link: float) -> list[Indices]:
    """Indices of points within chains of steps up to `link`, group by group."""
    pairs = cKDTree(xy).query_pairs(link, output_type="ndarray")
    i, j = pairs[group[pairs[:, 0]] == group[pairs[:, 1]]].T
    links = coo_matrix((np.ones(len(i)), (i, j)), shape=(len(xy), len(xy)))
    number, label = connected_components(links, directed=False)
    return [np.flatnonzero(label == k) for k in range(number)]

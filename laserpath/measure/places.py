"""The places that a dose does not print: clusters of contour samples, with a sentence for each.

A sample is bad if its edge is missing or misplaced by more than a threshold. The widths of the material
behind it and of the gap before it, measured along its normal up to 2 FWHM, determine its kind:

- *gap*: cured outside, and the design continues within 2 FWHM; *feature*: uncured inside, and the design ends
  within 2 FWHM; or the reverse, a gap or a feature that is too wide;
- *corner*: near a turn (`design.scene`), and the gap or feature is at least 0.75 FWHM wide;
- *edge*: anything else.

A gap closes, or a feature is lost, if the nearest edge is missing or beyond its other side. Not so at a
*tip*, as of a star or a notch: all of it is near a corner, or becomes narrower by half towards one, and no
part or gap near is lost, closed, cut or joined (`inspection`). A tip is a corner, with the error across it.
At one exact dose even a gap of FWHM/3 can be kept open, but no process is that exact, so losses within the
dose window count, too. Bad samples of one kind and sign within 0.75 FWHM of each other are one place. A
single sample at a corner, whose normal runs along the other wall, does not make anything wider than 0.75 FWHM
lost.
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
from laserpath.measure.edges import edges_at, rounded_off, tip_error
from laserpath.measure.figures import DOSE_BAND
from laserpath.measure.inspection import topology
from laserpath.types import Design
from laserpath.types.results import Edges, Fault, Unprintable, at_exposure

THRESHOLD_FWHM = 0.1
"""Edge error in FWHM above which a place is named: a larger value names fewer places."""

_REACH_FWHM = 2.0
_SLACK_FWHM = 0.01
_LINK_FWHM = 0.75
_NARROW_FWHM = 0.75
"""Width in FWHM below which a place at a corner is still a feature or a gap: a larger value names fewer
corners."""

_KINDS = ("gap", "feature", "corner", "edge")


def unprintable(
    dose: Floats, scene: Scene, threshold_fwhm: float = THRESHOLD_FWHM
) -> tuple[Unprintable, ...]:
    """The places where a dose misses the design, and those lost at dose ±10 %; lost ones come first.

    dose: (rows, columns) mJ/mm² on the scene's grid.  threshold_fwhm: smaller edge errors are left out.
    """
    exposures = (1.0, *DOSE_BAND)
    places: list[Unprintable] = []
    for exposure, straight in zip(exposures, edges_at(dose, scene, exposures), strict=True):
        edges = rounded_off(straight, exposure * dose, scene)
        new = _places(edges, exposure * dose, scene, threshold_fwhm, exposure)
        if exposure != 1:
            listed = {k for place in places if place.lost for k in place.samples}
            new = [place for place in new if place.lost and listed.isdisjoint(place.samples)]
        places += new
    return tuple(sorted(places, key=lambda p: (not p.lost, p.exposure != 1, -abs(p.error), p.at)))


def _places(
    edges: Edges, dose: Floats, scene: Scene, threshold_fwhm: float, exposure: float
) -> list[Unprintable]:
    """The places at one exposure, of which dose (rows, columns) and edges are."""
    design, fwhm = scene.design, scene.fwhm
    bad = np.flatnonzero(edges.missing | (np.abs(edges.epe) > threshold_fwhm * fwhm))
    if not len(bad):
        return []
    widths = _Widths(
        gap=_distance(design, edges.xy[bad], edges.normal[bad], fwhm, solid=False),
        wall=_distance(design, edges.xy[bad], -edges.normal[bad], fwhm, solid=True),
    )
    kind, crossed, lost = _judge(edges, bad, widths, fwhm)
    wide = np.minimum(widths.gap, widths.wall) >= _NARROW_FWHM * fwhm
    # Crossed samples are grouped, such as the end of a lost line with its sides.
    group = np.where(crossed, len(_KINDS), kind) * 2 + (edges.epe[bad] > 0)
    judged = _Judged(kind, lost, widths, wide)
    clusters = _clusters(edges.xy[bad], group, _LINK_FWHM * fwhm)
    tips = [_apex(edges, bad, members, judged) for members in clusters]
    faults = topology(dose, scene) if any(apex is not None for apex in tips) else ()
    return [
        _place(edges, bad, members, judged, fwhm, exposure)
        if apex is None or _beside(faults, edges.xy[bad[members]], fwhm)
        else _tip(edges, apex, bad[members], dose, scene, exposure)
        for members, apex in zip(clusters, tips, strict=True)
    ]


def _apex(edges: Edges, bad: Indices, members: Indices, judged: _Judged) -> int | None:
    """The narrowest lost sample near a corner, if all are near one, or others are twice as wide; or None."""
    some = members[judged.lost[members]]
    cornered = edges.corner[bad[some]]
    if not cornered.any():
        return None
    width = np.where(edges.epe[bad[some]] > 0, judged.widths.gap[some], judged.widths.wall[some])
    narrowest = int(np.argmin(np.where(cornered, width, np.inf)))
    tapered = cornered.all() or width[narrowest] <= 0.5 * width.max()
    return int(bad[some[narrowest]]) if tapered else None


def _beside(faults: Sequence[Fault], xy: Floats, fwhm: float) -> bool:
    """Whether a fault of topology is within a FWHM of some of the points (M, 2)."""
    return any(np.hypot(*(xy - one.at).T).min() < one.size / 2 + fwhm for one in faults)


def _tip(
    edges: Edges, apex: int, samples: Indices, dose: Floats, scene: Scene, exposure: float
) -> Unprintable:
    """A tip that ends early, at the samples of one cluster; apex: the sample at its end."""
    error, capped = tip_error(edges.xy[apex], dose, scene)
    x, y = edges.xy[apex].tolist()
    return Unprintable("corner", False, (x, y), None, error, samples, exposure, capped, decimals(scene.fwhm))


def _place(
    edges: Edges, bad: Indices, members: Indices, judged: _Judged, fwhm: float, exposure: float
) -> Unprintable:
    """One cluster of bad samples; members: indices into `bad`."""
    kind, lost, widths = judged.kind, judged.lost, judged.widths
    some = members[lost[members]]
    if len(some) == 1 and edges.corner[bad[some[0]]] and judged.wide[some[0]]:
        kind[some], lost[some], some = _KINDS.index("corner"), False, members[:0]
    some = some if len(some) else members
    name = _KINDS[np.bincount(kind[some]).argmax()]
    some = some[kind[some] == _KINDS.index(name)]
    width, side = {"gap": (widths.gap, 1), "feature": (widths.wall, -1)}.get(name, (np.zeros(len(bad)), 0))
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
    """A sentence for each kind and fate: the number, the worst error, and the worst places, in mm."""
    groups: dict[tuple[str, bool, float], list[Unprintable]] = {}
    for place in places:
        groups.setdefault((place.kind, place.lost, place.exposure), []).append(place)
    sentences = []
    for (kind, lost, exposure), some in groups.items():
        n = len(some)
        where = ", ".join(place.where for place in some[:listed])
        if lost:
            fate = {"gap": ("closes", "close")}.get(kind, ("is lost", "are lost"))[n > 1] + at_exposure(
                exposure
            )
        else:
            worst = max(some, key=lambda place: abs(place.error))
            most = "at least" if worst.capped else "up to"
            fate = f"{'is' if n == 1 else 'are'} off by {most} {abs(worst.error):.{worst.decimals}f} mm"
        first = ", the first" if lost else ", the worst"
        sentences.append(f"{n} {kind}{'s' * (n > 1)} {fate}{first * (n > listed)} at {where} mm")
    return tuple(sentences)


@dataclass(frozen=True, slots=True)
class _Widths:
    """(M,) mm: widths of the gap before each sample and of the material behind it; inf above 2 FWHM."""

    gap: Floats
    wall: Floats


@dataclass(frozen=True, slots=True)
class _Judged:
    """(M,) for each bad sample: index into `_KINDS`, whether it is lost, widths, whether both are wide."""

    kind: Indices
    lost: Bools
    widths: _Widths
    wide: Bools


def _judge(edges: Edges, bad: Indices, widths: _Widths, fwhm: float) -> tuple[Indices, Bools, Bools]:
    """(M,) each: index into `_KINDS`; whether the edge is missing or beyond the other side; whether lost."""
    epe, outside = edges.epe[bad], edges.epe[bad] > 0
    # Cure outside belongs to the gap if there is one, else to the feature; missing cure inside the reverse.
    of_gap = np.where(outside, np.isfinite(widths.gap), np.isinf(widths.wall) & np.isfinite(widths.gap))
    width = np.where(of_gap, widths.gap, widths.wall)
    crossed = edges.missing[bad] | (np.abs(epe) >= width)
    lost = crossed & np.isfinite(width) & (of_gap == outside)
    kind = np.where(np.isinf(width), _KINDS.index("edge"), np.where(of_gap, 0, 1))
    kind[edges.corner[bad] & ~lost & (width >= _NARROW_FWHM * fwhm)] = _KINDS.index("corner")
    return kind, crossed, lost


def _distance(design: Design, xy: Floats, direction: Floats, fwhm: float, *, solid: bool) -> Floats:
    """(M,) mm from each point along its direction to where the design ends (solid) or begins; inf if farther.

    The design is grown (or shrunk) by FWHM/100 first, so that a line from a corner along the other wall does
    not leave it.
    """
    slack = _SLACK_FWHM * fwhm
    outline = design.area.buffer(slack if solid else -slack, join_style="mitre").boundary
    shapely.prepare(outline)
    rays = shapely.linestrings(np.stack([xy, xy + (_REACH_FWHM * fwhm + slack) * direction], axis=1))
    distance = shapely.distance(shapely.points(xy), crossings(rays, outline))
    return np.where(np.isnan(distance), np.inf, distance - slack)


def _clusters(xy: Floats, group: Indices, link: float) -> list[Indices]:
    """The indices of the points of each cluster: same group, linked by steps of at most `link` mm."""
    pairs = cKDTree(xy).query_pairs(link, output_type="ndarray")
    i, j = pairs[group[pairs[:, 0]] == group[pairs[:, 1]]].T
    links = coo_matrix((np.ones(len(i)), (i, j)), shape=(len(xy), len(xy)))
    number, label = connected_components(links, directed=False)
    return [np.flatnonzero(label == k) for k in range(number)]

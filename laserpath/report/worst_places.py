"""The places where the print differs most from the design, and a likely reason for each.

A **place** is a connected run of contour samples whose |EPE| is in the worst twentieth and above
`FLOOR_FWHM`, or that have no edge at all. Samples less than `_LINK` FWHM apart are connected, so that both
sides of a slit that filled in are one place. Its coordinates and EPE are those of its worst sample.

Where the edge as commanded is less than half as wrong, the controller is the reason: it brakes, and its
power does not follow exactly. Otherwise the design gives the reason: the width of the feature
(where the print stays inside) or of the gap (where it goes outside) along the normals of the place's
samples, and whether a corner is near. A feature or gap narrower than the spot comes first, because it
explains the error of a corner too.

A feature or gap far narrower than the spot is the reason even where it is right as commanded. Across a
width w the dose bends by about w²/8 · D″. With D″ ≈ 9 critical doses per FWHM², as the largest dose allows,
that is 7 % at w = FWHM/4 and 0.3 % at FWHM/20, which no machine's levels and steps keep everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from laserpath.base.arrays import Floats
from laserpath.base.overlay import clipped, crossings
from laserpath.report.faults import kind_of
from laserpath.report.numbers import number
from laserpath.types import Design, Point
from laserpath.types.results import Edges, Inspection

LISTED = 10
"""Largest number of places listed."""

_MARKED = 5
"""Largest number of faults listed before the places of the contour."""

FLOOR_FWHM = 0.05
"""Smallest |EPE| of a place, in FWHM. A larger floor hides small errors."""

_WORST = 95.0
"""Percentile of |EPE| from which a sample belongs to a place. A higher one makes places shorter."""
_LINK = 0.6
"""Distance, in FWHM, below which two samples are one place."""
_RAY = 3.0
"""Length, in FWHM, of the rays that measure the width of a feature or gap."""
_FAINT_FWHM = 0.25
"""Width of a feature or gap, in FWHM, up to which it is the reason even if it is right as commanded."""
_BLAME = 0.5
"""|EPE| as commanded ÷ as executed, below which the controller is the reason."""
_RAYS = 25
"""Rays per place; more measure its width more reliably and take longer."""
_CORNER = 4.0
"""Length of contour, in FWHM, up to which a corner explains an error."""

_GRAZING = 0.05
"""Width, in FWHM, below which a ray near a corner is taken to graze the edge around the corner."""

REASONS = {
    "feature": "feature {} the spot",
    "gap": "gap {} the spot",
    "corner": "corner sharper than the spot",
    "no edge": "no edge prints near here",
    "motion": "the controller brakes here (right as commanded)",
    "dose": "dose along the edge",
    "lost": "feature lost",
    "closed": "gap closed",
    "cut": "part cut",
    "joined": "parts joined",
    "pinhole": "pinhole in a part",
    "hole": "hole in a part",
    "slit": "slit in a part",
    "speck": "speck beside the parts",
    "bite": "piece missing",
    "blob": "piece too much",
}
"""Kinds of place, in words; the braces take 'narrower than' or 'hardly wider than'.

The last ten are those of `results.Fault`, where a large pinhole is a hole or a slit.
"""

_TOO_LITTLE = ("lost", "cut", "pinhole", "bite")


@dataclass(frozen=True, slots=True)
class Place:
    """xy: mm.  normal: outward.  epe: mm, + printed outside the design.  missing: no edge within the cap.

    extent: mm of contour.  kind: key of `REASONS`.  width: mm of the narrow feature or gap, or None.
    spot: its FWHM, mm, if known.
    size: mm, of a fault away from the contour samples; its epe, ± half the size, then has no meaning.
    across: width of a long, narrow fault, mm.
    """

    xy: Point
    normal: Point
    epe: float
    missing: bool
    extent: float
    kind: str
    width: float | None = None
    spot: float | None = None
    size: float | None = None
    across: float | None = None

    @property
    def narrower(self) -> bool:
        """Whether the feature or gap is narrower than the spot."""
        return self.width is not None and (self.spot is None or self.width < self.spot)

    @property
    def off(self) -> str:
        """The edge error as text; a lower bound where no edge prints."""
        return f"{'≥ ' * self.missing}{'−' if self.epe < 0 else '+'}{number(1000 * abs(self.epe), 2)} µm"

    @property
    def amount(self) -> str:
        """The size of the fault, or the edge error, as text."""
        if self.size:
            width = "" if self.across is None else f"{number(1000 * self.across, 2)} × "
            return f"{width}{number(1000 * self.size, 2)} µm"
        return "no edge" if self.missing else self.off

    @property
    def cause(self) -> str:
        """The likely reason in a few words, with the width of a narrow feature or gap."""
        reason = REASONS[self.kind].format("narrower than" if self.narrower else "hardly wider than")
        if self.width is None:
            return reason
        # One decimal below 100 µm: a whole 99.7 would read '100 µm', narrower than a spot of 100 µm.
        return f"{reason}, {round(self.width * 1000, 1 if self.width < 0.1 else 0):g} µm wide"

    @property
    def reason(self) -> str:
        """The cause, and whether an edge prints."""
        return self.cause + ("; no edge prints" if self.missing and self.kind != "no edge" else "")


def worst_places(
    edges: Edges, design: Design, fwhm: float, commanded: Edges | None = None
) -> tuple[Place, ...]:
    """At most `LISTED` places of `edges`, the worst first. commanded: the edges as commanded."""
    error = np.abs(edges.epe)
    if not len(error):
        return ()
    least = max(float(np.percentile(error, _WORST)), FLOOR_FWHM * fwhm)
    chosen = np.flatnonzero((error >= least) | edges.missing)
    if not len(chosen):
        return ()
    label = _linked(edges.xy[chosen], _LINK * fwhm)
    order = np.lexsort((chosen, ~edges.missing[chosen], -error[chosen]))
    _, first = np.unique(label[order], return_index=True)
    heads = order[np.sort(first)][:LISTED]
    # Samples are evenly spaced on each ring, and all rings have nearly the same spacing.
    spacing = design.area.length / len(error)
    counts = np.bincount(label)
    places = [
        _place(
            edges, chosen[label == label[h]], int(chosen[h]), spacing * int(counts[label[h]]), design, fwhm
        )
        for h in heads
    ]
    if commanded is None or len(commanded.epe) != len(error):
        return tuple(places)
    right = np.abs(commanded.epe[chosen[heads]]) < _BLAME * error[chosen[heads]]
    braked = (_braked(place, fwhm) for place in places)
    return tuple(b if r else place for place, b, r in zip(places, braked, right, strict=True))


def _braked(place: Place, fwhm: float) -> Place:
    """A place that is right as commanded: the controller is the reason, unless it is too fine for any."""
    if place.width is not None and place.width <= _FAINT_FWHM * fwhm:
        return place
    return replace(place, kind="motion", width=None)


def marked(places: Sequence[Place], inspection: Inspection, fwhm: float) -> tuple[Place, ...]:
    """The places, preceded by the faults that lie at none of them; at most `LISTED`."""
    unseen = [
        Place(one.at, (0.0, 1.0), (-0.5 if one.kind in _TOO_LITTLE else 0.5) * one.size, False, one.size,
              kind_of(one, fwhm), size=one.size, across=one.width)
        for one in (*inspection.faults, *inspection.flaws)
        if all(math.dist(one.at, place.xy) > one.size / 2 + fwhm for place in places)
    ]  # fmt: skip
    return (*unseen[:_MARKED], *places)[:LISTED]


def _linked(xy: Floats, distance: float) -> np.ndarray:
    """(N,) group of each point; points closer than `distance` are in one group."""
    pairs = cKDTree(xy).query_pairs(distance, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(xy), len(xy)))
    return np.asarray(connected_components(graph, directed=False)[1])


def _narrowness(edges: Edges, run: np.ndarray, sign: int, design: Design, longest: float) -> float:
    """Median over a run of samples of the distance to the opposite contour, mm, at most `longest`.

    sign: +1 along the outward normal (the width of a gap), −1 against it (of a feature).
    """
    some = run[:: max(1, len(run) // _RAYS)]
    xy, way = edges.xy[some], sign * edges.normal[some]
    # Rays start a little off the contour, or their first crossing would be the sample itself.
    rays = shapely.linestrings(np.stack([xy + 1e-3 * longest * way, xy + longest * way], axis=1))
    x0, y0, x1, y1 = shapely.total_bounds(rays)
    near = clipped(design.area.boundary, x0 - longest, y0 - longest, x1 + longest, y1 + longest)
    distance = shapely.distance(shapely.points(xy), crossings(rays, near))
    return float(np.median(np.where(np.isfinite(distance), distance, longest)))


def _place(edges: Edges, run: np.ndarray, i: int, extent: float, design: Design, fwhm: float) -> Place:
    """The place of the samples `run`; i: the worst of them."""
    epe, missing = float(edges.epe[i]), bool(edges.missing[i])
    sign = 1 if epe > 0 else -1
    width: float | None = _narrowness(edges, run, sign, design, _RAY * fwhm)
    cornered = edges.corner[i] and extent < _CORNER * fwhm
    grazing = cornered and width is not None and width < _GRAZING * fwhm
    # A width just above the spot's prints as badly as one just below, so that it is a reason too.
    if width is not None and width < 1.05 * fwhm and not grazing:
        kind = "gap" if sign > 0 else "feature"
    else:
        kind, width = "corner" if cornered else "no edge" if missing else "dose", None
    (x, y), (u, v) = edges.xy[i].tolist(), edges.normal[i].tolist()
    return Place((x, y), (u, v), epe, missing, extent, kind, width, fwhm)

"""The faults of a print, found in all of it at once, or window by window.

A large print is searched by windows (`inspection` says for what), each with a rim of 12 FWHM that its
neighbours have, too; what is found in the rim is left to them. A cut parts what is printed, and a bridge what
is open, in a window as in the whole. What is lost in several windows is put together; if more of the part is
left elsewhere, it is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.spatial import cKDTree

from laserpath.base.arrays import Floats
from laserpath.base.overlay import minus, union
from laserpath.design.partition import worked_on
from laserpath.design.scene import Scene
from laserpath.measure.edges import HAIR_FWHM, hairs_right, rounded_off
from laserpath.measure.inspection import (
    LEFT,
    SMALLEST_FWHM2,
    FoundFaults,
    SeenPrint,
    WindowCore,
    finer,
    found_in,
    times_finer,
    whole_fault,
    with_nets,
)
from laserpath.types import Grid, Pads
from laserpath.types.results import Fault, Inspection, Measurement

_WINDOWED_FROM = 1 << 24
"""Pixels above which a print is searched by windows. All at once it takes some 50 bytes for each."""

_SIDE_FWHM, _RIM_FWHM = 200.0, 12.0
"""Side of a window of a large print, and its rim. A larger side takes more memory, a smaller one more
time for rims; a wider rim sees more of a fault at once."""

_BORDER = 0.3
"""Pixels by which a window's core begins before its first pixel: no multiple of 1/1, 1/2, 1/3 or 1/4."""


def inspect(exposure: Measurement, scene: Scene) -> Inspection:
    """The faults of the print of an exposure in a scene."""
    scene = scene.on(exposure.grid)
    found = _inspected(exposure.dose, scene)
    drawn, rounded = exposure.edges, rounded_off(exposure.edges, exposure.dose, scene)
    edges = hairs_right(rounded, scene)
    return Inspection(
        faults=tuple(sorted(with_nets(found.faults, scene), key=lambda fault: -fault.size)),
        flaws=tuple(sorted(found.flaws, key=lambda flaw: -flaw.area)),
        wrong_area=found.wrong,
        wrong_share=found.wrong / scene.design.area.area,
        wrong_outline=float(edges.missing.mean()),
        rounded=int(drawn.missing.sum() - rounded.missing.sum()),
        astray=int((rounded.epe != drawn.epe)[~drawn.missing].sum()),
        edges=edges,
        missing=_listed(found.missing, scene.fwhm),
        excess=_listed(found.excess, scene.fwhm),
    )


def _inspected(dose: Floats, scene: Scene) -> FoundFaults:
    """What is wrong in the print of a dose (rows, columns), mJ/mm²; by windows if it has many pixels."""
    if dose.size * times_finer(scene.grid, scene.fwhm) ** 2 <= _WINDOWED_FROM:
        return found_in(SeenPrint.of_dose(dose, scene))
    count = math.prod(math.ceil(n / _pixels(_SIDE_FWHM, scene)) for n in dose.shape)
    return _joined(list(worked_on(_window_found, _windows(dose, scene), count)), scene)


def _pixels(fwhms: float, scene: Scene) -> int:
    return math.ceil(fwhms * scene.fwhm / scene.grid.pitch)


def _listed(fault: Fault | None, fwhm: float) -> Fault | None:
    """A wrong area, if it is large enough to be listed."""
    return None if fault is None or fault.area < SMALLEST_FWHM2 * fwhm**2 else fault


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """A part of a print. dose: (rows, columns) in critical doses.  area: what is drawn there.  core: its own.

    times: how many times finer its pixels are to be.
    """

    dose: Floats
    grid: Grid
    area: shapely.MultiPolygon
    pads: Pads | None
    core: WindowCore
    fwhm: float
    times: int


def _windows(dose: Floats, scene: Scene) -> Iterator[_Window]:
    """The windows of a print in which something is drawn or printed."""
    grid, fwhm, design, times = scene.grid, scene.fwhm, scene.design, times_finer(scene.grid, scene.fwhm)
    p, (left, below) = grid.pitch, grid.origin
    side, rim = _pixels(_SIDE_FWHM, scene), _pixels(_RIM_FWHM, scene)
    tree = shapely.STRtree(design.pads.areas.geoms if design.pads else [])
    for r in range(0, grid.shape[0], side):
        for c in range(0, grid.shape[1], side):
            rows, columns = (slice(max(k - rim, 0), k + side + rim) for k in (r, c))
            part, window = dose[rows, columns], grid.part(rows, columns)
            x0, x1, y0, y1 = window.extent
            drawn = scene.outline.within(x0, y0, x1, y1)
            if drawn.is_empty and part.max() < scene.critical_dose:
                continue
            # No centre of a pixel, or of one made finer, is on a border.
            x, y = left + (c - _BORDER) * p, below + (r - _BORDER) * p
            core = WindowCore(x, y, x + side * p, y + side * p)
            yield _Window(
                part / scene.critical_dose,
                window,
                drawn,
                _pads_near(design.pads, tree, window),
                core,
                fwhm,
                times,
            )


def _pads_near(pads: Pads | None, tree: shapely.STRtree, window: Grid) -> Pads | None:
    """The pads that reach into a window; None without any. tree: of their areas."""
    x0, x1, y0, y1 = window.extent
    near = np.sort(tree.query(shapely.box(x0, y0, x1, y1))).tolist()
    if pads is None or not near:
        return None
    areas_there = shapely.MultiPolygon(tree.geometries[near].tolist())
    return Pads(areas_there, tuple(pads.pins[k] for k in near), tuple(pads.nets[k] for k in near))


def _window_found(job: _Window) -> FoundFaults:
    """What is wrong in a window."""
    grid, fine = finer(job.grid, job.dose, job.times)
    return found_in(SeenPrint.of(fine >= 1, grid, job.area, job.pads, job.fwhm), job.core)


def _joined(found: Sequence[FoundFaults], scene: Scene) -> FoundFaults:
    """What is wrong in all windows together."""
    parts = np.array(scene.design.area.geoms, dtype=object)
    tree, fwhm = shapely.STRtree(parts), scene.fwhm
    faults = [_seen_whole(fault, tree, fwhm) for fault in _once([one.faults for one in found], fwhm)]
    flaws = _once([one.flaws for one in found], fwhm)
    for lost in shapely.get_parts(union([part for one in found for part in one.parts])):
        (owner, *_) = parts[tree.query_nearest(shapely.point_on_surface(lost))]
        fault = replace(whole_fault("lost", lost, fwhm), kind=_fate(owner, lost, HAIR_FWHM * fwhm))
        (flaws if fault.kind == "bite" else faults).append(fault)
    gaps = shapely.get_parts(union([gap for one in found for gap in one.gaps]))
    faults += [whole_fault("closed", gap, fwhm) for gap in gaps]
    return FoundFaults(
        faults,
        flaws,
        sum(one.wrong for one in found),
        _all_of([one.missing for one in found if one.missing]),
        _all_of([one.excess for one in found if one.excess]),
    )


def _once(each: Sequence[Sequence[Fault]], fwhm: float) -> list[Fault]:
    """The faults of all windows, without those beside a border that the window beyond has found, too."""
    found = [fault for some in each for fault in some]
    if not found:
        return []
    window = np.repeat(np.arange(len(each)), [len(some) for some in each])
    pairs = cKDTree([fault.at for fault in found]).query_pairs(fwhm)
    again = {max(a, b) for a, b in pairs if window[a] != window[b] and found[a].kind == found[b].kind}
    return [fault for k, fault in enumerate(found) if k not in again]


def _fate(owner: shapely.Polygon, lost: shapely.Polygon, hair: float) -> str:
    """Of a piece of a part that is lost: 'lost' if it is nearly all, 'cut' if it parts the rest, or 'bite'.

    lost: the piece, shrunk by a hair, mm.
    """
    if owner.buffer(-hair, join_style="mitre").area - lost.area < LEFT * owner.area:
        return "lost"
    left = shapely.get_parts(minus(owner, lost.buffer(2 * hair, join_style="mitre")))
    opened = sum(len(part.interiors) for part in left) < len(owner.interiors)
    return "cut" if len(left) > 1 or opened else "bite"


def _seen_whole(fault: Fault, tree: shapely.STRtree, fwhm: float) -> Fault:
    """A fault of a window as it is in the whole: there two parts that are joined may be one, across a gap."""
    if fault.kind != "joined":
        return fault
    beside = tree.query(shapely.Point(fault.at), predicate="dwithin", distance=fwhm + fault.size / 2)
    return fault if len(beside) > 1 else replace(fault, kind="closed")


def _all_of(sides: Sequence[Fault]) -> Fault | None:
    """Wrong areas on one side of the outline as one, at the place of the largest region."""
    if not sides:
        return None
    return replace(max(sides, key=lambda one: one.size), area=sum(one.area for one in sides))

"""What the page's viewer is given: an exposure in numbers, as JSON.

Lengths are whole multiples of `quantum` mm, a thousandth of the spot's FWHM, from `origin`; times of
`tick` s. The dose goes as the coefficients c of its cubic B-spline in steps of `step` critical doses,

    D(x, y) = Σ_ij c_ij β³((x − x0)/p − j) β³((y − y0)/p − i),

so that the viewer draws between the pixels what the page measures there. Lists are packed by `packing`.
More than a page should carry is thinned, and `notes` say so: the figures are always of the whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from scipy import ndimage

from laserpath.base.arrays import Floats, Indices
from laserpath.design.contour import SAMPLE_FWHM
from laserpath.report.data import ExposedProgram
from laserpath.report.packing import packed, packed_curve, packed_raster
from laserpath.report.raster import OVER, PAPER, RIGHT, UNDER
from laserpath.report.toolpath_svg import DESIGN_FILL, POWER_STOPS
from laserpath.report.track import Track, thinned, track
from laserpath.report.worst_places import Place
from laserpath.types import Design, Process
from laserpath.types.results import Edges

PIXELS, PIECES, VERTICES, SAMPLES = 1_000_000, 60_000, 60_000, 40_000
"""Of the dose, of the path as executed, of the design's outline and along it: what a page carries at most."""

_QUANTUM_FWHM = 1e-3
_STEP = 1 / 512
"""Critical doses."""
_SEEN = 2.5
"""Pixels per FWHM that a cubic spline needs."""
_TICKS = 256
"""In a piece of median length."""
_STOPS = 17
_TURN = 256
"""Directions that a normal is rounded to."""


@dataclass(frozen=True, slots=True)
class Payload:
    """text: JSON that can stand in a script element.  notes: what is not shown in full, a sentence each."""

    text: str
    notes: tuple[str, ...]


def payload(exposed: ExposedProgram, places: Sequence[Place] = ()) -> Payload:
    """The numbers of an exposure and of its worst places."""
    process, fwhm, unit = exposed.process, exposed.fwhm, _Unit.of(exposed)
    whole = track(exposed.run, process.machine)
    shown = thinned(whole, PIECES, fwhm, process.machine.power_max)
    dose, coarser = _dose(exposed)
    numbers = {
        **_words(process, fwhm),
        "box": list(exposed.box),
        "origin": unit.origin,
        "quantum": unit.quantum,
        "dose": dose,
        "design": _design(exposed.design, unit) if exposed.design else None,
        "edges": _edges(exposed.edges, unit, fwhm) if exposed.edges is not None else None,
        "track": _track(shown, unit),
        "places": [[*p.xy, *p.normal, p.epe] for p in places],
    }
    text = json.dumps(numbers, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Payload(text, tuple(_notes(exposed, coarser, whole, shown)))


def _words(process: Process, fwhm: float) -> dict[str, Any]:
    """What the numbers are compared with, and their colours."""
    return {
        "fwhm": fwhm,
        "critical": process.resin.critical_dose,
        "order": process.resin.order,
        "over": process.resin.over_dose,
        "done": "cure" if process.resin.tone == "negative" else "clear",
        "colours": {"right": RIGHT, "over": OVER, "under": UNDER, "paper": PAPER, "design": DESIGN_FILL},
        "stops": {"power": list(POWER_STOPS), "dose": _dose_stops()},
    }


@dataclass(frozen=True, slots=True)
class _Unit:
    """origin: mm.  quantum: mm."""

    origin: list[float]
    quantum: float

    @classmethod
    def of(cls, exposed: ExposedProgram) -> _Unit:
        x0, y0, x1, y1 = exposed.box
        return cls([(x0 + x1) / 2, (y0 + y1) / 2], exposed.fwhm * _QUANTUM_FWHM)

    def whole(self, xy: Floats) -> Indices:
        """(N, 2) mm in quanta."""
        return np.rint((xy - self.origin) / self.quantum).astype(np.int64)

    def curve(self, xy: Floats) -> dict[str, str]:
        """Points (N, 2), mm."""
        x, y = self.whole(xy).T
        return {"x": packed_curve(x), "y": packed_curve(y)}


def _dose_stops() -> list[str]:
    """The colours of the dose's picture, from dark to the limit."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(c) for c in colormaps["cividis"](np.linspace(0, 1, _STOPS))]


def _dose(exposed: ExposedProgram) -> tuple[dict[str, Any], int]:
    """The raster of the dose, and how many times coarser than it is known."""
    grid, dose = exposed.grid, exposed.dose / exposed.process.resin.critical_dose
    times = math.ceil(math.sqrt(dose.size / PIXELS))
    (x0, y0), pitch = grid.origin, grid.pitch
    if times > 1 and times * pitch <= exposed.fwhm / _SEEN:
        # Nothing in a dose is finer than the spot: with pixels enough across it, some of them say it all.
        dose, pitch = dose[::times, ::times], times * pitch
    elif times > 1:
        rows, columns = (times * (n // times) for n in grid.shape)
        blocks = dose[:rows, :columns].reshape(rows // times, times, columns // times, times)
        dose, middle = blocks.mean(axis=(1, 3)), pitch * (times - 1) / 2
        x0, y0, pitch = x0 + middle, y0 + middle, times * pitch
    wave = ndimage.spline_filter(dose, order=3, mode="mirror", output=np.float64)
    step = max(_STEP, float(np.abs(wave).max()) / 2**20)
    values = np.rint(wave / step).astype(np.int64)
    rows, columns = values.shape
    return {
        "rows": rows,
        "columns": columns,
        "origin": [x0, y0],
        "pitch": pitch,
        "step": step,
        "values": packed_raster(values),
    }, times


def _design(design: Design, unit: _Unit) -> dict[str, Any]:
    """The outlines: how many points each has, and all points; a ring's last point is its first."""
    area, tolerance = design.area, unit.quantum
    while shapely.get_num_coordinates(area) > VERTICES and tolerance < 1e6 * unit.quantum:
        tolerance *= 2
        area = shapely.simplify(design.area, tolerance, preserve_topology=False)
    polygons = [p for p in shapely.get_parts(area) if not p.is_empty]
    rings = [shapely.get_coordinates(r) for p in polygons for r in (p.exterior, *p.interiors)]
    points = np.concatenate([r[:-1] for r in rings])
    return {"counts": packed([len(r) - 1 for r in rings]), **unit.curve(points)}


def _edges(edges: Edges, unit: _Unit, fwhm: float) -> dict[str, Any]:
    """Points along the outline with their error; of many, the worst of each few."""
    some = _worst_of_each(np.abs(edges.epe), math.ceil(len(edges.epe) / SAMPLES))
    u, v = edges.normal[some].T
    angle = np.rint(np.arctan2(v, u) / (2 * np.pi) * _TURN).astype(np.int64)
    there = np.abs(edges.epe[~edges.missing]) / fwhm
    limit = max(0.05, float(np.percentile(there, 99))) if len(there) else 2.0
    return {
        **unit.curve(edges.xy[some]),
        "normal": packed_curve(angle),
        "turn": _TURN,
        "error": packed_curve(np.rint(edges.epe[some] / unit.quantum).astype(np.int64)),
        "missing": packed(edges.missing[some]),
        "limit": limit * fwhm,
        "spacing": SAMPLE_FWHM * fwhm * len(edges.epe) / max(len(some), 1),
    }


def _worst_of_each(error: Floats, times: int) -> Indices:
    """(n,) indices of the largest of every `times` neighbours."""
    if times <= 1:
        return np.arange(len(error))
    starts = np.arange(0, len(error), times)
    return np.array([s + int(np.argmax(error[s : s + times])) for s in starts])


def _track(shown: Track, unit: _Unit) -> dict[str, Any]:
    total = float(shown.t[-1])
    steps = np.diff(shown.t)
    tick = max(min(1e-5, float(np.median(steps)) / _TICKS if len(steps) else 1.0), total / 2**40)
    level = max(float(shown.power.max(initial=0.0)) / 2**12, 1e-9)
    return {
        **unit.curve(shown.xy),
        "t": packed_curve(np.rint(shown.t / tick).astype(np.int64)),
        "tick": tick,
        "power": packed_curve(np.rint(shown.power / level).astype(np.int64)),
        "level": level,
        "total": total,
    }


def _notes(exposed: ExposedProgram, coarser: int, whole: Track, shown: Track) -> Iterator[str]:
    if coarser > 1:
        yield (
            f"The dose is shown with pixels of {1000 * coarser * exposed.grid.pitch:.3g} µm, "
            f"{coarser} times as wide as it was computed with"
        )
    if len(shown) < len(whole):
        yield (
            f"Of {len(whole)} executed pieces of the path {len(shown)} are shown, "
            f"none more than {1000 * shown.off:.2g} µm off"
        )
    if exposed.edges is not None and len(exposed.edges.epe) > SAMPLES:
        times = math.ceil(len(exposed.edges.epe) / SAMPLES)
        yield f"Of every {times} points along the outline the worst is shown"

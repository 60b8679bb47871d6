"""The viewer's data: an exposed program as JSON, its numbers as compact integers.

The viewer's `decode.js` unpacks them. A list of integers is written as variable-length bytes (7 bits a byte,
low ones first, the top bit of all but the last byte set) of its zigzag numbers 2v for v ≥ 0 and −2v − 1 for v
< 0, deflated (zlib, RFC 1950) and written in base64. Values that change slowly are replaced by differences
first: those of a curve from point to point, those of a raster from the plane through its neighbours,

    r[i, j] = v[i, j] − v[i, j−1] − v[i−1, j] + v[i−1, j−1],   0 outside,

since small numbers take one byte each and deflate well. The numbers are rounded before they are subtracted,
so that errors do not add up.

Lengths are whole multiples of `quantum` mm, a thousandth of the spot's FWHM, from `origin`; times of
`tick` s. The dose goes as the coefficients c of its cubic B-spline in steps of `step` critical doses,

    D(x, y) = Σ_ij c_ij β³((x − x0)/p − j) β³((y − y0)/p − i),

so that the viewer draws between the pixels the dose that the page measures there. Data too large for a page
are thinned, and `notes` say so; the figures always use all data.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike
from scipy import ndimage

from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import figure
from laserpath.design.scene import SAMPLE_FWHM
from laserpath.report.canvas import CIVIDIS, OVER, PAPER, RIGHT, UNDER
from laserpath.report.data import Place, ShownProgram, Track, thinned
from laserpath.report.toolpath_svg import DESIGN_FILL, POWER_STOPS
from laserpath.types import Design, Process
from laserpath.types.results import Edges

_BITS = 7
_MOST = 9
"""Bytes of the longest number: 9 hold 62 bits and a sign."""


def packed(values: ArrayLike) -> str:
    """Integers of any shape, in row order, as base64."""
    flat = np.asarray(values, dtype=np.int64).ravel()
    return base64.b64encode(zlib.compress(_varints(flat), 9)).decode("ascii")


def packed_curve(values: Indices) -> str:
    """Integers (N,) that change little from one to the next."""
    return packed(np.diff(values, prepend=0))


def packed_raster(values: Indices) -> str:
    """Integers (rows, columns) that change little from pixel to pixel."""
    rows = np.diff(np.asarray(values, dtype=np.int64), axis=0, prepend=0)
    return packed(np.diff(rows, axis=1, prepend=0))


def _varints(flat: Indices) -> bytes:
    zigzag = np.where(flat < 0, -2 * flat - 1, 2 * flat).astype(np.uint64)
    groups = np.ones(len(flat), dtype=np.int64)
    for k in range(1, _MOST):
        groups += zigzag >> np.uint64(_BITS * k) > 0
    ends = np.cumsum(groups)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for k in range(int(groups.max(initial=0))):
        has = groups > k
        low = (zigzag[has] >> np.uint64(_BITS * k)) & np.uint64(127)
        more = np.where(groups[has] > k + 1, 128, 0)
        out[(ends - groups)[has] + k] = low.astype(np.uint8) + more.astype(np.uint8)
    return out.tobytes()


PIXELS, PIECES, VERTICES, SAMPLES = 1_000_000, 60_000, 60_000, 40_000
"""Limits of a page: pixels of dose, pieces of the executed path, vertices of the design and samples along it.
Larger ones show finer detail, and make the file larger and the viewer slower."""

_QUANTUM_FWHM = 1e-3
"""Resolution of lengths, in FWHM."""
_STEP = 1 / 512
"""Resolution of the dose, in critical doses."""
_PIXELS_PER_FWHM = 2.5
"""Pixels per FWHM that a cubic spline needs to show a dose truly."""
_TICKS = 256
"""Ticks of the clock in a piece of median duration. More resolve short pieces better and pack less well."""
_TURN = 256
"""Directions that a normal is rounded to."""

_THEMES = {
    "light": {
        "right": RIGHT, "over": OVER, "under": UNDER, "paper": PAPER, "design": DESIGN_FILL,
        "ink": "#222222", "halo": "#ffffff", "even": "#c9c9c9", "none": "#000000", "travel": "#4a86b8",
        "power": POWER_STOPS,
    },
    "dark": {
        "right": "#56616b", "over": "#f08a3c", "under": "#45a5e6", "paper": "#14181c", "design": "#39434c",
        "ink": "#e8ebed", "halo": "#14181c", "even": "#8a949c", "none": "#ffffff", "travel": "#7cb8e8",
        "power": ("#8f6fd6", "#c765b4", "#ea6f77", "#f5a04c", "#fbe04f"),
    },
}  # fmt: skip
"""Colours on a light and on a dark screen. even: an edge without error.  none: one that does not print.

In the dark the luminance of the powers rises, so that the lowest still shows.
"""


@dataclass(frozen=True, slots=True)
class Payload:
    """text: JSON, safe in a script element.  notes: a sentence for each thing that is not shown in full."""

    text: str
    notes: tuple[str, ...]


def payload(exposed: ShownProgram, places: Sequence[Place] = ()) -> Payload:
    """The data of an exposed program and of its worst places."""
    process, fwhm, units = exposed.process, exposed.fwhm, _Units.of(exposed)
    whole = exposed.track
    shown = thinned(whole, PIECES, fwhm, process.machine.power_max)
    dose, coarser = _dose(exposed)
    numbers = {
        **_scales(process, fwhm),
        "box": list(exposed.box),
        "origin": units.origin,
        "quantum": units.quantum,
        "dose": dose,
        "design": _design(exposed.design, units) if exposed.design else None,
        "edges": _edges(exposed.edges, units, fwhm) if exposed.edges is not None else None,
        "track": _track(shown, units),
        "places": [[*p.xy, *p.normal, p.epe] for p in places],
    }
    text = json.dumps(numbers, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Payload(text, tuple(_notes(exposed, coarser, whole, shown)))


def _scales(process: Process, fwhm: float) -> dict[str, Any]:
    """Spot, doses to compare with, and colours."""
    return {
        "fwhm": fwhm,
        "critical": process.resin.critical_dose,
        "order": process.resin.order,
        "over": process.resin.over_dose,
        "done": process.resin.done,
        "themes": _THEMES,
        "doses": CIVIDIS,
    }


@dataclass(frozen=True, slots=True)
class _Units:
    """Of the viewer's lengths. origin, quantum: mm."""

    origin: list[float]
    quantum: float

    @classmethod
    def of(cls, exposed: ShownProgram) -> _Units:
        x0, y0, x1, y1 = exposed.box
        return cls([(x0 + x1) / 2, (y0 + y1) / 2], exposed.fwhm * _QUANTUM_FWHM)

    def whole(self, xy: Floats) -> Indices:
        """Points (N, 2), mm, in whole quanta."""
        return np.rint((xy - self.origin) / self.quantum).astype(np.int64)

    def curve(self, xy: Floats) -> dict[str, str]:
        """Points (N, 2), mm, packed."""
        x, y = self.whole(xy).T
        return {"x": packed_curve(x), "y": packed_curve(y)}


def _dose(exposed: ShownProgram) -> tuple[dict[str, Any], int]:
    """The raster of the dose, and the factor by which its pixels are wider than the computed ones."""
    grid, dose = exposed.grid, exposed.dose
    times = math.ceil(math.sqrt(dose.size / PIXELS))
    (x0, y0), pitch = grid.origin, grid.pitch
    if times > 1 and times * pitch <= exposed.fwhm / _PIXELS_PER_FWHM:
        # A dose has no detail finer than the spot, so that a few pixels across it are enough.
        dose, pitch = dose[::times, ::times], times * pitch
    elif times > 1:
        rows, columns = (times * (n // times) for n in grid.shape)
        blocks = dose[:rows, :columns].reshape(rows // times, times, columns // times, times)
        dose, middle = blocks.mean(axis=(1, 3)), pitch * (times - 1) / 2
        x0, y0, pitch = x0 + middle, y0 + middle, times * pitch
    dose = dose / exposed.process.resin.critical_dose
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


def _design(design: Design, units: _Units) -> dict[str, Any]:
    """The outlines: the number of points of each ring, and all points without the rings' closing points."""
    area, tolerance = design.area, units.quantum
    while shapely.get_num_coordinates(area) > VERTICES and tolerance < 1e6 * units.quantum:
        tolerance *= 2
        area = shapely.simplify(design.area, tolerance, preserve_topology=False)
    polygons = [p for p in shapely.get_parts(area) if not p.is_empty]
    rings = [shapely.get_coordinates(r) for p in polygons for r in (p.exterior, *p.interiors)]
    points = np.concatenate([r[:-1] for r in rings])
    return {"counts": packed([len(r) - 1 for r in rings]), **units.curve(points)}


def _edges(edges: Edges, units: _Units, fwhm: float) -> dict[str, Any]:
    """Points along the outline with their error; of too many, the worst of each few neighbours."""
    chosen = _worst_of_each(np.abs(edges.epe), math.ceil(len(edges.epe) / SAMPLES))
    u, v = edges.normal[chosen].T
    angle = np.rint(np.arctan2(v, u) / (2 * np.pi) * _TURN).astype(np.int64)
    known = np.abs(edges.epe[~edges.missing]) / fwhm
    limit = max(0.05, float(np.percentile(known, 99))) if len(known) else 2.0
    return {
        **units.curve(edges.xy[chosen]),
        "normal": packed_curve(angle),
        "turn": _TURN,
        "error": packed_curve(np.rint(edges.epe[chosen] / units.quantum).astype(np.int64)),
        "missing": packed(edges.missing[chosen]),
        "limit": limit * fwhm,
        "spacing": SAMPLE_FWHM * fwhm * len(edges.epe) / max(len(chosen), 1),
    }


def _worst_of_each(error: Floats, times: int) -> Indices:
    """(n,) indices of the largest of every `times` neighbours."""
    if times <= 1:
        return np.arange(len(error))
    whole = -(-len(error) // times)
    padded = np.pad(error, (0, whole * times - len(error)), constant_values=-1.0).reshape(whole, times)
    return times * np.arange(whole) + np.argmax(padded, axis=1)


def _track(shown: Track, units: _Units) -> dict[str, Any]:
    total = float(shown.t[-1])
    steps = np.diff(shown.t)
    tick = max(min(1e-5, float(np.median(steps)) / _TICKS if len(steps) else 1.0), total / 2**40)
    level = max(float(shown.power.max(initial=0.0)) / 2**12, 1e-9)
    return {
        **units.curve(shown.xy),
        "t": packed_curve(np.rint(shown.t / tick).astype(np.int64)),
        "tick": tick,
        "power": packed_curve(np.rint(shown.power / level).astype(np.int64)),
        "level": level,
        "total": total,
    }


def _notes(exposed: ShownProgram, coarser: int, whole: Track, shown: Track) -> Iterator[str]:
    if coarser > 1:
        yield (
            f"The dose is shown with pixels of {figure(1000 * coarser * exposed.grid.pitch)} µm, "
            f"{coarser} times as wide as it was computed with"
        )
    if len(shown) < len(whole):
        yield (
            f"Of {len(whole)} executed pieces of the path {len(shown)} are shown, "
            f"none more than {figure(1000 * shown.off, 2)} µm off"
        )
    if exposed.edges is not None and len(exposed.edges.epe) > SAMPLES:
        times = math.ceil(len(exposed.edges.epe) / SAMPLES)
        yield f"Of every {times} points along the outline the worst is shown"

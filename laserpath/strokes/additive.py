"""Straight strokes whose doses add, as a laser's do, fitted to whatever loss of the dose is given.

A stroke is a rectangle from one end to the other, evenly exposed and blurred by a spot of standard deviation
σ. With u along it from its first end, v across it, length l, width w and line energy q its dose is

    D(u, v) = q A(u) C(v),   A = ½ [erf(u/s) − erf((u − l)/s)],   s = √2 σ,
    C = 1/(2w) [erf((v + w/2)/s) − erf((v − w/2)/s)],

a single line for w → 0. Strokes may share their ends, so that a chain of them stays one line while it is
fitted. The gradient is in closed form. The spot is Gaussian here, whatever its profile: what is fitted is a
start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import erf

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError
from laserpath.types import Grid

_REACH = 3.2
"""Standard deviations of the spot up to which a stroke's dose is computed: a larger value takes longer, and
the dose left out is 6e-3 of the peak at this one."""

_SLACK = 1.0
"""The same for how far a stroke may move while it is fitted: a larger value takes longer."""

_THIN = 0.05
"""Least width and length, in standard deviations of the spot: thinner strokes are computed like this one."""

Loss = Callable[[Floats], tuple[float, Floats]]
"""Dose (rows, columns) mJ/mm² → loss, and its derivative by each dose."""


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveStrokes:
    """N strokes. vertices: (M, 2) mm.  ends: (N, 2) indices of each stroke's first and last vertex.

    width: (N,) mm, of the evenly exposed band; 0: one line.  energy: (N,) mJ/mm, the sum over that width.
    """

    vertices: Floats
    ends: Indices
    width: Floats
    energy: Floats

    def __post_init__(self) -> None:
        count = len(self.ends)
        if self.width.shape != (count,) or self.energy.shape != (count,):
            raise InputError(
                f"{count} strokes have widths of shape {self.width.shape} and energies of shape "
                f"{self.energy.shape}, but must have ({count},)"
            )
        if count and not 0 <= self.ends.min() <= self.ends.max() < len(self.vertices):
            raise InputError(
                f"strokes name vertices {self.ends.min()} to {self.ends.max()}, but there are "
                f"{len(self.vertices)}"
            )

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def lines(self) -> Floats:
        """(N, 2, 2) mm, the two ends of each stroke."""
        return self.vertices[self.ends]


@dataclass(frozen=True, slots=True, eq=False)
class StrokeModel:
    """The dose of strokes on a grid. sigma: mm, of the spot.

    pixel: (P,) flat index of a pixel near a stroke.  owner: (P,) that stroke.  at: (P, 2) mm, its centre.
    """

    grid: Grid
    sigma: float
    pixel: Indices
    owner: Indices
    at: Floats

    @classmethod
    def of(cls, strokes: AdditiveStrokes, grid: Grid, fwhm: float) -> StrokeModel:
        """The model for strokes near the given ones. fwhm: of the spot, mm."""
        sigma = fwhm / np.sqrt(8 * np.log(2))
        reach = (_REACH + _SLACK) * sigma + strokes.width / 2
        near = [_near(a, b, r, grid) for (a, b), r in zip(strokes.lines, reach, strict=True)]
        owner = np.repeat(np.arange(len(strokes)), [len(one) for one in near])
        pixel = np.concatenate(near) if near else np.zeros(0, dtype=np.int64)
        row, column = np.divmod(pixel, grid.shape[1])
        return cls(grid, sigma, pixel, owner, np.stack([grid.x()[column], grid.y()[row]], axis=1))

    def dose(self, strokes: AdditiveStrokes) -> Floats:
        """(rows, columns) mJ/mm²."""
        part = _StrokeParts.of(self, strokes)
        return self._sum(strokes.energy[self.owner] * part.along * part.across)

    def gradient(self, strokes: AdditiveStrokes, slope: Floats) -> tuple[Floats, Floats, Floats]:
        """∂/∂(vertices, width, energy) of a loss from its slope (rows, columns) by the dose."""
        part, count = _StrokeParts.of(self, strokes), len(strokes)
        pull = slope.ravel()[self.pixel]
        energy: Floats = np.bincount(self.owner, pull * part.along * part.across, count).astype(np.float64)
        pull = pull * strokes.energy[self.owner]

        def total(values: Floats) -> Floats:
            sums: Floats = np.bincount(self.owner, pull * values, count)[:, None].astype(np.float64)
            return sums

        by_u, by_v = part.across * part.along_u, part.along * part.across_v
        turn = part.normal / part.length[:, None] * total(by_u * part.v - by_v * part.u)
        stretch = part.tangent * total(part.across * part.along_length)
        first = -part.tangent * total(by_u) - part.normal * total(by_v) - turn - stretch
        vertices = np.zeros_like(strokes.vertices)
        np.add.at(vertices, strokes.ends[:, 0], first)
        np.add.at(vertices, strokes.ends[:, 1], turn + stretch)
        width = np.where(part.thin, 0.0, total(part.along * part.across_width)[:, 0])
        return vertices, width, energy

    def _sum(self, values: Floats) -> Floats:
        rows, columns = self.grid.shape
        dose: Floats = np.bincount(self.pixel, values, rows * columns).astype(np.float64)
        return dose.reshape(rows, columns)


@dataclass(frozen=True, slots=True, eq=False)
class _StrokeParts:
    """A and C at each pixel of a model, with their derivatives. u, v: (P,) mm, along and across the stroke.

    tangent, normal: (N, 2).  length: (N,) mm.  thin: (N,) whether a stroke is computed with the least width.
    """

    tangent: Floats
    normal: Floats
    length: Floats
    thin: Bools
    u: Floats
    v: Floats
    along: Floats
    along_u: Floats
    along_length: Floats
    across: Floats
    across_v: Floats
    across_width: Floats

    @classmethod
    def of(cls, model: StrokeModel, strokes: AdditiveStrokes) -> _StrokeParts:
        least, s, owner = _THIN * model.sigma, np.sqrt(2) * model.sigma, model.owner
        first, last = strokes.lines[:, 0], strokes.lines[:, 1]
        way = last - first
        length = np.maximum(np.hypot(*way.T), least)
        tangent = np.where(way.any(axis=1, keepdims=True), way / length[:, None], (1.0, 0.0))
        normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
        off = model.at - first[owner]
        u, v = (off * tangent[owner]).sum(axis=1), (off * normal[owner]).sum(axis=1)
        width, reach = np.maximum(strokes.width, least)[owner], length[owner]

        def bell(x: Floats) -> Floats:
            return np.exp(-((x / s) ** 2)) / (s * np.sqrt(np.pi))

        at_first, at_last, left, right = bell(u), bell(u - reach), bell(v + width / 2), bell(v - width / 2)
        across = (erf((v + width / 2) / s) - erf((v - width / 2) / s)) / (2 * width)
        return cls(
            tangent, normal, length, strokes.width <= least, u, v,
            along=(erf(u / s) - erf((u - reach) / s)) / 2,
            along_u=at_first - at_last,
            along_length=at_last,
            across=across,
            across_v=(left - right) / width,
            across_width=((left + right) / 2 - across) / width,
        )  # fmt: skip


def fit(
    strokes: AdditiveStrokes, grid: Grid, fwhm: float, loss: Loss, iterations: int = 60
) -> tuple[AdditiveStrokes, Floats]:
    """(the strokes of lowest loss near the given ones, the loss of each iteration), by L-BFGS-B.

    fwhm: of the spot, mm.  Energies stay at 0 or above, a stroke of no width stays a line, and no vertex
    moves further along an axis than `_SLACK` standard deviations.
    """
    model, unit = StrokeModel.of(strokes, grid, fwhm), max(float(strokes.energy.max(initial=0)), 1e-30)
    corners, count = strokes.vertices.size, len(strokes)
    history: list[float] = []

    def at(x: Floats) -> AdditiveStrokes:
        places, width, energy = np.split(x, [corners, corners + count])
        moved = strokes.vertices + fwhm * places.reshape(-1, 2)
        return replace(strokes, vertices=moved, width=fwhm * width, energy=unit * energy)

    def evaluate(x: Floats) -> tuple[float, Floats]:
        now = at(x)
        value, slope = loss(model.dose(now))
        vertices, width, energy = model.gradient(now, slope)
        return value, np.concatenate([fwhm * vertices.ravel(), fwhm * width, unit * energy])

    start = np.concatenate([np.zeros(corners), strokes.width / fwhm, strokes.energy / unit])
    room = _SLACK * model.sigma / fwhm
    bounds = (
        [(-room, room)] * corners
        + [(0.0, w + room if w else 0.0) for w in strokes.width / fwhm]
        + [(0.0, None)] * count
    )
    done = minimize(
        evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds,
        callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
        options={"maxiter": iterations},
    )  # fmt: skip
    return at(done.x), np.array([evaluate(start)[0], *history])


def _near(first: Floats, last: Floats, reach: float, grid: Grid) -> Indices:
    """Flat indices of the pixels within a distance of the line from first to last (2,), all in mm."""
    rows, columns = grid.shape
    low = np.floor(grid.to_pixels(np.minimum(first, last)[None] - reach))[0].astype(np.int64)
    high = np.ceil(grid.to_pixels(np.maximum(first, last)[None] + reach))[0].astype(np.int64)
    column = np.arange(max(low[0], 0), min(high[0], columns - 1) + 1)
    row = np.arange(max(low[1], 0), min(high[1], rows - 1) + 1)
    x, y = grid.x()[column][None, :], grid.y()[row][:, None]
    way = last - first
    share = ((x - first[0]) * way[0] + (y - first[1]) * way[1]) / max(float(way @ way), 1e-300)
    share = np.clip(share, 0, 1)
    far = np.hypot(x - first[0] - share * way[0], y - first[1] - share * way[1])
    k, c = np.nonzero(far <= reach)
    return row[k] * columns + column[c]

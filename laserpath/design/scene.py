"""A scene: a design on its grid, with its contour, spot and resin; and values between the pixels of a grid.

A smooth function on a grid is read at points between its pixels, with its slope there, and the adjoint
(`Sampler`, `reading`).

**The least squares of what a spot passes.** A function f on a line of pixels is read at t, in pixels, with
its slope there, as Σ_k w_k f_k and Σ_k v_k f_k of 8 pixels around it. The weights w make the mean square

    ∫ S(ν) |Σ_k w_k e^{2πiνk} − e^{2πiνt}|² dν

least (Oetken, Parks and Schüssler 1975), where Σ w_k = 1 and Σ k w_k = t; v that of the slope,
2πiν e^{2πiνt}, where Σ v_k = 0 and Σ k v_k = 1. So straight lines are read exactly. S(ν) is the power that an
Airy spot passes at 3 pixels a FWHM, where it ends at 0.35 periods a pixel, and `_BEYOND` beside that, which
keeps the weights of other waves small. A wave of up to 0.2 periods a pixel is read to 1.5e-3 of its
amplitude, with its slope to 6e-3; one of 0.34 to 7 %.

So the edges of a dose are read, in FWHM (r.m.s.): on 3 pixels a FWHM to 1e-4 of an Airy spot, to 2e-4 with
two photons, to 5e-4 of a Gaussian, to 3e-3 of an ellipse of aspect 2, whose narrow axis passes finer waves
than 3 pixels hold; and to 1e-4 of each on 6 pixels. A windowed sinc of 12 pixels reads Airy and Gaussian
spots 1.4 times as exactly there, and takes 9/4 of the work.

Both weights of a pixel depend on the fraction of t alone, smoothly between two pixels, so they are read from
polynomials through Chebyshev points. They have single precision, as doses have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy import sparse

from gcode.compiled import cached, vectorised
from laserpath.base.arrays import Bools, Floats, Indices, tiles
from laserpath.base.errors import one_line
from laserpath.base.overlay import areas, clipped, valid
from laserpath.design.target import COARSEST, grid_for, rasterise
from laserpath.physics import optics
from laserpath.types import Design, Grid, Resin, Spot, Target

njit = cached(error_model="numpy", nogil=True)


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """Reads (rows, columns) functions at M points. rows, columns: their pixels.  direction: (M, 2) per pixel.

    The grid repeats beyond its edges.
    """

    rows: Taps
    columns: Taps
    direction: Floats

    @classmethod
    def of(cls, grid: Grid, xy: Floats, direction: Floats) -> Sampler:
        """The sampler at xy (M, 2) mm; slopes are per mm of `direction` (M, 2), times its length."""
        u, v = grid.to_pixels(xy).T
        return cls(taps_at(v, grid.shape[0]), taps_at(u, grid.shape[1]), direction / grid.pitch)

    def __len__(self) -> int:
        return len(self.direction)

    def __call__(self, field: Floats) -> tuple[Floats, Floats]:
        """(values (M,), slopes (M,)) of a function (rows, columns)."""
        value, slope = np.empty(len(self)), np.empty(len(self))
        _read(field, self.rows, self.columns, self.direction, value, slope)
        return value, slope

    def pull(self, d_value: Floats, d_slope: Floats, out: Floats) -> None:
        """Add to `out` (rows, columns) the derivative by f, of those by the values and slopes (M,)."""
        _pull(d_value, d_slope, self.rows, self.columns, self.direction, out)


_LEFT_OUT = 1e-2
"""Tolerance of `optics.band` for coarse grids: a smaller one makes them finer."""

_KEPT = 200_000
"""Samples up to which their taps are kept: 160 bytes each, 80 MB for a board of 94 × 74 mm. More are a whole
design of many fields, which is read now and then."""

_AT_ONCE = 20_000
"""Samples that `PassingSampler` reads at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class PassingSampler:
    """Reads as `Sampler` does, which it makes anew each time, a part of the points after the other.

    xy: (M, 2) mm.  direction: (M, 2), of which slopes are per mm, times its length.
    """

    grid: Grid
    xy: Floats
    direction: Floats

    def __len__(self) -> int:
        return len(self.xy)

    def __call__(self, field: Floats) -> tuple[Floats, Floats]:
        """(values (M,), slopes (M,)) of a function (rows, columns)."""
        from laserpath.base.compute.beside import in_parts  # it loads Taichi, which others need not wait for

        value, slope = np.empty(len(self)), np.empty(len(self))

        def read(first: int, end: int) -> None:
            for rows, part in self._parts(first, end):
                value[rows], slope[rows] = part(field)

        in_parts(read, len(self))
        return value, slope

    def pull(self, d_value: Floats, d_slope: Floats, out: Floats) -> None:
        """As of `Sampler`."""
        for rows, part in self._parts(0, len(self)):
            part.pull(d_value[rows], d_slope[rows], out)

    def _parts(self, begin: int, end: int) -> Iterator[tuple[slice, Sampler]]:
        for first in range(begin, end, _AT_ONCE):
            rows = slice(first, min(first + _AT_ONCE, end))
            yield rows, Sampler.of(self.grid, self.xy[rows], self.direction[rows])


@vectorised
def _read(field: Any, rows: Taps, columns: Taps, direction: Floats, value: Floats, slope: Floats) -> None:
    beyond = np.empty((TAPS, TAPS), field.dtype)
    for m in range(len(direction)):
        top, left = rows.first[m], columns.first[m]
        if top + TAPS <= rows.period and left + TAPS <= columns.period:
            near = field[top : top + TAPS, left : left + TAPS]
        else:
            for a in range(TAPS):
                for b in range(TAPS):
                    beyond[a, b] = field[(top + a) % rows.period, (left + b) % columns.period]
            near = beyond[:, :]  # as a part of an array, so that both are of one type
        f, f_x, f_y = _sums(near, rows, columns, m)
        value[m] = f
        slope[m] = direction[m, 0] * f_x + direction[m, 1] * f_y


@vectorised
def _sums(near: Any, rows: Taps, columns: Taps, m: int) -> tuple[float, float, float]:
    """f, ∂f/∂x and ∂f/∂y at point m, of the pixels near it, in whose precision they are computed."""
    f = f_x = f_y = near.dtype.type(0)
    for a in range(TAPS):
        along = along_x = near.dtype.type(0)
        for b in range(TAPS):
            along += near[a, b] * columns.weight[m, b]
            along_x += near[a, b] * columns.slope[m, b]
        f += rows.weight[m, a] * along
        f_x += rows.weight[m, a] * along_x
        f_y += rows.slope[m, a] * along
    return f, f_x, f_y


@vectorised
def _pull(d_value: Floats, d_slope: Floats, rows: Taps, columns: Taps, direction: Floats, out: Any) -> None:
    beyond = np.empty((TAPS, TAPS), out.dtype)
    for m in range(len(direction)):
        top, left = rows.first[m], columns.first[m]
        by = d_value[m], d_slope[m] * direction[m, 0], d_slope[m] * direction[m, 1]
        if top + TAPS <= rows.period and left + TAPS <= columns.period:
            _add(by, rows, columns, m, out[top : top + TAPS, left : left + TAPS])
        else:
            beyond[:] = 0
            _add(by, rows, columns, m, beyond[:, :])  # as a part of an array: compiled once
            for a in range(TAPS):
                for b in range(TAPS):
                    out[(top + a) % rows.period, (left + b) % columns.period] += beyond[a, b]


@vectorised
def _add(by: tuple[float, float, float], rows: Taps, columns: Taps, m: int, near: Any) -> None:
    """Add what point m gives to the pixels near it, in their precision. by: f, ∂f/∂x, ∂f/∂y."""
    real = near.dtype.type
    by_f, by_x, by_y = real(by[0]), real(by[1]), real(by[2])
    for a in range(TAPS):
        plain = by_f * rows.weight[m, a] + by_y * rows.slope[m, a]
        across = by_x * rows.weight[m, a]
        for b in range(TAPS):
            near[a, b] += plain * columns.weight[m, b] + across * columns.slope[m, b]


SAMPLE_FWHM = 0.25  # distance between samples
CORNER_FWHM = 0.75  # distance along the contour within which a sample is near a corner
CORNER_DEGREES = 30.0  # turn from which a vertex is a corner


@dataclass(frozen=True, slots=True)
class Samples:
    """xy: (M, 2) mm.  normal: (M, 2) outward.  corner: (M,) whether near a corner."""

    xy: Floats
    normal: Floats
    corner: Bools


def contour_samples(design: Design, fwhm: float) -> Samples:
    """Points every FWHM/4 (at least 8 a ring) in the middle of equal arcs of all rings.

    Near a corner: within 0.75 FWHM of a turn by more than 30°.
    """
    parts = []
    for polygon in design.area.geoms:
        parts.append(_ring(polygon.exterior, fwhm, solid_left=polygon.exterior.is_ccw))
        parts += [_ring(hole, fwhm, solid_left=not hole.is_ccw) for hole in polygon.interiors]
    return Samples(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _ring(ring: shapely.LinearRing, fwhm: float, solid_left: bool) -> tuple[Floats, Floats, Bools]:
    """Samples of one ring, in its own direction; a sample on a vertex belongs to the edge behind it."""
    vertices = shapely.get_coordinates(ring)
    step = np.diff(vertices, axis=0)
    length = np.hypot(*step.T)
    step, length, start = step[length > 0], length[length > 0], vertices[:-1][length > 0]
    tangent = step / length[:, None]
    s = np.concatenate([[0.0], np.cumsum(length)])
    n = max(8, int(s[-1] / (SAMPLE_FWHM * fwhm)))
    at = (np.arange(n) + 0.5) * s[-1] / n

    def segment(position: Floats) -> Indices:
        return np.clip(np.searchsorted(s, position % s[-1], side="right") - 1, 0, len(length) - 1)

    k = segment(at)
    xy = start[k] + (at - s[k])[:, None] * tangent[k]
    around = np.linspace(-1, 1, 9) * CORNER_FWHM * fwhm
    straight = np.min([np.einsum("ij,ij->i", tangent[k], tangent[segment(at + o)]) for o in around], axis=0)
    normal = np.stack([tangent[k, 1], -tangent[k, 0]], axis=1) * (1 if solid_left else -1)
    return xy, normal, straight < np.cos(np.radians(CORNER_DEGREES))


@dataclass(frozen=True, eq=False)
class Outline:
    """The samples of a design's outline, taken once. fwhm: mm."""

    design: Design
    fwhm: float

    @cached_property
    def samples(self) -> Samples:
        """Every FWHM/4 along it (`contour`)."""
        return contour_samples(self.design, self.fwhm)

    @cached_property
    def _tree(self) -> shapely.STRtree:
        return shapely.STRtree(self.design.area.geoms)

    def within(self, x0: float, y0: float, x1: float, y1: float) -> shapely.MultiPolygon:
        """What of the design is in a rectangle, mm, in the order of its polygons; it may be empty."""
        near = self.design.area
        if len(near.geoms) > 1:
            found = np.sort(self._tree.query(shapely.box(x0, y0, x1, y1)))
            near = shapely.MultiPolygon(self._tree.geometries[found].tolist())
        return areas(valid(clipped(near, x0, y0, x1, y1)))


@dataclass(frozen=True, eq=False)
class Scene:
    """A design on its grid, with the spot and the resin that it is to be printed with.

    outline: made from the design and the spot. `replace(scene, grid=…)` keeps its samples, and computes the
    target anew when first asked for.
    """

    design: Design
    grid: Grid
    spot: Spot
    resin: Resin
    outline: Outline = field(default=None, repr=False)  # type: ignore[assignment]

    __repr__ = one_line

    def __post_init__(self) -> None:
        fwhm, outline = optics.fwhm(self.spot), self.outline
        if outline is None or outline.design is not self.design or outline.fwhm != fwhm:
            object.__setattr__(self, "outline", Outline(self.design, fwhm))

    @classmethod
    def around(cls, design: Design, spot: Spot, resin: Resin, pixels_per_fwhm: float) -> Scene:
        """The design on a grid of its own; raises InputError where that needs too many pixels."""
        return cls(design, grid_for(design, spot, pixels_per_fwhm), spot, resin)

    @classmethod
    def of(cls, design: Design, target: Target, spot: Spot, resin: Resin) -> Scene:
        """The scene of a target that is known already."""
        scene = cls(design, target.grid, spot, resin)
        scene.__dict__["target"] = target  # where `cached_property` keeps it
        return scene

    def part(self, area: shapely.MultiPolygon, grid: Grid, samples: Samples) -> Scene:
        """A window of the scene, on a grid of its own. area: what of the design is there; may be empty.

        samples: those that count there.
        """
        drawn = self.design.area if area.is_empty else area
        design = replace(self.design, area=drawn, page=None, pads=None, lines=None)
        part = Scene(design, grid, self.spot, self.resin)
        part.outline.__dict__["samples"] = samples  # where `cached_property` keeps them
        if area.is_empty:
            part.__dict__["target"] = Target(grid, np.zeros(grid.shape, np.float32))
        return part

    @property
    def bare(self) -> Scene:
        """The same with nothing computed of it but its samples, which are little to send."""
        bare = Scene(self.design, self.grid, self.spot, self.resin)
        bare.outline.__dict__["samples"] = self.samples
        return bare

    def let_go(self) -> None:
        """Drop what takes much memory; it is made again where it is asked for."""
        for name in ("target", "sampler"):
            self.__dict__.pop(name, None)

    @cached_property
    def target(self) -> Target:
        """The target coverage of each pixel; raises InputError if the design extends beyond the grid."""
        return rasterise(self.design, self.grid)

    @property
    def samples(self) -> Samples:
        """Points along the outline."""
        return self.outline.samples

    def on(self, grid: Grid) -> Scene:
        """The same on another grid."""
        return self if grid == self.grid else replace(self, grid=grid)

    @cached_property
    def coarse(self) -> Scene:
        """The same on the coarsest grid that holds what the spot passes, or on its own if that is as coarse.

        With `COARSEST` pixels, a quarter of the usual ones, edges are read as the module says.
        """
        pixels = max(COARSEST, self.passed)
        finer = pixels < self.fwhm / self.grid.pitch
        return self.on(grid_for(self.design, self.spot, pixels)) if finer else self

    @cached_property
    def passed(self) -> float:
        """Pixels per FWHM that hold all frequencies of the spot but such as change it by 0.1 %.

        2.1 for an Airy spot, 2.7 for a Gaussian one, and more for an ellipse, whose narrow axis takes two at
        least, for the rings of a defocused spot, and for kinks.
        """
        slender = max(self.spot.aspect, 1 / self.spot.aspect) ** 0.5
        return float(2 * max(optics.band(self.spot, _LEFT_OUT) * self.fwhm, slender))

    @cached_property
    def sampler(self) -> Sampler | PassingSampler:
        """Reads a dose u at the samples, and its outward slope F ∂u/∂n there."""
        given = self.grid, self.samples.xy, self.samples.normal * self.fwhm
        return Sampler.of(*given) if len(self.samples.xy) <= _KEPT else PassingSampler(*given)

    @cached_property
    def band(self) -> Floats:
        """(M,) FWHM, half of the width along the normal of the pixels that the outline crosses."""
        across: Floats = np.abs(self.samples.normal).sum(axis=1)
        return self.grid.pitch / (2 * self.fwhm) * across

    def depth(self, reach: float) -> NDArray[np.float32]:
        """(rows, columns) FWHM, distance of each pixel from those beyond the outline: > 0 inside.

        It is exact up to `reach`, and ± infinity where it is more.
        """
        unit = self.grid.pitch / self.fwhm
        depth = _distance(self.target.coverage > 0.5, math.ceil(reach / unit))
        depth *= np.float32(unit)
        return depth

    def deeper(self, least: float) -> Bools:
        """(rows, columns) whether the `depth` of each pixel, FWHM, is above `least`, which is at least 0."""
        solid, unit = self.target.coverage > 0.5, self.grid.pitch / self.fwhm
        found = np.zeros(solid.shape, np.bool_)
        reach = math.ceil(least / unit)
        for core, around, there in tiles(solid.shape, reach + 1):
            part = solid[around]
            if part.all():
                found[core] = True
            elif part.any():
                inside = unit * _distance(part, reach)[there].astype(np.float64)
                found[core] = inside.astype(np.float32) > least
        return found

    @property
    def fwhm(self) -> float:
        """Full width at half maximum of the spot, mm."""
        return self.outline.fwhm

    @property
    def critical_dose(self) -> float:
        """D_c of the resin, mJ/mm²."""
        return self.resin.critical_dose


@cached(nogil=True)
def _distance(solid: Any, reach: int) -> Any:
    """(rows, columns) pixels to the nearest one of the other kind, < 0 where not solid; ± infinity: > reach.

    In a row it is that to the left or to the right, of which a column then has the least of those in the rows
    above and below (Meijster, Roerdink and Hesselink 2000, of which only `reach` rows count here).
    """
    rows, columns = solid.shape
    far = reach * reach + 1
    along = np.empty((rows, columns), np.int32)
    for r in range(rows):
        last = -far
        for c in range(columns):
            if c and solid[r, c] != solid[r, c - 1]:
                last = c - 1
            away = min(c - last, far)
            along[r, c] = min(away * away, far) if away <= reach else far
        last = columns + far
        for c in range(columns - 1, -1, -1):
            if c < columns - 1 and solid[r, c] != solid[r, c + 1]:
                last = c + 1
            away = min(last - c, far)
            if away <= reach:
                along[r, c] = min(along[r, c], away * away)
    found = np.empty((rows, columns), np.float32)
    best = np.empty(columns, np.int32)
    for r in range(rows):
        for c in range(columns):
            best[c] = along[r, c]
        for up in range(1, reach + 1):
            for other in (r - up, r + up):
                if 0 <= other < rows:
                    for c in range(columns):
                        there = along[other, c] if solid[other, c] == solid[r, c] else 0
                        best[c] = min(best[c], there + up * up)
        for c in range(columns):
            depth = np.sqrt(best[c]) if best[c] < far else np.inf
            found[r, c] = depth if solid[r, c] else -depth
    return found


TAPS = 8
"""Pixels along each axis from which a value is read: more are more accurate, and take longer. Eight of single
precision are one vector of a processor."""

_MATRIX_TAPS = 12
"""Those of `reading`: of given light, whose matrices take little time, more of the accuracy is kept."""

_LIMIT, _BEYOND = 0.35, 1e-6
"""Limit of S, in periods a pixel: a larger one reads finer spots more truly, and Airy spots less.  What is
added to S, of 1: more keeps the weights of finer waves smaller, and reads what a spot passes less truly."""

_WAVES = 400
"""Frequencies of the integral: with ten times as many the weights change by 1e-7."""

_POINTS = 10
"""Coefficients of the polynomials: fewer are less exact."""


class Taps(NamedTuple):
    """first: (M,) pixels along one axis from which on K count, of `period` that repeat.

    weight, slope: (M, K) f32 of each in f and in ∂f/∂t.
    """

    first: Indices
    period: int
    weight: Any
    slope: Any

    @property
    def at(self) -> Indices:
        """(M, K) the pixels."""
        pixels: Indices = (self.first[:, None] + np.arange(self.weight.shape[1])) % self.period
        return pixels


def taps_at(t: Floats, count: int, taps: int = TAPS) -> Taps:
    """The weights of the pixels around t (M,), in pixels, of `count` that repeat. taps: an even number."""
    first = np.empty(len(t), np.int64)
    weight, slope = np.empty((2, len(t), taps), np.float32)
    _read_taps(np.asarray(t, float), count, _polynomials(taps), first, weight, slope)
    return Taps(first, count, weight, slope)


@njit
def _read_taps(t: Floats, count: int, polynomials: Floats, first: Indices, weight: Any, slope: Any) -> None:
    for m in range(len(t)):
        whole = np.floor(t[m])
        u = 2 * (t[m] - whole) - 1
        first[m] = (int(whole) - (weight.shape[1] // 2 - 1)) % count
        for k in range(weight.shape[1]):
            w = s = 0.0
            for n in range(polynomials.shape[2]):
                w = w * u + polynomials[0, k, n]
                s = s * u + polynomials[1, k, n]
            weight[m, k] = w
            slope[m, k] = s


@cache
def _polynomials(taps: int) -> Floats:
    """(2, taps, n) coefficients of weights and slopes in 2 (t − ⌊t⌋) − 1, the highest power first."""
    points = chebyshev.chebpts1(_POINTS)
    by_point = chebyshev.chebfit(points, np.hstack(_weights((points + 1) / 2, taps)), _POINTS - 1)
    by_power = np.array([np.resize(chebyshev.cheb2poly(one), _POINTS) for one in by_point.T])
    return np.ascontiguousarray(by_power[:, ::-1].reshape(2, taps, _POINTS))


def _weights(fraction: Floats, taps: int) -> tuple[Floats, Floats]:
    """(M, taps) weights and slopes at fractions (M,): where wᵀ A w − 2 bᵀ w is least with their sums given.

    The sums have Lagrange's multipliers. A and b are the integral's.
    """
    pixels, wave = np.arange(taps) - (taps // 2 - 1), (np.arange(_WAVES) + 0.5) / (2 * _WAVES)
    turn, ratio = 2 * np.pi * wave, np.minimum(wave / _LIMIT, 1.0)
    passed = 2 / np.pi * (np.arccos(ratio) - ratio * np.sqrt(1 - ratio**2))  # Goodman 2017, eq. 7-38
    power = passed**2 + _BEYOND
    alike = np.einsum("n,nij->ij", power, np.cos(turn[:, None, None] * (pixels[:, None] - pixels)))
    phase = turn[:, None, None] * (fraction[:, None] - pixels)
    value = np.einsum("n,nmk->km", power, np.cos(phase))
    slope = np.einsum("n,nmk->km", -power * turn, np.sin(phase))
    sums, one = np.stack([np.ones(taps), pixels]), np.ones(len(fraction))
    matrix = np.block([[alike, sums.T], [sums, np.zeros((2, 2))]])
    both = [np.vstack([value, one, fraction]), np.vstack([slope, 0 * one, one])]
    weights, slopes = np.linalg.solve(matrix, np.stack(both))[:, :taps].transpose(0, 2, 1)
    return weights, slopes


def reading(t: Floats, count: int) -> sparse.csr_matrix:
    """(M, count) f32 matrix that reads `count` values, which repeat, at t (M,), in pixels."""
    taps = taps_at(t, count, _MATRIX_TAPS)
    pointer = _MATRIX_TAPS * np.arange(len(t) + 1)
    return sparse.csr_matrix((taps.weight.ravel(), taps.at.ravel(), pointer), shape=(len(t), count))

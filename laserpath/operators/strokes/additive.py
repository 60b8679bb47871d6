"""Straight strokes whose doses add, as a laser's do, fitted to whatever loss of the dose is given.

A stroke is a rectangle from one end to the other, evenly exposed and blurred by a spot of standard deviation
σ. With u along it and v across it from its middle, length l, width w and line energy q its dose is

    D(u, v) = q A(u) C(v),   A = ½ [erf((u + l/2)/s) − erf((u − l/2)/s)],   s = √2 σ,
    C = 1/(2w) [erf((v + w/2)/s) − erf((v − w/2)/s)],

a single line for w → 0, a dot for l → 0. Strokes may share their ends, so that a chain of them stays one line
while it is fitted. The gradient is in closed form. The spot is Gaussian here, whatever its profile: what is
fitted is a start.

For a picture of greys, strokes are laid one after the other where most of the dose is still missing. The
place of the largest missing dose, blurred by the spot, is the middle of the next stroke. It goes as far to
both sides as at least half of that dose is missing, in the direction of the largest sum, and is as wide as
that holds across. Its dose is the mean of what is missing there. The fewer strokes there are for the area of
the picture, the longer and wider they may be, so that they cover all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import erf

from laserpath.base.arrays import Bools, Floats, Indices, frozen_array
from laserpath.base.checks import whole_between
from laserpath.base.compute.minimise import minimised
from laserpath.base.errors import InputError, one_line
from laserpath.types import Grid

_REACH = 3.2
"""Standard deviations of the spot up to which a stroke's dose is computed: a larger value takes longer, and
the dose left out is 6e-3 of the peak at this one."""

_SLACK = 1.0
"""Standard deviations of the spot by which a stroke may move while it is fitted: a larger value takes longer,
since more pixels are computed for each stroke."""

_THIN = 0.05
"""Least width and length, in standard deviations of the spot. Smaller strokes are computed with this one
about their middle, so that nothing is divided by 0; a larger value makes dots too long."""

_POINT = 1e-3
"""Length, in standard deviations of the spot, below which a stroke lies along x. The derivative by its
direction grows as 1/length: with a smaller value, that of a wide dot hides all others from the fit."""

_FAR = 1e6
"""Largest coordinate and width, mm."""

_MOST_ITERATIONS = 1_000_000
"""Of a fit."""

Loss = Callable[[Floats], tuple[float, Floats]]
"""Dose (rows, columns) mJ/mm² → loss, and its derivative by each dose."""

Report = Callable[[int, float], None]
"""Called with the number of an iteration, from 1, and its loss."""


def sigma_of(fwhm: float) -> float:
    """Standard deviation of a Gaussian spot, both in mm; InputError unless the FWHM is above 0 and finite."""
    if not 0 < fwhm < np.inf:
        raise InputError(f"the FWHM of the strokes' spot is {fwhm} mm, but must be above 0 and finite")
    return float(fwhm / np.sqrt(8 * np.log(2)))


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveStrokes:
    """N strokes. vertices: (M, 2) mm.  ends: (N, 2) indices of each stroke's first and last vertex.

    width: (N,) mm, of the evenly exposed band; 0: one line.  energy: (N,) mJ/mm, the sum over that width.
    The arrays are read-only copies. InputError if a shape is wrong, a value is not finite, a width is below 0
    or a vertex does not exist.
    """

    vertices: Floats
    ends: Indices
    width: Floats
    energy: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        ends = np.array(self.ends)
        if ends.ndim != 2 or ends.shape[1] != 2 or (ends.size and ends.dtype.kind not in "iu"):
            raise InputError(
                f"strokes ends are of shape {ends.shape} and type {ends.dtype}, "
                "but must be (N, 2) whole numbers"
            )
        count, ends = len(ends), ends.astype(np.int64)
        ends.flags.writeable = False
        object.__setattr__(self, "ends", ends)
        for name, shape in (("vertices", (None, 2)), ("width", (count,)), ("energy", (count,))):
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"strokes {name}", shape))
        if count and not 0 <= ends.min() <= ends.max() < len(self.vertices):
            raise InputError(
                f"strokes name vertices {ends.min()} to {ends.max()}, but there are {len(self.vertices)}"
            )
        if (far := float(np.abs(self.vertices).max(initial=0))) > _FAR:
            raise InputError(f"strokes vertices reach {far:g} mm, but must be within ±{_FAR:g} mm")
        low, high = float(self.width.min(initial=0)), float(self.width.max(initial=0))
        if not 0 <= low <= high <= _FAR:
            wrong = low if low < 0 else high
            raise InputError(f"strokes width is {wrong:g} mm, but must be between 0 and {_FAR:g} mm")

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
        """The model for strokes near the given ones. fwhm: of the spot, mm.

        Raises InputError if the FWHM is not above 0.
        """
        sigma = sigma_of(fwhm)
        reach = (_REACH + _SLACK) * sigma + strokes.width / 2
        near = [_near(a, b, r, grid) for (a, b), r in zip(strokes.lines, reach, strict=True)]
        owner = np.repeat(np.arange(len(strokes)), np.array([len(one) for one in near], dtype=np.int64))
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
        shift = -(part.tangent * total(by_u) + part.normal * total(by_v)) / 2
        turn = part.turning * total(by_u * part.v - by_v * part.u)
        stretch = part.stretching * total(part.across * part.along_length)
        vertices = np.zeros_like(strokes.vertices)
        np.add.at(vertices, strokes.ends[:, 0], shift - turn - stretch)
        np.add.at(vertices, strokes.ends[:, 1], shift + turn + stretch)
        width = np.where(part.thin, 0.0, total(part.along * part.across_width)[:, 0])
        return vertices, width, energy

    def _sum(self, values: Floats) -> Floats:
        rows, columns = self.grid.shape
        dose: Floats = np.bincount(self.pixel, values, rows * columns).astype(np.float64)
        return dose.reshape(rows, columns)


@dataclass(frozen=True, slots=True, eq=False)
class _StrokeParts:
    """A and C at each pixel of a model, with their derivatives. u, v: (P,) mm, along and across the stroke.

    tangent, normal: (N, 2), of length 1.  turning: (N, 2) 1/mm, stretching: (N, 2), the derivatives of the
    stroke's angle and length by its last end.  thin: (N,) whether it is computed with the least width.
    """

    tangent: Floats
    normal: Floats
    turning: Floats
    stretching: Floats
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
        far = np.hypot(*way.T)[:, None]
        directed, tiny = far > _POINT * model.sigma, np.finfo(np.float64).tiny
        tangent = np.where(directed, way / np.maximum(far, tiny), (1.0, 0.0))
        normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1)
        off = model.at - ((first + last) / 2)[owner]
        u, v = (off * tangent[owner]).sum(axis=1), (off * normal[owner]).sum(axis=1)
        width, length = np.maximum(strokes.width, least)[owner], np.maximum(far[:, 0], least)[owner]

        def bell(x: Floats) -> Floats:
            return np.exp(-((x / s) ** 2)) / (s * np.sqrt(np.pi))

        at_first, at_last, left, right = (
            bell(u + length / 2), bell(u - length / 2), bell(v + width / 2), bell(v - width / 2)
        )  # fmt: skip
        across = (erf((v + width / 2) / s) - erf((v - width / 2) / s)) / (2 * width)
        return cls(
            tangent, normal,
            turning=np.where(directed, normal / np.maximum(far, tiny), 0.0),
            stretching=np.where(far > least, tangent, 0.0),
            thin=strokes.width <= least, u=u, v=v,
            along=(erf((u + length / 2) / s) - erf((u - length / 2) / s)) / 2,
            along_u=at_first - at_last,
            along_length=(at_first + at_last) / 2,
            across=across,
            across_v=(left - right) / width,
            across_width=((left + right) / 2 - across) / width,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveFit:
    """strokes: the best that were found.  losses: (K+1,) of the given strokes, then of each iteration.

    stopped: by the user, before the fit had ended.
    """

    strokes: AdditiveStrokes
    losses: Floats
    stopped: bool = False

    __repr__ = one_line


def fit_additive(
    strokes: AdditiveStrokes,
    grid: Grid,
    fwhm: float,
    loss: Loss,
    iterations: int = 60,
    report: Report | None = None,
) -> AdditiveFit:
    """The strokes of lowest loss near the given ones, by L-BFGS-B.

    grid: where the dose is computed.  fwhm: of the spot, mm.  iterations: the most.  loss: takes the dose
    (rows, columns) mJ/mm² and returns its loss, and (rows, columns) the derivative of the loss by each dose:
    the resin's curve from dose to print is in there.
    report: called in each iteration; a KeyboardInterrupt from it ends the fit with the best strokes so far.
    Energies stay at 0 or above, a stroke of no width stays a line, and no vertex moves further along an axis
    than one standard deviation of the spot.
    Raises InputError if the FWHM is not above 0, the iterations are not a whole number from 0 to 1e6, or the
    loss is not finite.
    """
    whole_between("iterations", iterations, 0, _MOST_ITERATIONS)
    search = _FitSearch(strokes, StrokeModel.of(strokes, grid, fwhm), fwhm, loss)
    before = search.evaluate(search.start)[0]
    if not len(search.start):
        return AdditiveFit(strokes, np.array([before]))
    options = {"maxiter": iterations}
    found = minimised(search.evaluate, search.start, options, bounds=search.bounds, report=report)
    return AdditiveFit(search.at(found.x), np.array([before, *found.losses]), found.stopped)


@dataclass(frozen=True, slots=True, eq=False)
class _FitSearch:
    """The loss as a function of numbers of about 1: displacements and widths in `fwhm`, energies in
    `unit`.
    """

    strokes: AdditiveStrokes
    model: StrokeModel
    fwhm: float
    loss: Loss

    @property
    def unit(self) -> float:
        """The largest energy of the given strokes, mJ/mm."""
        return max(float(self.strokes.energy.max(initial=0)), 1e-30)

    @property
    def start(self) -> Floats:
        """The numbers of the given strokes."""
        strokes = self.strokes
        still = np.zeros(strokes.vertices.size)
        return np.concatenate([still, strokes.width / self.fwhm, strokes.energy / self.unit])

    @property
    def bounds(self) -> list[tuple[float, float | None]]:
        """The least and the largest of each number."""
        room = _SLACK * self.model.sigma / self.fwhm
        return [
            *[(-room, room)] * self.strokes.vertices.size,
            *((0.0, w + room if w else 0.0) for w in self.strokes.width / self.fwhm),
            *[(0.0, None)] * len(self.strokes),
        ]

    def at(self, x: Floats) -> AdditiveStrokes:
        """The strokes of these numbers."""
        strokes, corners = self.strokes, self.strokes.vertices.size
        places, width, energy = np.split(x, [corners, corners + len(strokes)])
        moved = strokes.vertices + self.fwhm * places.reshape(-1, 2)
        return replace(strokes, vertices=moved, width=self.fwhm * width, energy=self.unit * energy)

    def evaluate(self, x: Floats) -> tuple[float, Floats]:
        """The loss, and its derivative by each number."""
        now = self.at(x)
        value, slope = self.loss(self.model.dose(now))
        if not np.isfinite(value):
            raise InputError(f"the loss of the strokes is {value}, but must be finite")
        vertices, width, energy = self.model.gradient(now, slope)
        return value, np.concatenate([self.fwhm * vertices.ravel(), self.fwhm * width, self.unit * energy])


def _near(first: Floats, last: Floats, reach: float, grid: Grid) -> Indices:
    """Flat indices of the pixels within a distance of the line from first to last (2,), all in mm."""
    rows, columns = grid.shape
    low = np.floor(grid.to_pixels(np.minimum(first, last)[None] - reach))[0]
    high = np.ceil(grid.to_pixels(np.maximum(first, last)[None] + reach))[0]
    column, row = (
        np.arange(max(low[k], 0), min(high[k], count - 1) + 1, dtype=np.int64)
        for k, count in enumerate((columns, rows))
    )
    x, y = grid.x()[column][None, :], grid.y()[row][:, None]
    way = last - first
    share = ((x - first[0]) * way[0] + (y - first[1]) * way[1]) / max(float(way @ way), 1e-300)
    share = np.clip(share, 0, 1)
    far = np.hypot(x - first[0] - share * way[0], y - first[1] - share * way[1])
    k, c = np.nonzero(far <= reach)
    return row[k] * columns + column[c]


_DIRECTIONS = 12
"""Directions that are tried: more find better strokes and take longer."""

_MISSING = 0.5
"""Share of the largest missing dose that must be missing along a stroke: a larger value shortens strokes."""

_LONGEST_FWHM = 30.0
"""Longest stroke of a picture that needs few: a larger value takes longer."""

_WIDEST_FWHM = 4.0
"""Widest stroke of a picture that needs few: a larger value leaves fewer strokes for detail."""

_LONG, _WIDE = 6.0, 3.0
"""Longest and widest stroke, relative to the side of the square that each has to cover. Most are shorter, as
the missing dose ends: larger values leave less dose out, smaller ones show more detail."""

_ENOUGH = 0.01
"""Missing dose, relative to the largest wanted one, at which no further stroke is made."""

_MOST = 1_000_000
"""Most strokes that may be asked for."""


def lay_strokes(
    target: Floats, grid: Grid, fwhm: float, most: int, report: Report | None = None
) -> AdditiveStrokes:
    """At most `most` strokes for a target dose (rows, columns) mJ/mm² on a grid: a start for `fit_additive`.

    fwhm: of the spot, mm.  report: called with the number of each stroke, from 1, and the root mean square of
    the dose that is missing, mJ/mm²; a KeyboardInterrupt from it ends with the strokes so far.
    Raises InputError if the target is not of the grid's shape or not finite, the FWHM is not above 0, or
    `most` is not a whole number from 0 to 1e6.
    """
    whole_between("the most strokes", most, 0, _MOST)
    sigma = sigma_of(fwhm) / grid.pitch
    if target.shape != grid.shape:
        raise InputError(f"target has shape {target.shape}, but its grid has {grid.shape}")
    if bad := int((~np.isfinite(target)).sum()):
        raise InputError(f"target is not finite in {bad} values")
    missing, made = np.array(target, dtype=np.float64), list[AdditiveStrokes]()
    each = np.sqrt((target > _ENOUGH * target.max()).sum() / max(most, 1)) * grid.pitch
    largest = max(_LONGEST_FWHM * fwhm, _LONG * each), max(_WIDEST_FWHM * fwhm, _WIDE * each)
    with suppress(KeyboardInterrupt):
        for number in range(1, most + 1):
            blurred = gaussian_filter(missing, sigma, mode="constant")
            row, column = np.unravel_index(int(np.argmax(blurred)), blurred.shape)
            if blurred[row, column] <= _ENOUGH * target.max():
                break
            one = _stroke(blurred, np.array([column, row], dtype=np.float64), grid, fwhm, largest)
            missing -= StrokeModel.of(one, grid, fwhm).dose(one)
            made.append(one)
            if report is not None:
                report(number, float(np.sqrt(np.mean(missing**2))))
    return _as_one(made)


def _as_one(made: Sequence[AdditiveStrokes]) -> AdditiveStrokes:
    """Single strokes as one record."""
    count = len(made)
    return AdditiveStrokes(
        np.concatenate([one.vertices for one in made]) if made else np.zeros((0, 2)),
        np.arange(2 * count).reshape(count, 2),
        np.array([one.width[0] for one in made]),
        np.array([one.energy[0] for one in made]),
    )


def _stroke(
    missing: Floats, middle: Floats, grid: Grid, fwhm: float, largest: tuple[float, float]
) -> AdditiveStrokes:
    """The stroke through a place, (column, row), of the missing dose. largest: length and width, mm."""
    angles = np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    longest, widest = (extent / 2 / grid.pitch for extent in largest)
    arms = [[_arm(missing, middle, side * way, longest) for side in (-1, 1)] for way in ways]
    best = int(np.argmax([sum(total for _, total in pair) for pair in arms]))
    (back, one), (ahead, other) = arms[best]
    first, last = middle - back * ways[best], middle + ahead * ways[best]
    across = ways[(best + _DIRECTIONS // 2) % _DIRECTIONS]
    wide = sum(_arm(missing, middle, side * across, widest)[0] for side in (-1, 1)) * grid.pitch
    mean = (one + other) / max(back + ahead + 2, 1)
    width = max(wide - fwhm / 2, fwhm / 4)
    places = grid.of_pixels([first, last])
    return AdditiveStrokes(places, np.array([[0, 1]]), np.full(1, width), np.full(1, mean * width))


def _arm(missing: Floats, middle: Floats, way: Floats, longest: float) -> tuple[float, float]:
    """(pixels, sum of the missing dose) from a place along a direction, as far as enough is missing."""
    steps = np.arange(int(longest) + 1)
    at = np.rint(middle + steps[:, None] * way).astype(np.int64)
    inside = ((at >= 0) & (at < missing.shape[::-1])).all(axis=1)
    values = np.where(inside, missing[tuple(np.clip(at, 0, np.array(missing.shape[::-1]) - 1).T[::-1])], 0.0)
    enough = values >= _MISSING * values[0]
    far = int(np.argmin(enough)) if not enough.all() else len(enough)
    return float(max(far - 1, 0)), float(values[:far].sum())

"""Width and depth of a stroke, as functions of the parameters of a fit, and their residuals.

A stroke of power P and speed v has the line energy q = E_N P^N/v (`resin`), in mJ/mm. Across it, at the
distance y from its middle, it leaves the dose

    D(y) = q L(y/F)/F,   L(u) = ∫ h(s, u) ds,   h the spot of FWHM 1,

over −∞…∞ for a line, over the stroke for a dot. By the projection theorem the L of a line is
2 ∫₀^∞ H(f) cos(2πfu) df. With the peak D(0), and the critical dose D_c:

    width, diameter    w = 2 F L⁻¹(L(0)/ρ),   ρ = D(0)/D_c, 0 for ρ < 1
    depth              C_d = D_p ln(D(0)/E_c)                     Jacobs, see `resin`
    wedge              two lines, g apart, are one where 2 D(g/2) > D_c: g is the width of a line of 2 q

Reciprocity: after an exposure of duration t, the resin acts as if the dose were D (t/t₀)^m, which is
Schwarzschild's law I t^p with p = 1 + m; m = 0 where reciprocity holds. A line exposes each place for
t = (L(0)/h(0)) F/v, so that it counts as D (v/v₀)^(−m); for a stroke of length l, much shorter than the
spot, t = l/v.

Levels: P is the light of a level with the offset o of the machine's profile (`measurements`); with another
offset it is multiplied by the ratio of both.

Near ρ = 1 the width rises as a root, with an infinite slope. Below ln ρ = 0.01, where w ≈ 0.1 F is too small
to measure, it continues as its tangent, into negative widths, so that least squares converge. An Airy spot
has rings: L(u) rises again beyond u = 1.13, where ρ = 31. There the width is no function of the energy; it
continues as u^(−2), the envelope of the rings; `estimates` uses no widths of items beyond `TRUSTED`.

`Data` holds measured sizes against the model's, as residuals of the unknowns θ of `estimates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.interpolate import RectBivariateSpline, make_interp_spline

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.calibration.measurements import Item, Levels, Measured, Measurements
from laserpath.physics import optics
from laserpath.physics.resin import line_energy
from laserpath.types import Spot

TRUSTED = 20.0
"""Largest peak dose, in critical doses, at which a width is used in a fit. Wider lines depend on rings,
scattered light and diffusion."""

_TANGENT = 0.01
_REACH = 3.0
_POINTS = 600
_NODES = 24
_FAINT = 1e-7
_LENGTHS = np.linspace(0.0, 4.0, 41)
_DROPS = np.linspace(0.0, 4.0, 81)


@dataclass(frozen=True, slots=True, eq=False)
class LineProfile:
    """Across a line of a spot of FWHM 1: its peak L(0), and a table of u² over ln(L(0)/L(u))."""

    peak: float
    drop: Floats
    square: Floats

    def squared(self, drop: Floats) -> Floats:
        """u² where the dose has fallen by exp(drop)."""
        beyond = np.maximum(drop - self.drop[-1], 0)
        return np.interp(drop, self.drop, self.square) * np.exp(np.minimum(beyond, 50))


@dataclass(frozen=True, slots=True, eq=False)
class StrokeProfile:
    """Across the middle of strokes of up to 4 FWHM: peak and u², which depend on the length too."""

    peaks: Callable[[Floats], Floats]
    squares: RectBivariateSpline

    def squared(self, drop: Floats, length: Floats) -> Floats:
        """u² at which the dose has fallen by the factor exp(drop); length: of the strokes, FWHM."""
        beyond = np.maximum(drop - _DROPS[-1], 0)
        return self.squares.ev(length, np.minimum(drop, _DROPS[-1])) * np.exp(np.minimum(beyond, 50))


@lru_cache(maxsize=8)
def line_profile(profile: str, photons: int) -> LineProfile:
    """The table for a line of a spot profile."""
    spot = Spot(1.0, profile, photons=photons)
    end = optics.cutoff(spot, _FAINT)
    node, weight = np.polynomial.legendre.leggauss(64 + int(4 * np.pi * end * _REACH))
    f = (node + 1) / 2 * end
    spectrum = optics.transfer(spot, f) * weight * end  # both halves of it
    u = np.linspace(0.0, _REACH, _POINTS)
    return LineProfile(*_inverted(u, np.cos(2 * np.pi * u[:, None] * f) @ spectrum))


@lru_cache(maxsize=8)
def line_dose(profile: str, photons: int) -> tuple[Floats, Floats]:
    """Distances u up to 16 FWHM, and L(u) there, with the tails that `line_profile` leaves out."""
    spot = Spot(1.0, profile, photons=photons)
    # The period of the sum, 64 FWHM, is beyond what is tabulated.
    f = (np.arange(int(64 * optics.cutoff(spot, 1e-3)) + 1) + 0.5) / 64
    u = np.linspace(0.0, 16.0, 801)
    return u, np.cos(2 * np.pi * u[:, None] * f) @ optics.transfer(spot, f) / 32


@lru_cache(maxsize=8)
def stroke_profile(profile: str, photons: int) -> StrokeProfile:
    """The tables for short strokes of a spot profile."""
    spot = Spot(1.0, profile, photons=photons)
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    u = np.linspace(0.0, _REACH, _POINTS)
    peaks, squares = [], []
    for length in _LENGTHS:
        radius = np.hypot(u[:, None], length / 4 * (node + 1))
        # The mean over the stroke, which exists for a stroke of length 0 too.
        mean = optics.profile(spot, radius.ravel()).reshape(radius.shape) @ weight / 2
        table = LineProfile(*_inverted(u, mean))
        peaks.append(table.peak)
        squares.append(table.squared(_DROPS))
    squares = RectBivariateSpline(_LENGTHS, _DROPS, np.array(squares), kx=3, ky=1)
    return StrokeProfile(make_interp_spline(_LENGTHS, np.array(peaks), k=3), squares)


def _inverted(u: Floats, dose: Floats) -> tuple[float, Floats, Floats]:
    """L(0), and ln(L(0)/L) with u², until the dose rises again or nearly vanishes."""
    ends = np.flatnonzero((np.diff(dose) >= 0) | (dose[1:] < _FAINT * 10 * dose[0]))
    last = int(ends[0]) if ends.size else len(u) - 1
    return float(dose[0]), np.log(dose[0] / dose[: last + 1]), u[: last + 1] ** 2


def width(squared: Callable[[Floats], Floats], excess: Floats) -> Floats:
    """Full width, in FWHM, for ln ρ; negative below the threshold."""
    root = np.sqrt(squared(np.maximum(excess, _TANGENT)))
    # The width goes as √ln ρ near 0, and so does its tangent.
    return 2 * root * (1 + np.minimum(excess - _TANGENT, 0) / (2 * _TANGENT))


@dataclass(frozen=True, slots=True)
class Physics:
    """The parameters of a fit; arrays (B, 1) stand for B sets of them. fwhm: of the light along x and y, mm.

    critical_dose, e_c: mJ/mm², at `speed`, v₀ in mm/s, of a line along x.  penetration_depth: mm.
    reciprocity: m.  level_offset: o of the light of levels; None: that of the profile.
    """

    fwhm: tuple[Any, Any]
    critical_dose: Any
    penetration_depth: Any = 0.1
    e_c: Any = 0.1
    reciprocity: Any = 0.0
    speed: float = 1.0
    level_offset: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """(N,) for each item, or (B, N). excess: ln ρ, of a wedge for both lines.  depth: mm, negative below E_c.

    size: mm, the width, the diameter, or the distance at which the lines of a wedge become one.
    """

    excess: Floats
    size: Floats
    depth: Floats


class SizeModel:
    """The sizes of some items, of an Airy or a Gaussian spot. order: photons that the resin takes at once.

    levels: that the items were written with; None: their powers are certain.
    """

    def __init__(
        self, items: Sequence[Item], profile: str = "airy", order: int = 1, levels: Levels | None = None
    ) -> None:
        self.profile, self.order, self.levels = profile, order, levels
        self.level = np.array([np.nan if item.level is None else item.level for item in items])
        if levels is not None:
            # Without a level, the highest, whose light no offset changes.
            self._known = np.where(np.isnan(self.level), levels.count, self.level)
            self._light = levels.light(self._known)
        self._line, self._strokes = line_profile(profile, order), stroke_profile(profile, order)
        self.power, self.speed, self.length = (
            np.array([getattr(item, name) for item in items], dtype=np.float64)
            for name in ("power", "speed", "length")
        )
        self._unit_energy = line_energy(self.power, self.speed, Spot(1.0, profile, photons=order))
        self.upright = np.array([item.along == "y" for item in items], dtype=bool)
        self.dot = np.array([item.kind == "dot" for item in items], dtype=bool)
        self.wedge = np.array([item.kind == "wedge" for item in items], dtype=bool)

    def sizes(self, physics: Physics) -> Sizes:
        """Sizes of all items, (N,); (B, N) for B sets of parameters."""
        fx, fy = physics.fwhm
        along, across = np.where(self.upright, fy, fx), np.where(self.upright, fx, fy)
        short = self.dot & (self.length <= _LENGTHS[-1] * along)
        length = np.where(short, self.length / along, 0.0)
        # ∫ h over the stroke, for a spot of FWHM 1.
        reach = np.where(short, length * self._strokes.peaks(length), self._line.peak)
        dose = np.log(self._energy(fx, fy, physics.level_offset) * reach / across)
        time = np.log(reach / self._line.peak * along / fx * physics.speed / self.speed)
        dose = dose + physics.reciprocity * time
        excess = dose - np.log(physics.critical_dose) + np.where(self.wedge, np.log(2), 0.0)
        depth = physics.penetration_depth * (dose - np.log(physics.e_c))
        size = width(self._line.squared, excess)
        if short.any():
            short = np.broadcast_to(short, size.shape)
            reached = np.broadcast_to(length, size.shape)[short]
            size[short] = width(lambda drop: self._strokes.squared(drop, reached), excess[short])
        return Sizes(excess, size * across, depth)

    def _energy(self, fx: Any, fy: Any, offset: Any) -> Floats:
        """Line energies of the items: E_N goes as F^(2 − 2N). offset: of the light of levels."""
        energy = self._unit_energy * (fx * fy) ** (1 - self.order)
        if self.levels is None or offset is None:
            return energy
        return energy * (self.levels.light(self._known, offset) / self._light) ** self.order


GROUPS = ("width", "diameter", "merged", "depth")
DEPTH = GROUPS.index("depth")
ASPECT = "aspect"
LINEAR = "reciprocity"
"""The exponent m, the one unknown that is not a logarithm."""
OFFSET = "level_offset"
"""The offset o of the light of levels. Its unknown is ln(n + o), with n the lowest measured level, which
therefore always shines."""
_BLUR = 0.1
"""Relative uncertainty of a threshold between visible and invisible items; larger weights them less."""
_MOST = 3.0
"""Limit of such a residual, so that two items mistaken for each other do not spoil the whole fit."""
_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Unknowns:
    """The unknowns of a fit by name, and the given parameters.

    Names: fwhm, the geometric mean of both axes; aspect, that along x ÷ that along y; critical_dose;
    reciprocity; penetration_depth; e_c; level_offset.  lowest: the lowest level that was measured.
    """

    names: tuple[str, ...]
    given: Physics
    lowest: int = 1

    def without(self, name: str) -> Unknowns:
        """The unknowns without one, which is then as given."""
        return replace(self, names=tuple(n for n in self.names if n != name))

    def value(self, name: str, theta: Any) -> Any:
        """The value of an unknown whose θ is given."""
        if name == LINEAR:
            return theta
        return np.exp(theta) - (self.lowest if name == OFFSET else 0)

    def physics(self, theta: Floats) -> Physics:
        """The given parameters, with the values of θ, (P,), or of B of them, (P, B, 1)."""
        values = {n: self.value(n, x) for n, x in zip(self.names, theta, strict=True)}
        given = self.given
        fx, fy = given.fwhm
        fwhm, root = values.get("fwhm", np.sqrt(fx * fy)), np.sqrt(values.get(ASPECT, fx / fy))
        return Physics(
            fwhm=(fwhm * root, fwhm / root),
            critical_dose=values.get("critical_dose", given.critical_dose),
            penetration_depth=values.get("penetration_depth", given.penetration_depth),
            e_c=values.get("e_c", given.e_c), reciprocity=values.get(LINEAR, given.reciprocity),
            speed=given.speed, level_offset=values.get(OFFSET, given.level_offset),
        )  # fmt: skip

    def theta(self, values: Mapping[str, float]) -> Floats:
        """θ of values by name."""
        shift = {OFFSET: self.lowest}
        return np.array(
            [values[n] if n == LINEAR else np.log(values[n] + shift.get(n, 0)) for n in self.names]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """(R,) measured sizes: indices of item and group, and the size, mm; of a wedge, the gap where it closes.

    seen: (K,) items that are reported as visible or not, without a size.  sign: (K,) +1 if visible, else −1.
    ids: of the items.
    """

    model: SizeModel
    item: Indices
    group: Indices
    size: Floats
    seen: Indices
    sign: Floats
    ids: tuple[str, ...]

    @classmethod
    def of(cls, measurements: Measurements, profile: str) -> Data:
        """All measurements, for a spot profile."""
        rows = measurements.rows
        sizes = [
            (k, g, _in_plane(row, size) if g != DEPTH else size)
            for k, row in enumerate(rows)
            for g, name in enumerate(GROUPS)
            if (size := getattr(row, name)) is not None
        ]
        seen = [
            (k, 1.0 if _visible(row) else -1.0) for k, row in enumerate(rows) if _visible(row) is not None
        ]
        items = [row.item for row in rows]
        model = SizeModel(items, profile, measurements.order, measurements.levels)
        item, group, size = (np.array(column) for column in zip(*sizes, strict=True)) if sizes else _none(3)
        seen_item, sign = (np.array(column) for column in zip(*seen, strict=True)) if seen else _none(2)
        as_index = np.int64
        return cls(
            model, item.astype(as_index), group.astype(as_index), size, seen_item.astype(as_index), sign,
            tuple(one.id for one in items),
        )  # fmt: skip

    def unseen(self) -> Data:
        """The sizes alone: visibility only constrains the critical dose."""
        return replace(self, seen=self.seen[:0], sign=self.sign[:0])

    def only(self, keep: Bools) -> Data:
        """The sizes where keep, (R,), is true."""
        return replace(self, item=self.item[keep], group=self.group[keep], size=self.size[keep])

    @property
    def deep(self) -> Bools:
        """(R,) True for a depth."""
        return self.group == DEPTH

    def within(self, names: Iterable[str]) -> Bools:
        """(R,) True for a size of these groups."""
        return np.isin(self.group, [GROUPS.index(name) for name in names])

    def predicted(self, sizes: Sizes) -> Floats:
        """(R,) mm, or (B, R), the model's value of each size."""
        return np.where(self.deep, sizes.depth[..., self.item], sizes.size[..., self.item])

    def residuals(self, physics: Physics, sigma: Floats) -> Floats:
        """(R + K,), or (B, R + K): sizes in units of σ, (R,); then how far each seen item is beyond the
        threshold.
        """
        sizes = self.model.sizes(physics)
        wrong = np.maximum(-self.sign * sizes.excess[..., self.seen], 0) / _BLUR
        wrong = wrong / np.sqrt(1 + (wrong / _MOST) ** 2)
        return np.concatenate([(self.predicted(sizes) - self.size) / sigma, wrong], axis=-1)

    def linear(self, unknowns: Unknowns, theta: Floats, sigma: Floats) -> tuple[Floats, Floats]:
        """The residuals, (R + K,), and their derivatives, (R + K, P), by central differences."""
        step = _STEP * np.eye(len(theta))
        points = theta[:, None] + np.concatenate([np.zeros((len(theta), 1)), step, -step], axis=1)
        at = self.residuals(unknowns.physics(points[..., None]), sigma)
        up, down = np.split(at[1:], 2)
        return at[0], ((up - down) / (2 * _STEP)).T


def _in_plane(row: Measured, size: float) -> float:
    return size * row.item.gap / row.item.length if row.item.kind == "wedge" else size


def _visible(row: Measured) -> bool | None:
    """Whether the item is visible; None if that is unknown, or if a measured size is more informative."""
    if row.width is not None or row.diameter is not None or row.merged is not None:
        return None
    return True if row.depth is not None else row.visible


def _none(columns: int) -> Sequence[Floats]:
    return [np.zeros(0) for _ in range(columns)]

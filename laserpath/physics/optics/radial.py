"""Round spots without a closed form: their Hankel transform is summed, and tabulated.

    U(κ) = 2π ∫₀^R u(ρ) J₀(2πκρ) ρ dρ,

by Gauss–Legendre quadrature between the places where u is not smooth. The table extends to the highest
frequency so far, in powers of two; its steps keep the spline's error below 1e-10.

`AiryFunction`: u ∝ Ai(κ₀ρ), the Airy *function* in place of Airy's pattern; ∫₀^∞ t Ai(t) dt = −Ai′(0).
`Tabulated`: measured at some radii. Between them it is a cubic spline, even about the axis and nowhere below
0; beyond the last radius it is dark. Straight lines between the values would have kinks, and a spectrum too
wide for any grid: for a Gaussian tabulated every tenth of its FWHM, a thousandth of it lies above 570/FWHM,
with the spline above 1.4/FWHM.

Where U falls as κ^(−2−p), its integral above κ falls as κ^(−p). The cut-off for a tolerance beyond the table
follows from p, which is taken from the table's last two octaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.errors import InputError, one_line
from laserpath.physics.optics.shape import (
    HIGHEST_KEPT,
    RADIANS_PER_PANEL,
    Round,
    Spline,
    check_light,
    j0,
    j1,
    panels,
)
from laserpath.types import MeasuredBeam, Shape

_CHUNK = 1 << 22
_FIRST_OCTAVE = 2
"""The smallest table goes up to κ = 4."""


_NEAREST, _FARTHEST = 1e-9, 1e3
"""mm, limits of a measured spot's radii; beyond them its slopes and areas have no finite numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class BeamTable(MeasuredBeam):
    """A measured round spot. radius: (K,) mm, rising from 0.  intensity: (K,) ≥ 0, dark beyond the last."""

    title: ClassVar[str] = "table"

    radius: Floats
    intensity: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", frozen_array(self.radius, "beam radius", (None,)))
        shape = (len(self.radius),)
        object.__setattr__(self, "intensity", frozen_array(self.intensity, "beam intensity", shape))
        if len(self.radius) < 2 or self.radius[0] != 0 or np.diff(self.radius).min() <= 0:
            raise InputError("beam radius must begin at 0 and rise from value to value")
        if np.diff(self.radius).min() < _NEAREST or self.radius[-1] > _FARTHEST:
            raise InputError(
                f"beam radius must rise by {_NEAREST:g} mm at least, and to {_FARTHEST:g} mm at most"
            )
        check_light(self.intensity)

    def shape(self, defocus: float, photons: int) -> Shape:
        """Its shape, in focus."""
        return Tabulated(self, photons)

    def fwhm(self) -> float:
        """Twice the largest radius (mm) at which it is half its maximum."""
        last = int(np.flatnonzero(self.intensity >= self.intensity.max() / 2)[-1])
        if last + 1 == len(self.radius):
            return 2 * float(self.radius[-1])
        curve = _curve(self)
        low, up = self.radius[last], self.radius[last + 1]
        return 2 * float(scipy.optimize.brentq(lambda r: float(curve(r)) - 0.5, low, up, xtol=1e-15))


class Summed(Round):
    """A round spot on [0, end], given up to a factor by `one_photon`.

    knots: (K,) radii, from 0 to the end, between which it is smooth.
    """

    LAW_AT: tuple[float, ...] = (8, 32)
    """κ at which the spectrum follows its final law: probably, and certainly."""
    POWER: float | None = None
    """p of that law; None if it must be fitted."""

    def __init__(self, knots: Floats, photons: int) -> None:
        self._end, self._n = float(knots[-1]), photons
        self.highest_kept = HIGHEST_KEPT * np.sqrt(photons)
        self._knots = knots
        rho, weight = panels(knots)
        ring = 2 * np.pi * rho * weight
        one = float(ring @ self.one_photon(rho))
        self._integral = float(ring @ self.one_photon(rho) ** photons)
        self.power_integral = self._integral / one**photons
        self._tables: dict[int, Spline] = {}

    def one_photon(self, rho: Floats) -> Floats:
        """The one-photon spot within the knots, to some scale."""
        raise NotImplementedError

    def one_photon_slope(self, rho: Floats) -> Floats:
        """Its derivative with respect to ρ."""
        raise NotImplementedError

    def radial(self, rho: Floats) -> Floats:
        """u(ρ)."""
        rho = np.abs(rho)
        within = np.minimum(rho, self._end)
        return np.where(rho <= self._end, self.one_photon(within) ** self._n, 0.0) / self._integral

    def radial_slope(self, rho: Floats) -> Floats:
        """du/d(ρ²); at the tip of a cusp, that of a point very near."""
        rho = np.abs(rho)
        within = np.clip(rho, 1e-6, self._end)
        slope = self._n * self.one_photon(within) ** (self._n - 1) * self.one_photon_slope(within)
        return np.where(rho <= self._end, slope / (2 * within), 0.0) / self._integral

    def _rings(self, radians_per_length: float) -> tuple[Floats, Floats]:
        """Radii of rings, and their energies, whose sum is 1."""
        parts = 1 + (np.diff(self._knots) * radians_per_length / RADIANS_PER_PANEL).astype(int)
        edges = [
            np.linspace(a, b, n, endpoint=False)
            for a, b, n in zip(self._knots[:-1], self._knots[1:], parts, strict=True)
        ]
        all_edges = np.append(np.concatenate(edges), self._end)
        rho, weight = panels(all_edges, radians_per_length * float(np.diff(all_edges).max()))
        return rho, 2 * np.pi * rho * weight * self.radial(rho)

    def _table(self, kappa_max: float) -> Spline:
        """κ → U and dU/dκ, up to a power of two."""
        octave = max(_FIRST_OCTAVE, int(np.ceil(np.log2(max(kappa_max, 1)))))
        if octave not in self._tables:
            self._tables[octave] = self._tabulate(2.0**octave)
        return self._tables[octave]

    def _tabulate(self, end: float) -> Spline:
        rho, energy = self._rings(2 * np.pi * end)
        # The spline's error, from the largest seventh derivative of U, which is the sixth of its slope.
        seventh = float(np.abs(energy) @ (2 * np.pi * rho) ** 6) * max(1.0, 2 * np.pi * self._end / 4)
        step = (2e-12 * 30240 / seventh) ** (1 / 6)
        kappa = np.linspace(0, end, 12 + int(end / step))
        values = np.empty((len(kappa), 2))
        rows = max(1, _CHUNK // len(rho))
        for i in range(0, len(kappa), rows):
            x = 2 * np.pi * kappa[i : i + rows, None] * rho
            values[i : i + rows, 0] = j0(x) @ energy
            values[i : i + rows, 1] = -j1(x) @ (2 * np.pi * rho * energy)
        return Spline(0, end, values)

    def hankel(self, kappa: Floats) -> Floats:
        """U(κ)."""
        return self._table(float(np.max(kappa, initial=0)))(kappa)[..., 0]

    def hankel_slopes(self, kappa: Floats) -> tuple[Floats, Floats]:
        """(dU/dκ, 0): these spots are in focus."""
        slope = self._table(float(np.max(kappa, initial=0)))(kappa)[..., 1]
        return slope, np.zeros_like(slope)

    def beyond(self, rho: Floats) -> Floats:
        """Energy outside circles."""
        radii = np.clip(np.abs(rho).ravel(), 0, self._end)
        return np.clip([self._beyond(r) for r in radii], 0, 1).reshape(np.shape(rho))

    def _beyond(self, radius: float) -> float:
        edges = np.append(radius, self._knots[self._knots > radius])
        rho, weight = panels(edges)
        return float((2 * np.pi * rho * weight) @ self.radial(rho))

    def far(self, tolerance: float) -> float:
        """The end of the table."""
        return self._end

    def cutoff(self, tolerance: float) -> float:
        """κ_c; inf for tolerance 0, since no spot that ends has a spectrum that does."""
        if tolerance <= 0:
            return np.inf
        allowed = tolerance * self.peak
        for end in self.LAW_AT:
            kappa, above, power = self._spectrum_above(end)
            if above[-1] <= allowed:
                return float(kappa[int(np.flatnonzero(above <= allowed)[0])])
        return float(kappa[-1] * (above[-1] / allowed) ** (1 / power)) if np.isfinite(above[-1]) else np.inf

    def _spectrum_above(self, end: float) -> tuple[Floats, Floats, float]:
        """κ, ∫_{|κ'|>κ} |U| d²κ', and the power p with which that falls at last."""
        kappa = np.linspace(0, end, 64 * int(end) + 1)
        size = np.abs(self.hankel(kappa)) * 2 * np.pi * kappa * kappa[1]
        within = np.concatenate([[0.0], np.cumsum((size[1:] + size[:-1]) / 2)])
        last = within[-1] - within[len(within) // 2]
        before = within[len(within) // 2] - within[len(within) // 4]
        power = self.POWER
        if power is None:
            power = float(np.log2(before / last)) if last > 1e-12 * self.peak else 4.0
        # Below 1/4 it is not distinguishable from a spectrum whose integral is infinite.
        rest = last / (2**power - 1) if power > 0.25 else np.inf
        return kappa, within[-1] - within + rest, power


class AiryFunction(Summed):
    """u ∝ Ai(κ₀ρ)^N with κ₀ such that the FWHM of Ai(κ₀ρ) is 1."""

    LAW_AT = (8,)
    POWER = 1.0  # the cusp
    SCALE = 1.5189290071693229  # twice the t with Ai(t) = Ai(0)/2

    def __init__(self, defocus: float, photons: int) -> None:
        """defocus: 0, in focus."""
        # Ai(20) is 1.7e-27.
        super().__init__(np.linspace(0, 20 / self.SCALE, 9), photons)

    def one_photon(self, rho: Floats) -> Floats:
        """Ai(κ₀ρ)."""
        return scipy.special.airy(self.SCALE * rho)[0]

    def one_photon_slope(self, rho: Floats) -> Floats:
        """κ₀ Ai′(κ₀ρ)."""
        return self.SCALE * scipy.special.airy(self.SCALE * rho)[1]

    def beyond(self, rho: Floats) -> Floats:
        """Energy outside circles: Ai′(t)/Ai′(0) of one photon."""
        if self._n > 1:
            return super().beyond(rho)
        return scipy.special.airy(self.SCALE * np.abs(rho))[1] / scipy.special.airy(0)[1]


class Tabulated(Summed):
    """A measured radial profile, scaled to a one-photon FWHM of 1."""

    def __init__(self, table: BeamTable, photons: int) -> None:
        scale = table.fwhm()
        curve = _curve(table)
        self._value, self._slope = curve, curve.derivative()
        self._scale = scale
        super().__init__(table.radius / scale, photons)

    def one_photon(self, rho: Floats) -> Floats:
        """The table, relative to its largest value."""
        return np.maximum(self._value(self._scale * rho), 0)

    def one_photon_slope(self, rho: Floats) -> Floats:
        """Its derivative with respect to ρ."""
        return self._scale * self._slope(self._scale * rho)


def _curve(table: BeamTable) -> scipy.interpolate.CubicSpline:
    """Intensity over its largest value; flat on the axis and at the end."""
    flat = ((1, 0.0), (1, 0.0))
    return scipy.interpolate.CubicSpline(table.radius, table.intensity / table.intensity.max(), bc_type=flat)

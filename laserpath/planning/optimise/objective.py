"""The loss: the difference between cured area and target over the process window, and its slope in dose.

With u = D/D_c and the logistic threshold σ_d(u) = 1/(1 + exp(−β (d u − 1))) at relative doses
d = 0.9, 1, 1.1 (weights w_d, sum 1), coverage T and pixel area p², the area term is

    L = p²/(P·F) [ Σ_pixels Σ_d w_d (σ_d − T)²  +  λ Σ_pixels max(0, u − u_max)² ],

in units of perimeter P times FWHM F: about a mean squared edge error in FWHM, whatever the design's
size. σ is `resin.development`. The last term penalises doses above u_max = 0.985 `Resin.over_dose`.

The area term is slightly biased: inside a design more dose always lowers it. The edge term is not biased: at
the M contour samples with outward normal n the edge is misplaced by about

    ε = (u − 1)/s,   s = max(F |∂u/∂n|, 0.5),   E = w_e/M Σ (√(ε² + δ²) − δ + η/s),

where ∂ε takes s as a constant. E is the mean edge placement error in FWHM, smooth below δ = 0.003, plus η/s,
the shift of an edge where the dose is off by the share η. That rewards a steep dose at the edge, and so a
narrow PV band: with lines as strong as the over-dose limit allows, and as far inside as they then must be.

A term of the path is not here, but in `loss`.

The dose terms are compiled, pixel by pixel and edge by edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gcode.compiled import cached
from laserpath.base.arrays import Floats
from laserpath.base.compute.beside import pool
from laserpath.base.compute.runtime import cpu_count
from laserpath.base.errors import InputError
from laserpath.design.scene import PassingSampler, Sampler, Scene

_SATURATED = 30.0
"""|β(d u − 1)| beyond which a threshold is taken as here, e^−30 from 0 or 1, so that its exponential fits."""

njit = cached(error_model="numpy", nogil=True)

_vectorised = cached(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
"""For loops over pixels without a branch or a call, which then go over four or eight pixels at a time. The
order of a sum is left open for that, but no value is assumed to be finite: a NaN stays one."""


@_vectorised
def area(
    dose: Any, coverage: Any, per_critical: float, contrast: float, window: Floats, scale: float, slope: Any
) -> float:
    """Σ_pixels Σ_d w_d (σ_d − T)²; its derivative by the dose, times `scale`, is added to `slope`.

    dose, slope: (rows, columns), of the same precision, in which each row is computed.  window: (K, 2)
    relative doses d and weights w_d.  e^x is 2^n e^r with n whole and |r| ≤ ln 2/2, and e^r its Taylor series
    up to r^9, 8e-12 off before rounding: a call of `exp` would take five times as long as the rest. A dose
    that is not finite is told by the loss of `over_dose` beside this one, which no threshold cuts off.
    """
    real = dose.dtype.type
    one, half, most, beta = real(1), real(0.5), real(_SATURATED), real(contrast)
    ln2, per_ln2 = real(math.log(2)), real(1 / math.log(2))
    c3, c4, c5, c6 = real(1 / 6), real(1 / 24), real(1 / 120), real(1 / 720)
    c7, c8, c9 = real(1 / 5040), real(1 / 40320), real(1 / 362880)
    total = 0.0
    for i in range(dose.shape[0]):
        for k in range(len(window)):
            steep = window[k, 0] * contrast * per_critical
            by_dose, by_slope, sum_of_row = real(steep), real(2 * window[k, 1] * steep * scale), real(0)
            for j in range(dose.shape[1]):
                x = min(max(beta - by_dose * dose[i, j], -most), most)
                n = np.floor(x * per_ln2 + half)
                r = x - n * ln2
                tail = c4 + r * (c5 + r * (c6 + r * (c7 + r * (c8 + r * c9))))
                fraction = one + r * (one + r * (half + r * (c3 + r * tail)))
                # A float32 with n in its exponent is 2^n.
                power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
                cured = one / (one + fraction * real(power))
                error = cured - real(coverage[i, j])
                sum_of_row += error * error
                slope[i, j] += by_slope * error * cured * (one - cured)
            total += window[k, 1] * sum_of_row
    return total


@_vectorised
def over_dose(dose: Any, per_critical: float, limit: float, scale: float, slope: Any) -> float:
    """Σ_pixels max(0, u − `limit`)²; its derivative by the dose, times `scale`, is added to `slope`."""
    real = dose.dtype.type
    nothing, most, by, per = real(0), real(limit), real(2 * scale * per_critical), real(per_critical)
    total = 0.0
    for i in range(dose.shape[0]):
        sum_of_row = nothing
        for j in range(dose.shape[1]):
            beyond = max(dose[i, j] * per - most, nothing)
            sum_of_row += beyond * beyond
            slope[i, j] += by * beyond
        total += sum_of_row
    return total


@njit
def edges(value: Floats, steep: Floats, rounding: float, dose_error: float, flattest: float) -> float:
    """Σ (√(ε² + δ²) − δ + η/s) of edges; `value` and `steep` are replaced by its derivatives by them.

    value: (M,) u.  steep: (M,) F ∂u/∂n, at least `flattest` in size.  rounding: δ.  dose_error: η.
    """
    total = 0.0
    for m in range(len(value)):
        s = max(abs(steep[m]), flattest)
        error = (value[m] - 1) / s
        size = math.sqrt(error * error + rounding * rounding)
        total += size - rounding + dose_error / s
        value[m] = error / size / s
        steep[m] = -dose_error * np.sign(steep[m]) / (s * s) if s > flattest else 0.0
    return total


DOSE_WINDOW = ((0.9, 0.25), (1.0, 0.5), (1.1, 0.25))
"""Relative dose and weight."""

OVER_DOSE_WEIGHT = 32.0
OVER_DOSE_SHARE = 0.985
"""Share of the resin's over_dose at which the penalty begins, as it only acts above that: a smaller value
keeps the dose further below the limit."""

DOSE_ERROR = 0.15
"""η: a larger value gives a narrower PV band, but a larger edge error, mostly at corners."""

_ROUNDING = 0.003
_FLATTEST = 0.5
_WINDOW = np.array(DOSE_WINDOW)
_STRIP_PIXELS = 65536
"""Pixels that one thread takes at a time: fewer keep more threads busy, and each strip costs a call."""


@dataclass(frozen=True, slots=True)
class EdgeTerm:
    """E and ∂E/∂u for the outline of a scene, on its grid; raises InputError if it has no samples.

    dose_error: η; 0 gives the edge placement error alone.
    """

    scene: Scene
    dose_error: float = 0.0

    def __post_init__(self) -> None:
        if not len(self.scene.samples.xy):  # of no design: each has a ring, and each ring samples
            raise InputError("the edge term has no samples of an outline, but needs at least 1")

    @property
    def sampler(self) -> Sampler | PassingSampler:
        """Of u and F ∂u/∂n at the samples; the scene makes it when it is first asked for."""
        return self.scene.sampler

    def __call__(self, u: Floats) -> float:
        """E of relative doses u (rows, columns)."""
        return float(self.at_factors(u, np.ones(1))[0])

    def at_factors(self, u: Floats, factors: Floats) -> Floats:
        """(K,) E of K multiples of relative doses u (rows, columns), which are read once."""
        value, steep = self.sampler(u)
        return np.array([self._sum(k * value, k * steep) for k in factors]) / len(value)

    def add(self, dose: Floats, per_critical: float, weight: float, slope: Floats) -> float:
        """`weight` · E of a dose (rows, columns), times `per_critical` u; add its derivative to `slope`."""
        value, steep = (per_critical * one for one in self.sampler(dose))
        scale = weight / len(value)
        total = self._sum(value, steep)
        self.sampler.pull(scale * per_critical * value, scale * per_critical * steep, slope)
        return scale * total

    def _sum(self, value: Floats, steep: Floats) -> float:
        """M E; `value` and `steep` are replaced by its derivatives by them."""
        return float(edges(value, steep, _ROUNDING, self.dose_error, _FLATTEST))


@dataclass(frozen=True, slots=True)
class OverDose:
    """λ p²/(P·F) Σ_pixels max(0, u − u_max)². per_critical: 1/D_c.  limit: u_max.  scale: λ p²/(P·F).

    It is a term by itself, of the dose, where the loss is of the conversion of a resin with kinetics: that is
    never too high, but too much light burns and scatters in it as in any other.
    """

    per_critical: float
    limit: float
    scale: float

    @classmethod
    def of(cls, scene: Scene) -> OverDose:
        """The penalty for a scene's resin, on its grid."""
        scale = OVER_DOSE_WEIGHT * scene.grid.pixel_area / (scene.design.area.length * scene.fwhm)
        return cls(1 / scene.critical_dose, OVER_DOSE_SHARE * scene.resin.over_dose, scale)

    def __call__(self, dose: Floats) -> tuple[float, Floats]:
        """(loss, ∂loss/∂dose) of a dose (rows, columns), mJ/mm²."""
        slope = np.zeros_like(dose)
        return self.scale * self.add(dose, slope), slope

    def add(self, dose: Floats, slope: Floats) -> float:
        """The sum over some pixels, without `scale`; add ∂loss/∂dose to `slope`."""
        return float(over_dose(dose, self.per_critical, self.limit, self.scale, slope))

    def at_contrast(self, contrast: float) -> OverDose:
        """The same: it has no threshold."""
        return self


@dataclass(frozen=True, slots=True)
class Objective:
    """L + w_e E and its slope in dose, for doses (rows, columns) on the scene's grid. contrast: β.

    scale: p²/(P·F), of the design as a whole.
    """

    scene: Scene
    scale: float
    contrast: float
    over: OverDose
    edge: EdgeTerm | None = None
    edge_weight: float = 0.0

    @classmethod
    def of(cls, scene: Scene, edge_weight: float = 0.0) -> Objective:
        """The objective in units of the design's perimeter × FWHM; edge_weight: w_e."""
        return cls(
            scene=scene,
            scale=scene.grid.pixel_area / (scene.design.area.length * scene.fwhm),
            contrast=scene.resin.contrast,
            over=OverDose.of(scene),
            edge=EdgeTerm(scene, DOSE_ERROR) if edge_weight else None,
            edge_weight=edge_weight,
        )

    def at_contrast(self, contrast: float) -> Objective:
        """This objective with another steepness of the threshold."""
        return replace(self, contrast=contrast)

    def __call__(self, dose: Floats) -> tuple[float, Floats]:
        """(loss, ∂loss/∂D), the slope per unit of dose and in the dtype of `dose`."""
        slope, per_critical = np.zeros_like(dose), 1 / self.scene.critical_dose

        def strip(rows: slice) -> float:
            return self._strip(dose[rows], rows, per_critical, slope[rows])

        loss = self.scale * sum(_each(strip, _strips(dose)))
        if self.edge is not None:
            loss += self.edge.add(dose, per_critical, self.edge_weight, slope)
        return loss, slope

    def at_factors(self, dose: Floats, factors: Floats) -> Floats:
        """(K,) L + w_e E of multiples of a dose (rows, columns), which is read strip by strip."""
        per_critical = factors / self.scene.critical_dose

        def strip(rows: slice) -> Floats:
            part, unused = dose[rows], np.zeros_like(dose[rows])
            return np.array([self._strip(part, rows, per, unused) for per in per_critical])

        loss: Floats = self.scale * sum(_each(strip, _strips(dose)))
        if self.edge is not None:
            loss += self.edge_weight * self.edge.at_factors(dose, per_critical)
        return loss

    def by_pixel(self, dose: Floats) -> Iterator[tuple[slice, Floats]]:
        """Rows of a dose (rows, columns), strip by strip, and the contribution of each pixel to L."""
        for rows in _strips(dose):
            u, coverage = dose[rows] / self.scene.critical_dose, self.scene.target.coverage[rows]
            loss = OVER_DOSE_WEIGHT * np.maximum(u - self.over.limit, 0) ** 2
            for d, weight in DOSE_WINDOW:
                loss += weight * (1 / (1 + np.exp(-self.contrast * (d * u - 1))) - coverage) ** 2
            yield rows, self.scale * loss

    def _strip(self, dose: Floats, rows: slice, per_critical: float, slope: Floats) -> float:
        """The loss of rows at u = `per_critical` D, without `scale`; add their part of ∂L/∂D to `slope`."""
        over = replace(self.over, per_critical=per_critical)
        drawn = self.scene.target.coverage[rows]
        loss = area(dose, drawn, per_critical, self.contrast, _WINDOW, self.scale, slope)
        return float(loss + OVER_DOSE_WEIGHT * over.add(dose, slope))


def _strips(dose: Floats) -> list[slice]:
    """Some rows after the other, of as many pixels as one thread takes at a time."""
    step = max(1, _STRIP_PIXELS // dose.shape[1])
    return [slice(first, first + step) for first in range(0, len(dose), step)]


def _each(work: Callable[[slice], Any], strips: Sequence[slice]) -> Iterable[Any]:
    """The results of work(rows) in the order of the rows, whatever the number of processors."""
    return map(work, strips) if min(len(strips), cpu_count()) == 1 else pool().map(work, strips)

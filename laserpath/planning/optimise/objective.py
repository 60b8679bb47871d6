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

**Pixels that the outline crosses.** σ_d falls from 1 to 0 within less than a pixel, so its value at the
centre of such a pixel, and even more its slope, is chance. From *shape* on these pixels do not count;
the integral over their width along the normal, ± b = p (|n_x| + |n_y|)/2F, of the dose u − s n does:

    1/M Σ Σ_d w_d ∫_{−b}^{b} (σ_d(u − s n) − [n < 0])² dn
        = 1/M Σ Σ_d w_d [S(a) − S(a − y) + S(−a) − S(−a − y)]/(β d s),   a = β (d u − 1),   y = β d s b,

where S(t) = ln(1 + e^t) − 1/(1 + e^−t) is the integral of 1/(1 + e^−t)². So the loss depends far less on
where the pixels are, and plans on 3 pixels a FWHM are as true as on 6. An outline that runs along a border
between pixels crosses none: both beside it count, too, whose thresholds an edge near its place leaves alone.

A term of the path is not here, but in `loss`.

The dose terms are compiled, pixel by pixel and edge by edge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gcode.compiled import vectorised
from laserpath.base.arrays import Floats
from laserpath.base.compute.beside import in_order
from laserpath.base.errors import InputError
from laserpath.design.scene import PassingSampler, Sampler, Scene
from laserpath.physics.dose import TiledDose

_ROUNDING, _FLATTEST = 0.003, 0.5
"""δ, FWHM: a larger value gives errors below it less weight.  Least s: a larger one lowers the pull of edges
where the dose is flat."""

_WHOLE = 0.4999
"""Distance from ½ of the coverage of a pixel that the outline does not cross: a smaller one counts those that
it hardly crosses."""

_SATURATED = 30.0
"""|β(d u − 1)| beyond which a threshold is taken as here, e^−30 from 0 or 1, so that its exponential fits."""


_SERIES = (1 / math.log(2), math.log(2), *(1 / math.factorial(k) for k in range(10)))
"""1/ln 2, ln 2, and the Taylor series of e^r."""

_LEAST = -80.0
"""Exponent below which e^x is taken as there, 2e-35: a float32 has no room for much less."""


@vectorised
def _exp(x: Any, series: Any) -> Any:
    """e^x of |x| ≤ 80 in the precision of `series`, which is `_SERIES` or that in single precision.

    e^x is 2^n e^r with n whole and |r| ≤ ln 2/2, and e^r its Taylor series up to r^9, 1e-11 off before
    rounding: a call of `exp` would take five times as long as the rest.
    """
    per, ln2, one, _, half, c3, c4, c5, c6, c7, c8, c9 = series
    n = np.floor(x * per + half)
    r = x - n * ln2
    tail = c4 + r * (c5 + r * (c6 + r * (c7 + r * (c8 + r * c9))))
    # A float32 with n in its exponent is 2^n.
    return (one + r * (one + r * (half + r * (c3 + r * tail)))) * np.int32(
        (np.int32(n) + np.int32(127)) << np.int32(23)
    ).view(np.float32)


@vectorised
def _artanh(z: float) -> float:
    """The artanh of |z| ≤ 1/3 by its series, 2e-12 off."""
    q = z * z
    more = q * (1 / 13 + q * (1 / 15 + q * (1 / 17 + q * (1 / 19 + q * (1 / 21)))))
    return z * (1 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * (1 / 9 + q * (1 / 11 + more))))))


@vectorised
def area(
    dose: Any,
    coverage: Any,
    per_critical: float,
    threshold: tuple[float, Floats],
    whole: bool,
    scale: float,
    slope: Any,
) -> float:
    """Σ_pixels Σ_d w_d (σ_d − T)²; its derivative by the dose, times `scale`, is added to `slope`.

    dose, slope: (rows, columns), of the same precision, in which each row is computed.  threshold: β, and
    (K, 2) relative doses d and weights w_d.  whole: only pixels that the outline does not cross.

    A dose that is not finite is told by the loss of `over_dose` beside this one, which no threshold cuts off.
    """
    real = dose.dtype.type
    contrast, window = threshold
    one, half, most, beta = real(1), real(0.5), real(_SATURATED), real(contrast)
    nothing, least = real(0), real(_WHOLE if whole else -1)
    per, ln2, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9 = _SERIES
    first = real(per), real(ln2), real(c0), real(c1), real(c2), real(c3)
    series = (*first, real(c4), real(c5), real(c6), real(c7), real(c8), real(c9))
    total = 0.0
    for i in range(dose.shape[0]):
        for k in range(len(window)):
            steep = window[k, 0] * contrast * per_critical
            by_dose, by_slope, sum_of_row = real(steep), real(2 * window[k, 1] * steep * scale), real(0)
            for j in range(dose.shape[1]):
                cured = one / (one + _exp(min(max(beta - by_dose * dose[i, j], -most), most), series))
                drawn = real(coverage[i, j])
                error = cured - drawn if abs(drawn - half) >= least else nothing
                sum_of_row += error * error
                slope[i, j] += by_slope * error * cured * (one - cured)
            total += window[k, 1] * sum_of_row
    return total


@vectorised
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


@vectorised
def edges(
    value: Floats,
    steep: Floats,
    dose_error: float,
    weight: float,
    threshold: tuple[float, Floats],
    band: Floats,
) -> float:
    """Σ w (√(ε² + δ²) − δ + η/s) of edges, plus their area term within ± `band` (M,) FWHM, if any.

    value, steep: (M,) u and F ∂u/∂n, of which at least `_FLATTEST` counts; both are replaced by the
    derivatives by them.  dose_error: η.  weight: w.  threshold: as of `area`.
    """
    contrast, window = threshold
    total, by = 0.0, np.zeros((2, len(band)))
    for k in range(len(window)):
        total += _crossed(value, steep, contrast, window[k, 0], window[k, 1], band, by)
    for m in range(len(value)):
        s = max(abs(steep[m]), _FLATTEST)
        error = (value[m] - 1) / s
        size = math.sqrt(error * error + _ROUNDING * _ROUNDING)
        total += weight * (size - _ROUNDING + dose_error / s)
        falling = np.copysign(1.0, steep[m]) if abs(steep[m]) > _FLATTEST else 0.0
        value[m] = weight * error / (size * s)
        steep[m] = -weight * dose_error / (s * s) * falling
    for m in range(len(band)):
        value[m] += by[0, m]
        steep[m] += by[1, m]
    return total


@vectorised
def _crossed(
    value: Floats, steep: Floats, contrast: float, d: float, weight: float, band: Floats, by: Floats
) -> float:
    """Σ of the area term at relative dose d along the normals of edges within ± `band`, times a weight.

    Its derivatives by u and F ∂u/∂n are added to `by` (2, M).

    The S are sums of ln(1 + e^t) = max(t, 0) + ln(1 + e^−|t|) and of 1/(1 + e^−t), whose squares are their
    derivatives. A logarithm of (1 + p)/(1 + q) is 2 artanh((p − q)/(2 + p + q)), a third at most.
    """
    total = 0.0
    for m in range(len(band)):
        s = max(abs(steep[m]), _FLATTEST)
        steepness, a = contrast * d * s, contrast * (d * value[m] - 1)
        y = steepness * band[m]
        p, o = _exp(max(-abs(a), _LEAST), _SERIES), _exp(max(-abs(a - y), _LEAST), _SERIES)
        i = _exp(max(-abs(a + y), _LEAST), _SERIES)
        middle = (1.0 if a > 0 else p) / (1 + p)
        outer = (1.0 if a > y else o) / (1 + o)
        inner = (1.0 if a < -y else i) / (1 + i)
        logs = 2 * (_artanh((p - o) / (2 + p + o)) + _artanh((p - i) / (2 + p + i)))
        whole = abs(a) - max(a - y, 0.0) - max(-a - y, 0.0) + logs
        amount = (whole - 1 + outer + inner) / steepness
        rise = middle * middle - outer * outer - (1 - middle) * (1 - middle) + inner * inner
        falling = np.copysign(1.0, steep[m]) if abs(steep[m]) > _FLATTEST else 0.0
        total += weight * amount
        by[0, m] += weight * rise / s
        by[1, m] += weight * (band[m] * (outer * outer + inner * inner) - amount) / s * falling
    return total


DOSE_WINDOW = ((0.9, 0.25), (1.0, 0.5), (1.1, 0.25))
"""Relative dose and weight."""

OVER_DOSE_WEIGHT = 32.0
OVER_DOSE_SHARE = 0.985
"""Share of the resin's over_dose at which the penalty begins, as it only acts above that: a smaller value
keeps the dose further below the limit."""

DOSE_ERROR = 0.15
"""η: a larger value gives a narrower PV band, but a larger edge error, mostly at corners."""

_WINDOW, _NO_BAND = np.array(DOSE_WINDOW), np.empty(0)
_FEWEST = 8
"""Strips that are enough to stand for all: with fewer a design's features may all be in the others."""
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
        return np.array([self.of_edges(k * value, k * steep) for k in factors])

    def of_edges(
        self, value: Floats, steep: Floats, weight: float = 1.0, contrast: float | None = None
    ) -> float:
        """`weight` · E of u (M,) and F ∂u/∂n (M,), which are replaced by its derivatives by them.

        contrast: β, with which the area term of the pixels that the outline crosses counts, too; None: no.
        """
        band = _NO_BAND if contrast is None else self.scene.band
        total = edges(value, steep, self.dose_error, weight, (contrast or 1.0, _WINDOW), band)
        each = 1 / len(value)
        value *= each
        steep *= each
        return each * float(total)


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

    scale: p²/(P·F), of the design as a whole.  share: of the design's samples, those of the scene.
    """

    scene: Scene
    scale: float
    contrast: float
    over: OverDose
    edge: EdgeTerm | None = None
    edge_weight: float = 0.0
    share: float = 1.0

    @classmethod
    def of(cls, scene: Scene, edge_weight: float | None = None) -> Objective:
        """The objective in units of the design's perimeter × FWHM.

        edge_weight: w_e; 0: without E, but pixels that the outline crosses count by the integral along it;
        None: they count as others do.
        """
        return cls(
            scene=scene,
            scale=scene.grid.pixel_area / (scene.design.area.length * scene.fwhm),
            contrast=scene.resin.contrast,
            over=OverDose.of(scene),
            edge=None if edge_weight is None else EdgeTerm(scene, DOSE_ERROR),
            edge_weight=edge_weight or 0.0,
        )

    def at_contrast(self, contrast: float) -> Objective:
        """This objective with another steepness of the threshold."""
        return replace(self, contrast=contrast)

    def __call__(self, dose: Floats) -> tuple[float, Floats]:
        """(loss, ∂loss/∂D), the slope per unit of dose and in the dtype of `dose`."""
        slope, per_critical = np.zeros_like(dose), 1 / self.scene.critical_dose

        def strip(rows: slice) -> float:
            return self._strip(dose[rows], rows, per_critical, slope[rows])

        loss = self.scale * sum(in_order(strip, _strips(dose)))
        if self.edge is not None:
            value, steep = (per_critical * one for one in self.edge.sampler(dose))
            loss += self._of_edges(value, steep)
            self.edge.sampler.pull(per_critical * value, per_critical * steep, slope)
        return loss, slope

    def at_factors(self, dose: Floats, factors: Floats, every: int = 1) -> Floats:
        """(K,) L + w_e E of multiples of a dose (rows, columns), which is read strip by strip.

        every: of a large grid one strip in so many of those that the design touches is read, and their sum is
        scaled up to all of them.
        """
        per_critical = factors / self.scene.critical_dose
        strips, share = self._some_strips(dose, every)

        def strip(rows: slice) -> Floats:
            part, unused = dose[rows], np.zeros_like(dose[rows])
            return np.array([self._strip(part, rows, per, unused) for per in per_critical])

        loss: Floats = self.scale * share * sum(in_order(strip, strips), np.zeros(len(factors)))
        if self.edge is not None:
            value, steep = self.edge.sampler(dose)
            loss += [self._of_edges(per * value, per * steep) for per in per_critical]
        return loss

    def _some_strips(self, dose: Floats, every: int) -> tuple[list[slice], float]:
        """The strips that count, and what one of them counts, as of `at_factors`."""
        strips = _strips(dose)
        if every == 1 or len(strips) < _FEWEST * every:
            return strips, 1.0
        drawn = [rows for rows in strips if self.scene.target.coverage[rows].any()]
        some = drawn[every // 2 :: every]
        return (some, len(drawn) / len(some)) if len(some) >= _FEWEST else (strips, 1.0)

    def _of_edges(self, value: Floats, steep: Floats) -> float:
        """The loss of the outline, whose u (M,) and F ∂u/∂n (M,) are replaced by its derivatives by them."""
        assert self.edge is not None
        loss = self.edge.of_edges(value, steep, self.edge_weight, self.contrast)
        value *= self.share
        steep *= self.share
        return self.share * loss

    def by_pixel(self, dose: Floats | TiledDose) -> Iterator[tuple[slice, Floats]]:
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
        threshold, whole = (self.contrast, _WINDOW), self.edge is not None
        loss = area(dose, drawn, per_critical, threshold, whole, self.scale, slope)
        return float(loss + OVER_DOSE_WEIGHT * over.add(dose, slope))


def _strips(dose: Floats | TiledDose) -> list[slice]:
    """Some rows after the other, of as many pixels as one thread takes at a time."""
    step = max(1, _STRIP_PIXELS // dose.shape[1])
    return [slice(first, first + step) for first in range(0, dose.shape[0], step)]

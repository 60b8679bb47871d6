"""The loss: the difference between cured area and target over the process window, and its slope in dose.

With u = D/D_c and the logistic threshold σ_d(u) = 1/(1 + exp(−β (d u − 1))) at relative doses
d = 0.9, 1, 1.1 (weights w_d, sum 1), coverage T and pixel area p², the area term is

    L = p²/(P·F) [ Σ_pixels Σ_d w_d (σ_d − T)²  +  λ Σ_pixels max(0, u − u_max)² ],

in units of perimeter P times FWHM F: about a mean squared edge error in FWHM, whatever the design's
size. σ is `resin.development`, written out here so that the three doses share one exponential:
e = exp(−β u/10) gives exp(−β d u) = e⁹, e¹⁰, e¹¹. The last term penalises doses above
u_max = 0.985 `Resin.over_dose`.

The area term is slightly biased: inside a design more dose always lowers it. The edge term is not biased: at
the M contour samples with outward normal n the edge is misplaced by about

    ε = (u − 1)/s,   s = max(F |∂u/∂n|, 0.5),   E = w_e/M Σ (√(ε² + δ²) − δ + η/s),

where ∂ε takes s as a constant. E is the mean edge placement error in FWHM, smooth below δ = 0.003, plus η/s,
the shift of an edge where the dose is off by the share η. That rewards a steep dose at the edge, and so a
narrow PV band: with lines as strong as the over-dose limit allows, and as far inside as they then must be.

A term of the path is not here: it is a module like `write_time`, a field of `loop.Terms`, and is made in
`stages`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import sparse

from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.types import Resin, Target

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
_STRIP_ROWS = 32


@dataclass(frozen=True, slots=True)
class EdgeTerm:
    """E and ∂E/∂u. value, slope: (M, pixels) matrices that give u and F ∂u/∂n at the samples.

    dose_error: η; 0 gives the edge placement error alone.
    """

    value: sparse.csr_matrix
    slope: sparse.csr_matrix
    dose_error: float = 0.0

    @classmethod
    def of(cls, scene: Scene, dose_error: float = 0.0) -> EdgeTerm:
        """The term for the outline of a scene, sampled on its grid."""
        return cls(*scene.edge_matrices, dose_error)

    def __call__(self, u: Floats) -> tuple[float, Floats]:
        """(E, ∂E/∂u (pixels,)) without the weight."""
        flat = u.ravel()
        slope = self.slope @ flat
        steepness = np.maximum(np.abs(slope), _FLATTEST)
        error = (self.value @ flat - 1) / steepness
        size = np.sqrt(error**2 + _ROUNDING**2)
        pull: Floats = self.value.T @ (error / size / steepness / len(error))
        if self.dose_error:
            bent = np.where(steepness > _FLATTEST, np.sign(slope) / steepness**2, 0.0)
            pull -= self.slope.T @ (self.dose_error / len(error) * bent)
        return float((size - _ROUNDING + self.dose_error / steepness).mean()), pull


@dataclass(frozen=True, slots=True)
class Objective:
    """L + w_e E and its slope in dose, for doses (rows, columns) on the target's grid. contrast: β."""

    target: Target
    resin: Resin
    scale: float
    contrast: float
    edge: EdgeTerm | None = None
    edge_weight: float = 0.0

    @classmethod
    def of(cls, scene: Scene, edge_weight: float = 0.0) -> Objective:
        """The objective in units of the design's perimeter × FWHM; edge_weight: w_e."""
        return cls(
            target=scene.target,
            resin=scene.resin,
            scale=scene.grid.pixel_area / (scene.design.area.length * scene.fwhm),
            contrast=scene.resin.contrast,
            edge=EdgeTerm.of(scene, DOSE_ERROR) if edge_weight else None,
            edge_weight=edge_weight,
        )

    def at_contrast(self, contrast: float) -> Objective:
        """This objective with another steepness of the threshold."""
        return replace(self, contrast=contrast)

    def __call__(self, dose: Floats) -> tuple[float, Floats]:
        """(loss, ∂loss/∂D), the slope per unit of dose and in the dtype of `dose`."""
        u = dose * dose.dtype.type(1 / self.resin.critical_dose)
        loss, slope = self._area(u)
        if self.edge is not None:
            error, pull = self.edge(u)
            loss += self.edge_weight * error
            slope += (self.edge_weight * pull).astype(u.dtype).reshape(u.shape)
        slope *= u.dtype.type(1 / self.resin.critical_dose)
        return loss, slope

    def per_pixel(self, dose: Floats) -> Floats:
        """(rows, columns) contribution of each pixel to L."""
        u = dose / self.resin.critical_dose
        loss = OVER_DOSE_WEIGHT * np.maximum(u - OVER_DOSE_SHARE * self.resin.over_dose, 0) ** 2
        for d, weight in DOSE_WINDOW:
            loss += weight * (1 / (1 + np.exp(-self.contrast * (d * u - 1))) - self.target.coverage) ** 2
        return self.scale * loss

    def _area(self, u: Floats) -> tuple[float, Floats]:
        """(L, ∂L/∂u), computed on all cores in strips of rows that fit in the cache, and summed in order."""
        slope = np.empty_like(u)
        strips = [slice(r, r + _STRIP_ROWS) for r in range(0, len(u), _STRIP_ROWS)]
        losses = list(_pool().map(lambda rows: self._strip(u[rows], rows, slope[rows]), strips))
        return self.scale * sum(losses), slope

    def _strip(self, u: Floats, rows: slice, slope: Floats) -> float:
        """The loss of some rows, without `scale`; their part of ∂L/∂u is written to `slope`."""
        number = u.dtype.type
        coverage = self.target.coverage[rows].astype(u.dtype)
        e = np.exp(u * number(-self.contrast / 10))
        e4 = np.square(np.square(e))
        power = number(np.exp(self.contrast)) * np.square(e4) * e
        over = np.maximum(u - number(OVER_DOSE_SHARE * self.resin.over_dose), 0)
        loss = OVER_DOSE_WEIGHT * float(np.vdot(over, over))
        np.multiply(over, number(2 * self.scale * OVER_DOSE_WEIGHT), out=slope)
        for d, weight in DOSE_WINDOW:
            cured = 1 / (1 + power)
            error = cured - coverage
            loss += weight * float(np.vdot(error, error))
            error *= number(2 * self.scale * weight * self.contrast * d)
            error *= cured
            error *= 1 - cured
            slope += error
            power *= e
        return loss


@cache
def _pool() -> ThreadPoolExecutor:
    """One thread for each processor, kept: starting threads takes longer than the loss on a small grid."""
    return ThreadPoolExecutor(os.cpu_count())

"""The result of a fit: estimates with intervals, residuals, and the spot and resin that follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import chi2

from laserpath.base.errors import InputError
from laserpath.calibration.data import GROUPS, LINEAR, OFFSET, Data
from laserpath.calibration.fitting import FitSolution
from laserpath.calibration.model import Physics
from laserpath.resin import critical_dose
from laserpath.types import Machine, Resin, Spot

_NEGLIGIBLE = 0.01
"""Largest |m| that counts as reciprocity; with it, ten times the speed changes the effective dose by 2 %."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its 95 % interval; mm, mJ/mm², or a plain number."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class SizeResidual:
    """One size: measured, by the fit, and the standard deviation of a measurement; mm.

    what: width, diameter, merged (the gap at which the lines of a wedge become one) or depth.  excess:
    peak dose in critical doses.  used: False if the dose was too high.  outlier: farther off than chance
    explains.
    """

    id: str
    what: str
    measured: float
    fitted: float
    sigma: float
    excess: float
    used: bool
    outlier: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """estimates: of the unknowns.  physics: these and the given parameters.  profile: of the spot.

    order: of the resin.  residuals: of all sizes.
    noise: standard deviation of a measurement, mm, by group.  chi2, freedom: of the groups whose standard
    deviation was given; None without such groups.  notes: sentences on parameters that could not be fitted,
    and on data left out.  warnings: sentences on contradictions and doubts.
    """

    estimates: tuple[Estimate, ...]
    physics: Physics
    profile: str
    order: int
    residuals: tuple[SizeResidual, ...]
    noise: dict[str, float]
    chi2: float | None
    freedom: float
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Estimate:
        for estimate in self.estimates:
            if estimate.name == name:
                return estimate
        raise InputError(f"{name} was not found by the fit; it has {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the estimates."""
        return tuple(estimate.name for estimate in self.estimates)

    @property
    def lasting(self) -> bool:
        """Whether reciprocity holds within the interval of m, or to 1 %."""
        if LINEAR not in self.names:
            return True
        m = self[LINEAR]
        return m.low <= 0 <= m.high or abs(m.value) < _NEGLIGIBLE

    @property
    def p_value(self) -> float | None:
        """Probability of a χ² at least as large by chance; None without χ²."""
        return None if self.chi2 is None else float(chi2.sf(self.chi2, max(self.freedom, 1e-9)))

    @property
    def outliers(self) -> tuple[str, ...]:
        """Ids of the items with an outlier."""
        return tuple(dict.fromkeys(r.id for r in self.residuals if r.outlier))

    def spot(self) -> Spot:
        """The fitted spot, or the given one."""
        fx, fy = self.physics.fwhm
        return Spot(float(np.sqrt(fx * fy)), self.profile, aspect=fx / fy)

    def machine(self, base: Machine) -> Machine:
        """`base` with the fitted offset of its levels' light, if there is one."""
        return replace(base, level_offset=self[OFFSET].value) if OFFSET in self.names else base

    def resin(self, base: Resin | None = None, layer: float | None = None) -> Resin:
        """`base` with the estimates. layer: mm to cure by the working curve; None: take the dose at edges."""
        fitted = {name: self[name].value for name in ("e_c", "penetration_depth") if name in self.names}
        if layer is None:
            dose = self["critical_dose"].value
        else:
            dose = critical_dose(self["e_c"].value, self["penetration_depth"].value, layer)
        e_c, depth = fitted.get("e_c"), fitted.get("penetration_depth")
        if self.order > 1 or (e_c is not None and e_c > dose):
            e_c = depth = None  # a working curve needs one photon, and a dose that is not below its E_c
        return replace(
            base or Resin(), order=self.order, critical_dose=dose, e_c=e_c, penetration_depth=depth
        )


def estimates_of(solution: FitSolution) -> Iterator[Estimate]:
    """Values and intervals; intervals of logarithms become ratios."""
    for name, x, half in zip(solution.unknowns.names, solution.theta, solution.half, strict=True):
        yield Estimate(name, *(solution.unknowns.value(name, end) for end in (x, x - half, x + half)))


def residuals_of(data: Data, solution: FitSolution, limit: float) -> Iterator[SizeResidual]:
    """Residuals of all sizes. limit: |residual| over its standard deviation, above which it is an outlier."""
    sizes = data.model.sizes(solution.physics)
    fitted = data.predicted(sizes)
    own = solution.sigma * np.sqrt(np.maximum(1 - solution.leverage, 1e-6))
    off = np.abs(data.size - fitted) / own
    for k, item in enumerate(data.item):
        used = bool(solution.used[k])
        yield SizeResidual(
            data.ids[item], GROUPS[data.group[k]], float(data.size[k]), float(fitted[k]),
            float(solution.sigma[k]), float(np.exp(min(sizes.excess[item], 500))), used,
            bool(used and off[k] > limit),
        )  # fmt: skip

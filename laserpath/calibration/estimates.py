"""Spot, critical dose, penetration depth and reciprocity from measured sizes, by least squares.

Unknown are θ = ln F (with the aspect, if requested), ln D_c and m, with depths ln D_p and ln E_c, and with
three levels or more ln(n + o), the light of the lowest one (`measurements`); their
sizes s_i(θ) are those of `model`. With σ_g the standard deviation of a group of sizes (widths, diameters,
wedges, depths), θ minimises

    Σ_i ((s_i(θ) − measured_i)/σ_g(i))²  +  Σ_j (max(0, ∓ ln ρ_j(θ))/0.1)²

where the second sum is over items known only to be visible or invisible: it is 0 as long as they are on the
right side of the threshold. σ_g is not known; it follows from the residuals, σ_g² = Σ_{i∈g} r_i²/ν_g,
ν_g = n_g − h_g with h_g the group's leverage, and the fit is repeated with it until it settles.

Intervals: with J the derivatives in units of σ, the covariance is C = (JᵀJ)⁻¹, and a 95 % interval is θ ± t s
with Student's t. Its degrees of freedom are those of the σ_g, each with its share in the parameter's variance
(Satterthwaite, Biometrics Bulletin 2, 110, 1946): ν = (Σ_g V_g)²/Σ_g (V_g²/ν_g).

Robust: the sum is over 2 (√(1 + r²) − 1) instead (soft L1), σ_g the median |r| × 1.4826, and C is multiplied
by (Σψ²/ν)/(Σψ'/n)², ψ = r/√(1 + r²) (Huber, Annals of Statistics 1, 799, 1973).

Widths are left out where the fit gives an item more than `TRUSTED` critical doses.

The result (`Fit`) has estimates with intervals, for display in the usual units, residuals, and the spot and
resin that follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import chi2
from scipy.stats import t as student

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.calibration.model import (
    ASPECT,
    DEPTH,
    GROUPS,
    LINEAR,
    OFFSET,
    TRUSTED,
    Data,
    Physics,
    Unknowns,
)
from laserpath.physics.resin import critical_dose, dose_unit
from laserpath.types import Machine, Resin, Spot

CONFIDENCE = 0.95
_ROUNDS = 15
_SETTLED = 3
"""Rounds after which the choice of items is frozen, so that the fit settles."""
_STEPS = 60
"""Most steps of a least-squares fit."""
_DAMPING, _DAMPING_MIN, _DAMPING_MAX = 1e-4, 1e-8, 1e8
"""First, least and most damping. More takes shorter steps; the least keeps undetermined unknowns in place."""
_GAIN_MIN = 1e-6
"""Relative gain of a step below which the fit has converged: θ is then off by 0.01 of its error."""
_STEP_MIN = 1e-9
"""Longest part of a step below which no better θ is looked for."""
_SETTLED_SIGMA = 3e-3
"""Relative change of every σ below which the fit has settled; a hundredth of a σ's own error."""
_SIGMA_MIN = 1e-6
"""mm, the smallest standard deviation; keeps exact data from dividing by 0."""
_RINGS_PENALTY = 0.3
"""Cost of a first guess with all sizes beyond `TRUSTED`, as a mean |ln|; a larger one prefers wider spots."""
_FREEDOM_OF_ITS_OWN = 15.0
"""Degrees of freedom from which a group has a standard deviation of its own. With fewer, the weights are
guesses and the intervals too narrow."""


@dataclass(frozen=True, slots=True, eq=False)
class FitSolution:
    """The minimum of the sum. theta, error: (P,).  freedom: (P,), of Student's t.

    used: (R,) True for a size that counts.  sigma: (R,) mm.  leverage: (R,).  noise: σ_g in mm by group.
    """

    unknowns: Unknowns
    theta: Floats
    error: Floats
    freedom: Floats
    used: Bools
    sigma: Floats
    leverage: Floats
    noise: dict[str, float]

    @property
    def physics(self) -> Physics:
        """All parameters, with the fitted unknowns."""
        return self.unknowns.physics(self.theta)

    @property
    def half(self) -> Floats:
        """(P,) half the width of each interval."""
        return student.ppf((1 + CONFIDENCE) / 2, self.freedom) * self.error


def solve(
    data: Data, unknowns: Unknowns, start: Floats, known: dict[str, float], robust: bool, only: Bools | None
) -> FitSolution:
    """Least squares in rounds. known: standard deviations, mm, by group; the others follow from residuals.

    only: (R,) the sizes to use; None: those of at most `TRUSTED` critical doses.
    """
    theta = start
    sigma = _first_sigma(data, unknowns, start, known)
    used = np.ones(len(data.size), dtype=bool) if only is None else only
    for turn in range(_ROUNDS):
        kept = data.only(used)
        theta, rest, slopes = _least(kept, unknowns, theta, sigma[used], robust or turn == 0)
        rest = rest[: used.sum()] * sigma[used]
        leverage = _leverage(slopes, used.sum())
        noise, freedom = _noise(kept, rest, leverage, known, robust)
        new = np.maximum([noise[GROUPS[g]] for g in data.group], _SIGMA_MIN)
        settled = bool(np.all(np.abs(np.log(new / sigma)) < _SETTLED_SIGMA))
        sigma = new
        if only is None and turn < _SETTLED:
            used = _trusted(data, unknowns.physics(theta))
        elif settled:
            break
    whole = np.zeros(len(data.size))
    whole[used] = leverage
    error, degrees = _errors(kept, unknowns, theta, sigma[used], freedom, robust)
    return FitSolution(unknowns, theta, error, degrees, used, sigma, whole, noise)


def _least(
    data: Data, unknowns: Unknowns, theta: Floats, sigma: Floats, robust: bool
) -> tuple[Floats, Floats, Floats]:
    """θ of the least squares, or of the least soft L1, with the residuals and their derivatives there.

    Levenberg and Marquardt's method, whose steps are damped by a share of the diagonal.
    """
    rest, slopes = data.linear(unknowns, theta, sigma)
    if not np.isfinite(rest).all():
        raise InputError(
            "no spot and resin give sizes like those measured: some are too far from the others; look "
            "for a wrong unit or decimal point"
        )
    damping, cost = _DAMPING, float(costs(rest, robust).sum())
    for _ in range(_STEPS):
        # The soft L1 is a sum of squares of these weights.
        weight = (1 + rest**2) ** -0.5 if robust else np.ones_like(rest)
        normal = slopes.T @ (slopes * weight[:, None])
        size = np.diag(normal).copy()
        size[size <= 0] = 1.0
        step = np.linalg.solve(normal + np.diag(damping * size), -slopes.T @ (weight * rest))
        there = theta + step
        new_rest, new_slopes = data.linear(unknowns, there, sigma)
        new_cost = float(costs(new_rest, robust).sum()) if np.isfinite(new_rest).all() else np.inf
        if new_cost < cost:
            gain = cost - new_cost
            theta, rest, slopes, cost = there, new_rest, new_slopes, new_cost
            damping = max(damping / 10, _DAMPING_MIN)
            if gain < _GAIN_MIN * cost:
                break
        elif damping > _DAMPING_MAX or np.abs(step).max() < _STEP_MIN:
            break
        else:
            damping *= 10
    return theta, rest, slopes


def costs(rest: Floats, robust: bool) -> Floats:
    """What each residual, in units of σ, adds to the sum: its square, or its soft L1."""
    return 2 * (np.sqrt(1 + rest**2) - 1) if robust else rest**2


def _first_sigma(data: Data, unknowns: Unknowns, start: Floats, known: dict[str, float]) -> Floats:
    """(R,) mm: the known ones, else a twentieth of the median size of the group."""
    sigma = np.empty(len(data.size))
    for g, name in enumerate(GROUPS):
        chosen = data.group == g
        if chosen.any():
            sigma[chosen] = known.get(name, max(float(np.median(data.size[chosen])) / 20, _SIGMA_MIN))
    return sigma


def _trusted(data: Data, physics: Physics) -> Bools:
    """(R,) True for depths, and for sizes of at most `TRUSTED` critical doses."""
    return data.deep | (data.model.sizes(physics).excess[data.item] <= np.log(TRUSTED))


def _leverage(jacobian: Floats, sizes: int) -> Floats:
    """(sizes,) diagonal of J (JᵀJ)⁻¹ Jᵀ."""
    return np.einsum("ij,ji->i", jacobian, np.linalg.pinv(jacobian))[:sizes]


def _noise(
    data: Data, rest: Floats, leverage: Floats, known: dict[str, float], robust: bool
) -> tuple[dict[str, float], dict[str, float]]:
    """σ_g in mm and ν_g by group. Groups of the plane with few degrees of freedom share one."""
    free = {name: float((1 - leverage)[data.group == g].sum()) for g, name in enumerate(GROUPS)}
    small = [name for name in GROUPS[:DEPTH] if name not in known and free[name] < _FREEDOM_OF_ITS_OWN]
    pool = [*small, "width"] if small and "width" not in small and "width" not in known else small
    noise, freedom = {}, {}
    for g, name in enumerate(GROUPS):
        names = pool if name in pool else [name]
        chosen = data.within(names)
        nu = sum(free[n] for n in names)
        if name in known:
            noise[name], freedom[name] = known[name], np.inf
        elif not chosen.any():
            noise[name], freedom[name] = _SIGMA_MIN, np.inf
        elif nu < 0.5:
            raise InputError(too_few(data, g))
        else:
            spread = (
                1.4826 * np.median(np.abs(rest[chosen])) if robust else np.sqrt((rest[chosen] ** 2).mean())
            )
            noise[name], freedom[name] = max(float(spread * np.sqrt(chosen.sum() / nu)), _SIGMA_MIN), nu
    return noise, freedom


def too_few(data: Data, group: int) -> str:
    """The sentence on a group without degrees of freedom."""
    what = "depths" if group == DEPTH else "widths and diameters"
    count = int((data.group == DEPTH).sum() if group == DEPTH else (data.group != DEPTH).sum())
    return (
        f"too few {what} for the unknowns: {count} of at most {TRUSTED:g} critical doses; measure more "
        "items, of several line energies"
    )


def _errors(
    data: Data, unknowns: Unknowns, theta: Floats, sigma: Floats, freedom: dict[str, float], robust: bool
) -> tuple[Floats, Floats]:
    """Standard errors and degrees of freedom, (P,) each."""
    rest, jacobian = data.linear(unknowns, theta, sigma)
    inverse = np.linalg.pinv(jacobian)
    free = _free(jacobian)
    part = np.stack([(inverse[:, : len(data.size)][:, data.group == g] ** 2).sum(axis=1) for g in range(4)])
    variance = part.sum(axis=0) + (inverse[:, len(data.size) :] ** 2).sum(axis=1)
    nu = np.array([freedom[name] for name in GROUPS])[:, None]
    with np.errstate(divide="ignore"):
        degrees = variance**2 / np.maximum((part**2 / nu).sum(axis=0), 1e-300)
    spare = len(data.size) - len(theta)
    if robust and spare > 0:  # without, the sizes are met exactly, and tell nothing of how they scatter
        r = rest[: len(data.size)]
        slope = ((1 + r**2) ** -1.5).mean()
        variance = variance * (r**2 / (1 + r**2)).sum() / spare / slope**2
    return np.where(free, np.inf, np.sqrt(variance)), degrees


def _free(jacobian: Floats) -> Bools:
    """(P,) True for a parameter that the data does not determine, alone or in a combination."""
    size = np.linalg.norm(jacobian, axis=0)
    if not size.all():
        return size == 0
    _, singular, ways = np.linalg.svd(jacobian / size, full_matrices=False)
    loose = ways[singular < 1e-6 * singular[0]]
    return (np.abs(loose) > 0.1).any(axis=0)


# Initial guess


def first_guess(data: Data, unknowns: Unknowns) -> Floats:
    """θ from a coarse search over F and D_c, and a straight line through the depths."""
    plane = data.only(~data.deep)
    # Where the profile leaves the lowest measured level dark, its offset is wrong.
    offset = max(unknowns.given.level_offset or 0.0, 0.5 - unknowns.lowest)
    best = {ASPECT: 1.0, LINEAR: 0.0, OFFSET: offset, **_plane(unknowns.given)}
    if len(plane.size):
        best |= _searched(plane, unknowns)
    given = replace(unknowns.given, fwhm=(best["fwhm"], best["fwhm"]), e_c=1.0, penetration_depth=1.0)
    if "e_c" in unknowns.names:
        deep = data.only(data.deep)
        dose = deep.model.sizes(given).depth[deep.item]
        slope, offset = np.polyfit(dose, deep.size, 1)
        slope = max(float(slope), 1e-3 * float(deep.size.max()))
        best |= {"penetration_depth": slope, "e_c": float(np.exp(-np.clip(offset / slope, -50, 50)))}
    return unknowns.theta(best)


def _plane(physics: Physics) -> dict[str, float]:
    return {"fwhm": float(np.prod(physics.fwhm)) ** 0.5, "critical_dose": physics.critical_dose}


def _searched(plane: Data, unknowns: Unknowns) -> dict[str, float]:
    """The F and D_c of a grid whose sizes are nearest to the measured ones, by the mean |ln| of their ratios.

    Sizes that are all far above the threshold may be rings of a narrow spot, but a wide spot is likelier.
    """
    middle = float(np.median(plane.size))
    free = "fwhm" in unknowns.names
    widths = middle * np.geomspace(0.3, 4, 14) if free else [0.0]
    best, least = {}, np.inf
    for f in widths:
        fwhm = (float(f), float(f)) if free else unknowns.given.fwhm
        trial = replace(unknowns.given, fwhm=fwhm, critical_dose=1.0, reciprocity=0.0)
        peak = plane.model.sizes(trial).excess[plane.item].min()
        doses = np.exp(peak - np.linspace(0.02, np.log(40), 14))
        sizes = plane.model.sizes(replace(trial, critical_dose=doses[:, None]))
        off = np.abs(np.log(np.maximum(plane.predicted(sizes), 1e-9) / plane.size)).mean(axis=1)
        off += _RINGS_PENALTY * (sizes.excess[:, plane.item] > np.log(TRUSTED)).mean(axis=1)
        k = int(off.argmin())
        if off[k] < least:
            least, best = off[k], _plane(replace(trial, critical_dose=float(doses[k])))
    return best


SURE = 0.95
"""Weight from which a shape counts as told by the sizes."""
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

    shapes: profile → its weight, falling (`calibration.shapes`).

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
    shapes: Mapping[str, float] = field(default_factory=dict)

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
    def certain(self) -> bool:
        """Whether the sizes tell the profile of the spot: it has at least `SURE` of the weight."""
        return self.shapes.get(self.profile, 1.0) >= SURE

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
        """`base` with the fitted offset of its levels' light, if that is another one."""
        other = OFFSET in self.names and is_other(self[OFFSET], base.light.offset)
        return replace(base, level_offset=self[OFFSET].value) if other else base

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
            base or Resin(), order=self.order, critical_dose=dose, e_c=e_c, penetration_depth=depth, source=""
        )


_SAME_OFFSET = 0.1
"""Difference, in levels, up to which two offsets of the light count as one: on an ATmega 5 % of the light of
level 1, and less at all others."""


def is_other(found: Estimate, offset: float) -> bool:
    """Whether the offset of the light that was found, in levels, is another one than that of a profile."""
    outside = not found.low <= offset <= found.high
    return outside and abs(found.value - offset) > _SAME_OFFSET


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


_DISPLAYED = {
    "fwhm": ("spot's FWHM", 1000.0, "µm"),
    ASPECT: ("FWHM along x ÷ along y", 1.0, ""),
    "critical_dose": ("critical dose", 100.0, "mJ/cm²"),
    "penetration_depth": ("penetration depth", 1000.0, "µm"),
    "e_c": ("E_c, where gelling begins", 100.0, "mJ/cm²"),
    LINEAR: ("reciprocity exponent m", 1.0, ""),
    OFFSET: ("level_offset o of the light", 1.0, "levels"),
}
"""Name → displayed name, number of displayed units in our unit, displayed unit."""
PLURAL = {"width": "widths", "diameter": "diameters", "merged": "gaps of wedges", "depth": "depths"}
"""Size → its plural in sentences."""
_PLACES = 2
"""Most decimals of an offset in levels: a hundredth changes the light of level 1 by 1 %."""


def in_words(estimate: Estimate, order: int) -> tuple[str, float, float, float, str]:
    """(name, value, low, high, unit) for display. order: photons absorbed at once."""
    name, scale, unit = _DISPLAYED[estimate.name]
    if unit == "mJ/cm²" and order > 1:
        scale, unit = 1.0, dose_unit(order)
    return name, estimate.value * scale, estimate.low * scale, estimate.high * scale, unit


def shown(value: float) -> str:
    """The value with four significant digits, or with three decimals below 0.01."""
    return f"{value:.4g}" if abs(value) >= 0.01 else f"{value:.3f}"


def supported(estimate: Estimate, order: int = 1) -> tuple[str, str, str]:
    """(value, low, high) as text.

    An offset has the decimals of the leading digit of half its interval, two at most; others are as `shown`.
    """
    _, value, low, high, _ = in_words(estimate, order)
    if estimate.name != OFFSET:
        return shown(value), shown(low), shown(high)
    half = (high - low) / 2
    places = int(np.clip(np.ceil(-np.log10(half)), 0, _PLACES)) if half > 0 else _PLACES
    return f"{value:.{places}f}", f"{low:.{places}f}", f"{high:.{places}f}"


def sentence(estimate: Estimate, order: int) -> str:
    """`spot's FWHM 79.2 µm, 95 % from 78.0 to 80.4`."""
    name, *_, unit = in_words(estimate, order)
    value, low, high = supported(estimate, order)
    return f"{name} {value}{' ' + unit if unit else ''}, 95 % from {low} to {high}"

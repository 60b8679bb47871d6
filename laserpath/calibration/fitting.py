"""Spot, critical dose, penetration depth and reciprocity from measured sizes, by least squares.

Unknown are θ = ln F (with the aspect, if requested), ln D_c and m, with depths ln D_p and ln E_c, and with
three levels or more ln(n + o), the light of the lowest one (`levels`); their
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
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import t as student

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.calibration.data import DEPTH, GROUPS, OFFSET, Data, Unknowns
from laserpath.calibration.model import TRUSTED, Physics

CONFIDENCE = 0.95
_ROUNDS = 15
_SETTLED = 3
"""Rounds after which the choice of items is frozen, so that the fit settles."""
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
    data: Data, unknowns: Unknowns, start: Floats, known: dict[str, float], robust: bool = False
) -> FitSolution:
    """Least squares in rounds. known: standard deviations, mm, by group; the others follow from residuals."""
    theta = start
    sigma = _first_sigma(data, unknowns, start, known)
    used = np.ones(len(data.size), dtype=bool)
    for turn in range(_ROUNDS):
        kept = data.only(used)
        loss = "soft_l1" if robust or turn == 0 else "linear"
        theta = _least(kept, unknowns, theta, sigma[used], loss)
        jacobian = kept.slopes(unknowns, theta, sigma[used])
        rest = kept.residuals(unknowns.physics(theta), np.ones(used.sum()))[: used.sum()]
        leverage = _leverage(jacobian, used.sum())
        noise, freedom = _noise(kept, rest, leverage, known, robust)
        new = np.maximum([noise[GROUPS[g]] for g in data.group], _SIGMA_MIN)
        settled = bool(np.all(np.abs(np.log(new / sigma)) < 1e-3))
        sigma = new
        if turn < _SETTLED:
            used = _trusted(data, unknowns.physics(theta))
        elif settled:
            break
    whole = np.zeros(len(data.size))
    whole[used] = leverage
    error, degrees = _errors(kept, unknowns, theta, sigma[used], freedom, robust)
    return FitSolution(unknowns, theta, error, degrees, used, sigma, whole, noise)


def _least(data: Data, unknowns: Unknowns, theta: Floats, sigma: Floats, loss: str) -> Floats:
    if not np.isfinite(data.residuals(unknowns.physics(theta), sigma)).all():
        raise InputError(
            "no spot and resin give sizes like those measured: some are too far from the others; look "
            "for a wrong unit or decimal point"
        )
    solution = least_squares(
        lambda x: data.residuals(unknowns.physics(x), sigma),
        theta, jac=lambda x: data.slopes(unknowns, x, sigma), x_scale="jac", loss=loss, xtol=1e-9, ftol=1e-10,
        max_nfev=100,
    )  # fmt: skip
    return solution.x


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
        chosen = np.isin(data.group, [GROUPS.index(n) for n in names])
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
        f"too few {what} for what is unknown: {count} of at most {TRUSTED:g} critical doses; measure more "
        "items, of several line energies"
    )


def _errors(
    data: Data, unknowns: Unknowns, theta: Floats, sigma: Floats, freedom: dict[str, float], robust: bool
) -> tuple[Floats, Floats]:
    """Standard errors and degrees of freedom, (P,) each."""
    jacobian = data.slopes(unknowns, theta, sigma)
    inverse = np.linalg.pinv(jacobian)
    free = _free(jacobian)
    part = np.stack([(inverse[:, : len(data.size)][:, data.group == g] ** 2).sum(axis=1) for g in range(4)])
    rest = (inverse[:, len(data.size) :] ** 2).sum(axis=1)
    variance = part.sum(axis=0) + rest
    nu = np.array([freedom[name] for name in GROUPS])[:, None]
    with np.errstate(divide="ignore"):
        degrees = variance**2 / np.maximum((part**2 / nu).sum(axis=0), 1e-300)
    if robust:
        r = data.residuals(unknowns.physics(theta), sigma)[: len(data.size)]
        slope = ((1 + r**2) ** -1.5).mean()
        variance = variance * (r**2 / (1 + r**2)).sum() / max(len(r) - len(theta), 1) / slope**2
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
    best = {"aspect": 1.0, "reciprocity": 0.0, OFFSET: offset, **_plane(unknowns.given)}
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
        for dose in np.exp(peak - np.linspace(0.02, np.log(40), 14)):
            guess = replace(trial, critical_dose=float(dose))
            sizes = plane.model.sizes(guess)
            off = np.abs(np.log(np.maximum(plane.predicted(sizes), 1e-9) / plane.size)).mean()
            off += _RINGS_PENALTY * float((sizes.excess[plane.item] > np.log(TRUSTED)).mean())
            if off < least:
                least, best = off, _plane(guess)
    return best

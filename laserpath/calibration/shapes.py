"""Which shape of the spot the sizes tell, and intervals that hold whichever it is.

Candidates are all profiles that can be fitted, each of them round, and elliptical where lines in both
directions were measured. All are fitted to the same sizes, and compared by Akaike's criterion, corrected for
small samples (Hurvich and Tsai, Biometrika 76, 297, 1989), group by group of sizes that share a σ:

    AICc = Σ_g n_g ln(Σ_{i∈g} r_i²/n_g) + n_g (n_g + h_g)/(n_g − h_g − 2)

with n_g sizes and their leverage h_g, the share of the unknowns that they determine. Groups of known σ_g
count Σ (r/σ_g)² + 2 h_g instead, a robust fit its soft L1, and items on the wrong side of the threshold what
they cost in `estimates`. The weight of a candidate is w_k ∝ exp(−AICc_k/2) (Burnham and Anderson, Model
Selection and Multimodel Inference, 2002, §2.9). Between profiles with as many unknowns all criteria agree.
For the ellipse AICc is chosen over BIC, since a spot is never quite round: BIC would give no weight to an
ellipse that the intervals should cover.

Intervals by tail areas averaged over the candidates (Turek and Fletcher, Computational Statistics and Data
Analysis 56, 2809, 2012): their ends x solve, with T Student's distribution function,

    Σ_k w_k T_ν_k((x − θ_k)/s_k) = 2.5 % and 97.5 %.

Where one candidate has all the weight, that is its own interval. Where the sizes do not tell the profile, the
interval is widened to hold that of each profile with 5 % of the weight or more. That is our own, and meant to
be conservative: of charts of some 30 sizes the average alone held an ellipse's unknowns in 93.0 to 95.7 %,
with it in 94.3 to 96.0 % (`tests/calibration/intervals.py`). A round candidate has the aspect 1 for certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.stats import t as student

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.calibration.estimates import CONFIDENCE, SURE, Estimate, FitSolution, costs
from laserpath.calibration.model import ASPECT, Data, Unknowns, line_dose

_CERTAIN = 1e-6
"""Standard error of what a candidate takes as given, and the least of all; 0 would divide by 0."""
_PITCHES = np.array([0.4, 0.5, 0.6])
"""Distances of lines, FWHM: by a single one, chance may tell which spot a plan is best made for."""
_STRIPES = 32
"""Lines of the widest stripe by which spots are compared; more weigh faint tails more."""
_NONE = 1e-4
"""Weight below which a candidate does not widen an interval."""

Solve = Callable[[Data, Unknowns, Floats | None, Bools | None], FitSolution]
"""Data, unknowns, θ to start from, and the sizes to use, each if known → the fit."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A profile, round or elliptical, fitted to the sizes. weight: of all candidates' 1."""

    profile: str
    data: Data
    solution: FitSolution
    weight: float = 1.0

    @property
    def oval(self) -> bool:
        """Whether it is elliptical."""
        return ASPECT in self.solution.unknowns.names


def fitted(data: Mapping[str, Data], unknowns: Unknowns, solve: Solve) -> list[Candidate]:
    """A candidate of each profile, all fitted to the sizes that the best of them uses."""
    found: list[Candidate] = []
    refused: list[InputError] = []
    for profile, own in data.items():
        try:
            found.append(Candidate(profile, own, solve(own, unknowns, None, None)))
        except InputError as error:  # it may need more sizes than another
            refused.append(error)
    if not found:
        raise refused[0]
    used = min(found, key=_scatter).solution.used
    return [_refitted(one, unknowns, used, solve) for one in found]


def _scatter(one: Candidate) -> float:
    """Mean of ln σ over the sizes that it uses; ∞ if it uses none."""
    sigma = one.solution.sigma[one.solution.used]
    return float(np.log(sigma).mean()) if sigma.size else np.inf


def _refitted(one: Candidate, unknowns: Unknowns, used: Bools, solve: Solve) -> Candidate:
    if np.array_equal(one.solution.used, used):
        return one
    return replace(one, solution=solve(one.data, unknowns, one.solution.theta, used))


def with_ovals(candidates: Sequence[Candidate], solve: Solve) -> list[Candidate]:
    """The candidates, and an ellipse of each."""
    ovals = []
    for one in candidates:
        unknowns, theta = one.solution.unknowns, one.solution.theta
        wider = replace(unknowns, names=(unknowns.names[0], ASPECT, *unknowns.names[1:]))
        try:
            solution = solve(one.data, wider, np.insert(theta, 1, 0.0), one.solution.used)
        except InputError:  # too few sizes for one unknown more
            continue
        ovals.append(replace(one, solution=solution))
    return [*candidates, *ovals]


def weighed(candidates: Sequence[Candidate], known: Mapping[str, float], robust: bool) -> list[Candidate]:
    """The candidates with their weights, the heaviest first. known: σ in mm, by group."""
    best = min(candidates, key=_scatter).solution
    scores = np.array([_aicc(one, best, known, robust) for one in candidates])
    weights = np.exp((scores.min() - scores) / 2)
    weights /= weights.sum()
    return [replace(candidates[k], weight=float(weights[k])) for k in np.argsort(scores, kind="stable")]


def _aicc(one: Candidate, best: FitSolution, known: Mapping[str, float], robust: bool) -> float:
    used, solution = best.used, one.solution
    data, leverage = one.data.only(used), solution.leverage[used]
    rest = data.residuals(solution.physics, best.sigma[used])
    sizes, seen = rest[: used.sum()], rest[used.sum() :]
    given = data.within(known) | robust
    squares = costs(sizes, robust)
    # What the sizes of unknown σ do not determine costs as in Akaike's own criterion.
    score = float((seen**2).sum() + squares[given].sum() + 2 * (len(solution.theta) - leverage[~given].sum()))
    # Groups that share a σ have the same one.
    for sigma in np.unique(best.sigma[used][~given]):
        own = ~given & (best.sigma[used] == sigma)
        n, h = int(own.sum()), float(leverage[own].sum())
        score += n * float(np.log(max(squares[own].mean(), 1e-12))) + n * (n + h) / max(n - h - 2, 0.5)
    return score


def weights_of(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Profile → its weight, round and elliptical together, falling."""
    totals = {one.profile: 0.0 for one in candidates}
    for one in candidates:
        totals[one.profile] += one.weight
    return dict(sorted(totals.items(), key=lambda pair: -pair[1]))


def chosen(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate to plan with: the profile with `SURE` of the weight, or else the most robust one.

    It is elliptical only if the sizes tell that it is.
    """
    totals = weights_of(candidates)
    kept = []
    for profile, total in totals.items():
        own = [one for one in candidates if one.profile == profile]
        oval = sum(one.weight for one in own if one.oval) >= SURE * total
        kept.append(next((one for one in own if one.oval == oval), own[0]))
    likely = [one for one in kept if totals[one.profile] > 1 - SURE]
    if totals[kept[0].profile] >= SURE or len(likely) < 2:
        return kept[0]
    fwhm = float(kept[0].solution.physics.fwhm[1])
    return min(
        likely, key=lambda one: sum(totals[other.profile] * edge_error(one, other, fwhm) for other in likely)
    )


def edge_error(plan: Candidate, truth: Candidate, fwhm: float) -> float:
    """RMS error in mm of the edges of stripes of lines along x, planned with one spot and drawn by another.

    The lines of a stripe are one of `_PITCHES` of `fwhm` (mm) apart, and have the energy that brings its
    edge, by the plan, as far beyond the outermost one. Stripes are of one to `_STRIPES` lines: in wide ones
    the tails of spots add up.
    """
    errors = []
    for step, count in product(fwhm * _PITCHES, 2 ** np.arange(_STRIPES.bit_length())):
        places = step * (np.arange(count) - (count - 1))  # the outermost line at 0
        y = np.linspace(0, 6, 241) * step
        planned, drawn = (_stripe(one, places, y) for one in (plan, truth))
        energy = 1 / float(np.interp(step, y, planned))
        # Where the drawn dose falls below the critical one; at the middle of the line if it is nowhere above.
        below = np.flatnonzero(energy * drawn <= 1)
        edge = float(y[below[0]]) if below.size else float(y[-1])
        errors.append(edge - step)
    return float(np.sqrt(np.mean(np.square(errors))))


def _stripe(one: Candidate, places: Floats, y: Floats) -> Floats:
    """(N,) dose at y of lines of energy 1 at `places`, mm, in critical doses."""
    physics = one.solution.physics
    width = float(physics.fwhm[1])
    reach, light = line_dose(one.profile, one.data.model.order)
    dose = np.interp(np.abs(y[:, None] - places) / width, reach, light).sum(axis=1)
    return dose / width / float(physics.critical_dose)


def estimates_of(candidates: Sequence[Candidate], choice: Candidate) -> Iterator[Estimate]:
    """The values of the choice, and intervals that hold all candidates."""
    unknowns = choice.solution.unknowns
    likely = [profile for profile, weight in weights_of(candidates).items() if weight > 1 - SURE]
    each = [[one for one in candidates if one.profile == profile] for profile in likely]
    for name, theta in zip(unknowns.names, choice.solution.theta, strict=True):
        ends = [
            end
            for shapes in (candidates, *(each if len(each) > 1 else ()))
            for parts in [_known(shapes, name)]
            if parts or shapes is candidates
            for end in _interval(parts)
        ]
        value, low, high = (float(unknowns.value(name, x)) for x in (theta, min(ends), max(ends)))
        yield Estimate(name, value, min(low, value), max(high, value))


def _distribution(solution: FitSolution, name: str) -> tuple[float, float, float]:
    """θ, its standard error and its degrees of freedom; 0 without error if it is not an unknown."""
    if name not in solution.unknowns.names:
        return 0.0, _CERTAIN, np.inf
    k = solution.unknowns.names.index(name)
    return float(solution.theta[k]), max(float(solution.error[k]), _CERTAIN), float(solution.freedom[k])


def _known(shapes: Sequence[Candidate], name: str) -> list[tuple[float, float, float, float]]:
    """Weight, value, error and degrees of freedom of those candidates whose sizes tell an unknown."""
    each = ((one.weight, *_distribution(one.solution, name)) for one in shapes)
    return [one for one in each if one[0] > _NONE and np.isfinite(one[2])]


def _interval(parts: Sequence[tuple[float, float, float, float]]) -> tuple[float, float]:
    """Ends for weights, values, errors and degrees of freedom."""
    weight, theta, error, freedom = (np.array(column) for column in zip(*parts, strict=True))
    weight = weight / weight.sum()
    tails = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    ends = []
    for tail in tails:
        each = theta + student.ppf(tail, freedom) * error

        def off(x: float, tail: float = tail) -> float:
            return float(weight @ student.cdf((x - theta) / error, freedom)) - tail

        low, high = float(each.min()), float(each.max())
        ends.append(low if high - low < 1e-9 else float(brentq(off, low, high)))
    return ends[0], ends[1]

"""From measurements to a fit: the choice of unknowns, the fit itself, and what it says in words.

The words are notes on data left out, and warnings of contradictions and doubts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, figure
from laserpath.calibration.estimates import (
    Estimate,
    Fit,
    FitSolution,
    first_guess,
    is_other,
    residuals_of,
    solve,
    supported,
)
from laserpath.calibration.measurements import Levels, Measurements
from laserpath.calibration.model import ASPECT, LINEAR, OFFSET, TRUSTED, Data, Physics, Unknowns
from laserpath.calibration.shapes import (
    Candidate,
    chosen,
    estimates_of,
    fitted,
    weighed,
    weights_of,
    with_ovals,
)
from laserpath.types import FITTED_PROFILES, Spot

FALSE_ALARM = 0.01
"""Probability of a warning about sound data; a larger one finds more outliers, some of them false."""
_IDS_LISTED = 6
_SIZE = {"width": "width", "diameter": "diameter", "merged": "gap where it closes", "depth": "depth"}


def _peaks(data: Data, physics: Physics) -> Floats:
    """(N,) dose in the middle of each item, at the tip of a wedge; in critical doses."""
    return np.exp(np.minimum(data.model.sizes(physics).excess, 500))


def _notes_of(result: Fit, levels: Levels | None) -> Iterator[str]:
    """What was left out, and what the estimates mean. levels: that the chart was written with."""
    yield from _told_shape(result)
    yield from _too_strong(result)
    yield from _layer(result)
    if levels is not None:
        yield from _light(result, levels)


def _warnings_of(result: Fit, levels: Levels | None, data: Data, solution: FitSolution) -> Iterator[str]:
    """Contradictions and doubts. levels: that the chart was written with."""
    if levels is not None:
        yield from _other_light(result, levels)
    yield from _untold_shape(result)
    yield from _outliers(result)
    yield from _contradictions(data, solution)
    yield from _reciprocity(result)
    yield from _doubtful(result)


def _names(ids: list[str]) -> str:
    some = ", ".join(ids[:_IDS_LISTED])
    return some if len(ids) <= _IDS_LISTED else f"{some} and {len(ids) - _IDS_LISTED} more"


def _told_shape(result: Fit) -> Iterator[str]:
    if len(result.shapes) > 1 and result.certain:
        oval = "elliptical" if ASPECT in result.names else "round, as far as they tell"
        yield f"the sizes are those of a spot {_shapes(result)}, by AICc; it is {oval}"


def _untold_shape(result: Fit) -> Iterator[str]:
    if not result.certain:
        yield (
            f"the sizes do not tell the spot's shape: {_shapes(result)}, by AICc; the intervals hold for "
            f"all of them, and plans are least wrong with {result.profile}; measure more dots, and lines of "
            f"2 to {TRUSTED:g} critical doses"
        )


def _shapes(result: Fit) -> str:
    """`gaussian (97 %) or airy (3 %)`."""
    shares = [f"{name} ({figure(100 * w, 2)} %)" for name, w in result.shapes.items() if w >= _MENTIONED]
    return " or ".join(shares)


def _too_strong(result: Fit) -> Iterator[str]:
    out = list(dict.fromkeys(r.id for r in result.residuals if not r.used))
    if out:
        yield (
            f"{len(out)} items have more than {TRUSTED:g} critical doses, and their widths are not used, "
            f"since rings, scattered light and diffusion make them: {_names(out)}"
        )


def _outliers(result: Fit) -> Iterator[str]:
    for r in (r for r in result.residuals if r.outlier):
        yield (
            f"item {r.id} is an outlier: its {_SIZE[r.what]} is {figure(r.measured * 1000, 4)} µm, where the "
            f"fit has {figure(r.fitted * 1000, 4)} µm; measure it again, empty its cell, or fit with --robust"
        )


def _contradictions(data: Data, solution: FitSolution) -> Iterator[str]:
    dose = _peaks(data, solution.physics)[data.seen]
    for sign, what, wrong in ((1, "visible", dose < 0.8), (-1, "not visible", dose > 1.25)):
        contradicting = [data.ids[k] for k in data.seen[wrong & (data.sign == sign)]]
        if contradicting:
            yield (
                f"said to be {what}, but by the fit {'below' if sign > 0 else 'above'} the critical dose: "
                f"{_names(contradicting)}"
            )


def _reciprocity(result: Fit) -> Iterator[str]:
    if not result.lasting:
        m = result[LINEAR]
        yield (
            f"reciprocity fails: the dose counts as time to the power {1 + m.value:.3f} ({1 + m.low:.3f} to "
            f"{1 + m.high:.3f}), so the critical dose holds for lines at {result.physics.speed:g} mm/s "
            "only; give the speed that you will write with"
        )


def _light(result: Fit, levels: Levels) -> Iterator[str]:
    """Whether the light of levels is that of the machine's profile."""
    if (found := _offset(result)) is not None and not is_other(found, levels.offset):
        told = f"level_offset = {levels.offset:g} of the machine's profile holds and stays"
        yield f"{told} ({_interval(found)})"


def _other_light(result: Fit, levels: Levels) -> Iterator[str]:
    """The profile's line for the light of levels, if its own is wrong."""
    if (found := _offset(result)) is not None and is_other(found, levels.offset):
        more = "brighter" if found.value > levels.offset else "more weakly"
        yield (
            f"low levels shine {more} than by the machine's profile, level_offset = {levels.offset:g}: put "
            f"level_offset = {supported(found)[0]} there ({_interval(found)})"
        )


def _offset(result: Fit) -> Estimate | None:
    return result[OFFSET] if OFFSET in result.names else None


def _interval(found: Estimate) -> str:
    _, low, high = supported(found)
    return f"95 % from {low} to {high}"


def _doubtful(result: Fit) -> Iterator[str]:
    p = result.p_value
    if p is not None and p < FALSE_ALARM:
        yield (
            f"the sizes scatter more than was stated: chi² is {figure(result.chi2 or 0, 4)} with "
            f"{figure(result.freedom or 0)} degrees of freedom; the model or the measuring error is wrong"
        )


def _layer(result: Fit) -> Iterator[str]:
    """The depth at which the edges were measured."""
    if not {"e_c", "critical_dose"} <= set(result.names):
        return
    ratio = result["critical_dose"].value / result["e_c"].value
    depth = result["penetration_depth"].value * np.log(ratio)
    if depth >= 0:
        yield f"the critical dose of the edges cures to a depth of {figure(depth * 1000)} µm"
    else:
        yield (
            f"edges are seen at {ratio:.2f} times the dose at which depths begin, E_c: something weaker than "
            "what was measured in depth counts as an edge"
        )


_VAGUE = np.log(2.0)
"""Half an interval, as ln of a ratio, from which a size or a dose counts as undetermined."""
_VAGUE_POWER = 0.5
"""Half an interval from which the exponent of reciprocity counts as undetermined."""
_VAGUE_OFFSET = 0.5
"""Half an interval, in levels, from which the offset of the light counts as undetermined, since 0 and 1 can
then hardly be told apart."""
_FAR = 2.0
"""Distance of the profile's offset from a vague one, in halves of its interval, above which the vague one is
better nevertheless. A smaller one believes chance."""
_SAME = 0.02
"""Relative difference below which two doses count as one."""
AUTO = "auto"
"""In place of a profile: the one that the sizes tell."""
_MENTIONED = 0.01
"""Weight from which a shape is mentioned."""
_LEVELS_MIN = 3
"""Least number of measured levels for a fit of their offset; with two, reciprocity explains them as well."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a fit. spot: its profile, or 'auto', the one that the sizes tell.  fwhm: mm, if it is known.

    elliptical: fit a width along x and one along y; None: if the sizes tell that they differ.
    robust: outliers count less.  speed: mm/s that the doses are for; None: the mean of the measured items.
    width_error, depth_error: standard deviation of one measurement, mm, if it is known.
    """

    spot: str = AUTO
    fwhm: float | None = None
    elliptical: bool | None = None
    robust: bool = False
    speed: float | None = None
    width_error: float | None = None
    depth_error: float | None = None

    def __post_init__(self) -> None:
        if self.spot not in (AUTO, *FITTED_PROFILES):
            raise InputError(f"spot {self.spot!r} cannot be fitted; known: {', '.join(FITTED_PROFILES)}")
        for name in ("fwhm", "speed", "width_error", "depth_error"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise InputError(f"{name} is {value:g}, but must be above 0")
        if self.fwhm is not None and self.elliptical:
            raise InputError(
                "the FWHM is given, so no elliptical spot can be fitted; leave out one of the two"
            )

    @property
    def known(self) -> dict[str, float]:
        """Standard deviations by group."""
        plane = {} if self.width_error is None else dict.fromkeys(("width", "diameter"), self.width_error)
        return plane | ({} if self.depth_error is None else {"depth": self.depth_error})

    @property
    def asks_oval(self) -> bool:
        """Whether the sizes are to tell if the spot is elliptical."""
        return self.elliptical is None and self.fwhm is None


@np.errstate(all="ignore")  # what is not finite is refused by name
def fit(measurements: Measurements, options: Options | None = None) -> Fit:
    """Spot, critical dose, reciprocity and working curve, as far as the measurements determine them."""
    options = options or Options()
    # Pairs tell nothing of spot and resin.
    rows = tuple(row for row in measurements.rows if row.item.kind != "pair")
    measurements = replace(measurements, rows=rows)
    data = {profile: Data.of(measurements, profile) for profile in _profiles(measurements, options)}
    first = next(iter(data.values()))
    if not first.size.size and not first.seen.size:
        raise InputError(
            "nothing is filled in of lines, dots and wedges: neither a size nor whether one is visible"
        )
    levels = measurements.levels
    given = Physics(
        _given_widths(options), 1.0, speed=_speed(first, options),
        level_offset=None if levels is None else levels.offset,
    )  # fmt: skip
    names, notes = _unknowns(first, options)
    if options.asks_oval and not _both_directions(first):
        notes.append("whether the spot is round cannot be told, and is assumed: measure lines along y, too")
    if not names:
        if options.fwhm is None:
            raise InputError(_no_widths(first))
        return _only_seen(first, measurements, options, given, notes)
    if "critical_dose" not in names:
        data = {profile: own.unseen() for profile, own in data.items()}
    candidates = _candidates(data, Unknowns(names, given, _lowest(first)), options, notes)
    choice = chosen(candidates)
    _check_vague(choice.solution)
    return _report(candidates, choice, measurements, options, notes)


def _profiles(measurements: Measurements, options: Options) -> tuple[str, ...]:
    """Those to try. Depths alone do not tell a shape."""
    if options.spot != AUTO:
        return (options.spot,)
    plane = any((row.width or row.diameter or row.merged) is not None for row in measurements.rows)
    return FITTED_PROFILES if plane else (Spot().profile,)


def _candidates(
    data: Mapping[str, Data], unknowns: Unknowns, options: Options, notes: list[str]
) -> list[Candidate]:
    """All shapes that may be, weighed, the likeliest first. Adds notes on unknowns that it does without."""

    def solved(own: Data, unknown: Unknowns, start: Floats | None, used: Bools | None) -> FitSolution:
        start = first_guess(own, unknown) if start is None else start
        return solve(own, unknown, start, options.known, options.robust, used)

    found = weighed(fitted(data, unknowns, solved), options.known, options.robust)
    for name, vague, note in _MINOR:
        if name in unknowns.names and vague(found[0].solution):
            notes.append(note)
            unknowns = unknowns.without(name)
            found = weighed(fitted(data, unknowns, solved), options.known, options.robust)
    if options.asks_oval and _both_directions(found[0].data):
        found = weighed(with_ovals(found, solved), options.known, options.robust)
    return found


def _reciprocity_vague(solution: FitSolution) -> bool:
    return not solution.half[solution.unknowns.names.index(LINEAR)] <= _VAGUE_POWER


def _offset_vague(solution: FitSolution) -> bool:
    """Whether many offsets of the light are possible, and that of the profile is not far from them."""
    k, unknowns = solution.unknowns.names.index(OFFSET), solution.unknowns
    theta, half = float(solution.theta[k]), float(solution.half[k])
    given = max((unknowns.given.level_offset or 0.0) + unknowns.lowest, 1e-9)
    far = abs(np.log(given) - theta) > _FAR * half
    # At the offset of the profile: one that came out low has a narrow interval, too.
    return not given * np.sinh(half) < _VAGUE_OFFSET and not far


_MINOR: tuple[tuple[str, Callable[[FitSolution], bool], str], ...] = (
    (
        OFFSET, _offset_vague,
        "how a level becomes light cannot be told, so the machine's profile is used: measure the row "
        "of levels, and depths, more exactly or on a second chart",
    ),
    (
        LINEAR, _reciprocity_vague,
        "reciprocity cannot be tested, and is assumed: measure items of one line energy at speeds "
        "that are far apart",
    ),
)  # fmt: skip
"""Unknowns that a fit can do without: name, whether it is undetermined, and what is said then."""


def _lowest(data: Data) -> int:
    """The lowest level of the measured sizes; 1 if none is known."""
    levels = data.model.level[data.item]
    return int(np.nanmin(levels)) if np.isfinite(levels).any() else 1


def _given_widths(options: Options) -> tuple[float, float]:
    return (options.fwhm or 1.0, options.fwhm or 1.0)


def _speed(data: Data, options: Options) -> float:
    """mm/s that the doses are for: the geometric mean over the measured lines, to three digits."""
    if options.speed is not None:
        return options.speed
    items = data.item if data.item.size else data.seen
    lines = items[~data.model.dot[items]]
    mean = float(np.exp(np.log(data.model.speed[lines if lines.size else items]).mean()))
    return float(f"{mean:.3g}")


# The unknowns


def _unknowns(data: Data, options: Options) -> tuple[tuple[str, ...], list[str]]:
    """Names of the unknowns, and notes on those that the data does not determine."""
    names, notes = [], []
    plane, depths = ~data.deep, int(data.deep.sum())
    if plane.any():
        names = [*([] if options.fwhm is not None else ["fwhm"]), "critical_dose"]
        if options.fwhm is None:
            _check_energies(data)
        if options.elliptical:
            _check_directions(data)
            names.append(ASPECT)
    known = plane.any() or options.fwhm is not None
    if depths and not known:
        raise InputError(_no_widths(data))
    if depths >= 3 and _energies(data, data.deep) >= 2:
        names += ["penetration_depth", "e_c"]
    elif depths:
        notes.append(
            f"no penetration depth: it needs 3 depths at 2 line energies or more, and there are {depths} at "
            f"{_energies(data, data.deep)}"
        )
    else:
        notes.append("no penetration depth: no depth is filled in")
    if names and np.ptp(np.log(data.model.speed[data.item])) > _SAME:
        names.append(LINEAR)
    elif names:
        notes.append("reciprocity cannot be tested: everything measured has one speed")
    if names and data.model.levels is not None and _levels(data) >= _LEVELS_MIN:
        names.append(OFFSET)
    return tuple(names), notes


def _levels(data: Data) -> int:
    """Count of different levels among the measured sizes."""
    levels = data.model.level[data.item]
    return len(np.unique(levels[np.isfinite(levels)]))


def _no_widths(data: Data) -> str:
    what = "only depths are filled in" if data.size.size else "no size is filled in"
    return (
        f"the FWHM is undetermined, since {what}: measure the widths of lines of several line energies, or "
        "give the FWHM"
    )


def _energies(data: Data, chosen: np.ndarray) -> int:
    """Count of different doses among the chosen sizes. chosen: (R,)."""
    sizes = data.model.sizes(Physics((1.0, 1.0), 1.0))
    return len(np.unique(np.rint(sizes.excess[data.item[chosen]] / _SAME)))


def _check_energies(data: Data) -> None:
    plane = ~data.deep
    count, energies = int(plane.sum()), _energies(data, plane)
    if energies < 2:
        raise InputError(
            f"the FWHM is undetermined, since all {count} widths are of one line energy; measure lines of at "
            "least two more, or give the FWHM"
        )
    if count < 3:
        raise InputError(f"the FWHM is undetermined by {count} widths; measure at least 3, or give the FWHM")


def _both_directions(data: Data) -> bool:
    """Whether widths along x and along y were measured."""
    return 0 < data.model.upright[data.item[~data.deep]].sum() < (~data.deep).sum()


def _check_directions(data: Data) -> None:
    if not _both_directions(data):
        upright = data.model.upright[data.item[~data.deep]]
        raise InputError(
            f"an elliptical spot is undetermined, since all widths are of lines along "
            f"{'y' if upright.all() else 'x'}; measure lines along the other axis too"
        )


def _check_vague(solution: FitSolution) -> None:
    """Raise for an unknown that the data hardly determines."""
    for name, half in zip(solution.unknowns.names, solution.half, strict=True):
        if name not in (LINEAR, OFFSET) and not half < _VAGUE:
            value = float(np.exp(solution.theta[solution.unknowns.names.index(name)]))
            what = {
                "fwhm": f"the FWHM, {figure(value * 1000)} µm,", "critical_dose": "the critical dose",
                ASPECT: "the spot's aspect", "e_c": "E_c", "penetration_depth": "the penetration depth",
            }[name]  # fmt: skip
            more = "depths" if name in ("e_c", "penetration_depth") else "widths"
            interval = (
                f"its 95 % interval goes to {figure(np.exp(half))} times it"
                if half < 20
                else "all is possible"
            )
            raise InputError(
                f"{what} is undetermined: {interval}; measure more {more}, of line energies further apart"
            )


# From visibility alone


def _only_seen(
    data: Data, measurements: Measurements, options: Options, given: Physics, notes: list[str]
) -> Fit:
    """The critical dose between the strongest item that is not visible and the weakest that is."""
    dose = _peaks(data, given)[data.seen]
    shown, hidden = dose[data.sign > 0], dose[data.sign < 0]
    if not shown.size or not hidden.size:
        what = "visible" if shown.size else "invisible"
        raise InputError(
            f"the critical dose is undetermined, since all items are {what}; expose a chart of other line "
            "energies"
        )
    low, high = sorted((float(shown.min()), float(hidden.max())))
    value = float(np.sqrt(low * high))
    notes = [
        "the critical dose is only known to lie between the strongest item that is not visible and the "
        "weakest that is; widths would tell it better, and would test reciprocity, which is assumed", *notes,
    ]  # fmt: skip
    return Fit(
        (Estimate("critical_dose", value, low, high),), replace(given, critical_dose=value),
        data.model.profile, measurements.order, (), {}, None, 0.0, tuple(notes),
    )  # fmt: skip


# Notes and warnings


def _report(
    candidates: Sequence[Candidate],
    choice: Candidate,
    measurements: Measurements,
    options: Options,
    notes: list[str],
) -> Fit:
    data, solution = choice.data, choice.solution
    limit = float(norm.isf(FALSE_ALARM / (2 * max(int(solution.used.sum()), 1))))
    residuals = tuple(residuals_of(data, solution, limit))
    sure = [r for r in residuals if r.used and r.what in options.known]
    result = Fit(
        estimates=tuple(estimates_of(candidates, choice)),
        physics=solution.physics,
        profile=choice.profile,
        order=measurements.order,
        residuals=residuals,
        noise={name: s for name, s in solution.noise.items() if any(r.what == name for r in residuals)},
        chi2=sum(((r.measured - r.fitted) / r.sigma) ** 2 for r in sure) if sure else None,
        freedom=float(len(sure) - _freedom_taken(solution, data, options)),
        shapes=weights_of(candidates),
    )
    levels = measurements.levels
    warnings = tuple(_warnings_of(result, levels, data, solution))
    return replace(result, notes=(*notes, *_notes_of(result, levels)), warnings=warnings)


def _freedom_taken(solution: FitSolution, data: Data, options: Options) -> float:
    """Degrees of freedom that the fit took from the sizes of known standard deviation."""
    return float(solution.leverage[data.within(options.known)].sum())

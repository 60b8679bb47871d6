"""What a fit says in words: notes on data left out, and warnings of contradictions and doubts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import figure
from laserpath.calibration.data import LINEAR, OFFSET, Data
from laserpath.calibration.estimates import Estimate, Fit
from laserpath.calibration.fitting import FitSolution
from laserpath.calibration.formatting import supported
from laserpath.calibration.levels import Levels
from laserpath.calibration.model import TRUSTED, Physics

FALSE_ALARM = 0.01
"""Probability of a warning about sound data; a larger one finds more outliers, some of them false."""
_SAME_OFFSET = 0.1
"""Difference, in levels, up to which two offsets of the light count as one: on an ATmega 5 % of the light of
level 1, and less at all others."""
_IDS_LISTED = 6
_SIZE = {"width": "width", "diameter": "diameter", "merged": "gap where it closes", "depth": "depth"}


def peaks(data: Data, physics: Physics) -> Floats:
    """(N,) dose in the middle of each item, at the tip of a wedge; in critical doses."""
    return np.exp(np.minimum(data.model.sizes(physics).excess, 500))


def notes(result: Fit, levels: Levels | None) -> Iterator[str]:
    """What was left out, and what the estimates mean. levels: that the chart was written with."""
    yield from _too_strong(result)
    yield from _layer(result)
    if levels is not None:
        yield from _light(result, levels)


def warnings(result: Fit, levels: Levels | None, data: Data, solution: FitSolution) -> Iterator[str]:
    """Contradictions and doubts. levels: that the chart was written with."""
    if levels is not None:
        yield from _other_light(result, levels)
    yield from _outliers(result)
    yield from _contradictions(data, solution)
    yield from _reciprocity(result)
    yield from _doubtful(result)


def _names(ids: list[str]) -> str:
    some = ", ".join(ids[:_IDS_LISTED])
    return some if len(ids) <= _IDS_LISTED else f"{some} and {len(ids) - _IDS_LISTED} more"


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
    dose = peaks(data, solution.physics)[data.seen]
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
            f"{1 + m.high:.3f}), so that the critical dose holds for lines at {result.physics.speed:g} mm/s "
            "only; give the speed that you will write with"
        )


def _light(result: Fit, levels: Levels) -> Iterator[str]:
    """Whether the light of levels is that of the machine's profile."""
    if (found := _offset(result)) is not None and not _is_other(found, levels):
        yield f"level_offset = {levels.offset:g} of the machine's profile holds ({_interval(found)})"


def _other_light(result: Fit, levels: Levels) -> Iterator[str]:
    """The profile's line for the light of levels, if its own is wrong."""
    if (found := _offset(result)) is not None and _is_other(found, levels):
        more = "brighter" if found.value > levels.offset else "more weakly"
        yield (
            f"low levels shine {more} than by the machine's profile, level_offset = {levels.offset:g}: put "
            f"level_offset = {supported(found)[0]} there ({_interval(found)})"
        )


def _offset(result: Fit) -> Estimate | None:
    return result[OFFSET] if OFFSET in result.names else None


def _is_other(found: Estimate, levels: Levels) -> bool:
    outside = not found.low <= levels.offset <= found.high
    return outside and abs(found.value - levels.offset) > _SAME_OFFSET


def _interval(found: Estimate) -> str:
    _, low, high = supported(found)
    return f"95 % from {low} to {high}"


def _doubtful(result: Fit) -> Iterator[str]:
    p = result.p_value
    if p is not None and p < FALSE_ALARM:
        yield (
            f"the sizes scatter more than was said: chi² is {figure(result.chi2 or 0, 4)} with "
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

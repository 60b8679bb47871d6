"""Exposure latitude in words: the range of dose in which the edge keeps a tolerance, in focus and out of it.

The error is interpolated linearly between the doses of the process window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.report.numbers import number
from laserpath.types.results import ProcessWindow

_GROWN = 1.5
"""Factor on the mean error. If no dose keeps the tolerance, the range of dose within this factor is named."""
_BAND = 0.101
"""Relative change of dose to be expected of laser and resin: 10 %, plus a margin for rounding."""
_LOST = 0.01
"""Share of the outline without an edge within that band, above which it is named. A larger one warns less."""
_BETTER = 0.9
"""Mean error at the best dose ÷ the planned one, below which the best dose is named..."""
_TELLING_FWHM = 0.005
"""... if it is also smaller by this much, in FWHM."""


@dataclass(frozen=True, slots=True)
class Latitude:
    """low, high: relative doses between which a tolerance is kept.  least, most: ends of the window."""

    low: float
    high: float
    least: float
    most: float

    @property
    def text(self) -> str:
        """'−8 % to +12 %', rounded inwards; 'or more' where it reaches the end of the window."""
        low, high = math.ceil(100 * (self.low - 1) - 1e-6), math.floor(100 * (self.high - 1) + 1e-6)
        if low > high:
            return percent((self.low + self.high) / 2 - 1)
        less = " or less" if self.low <= self.least else ""
        more = " or more" if self.high >= self.most else ""
        return f"{percent(low / 100)}{less} to {percent(high / 100)}{more}"


def percent(part: float) -> str:
    """A relative change: '−8 %', '0 %', '+12 %'."""
    whole = round(100 * part)
    return f"{whole:+d} %".replace("-", "−") if whole else "0 %"


def latitude(dose: Floats, error: Floats, limit: float) -> Latitude | None:
    """The range of dose (D,) around the planned one, 1, in which the error (D,) stays within a limit.

    If the planned dose exceeds the limit, the range around the best dose; None if all doses exceed it.
    """
    start = planned(dose)
    if error[start] > limit:
        start = int(np.argmin(error))
    if error[start] > limit:
        return None
    low, high = (_end(dose, error, limit, start, step) for step in (-1, 1))
    return Latitude(low, high, float(dose[0]), float(dose[-1]))


def planned(dose: Floats) -> int:
    """Index of the dose nearest to the planned one."""
    return int(np.argmin(np.abs(dose - 1)))


def _end(dose: Floats, error: Floats, limit: float, k: int, step: int) -> float:
    """The dose at which the error crosses the limit, from index k in steps of ±1; else the last dose."""
    last = 0 if step < 0 else len(dose) - 1
    while k != last and error[k + step] <= limit:
        k += step
    if k == last:
        return float(dose[k])
    part = (limit - error[k]) / (error[k + step] - error[k])
    return float(dose[k] + part * (dose[k + step] - dose[k]))


def in_words(window: ProcessWindow, limit: float, micrometres: Callable[[float], str]) -> str:
    """A process window in words. limit: of the 95th percentile, FWHM.  micrometres: writes a length."""
    return " ".join(_sentences(window, limit, micrometres))


def _sentences(window: ProcessWindow, limit: float, micrometres: Callable[[float], str]) -> Iterator[str]:
    dose, nominal = window.dose, planned(window.dose)
    kept = [latitude(dose, error, limit) for error in window.epe_p95]
    tolerance = f"{micrometres(limit)} ({number(limit, 2)} FWHM)"
    mean = window.epe_mean[0]
    if any(kept):
        held = [f"{one.text} {focus(w)}" for w, one in zip(window.width, kept, strict=True) if one]
        not_held = [focus(w) for w, one in zip(window.width, kept, strict=True) if not one]
        never = f", and at no dose {_listed(not_held)}" if not_held else ""
        yield f"95 % of the edge is within {tolerance} while the dose is off by {_listed(held)}{never}."
    else:
        whole = f"from {percent(dose[0] - 1)} to {percent(dose[-1] - 1)}"
        yield f"At no dose {whole} of the planned one is 95 % of the edge within {tolerance}."
        near = latitude(dose, mean, _GROWN * mean[nominal])
        if near:
            yield (
                f"The mean error, {micrometres(mean[nominal])} as planned, grows by no more than half while "
                f"the dose is off by {near.text} {focus(window.width[0])}."
            )
    best = int(np.argmin(mean))
    if mean[best] < min(_BETTER * mean[nominal], mean[nominal] - _TELLING_FWHM):
        yield (
            f"The mean error would be least at {percent(dose[best] - 1)} of dose, "
            f"{micrometres(mean[best])} instead of {micrometres(mean[nominal])}."
        )
    yield from _losses(window)


def _listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _losses(window: ProcessWindow) -> Iterator[str]:
    """The additional share of the outline that has no edge at an expected dose."""
    likely = np.flatnonzero(np.abs(window.dose - 1) <= _BAND)
    if not len(likely):
        return
    missing = window.missing_edges[0]
    more = (missing - missing[planned(window.dose)]) / window.samples
    worst = likely[int(np.argmax(more[likely]))]
    if more[worst] > _LOST:
        yield (
            f"At {percent(window.dose[worst] - 1)} of dose another {100 * more[worst]:.0f} % of the outline "
            "has no printed edge near."
        )


def focus(width: float) -> str:
    """A relative width of the spot in words."""
    if width == 1:
        return "in focus"
    return f"with a spot {percent(abs(width - 1)).lstrip('+')} {'wider' if width > 1 else 'narrower'}"

"""Exposure latitude: between which doses the edge keeps a tolerance, in focus and out of it, in words.

Between the doses of the window the error is taken as a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.report.numbers import number
from laserpath.types.results import ProcessWindow

_HALF_AS_MUCH = 1.5
_BAND = 0.101
"""Doses that may be expected of a laser and a resin: within 10 %, and what rounding adds."""
_LOST = 0.01
_BETTER = 0.9
_TELLING_FWHM = 0.005


@dataclass(frozen=True, slots=True)
class Latitude:
    """low, high: relative doses between which a tolerance is kept.  least, most: the window's ends."""

    low: float
    high: float
    least: float
    most: float

    @property
    def text(self) -> str:
        """'−8 % to +12 %', rounded to the safe side; what reaches the window's end may go on there."""
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
    """The doses (D,) at which the error (D,) stays within a limit: those around the planned one, 1.

    Where the planned one does not keep it, those around the best one; None if no dose does.
    """
    at = planned(dose)
    if error[at] > limit:
        at = int(np.argmin(error))
    if error[at] > limit:
        return None
    low, high = (_end(dose, error, limit, at, step) for step in (-1, 1))
    return Latitude(low, high, float(dose[0]), float(dose[-1]))


def planned(dose: Floats) -> int:
    """Index of the dose nearest to the planned one."""
    return int(np.argmin(np.abs(dose - 1)))


def _end(dose: Floats, error: Floats, limit: float, at: int, step: int) -> float:
    """Where the error goes through the limit, from `at` on in steps of ±1; the last dose if nowhere."""
    last = 0 if step < 0 else len(dose) - 1
    while at != last and error[at + step] <= limit:
        at += step
    if at == last:
        return float(dose[at])
    part = (limit - error[at]) / (error[at + step] - error[at])
    return float(dose[at] + part * (dose[at + step] - dose[at]))


def in_words(window: ProcessWindow, limit: float, micrometres: Callable[[float], str]) -> str:
    """What a window means; limit: on the 95th percentile, FWHM.  micrometres: writes a length of FWHMs."""
    return " ".join(_sentences(window, limit, micrometres))


def _sentences(window: ProcessWindow, limit: float, micrometres: Callable[[float], str]) -> Iterator[str]:
    dose, at = window.dose, planned(window.dose)
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
        near = latitude(dose, mean, _HALF_AS_MUCH * mean[at])
        if near:
            yield (
                f"The mean error, {micrometres(mean[at])} as planned, grows by no more than half while the "
                f"dose is off by {near.text} {focus(window.width[0])}."
            )
    best = int(np.argmin(mean))
    if mean[best] < min(_BETTER * mean[at], mean[at] - _TELLING_FWHM):
        yield (
            f"The mean error would be least at {percent(dose[best] - 1)} of dose, "
            f"{micrometres(mean[best])} instead of {micrometres(mean[at])}."
        )
    yield from _losses(window)


def _listed(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _losses(window: ProcessWindow) -> Iterator[str]:
    """How much more of the outline has no edge at a dose that may be expected."""
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
    """What a relative width of the spot is called."""
    if width == 1:
        return "in focus"
    return f"with a spot {percent(abs(width - 1)).lstrip('+')} {'wider' if width > 1 else 'narrower'}"

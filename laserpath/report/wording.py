"""Figures in words: numbers, the faults of an inspection, the distance to the limit, exposure latitude.

Limit: the best dose that this spot could expose without a path. A plan is compared with it by the mean edge
error as executed and the number of contour points without an edge. It is a numerical optimum, not a proven
bound, and it weighs the process window and the largest dose too, so that a plan may have slightly truer
edges.

Latitude: the range of dose in which the edge keeps a tolerance, in focus and out of it. The error is
interpolated linearly between the doses of the process window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.quantities import place
from laserpath.design.scene import CORNER_FWHM
from laserpath.measure import summary
from laserpath.measure.places import THRESHOLD_FWHM
from laserpath.types import Settings
from laserpath.types.results import EPE_CAP_FWHM, Fault, Inspection, Limit, ProcessWindow, Report

_TINY = 1e-4
"""Positive numbers below this are written as '<0.0001'."""

_SMALL = 0.01
"""mm²; smaller areas are written in µm²."""


def number(value: float, digits: int = 3) -> str:
    """`value` to `digits` significant digits, never in exponent form; a dash if it is not finite."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) < _TINY:
        return f"<{_TINY:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)) + 1e-12))
    return f"{value:.{decimals}f}"


def area(value: float, digits: int = 3) -> str:
    """An area given in mm², with its unit: mm², or µm² if it is small."""
    return (
        f"{number(value, digits)} mm²"
        if value == 0 or value >= _SMALL
        else f"{number(1e6 * value, digits)} µm²"
    )


def duration(seconds: float) -> str:
    """A time in s as text: 0.84 s, 32 s, 5 min 20 s, 2 h 05 min."""
    if not math.isfinite(seconds):
        return "–"
    if seconds < 59.95:
        return f"{number(seconds)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def percent(share: float) -> str:
    """A share of 0…1 in percent, with a second decimal where the first would round it to 100 %."""
    text = f"{100 * share:.1f}"
    return f"{100 * share:.2f} %" if text == "100.0" and share < 1 else f"{text} %"


WRONG_AREA, WRONG_OUTLINE = 0.001, 0.01
"""Shares of the drawn area and of the outline that may be wrong; a print with more is poor."""

LEAST_FWHM2 = 0.1
"""Wrong area, in FWHM², up to which a print of any size is not poor."""

_KINDS, _PLACES = 3, 3
"""Largest number of kinds named in sentences, and of places named if there is only one kind."""

_ROWS = 200
"""Largest number of faults listed one by one."""

_WORDS = {
    "lost": ("feature lost", "features lost"),
    "filled": ("hole closed", "holes closed"),
    "closed": ("gap closed", "gaps closed"),
    "cut": ("cut through a part", "cuts through parts"),
    "joined": ("bridge between parts", "bridges between parts"),
    "pad": ("pad lost", "pads lost"),
    "pinhole": ("pinhole", "pinholes"),
    "slit": ("slit left in a part", "slits left in parts"),
    "hole": ("hole", "holes"),
    "speck": ("speck beside the parts", "specks beside the parts"),
    "bite": ("piece missing at an edge", "pieces missing at edges"),
    "blob": ("piece too much at an edge", "pieces too much at edges"),
}
"""Singular and plural of each kind of `results.Fault`; a long or large pinhole is a 'slit' or a 'hole'."""

_ON_BOARDS = {"cut": ("track cut", "tracks cut"), "joined": ("bridge between nets", "bridges between nets")}
"""The same for the copper of a board."""

_PINHOLE_FWHM = 2.0
"""Largest size, in FWHM, of a pinhole; a larger one is called a hole or a slit."""


def too_much_wrong(inspection: Inspection, fwhm: float) -> bool:
    """Whether more of the area is wrong than a usable print may have."""
    return inspection.wrong_area > LEAST_FWHM2 * fwhm**2 and inspection.wrong_share > WRONG_AREA


def too_far_off(inspection: Inspection) -> bool:
    """Whether more of the outline lacks a printed edge than a usable print may."""
    return inspection.wrong_outline > WRONG_OUTLINE


def kinds(faults: Sequence[Fault], fwhm: float, listed: int = 1) -> tuple[str, ...]:
    """A phrase for each kind, in order: `2 pinholes, the largest 0.05 mm at (87.200, 12.600)`."""
    groups: dict[tuple[str, str], list[Fault]] = {}
    for one in faults:
        groups.setdefault(_words(one, fwhm), []).append(one)
    return tuple(_phrase(words, some, listed, fwhm) for words, some in groups.items())


def kind_of(one: Fault, fwhm: float) -> str:
    """The kind of a fault; a large pinhole is a 'hole' or a 'slit'. fwhm: mm."""
    if one.kind == "pinhole" and one.size > _PINHOLE_FWHM * fwhm:
        return "hole" if one.width is None else "slit"
    return one.kind


def _words(one: Fault, fwhm: float) -> tuple[str, str]:
    kind = kind_of(one, fwhm)
    return _ON_BOARDS[kind] if one.net is not None and kind in _ON_BOARDS else _WORDS[kind]


def size(one: Fault) -> str:
    """Size as text, `0.051 mm`; width × length if the fault is long and narrow."""
    width = "" if one.width is None else f"{number(one.width, 2)} × "
    return f"{width}{number(one.size, 2)} mm"


def _phrase(words: tuple[str, str], some: Sequence[Fault], listed: int, fwhm: float) -> str:
    some = sorted(some, key=lambda one: -one.size)
    first, *others = some
    largest = f"{size(first)} at {place(first.at, fwhm)}" + (f", {first.net}" if first.net else "")
    why = _too_fine(some, fwhm)
    if not others:
        return f"1 {words[0]}, {largest}{why}"
    phrase = f"{len(some)} {words[1]}, the largest {largest}"
    named, more = others[: listed - 1], len(others[listed - 1 :])
    if named:
        rest = [*(place(one.at, fwhm) for one in named), *([f"{more} more"] if more else [])]
        phrase += ", others at " + (" and ".join([", ".join(rest[:-1]), rest[-1]]) if rest[1:] else rest[0])
    return phrase + why


def _too_fine(some: Sequence[Fault], fwhm: float) -> str:
    """The reason, if parts or gaps are gone that are all narrower than the spot; else ''."""
    if any(
        one.kind not in ("lost", "filled", "closed", "pad") or (one.width or one.size) >= fwhm for one in some
    ):
        return ""
    return f", {'all ' * (len(some) > 1)}narrower than the spot"


def rounded(inspection: Inspection | None, fwhm: float) -> str:
    """How the figures count the points at rounded corners, if there are any. fwhm: mm."""
    if inspection is None:
        return ""
    return " ".join((*_without_edge(inspection, fwhm), *_astray(inspection, fwhm)))


def _without_edge(inspection: Inspection, fwhm: float) -> Iterator[str]:
    if not inspection.rounded:
        return
    points = "1 of the points without an edge is at a corner" if inspection.rounded == 1 else (
        f"{inspection.rounded} of the points without an edge are at corners"
    )  # fmt: skip
    yield (
        f"{points}, which a spot of {number(1000 * fwhm)} µm rounds off: an edge is printed within "
        f"{number(1000 * CORNER_FWHM * fwhm, 2)} µm across the corner, so nothing is lost there. "
        f"Mean and 95 % count each as {EPE_CAP_FWHM:g} FWHM, the largest error does not."
    )


def _astray(inspection: Inspection, fwhm: float) -> Iterator[str]:
    if not inspection.astray:
        return
    points = (
        "1 point at a corner finds"
        if inspection.astray == 1
        else f"{inspection.astray} points at corners find"
    )
    yield (
        f"{points} the edge of another wall or part straight out, which mean and 95 % count; across the "
        f"corner an edge is printed within {number(1000 * CORNER_FWHM * fwhm, 2)} µm, which counts for the "
        "largest error and the verdict."
    )


def sentences(inspection: Inspection, fwhm: float) -> Iterator[str]:
    """A sentence for each of the worst kinds, the topology first, and one for the wrong area."""
    alone = len({_words(one, fwhm) for one in (*inspection.faults, *inspection.flaws)}) == 1
    phrases = [
        phrase
        for some in (inspection.faults, inspection.flaws)
        for phrase in kinds(some, fwhm, _PLACES if alone else 1)
    ]
    yield from (f"{phrase}." for phrase in phrases[:_KINDS])
    if len(phrases) > _KINDS:
        more = len(phrases) - _KINDS
        yield f"{more} more kind{'s' * (more > 1)} of fault {'are' if more > 1 else 'is'} in the list below."
    if inspection.flaws or too_much_wrong(inspection, fwhm):
        yield (
            f"Away from the edges {area(inspection.wrong_area, 2)} are wrong, "
            f"{number(100 * inspection.wrong_share, 2)} % of the drawn area."
        )


def listed(inspection: Inspection, fwhm: float) -> tuple[tuple[tuple[str, str, str], ...], int]:
    """((kind, size, place) of each, number of those left out); none if the sentences name them all."""
    every = (*inspection.faults, *inspection.flaws)
    if len(every) <= 1:
        return (), 0
    rows = tuple(
        (" ".join(filter(None, (_words(one, fwhm)[0], one.net))), size(one), place(one.at, fwhm))
        for one in every[:_ROWS]
    )
    return rows, len(every) - len(rows)


ROWS_OF_LIMIT = ("epe_mean", "epe_p95", "missing_edges", "iou")
"""The figures by which plan and limit are compared; keys of `figure_table.ROWS`."""


def not_computed(settings: Settings | None) -> str:
    """Why the best that any path could do is not known."""
    if settings and settings.brief:
        return "Not computed: a brief report was asked for, and no path depends on it."
    return "Not computed: for so large a design it would take long to find what no path could print."


_NEARER = 0.95
"""Mean edge error ÷ the limit's, below which the plan counts as truer than the limit."""
_REACHED = 1.1
"""Mean edge error ÷ the limit's, up to which a plan counts as the best possible. A larger ratio advises a
finer quality less often."""


def times_the_limit(report: Report) -> float:
    """Mean edge error as executed ÷ the limit's; NaN without a limit, 1 if both are 0."""
    if report.limit is None:
        return float("nan")
    plan, best = report.executed.figures.epe_mean, report.limit.figures.epe_mean
    return plan / best if best > 0 else 1.0 if plan == 0 else float("inf")


def reached(report: Report) -> bool:
    """Whether the plan is so near the limit that another could hardly have truer edges."""
    return times_the_limit(report) <= _REACHED


def limit_in_words(report: Report, limit: Limit, micrometres: Callable[[float], str]) -> str:
    """The limit, and how near the plan comes to it. micrometres: writes a length given in FWHM."""
    plan, best, times = report.executed.figures, limit.figures, times_the_limit(report)
    error = f"{micrometres(best.epe_mean)} ({number(best.epe_mean, 2)} FWHM)"
    if times < _NEARER:
        edge = (
            f"The best light found without a path is {error} off on average, as it also weighs the process "
            f"window and the largest dose. This plan is nearer: {micrometres(plan.epe_mean)} as executed."
        )
    else:
        edge = (
            f"The best light found is {error} off on average with this spot, which estimates what a path can "
            f"reach; this plan is at {number(times, 2)} times that, {micrometres(plan.epe_mean)} as executed."
        )
    return f"{edge} {_missing(plan.missing_edges, best.missing_edges, best.samples)}".strip()


def _missing(plan: int, best: int, samples: int) -> str:
    """The points without an edge in plan and limit; nothing if all edges print."""
    if not plan and not best:
        return ""
    possible = f"{best} cannot" if best else "all could"
    return f"Of {samples} points along the contour {possible} have an edge; in this plan {plan} have none."


def unprintable_in_words(limit: Limit) -> tuple[str, ...]:
    """One sentence for each kind of place that even the limit misses."""
    return tuple(f"{sentence}." for sentence in summary(limit.unprintable)) or (
        f"Nothing: no edge has to be off by more than {THRESHOLD_FWHM:g} FWHM, and nothing is lost at "
        "10 % more or less dose.",
    )


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
            return signed_percent((self.low + self.high) / 2 - 1)
        less = " or less" if self.low <= self.least else ""
        more = " or more" if self.high >= self.most else ""
        return f"{signed_percent(low / 100)}{less} to {signed_percent(high / 100)}{more}"


def signed_percent(part: float) -> str:
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


def latitude_in_words(window: ProcessWindow, limit: float, micrometres: Callable[[float], str]) -> str:
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
        whole = f"from {signed_percent(dose[0] - 1)} to {signed_percent(dose[-1] - 1)}"
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
            f"The mean error would be least at {signed_percent(dose[best] - 1)} of dose, "
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
            f"At {signed_percent(window.dose[worst] - 1)} of dose another {100 * more[worst]:.0f} % "
            "of the outline has no printed edge near."
        )


def focus(width: float) -> str:
    """A relative width of the spot in words."""
    if width == 1:
        return "in focus"
    return f"with a spot {signed_percent(abs(width - 1)).lstrip('+')} {'wider' if width > 1 else 'narrower'}"

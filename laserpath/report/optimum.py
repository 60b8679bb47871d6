"""How near a plan comes to the limit: the best dose that this spot could expose without a path.

The mean edge error as executed is compared, and the number of contour points without an edge. The limit is a
numerical optimum, not a proven bound, and it weighs the process window and the largest dose too, so that a
plan may have slightly truer edges.
"""

from __future__ import annotations

from collections.abc import Callable

from laserpath.measure import summary
from laserpath.measure.places import THRESHOLD_FWHM
from laserpath.report.numbers import number
from laserpath.types.results import Limit, Report

ROWS_OF_LIMIT = ("epe_mean", "epe_p95", "missing_edges", "iou")
"""The figures by which plan and limit are compared; keys of `figure_table.ROWS`."""

NOT_COMPUTED = "Not computed: for so large a design it would take long to find what no path could print."

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


def in_words(report: Report, limit: Limit, micrometres: Callable[[float], str]) -> str:
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

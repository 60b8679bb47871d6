"""The table of figures: what each row is called, its unit, what it means, how its number is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from laserpath.types.results import EPE_CAP_FWHM, is_capped

_TINY = 1e-4
_SMALL = 0.01


def number(value: float, digits: int = 3) -> str:
    """`value` to `digits` significant digits, never in exponent form; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) < _TINY:
        return f"<{_TINY:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)) + 1e-12))
    return f"{value:.{decimals}f}"


def area(value: float, digits: int = 3) -> str:
    """mm² with the unit, in µm² where they are few."""
    return (
        f"{number(value, digits)} mm²"
        if value == 0 or value >= _SMALL
        else f"{number(1e6 * value, digits)} µm²"
    )


def duration(seconds: float) -> str:
    """Seconds as people say them: 0.84 s, 32 s, 5 min 20 s, 2 h 05 min."""
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
    """A share of 0…1, with as many digits as tell it from all."""
    said = f"{100 * share:.1f}"
    return f"{100 * share:.2f} %" if said == "100.0" and share < 1 else f"{said} %"


def at_least(key: str, value: float) -> str:
    """`≥ ` before an edge error at the cap: no edge was found as far as it was looked for."""
    return "≥ " if is_capped(key, value) else ""


def tolerance_missed(reached: float, asked: float, fwhm: float) -> str:
    """By how much 95 % of the edge miss what was asked for; reached, asked: FWHM.  fwhm: mm."""
    wanted = f"{asked * 1000 * fwhm:.3g} µm"
    if is_capped("epe_p95", reached):
        cap = f"{EPE_CAP_FWHM * 1000 * fwhm:.3g} µm"
        return f"less than 95 % of the edge is within {cap}; asked for are {wanted}"
    return f"95 % of the edge is within {reached * 1000 * fwhm:.3g} µm, above the {wanted} asked for"


def mean_explained(figures: Mapping[str, float]) -> str:
    """Why the mean edge error is above what 95 % of the edge keep, where it is; else nothing."""
    missing = figures.get("missing_edges", 0)
    if not missing or not figures["epe_mean"] > figures["epe_p95"]:
        return ""
    return (
        f"The mean edge error is above what 95 % of the edge keep, because {missing:.0f} of "
        f"{figures['samples']:.0f} points have no edge, and each counts as {EPE_CAP_FWHM:g} FWHM."
    )


def means_explained(columns: Iterable[tuple[str, Mapping[str, float]]]) -> list[tuple[str, str]]:
    """(column, why its mean edge error is above what 95 % of the edge keep), of those where it is."""
    return [(name, why) for name, figures in columns if (why := mean_explained(figures))]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. better: 'low', 'high' or '' (neither).  lengths: its unit is FWHM."""

    key: str
    label: str
    unit: str
    meaning: str
    better: str = "low"
    lengths: bool = False
    write: Callable[[float], str] = number

    def value(self, figures: Mapping[str, float]) -> float:
        """The bare number."""
        return float(figures[self.key])

    def text(self, figures: Mapping[str, float]) -> str:
        """The number as the table has it."""
        value = self.value(figures)
        return at_least(self.key, value) + self.write(value)

    def micrometres(self, figures: Mapping[str, float], fwhm: float) -> str:
        """The same length in µm, or nothing for what is no length."""
        value = self.value(figures)
        return (
            f"{at_least(self.key, value)}{number(value * fwhm * 1000)} µm"
            if self.lengths and math.isfinite(value)
            else ""
        )


def _count(value: float) -> str:
    return f"{value:.0f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}" if math.isfinite(value) else "–"


_EPE = "distance from the drawn edge to the printed one, at points every quarter spot along the contour"

GROUPS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "Edges",
        (
            Row("epe_mean", "Edge error, mean", "FWHM", f"Mean of |EPE|: the {_EPE}.", lengths=True),
            Row(
                "epe_p95",
                "Edge error, 95 %",
                "FWHM",
                "95 % of the contour lies nearer than this to the printed edge. It can be below "
                "the mean, in which each point without an edge counts as 2 FWHM.",
                lengths=True,
            ),
            Row(
                "epe_max",
                "Edge error, largest",
                "FWHM",
                "The worst point; ≥ 2 FWHM where no edge prints as near as that.",
                lengths=True,
            ),
            Row(
                "epe_mean_smooth",
                "… mean, away from corners",
                "FWHM",
                "Mean of |EPE| without the points near a corner, which a round spot always rounds.",
                lengths=True,
            ),
            Row(
                "epe_max_smooth",
                "… largest, away from corners",
                "FWHM",
                "Largest |EPE| without the points near a corner.",
                lengths=True,
            ),
            Row(
                "missing_edges",
                "Points without an edge",
                "",
                "Contour points with no printed edge within 2 FWHM along their normal: a feature is lost, a "
                "gap has filled, or the point is at a corner that the spot rounds off.",
                write=_count,
            ),
            Row(
                "samples",
                "Points measured",
                "",
                "Points along the contour where the edge was looked for.",
                "",
                write=_count,
            ),
        ),
    ),
    (
        "Robustness",
        (
            Row(
                "pv_band",
                "Process-variation band, dose ±10 %",
                "",
                "Area that cures at dose +10 % but not at −10 %, divided by perimeter × FWHM: how far the "
                "edge wanders when laser or resin drift.",
            ),
            Row(
                "pv_defocus",
                "… out of focus",
                "",
                "Area that changes when the spot is 15 % wider at the same energy, divided by "
                "perimeter × FWHM.",
            ),
        ),
    ),
    (
        "Area and dose",
        (
            Row(
                "iou",
                "Overlap with the design (IoU)",
                "%",
                "Intersection ÷ union of the cured area and the design; 100 % is perfect.",
                "high",
                write=_percent,
            ),
            Row("overcure", "Overcured area", "", "Cured although not drawn.", write=area),
            Row("undercure", "Undercured area", "", "Drawn but not cured.", write=area),
            Row(
                "dose_max",
                "Largest dose",
                "× critical",
                "The largest dose in units of the critical dose: too much cures too deep and scatters.",
            ),
        ),
    ),
    (
        "Time and path",
        (
            Row(
                "write_time",
                "Write time",
                "s",
                "What the controller needs, with acceleration, bends, look-ahead and travel.",
            ),
            Row(
                "ideal_time",
                "Ideal time",
                "s",
                "Length ÷ commanded speed: a controller that never slows down.",
            ),
            Row("write_length", "Length, laser on", "mm", "Length of the exposing moves.", ""),
            Row("travel_length", "Length, travel", "mm", "Length of the moves with the laser off."),
            Row("toggles", "Laser switched", "times", "How often the laser goes on or off.", write=_count),
            Row("lines", "G-code lines", "", "Lines of the program.", "", write=_count),
            Row(
                "segment_rate",
                "Peak move rate",
                "moves/s",
                "Moves per second in the busiest run that the planner sees at once: "
                "above its limit the link makes the machine wait.",
            ),
        ),
    ),
)
"""All rows of the table, by heading."""

ROWS = {row.key: row for _, rows in GROUPS for row in rows}

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("dose", "Energy of the light that a place of the resin has had, mJ/mm² (1 mJ/mm² = 100 mJ/cm²)."),
    ("critical dose", "The dose above which the layer cures (or, in a positive resist, is cleared)."),
    ("spot, FWHM", "The focused beam, and its full width at half maximum: the width of the pen."),
    (
        "EPE",
        "Edge placement error: how far the printed edge is from the drawn one. Plus is outside the design.",
    ),
    ("process-variation band", "The strip along the edge that a dose error of ±10 % decides."),
    ("IoU", "Intersection over union: the share of (cured or drawn) area that is both."),
    ("overcure, undercure", "Cured but not drawn; drawn but not cured."),
    ("travel", "A move with the laser off."),
    ("commanded", "Power and speed as written in the G-code."),
    ("limit", "The best exposure found for this spot and resin if light may fall anywhere, without a path."),
    ("executed", "With the speeds that the controller reaches between bends, by the motion model."),
    ("starting curve", "The plain toolpath that the plan started from, at its best single power."),
)

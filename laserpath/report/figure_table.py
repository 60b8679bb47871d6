"""The table of figures: everything that pages and terminal need to know about a figure stands in its `Row`.

A row in `_ALL` puts a figure into each table that its `shown` names. The value comes from
`types.results.PrintFigures` or `MotionFigures`, or from `simulation.DoseFigures`.

To add a figure: a `Row` here and a field of the same name in `types.results.PrintFigures` (computed in
`measure.figures.cure_figures`) or `MotionFigures` (computed in `MotionFigures.along`, added over parts in
`machine.program._summed`). A name that begins with `epe_` is shown with ≥ at the cap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Flag, auto

from laserpath.base.errors import figure
from laserpath.report.wording import area, duration, number
from laserpath.types.results import EPE_CAP_FWHM, is_capped


def at_least(key: str, value: float) -> str:
    """'≥ ' for an edge error at the cap, beyond which edges are not searched for; else ''."""
    return "≥ " if is_capped(key, value) else ""


def tolerance_missed(reached: float, tolerance: float, fwhm: float) -> str:
    """By how much 95 % of the edge miss a tolerance. reached, tolerance: FWHM.  fwhm: mm."""
    limit = f"{figure(tolerance * 1000 * fwhm)} µm"
    if is_capped("epe_p95", reached):
        cap = f"{figure(EPE_CAP_FWHM * 1000 * fwhm)} µm"
        return f"less than 95 % of the edge is within {cap}; asked for are {limit}"
    return f"95 % of the edge is within {figure(reached * 1000 * fwhm)} µm, above the {limit} asked for"


def mean_explained(figures: Mapping[str, float]) -> str:
    """Why the mean edge error exceeds the 95th percentile, if it does; else ''."""
    missing = figures.get("missing_edges", 0)
    if not missing or not figures["epe_mean"] > figures["epe_p95"]:
        return ""
    return (
        f"The mean edge error is above what 95 % of the edge keep, because {missing:.0f} of "
        f"{figures['samples']:.0f} points have no edge, and each counts as {EPE_CAP_FWHM:g} FWHM."
    )


def means_explained(columns: Iterable[tuple[str, Mapping[str, float]]]) -> list[tuple[str, str]]:
    """(column, explanation) for each column whose mean edge error exceeds its 95th percentile."""
    return [(name, why) for name, figures in columns if (why := mean_explained(figures))]


class Shown(Flag):
    """The tables that a figure is in: a plan's report, simulations and comparisons, a plan's terminal."""

    REPORT = auto()
    SIMULATION = auto()
    TERMINAL = auto()


_REPORT_AND_SIMULATION = Shown.REPORT | Shown.SIMULATION
_EVERYWHERE = _REPORT_AND_SIMULATION | Shown.TERMINAL


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. key: its name in the results and in JSON.  better: 'low', 'high' or '' (neither).

    lengths: its unit is FWHM.  write: its number as text.  short: label in a terminal of 80 columns, if it
    differs.  with_unit: value and unit as text, if they are not number and unit one after the other.
    """

    key: str
    label: str
    unit: str
    meaning: str
    better: str = "low"
    lengths: bool = False
    write: Callable[[float], str] = number
    short: str = ""
    with_unit: Callable[[float], str] | None = None
    shown: Shown = _REPORT_AND_SIMULATION

    @property
    def name(self) -> str:
        """The label for a terminal."""
        return self.short or self.label

    def value(self, figures: Mapping[str, float]) -> float:
        """The bare number."""
        return float(figures[self.key])

    def text(self, figures: Mapping[str, float]) -> str:
        """The number as the report's table shows it, without its unit."""
        value = self.value(figures)
        return at_least(self.key, value) + self.write(value)

    def micrometres(self, figures: Mapping[str, float], fwhm: float) -> str:
        """A length in µm, or '' if the figure is no length."""
        value = self.value(figures)
        return (
            f"{at_least(self.key, value)}{number(value * fwhm * 1000)} µm"
            if self.lengths and math.isfinite(value)
            else ""
        )

    def in_line(self, value: float, fwhm: float) -> str:
        """A finite value with its unit; a length in µm and, in brackets, in FWHM."""
        if self.lengths:
            return f"{at_least(self.key, value)}{number(1000 * fwhm * value, 2)} µm ({number(value, 2)})"
        if self.with_unit:
            return self.with_unit(value)
        return f"{self.write(value)} {self.unit}".strip()


def cell(key: str, figures: Mapping[str, float], fwhm: float) -> str:
    """A figure with its unit, for a terminal or a narrow table; a dash if it is not known."""
    value = figures.get(key)
    if value is None or not math.isfinite(value):
        return "–"
    if key == "missing_edges" and "samples" in figures:
        return f"{value} of {figures['samples']}"
    return ROWS[key].in_line(value, fwhm)


def _count(value: float) -> str:
    return f"{value:.0f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}" if math.isfinite(value) else "–"


_EPE = "distance from the drawn edge to the printed one, at points every quarter spot along the contour"

_ALL: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "Edges",
        (
            Row(
                "epe_mean", "Edge error, mean", "FWHM",
                f"Mean of |EPE|: the {_EPE}.",
                lengths=True, shown=_EVERYWHERE,
            ),
            Row(
                "epe_p95", "Edge error, 95 %", "FWHM",
                "95 % of the contour lies nearer than this to the printed edge. It can be below "
                "the mean, in which each point without an edge counts as 2 FWHM.",
                lengths=True, shown=_EVERYWHERE,
            ),
            Row(
                "epe_max", "Edge error, largest", "FWHM",
                "The worst point; ≥ 2 FWHM where no edge prints as near as that. A corner that the spot "
                "rounds off is measured across.",
                lengths=True, shown=_EVERYWHERE,
            ),
            Row(
                "epe_mean_tuned", "… mean, at its best power", "FWHM",
                "The mean edge error of the same path with the dose multiplied by the best factor.",
                lengths=True, shown=Shown.SIMULATION,
            ),
            Row(
                "epe_mean_smooth", "… mean, away from corners", "FWHM",
                "Mean of |EPE| without the points near a corner, which a round spot always rounds.",
                lengths=True, shown=Shown.REPORT,
            ),
            Row(
                "epe_max_smooth", "… largest, away from corners", "FWHM",
                "The worst point, without those near a corner.",
                lengths=True, shown=Shown.REPORT,
            ),
            Row(
                "missing_edges", "Points without an edge", "",
                "Contour points with no printed edge within 2 FWHM straight out: a feature is lost, a gap "
                "has filled, or the point is at a corner that the spot rounds off. Mean and 95 % count each "
                "as 2 FWHM.",
                write=_count, short="Edge missing", shown=_EVERYWHERE,
            ),
            Row(
                "samples", "Points measured", "",
                "Points along the contour where the edge was looked for.",
                better="", write=_count, shown=Shown.REPORT,
            ),
        ),
    ),
    (
        "Robustness",
        (
            Row(
                "pv_band", "Process-variation band, dose ±10 %", "",
                "Area that cures at dose +10 % but not at −10 %, divided by perimeter × FWHM: how far the "
                "edge wanders when laser or resin drift.",
                short="Dose ±10 % band", shown=_EVERYWHERE,
            ),
            Row(
                "pv_defocus", "… out of focus", "",
                "Area that changes when the spot is 15 % wider at the same energy, divided by "
                "perimeter × FWHM.",
                short="Out-of-focus band",
            ),
        ),
    ),
    (
        "Area and dose",
        (
            Row(
                "iou", "Overlap with the design (IoU)", "%",
                "Intersection ÷ union of the cured area and the design; 100 % is perfect.",
                better="high", write=_percent, short="Overlap (IoU)", shown=_EVERYWHERE,
            ),
            Row("overcure", "Overcured area", "", "Cured although not drawn.", write=area, short="Too much"),
            Row("undercure", "Undercured area", "", "Drawn but not cured.", write=area, short="Missing"),
            Row(
                "cured", "Area exposed", "",
                "What gets the critical dose or more.",
                better="", write=area, shown=Shown.SIMULATION,
            ),
            Row(
                "dose_max", "Largest dose", "× critical",
                "The largest dose in units of the critical dose: too much cures too deep and scatters.",
                shown=_EVERYWHERE,
            ),
            Row(
                "over_dosed", "Area over-dosed", "",
                "What gets more than the resin's largest dose wanted.",
                write=area, shown=Shown.SIMULATION,
            ),
        ),
    ),
    (
        "Time and path",
        (
            Row(
                "write_time", "Write time", "s",
                "What the controller needs, with acceleration, bends, look-ahead and travel.",
                with_unit=duration, shown=_EVERYWHERE,
            ),
            Row(
                "ideal_time", "Ideal time", "s",
                "Length ÷ speed as written: a controller that never slows down.",
                shown=Shown.REPORT,
            ),
            Row("write_length", "Length, laser on", "mm", "Length of the exposing moves.", better=""),
            Row("travel_length", "Length, travel", "mm", "Length of the moves with the laser off."),
            Row("toggles", "Laser switched", "times", "How often the laser goes on or off.", write=_count),
            Row("lines", "G-code lines", "", "Lines of the program.", better="", write=_count),
            Row(
                "segment_rate", "Peak move rate", "moves/s",
                "Moves per second in the busiest run that the planner sees at once: "
                "above its limit the link makes the machine wait.",
            ),
        ),
    ),
)  # fmt: skip
"""All figures, by heading; the order is that of every table."""

ROWS = {row.key: row for _, rows in _ALL for row in rows}

GROUPS = tuple((title, tuple(row for row in rows if Shown.REPORT in row.shown)) for title, rows in _ALL)
"""The figures of a plan's report, by heading."""


def keys_of(table: Shown) -> tuple[str, ...]:
    """The figures of a table, in order."""
    return tuple(key for key, row in ROWS.items() if table in row.shown)


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
    (
        "commanded",
        "The dose that the plan aims at. The powers and speeds in the G-code make up for what the controller "
        "changes, so that this is what is executed.",
    ),
    ("limit", "The best exposure found for this spot and resin if light may fall anywhere, without a path."),
    (
        "executed",
        "What the controller makes of the G-code: the speeds that it reaches between bends, its steps and "
        "its power levels, by a model of its firmware. This is what is judged.",
    ),
    ("starting curve", "The plain toolpath that the plan started from, at its best single power."),
)

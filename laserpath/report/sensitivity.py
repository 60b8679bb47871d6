"""In words: what a print is most sensitive to, what to do about it, and what would help the machine.

First comes what may be wrong without the user's knowledge: a setting of the controller, the link, the light
of its levels. A feed override is 100 % unless somebody turns it, so it has a sentence of its own.
"""

from __future__ import annotations

import math
from typing import Any

import gcode
from laserpath import optics
from laserpath.report.numbers import duration, number
from laserpath.types import Process
from laserpath.types.sensitivity import WORTH, Sensitivity, Variation

_FELT = 0.05
"""Rise of the mean edge error by the worst disturbance, as a share: up to it a print is not sensitive."""

_LOST_FWHM = 0.3
"""Mean edge error as planned, in FWHM, from which the print is lost anyway. A point without an edge counts as
2, so that this is some 15 % of the outline. A larger one judges the sensitivity of worse prints."""

_TOPICS = {
    "acceleration": "acceleration",
    "junction": "speed in bends",
    "link": "the link",
    "light": "the light of its power levels",
}

_PLURAL = ("levels", "steps")


def headline(sensitivity: Sensitivity, process: Process) -> str:
    """The worst disturbance, by how much it spoils the edges, and what to do; then what an override does."""
    if not sensitivity.disturbed:
        return "Nothing was disturbed."
    before = sensitivity.planned.epe_mean
    if before >= _LOST_FWHM:
        off = f"{number(1000 * optics.fwhm(process.spot) * before, 2)} µm"
        return (
            f"The print is lost even if the machine is as planned: its edges are {off} off on average. Mend "
            "that first; until then disturbances say little."
        )
    return " ".join(filter(None, (_on_machine(sensitivity, process), _on_override(sensitivity, process))))


def _on_machine(sensitivity: Sensitivity, process: Process) -> str:
    worst, before = sensitivity.worst, sensitivity.planned.epe_mean
    if worst is None:
        return ""
    if not _felt(worst, before):
        more = f"more than {100 * _FELT:.0f} %"
        return f"Hardly sensitive to the machine: no wrong setting raises the mean edge error by {more}."
    return (
        f"Most sensitive to {_TOPICS[worst.cause]}: with {worst.change} the mean edge error rises from "
        f"{_from_to(before, worst.figures.epe_mean, process)}. {_remedy(worst, process)}"
    )


def _on_override(sensitivity: Sensitivity, process: Process) -> str:
    worst, before = sensitivity.worst_override, sensitivity.planned.epe_mean
    if worst is None or not _felt(worst, before):
        return ""
    return (
        f"Leave the feed override at 100 %: {worst.change.removeprefix('a feed override of ')} would take it "
        f"from {_from_to(before, worst.figures.epe_mean, process)}."
    )


def _felt(one: Variation, before: float) -> bool:
    return one.figures.epe_mean > (1 + _FELT) * before


def help_in_words(sensitivity: Sensitivity, process: Process) -> tuple[str, ...]:
    """A sentence for each change of the machine that helps, the best first; one if none does.

    Empty if no change was tried.
    """
    if not sensitivity.improved:
        return ()
    helpful = sensitivity.helpful
    if not helpful:
        least = f"more than {100 * WORTH:.0f} %"
        tried = ", ".join(one.change for one in sensitivity.improved)
        return (f"Nothing that was tried would lower the mean edge error by {least}: {tried}.",)
    return tuple(_helps(one, sensitivity, process) for one in helpful)


def _helps(one: Variation, sensitivity: Sensitivity, process: Process) -> str:
    before, after = sensitivity.planned, one.figures
    verb = "take" if one.cause in _PLURAL else "takes"
    change = one.change[0].upper() + one.change[1:]
    text = f"{change} {verb} the mean edge error from {_from_to(before.epe_mean, after.epe_mean, process)}"
    if abs(after.write_time / before.write_time - 1) > WORTH:
        text += f", and the write time from {duration(before.write_time)} to {duration(after.write_time)}"
    return text + "."


def _from_to(before: float, after: float, process: Process) -> str:
    """`1.9 to 9.3 µm`. before, after: FWHM."""
    scale = 1000 * optics.fwhm(process.spot)
    first, last = number(scale * before, 2), number(scale * after, 2)
    if first == last:
        first, last = number(scale * before, 3), number(scale * after, 3)
    return f"{first} to {last} µm"


def _remedy(worst: Variation, process: Process) -> str:
    settings = gcode.dialect(process.machine.dialect).firmware.setting_of
    setting = settings.get(worst.cause, "the controller's own setting")
    return {
        "acceleration": f"Keep the profile's acceleration equal to {setting}.",
        "junction": f"Keep what the profile says of it equal to {setting}.",
        "link": "Use a sender that keeps the controller's buffer full, at the profile's baud rate.",
        "light": "Unless you have, measure level_offset with the chart, and state it in the profile.",
    }[worst.cause]


def as_dict(sensitivity: Sensitivity, process: Process) -> dict[str, Any]:
    """The figures and the sentences on them, for JSON; edge errors in FWHM."""
    words = {"headline": headline(sensitivity, process), "help": list(help_in_words(sensitivity, process))}
    return {**words, **sensitivity.as_dict()}


def rows(sensitivity: Sensitivity, process: Process) -> dict[str, list[tuple[str, ...]]]:
    """Heading → rows of cells: the change, mean edge error, missing edges, largest dose, write time."""
    groups = {"Disturbed": sensitivity.disturbed, "Learned for a better machine": sensitivity.improved}
    planned = Variation("", "As planned", sensitivity.planned)
    return {
        "": [_cells(planned, process)],
        **{title: [_cells(one, process) for one in some] for title, some in groups.items() if some},
    }


COLUMNS = ("Machine", "mean edge error", "missing edges", "largest dose", "write time")
"""The headings of the cells."""


def _cells(one: Variation, process: Process) -> tuple[str, ...]:
    figures = one.figures
    epe = f"{number(1000 * optics.fwhm(process.spot) * figures.epe_mean, 2)} µm"
    dose = f"{number(figures.dose_max)} ×" if math.isfinite(figures.dose_max) else "–"
    return one.change, epe, str(figures.missing_edges), dose, duration(figures.write_time)

"""The plan in plain sentences: what will cure, where it will miss and why, how long, what to change.

Judged is the toolpath as executed by the controller, which is what the machine will do, by place and by
share. **Poor** is a print that is not what was drawn: a feature is lost, a gap closed, a part cut or two
joined (`measure.inspection`); or more than 0.1 % of the drawn area is wrong away from the edges (and more
than FWHM²/10, which any small design may have); or more than 1 % of the contour points have no printed edge
near. **Good**: an edge prints all along the contour, 95 % of it within the tolerance asked for (0.15 FWHM if
none was), nothing is wrong away from the edges, and the largest dose is at most twice the resin's limit.
**Fair** is all else, and its flaws are told with size and place; so is a larger dose,
which may burn the resin, though all that was drawn is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.quantities import place
from laserpath.measure.exposure import Lost, lost_in_motion
from laserpath.report import faults, latitude, reach
from laserpath.report.advice import advise, unfinished
from laserpath.report.rows import area, at_least, duration, mean_explained, number, percent
from laserpath.report.worst import FLOOR_FWHM, Place
from laserpath.types import Design, Process, Settings, Toolpath
from laserpath.types.results import Edges, Inspection, Report

_GOOD_FWHM = 0.15
_OVER = 2.0
"""Times the resin's limit, of the largest dose."""

NOTHING = "Nothing stands out that would need a change."


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the sentences are made of. inspection: what is printed otherwise than drawn.

    settings: None where the program is another tool's, and only what it does is told.
    """

    report: Report
    design: Design
    toolpath: Toolpath
    process: Process
    settings: Settings | None
    loss: Floats
    places: Sequence[Place]
    inspection: Inspection

    @property
    def done(self) -> str:
        """What the light does to the resin."""
        return "cure" if self.process.resin.tone == "negative" else "clear"

    @property
    def tolerance(self) -> float:
        """What 95 % of the edge shall keep, FWHM: as asked for, or what counts as good."""
        return (self.settings and self.settings.max_epe_fwhm) or _GOOD_FWHM

    @property
    def planned(self) -> bool:
        """Whether it was planned here."""
        return self.settings is not None

    @property
    def fwhm(self) -> float:
        """mm, of the spot that the dose is spread with."""
        return optics.fwhm(self.process.spot)

    @property
    def edges(self) -> Edges:
        """Where the edges are as executed, those of rounded corners along the bisector."""
        return self.inspection.edges or self.report.executed.edges

    @property
    def lost(self) -> Lost | None:
        """What the controller loses of the plan, if that is much."""
        report = self.report
        return lost_in_motion(report.planned, report.executed, self.toolpath, self.design, self.process)

    def micrometres(self, fwhms: float) -> str:
        """A length in FWHM, in words."""
        return f"{number(fwhms * self.fwhm * 1000, 2)} µm"


@dataclass(frozen=True, slots=True)
class Verdict:
    """level: 'good', 'fair' or 'poor'.  headline: one line.  answers: (question, answer)."""

    level: str
    headline: str
    answers: tuple[tuple[str, str], ...]
    advice: tuple[str, ...]


def judge(facts: Facts) -> Verdict:
    """The verdict on a plan."""
    level = _level(facts)
    advice = tuple(one.sentence for one in advise(facts, level))
    word = {"good": "Good", "fair": "Usable, with flaws", "poor": "This will not print as drawn"}[level]
    first = [_edge_in_short(facts), _misses_in_short(facts)]
    if facts.inspection.faults:
        first.reverse()
    parts = [*first, _burnt_in_short(facts), f"{duration(facts.report.executed.motion.write_time)} to write"]
    headline = f"{word}: " + ", ".join(p for p in parts if p) + "."
    answers = [
        (f"What will {facts.done}", _what(facts)),
        ("Where it will miss, and why", _where(facts)),
        ("How long it takes", _how_long(facts)),
    ]
    if facts.report.window:
        words = latitude.in_words(facts.report.window, facts.tolerance, facts.micrometres)
        answers.append(("How far dose and focus may be off", words))
    if facts.report.limit:
        near = reach.in_words(facts.report, facts.report.limit, facts.micrometres)
        answers.append(("What could be done at best", near))
    return Verdict(level, headline, tuple(answers), advice or (NOTHING,))


def _level(facts: Facts) -> str:
    figures, found = facts.report.executed.figures, facts.inspection
    over = figures.dose_max / facts.process.resin.over_dose
    shares = faults.too_much_wrong(found, facts.fwhm) or faults.too_far_off(found)
    if found.faults or shares:
        return "poor"
    right = figures.epe_p95 <= facts.tolerance and not found.wrong_outline and not found.flaws
    return "good" if right and over <= _OVER else "fair"


def _edge_in_short(facts: Facts) -> str:
    figures = facts.report.executed.figures
    # With more than 5 % of the points at the cap, the percentile says nothing.
    if figures.missing_edges > 0.05 * figures.samples:
        return ""
    return f"95 % of the edge within {facts.micrometres(figures.epe_p95)}"


def _burnt_in_short(facts: Facts) -> str:
    """The dose, where it may burn the resin."""
    most, limit = facts.report.executed.figures.dose_max, facts.process.resin.over_dose
    return f"up to {number(most)} × the critical dose" if most > _OVER * limit else ""


def _misses_in_short(facts: Facts) -> str:
    found = facts.inspection
    if found.faults:
        return ", ".join(faults.kinds(found.faults, facts.fwhm))
    if faults.too_much_wrong(found, facts.fwhm):
        return ", ".join(_wrong_in_short(facts))
    if found.flaws and not faults.too_far_off(found):
        return ", ".join(faults.kinds(found.flaws, facts.fwhm))
    if share := found.wrong_outline:
        lost = f"{100 * share:.0f} %" if share > 0.01 else f"{number(share * facts.design.area.length, 2)} mm"
        return f"no edge at all along {lost} of the contour"
    return _at_worst(facts)


def _at_worst(facts: Facts) -> str:
    """The largest error where an edge is; where none is it is only known to be above the search's cap."""
    figures, edges = facts.report.executed.figures, facts.edges
    if edges.missing.all():
        return f"at worst {at_least('epe_max', figures.epe_max)}{facts.micrometres(figures.epe_max)} off"
    largest, gone = float(np.abs(edges.epe[~edges.missing]).max()) / facts.fwhm, int(edges.missing.sum())
    but = f", but for {gone} of {figures.samples} points without a printed edge near" if gone else ""
    return f"at worst {facts.micrometres(largest)} off{but}"


def _wrong_in_short(facts: Facts) -> Iterator[str]:
    found = facts.inspection
    if found.missing:
        yield f"{area(found.missing.area, 2)} of the inside stays un{facts.done}{_d(facts)}"
    if found.excess:
        yield f"{area(found.excess.area, 2)} {facts.done}s where nothing is drawn"
    if not found.missing and not found.excess:
        yield from faults.kinds(found.flaws, facts.fwhm)


def _d(facts: Facts) -> str:
    return "d" if facts.done.endswith("e") else "ed"


def _what(facts: Facts) -> str:
    figures, drawn = facts.report.executed.figures, facts.design.area.area
    share = percent(max(1 - figures.undercure / drawn, 0.0))
    missing, excess = (area(a, 2) for a in (figures.undercure, figures.overcure))
    inside = facts.inspection.missing
    far = f" ({area(inside.area, 2)} of that away from any edge)" if inside else ""
    mean = f" {why}" if (why := mean_explained(figures.as_dict())) else ""
    return (
        f"{share} of the drawn {area(drawn)}. {missing} of it is missing{far} and {excess} too much "
        f"{facts.done}s (overlap, IoU, {100 * figures.iou:.1f} %). The printed edge is on average "
        f"{facts.micrometres(figures.epe_mean)} from the drawn one, {number(figures.epe_mean, 2)} of the "
        f"spot's width.{mean}"
    )


def _where(facts: Facts) -> str:
    early = unfinished(facts) if _level(facts) != "good" else ""
    sentences = [f"{early}."] if early else []
    sentences += faults.sentences(facts.inspection, facts.fwhm)
    if not facts.places:
        where = "Edges nowhere" if sentences else "Nowhere"
        return " ".join([*sentences, f"{where} by more than {facts.micrometres(FLOOR_FWHM)}."])
    worst = facts.places[0]
    if worst.missing:
        what = (
            "filled in, with no printed edge near"
            if worst.epe > 0
            else f"not {facts.done}{_d(facts)}, no printed edge near"
        )
    else:
        what = f"the edge is {number(1000 * abs(worst.epe), 2)} µm too far {'out' if worst.epe > 0 else 'in'}"
    sentences.append(f"Worst at {place(worst.xy, facts.fwhm)} mm: {what} ({worst.cause}).")
    kinds = Counter(p.kind for p in facts.places)
    (kind, count), *_ = kinds.most_common()
    if 2 * count >= len(facts.places) > 1:
        narrow = (
            "narrower than"
            if all(p.narrower for p in facts.places if p.kind == kind)
            else "hardly wider than"
        )
        why = {
            "corner": "at corners, which a round spot rounds",
            "feature": f"where the design is {narrow} the spot",
            "gap": f"in gaps {narrow} the spot",
            "no edge": "where no edge prints",
            "motion": "where the controller brakes; as commanded they would print right",
            "dose": "along plain edges",
        }[kind]
        listed = len(facts.places)
        share = f"All {listed}" if count == listed else f"{count} of the {listed}"
        sentences.append(f"{share} worst places are {why}.")
    return " ".join(sentences)


def _how_long(facts: Facts) -> str:
    motion, start = facts.report.executed.motion, facts.report.start.motion
    text = f"{duration(motion.write_time)}"
    if facts.settings:
        passes = facts.settings.passes
        text += f" for {passes} passes" if passes > 1 else ""
        text += f" at {facts.settings.quality} quality"
    text += (
        f": {number(motion.write_length)} mm with the laser on, {number(motion.travel_length)} mm of travel"
    )
    if start.write_time > 0:
        change = motion.write_time / start.write_time - 1
        than = "less" if change < 0 else "more"
        text += f"; {abs(100 * change):.0f} % {than} than the starting curve" if abs(change) >= 0.01 else ""
    return text + "."

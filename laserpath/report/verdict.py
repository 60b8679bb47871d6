"""The plan in plain sentences: what will cure, where it will miss and why, how long, what to change.

The verdict is on the toolpath as the controller executes it. A print is **poor** if it is not what was drawn:
a feature or pad is lost, a hole or gap closed, a part cut or two joined (`measure.inspection`); or more than
0.1 % of the drawn area is wrong away from the edges (and more than FWHM²/10, which any small design may
have); or more than 1 % of the contour points have no printed edge near. It is **good** if an edge prints all
along the contour, 95 % of it within the tolerance (0.15 FWHM if none is given) and none of it more than
half the spot off but where the spot is wider than what is drawn, which the headline then says; if nothing is
wrong away from the edges, and the largest dose is at most twice the resin's limit. All other prints are
**fair**: their flaws are named with size and place, and so is a larger dose, which may burn the resin though
everything drawn is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from laserpath.base.quantities import place
from laserpath.report import wording
from laserpath.report.advice import advise, unfinished
from laserpath.report.data import FLOOR_FWHM, PageData, Place
from laserpath.report.figure_table import at_least, mean_explained
from laserpath.report.wording import area, duration, number, percent

_OVER = 2.0
"""Largest dose of a good plan, in multiples of the resin's limit."""

_FAR = 0.5
"""|EPE|, in FWHM, from which the headline names the reason, and from which a plan is good for some only."""
_TOO_WIDE = ("corner", "feature", "gap")
"""Those: the spot is wider than what is drawn there."""

NOTHING = "Nothing stands out that would need a change."
UNKNOWN = "No option or machine setting is known to help."


@dataclass(frozen=True, slots=True)
class Verdict:
    """level: 'good', 'fair', 'poor'; '' without a design.  headline: a line.  answers: (question, answer)."""

    level: str
    headline: str
    answers: tuple[tuple[str, str], ...]
    advice: tuple[str, ...]


def judge(data: PageData) -> Verdict:
    """The verdict on a plan."""
    level = _level(data)
    advice = tuple(one.sentence for one in advise(data, level))
    word = {"good": "Good", "fair": "Usable, with flaws", "poor": "This will not print as drawn"}[level]
    first = [_edge_in_short(data), _misses_in_short(data)]
    if data.inspection.faults:
        first.reverse()
    parts = [*first, _burnt_in_short(data), f"{duration(data.report.executed.motion.write_time)} to write"]
    headline = f"{word}: " + ", ".join(p for p in parts if p) + "."
    answers = [
        (f"What will {data.done}", _what(data)),
        ("Where it will miss, and why", _where(data)),
        ("How long it takes", _how_long(data)),
    ]
    if data.report.window:
        words = wording.latitude_in_words(data.report.window, data.tolerance, data.micrometres)
        answers.append(("How far dose and focus may be off", words))
    if data.report.limit:
        near = wording.limit_in_words(data.report, data.report.limit, data.micrometres)
        answers.append(("What could be done at best", near))
    return Verdict(level, headline, tuple(answers), advice or (UNKNOWN if level == "poor" else NOTHING,))


def _level(data: PageData) -> str:
    figures, inspection = data.report.executed.figures, data.inspection
    over = figures.dose_max / data.process.resin.over_dose
    shares = wording.too_much_wrong(inspection, data.fwhm) or wording.too_far_off(inspection)
    if inspection.faults or shares:
        return "poor"
    right = figures.epe_p95 <= data.tolerance and not inspection.wrong_outline and not inspection.flaws
    right = right and all(one.kind in _TOO_WIDE for one in _far(data))
    return "good" if right and over <= _OVER else "fair"


def _edge_in_short(data: PageData) -> str:
    figures = data.report.executed.figures
    # With more than 5 % of the points at the cap, the percentile says nothing.
    if figures.missing_edges > 0.05 * figures.samples:
        return ""
    return f"95 % of the edge within {data.micrometres(figures.epe_p95)}"


def _burnt_in_short(data: PageData) -> str:
    """The largest dose, if it may burn the resin."""
    most, limit = data.report.executed.figures.dose_max, data.process.resin.over_dose
    return f"up to {number(most)} × the critical dose" if most > _OVER * limit else ""


def _misses_in_short(data: PageData) -> str:
    inspection = data.inspection
    if inspection.faults:
        return ", ".join(wording.kinds(inspection.faults, data.fwhm))
    if wording.too_much_wrong(inspection, data.fwhm):
        return ", ".join(_wrong_in_short(data))
    if inspection.flaws and not wording.too_far_off(inspection):
        return ", ".join(wording.kinds(inspection.flaws, data.fwhm))
    if share := inspection.wrong_outline:
        lost = f"{100 * share:.0f} %" if share > 0.01 else f"{number(share * data.design.area.length, 2)} mm"
        return f"no edge at all along {lost} of the contour"
    return _at_worst(data)


def _at_worst(data: PageData) -> str:
    """The largest error, which is also in the tables and the first of the worst places."""
    largest, far = data.report.executed.figures.epe_max, _far(data)
    why = f" ({far[0].cause})" if far else ""
    return f"at worst {at_least('epe_max', largest)}{data.micrometres(largest)} off{why}"


def _far(data: PageData) -> list[Place]:
    """The worst places with an edge, if it is far off, the worst of them first; what has none is a flaw."""
    return [one for one in data.places if abs(one.epe) > _FAR * data.fwhm and not one.missing]


def _wrong_in_short(data: PageData) -> Iterator[str]:
    inspection = data.inspection
    if inspection.missing:
        yield f"{area(inspection.missing.area, 2)} of the inside stays un{data.done}{_d(data)}"
    if inspection.excess:
        yield f"{area(inspection.excess.area, 2)} {data.done}s where nothing is drawn"
    if not inspection.missing and not inspection.excess:
        yield from wording.kinds(inspection.flaws, data.fwhm)


def _d(data: PageData) -> str:
    return "d" if data.done.endswith("e") else "ed"


def _what(data: PageData) -> str:
    figures, drawn = data.report.executed.figures, data.design.area.area
    share = percent(max(1 - figures.undercure / drawn, 0.0))
    missing, excess = (area(a, 2) for a in (figures.undercure, figures.overcure))
    inside = data.inspection.missing
    far = f" ({area(inside.area, 2)} of that away from any edge)" if inside else ""
    mean = f" {why}" if (why := mean_explained(figures.as_dict())) else ""
    kinetics = data.process.resin.kinetics
    if kinetics is not None:
        mean += (
            f" The resin reacts through time: what reaches a conversion of {number(kinetics.gel_conversion)} "
            f"by {duration(kinetics.wait)} after the last light counts as {data.done}{_d(data)}. The maps "
            "show it as an equivalent dose; the largest dose and the band are those of the light."
        )
    return (
        f"{share} of the drawn {area(drawn)}. {missing} of it is missing{far} and {excess} too much "
        f"{data.done}s (overlap, IoU, {100 * figures.iou:.1f} %). The printed edge is on average "
        f"{data.micrometres(figures.epe_mean)} from the drawn one, {number(figures.epe_mean, 2)} of the "
        f"spot's width.{mean}"
    )


def _where(data: PageData) -> str:
    early = unfinished(data) if _level(data) != "good" else ""
    sentences = [f"{early}."] if early else []
    sentences += wording.sentences(data.inspection, data.fwhm)
    if not data.places:
        where = "Edges nowhere" if sentences else "Nowhere"
        return " ".join([*sentences, f"{where} by more than {data.micrometres(FLOOR_FWHM)}."])
    worst = data.places[0]
    if worst.missing:
        what = (
            "filled in, with no printed edge near"
            if worst.epe > 0
            else f"not {data.done}{_d(data)}, no printed edge near"
        )
    else:
        what = f"the edge is {number(1000 * abs(worst.epe), 2)} µm too far {'out' if worst.epe > 0 else 'in'}"
    sentences.append(f"Worst at {place(worst.xy, data.fwhm)} mm: {what} ({worst.cause}).")
    kinds = Counter(p.kind for p in data.places)
    (kind, count), *_ = kinds.most_common()
    if 2 * count >= len(data.places) > 1:
        narrow = (
            "narrower than" if all(p.narrower for p in data.places if p.kind == kind) else "hardly wider than"
        )
        why = {
            "corner": "at corners, which a round spot rounds",
            "feature": f"where the design is {narrow} the spot",
            "gap": f"in gaps {narrow} the spot",
            "no edge": "where no edge prints",
            "motion": "where the controller brakes; as commanded they would print right",
            "dose": "along plain edges",
        }[kind]
        listed = len(data.places)
        share = f"All {listed}" if count == listed else f"{count} of the {listed}"
        sentences.append(f"{share} worst places are {why}.")
    return " ".join(sentences)


def _how_long(data: PageData) -> str:
    motion, start = data.report.executed.motion, data.report.start.motion
    text = f"{duration(motion.write_time)}"
    if data.settings:
        passes = data.settings.passes
        text += f" for {passes} passes" if passes > 1 else ""
        text += f" at {data.settings.quality} quality"
    text += (
        f": {number(motion.write_length)} mm with the laser on, {number(motion.travel_length)} mm of travel"
    )
    if start.write_time > 0:
        change = motion.write_time / start.write_time - 1
        than = "less" if change < 0 else "more"
        text += f"; {abs(100 * change):.0f} % {than} than the starting curve" if abs(change) >= 0.01 else ""
    return text + "."

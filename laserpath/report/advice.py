"""What to change: a plan's shortcomings, and for each the option or the key of a profile that mends it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import gcode
from laserpath import optics
from laserpath.arrays import Floats
from laserpath.choices import QUALITIES
from laserpath.report import reach
from laserpath.report.rows import duration, number

if TYPE_CHECKING:
    from laserpath.report.verdict import Facts

PINHOLE_FWHM2 = 0.5
"""FWHM², of what is wrong away from the edges: less is a flaw, but the part is there."""
_FEW = 20
_COARSE_FWHM = 0.05
"""A motor step that moves edges visibly."""
_LONG, _VERY_LONG = 5.0, 60.0
"""s. What takes less need not be faster; what takes more might well be."""


def advise(facts: Facts, level: str) -> Iterator[str]:
    """What to change, the most telling first."""
    if facts.lost:
        # What is commanded would cure: its pitch and powers are no matter until it is executed.
        yield from (f"{sentence[0].upper()}{sentence[1:]}." for sentence in facts.lost)
        return
    if facts.inside and facts.inside.area <= PINHOLE_FWHM2 * facts.fwhm**2:
        x, y = facts.inside.xy
        more = ": more --iterations may close it, or a smaller --pitch" if facts.settings else ""
        yield f"A pinhole is left near ({x:.3f}, {y:.3f}) mm{more}."
    elif facts.inside:
        instead = f": take a smaller --pitch than {facts.settings.pitch_fwhm:g}fwhm" if facts.settings else ""
        yield f"Lines are too far apart or too weak inside the design{instead}."
    yield from _advice_on_design(facts)
    yield from _advice_on_dose(facts)
    yield from _advice_on_motion(facts, level)
    yield from _advice_on_quality(facts, level)


def _advice_on_design(facts: Facts) -> Iterator[str]:
    spot = f"{optics.fwhm(facts.process.spot):g} mm"
    for kind, plural in (("feature", "features"), ("gap", "gaps")):
        width = [p.width for p in facts.places if p.kind == kind and p.width is not None]
        if width:
            yield (
                f"Widen the {plural} that are narrower than the spot (the listed ones start at "
                f"{min(width) * 1000:.0f} µm, the spot is {spot}), or use a smaller spot."
            )
    corners = sum(p.kind == "corner" for p in facts.places)
    if corners > len(facts.places) / 2:
        yield f"The worst places are corners: only a smaller spot than {spot} prints them sharper."


def _advice_on_dose(facts: Facts) -> Iterator[str]:
    resin, machine = facts.process.resin, facts.process.machine
    planned = facts.report.scored.figures.dose_max
    if planned > 1.05 * resin.over_dose:
        spread = "" if facts.inside or not facts.planned else "; a larger --pitch spreads them"
        yield (
            f"The largest dose as {facts.report.scored_as} is {number(planned)} × critical, above the "
            f"resin's limit of {resin.over_dose:g} ×: lines lie too close there{spread}."
        )
    on = facts.toolpath.on
    length, power = facts.toolpath.length[on], facts.toolpath.power[on]
    if length.sum() > 0:
        weak = float(length[power <= 1.001 * machine.power_min].sum() / length.sum())
        strong = float(length[power >= 0.999 * machine.power_max].sum() / length.sum())
        if weak > 0.25:
            yield (
                f"{100 * weak:.0f} % of the path runs at the laser's lowest power "
                f"({number(machine.power_min)} mW): the laser is too strong for this resin; "
                "attenuate it with a filter."
            )
        if strong > 0.5:
            yield f"{100 * strong:.0f} % of the path runs at full power: a stronger laser would write faster."
    gain = _late_gain(facts.loss)
    if facts.settings and gain > 0.02:
        yield (
            f"The loss was still falling when the optimiser stopped ({100 * gain:.0f} % in the last tenth): "
            f"more --iterations than {facts.settings.iterations} would help."
        )


def _late_gain(loss: Floats) -> float:
    """The relative fall of the loss in the last tenth of the iterations; stages before it do not count."""
    late = loss[-1 - len(loss) // 10 :]
    return float(1 - late.min() / late[0]) if len(loss) >= _FEW and late[0] > 0 else 0.0


def _advice_on_motion(facts: Facts, level: str) -> Iterator[str]:
    commanded, executed = facts.report.planned.figures, facts.report.executed.figures
    machine = facts.process.machine
    over = facts.process.resin.over_dose
    worse = executed.epe_mean > 1.5 * commanded.epe_mean + 0.01
    fwhm = optics.fwhm(facts.process.spot)
    if worse and machine.steps is not None and 1 / min(machine.steps) > _COARSE_FWHM * fwhm:
        marlin = gcode.dialect(machine.dialect).controller == "marlin"
        joins = ", and Marlin joins moves of fewer than 7 steps" if marlin else ""
        yield (
            f"The motors' steps of {1000 / min(machine.steps):.3g} µm round every place{joins}: much of "
            f"{facts.micrometres(executed.epe_mean)} on average instead of "
            f"{facts.micrometres(commanded.epe_mean)}. More steps per mm draw truer."
        )
    elif worse:
        yield (
            "The controller brakes in bends and its power does not follow exactly, which moves the edge by "
            f"{facts.micrometres(executed.epe_mean)} on average instead of "
            f"{facts.micrometres(commanded.epe_mean)}: a lower speed_max than "
            f"{max(machine.speed_max):g} mm/s makes it brake less."
        )
    elif executed.dose_max > max(1.05 * over, 1.1 * commanded.dose_max):
        yield (
            f"Where the controller brakes the dose rises to {number(executed.dose_max)} × critical, above "
            f"the resin's limit of {over:g} ×: a lower speed_max makes it brake less."
        )
    if executed.segment_rate > 1.001 * machine.segment_rate:
        yield (
            f"The program has up to {executed.segment_rate:.0f} moves/s, above the "
            f"{machine.segment_rate:g} that the link keeps up with: a lower speed needs "
            f"fewer{', and a larger simplify_fwhm makes longer ones' if facts.planned else ''}."
        )
    if executed.write_time > 2 * executed.ideal_time and executed.write_time > _LONG:
        yield (
            f"The controller needs {executed.write_time / max(executed.ideal_time, 1e-9):.1f} times the "
            "ideal time, because of bends and short moves: higher acceleration would save most of it"
            f"{_or_draft(facts, level)}."
        )


def _or_draft(facts: Facts, level: str) -> str:
    """That a quality saves time too, where one is left and the edge can spare it."""
    if facts.settings is None:
        return ""
    at = QUALITIES.index(facts.settings.quality)
    if at == 0 or facts.settings.max_epe_fwhm is not None or level == "fair":
        return ""
    return f", --quality {QUALITIES[at - 1]} some at the cost of the edge"


def _advice_on_quality(facts: Facts, level: str) -> Iterator[str]:
    """The next quality in the direction that the plan lacks; a tolerance asked for finds it by itself."""
    if facts.settings is None or facts.settings.max_epe_fwhm is not None:
        return
    at = QUALITIES.index(facts.settings.quality)
    figures = facts.report.executed.figures
    if level == "fair" and at + 1 < len(QUALITIES) and not reach.reached(facts.report):
        yield f"--quality {QUALITIES[at + 1]} lets truer edges take more write time."
    elif level == "good" and at > 0 and figures.write_time > _VERY_LONG:
        yield (
            f"If {duration(figures.write_time)} is too long: --quality {QUALITIES[at - 1]} writes faster "
            "at the cost of the edge; --max-epe LENGTH takes as little as keeps that tolerance."
        )

"""The page of a program that laserpath did not plan: its effect on this machine and resin.

With a design the program is judged as a plan is, and the page names the dose that would print it best. A
factor f on the whole dose is a factor f^(1/N) on the power, where the resin absorbs N photons at once, or 1/f
on the speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from laserpath.base.errors import figure
from laserpath.design.scene import Scene
from laserpath.measure import best_exposure, cured_fraction, edges_at, inspect
from laserpath.report.data import Column, ExposedProgram, PageData, PageText
from laserpath.report.numbers import area, duration, number
from laserpath.report.page import page
from laserpath.report.verdict import NOTHING, Verdict, judge
from laserpath.types.results import Measurement, Report

_WORTH = 0.9
"""Mean edge error at the best dose ÷ the present one, below which the best dose is named. A larger ratio
names doses that gain less."""
_TELLING = 0.03
"""Relative change of dose below which the best dose is not named, because no machine can be set so finely."""


def exposure_page(exposed: ExposedProgram, executed: Measurement | None, text: PageText) -> str:
    """The page as HTML; executed: None where there is no design to measure against."""
    scene = exposed.scene
    text = replace(text, subtitle=text.subtitle or _subtitle(exposed, text))
    if scene is None or executed is None:
        alone = replace(exposed, scene=None, edges=None)
        return page(alone, None, _unmeasured(alone, text), text)
    columns = (
        Column("this program", "as executed", executed.as_dict()),
        *text.columns,
    )
    report = Report(
        executed, start=executed, warnings=tuple(text.warnings), inspection=inspect(executed, scene)
    )
    data = PageData.of(report, scene.design, exposed.toolpath, exposed.process)
    verdict = judge(data)
    better = tuple(_better_dose(exposed, scene))
    if better:
        kept = tuple(sentence for sentence in verdict.advice if sentence != NOTHING)
        verdict = replace(verdict, advice=better + kept)
    shown = replace(exposed, edges=data.edges)
    return page(shown, data, verdict, replace(text, columns=columns))


def _better_dose(exposed: ExposedProgram, scene: Scene) -> Iterator[str]:
    """The power or speed that gives the truest edges, where it differs from the program's."""
    process, dose = exposed.process, exposed.dose
    if dose.max() <= 0:
        return
    factor = best_exposure(dose, scene)
    now, then = (float(np.abs(edges.epe).mean()) for edges in edges_at(dose, scene, (1.0, factor)))
    if then > _WORTH * now or abs(factor - 1) < _TELLING:
        return
    power = factor ** (1 / process.resin.order)
    yield (
        f"The edges would be truest with {number(power, 2)} × the power at the same speed, "
        f"or with {number(1 / factor, 2)} × the speed at the same power."
    )


_NO_DESIGN = "That needs the design that it should print: give it with --design."


def _unmeasured(exposed: ExposedProgram, text: PageText) -> Verdict:
    """The answers for a program that has no design to be compared with."""
    resin = exposed.process.resin
    done = "cure" if resin.tone == "negative" else "clear"
    relative = exposed.dose / resin.critical_dose
    cured = area(float(cured_fraction(relative, 1.0).sum()) * exposed.grid.pixel_area)
    most = float(relative.max(initial=0.0))
    what = f"{cured}. The largest dose is {number(most)} × critical"
    if most > resin.over_dose:
        share = float((relative > resin.over_dose).sum()) * exposed.grid.pixel_area
        what += f", and {area(share)} have more than the resin's limit of {resin.over_dose:g} ×"
    answers = (
        (f"What will {done}", f"{what}."),
        *([] if text.headline else [("Where it will miss", _NO_DESIGN)]),
        ("How long it takes", _how_long(exposed)),
    )
    plain = f"{done.capitalize()}s {cured} in {duration(exposed.run.write_time)}."
    return Verdict("", text.headline or plain, answers, ())


def _how_long(exposed: ExposedProgram) -> str:
    executed = exposed.track
    length = np.hypot(*np.diff(executed.xy, axis=0).T)
    lit, dark = (float(length[on].sum()) for on in (executed.on, ~executed.on))
    lengths = f"{number(lit)} mm with the laser on, {number(dark)} mm of travel"
    return f"{duration(exposed.run.write_time)}: {lengths}."


def _subtitle(exposed: ExposedProgram, text: PageText) -> str:
    x0, y0, x1, y1 = exposed.box
    kind = "report" if text.headline else "simulation"
    return (
        f"laserpath {kind} · {figure(x1 - x0, 4)} × {figure(y1 - y0, 4)} mm · spot {exposed.fwhm:g} mm · "
        f"{exposed.process.machine.name} · {exposed.process.resin.name}"
    )

"""The page of a program that was not planned here: what it does on this machine and resin.

With a design it is judged as a plan is, and told what dose would serve it best: a factor f on all of the dose
is f^(1/N) of the power, where N photons are absorbed at once, or 1/f of the speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from laserpath.measure import best_exposure, cured_fraction, edges_at
from laserpath.report.page import Column, Told, facts_of, page
from laserpath.report.payload import Exposed
from laserpath.report.rows import area, duration, number
from laserpath.report.track import track
from laserpath.report.verdict import NOTHING, Verdict, judge
from laserpath.types import Design
from laserpath.types.results import Measurement, Report

_WORTH = 0.9
"""Of the mean edge error as it is: what another dose must bring it below to be worth a word."""
_TELLING = 0.03
"""Of the dose; a better one that is nearer cannot be set."""


def exposure_page(
    exposed: Exposed, commanded: Measurement | None, executed: Measurement | None, told: Told
) -> str:
    """With a design and what was measured against it, or without any."""
    design = exposed.design
    told = replace(told, subtitle=told.subtitle or _subtitle(exposed, told))
    if design is None or commanded is None or executed is None:
        return page(replace(exposed, design=None, edges=None), None, _plain(exposed, told), told)
    columns = (
        Column("this program", "as commanded", commanded.as_dict()),
        Column("this program", "as executed", executed.as_dict()),
        *told.columns,
    )
    report = Report(commanded, executed, start=executed, warnings=tuple(told.warnings))
    facts = facts_of(report, design, exposed.toolpath, exposed.process, None, np.zeros(0))
    verdict = judge(facts)
    better = tuple(_better_dose(exposed, design))
    if better:
        kept = tuple(sentence for sentence in verdict.advice if sentence != NOTHING)
        verdict = replace(verdict, advice=better + kept)
    return page(exposed, facts, verdict, replace(told, columns=columns))


def _better_dose(exposed: Exposed, design: Design) -> Iterator[str]:
    """What the truest edges would take, if that is another dose."""
    process, dose = exposed.process, exposed.dose
    if dose.max() <= 0:
        return
    given = dose, exposed.grid, design, process.spot, process.resin.critical_dose
    factor = best_exposure(*given)
    now, then = (float(np.abs(edges.epe).mean()) for edges in edges_at(*given, (1.0, factor)))
    if then > _WORTH * now or abs(factor - 1) < _TELLING:
        return
    power = factor ** (1 / process.resin.order)
    yield (
        f"The edges would be truest with {number(power, 2)} × the power at the same speed, "
        f"or with {number(1 / factor, 2)} × the speed at the same power."
    )


_NO_DESIGN = "That takes the design that it shall print: give it with --design."


def _plain(exposed: Exposed, told: Told) -> Verdict:
    """What it does, where there is nothing to compare it with."""
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
        *([] if told.headline else [("Where it will miss", _NO_DESIGN)]),
        ("How long it takes", _how_long(exposed)),
    )
    plain = f"{done.capitalize()}s {cured} in {duration(exposed.run.write_time)}."
    return Verdict("", told.headline or plain, answers, ())


def _how_long(exposed: Exposed) -> str:
    executed = track(exposed.run, exposed.process.machine)
    length = np.hypot(*np.diff(executed.xy, axis=0).T)
    lit, dark = (float(length[on].sum()) for on in (executed.on, ~executed.on))
    lengths = f"{number(lit)} mm with the laser on, {number(dark)} mm of travel"
    return f"{duration(exposed.run.write_time)}: {lengths}."


def _subtitle(exposed: Exposed, told: Told) -> str:
    x0, y0, x1, y1 = exposed.box
    what = "report" if told.headline else "simulation"
    return (
        f"laserpath {what} · {x1 - x0:.4g} × {y1 - y0:.4g} mm · spot {exposed.fwhm:g} mm · "
        f"{exposed.process.machine.name} · {exposed.process.resin.name}"
    )

"""Who follows a piece of advice, exactly as it is typed, betters the figure that it speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import shapely
from builders import expose
from exposures import Job, make_job, with_figures

import laserpath
from laserpath import Plan, Process, Settings, Spot
from laserpath.cli import plan as command
from laserpath.config import profiles
from laserpath.config.profiles import fields
from laserpath.design.target import grid_for, rasterise
from laserpath.machine import convert
from laserpath.measure.exposure import lost_in_motion
from laserpath.report import PageData
from laserpath.report.advice import KINDS, Advice, advise
from laserpath.report.data import Place
from laserpath.types import Design, Toolpath
from laserpath.types.results import Fault, Inspection


def solid(*polygons: shapely.Polygon) -> Design:
    return Design(shapely.MultiPolygon(list(polygons)), "solid")


SQUARE = solid(shapely.box(1, 1, 2.5, 2.5))
COMB = solid(*(shapely.box(x, 1, x + 0.15, 2) for x in (1, 1.3, 1.6)))
HAIR = solid(shapely.box(1, 1, 2, 1.01))
SLIT = solid(shapely.box(1, 1, 1.5, 1.2), shapely.box(1, 1.205, 1.5, 1.405))
"""A gap of FWHM/20. The dose in its middle can be some 0.3 % below that at its sides, which levels 1 % apart
and steps of 4 µm do not keep; a plan may print a gap of FWHM/7."""
MACHINE = profiles.machine()


def machine(**changes: Any) -> Process:
    return Process(machine=replace(MACHINE, **changes))


def weak(power: float) -> Process:
    return machine(power_max=power)


def micrometres(plan: Plan) -> float:
    return plan.report.executed.figures.epe_mean * laserpath.physics.optics.fwhm(plan.process.spot)


def worst(plan: Plan) -> float:
    return plan.report.executed.figures.epe_max * laserpath.physics.optics.fwhm(plan.process.spot)


def uncured(plan: Plan) -> float:
    inside = data(plan).inspection.missing
    return inside.area if inside else 0.0


def at_lowest_power(plan: Plan) -> float:
    path = convert.as_light(plan.toolpath, plan.process.machine)
    lit = path.length[path.on]
    return float(lit[path.power[path.on] <= 1.001 * plan.process.machine.power_min].sum() / lit.sum())


def executed(name: str) -> Callable[[Plan], float]:
    return lambda plan: float(plan.report.executed.as_dict()[name])


@dataclass(frozen=True)
class Case:
    """A design and a process that get the advice, and the figure that it is about; less is better."""

    figure: Callable[[Plan], float]
    design: Design = SQUARE
    process: Process = field(default_factory=Process)
    settings: dict[str, Any] = field(default_factory=dict)
    level: str = "fair"
    instead: dict[str, str] = field(default_factory=dict)


CALM = machine(speed_max=(5.0, 5.0), power_max=1.0)
"""A head that hardly brakes: what it misses is the spot's fault."""

CASES = {
    "hollow": Case(uncured, settings={"initial": "hatch", "pitch_fwhm": 2.0}),
    "feature": Case(micrometres, HAIR, CALM, instead={"--spot-fwhm": "0.05mm"}),
    "gap": Case(micrometres, SLIT, CALM, instead={"--spot-fwhm": "0.02mm"}),
    "corner": Case(worst, instead={"--spot-fwhm": "0.05mm"}),
    "too strong": Case(at_lowest_power, process=weak(300.0)),
    "too weak": Case(executed("write_time"), process=weak(0.3)),
    "loss": Case(micrometres, settings={"iterations": 25}),
    "steps": Case(micrometres, process=machine(steps=(40.0, 40.0)), settings={"origin": "page"},
                  instead={"steps_per_mm": "400"}),
    "finer": Case(micrometres, COMB, settings={"iterations": 100}),
    "faster": Case(executed("write_time"), process=machine(speed_max=(0.2, 0.2), power_max=0.04),
                   level="good"),
}  # fmt: skip
ELSEWHERE = {
    "bends": "test_more_acceleration_saves_the_time_of_bends, below",
    "over-dose": "test_lines_further_apart_leave_less, below",
    "lost": "test_two_photons.py follows it in a stroke",
    "brakes": "test_what_braking_costs_is_told, below: plans make up for it",
    "dose rises": "test_a_dose_that_rises_where_the_controller_brakes, below: plans make up for it",
    "link": "test_a_lower_feed_needs_fewer_moves_a_second, below",
}


def data(plan: Plan) -> PageData:
    return PageData.of(
        plan.report, plan.design, plan.toolpath, plan.process, plan.settings, plan.solution.loss
    )


@cache
def planned(kind: str) -> Plan:
    case = CASES[kind]
    return laserpath.plan(case.design, case.process, Settings(**{"iterations": 40, **case.settings}))


def test_every_kind_of_advice_is_followed() -> None:
    assert set(CASES) | set(ELSEWHERE) == set(KINDS)
    assert not set(CASES) & set(ELSEWHERE)


def given(kind: str, plan: Plan) -> Advice:
    """The advice of that kind that a plan gets."""
    found = {one.kind: one for one in advise(data(plan), CASES[kind].level)}
    assert kind in found, f"{kind} is not among {sorted(found)}"
    return found[kind]


def follow(one: Advice, plan: Plan, instead: dict[str, str]) -> Plan:
    """The plan with what the sentence says; instead: values that it leaves to the reader."""
    name = one.changes[0].name
    value = instead.get(name) or re.search(re.escape(name) + r"(?: =)? ([\w.]+)", one.mend)[1]  # type: ignore[index]
    process, settings = plan.process, plan.settings
    number = float(re.match(r"[\d.]*", value)[0] or 0)  # type: ignore[index]
    if name == "--pitch":
        settings = replace(settings, pitch_fwhm=number)
    elif name == "--iterations":
        settings = replace(settings, iterations=int(number))
    elif name == "--quality":
        settings = replace(settings, quality=value)
    elif name == "--spot-fwhm":
        process = replace(process, spot=Spot(fwhm=number))
    else:
        process = replace(process, machine=replace(process.machine, **in_machine(name, number)))
    return laserpath.plan(CASES_DESIGN[one.kind], process, settings)


def in_machine(key: str, value: float) -> dict[str, Any]:
    """The field of a machine that a key sets, which the shipped profile has already."""
    (known,) = [f for f in fields.MACHINE if key in f.keys]
    assert re.search(rf"^(# *)?{key} ", profiles.text("machine", "grbl-diode-405"), re.M), key
    value /= 60 if key.endswith("_per_min") else 1
    return {known.name: (value, value) if known.count == 2 else value}


CASES_DESIGN = {kind: case.design for kind, case in CASES.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_who_follows_it_betters_the_figure(kind: str) -> None:
    plan, case = planned(kind), CASES[kind]
    better = follow(given(kind, plan), plan, case.instead)
    assert case.figure(better) < case.figure(plan)


def told(kind: str, **figures: tuple[float, float]) -> Advice:
    """The advice on a plan whose figures are (as executed, as commanded) these."""
    plan = planned("corner")
    assert plan.report.commanded is not None
    report = plan.report
    for k, name in enumerate(("executed", "commanded")):
        measured = getattr(report, name)
        changed = replace(measured.figures, **{figure: pair[k] for figure, pair in figures.items()})
        report = replace(report, **{name: replace(measured, figures=changed)})
    page = PageData.of(report, plan.design, plan.toolpath, plan.process, plan.settings, plan.solution.loss)
    (one,) = (one for one in advise(page, "fair") if one.kind == kind)
    return one


@pytest.mark.parametrize("level", ["poor", "fair"])
def test_a_filter_comes_first_where_levels_are_few(level: str) -> None:
    """Closer lines or more iterations were advised, which make up for nothing."""
    process = weak(150.0)
    job = make_job(SQUARE, process)
    inside = Inspection(missing=Fault("area", (1.2, 1.2), 0.5, 0.5))
    page = PageData(
        job.report, SQUARE, job.toolpath, process, Settings(), np.linspace(1, 0.5, 100), [], inside
    )
    assert [one.kind for one in advise(page, level)] == ["too strong"]
    assert "optical density 1.2" in advise(page, level)[0].sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    ("power", "iterations", "wrong"),
    [
        (60.0, 40, "only 4 of the 255 power levels"),
        (48.0, 100, r"level 5 of 255 or below, where the next one is \d\d % brighter"),
    ],
)
def test_levels_too_few_are_not_blamed_on_braking(power: float, iterations: int, wrong: str) -> None:
    """60 mW: fewer levels are usable than a plan needs. 48 mW: enough, but half of the square's path is at
    level 5 and below. Its edges are lost by levels both times, not by braking."""
    plan = laserpath.plan(SQUARE, weak(power), Settings(iterations=iterations))
    found = {one.kind: one for one in advise(data(plan), "fair")}
    assert "brakes" not in found
    assert re.search(wrong, found["too strong"].wrong)
    better = follow(found["too strong"], plan, {})
    assert micrometres(better) < 0.7 * micrometres(plan)


@pytest.mark.slow
def test_a_dose_that_rises_where_the_controller_brakes() -> None:
    one = told("dose rises", dose_max=(3.6, 3.0), epe_mean=(0.03, 0.03))
    assert "rises to 3.60 × critical" in one.wrong and "speed_max_mm_per_min" in one.mend


@pytest.mark.slow
def test_what_braking_costs_is_told() -> None:
    one = told("brakes", epe_mean=(0.06, 0.02))
    assert "6.0 µm on average instead of 2.0 µm" in one.wrong and "speed_max_mm_per_min" in one.mend


def foreign(
    spacing: float, feed: float, step: float = 1.5, acceleration: float = 500.0
) -> tuple[PageData, Toolpath]:
    """Page data of another tool's program that hatches the square with these lines, and its path."""
    process, y = machine(acceleration=(acceleration, acceleration)), np.arange(1.02, 2.5, spacing)
    xs = np.arange(1, 2.5 + step / 2, step)
    rows = [np.column_stack([xs[:: 1 - 2 * (k % 2)], np.full(len(xs), v)]) for k, v in enumerate(y)]
    xy = np.vstack([[0, 0], *rows])
    lit = np.r_[False, np.ones(len(xy) - 2, dtype=bool)]
    drawn = Toolpath(xy, np.where(lit, 4.0 * feed / 50, 0.0), np.where(lit, feed, 100.0))
    target = rasterise(SQUARE, grid_for(SQUARE, process.spot, 4))
    made = expose(drawn, SQUARE, target, process).executed
    report = laserpath.types.results.Report(made, start=made)
    return PageData.of(report, SQUARE, drawn, process), drawn


def kinds(data: PageData) -> set[str]:
    return {one.kind for one in advise(data, "fair")}


def test_lines_further_apart_leave_less() -> None:
    (near, _), (far, _) = foreign(0.03, 20), foreign(0.12, 20)
    assert "over-dose" in kinds(near)
    assert far.report.executed.figures.dose_max < near.report.executed.figures.dose_max


def test_more_acceleration_saves_the_time_of_bends() -> None:
    (slow, _), (quick, _) = foreign(0.12, 50, acceleration=20), foreign(0.12, 50, acceleration=80)
    assert "bends" in kinds(slow)
    assert quick.report.executed.motion.write_time < 0.6 * slow.report.executed.motion.write_time


def test_a_lower_feed_needs_fewer_moves_a_second() -> None:
    (quick, _), (calm, _) = foreign(0.12, 50, 0.03), foreign(0.12, 5, 0.03)
    assert "link" in kinds(quick)
    assert "link" not in kinds(calm)
    assert calm.report.executed.motion.segment_rate < quick.report.executed.motion.segment_rate


def variations() -> list[tuple[PageData, str]]:
    """PageData of every combination of what advice looks at."""
    job: Job = make_job(SQUARE)
    found = []
    for hollow, pitch, dose, braked, power, quality, level in product(
        (None, 0.001, 0.5), (0.3, 1.2, 2.0), (2.0, 4.0), (False, True), (0.0, 1.0),
        ("draft", "standard", "fine"), ("good", "fair", "poor"),
    ):  # fmt: skip
        executed, limits = job.report.executed, job.process.machine
        bad = {"dose_max": dose, "epe_mean": 0.2 if braked else 0.01, "write_time": 400.0, "ideal_time": 90.0}
        report = replace(job.report, executed=with_figures(executed, **bad))
        level_of = limits.power_max if power else limits.power_max / limits.power_levels
        path = replace(job.toolpath, power=np.where(job.toolpath.on, level_of, 0.0))
        places = [Place((1, 1), (1, 0), 0.1, True, 0.3, kind, 0.05, 0.1) for kind in ("gap", "feature")]
        known = [Settings(pitch_fwhm=pitch, quality=quality)]
        if (pitch, quality) == (1.2, "standard"):  # without settings these two are unknown
            known.append(None)
        for settings in known:
            inside = Inspection(missing=Fault("area", (1.2, 1.2), hollow, hollow) if hollow else None)
            varied = PageData(
                report, SQUARE, path, job.process, settings, np.linspace(1, 0.5, 100), places, inside
            )
            found.append((varied, level))
    return found


@pytest.fixture(scope="module")
def all_advice() -> list[tuple[Advice, ...]]:
    return [advise(data, level) for data, level in variations()]


@pytest.mark.slow
def test_no_two_pieces_of_advice_contradict(all_advice: list[tuple[Advice, ...]]) -> None:
    for given_together in all_advice:
        ways: dict[str, set[int]] = {}
        for change in (change for one in given_together for change in one.changes):
            ways.setdefault(change.name, set()).add(change.way)
        assert all(len(both) == 1 for both in ways.values()), [one.sentence for one in given_together]


@pytest.mark.slow
def test_what_advice_names_exists(all_advice: list[tuple[Advice, ...]]) -> None:
    """Options of `laserpath plan` as they are typed, and keys of profiles with their units."""
    options = {name for parameter in command.plan.params for name in parameter.opts}
    keys = {key for noun in (fields.MACHINE, fields.RESIN, fields.SPOT) for one in noun for key in one.keys}
    sentences = {one.sentence for given_together in all_advice for one in given_together}
    for sentence in sentences | {lost_sentence()}:
        assert set(re.findall(r"--[a-z-]+", sentence)) <= options, sentence
        assert set(re.findall(r"\b[a-z0-9]+_[a-z0-9_]+", sentence, re.I)) <= keys, sentence
    assert {one.kind for together in all_advice for one in together} > {"hollow", "brakes", "finer"}


def lost_sentence() -> str:
    """The advice on a plan that the controller loses."""
    job = make_job(SQUARE)
    before = job.report.commanded
    assert before
    after = with_figures(before, undercure=0.5 * SQUARE.area.area, segment_rate=900.0)
    return str(lost_in_motion(before, after, job.toolpath, SQUARE, job.process))

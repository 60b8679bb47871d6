"""What a plan ships: never a print that is worse, as executed, than that of its starting curve."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import design
from sets import one_fast

import laserpath
from laserpath.design.scene import Scene
from laserpath.measure import rounded_off
from laserpath.planning import pipeline
from laserpath.types import Machine, Process, Settings
from laserpath.types.results import Measurement, Solution

QUICK = Settings(initial="contour", iterations=30, quality="draft", origin="page", report="brief")
CONTACTS = design(
    *(shapely.box(x, y, x + 0.12, y + 0.12) for x in (0.5, 0.8, 1.3) for y in (0.5, 0.75)), name="contacts"
)
MARLIN = Process(machine=Machine(dialect="marlin", steps=(80.0, 80.0)))


def no_worse(plan: laserpath.Plan) -> bool:
    """In mean edge error and missing edges; a corner that the spot rounds off is not missing."""
    process, executed = plan.process, plan.report.executed
    scene = Scene(plan.design, executed.grid, process.spot, process.resin)

    def missing(exposure: Measurement) -> int:
        return int(rounded_off(exposure.edges, exposure.dose, scene).missing.sum())

    end, start = executed, plan.report.start
    return end.figures.epe_mean <= start.figures.epe_mean + 1e-3 and missing(end) <= missing(start)


def reasons(plan: laserpath.Plan) -> list[str]:
    return [sentence for sentence in plan.report.warnings if "the starting curve is written" in sentence]


def test_polygons_are_planned_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Polygon was a TypeError of os.fspath."""
    monkeypatch.setattr(pipeline, "placed", lambda design, *_: (_ for _ in ()).throw(KeyError(design)))
    box = shapely.box(0, 0, 1, 2)
    for polygons in (box, shapely.MultiPolygon([box])):
        with pytest.raises(KeyError) as caught:
            laserpath.plan(polygons)
        assert caught.value.args[0].area.equals(box)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (shapely.LineString([(0, 0), (1, 1)]), "area is a LineString, but must be a Polygon .*buffer"),
        (shapely.GeometryCollection(), "area is a GeometryCollection"),
        (shapely.Polygon([(0, 0), (3, 1), (3, 0), (0, 2)]), "'design' is not valid: Self-intersection"),
        (shapely.Polygon(), "'design' is empty"),
        ([(0, 0), (1, 1)], "design is of type list, but must be a file's name, a Design, or a Polygon"),
    ],
)
def test_what_is_no_area_is_refused_in_a_sentence(given: object, words: str) -> None:
    with pytest.raises(laserpath.InputError, match=words) as caught:
        laserpath.plan(given)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("process", one_fast([MARLIN, Process()], MARLIN), ids=["marlin", "grbl"])
def test_contacts_do_not_print_worse_than_the_start(process: Process) -> None:
    assert no_worse(laserpath.plan(CONTACTS, process, QUICK))


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["grbl", "marlin", "klipper", "linuxcnc"])
@pytest.mark.parametrize("name", ["lithobench_StdContact_BUF_X16__0_0", "mdi_snowflake"])
def test_designs_do_not_print_worse_than_the_start(dialect: str, name: str) -> None:
    steps = (250.0, 250.0) if dialect == "grbl" else (80.0, 80.0)
    process = Process(machine=Machine(dialect=dialect, baud=None, steps=steps))
    assert no_worse(
        laserpath.plan(
            Path(__file__).parents[1] / f"data/designs/{name}.svg", process, Settings(report="brief")
        )
    )


def test_a_worse_solution_is_not_shipped_and_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of an optimiser that knows the controller badly: forty times the power."""
    real = pipeline.solve_within

    def solve(*given: object, **named: object) -> Solution:
        solution = real(*given, **named)  # type: ignore[arg-type]
        assert solution.written is not None
        strong = replace(solution.written, power=np.minimum(40 * solution.written.power, 10.0))
        return replace(solution, written=strong)

    monkeypatch.setattr(pipeline, "solve_within", solve)
    plan = laserpath.plan(CONTACTS, settings=QUICK)
    (reason,) = reasons(plan)
    assert plan.solution.toolpath is plan.start
    assert no_worse(plan)
    assert "; Warning: the starting curve is written" in plan.program, "the file tells it, too"
    ((would, does),) = re.findall(r"mean edge error ([\d.]+) µm instead of ([\d.]+) µm", reason)
    assert does == f"{100 * plan.report.start.figures.epe_mean:.2g}"
    assert float(would) > float(does)


@pytest.mark.slow
def test_some_edges_more_are_no_reason_to_ship_a_start_that_prints_much_more_wrongly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        pipeline, "rounded_off", lambda edges, *_: edges
    )  # no corner explains what is missing
    plan = laserpath.plan(CONTACTS, settings=replace(QUICK, iterations=0))
    end, start = plan.report.executed, plan.report.start
    task = pipeline.Task.of(plan.design, plan.process, plan.settings)
    missing = end.edges.missing.copy()
    missing[: np.count_nonzero(start.edges.missing) + 1] = True
    figures = replace(end.figures, missing_edges=start.figures.missing_edges + 1, epe_mean=0.01)
    worse = replace(end, figures=figures, edges=replace(end.edges, missing=missing))
    for iou, shipped in ((0.9, True), (0.7, False)):
        before = replace(start, figures=replace(start.figures, iou=iou))
        now = replace(worse, figures=replace(figures, iou=0.93))
        assert bool(pipeline.worse_than_start(now, before, task)) == shipped
    # Nor are they if the start has lost a contact.
    before = replace(start, figures=replace(start.figures, iou=0.9), dose=start.dose.copy())
    before.dose[: before.dose.shape[0] // 2] = 0
    assert not pipeline.worse_than_start(now, before, task)


@pytest.mark.slow
def test_a_plan_within_its_tolerance_may_be_less_true_than_its_start() -> None:
    """The user asked for the fastest one."""
    plan = laserpath.plan(CONTACTS, settings=replace(QUICK, iterations=0))
    end, start = plan.report.executed, plan.report.start
    off = replace(end.figures, epe_mean=start.figures.epe_mean + 0.01, missing_edges=0, epe_p95=0.3)
    worse = replace(end, figures=off)
    task = pipeline.Task.of(plan.design, plan.process, plan.settings)
    assert pipeline.worse_than_start(worse, start, task)
    for limit, refused in ((0.4, False), (0.2, True)):
        asked = replace(task, settings=replace(plan.settings, max_epe_fwhm=limit))
        assert bool(pipeline.worse_than_start(worse, start, asked)) == refused

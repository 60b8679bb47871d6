"""The pipeline, end to end, on a small design: the report's figures are those of the file."""

import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import expose
from scipy.special import j1
from shapes import NODING

import gcode
import laserpath
from laserpath.machine import convert
from laserpath.machine.program import Transmitted
from laserpath.machine.rest import RESTS

BRACKET = shapely.union(shapely.box(1, 1, 1.3, 2), shapely.box(1, 1, 2, 1.3), grid_size=NODING)
QUICK = laserpath.Settings(initial="contour", iterations=60, report="brief")


@pytest.fixture(scope="module")
def bracket() -> laserpath.Plan:
    return laserpath.plan(laserpath.Design(BRACKET, "bracket"), settings=replace(QUICK, report="full"))


def test_a_plan_and_its_parts_are_shown_in_a_line(bracket: laserpath.Plan) -> None:
    """`repr` of a plan was 210 452 characters."""
    assert repr(bracket).startswith("Plan(design=Design('bracket'), process=Process(…), ")
    moves = len(bracket.toolpath)
    shape = f"xy=float64 ({moves + 1}, 2), power=float64 ({moves},), speed=float64 ({moves},)"
    assert repr(bracket.toolpath) == f"Toolpath({shape})"
    found = bracket.report
    whole = (bracket, bracket.design, bracket.target, bracket.solution, bracket.shipped, bracket.run)
    for one in (*whole, found, found.executed, found.window, found.limit):
        assert len(repr(one)) < 300 and "\n" not in repr(one)


def test_a_notebook_shows_verdict_and_picture(bracket: laserpath.Plan) -> None:
    """Whatever its name is; nothing runs, and nothing is fetched."""
    named = replace(bracket, design=replace(bracket.design, name="<b>&c"))
    text = named._repr_html_()
    level, headline = bracket.verdict
    assert f"&lt;b&gt;&amp;c: {level}." in text and headline in text
    assert "<script" not in text and re.findall(r"""(?:src|href)=["'](?!data:image)""", text) == []
    assert text.count("<img") == 1 and len(text) < 200_000


def read(program: str) -> np.ndarray:
    """An independent reader for this dialect: rows x0 y0 x1 y1 mW mm/s of the exposing moves."""
    x = y = s = f = 0.0
    rows = []
    for line in program.splitlines():
        words = dict(re.findall(r"([A-Z])([-+.\d]+)", line.split(";")[0]))
        s, f = float(words.get("S", s)), float(words.get("F", f))
        if "X" in words or "Y" in words:
            there = float(words.get("X", x)), float(words.get("Y", y))
            if words["G"] == "1" and s > 0:
                rows.append((x, y, *there, s / 1000 * 10, f / 60))
            x, y = there
    return np.array(rows)


def airy_dose(rows: np.ndarray, at: np.ndarray, fwhm: float) -> np.ndarray:
    """Dose (M,) at points (M, 2), each move as 40 points, by the plain sum."""
    t = (np.arange(40) + 0.5) / 40
    xy = rows[:, None, :2] + t[None, :, None] * (rows[:, None, 2:4] - rows[:, None, :2])
    length = np.hypot(*(rows[:, 2:4] - rows[:, :2]).T)
    energy = np.repeat(rows[:, 4] / rows[:, 5] * length / 40, 40)
    k = 3.23268 / fwhm
    r = np.maximum(k * np.hypot(*(at[:, None] - xy.reshape(-1, 2)[None]).transpose(2, 0, 1)), 1e-6)
    return (k**2 / (4 * np.pi) * (2 * j1(r) / r) ** 2) @ energy


def test_the_dose_of_the_run_has_the_edges_of_the_report(bracket):
    edges = bracket.report.executed.edges
    grid = bracket.report.executed.grid
    inner = bracket.report.executed.dose
    run = bracket.shipped.executed
    rows = np.c_[run.xy[:-1], run.xy[1:], run.power, run.speed][run.on]
    dose = airy_dose(rows, edges.xy, 0.1)
    column, row = np.rint(grid.to_pixels(edges.xy)).astype(int).T
    centres = np.stack([grid.x()[column], grid.y()[row]], axis=1)
    np.testing.assert_allclose(airy_dose(rows, centres, 0.1), inner[row, column], atol=0.01 * 0.2)
    # Where the reported edge is within 1 % of the spot, the dose there must be near the critical one: with up
    # to 3 D_c inside, it rises by up to 5 D_c per FWHM.
    true = np.abs(edges.epe) < 0.001
    assert true.sum() > 20
    np.testing.assert_allclose(dose[true], 0.2, rtol=0.05)


def test_reported_numbers_are_those_of_the_program_parsed_back(bracket):
    machine = bracket.process.machine
    parsed = gcode.read(bracket.program, gcode.dialect("grbl"), 1000)
    shipped, row = convert.toolpath_of(parsed.moves, machine)
    sent = Transmitted.of(parsed.characters, row, bracket.program.count("\n"))
    sent = replace(sent, rests=tuple(parsed.characters[:RESTS].tolist()))
    again = expose(shipped, bracket.design, bracket.target, bracket.process, sent).executed
    assert again.figures == bracket.report.executed.figures


def test_plan_beats_the_best_constant_power_start(bracket):
    planned, start = bracket.report.executed.figures, bracket.report.start.figures
    assert planned.epe_mean < start.epe_mean / 2
    assert planned.iou > start.iou
    assert planned.epe_mean < 0.05


def test_program_keeps_the_machine_limits(bracket):
    machine = bracket.process.machine
    rows = read(bracket.program)
    assert rows[:, 4].min() > 0
    assert rows[:, 4].max() <= machine.power_max
    steps = rows[:, :4] * 250
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
    assert rows[:, 5].max() <= min(machine.speed_max) + 1e-9
    assert rows[:, :4].min() >= 0


@pytest.mark.slow
def test_same_seed_same_program_whatever_the_report(bracket):
    again = laserpath.plan(laserpath.Design(BRACKET, "bracket"), settings=QUICK)
    assert again.program == bracket.program
    assert again.report.limit is None and bracket.report.limit is not None


def test_progress_reports_every_iteration_and_interrupt_ships_the_best_so_far():
    seen = []

    def listen(progress: laserpath.Progress) -> None:
        seen.append(progress)
        if len(seen) == 30:
            raise KeyboardInterrupt

    plan = laserpath.plan(
        laserpath.Design(BRACKET, "bracket"), settings=replace(QUICK, iterations=120), progress=listen
    )
    assert [p.iteration for p in seen[:30]] == [*range(1, 31)]
    rest = list(dict.fromkeys(p.stage for p in seen[30:]))
    assert rest[:2] == ["levels", "measure"], "what is finished with it, and no optimiser"
    assert plan.solution.stopped
    assert "stopped by the user after 30" in plan.solution.result
    assert plan.report.executed.figures.epe_mean < plan.report.start.figures.epe_mean


@pytest.mark.slow
def test_positive_resist_exposes_the_rest_of_the_page():
    page = (0.0, 0.0, 1.0, 1.0)
    design = laserpath.Design(shapely.box(0.3, 0.3, 0.7, 0.7), "window", page=page)
    process = laserpath.Process(resin=laserpath.Resin(tone="positive"))
    plan = laserpath.plan(design, process, replace(QUICK, iterations=10))
    assert plan.design.area.area == pytest.approx(1.0**2 - 0.4**2)
    executed = plan.report.executed
    column, row = np.rint(executed.grid.to_pixels([[0.5, 0.5], [0.15, 0.5]])).astype(int).T
    assert executed.dose[row[0], column[0]] < 0.2 < executed.dose[row[1], column[1]]


@pytest.mark.slow
def test_a_missed_tolerance_is_an_outcome_not_an_error():
    settings = replace(QUICK, iterations=1, max_epe_fwhm=1e-4)
    assert not laserpath.plan(laserpath.Design(BRACKET, "bracket"), settings=settings).within_tolerance


def test_passes_repeat_the_path_and_share_the_power(bracket):
    plan = laserpath.plan(laserpath.Design(BRACKET, "bracket"), settings=replace(QUICK, passes=2))
    once, twice = read(bracket.program), read(plan.program)
    assert len(twice) > 1.5 * len(once)
    assert twice[:, 4].max() < once[:, 4].max()
    assert plan.report.executed.figures.epe_mean == pytest.approx(
        bracket.report.executed.figures.epe_mean, abs=0.005
    )


def test_write_gives_three_files_that_agree(bracket, tmp_path):
    paths = bracket.write(tmp_path / "out")
    assert sorted(p.name for p in paths) == ["bracket.gcode", "bracket.report.html", "bracket.toolpath.svg"]
    assert (tmp_path / "out" / "bracket.gcode").read_text() == bracket.program


@pytest.mark.slow
def test_hatch_finds_the_design_too():
    settings = laserpath.Settings(initial="hatch", iterations=300, report="brief")
    assert (
        laserpath.plan(laserpath.Design(BRACKET, "bracket"), settings=settings).report.executed.figures.iou
        > 0.95
    )


@pytest.mark.slow
def test_a_random_walk_is_drawn_into_the_design():
    """A bad start on purpose: it must come most of the way, through spots that get narrower."""
    plan = laserpath.plan(
        laserpath.Design(BRACKET, "bracket"), settings=replace(QUICK, initial="random", iterations=600)
    )
    assert plan.report.start.figures.iou < 0.5
    assert plan.report.executed.figures.iou > 0.75


@pytest.mark.slow
def test_a_dot_far_below_the_spot_is_exposed():
    """A stroke that a motor step swallows, or in which the head gains no speed, would leave M4 dark."""
    dot = laserpath.Design(shapely.box(1, 1, 1.01, 1.01), "dot")
    plan = laserpath.plan(dot, settings=replace(QUICK, iterations=120, origin="design"))
    figures = plan.report.executed.figures
    assert figures.missing_edges == 0
    # The head is so slow that the laser has some seven levels of power: the next one is a seventh brighter,
    # which makes the dot 0.2 FWHM wider all around.
    assert 1 < figures.dose_max < 8 / 7
    assert figures.epe_mean < 0.2


@pytest.mark.slow
def test_a_dot_with_an_edge_on_one_side_only_is_brighter():
    """It had just the critical dose in its middle, beside the design's; the next level is wider."""
    dot = laserpath.Design(shapely.box(1, 1, 1.02, 1.02), "dot")
    figures = laserpath.plan(
        dot, settings=replace(QUICK, initial="auto", iterations=300, origin="design")
    ).report.executed.figures
    assert figures.missing_edges == 0
    assert figures.epe_mean < 0.2

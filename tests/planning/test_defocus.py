"""The loss out of focus: that of a wider spot at the same power; counted, it keeps the edges there."""

import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import SPOT, design, expose
from sets import one_fast

import laserpath
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.powers import exposing
from laserpath.measure.window import process_window
from laserpath.physics.dose import DoseModel
from laserpath.planning.curve import initial_curve
from laserpath.planning.optimise import fields
from laserpath.planning.optimise.loop import Schedule, dose_to_size, optimise
from laserpath.planning.optimise.loss import Loss, out_of_focus
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.stages import solve
from laserpath.planning.task import Task
from laserpath.types import Machine, Process, Resin, Settings, Spot

WIDTH, CONTRAST = 1.15, 12.0
SETTINGS = Settings(initial="contour", iterations=120, report="brief")
FORK = design(
    shapely.box(1, 1, 1.6, 1.3), *(shapely.box(x, 1, x + 0.12, 1.9) for x in (1, 1.24, 1.48)), name="fork"
)
"""Tines as wide as the gaps between them, 1.2 FWHM: more blur closes them."""

TARGET = rasterise(FORK, grid_for(FORK, SPOT, 4))
ONE, TWO = Process(), Process(resin=Resin(order=2, critical_dose=100), machine=Machine(power_max=40))
ORDERS = pytest.mark.parametrize("process", [ONE, TWO], ids=["one photon", "two photons"])


def objective(process, edge_weight=None):
    return Objective.of(Scene.of(FORK, TARGET, process.spot, process.resin), edge_weight)


def started(process):
    curve = initial_curve(FORK, process, SETTINGS)
    return dose_to_size(curve, DoseModel(TARGET.grid, process.spot), objective(process), process.machine)


def wider(spot: Spot) -> Spot:
    return replace(spot, fwhm=WIDTH * spot.fwhm)


def exact(process, weight=0.3):
    """The term in double precision."""
    blur = out_of_focus(WIDTH, objective(process), process.spot, weight).at_contrast(CONTRAST)
    model = DoseModel(TARGET.grid, wider(process.spot), precision="f64", tolerance=1e-6)
    return replace(blur, model=model)


@pytest.mark.parametrize("process", one_fast([ONE, TWO], TWO), ids=["one photon", "two photons"])
def test_it_is_the_loss_of_the_same_path_through_a_wider_spot(process):
    path = started(process)
    toolpath = exposing(path, process.machine, process.spot)
    dose = exact(process).model.dose(toolpath)  # at the same power
    expected = 0.3 * objective(process).at_contrast(CONTRAST)(dose)[0]
    energy = path.energy
    assert exact(process)(path.xy, energy)[0] == pytest.approx(expected, rel=1e-9)
    term = out_of_focus(WIDTH, objective(process), process.spot, 0.3)
    single = term.at_contrast(CONTRAST)(path.xy, energy)[0]
    assert single == pytest.approx(expected, rel=0.01)


@ORDERS
def test_its_slopes_are_the_central_differences(process):
    rng = np.random.default_rng(1)
    path, blur = started(process), exact(process)
    energy = path.energy
    d_xy, d_energy = rng.normal(size=path.xy.shape), rng.normal(size=len(energy)) * energy
    _, slopes = blur(path.xy, energy)
    h = 1e-5
    for along, up, down in (
        ((slopes.xy * d_xy).sum(), *((path.xy + s * h * d_xy, energy) for s in (1, -1))),
        (slopes.line_energy @ d_energy, *((path.xy, energy + s * h * d_energy) for s in (1, -1))),
    ):
        difference = (blur(*up)[0] - blur(*down)[0]) / (2 * h)
        assert along == pytest.approx(difference, rel=1e-4)


def test_a_spot_no_wider_costs_what_it_costs_in_focus_without_the_edge_error():
    path, energy = started(ONE), started(ONE).energy
    focus = objective(ONE, edge_weight=0.05).at_contrast(CONTRAST)
    blur = out_of_focus(1.0, focus, SPOT, 1.0).at_contrast(CONTRAST)
    model = DoseModel(TARGET.grid, SPOT)
    dose = model.line_dose(path.xy, energy)
    loss = focus(dose)[0] - 0.05 * focus.edge(dose / focus.scene.critical_dose)
    assert blur(path.xy, energy)[0] == pytest.approx(loss, rel=1e-5)
    expected = model.line_gradient(path.xy, energy, replace(focus, edge_weight=0.0)(dose)[1])
    np.testing.assert_array_equal(blur(path.xy, energy)[1].xy, expected.xy)


def optimised(blur):
    model, schedule = DoseModel(TARGET.grid, SPOT), Schedule(20, contrast=(CONTRAST, CONTRAST))
    return optimise(started(ONE), Loss.of(objective(ONE), model, blurred=blur), ONE, schedule)


def test_the_optimiser_adds_it_to_its_loss():
    blur = out_of_focus(WIDTH, objective(ONE), SPOT)
    alone, both = optimised(None), optimised(blur)
    first = blur.at_contrast(CONTRAST)(started(ONE).xy, started(ONE).energy)[0]
    assert both.loss[0] == pytest.approx(alone.loss[0] + first, rel=1e-6)


def test_without_weight_it_changes_no_bit():
    alone, both = optimised(None), optimised(out_of_focus(WIDTH, objective(ONE), SPOT, weight=0.0))
    np.testing.assert_array_equal(alone.loss, both.loss)
    np.testing.assert_array_equal(alone.path.xy, both.path.xy)
    np.testing.assert_array_equal(alone.path.energy, both.path.energy)


def test_in_focus_only_nothing_of_it_is_made(monkeypatch):
    monkeypatch.setattr(fields, "out_of_focus", lambda *_: pytest.fail("a blur of 1 is no blur"))
    assert solve(started(ONE), Task.of(FORK, ONE, replace(SETTINGS, iterations=4, blur=1.0))).loss.size


@pytest.mark.slow
@ORDERS
def test_edges_are_more_accurate_out_of_focus_and_nearly_as_accurate_in_it(process):
    tasks = [Task.of(FORK, process, replace(SETTINGS, blur=width)) for width in (1.0, WIDTH)]
    paths = [solve(started(process), task).toolpath for task in tasks]
    sharp, robust = (
        process_window(path, tasks[0].scene, doses=(1.0,), widths=(1.0, WIDTH)).epe_mean[:, 0]
        for path in paths
    )
    assert robust[1] < 0.95 * sharp[1]
    assert robust[0] < sharp[0] + 0.02
    assert expose(paths[1], FORK, tasks[0].scene.target, process).commanded.figures.missing_edges == 0


@pytest.mark.slow
def test_the_report_shows_the_requested_width_and_the_program_names_it():
    plan = laserpath.plan(FORK, settings=replace(SETTINGS, iterations=4, blur=1.5))
    assert plan.report.window is not None
    assert plan.report.window.width.tolist() == [1.0, 1.15, 1.3, 1.5]
    comments = " ".join(line[2:] for line in plan.program.splitlines() if line.startswith("; "))
    assert re.search(r"Settings: .*\bblur 1\.5\b", comments)


@pytest.mark.parametrize("value", [0.99, 2.01, float("nan"), float("inf"), -1.15])
def test_a_width_that_makes_no_sense_is_refused_in_a_sentence(value):
    with pytest.raises(InputError, match=rf"^blur is {value}, but must be between 1 and 2$"):
        Settings(blur=value)


def test_a_width_that_is_no_number_is_refused_in_a_sentence():
    with pytest.raises(InputError, match=r"^blur is 'wide', but must be a number$"):
        Settings(blur="wide")  # type: ignore[arg-type]

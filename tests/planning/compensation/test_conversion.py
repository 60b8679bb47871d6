"""Plans by conversion: the executed timeline as flashes, its gradient, and neighbours written quickly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import laserpath
from laserpath.config import profiles
from laserpath.design.scene import Scene
from laserpath.machine.program import MachineProgram
from laserpath.measure.conversion import light_of
from laserpath.measure.exposure import Exposure
from laserpath.physics.dose import accurate_model
from laserpath.physics.kinetics import KineticModel
from laserpath.planning.compensation.conversion import KineticLines, _is_better
from laserpath.planning.optimise.loss import over_dose
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.task import Task
from laserpath.types import Grid, Kinetics, Process, Settings, Spot, Toolpath

FOLDER = Path(__file__).parents[3] / "samples" / "kinetics"
RATES = Kinetics(0.15, 2.0, inhibition=100.0, termination=0.5, diffusion=1e-4)


def test_flashes_have_the_energy_and_the_time_of_the_executed_program() -> None:
    xy = np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 1.3], [1.0, 1.3]])
    path = Toolpath(xy, np.array([2.0, 0, 3]), np.full(3, 20.0))
    program = MachineProgram.written(path, Process())
    light, end = light_of(program)
    run = program.run
    assert light.energy.sum() == pytest.approx(10.0 * run.exposure, rel=1e-6)
    assert light.time[0] > 0 and end == pytest.approx(run.write_time)
    np.testing.assert_allclose(light.xy, run.at(light.time)[:, :2], atol=1e-6)
    close = np.hypot(*np.diff(light.xy, axis=0).T)
    assert np.sort(close)[-2] <= 0.0101  # but for the travel between the lines


def test_the_gradient_by_ends_and_line_energies_is_that_of_differences() -> None:
    rng = np.random.default_rng(5)
    model = KineticModel(Grid((0.0, 0.0), 0.02, (20, 30)), Spot(fwhm=0.08, profile="gaussian"), RATES)
    ends = np.array([[0.15, 0.2], [0.3, 0.2], [0.45, 0.25]])
    shape = SimpleNamespace(ends=ends, duration=np.array([0.01, 0.02]), share=np.ones(2))
    lines, energy = KineticLines(model, shape, 0.08), np.array([0.03, 0.025])
    weight = rng.normal(size=(20, 30))

    def value(ends: np.ndarray, energy: np.ndarray) -> float:
        return float((weight * lines.spread(lines.points(ends, energy))).sum())

    found = lines.pull(lines.points(ends, energy), weight, ends, energy)
    for way in [*np.eye(6).reshape(6, 3, 2), rng.normal(size=ends.shape)]:
        h = 1e-6
        by_ends = (value(ends + h * way, energy) - value(ends - h * way, energy)) / (2 * h)
        assert (found.xy * way).sum() == pytest.approx(by_ends, rel=1e-6)
    most = np.abs(found.line_energy * energy).max()  # the derivative by the first happens to be near 0
    for change in [*np.diag(energy), rng.normal(size=2) * energy]:
        h = 1e-5
        by_energy = (value(ends, energy + h * change) - value(ends, energy - h * change)) / (2 * h)
        assert found.line_energy @ change == pytest.approx(by_energy, rel=1e-6, abs=1e-7 * most)


def test_the_over_dose_term_is_that_of_the_objective_and_its_gradient_that_of_differences() -> None:
    design = laserpath.load(FOLDER / "comb.svg", tolerance=1e-3)
    spot, resin = Spot(fwhm=0.1), replace(profiles.resin(FOLDER / "by-dose.toml"), over_dose=1.5)
    scene = Scene.around(design, spot, resin, 4.0)
    term = replace(over_dose(scene), model=accurate_model(scene.grid, spot))
    rng = np.random.default_rng(4)
    ends = np.array([[0.3, 0.4], [0.5, 0.41], [0.9, 0.6], [1.2, 0.6]])
    energy = np.array([0.08, 0.07, 0.03])
    loss, found = term(ends, energy)
    dose, objective = term.model.line_dose(ends, energy), Objective.of(scene)
    without = replace(objective, over=replace(objective.over, limit=1e6))
    assert loss == pytest.approx(objective(dose)[0] - without(dose)[0], rel=1e-9) and loss > 1e-3
    for _ in range(3):
        way, change, h = rng.normal(size=ends.shape), rng.normal(size=3) * energy, 1e-5
        by_ends = (term(ends + h * way, energy)[0] - term(ends - h * way, energy)[0]) / (2 * h)
        by_energy = (term(ends, energy + h * change)[0] - term(ends, energy - h * change)[0]) / (2 * h)
        assert (found.xy * way).sum() == pytest.approx(by_ends, rel=1e-4)
        assert found.line_energy @ change == pytest.approx(by_energy, rel=1e-6)


def test_a_correction_is_taken_if_the_reported_error_falls_and_the_light_is_acceptable() -> None:
    task = SimpleNamespace(scene=SimpleNamespace(resin=profiles.resin(FOLDER / "by-kinetics.toml")))

    def figures(epe: float, dose: float) -> SimpleNamespace:
        return SimpleNamespace(epe_mean=epe, dose_max=dose)

    for old, new, better in [
        ((0.08, 3.0), (0.07, 3.1), True),
        ((0.08, 3.0), (0.09, 2.0), False),
        ((0.08, 3.0), (0.02, 3.2), False),  # the limit is 3
        ((0.08, 6.0), (0.07, 5.9), True),  # what was too bright may stay so
    ]:
        assert _is_better(figures(*new), figures(*old), task) is better


@pytest.mark.slow
def test_neighbours_written_quickly_overcure_by_dose_and_not_by_kinetics() -> None:
    by_dose, by_kinetics = (profiles.resin(FOLDER / f"by-{name}.toml") for name in ("dose", "kinetics"))
    settings = Settings(iterations=200, report="brief")
    threshold = laserpath.plan(FOLDER / "comb.svg", Process(resin=by_dose), settings)
    kinetic = laserpath.plan(FOLDER / "comb.svg", Process(resin=by_kinetics), settings)
    # The threshold plan is right by its own model.
    assert threshold.report.executed.figures.epe_mean < 0.03
    (part,) = threshold.shipped.parts
    process = replace(part.process, resin=by_kinetics)
    program = replace(threshold.shipped, parts=(replace(part, process=process),))
    executed = kinetic.report.executed
    wrong = Exposure(program, Task.of(kinetic.design, process, settings).scene).executed.figures
    right = executed.figures
    assert executed.by_dose is not None
    assert executed.by_dose.figures.overcure < executed.by_dose.figures.undercure
    assert wrong.overcure > 4 * wrong.undercure
    assert right.epe_mean < 0.5 * wrong.epe_mean
    assert right.epe_p95 < wrong.epe_p95  # corners take more light than is acceptable
    assert right.overcure < 0.25 * wrong.overcure
    assert right.dose_max < 1.05 * by_kinetics.over_dose

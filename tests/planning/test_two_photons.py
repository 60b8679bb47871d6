"""Absorption order 2 through the planner: wherever power and speed stand for a line energy, P²/v counts."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, design, expose, path
from hypothesis import assume, given
from hypothesis import strategies as st

import gcode
from laserpath import plan
from laserpath.base.arrays import runs
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.machine import convert
from laserpath.machine.attenuation import too_strong
from laserpath.machine.framing import LAPS, frame_dose, framing_pass
from laserpath.machine.powers import energies, exposing, to_levels
from laserpath.measure.exposure import lost_in_motion
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel
from laserpath.physics.resin import line_energy, path_energy
from laserpath.planning.curve import initial_curve, join
from laserpath.planning.optimise.loop import Schedule, dose_to_size, optimise
from laserpath.planning.optimise.loss import Loss
from laserpath.planning.optimise.objective import Objective
from laserpath.planning.smooth import simplify
from laserpath.planning.stages import SolverStage, _EdgeCheck, _run, trim
from laserpath.planning.task import Task
from laserpath.types import Grid, Machine, Process, Resin, Settings, Spot

SPOT = Spot(FWHM, photons=2)
SLOW = Machine(speed_max=(5.0, 5.0), power_max=3.0)
PROCESS = Process(SPOT, Resin(order=2, critical_dose=20.0), SLOW)
NARROWER = 1.0
"""The two-photon spot's FWHM in that of one photon. Lengths below are chosen for it."""

SETTINGS = Settings(
    initial="contour",
    iterations=80,
    pitch_fwhm=1.2 * NARROWER,
    inset_fwhm=0.4 * NARROWER,
    segment_fwhm=NARROWER,
    pixels_per_fwhm=6 / NARROWER,
    report="brief",
    origin="page",  # the tests compare with the design as it was drawn
)
TEE = design(shapely.box(1, 1.7, 2, 2), shapely.box(1.35, 1, 1.65, 1.8), name="tee")
GRID = grid_for(TEE, SPOT, SETTINGS.pixels_per_fwhm)
MODEL = DoseModel(GRID, SPOT)
OBJECTIVE = Objective.of(Scene(TEE, GRID, SPOT, PROCESS.resin))
seeds = st.integers(0, 2**32 - 1)


def loss_of(path):
    return OBJECTIVE(MODEL.line_dose(path.xy, path.energy))[0]


@pytest.fixture(scope="module")
def planned():
    return plan(TEE, PROCESS, SETTINGS)


def started():
    return dose_to_size(initial_curve(TEE, PROCESS, SETTINGS), MODEL, OBJECTIVE, SLOW)


@given(seed=seeds)
def test_levels_keep_the_line_energy(seed):
    rng = np.random.default_rng(seed)
    machine, full = Machine(), min(Machine().speed_max)
    power = rng.uniform(1.1 * machine.power_min, 1.5 * machine.power_max, 30)
    start = path(rng.uniform(0, 1, (31, 2)), power, full)
    assume(start.length.min() > 0)
    levelled = to_levels(energies(start, SPOT), machine, SPOT)
    np.testing.assert_allclose(path_energy(levelled, SPOT), path_energy(start, SPOT), rtol=1e-8)
    n = machine.level_for(levelled.power)
    np.testing.assert_allclose(n, np.rint(n), atol=1e-9)
    assert n.max() <= machine.power_levels and levelled.speed.max() <= full
    inside = power <= machine.power_max
    assert (
        levelled.speed[inside] >= (levelled.power / machine.power_of(n + 1))[inside] ** 2 * full * (1 - 1e-9)
    ).all()


@given(seed=seeds, tolerance=st.floats(0.03, 0.2))
def test_what_is_merged_keeps_its_energy(seed, tolerance):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, 61)
    power = 2 + rng.uniform(0, 0.5) * np.sin(7 * x[:-1])
    start = path(np.stack([x, 0.05 * np.sin(9 * x)], axis=1), power, rng.uniform(20, 50, 60))
    before = energies(start, SPOT)
    merged = simplify(before, FWHM, tolerance)
    assert len(merged) < len(start)
    deposited = [(p.energy * p.length).sum() for p in (before, merged)]
    assert deposited[1] == pytest.approx(deposited[0], rel=1e-9)


def test_two_moves_of_different_power_merge_at_their_root_mean_square():
    start = path(np.array([[0.0, 0], [0.05, 0], [0.1, 0]]), np.array([2.0, 2.02]))
    (power,) = exposing(simplify(energies(start, SPOT), FWHM, 0.2), Machine(), SPOT).power
    assert power == pytest.approx(np.sqrt((2.0**2 + 2.02**2) / 2))


def test_a_started_curve_has_the_line_energy_of_the_settings():
    curve = initial_curve(TEE, PROCESS, SETTINGS)
    expected = 4 / 3 * PROCESS.resin.critical_dose * SETTINGS.pitch_fwhm * optics.fwhm(SPOT)
    np.testing.assert_allclose(curve.energy[curve.on], expected)


def test_joined_strokes_write_what_they_were_given():
    given = [np.array([10.0, 20.0]), np.array([5.0])]
    strokes = [np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([[3.0, 0], [4, 0]])]
    joined = exposing(join(strokes, given, SLOW), SLOW, SPOT)
    np.testing.assert_allclose(path_energy(joined, SPOT)[joined.on], np.concatenate(given))
    assert [(b - a) for a, b in runs(joined.on)] == [2, 1]


def test_tuning_finds_the_best_single_power():
    tuned = started()
    losses = [loss_of(replace(tuned, energy=tuned.energy * k**2)) for k in (0.95, 1, 1.05)]
    assert losses[1] <= min(losses[0], losses[2])


def test_a_dose_that_single_precision_cannot_hold_is_refused_in_a_sentence():
    faint = replace(OBJECTIVE.scene, resin=Resin(order=5, critical_dose=1e34))
    objective = replace(OBJECTIVE, scene=faint)
    with pytest.raises(InputError, match=r"critical dose 1e\+34 \(mW/mm²\)⁵ s is not between 1e-30"):
        dose_to_size(started(), MODEL, objective, SLOW)


def test_a_laser_of_half_the_power_writes_the_same_at_a_quarter_of_the_speed():
    strong = started()
    power = exposing(strong, SLOW, SPOT).power
    weak = Machine(speed_max=SLOW.speed_max, power_max=power.max() / 2)
    slow = dose_to_size(strong, MODEL, OBJECTIVE, weak)
    np.testing.assert_allclose(slow.energy, strong.energy, rtol=1e-6)
    hardest = np.argmax(power)
    assert slow.speed[hardest] == pytest.approx(strong.speed[hardest] / 4)


def test_the_optimiser_goes_downhill_and_its_path_has_the_loss_that_it_reports():
    solution = optimise(started(), Loss.of(OBJECTIVE, MODEL), PROCESS, Schedule(40, contrast=(10.0, 10.0)))
    assert solution.loss[0] == pytest.approx(loss_of(started()), rel=1e-4)
    assert solution.loss[-1] < 0.5 * solution.loss[0]
    assert loss_of(solution.path) == pytest.approx(solution.loss.min(), rel=1e-4)


@pytest.mark.slow
def test_trimming_a_dose_too_high_lowers_the_power_by_its_root(planned):
    edges, right = _EdgeCheck.of(Task.of(TEE, PROCESS, SETTINGS)), planned.solution.toolpath
    hot = replace(right, power=right.power * np.sqrt(1.03))
    trimmed = exposing(trim(energies(hot, SPOT), edges), SLOW, SPOT)
    # Up to the steps of the factors that are tried, 0.2 % of the dose apart, and what counts as equally good.
    np.testing.assert_allclose(path_energy(trimmed, SPOT), path_energy(right, SPOT), rtol=0.008)


def test_finding_with_a_wide_spot_leaves_the_line_energies_to_the_true_one():
    """The wide spot needs more power for the same dose; that power would burn with the true spot."""
    find = SolverStage(0.0, Schedule(3, stage="find"), 2.0)
    widened = _run(find, started(), Task.of(TEE, PROCESS, SETTINGS), 0.0, None).path
    assert widened.energy.sum() == pytest.approx(started().energy.sum(), rel=0.5)


def test_a_laser_too_strong_is_to_be_attenuated_by_the_root():
    needed = PROCESS.resin.critical_dose * SETTINGS.pitch_fwhm * optics.fwhm(SPOT)
    strong = replace(SLOW, power_max=255 * 3.0)
    weakest = line_energy(strong.power_min, 5.0, SPOT)
    (sentence,) = too_strong(replace(PROCESS, machine=strong), SETTINGS)
    assert f"is {np.sqrt(weakest / needed):.3g} times what a line of" in sentence
    assert too_strong(PROCESS, SETTINGS) == ()


def test_the_framing_pass_states_the_dose_of_its_lines():
    lap = framing_pass((1, 1, 2, 2), PROCESS, lit=True).path
    line = path(np.array([[0.05, 0.1], [1.05, 0.1]]), lap.power[0], lap.speed[0])
    dose = DoseModel(Grid((0.0, 0.0), 0.01, (21, 111)), SPOT, precision="f64", tolerance=1e-4).dose(line)
    assert frame_dose(PROCESS) == pytest.approx(LAPS * dose.max() / PROCESS.resin.critical_dose, rel=1e-3)


# As executed


def executed(machine, toolpath, dynamic):
    moves = replace(convert.to_moves(toolpath, machine), dynamic=np.full(len(toolpath), dynamic))
    run = gcode.motion.execute(moves, convert.limits(machine), power_levels=100_000, longest=0.01)
    return convert.from_moves(run.moves(), machine)


@pytest.mark.parametrize(("dynamic", "exponent"), [(True, 1), (False, -1)])
def test_where_the_head_is_slow_two_photons_see_it_even_in_dynamic_mode(dynamic, exponent):
    """M4 scales the power with the speed, so q goes as v^(N−1); under M3 it goes as 1/v for any N."""
    machine = Machine(power_max=10.0)
    line = path(np.array([[0.0, 0], [6.0, 0]]), 5.0, 50.0)
    run = executed(machine, line, dynamic)
    slow = run.on & (run.speed > 5)
    assert run.speed[slow].min() < 20 and run.speed[slow].max() > 45
    share = path_energy(run, SPOT)[slow] / path_energy(line, SPOT)[0]
    np.testing.assert_allclose(share, (run.speed[slow] / 50) ** exponent, rtol=0.01)
    one = path_energy(run, Spot(FWHM))[slow] / path_energy(line, Spot(FWHM))[0]
    np.testing.assert_allclose(one, (run.speed[slow] / 50) ** (exponent - 1 if dynamic else -1), rtol=0.01)


HASTE = Settings(iterations=0, report="brief")


def lost(report):
    return [sentence for sentence in report.warnings if "as executed" in sentence]


def quick(**changes):
    return replace(PROCESS, machine=Machine(power_max=10.0, level_offset=0.0, **changes))


def somebody_elses(process):
    """(commanded, executed, path) of a path whose powers know nothing of braking."""
    machine = process.machine
    start = dose_to_size(initial_curve(TEE, process, SETTINGS), MODEL, OBJECTIVE, machine)
    path = to_levels(start, machine, SPOT)
    exposure = expose(path, TEE, rasterise(TEE, GRID), process)
    return exposure.commanded, exposure.executed, path


def test_the_loss_by_braking_is_warned_of_and_the_named_speed_prevents_it():
    """GRBL's M4 dims where the head is slow: fine for one photon, and a loss for two."""
    fast = quick(segment_rate=1e4, acceleration=(20.0, 20.0))
    commanded, executed, path = somebody_elses(fast)
    figures = executed.figures
    assert figures.undercure > commanded.figures.undercure + 0.05 * TEE.area.area
    sentence = str(lost_in_motion(commanded, executed, path, TEE, fast))
    assert "it brakes at bends and ends" in sentence and "or more acceleration" in sentence
    assert f"{figures.missing_edges} of {figures.samples} points" in sentence
    speed = advised(sentence)
    assert speed < 50
    calm = replace(fast, machine=replace(fast.machine, speed_max=(speed, speed)))
    assert lost_in_motion(*somebody_elses(calm), TEE, calm) is None


def test_a_plan_makes_up_for_braking():
    fast = quick(segment_rate=1e4, acceleration=(20.0, 20.0))
    report = plan(TEE, fast, HASTE).report
    assert report.executed.figures.undercure < report.commanded.figures.undercure + 0.01 * TEE.area.area
    assert lost(report) == []


@pytest.mark.slow
def test_a_slow_link_is_planned_for():
    report = plan(TEE, quick(segment_rate=10.0, acceleration=(1e5, 1e5)), HASTE).report
    assert report.executed.motion.segment_rate <= 10 * 1.02
    assert lost(report) == []


def test_the_loss_by_a_slow_link_is_reported_for_an_unconstrained_path():
    """Somebody else's G-code."""
    process = quick(segment_rate=10.0, baud=3000.0, acceleration=(1e5, 1e5))
    commanded, executed, path = somebody_elses(process)
    sentence = str(lost_in_motion(commanded, executed, path, TEE, process))
    assert "the link keeps up with 10 of" in sentence and "or a faster link" in sentence
    assert advised(sentence) < 5


def advised(sentence: str) -> float:
    return float(re.search(r"speed_max_mm_per_min = ([\d.]+)", sentence)[1]) / 60


# The whole pipeline


@pytest.mark.slow
def test_a_design_is_planned_to_a_fiftieth_of_the_spot(planned):
    report = planned.report
    start, end = report.start.figures, report.executed.figures
    assert end.epe_mean < 0.03 and end.epe_mean < 0.5 * start.epe_mean
    assert end.missing_edges == 0 and end.iou > 0.98
    assert report.executed.figures.epe_mean < 0.05  # slow enough for the controller to keep up
    assert lost(report) == []

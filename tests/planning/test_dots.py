"""Strokes that are nearly points print as dots on every controller, at the start as after planning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import design
from sets import one_fast

import laserpath
from laserpath.base.arrays import runs
from laserpath.machine.powers import energies
from laserpath.machine.program import MachineProgram
from laserpath.physics import optics
from laserpath.physics.dose import usual_model
from laserpath.planning.dots import DOT_FWHM, _DarkMoves, drawn_out, filled, run_out, stroke_of_dot
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Machine, Process, Resin, Settings, Spot, StraightMoves, Toolpath

MACHINES = {
    "grbl": Machine(),
    "klipper": Machine(dialect="klipper", steps=(80.0, 80.0), baud=None),
    "marlin": Machine(dialect="marlin", steps=(80.0, 80.0)),
}
GRID = np.array([[x, y] for x in (1.0, 1.3, 1.6) for y in (1.0, 1.3, 1.6)])
SPOT_100 = Spot(0.1)


def dots(diameter: float) -> laserpath.Design:
    return design(*(shapely.Point(at).buffer(diameter / 2) for at in GRID), name="dots")


def extents(path: StraightMoves) -> list[float]:
    """mm, of each stroke."""
    return [float(np.hypot(*np.ptp(path.xy[a : b + 1], axis=0))) for a, b in runs(path.on)]


def test_a_short_stroke_becomes_a_line_where_it_was() -> None:
    ring = np.array([[1.0, 0.999], [1.001, 1.0], [1.0, 1.001], [0.999, 1.0], [1.0, 0.999]])
    line = stroke_of_dot(ring, 0.02)
    assert line.shape == (2, 2)
    assert np.hypot(*(line[1] - line[0])) == pytest.approx(0.02)
    np.testing.assert_allclose(line.mean(axis=0), [1, 1])
    assert stroke_of_dot(line, 0.02) is line, "a line of just that length is long enough"


@pytest.mark.parametrize("order", [1, 2])
def test_drawn_out_strokes_keep_their_energy_and_others_are_left_alone(order: int) -> None:
    process = Process(replace(SPOT_100, photons=order), Resin(order=order), Machine())
    xy = [[1, 1], [1.001, 1.002], [1.002, 1], [2, 2], [2.5, 2], [2.5, 2.5]]
    written = Toolpath(xy, [3.0, 4.0, 0.0, 5.0, 6.0], [10.0, 20.0, 100.0, 30.0, 30.0])
    path = energies(written, process.spot)
    drawn = drawn_out(path, process)
    np.testing.assert_array_equal(drawn.on, [True, False, True, True])
    assert min(extents(drawn)) == pytest.approx(DOT_FWHM * optics.fwhm(process.spot))
    before, after = (one.energy * one.length for one in (path, drawn))
    assert after[0] == pytest.approx(before[:2].sum())
    np.testing.assert_array_equal(drawn.energy[-2:], path.energy[-2:])
    assert drawn_out(drawn, process) is drawn


def test_dots_on_marlin_are_as_long_as_its_shortest_move() -> None:
    """It leaves out shorter ones, and all of their light."""
    process = Process(SPOT_100, Resin(), MACHINES["marlin"])
    path = energies(Toolpath([[1, 1], [1.03, 1], [2, 2], [2.1, 2]], [3.0, 0, 3], [10.0, 100, 10]), SPOT_100)
    drawn = drawn_out(path, process)
    np.testing.assert_allclose(extents(drawn), [7 / 80, 0.1])
    np.testing.assert_allclose(*((one.energy * one.length)[one.on] for one in (path, drawn)))


@pytest.mark.parametrize("dialect", one_fast(MACHINES, "marlin"))
def test_the_middle_of_a_disk_is_cured(dialect: str) -> None:
    """Its rings leave it out, and where the dose is far below the threshold the loss has no slope."""
    disk = design(shapely.Point(1.5, 1.5).buffer(0.45), name="disk")
    process = Process(Spot(0.08), Resin(), MACHINES[dialect])
    plan = laserpath.plan(disk, process, Settings(iterations=40, report="brief"))
    done = plan.report.executed
    inside = replace(Task.of(plan.design, process, Settings()).scene, grid=done.grid).deeper(0.5)
    assert (done.dose / process.resin.critical_dose)[inside].min() > 1
    assert done.figures.dose_max < 1.03 * process.resin.over_dose


@pytest.mark.parametrize("dialect", MACHINES)
def test_a_place_that_the_path_leaves_out_gets_a_dot(dialect: str) -> None:
    process = Process(SPOT_100, Resin(), MACHINES[dialect])
    task = Task.of(design(shapely.box(1, 1, 2, 2), name="square"), process, Settings())
    scene, along = task.scene, [1.05, 1.35, 1.65, 1.95]
    xy = [[x, y] for y in np.arange(1.05, 2, 0.1) for x in along]
    lit = (np.arange(len(xy) - 1) + 1) % len(along) > 0
    path = EnergyPath(xy, 0.05 * lit, np.full(len(lit), 50.0))
    model = usual_model(scene.grid, scene.spot)
    assert filled(path, model.line_dose(path.xy, path.energy), scene, process) is path, "all of it is cured"
    less = replace(path, energy=np.where(np.arange(len(lit)) == 17, 0.0, path.energy))
    dose = model.line_dose(less.xy, less.energy)
    mended = filled(less, dose, scene, process)
    deep, more = scene.deeper(0.5), model.line_dose(mended.xy, mended.energy)
    assert dose[deep].min() < scene.critical_dose <= (1 + 1e-3) * more[deep].min()
    assert len(runs(mended.on)) > len(runs(less.on)), "each dot is a stroke of its own"
    if dialect == "marlin":
        assert np.abs(np.diff(mended.xy, axis=0)).max(axis=1).min() > 6.9 / 80


def test_a_dot_at_the_end_of_a_grbl_program_shines() -> None:
    """The last move ends at rest, where M4 is dark; with a run-out it is no longer the last."""
    process = Process(SPOT_100, Resin(), Machine())
    task = Task.of(dots(0.1), process, Settings())
    path = Toolpath([[1, 1], [1.02, 1], [1.6, 1.6], [1.62, 1.6]], [8.0, 0.0, 8.0], [40.0, 100.0, 40.0])

    def energy(path: Toolpath) -> float:
        run = MachineProgram.written(path, process).run
        return float(np.bincount(run.row, run.light * run.duration, 5)[3])

    assert energy(path) < 0.2 * energy(run_out(path, task))
    long = replace(path, xy=np.array([[1, 1], [1.02, 1], [1.0, 1.6], [1.6, 1.6]]))
    assert run_out(long, task) is long


def test_a_run_out_does_not_depend_on_what_was_long_before() -> None:
    """After 300 moves as after 2, whether the last stroke is brief or not."""
    task = Task.of(dots(0.1), Process(SPOT_100, Resin(), Machine()), Settings())
    before = np.array([[1 + k % 2 / 2, 1.0] for k in range(300)])
    for last, needed in (([[1.6, 1.6], [1.62, 1.6]], True), ([[1.0, 1.6], [1.6, 1.6]], False)):
        xy = np.vstack([before, last])
        power = np.append(np.tile([8.0, 0.0], 150), 8.0)
        path = Toolpath(xy, power, np.full(301, 40.0))
        for one in (path, path.cut(298, 301)):
            assert (len(run_out(one, task)) > len(one)) == needed


@pytest.mark.parametrize("dialect", one_fast(MACHINES, "grbl"))
def test_dots_of_the_starting_curve_are_all_there_as_executed(dialect: str) -> None:
    """A ring that just fits into a dot of one spot is nearly a point."""
    process = Process(SPOT_100, Resin(), MACHINES[dialect])
    plan = laserpath.plan(dots(0.1), process, Settings(initial="contour", iterations=8, report="brief"))
    least = DOT_FWHM * 0.1 * (1 - 1e-6)
    assert min(extents(plan.start)) >= least
    assert min(extents(plan.solution.toolpath)) >= least
    assert plan.report.start.figures.missing_edges == 0
    assert plan.report.executed.figures.missing_edges == 0


def test_dots_put_in_one_after_the_other_are_those_put_into_paths_in_turn() -> None:
    machine, rng = MACHINES["grbl"], np.random.default_rng(5)
    xy = np.array([[1.0, 1], [2, 1], [2, 2], [1, 2], [1, 3], [2, 3]])
    begun = turn = EnergyPath(xy, [0.2, 0, 0.3, 0, 0.1], [30.0] * 5)
    ways = _DarkMoves(begun, machine)
    for middle in rng.uniform(0, 4, (30, 2)):
        dot, energy = middle + np.array([[-0.01, 0.0], [0.01, 0.0]]), float(rng.uniform(0.1, 1))
        ways.insert(dot, energy)
        detour = np.hypot(*(dot[0] - turn.xy[:-1]).T) + np.hypot(*(turn.xy[1:] - dot[1]).T) - turn.length
        least = np.where(turn.on, np.inf, detour)
        k, before = int(np.argmin(least)), np.hypot(*(dot[1] - turn.xy[0]))
        at = k + 1 if least[k] <= before else 0
        turn = EnergyPath(
            np.insert(turn.xy, at, dot, axis=0),
            np.insert(turn.energy, at, [energy, 0.0]),
            np.insert(turn.speed, at, [machine.speed_max[0], machine.rapid_speed[0]]),
        )
    put = ways.path()
    assert (put.xy[0] != xy[0]).any(), "one of them is before all moves"
    for name in ("xy", "energy", "speed"):
        assert np.array_equal(getattr(put, name), getattr(turn, name)), name

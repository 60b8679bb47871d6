"""Fields: squares of a design that are optimised one after the other, beside the light of the others."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, design
from scipy.spatial import cKDTree
from shapes import minus

import gcode
from laserpath import Plan, plan
from laserpath.base.compute import runtime, workers
from laserpath.design.partition import Partition, PlacesByField, _window
from laserpath.machine import convert
from laserpath.machine.powers import exposing
from laserpath.machine.program import MachineProgram, with_energies
from laserpath.physics.dose import DoseModel, accurate_model
from laserpath.physics.dose.fft import TiledEngine
from laserpath.planning.compensation.by_field import FieldDose, by_fields, run_parts
from laserpath.planning.compensation.levels import best_levels, relative_dose, response_of, watched
from laserpath.planning.compensation.places import best_places
from laserpath.planning.compensation.shape import ExecutedShape
from laserpath.planning.curve import initial_curve
from laserpath.planning.optimise import fields
from laserpath.planning.optimise.fields import PathProblem, cut_at_borders, optimised
from laserpath.planning.optimise.loop import Schedule, bounds_of, dose_to_size
from laserpath.planning.optimise.loss import terms_of_path
from laserpath.planning.optimise.objective import EdgeTerm, Objective
from laserpath.planning.stages import EDGE_WEIGHT, _EdgeCheck, final_loss
from laserpath.planning.start import _drawings, candidates
from laserpath.planning.task import Task
from laserpath.types import EnergyPath, Grid, Machine, Process, Settings
from laserpath.types.results import Measurement

pytestmark = pytest.mark.usefixtures("alone")

SIDE = 20.0
SETTINGS = Settings(initial="contour", iterations=40, field_fwhm=SIDE)
WIDE = design(
    shapely.box(0, 0, 4, 0.3), minus(shapely.box(0.2, 0.6, 3.8, 2.6), shapely.box(0.8, 1, 3, 2.2)),
    shapely.Point(2, 1.6).buffer(0.35), name="wide",
)  # fmt: skip
"""Bars, a ring around the corner of all fields, and a disc on a border."""


SPREAD = design(*(shapely.Point(x, y).buffer(0.3) for x in (1, 20) for y in (1, 20)), name="spread")
"""Discs so far apart that each has a field of the usual size."""
FEW = Settings(initial="contour", iterations=8, report="brief")


@pytest.fixture(scope="module")
def task() -> Task:
    """On a link that takes no time: this start asks for more lines than GRBL reads, and where it waits for
    one, the light of a field depends on the lines of another.
    """
    return Task.of(WIDE, Process(machine=Machine(baud=None)), SETTINGS)


@pytest.fixture(scope="module")
def problem(task: Task) -> PathProblem:
    objective = Objective.of(task.scene, EDGE_WEIGHT)
    return PathProblem(task.scene, objective, task.process, bounds_of(task), SIDE)


@pytest.fixture(scope="module")
def start(task: Task, problem: PathProblem) -> EnergyPath:
    curve = initial_curve(WIDE, task.process, SETTINGS)
    model = DoseModel(task.scene.grid, SPOT)
    path = dose_to_size(curve, model, problem.objective, task.machine)
    return cut_at_borders(path, problem.partition)


def timed(problem: PathProblem, path: EnergyPath, task: Task) -> PathProblem:
    return replace(problem, own=terms_of_path(path, task, 1e-3))


def test_every_place_is_in_one_core() -> None:
    grid = Grid((0.3, -1.0), FWHM / 6, (700, 1000))
    partition = Partition.of(grid, FWHM, 50.0)
    assert partition.counts == (2, 3)
    covered = np.zeros(grid.shape, int)
    for field in partition:
        core = [slice(max(one.start + partition.rim, 0), one.stop - partition.rim) for one in field.window]
        covered[tuple(core)] += 1
    assert (covered == 1).all()


@pytest.mark.parametrize(
    ("fwhms", "counts"),
    [
        ((100, 140), (1, 1)), ((195, 210), (2, 2)), ((100, 420), (1, 4)), ((420, 90), (4, 1)),
        ((280, 420), (2, 3)),
    ],
)  # fmt: skip
def test_a_large_design_has_fields_for_two_processors(
    fwhms: tuple[int, int], counts: tuple[int, int]
) -> None:
    """Of two or three, one colour would have a single field."""
    grid = Grid((0.0, 0.0), FWHM / 3, (3 * fwhms[0], 3 * fwhms[1]))
    assert Partition.of(grid, FWHM, 140.0).counts == counts


def test_a_place_is_its_own_field_s() -> None:
    grid = Grid((0.3, -1.0), FWHM / 6, (700, 1000))
    partition, pixels = Partition.of(grid, FWHM, 50.0), np.random.default_rng(1).uniform(0, 700, (500, 2))
    owner = partition.owner(np.array(grid.origin) + grid.pitch * pixels)
    for k, field in enumerate(partition):
        rows, columns = (slice(one.start + partition.rim, one.stop - partition.rim) for one in field.window)
        inside = (np.rint(pixels[:, 0]) >= columns.start) & (np.rint(pixels[:, 0]) < columns.stop)
        inside &= (np.rint(pixels[:, 1]) >= rows.start) & (np.rint(pixels[:, 1]) < rows.stop)
        assert (inside == (owner == k)).all()


def test_each_field_finds_its_places() -> None:
    """As a look at all of them does, which many fields have no time for."""
    grid = Grid((0.3, -1.0), FWHM / 6, (700, 1000))
    partition, rng = Partition.of(grid, FWHM, 30.0), np.random.default_rng(2)
    pixels = rng.uniform(-20, 1020, (3000, 2))
    pixels[:1000] = np.rint(pixels[:1000])
    reach = 3 * FWHM / grid.pitch  # where a field is near by rounding alone
    pixels[1000:1500] = partition.side[0] * np.rint(pixels[1000:1500] / partition.side[0]) - reach
    xy = np.array(grid.origin) + grid.pitch * pixels
    places = PlacesByField.of(partition, xy)
    assert len(list(partition)) > 9
    for k, field in enumerate(partition):
        assert np.array_equal(places.own(field), np.flatnonzero(partition.owner(xy) == k))
        assert np.array_equal(places.near(field), np.flatnonzero(partition.near(field, xy)))


def test_long_moves_are_cut_at_borders_and_expose_the_same(task: Task, problem: PathProblem) -> None:
    partition = problem.partition
    path = EnergyPath(
        np.array([[0.1, 0.15], [3.9, 0.15], [3.9, 2.5]]), np.array([0.02, 0.03]), np.full(2, 50.0)
    )
    cut = cut_at_borders(path, partition)
    assert len(cut) > len(path)
    owner = partition.owner(cut.xy[:-1] + 0.5 * np.diff(cut.xy, axis=0))
    beyond = [partition.near(field, cut.xy) for field in partition]
    assert all(beyond[owner[k]][k] and beyond[owner[k]][k + 1] for k in range(len(cut)))
    model = DoseModel(task.scene.grid, SPOT, precision="f64", tolerance=1e-5)
    before, after = (model.line_dose(one.xy, one.energy) for one in (path, cut))
    assert np.abs(after - before).max() < 1e-5 * before.max()


def test_short_moves_across_a_border_stay_whole(problem: PathProblem) -> None:
    (x, *_), _ = problem.partition.cuts
    path = EnergyPath(np.array([[x - 1.5 * FWHM, 0.1], [x + 0.5 * FWHM, 0.1]]), np.ones(1), np.ones(1))
    assert cut_at_borders(path, problem.partition) is path


def owned(start: EnergyPath, problem: PathProblem) -> list:
    sweep = fields._Sweep(start, problem, problem.partition, Schedule(4))
    return [(field, own, sweep) for field, own in sweep._owned()]


def test_a_field_s_moves_are_those_that_a_look_at_the_whole_path_finds(
    start: EnergyPath, problem: PathProblem
) -> None:
    partition, path = problem.partition, start
    rings, middles = fields._rings(path), (path.xy[1:] + path.xy[:-1]) / 2
    assert len(rings)
    for field, own, _ in owned(start, problem):
        moves, vertices = (partition.owner(xy) == partition.number(field) for xy in (middles, path.xy))
        whole = fields._Own.of(path.on, rings, moves, vertices, partition.near(field, path.xy))
        assert whole is not None
        for name in ("vertex", "twin", "move", "mine"):
            assert np.array_equal(getattr(own, name), getattr(whole, name)), name
        assert np.array_equal(own.free.vertices, whole.free.vertices)
        assert np.array_equal(own.free.moves, whole.free.moves)


def test_every_lit_move_changes_in_one_field(start: EnergyPath, problem: PathProblem) -> None:
    changed = np.zeros(len(start), int)
    moved = np.zeros(len(start.xy), int)
    for _, own, _ in owned(start, problem):
        changed[own.move[own.free.moves]] += 1
        moved[own.vertex[own.free.vertices]] += 1
    assert (changed == start.on).all()
    assert moved.max() == 1
    lit = np.append(start.on, False) | np.append(False, start.on)
    # Others are ends of lines that go on in the next field, or the twin of a ring's end.
    assert moved[lit].mean() > 0.9


def test_a_ring_that_is_cut_goes_on_where_it_ends(start: EnergyPath, problem: PathProblem) -> None:
    twins = [
        (own.vertex[k], own.twin[k])
        for _, own, _ in owned(start, problem)
        for k in np.flatnonzero(own.twin >= 0)
    ]
    assert twins
    for last, first in twins:
        assert last > first
        assert (start.xy[last] == start.xy[first]).all()


@pytest.mark.parametrize("away", [1, 2, 11, 13, 40])
def test_a_ring_that_leaves_for_some_moves_is_all_there(away: int) -> None:
    """Each of its own moves once, from where it comes back through its beginning to where it leaves."""
    own, ring = [20, 30], (5, 55 + away)
    mine = np.zeros(80 + away, bool)
    mine[ring[0] : ring[0] + own[0]] = mine[ring[1] - own[1] : ring[1]] = True
    parts = fields._parts(mine, np.array([ring]))
    moves = np.concatenate([np.arange(first, end) for first, end, _ in parts])
    assert (np.bincount(moves, mine[moves], len(mine)) == mine).all()
    (k,) = (k for k, (_, _, goes_on) in enumerate(parts) if goes_on)
    assert parts[k][1] == ring[1] and parts[k + 1][0] == ring[0]


def test_own_and_given_light_are_the_whole(start: EnergyPath, task: Task, problem: PathProblem) -> None:
    """Within 1e-3 of the peak, the tolerance of the loop's engine."""
    whole = DoseModel(task.scene.grid, SPOT, precision="f64", tolerance=1e-5).line_dose(
        start.xy, start.energy
    )
    for field, own, sweep in owned(start, problem):
        job = sweep._job(field, own, start)
        (before,) = fields._lights(job, job.path)
        own_dose = DoseModel(job.view.grid, SPOT).line_dose(job.path.xy, job.path.energy)
        dose = own_dose + job.view.read(job.view.given[0] - before)
        expected = _window(whole, field.window)
        known = _window(np.ones(whole.shape), field.window) > 0
        assert np.abs(dose - expected)[known].max() < 1e-3 * whole.max()
    assert len(list(problem.partition)) == 4


@pytest.mark.parametrize(("shaped", "same", "near"), [(False, 0.95, 0.1), (True, 0.9, 0.37)])
def test_a_field_s_pieces_are_those_of_the_whole(
    start: EnergyPath, task: Task, problem: PathProblem, shaped: bool, same: float, near: float
) -> None:
    """Behind an input shaper, ends of strokes follow vertices of travels, too, which a field holds: by an
    impulse's share, at most 0.37.
    """
    shaper = gcode.motion.Shaper("mzv", 50.0)
    printer = Machine(dialect="klipper", baud=None, steps=None, shapers=(shaper, shaper))
    process = replace(task.process, machine=printer) if shaped else task.process
    path = exposing(start, process.machine, SPOT)
    shape = ExecutedShape.of(path, process, moving=True)
    rng = np.random.default_rng(5)
    moved = start.xy + rng.normal(0, 0.001, start.xy.shape)
    strokes = fields._rings(start)
    moved[strokes[:, 1]] = moved[strokes[:, 0]]
    energy = start.energy * rng.uniform(0.9, 1.1, len(start))
    ends, energies = shape(moved, energy)
    for field, own, _ in owned(start, problem):
        zero = problem.partition.origin(field)
        part = shape.part(own.move, own.vertex, zero)
        xy = moved[own.vertex] - zero
        q = np.where(own.mine, energy[np.maximum(own.move, 0)], 0.0)
        part_ends, part_energies = part(xy, q)
        lit = part_energies > 0
        found = np.column_stack([part_ends[:-1][lit] + zero, part_ends[1:][lit] + zero, part_energies[lit]])
        mine = np.isin(shape.move, own.move[own.mine]) & (energies > 0)
        expected = np.column_stack([ends[:-1][mine], ends[1:][mine], energies[mine]])
        assert found.shape == expected.shape
        distance, nearest = cKDTree(expected).query(found)
        # The first end of a stroke, rounded to motor steps, is partly the end of the travel before.
        assert np.mean(distance < 1e-9) > same
        assert distance.max() < near * np.abs(moved - start.xy).max()
        assert len(np.unique(nearest)) == len(found)


def test_what_a_field_may_not_change_stays(start: EnergyPath, task: Task, problem: PathProblem) -> None:
    field, own, sweep = owned(start, problem)[0]
    found = fields.solve_field(sweep._job(field, own, start))
    zero = problem.partition.origin(field)
    held = ~own.free.vertices
    assert np.allclose(found.path.xy[held] + zero, start.xy[own.vertex][held], atol=1e-12)
    assert (np.hypot(*(found.path.xy + zero - start.xy[own.vertex]).T)[own.free.vertices] > 0).mean() > 0.5
    now = found.path.energy[own.mine & ~own.free.moves]
    assert (now == start.energy[own.move[own.mine & ~own.free.moves]]).all()


def test_fields_lower_the_loss_of_the_whole_about_as_one(
    start: EnergyPath, task: Task, problem: PathProblem
) -> None:
    schedule = Schedule(40, contrast=(12.0, 12.0), finish=1.0)
    by_fields = optimised(start, timed(problem, start, task), schedule)
    whole = optimised(start, replace(timed(problem, start, task), side=1000.0), schedule)
    loss, model = final_loss(task.scene), DoseModel(task.scene.grid, SPOT)
    first, fielded, at_once = (
        loss(model.line_dose(one.xy, one.energy))[0] for one in (start, by_fields.path, whole.path)
    )
    assert at_once < 0.5 * first
    assert fielded < 1.1 * at_once


@pytest.fixture(scope="module")
def program(start: EnergyPath, task: Task) -> MachineProgram:
    path = exposing(start, task.machine, SPOT)
    return MachineProgram.of_moves(
        with_energies(convert.to_moves(path, task.machine), task.process), task.process
    )


def test_every_lit_row_of_a_run_is_one_field_s(
    program: MachineProgram, problem: PathProblem, task: Task
) -> None:
    (whole,) = program.parts
    moves, response = response_of(whole, task.process)
    lit = moves.power > 0
    parts = run_parts(problem.partition, moves.xy, response.first, lit)
    answered = np.zeros(len(moves), int)
    for _, part in parts:
        answered[part.row[part.own]] += 1
        # The pieces of a row are those of the run, in their order.
        for k in np.flatnonzero(part.row >= 0):
            pieces = part.piece[part.first[k] : part.first[k + 1]]
            row = part.row[k]
            assert (pieces == np.arange(response.first[row], response.first[row + 1])).all()
            ends = part.end[part.first[k] : part.first[k + 1] + 1]
            assert (ends == np.arange(response.first[row], response.first[row + 1] + 1)).all()
        assert (part.of_pieces(response.share, -1.0)[part.piece < 0] == -1).all()
    assert (answered == lit).all()


@pytest.mark.parametrize(
    "choose", [best_levels, partial(best_places, edge_weight=EDGE_WEIGHT, time_weight=1e-3)]
)
def test_fields_choose_about_as_well_as_one(choose, program: MachineProgram, task: Task) -> None:
    """Levels, and motor steps: the mean edge error as executed, in two of many minima about as low."""
    together = replace(task, settings=replace(task.settings, field_fwhm=1000.0))
    model, edge = accurate_model(task.scene.grid, SPOT), EdgeTerm(task.scene)
    before, by_fields, whole = (
        edge(model.dose(one.executed) / task.scene.critical_dose)
        for one in (program, choose(program, task), choose(program, together))
    )
    assert max(whole, by_fields) < 0.95 * before
    assert abs(by_fields - whole) < 0.05 * before


def test_a_field_is_told_its_own_core(program: MachineProgram, problem: PathProblem, task: Task) -> None:
    """It has the samples that the field answers for, in the field's own window."""
    (whole,) = program.parts
    moves, response = response_of(whole, task.process)
    partition, samples = problem.partition, task.scene.samples.xy
    parts = run_parts(partition, moves.xy, response.first, moves.power > 0)
    dark = np.zeros(partition.given_grid.shape)

    def told(made: dict[str, object]) -> tuple[Grid, tuple[slice, slice]]:
        return made["seen"].scene.grid, made["seen"].core

    answers = by_fields(partition, parts, lambda: dark, lambda *_: dict, told, problem.scene)
    found = np.zeros(len(samples), int)
    order = [field for colour in (0, 1) for field, _ in parts if field.colour == colour]
    for field, (_, (grid, core)) in zip(order, answers, strict=True):
        pixels = grid.to_pixels(samples - partition.origin(field))
        inside = [
            (at > one.start - 0.5) & (at < one.stop - 0.5)
            for at, one in zip(pixels.T[::-1], core, strict=True)
        ]
        found += np.logical_and(*inside)
    assert (found == 1).all()


def test_what_is_too_bright_beyond_a_field_s_core_is_left_to_the_next(
    program: MachineProgram, task: Task
) -> None:
    """Each field may only not make it worse: it could but dim its own lines for it."""
    moves, response = response_of(program.parts[0], task.process)
    run, light, limit = response.run, response.light(moves.power), task.scene.resin.over_dose
    dose = relative_dose(run, light, task)
    dose *= 1.3 * limit / dose.max()
    middle = dose.shape[1] // 2
    seen = FieldDose(task.scene, dose, (slice(0, len(dose)), slice(0, middle)))
    pieces = run.xyz[:, :2], light > 0, task.process
    points, _, at = watched(seen, *pieces, 2.5)
    own = task.scene.grid.to_pixels(points.xy)[:, 0] < middle - 0.5
    beyond = at > points.high + 1e-9
    assert beyond[own].sum() > 20 and not beyond[~own].any()
    assert (at[~own] > limit).sum() > 20
    whole, _, at = watched(FieldDose(task.scene, dose), *pieces, 2.5)
    assert (at > whole.high).sum() > beyond.sum() + 20


def whole_plan(side: float) -> Plan:
    """A plan with fields of this side, FWHM."""
    return plan(WIDE, settings=replace(SETTINGS, report="brief", field_fwhm=side))


undisturbed = cache(whole_plan)


def executed(side: float) -> Measurement:
    return undisturbed(side).report.executed


@pytest.mark.slow
def test_a_plan_in_fields_is_as_true_as_one_of_the_whole() -> None:
    assert executed(SIDE).figures.epe_mean < 1.15 * executed(1000.0).figures.epe_mean


@pytest.mark.slow
def test_a_large_plan_keeps_the_dose_of_its_program_alone() -> None:
    report = undisturbed(SIDE).report
    assert report.executed.dose.shape == report.executed.grid.shape
    assert report.start.dose.size == report.commanded.dose.size == 0
    alone = undisturbed(1000.0).report
    assert alone.start.dose.size and alone.commanded.dose.size


@pytest.mark.slow
def test_seams_are_as_true_as_the_rest() -> None:
    edges = executed(SIDE).edges
    x, y = Partition.of(executed(SIDE).grid, FWHM, SIDE).cuts
    near = np.zeros(len(edges.xy), bool)
    for axis, cuts in enumerate((x, y)):
        for cut in cuts:
            near |= np.abs(edges.xy[:, axis] - cut) < FWHM
    assert near.sum() > 20
    error = np.abs(edges.epe)
    assert error[near].mean() < 1.3 * error[~near].mean()
    assert not edges.missing.any()


@pytest.mark.slow
def test_workers_find_the_same(start: EnergyPath, task: Task, problem: PathProblem) -> None:
    schedule = Schedule(10, contrast=(12.0, 12.0), finish=1.0)
    without = optimised(start, timed(problem, start, task), schedule)
    runtime.use_processors(2)
    shared = optimised(start, timed(problem, start, task), schedule)
    assert (shared.path.xy == without.path.xy).all()
    assert (shared.path.energy == without.path.energy).all()
    assert (shared.loss == without.loss).all()


def test_fields_without_an_iteration_are_told_of(
    start: EnergyPath, problem: PathProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fields, "worked_on", lambda function, jobs, of: map(function, jobs))
    monkeypatch.setattr(fields, "is_alone", lambda of: False)
    told = []
    found = optimised(start, problem, Schedule(0), told.append)
    assert len(found.loss) == 0 and told and all(np.isnan(now.loss) for now in told)


def test_given_light_that_is_computed_row_by_row_is_the_same(
    start: EnergyPath, task: Task, problem: PathProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As fields come to need it, it is the light of all."""
    partition = problem.partition
    monkeypatch.setattr("laserpath.physics.dose.fft._SIDE", 24)
    monkeypatch.setattr("laserpath.physics.dose.fft._RIM", 8)
    engine = TiledEngine(partition.given_grid, SPOT, "f32", 1e-3)
    model = DoseModel(partition.given_grid, SPOT)
    model.engine = engine
    whole, light = (
        model.line_dose(start.xy, start.energy),
        fields._GivenLight.of(model.dose_by_rows(start.xy, start.energy)),
    )
    known, read = [], model.dose_by_rows(start.xy, start.energy)
    for field in partition:
        window = partition.given_window(field)
        assert np.array_equal(_window(light.around(window), window), _window(whole, window))
        assert np.array_equal(_window(read, window), _window(whole, window))
        known.append(light.known)
    assert 0 < known[0] < known[-1], "not all of it is there from the beginning"


def test_what_concerns_all_fields_is_weighed_on_a_coarse_grid(task: Task, start: EnergyPath) -> None:
    """Which reads the edges of a path as the fine one does."""
    whole = replace(task, settings=replace(SETTINGS, field_fwhm=1000.0))
    assert whole.overview is task.scene
    assert task.overview.grid.pitch == pytest.approx(FWHM / 3)
    coarse, fine = (_EdgeCheck.of(one).errors(start, np.ones(1))[0] for one in (task, whole))
    assert coarse == pytest.approx(fine, abs=2e-4)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_workers_that_are_killed_again_and_again_change_nothing() -> None:
    """All of a plan, whose workers die every half second."""
    expected = undisturbed(SIDE).shipped.text
    runtime.use_processors(2)
    done, killed = threading.Event(), set()

    def kill() -> None:
        while not done.wait(0.5):
            for worker in multiprocessing.active_children():
                if worker.pid not in killed:
                    killed.add(worker.pid)
                    os.kill(worker.pid, signal.SIGKILL)
                    break

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        disturbed = whole_plan(SIDE)
    finally:
        done.set()
        killer.join()
    assert len(killed) >= 2
    assert disturbed.shipped.text == expected


@pytest.mark.slow
@pytest.mark.parametrize("in_time", [True, False])
def test_what_is_measured_aside_is_what_would_be_measured_here(
    in_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prints of the start and of the path that is aimed at, whether they are done in time or not."""
    asked, waited = [], workers.Aside._within
    monkeypatch.setattr("laserpath.planning.costs._ASIDE", 4)

    def within(aside, future, seconds: float):
        asked.append(waited(aside, future, 60.0) if in_time else None)
        return asked[-1]

    monkeypatch.setattr(workers.Aside, "_within", within)
    alone = plan(SPREAD, settings=FEW).report
    runtime.use_processors(2)
    aside = plan(SPREAD, settings=FEW).report
    assert [one is not None for one in asked] == [in_time, in_time]
    for one, other in ((aside.start, alone.start), (aside.commanded, alone.commanded)):
        assert one.figures == other.figures and one.motion == other.motion
        assert np.array_equal(one.edges.epe, other.edges.epe)
        assert np.array_equal(one.edges.missing, other.edges.missing)


@pytest.mark.slow
def test_a_worker_makes_the_drawing_of_a_long_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """While this process writes the report."""
    workers.release()
    done = undisturbed(SIDE)
    alone = list(done.files().values())
    monkeypatch.setattr("laserpath.planning.output._LONG", len(done.toolpath))
    sent, meanwhile = [], workers.meanwhile
    monkeypatch.setattr(workers, "meanwhile", lambda *given: sent.append(given) or meanwhile(*given))
    assert list(done.files().values()) == alone and not sent, "no worker is there"
    runtime.use_processors(2)
    workers.prepare(fields.begin)
    assert list(done.files().values()) == alone and len(sent) == 1


@pytest.mark.slow
def test_workers_draw_the_same_curves() -> None:
    """All candidates but the first, of a large design."""
    spread = Task.of(SPREAD, Process(), Settings())
    alone = list(_drawings(candidates(spread)))
    runtime.use_processors(2)
    shared = list(_drawings(candidates(spread)))
    assert len(alone) == 3 and all(alone)
    for one, other in zip(alone, shared, strict=True):
        assert len(one) == len(other) and all(map(np.array_equal, one, other))


def test_a_bare_scene_has_its_samples_alone() -> None:
    scene = Task.of(WIDE, Process(), SETTINGS).scene
    bare, _ = scene.bare, (scene.target, scene.outline.within(0, 0, 1, 1))
    assert bare.samples is scene.samples and bare.grid == scene.grid
    assert not {"target", "sampler", "coarse"} & {*vars(bare)} and {*vars(bare.outline)} == {
        "design", "fwhm", "samples",
    }  # fmt: skip


def test_a_stop_keeps_what_is_done(start: EnergyPath, task: Task, problem: PathProblem) -> None:
    told = []

    def stop(now) -> None:
        told.append(now.iteration)
        if len(told) == 12:
            raise KeyboardInterrupt

    found = optimised(start, timed(problem, start, task), Schedule(8, contrast=(12.0, 12.0)), stop)
    assert found.stopped
    assert told == sorted(told)
    assert len(found.path) == len(start)
    assert (found.path.energy != start.energy).any()

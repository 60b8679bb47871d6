"""What learning gives as executed, on each controller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
import small
from builders import design, energy_path
from sets import one_fast

from laserpath.machine import convert
from laserpath.machine.powers import energies, energy_at_full_power
from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.planning.compensation import Learned, compensate, learned, on_steps, refined
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.stages import final_loss
from laserpath.planning.task import Task
from laserpath.types import Process, Toolpath
from laserpath.types.results import PrintFigures

DIALECTS = pytest.mark.parametrize("dialect", list(small.MACHINES))


def taught(dialect: str, iterations: int = 20) -> MachineProgram:
    task = small.task(dialect)
    loss = final_loss(task.scene)
    return learned(refined(small.path(dialect), task, loss, 0.0015, iterations), task, loss, 0.0015).program


def figures(program: MachineProgram, dialect: str) -> PrintFigures:
    return Exposure(program, small.task(dialect).scene, program.path).executed.figures


@pytest.mark.parametrize("dialect", one_fast(small.MACHINES, "marlin"))
def test_the_print_is_truer_than_that_of_the_plain_export(dialect: str) -> None:
    """The export gives each move its energy as commanded, and does not know the design."""
    plain = figures(MachineProgram.written(small.path(dialect), small.task(dialect).process), dialect)
    learnt = figures(taught(dialect), dialect)
    assert learnt.epe_mean <= plain.epe_mean
    assert learnt.missing_edges <= plain.missing_edges


@pytest.mark.parametrize("dialect", ["grbl", "marlin"])
def test_vertices_are_on_motor_steps(dialect: str) -> None:
    """So that the controller has nothing to round, and writes what was learned."""
    program, machine = taught(dialect, 4), small.task(dialect).machine
    steps = program.path.xy * np.asarray(machine.steps)
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
    ends = convert.from_moves(program.run.moves(), machine).xy
    assert np.abs(ends[-1] - program.path.xy[-1]).max() < 1e-9


def test_on_steps_keeps_energies() -> None:
    machine = replace(small.MACHINES["grbl"], steps=(50.0, 50.0))
    xy = [[1, 1], [1.111, 1], [1.113, 1.001], [1.5, 1.333]]
    path = energy_path(xy, [2.0, 5.0, 3.0], [20.0, 30.0, 40.0])
    rounded = on_steps(path, machine, small.SPOT)
    assert len(rounded) == 2, "a move below a step is gone"
    np.testing.assert_allclose(rounded.xy * 50, np.rint(rounded.xy * 50), atol=1e-9)
    np.testing.assert_allclose(rounded.energy * rounded.length, (path.energy * path.length)[[0, 2]])
    for other in (replace(machine, steps=None), replace(machine, dialect="klipper")):
        assert on_steps(path, other, small.SPOT) is path


@pytest.mark.parametrize("order", [1, 2])
def test_a_stroke_below_a_step_becomes_one_step_at_its_energy(order: int) -> None:
    """Or else its dot is lost; where full power is too little, it is slower."""
    machine, spot = replace(small.MACHINES["grbl"], steps=(50.0, 50.0)), replace(small.SPOT, photons=order)
    xy = [[1, 1], [1.5, 1.2], [1.499, 1.201], [1.497, 1.201], [2, 2]]
    path = energies(Toolpath(xy, [0.0, 5.0, 8.0, 0.0], [90.0, 9, 9, 90]), spot)
    rounded = on_steps(path, machine, spot)
    np.testing.assert_allclose(rounded.xy, [[1, 1], [1.5, 1.2], [1.48, 1.2], [2, 2]])
    np.testing.assert_array_equal(rounded.on, [False, True, False])
    was, now = ((one.energy * one.length).sum() for one in (path, rounded))
    assert now == pytest.approx(was)
    dot = energies(Toolpath(xy, [0.0, 5.0, 8.0, 0.0], [90.0, 1, 1, 90]), spot)
    slow = on_steps(dot, machine, spot)
    assert (slow.energy * slow.length).sum() == pytest.approx((dot.energy * dot.length).sum())
    for one in (rounded, slow):
        assert (one.energy <= energy_at_full_power(one.speed, machine, spot) * (1 + 1e-12)).all()


def test_no_light_is_left_out_with_a_short_move_on_marlin() -> None:
    """Learning may draw vertices together, and of fewer than 6 steps Marlin makes no move."""
    task = small.task("marlin")
    xy = [[1, 1], [1.5, 1], [1.5, 1.03], [1.1, 1.03], [1.1, 1.4], [1.6, 1.4]]
    path = energy_path(xy, [2.0, 3.0, 2.0, 0.0, 2.0], [20.0] * 5)
    drawn = compensate._feasible(path, task)
    assert np.abs(np.diff(drawn.xy, axis=0)).max(axis=1)[drawn.on].min() > 5.9 / 80
    assert (drawn.energy * drawn.length).sum() == pytest.approx((path.energy * path.length).sum())
    np.testing.assert_allclose(drawn.xy[[0, -1]], path.xy[[0, -1]])


@DIALECTS
def test_without_iterations_only_the_levels_are_chosen(dialect: str) -> None:
    task = small.task(dialect)
    path = refined(small.path(dialect), task, final_loss(task.scene), 0.0015, 0)
    assert not path.stopped
    np.testing.assert_allclose(path.path.xy[-1], small.path(dialect).xy[-1], atol=1 / 80)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The choices that `learned` makes, in order: 'levels' and 'places'."""
    made: list[str] = []
    for name in ("levels", "places"):
        own = getattr(compensate, f"best_{name}")
        monkeypatch.setattr(
            compensate, f"best_{name}", lambda *given, own=own, name=name: (made.append(name), own(*given))[1]
        )
    return made


def test_after_a_stop_the_powers_are_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, task = counted(monkeypatch), small.task("grbl")
    done = Learned(on_steps(small.lines("grbl"), task.machine, small.SPOT), np.zeros(0), stopped=True)
    assert learned(done, task, final_loss(task.scene), 0.0015).stopped
    assert made == ["levels"]


def test_a_stop_between_the_rounds_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made, task = counted(monkeypatch), small.task("grbl")

    def stop(now: Progress) -> None:
        if now.iteration == 1:
            raise KeyboardInterrupt

    done = Learned(on_steps(small.lines("grbl"), task.machine, small.SPOT), np.zeros(0))
    assert learned(done, task, final_loss(task.scene), 0.0015, stop).stopped
    assert made == ["levels", "places", "levels"]


def test_a_machine_with_a_lag_has_no_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    made, task = counted(monkeypatch), small.task("grbl")
    lagging = replace(task, process=replace(task.process, machine=replace(task.machine, lag=0.001)))
    done = Learned(on_steps(small.lines("grbl"), task.machine, small.SPOT), np.zeros(0))
    assert not learned(done, lagging, final_loss(task.scene), 0.0015).stopped
    assert made == []


@pytest.mark.parametrize(("power_max", "harmless"), [(10.0, True), (30.0, False)])
def test_a_stroke_is_dark_between_two_bars_only_if_light_would_do_harm(
    power_max: float, *, harmless: bool
) -> None:
    """The smallest level of a strong laser fills the gap with light; that of a weak one is hardly seen."""
    machine = replace(small.MACHINES["grbl"], power_max=power_max)
    bars = design(shapely.box(1, 1, 1.5, 1.1), shapely.box(1.7, 1, 2.2, 1.1))
    task = Task.of(bars, Process(spot=small.SPOT, machine=machine), small.SETTINGS)
    path = energy_path(
        [[1.04, 1.052], [1.46, 1.052], [1.52, 1.052], [1.68, 1.052], [1.74, 1.052], [2.16, 1.052]],
        [2.4, 2.2, 0.005, 2.2, 2.4],
    )
    done = Learned(on_steps(path, machine, small.SPOT), np.zeros(0), stopped=True)
    program = learned(done, task, final_loss(task.scene), 0.0015).program
    lit = np.flatnonzero(program.path.on)
    assert program.path.on[lit[0] : lit[-1] + 1].all() == harmless


@pytest.mark.parametrize("rounds", [compensate._ROUNDS, compensate._SHAPED_ROUNDS])
def test_the_rounds_take_all_iterations(rounds) -> None:
    for count in range(200):
        found = compensate._iterations_of(rounds, count)
        assert sum(map(sum, found)) == count and min(map(min, found)) >= 0
        assert [len(part) for part in found] == [len(part) for part in rounds]

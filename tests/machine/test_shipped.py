"""One record of a shipped program: each step is computed once, and all results agree.

The dose of several passes is that of one, with any absorption order, as the controllers execute them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import outlines_sampled
from sets import one_fast

import gcode
import laserpath
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram, Transmitted
from laserpath.measure.exposure import Exposure
from laserpath.physics.dose import DoseModel, accurate_model
from laserpath.planning import stages
from laserpath.planning.compensation.compensate import ROUNDS
from laserpath.report import PageData
from laserpath.simulation import simulate
from laserpath.types import Design, Grid, Machine, Process, Resin, Settings, Spot, Toolpath

BAR = Design(shapely.box(0.5, 0.5, 2.5, 1.2), "bar")
QUICK = Settings(initial="contour", iterations=6, origin="page", report="brief")
PATH = Toolpath(np.array([[0.6, 0.6], [2.4, 0.6], [2.4, 1.1]]), np.array([1.0, 0.5]), np.array([20.0, 10.0]))


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[gcode.Moves]:
    """The moves of every run of a controller."""
    runs: list[gcode.Moves] = []
    real = gcode.motion.execute

    def execute(moves: gcode.Moves, *given: object, **named: object) -> gcode.motion.Executed:
        runs.append(moves)
        return real(moves, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(gcode.motion, "execute", execute)
    return runs


LEARNED = 2 + ROUNDS["standard"]
"""Programs that learning executes, where the edges are off: with the energies as they were refined, with the
first powers, and after each round of steps and powers."""


@pytest.mark.slow
def test_a_plan_executes_its_start_and_its_program_once(
    executed: list[gcode.Moves], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And makes the data of its page once, for the verdict and for the page."""
    plan = laserpath.plan(BAR, Process(), QUICK)
    assert len(executed) == 2 + LEARNED
    made: list[PageData] = []
    real = PageData.of

    def note(*given: object) -> PageData:
        made.append(real(*given))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(PageData, "of", note)
    assert plan.verdict
    plan.write(tmp_path)
    assert plan.verdict and plan.run.write_time > 0
    assert len(made) == 1
    assert len(executed) == 2 + LEARNED, "the page, the verdict and the run ask the same record"


@pytest.mark.parametrize("dialect", one_fast(["grbl", "klipper"], "klipper"))
def test_commanded_is_the_dose_that_the_plan_aims_at(executed: list[gcode.Moves], dialect: str) -> None:
    """On every controller, and with the times of the program that is shipped."""
    plan = laserpath.plan(BAR, Process(machine=Machine(dialect=dialect)), QUICK)
    commanded = plan.report.commanded
    assert commanded is not None and commanded.motion == plan.report.executed.motion
    dose = accurate_model(commanded.grid, plan.process.spot).dose(plan.solution.toolpath)
    np.testing.assert_allclose(commanded.dose, dose, atol=1e-9 * dose.max())
    # Where moving to whole steps has made a place worse, it goes back, and that is executed, too.
    assert len(executed) - (2 + LEARNED) in (0, 1)


def test_an_exposure_without_a_target_has_no_commanded_print() -> None:
    scene = Scene.around(BAR, Process().spot, Process().resin, 3)
    with pytest.raises(InputError, match="without a target"):
        _ = Exposure(MachineProgram.of(PATH, Process()), scene).commanded


@pytest.mark.slow
def test_each_candidate_of_a_tolerance_is_executed_once(
    executed: list[gcode.Moves], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []
    real = stages._WeightTrial

    def note(solution: object, epe_p95: float, write_time: float) -> object:
        tried.append(epe_p95)
        return real(solution, epe_p95, write_time)  # type: ignore[arg-type]

    monkeypatch.setattr(stages, "_WeightTrial", note)
    process = Process(machine=Machine(baud=19200))
    plan = laserpath.plan(BAR, process, replace(QUICK, max_epe_fwhm=0.001))
    # And once more in each round that makes a place worse, which then goes back.
    again = len(executed) - ((1 + LEARNED) * len(tried) + 2)
    assert 0 <= again <= ROUNDS["standard"] * len(tried)
    assert plan.report.epe_p95 in tried, "the tolerance is judged by the figure that the report shows"


def test_nothing_is_executed_before_it_is_needed(executed: list[gcode.Moves]) -> None:
    shipped = MachineProgram.of(PATH, Process())
    assert shipped.path is PATH and not executed
    assert shipped.run is shipped.run and shipped.executed is shipped.executed
    assert shipped.motion.write_time == shipped.run.write_time
    assert len(executed) == 1


def test_a_program_that_is_moved_shines_elsewhere_and_takes_as_long() -> None:
    here = MachineProgram.of(PATH, Process())
    there = here.moved((3.0, -1.0)).moved((0.0, 2.0))
    assert there.shift == (3.0, 1.0)
    for which in ("shifted_path", "executed"):
        moved, stays = getattr(there, which).xy, getattr(here, which).xy
        assert moved == pytest.approx(stays + (3.0, 1.0))
    assert there.motion == here.motion, "how far the head comes from its zero stays as it is"


def test_what_is_written_is_read_back_with_the_lines_that_carry_it() -> None:
    shipped = MachineProgram.written(PATH, Process())
    assert shipped.path.xy[-1] == pytest.approx(PATH.xy[-1], abs=1e-3)
    (part,) = shipped.parts
    assert part.transmitted is not None
    assert part.transmitted.lines == shipped.text.count("\n")
    assert len(part.transmitted.characters) == len(shipped.path)
    long = MachineProgram.of(shipped.path, Process(), Transmitted(np.full(len(shipped.path), 4000), 9))
    assert long.run.write_time > shipped.run.write_time, "longer lines take longer to send"


@pytest.mark.parametrize("dialect", ["grbl", "grblhal", "marlin", "klipper", "linuxcnc"])
def test_comments_before_the_first_motion_change_nothing(dialect: str) -> None:
    process = Process(machine=Machine(dialect=dialect))
    bare, wordy = (
        MachineProgram.written(STOPS, process, header=["what made it " * 5] * lines) for lines in (0, 30)
    )
    assert len(wordy.text) > len(bare.text) + 1900
    assert wordy.run.write_time == bare.run.write_time
    for column in ("row", "duration", "xyz", "power", "light"):
        np.testing.assert_array_equal(getattr(wordy.run, column), getattr(bare.run, column))


@pytest.mark.parametrize("dialect", ["grbl", "marlin"])
def test_comments_between_moves_cost_their_time_on_the_line(dialect: str) -> None:
    """6300 characters take 0.55 s, and the head goes on for some 0.1 s with what it has."""
    process = Process(machine=Machine(dialect=dialect))
    text = MachineProgram.written(STOPS, process).text.splitlines(keepends=True)
    middle = len(text) // 2
    times = []
    for lines in (0, 100):
        whole = "".join([*text[:middle], *["; " + "x" * 60 + "\n"] * lines, *text[middle:]])
        times.append(simulate(whole, process).shipped.run.write_time)
    assert times[0] + 0.2 < times[1] < times[0] + 0.6


def _zigzag() -> Toolpath:
    """Seven lines and travels, each in eight moves."""
    ends = np.array([[6, 6], [24, 6], [20, 6], [6, 6], [6, 11], [24, 11], [20, 11], [21, 11]]) / 10
    steps = np.arange(8)[:, None] / 8
    xy = np.concatenate([a + steps * (b - a) for a, b in pairwise(ends)])
    power, speed = np.array([0.6, 0.0, 0.6, 0.0, 0.6, 0.0, 0.4]), np.array([20.0, 100.0] * 3 + [5.0])
    return Toolpath(np.vstack([xy, ends[-1:]]), np.repeat(power, 8), np.repeat(speed, 8))


STOPS = _zigzag()
RESTS = [8, 48]
"""Indices of its moves before which the head turns back, and so rests, next to a dark move."""


@pytest.mark.parametrize("dialect", ["linuxcnc", "klipper"])
@pytest.mark.parametrize("lag", [0.0, 2e-4])
def test_a_program_in_parts_from_rest_to_rest_has_the_figures_and_the_dose_of_the_whole(
    dialect: str, lag: float
) -> None:
    process = Process(machine=Machine(dialect=dialect, baud=None, look_ahead=8, lag=lag))
    whole = MachineProgram.of(STOPS, process, Transmitted(np.full(len(STOPS), 20), len(STOPS) + 5))
    moves, limits = convert.to_moves(STOPS, process.machine), convert.limits(process.machine)
    assert gcode.motion.profile(moves, limits).entry[RESTS] == pytest.approx(0, abs=1e-9), "it rests there"
    parts = whole.split(RESTS)
    assert len(parts.parts) == len(RESTS) + 1
    assert parts.motion.as_dict() == pytest.approx(whole.motion.as_dict())
    assert parts.path.xy.tolist() == whole.path.xy.tolist()
    assert parts.run.write_time == pytest.approx(whole.run.write_time)
    n = len(STOPS) + 1
    np.testing.assert_allclose(parts.run.durations(n), whole.run.durations(n), atol=1e-9)
    np.testing.assert_allclose(parts.run.energies(n), whole.run.energies(n), atol=1e-9)
    seen = Scene.around(BAR, process.spot, process.resin, 4)
    one, several = (Exposure(program, seen) for program in (whole, parts))
    np.testing.assert_allclose(several.executed.dose, one.executed.dose, atol=1e-4 * one.executed.dose.max())
    joined = several.of(parts.executed).dose
    np.testing.assert_allclose(joined, several.executed.dose, atol=1e-4 * joined.max())


def test_parts_begin_where_the_last_one_ends_and_in_the_dark() -> None:
    whole = MachineProgram.of(STOPS, Process())
    first, second = whole.split(RESTS[:1]).parts
    with pytest.raises(InputError, match="part 2 does not start at"):
        MachineProgram((first, replace(second, start=(0.0, 0.0))))
    with pytest.raises(InputError, match="part 1 has no start"):
        MachineProgram((second,))
    with pytest.raises(InputError, match="laser is on before and after the rest between parts 1 and 2"):
        MachineProgram.of(PATH, Process()).split([1])
    with pytest.raises(InputError, match="must rise"):
        whole.split([0])
    with pytest.raises(InputError, match="executed with its whole file"):
        MachineProgram.of(PATH, Process(), execution=whole.run).split([1])
    with pytest.raises(InputError, match="no parts"):
        MachineProgram(())


@pytest.mark.slow
@pytest.mark.parametrize("initial", ["auto", "random"])
def test_a_plan_samples_its_outline_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, initial: str
) -> None:
    """Starting curves, stages on their grids, window, unconstrained optimum and report share the samples."""
    widths = outlines_sampled(monkeypatch)
    laserpath.plan(BAR, Process(), replace(QUICK, initial=initial, report="full")).write(tmp_path)
    assert widths == [Process().spot.fwhm]


def test_scenes_of_one_design_and_spot_share_their_outline() -> None:
    process = Process()
    fine = Scene.around(BAR, process.spot, process.resin, 6)
    coarse = replace(fine, grid=grid_for(BAR, process.spot, 3))
    assert coarse.samples is fine.samples
    assert coarse.target.grid is coarse.grid, "the target is that of the new grid"
    wide = replace(fine, spot=replace(process.spot, fwhm=0.2))
    assert len(wide.samples.xy) < len(fine.samples.xy)
    assert Scene.of(BAR, coarse.target, process.spot, process.resin).target is coarse.target


@pytest.mark.slow
def test_a_plan_converts_a_path_no_more_than_it_must(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    converted: list[tuple[bytes, bytes, bytes, int]] = []
    real = convert.to_moves

    def note(path: Toolpath, machine: Machine, passes: int = 1, order: int = 1) -> gcode.Moves:
        converted.append((path.xy.tobytes(), path.power.tobytes(), path.speed.tobytes(), passes))
        return real(path, machine, passes, order)

    monkeypatch.setattr(convert, "to_moves", note)
    laserpath.plan(BAR, Process(), QUICK).write(tmp_path)
    most = max(Counter(converted).values())
    # Its moves are not kept for its figures: those of a large program take more memory than its run.
    assert most <= 5, "to learn its powers, to move its vertices, to write it, to execute it, for its figures"


def test_a_program_begins_alike_with_hosts_that_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """GRBL with hosts that answer at once, after 1 ms and after 4 ms: how long each of the first moves takes.
    Without the dark move before them some take 8 ms longer.
    """
    angle = np.linspace(0, 2 * np.pi, 81)
    path = Toolpath(5 + np.column_stack([np.cos(angle), np.sin(angle)]), np.full(80, 1.0), np.full(80, 20.0))

    def spread() -> float:
        programs = [
            MachineProgram.written(path, Process(machine=Machine(host_delay=late)))
            for late in (0, 1e-3, 4e-3)
        ]
        return float(max(np.ptp([one.run.durations(11)[1:] for one in programs], axis=0)))

    assert spread() < 1e-4
    monkeypatch.setattr(gcode.motion.Grbl, "run_in", 0.0)
    assert spread() > 5e-3


GRID = Grid((0.0, 0.0), 0.02, (31, 151))
HALF_A_LEVEL = 0.012
"""Relative dose of half a level, at the levels of three passes of level 110 with three photons."""
STEADY = slice(40, 110)
"""Columns where the head is at full speed. At the ends, levels far below the nominal one are coarse."""


@pytest.mark.parametrize("dialect", ["grbl", "klipper"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_executed_dose_of_passes_is_that_of_one(dialect: str, order: int) -> None:
    machine = Machine(dialect=dialect, speed_max=(20.0, 20.0))
    process = Process(Spot(0.1), Resin(order=order), machine)
    path = Toolpath([[0.3, 0.3], [2.7, 0.3]], machine.power_of([110]), [20.0])
    model = DoseModel(GRID, process.spot, precision="f64")

    def dose(passes: int) -> np.ndarray:
        return model.dose(MachineProgram.written(path, process, passes).executed)

    once = dose(1)
    assert once[15, STEADY].min() > 0.7 * once.max()
    for passes in (2, 3):
        again = dose(passes)
        np.testing.assert_allclose(again[:, STEADY], once[:, STEADY], atol=HALF_A_LEVEL * once.max())
        assert again.sum() == pytest.approx(once.sum(), rel=HALF_A_LEVEL)

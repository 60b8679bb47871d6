"""One record of a shipped program: each step is found once, and all who ask it agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely

import gcode
import laserpath
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.program import Shipped, Transmitted
from laserpath.measure.exposure import Exposure
from laserpath.planning import tolerance
from laserpath.types import Design, Machine, Process, Settings, Toolpath

BAR = Design(shapely.box(0.5, 0.5, 2.5, 1.2), "bar")
QUICK = Settings(initial="contour", iterations=6, origin="page")
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


def test_a_plan_executes_its_start_and_its_program_once(executed: list[gcode.Moves], tmp_path: Path) -> None:
    plan = laserpath.plan(BAR, Process(), QUICK)
    assert len(executed) == 2
    plan.write(tmp_path)
    assert plan.verdict and plan.run.write_time > 0
    assert len(executed) == 2, "the page, the verdict and the run ask the same record"


def test_each_candidate_of_a_tolerance_is_executed_once(
    executed: list[gcode.Moves], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []
    real = tolerance._Tried

    def note(solution: object, epe_p95: float, write_time: float) -> object:
        tried.append(epe_p95)
        return real(solution, epe_p95, write_time)  # type: ignore[arg-type]

    monkeypatch.setattr(tolerance, "_Tried", note)
    process = Process(machine=Machine(baud=19200))
    plan = laserpath.plan(BAR, process, replace(QUICK, max_epe_fwhm=0.001))
    assert len(executed) == len(tried) + 2
    assert plan.report.epe_p95 in tried, "the tolerance is judged by the figure that the report tells"


def test_nothing_is_executed_before_it_is_asked_for(executed: list[gcode.Moves]) -> None:
    shipped = Shipped(PATH, Process())
    assert shipped.commanded is PATH and not executed
    assert shipped.run is shipped.run and shipped.executed is shipped.executed
    assert shipped.motion.write_time == shipped.run.write_time
    assert len(executed) == 1


def test_a_program_that_is_moved_shines_elsewhere_and_takes_as_long() -> None:
    here = Shipped(PATH, Process())
    there = here.moved((3.0, -1.0)).moved((0.0, 2.0))
    assert there.shift == (3.0, 1.0)
    for which in ("commanded", "executed"):
        moved, stays = getattr(there, which).xy, getattr(here, which).xy
        assert moved == pytest.approx(stays + (3.0, 1.0))
    assert there.motion == here.motion, "how far the head comes from its zero stays as it is"


def test_what_is_written_is_read_back_with_the_lines_that_carry_it() -> None:
    shipped = Shipped.written(PATH, Process())
    assert shipped.path.xy[-1] == pytest.approx(PATH.xy[-1], abs=1e-3)
    assert shipped.transmitted is not None
    assert shipped.transmitted.lines == shipped.text.count("\n")
    assert len(shipped.transmitted.characters) == len(shipped.path)
    long = replace(shipped, transmitted=Transmitted(np.full(len(shipped.path), 4000), 9))
    assert long.run.write_time > shipped.run.write_time, "longer lines take longer to send"


@pytest.mark.parametrize(("dialect", "counted"), [("grbl", 2), ("klipper", 1)])
def test_which_exposure_counts(dialect: str, counted: int) -> None:
    process = Process(machine=Machine(dialect=dialect, baud=None))
    exposure = Exposure(Shipped(PATH, process), BAR, rasterise(BAR, grid_for(BAR, process.spot, 3)))
    assert len(exposure.counted) == counted
    assert exposure.executed in exposure.counted
    assert exposure.epe_p95 == max(one.figures.epe_p95 for one in exposure.counted)

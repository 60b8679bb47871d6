"""What plans have reached, as executed: a change may not lose more than 3 % of it without saying so here.

The figures are those that `plan` reports for the default process at standard quality. If a change betters
them, put the better ones in.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import laserpath

DESIGNS = Path(__file__).parents[1] / "data" / "designs"
ROOM = 1.03

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Reached:
    """Mean |EPE| in FWHM, largest dose in critical doses, write time in s."""

    epe_mean: float
    dose_max: float
    write_time: float


REACHED = {
    "iccad13_M1_test7": Reached(0.01282, 3.002, 1.380),  # before: 0.01383, 1.320
    "lithobench_StdContact_BUF_X16__0_0": Reached(0.01902, 2.149, 3.656),  # before: 0.02313, 3.424
    "mdi_snowflake": Reached(0.01052, 3.005, 3.882),
}


@pytest.mark.parametrize("name", REACHED)
def test_a_plan_prints_as_well_as_it_has(name: str) -> None:
    executed = laserpath.plan(
        DESIGNS / f"{name}.svg", settings=laserpath.Settings(report="brief")
    ).report.executed
    reached = REACHED[name]
    assert executed.figures.epe_mean <= ROOM * reached.epe_mean
    assert executed.figures.dose_max <= ROOM * reached.dose_max
    assert executed.motion.write_time <= ROOM * reached.write_time
    assert executed.figures.missing_edges == 0

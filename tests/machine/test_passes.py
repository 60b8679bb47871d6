"""The dose of several passes is that of one, with any absorption order, as the controllers execute them."""

from __future__ import annotations

import numpy as np
import pytest

from laserpath.machine.program import MachineProgram
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Machine, Process, Resin, Spot, Toolpath

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

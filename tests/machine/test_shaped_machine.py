"""A machine with an input shaper: what else is executed and laid out for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import SPOT

import gcode
from laserpath.calibration.layout import run_up
from laserpath.machine.program import MachineProgram, early, with_energies
from laserpath.types import Machine, Process, Resin

MZV = gcode.motion.Shaper("mzv", 50.0)
PRINTER = Machine(
    dialect="klipper", steps=None, baud=None, acceleration=(1500.0, 1500.0), segment_rate=1000.0,
    shapers=(MZV, MZV),
)  # fmt: skip


def shone(machine: Machine) -> np.ndarray:
    """(M, 3) x, y and light of the executed pieces of two strokes, forth and back."""
    xy = np.array([[3, 5], [5, 5], [8, 5], [10, 5], [10, 5.3], [8, 5.3], [5, 5.3], [3, 5.3]], float)
    lit = np.array([0, 1, 0, 0, 0, 1, 0]) > 0
    moves = gcode.Moves.straight(xy, 0.5 * lit, np.full(7, 40.0), ~lit)
    process = Process(SPOT, Resin(), machine)
    made = MachineProgram.of_moves(early(with_energies(moves, process), process), process)
    path = made.executed
    return np.column_stack([(path.xy[1:] + path.xy[:-1]) / 2, path.power * path.length / path.speed])


def test_a_late_laser_is_commanded_early_at_planned_times() -> None:
    """With a shaper and 2 ms of delay, which would shift strokes by 0.08 mm, light is where it is without."""
    late = replace(PRINTER, laser_on_delay=2e-3, laser_off_delay=2e-3)
    wanted, got = shone(PRINTER), shone(late)
    assert got[:, 2].sum() == pytest.approx(wanted[:, 2].sum(), rel=0.01)
    for low, high in ((4.9, 5.15), (5.15, 5.4)):
        own, other = (one[(one[:, 1] > low) & (one[:, 1] < high)] for one in (wanted, got))
        means = [np.average(one[:, 0], weights=one[:, 2]) for one in (own, other)]
        assert means[1] == pytest.approx(means[0], abs=0.002)


def test_runs_up_are_longer_by_the_shaper() -> None:
    assert PRINTER.shaping == pytest.approx(float(MZV.impulses.delay[-1]))
    free = replace(PRINTER, shapers=(None, None))
    assert free.shaping == 0
    assert PRINTER.settling == PRINTER.shaping
    assert run_up(40.0, PRINTER) == pytest.approx(run_up(40.0, free) + 40 * PRINTER.shaping)


def test_a_shaper_needs_a_controller_that_is_modelled_with_one() -> None:
    with pytest.raises(ValueError, match="but none is modelled for Marlin; turn it off there"):
        replace(PRINTER, dialect="marlin")
    with pytest.raises(ValueError, match="must be two, of x and y"):
        replace(PRINTER, shapers=("mzv", None))  # type: ignore[arg-type]

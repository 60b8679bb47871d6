"""A feed override: with M4 the light follows the head; with constant power the dose is one over the speed."""

from __future__ import annotations

import numpy as np
import pytest

import gcode
from gcode import GcodeError, Moves
from gcode.motion import Controller, Grbl, Klipper, Limits, Marlin, execute, overridden

FACTORS = pytest.mark.parametrize("factor", [0.5, 0.8, 1.2])
CONSTANT = {"marlin": Marlin(), "klipper": Klipper(), "linuxcnc": Limits(segment_rate=1e9)}


def line(*, power: float = 0.3, dynamic: bool = False) -> Moves:
    """A travel of 10 mm at 100 mm/s and a line of 60 mm at 20 mm/s, nearly all of it at that speed."""
    return Moves.straight([[0, 0], [10, 0], [70, 0]], [0, power], [100, 20], [True, False], dynamic=dynamic)


def energy(moves: Moves, controller: Controller) -> float:
    """∫ light dt, s, of the line."""
    return float(execute(moves, controller).energies(2)[1])


def turned(moves: Moves, controller: Controller, factor: float, dialect: str) -> float:
    """`energy` with the feed override at a factor."""
    return energy(*overridden(moves, controller, factor, gcode.dialect(dialect)))


@FACTORS
def test_grbl_s_dynamic_power_keeps_the_dose_of_a_cruise(factor: float) -> None:
    moves, grbl = line(dynamic=True), Grbl()
    assert turned(moves, grbl, factor, "grbl") == pytest.approx(energy(moves, grbl), rel=0.01)


@FACTORS
def test_constant_power_leaves_a_dose_of_one_over_the_override(factor: float) -> None:
    for name, controller in {"grbl": Grbl(), **CONSTANT}.items():
        made = turned(line(), controller, factor, name)
        assert made == pytest.approx(energy(line(), controller) / factor, rel=0.02), name


def test_power_in_proportion_to_the_overridden_speed_does_not_make_up_for_it() -> None:
    moves, planner = line(dynamic=True), CONSTANT["linuxcnc"]
    assert turned(moves, planner, 0.5, "smoothieware") == pytest.approx(2 * energy(moves, planner), rel=0.01)


def test_above_full_power_the_light_cannot_follow() -> None:
    moves, grbl = line(power=1.0, dynamic=True), Grbl()
    assert turned(moves, grbl, 1.2, "grbl") == pytest.approx(energy(moves, grbl) / 1.2, rel=0.02)


def test_grbl_cuts_power_off_after_it_has_scaled_it_by_the_speed() -> None:
    """S · speed/F of what was programmed: full power at F, not only at the overridden speed."""
    moves = line(power=1.0, dynamic=True)
    run = execute(*overridden(moves, Grbl(), 1.2, gcode.dialect("grbl")))
    length = np.hypot(*np.diff(run.xyz[:, :2], axis=0).T)
    speed = np.divide(length, run.duration, out=np.zeros(len(length)), where=run.duration > 0)
    lit = (run.row == 1) & (length > 0)
    assert speed[lit].max() == pytest.approx(24, rel=0.01)
    np.testing.assert_array_equal(run.power[lit & (speed > 20.1)], 1.0)
    # An axis at its limit: the power is that of the speed reached, not of the one asked for.
    slow = Grbl(max_rate=(22.0, 22.0, 22.0))
    cruise = execute(*overridden(line(power=0.9, dynamic=True), slow, 1.2, gcode.dialect("grbl")))
    assert cruise.power.max() == pytest.approx(0.9 * 1.1, abs=1 / 255)


def test_only_firmware_without_an_override_of_rapids_slows_them_down() -> None:
    for name, controller, slower in (("grbl", Grbl(), 1.0), ("klipper", Klipper(), 2.0)):
        before, after = (
            execute(*made).durations(2)[0]
            for made in (
                (line(), controller),
                overridden(line(), controller, 0.2, gcode.dialect(name)),
            )
        )
        assert after == pytest.approx(before, rel=0.2) if slower == 1 else after > slower * before


def test_at_100_percent_nothing_changes() -> None:
    for name, controller in {"grbl": Grbl(), **CONSTANT}.items():
        same, own = overridden(line(), controller, 1.0, gcode.dialect(name))
        np.testing.assert_array_equal(same.speed, line().speed)
        np.testing.assert_array_equal(same.power, line().power)
        assert own == controller


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_an_override_is_above_zero(factor: float) -> None:
    with pytest.raises(GcodeError, match=r"feed override is .*must be above 0"):
        overridden(line(), Grbl(), factor, gcode.dialect("grbl"))

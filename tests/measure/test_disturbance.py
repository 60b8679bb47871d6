"""A program on a machine that differs from its profile: what changes its dose, and what cannot."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from builders import SPOT, design

from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram
from laserpath.measure.window import Disturbance, disturbances, disturbed, key_figures
from laserpath.types import Machine, Process, Resin, Toolpath

LINE = design(shapely.box(1, 1, 9, 1.1), name="line")
DIALECTS = {
    "grbl": Machine(),
    "marlin": Machine(dialect="marlin", steps=(80.0, 80.0)),
    "klipper": Machine(dialect="klipper", steps=(80.0, 80.0)),
    "linuxcnc": Machine(dialect="linuxcnc", power_levels=4095, steps=None),
}


@cache
def program(dialect: str = "grbl", speed: float = 5.0, level: int = 10) -> MachineProgram:
    """One straight line, 8 mm long, as slow as to reach its speed within 0.1 mm."""
    machine = DIALECTS[dialect]
    power = machine.power_max * level / machine.power_levels
    path = Toolpath(np.array([[1.0, 1.05], [9.0, 1.05]]), np.array([power]), np.array([speed]))
    return MachineProgram.of_moves(convert.to_moves(path, machine), Process(SPOT, Resin(), machine))


def energy(made: MachineProgram) -> float:
    """mJ, of the executed path."""
    path = made.executed
    return float((path.power * path.length / path.speed).sum())


def changes(dialect: str, cause: str, level: int = 10) -> list[float]:
    """Energy under each disturbance of a cause, relative to that as planned."""
    own = program(dialect, level=level)
    return [
        energy(one.program(own)) / energy(own)
        for one in disturbances(DIALECTS[dialect])
        if one.cause == cause
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("cause", ["acceleration", "junction", "link"])
def test_one_slow_line_does_not_care_for_acceleration_bends_or_link(dialect: str, cause: str) -> None:
    np.testing.assert_allclose(changes(dialect, cause), 1.0, rtol=0.02)


def test_a_feed_override_spares_only_power_that_follows_the_programmed_speed() -> None:
    np.testing.assert_allclose(changes("grbl", "override", level=200), 1.0, rtol=0.01)
    # Half of level 10 is level 5, which on an ATmega shines for 6 clocks instead of 5.5 of 256.
    assert changes("grbl", "override")[0] == pytest.approx(2 * 6 / 11, rel=0.01)
    for dialect in ("marlin", "klipper", "linuxcnc"):
        np.testing.assert_allclose(changes(dialect, "override"), [2.0, 1.25, 1 / 1.2], rtol=0.03)


def test_the_light_of_a_level_matters_most_where_levels_are_low() -> None:
    """(n + 1)/256 against n/255."""
    (light,) = (one for one in disturbances(Machine()) if one.cause == "light")
    for level in (2, 10, 200):
        own = program(level=level)
        change = energy(light.program(own)) / energy(own)
        assert change == pytest.approx(level / 255 * 256 / (level + 1), rel=1e-3)


def test_only_what_the_controller_has_is_disturbed() -> None:
    causes = {name: [one.cause for one in disturbances(machine)] for name, machine in DIALECTS.items()}
    assert set(causes["grbl"]) == {
        "acceleration",
        "junction",
        "override",
        "link",
        "light",
        "pulses",
        "flashes",
        "delay",
        "backlash",
    }
    assert "backlash" not in causes["linuxcnc"], "nothing is known of its motors"
    galvo = replace(DIALECTS["linuxcnc"], speed_max=(500.0, 500.0), acceleration=(1e6, 1e6))
    assert "delay" not in [one.cause for one in disturbances(galvo)], "2 m/s there would be 2 mm of light"
    assert "link" not in causes["klipper"], "the host sends its moves ahead of time"
    assert any("square corner velocity" in one.change for one in disturbances(DIALECTS["klipper"]))
    free = replace(Machine(), baud=None)
    assert "link" not in [one.cause for one in disturbances(free)]


def test_an_unknown_input_shaper_lengthens_a_line_that_starts_lit() -> None:
    """Half of it moves early, half late, at both ends; known, it is turned off instead."""
    own = program("klipper")
    (shaped,) = (one for one in disturbances(DIALECTS["klipper"]) if one.cause == "shaper")
    done = shaped.program(own)
    assert shaped.change == "an input shaper, mzv at 50 Hz, damping 0.1"
    assert energy(done) == pytest.approx(energy(own), rel=1e-6)
    begin, end = (done.executed.xy[np.flatnonzero(done.executed.on)[k] + k + 1, 0] for k in (0, -1))
    assert 1.0 < begin < end < 9.0
    (off,) = (one for one in disturbances(shaped.machine) if one.cause == "shaper")
    assert off.change == "the input shaper turned off"
    assert off.machine == DIALECTS["klipper"]
    assert "shaper" not in [one.cause for one in disturbances(Machine())]


def test_a_later_laser_shifts_a_line_along() -> None:
    own = program(speed=5.0)
    (late,) = (one for one in disturbances(Machine()) if one.cause == "delay")
    shifted = late.program(own)
    assert energy(shifted) == pytest.approx(energy(own), rel=1e-6)
    middle = [np.average(mid(one), weights=weights(one)) for one in (own, shifted)]
    assert middle[1] - middle[0] == pytest.approx(5.0 * 1e-3, rel=0.02)


def mid(made: MachineProgram) -> np.ndarray:
    """(M,) mm, x of the middle of each executed piece."""
    return (made.executed.xy[1:, 0] + made.executed.xy[:-1, 0]) / 2


def weights(made: MachineProgram) -> np.ndarray:
    """(M,) mJ, of each executed piece."""
    return made.executed.power * made.executed.length / made.executed.speed


def test_figures_are_those_of_the_executed_print() -> None:
    own, scene = program(level=12), Scene.around(LINE, SPOT, Resin(), 6)
    planned, none = key_figures(own, scene), Disturbance("override", "none", own.process.machine)
    assert key_figures(none.program(own), scene) == planned
    found = {one.change: one.figures for one in disturbed(Machine(), scene, lambda one: one.program(own))}
    assert found["half the junction deviation"].epe_mean == pytest.approx(planned.epe_mean, rel=0.05)
    assert found["a feed override of 50 %"].write_time > 1.5 * planned.write_time
    assert found["level_offset 0 instead of 1"].dose_max < planned.dose_max

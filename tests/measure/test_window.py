"""The process window: its middle is the plan, and dose, focus and edges are related as in physics.

A program on a machine that differs from its profile: what changes its dose, and what cannot.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import shapely
from builders import SPOT, design, expose, path

from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.machine import convert
from laserpath.machine.program import MachineProgram
from laserpath.measure import DEFOCUS, EPE_CAP_FWHM, best_exposure
from laserpath.measure.window import (
    DOSES,
    WIDTHS,
    Disturbance,
    disturbances,
    disturbed,
    key_figures,
    process_window,
)
from laserpath.physics.dose import accurate_model
from laserpath.types import Machine, Process, Resin, Toolpath

BAR = design(shapely.box(1, 1, 2, 1.2))
TARGET = rasterise(BAR, grid_for(BAR, SPOT, 6))
PROCESS = Process()
SCENE = Scene.of(BAR, TARGET, SPOT, PROCESS.resin)


def brighter(toolpath: Toolpath, factor: float) -> Toolpath:
    return replace(toolpath, power=toolpath.power * factor)


@pytest.fixture(scope="module")
def exposed():
    """Two lines in the bar at the power that is best in focus."""
    lines = path(np.array([[1.03, 1.05], [1.97, 1.05], [1.97, 1.15], [1.03, 1.15]]))
    dose = accurate_model(TARGET.grid, SPOT).dose(lines)
    return brighter(lines, best_exposure(dose, SCENE))


@pytest.fixture(scope="module")
def window(exposed):
    return process_window(exposed, SCENE)


@pytest.mark.parametrize("which", ["commanded", "executed"])
def test_its_middle_is_what_is_measured_of_the_plan(exposed, which):
    exposure = expose(exposed, BAR, TARGET, PROCESS)
    figures = getattr(exposure, which).figures
    measured = process_window(exposed if which == "commanded" else exposure.program.executed, SCENE)
    middle = WIDTHS.index(1.0), DOSES.index(1.0)
    assert measured.epe_mean[middle] == pytest.approx(figures.epe_mean, rel=1e-9)
    assert measured.epe_p95[middle] == pytest.approx(figures.epe_p95, rel=1e-9)
    assert measured.missing_edges[middle] == figures.missing_edges
    assert measured.samples == figures.samples


def test_less_dose_cures_less_and_more_dose_more(window):
    in_focus = window.epe_signed[0]
    assert (np.diff(window.epe_signed, axis=1) > 0).all()
    assert in_focus[0] < -0.02 < 0.01 < in_focus[-1]
    assert window.epe_mean[0][0] > window.epe_mean[0][4] < window.epe_mean[0][-1]


def test_a_wider_spot_spreads_the_light_of_a_narrow_bar(window):
    at = DOSES.index(1.0)
    assert window.width.tolist() == [1.0, DEFOCUS, 1.3]
    assert (np.diff(window.epe_mean[:, at]) > 0).all()


@pytest.mark.parametrize("factor", [0.8, 1.1])
def test_a_relative_dose_is_a_relative_power(exposed, window, factor):
    alone = process_window(brighter(exposed, factor), SCENE, doses=(1.0,))
    at = DOSES.index(factor)
    np.testing.assert_allclose(alone.epe_signed[:, 0], window.epe_signed[:, at], atol=1e-6)
    np.testing.assert_array_equal(alone.missing_edges[:, 0], window.missing_edges[:, at])


def test_with_two_photons_the_dose_goes_with_the_power_squared(exposed):
    process = Process(resin=Resin(order=2, critical_dose=60.0))
    scene = Scene.of(BAR, TARGET, process.spot, process.resin)
    once = process_window(exposed, scene, doses=(0.81, 1.0), widths=(1.0,))
    dimmed = process_window(brighter(exposed, 0.9), scene, doses=(1.0,), widths=(1.0,))
    assert once.missing_edges[0, 0] < once.samples
    assert dimmed.epe_signed[0, 0] == pytest.approx(once.epe_signed[0, 0], abs=1e-6)


def test_where_nothing_cures_every_edge_is_missing_and_counts_as_the_cap(exposed):
    dark = process_window(brighter(exposed, 0.01), SCENE)
    assert (dark.missing_edges == dark.samples).all()
    np.testing.assert_allclose(dark.epe_mean, EPE_CAP_FWHM)
    np.testing.assert_allclose(dark.epe_signed, -EPE_CAP_FWHM)


@pytest.mark.parametrize("factors", [(), (0.0, 1.0), (1.0, 0.9), (1.0, 1.0), (1.0, float("inf"))])
@pytest.mark.parametrize("axis", ["doses", "widths"])
def test_factors_that_do_not_rise_from_above_0_are_refused(exposed, axis, factors):
    with pytest.raises(InputError, match=f"{axis} are .* must be above 0 and rise"):
        process_window(exposed, SCENE, **{axis: factors})


def test_it_is_written_as_plain_numbers(window):
    plain = window.as_dict()
    assert plain["dose"] == list(DOSES)
    assert plain["epe_mean"] == window.epe_mean.tolist()
    assert plain["samples"] == window.samples


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
        "acceleration", "junction", "override", "link", "host", "light", "pulses", "flashes", "delay",
        "backlash",
    }  # fmt: skip
    assert "backlash" not in causes["linuxcnc"], "nothing is known of its motors"
    galvo = replace(DIALECTS["linuxcnc"], speed_max=(500.0, 500.0), acceleration=(1e6, 1e6))
    assert "delay" not in [one.cause for one in disturbances(galvo)], "2 m/s there would be 2 mm of light"
    assert not {"link", "host"} & set(causes["klipper"]), "the host sends its moves ahead of time"
    assert any("square corner velocity" in one.change for one in disturbances(DIALECTS["klipper"]))
    assert "moments" not in [
        one.cause for one in disturbances(replace(DIALECTS["klipper"], host_window="lines"))
    ]
    single = [one for one in disturbances(replace(Machine(), host_window="lines")) if one.cause == "moments"]
    assert [one.machine.host_delay for one in single] == [1e-4, 2e-4], "no host answers before it was asked"
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

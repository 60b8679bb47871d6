"""Actual speed and power: where the head is slow, constant power burns and dynamic power does not.

A feed override: with M4 the light follows the head; with constant power the dose is one over the speed.
"""

from __future__ import annotations

import numpy as np
import pytest

import gcode
from gcode import GcodeError, Kind, Moves
from gcode.levels import level_of, quantise
from gcode.motion import Controller, Executed, Grbl, Klipper, Limits, Marlin, execute, overridden, profile

LIMITS = Limits(segment_rate=1e9)
VERTICES = [[0, 0], [5, 0], [15, 0], [15, 10], [0, 10]]
CONTROLLERS = pytest.mark.parametrize("controller", [Limits(), Grbl(), Klipper(), Marlin()])


def corner(*, dynamic: bool) -> Moves:
    """A travel, a corner at two powers, a travel."""
    return Moves.straight(
        VERTICES, [0, 0.5, 0.25, 0], [100, 50, 50, 100], [True, False, False, True], dynamic=dynamic
    )


def lengths(done: Executed) -> np.ndarray:
    return np.linalg.norm(np.diff(done.xyz, axis=0), axis=1)


def line_energy(done: Executed) -> np.ndarray:
    return done.power * done.duration / lengths(done)


@CONTROLLERS
def test_pieces_cover_the_path_in_the_order_of_the_moves(
    controller: Limits | Grbl | Klipper | Marlin,
) -> None:
    moves = corner(dynamic=False)
    done = execute(moves, controller.stepless())
    assert lengths(done).sum() == pytest.approx(moves.length.sum())
    assert (np.diff(done.row) >= 0).all()
    assert not done.power[np.isin(done.row, [0, 3])].any()
    for vertex in VERTICES:
        assert np.isclose(done.xyz[:, :2], vertex, atol=1e-9).all(axis=1).any(), (
            "vertices stay where they are"
        )
    assert done.durations(4).sum() == pytest.approx(done.write_time)
    assert done.energies(4).sum() == pytest.approx(done.exposure)


def test_an_even_planner_takes_its_profile_s_time() -> None:
    moves = corner(dynamic=False)
    done = execute(moves, LIMITS)
    np.testing.assert_allclose(done.durations(4), profile(moves, LIMITS).duration)


def test_with_dynamic_power_every_piece_has_the_commanded_line_energy() -> None:
    done = execute(corner(dynamic=True), LIMITS)
    on = done.power > 0
    target = np.array([0, 0.5, 0.25, 0])[done.row] / 50
    np.testing.assert_allclose(line_energy(done)[on], target[on])
    assert (done.power[on] <= target[on] * 50 * (1 + 1e-12)).all()


def test_with_constant_power_corners_and_ends_burn() -> None:
    done = execute(corner(dynamic=False), LIMITS)
    assert set(done.power) == {0.0, 0.25, 0.5}
    on = done.power > 0
    excess = line_energy(done)[on] / (done.power[on] / 50)
    middle = ((done.xyz[1:] + done.xyz[:-1]) / 2)[on, :2]
    near, far = np.hypot(*(middle - [15, 0]).T) < 0.1, abs(middle[:, 0] - 10) < 1
    np.testing.assert_allclose(excess[far], 1)
    assert excess[near].min() > 2.5
    assert excess.min() >= 1 - 1e-12


def test_pieces_are_short_where_the_speed_changes() -> None:
    done = execute(corner(dynamic=True), LIMITS, longest=0.05)
    on, length = done.power > 0, lengths(done)
    changing = on & (length / done.duration < 49.99)
    assert length[changing].max() <= 0.05 * (1 + 1e-9)
    assert (length[on] > 1).sum() == 2, "one steady piece each"


def test_a_tick_s_power_is_that_of_its_last_speed() -> None:
    """From standstill at 500 mm/s², GRBL's tick k of 10 ms runs at 5·(k − ½) mm/s and is lit for 5·k mm/s."""
    line = Moves.straight([[0, 0], [20, 0]], [1], [50], [False], dynamic=True)
    done = execute(line, Grbl(steps=(2000.0,) * 3))
    k = np.arange(1, 11)
    np.testing.assert_allclose((lengths(done) / done.duration)[:10], 5 * (k - 0.5), rtol=1e-6)
    np.testing.assert_allclose(done.power[:10], k / 10, rtol=1e-6)
    np.testing.assert_allclose(done.power[-10:], 1 - k / 10, atol=1e-6)


def test_ticks_give_the_pwm_levels_that_real_firmware_showed() -> None:
    """GRBL 1.1h: rapid (0, 0) → (2, 2), then G1 X18 F3000 S300; levels seen every 20 ms."""
    line = Moves.straight([[0, 0], [2, 2], [18, 2]], [0, 0.3], [100, 50], [True, False], dynamic=True)
    done = execute(line, Grbl(), power_levels=255)
    levels = np.rint(done.power[done.row == 1] * 255).astype(int)
    assert levels[[0, 2, 4, 6]].tolist() == [20, 36, 51, 66]
    assert levels.max() == 77


def test_the_link_slows_the_pieces_too() -> None:
    n = 300
    xy = np.column_stack([np.arange(n + 1) * 0.05, np.zeros(n + 1)])
    short = Moves.straight(xy, np.full(n, 0.5), np.full(n, 20.0), np.zeros(n, bool), dynamic=True)
    slow = Limits(segment_rate=100)
    done = execute(short, slow)
    assert done.write_time == pytest.approx(profile(short, slow).write_time)
    assert np.median(lengths(done) / done.duration) == pytest.approx(5, rel=0.02)
    np.testing.assert_allclose(line_energy(done), 0.5 / 20)


def test_longer_lines_take_longer_on_a_serial_line() -> None:
    n = 300
    xy = np.column_stack([np.arange(n + 1) * 0.05, np.zeros(n + 1)])
    short = Moves.straight(xy, np.full(n, 0.5), np.full(n, 50.0), np.zeros(n, bool))
    terse, wordy = (execute(short, Grbl(), characters=np.full(n, c)).write_time for c in (20, 60))
    assert wordy > 60 * 280 * 10 / 115200
    assert wordy > 1.4 * terse


@CONTROLLERS
def test_a_dwell_stands_and_shines(controller: Limits | Grbl | Klipper | Marlin) -> None:
    moves = Moves(
        [[0, 0], [10, 0], [10, 0], [20, 0]], [0.2, 0.4, 0.2], [50, 1, 50], [1, Kind.DWELL, 1],
        dwell=[0, 0.5, 0],
    )  # fmt: skip
    done, straight = (
        execute(moves, controller),
        execute(Moves.straight([[0, 0], [20, 0]], [0.2], [50], [False]), controller),
    )
    there = done.xyz[np.argmin(np.abs(np.append(0, done.end) - done.durations(3)[0] - 0.25))]
    np.testing.assert_allclose(there[:2], [10, 0], atol=0.02)
    assert done.energies(3)[1] >= 0.4 * 0.5 * 0.99
    # It brakes and starts again: more than the wait.
    assert done.write_time > straight.write_time + 0.5 + 0.05


@CONTROLLERS
def test_an_arc_is_executed_as_its_chords(controller: Limits | Grbl | Klipper | Marlin) -> None:
    half = Moves([[5, 0], [-5, 0]], [0.5], [20], [Kind.COUNTERCLOCKWISE], centre=[[0, 0]])
    done = execute(half, controller, characters=[30])
    assert set(done.row) == {0}
    assert lengths(done).sum() == pytest.approx(5 * np.pi, rel=5e-3)
    assert np.abs(np.hypot(*done.xyz[:, :2].T) - 5).max() < 0.02


def test_quantised_power_is_what_grbl_s_pwm_gives() -> None:
    assert quantise(np.array([0, 1e-9, 1.0]), 255).tolist() == [0, 1 / 255, 1]
    n = np.arange(256)
    assert level_of(n / 255, 255).tolist() == n.tolist()
    p = np.linspace(0, 1, 1000)
    assert abs(quantise(p, 255) - p).max() <= 1 / 255 + 1e-12
    assert (np.diff(quantise(p, 255)) >= 0).all()
    done = execute(corner(dynamic=True), LIMITS, power_levels=255)
    np.testing.assert_allclose(done.power * 255, np.rint(done.power * 255))


@CONTROLLERS
def test_any_path_keeps_its_darkness_and_its_end(controller: Limits | Grbl | Klipper | Marlin) -> None:
    rng = np.random.default_rng(1)
    n = 200
    xy = np.cumsum(rng.normal(0, 0.3, (n + 1, 2)) * (rng.random((n + 1, 1)) > 0.1), axis=0)
    rapid = rng.random(n) < 0.2
    moves = Moves.straight(xy, np.where(rapid, 0, rng.random(n)), rng.uniform(1, 50, n), rapid)
    done = execute(moves, controller, power_levels=255)
    lit = lengths(done) > 0
    assert not done.power[rapid[done.row] & lit].any()
    np.testing.assert_allclose(done.xyz[-1, :2], xy[-1], atol=0.1)  # Marlin leaves out what is under 6 steps


@CONTROLLERS
def test_pieces_as_moves_last_as_long(controller: Limits | Grbl | Klipper | Marlin) -> None:
    done = execute(corner(dynamic=False), controller)
    moves = done.moves()
    assert moves.duration.sum() == pytest.approx(done.write_time)
    assert (moves.power * moves.duration).sum() == pytest.approx(done.exposure)


def test_nothing_executes_as_nothing() -> None:
    still = Moves.straight([[1, 2], [1, 2]], [1], [5], [False])
    for moves in (still, Moves.straight([[1, 2]], [], [], [])):
        assert execute(moves, LIMITS).exposure == 0
        assert execute(moves, LIMITS).write_time == 0
    with pytest.raises(GcodeError, match="longest is 0"):
        execute(still, LIMITS, longest=0)
    with pytest.raises(GcodeError, match=r"characters has shape \(2,\)"):
        execute(still, LIMITS, characters=[1, 2])


@pytest.mark.parametrize("kind", [Grbl, Marlin])
def test_limits_of_three_axes_are_three_numbers(kind: type) -> None:
    with pytest.raises(GcodeError, match="limit max_rate is 100, but must be three numbers"):
        kind(max_rate=100)


SQUARE = Moves.straight(
    [[0, 0], [5, 5], [15, 5], [15, 15], [5, 15], [5, 5]], [0, *[0.75] * 4], [100, *[20] * 4], [1, 0, 0, 0, 0]
)
"""10 mm at 20 mm/s: 2 s at 0.75 of full power are 1.5 s."""


@pytest.mark.parametrize(
    ("controller", "dynamic", "measured"),
    [
        (Grbl(), True, 1.504), (Grbl(), False, 1.586), (Marlin(), False, 1.476),
        (Klipper(minimum_cruise_ratio=0), False, 1.560),
    ],
    ids=["GRBL M4", "GRBL M3", "Marlin", "Klipper"],
)  # fmt: skip
def test_exposure_of_a_square_is_what_the_firmware_gave(
    controller: Grbl | Marlin | Klipper, dynamic: bool, measured: float
) -> None:
    """Measured with the real firmware; how the recorded program approached is not known, hence 2 %."""
    moves = Moves.straight(SQUARE.xy, SQUARE.power, SQUARE.speed, SQUARE.rapid, dynamic=dynamic)
    levels = None if isinstance(controller, Klipper) else 255
    assert execute(moves, controller, power_levels=levels).exposure == pytest.approx(measured, rel=0.02)


def test_klipper_wants_four_decimals_of_small_moves() -> None:
    """A circle of 19.9 mm in 0.05 mm moves at 50 mm/s: rounding to 1 µm makes corners of it."""
    n, radius = 2500, 19.9
    t = np.linspace(0, 2 * np.pi, n + 1)
    xy = radius * np.column_stack([np.cos(t), np.sin(t)])
    times = [
        execute(
            Moves.straight(np.round(xy, digits), np.full(n, 0.5), np.full(n, 50.0), np.zeros(n, bool)),
            Klipper(minimum_cruise_ratio=0),
        ).write_time
        for digits in (3, 5)
    ]
    assert times[1] == pytest.approx(2 * np.pi * radius / 50, rel=0.05)
    assert times[0] > 1.3 * times[1]


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
            for made in ((line(), controller), overridden(line(), controller, 0.2, gcode.dialect(name)))
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

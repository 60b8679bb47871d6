"""Input shapers: against the oscillator that they are for, closed forms, and Klipper's own steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings import DATA

import gcode
from gcode.controllers.klipper.shaping import CHORD
from gcode.controllers.shapers import KINDS, Shaper, lead
from gcode.errors import GcodeError
from gcode.motion import Executed, Klipper, execute

F, A = 50.0, 1500.0
PLANNED = Klipper(max_velocity=100, max_accel=A)


def shaped_by(x: Shaper | None, y: Shaper | None = None, **limits: Any) -> Klipper:
    return replace(PLANNED, shapers=(x, y), **limits)


def vibration(shaper: Shaper, frequency: float, damping: float) -> float:
    """Amplitude of a step's vibration when the last impulse has come, ÷ that of the step alone at its time.

    Singer and Seering's V: √(C² + S²) e^(−ζω t_n).
    """
    impulses, rate = shaper.impulses, 2 * np.pi * frequency
    fading, turning = damping * rate, rate * np.sqrt(1 - damping**2)
    # The free motion after an impulse at τ is the real part of a phasor e^((t − τ)(−fading + i·turning)).
    left = impulses.share * np.exp((impulses.delay[-1] - impulses.delay) * (-fading + 1j * turning))
    return float(abs(left.sum()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damping", [0.0, 0.1, 0.2])
def test_copies_add_up_to_one_about_the_planned_time(kind: str, damping: float) -> None:
    impulses = Shaper(kind, F, damping).impulses
    assert impulses.share.sum() == pytest.approx(1)
    assert (impulses.share > 0).all()
    assert (np.diff(impulses.delay) > 0).all()
    assert impulses.share @ impulses.delay == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("kind", "halves"), [("zv", 1), ("mzv", 1.5), ("zvd", 2), ("ei", 2), ("2hump_ei", 3), ("3hump_ei", 4)]
)
@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_a_shaper_lasts_so_many_half_periods(kind: str, halves: float, damping: float) -> None:
    """Evenly apart, but for the EI shapers, of which that holds without damping, to within their fit."""
    delay = Shaper(kind, F, damping).impulses.delay
    half = 0.5 / (F * np.sqrt(1 - damping**2))
    most = {"ei": 0.02, "2hump_ei": 0.05, "3hump_ei": 0.1}.get(kind, 0) if damping else 0.01 * ("ei" in kind)
    assert delay[-1] - delay[0] == pytest.approx(halves * half, rel=0.02 if most else 1e-9)
    assert np.diff(delay) == pytest.approx(halves * half / (len(delay) - 1), rel=most or 1e-9)


@pytest.mark.parametrize("kind", ["zv", "mzv", "zvd"])
@pytest.mark.parametrize("damping", [0.0, 0.1, 0.3])
def test_zero_vibration_shapers_leave_none(kind: str, damping: float) -> None:
    assert vibration(Shaper(kind, F, damping), F, damping) == pytest.approx(0, abs=1e-12)


def test_a_zvd_is_flat_at_its_frequency_and_a_zv_is_not() -> None:
    zv, zvd = (vibration(Shaper(kind, F, 0.0), 1.01 * F, 0.0) for kind in ("zv", "zvd"))
    assert zv == pytest.approx(0.01 * np.pi / 2, rel=0.01)
    assert zvd == pytest.approx(zv**2, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "humps", "width"), [("ei", 1, 0.38), ("2hump_ei", 2, 0.7), ("3hump_ei", 3, 0.93)]
)
@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_an_ei_shaper_has_its_humps_as_high_as_the_tolerance(
    kind: str, humps: int, width: float, damping: float
) -> None:
    """Over a band of so many f it leaves 5 % of a vibration, to within its fit, as often as it has humps."""
    near = np.linspace(1 - width / 2, 1 + width / 2, 1001)
    left = np.array([vibration(Shaper(kind, F, damping), f * F, damping) for f in near])
    assert left.max() < 0.05 * 1.12
    tops = left[1:-1][(left[1:-1] >= left[:-2]) & (left[1:-1] > left[2:])]
    assert tops == pytest.approx(np.full(humps, 0.05), rel=0.12)


@pytest.mark.parametrize(
    ("kind", "weights"),
    [
        ("ei", [0.2625, 0.475, 0.2625]),
        ("2hump_ei", [0.1608, 0.3392, 0.3392, 0.1608]),
        ("3hump_ei", [0.1127, 0.2375, 0.2997, 0.2375, 0.1127]),
    ],
)
def test_without_damping_the_fits_are_the_closed_forms(kind: str, weights: list[float]) -> None:
    assert Shaper(kind, F, 0.0).impulses.share == pytest.approx(weights, abs=2e-3)


def test_an_mzv_is_wider_than_a_zv() -> None:
    for f in (0.9, 1.1):
        assert vibration(Shaper("mzv", F, 0.0), f * F, 0.0) < vibration(Shaper("zv", F, 0.0), f * F, 0.0)


def line(length: float = 5.0, power: float = 0.5, speed: float = 50.0) -> gcode.Moves:
    return path([(0, 0), (length, 0)], power, speed)


def path(xy: list[tuple[float, float]], power: float = 0.5, speed: float = 50.0) -> gcode.Moves:
    rows = len(xy) - 1
    lines = np.zeros(rows, bool)
    return gcode.Moves.straight(np.array(xy, float), np.full(rows, power), np.full(rows, speed), lines)


def ringing(done: Executed, frequency: float, damping: float) -> float:
    """mm, amplitude of an oscillator whose foot goes along x, after the end."""
    step, rate = 1e-5, 2 * np.pi * frequency
    time = np.arange(0, done.write_time + step, step)
    foot = done.at(time)[:, 0]
    turn = np.exp(step * rate * (-damping + 1j * np.sqrt(1 - damping**2)))
    # z' = p z + (foot's change), with the mode's phasor: exact for a foot that jumps once a step.
    z = 0j
    for change in np.diff(foot):
        z = z * turn + change
    return abs(z)


@pytest.mark.parametrize("kind", ["zv", "mzv", "zvd", "2hump_ei"])
def test_a_shaped_line_leaves_the_machine_at_rest(kind: str) -> None:
    """The path as executed, not its impulses, drives an oscillator of that frequency and damping."""
    shaper = Shaper(kind, F, 0.1)
    free = ringing(execute(line(), PLANNED), F, 0.1)
    left = ringing(execute(line(), shaped_by(shaper), longest=0.005), F, 0.1)
    assert free > 0.01
    assert left < (0.02 if kind == "2hump_ei" else 0.001) * free


def directly(moves: gcode.Moves, controller: Klipper, time: np.ndarray) -> np.ndarray:
    """(T, 2) mm: the sum of delayed copies of the planned path, which is cut finely."""
    assert controller.impulses is not None
    planned, shift = execute(moves, controller.unshaped(), longest=1e-3), lead(controller.impulses)
    return np.column_stack(
        [
            sum(
                share * planned.at(time - shift - delay)[:, axis]
                for share, delay in zip(one.share, one.delay, strict=True)
            )
            for axis, one in enumerate(controller.impulses)
        ]
    )


PLACE = st.integers(-30_000, 30_000).map(lambda places: places / 10_000)
"""mm, on the lattice of 0.1 µm: no program names places between, and a move of 1e-9 mm takes no time."""
POINTS = st.lists(st.tuples(PLACE, PLACE), min_size=2, max_size=8)
SHAPERS = st.sampled_from(
    [None, *(Shaper(kind, f, z) for kind in KINDS for f in (35.0, 60.0) for z in (0, 0.2))]
)


@given(POINTS, SHAPERS, SHAPERS, st.sampled_from([0.05, 0.5]))
def test_pieces_are_the_sum_of_the_copies(
    xy: list[tuple[float, float]], x: Shaper | None, y: Shaper | None, longest: float
) -> None:
    controller = shaped_by(x, y)
    if controller.impulses is None:
        return
    done = execute(path(xy), controller, longest=longest)
    time = np.linspace(0, done.write_time, 500)
    away = done.at(time)[:, :2] - directly(path(xy), controller, time)
    assert np.hypot(*away.T).max() <= CHORD * longest + 1e-4, "0.1 µm for the cuts of the planned path"


@given(POINTS, SHAPERS, SHAPERS)
def test_light_and_times_are_as_planned(
    xy: list[tuple[float, float]], x: Shaper | None, y: Shaper | None
) -> None:
    controller, rows = shaped_by(x, y), len(xy) - 1
    planned, done = execute(path(xy), PLANNED), execute(path(xy), controller)
    assert done.energies(rows) == pytest.approx(planned.energies(rows))
    assert set(done.row) == set(range(rows))
    longer = done.write_time - planned.write_time
    if controller.impulses is None or planned.write_time == 0:
        assert longer == 0
    else:
        late = max(one.delay[-1] for one in controller.impulses)
        assert longer == pytest.approx(lead(controller.impulses) + late)
    assert done.xyz[[0, -1], :2] == pytest.approx(np.array(xy)[[0, -1]], abs=1e-9)


def test_at_steady_speed_the_head_is_where_it_was_planned() -> None:
    controller = shaped_by(Shaper("3hump_ei", F), Shaper("zv", 30.0))
    planned, done = execute(path([(0, 0), (8, 6)]), PLANNED), execute(path([(0, 0), (8, 6)]), controller)
    assert controller.impulses is not None
    middle = planned.write_time / 2
    assert done.at([middle + lead(controller.impulses)]) == pytest.approx(
        planned.at([middle]), abs=CHORD * 0.05
    )
    steady = np.hypot(*np.diff(done.xyz[:, :2], axis=0).T)
    assert steady.max() > 5, "an even way is one piece"


def test_a_corner_is_cut() -> None:
    """ZV without damping: half of the path comes 1/(4f) early, half late, at 5 mm/s ± 1500 mm/s²."""
    corner, controller = path([(0, 0), (3, 0), (3, 3)]), shaped_by(Shaper("zv", F, 0.0), Shaper("zv", F, 0.0))
    planned, done = execute(corner, PLANNED), execute(corner, controller)
    late = 1 / (4 * F)
    at = planned.durations(2)[0] + late
    short = (5 * late + A * late**2 / 2) / 2
    assert done.at([at])[0, :2] == pytest.approx([3 - short, short], abs=2e-4)


def test_z_is_not_shaped() -> None:
    moves = replace(path([(0, 0), (1, 0), (1, 0), (2, 0)]), z=np.array([0.0, 0, 1, 1]))
    controller = shaped_by(Shaper("ei", F))
    planned, done = execute(moves, PLANNED), execute(moves, controller)
    time = np.linspace(0, planned.write_time, 300)
    assert controller.impulses is not None
    away = done.at(time + lead(controller.impulses))[:, 2] - planned.at(time)[:, 2]
    assert np.abs(away).max() < 0.004


def test_axes_stand_at_the_nearest_step_of_the_shaped_place() -> None:
    shaper = Shaper("mzv", F)
    xy: list[tuple[float, float]] = [(0, 0), (3, 0.04), (3.1, 2), (0, 2.03)]
    smooth, real = (execute(path(xy), shaped_by(shaper, shaper, steps=s)) for s in (None, (80, 80, 400)))
    time = np.linspace(0, smooth.write_time, 2000)
    assert np.abs(real.at(time) - smooth.at(time))[:, :2].max() <= (0.5 + 1e-4) / 80
    first, last = real.stepping
    assert 0 < first < 0.02 and 0 < real.write_time - last < 0.02


def test_without_a_motion_nothing_is_shaped() -> None:
    text = "G4 P500"
    moves = gcode.read(text, gcode.dialect("klipper"), 1000, start=(1, 2)).moves
    done = execute(moves, shaped_by(Shaper("zv", F)))
    assert done.write_time == 0.5
    assert (done.xyz[:, :2] == [1, 2]).all()


@dataclass(frozen=True)
class Recorded:
    """Steps of an axis: s after the first step of both axes, and the middle that each passes, mm."""

    time: np.ndarray
    middle: np.ndarray


RECORDINGS = sorted((DATA / "shaped").glob("*.npz"))


def of_host(file: Path) -> tuple[Klipper, dict[str, Any], list[Recorded]]:
    with np.load(file) as data:
        columns = dict(data)
    kinds = zip(columns["kind"], columns["frequency"], columns["damping"], strict=True)
    x, y = (Shaper(str(kind), float(f), float(z)) for kind, f, z in kinds)
    axes = []
    for axis in "xy":
        after = columns[f"after_{axis}"]
        up = np.unpackbits(columns[f"up_{axis}"])[: len(after)].astype(bool)
        stands = np.cumsum(np.where(up, 1, -1))
        middle = (stands - np.where(up, 0.5, -0.5)) / 80
        axes.append(Recorded(np.cumsum(after) * float(columns["tick"]), middle))
    return shaped_by(x, y), columns, axes


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_the_head_is_where_klipper_steps(file: Path) -> None:
    controller, columns, axes = of_host(file)
    text = (DATA / f"{file.stem}.klipper.gcode").read_text()
    moves = gcode.read(text, gcode.dialect("klipper"), 1000, start=(0, 0)).moves
    done, planned = execute(moves, controller), execute(moves, controller.unshaped())
    assert planned.write_time == pytest.approx(float(columns["motion"]), rel=1e-9)
    assert controller.impulses is not None
    begin = lead(controller.impulses) - float(columns["start"])
    for axis, steps in enumerate(axes):
        away = done.at(steps.time + begin)[:, axis] - steps.middle
        assert np.abs(away).max() < 1e-3
    stepped = execute(moves, replace(controller, steps=(80, 80, 400)))
    last = max(steps.time[-1] for steps in axes if len(steps.time))
    assert stepped.stepping[1] - stepped.stepping[0] == pytest.approx(last, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Shaper("mvz", F), "'mvz' is unknown; did you mean mzv"),
        (lambda: Shaper("zv", 0.0), "shaper_freq is 0 Hz"),
        (lambda: Shaper("zv", F, 1.0), "damping_ratio is 1, but must be from 0 to 0.99 for zv"),
        (lambda: Shaper("3hump_ei", F, 0.3), "damping_ratio is 0.3, but must be from 0 to 0.2 for 3hump_ei"),
        (lambda: Shaper("zv", F, -0.1), "damping_ratio is -0.1"),
        (lambda: Shaper("mzv", "50"), "shaper_freq is '50', but must be a number"),
        (lambda: Shaper("mzv", F, None), "damping_ratio is None, but must be a number"),
        (lambda: Shaper(["mzv"], F), "shaper_type is .* but must be one of: zv, mzv"),
    ],
)
def test_impossible_shapers_are_refused(make: Any, message: str) -> None:
    with pytest.raises(GcodeError, match=message):
        make()


@pytest.mark.parametrize("command", ["SET_INPUT_SHAPER SHAPER_FREQ_X=0", "SET_VELOCITY_LIMIT ACCEL=100"])
def test_a_program_s_own_settings_of_the_motion_are_noted(command: str) -> None:
    (note,) = gcode.read(f"{command}\nG1 X1 F600", gcode.dialect("klipper"), 1000, start=(0, 0)).notes
    name = command.split()[0]
    assert note.message == f"{name} is passed over: the motion is that of the machine's profile"

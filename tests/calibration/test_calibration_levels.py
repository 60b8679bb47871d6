"""How a level becomes light: a chart is laid out for the profile's offset, and its fit finds the true one."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from charted import measured
from sets import one_fast
from synthetic import filled_in

from laserpath import InputError, Machine, Process, Resin, Spot, calibration
from laserpath.calibration import Chart, Fit, Item, Measurements, Options
from laserpath.calibration.measurements import Levels, level_for
from laserpath.calibration.model import Physics, SizeModel
from laserpath.config import profiles
from laserpath.physics.resin import line_energy

QUICK = Options(spot="airy", elliptical=False)
ROW = "H"
"""The row of levels, below six rows of lines and the lines along y."""
GRBL = profiles.machine("grbl-diode-405")
TRUTH = Process(Spot(0.085), Resin(critical_dose=0.5), GRBL)
E_C, DEPTH = 0.12, 0.1


def row_of(chart: Chart) -> list[Item]:
    return [item for item in chart.items if item.id.startswith(ROW)]


def physics(offset: float, **changes: float) -> Physics:
    return replace(Physics((0.082, 0.082), 0.31, 0.105, 0.09, 0.04, 4.0), level_offset=offset, **changes)


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("order", [1, 2])
def test_a_row_has_one_dose_at_levels_that_double(offset: float, order: int) -> None:
    resin = Resin(critical_dose=0.2 if order == 1 else 1e3, order=order)
    process = Process(Spot(0.1), resin, replace(GRBL, level_offset=offset))
    row = row_of(calibration.chart(process))
    levels = np.array([item.level for item in row])
    assert len(levels) >= 3
    np.testing.assert_array_equal(levels[1:], 2 * levels[:-1])
    power = np.array([item.power for item in row])
    np.testing.assert_allclose(power, 10 * (levels + offset) / (255 + offset))
    energy = line_energy(power, [item.speed for item in row], process.spot)
    np.testing.assert_allclose(energy, energy[0], rtol=0.03, err_msg="but for the rounding of feeds")


@pytest.mark.parametrize("offset", [-2.0, 0.0, 1.0])
def test_powers_and_levels_are_inverse(offset: float) -> None:
    machine = replace(GRBL, level_offset=offset, level_min=3)
    levels = np.arange(3, 256)
    np.testing.assert_array_equal(level_for(machine.power_of(levels), machine), levels)
    assert level_for(0.0, machine) == 3, "below the lowest usable level there is none"


def test_the_row_is_equally_wide_with_the_offset_of_the_profile_and_with_no_other() -> None:
    chart = calibration.chart(Process(machine=replace(GRBL, level_offset=0.0)))
    model = SizeModel(row_of(chart), levels=Levels(255, 0.0))
    resin = replace(physics(0.0), reciprocity=0.0, critical_dose=0.2)
    same, other = (model.sizes(replace(resin, level_offset=o)).size for o in (0.0, 1.0))
    assert np.ptp(same) < 0.003
    assert (np.diff(other)[:3] < -0.003).all(), "each wider than the next, by more than one can overlook"


@cache
def exposed(profile_offset: float) -> Measurements:
    """A chart of a profile with this offset, exposed on an ATmega and seen with errors of 2 and 4 µm."""
    chart = calibration.chart(Process(machine=replace(GRBL, level_offset=profile_offset)))
    rng, rows = np.random.default_rng(3), []
    for row in measured(chart, TRUTH, E_C, DEPTH):
        # Of a wedge the gap is seen, as well as a width is.
        error = {"depth": 0.004, "merged": 0.002 * row.item.length / max(row.item.gap, 1e-9)}
        sizes = {n: getattr(row, n) for n in ("width", "diameter", "merged", "depth")}
        noisy = {
            n: max(s + rng.normal(0, error.get(n, 0.002)), 1e-4) for n, s in sizes.items() if s is not None
        }
        rows.append(replace(row, **noisy))
    return Measurements(tuple(rows), levels=Levels.of(chart.process.machine))


@cache
def fitted(profile_offset: float) -> Fit:
    return calibration.fit(exposed(profile_offset), QUICK)


def beyond(fit: Fit) -> dict[str, float]:
    """Distance of each estimate from the truth, in halves of its 95 % interval."""
    true = {
        "fwhm": 0.085, "critical_dose": 0.5, "penetration_depth": DEPTH, "e_c": E_C, "reciprocity": 0.0,
        "level_offset": 1.0,
    }  # fmt: skip
    return {e.name: abs(e.value - true[e.name]) / ((e.high - e.low) / 2) for e in fit.estimates}


@pytest.mark.parametrize("profile_offset", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_the_offset_of_the_machine_is_found_whatever_the_profile_says(profile_offset: float) -> None:
    found = fitted(profile_offset)
    assert found["level_offset"].value == pytest.approx(1, abs=0.25)
    assert found["level_offset"].low < 1 < found["level_offset"].high
    # Six estimates at once: 99 % intervals.
    assert max(beyond(found).values()) < 1.35
    assert found["e_c"].value == pytest.approx(E_C, rel=0.08)
    assert found["penetration_depth"].value == pytest.approx(DEPTH, rel=0.03)
    assert found.machine(replace(GRBL, level_offset=0.0)).level_offset == found["level_offset"].value
    assert found.machine(GRBL) == GRBL, "the ATmega's 1 holds, and stays"


@pytest.mark.slow
def test_without_the_offset_resin_and_spot_would_be_wrong() -> None:
    biased = beyond(calibration.fit(replace(exposed(0.0), levels=None), QUICK))
    assert min(biased["e_c"], biased["critical_dose"], biased["reciprocity"], biased["penetration_depth"]) > 3


def test_a_wrong_profile_is_told_its_line() -> None:
    (told,) = (w for w in fitted(0.0).warnings if "level_offset" in w)
    assert float(re.search(r"put level_offset = (\S+) there", told)[1]) == pytest.approx(1, abs=0.25)  # type: ignore[index]


@pytest.mark.slow
def test_a_right_profile_is_told_that_it_holds() -> None:
    right = fitted(1.0)
    assert not [w for w in right.warnings if "level_offset" in w]
    assert [n for n in right.notes if n.startswith("level_offset = 1 of the machine's profile holds")]


@pytest.mark.parametrize(
    ("half", "shown"),
    [(0.0521, ("1.03", "0.98", "1.08")), (0.121, ("1.0", "0.9", "1.1")), (4.2, ("1", "-3", "5"))],
)
def test_an_offset_has_the_digits_of_its_interval(half: float, shown: tuple[str, str, str]) -> None:
    found = calibration.Estimate("level_offset", 1.029, 1.029 - half, 1.029 + half)
    assert calibration.supported(found) == shown


@pytest.mark.parametrize("offset", one_fast([-3.0, 0.0, 1.0], -3.0))
@pytest.mark.parametrize("order", [1, 2])
def test_without_errors_the_offset_is_exact(offset: float, order: int) -> None:
    items = [i for i in calibration.chart().items if i.kind == "line" and i.level and i.level + offset > 0]
    levels = Levels(255, 1.0)
    dose = physics(offset, critical_dose=0.31 if order == 1 else 0.31 / 0.1**2)
    rows = filled_in(
        np.random.default_rng(0), dose, chart=items, order=order, levels=levels, width_error=0, depth_error=0
    )
    found = calibration.fit(rows, replace(QUICK, speed=dose.speed))
    assert found["level_offset"].value == pytest.approx(offset, abs=1e-3)
    assert found["critical_dose"].value == pytest.approx(dose.critical_dose, rel=1e-3)


@pytest.mark.slow
def test_the_interval_holds_the_offset_90_to_99_times_of_100() -> None:
    held = 0
    items, levels = calibration.chart().items, Levels.of(Machine())
    for seed in range(100):
        rows = filled_in(np.random.default_rng(seed), physics(0.0), chart=items, levels=levels)
        found = calibration.fit(rows, QUICK)["level_offset"]
        held += found.low <= 0 <= found.high
    assert 90 <= held <= 99


@pytest.mark.slow
def test_high_levels_cannot_tell_the_offset_and_the_profile_is_believed() -> None:
    items = [i for i in calibration.chart().items if i.level and i.level >= 30]
    rows = filled_in(np.random.default_rng(5), physics(1.0), chart=items, levels=Levels(255, 1.0))
    found = calibration.fit(rows, QUICK)
    assert "level_offset" not in found.names
    assert [n for n in found.notes if "measure the row of levels" in n]
    assert found.machine(GRBL) == GRBL


def test_a_diode_that_is_dark_at_its_lowest_levels() -> None:
    """By the profile all levels shine, but below level 20 nothing is visible."""
    machine = replace(GRBL, level_offset=0.0)
    chart = calibration.chart(Process(machine=machine))
    sized = [item for item in chart.items if item.kind != "pair"]
    dark = [item for item in sized if item.level and item.level <= 20]
    levels = Levels.of(machine)
    rows = filled_in(np.random.default_rng(2), physics(-20.0), chart=chart.items, levels=levels)
    assert all(row.visible is False for row in rows.rows if row.item in dark)
    found = calibration.fit(rows, QUICK)
    assert found["level_offset"].low < -20 < found["level_offset"].high


def test_the_sheet_has_the_levels_and_how_they_were_taken_to_shine() -> None:
    chart = calibration.chart(Process(machine=replace(GRBL, level_offset=0.25)))
    for decimal in ("point", "comma"):
        read = calibration.read_sheet(chart.sheet(decimal))
        assert read.levels == Levels(255, 0.25)
        assert [row.item.level for row in read.rows] == [item.level for item in chart.items]
    assert calibration.read_sheet("power_mW,speed_mm_per_s,width_um\n1,1,80\n").levels is None


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        ("# power_levels = many\npower_mW,speed_mm_per_s\n1,1\n", "power_levels is 'many', but must be"),
        ("# power_levels = 0\npower_mW,speed_mm_per_s\n1,1\n", "power_levels is 0, but must be at least 1"),
        ("# power_levels = 255\n# level_offset = o\npower_mW,speed_mm_per_s\n1,1\n", "level_offset is 'o'"),
        ("# power_levels = 9\n# level_offset = -9\npower_mW,speed_mm_per_s\n1,1\n", "must be above -9"),
        ("# power_levels = 9\nlevel,power_mW,speed_mm_per_s\n10,1,1\n", "level 10 is above power_levels 9"),
        ("level,power_mW,speed_mm_per_s\n0,1,1\n", "row 2: level is 0, but must be at least 1"),
        ("level,power_mW,speed_mm_per_s\n1.5,1,1\n", "row 2: level is '1.5', but must be a whole number"),
    ],
)
def test_levels_that_cannot_be_are_named(sheet: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        calibration.read_sheet(sheet)


@pytest.mark.parametrize("name", profiles.names("machine"))
def test_dots_are_whole_motor_steps(name: str) -> None:
    """A dot rounded to steps would have another length, and so another dose."""
    machine = profiles.machine(name)
    chart = calibration.chart(Process(machine=replace(machine, power_max=10.0)))
    assert machine.steps is not None
    steps = np.array([item.length for item in chart.items if item.kind == "dot"]) * machine.steps[0]
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)


def test_a_missing_decimal_point_in_one_of_a_few_widths_is_refused_in_a_sentence() -> None:
    """On the way the offset becomes as large as it can be; no such light is taken, as no such size is."""
    levels = Levels.of(GRBL)
    rows = filled_in(np.random.default_rng(1), physics(1.0), levels=levels).rows
    few = [replace(row, depth=None) for row in rows if row.width and row.item.along == "x"][::8]
    few[0] = replace(few[0], width=100 * (few[0].width or 0))
    with pytest.raises(InputError, match="too few widths and diameters for the unknowns: 3 of"):
        calibration.fit(Measurements(tuple(few), levels=levels))

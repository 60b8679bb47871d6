"""A series over Z: best focus and Rayleigh range, from sizes by the model and from a program as executed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from charted import _look, dose_of
from commands import run
from test_calibration_sheet import fill

import gcode
from laserpath import calibration, profiles
from laserpath.base.errors import InputError
from laserpath.calibration import FocusFit, Item, Measured, Measurements, fit_focus, focus_chart
from laserpath.calibration.model import Physics, SizeModel
from laserpath.machine import convert
from laserpath.types import Machine, Process, Resin, Spot

MACHINE = Machine(z_travel=(-2.0, 40.0))
PROCESS = Process(Spot(0.1), Resin(), MACHINE)
HEIGHTS = np.linspace(-0.6, 0.6, 9)
DOSE = 0.25
ROUND = {"focus": (0.1, 0.1), "depth": (0.3, 0.3), "fwhm": (0.09, 0.09)}
ASTIGMATIC = {"focus": (0.2, 0.05), "depth": (0.2, 0.5), "fwhm": (0.07, 0.11)}
"""Along x and along y, mm."""


def items(directions: str = "xy", heights: Any = HEIGHTS) -> list[Item]:
    """Lines of six energies, 0.02 to 0.7 mJ/mm, in each direction at each height."""
    return [
        Item(f"{along}{z:g} {k}", "line", 0.3 * 2.0**k, 14.0, 2.5, along=along, z=float(z))
        for z in heights
        for along in directions
        for k in range(6)
    ]


def measured(
    lines: list[Item], true: dict[str, tuple[float, float]], error: float = 0.0, seed: int = 0
) -> Measurements:
    """Widths of a Gaussian beam, with errors of the microscope, mm; lines that do not show are told so."""
    z, rng = np.array([item.z for item in lines]), np.random.default_rng(seed)
    wide = [
        f * np.sqrt(1 + ((z - z0) / depth) ** 2)
        for f, z0, depth in zip(true["fwhm"], true["focus"], true["depth"], strict=True)
    ]
    sizes = SizeModel(lines, "gaussian").sizes(Physics((wide[0], wide[1]), DOSE))
    rows = []
    for item, excess, size in zip(lines, sizes.excess, sizes.size, strict=True):
        if excess <= 0.05:
            rows.append(Measured(item, visible=bool(excess > 0)))
        else:
            rows.append(Measured(item, width=max(float(size + rng.normal(0, error)), 1e-3)))
    return Measurements(tuple(rows))


def found(measurements: Measurements) -> FocusFit:
    result = fit_focus(measurements)
    assert result is not None
    return result


@pytest.mark.parametrize("true", [ROUND, ASTIGMATIC], ids=["round", "astigmatic"])
def test_exact_widths_give_the_beam(true: dict[str, tuple[float, float]]) -> None:
    result = found(measured(items(), true))
    assert result.focus.value == pytest.approx(np.mean(true["focus"]), abs=1e-4)
    assert result.rayleigh_range.value == pytest.approx(np.sqrt(np.prod(true["depth"])), rel=1e-3)
    assert result.fwhm.value == pytest.approx(np.sqrt(np.prod(true["fwhm"])), rel=1e-3)
    assert result.critical_dose.value == pytest.approx(DOSE, rel=1e-3)
    assert result.astigmatism is not None and result.aspect is not None
    assert result.astigmatism.value == pytest.approx(true["focus"][0] - true["focus"][1], abs=1e-4)
    assert result.aspect.value == pytest.approx(true["fwhm"][0] / true["fwhm"][1], rel=1e-3)
    assert ("astigmatic" in " ".join(result.warnings)) == (true is ASTIGMATIC)


def test_the_spot_widens_out_of_focus_as_measured() -> None:
    spot = found(measured(items(), ROUND)).spot()
    from laserpath.physics import optics

    assert optics.fwhm(spot) == pytest.approx(0.09, rel=1e-3)
    assert optics.fwhm(replace(spot, defocus=0.3)) == pytest.approx(0.09 * np.sqrt(2), rel=2e-3)
    assert spot.aspect == pytest.approx(1, abs=1e-4)


def test_lines_along_one_axis_do() -> None:
    result = found(measured(items("x"), ROUND, 0.002))
    assert result.aspect is None and result.astigmatism is None
    assert result.focus.low < 0.1 < result.focus.high
    assert result.focus.value == pytest.approx(0.1, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("true", [ROUND, ASTIGMATIC], ids=["round", "astigmatic"])
def test_intervals_hold(true: dict[str, tuple[float, float]]) -> None:
    """95 % of 80 series; the standard deviation of their number is 1.9."""
    lines, held = items(), np.zeros(3)
    for seed in range(80):
        result = found(measured(lines, true, 0.003, seed))
        truth = (np.mean(true["focus"]), np.sqrt(np.prod(true["depth"])), np.sqrt(np.prod(true["fwhm"])))
        for k, one in enumerate((result.focus, result.rayleigh_range, result.fwhm)):
            held[k] += one.low <= truth[k] <= one.high
    assert (held >= 70).all(), held


@pytest.mark.parametrize(
    ("measurements", "words"),
    [
        (
            measured(items(heights=[0, 0.1, 0.2]), ROUND),
            "widths are filled in at 3 heights; measure some at 4",
        ),
        (measured(items("x", np.linspace(0, 0.02, 6)), ROUND, 0.01), "the depth of focus is undetermined"),
    ],
)
def test_what_does_not_tell_the_focus_is_refused(measurements: Measurements, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fit_focus(measurements)


def test_one_height_is_no_series_and_a_focus_outside_is_said() -> None:
    assert fit_focus(measured(items(heights=[0.0]), ROUND)) is None
    beside = found(measured(items(heights=np.linspace(-1.0, -0.2, 9)), ROUND, 0.001))
    assert "is outside the -1 to -0.2 mm" in " ".join(beside.warnings)
    end = found(measured(items(heights=np.linspace(-0.6, 0.15, 9)), ROUND, 0.001))
    assert "is at an end of the series" in " ".join(end.warnings)


@pytest.mark.parametrize(
    ("focus", "machine", "words"),
    [
        (HEIGHTS, Machine(), "names none: put z_travel_mm"),
        ([0, 1], MACHINE, "there are 2 focus positions, but must be 5 to 22"),
        (np.linspace(-3, 1, 5), MACHINE, "focus -3 mm is outside the -2 to 40 mm"),
        (np.linspace(-1, 1, 5), replace(MACHINE, focus=-1.5), "the focus of 0 is at Z = -1.5"),
        (np.linspace(-1, 1, 20), replace(MACHINE, size=(20.0, 20.0)), "take fewer heights"),
    ],
)
def test_a_series_that_the_machine_cannot_write_is_refused(focus: Any, machine: Machine, words: str) -> None:
    with pytest.raises(InputError, match=words):
        focus_chart(replace(PROCESS, machine=machine), list(focus))


def test_the_program_is_dark_between_heights_and_counts_them_from_the_focus(tmp_path: Path) -> None:
    made = focus_chart(replace(PROCESS, machine=replace(MACHINE, focus=0.2)), [-0.2, -0.1, 0, 0.1, 0.2])
    assert not made.findings()
    assert sorted({item.z for item in made.items}) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    moves = gcode.read(made.program, gcode.dialect("grbl")).moves
    climbs = np.diff(moves.z) != 0
    assert climbs.sum() >= 5 and not moves.on[climbs].any()
    lit = moves.on
    for item in made.items:
        at = np.hypot(*((moves.xy[:-1] + moves.xy[1:]) / 2 - (item.x, item.y))[lit].T) < item.length / 2
        assert moves.z[1:][lit][at] == pytest.approx(item.z)
    sheet = calibration.read_sheet(made.sheet())
    assert [row.item.z for row in sheet.rows] == pytest.approx([item.z for item in made.items])
    assert "A: Z 0 mm" in made.svg()


def test_a_sheet_gives_the_focus_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = profiles.text("machine", "grbl-diode-405").replace("# z_travel_mm = [0", "z_travel_mm = [-1")
    Path("mine.toml").write_text(text)
    made = focus_chart(PROCESS, np.linspace(-0.5, 0.5, 5).tolist())
    Path("focus.csv").write_text(fill(made.sheet(), measured(list(made.items), ROUND, 0.001)))
    assert run("fit", "focus.csv", "--machine", "mine.toml", "-o", "out") == 0
    assert "best focus at Z 0.09" in capsys.readouterr().out
    assert profiles.machine("out/focus.machine.toml").focus == pytest.approx(0.1, abs=0.005)
    assert profiles.spot("out/focus.spot.toml").wavelength is not None
    assert "a series over Z" in profiles.calibrated("spot", "out/focus.spot.toml")
    assert run("fit", "focus.csv", "--layer", "50um") == 2
    assert "--layer is for a chart of spot and resin" in capsys.readouterr().err


@pytest.mark.slow
def test_a_series_as_executed_gives_the_defocus_of_the_beam() -> None:
    """Rows of the program exposed by a Gaussian beam out of focus, and their widths measured in the dose."""
    beam = Spot(0.09, "gaussian", wavelength=np.pi * 0.09**2 / (2 * np.log(2) * 0.3))
    made = focus_chart(PROCESS, np.linspace(-0.5, 0.5, 7).tolist())
    dialect = gcode.dialect(MACHINE.dialect)
    program = gcode.read(made.program, dialect, MACHINE.s_max, rapid_speed=min(MACHINE.rapid_speed))
    run = gcode.motion.execute(
        program.moves, convert.controller(MACHINE), characters=program.characters,
        power_levels=MACHINE.power_levels, light=MACHINE.light, longest=0.05,
    )  # fmt: skip
    moves, rows = run.moves(), []
    for z in sorted({item.z for item in made.items}):
        there = replace(moves, power=np.where(np.abs(moves.z[1:] - z) < 1e-4, moves.power, 0.0))
        lines = [item for item in made.items if item.z == z]
        truth = Process(replace(beam, defocus=z - 0.1), Resin(critical_dose=DOSE), MACHINE)
        grid, dose = dose_of(convert.from_moves(there, MACHINE), truth)
        rows += [_look(item, grid, dose, truth, 0.1, 0.1) for item in lines]
    result = found(Measurements(tuple(replace(row, depth=None) for row in rows)))
    assert result.focus.value == pytest.approx(0.1, abs=0.01)
    assert result.rayleigh_range.value == pytest.approx(0.3, rel=0.03)
    assert result.fwhm.value == pytest.approx(0.09, rel=0.02)

"""A design repeated with other doses and focus: what its program exposes, and what its sheet asks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import SPOKEN, executed
from sets import one_fast
from shapes import NODING

import gcode
import laserpath
from laserpath import calibration
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.calibration.charts import planned_sizes
from laserpath.machine import convert
from laserpath.planning import forecast, forecast_matrix
from laserpath.types import Design, Machine, Process, Resin, Settings, Spot

BRACKET = Design(shapely.box(0, 0, 2, 0.6).union(shapely.box(0, 0, 0.6, 2), grid_size=NODING), "bracket")
QUICK = Settings(initial="contour", iterations=20, quality="draft")
"""Of shorter plans some are refused, on Klipper: by chance 255 levels are too coarse for a dose of 0.7."""
DOSES, FOCUS = (0.7, 1.0, 1.4), (-0.1, 0.05)
TRAVEL = (-1.0, 40.0)
MACHINES = {name: replace(machine, z_travel=TRAVEL) for name, machine in SPOKEN.items()}
LEVELS_OFF = replace(MACHINES["grbl"], level_offset=0.6, power_max=8.0)
TWO_PHOTONS = Process(Spot(0.1), Resin(critical_dose=80.0, order=2), MACHINES["grbl"])


@cache
def made(name: str) -> laserpath.DoseMatrix:
    """The matrix in a dialect, planned when a test needs it."""
    return laserpath.plan_matrix(BRACKET, Process(machine=MACHINES[name]), QUICK, doses=DOSES, focus=FOCUS)


def energies(matrix: laserpath.DoseMatrix, run: gcode.motion.Executed) -> Floats:
    """(rows, columns) mW^N s, ∫ light^N dt within the box of each copy."""
    order, full = matrix.process.resin.order, matrix.process.machine.power_max
    middle = (run.xyz[1:, :2] + run.xyz[:-1, :2]) / 2
    lit, size = (full * run.light) ** order * run.duration, np.array(BRACKET.size)
    boxes = matrix.corners[..., None, :]
    inside = ((middle > boxes - 0.05) & (middle < boxes + size + 0.05)).all(axis=-1)
    return inside @ lit


@pytest.mark.parametrize("name", one_fast(MACHINES, "marlin"))
def test_the_doses_executed_are_those_of_the_labels(name: str) -> None:
    """Within 1 % of the plan's own, in each column and row; and within 1 % by the matrix's own account."""
    matrix = made(name)
    found = energies(matrix, executed(matrix.program, matrix.process))
    planned = matrix.plan.run.exposure * matrix.plan.process.machine.power_max
    assert found / planned == pytest.approx(np.tile(DOSES, (2, 1)), rel=0.01)
    assert matrix.executed == pytest.approx(DOSES, rel=0.01)
    assert matrix.doses.tolist() == list(DOSES)


@pytest.mark.slow
def test_the_forecast_has_labels_and_lines_too() -> None:
    """Which take much of the time of so small a design."""
    process = Process(machine=MACHINES["grbl"])
    expected = forecast_matrix(BRACKET, process, QUICK, DOSES, FOCUS).write_seconds
    assert 0.7 < expected / made("grbl").write_time < 1.5
    copies = 6 * forecast(BRACKET, process, QUICK).write_seconds
    assert copies < 0.6 * expected
    with pytest.raises(InputError, match="the matrix is "):
        forecast_matrix(BRACKET, replace(process, machine=Machine(size=(12, 12))), QUICK, DOSES, (0.0,))


@pytest.mark.parametrize(
    "process",
    one_fast([Process(machine=LEVELS_OFF), TWO_PHOTONS], TWO_PHOTONS),
    ids=["level offset", "two photons"],
)
def test_a_dose_is_of_light_and_of_its_photons(process: Process) -> None:
    matrix = laserpath.plan_matrix(BRACKET, process, QUICK, doses=DOSES)
    (found,) = energies(matrix, executed(matrix.program, matrix.process))
    assert found / found[1] == pytest.approx(DOSES, rel=0.01)


def test_the_dose_of_a_copy_is_that_of_the_plan_times_its_label_everywhere() -> None:
    """Along the path, not only in sum: of every stretch as long as the spot."""
    matrix = made("grbl")
    run = executed(matrix.program, matrix.process)
    middle = (run.xyz[1:, :2] + run.xyz[:-1, :2]) / 2
    light = np.where(run.xyz[1:, 2] == matrix.focus[0], run.light * run.duration, 0.0)
    x, y = np.moveaxis(np.mgrid[0.1:2:0.2, 0.1:2:0.2], 0, -1).reshape(-1, 2).T
    spots = []
    for corner in matrix.corners[0]:  # as a spot of 0.2 mm sees it: a dot may lie on any border of cells
        u, v = (middle - corner).T[..., None] - np.stack([x, y])[:, None]
        spots.append(light @ np.exp2(-4 * (u**2 + v**2) / 0.2**2))
    low, plain, high = spots
    full = plain > 0.3 * plain.max()
    assert full.sum() > 20
    for energy, dose in ((low, DOSES[0]), (high, DOSES[2])):
        assert energy[full] / plain[full] == pytest.approx(dose, rel=0.06)


@pytest.mark.parametrize("name", one_fast(MACHINES, "grbl", "klipper"))
def test_it_is_dark_where_it_moves_in_z_and_the_rows_have_their_focus(name: str) -> None:
    matrix, machine = made(name), MACHINES[name]
    moves = gcode.parse(matrix.program, gcode.dialect(name), machine.s_max)
    assert not moves.on[(np.diff(moves.z) != 0) | moves.rapid].any()
    assert moves.z[-1] == 0, "it ends where it began"
    for corners, z in zip(matrix.corners, FOCUS, strict=True):
        low, high = corners[0] - 0.05, corners[-1] + np.array(BRACKET.size) + 0.05
        here = ((moves.xy[1:] > low) & (moves.xy[1:] < high)).all(axis=1) & moves.on
        assert here.sum() > 50
        assert set(np.round(moves.z[1:][here], 6)) == {z}
    found = gcode.check(matrix.program, gcode.dialect(name), convert.envelope(machine, gcode.dialect(name)))
    assert [one for one in found if one.severity == "error"] == []


def test_it_lies_on_the_machine_and_its_copies_are_apart() -> None:
    matrix = made("grbl")
    x0, y0, x1, y1 = matrix.whole.bounds
    assert 0 <= x0 < x1 <= matrix.size[0] and 0 <= y0 < y1 <= matrix.size[1]
    assert len(matrix.whole.area.geoms) == 6 and matrix.whole.area.is_valid
    assert matrix.whole.area.area == pytest.approx(6 * BRACKET.area.area)
    xy = gcode.parse(matrix.program, gcode.dialect("grbl")).xy
    assert xy.min() >= 0 and (xy.max(axis=0) <= np.array(matrix.size) + 1e-3).all()


@pytest.mark.slow
def test_the_sheet_gives_back_spot_and_resin() -> None:
    """Filled in with the widths that the process predicts, as `laserpath fit` reads it."""
    matrix = laserpath.plan_matrix(BRACKET, Process(), QUICK, doses=(0.8, 0.9, 1, 1.1, 1.2))
    sheet = matrix.sheet()
    assert (
        "# A3: dose 1, its lower left corner at" in sheet and "times the one planned with, 20 mJ/cm2" in sheet
    )
    lines = sheet.splitlines()
    names = next(line for line in lines if line.startswith("id,")).split(",")
    sizes = planned_sizes(matrix.items[0], matrix.process)
    for k, line in enumerate(lines):
        cells = line.split(",")
        if cells[0] in sizes:
            cells[names.index("width_um")] = f"{1000 * sizes[cells[0]]:.4f}"
            lines[k] = ",".join(cells)
    measured = calibration.read_sheet("\n".join(lines))
    assert len(measured.rows) == 15
    fit = calibration.fit(measured, calibration.Options())
    assert fit["fwhm"].value == pytest.approx(matrix.process.spot.fwhm, rel=0.01)
    assert fit["critical_dose"].value == pytest.approx(matrix.process.resin.critical_dose, rel=0.01)


def test_the_lines_have_the_energies_of_the_sheet() -> None:
    matrix = made("grbl")
    run = executed(matrix.program, matrix.process)
    light = run.light * run.duration * matrix.process.machine.power_max
    middle = (run.xyz[1:] + run.xyz[:-1]) / 2
    for row, z in zip(matrix.items, FOCUS, strict=True):
        for item in row:
            near = (np.abs(middle[:, 0] - item.x) < item.length / 2 + 0.05) & (
                np.abs(middle[:, 1] - item.y) < 0.05
            )
            here = near & (np.abs(middle[:, 2] - z) < 1e-6)
            assert light[here].sum() == pytest.approx(item.line_energy * item.length, rel=0.01), item.id


def test_a_sheet_for_each_focus(tmp_path: Path) -> None:
    written = made("grbl").write(tmp_path)
    ends = [".gcode", ".svg", "-A.csv", "-B.csv"]
    assert [path.name for path in written] == [f"bracket.matrix{end}" for end in ends]
    for path, z in zip(written[2:], FOCUS, strict=True):
        text = path.read_text()
        assert f", focus {z:g} mm" in text.splitlines()[0]
        assert len(calibration.read_sheet(text).rows) == 9


@pytest.mark.slow
def test_a_positive_resist_exposes_the_rest_of_its_page() -> None:
    process = Process(resin=Resin(critical_dose=0.2, tone="positive"))
    matrix = laserpath.plan_matrix(replace(BRACKET, page=(-1, -1, 3, 3)), process, QUICK, doses=(1, 1.2))
    assert matrix.whole.area.area == pytest.approx(2 * (16 - BRACKET.area.area))
    x0, y0, _, _ = matrix.whole.bounds
    assert (x0, y0) == pytest.approx(matrix.corners[0, 0])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"doses": ()}, "there are 0 doses, but must be 1 to 12"),
        ({"doses": (1, 1.0001)}, "two doses are equal in three digits"),
        ({"doses": (0, 1)}, "dose 0 must be between 0.05 and 20 times the plan's"),
        ({"doses": (1, float("nan"))}, "dose nan must be between"),
        ({"doses": ("high",)}, "dose is ('high',), but must be numbers"),
        ({"doses": 1.0}, "dose is 1.0, but must be a list of numbers, even of a single one: [1.0]"),
        ({"doses": (1, [2, 3])}, "dose is (1, [2, 3]), but must be a list of numbers"),
        ({"focus": 0.1}, "focus is 0.1, but must be a list of numbers"),
        ({"focus": (0, 41)}, "focus 41 mm is outside the -1 to 40 mm in which machine"),
        ({"focus": (0.1, 0.1001)}, "two focus positions are equal within 1 um"),
        ({"machine": Machine(), "focus": (-0.1, 0.1)}, "focus needs a Z, and machine 'generic 405 nm GRBL"),
        ({"machine": Machine(z_travel=(1, 9)), "focus": (2, 3)}, "focus 0 mm is outside the 1 to 9 mm"),
        ({"machine": Machine(size=(12, 12))}, "the matrix is "),
        (
            {"machine": Machine(power_levels=40, power_max=3), "doses": (1, 20)},
            "dose 20 leaves the plan 1 of the 40 power levels of machine",
        ),
        ({"machine": Machine(power_levels=24, power_max=8), "doses": (0.4, 1)}, "dose 0.4 would be 0.2"),
        (
            {"machine": Machine(power_levels=12, power_max=4), "doses": (0.35, 1)},
            "dose 0.35 needs a line of 0.615 mW at 51.2 mm/s",
        ),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, object], sentence: str) -> None:
    machine = given.pop("machine", MACHINES["grbl"])
    with pytest.raises(InputError) as error:
        laserpath.plan_matrix(BRACKET, Process(machine=machine), QUICK, **{"doses": DOSES, **given})  # type: ignore[arg-type]
    assert str(error.value).startswith(sentence)
    assert str(error.value).count(". ") == 0

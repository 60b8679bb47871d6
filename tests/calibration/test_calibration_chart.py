"""The chart: the machine can execute it, every item is written with the power and the speed that its row
says."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gcode
from laserpath import InputError, Machine, Process, Resin, Spot, calibration
from laserpath.calibration import Chart, Item
from laserpath.calibration.layout import LETTERS, strokes
from laserpath.config import profiles
from laserpath.machine import convert
from laserpath.physics.optics import BeamTable
from laserpath.physics.resin import line_energy

MACHINES = profiles.names("machine")


def chart_for(name: str) -> Chart:
    """Of at least 10 mW: the stage's own 50 µW is for spots of micrometres, and this spot has 100 µm."""
    machine = profiles.machine(name)
    return calibration.chart(Process(machine=replace(machine, power_max=max(machine.power_max, 10.0))))


def read(chart: Chart) -> gcode.Program:
    machine = chart.process.machine
    return gcode.read(
        chart.program, gcode.dialect(machine.dialect), machine.s_max, rapid_speed=min(machine.rapid_speed)
    )


def matrix_of(chart: Chart) -> list[Item]:
    """The lines along x above the row along y."""
    upright = next(i for i in chart.items if i.along == "y")
    return [i for i in chart.items if i.kind == "line" and i.along == "x" and i.id[0] < upright.id[0]]


@pytest.mark.parametrize("name", MACHINES)
def test_nothing_is_wrong_with_the_program(name: str) -> None:
    assert chart_for(name).findings() == ()


@pytest.mark.parametrize("name", MACHINES)
def test_all_of_every_item_is_written_with_its_power_at_its_speed(name: str) -> None:
    """As the controller executes it: the head start is long enough."""
    chart = chart_for(name)
    machine = chart.process.machine
    program = read(chart)
    run = gcode.motion.execute(
        program.moves, convert.controller(machine), characters=program.characters,
        power_levels=machine.power_levels, light=machine.light, longest=0.05,
    )  # fmt: skip
    middle = (run.xyz[:-1, :2] + run.xyz[1:, :2]) / 2
    length = np.hypot(*np.diff(run.xyz[:, :2], axis=0).T)
    lit = (run.power > 0) & (run.duration > 0) & (length > 1e-6)
    for item in chart.items:
        if item.kind != "line":
            continue
        along, across = (0, 1) if item.along == "x" else (1, 0)
        place = np.array([item.x, item.y])
        near = np.abs(middle - place)
        mine = lit & (near[:, across] < 0.01) & (near[:, along] < item.length / 2)
        assert length[mine].sum() == pytest.approx(item.length, rel=1e-3), item.id
        energy = (run.light * run.duration)[mine].sum() * machine.power_max
        assert energy == pytest.approx(item.line_energy * item.length, rel=0.01), item.id
        # The time over the middle half, where it is measured.
        core = mine & (near[:, along] < item.length / 4)
        assert length[core].sum() / run.duration[core].sum() == pytest.approx(item.speed, rel=0.01), item.id


def test_powers_are_on_levels_and_diagonals_have_one_line_energy() -> None:
    chart = calibration.chart()
    diagonals: dict[int, list[Item]] = defaultdict(list)
    for item in matrix_of(chart):
        assert item.level is not None
        assert item.power == pytest.approx(10 * (item.level + 1) / 256), "its light on an ATmega"
        diagonals[LETTERS.index(item.id[0]) + int(item.id[1:])].append(item)
    assert len(diagonals) == 13
    for items in diagonals.values():
        energies = [item.line_energy for item in items]
        np.testing.assert_allclose(energies, energies[0], rtol=5e-3)
        if len(items) > 1:
            assert max(i.speed for i in items) / min(i.speed for i in items) > 1.5


def test_lines_and_dots_between_the_diagonals_take_less_than_a_minute() -> None:
    """With them, energies of lines and of dots rise by √2, not 2, and the shape of the spot shows."""
    chart = calibration.chart()
    upright = next(i for i in chart.items if i.along == "y")
    more = [i for i in chart.items if i.kind == "line" and i.id[0] > upright.id[0] and i.level]
    level = {i.line_energy for i in more if i.id[0] == more[0].id[0]}
    assert np.ptp(np.log(list(level))) < 0.01, "the row of levels comes first"
    between = [i.line_energy for i in more if i.id[0] != more[0].id[0]]
    diagonals = sorted(i.line_energy for i in matrix_of(chart))
    np.testing.assert_allclose(np.diff(np.log(between)), np.log(2), rtol=0.03)
    for energy in between:
        nearest = min(abs(np.log(energy / other)) for other in diagonals)
        assert nearest == pytest.approx(np.log(2) / 2, rel=0.05)
    assert len(between) == 12
    rows = defaultdict(list)
    for item in chart.items:
        rows[item.id[0]].append(item)
    dots = [[i.line_energy for i in row] for row in rows.values() if row[0].kind == "dot"]
    assert len(dots) == 3
    np.testing.assert_allclose(np.log(np.array(dots[2]) / dots[0][:-1]), np.log(2) / 2, rtol=0.06)
    assert chart.write_time < 177 + 60


def test_the_wide_chart_spans_two_decades_around_the_threshold() -> None:
    """The literature has 70 times between laboratories: 8 up, 8 down, and room to see the threshold in
    both."""
    chart = calibration.chart()
    low, high = chart.energies
    threshold = chart.process.resin.critical_dose * chart.process.spot.fwhm / 0.8734
    assert low < threshold / 10
    assert high > 200 * threshold


def test_a_chart_around_a_dose_is_narrow_and_fine() -> None:
    wide, fine = calibration.chart(), calibration.chart(around=0.35)
    assert fine.energies[1] / fine.energies[0] < wide.energies[1] / wide.energies[0] / 50
    middle = 0.35 * 0.1 / 0.8734
    assert fine.energies[0] < middle < fine.energies[1]


def test_line_energies_from_and_to() -> None:
    low, high = calibration.chart(energies=(0.01, 1.0)).energies
    assert low == pytest.approx(0.01, rel=0.2)
    assert high == pytest.approx(1.0, rel=0.2)


@pytest.mark.parametrize("powers", [2, 12])
@pytest.mark.parametrize("speeds", [2, 12])
def test_any_number_of_rows_and_columns(powers: int, speeds: int) -> None:
    chart = calibration.chart(powers=powers, speeds=speeds)
    assert chart.findings() == ()
    assert len(matrix_of(chart)) <= powers * speeds
    assert len({item.id for item in chart.items}) == len(chart.items)


def test_a_direct_laser_writer_of_two_photons() -> None:
    """Micrometres, slow, and the dose as the square of the power."""
    machine = Machine(size=(2.0, 2.0), speed_max=(2.0, 2.0), rapid_speed=(5.0, 5.0), power_max=50.0)
    resin = (
        profiles.resin("two-photon-resist")
        if "two-photon-resist" in profiles.names("resin")
        else Resin(critical_dose=2e11, order=2)
    )
    process = Process(Spot(0.0005, "gaussian"), resin, machine)
    chart = calibration.chart(process)
    assert chart.findings() == ()
    energies = line_energy([i.power for i in chart.items], [i.speed for i in chart.items], process.spot)
    assert np.ptp(np.log(energies)) > np.log(100)
    assert max(chart.size) < 2


def test_motor_steps_and_a_lag_are_reckoned_with() -> None:
    coarse = replace(Machine(), steps=(80.0, 80.0))
    chart = calibration.chart(Process(machine=coarse))
    assert min(i.length for i in chart.items if i.kind == "dot") >= 2 / 80
    late = replace(
        Machine(rapid_speed=(50.0, 50.0)),
        acceleration=(1e6, 1e6),
        lag=1e-4,
        laser_on_delay=1e-4,
        laser_off_delay=5e-5,
    )
    chart = calibration.chart(Process(machine=late))
    dialect = gcode.dialect(late.dialect)
    assert gcode.examine(chart.program, dialect, convert.envelope(late, dialect)).errors == 0


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        ({"powers": 1}, "powers is 1, but must be between 2 and 12"),
        ({"speeds": 13}, "speeds is 13"),
        ({"energies": (1.0, 0.1)}, "from 1 to 0.1 mJ/mm are not a range"),
        ({"energies": (1e-9, 1e-8)}, "even the weakest line"),
        ({"around": 0.2, "energies": (0.1, 1.0)}, "give one of them"),
        ({"energies": (1e-2, 1e7)}, "feed's digits can still tell"),
    ],
)
def test_a_bad_request_is_refused_with_a_sentence(requested: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        calibration.chart(**requested)  # type: ignore[arg-type]


def test_a_machine_that_is_too_small_is_named() -> None:
    with pytest.raises(InputError, match="above the 10 mm of machine"):
        calibration.chart(Process(machine=replace(Machine(), size=(10.0, 10.0))))


def test_a_machine_that_is_too_strong_says_how_far_it_comes() -> None:
    chart = calibration.chart(Process(machine=replace(Machine(), power_max=500.0)))
    assert any("the weakest line has" in note for note in chart.notes)
    assert chart.findings() == ()


def test_a_spot_of_any_shape_has_a_chart() -> None:
    table = BeamTable(np.linspace(0, 0.2, 41), np.exp(-((np.linspace(0, 0.2, 41) / 0.06) ** 2)))
    for spot in (
        Spot(0.1, "measured", measured=table),
        Spot(0.08, "gaussian", aspect=2.0),
        Spot(0.1, "airy-function"),
    ):
        assert calibration.chart(Process(spot)).findings() == ()


def test_files_are_written_together(tmp_path: Path) -> None:
    written = calibration.chart().write(tmp_path, name="mine")
    assert sorted(path.name for path in written) == ["mine.csv", "mine.gcode", "mine.svg"]


def test_the_drawing_shows_every_item_where_it_is() -> None:
    chart = calibration.chart()
    root = ET.parse(io.StringIO(chart.svg())).getroot()
    ids = {
        e.attrib["id"]: e.attrib["d"]
        for e in root.iter("{http://www.w3.org/2000/svg}path")
        if "id" in e.attrib
    }
    for item in chart.items:
        points = np.array([p.split(",") for p in ids[item.id][1:].split()], dtype=float)
        if item.kind == "line":
            x, y = points.mean(axis=0)
            assert (x, chart.size[1] - y) == pytest.approx((item.x, item.y), abs=1e-3)
    assert "mW" in chart.svg()


def test_the_lines_along_y_and_the_levels_have_heads_of_their_own() -> None:
    chart = calibration.chart()
    upright = [item for item in chart.items if item.along == "y"]
    row = chr(ord(upright[0].id[0]) + 1)
    for item in upright:
        assert f">{item.speed:.3g} mm/s<" in chart.svg()
    for item in (one for one in chart.items if one.id[0] == row):
        assert f">level {item.level}<" in chart.svg()


def test_all_letters_have_strokes_within_their_box() -> None:
    for letter in LETTERS + "0123456789":
        points = np.vstack(strokes(letter, 1.0, 2.0, 0.9))
        assert (points.min(axis=0) >= (1.0 - 1e-9, 2.0 - 1e-9)).all()
        assert (points.max(axis=0) <= (1.0 + 0.6 + 1e-9, 2.9 + 1e-9)).all()
    shapes = {tuple(map(tuple, np.vstack(strokes(x, 0, 0, 3.0)))) for x in LETTERS + "0123456789"}
    assert len(shapes) == len(LETTERS) + 10
    with pytest.raises(InputError, match="no strokes"):
        strokes("ä", 0, 0, 1)

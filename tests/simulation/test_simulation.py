"""Any tool's program, exposed: the dose is physics, a plan's figures come back, doubts are reported."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from builders import design, outlines_sampled
from hypothesis import given
from hypothesis import strategies as st
from sets import examples, one_fast
from shapes import NODING, differing_area

import gcode
import laserpath
from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.machine import convert
from laserpath.physics.dose import accurate_model
from laserpath.physics.dose.segments import to_points
from laserpath.physics.optics import profile
from laserpath.simulation import Choices, Simulation, simulate, simulator, source
from laserpath.simulation.result import another_power
from laserpath.types import Design, Machine, Process, Resin, Settings, Spot, Toolpath

FOREIGN = Path(__file__).parents[1] / "data" / "gcode" / "foreign"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOREIGN / "expected.json").read_text())
EXPOSED = [name for name, expected in EXPECTED.items() if expected.get("lit_length")]
REFUSED = {
    "vpype_gcode.gcode": "line 5.*no feed",
    "two_systems.nc": "line 5.*G55",
    "linuxcnc_oword.ngc": "line 4.*O word",
    "marlin_numbered_spoilt.gcode": "line 7.*checksum",
    "home_unknown.gcode": "line 6.*unknown place",
    "gcodetools.ngc": "exposes nothing as grbl: no line states a power",
}

FWHM, POWER = 0.1, 10.0
FINE = Settings(pixels_per_fwhm=20)
GAUSS = Process(spot=Spot(fwhm=FWHM, profile="gaussian"), machine=Machine(power_levels=65535))
AT_ONCE = Machine(
    dialect="generic",
    power_levels=65535,
    acceleration=(1e7, 1e7),
    baud=None,
    segment_rate=1e6,
    look_ahead=200,
    z_speed_max=1e3,
    z_acceleration=1e7,
)
"""A machine that is at its speed at once, so that the dose is power ÷ speed as written."""

PROMPT = replace(GAUSS, machine=AT_ONCE)
HEAD = "G21 G90 G17\nM4 S0\nG0 X1 Y1\n"
CROSS = design(shapely.box(1, 1, 2, 1.2), shapely.box(1.5, 1, 1.7, 2), name="cross")


def energy(simulation: Simulation) -> float:
    """∫ dose dA, mJ."""
    executed = simulation.executed
    return float(executed.dose.sum() * executed.grid.pixel_area)


# Physics


@pytest.mark.parametrize("s", one_fast([60, 200, 1000], 1000))
def test_the_width_of_a_straight_line_is_the_closed_form(s: int) -> None:
    """A Gaussian line of energy q: D(y) = q √(4 ln 2/π)/F exp(−4 ln 2 y²/F²), and D(w/2) = D_c."""
    speed = 20.0
    found = simulate(f"{HEAD}G1 X5 F{60 * speed} S{s}\nM5\n", PROMPT, settings=FINE)
    q = POWER * s / 1000 / speed
    peak = q * math.sqrt(4 * math.log(2) / math.pi) / FWHM / GAUSS.resin.critical_dose
    width = FWHM * math.sqrt(math.log(peak) / math.log(2))
    assert found.executed.figures.dose_max == pytest.approx(peak, rel=5e-3)
    across = found.cured.intersection(shapely.LineString([(3, 0), (3, 2)]), grid_size=NODING)
    assert across.length == pytest.approx(width, rel=3e-3)


def test_the_dose_is_the_plain_sum_of_the_spots() -> None:
    """Worked out from the text by hand, with none of the readers, grids and engines of the simulation."""
    text = f"{HEAD}G1 X1.6 Y1.3 F1200 S300\nG1 X1.2 F600 S150\nM5\n"
    found = simulate(text, Process(machine=AT_ONCE)).executed
    xy = np.array([[1, 1], [1.6, 1.3], [1.2, 1.3]])
    points = to_points(xy, np.array([3.0 / 20, 1.5 / 10]), FWHM, 1e-5)
    x, y = np.meshgrid(found.grid.x(), found.grid.y())
    plain = sum(
        e * profile(Spot(), x - at[0], y - at[1]) for at, e in zip(points.xy, points.energy, strict=True)
    )
    np.testing.assert_allclose(found.dose, plain, atol=1e-4 * plain.max())


def test_constant_power_burns_where_the_head_brakes_and_dynamic_power_does_not() -> None:
    """The same way under M3 and M4, as GRBL executes it, against power ÷ speed as written."""
    way = "G0 X1 Y1\nG1 X3 F3000 S20\nG1 Y3\nG1 X1\nG1 Y1\nM5\n"
    arms = [f"G21 G90 G17\n{arm} S0\n{way}" for arm in ("M3", "M4")]
    written = simulate(arms[1], PROMPT)
    constant, dynamic = (simulate(text, GAUSS) for text in arms)
    assert constant.executed.figures.dose_max > 2 * written.executed.figures.dose_max
    assert dynamic.executed.figures.dose_max < 1.6 * written.executed.figures.dose_max
    assert energy(constant) > 1.2 * energy(dynamic)


def test_inches_and_relative_moves_are_the_same_light() -> None:
    plain = simulate(f"{HEAD}G1 X3.54 F1200 S100\nG1 Y2.524\nM5\n")  # whole steps
    other = simulate(
        "G20 G91 G17\nM4 S0\nG0 X0.0393700787 Y0.0393700787\nG1 X.1 F47.2440945 S100\nG1 Y.06\nM5\n"
    )
    assert other.executed.figures.cured == pytest.approx(plain.executed.figures.cured, rel=1e-4)
    assert other.executed.motion.write_time == pytest.approx(plain.executed.motion.write_time, rel=1e-3)


def test_a_dwell_and_a_plunge_light_a_point_for_as_long_as_they_take() -> None:
    dwell = simulate("G21 G90 G17\nG0 X5 Y5\nM3 S200\nG1 X5.1 F600\nG4 P0.5\nG1 X5.2\nM5\n", PROMPT)
    bare = simulate("G21 G90 G17\nG0 X5 Y5\nM3 S200\nG1 X5.1 F600\nG1 X5.2\nM5\n", PROMPT)
    assert energy(dwell) - energy(bare) == pytest.approx(2.0 * 0.5, rel=1e-3)
    text = "G21 G90 G17\nG0 X5 Y5 Z3\nM3 S200\nG1 Z0 F60\nG1 X5.2 F600\nM5\n"
    prompt, plunge = (simulate(text, process, choices=Choices(height="all")) for process in (PROMPT, GAUSS))
    assert energy(prompt) == pytest.approx(2.0 * (3.0 + 0.2 / 10), rel=3e-3)
    assert energy(plunge) > energy(prompt), "it takes the time of its ramps too"


def test_a_climb_is_as_bright_in_the_plane_as_it_is_slow_there() -> None:
    """5 mm in space at 1 mm/s, 3 mm of them across: the same energy in 3 mm."""
    ramp = simulate("G21 G90 G17\nG0 X1 Y1 Z0\nM3 S10\nG1 X4 Z4 F60\nM5\n", PROMPT)
    assert energy(ramp) == pytest.approx(0.1 * 5 / 1, rel=3e-3)
    line = simulate("G21 G90 G17\nG0 X1 Y1\nM3 S10\nG1 X4 F36\nM5\n", PROMPT)
    np.testing.assert_allclose(ramp.executed.dose, line.executed.dose, atol=0.03 * line.executed.dose.max())


def test_the_cured_outline_has_the_reported_area() -> None:
    for s in (60, 100, 900):
        found = simulate(f"{HEAD}G1 X4 F1200 S{s}\nG1 Y3\nM5\n")
        assert found.cured.area == pytest.approx(found.executed.figures.cured, rel=0.015)
        assert found.cured.is_valid


def test_over_dosed_is_what_gets_more_than_the_resin_s_limit() -> None:
    found = simulate(f"{HEAD}G1 X4 F1200 S200\nM5\n", PROMPT)
    limit, peak = PROMPT.resin.over_dose, found.executed.figures.dose_max
    assert peak > limit
    wide, narrow = (3 * FWHM * math.sqrt(math.log(peak / d) / math.log(2)) for d in (1, limit))
    # A line of 3 mm with round ends.
    assert found.executed.figures.cured == pytest.approx(wide, rel=0.05)
    assert found.executed.figures.over_dosed == pytest.approx(narrow, rel=0.05)
    assert any("more than the resin's limit of 3" in w for w in found.warnings)


# A plan's own figures


@pytest.mark.parametrize(
    ("machine", "passes"),
    [
        pytest.param("grbl-diode-405", 1, marks=pytest.mark.slow),
        ("grbl-diode-405", 3),
        ("klipper-diode-405", 1),
        pytest.param("marlin-diode-405", 1, marks=pytest.mark.slow),
    ],
)
def test_a_plan_s_program_has_the_plan_s_figures(machine: str, passes: int) -> None:
    process = replace(Process(), machine=profiles.machine(machine))
    options = Settings(iterations=5, quality="draft", initial="hatch", passes=passes, report="brief")
    plan = laserpath.plan(CROSS, process, options)
    found = simulate(plan.program, process, CROSS, options)
    assert found.executed.measured is not None
    theirs, ours = plan.report.executed.as_dict(), found.executed.measured.as_dict()
    assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    assert found.epe_p95 == pytest.approx(plan.report.epe_p95)


def test_the_design_is_placed_as_a_plan_places_it() -> None:
    away = replace(CROSS, page=(-3.0, -4.0, 10.0, 10.0))
    options = Settings(
        iterations=0, quality="draft", initial="contour", origin="page", offset=(0.5, 0.25), report="brief"
    )
    plan = laserpath.plan(away, settings=options)
    found = simulate(plan.program, design=away, settings=options)
    assert found.design is not None
    assert found.design.bounds == pytest.approx((4.5, 5.25, 5.5, 6.25))
    assert found.executed.measured is not None
    assert found.executed.measured.figures.iou == pytest.approx(plan.report.executed.figures.iou)


# Other tools


@pytest.mark.parametrize("name", EXPOSED)
def test_a_program_of_another_tool_is_exposed(name: str) -> None:
    """With a wide spot, which needs few pixels: the lit moves are those of the file."""
    expected = EXPECTED[name]
    process = Process(spot=Spot(fwhm=1.0))
    found = simulate(FOREIGN / name, process, choices=Choices(expected["dialect"], expected["s_max"], "all"))
    executed = found.executed
    assert executed.motion.write_length == pytest.approx(expected["lit_length"], rel=2e-3)
    assert executed.figures.dose_max > 0
    x0, y0, x1, y1 = expected["box"]
    x, y = executed.figures.brightest
    assert x0 - 1 < x < x1 + 1
    assert y0 - 1 < y < y1 + 1
    assert found.executed.motion.write_time >= 0.99 * found.executed.motion.ideal_time


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_can_know_is_refused_with_its_line(name: str) -> None:
    with pytest.raises(InputError, match=REFUSED[name]):
        simulate(FOREIGN / name, choices=Choices(EXPECTED[name]["dialect"]))


@pytest.mark.parametrize(
    ("name", "dialect", "remark"),
    [
        ("mrbeam_compressor.gco", "grbl", "M100 is skipped"),
        ("klipper_macro.gcode", "klipper", "START_PRINT is skipped"),
    ],
)
def test_a_command_that_no_move_depends_on_is_passed_over_and_reported(
    name: str, dialect: str, remark: str
) -> None:
    found = simulate(FOREIGN / name, Process(spot=Spot(fwhm=1.0)), choices=Choices(dialect))
    assert any(remark in warning for warning in found.warnings)
    assert found.executed.figures.dose_max > 0


def test_full_power_that_the_file_sets_itself_is_taken_and_reported() -> None:
    body = "G21 G90 G17\nM4 S0\nG0 X1 Y1\nG1 X3 F1200 S{}\nM5\n"
    with_setting = simulate("$30=80\n" + body.format(8))
    assert any("line 1: $30 makes S80 full power" in w for w in with_setting.warnings)
    np.testing.assert_allclose(with_setting.executed.dose, simulate(body.format(100)).executed.dose)
    by_hand = simulate(body.format(8), choices=Choices(s_max=80.0))
    np.testing.assert_allclose(with_setting.executed.dose, by_hand.executed.dose)


def test_a_power_above_full_is_exposed_as_full_power_and_reported() -> None:
    body = f"{HEAD}G1 X3 F3000 S{{}}\nG1 Y3 S250\nM5\n"
    over, full = (simulate(body.format(s)) for s in (4000, 1000))
    np.testing.assert_allclose(over.executed.dose, full.executed.dose, rtol=1e-6, atol=1e-9)
    assert any("S4000 is above the machine's full power" in w and "--s-max 4000" in w for w in over.warnings)


def test_what_a_check_finds_comes_as_warnings_errors_first() -> None:
    found = simulate(f"{HEAD}G1 X3 F9000 S50\nG1 X-2\n")
    lines = [w for w in found.warnings if w.startswith("line")]
    assert "F9000 is above the machine's" in lines[0]
    assert "X -2 mm is below 0 mm" in lines[1]
    assert any("M5 is missing" in w for w in lines[2:])


def test_idle_words_are_reported_in_one_sentence() -> None:
    found = simulate(FOREIGN / "slicer.gcode", Process(spot=Spot(fwhm=1.0)), choices=Choices("marlin"))
    (idle,) = [w for w in found.warnings if "neither moves nor lights" in w]
    assert all(word in idle for word in ("M73", "M201", "M862.3", "T0", "E"))


def test_dark_under_this_dialect_says_under_which_it_would_shine() -> None:
    klipper = (FOREIGN / "klipper_setpin.gcode").read_text()
    with pytest.raises(InputError, match=r"as klipper it .*--dialect klipper"):
        simulate(klipper)
    marlin = "G21\nG90\nM3 I S0\nG0 X1 Y1\nG1 X5 F600 S100\nM5 I\n"
    assert simulate(marlin, choices=Choices("marlin")).executed.figures.dose_max > 0
    with pytest.raises(InputError, match=r"nothing as klipper: S is ignored.*; as grbl .*--dialect grbl"):
        simulate("G21\nG90\nM3 S0\nG0 X1 Y1\nG1 X5 F600 S100\nM5\n", choices=Choices("klipper"))


# Heights

LAYERS = "G21 G90 G17\nM4 S0\nG0 X1 Y1 Z0.1\nG1 X3 F1200 S100\n{}G0 Z0.3 X1 Y2\nG1 X3 S60\nM5\n"
FULL = LAYERS.format("G0 Z0.2\nG1 Y2 S50\n")


def test_of_several_heights_the_first_is_taken_and_reported() -> None:
    found = simulate(FULL, PROMPT)
    alone = simulate("G21 G90 G17\nM4 S0\nG0 X1 Y1\nG1 X3 F1200 S100\nM5\n", PROMPT)
    assert energy(found) == pytest.approx(energy(alone), rel=1e-5)
    assert any("3 heights, Z 0.1, 0.2, 0.3 mm" in w and "the one at Z 0.1" in w for w in found.warnings)


def test_all_heights_add_up() -> None:
    parts = [simulate(FULL, GAUSS, choices=Choices(height=z)) for z in (0.1, 0.2, 0.3)]
    whole = simulate(FULL, GAUSS, choices=Choices(height="all"))
    assert energy(whole) == pytest.approx(sum(energy(p) for p in parts), rel=2e-3)
    assert {p.executed.motion.write_time for p in parts} == {whole.executed.motion.write_time}
    with pytest.raises(InputError, match=r"nothing is exposed at Z 0.25 mm; .* Z 0.1, 0.2, 0.3 mm"):
        simulate(FULL, choices=Choices(height=0.25))


# Where the design lies


def hatch(x0: float = 0.0, y0: float = 0.0, s: float = 50) -> str:
    """Lines over the cross, 0.08 mm apart, and its work zero somewhere else."""
    inner = CROSS.area.buffer(-0.03)
    lines = []
    for y in np.arange(1.0, 2.0, 0.08) + 0.03:
        cut = inner.intersection(shapely.LineString([(0, y), (3, y)]), grid_size=NODING)
        for piece in shapely.get_parts(cut):
            if piece.is_empty or piece.length < 1e-6:
                continue
            (a, _), (b, _) = piece.coords
            lines.append(f"G0 X{a + x0:.4f} Y{y + y0:.4f}\nG1 X{b + x0:.4f} F1200 S{s}\n")
    return f"G21 G90 G17\nM4 S0\n{''.join(lines)}M5\n"


@examples(10)
@given(x=st.floats(0, 50), y=st.floats(0, 50), s=st.sampled_from([25, 50, 150, 600]))
def test_a_shifted_program_is_laid_on_its_design(x: float, y: float, s: int) -> None:
    """However strong or weak its light is."""
    home = simulate(hatch(s=s), design=CROSS, choices=Choices(align=True)).shift
    away = simulate(hatch(x, y, s), design=CROSS, choices=Choices(align=True))
    step = 1 / 250  # every place of both is off by up to half of it, besides what alignment is off
    assert away.shift == pytest.approx((home[0] - x, home[1] - y), abs=step + 2e-3)
    assert math.hypot(*home) < 0.4 * FWHM  # the hatch is not even about the middle of the cross
    assert any("was moved by" in w for w in away.warnings)


def test_aligning_changes_the_place_and_nothing_else() -> None:
    # Without motor steps, as coordinates half-way between two go to either with the last bit.
    fine = Process(machine=Machine(steps=None))
    apart = simulate(hatch(3, 5), fine, CROSS)
    joined = simulate(hatch(3, 5), fine, CROSS, choices=Choices(align=True))
    home = simulate(hatch(), fine, CROSS, choices=Choices(align=True))
    assert apart.executed.measured and joined.executed.measured and home.executed.measured
    assert apart.executed.measured.figures.iou == 0
    assert any("would have to move by (-3.0" in w and "--align" in w for w in apart.warnings)
    assert joined.executed.measured.figures.iou == pytest.approx(
        home.executed.measured.figures.iou, abs=0.02
    ), "the head comes to its first line from another direction"
    assert joined.executed.motion.write_time == apart.executed.motion.write_time
    assert joined.executed.motion.travel_length == pytest.approx(apart.executed.motion.travel_length)


def test_the_best_power_is_the_one_with_the_truest_edges() -> None:
    fine = Process(machine=Machine(power_levels=65535))
    found = simulate(hatch(s=20), fine, CROSS)
    assert found.best is not None
    tuned = simulate(hatch(s=20 * found.best.factor), fine, CROSS)
    assert tuned.executed.measured and found.executed.measured
    assert found.best.epe_mean < found.executed.measured.figures.epe_mean
    assert tuned.executed.measured.figures.epe_mean == pytest.approx(found.best.epe_mean, rel=0.1)


# Room


def test_what_cures_lies_on_the_grid_however_bright() -> None:
    found = simulate(f"{HEAD}G1 X1.5 F60 S1000\nM5\n")
    assert found.executed.figures.dose_max > 100
    x0, x1, y0, y1 = found.executed.grid.extent
    assert shapely.box(x0, y0, x1, y1).contains(found.cured)
    assert not any("beyond the area" in w for w in found.warnings)


def test_a_large_program_is_exposed_on_coarser_pixels_and_a_huge_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = Process(machine=Machine(size=(5000.0, 5000.0)))
    text = f"{HEAD}G1 X8 Y8 F3000 S200\nG1 Y1\nM5\n"
    fine = simulate(text, wide)
    monkeypatch.setattr(simulator, "PIXELS", fine.executed.dose.size // 4)
    coarse = simulate(text, wide)
    assert coarse.executed.grid.pitch == pytest.approx(2 * fine.executed.grid.pitch, rel=0.05)
    assert any("pixels across one" in w for w in coarse.warnings)
    assert coarse.executed.figures.cured == pytest.approx(fine.executed.figures.cured, rel=0.02)
    with pytest.raises(InputError, match=r"3999 × 3999 mm: 14 000 000 000 pixels"):
        simulate(f"{HEAD}G1 X4000 Y4000 F3000 S100\nM5\n", wide)


def test_a_point_and_a_level_line_have_room_too() -> None:
    point = simulate("G21 G90 G17\nG0 X5 Y5\nM3 S100\nG4 P0.1\nG1 X5.0001 F600\nM5\n", GAUSS, settings=FINE)
    # The peak of a Gaussian spot of energy E is E 4 ln 2/(π F²).
    e = energy(point)
    assert point.executed.dose.max() == pytest.approx(e * 4 * math.log(2) / (math.pi * FWHM**2), rel=0.02)


# Bad input


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        (b"G1\n\0\0", "not text: its byte 3 is 0"),
        ("G21 G90\nG0 X1\n", "exposes nothing as grbl"),
        (f"{HEAD}G1 X5 F600 S0\n", "exposes nothing as grbl: .*S is 0"),
        (f"{HEAD}G1 XNaN F600 S9\n", "line 4, column 4: X has no number"),
        (f"{HEAD}G1 X9999999999 F600 S9\n", "line 4"),
        (f"{HEAD}G1 X5 F600 S-1\n", "line 4.*power S-1"),
        ("<svg></svg>\n", "cannot be simulated: line 1"),
        (bytes(range(1, 256)) * 9, "cannot be simulated: line 1"),
        ("nothing-there.gcode", "cannot be read: No such file"),
    ],
)
def test_bad_input_is_one_sentence(text: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        simulate(text)
    assert "\n" not in str(caught.value)


def test_a_dose_that_cures_nothing_is_reported_first() -> None:
    found = simulate(f"{HEAD}G1 X4 F3000 S1\nM5\n")
    assert found.executed.figures.cured == 0
    assert found.cured.is_empty
    assert re.match(r"nothing cures: the largest dose .* times the dose", found.warnings[0])
    assert "M0,0" in found.drawing()


# What is written


def test_the_drawing_lies_on_the_design_s_page() -> None:
    """In mm, y down: its first ring, brought back, is the cured area."""
    sheet = replace(CROSS, page=(0.0, 0.0, 4.0, 3.0))
    found = simulate(hatch(), design=sheet)
    text = found.drawing()
    assert 'width="4.0000mm"' in text
    assert 'viewBox="0 0 4.0000 3.0000"' in text
    paths = re.findall(r' d="([^"]+)"', text)
    rings = [
        np.array([[float(v) for v in pair.split(",")] for pair in ring.split()])
        for ring in re.findall(r"M([^MZ]+)Z", paths[0])
    ]
    area = shapely.Polygon(rings[0] * (1, -1) + (0, 3.0))
    for ring in rings[1:]:
        area = area.symmetric_difference(shapely.Polygon(ring * (1, -1) + (0, 3.0)), grid_size=NODING)
    assert differing_area(area, found.cured) < 1e-3 * found.cured.area
    assert len(paths) == 2, "what cures, and the design"


def test_two_files_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Simulation, "page", lambda simulation: f"page of {simulation.name}")
    found = simulate(hatch(), design=CROSS, name="job.nc")
    assert sorted(p.name for p in found.write(tmp_path)) == ["job.cured.svg", "job.simulation.html"]
    assert (tmp_path / "job.simulation.html").read_text() == "page of job.nc"
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "job.cured.svg").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        found.write(tmp_path / "x")
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["job.cured.svg"]


def test_names_of_the_user_s_cannot_break_the_page() -> None:
    text = "; <script>alert(1)</script>\n" + hatch()
    found = simulate(text, name="a<b>&.nc")
    page = found.page()
    assert "<script>alert" not in page
    assert "a<b>" not in page
    assert not re.search(r'(src|href)="(?!data:|#)', page), "nothing is fetched"
    assert "a&lt;b&gt;&amp;.nc" in found.drawing()


def test_a_positive_resist_is_judged_by_what_is_cleared() -> None:
    resist = Process(resin=Resin(tone="positive"))
    page = Design(shapely.box(1.4, 1.4, 1.8, 1.8), page=(1.0, 1.0, 2.2, 2.2))
    lines = "".join(f"G0 X1 Y{y:.2f}\nG1 X2.2 F1200 S40\n" for y in np.arange(1, 2.2, 0.08))
    found = simulate(f"G21 G90 G17\nM4 S0\n{lines}M5\n", resist, page, Settings(offset=(1.0, 1.0)))
    assert found.design is not None
    assert found.design.area.area == pytest.approx(1.2**2 - 0.4**2)
    assert found.executed.measured is not None
    # All of the sheet is cleared, the square that should stay included.
    assert found.executed.measured.figures.overcure > 0.14


def test_for_a_program_that_lies_elsewhere_no_power_is_called_best() -> None:
    found = simulate(hatch(3, 5), design=CROSS)
    assert found.executed.measured is not None
    assert found.executed.measured.figures.iou == 0
    assert found.best is None or "Is it in the right place?" in another_power(found)


def test_the_executed_dose_is_judged() -> None:
    """Short lines at constant power: the head brakes all the way, so that 2.8 critical doses become 21."""
    process = Process(machine=Machine(dialect="klipper", baud=None))
    square = design(shapely.box(1, 1, 1.6, 1.6), name="square")
    rows = [
        np.array([[1.02, y], [1.58, y]])[:: 1 - 2 * (k % 2)]
        for k, y in enumerate(np.arange(1.03, 1.58, 0.06))
    ]
    xy = np.vstack([[0, 0], *rows])
    lit = np.r_[False, np.ones(len(xy) - 2, dtype=bool)]
    path = Toolpath(xy, np.where(lit, 1.75, 0.0), np.where(lit, 50.0, 100.0))
    moves, machine = convert.to_moves(path, process.machine), process.machine
    simulation = simulate(gcode.write(moves, convert.dialect_of(machine), machine.s_max, ()), process, square)
    written = accurate_model(simulation.executed.grid, process.spot).dose(simulation.toolpath).max()
    executed = simulation.executed.figures.dose_max
    assert written / process.resin.critical_dose < process.resin.over_dose < 20 < executed
    (dose,) = re.findall(r"The largest dose is ([\d.]+)\W× critical, above the resin", simulation.page())
    assert float(dose) == pytest.approx(executed, rel=0.01)


def test_a_simulation_samples_the_outline_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exposure, the best power, warnings and page share the samples."""
    widths = outlines_sampled(monkeypatch)
    simulation = simulate(f"{HEAD}G1 X2 S200 F600\nM5\n", GAUSS, CROSS)
    assert simulation.best is not None and simulation.page()
    assert widths == [FWHM]


def test_the_whole_head_is_shown_though_it_is_wrapped() -> None:
    said = ["laserpath 0.2.0: a design", "Settings: " + "initial auto, " * 150, *map(str, range(40))]
    moves = gcode.Moves.straight([[1, 1], [5, 1]], [0.5], [10], [False])
    text = gcode.write(moves, gcode.dialect("grbl"), header=said)
    head = source.read(text, Machine()).head
    assert [*head] == [line[2:] for line in text.splitlines() if line.startswith("; ")]
    assert len(head) > 65


def loaded(code: str, *modules: str) -> set[str]:
    """Which of some modules a new process has after some code."""
    code = f"import sys; {code}; print(*{set(modules)} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.slow
def test_a_program_is_simulated_without_what_calibrates() -> None:
    """It brings SciPy's statistics, whose import takes some 0.5 s; only a photograph of a print needs it."""
    assert loaded("import laserpath; laserpath.simulate", "laserpath.calibration") == set()
    assert loaded("import laserpath; laserpath.fit_photograph", "laserpath.calibration")


@pytest.mark.slow
def test_a_program_is_read_without_what_computes_doses() -> None:
    """It would take `laserpath frame` and `laserpath resume` some 1.5 s."""
    modules = ("taichi", "scipy.signal", "laserpath.measure")
    assert loaded("from laserpath.simulation import source; source.read", *modules) == set()
    assert loaded("import laserpath; laserpath.simulate", *modules) == set(modules)

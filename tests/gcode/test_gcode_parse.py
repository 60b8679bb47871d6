"""The parser is a controller: what it reads is what the machine would do."""

from __future__ import annotations

import contextlib
import dataclasses
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcode
from gcode import reading
from gcode.move import Kind
from gcode.reading.program import Program

GRBL, MARLIN, KLIPPER = (gcode.dialect(name) for name in ("grbl", "marlin", "klipper"))
LINUXCNC, SMOOTHIEWARE, GENERIC = (gcode.dialect(name) for name in ("linuxcnc", "smoothieware", "generic"))
RAPID, LINE, CLOCKWISE, COUNTERCLOCKWISE, DWELL = Kind


def parse(text: str, **options: object) -> gcode.Moves:
    return gcode.parse(text, GRBL, 1000.0, **options)  # type: ignore[arg-type]


def read(text: str, dialect: gcode.Dialect = GRBL, s_max: float | None = None, **options: object) -> Program:
    return gcode.read(text, dialect, s_max, **options)  # type: ignore[arg-type]


def messages(program: Program) -> str:
    return "\n".join(map(str, program.notes))


def test_modes_last_until_they_are_changed() -> None:
    m = parse("M4 S500\nG1 X1 Y0 F600\nX2\nS250 Y1\nF1200\nX3 G0\nG1X4")
    assert m.xy.tolist() == [[0, 0], [1, 0], [2, 0], [2, 1], [3, 1], [4, 1]]
    assert m.power.tolist() == [0.5, 0.5, 0.25, 0, 0.25]
    assert m.speed.tolist() == [10, 10, 10, 100, 20]
    assert m.kind.tolist() == [LINE, LINE, LINE, RAPID, LINE]
    assert m.dynamic.all()


def test_inches_and_increments() -> None:
    m = parse("G20 G91 G1 X1 F60\nX1 Y1\nG21 X-1 F60")
    np.testing.assert_allclose(m.xy, [[0, 0], [25.4, 0], [50.8, 25.4], [49.8, 25.4]])
    np.testing.assert_allclose(m.speed, [25.4, 25.4, 1])


def test_a_feed_keeps_its_speed_when_the_units_change() -> None:
    assert parse("G21 G1 X1 F60\nG20\nX2").speed.tolist() == [1, 1]


def test_g92_renames_the_place_and_moves_nothing() -> None:
    m = gcode.parse("G0 X10 Y5\nG92 X0 Y0\nG1 X1 F60\nG92.1\nX0 Y0", GENERIC)
    assert m.xy.tolist() == [[10, 5], [11, 5], [0, 0]]
    assert m.rapid.tolist() == [False, False]


def test_where_the_program_starts() -> None:
    assert parse("G0 X3 Y4\nG1 X5 F60").xy.tolist() == [[3, 4], [5, 4]]
    assert parse("G0 X3 Y4\nG1 X5 F60", start=(0, 0)).xy.tolist() == [[0, 0], [3, 4], [5, 4]]
    assert parse("G0 X3\nG1 Y1 F60").xy.tolist() == [[0, 0], [3, 0], [3, 1]], "Y was never stated: 0"
    assert parse("G1 X5 F60").xy.tolist() == [[0, 0], [5, 0]]
    assert not read("G1 X5 F60").start_stated
    assert read("G0 X3 Y4").start_stated


def test_the_height_at_the_start_is_stated_before_or_with_the_place() -> None:
    for text in ("G0 Z5\nG0 X3 Y4\nG1 X5 F60", "G0 X3 Y4 Z5\nG1 X5 F60"):
        assert parse(text).xyz.tolist() == [[3, 4, 5], [5, 4, 5]]
    m = parse("G0 X3 Y4\nG0 Z5\nG1 Z0 X6 F60")
    assert m.xyz.tolist() == [[3, 4, 0], [3, 4, 5], [6, 4, 0]]
    assert m.length[-1] == pytest.approx(np.hypot(3, 5))


def test_comments_numbers_and_percent_signs_move_nothing() -> None:
    m = parse("%\r\nN10 g1 (to (one) x1 f60 ; X9\nN20 (X8) y 2 ;(\n\n%")
    assert m.xy.tolist() == [[0, 0], [1, 0], [1, 2]]


def test_comments_are_kept_before_the_move_that_follows() -> None:
    m = parse("; top\nG0 X0 Y0\n(one) G1 X1 F60 ; it\nG1 X2 (; no (end)\n; last")
    assert m.comments == ((0, "top"), (0, "one"), (1, "it"), (1, "; no (end"), (2, "last"))


def test_standing_where_it_is_is_no_move_but_waiting_is() -> None:
    m = parse("G4 P1\nG1 X0 Y0 F60\nM0\nM8\nG0 X0")
    assert m.kind.tolist() == [DWELL] and m.dwell.tolist() == [1]


@pytest.mark.parametrize("text", ["{}\n{}\n{}\n", "{}\r\n{}\r\n{}\r\n", "{}\r{}\r{}\r", "\ufeff{}\n{}\r{}"])
def test_all_line_ends_are_line_ends(text: str) -> None:
    text = text.format("G0 X1 Y1", "G1 X2 F60", "G1 X3")
    program = read(text)
    assert program.moves.xy.tolist() == [[1, 1], [2, 1], [3, 1]]
    assert program.line.tolist() == [2, 3]
    of_moves = program.characters.sum()
    assert program.characters_before + of_moves + program.characters_after == len(text.encode())


def test_a_file_and_lines_are_read_as_the_text() -> None:
    text = "G0 X1 Y1\nG1 X2 F60\n\nG1 X3\n"
    for source in (
        io.StringIO(text),
        io.BytesIO(text.encode()),
        text.splitlines(keepends=True),
        text.encode(),
    ):
        program = gcode.read(source, GRBL)
        assert program.moves.xy.tolist() == [[1, 1], [2, 1], [3, 1]]
        assert program.line.tolist() == [2, 4]


def test_a_program_knows_lines_characters_and_what_was_stated() -> None:
    program = read("G21\nG90\nM4 S0\nG0 X1 Y1\nG1 X2 F60 S10\n; pause\nG1 X3\nM5\n")
    assert program.line.tolist() == [5, 7]
    assert program.characters.tolist() == [14, 14]
    assert program.characters_before == len("G21\nG90\nM4 S0\nG0 X1 Y1\n")
    assert program.characters_after == 3 and program.lines == 8
    assert program.units_stated and program.distance_stated and not program.plane_stated
    assert not program.armed_at_end and not program.ended
    late = read("G0 X1 Y1\nG21 G90 G17\nG1 X2 F60\nM30")
    assert not (late.units_stated or late.distance_stated or late.plane_stated) and late.ended
    lit = read("M3 S500\nG0 X0 Y0\nG1 X2 F60")
    assert lit.armed_at_end and lit.power_at_end == 0.5
    assert read("M4 S500\nG1 X2 F60").power_at_end == 0, "M4 is dark at standstill"
    assert read("M3 S500\nG1 X2 F60\nM2").power_at_end == 0


@pytest.mark.parametrize(
    ("text", "centre", "sweep"),
    [
        ("G3 X0 Y10 I-10 J0", (0, 0), np.pi / 2), ("G2 X0 Y10 I-10 J0", (0, 0), -3 * np.pi / 2),
        ("G3 X0 Y10 R10", (0, 0), np.pi / 2), ("G3 X0 Y10 R-10", (10, 10), 3 * np.pi / 2),
        ("G2 X0 Y10 R10", (10, 10), -np.pi / 2), ("G2 X0 Y10 R-10", (0, 0), -3 * np.pi / 2),
        ("G2 X-10 R10", (0, 0), -np.pi), ("G3 X10 I-10", (0, 0), 2 * np.pi),
        ("G2 X10 Y0 I-10", (0, 0), -2 * np.pi), ("G90.1 G3 X0 Y10 I0 J0", (0, 0), np.pi / 2),
        ("G91 G3 X-10 Y10 I-10", (0, 0), np.pi / 2),
    ],
)  # fmt: skip
def test_arcs_stay_arcs(text: str, centre: tuple[float, float], sweep: float) -> None:
    m = parse(f"G0 X10 Y0\nM4 S500 F600 {text}")
    assert m.kind.tolist() == [CLOCKWISE if sweep < 0 else COUNTERCLOCKWISE]
    np.testing.assert_allclose(m.centre, [centre], atol=1e-9)
    np.testing.assert_allclose(m.sweep, sweep)
    np.testing.assert_allclose(m.length, 10 * abs(sweep))
    assert (m.power == 0.5).all() and (m.speed == 10).all()


def test_an_arc_back_to_its_start_but_for_rounding_is_a_full_turn() -> None:
    m = parse("G91 F60 G1 X0.1\nX0.2\nX0.3\nG3 X0.1 Y0.1 J0.1\nG3 X-0.1 Y-0.1 I-0.1\nG90 G2 X0.6 Y0 I5")
    assert m.sweep[-1] == -2 * np.pi


def test_an_arc_needs_no_end_but_in_grbl() -> None:
    assert gcode.parse("G0 X0 Y0\nG2 I5 F60", LINUXCNC).sweep.tolist() == [-2 * np.pi]
    with pytest.raises(gcode.GcodeError, match="I5 comes without X or Y"):
        parse("G0 X0 Y0\nG2 I5 F60")


def test_helices_climb_evenly() -> None:
    m = parse("G0 X10 Y0\nG3 X10 Z3 I-10 F60")
    np.testing.assert_allclose(m.length, np.hypot(20 * np.pi, 3))


@given(st.floats(0.1, 100), st.floats(1, 1000))
def test_inverse_time_is_one_over_the_minutes_of_the_move(length: float, f: float) -> None:
    m = parse(f"G0 X0 Y0\nG93 G1 X{length:.4f} F{f:.4f}\nG3 X0 R{length:.4f} F{f:.4f}\nG94 G1 X1 F60")
    np.testing.assert_allclose(m.duration[:2], 60 / float(f"{f:.4f}"), rtol=1e-9)
    assert m.speed[2] == 1


def test_every_move_of_inverse_time_says_its_own() -> None:
    with pytest.raises(
        gcode.GcodeError, match=r"line 2, column 1: the move to X2 has no F of its own in G93"
    ):
        parse("G93 G1 X1 F10\nX2")
    with pytest.raises(gcode.GcodeError, match="the move to X2 has no feed F"):
        parse("G93 G1 X1 F10\nG94 X2")


# GRBL's laser


def test_the_laser_is_dark_before_m3_and_after_m5() -> None:
    m = parse("F60 S100\nG1 X1\nM3\nX2\nM5\nX3\nM4 X4\nM2")
    moving = ~m.still
    assert m.power[moving].tolist() == [0, 0.1, 0, 0.1]
    assert m.dynamic[moving].tolist() == [False, False, False, True]


def test_grbl_stops_where_the_laser_is_armed_or_disarmed_between_moves() -> None:
    """It waits for its moves at M3, M4 and M5; at the ends of a program the head rests anyway."""
    program = read("M3 S500\nG0 X0 Y0\nG1 X1 F60\nM5\nG1 X2\nM3\nG1 X3\nM3\nG1 X4\nM5\nM2")
    m = program.moves
    assert m.kind.tolist() == [LINE, DWELL, LINE, DWELL, LINE, LINE]
    assert m.power.tolist() == [0.5, 0, 0, 0.5, 0.5, 0.5], "M3 is lit at standstill"
    assert not m.dwell.any()
    assert program.line.tolist() == [3, 4, 5, 6, 7, 9]


def test_one_stop_is_enough() -> None:
    assert parse("M3 S9\nG1 X1 F60\nM5\nM4\nM5\nG4 P0\nM3\nG1 X2").kind.tolist() == [LINE, DWELL, LINE]
    m = parse("M3 S9\nG1 X1 F60\nM5\n; a\nG4 P0.5\n; b\nM3\nG1 X2")
    assert m.dwell.tolist() == [0, 0.5, 0]
    assert m.comments == ((1, "a"), (2, "b")), "the stop and the wait are one"


def test_grbl_stops_for_an_s_alone_and_for_coolant_but_not_for_s_on_a_move() -> None:
    assert parse("M4 S9\nG1 X1 F60\nS8\nG1 X2").kind.tolist() == [LINE, DWELL, LINE]
    assert parse("M4 S9\nG1 X1 F60\nS9\nG1 X2").kind.tolist() == [LINE, LINE]
    assert parse("M4 S9\nG1 X1 F60\nG1 X2 S8").kind.tolist() == [LINE, LINE]
    assert parse("M5 S9\nG1 X1 F60\nS8\nG1 X2").kind.tolist() == [LINE, LINE]
    assert parse("M4 S9\nG1 X1 F60\nM8\nG1 X2\nM8\nG1 X3").kind.tolist() == [LINE, DWELL, LINE, LINE]


@pytest.mark.parametrize(
    ("text", "power"),
    [
        ("M4 S500 G1 X1 F60\nG4 P1", 0), ("M3 S500 G1 X1 F60\nG4 P1", 0.5),
        ("M3 S500 G1 X1 F60\nG4 P1 S200", 0.2), ("M3 S500 G1 X1 F60\nM5\nG4 P1", 0),
        ("M3 S500 G1 X1 F60\nG0 X2\nG4 P1", 0), ("M3 S500 G1 X1 F60\nG0 X2\nG1\nG4 P1", 0.5),
        ("M3 S500 G1 X1 F60\nG80\nG4 P1", 0),
    ],
)  # fmt: skip
def test_what_grbl_shines_with_while_it_waits(text: str, power: float) -> None:
    m = parse(text)
    assert m.kind[-1] == DWELL and m.dwell[-1] == 1
    assert m.power[-1] == power


def test_m3_and_m4_change_over_at_a_stop() -> None:
    m = parse("M4 S9\nG1 X1 F60\nM3\nG1 X2")
    assert m.kind.tolist() == [LINE, DWELL, LINE]
    assert m.dynamic.tolist() == [True, False, False]


# The other controllers


def test_marlin_inline_power_is_zero_after_a_rapid() -> None:
    m = gcode.parse("M3 I S0\nG0 X0 Y0 F6000\nG1 X1 F600 S51\nG1 X2\nG0 X3\nG1 X4\nG1 X5 S255\nM5 I", MARLIN)
    assert m.kind.tolist() == [LINE, LINE, RAPID, LINE, LINE]
    np.testing.assert_allclose(m.power, [0.2, 0.2, 0, 0, 1])
    assert m.speed.tolist() == [10, 10, 10, 10, 10], "G0 is at the modal F"


def test_marlin_stays_lit_at_standstill() -> None:
    m = gcode.parse("M3 I S0\nG0 X0 Y0 F600\nG1 X1 S51\nG4 P250\nG4 S2\nG0 X2\nG4 P1", MARLIN)
    assert m.dwell.tolist() == [0, 0.25, 2, 0, 0.001]
    np.testing.assert_allclose(m.power, [0.2, 0.2, 0.2, 0, 0])


def test_marlin_without_inline_waits_for_its_moves_and_ignores_s_on_g1() -> None:
    program = read("G0 X0 Y0 F600\nG1 X1 S255\nM3 S51\nG1 X2 S255\nM5\nG1 X3", MARLIN)
    m = program.moves
    assert m.kind.tolist() == [LINE, DWELL, LINE, DWELL, LINE]
    np.testing.assert_allclose(m.power, [0, 0.2, 0.2, 0, 0])
    assert "line 2, column 7: S does nothing to marlin before M3 I (2 times)" in messages(program)


def test_marlin_changes_inline_power_between_moves_without_a_stop() -> None:
    m = gcode.parse("M3 I S0\nG0 X0 Y0 F600\nG1 X1 S51\nM3 S102\nG1 X2", MARLIN)
    assert m.kind.tolist() == [LINE, LINE]
    np.testing.assert_allclose(m.power, [0.2, 0.4])


def test_a_fan_of_marlin_is_a_laser_and_stays_lit_in_g0() -> None:
    program = read("G0 X0 Y0 F600\nM106 S51\nG1 X1\nG0 X2\nM107\nG0 X3\nM106\nG1 X4", MARLIN)
    m = program.moves
    assert m.kind.tolist() == [LINE, LINE, RAPID, LINE]
    np.testing.assert_allclose(m.power, [0.2, 0.2, 0, 1])
    assert program.lit_rapids.tolist() == [1]
    assert "M106 and M107 are the laser's" in messages(program)


def test_klipper_knows_its_pin_alone() -> None:
    text = "G21\nM3 S500\nG0 X0 Y0 F600\nset_pin pin=laser value=500\ng1 x1 s99\nG4 P100\nG0 X2\n"
    program = read(text + "SET_PIN PIN=fan VALUE=1\nSET_PIN VALUE=0 PIN=laser\nG1 X3\nM2\nG0 X4", KLIPPER)
    m = program.moves
    assert m.kind.tolist() == [LINE, DWELL, LINE, LINE, RAPID]
    assert m.power.tolist() == [0.5, 0.5, 0.5, 0, 0]
    assert m.speed[~m.still].tolist() == [10, 10, 10, 10]
    assert program.lit_rapids.tolist() == [2] and not program.ended
    for message in ("M3 is unknown to klipper", "S is not a power", "SET_PIN FAN", "M2 is unknown"):
        assert message in messages(program)


def test_linuxcnc_changes_the_power_with_the_motion_that_follows() -> None:
    text = "M3 S1\nG0 X0 Y0\nM67 E0 Q0.5\nG4 P1\nG1 X1 F60\nM67 E0 Q0\nG4 P1\nG0 X2\n"
    program = read(text + "M68 E0 Q1\nG4 P1\nM67 E1 Q1\n", LINUXCNC)
    m = program.moves
    assert m.kind.tolist() == [DWELL, LINE, DWELL, RAPID, DWELL]
    assert m.power.tolist() == [0, 0.5, 0.5, 0, 1]
    assert "M67 E1 is another output" in messages(program)


def test_linuxcnc_stays_lit_in_g0() -> None:
    program = read("G0 X0 Y0\nM67 E0 Q0.5\nG0 X1 Y1\n", LINUXCNC)
    assert program.moves.kind.tolist() == [LINE] and program.lit_rapids.tolist() == [0]
    assert program.moves.power.tolist() == [0.5] and program.moves.speed.tolist() == [100]


def test_smoothieware_scales_power_with_speed_and_needs_no_m3() -> None:
    m = gcode.parse("G0 X0 Y0\nG1 X1 F60 S0.5\nG4 P500\nG4 S1\nG0 X2", SMOOTHIEWARE)
    assert m.power.tolist() == [0.5, 0, 0, 0] and m.dynamic.all()
    assert m.dwell.tolist() == [0, 0.5, 1, 0]


def test_a_dialect_of_the_users_own_is_taken_at_its_word() -> None:
    own = dataclasses.replace(
        GENERIC, name="own", power="M106 P1 S{power}", power_line=True, power_max=255.0, dark_rapids=False,
        laser_on=("LASER_ON",), laser_off=("M107 P1",), header=("G21", "G90", "M851 X5"), dwell="PAUSE {ms}",
    )  # fmt: skip
    text = "G21\nG90\nM851 X5\nG0 X0 Y0\nLASER_ON\nM106 P1 S51\nG1 X1 F60\nPAUSE 250\nM106 S9\nM107 P1\nG1 X2"
    m = gcode.parse(text, own)
    np.testing.assert_allclose(m.power, [0.2, 0.2, 0])
    assert m.dwell.tolist() == [0, 0.25, 0]
    with pytest.raises(gcode.GcodeError, match="M851 is unknown"):
        gcode.parse("M851 X6", own)


def test_lines_that_arm_by_other_words_than_m3() -> None:
    own = dataclasses.replace(GENERIC, name="own", laser_on=("M64 P0",), laser_off=("M65 P0",))
    m = gcode.parse("M65 P0\nG0 X0 Y0\nG1 X1 F60 S500\nM64 P0\nG1 X2\nM65 P0\nG1 X3", own)
    assert m.power[~m.still].tolist() == [0, 0.5, 0]


# Places that no file states


def test_homing_first_leaves_the_place_to_the_first_dark_move() -> None:
    program = read("$H\nG21 G90\nG28\nG0 X5 Y5\nM3 S9\nG1 X6 F60", start=(0, 0))
    assert program.moves.xy.tolist() == [[5, 5], [6, 5]]
    assert "line 3, column 1: G28 goes to a place" in messages(program)


@pytest.mark.parametrize(
    "text",
    ["G28\nM3 S9 F60 G1 X1 Y1", "G28\nG91 G0 X1 Y1", "G28\nF60 G2 X1 Y1 R5", "G53 G0 X0\nM3 S9 F60 G1 X1 Y1"],
)
def test_from_an_unknown_place_nothing_is_lit_or_relative(text: str) -> None:
    with pytest.raises(gcode.GcodeError, match=r"starts at an unknown place, after G(28|53) in line 1"):
        parse(text)


def test_nothing_homes_with_the_laser_on() -> None:
    with pytest.raises(
        gcode.GcodeError, match="G28 goes to a place that the file does not state with the laser"
    ):
        parse("G0 X0 Y0\nM3 S9\nG1 X1 F60\nG28")
    with pytest.raises(gcode.GcodeError, match="with the laser on"):
        gcode.parse("G0 X0 Y0 F60\nSET_PIN PIN=laser VALUE=1\nG28", KLIPPER)


def test_home_amid_a_program_is_a_way_that_is_noted() -> None:
    program = read("G0 X1 Y1\nG1 X2 F60\nG28\nG0 X3\nG0 Y4\nG1 X4")
    assert program.moves.xy.tolist() == [[1, 1], [2, 1], [3, 4], [4, 4]]
    assert "line 4, column 4: X3 ends at an unknown place" in messages(program)
    assert "line 5, column 4: the way from an unknown place" in messages(program)
    assert len(gcode.parse("G0 X1 Y1\nG1 X2 F60\nG28", GRBL)) == 1, "harmless at the end"


def test_homing_z_alone_leaves_x_and_y_known() -> None:
    m = parse("G0 X1 Y1\nG28 G91 Z0\nG90 M3 S9 G1 X2 F60")
    assert m.xy.tolist() == [[1, 1], [2, 1]]


def test_one_system_of_coordinates_is_as_good_as_another_but_not_two() -> None:
    assert len(parse("G55\nG0 X0 Y0\nG1 X1 F60\nG55 X2")) == 2
    with pytest.raises(gcode.GcodeError, match=r"line 2, column 5: X1 is in G55; how far that is from G54"):
        parse("G54 G0 X0 Y0\nG55 X1")


# What is passed over, and what is not


def test_what_can_neither_move_nor_light_is_noted() -> None:
    text = "M104 S200\nG21\nM82\nG0 X0 Y0 F600\nM117 Layer G1 X9 (50*2)\nG1 X1 E.5\nG92 E0\nT0\n"
    program = read(text + 'M204 P500\nS50\nG17\nM220 S100\nF900\nM862.3 P "MK3S"', MARLIN)
    assert program.moves.xy.tolist() == [[0, 0], [1, 0]]
    noted = {note.line for note in program.notes}
    assert noted == {1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
    assert "E is an extruder's" in messages(program)


def test_settings_and_realtime_characters_of_a_sender_are_noted() -> None:
    program = read("$32=1\n$30=1000\n$X\n?\nG0 X0 Y0 ; done! é\nT1\n%\n", GRBL, 1000)
    assert [note.line for note in program.notes] == [1, 2, 3, 4, 5, 5, 6]


@pytest.mark.slow
def test_a_note_is_kept_once_and_counted() -> None:
    program = read("G0 X0 Y0\n" + "T1\n" * 1000)
    assert [(note.line, note.count) for note in program.notes] == [(2, 1000)]
    assert str(program.notes[0]).endswith("(1000 times)")
    many = read("G0 X0 Y0\n" + "".join(f"T{k}\n" for k in range(10_010)))
    assert len(many.notes) == 10_001 and "10 more" in many.notes[-1].message


def test_checksums_are_worked_out() -> None:
    def summed(line: str) -> str:
        xor = 0
        for code in line.encode():
            xor ^= code
        return f"{line}*{xor}"

    lines = ["N1 G90", "N2 G0 X1 Y1 F600", "N3 G1 X2 ", "N4 M117 µ"]
    assert len(gcode.parse("\n".join(map(summed, lines)), MARLIN)) == 1
    with pytest.raises(gcode.GcodeError, match=r"line 1, column 11: checksum 97 is wrong, the line's is"):
        gcode.parse("N1 G1 X10 *97", GENERIC)
    with pytest.raises(gcode.GcodeError, match="line 1, column 1: the line has no checksum"):
        gcode.parse("N1 G90", MARLIN)
    with pytest.raises(gcode.GcodeError, match="N7 follows N2"):
        gcode.parse("\n".join(map(summed, [*lines[:2], "N7 G1 X2"])), MARLIN)
    assert len(gcode.parse("\n".join(map(summed, [*lines[:2], "N3 M110 N6", "N7 G1 X2"])), MARLIN)) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("G1 X1", "line 1, column 4: the move to X1 has no feed F"),
        ("\nX1", "line 2, column 1: X1 comes without G0"),
        ("G1 X1 F60 X2", "line 1, column 11: X2 and X1 are on one line"),
        ("G0 G1 X1", "line 1, column 4: G1 and G0 are on one line"),
        ("G18\nF60 G2 X1 R5", "line 2, column 8: G2 turns in the plane of G18, not in XY"),
        ("G5 X1", "column 1: G5 is unknown"),
        ("G10 L2 P1 X0", "G10 sets a place that the file does not state"),
        ("G43 H1", "G43 shifts Z"),
        ("M106 S3", "M106 is unknown"),
        ("G64 P1", "G64 is unknown"),
        ("M400", "M400 is unknown"),
        ("M117 hello", "H has no number"),
        ("G0 A5", "column 4: A5 is not a word of a laser"),
        ("G0 X", "column 4: X has no number"),
        ("G0 X1e3", "column 6: E3 is not a word"),
        ("G0 Xnan", "column 4: X has no number"),
        ("$J=G91 X1", r"column 1: \$J=G91X1 is not understood"),
        ("$30=255", r"\$30=255 makes S255 full power, not S1000"),
        ("$32=0", r"\$32=0 changes what the program does"),
        ("G0 X1 !", "column 7: '!' holds the motion"),
        ("\x18", "resets the controller"),
        ("G0 (X1", "column 4: a comment is not closed"),
        ("G0 (X1;)", None),
        ("G0 (X1;", "a comment is not closed"),
        ("G0 X1 0", "column 7: '0' is not understood"),
        ("G0 X\u0661", "X has no number"),
        ("/G0 X1", "column 1: / lets the controller choose"),
        ("o100 sub", "column 1: an O word"),
        ("O<name> call", "column 1: an O word"),
        ("#1 = 5", "column 1: # is a parameter"),
        ("G0 X[1+2]", "X has no number"),
        ("G0 X9999999", "X9999999 is beyond 1e.06 mm"),
        ("G91\nG0 X900000\nX900000", "line 3, column 1: X900000 is beyond"),
        ("G0 X" + "1" * 90, "more than 79 characters"),
        ("F0", "feed F0 is outside"),
        ("F-1", "feed F-1 is outside"),
        ("S-1", "power S-1 is outside 0…1000"),
        ("S1001", "power S1001 is outside 0…1000"),
        ("G0 X1 I1", "column 7: I1 belongs to no command"),
        ("F60 G2 X1", "an arc needs either I and J or R"),
        ("F60 G2 X1 I1 R1", "an arc needs either I and J or R"),
        ("F60 G2 I1", "I1 comes without X or Y"),
        ("F60 G2 X0 Y0 R1", "an arc with R must not end where it starts"),
        ("F60 G2 X10 R1", "radius 1 mm is too small for an arc between points 10 mm apart"),
        ("F60 G2 X1 Y0 I0 J0", "centre is its start"),
        ("F60 G2 X10 Y0 I1", "starts 1.0000 mm and ends 9.0000 mm from its centre"),
        ("G4", "G4 has no P"),
        ("G4 P-1", "wait P-1 is outside"),
        ("G92", "G92 needs X or Y"),
        ("G53 G2 X1", "G53 comes without G0 or G1"),
        ("M2\nG0 X1", "line 2, column 1: G0 comes after the end"),
        ("G1 X1 F60 P1", "P1 belongs to no command"),
    ],
)
def test_what_is_not_understood_is_named(text: str, sentence: str | None) -> None:
    if sentence is None:
        parse(text)
        return
    with pytest.raises(gcode.GcodeError, match=sentence):
        parse(text)


@pytest.mark.parametrize(
    ("text", "dialect", "sentence"),
    [
        ("G0 X1 F60\nX2", MARLIN, "line 2, column 1: X2 comes without G0"),
        ("G0 X1 F60\nX2", KLIPPER, "line 2, column 1: X2 comes without G0"),
        ("G21 G90", MARLIN, "column 5: G90 comes after G21: one command a line"),
        ("M5 G0 X1", KLIPPER, "G0 is skipped with M5"),
        ("G94 X5", KLIPPER, "X5 is skipped with G94"),
        ("G1 X1 (a) F60", MARLIN, r"\( \) is not a comment to marlin"),
        ("g1 X1 F60", MARLIN, "column 1: g is lower case"),
        ("G1 x1 F60", MARLIN, "column 4: x is lower case"),
        ("G91.1", MARLIN, "G91.1 is unknown"),
        ("G29", MARLIN, "G29 probes the bed"),
        ("M600", MARLIN, "M600 is unknown: it may move or light"),
        ("M3", MARLIN, "M3 without S lights with a power that the file does not state"),
        ("M4 I", MARLIN, "M4 I takes the power from the feed"),
        ("M220 S50", MARLIN, "M220 S50 changes every speed"),
        ("G1 X" + "1" * 100, MARLIN, "more than 95 characters"),
        ("G20", KLIPPER, "G20 is refused by klipper"),
        ("G2 X1 R5", KLIPPER, "G2 is unknown to klipper"),
        ("PARK", KLIPPER, "PARK is unknown"),
        ("SET_PIN PIN=laser", KLIPPER, "SET_PIN has no VALUE"),
        ("SET_PIN PIN=laser VALUE=1001", KLIPPER, "power VALUE=1001 is outside 0…1000"),
        ("M67 E0", LINUXCNC, "M67 has no Q, the power"),
        ("M68 E0 Q2", LINUXCNC, "power Q2 is outside 0…1"),
        ("M106 S1", LINUXCNC, "M106 is unknown"),
    ],
)
def test_what_each_controller_would_drop_is_named(text: str, dialect: gcode.Dialect, sentence: str) -> None:
    with pytest.raises(gcode.GcodeError, match=sentence):
        gcode.parse(text, dialect)


@pytest.mark.parametrize(
    "word", ["X", "Y", "Z", "I", "R", "R-", "F", "S", "M67 E0 Q", "G4 P", "G92 X", "M", "G", "T"]
)
def test_numbers_beyond_all_bounds_are_no_crash(word: str) -> None:
    number = "9" * 200
    own = dataclasses.replace(LINUXCNC, line_limit=10_000)
    for digits in (number, number * 10, f".{number}", f"0.{'0' * 400}1"):
        for text in (
            f"G0 X0 Y0\nG2 X1 Y1 F60 {word}{digits}",
            f"G93 G1 X1 {word}{digits}",
            f"{word}{digits}",
        ):
            for unit in ("G21\n", "G20\n"):
                with contextlib.suppress(gcode.GcodeError):
                    gcode.parse(unit + text, own)


def test_comments_do_not_count_for_the_length_of_a_line() -> None:
    for dialect in (GRBL, MARLIN, KLIPPER, GENERIC):
        text = f"G0 X1 Y1 F600 ; {'x' * 300}\nG1 X2"
        assert len(gcode.parse(text, dialect)) == 1


def test_arguments_are_checked() -> None:
    with pytest.raises(gcode.GcodeError, match="rapid_speed is -1"):
        parse("", rapid_speed=-1)
    with pytest.raises(gcode.GcodeError, match="s_max is 0"):
        gcode.parse("", GRBL, 0)
    with pytest.raises(gcode.GcodeError, match="start is"):
        parse("", start=(np.nan, 0))


def test_full_power_is_the_dialects_own() -> None:
    assert (
        gcode.parse("M3 S255\nG0 X0 Y0\nG1 X1 F60", dataclasses.replace(GRBL, power_max=255.0)).power[0] == 1
    )


@given(st.text("\r\nG1 X\u2028\u00e9", max_size=60), st.integers(1, 9))
def test_lines_are_those_of_the_whole_in_any_parts(text: str, size: int) -> None:
    parts, reading._AT_ONCE = reading._AT_ONCE, size
    try:
        assert list(reading._lines(text)) == list(io.StringIO(text, newline=""))
    finally:
        reading._AT_ONCE = parts

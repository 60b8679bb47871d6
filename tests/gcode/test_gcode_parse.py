"""The parser is a controller: what it reads is what the machine would do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcode

GRBL = gcode.dialect("grbl")


def parse(text: str, **options: object) -> gcode.Moves:
    return gcode.parse(text, GRBL, 1000.0, **options)


def test_modes_last_until_they_are_changed() -> None:
    m = parse("M4 S500\nG1 X1 Y0 F600\nX2\nS250 Y1\nF1200\nX3 G0\nG1X4")
    assert m.xy.tolist() == [[0, 0], [1, 0], [2, 0], [2, 1], [3, 1], [4, 1]]
    assert m.power.tolist() == [0.5, 0.5, 0.25, 0, 0.25]
    assert m.speed.tolist() == [10, 10, 10, 100, 20]
    assert m.kind.tolist() == ["lit", "lit", "lit", "rapid", "lit"]


def test_the_laser_is_dark_before_m3_and_after_m5() -> None:
    m = parse("F60 S100\nG1 X1\nM3\nX2\nM5\nX3\nM4 X4\nM2")
    assert m.power.tolist() == [0, 0.1, 0, 0.1]


def test_inches_and_increments() -> None:
    m = parse("G20 G91 G1 X1 F60\nX1 Y1\nG21 X-1 F60")
    np.testing.assert_allclose(m.xy, [[0, 0], [25.4, 0], [50.8, 25.4], [49.8, 25.4]])
    np.testing.assert_allclose(m.speed, [25.4, 25.4, 1])


def test_g92_renames_the_place_and_moves_nothing() -> None:
    m = parse("G0 X10 Y5\nG92 X0 Y0\nG1 X1 F60\nG92.1\nX0 Y0")
    assert m.xy.tolist() == [[10, 5], [11, 5], [0, 0]]
    assert m.rapid.tolist() == [False, False]


def test_where_the_program_starts() -> None:
    assert parse("G0 X3 Y4\nG1 X5 F60").xy.tolist() == [[3, 4], [5, 4]]
    assert parse("G0 X3 Y4\nG1 X5 F60", start=(0, 0)).xy.tolist() == [[0, 0], [3, 4], [5, 4]]
    assert parse("G0 X3\nG1 Y1 F60").xy.tolist() == [[0, 0], [3, 0], [3, 1]], "Y was never stated: 0"
    assert parse("G1 X5 F60").xy.tolist() == [[0, 0], [5, 0]]


def test_comments_numbers_and_percent_signs_say_nothing() -> None:
    m = parse("%\r\nN10 g1 (to (one) x1 f60 ; X9\nN20 (X8) y 2 ;(\n\n%")
    assert m.xy.tolist() == [[0, 0], [1, 0], [1, 2]]


def test_dwell_and_standstill_are_no_moves() -> None:
    assert len(parse("G4 P1\nG1 X0 Y0 F60\nM0\nM8\nG0 X0")) == 0


@pytest.mark.parametrize(
    ("text", "centre", "sweep"),
    [
        ("G3 X0 Y10 I-10 J0", (0, 0), np.pi / 2),
        ("G2 X0 Y10 I-10 J0", (0, 0), -3 * np.pi / 2),
        ("G3 X0 Y10 R10", (0, 0), np.pi / 2),
        ("G3 X0 Y10 R-10", (10, 10), 3 * np.pi / 2),
        ("G2 X0 Y10 R10", (10, 10), -np.pi / 2),
        ("G2 X0 Y10 R-10", (0, 0), -3 * np.pi / 2),
        ("G2 X-10 R10", (0, 0), -np.pi),
        ("G3 X10 I-10", (0, 0), 2 * np.pi),
        ("G2 X10 Y0 I-10", (0, 0), -2 * np.pi),
    ],
)
def test_arcs_keep_to_their_circle(text: str, centre: tuple[float, float], sweep: float) -> None:
    tolerance = 0.002
    m = parse(f"G0 X10 Y0\nM4 S500 F600 {text}", tolerance=tolerance)
    middle = (m.xy[1:] + m.xy[:-1]) / 2
    np.testing.assert_allclose(np.hypot(*(m.xy - centre).T), 10, rtol=1e-9)
    assert (10 - np.hypot(*(middle - centre).T) <= tolerance * 1.0001).all()
    angle = np.unwrap(np.arctan2(*(m.xy - centre).T[::-1]))
    np.testing.assert_allclose(angle[-1] - angle[0], sweep)
    np.testing.assert_allclose(m.length.sum(), 10 * abs(sweep), rtol=tolerance)
    assert (m.power == 0.5).all() and (m.speed == 10).all()


@given(st.floats(0.01, 1e4), st.floats(1e-4, 0.1))
def test_an_arc_needs_no_more_chords_than_its_tolerance(radius: float, tolerance: float) -> None:
    m = parse(f"F60 G0 X{radius:.6f} Y0\nG3 X{radius:.6f} I-{radius:.6f}", tolerance=tolerance)
    best = np.pi / np.arccos(max(1 - tolerance / radius, np.cos(np.pi / 4)))
    assert best * 0.999 <= len(m) <= best + 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("G1 X1", "line 1, column 4: the move to X1 has no feed F"),
        ("\nX1", "line 2, column 1: X1 comes without G0"),
        ("G1 X1 F60 X2", "line 1, column 11: X2 and X1 are on one line"),
        ("G0 G1 X1", "line 1, column 4: G1 and G0 are on one line"),
        ("G28", "column 1: G28 goes to a place that the file does not state"),
        ("G93", "G93 is inverse time"),
        ("G18", "G18 is not the XY plane"),
        ("G5 X1", "column 1: G5 is unknown"),
        ("M106 S3", "M106 is unknown"),
        ("G0 Z5", "column 4: Z5 is not a word of a two-axis laser"),
        ("G0 X", "column 4: X has no number"),
        ("G0 X1e3", "column 6: E3 is not a word"),
        ("G0 Xnan", "column 4: X has no number"),
        ("$H", r"column 1: '\$' is not understood"),
        ("G0 (X1", "column 4: a comment is not closed"),
        ("G0 X1 0", "column 7: '0' is not understood"),
        ("G0 X9999999", "X9999999 is beyond 1e.06 mm"),
        ("G91\nG0 X900000\nX900000", "line 3, column 1: X900000 is beyond"),
        ("G0 X" + "1" * 90, "more than 79 characters"),
        ("F0", "feed F0 is outside"),
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
        ("G92", "G92 needs X or Y"),
        ("M2\nG0 X1", "line 2, column 1: G0 comes after the end"),
        ("G1 X1 F60 P1", "P1 belongs to no command"),
    ],
)
def test_what_is_not_understood_is_named(text: str, sentence: str) -> None:
    with pytest.raises(gcode.GcodeError, match=sentence):
        parse(text)


def test_arguments_are_checked() -> None:
    with pytest.raises(gcode.GcodeError, match="rapid_speed is -1"):
        parse("", rapid_speed=-1)

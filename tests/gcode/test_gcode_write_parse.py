"""The text and the moves say the same, and no text lights the laser where it must be dark."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gcode

GRBL = gcode.dialect("grbl")
S_MAX = 1000.0


def assert_same(a: gcode.Moves, b: gcode.Moves, *, s_max: float = S_MAX) -> None:
    """Equal within what the decimals of X Y (4), S (3) and F (1, rounded down) can hold."""
    assert len(a) == len(b)
    np.testing.assert_allclose(a.xy, b.xy, atol=0.5001e-4)
    np.testing.assert_allclose(a.power, b.power, atol=0.5001e-3 / s_max)
    np.testing.assert_array_equal(a.rapid, b.rapid)
    feeds = ~b.rapid
    assert (b.speed[feeds] - a.speed[feeds] <= 0.1001 / 60).all()
    assert (a.speed[feeds] <= b.speed[feeds] + 1e-8).all()


@st.composite
def moves(draw: st.DrawFn) -> gcode.Moves:
    n = draw(st.integers(0, 12))
    # On a grid of 1 µm no move vanishes when it is rounded, unless it has no length at all.
    coordinate = st.integers(-3_000_000, 3_000_000)
    points = draw(st.lists(st.tuples(coordinate, coordinate), min_size=n + 1, max_size=n + 1))
    points = [p for k, p in enumerate(points) if k == 0 or p != points[k - 1]]
    n = len(points) - 1
    rapid = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    power = np.array(draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    speed = np.array(draw(st.lists(st.floats(0.01, 500), min_size=n, max_size=n)))
    speed = np.where(rapid, 100.0, speed)
    return gcode.Moves(np.array(points) / 1000, np.where(rapid, 0.0, power), speed, rapid)


@given(moves(), st.sampled_from([1.0, 255.0, 1000.0]))
def test_what_is_written_is_read(m: gcode.Moves, s_max: float) -> None:
    text = gcode.write(m, GRBL, s_max, header=["any\nheader"])
    assert_same(gcode.parse(text, GRBL, s_max), m, s_max=min(s_max, S_MAX))


@given(moves())
def test_lines_are_short_plain_and_dark_where_they_must_be(m: gcode.Moves) -> None:
    text = gcode.write(m, GRBL, S_MAX)
    assert text.endswith("\n") and "\r" not in text and text.isascii()
    lines = text.splitlines()
    assert all(len(line) <= GRBL.line_limit for line in lines)
    assert not re.search(r"[0-9][eE]|nan|inf|-0(?![.0-9])", text)
    motions = [k for k, line in enumerate(lines) if re.match(r"G[01] ", line)]
    first, last = motions[0], motions[-1]
    assert lines[first - 2 : first] == ["M5", "M4 S0"], "armed dark, just before the first move"
    assert lines[last + 1 :] == ["M5", "S0", "M2"]
    dark = True
    for line in lines[first:]:
        if line.startswith("G0 "):
            assert "S" not in line
            dark = True
        elif line.startswith("G1 "):
            assert not dark or "S" in line, "a move after a rapid states its power"
            dark = False


@given(moves())
def test_no_feed_is_above_the_speed_that_was_asked_for(m: gcode.Moves) -> None:
    feeds = [float(f) for f in re.findall(r"F([0-9.]+)", gcode.write(m, GRBL, S_MAX))]
    assert all(f <= m.speed[~m.rapid].max() * 60 + 1e-6 for f in feeds)


def test_fifty_mm_per_s_is_f3000_even_after_rounding_errors() -> None:
    for speed in (50.0, 50 - 1e-12, 150 / 3.0000000000001):
        m = gcode.Moves([[0, 0], [1, 0]], [0.5], [speed], [False])
        assert "F3000 " in gcode.write(m, GRBL, S_MAX)


@pytest.mark.parametrize("s_max", [1.0, 100.0, 255.0, 1000.0, 10000.0])
def test_every_pwm_level_survives_the_text(s_max: float) -> None:
    n = np.arange(1, 256)
    m = gcode.Moves(np.c_[np.arange(256), np.zeros(256)], n / 255, np.full(255, 10.0), np.zeros(255, bool))
    written = [float(s) for s in re.findall(r"S([0-9.]+)\n", gcode.write(m, GRBL, s_max))][1:256]
    # What GRBL's spindle_control.c makes of S with $30 = s_max and $31 = 0.
    assert [255 if s >= s_max else math.floor(254 * s / s_max) + 1 for s in written] == n.tolist()


def test_unchanged_words_are_left_out_but_not_x_and_y() -> None:
    m = gcode.Moves([[0, 0], [1, 0], [2, 0], [2, 3]], [0.5, 0.5, 0.5], [20, 20, 10], [False] * 3)
    body = gcode.write(m, GRBL, S_MAX).splitlines()[6:-3]
    assert body == ["G0 X0 Y0", "G1 X1 Y0 F1200 S500", "G1 X2 Y0", "G1 X2 Y3 F600"]


def test_moves_that_round_to_nothing_are_left_out() -> None:
    m = gcode.Moves([[0, 0], [1e-5, 0], [1, 0], [1, 0]], [1, 0.5, 0], [1, 2, 3], [False, False, True])
    read = gcode.parse(gcode.write(m, GRBL, S_MAX), GRBL, S_MAX)
    assert read.power.tolist() == [0.5]
    assert read.speed.tolist() == [2]


def test_golden_file() -> None:
    golden = gcode.parse((Path(__file__).parent / "golden/grating.gcode").read_text(), GRBL, S_MAX)
    xy = [[1, 1], [11, 1], [11, 1.2], [1, 1.2], [1, 1.4], [11, 1.4]]
    m = gcode.Moves(xy, [0.5, 0, 1, 0, 1 / 255], [50, 50, 25, 100, 50], [0, 0, 0, 1, 0])
    assert_same(golden, m)
    assert_same(gcode.parse(gcode.write(m, GRBL, S_MAX), GRBL, S_MAX), golden)


def test_header_can_neither_move_nor_stop_the_machine() -> None:
    header = ["G1 X99 S1000\nG1 X98", "dose 20 mJ/cm², 1 µm\x18!?~\u0084", "x" * 200, "\r\nG1 X97", ""]
    text = gcode.write(gcode.Moves([[0, 0]], [], [], []), GRBL, S_MAX, header)
    assert text.isascii() and not set("!?~\x18\r") & set(text)
    assert all(line.startswith(";") for line in text.splitlines()[:-10])
    assert "; dose 20 mJ/cm2, 1 um" in text
    assert len(gcode.parse(text, GRBL, S_MAX)) == 0


def test_what_cannot_be_written_is_refused() -> None:
    def line(x: float, speed: float) -> gcode.Moves:
        return gcode.Moves([[0, 0], [x, 0]], [1], [speed], [False])

    with pytest.raises(gcode.GcodeError, match=r"above grbl's 79"):
        gcode.write(line(1e90, 1), GRBL, S_MAX)
    with pytest.raises(gcode.GcodeError, match=r"speed 0.001 mm/s is below the smallest feed.*F0.1"):
        gcode.write(line(1, 0.001), GRBL, S_MAX)
    with pytest.raises(gcode.GcodeError, match="s_max is 0"):
        gcode.write(line(1, 1), GRBL, 0)
    with pytest.raises(gcode.GcodeError, match=r"'grlb' is unknown; known: grbl; did you mean grbl"):
        gcode.dialect("grlb")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"power": [1.5]}, "power 1.5 is outside"),
        ({"power": [-0.1]}, "power -0.1 is outside"),
        ({"speed": [0]}, "speed 0 mm/s is not above 0"),
        ({"rapid": [True]}, "move 0 is a rapid with power 0.5, but must be dark"),
        ({"xy": [[0, 0], [math.nan, 0]]}, "xy is not finite in 1 of 4 values"),
        ({"xy": [[0, 0, 0], [1, 0, 0]]}, r"xy has shape \(2, 3\)"),
        ({"power": [0.5, 0.5]}, r"power has shape \(2,\), but \(1,\) is needed"),
    ],
)
def test_impossible_moves_are_refused(change: dict[str, list[object]], sentence: str) -> None:
    good = {"xy": [[0, 0], [1, 0]], "power": [0.5], "speed": [1], "rapid": [False]}
    with pytest.raises(gcode.GcodeError, match=sentence):
        gcode.Moves(**(good | change))


def test_moves_cannot_be_changed_and_name_their_kinds() -> None:
    m = gcode.Moves([[0, 0], [3, 4], [3, 4], [0, 0]], [0.5, 0, 0], [1, 1, 1], [False, False, True])
    with pytest.raises(ValueError, match="read-only"):
        m.power[0] = 1
    assert m.length.tolist() == [5, 0, 5]
    assert m.kind.tolist() == ["lit", "dark", "rapid"]


WORDS = [
    *(f"G{n}" for n in (0, 1, 2, 3, 4, 17, 20, 21, 90, 91, 92, 93, 1.5)),
    *(f"M{n}" for n in (2, 3, 4, 5, 106)),
    *("X1", "Y-2.5", "X1e5", "I1", "J0", "R3", "R-2", "F600", "F0", "S10", "S-1", "S9999", "P1", "N5"),
    *("(", ")", ";", "%", "X", "Z1", "X99999999999", ".5", "X."),
    *("\u0661", "X\u0661", "\x00"),
]
PROGRAM = st.lists(st.sampled_from([*WORDS, "\n", "\r\n"])).map(" ".join)


@settings(max_examples=300)
@given(st.one_of(st.text(), PROGRAM, st.binary().map(lambda b: b.decode("latin-1"))))
def test_any_text_is_moves_or_a_sentence(text: str) -> None:
    try:
        m = gcode.parse(text, GRBL, S_MAX)
    except gcode.GcodeError as error:
        assert re.match(r"line [0-9]+(, column [0-9]+)?: ", str(error))  # noqa: PT017
    else:
        assert not m.power[m.rapid].any()

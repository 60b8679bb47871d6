"""What each controller does with our text is what the moves say, and the laser is dark where it must be.

`act` runs a program as the controllers do; it shares no code with the writer or the parser.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pace_of_machine import within
from sets import examples

import gcode
from gcode import Kind
from gcode.saving import save
from gcode.writing import write, write_lines

DIALECTS = list(gcode.DIALECTS.values())
INCH = replace(gcode.dialect("generic"), name="inch", header=("G20", "G90"), units="inch", xy_decimals=5)
MANUAL = replace(  # a word for the power, and dark in nothing
    INCH, name="manual", header=("G21", "G90"), units="mm", dark_rapids=False, modal=True, comment="(",
    laser_on_dynamic=("M4 S0",), line_end="\r\n", rapid_at_feed=True, dwell="G4 P{ms}",
)  # fmt: skip
EVERY = [*DIALECTS, INCH, MANUAL]
GOLDEN = sorted((Path(__file__).parent / "golden").glob("strokes.*.gcode"))

each = pytest.mark.parametrize("dialect", EVERY, ids=lambda d: d.name)


@dataclass
class Act:
    """One thing that a controller does. place: mm.  power: the S, Q or VALUE meanwhile."""

    kind: int
    place: tuple[float, float, float]
    centre: tuple[float, float]
    feed: float
    power: float
    wait: float
    dynamic: bool


@dataclass
class Controller:
    """The rules of the table in gcode/known.py, for programs without modal surprises."""

    dialect: gcode.Dialect
    power: float = math.nan
    feed: float = 0.0
    place: tuple[float, float, float] = (math.nan, math.nan, 0.0)
    armed: bool = False
    dynamic: bool = False
    rapid: bool = True

    def line(self, text: str) -> Act | None:
        text = re.sub(r"\(.*?\)|;.*", "", text)
        if text.startswith("SET_PIN"):
            self.power = float(text.split("VALUE=")[1])
            return None
        words = {word[0]: float(word[1:] or 1) for word in text.split()}
        if words.get("M") in (67, 68):
            self.power = words["Q"]
            return None
        if words.get("M") in (3, 4, 5):
            self.armed, self.dynamic = words["M"] != 5, words["M"] == 4
        self.power = words.get("S", self.power) if not self.dialect.power_line else self.power
        self.feed = words.get("F", self.feed)
        if words.get("G") in (0, 1, 2, 3, 4):
            return self.act(words)
        return None

    def act(self, words: dict[str, float]) -> Act | None:
        dialect, kind = self.dialect, int(words["G"])
        on = self.armed or not any(line.startswith("M3") for line in dialect.laser_on)
        if kind == Kind.DWELL:
            dark = self.dynamic or dialect.always_dynamic or (self.rapid and dialect.dark_rapids)
            wait = words["P"] / (1000 if "{ms}" in dialect.dwell else 1)
            power = self.power if on and not dark else 0.0
            return Act(kind, self.place, (0, 0), self.feed, power, wait, self.dynamic)
        self.rapid = kind == Kind.RAPID
        if "X" not in words:
            return None
        x, y, z = self.place
        unit = dialect.unit
        self.place = words["X"] * unit, words["Y"] * unit, words["Z"] * unit if "Z" in words else z
        if self.rapid and dialect.rapid_resets:
            self.power = 0.0
        power = self.power if on and not (self.rapid and dialect.dark_rapids) else 0.0
        centre = (x + words["I"] * unit, y + words["J"] * unit) if "I" in words else (0.0, 0.0)
        return Act(kind, self.place, centre, self.feed * unit / 60, power, 0.0, self.dynamic)


def act(text: str, dialect: gcode.Dialect) -> list[Act]:
    """What a controller does with a program, after it went to the start."""
    controller = Controller(dialect)
    acts = [done for line in text.split(dialect.line_end) if (done := controller.line(line))]
    assert acts[0].kind == Kind.RAPID and not acts[0].power
    if dialect.power_line:
        assert controller.power == 0, "the power is 0 after the program"
    elif not dialect.always_dynamic:
        assert not controller.armed, "the laser is disarmed after the program"
    return acts


def arc(start: np.ndarray, radius: float, angle: float, sweep: float) -> tuple[np.ndarray, np.ndarray]:
    """The end and the centre of an arc that leaves its centre at `angle`."""
    centre = start - radius * np.array([math.cos(angle), math.sin(angle)])
    if abs(sweep) >= 2 * math.pi:
        return start, centre
    return centre + radius * np.array([math.cos(angle + sweep), math.sin(angle + sweep)]), centre


@st.composite
def programs(draw: st.DrawFn, dialect: gcode.Dialect) -> gcode.Moves:
    """Moves that the dialect can say: the power follows the speed from a dwell to a dwell."""
    rows = draw(st.integers(0, 12))
    xy, z = [np.array(draw(st.tuples(*[st.integers(-3000, 3000)] * 2))) / 8], [0.0]
    columns: list[tuple[int, float, float, np.ndarray, float, bool]] = []
    dynamic = dialect.dynamic_power and draw(st.booleans())
    for _ in range(rows):
        kind = draw(st.integers(0, 4))
        power = 0.0 if kind == 0 else draw(st.sampled_from([0.0, 0.25, 0.4, 1.0]) | st.floats(0, 1))
        end, centre, wait, height = xy[-1], np.zeros(2), 0.0, z[-1]
        if kind in (2, 3):
            sweep = draw(st.floats(0.5, 2 * math.pi)) * (-1 if kind == 2 else 1)
            end, centre = arc(end, draw(st.floats(0.5, 40)), draw(st.floats(0, 7)), sweep)
        elif kind == 4:
            wait = draw(st.integers(0, 3000)) / 1000
            dynamic = (draw(st.booleans()) or dialect.always_dynamic) if dialect.dynamic_power else False
            stays = dialect.power_line or bool(dialect.power_still)
            power = power if stays and not dynamic else 0.0
        else:
            end = np.array(draw(st.tuples(*[st.integers(-3000, 3000)] * 2))) / 8
            height = draw(st.sampled_from([0.0, 0.0, 1.5])) if (end != xy[-1]).any() else height
        speed = draw(st.sampled_from([50.0, 20.0]) | st.floats(0.05, 500))
        columns.append((kind, power, speed, centre, wait, dynamic))
        xy.append(end)
        z.append(height)
    if not columns:
        return gcode.Moves(xy, [], [], [])
    kind, power, speed, centre, wait, follows = zip(*columns, strict=True)
    return gcode.Moves(xy, power, speed, kind, z=z, centre=centre, dwell=wait, dynamic=follows)


@st.composite
def written(draw: st.DrawFn) -> tuple[gcode.Dialect, gcode.Moves]:
    dialect = draw(st.sampled_from(EVERY))
    return dialect, draw(programs(dialect))


@given(written())
def test_controllers_do_what_the_moves_say(case: tuple[gcode.Dialect, gcode.Moves]) -> None:
    dialect, moves = case
    acts = act(write(moves, dialect), dialect)[1:]
    if not dialect.arcs:
        moves = moves.chords(0.001)
    digit = dialect.unit * 10.0**-dialect.xy_decimals
    moved = (np.abs(np.diff(moves.xyz, axis=0)) > digit).any(axis=1) | moves.still | moves.arc
    k = np.flatnonzero(moved)
    assert [a.kind for a in acts] == moves.kind[k].tolist()
    places = np.array([a.place for a in acts]).reshape(-1, 3)
    np.testing.assert_allclose(places, moves.xyz[k + 1], atol=0.5001 * digit)
    turns = moves.arc[k]
    centres = np.array([a.centre for a in acts]).reshape(-1, 2)
    np.testing.assert_allclose(centres[turns], moves.centre[k][turns], atol=1.0001 * digit)
    np.testing.assert_allclose([a.wait for a in acts], moves.dwell[k], atol=0.501e-3)
    step = max(0.5001 * 10.0**-dialect.power_decimals, 1e-9)
    np.testing.assert_allclose([a.power for a in acts], moves.power[k] * dialect.power_max, atol=step)
    for a, speed, rapid in zip(acts, moves.speed[k], moves.rapid[k], strict=True):
        if a.kind != Kind.DWELL and not (rapid and dialect.modal and not dialect.rapid_at_feed):
            assert speed - 1.001 * dialect.unit * 10.0**-dialect.feed_decimals / 60 <= a.feed <= speed + 1e-6
    if not dialect.always_dynamic:
        lit = np.array([a.power > 0 for a in acts], dtype=bool)
        assert [a.dynamic for a in acts if a.power] == moves.dynamic[k][lit].tolist()


@given(written(), st.text(max_size=200))
def test_lines_are_plain_and_short(case: tuple[gcode.Dialect, gcode.Moves], comment: str) -> None:
    dialect, moves = case
    moves = replace(moves, comments=((0, comment), (len(moves), "the end")))
    text = write(moves, dialect, header=[comment])
    assert text.isascii() and text.endswith(dialect.line_end)
    lines = text.split(dialect.line_end)[:-1]
    assert all(line.isprintable() and 0 < len(line) <= dialect.line_limit for line in lines)
    assert not set(dialect.realtime) & set(text)
    words = [w for line in lines if not line.startswith(dialect.comment) for w in line.split()]
    assert not set(words) & set(dialect.unknown)
    for word in words:
        assert not re.search(r"[0-9]e|-0$|\.$|\.[0-9]*0$|^N", word, re.IGNORECASE), word


@each
def test_the_laser_is_off_before_and_after(dialect: gcode.Dialect) -> None:
    lines = write(line(), dialect).split(dialect.line_end)[:-1]
    first = next(k for k, text in enumerate(lines) if text.startswith("G0 "))
    last = max(k for k, text in enumerate(lines) if text.startswith("G1 "))
    off, on = dialect.laser_off, dialect.laser_on
    assert tuple(lines[: len(dialect.header)]) == dialect.header
    assert tuple(lines[first - len(on) - len(off) : first]) == (*off, *on)
    assert tuple(lines[last + 1 :]) == (*off, *dialect.footer)


def line(power: float = 0.5, speed: float = 20.0, *, x: float = 1.0, dynamic: bool = False) -> gcode.Moves:
    return gcode.Moves.straight([[0, 0], [x, 0]], [power], [speed], [False], dynamic=dynamic)


def strokes(dialect: gcode.Dialect) -> gcode.Moves:
    """Two lines of two powers, a jump, a wait, an arc, a dark line, a full circle."""
    xy = [[1, 1], [11, 1], [11, 1.25], [1, 2], [1, 2], [3, 2], [4, 2], [4, 2]]
    centre = [[0, 0]] * 4 + [[2, 2], [0, 0], [3.5, 2]]
    return gcode.Moves(
        xy, [0.5, 1, 0, 0, 0.2, 0, 1 / 3], [50, 25, 100, 50, 20, 20, 1], [1, 1, 0, 4, 2, 1, 3],
        centre=centre, dwell=[0, 0, 0, 0.25, 0, 0, 0],
        dynamic=np.full(7, dialect.dynamic_power), comments=((0, "two lines"), (2, "a jump")),
    )  # fmt: skip


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_golden_files(path: Path) -> None:
    dialect = gcode.dialect(path.name.split(".")[1])
    golden, text = path.read_text(), write(strokes(dialect), dialect, header=["strokes"])
    assert act(golden, dialect) == act(text, dialect)
    read, again = (gcode.parse(t, dialect, dialect.power_max) for t in (golden, text))
    for name in ("xy", "z", "kind", "power", "speed", "centre", "dwell", "dynamic"):
        np.testing.assert_allclose(getattr(read, name), getattr(again, name), atol=1e-9, err_msg=name)
    np.testing.assert_allclose(read.xy[-1], strokes(dialect).xy[-1], atol=1e-9)


def test_every_dialect_has_its_golden_file() -> None:
    assert {path.name.split(".")[1] for path in GOLDEN} == set(gcode.DIALECTS)


def body(moves: gcode.Moves, name: str) -> list[str]:
    """The lines from the first motion on, without those of the end."""
    dialect = gcode.dialect(name)
    lines = write(moves, dialect).split(dialect.line_end)[:-1]
    first = next(k for k, text in enumerate(lines) if text.startswith("G0 "))
    return lines[first : len(lines) - len(dialect.laser_off) - len(dialect.footer)]


JUMP = gcode.Moves.straight(
    [[0, 0], [1, 0], [2, 0], [5, 5], [6, 5]], [0.5, 0.5, 0, 0.5], [20, 20, 100, 20], [0, 0, 1, 0]
)


def test_grbl_leaves_out_what_has_not_changed_but_never_g_x_y() -> None:
    assert body(JUMP, "grbl") == [
        "G0 X0 Y0", "G1 X1 Y0 F1200 S500", "G1 X2 Y0", "G0 X5 Y5", "G1 X6 Y5 S500",
    ]  # fmt: skip


def test_marlin_wants_whole_lines_and_a_feed_on_every_g0() -> None:
    text = write(JUMP, gcode.dialect("marlin"))
    assert text.index("M3 I S0") < text.index("G0 ") and "M4" not in text and "M3 S" not in text
    assert body(JUMP, "marlin") == [
        "G0 X0 Y0 F6000", "G1 X1 Y0 F1200 S128", "G1 X2 Y0 F1200 S128", "G0 X5 Y5 F6000",
        "G1 X6 Y5 F1200 S128",
    ]  # fmt: skip


def test_klipper_sets_its_pin_to_0_before_each_g0() -> None:
    assert body(JUMP, "klipper") == [
        "G0 X0 Y0 F6000", "SET_PIN PIN=laser VALUE=500", "G1 X1 Y0 F1200", "G1 X2 Y0 F1200",
        "SET_PIN PIN=laser VALUE=0", "G0 X5 Y5 F6000", "SET_PIN PIN=laser VALUE=500", "G1 X6 Y5 F1200",
    ]  # fmt: skip


def test_linuxcnc_changes_the_power_with_the_motion() -> None:
    assert body(JUMP, "linuxcnc") == [
        "G0 X0 Y0", "M67 E0 Q0.5", "G1 X1 Y0 F1200", "G1 X2 Y0", "M67 E0 Q0", "G0 X5 Y5", "M67 E0 Q0.5",
        "G1 X6 Y5",
    ]  # fmt: skip


def test_a_controller_that_is_lit_in_g0_gets_power_0_before_it() -> None:
    text = write(JUMP, MANUAL).split(MANUAL.line_end)
    assert [line for line in text if line.startswith("G0")] == ["G0 X0 Y0 F6000 S0", "G0 X5 Y5 F6000 S0"]


@given(programs(gcode.dialect("klipper")))
def test_no_klipper_program_has_words_that_klipper_does_not_know(moves: gcode.Moves) -> None:
    lit = False
    for text in write(moves, gcode.dialect("klipper")).splitlines():
        if text.startswith("SET_PIN"):
            lit = text != "SET_PIN PIN=laser VALUE=0"
            assert re.fullmatch(r"SET_PIN PIN=laser VALUE=[0-9.]+", text)
        else:
            assert re.fullmatch(r"G21|G90|G[01]( [XYZF]-?[0-9.]+)+|G4 P[0-9]+", text)
        assert not (text.startswith("G0") and lit)


def dwells(*rows: tuple[int, float, bool]) -> gcode.Moves:
    """Rows of (kind, power, dynamic), each line 1 mm long, each dwell 0.5 s."""
    kind, power, dynamic = zip(*rows, strict=True)
    x = np.cumsum([0.0] + [0.0 if k == Kind.DWELL else 1.0 for k in kind])
    return gcode.Moves(
        np.c_[x, 0 * x], power, np.full(len(rows), 20.0), kind,
        dwell=np.where(np.array(kind) == 4, 0.5, 0.0), dynamic=dynamic,
    )  # fmt: skip


def test_a_dark_dwell_is_dark_where_the_controller_stays_lit() -> None:
    lines = [(1, 0.5, False), (4, 0.0, False), (1, 0.5, False)]
    assert body(dwells(*lines), "grbl")[2:] == ["G1 F60 S0", "G4 P0.5", "G1 X2 Y0 F1200 S500"]
    assert body(dwells(*lines), "marlin")[2:] == ["M5 I", "G4 P500", "M3 I S0", "G1 X2 Y0 F1200 S128"]
    assert body(dwells(*lines), "klipper")[3] == "SET_PIN PIN=laser VALUE=0"
    assert body(dwells(*lines), "linuxcnc")[3:5] == ["M68 E0 Q0", "G4 P0.5"]
    follows = [(kind, power, True) for kind, power, _ in lines]
    assert body(dwells(*follows), "grbl")[1:] == ["G1 X1 Y0 F1200 S500", "G4 P0.5", "G1 X2 Y0"]


def test_a_lit_dwell_is_lit_at_once() -> None:
    lines = [(0, 0.0, False), (4, 0.5, False), (4, 0.5, False), (0, 0.0, False)]
    assert body(dwells(*lines), "grbl")[2:5] == ["G1 F60 S500", "G4 P0.5", "G4 P0.5"]
    assert body(dwells(*lines), "linuxcnc")[2:6] == ["M68 E0 Q0.5", "G4 P0.5", "G4 P0.5", "M67 E0 Q0"]
    with pytest.raises(gcode.GcodeError, match="move 1 stands still lit, but marlin has no power_still"):
        write(dwells(*lines), gcode.dialect("marlin"))
    # At the power of the line before it, it stays lit without a word.
    assert body(dwells((1, 0.5, False), (4, 0.5, False)), "marlin")[1:] == ["G1 X1 Y0 F1200 S128", "G4 P500"]


def test_power_that_follows_the_speed() -> None:
    switch = dwells(
        (1, 0.5, True), (4, 0.0, False), (1, 0.5, False), (4, 0.0, True), (0, 0.0, False), (1, 1, True)
    )
    assert [t for t in write(switch, gcode.dialect("grbl")).splitlines() if t[:2] in ("M3", "M4")] == [
        "M4 S0", "M3 S0", "M4 S0",
    ]  # fmt: skip
    with pytest.raises(gcode.GcodeError, match=r"move 1 wants power that is constant.*a dwell must come"):
        write(dwells((1, 0.5, True), (1, 0.5, False)), gcode.dialect("grbl"))
    with pytest.raises(gcode.GcodeError, match="move 0 wants power that follows the speed, which klipper"):
        write(line(dynamic=True), gcode.dialect("klipper"))
    for name in ("grbl", "smoothieware"):
        with pytest.raises(gcode.GcodeError, match=r"move 1 stands still, where.*is dark"):
            write(dwells((1, 0.5, True), (4, 0.5, True)), gcode.dialect(name))


def test_dark_moves_ask_for_no_change_of_mode() -> None:
    text = write(dwells((1, 0.5, True), (0, 0, False), (1, 0, False), (1, 1, True)), gcode.dialect("grbl"))
    assert text.count("M4 S0") == 1 and "M3" not in text


def test_z_is_written_first_and_where_it_changes() -> None:
    moves = gcode.Moves([[0, 0], [1, 0], [1, 0], [2, 0]], [1, 0, 1], [20] * 3, [1, 0, 1], z=[5, 5, 3, 3])
    from_zero = replace(moves, z=moves.z - 5)  # an earlier program may have left the head elsewhere
    for of, first, then in ((moves, "Z5", "Z3"), (from_zero, "Z0", "Z-2")):
        assert [t.split(" F")[0].split(" S")[0] for t in body(of, "grbl")] == [
            f"G0 X0 Y0 {first}", "G1 X1 Y0", f"G0 X1 Y0 {then}", "G1 X2 Y0",
        ]  # fmt: skip
    assert "Z" not in write(JUMP, gcode.dialect("grbl"))
    assert all("Z" in text for text in body(moves, "marlin"))


def test_inches() -> None:
    text = write(line(x=25.4, speed=25.4), INCH)
    assert "G20\n" in text and "G1 X1 Y0 F60 S500\n" in text


@pytest.mark.parametrize("turn", [2, 3])
def test_a_full_circle_is_one_arc_and_a_shorter_one_is_never_one(turn: int) -> None:
    full = gcode.Moves([[1, 0], [1, 0]], [1], [10], [turn], centre=[[0, 0]])
    assert body(full, "grbl")[1] == f"G{turn} X1 Y0 I-1 J0 F600 S1000"
    way = -1 if turn == 2 else 1
    for sweep in (1e-9, 1e-5, 1e-4, 1e-3):
        end, centre = arc(np.array([1.0, 0.0]), 1.0, 0.0, way * sweep)
        moves = gcode.Moves([[1, 0], end], [1], [10], [turn], centre=[centre])
        assert not any(text.startswith(f"G{turn}") for text in body(moves, "grbl")), sweep


@given(
    st.floats(1e-5, 500), st.floats(0, 7), st.floats(1e-6, 6.2831), st.booleans(), st.sampled_from(DIALECTS)
)
def test_no_arc_turns_into_another_one(
    radius: float, angle: float, sweep: float, clockwise: bool, dialect: gcode.Dialect
) -> None:
    start = np.array([12.34567, -3.21])
    end, centre = arc(start, radius, angle, -sweep if clockwise else sweep)
    moves = gcode.Moves([start, end], [1], [10], [2 if clockwise else 3], centre=[centre])
    if math.dist(start, end) == 0:
        return
    place = np.round(start, dialect.xy_decimals)
    length = 0.0
    for done in act(write(moves, dialect), dialect)[1:]:
        step = gcode.Moves([place, done.place[:2]], [1], [10], [done.kind], centre=[done.centre])
        length += float(step.length[0])
        place = np.array(done.place[:2])
    assert length == pytest.approx(radius * sweep, rel=0.01, abs=4e-3)


def test_arcs_become_chords_where_there_are_none() -> None:
    circle = gcode.Moves([[1, 0], [1, 0]], [1], [10], [3], centre=[[0, 0]])
    for tolerance in (0.01, 0.0001):
        dialect = gcode.dialect("klipper")
        points = np.array([a.place[:2] for a in act(write(circle, dialect, tolerance=tolerance), dialect)])
        middles = (points[1:] + points[:-1]) / 2
        assert 1 - np.hypot(*middles.T).min() <= tolerance + 1e-5
        assert len(points) > 2 / math.sqrt(tolerance)


@pytest.mark.parametrize("s_max", [1.0, 100.0, 255.0, 1000.0, 10000.0])
def test_every_pwm_level_survives_the_text(s_max: float) -> None:
    n = np.arange(1, 256)
    x = np.arange(256.0)
    moves = gcode.Moves.straight(np.c_[x, 0 * x], n / 255, np.full(255, 10.0), np.zeros(255, bool))
    powers = [a.power for a in act(write(moves, gcode.dialect("grbl"), s_max), gcode.dialect("grbl"))[1:]]
    # What GRBL's spindle_control.c makes of S with $30 = s_max and $31 = 0.
    assert [255 if s >= s_max else math.floor(254 * s / s_max) + 1 for s in powers] == n.tolist()
    marlin = write(moves, gcode.dialect("marlin"))
    assert [int(s) for s in re.findall(r" S([0-9]+)\n", marlin)][1:] == n.tolist()


@given(st.floats(0.01, 5000), st.sampled_from(DIALECTS))
def test_full_power_is_never_above_the_scale(s_max: float, dialect: gcode.Dialect) -> None:
    assert max(a.power for a in act(write(line(1.0), dialect, s_max), dialect)) <= s_max * (1 + 1e-14)


def test_a_feed_is_never_above_the_speed_even_after_rounding_errors() -> None:
    for speed in (50.0, 50 - 1e-12, 150 / 3.0000000000001):
        assert "F3000 " in write(line(speed=speed), gcode.dialect("grbl"))


def test_small_numbers_have_no_exponents() -> None:
    moves = gcode.Moves.straight([[0, 3e-5], [1e-5, 0], [-2e-5, 1]], [2e-5, 1], [1, 1], [False, False])
    assert body(moves, "linuxcnc") == [
        "G0 X0 Y0.00003", "M67 E0 Q0.00002", "G1 X0.00001 Y0 F60", "M67 E0 Q1", "G1 X-0.00002 Y1",
    ]  # fmt: skip


def test_moves_that_round_to_nothing_are_left_out_but_not_their_comments() -> None:
    moves = gcode.Moves(
        [[0, 0], [1e-5, 0], [1, 0], [1, 0], [1, 0]], [1, 0.5, 0, 0], [1, 2, 3, 1], [1, 1, 0, 4],
        comments=((0, "nothing"), (2, "nor this"), (4, "end")),
    )  # fmt: skip
    assert body(moves, "grbl")[1:] == [
        "; nothing", "G1 X1 Y0 F120 S500", "; nor this", "G1 F60 S0", "G4 P0", "; end",
    ]  # fmt: skip


def test_the_approach_is_as_fast_as_the_rapids() -> None:
    assert body(JUMP, "klipper")[0].endswith("F6000")
    assert body(line(speed=7), "klipper")[0].endswith("F420")
    waits = gcode.Moves([[0, 0], [0, 0], [1, 0]], [0, 1], [1, 7], [gcode.Kind.DWELL, gcode.Kind.LINE])
    assert body(waits, "klipper")[0].endswith("F420"), "not at the speed of the wait"
    assert body(gcode.Moves([[1, 2]], [], [], []), "klipper") == ["G0 X1 Y2 F600"]


def test_header_can_neither_move_nor_stop_the_machine() -> None:
    header = ["G1 X99 S1000\nG1 X98", "dose 20 mJ/cm², 1 µm\x18!?~\u0084 5 %d", "x" * 200, "\r\nG1 X97", ""]
    for dialect in EVERY:
        text = write(gcode.Moves([[0, 0]], [], [], [], comments=((0, "1) G1 X5"),)), dialect, header=header)
        assert len(act(text, dialect)) == 1
        assert "dose 20 mJ/cm2, 1 um" in text and "5 %d" in text
        assert text.isascii() and not set(dialect.realtime) & set(text)


def test_what_cannot_be_written_is_refused_before_anything_is() -> None:
    grbl = gcode.dialect("grbl")
    narrow = replace(grbl, name="narrow", line_limit=40, xy_decimals=9)
    far = gcode.Moves.straight([[0, 0], [-1234.123456789, -1234.123456789]], [1], [1], [False])
    spiral = gcode.Moves([[0, 0], [3, 0]], [1], [1], [2], centre=[[1, 0]])
    for moves, dialect, s_max, sentence in (
        (line(x=1e90), grbl, None, "coordinate 1e.90 mm is above"),
        (line(speed=0.001), grbl, None, r"speed 0.001 mm/s is below the smallest feed.*F0.1"),
        (line(speed=1e80), grbl, None, r"speed 1e.80 mm/s is above"),
        (line(), grbl, 0, "s_max is 0"),
        (line(), grbl, math.nan, "s_max is nan"),
        (line(), grbl, 1e60, r"s_max 1e.60 has more"),
        (far, narrow, None, "line .* has 4. characters, above narrow's 40"),
        (spiral, grbl, None, "move 0: the arc's radius goes from 1.0000 to 2.0000 mm"),
    ):  # fmt: skip
        with pytest.raises(gcode.GcodeError, match=sentence):
            write_lines(moves, dialect, s_max)
    fits = replace(narrow, line_limit=50)
    assert max(map(len, write(far, fits).splitlines())) in range(41, 51)


def test_save_writes_wholly_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "program.gcode"
    for dialect in EVERY:
        save(place, JUMP, dialect, header=["x"])
        assert place.read_bytes().decode() == write(JUMP, dialect, header=["x"])
    old = place.read_bytes()
    with pytest.raises(gcode.GcodeError, match="below the smallest feed"):
        save(place, line(speed=1e-9), gcode.dialect("grbl"))
    with pytest.raises(gcode.GcodeError, match=r"'.*missing.*' cannot be written"):
        save(tmp_path / "missing" / "a.gcode", JUMP, gcode.dialect("grbl"))
    with pytest.raises(gcode.GcodeError, match="cannot be written"):
        save(tmp_path, JUMP, gcode.dialect("grbl"))
    assert [p.name for p in tmp_path.iterdir()] == ["program.gcode"] and place.read_bytes() == old


def test_save_removes_what_killed_processes_left(tmp_path: Path) -> None:
    """Temporary files carry their time in hexadecimal; young ones may be in use, and others are not ours."""
    old, young, other = ".gcode-60000000-0123456789ab.tmp", ".gcode-7fffffff-0123456789ab.tmp", ".gcode-x.tmp"
    for name in (old, young, other):
        (tmp_path / name).touch()
    save(tmp_path / "program.gcode", JUMP, gcode.dialect("grbl"))
    assert {p.name for p in tmp_path.iterdir()} == {young, other, "program.gcode"}


def test_save_follows_links(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    save(tmp_path / "link", JUMP, gcode.dialect("grbl"))
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_text().endswith("M2\n")


@pytest.mark.parametrize("seed", [0, 1])
def test_chunks_make_no_difference(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    rows = 100
    moves = gcode.Moves(
        rng.normal(0, 1, (rows + 1, 2)), np.where(rng.random(rows) < 0.3, 0, 0.5), rng.choice([20, 30], rows),
        np.ones(rows), comments=tuple((k, f"{k} %") for k in range(0, rows + 1, 7)),
    )  # fmt: skip
    for dialect in EVERY:
        whole = write(moves, dialect)
        with monkeypatch.context() as patch:
            patch.setattr("gcode.writing._CHUNK", 9)
            chunks = list(write_lines(moves, dialect))
        assert len(chunks) > 10 and "".join(chunks) == whole
        assert all(chunk.endswith(dialect.line_end) for chunk in chunks)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)
def test_a_million_moves_are_written_and_read_in_seconds(dialect: gcode.Dialect, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = 1_000_000
    rapid = rng.random(rows) < 0.05
    power = np.where(rapid, 0, rng.random(rows))
    xy = np.cumsum(rng.normal(0, 0.05, (rows + 1, 2)), axis=0)
    moves = gcode.Moves.straight(xy, power, rng.uniform(1, 100, rows), rapid)
    within(400, lambda: save(tmp_path / "a.gcode", moves, dialect))
    assert (tmp_path / "a.gcode").stat().st_size > 15e6
    program = within(230, lambda: gcode.read((tmp_path / "a.gcode").read_text(), dialect))
    assert len(program.moves) > 0.99 * rows


@examples(30)
@given(programs(gcode.dialect("grbl")))
def test_writing_again_gives_the_same(moves: gcode.Moves) -> None:
    assert write(moves, gcode.dialect("grbl")) == write(moves, gcode.dialect("grbl"), 1000.0)

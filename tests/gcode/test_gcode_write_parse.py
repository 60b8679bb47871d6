"""parse(write(moves)) == moves, within what the decimals of the dialect can hold."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sets import few

import gcode
from gcode.move import Kind

EXAMPLES = int(os.environ.get("GCODE_FUZZ") or few(40))
often = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

INCH = replace(gcode.dialect("grbl"), name="grbl inch", header=("G20", "G90"), units="inch", xy_decimals=6)
PAUSE = replace(
    gcode.dialect("generic"), name="own power line", power="M42 P4 S{power}", power_line=True,
    power_max=255.0, dark_rapids=False, laser_on=(), laser_off=("M42 P4 S0",), comment="(",
    line_end="\r\n", dwell="G4 S{s}",
)  # fmt: skip
NAMED = replace(
    gcode.dialect("klipper"), name="own words", power="LASER POWER={power}", laser_off=("LASER POWER=0",),
    power_max=1.0, power_decimals=4, dwell="PAUSE MS={ms}", arcs=True, line_end="\r",
)  # fmt: skip
ARMED = replace(
    gcode.dialect("generic"), name="own arming", laser_on=("M64 P0", "S0"), laser_off=("M65 P0",), modal=True,
    units="inch", header=("G20", "G90", "M851 X0"), footer=("M400", "M30"), xy_decimals=5, dark_rapids=False,
)  # fmt: skip
DIALECTS = [*gcode.DIALECTS.values(), INCH, PAUSE, NAMED, ARMED]
each = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)


def assert_same(read: gcode.Moves, moves: gcode.Moves, dialect: gcode.Dialect, s_max: float) -> None:
    """Equal within the last digits of X Y Z I J, S and F (rounded down), and ms.

    Whether the power follows the speed is a question of lit moves alone; a dwell has no speed.
    """
    assert read.kind.tolist() == moves.kind.tolist()
    digit = 0.5001 * 10.0**-dialect.xy_decimals * dialect.unit
    np.testing.assert_allclose(read.xyz, moves.xyz, atol=digit, rtol=0)
    np.testing.assert_allclose(read.centre[moves.arc], moves.centre[moves.arc], atol=2 * digit, rtol=0)
    np.testing.assert_allclose(read.sweep, moves.sweep, atol=0.01)
    np.testing.assert_allclose(read.power, moves.power, atol=0.5001 * 10.0**-dialect.power_decimals / s_max)
    np.testing.assert_allclose(read.dwell, moves.dwell, atol=0.5001e-3)
    lit = moves.on & ~moves.rapid
    np.testing.assert_array_equal(read.dynamic[lit], moves.dynamic[lit])
    feeds = ~moves.still & (dialect.rapid_at_feed | ~moves.rapid)
    lost = (moves.speed - read.speed)[feeds]
    assert (lost <= 1.0001 * 10.0**-dialect.feed_decimals * dialect.unit / 60).all() and (lost > -1e-6).all()
    assert read.comments == moves.comments


coordinate = st.integers(-30_000, 30_000).map(lambda n: n / 100)
words = st.text("abcdefghij0123456789", min_size=1, max_size=12)


class Program:
    """Rows, one after the other. follows: whether the power follows the speed now."""

    def __init__(self, dialect: gcode.Dialect, follows: bool) -> None:
        self.dialect, self.follows = dialect, follows
        self.xyz: list[tuple[float, float, float]] = [(0.0, 0.0, 0.0)]
        self.rows: list[tuple[float, float, int, tuple[float, float], float, bool]] = []
        self.comments: list[tuple[int, str]] = []

    def add(
        self, place: tuple[float, float, float], power: float, speed: float, kind: int,
        centre: tuple[float, float] = (0.0, 0.0), dwell: float = 0.0,
    ) -> None:  # fmt: skip
        self.xyz.append(place)
        self.rows.append((power, speed, kind, centre, dwell, self.follows))

    def moves(self) -> gcode.Moves:
        xyz = np.array(self.xyz)
        columns = zip(*self.rows, strict=True) if self.rows else ([], [], [], np.zeros((0, 2)), [], [])
        power, speed, kind, centre, dwell, dynamic = map(np.array, columns)
        return gcode.Moves(
            xyz[:, :2], power, speed, kind.astype(np.int8), z=xyz[:, 2], centre=centre.reshape(-1, 2),
            dwell=dwell, dynamic=dynamic.astype(bool), comments=tuple(self.comments),
        )  # fmt: skip


@st.composite
def programs(draw: st.DrawFn, dialect: gcode.Dialect) -> gcode.Moves:
    """Whatever the dialect can say."""
    p = Program(dialect, dialect.always_dynamic or (dialect.dynamic_power and draw(st.booleans())))
    flat = draw(st.booleans())
    p.xyz[0] = (draw(coordinate), draw(coordinate), 0.0 if flat else draw(coordinate))
    for _ in range(draw(st.integers(0, 14))):
        for text in draw(st.lists(words, max_size=1)):
            p.comments.append((len(p.rows), text))
        x, y, z = p.xyz[-1]
        speed = draw(st.floats(0.5, 500))
        power = draw(st.one_of(st.just(0.0), st.just(1.0), st.floats(0.01, 1)))
        there = (draw(coordinate), draw(coordinate), z if flat or draw(st.booleans()) else draw(coordinate))
        kind = draw(st.sampled_from([0, 1, 1, 1, 2, 3, 4] if dialect.arcs else [0, 1, 1, 1, 4]))
        if kind == Kind.DWELL:
            dwell(draw, p, power)
        elif kind in (Kind.CLOCKWISE, Kind.COUNTERCLOCKWISE):
            arc(draw, p, power, speed, kind, there[2])
        elif there != (x, y, z):
            p.add(there, power if kind else 0.0, speed if kind or dialect.rapid_at_feed else 100.0, kind)
    if draw(st.booleans()):
        p.comments.append((len(p.rows), "end"))
    return p.moves()


def dwell(draw: st.DrawFn, p: Program, power: float) -> None:
    """Lit with what the move before had, or with anything where the dialect can say that."""
    dialect = p.dialect
    before, _, kind, *_ = p.rows[-1] if p.rows else (0.0, 0.0, 0)
    if p.follows:
        power = 0.0
    elif not (dialect.power_line or dialect.power_still):
        power = before if kind not in (Kind.RAPID, Kind.DWELL) and draw(st.booleans()) else 0.0
    p.add(
        p.xyz[-1], power, 10.0, Kind.DWELL, dwell=draw(st.one_of(st.just(0.0), st.integers(1, 5000))) / 1000
    )
    if dialect.dynamic_power and not dialect.always_dynamic and draw(st.booleans()):
        p.follows = not p.follows


def arc(draw: st.DrawFn, p: Program, power: float, speed: float, kind: int, z: float) -> None:
    x, y, _ = p.xyz[-1]
    radius, angle = draw(st.floats(1, 100)), draw(st.floats(0, 6.28))
    turn = draw(st.one_of(st.none(), st.floats(0.2, 6.0)))
    centre = (x - radius * np.cos(angle), y - radius * np.sin(angle))
    if turn is None:
        p.add((x, y, z), power, speed, kind, centre)
        return
    last = angle + (turn if kind == Kind.COUNTERCLOCKWISE else -turn)
    p.add(
        (centre[0] + radius * np.cos(last), centre[1] + radius * np.sin(last), z), power, speed, kind, centre
    )


@each
@often
@given(data=st.data())
def test_what_is_written_is_read(dialect: gcode.Dialect, data: st.DataObject) -> None:
    moves = data.draw(programs(dialect))
    s_max = data.draw(st.sampled_from([dialect.power_max, 255.0, 1000.0]))
    text = gcode.write(moves, dialect, s_max)
    program = gcode.read(text, dialect, s_max)
    assert_same(program.moves, moves, dialect, s_max)
    assert program.power_at_end == 0, "dark at the end"
    assert program.units_stated and program.distance_stated and program.start_stated
    assert not program.lit_rapids.size
    assert not [note for note in program.notes if "unknown" in note.message]


@each
@often
@given(data=st.data())
def test_what_is_read_is_written_the_same(dialect: gcode.Dialect, data: st.DataObject) -> None:
    """Once rounded, nothing changes any more."""
    text = gcode.write(data.draw(programs(dialect)), dialect)
    assert gcode.write(gcode.parse(text, dialect), dialect) == text


def test_arcs_are_chords_where_the_controller_knows_none() -> None:
    klipper = gcode.dialect("klipper")
    moves = gcode.parse("G0 X10 Y0\nM3 S500 F600 G3 X0 Y10 I-10\nG2 X-10 Y0 R10", gcode.dialect("grbl"))
    read = gcode.parse(gcode.write(moves, klipper, tolerance=0.001), klipper)
    assert_same(read, moves.chords(0.001), klipper, klipper.power_max)
    np.testing.assert_allclose(read.length.sum(), moves.length.sum(), rtol=1e-3)


FOREIGN = Path(__file__).parents[1] / "data" / "gcode" / "foreign"
EXPECTED = json.loads((FOREIGN / "expected.json").read_text())


@pytest.mark.parametrize("name", [name for name, expected in EXPECTED.items() if "error" not in expected])
def test_what_other_tools_write_is_written_and_read_again(name: str) -> None:
    """Stops of the controller's own become dwells of 0 s, which say the same."""
    dialect, s_max = gcode.dialect(EXPECTED[name]["dialect"]), EXPECTED[name]["s_max"]
    program = gcode.read((FOREIGN / name).read_bytes(), dialect, s_max)
    moves = replace(program.moves, comments=())
    if name == "jtech.gcode":
        with pytest.raises(gcode.GcodeError, match="stands still lit"):
            gcode.write(moves, dialect, s_max)  # inline power cannot be lit before the motion
        return
    assert_same(gcode.parse(gcode.write(moves, dialect, s_max), dialect, s_max), moves, dialect, s_max)


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parent / "golden").iterdir()), ids=lambda path: path.name
)
def test_golden_files_are_what_is_written(path: Path) -> None:
    """Compared as moves: how they are spelled is the writer's business."""
    name = path.name.split(".")[1]
    dialect = gcode.dialect(name if name in gcode.DIALECTS else "grbl")
    golden = gcode.parse(path.read_bytes(), dialect)
    moves = replace(golden, comments=())
    assert len(golden) and golden.on.any()
    assert_same(gcode.parse(gcode.write(moves, dialect), dialect), moves, dialect, dialect.power_max)

"""Any bytes at all: a program or a sentence with its line and column, and no motion word is dropped.

The suite looks at a few hundred programs of each kind; GCODE_FUZZ=50000 looks at that many.
"""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sets import few, one_fast

import gcode
from gcode.reading.program import Program
from gcode.reading.quick import Quick

EXAMPLES = int(os.environ.get("GCODE_FUZZ") or few(100))
often = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
DIALECTS = [gcode.dialect(name) for name in gcode.DIALECTS]
dialects = st.sampled_from(DIALECTS)
each = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: d.name)

NUMBERS = [
    "0", "1", "-2.5", "10", "+.5", "3.", "0.001", "120", "99999999999", "1e5", "1" * 60, "9" * 200, "",
    "²", "-",
]  # fmt: skip
LETTERS = "XYZIJRFSPEQNTKLO"
COMMANDS = [
    *(f"G{n}" for n in (0, 1, 2, 3, "01", 4, 17, 18, 20, 21, 28, 30, 53, 54, 55, 61, 64, 80, 90, 91, 92)),
    *("G90.1", "G91.1", "G92.1", "G93", "G94", "G10", "G43", "g1", "m3"),
    *(
        f"M{n}"
        for n in (0, 1, 2, 3, 4, 5, 6, 8, 9, 30, 42, 62, 67, 68, 82, 104, 106, 107, 110, 117, 220, 400)
    ),
    *("SET_PIN PIN=laser VALUE=0.5", "SET_PIN PIN=laser VALUE=9e9", 'RESPOND MSG="G1 X1"', "START_PRINT"),
    *("M67 E0 Q0.5", "M68 E0 Q0", "M3 I S0", "M5 I", "$H", "$30=1000", "$J=X1", "$$", "o100 sub", "#1=2"),
]
OTHER = [
    "(", ")", "(a)", ";", "; G1 X9", "%", "/", "*97", "*", "!", "~", "\x18", "\x00", "\ufeff", "\u0661",
    "é",
]  # fmt: skip
ENDS = ["\n", "\r\n", "\r"]

token = st.one_of(
    st.sampled_from(COMMANDS),
    st.sampled_from(OTHER),
    st.builds(str.__add__, st.sampled_from(LETTERS), st.sampled_from(NUMBERS)),
)
line = st.lists(token, max_size=6).flatmap(lambda t: st.sampled_from([" ".join(t), "".join(t)]))
tokens = st.lists(st.tuples(line, st.sampled_from(ENDS)), max_size=15).map(
    lambda lines: "".join(text + end for text, end in lines)
)


def check(text: str | bytes, dialect: gcode.Dialect) -> Program | None:
    """What holds of every text."""
    try:
        program = gcode.read(text, dialect)
    except gcode.GcodeError as error:
        refused = error
    else:
        refused = None
    if refused is not None:
        assert re.match(r"line [0-9]+, column [0-9]+: .", str(refused))
        assert (refused.line or 0) > 0 and (refused.column or 0) > 0
        return None
    moves, n = program.moves, len(program.moves)
    assert len(program.line) == len(program.characters) == n
    assert (np.diff(program.line) >= 0).all() and (program.characters >= 0).all()
    assert not n or (program.line.min() >= 1 and program.line.max() <= program.lines)
    if isinstance(text, str):
        size = len(text.encode("utf-8", "surrogatepass"))
        assert program.characters_before + program.characters.sum() + program.characters_after == size
    assert not moves.power[moves.rapid].any(), "dark in rapids"
    assert all(note.line <= program.lines and note.message for note in program.notes)
    return program


@often
@given(st.one_of(st.binary(max_size=200), st.text(max_size=100), tokens), dialects)
def test_any_text_is_a_program_or_a_sentence(text: str | bytes, dialect: gcode.Dialect) -> None:
    check(text, dialect)


@often
@given(tokens, dialects)
def test_bytes_lines_and_text_are_read_alike(text: str, dialect: gcode.Dialect) -> None:
    def read(source: object) -> object:
        try:
            program = gcode.read(source, dialect)  # type: ignore[arg-type]
        except gcode.GcodeError as error:
            return str(error)
        return columns(program)

    whole = read(text)
    assert read(text.encode()) == whole
    assert read(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)", text)) == whole


def columns(program: Program) -> list[object]:
    """All of a program that can be compared to the bit."""
    moves = program.moves
    names = ("xy", "z", "power", "speed", "kind", "centre", "dwell", "dynamic")
    facts = (program.line, program.characters, program.lit_rapids)
    rest = [getattr(program, name) for name in program.__slots__ if name not in ("moves",)]
    return [
        *(getattr(moves, name).tobytes() for name in names),
        *(fact.tobytes() for fact in facts),
        *(value for value in rest if not isinstance(value, np.ndarray)),
        moves.comments,
    ]


# Programs that most controllers take, so that most of them are read to the end.

place = st.one_of(st.integers(-50, 50), st.floats(-50, 50)).map(lambda v: f"{v:.4f}".rstrip("0").rstrip("."))
axes = st.sampled_from(["X", "Y", "XY", "XY", "XY", "XYZ", "Z"])
feed = st.sampled_from(["", "", "", "F600", "F1200.5"])
blank = st.sampled_from(["", " "])


@st.composite
def motion(draw: st.DrawFn, g: str) -> str:
    blanks = draw(blank)
    words = [*(f"{axis}{draw(place)}" for axis in draw(axes)), draw(feed)]
    words.append(draw(st.sampled_from(["", "", "", "S0", "S0.5", "S1", "F60"])))
    if draw(st.integers(0, 9)) == 0:
        words = draw(st.permutations(words))
    return blanks.join(filter(None, [g, *words]))


@st.composite
def arc(draw: st.DrawFn) -> str:
    g = draw(st.sampled_from(["G2", "G3"]))
    if draw(st.booleans()):  # a full turn
        return f"G0 X0 Y0\n{g} X0 Y0 I{draw(st.integers(1, 9))} J{draw(st.integers(-9, 9))} F600"
    return f"{g} X{draw(place)} Y{draw(place)} R{draw(st.integers(80, 200))}"


EVERYWHERE = ["G90", "G91", "G90", "G21", "G92 X0 Y0", "; words", "", "G1 X1 Y1", "G0 X0", "G0 Y3 Z1"]
WORDS = [
    *("G20", "G20", "F900", "S0.3", "M3", "M4", "M5", "M3 S0.4", "G4 P0.1", "G4 P0", "G92.1", "(G1 X9)"),
    *("G0", "G1", "G94", "M8", "G54", "G17", "G93", "S1 F60", "M4 S0.2"),
]
PIN = ("SET_PIN PIN=laser VALUE=0.5", "SET_PIN PIN=laser VALUE=0")
OWN = {
    "marlin": [
        "M3 I S0", "M3 I S0.5", "M5 I", "M106 S100", "M107", "M104 S0", "M400", "M3 S1", "M5", "G4 P10",
    ],
    "klipper": [*PIN, "M104 S0", "M400", "G4 P10", "M5"],
    "linuxcnc": [*WORDS, "M67 E0 Q0.25", "M67 E0 Q0", "M68 E0 Q0.5", "M68 E0 Q0"],
}  # fmt: skip


@st.composite
def programs(draw: st.DrawFn, dialect: gcode.Dialect) -> str:
    """A program that makes sense, most of the time, to its dialect."""
    printer = dialect.controller in ("marlin", "klipper")
    moves = st.sampled_from(
        ["G0", "G1", "G1", "G1"] if printer else ["G0", "G1", "G01", "G1", "", ""]
    ).flatmap(motion)
    line = st.one_of(
        moves, moves, moves, st.sampled_from(EVERYWHERE), st.sampled_from(OWN.get(dialect.name, WORDS))
    )
    if dialect.arcs:
        line = st.one_of(line, line, line, arc())
    lines = draw(st.lists(line, max_size=25))
    first = ["G0 X0 Y0 F600", "G21\nG90\nG0 X1 Y1 F600", "\n".join([*dialect.laser_on, "G0 X0 Y0 F600"]), ""]
    return draw(st.sampled_from(ENDS)).join([*draw(st.sampled_from(first)).split("\n"), *lines, ""])


@each
@often
@given(data=st.data())
def test_the_short_way_does_to_the_bit_what_the_long_way_does(
    dialect: gcode.Dialect, data: st.DataObject
) -> None:
    text = data.draw(programs(dialect))

    def read() -> list[object]:
        try:
            return columns(gcode.read(text, dialect, 1.0))
        except gcode.GcodeError as error:
            return [str(error)]

    short = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Quick, "ready", False)
        assert read() == short


def whole(text: str) -> list[tuple[float, ...]]:
    """Where motions end, read by 40 lines that share nothing with ours: (x, y, z) of each that moves.

    For G0–G3 on lines of their own, G20/21, G90/91, G92, G92.1; comments, F and S are passed over.
    """
    here, offset, unit, absolute, g = [0.0] * 3, [0.0] * 3, 1.0, True, None
    found: list[tuple[float, ...]] = []
    for line in re.split(r"\r\n|\r|\n", text):
        line = re.sub(r"\(.*?\)|;.*", "", line).upper()
        if re.match(r"SET_PIN|M[0-9]", line):
            continue
        words = [(a, float(b)) for a, b in re.findall(r"([A-Z]) *([-+]?[0-9.]+)", line)]
        codes = [v for a, v in words if a == "G"]
        unit = 25.4 if 20 in codes else 1.0 if 21 in codes else unit
        absolute = True if 90 in codes else False if 91 in codes else absolute
        g = next((v for v in codes if v in (0, 1, 2, 3)), g)
        axes = {a: v * unit for a, v in words if a in "XYZ"}
        turn = any(a in "IJR" for a, _ in words)
        if 92 in codes:
            for k, axis in enumerate("XYZ"):
                offset[k] = here[k] - axes[axis] if axis in axes else offset[k]
            continue
        if 92.1 in codes:
            offset = [0.0] * 3
        if 4 in codes or not (axes or turn):
            continue
        there = list(here)
        for k, axis in enumerate("XYZ"):
            if axis in axes:
                there[k] = axes[axis] + (offset[k] if absolute else here[k])
        if there != here or g in (2, 3):
            found.append(tuple(there))
        here = there
    return found


@each
@often
@given(data=st.data())
def test_every_motion_word_is_accounted_for(dialect: gcode.Dialect, data: st.DataObject) -> None:
    text = data.draw(programs(dialect))
    try:
        moves = gcode.parse(text, dialect, 255.0, start=(0.0, 0.0))
    except gcode.GcodeError:
        return
    ends = np.column_stack([moves.xy, moves.z])[1:][~moves.still]
    expected = np.array(whole(text)).reshape(-1, 3)
    assert ends.shape == expected.shape
    np.testing.assert_allclose(ends, expected, atol=1e-6)


@often
@given(st.lists(motion("G1"), min_size=1, max_size=8), st.integers(0, 7), dialects)
def test_a_line_that_is_cut_short_moves_no_further(
    lines: list[str], cut: int, dialect: gcode.Dialect
) -> None:
    """Each line adds rows of its own at most; those before it stay what they were."""
    head = "G0 X0 Y0 F600\n"

    def read(count: int) -> Program | None:
        try:
            return gcode.read(head + "\n".join(lines[:count]), dialect, 1.0)
        except gcode.GcodeError:
            return None

    part, full = read(min(cut, len(lines))), read(len(lines))
    if part is not None and full is not None:
        n = len(part.moves)
        assert full.moves.xy[: n + 1].tolist() == part.moves.xy.tolist()
        assert full.line[:n].tolist() == part.line.tolist()


@pytest.mark.parametrize("dialect", one_fast(DIALECTS, gcode.dialect("linuxcnc")), ids=lambda d: d.name)
@pytest.mark.parametrize("piece", ["(", "G1 ", "X", "1", ";", "*", "[", '"', "G1X1", "\r", "%", "N1", "S1 "])
def test_a_long_repetition_takes_no_long_time(piece: str, dialect: gcode.Dialect) -> None:
    check(piece * 30_000, dialect)
    check("G1 X1 F60" + piece * 30_000 + "\n", dialect)


def test_a_power_in_a_rapid_is_stated_on_both_ways() -> None:
    """M3 after it lights with nothing that an earlier program left."""
    text, dialect = "G0 X0 Y0 F600\nG0X0\nG0X1\nG0X0S0\nM3\n", gcode.dialect("grblhal")
    assert gcode.read(text, dialect, 1.0).lit_rests == ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Quick, "ready", False)
        assert gcode.read(text, dialect, 1.0).lit_rests == ()

"""No line is longer than its controller takes: comments are wrapped, `verify` and `check` measure lines."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from readers.programs import LONG_COMMENTS

import gcode

CRLF = replace(gcode.dialect("linuxcnc"), name="crlf", line_end="\r\n")
BRACKETS = replace(CRLF, name="brackets", comment="(", line_end="\n")
OWN = replace(gcode.dialect("generic"), name="own", line_limit=40)
EVERY = [*gcode.DIALECTS.values(), CRLF, BRACKETS, OWN]
LONGEST = {
    "grbl": 79, "grblhal": 256, "marlin": 95, "klipper": 160, "smoothieware": 128, "linuxcnc": 252,
    "generic": 79, "crlf": 252, "brackets": 252, "own": 40,
}  # fmt: skip
"""Bytes, the CR before an LF among them."""

ENVELOPE = gcode.Envelope(box=(0, 0, 300, 200))

each = pytest.mark.parametrize("dialect", EVERY, ids=lambda d: d.name)


def moves() -> gcode.Moves:
    return gcode.Moves.straight([[1, 1], [11, 1]], [0.5], [20], [False])


def raw_lines(text: str, dialect: gcode.Dialect) -> list[str]:
    """As a controller has them that ends a line at LF."""
    assert text.endswith(dialect.line_end)
    return text.split("\n")[:-1]


@each
@pytest.mark.parametrize("name", LONG_COMMENTS)
def test_long_comments_are_wrapped(dialect: gcode.Dialect, name: str) -> None:
    said = LONG_COMMENTS[name]
    text = gcode.write(replace(moves(), comments=((0, said),)), dialect, header=[said])
    assert max(len(line.encode()) for line in raw_lines(text, dialect)) <= LONGEST[dialect.name]
    program = gcode.verify(text, dialect, asked=moves())
    assert len(program.moves) == 1
    assert gcode.examine(text, dialect, replace(ENVELOPE, s_max=dialect.power_max)).errors == 0


@each
def test_wrapping_loses_nothing_but_blanks(dialect: gcode.Dialect) -> None:
    said = "every-word " * 30 + "/a/path/without/a/blank" * 40
    text = gcode.write(moves(), dialect, header=[said])
    words = [line.strip("();\r ") for line in raw_lines(text, dialect) if line[0] in ";("]
    assert "".join(words).replace(" ", "") == said.replace(" ", "")


COUNTS_COMMENTS = [dialect for dialect in EVERY if dialect.line_counts == "all" and dialect.line_excess]


@pytest.mark.parametrize("dialect", COUNTS_COMMENTS, ids=lambda d: d.name)
def test_a_longer_comment_is_no_proof(dialect: gcode.Dialect) -> None:
    text, fits = gcode.write(moves(), dialect), "; " + "c" * (dialect.line_room - 2)
    gcode.verify(f"{fits}{dialect.line_end}{text}", dialect)
    limit = LONGEST[dialect.name]
    with pytest.raises(
        gcode.GcodeError, match=rf"has {limit + 1} characters, above {dialect.name}'s {limit}"
    ):
        gcode.verify(f"{fits}c{dialect.line_end}{text}", dialect)


BEYOND = [
    # dialect, bytes before the comment, bytes of the comment, words of the error; none if it is none
    ("linuxcnc", 5, 247, ""), ("linuxcnc", 5, 248, r"253 characters, above linuxcnc's 252.*Command too long"),
    ("grblhal", 5, 251, ""), ("grblhal", 5, 252, r"257 characters, above grblhal's 256.*error 11"),
    ("grbl", 79, 900, ""), ("grbl", 80, 0, r"80 characters, above grbl's 79.*error 11"),
    ("marlin", 95, 0, ""), ("marlin", 5, 91, ""), ("marlin", 96, 0, r"above marlin's 95.*drops the rest"),
    ("smoothieware", 5, 123, ""), ("smoothieware", 5, 124, r"above smoothieware's 128.*drops it in silence"),
    ("klipper", 5, 9999, ""), ("generic", 5, 75, r"above generic's 79.*may reject it"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words", "comment", "error"), BEYOND)
def test_check_and_proof_count_as_the_controller_does(
    name: str, words: int, comment: int, error: str
) -> None:
    dialect = gcode.dialect(name)
    line = "G0X".ljust(words, "0") + ";".ljust(comment, "c") * bool(comment)
    text = gcode.write(moves(), dialect).replace("G0 ", f"{line}\nG0 ", 1)
    found = gcode.check(text, dialect, replace(ENVELOPE, s_max=dialect.power_max))
    said = [f.message for f in found if f.error and "characters" in f.message]
    assert len(said) == bool(error) and re.search(error, " ".join(said))
    if error:
        with pytest.raises(gcode.GcodeError, match="characters"):
            gcode.verify(text, dialect)


def test_check_counts_bytes_and_carriage_returns() -> None:
    dialect = gcode.dialect("linuxcnc")
    text = gcode.write(moves(), dialect)
    for line, end, fits in (
        ("; " + "ö" * 125, "\n", True), ("; " + "ö" * 125 + "c", "\n", False),
        ("; " + "c" * 249, "\r\n", True), ("; " + "c" * 250, "\r\n", False),
    ):  # fmt: skip
        told = (line + "\n" + text).replace("\n", end)
        for program in (told, told.encode()):
            found = gcode.check(program, dialect, replace(ENVELOPE, s_max=1))
            assert any("above linuxcnc's 252" in f.message for f in found) != fits


def test_only_what_linuxcnc_would_run_is_changed() -> None:
    said = ["py,quit()", "copy, then (py,quit()); py,x", "PY,a", "happy, py, py"]
    text = gcode.write(moves(), gcode.dialect("linuxcnc"), header=said)
    told = [line[2:] for line in text.splitlines() if line[0] == ";"]
    assert told == ["py.quit()", "copy, then (py.quit()); py.x", "PY.a", "happy, py, py"]

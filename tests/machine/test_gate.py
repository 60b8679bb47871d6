"""No program that could light where it must not passes the gate, and every one of ours does.

Unsafe programs are made from our own, for each controller, by the tables below: a line that lights, at a
place where it must not stand; and edits of the lines that are there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import SPOKEN
from sets import one_fast

import gcode
from laserpath import InputError
from laserpath.calibration import chart
from laserpath.cli import main
from laserpath.cli.ending import BAD_INPUT
from laserpath.config import profiles
from laserpath.machine import convert, gate, rest
from laserpath.machine.framing import frame, tour
from laserpath.machine.program import export
from laserpath.machine.rest import rested
from laserpath.types import Design, Machine, Process, Toolpath

NAMES = ("grbl", "grblhal", "marlin", "klipper", "linuxcnc", "smoothieware", "generic")
FEWEST = 30
"""Unsafe programs for each controller."""

Lines = list[str]


@dataclass(frozen=True)
class Own:
    """A program of ours: two strokes with a travel between them, and the moves that it was written from."""

    machine: Machine
    moves: gcode.Moves
    text: str

    @property
    def lines(self) -> Lines:
        return self.text.splitlines()

    def verify(self, text: str, asked: bool = True) -> gcode.Program:
        dialect = convert.dialect_of(self.machine)
        return gcode.verify(text, dialect, self.machine.s_max, asked=self.moves if asked else None)


@cache
def own(name: str) -> Own:
    machine = Machine(dialect=name)
    path = Toolpath(
        np.array([[1, 1], [3, 1], [3, 2], [5, 5], [6, 5], [6, 6]]),
        np.array([3.0, 1.0, 0.0, 2.0, 2.0]), np.array([40.0, 40, min(machine.rapid_speed), 40, 30]),
    )  # fmt: skip
    moves = rested(export(path, Process(machine=machine)), machine)
    return Own(machine, moves, gate.verified(moves, machine, ["two strokes"])[0])


@pytest.mark.parametrize(
    "steps", [(5.0, 5.0), (80.0, 80.0), (250.0, 1000.0), (5000.0, 5000.0), (1e5, 1e5), None]
)
def test_the_dark_move_before_a_path_has_steps_and_time_with_any_motors(
    steps: tuple[float, float] | None,
) -> None:
    """Also with coarse ones on a slow machine, and where a motor step is finer than what is written."""
    machine = Machine(steps=steps, speed_max=(10.0, 10.0))
    path = Toolpath(np.array([[1, 1], [1.3, 1.4]]), np.array([3.0]), np.array([5.0]))
    moves = rested(export(path, Process(machine=machine)), machine)
    _, program = gate.verified(moves, machine)
    read = program.moves
    lit = int(np.argmax(read.on))
    way = np.abs(read.xy[lit] - read.xy[lit - 1])
    assert (way * (steps or (250, 250))).max() >= 17  # of 18, since places are rounded to 1 µm
    assert read.speed[lit - 1] <= 10
    assert np.hypot(*way) / read.speed[lit - 1] >= convert.controller(machine).run_in - 1e-9


# Lines that light, by controller: {half} and {full} are powers, {over} is above full.

_S = ("M3 S{half}", "M3 S{full}", "M4 S{full}", "S{half}", "M3", "G1 F60 S{half}", "M106 S255", "M3 S{over}")
LIGHTS: dict[str, tuple[str, ...]] = {
    "grbl": _S,
    "grblhal": _S,
    "smoothieware": ("M3 S{half}", "S{half}", "G1 F60 S{half}", "M3 S{over}", "M67 E0 Q1", "M106 S255"),
    "generic": tuple(line for line in _S if line != "M3"),  # armed by M3 already
    "marlin": (
        "M3 S{half}", "M3 I S{half}", "M4 S{half}", "M106 S{half}", "M106", "M3 S{over}", "M42 P4 S255",
    ),
    "klipper": (
        "SET_PIN PIN=laser VALUE={half}", "SET_PIN PIN=laser VALUE={full}", "SET_PIN PIN=laser VALUE={over}",
        "SET_PIN PIN=laser2 VALUE=1", "M106 S255", "LASER_ON",
    ),
    "linuxcnc": (
        "M68 E0 Q{half}", "M68 E0 Q{full}", "M67 E0 Q{half}", "M67 E0 Q{over}", "M64 P0", "M62 P0",
        "M106 S255",
    ),
}  # fmt: skip


# Places, as the index of the line before which a line is put.


def moves_of(lines: Lines, kind: str) -> list[int]:
    return [k for k, line in enumerate(lines) if line.startswith(kind + " ")]


PLACES: dict[str, Callable[[Lines], int]] = {
    "after the header": lambda lines: moves_of(lines, "G0")[0],
    "after the first travel": lambda lines: moves_of(lines, "G0")[0] + 1,
    "before the wait": lambda lines: moves_of(lines, "G4")[-1],
    "after the wait": lambda lines: moves_of(lines, "G4")[-1] + 1,
    "before the second travel": lambda lines: moves_of(lines, "G0")[1],
    "after the second travel": lambda lines: moves_of(lines, "G0")[1] + 1,
    "within a stroke": lambda lines: moves_of(lines, "G1 X3")[0] + 1,
    "after the last stroke": lambda lines: moves_of(lines, "G1")[-1] + 1,
    "at the end": len,
}  # fmt: skip


def inserted(program: Own, name: str) -> Iterator[tuple[str, str]]:
    """Every line that lights at every place."""
    full = program.machine.s_max
    for template in LIGHTS[name]:
        light = template.format(half=f"{full / 2:g}", full=f"{full:g}", over=f"{2 * full:g}")
        for place, index in PLACES.items():
            lines = program.lines
            lines.insert(index(lines), light)
            yield f"{light} {place}", "\n".join([*lines, ""])


# Edits: pattern, replacement, and of which match: 0 the first, -1 the last, None all.

_POWER = r"(?<=S)[\d.]+|(?<=VALUE=)[\d.]+|(?<=Q)[\d.]+"
_OFF = r"M5( I)?\n|M68 E0 Q0\n|SET_PIN PIN=laser VALUE=0\n"
EDITS: dict[str, tuple[str, str | Callable[[re.Match[str]], str], int | None]] = {
    "the travel is drawn": (r"G0 (?=X5)", "G1 ", 0),
    "the travel is missing": (r"G0 X5.*\n", "", 0),
    "a stroke goes elsewhere": (r"G1 X3 Y2", "G1 X3 Y9", 0),
    "a move is missing": (r"G1 X3 Y2.*\n", "", 0),
    "a move comes twice": (r"(G1 X6 Y6.*\n)", r"\1G1 X5 Y5\n\1", -1),
    "powers of another scale": (_POWER, lambda m: f"{float(m[0]) / 2:g}", None),
    "one power is higher": (
        r"(G1 X3 Y1 .*S|VALUE=|M67 E0 Q)(0*[.\d]*[1-9]\d*)", lambda m: f"{m[1]}{float(m[2]) * 1.1:.4g}", 0,
    ),
    "slower than asked": (r"F\d+(?=\D)", "F60", None),
    "a wait within a stroke": (r"(G1 X3 Y1 .*\n)", r"\1G4 P1\n", 0),
    "a tool change within a stroke": (r"(G1 X3 Y1 .*\n)", r"\1M6 T1\n", 0),
    "a pause within a stroke": (r"(G1 X3 Y1 .*\n)", r"\1M0\n", 0),
    "relative places": (r"G90\n", "G91\n", 0),
    "inches": (r"G21\n", "G20\n", 0),
    "shifted places": (r"(G1 X3 Y1 .*\n)", r"\1G92 X0\n", 0),
    "home within a stroke": (r"(G1 X3 Y1 .*\n)", r"\1G28\n", 0),
    "nothing turns it off at the end": (rf"(?:{_OFF})+(?=(?:S0\n|G0 S0\n|M2\n)*\Z)", "", 0),
    "the end is broken off": (r"(G1 X6 Y6.*\n)[\s\S]*", r"\1", -1),
    "lit after the end": (r"\Z", "M3 S100\nG1 X9 Y9 F600 S100\n", 0),
    "an unknown word": (r"(G1 X3 Y1 .*\n)", r"\1M777\n", 0),
    "an unknown macro": (r"(G1 X3 Y1 .*\n)", r"\1LIGHT_ON\n", 0),
    "a jog": (r"(G1 X3 Y1 .*\n)", r"\1$J=X9 F600\n", 0),
    "no coordinates": (r"G1 X3 Y2(.*\n)", r"G1\1", 0),
}  # fmt: skip


def edited(text: str, pattern: str, by: str | Callable[[re.Match[str]], str], which: int | None) -> str:
    found = list(re.finditer(pattern, text))
    for match in reversed(found if which is None else [found[which]] if found else []):
        new = by(match) if callable(by) else match.expand(by)
        text = text[: match.start()] + new + text[match.end() :]
    return text


def unsafe(name: str) -> dict[str, str]:
    """The unsafe programs for a controller."""
    program = own(name)
    made = dict(inserted(program, name))
    made |= {what: edited(program.text, *edit) for what, edit in EDITS.items()}
    return {what: text for what, text in made.items() if text != program.text}


@pytest.mark.parametrize("name", NAMES)
def test_no_unsafe_program_passes(name: str) -> None:
    program, made = own(name), unsafe(name)
    passed = [what for what, text in made.items() if not refused(program, text)]
    assert not passed, "; ".join(passed)
    assert len(made) >= FEWEST


def refused(program: Own, text: str, asked: bool = True) -> bool:
    try:
        program.verify(text, asked=asked)
    except gcode.GcodeError:
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_light_where_the_head_rests_is_found_without_knowing_the_moves(name: str) -> None:
    """Of a program whose moves are not known, only a stroke's own power, way and speed cannot be judged: and
    M3 at power 0 makes it one of constant power.
    """
    program, unknown = own(name), r"M3 [ab]|.*(within a stroke|after the second travel)$"
    made = {what: text for what, text in inserted(program, name) if not re.match(unknown, what)}
    passed = [what for what, text in made.items() if not refused(program, text, asked=False)]
    assert not passed, "; ".join(passed)


@pytest.mark.parametrize("name", one_fast(NAMES, "grbl", "marlin"))
def test_the_check_of_files_reports_what_the_gate_refuses(name: str) -> None:
    """Of programs whose moves are not known; of ours, it reports at most speeds that are not reached."""
    program = own(name)
    dialect = convert.dialect_of(program.machine)
    envelope = convert.envelope(program.machine, dialect)

    def found(text: str) -> list[str]:
        messages = [finding.message for finding in gcode.check(text, dialect, envelope)]
        return [message for message in messages if "commanded" not in message]

    made = {what: text for what, text in unsafe(name).items() if refused(program, text, asked=False)}
    silent = [what for what, text in made.items() if not found(text)]
    assert not silent, "; ".join(silent)
    assert len(made) >= FEWEST
    assert found(program.text) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_check_of_files_calls_a_program_that_ends_in_a_stroke_an_error(name: str) -> None:
    """Copied or sent in part: after each line of a stroke, and in the middle of the next one."""
    program = own(name)
    dialect = convert.dialect_of(program.machine)
    envelope = convert.envelope(program.machine, dialect)
    rows = gcode.read(program.text, dialect, program.machine.s_max)
    lit = sorted(set(rows.line[rows.moves.on].tolist()))
    lines = program.text.splitlines(keepends=True)
    for number in (lit[0], lit[len(lit) // 2], lit[-2], lit[-1]):
        cut = "".join(lines[:number])
        for text in (cut, f"{cut}; in a comment", f"{cut}G1"):
            assert gcode.examine(text, dialect, envelope).errors, repr(text[-60:])


@pytest.mark.parametrize("name", NAMES)
def test_the_sentence_names_the_line(name: str) -> None:
    program = own(name)
    lines = program.lines
    place = PLACES["before the second travel"](lines)
    lines.insert(place, LIGHTS[name][0].format(half=program.machine.s_max / 2, full=0, over=0))
    with pytest.raises(gcode.GcodeError, match=rf"^line {place + 1}\b") as error:
        program.verify("\n".join([*lines, ""]))
    assert error.value.line == place + 1


# What a dialect says


def spoken(name: str, **fields: object) -> gcode.Dialect:
    return replace(gcode.dialect(name), name="mine", **fields)  # type: ignore[arg-type]


FALSE_DIALECTS: dict[str, tuple[str, dict[str, object]]] = {
    "footer arms": ("grbl", {"footer": ("M3 S1000",)}),
    "footer arms, then ends": ("grbl", {"footer": ("M3 S1000", "M2")}),
    "footer draws": ("grbl", {"footer": ("G1 X9 Y9 F600 S500", "M2")}),
    "footer says a power": ("grbl", {"footer": ("S500", "M2")}),
    "header draws": ("grbl", {"header": ("G21", "G90", "M3 S500", "G1 X1 Y1 F600", "M5")}),
    "header lights an output": ("marlin", {"header": ("G21", "G90", "M106 S255")}),
    "header sets a pin": ("marlin", {"header": ("G21", "G90", "M42 P4 S255")}),
    "header sets a pin by name": ("klipper", {"header": ("G21", "G90", "SET_PIN PIN=laser VALUE=500")}),
    "header sets another pin": ("klipper", {"header": ("G21", "G90", "SET_PIN PIN=fan VALUE=1")}),
    "header calls a macro": ("klipper", {"header": ("G21", "G90", "START_PRINT")}),
    "header sets an output": ("linuxcnc", {"header": ("G21", "G90", "M64 P0")}),
    "header jogs": ("grbl", {"header": ("G21", "G90", "$J=X9 F600")}),
    "arms lit": ("grbl", {"laser_on_dynamic": ("M4 S500",)}),
    "arms at constant power": ("grbl", {"laser_on_dynamic": ("M3 S0",)}),
    "arms without a power": ("generic", {"laser_on": ("M3",), "laser_off": ("M9",)}),
    "never disarms": ("grbl", {"laser_off": ()}),
    "arms to disarm": ("grbl", {"laser_off": ("M3 S500",)}),
    "its pin stays on": ("klipper", {"laser_off": ("SET_PIN PIN=laser VALUE=5",)}),
    "its pin is never set to 0": ("klipper", {"laser_off": ()}),
    "its output keeps the power": ("linuxcnc", {"laser_off": ("M5",)}),
    "another pin is set to 0": ("klipper", {"laser_off": ("SET_PIN PIN=fan VALUE=0",)}),
    "a power is a move too": ("grbl", {"power": "S{power} M3"}),
    "its pin is said to be dark in travels": ("klipper", {"dark_rapids": True}),
    "its power is said to follow the speed": ("marlin", {"always_dynamic": True}),
    "a dwell lights": ("marlin", {"dwell": "M106 P{ms}"}),
    "a dwell sets the pin": ("klipper", {"dwell": "SET_PIN PIN=laser VALUE={s}"}),
    "a dwell is a macro": ("klipper", {"dwell": "LASER_ON T={s}"}),
    "a dwell has a power": ("grbl", {"dwell": "G4 P{s} S500"}),
    "a dwell is a power": ("grbl", {"dwell": "S{s}"}),
    "a dwell moves": ("grbl", {"dwell": "G0 X100 G4 P{s}"}),
    "a dwell makes places relative": ("grbl", {"dwell": "G91 G4 P{s}"}),
    "a power moves": ("linuxcnc", {"power": "M67 E0 Q{power} X9"}),
    "a power moves up": ("grbl", {"power": "S{power} Z9"}),
    "another output is turned off": ("linuxcnc", {"power": "M67 E1 Q{power}"}),
    "another pin is lit at rest": ("klipper", {"power_still": "SET_PIN PIN=b VALUE={power}"}),
    "its power is said to be 0 after a travel": ("grbl", {"rapid_resets": True}),
    "its fan is said to be unknown": ("marlin", {"laser_off": ("M5 I", "M106"), "unknown": ("M106",)}),
    "a fan turns it off": ("marlin", {"laser_off": ("M5 I", "M106 P1")}),
    "an LED turns it off": (
        "klipper", {"laser_off": ("SET_PIN PIN=laser VALUE=0", "SET_LED LED=a RED=1")},
    ),
    "a pin's power is in quotes": (
        "klipper", {"laser_off": ("SET_PIN PIN=laser VALUE=0", "SET_PIN PIN=b VALUE='1'")},
    ),
    "a power hides beside an unknown word": ("grbl", {"laser_on_dynamic": ("S0", "M4 S500 M42")}),
    "header calls a short macro": ("klipper", {"header": ("G21", "G90", "L1")}),
    "header sets a fan's output": ("klipper", {"header": ("G21", "G90", "SET_FAN_SPEED FAN=a SPEED=1")}),
    "header calls a user's program": ("linuxcnc", {"header": ("G21", "G90", "M104 S200")}),
    "header scales the power": ("smoothieware", {"header": ("G21", "G90", "M221 S500")}),
    "header scales the speed": ("generic", {"header": ("G21", "G90", "M220 S50")}),
    "a command with a power turns it off": ("smoothieware", {"laser_off": ("M5", "fire 50")}),
    "footer leaves a power to the next program": ("grbl", {"footer": ("M5 S500", "M2")}),
    "header states a power beside coolant": ("linuxcnc", {"header": ("G21", "G90", "M8 S500")}),
    "header has Python": ("linuxcnc", {"header": ("G21", "G90", ";py,self.execute('M68 E0 Q1')")}),
}  # fmt: skip


@pytest.mark.parametrize("what", FALSE_DIALECTS)
def test_nothing_that_a_dialect_says_lights(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way a dialect came in: here the check of files is passed by."""
    base, fields = FALSE_DIALECTS[what]
    program = own(base)
    dialect = spoken(base, **fields)
    monkeypatch.setattr(convert, "dialect_of", lambda machine: dialect)
    with pytest.raises((InputError, gcode.GcodeError)) as error:
        gate.verified(program.moves, program.machine)
    assert "\n" not in str(error.value)


def test_a_word_of_the_dialects_own_lines_is_no_excuse_elsewhere() -> None:
    """Notes are kept once each; the first may be on a line that the dialect itself has."""
    off = "SET_PIN PIN=fan VALUE=0"
    dialect = spoken("klipper", laser_off=("SET_PIN PIN=laser VALUE=0", off))
    program = own("klipper")
    text = gcode.write(program.moves, dialect, program.machine.s_max)
    gcode.verify(text, dialect, program.machine.s_max, asked=program.moves)
    lit = text.replace("G4 ", "SET_PIN PIN=fan VALUE=1\nG4 ", 1)
    with pytest.raises(gcode.GcodeError, match="SET_PIN FAN neither moves nor lights"):
        gcode.verify(lit, dialect, program.machine.s_max, asked=program.moves)


@pytest.mark.parametrize("comment", [";py,self.execute('M68 E0 Q1')", "( PY,x)"])
def test_a_comment_that_linuxcnc_runs_is_refused_and_never_written(comment: str) -> None:
    program, dialect = own("linuxcnc"), gcode.dialect("linuxcnc")
    with pytest.raises(gcode.GcodeError, match=r"^line 1: LinuxCNC runs this comment as Python"):
        program.verify(f"{comment}\n{program.text}")
    for mark in (";", "("):
        marked = replace(dialect, comment=mark)
        text = gcode.write(program.moves, marked, program.machine.s_max, [comment[1:]])
        assert "py," not in text.lower()
        gcode.verify(text, marked, program.machine.s_max, asked=program.moves)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('footer = ["M3 S1000"]', "footer has 'M3 S1000', but M3 arms the laser"),
        ('laser_on_dynamic = ["M4 S500"]', "is not safe, so it is not written: line"),
        (r'power = "S{power}\nM3 S1000"', "must be one line of printable ASCII"),
    ],
)
def test_a_false_dialect_ends_in_one_sentence_and_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, sentence: str
) -> None:
    (tmp_path / "false.toml").write_text(f'base = "grbl"\n{line}\n')
    shipped = Path(profiles.__path__[0]) / "machines" / "grbl-diode-405.toml"
    machine = tmp_path / "mine.toml"
    machine.write_text(shipped.read_text().replace('dialect = "grbl"', 'dialect = "false.toml"'))
    assert "false.toml" in machine.read_text()
    with pytest.raises(SystemExit) as done:
        main(["calibrate", "--machine", str(machine), "-o", str(tmp_path / "out")])
    error = capsys.readouterr().err
    assert done.value.code == BAD_INPUT
    assert sentence in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


# Ours pass


@pytest.mark.parametrize("name", NAMES)
def test_frames_and_charts_pass(name: str) -> None:
    """Their functions write through the gate, which raises; and they pass without their moves too."""
    machine = Machine(dialect=name)
    design = Design(shapely.MultiPolygon([shapely.box(1, 1, 4, 3)]), "frame")
    for text in (
        own(name).text,
        *(frame(design, Process(machine=machine), lit=lit) for lit in (False, True)),
        chart(Process(machine=machine), powers=2, speeds=2).program,
    ):
        assert not refused(own(name), text, asked=False)


@pytest.mark.parametrize("name", sorted(profiles.shipped("machine")))
def test_frames_and_charts_of_the_profiles_pass(name: str) -> None:
    machine = profiles.machine(name)
    design = Design(shapely.MultiPolygon([shapely.box(0.1, 0.1, 0.4, 0.3)]), "frame")
    program = Own(machine, own("grbl").moves, "")
    for lit in (False, True):
        assert not refused(program, frame(design, Process(machine=machine), lit=lit), asked=False)


def test_headers_and_footers_may_park_and_set_modes() -> None:
    dialect = spoken(
        "grbl", header=("G21", "G90", "M8", "G54"), footer=("M9", "G0 X0 Y0", "S0", "M2"), comment="("
    )
    program = own("grbl")
    text = gcode.write(program.moves, dialect)
    gcode.verify(text, dialect, asked=program.moves)


def test_a_header_that_is_not_wrapped_passes_no_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    header, program = ["Settings: " + "x" * 300], own("linuxcnc")
    text, _ = gate.verified(program.moves, program.machine, header)
    assert max(map(len, text.splitlines())) == 252
    monkeypatch.setattr("gcode.writing.textwrap.wrap", lambda row, width: [row])
    with pytest.raises(
        InputError, match=r"not written: line 1: the line has 312 characters, above linuxcnc's 252"
    ):
        gate.verified(program.moves, program.machine, header)


@pytest.mark.parametrize("name", [name for name in NAMES if gcode.dialect(name).halt])
def test_only_what_is_dark_throughout_may_wait_for_the_user(name: str) -> None:
    """A head that stands lit while the user reads a place would burn."""
    machine = Machine(dialect=name)
    text = tour({"A": (1, 1), "B": (5, 5)}, machine, "board")
    assert text.count("M0\n") == 2
    program = own(name)
    lines = program.lines
    lines.insert(PLACES["before the second travel"](lines), "M0")
    with pytest.raises(gcode.GcodeError, match="M0 waits for the user"):
        gcode.verify("\n".join([*lines, ""]), convert.dialect_of(machine), machine.s_max, pauses=True)
    for light in LIGHTS[name][:1]:
        lit = text.replace(
            "M0\n", light.format(half=f"{machine.s_max / 2:g}", full="", over="") + "\nM0\n", 1
        )
        with pytest.raises(gcode.GcodeError):
            gcode.verify(lit, convert.dialect_of(machine), machine.s_max, pauses=True)


def test_a_controller_without_a_pause_gets_none() -> None:
    moves = gcode.Moves.straight([(1, 1), (2, 2)], [0], [50], [True])
    with pytest.raises(gcode.GcodeError, match="klipper has no line at which it waits"):
        gcode.write(moves, gcode.dialect("klipper"), pauses=[1])


@pytest.mark.parametrize("name", NAMES)
def test_a_program_by_pieces_is_read_as_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers that end lit, with ways between them; also if each piece is read back with the next one only."""
    machine, dialect = SPOKEN[name], gcode.dialect(name)
    square = np.array([(0, 0), (2, 0), (2, 2), (0, 2), (0, 0.5)], float)
    lit = np.array([0.5, 0.25, 0.0, 0.5])
    parts = []
    for k in range(5):
        kinds = np.where(lit > 0, gcode.Kind.LINE, gcode.Kind.RAPID).astype(np.int8)
        layer = gcode.Moves(square + 3 * (k % 2), lit, np.full(4, 10.0), kinds)
        parts.append((f"layer {k}", layer, 0.1 * (k + 1)))
    whole, _ = gate.verified(rest.one_after_another(parts, machine), machine, ("head",))
    for most in (gate._AT_ONCE, 1):
        monkeypatch.setattr(gate, "_AT_ONCE", most)
        text = gate.verified_by_pieces(rest.pieces(parts, machine), machine, ("head",))
        assert text.count("; head\n") + text.count("(head)\n") == 1
        moves, due = (gcode.parse(one, dialect, machine.s_max) for one in (text, whole))
        for column in ("xy", "z", "power", "kind", "dwell"):
            assert np.array_equal(getattr(moves, column), getattr(due, column)), column
        lines = moves.kind == gcode.Kind.LINE
        assert np.array_equal(moves.speed[lines], due.speed[lines])
        assert [words for _, words in moves.comments] == [words for _, words in due.comments]
        found = gcode.check(text, dialect, convert.envelope(machine, dialect))
        assert [one for one in found if one.severity == "error"] == []


def test_a_piece_that_is_lit_where_it_must_not_be_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the line with which it begins, which follows the piece before."""
    machine = SPOKEN["grbl"]
    layer = gcode.Moves(np.array([(0, 0), (2.0, 0)]), [0.5], [10.0], np.array([1], np.int8))
    parts = [("", layer, 0.1 * (k + 1)) for k in range(4)]
    written, count = gcode.write_piece, iter(range(9))

    def broken(*given: object, **named: object) -> tuple[str, str, str]:
        begin, lines, end = written(*given, **named)
        return begin, ("G1 X1 Y1 S9\n" if next(count) == 2 else "") + lines, end

    monkeypatch.setattr(gcode, "write_piece", broken)
    monkeypatch.setattr(gate, "_AT_ONCE", 1)
    with pytest.raises(InputError, match="is not safe, so it is not written"):
        gate.verified_by_pieces(rest.pieces(parts, machine), machine)

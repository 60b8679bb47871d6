"""`laserpath check`: what it says of a program, and its exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from commands import Captured, Refused, run

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.config import profiles

SOUND = """G21 G90 G17
M5
M4 S0
G0 X1 Y1
G1 X11 Y1 F1200 S500
G0 X1 Y2
G1 X11 Y2 S500
M5
M2
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """sound.gcode in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = Path("sound.gcode")
    path.write_text(SOUND)
    return path


def test_a_sound_file_is_one_sentence_and_exit_code_0(program: Path, capsys: Captured) -> None:
    assert run("check", str(program)) == 0
    printed = capsys.readouterr()
    (line,) = printed.out.splitlines()
    assert line.startswith("sound.gcode: no errors, no warnings; ")
    assert "within X 1…11 and Y 1…2 mm" in line
    assert printed.err == ""


def test_an_error_is_a_line_to_click_on_and_exit_code_1(program: Path, capsys: Captured) -> None:
    program.write_text(SOUND.replace("G1 X11 Y2 S500", "G1 X299 Y-1 F9000 S500"))
    assert run("check", str(program)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[:2] for line in lines[:-1] if "error" in line] == [
        ["sound.gcode:7", "error"]
    ] * 2
    assert lines[-1].startswith("sound.gcode: 2 errors, no warnings; ")


def test_a_warning_counts_only_with_strict(program: Path, capsys: Captured) -> None:
    program.write_text(SOUND.replace("M5\nM2\n", "M2\n"))
    assert run("check", str(program)) == 0
    first = capsys.readouterr().out
    assert first.startswith("sound.gcode:8: warning: M5 is missing")
    assert run("check", str(program), "--strict") == 1
    assert capsys.readouterr().out == first
    program.write_text(SOUND)
    assert run("check", str(program), "--strict") == 0


def test_quiet_says_only_findings(program: Path, capsys: Captured) -> None:
    assert run("check", str(program), "--quiet") == 0
    assert capsys.readouterr().out == ""
    program.write_text(SOUND.replace("X999", "X11").replace("M4 S0", "M4 S0 ; no!"))
    assert run("check", str(program), "-q") == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("sound.gcode:3: error: ")


def test_json_is_all_there_is_on_stdout(program: Path, capsys: Captured) -> None:
    program.write_text(SOUND.replace("X11 Y2", "X301 Y2"))
    assert run("check", str(program), "--json") == 1
    content = json.loads(capsys.readouterr().out)
    assert (content["errors"], content["warnings"]) == (1, 0)
    (finding,) = content["findings"]
    assert finding.keys() == {"severity", "line", "column", "message"}
    assert (finding["severity"], finding["line"]) == ("error", 7)
    assert content["box_mm"] == [1, 1, 301, 2]
    assert content["moves"] == 3
    # 10 mm and 300 mm at 20 mm/s, the way back at 100 mm/s, and what the ramps cost.
    assert 15.6 < content["write_time_s"] < 16.5


def test_the_dialect_may_be_another_than_the_machine_s(program: Path, capsys: Captured) -> None:
    assert run("check", str(program), "--dialect", "klipper") == 1
    assert "nothing is exposed: S is ignored by klipper" in capsys.readouterr().out
    Path("mine.toml").write_text('base = "grbl"\nunknown = ["G17"]\n')
    assert run("check", str(program), "--dialect", "mine.toml") == 1
    assert "sound.gcode:1: error: G17 is unknown to mine" in capsys.readouterr().out


def test_the_machine_may_be_a_file(program: Path, capsys: Captured) -> None:
    text = profiles.text("machine", profiles.DEFAULTS["machine"])
    Path("small.toml").write_text(text.replace("size_mm = [300, 200]", "size_mm = [10, 10]"))
    assert run("check", str(program), "--machine", "small.toml") == 1
    assert "X 11 mm is above 10 mm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("travel", "found"), [("[0, 2]", ""), ("[0, 1]", "error: Z 1.5 mm is outside 0…1 mm")]
)
def test_the_machine_s_profile_says_how_far_z_goes(
    program: Path, capsys: Captured, travel: str, found: str
) -> None:
    """Without it a program that moves Z is warned of."""
    program.write_text(program.read_text().replace("G1 X11", "G0 Z1.5\nG1 X11"))
    text = profiles.text("machine", profiles.DEFAULTS["machine"])
    Path("high.toml").write_text(f"z_travel_mm = {travel}\n{text}")
    assert run("check", str(program), "--machine", "high.toml") == (1 if found else 0)
    printed = capsys.readouterr().out
    assert found in printed and "range in Z" not in printed
    run("check", str(program))
    assert "nothing is known about the machine's range in Z" in capsys.readouterr().out


def test_any_bytes_are_findings_not_a_traceback(program: Path, capsys: Captured) -> None:
    program.write_bytes(bytes(range(256)) * 3)
    assert run("check", str(program)) == 1
    printed = capsys.readouterr()
    assert "error: " in printed.out
    assert printed.err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.gcode"], "cannot be read: No such file"),
        (["."], "cannot be read: Is a directory"),
        ([], "Missing argument"),
        (["sound.gcode", "--dialect", "grlb"], "did you mean grbl?"),
        (["sound.gcode", "--machine", "nothing"], "is unknown"),
        (["sound.gcode", "--strikt"], "No such option"),
    ],
)
def test_wrong_usage_is_a_sentence_and_exit_code_2(
    program: Path, refused: Refused, arguments: list[str], words: str
) -> None:
    assert words in refused("check", *arguments)


def test_a_closed_stdin_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        limits.stdin()


def test_an_empty_dialect_is_not_the_machine_s(program: Path, refused: Refused) -> None:
    assert "dialect '' is unknown" in refused("check", str(program), "--dialect", "")


@pytest.mark.parametrize("command", [("check",), ("simulate",), ("compare", "sound.gcode"), ("slicer",)])
def test_a_drawing_is_sent_to_plan(program: Path, command: tuple[str, ...], refused: Refused) -> None:
    Path("text.svg").write_text(f'<svg xmlns="http://www.w3.org/2000/svg"><path d="{"M0 0h1" * 40}"/></svg>')
    assert "text.svg is a drawing (SVG), not G-code: `laserpath plan text.svg`" in refused(
        *command, "text.svg"
    )
    assert [path.name for path in sorted(Path().iterdir())] == ["sound.gcode", "text.svg"]

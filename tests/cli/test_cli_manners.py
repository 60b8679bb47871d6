"""Commands as a group: listed, with help and completion, and quiet without a terminal."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from commands import Captured, Refused, run

from laserpath.cli import COMMANDS, cli, show
from laserpath.cli.plugins.command import SHELLS

EVERY = cli.commands_by_name()


def leaves() -> list[tuple[str, click.Command]]:
    """All commands, those of groups too."""
    commands = []
    for name, command in EVERY.items():
        inner = getattr(command, "commands", {})
        commands += [(f"{name} {below}", c) for below, c in inner.items()] or [(name, command)]
    return commands


def test_the_list_names_what_there_is(capsys: Captured) -> None:
    assert set(EVERY) == set(COMMANDS)
    assert run("--help") == 0
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in COMMANDS)


@pytest.mark.parametrize("name", [name for name, _ in leaves()])
def test_every_command_helps(name: str, capsys: Captured) -> None:
    assert run(*name.split(), "--help") == 0
    printed = capsys.readouterr().out
    assert f"Usage: laserpath {name}" in printed
    assert "\\b" not in printed


@pytest.mark.parametrize("arguments", [(), ("plan", "-h")])
def test_so_does_laserpath_alone_and_a_short_option(arguments: tuple[str, ...], capsys: Captured) -> None:
    assert run(*arguments) == 0
    assert "Usage: laserpath" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "said"),
    [("plan", "Examples:"), ("calibrate", "Examples:"), ("fit", "Examples:"), ("doctor", "Exit codes:")],
)
def test_help_comes_without_numerics(command: str, said: str) -> None:
    heavy = {"numpy", "scipy", "shapely", "taichi", "matplotlib", "gcode.move"}
    script = (
        f"import sys\nfrom laserpath.cli import main\ntry: main(['{command}', '--help'])\n"
        f"except SystemExit: print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said in done.stdout
    assert done.stdout.rstrip().endswith("[]")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("simulate", "3 files written, but --max-epe is not met"),
        ("check", "0 no errors; 1 the file has errors"),
    ],
)
def test_exit_codes_are_in_the_help(name: str, text: str) -> None:
    assert text in " ".join((EVERY[name].epilog or "").split())


@pytest.mark.parametrize("name", [n for n in COMMANDS if n not in ("doctor",)])
def test_every_command_has_examples(name: str) -> None:
    assert f"laserpath {name}" in (EVERY[name].epilog or "") + (EVERY[name].help or "")


@pytest.mark.parametrize(("name", "command"), leaves(), ids=[name for name, _ in leaves()])
def test_every_option_says_what_it_is(name: str, command: click.Command) -> None:
    silent = [p.opts for p in command.params if isinstance(p, click.Option) and not p.help]
    assert silent == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(shell: str, capsys: Captured) -> None:
    assert run("completion", shell) == 0
    printed = capsys.readouterr().out
    assert "_LASERPATH_COMPLETE" in printed
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=printed, text=True, check=True)


def test_commands_and_options_are_completed() -> None:
    complete = ShellComplete(cli, {}, "laserpath", "_LASERPATH_COMPLETE")
    assert [item.value for item in complete.get_completions([], "pl")] == ["plan", "plugins"]
    assert "--quality" in [item.value for item in complete.get_completions(["plan"], "--qu")]
    assert "fine" in [item.value for item in complete.get_completions(["plan", "--quality"], "")]
    assert "check" in [item.value for item in complete.get_completions(["profiles"], "c")]


@pytest.mark.parametrize("wrong", [("chekc", "x"), ("plna",), ("doktor",)])
def test_a_slip_is_mended(wrong: tuple[str, ...], refused: Refused) -> None:
    assert "did you mean" in refused(*wrong)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("plan", ""), "DESIGN"), (("plan", "a.svg", "--project", ""), "--project"),
        (("plan", "a.svg", "-o", ""), "--output"), (("fit", "a.csv", "--resin="), "--resin"),
        (("compare", "a.gcode", ""), "PROGRAMS"),
    ],
)  # fmt: skip
def test_an_empty_value_is_refused(arguments: tuple[str, ...], name: str, refused: Refused) -> None:
    assert f"{name} is empty\n" in refused(*arguments)


@pytest.mark.slow
def test_colours_are_for_terminals_only(tmp_path: Path) -> None:
    doctor = [sys.executable, "-m", "laserpath", "doctor"]
    result = subprocess.run(doctor, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "\x1b" not in result.stdout + result.stderr
    assert "good" in result.stdout


def test_names_of_files_are_printed_as_they_are(capsys: Captured) -> None:
    show.tell_written([Path(":heart:/[red]a.gcode")])
    assert capsys.readouterr().out == "Written:\n  :heart:/[red]a.gcode\n"


def test_warnings_of_libraries_are_no_errors(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """As with PYTHONWARNINGS=error, under which Taichi and others cannot even be imported."""
    monkeypatch.setattr(sys, "warnoptions", ["error"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("--version") == 0
        warnings.warn("a library's", DeprecationWarning, stacklevel=1)


def test_the_command_ends_with_its_code_after_all_that_waits_for_the_end() -> None:
    """It leaves its objects as they are, but not what libraries do at the end, nor what is printed."""
    script = (
        "import atexit, sys\nfrom laserpath.cli import command\natexit.register(print, 'at the end')\n"
        "sys.argv = ['laserpath', 'check', 'nothing.gcode']\ncommand()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == "at the end\n"
    assert done.stderr.startswith("laserpath: program 'nothing.gcode' cannot be read")

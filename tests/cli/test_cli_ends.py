"""How a command ends when a signal, a full disk or a reader that has gone comes between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Captured, Refused, run

from laserpath.calibration.charts import Chart

FULL = Path("/dev/full")


@pytest.fixture
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, for the files of `laserpath calibrate`."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (("plan", "square.svg"), "square.report.html"),
        (("plan", "square.svg", "--frame"), "square.frame.gcode"),
        (("plan", "square.svg", "--colours", "2"), "square.colours.html"),
        (("simulate", "a.gcode"), "a.cured.svg"),
        (("compare", "a.gcode", "b.gcode", "--design", "square.svg"), "square.comparison.html"),
        (("calibrate",), "chart.csv"),
        (("slicer", "a.gcode"), "a.gcode"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_before_anything_is_computed(
    chart: Path, arguments: tuple[str, ...], taken: str, refused: Refused
) -> None:
    """No program is executed either: those that there are have nothing to expose, which is refused."""
    (chart / "square.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="2mm" height="1mm" viewBox="0 0 2 1">'
        '<path d="M0 0h1v1h-1z"/><path fill="red" d="M1 0h1v1h-1z"/></svg>'
    )
    for name in ("a.gcode", "b.gcode"):
        (chart / name).write_text("")
    (chart / taken).touch()
    (chart / taken).chmod(0o444)
    before = sorted(chart.iterdir())
    assert f"{taken}' cannot be written: it is there already, and read-only\n" in refused(*arguments)
    assert sorted(chart.iterdir()) == before


def signalled(write: Callable[..., object], number: int, *, late: bool) -> Callable[..., object]:
    """`Chart.write` with a signal before or after it."""

    def call(*given: object, **named: object) -> object:
        if not late:
            signal.raise_signal(number)
        done = write(*given, **named)
        if late:
            signal.raise_signal(number)
        return done

    return call


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("late", [False, True])
def test_a_command_that_is_stopped_says_what_is_written(
    number: int, late: bool, chart: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)
    monkeypatch.setattr(Chart, "write", signalled(Chart.write, number, late=late))
    assert run("calibrate", "-q") == 130
    said = "the files are" if late else "nothing is"
    assert capsys.readouterr().err.endswith(f"laserpath: stopped, {said} written\n")
    assert len(list(chart.iterdir())) == (3 if late else 0)
    assert handlers == (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP))


def test_nohup_is_respected(chart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chart, "write", signalled(Chart.write, signal.SIGHUP, late=False))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run("calibrate", "-q") == 0
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [("profiles", "list"), ("--help",), ("calibrate", "--json")])
def test_a_full_disk_for_stdout_is_one_sentence(
    arguments: tuple[str, ...],
    chart: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    with FULL.open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert run(*arguments) == 2
    written = "; the files are written" if arguments[0] == "calibrate" else ""
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"laserpath: standard output cannot be written: No space left on device{written}"


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
def test_messages_that_cannot_be_written_stop_nothing(chart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FULL.open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", full)
        assert run("calibrate") == 0
    assert len(list(chart.iterdir())) == 3


@pytest.mark.slow
def test_a_reader_that_has_gone_changes_no_exit_code(chart: Path) -> None:
    """As `laserpath check FILE | head -1`, which exits with 1 if the file has errors."""
    Path("bad.gcode").write_text("M4 S100\nG0 X1\n" * 1000)
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "laserpath", "check", "bad.gcode"]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_signal_in_a_destructor_prints_no_traceback(
    chart: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    class Fragile:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    real = Chart.write

    def write(*given: object, **named: object) -> object:
        Fragile()
        return real(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Chart, "write", write)
    assert run("calibrate", "-q") == 0
    assert "Traceback" not in capsys.readouterr().err

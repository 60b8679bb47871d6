"""The command line: what it hands to the library, what it says, its exit codes, and Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from commands import Answer, Captured, Refused, run

import gcode
import laserpath
import laserpath.report
from laserpath import Plan, Process, Progress, Settings
from laserpath.base.entry_points import INITIAL_CURVES, QUALITIES
from laserpath.base.errors import InputError
from laserpath.cli import cli, main, options
from laserpath.cli.ending import Interrupts, Stopped
from laserpath.cli.progress import Meter
from laserpath.config import profiles
from laserpath.config.options import by_name
from laserpath.config.profiles import bed

SQUARE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="3mm" height="3mm" viewBox="0 0 3 3">'
    '<rect x="1" y="1" width="1" height="1"/></svg>'
)
NAMES = ["square.gcode", "square.report.html", "square.toolpath.svg"]
PLANE = "0,0,0:100,0,0.2:0,80,-0.1mm"
SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A real plan of a square."""
    path = tmp_path_factory.mktemp("square") / "square.svg"
    path.write_text(SQUARE)
    return laserpath.plan(path, settings=Settings(iterations=10, initial="contour"))


@pytest.fixture
def design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """square.svg, alone in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "square.svg").write_text(SQUARE)
    return tmp_path / "square.svg"


class Library:
    """Stands for `laserpath.plan`: records process and settings, and returns a plan made before."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.received: tuple[Process, Settings] | None = None
        self.iterating: Callable[[int], None] = lambda k: None

    def change(self, **parts: Any) -> None:
        """Change parts of the plan's report, and figures of it as executed."""
        report = self.plan.report
        figures = {name: parts.pop(name) for name in parts.keys() & report.executed.figures.as_dict()}
        executed = replace(report.executed, figures=replace(report.executed.figures, **figures))
        self.plan = replace(self.plan, report=replace(report, executed=executed, **parts))

    def __call__(
        self, design: str, process: Process, settings: Settings, progress: Callable[[Progress], None]
    ) -> Plan:
        self.received = process, settings
        self.iterating(0)
        stopped = False
        try:
            for k in range(1, 11):
                progress(Progress("shape", k, 10, 1 / k))
                self.iterating(k)
        except KeyboardInterrupt:
            stopped = True
        self.iterating(11)
        solution = replace(self.plan.solution, stopped=stopped, result="stopped by the user")
        return replace(self.plan, settings=settings, process=process, solution=solution)


@pytest.fixture
def library(planned: Plan, monkeypatch: pytest.MonkeyPatch) -> Library:
    stub = Library(planned)
    # Its pictures take a second, and are no matter here.
    monkeypatch.setattr(laserpath.report, "render", lambda *_, **__: "<html></html>")
    monkeypatch.setattr(laserpath, "plan", stub)
    return stub


def beside(design: Path) -> list[str]:
    return sorted(p.name for p in design.parent.iterdir() if p != design)


# What it writes and says


def test_the_bare_command_plans_for_real(design: Path, capsys: Captured) -> None:
    assert run("plan", "square.svg", "--iterations", "5") == 0
    assert beside(design) == NAMES
    printed = capsys.readouterr()
    assert all(name in printed.out for name in NAMES)
    assert "as executed" in printed.out
    assert "Traceback" not in printed.err


def test_json_is_all_there_is_on_stdout(design: Path, library: Library, answer: Answer) -> None:
    content = answer("plan", "square.svg", "-o", "out/deep")
    assert sorted(Path(f).name for f in content["files"]) == NAMES
    assert all(Path(f).is_file() for f in content["files"])
    assert content["within_tolerance"] is True
    assert 0.9 < content["executed"]["iou"] <= 1
    assert content["commanded"].keys() == content["executed"].keys() == content["start"].keys()
    assert content["quality"] == "standard"


@pytest.mark.slow
def test_sensitivity_is_computed_on_request_only(design: Path, answer: Answer) -> None:
    given = ("plan", "square.svg", "--iterations", "10", "--initial", "contour")
    assert answer(*given)["sensitivity"] is None
    content = answer(*given, "--sensitivity")
    found = content["sensitivity"]
    assert found["planned"]["epe_mean"] == content["executed"]["epe_mean"]
    assert len(found["disturbed"]) > 5
    assert len(found["improved"]) > 3
    report = Path("square.report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert found["headline"].split(":")[0] in report
    assert found["help"][0].split(",")[0].rstrip(".") in report


def test_a_stopped_plan_is_not_disturbed(
    design: Path, library: Library, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(k: int) -> None:
        if k == 5:
            os.kill(os.getpid(), signal.SIGINT)

    library.iterating = stop
    monkeypatch.setattr(laserpath, "sensitivity", lambda *_: pytest.fail("it went on"))
    assert run("plan", "square.svg", "--sensitivity") == 0


@pytest.mark.parametrize("reason", ["bad input", "two interrupts"])
def test_a_plan_is_kept_if_its_sensitivity_fails(
    design: Path,
    library: Library,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
) -> None:
    def fail(*_: object) -> None:
        assert beside(design) == NAMES, "the plan is written first"
        if reason == "bad input":
            raise InputError("no such machine")
        interrupt()
        interrupt()

    monkeypatch.setattr(laserpath, "sensitivity", fail)
    library.iterating = lambda k: None
    assert run("plan", "square.svg", "--sensitivity") == 0
    assert "written without its sensitivity" in capfd.readouterr().err
    assert beside(design) == NAMES


def test_json_has_null_for_what_is_no_number(design: Path, library: Library, capsys: Captured) -> None:
    library.change(pv_band=float("nan"), epe_max=float("inf"))
    assert run("plan", "square.svg", "--json") == 0
    content = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert content["executed"]["pv_band"] is content["executed"]["epe_max"] is None


def test_quiet_says_only_warnings(design: Path, library: Library, capsys: Captured) -> None:
    library.change(warnings=("text is thin",))
    assert run("plan", "square.svg", "--quiet") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "laserpath: warning: text is thin" in printed.err.splitlines()
    assert beside(design) == NAMES


def test_a_dose_above_the_limit_is_in_the_first_line(
    design: Path, library: Library, capsys: Captured
) -> None:
    library.change(dose_max=9.0)
    assert run("plan", "square.svg") == 0
    assert "up to 9.00 × the critical dose" in capsys.readouterr().out


def test_the_table_has_lengths_in_micrometres_and_in_fwhm(
    design: Path, library: Library, capsys: Captured
) -> None:
    library.change(epe_mean=0.25, missing_edges=3, samples=77)
    assert run("plan", "square.svg") == 0
    out = capsys.readouterr().out
    assert "25 µm (0.25)" in out
    assert "3 of 77" in out
    table = [line for line in out.splitlines() if line[:1] in "┏┃┡│└"]
    assert table and max(map(len, table)) <= 80
    assert library.plan.verdict[1] in out, "as the report begins"


def test_a_missed_tolerance_writes_the_files_and_exits_with_3(
    design: Path, library: Library, capsys: Captured
) -> None:
    assert run("plan", "square.svg", "--max-epe", "0.001um") == 3
    assert beside(design) == NAMES
    assert "tolerance missed: 95 % of the edge is within" in capsys.readouterr().err
    assert run("plan", "square.svg", "--max-epe", "5fwhm") == 0


def test_the_quality_is_in_the_table_and_in_the_program(
    design: Path, library: Library, capsys: Captured
) -> None:
    assert run("plan", "square.svg", "--quality", "draft") == 0
    assert "draft quality" in capsys.readouterr().out
    assert re.search(r"Settings: .*\bquality standard\b", library.plan.program)


def test_json_has_the_process_window(design: Path, library: Library, answer: Answer) -> None:
    one = np.full((1, 2), 0.1)
    window = laserpath.ProcessWindow(np.array([1.0, 1.1]), np.ones(1), one, one, one, 0 * one, 77)
    library.change(window=window)
    content = answer("plan", "square.svg")["window"]
    assert (content["dose"], content["epe_mean"], content["samples"]) == ([1.0, 1.1], [[0.1, 0.1]], 77)


def test_json_has_the_limit_and_what_cannot_be_printed(
    design: Path, library: Library, answer: Answer
) -> None:
    limit = library.plan.report.limit
    gap = laserpath.types.results.Unprintable("gap", True, (1.5, 1.25), 0.015, 0.2, np.arange(3))
    library.change(limit=replace(limit, unprintable=(gap,)))
    content = answer("plan", "square.svg")["limit"]
    assert content.pop("unprintable") == ["1 gap closes at (1.500, 1.250) mm"]
    assert content.keys() == {"epe_mean", "epe_p95", "missing_edges", "iou"}
    assert content == {key: getattr(limit.figures, key) for key in content}
    library.change(limit=None)
    assert answer("plan", "square.svg")["limit"] is None


def test_the_limit_is_one_line_of_the_summary(design: Path, library: Library, capsys: Captured) -> None:
    limit = library.plan.report.limit
    best = replace(limit.figures, epe_mean=0.04, missing_edges=3, samples=77)
    library.change(epe_mean=0.05, limit=replace(limit, figures=best))
    assert run("plan", "square.svg") == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "imit" in line]
    told = "4.0 µm (0.040) on average, 3 of 77 edges missing; plan: 1.2 × as executed"
    assert line == f"Limit of this spot: {told}"
    library.change(limit=None)
    assert run("plan", "square.svg") == 0
    assert "imit" not in capsys.readouterr().out


def test_frame_writes_a_framing_pass_and_warns(design: Path, library: Library, capsys: Captured) -> None:
    assert run("plan", "square.svg", "--frame") == 0
    assert beside(design) == ["square.frame.gcode", *NAMES]
    assert "the framing pass is dark" in capsys.readouterr().err
    framed = gcode.parse(Path("square.frame.gcode").read_text(), gcode.dialect("grbl"), 1000)
    assert not framed.on.any()
    assert (framed.xy.min(), framed.xy.max()) == (1.0, 2.0)


def test_no_colours_or_bars_where_there_is_no_terminal(
    design: Path, library: Library, capsys: Captured
) -> None:
    run("plan", "square.svg")
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err
    assert "loss" not in printed.err


# What it hands to the library


@pytest.mark.parametrize(
    ("arguments", "part", "field", "value"),
    [
        ("", "spot", "fwhm", 0.1),
        ("--spot-fwhm 80um", "spot", "fwhm", 0.08),
        ("--spot-fwhm 0.08", "spot", "fwhm", 0.08),
        ("--na 0.02 --wavelength 405", "spot", "fwhm", pytest.approx(0.5145 * 405e-6 / 0.02, rel=1e-4)),
        ("--na 0.02 --wavelength 0.405um", "spot", "fwhm", pytest.approx(0.5145 * 405e-6 / 0.02, rel=1e-4)),
        ("--spot diode-0.1mm", "spot", "fwhm", 0.1),
        ("--critical-dose 35", "resin", "critical_dose", 0.35),
        ("--critical-dose 0.3mJ/mm²", "resin", "critical_dose", 0.3),
        ("--tone positive", "resin", "tone", "positive"),
        ("--resin positive-photoresist", "resin", "tone", "positive"),
        ("--resin positive-photoresist --critical-dose 50", "resin", "critical_dose", 0.5),
        ("--machine mine.toml", "machine", "power_max", 77.0),
        (f"--heights {PLANE}", "machine", "heights", bed.read(PLANE)),
        ("--pitch 120um", "settings", "pitch_fwhm", pytest.approx(1.2)),
        ("--pitch 0.9fwhm", "settings", "pitch_fwhm", 0.9),
        ("--pitch 0.1 --spot-fwhm 0.05", "settings", "pitch_fwhm", 2.0),
        ("--max-epe 10um", "settings", "max_epe_fwhm", pytest.approx(0.1)),
        ("--blur 1.15", "settings", "blur", 1.15),
        ("--quality draft", "settings", "quality", "draft"),
        ("--quality fine", "settings", "quality", "fine"),
        *((f"--initial {name}", "settings", "initial", name) for name in INITIAL_CURVES),
        ("--initial rim", "settings", "initial", "outline"),
        ("--initial tracks", "settings", "initial", "centreline"),
        ("--angle -45", "settings", "angle", -45.0),
        ("--iterations 7", "settings", "iterations", 7),
        ("--seed 3", "settings", "seed", 3),
        ("--passes 2", "settings", "passes", 2),
        ("--initial strokes --strokes 9", "settings", "strokes", 9),
        ("--origin centre", "settings", "origin", "centre"),
        ("--report brief", "settings", "report", "brief"),
    ],
)
def test_options_reach_the_library(
    design: Path, library: Library, arguments: str, part: str, field: str, value: Any
) -> None:
    toml = profiles.text("machine", "grbl-diode-405").replace("power_max_mW = 10", "power_max_mW = 77")
    Path("mine.toml").write_text(toml)
    assert run("plan", "square.svg", "-q", *arguments.split()) in (0, 3)
    assert library.received is not None
    process, settings = library.received
    assert getattr(settings if part == "settings" else getattr(process, part), field) == value


def test_without_options_the_defaults_are_those_of_the_library(design: Path, library: Library) -> None:
    run("plan", "square.svg", "-q")
    assert library.received == (Process(), Settings(origin="auto"))


def test_the_defaults_that_the_help_states_are_true() -> None:
    fields = {"pitch": "pitch_fwhm", "max_epe": "max_epe_fwhm"}
    origin = {"--origin": options.DESIGN["Design"]["--origin"]}
    for name, more in {**options.PLAN["Plan"], **origin}.items():
        field = name.removeprefix("--").replace("-", "_")
        if more.get("is_flag"):  # a switch, which is off
            assert getattr(Settings(), field) is False
            continue
        (stated,) = re.findall(r"\[(.*)\]$", more["help"])
        if by_name()[field].sets.startswith("Machine."):  # as the machine has it
            assert stated == "the machine's"
            continue
        value = getattr(Settings(origin="auto"), fields.get(field, field))
        assert stated == (
            "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        ) + ("fwhm" if field == "pitch" else "")


@pytest.mark.parametrize("arguments", [["--help"], ["profiles", "--help"], ["plan", "--help"]])
def test_examples_in_the_help_stand_line_by_line(capsys: Captured, arguments: list[str]) -> None:
    assert run(*arguments) == 0
    printed = capsys.readouterr().out
    assert "\\b" not in printed and "\b" not in printed
    examples = [line.strip() for line in printed.splitlines() if line.strip().startswith("laserpath ")]
    assert len(examples) >= 3
    assert all(line.count("laserpath ") == 1 for line in examples)


# Bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("plan", "Which design\\? None is given, and there is no laserpath.toml here"),
        ("plan nowhere.svg", "nowhere.svg does not exist"),
        ("plan square.svg --iteration 5", "No such option.*--iterations"),
        ("plan square.svg --machine grbl-diod",
         "'grbl-diod' is unknown; known: .*did you mean grbl-diode-405"),
        ("plan square.svg --resin x.toml", "resin profile 'x.toml' is missing"),
        ("plan square.svg --spot-fwhm nan", "'--spot-fwhm': 'nan' is not a finite number"),
        ("plan square.svg --spot-fwhm=-1", "'--spot-fwhm': '-1' must be above 0"),
        ("plan square.svg --spot-fwhm 1parsec", "unknown unit 'parsec'; known: mm, um"),
        ("plan square.svg --spot-fwhm wide", "'wide' is not a number with a unit of mm"),
        ("plan square.svg --critical-dose inf", "'--critical-dose': 'inf' is not a finite number"),
        ("plan square.svg --critical-dose 0", "'0' must be above 0"),
        ("plan square.svg --resin two-photon-resist --critical-dose 20",
         "critical dose is in mJ/cm2, but 'two-photon resist"),
        ("plan square.svg --na 1.8 --wavelength 405", "na is 1.8, but must be at most 1.7"),
        ("plan square.svg --spot square.svg", "'square.svg' is a file, but a profile file ends in .toml"),
        ("plan square.svg --resin two-photon-resist",
         r"power 10 mW is too weak for 'two-photon resist.*' in a spot of FWHM 0\.\d+ mm"),
        ("plan square.svg --na 0.1", "na needs wavelength"),
        ("plan square.svg --wavelength 405", "wavelength needs na"),
        ("plan square.svg --na 0.1 --wavelength 405 --spot-fwhm 1", "spot-fwhm and na both"),
        ("plan square.svg --pitch 1e-9", "pitch 1e-09 mm must be between 0.1 and 10 times the spot's 0.1 mm"),
        ("plan square.svg --angle nan", "'--angle': 'nan' is not a finite number"),
        ("plan square.svg --iterations -1", "'--iterations': -1 is not in the range x>=0"),
        ("plan square.svg --iterations 1.5", "'1.5' is not a whole number from 0"),
        ("plan square.svg --strokes 9", "strokes is 9, but only the starting curve 'strokes' uses it"),
        ("plan square.svg --initial strokes --strokes few",
         "'--strokes': 'few' is not a whole number from 1 to 10000"),
        ("plan square.svg --strokes 0", "'--strokes': 0 is not in the range 1<=x<=10000"),
        ("plan square.svg --passes 0", "'--passes': 0 is not in the range 1<=x<=100"),
        ("plan square.svg --seed -3", "-3 is not in the range"),
        ("plan square.svg --initial zigzag", "initial curve 'zigzag' is unknown; known: auto, contour, "),
        ("plan square.svg --quality best", "'best' is not one of 'draft', 'standard', 'fine'"),
        ("plan square.svg --max-epe 0fwhm", "'0fwhm' must be above 0"),
        ("plan square.svg --blur 0.9", "blur is 0.9, but must be between 1 and 2"),
        ("plan square.svg --blur 3", "blur is 3.0, but must be between 1 and 2"),
        ("plan square.svg --blur much", "'--blur': 'much' is not a number"),
        ("plan square.svg -o square.svg/out", "'square.svg' is a file"),
        ("paln square.svg", "no command 'paln'; known: plan, .*; did you mean plan"),
        ("profiles show grbl", "did you mean grbl-diode-405"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_writes_nothing(
    design: Path, capsys: Captured, arguments: str, words: str
) -> None:
    assert run(*arguments.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    # The size of the design is printed before.
    first, *rest = [line for line in printed.err.splitlines() if "1 × 1 mm" not in line]
    assert first.startswith("laserpath: ")
    assert re.search(words, first)
    assert rest in ([], [f"See 'laserpath {arguments.split()[0]} --help'."], ["See 'laserpath --help'."])
    assert beside(design) == []
    assert beside(design) == []


@pytest.mark.parametrize("text", ["", "not xml", SQUARE[:60], "<svg/>", "<html/>"])
def test_a_bad_design_is_one_sentence(design: Path, refused: Refused, text: str) -> None:
    design.write_text(text)
    (line,) = refused("plan", "square.svg", "-o", "new").splitlines()
    assert line.startswith("laserpath: ")
    assert beside(design) == []


def test_an_error_of_the_gcode_package_is_a_sentence_too(
    design: Path, library: Library, refused: Refused
) -> None:
    def fail(k: int) -> None:
        raise gcode.GcodeError("feed 1 is too slow")

    library.iterating = fail
    assert refused("plan", "square.svg").splitlines()[2:] == ["laserpath: feed 1 is too slow"]


def test_a_fault_of_ours_is_not_passed_off_as_bad_input(design: Path, library: Library) -> None:
    library.iterating = lambda k: int("a bug")
    with pytest.raises(ValueError, match="a bug"):
        main(["plan", "square.svg"])


# Ctrl-C


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def at(*iterations: int) -> Callable[[int], None]:
    """Ctrl-C when these iterations begin."""
    return lambda k: interrupt() if k in iterations else None


def test_the_first_interrupt_finishes_with_the_best_so_far(
    design: Path, library: Library, capfd: pytest.CaptureFixture[str]
) -> None:
    library.iterating = at(3)
    assert run("plan", "square.svg") == 0
    printed = capfd.readouterr()
    assert re.search(
        r"stopping with the best so far: measuring and writing it, about [\d.]+ s; Ctrl-C again", printed.err
    )
    assert beside(design) == NAMES


@pytest.mark.parametrize("moments", [(0,), (3, 11)], ids=["before optimising", "the second one"])
def test_other_interrupts_stop_and_leave_nothing(
    design: Path, library: Library, capfd: pytest.CaptureFixture[str], moments: tuple[int, ...]
) -> None:
    library.iterating = at(*moments)
    assert run("plan", "square.svg", "-o", "new") == 130
    assert "Traceback" not in capfd.readouterr().err
    assert beside(design) == []


def test_an_interrupt_while_writing_leaves_nothing(
    design: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.iterating = at(5)
    monkeypatch.setattr(os, "fsync", lambda _: interrupt())
    assert run("plan", "square.svg", "-o", "new") == 130
    assert beside(design) == []


def test_ctrl_c_means_what_it_meant_before_once_the_plan_is_done(design: Path, library: Library) -> None:
    before = signal.getsignal(signal.SIGINT)
    run("plan", "square.svg")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.parametrize(("presses", "code"), [(1, 0), (2, 130)])
def test_ctrl_c_at_a_real_terminal(tmp_path: Path, presses: int, code: int) -> None:
    folder, (ours, theirs) = tmp_path / "out", pty.openpty()
    command = [sys.executable, "-m", "laserpath", "plan", str(SAMPLES / "holes.svg"), "-o", str(folder)]
    with subprocess.Popen(
        [*command, "--iterations", "100000"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        seen, ends = "", time.monotonic() + 120
        for awaited in [r"loss \d", "stopping"][:presses]:
            while not re.search(awaited, seen) and time.monotonic() < ends:
                if select.select([ours], [], [], 1)[0]:
                    seen += os.read(ours, 4096).decode(errors="replace")
            process.send_signal(signal.SIGINT)
        os.close(theirs)
        while process.poll() is None and time.monotonic() < ends:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    seen += os.read(ours, 4096).decode(errors="replace")
                except OSError:  # the other end is closed
                    break
        assert process.wait(60) == code
    assert "Traceback" not in seen
    assert folder.exists() == (code == 0)


# Help, version, profiles


def test_the_help_of_plan_has_every_option_exit_code_and_example(capsys: Captured) -> None:
    run("plan", "--help")
    text = capsys.readouterr().out
    command = cli.commands_by_name()["plan"]
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert max(parameter.opts, key=len) in text
    for words in (
        "Output:", "Machine, resin, spot:", "Design:", "Plan:", "Examples:", "2 bad input", "3 files", "130",
        "CAUTION", f"[{'|'.join(QUALITIES)}]", *INITIAL_CURVES,
    ):  # fmt: skip
        assert words in text


def test_version(capsys: Captured) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"laserpath {laserpath.__version__}\n"


@pytest.mark.parametrize("ended", [False, True])
def test_ctrl_c_says_what_is_still_done(ended: bool, capfd: pytest.CaptureFixture[str]) -> None:
    meter = Meter()
    with Interrupts() as interrupts:
        interrupts.show_on(meter)
        interrupts.on_progress()
        if ended:
            meter.finishing()
        signal.raise_signal(signal.SIGINT)
    now = "the optimiser has ended already" if ended else "stopping with the best so far"
    assert f"laserpath: {now}: measuring and writing it, about" in capfd.readouterr().err


def test_a_ctrl_c_that_is_lost_in_a_callback_stops_at_the_next_step() -> None:
    with Interrupts() as interrupts:
        interrupts.check()
        with contextlib.suppress(Stopped):
            signal.raise_signal(signal.SIGINT)
        for step in (interrupts.check, interrupts.on_progress):
            with pytest.raises(Stopped):
                step()

"""The project file: it plans the same again, options override it, errors name the key."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import run
from shapely import box

import gcode
import laserpath
from laserpath import Plan, Process, Settings
from laserpath.base.errors import InputError
from laserpath.base.quantities import quoted
from laserpath.config import profiles, project, request
from laserpath.physics.optics import BeamTable
from laserpath.planning import header
from laserpath.types import Design, Machine, Resin, Spot

SQUARE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="3mm" height="3mm" viewBox="0 0 3 3">'
    '<rect x="1" y="1" width="1" height="1.5"/></svg>'
)

QUICK = ("--initial", "contour", "--report", "brief")
"""Without a choice to be made among the starting curves a plan is short."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "square.svg").write_text(SQUARE)
    return tmp_path


def choices_of(path: Path) -> tuple[Process, Settings]:
    values = project.load(path).values
    process = request.process_of(values)
    return process, request.settings_of(values, process.spot.fwhm)


@pytest.mark.parametrize(
    ("process", "settings"),
    [
        (Process(), Settings()),
        (
            Process(Spot(0.08, "gaussian", aspect=2, angle=30), Resin(critical_dose=0.35, tone="positive")),
            Settings(
                quality="fine", pitch_fwhm=0.9, max_epe_fwhm=0.1, offset=(2.0, -1.5), seed=7, inset_fwhm=0.3
            ),
        ),
        (
            Process(Spot(0.0003), Resin(order=2), Machine(dialect="klipper", power_max=3.3)),
            Settings(iterations=30, angle=-45, origin="centre", passes=2, blur=1.15),
        ),
    ],
)
def test_a_written_project_plans_the_same(folder: Path, process: Process, settings: Settings) -> None:
    design = laserpath.load("square.svg", tolerance=0.002)
    (folder / project.NAME).write_text(project.text(design, process, settings))
    back, choices = choices_of(folder / project.NAME)
    assert choices == settings
    for name in ("spot", "resin", "machine"):
        for field in getattr(process, name).__slots__:
            read, written = getattr(getattr(back, name), field), getattr(getattr(process, name), field)
            assert read == (written if isinstance(written, str | None) else pytest.approx(written))


@pytest.mark.slow
def test_plan_alone_plans_the_same_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Byte for byte, but for the words about where it came from."""
    options = "--iterations 6 --spot-fwhm 90um --critical-dose 30 --rotate 90 --size x2mm --offset 1,2mm"
    assert run("plan", "square.svg", *QUICK, *options.split(), "--save-project", "-o", "first", "-q") == 0
    again = folder / "again"
    again.mkdir()
    (again / "square.svg").write_text(SQUARE)
    (again / project.NAME).write_text((folder / "first" / project.NAME).read_text())
    assert run("plan", "--project", str(again / project.NAME), "-o", "second", "-q") == 0
    first, second = ((folder / name / "square.gcode").read_text() for name in ("first", "second"))
    assert first == second
    assert (folder / "second" / "square.gcode").stat().st_size > 1000
    capsys.readouterr()


@pytest.mark.slow
def test_the_head_of_the_program_is_the_project(folder: Path) -> None:
    assert run("plan", "square.svg", *QUICK, "--iterations", "5", "--mirror", "x", "-q") == 0
    head = [line.lstrip("; ") for line in Path("square.gcode").read_text().splitlines() if line[:1] == ";"]
    begin = next(k for k, line in enumerate(head) if line.startswith(f"{project.NAME}, to plan this again"))
    Path("again.toml").write_text("\n".join(head[begin + 1 :]))
    read = project.load("again.toml")
    assert read.design == Path("square.svg")
    assert read.values["mirror"] == "x"
    assert read.values["iterations"] == 5
    assert profiles.machine(read.values["machine"]) == Machine()


@pytest.mark.parametrize("name", [*gcode.DIALECTS, "brackets.toml", "short.toml"])
def test_the_head_is_the_project_in_every_dialect(folder: Path, name: str) -> None:
    """Whatever the design's name: no comment may have these characters, or lines as long as these."""
    Path("brackets.toml").write_text('base = "linuxcnc"\ncomment = "("\n')
    Path("short.toml").write_text('base = "grbl"\nline_limit = 40\n')
    for said in ("what? (1) ~ py,now!.svg", "x" * 300 + ".svg", "a-b_c " * 50 + "é.svg", "#; \\ ' \".svg"):
        design = Design(box(0, 0, 1, 1), recipe=(f"design = {quoted(said)}",), name="d")
        dialect, process = gcode.dialect(name), Process(machine=Machine(dialect=name))
        moves = gcode.Moves.straight([[0, 0], [1, 1]], [0.5], [10], [False])
        text = gcode.write(moves, dialect, header=header(design, process, Settings()))
        head = [line[1:].rstrip(")").lstrip() for line in text.splitlines() if line[0] in ";("]
        begin = next(k for k, line in enumerate(head) if line.startswith(f"{project.NAME}, to plan"))
        lines = head[begin + 1 + ("again" in head[begin + 1]) :]
        Path("again.toml").write_text("\n".join(lines))
        assert project.load("again.toml").design == Path(said)
        assert choices_of(Path("again.toml")) == (process, Settings())


def test_options_override_the_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / project.NAME).write_text(
        'design = "square.svg"\nquality = "fine"\nspot_fwhm = "80um"\nscale = 2\nmachine = "mine.toml"\n'
    )
    text = profiles.text("machine", "grbl-diode-405").replace("power_max_mW = 10", "power_max_mW = 0.7")
    (folder / "mine.toml").write_text(text)
    plans: list[Any] = []

    def note(design: Design, process: Process, settings: Settings, progress: object) -> Plan:
        plans.append((design, process, settings))
        raise gcode.GcodeError("enough")

    monkeypatch.setattr(laserpath, "plan", note)
    run("plan")
    run("plan", "--quality", "draft", "--spot", "fibre-10um", "--size", "5mm")
    (first, process, settings), (second, other, choices) = plans
    assert settings == Settings(quality="fine", origin="auto")
    assert process.spot.fwhm == 0.08
    assert process.machine.power_max == 0.7
    assert first.size == pytest.approx((2, 3))
    assert choices.quality == "draft"
    assert other.spot == profiles.spot("fibre-10um")
    assert second.size == pytest.approx((5, 7.5))


def test_what_it_says_of_its_design_s_file_does_not_hold_for_another(tmp_path: Path) -> None:
    """Such as how thick the layers of a part are. A program that was moved still knows its design by name."""
    (tmp_path / project.NAME).write_text('design = "box.stl"\nlayer = "50um"\nunit = "mm"\niterations = 3\n')
    made = project.load(tmp_path / project.NAME)
    assert (
        {*made.of(tmp_path / "box.stl")} == {*made.of("elsewhere/box.stl")} == {"layer", "unit", "iterations"}
    )
    assert {*made.of(tmp_path / "one-layer.svg")} == {"iterations"}


@pytest.mark.slow
def test_a_project_holds_for_every_design_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / project.NAME).write_text("iterations = 3\n")
    assert run("plan", "square.svg", *QUICK, "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["result"]
    assert project.NAME in printed.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("qualty = 'fine'", "key 'qualty' is unknown; did you mean quality"),
        ("quality = 'best'", "quality: 'best' is unknown; known: draft, standard, fine"),
        ("pitch = true", "pitch: True is not a number"),
        ("design = 3", "design is 3, but must be a file name in quotes"),
        ("design = 'no.svg'", "no.svg does not exist"),
        ("design = ", "is not valid TOML"),
        ("iterations = -1", "iterations: -1 must be a whole number of at least 0"),
        ("design = 'square.svg'\nmachine = 'away.toml'", "away.toml' is missing"),
        ("design = 'square.svg'\n[machine]\npower = 3", r"machine in \[machine\]: key 'power' is unknown"),
        ("quality = 'fine'", "names no design"),
    ],
)
def test_a_wrong_project_is_one_sentence(
    folder: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / project.NAME).write_text(text)
    assert run("plan", "-q") == 2
    printed = capsys.readouterr()
    assert re.search(words, printed.err.splitlines()[0])
    assert printed.out == ""
    assert sorted(p.name for p in folder.iterdir()) == [project.NAME, "square.svg"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x00" * 20, b"a" * (1 << 21)])
def test_what_is_no_text_is_refused(folder: Path, content: bytes) -> None:
    (folder / project.NAME).write_bytes(content)
    assert run("plan", "-q") == 2


def test_a_measured_spot_of_a_program_is_not_taken_for_another() -> None:
    spot = Spot(profile="measured", measured=BeamTable([0, 0.1], [1, 0]))
    text = project.text(laserpath.load("square.svg", tolerance=0.1), Process(spot), Settings())
    assert "[spot]" not in text
    Path(project.NAME).write_text(text)
    with pytest.raises(InputError, match="spot: '' must be text"):
        project.load(project.NAME)


BEAM = "radius_um,intensity\n0,1\n20,0.9\n50,0.4\n80,0.1\n120,0\n"


@pytest.fixture
def measured(folder: Path) -> Path:
    """A measured spot's profile, beside its table, in a folder of its own."""
    (folder / "beam").mkdir()
    (folder / "beam" / "beam.csv").write_text(BEAM)
    (folder / "beam" / "mine.toml").write_text('measured = "beam.csv"\n')
    return folder / "beam" / "mine.toml"


@pytest.mark.slow
def test_a_measured_spot_is_planned_with_again(folder: Path, measured: Path) -> None:
    assert (
        run(
            "plan",
            "square.svg",
            *QUICK,
            "--spot",
            "beam/mine.toml",
            "--iterations",
            "3",
            "--save-project",
            "-q",
        )
        == 0
    )
    assert run("plan", "--report", "brief", "-o", "again", "-q") == 0
    first, second = (Path(name, "square.gcode").read_text() for name in (".", "again"))
    assert first == second
    assert "measured table" in first


@pytest.mark.slow
def test_what_a_table_names_lies_beside_the_project(folder: Path, measured: Path) -> None:
    (measured.parent / "square.svg").write_text(SQUARE)
    (measured.parent / project.NAME).write_text(
        'iterations = 2\ninitial = "contour"\n[spot]\nmeasured = "beam.csv"\n'
    )
    assert run("plan", "beam/square.svg", "--report", "brief", "-q") == 0
    assert "measured table" in Path("square.gcode").read_text()


@pytest.mark.slow
def test_a_project_is_saved_for_its_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is written, the design's place is another; and none is lost for it."""
    assert (
        run("plan", "square.svg", *QUICK, "--iterations", "2", "--save-project", "-o", "out/deep", "-q") == 0
    )
    assert project.load("out/deep/laserpath.toml").design == Path("out/deep/../../square.svg")
    assert (
        run("plan", "square.svg", *QUICK, "--iterations", "2", "--save-project", "-o", "out/deep", "-q") == 2
    )
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["prüfung – Muster", "a b" * 40, 'quote " and \\ backslash' * 4, "😀" * 20])
def test_the_head_holds_any_name(name: str) -> None:
    """The program's head is ASCII, and folded at some 80 columns."""
    process = Process(resin=Resin(name=name))
    design = replace(laserpath.load("square.svg", tolerance=0.01), recipe=(f"design = {quoted(name)}",))
    text = project.text(design, process, Settings())
    lines = list(project.narrow(text))
    assert max(map(len, lines)) <= 70
    assert all(line.isascii() for line in lines)
    assert tomllib.loads("\n".join(lines)) == tomllib.loads(text)
    moves = gcode.parse("G0 X1\nM4\nG1 X2 S10 F100", gcode.dialect("grbl"))
    for dialect in gcode.DIALECTS:
        still = replace(moves, dynamic=None) if not gcode.dialect(dialect).dynamic_power else moves
        program = gcode.write(still, gcode.dialect(dialect), 1000, ("begin:", *lines))
        head = [line.strip("; ()") for line in program.splitlines() if line[:1] in ";("]
        begin = next(k for k, line in enumerate(head) if line.startswith("begin:"))
        if line_comments(dialect):
            assert tomllib.loads("\n".join(head[begin + 1 : begin + 1 + len(lines)])) == tomllib.loads(text)


def line_comments(dialect: str) -> bool:
    """Whether its comments may hold any character; in brackets, brackets become others."""
    return dialect not in ("linuxcnc", "generic")

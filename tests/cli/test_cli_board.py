"""`laserpath board`: its files, what it says, and what it refuses."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import zipfile
from pathlib import Path

import boards
import pytest
from boards import box, gerber
from commands import Captured, Refused, run

import laserpath
import laserpath.report
from laserpath import BoardExposure, Process, Settings, Spot
from laserpath.config import profiles

QUICK = ("--iterations", "2", "--initial", "contour", "--report", "brief", "--spot-fwhm", "0.2")
SMALL = boards.small()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    boards.write(tmp_path / "b")
    boards.archive(Path("s.zip"), SMALL)
    return tmp_path


def exposed(program: str) -> tuple[float, ...]:
    """x and y, from and to, that a program's head says it exposes."""
    text = Path(program).read_text().replace("\n; ", " ")
    found = re.search(r"Exposes x ([-\d.]+) to ([-\d.]+) mm, y ([-\d.]+) to ([-\d.]+) mm", text)
    assert found
    return tuple(map(float, found.groups()))


def test_a_program_for_each_side_with_one_zero(capsys: Captured) -> None:
    assert run("board", "s.zip", *QUICK, "--json", "--frame", "-o", "out") == 0
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    names = ["s-top-copper", "s-bottom-copper"]
    files = [f"out/{name}.{end}" for name in names for end in ("gcode", "toolpath.svg", "report.html")]
    assert said["files"] == [*files, "out/s.board.html", "out/s.frame.gcode"]
    assert all(Path(file).is_file() for file in said["files"])
    assert said["size_mm"] == [2.5, 1.5]
    assert said["holes"] == 1
    assert [(one["layer"], one["said_by"]) for one in said["layers"]] == [
        ("top-copper", "name"), ("bottom-copper", "name"),
    ]  # fmt: skip
    assert exposed(files[0]) == pytest.approx((0.2, 1.2, 0.2, 1.2), abs=0.02)
    assert exposed(files[3]) == pytest.approx((0.55, 2.3, 0.2, 1.2), abs=0.02)
    assert (
        "s-top-copper: 1 × 1 mm, 1 shape; from gerbers/s-F_Cu.gbr (by name); the copper as drawn"
        in printed.err
    )
    page = Path("out/s.board.html").read_text()
    assert "all layers over each other" in page
    assert page.count("report.html") == 2
    assert "turn the board over from left to right" in " ".join(page.split())


@pytest.mark.slow
def test_python_plans_the_same(capsys: Captured) -> None:
    settings = Settings(iterations=2, initial="contour", report="brief")
    plans = laserpath.plan_board("s.zip", Process(Spot(fwhm=0.2)), settings, BoardExposure(mirror="y"))
    assert list(plans.plans) == ["top-copper", "bottom-copper"]
    x0, y0, x1, y1 = plans.plans["bottom-copper"].design.bounds
    assert (x0, y0, x1, y1) == pytest.approx((0.2, 0.3, 1.95, 1.3), abs=0.01)
    assert plans.write_time == sum(one.report.executed.motion.write_time for one in plans.plans.values())
    assert repr(plans).count("\n") == 0


@pytest.mark.slow
def test_a_table_of_all_layers(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(laserpath.report, "render_colours", lambda *_: "<html></html>")
    assert run("board", "s.zip", *QUICK, "--layers", "top-copper", "--panel", "2x1", "--gap", "1mm") == 0
    printed = capsys.readouterr()
    rows = [line for line in printed.out.splitlines() if "│" in line]
    assert "top-copper" in rows[0]
    assert "all" in rows[1]
    assert exposed("s-top-copper.gcode") == pytest.approx((0.2, 4.7, 0.2, 1.2), abs=0.02)


@pytest.mark.slow
def test_layers_have_settings_of_their_own(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """In the order of the project, or of --layers; what is off, or not listed, has no program."""
    monkeypatch.setattr(laserpath.report, "render_colours", lambda *_: "<html></html>")
    table = '[[layers]]\nname = "{}"\n{}\n'
    Path("laserpath.toml").write_text(
        table.format("bottom-copper", "dose = 1.5\npasses = 2")
        + table.format("top-mask", "on = false")
        + table.format("top-copper", 'quality = "draft"')
    )
    assert run("board", "s.zip", *QUICK, "--json", "-o", "own") == 0
    printed = capsys.readouterr()
    assert [one["layer"] for one in json.loads(printed.out)["layers"]] == ["bottom-copper", "top-copper"]
    assert "mirrored; its own: critical dose 30 mJ/cm2, passes 2" in printed.err
    assert 'quality = "draft"' in Path("own/s-top-copper.gcode").read_text()
    assert not list(Path("own").glob("*mask*"))
    Path("empty.toml").write_text("")
    assert run("board", "s.zip", *QUICK, "--project", "empty.toml", "--layers", "bottom-copper") == 0
    spot = Process(Spot(fwhm=0.2))
    light = [
        exposed.dose.sum() * exposed.grid.pixel_area
        for folder in ("own", ".")
        for exposed in [laserpath.simulate(f"{folder}/s-bottom-copper.gcode", spot).executed]
    ]
    assert light[0] / light[1] == pytest.approx(1.5, rel=0.02)


@pytest.mark.slow
def test_the_other_side_needs_its_table_alone(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The first run writes it, with the same marks, and prints the command with all that was chosen."""
    monkeypatch.setattr(laserpath.report, "render_colours", lambda *_: "<html></html>")
    Path("the marks.csv").write_text(
        "mark,design_x_mm,design_y_mm,machine_x_mm,machine_y_mm\nSW,20,30,5,6\nNE,22.5,31.5,7.5,7.5\n"
    )
    first = ("s.zip", *QUICK, "--layers=top-copper,top-mask", "--align", "the marks.csv", "-o", "out")
    assert run("board", *first, "--drill-marks", "0.1mm") == 0
    told = capsys.readouterr().err
    command = told[told.index("laserpath board ") :].splitlines()[0]
    assert command == (
        f"laserpath board s.zip {' '.join(QUICK)} -o out --drill-marks 0.1mm --layers bottom-copper "
        "--align out/s-bottom.marks.csv"
    )
    table = Path("out/s-bottom.marks.csv")
    head, *rows = table.read_text().splitlines()
    assert rows == ["SW,20.0000,30.0000,,", "NE,22.5000,31.5000,,"]
    assert "and out/s-bottom.marks.csv filled in" in told
    # Turned over from left to right, and laid down with its corner at 105, 56.
    table.write_text("\n".join([head, "SW,20,30,107.5,56", "NE,22.5,31.5,105,57.5"]))
    assert run(*shlex.split(command)[1:]) == 0
    assert all(Path(f"out/s-{side}.board.html").is_file() for side in ("top", "bottom"))
    assert exposed("out/s-bottom-copper.gcode") == pytest.approx((105.55, 107.3, 56.2, 57.2), abs=0.02)
    assert run("board", *first, "-q") == 0
    assert "107.5" in table.read_text(), "what somebody has filled in stays"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("b --layers top-coper", "layer 'top-coper' cannot be exposed; known: top-copper"),
        (
            "b --layers bottom-mask",
            "b has no bottom-mask; it has top-copper, bottom-copper, top-mask, top-paste",
        ),
        ("b --layer top-copper", "--layer 'top-copper' is not like top-copper=FILE"),
        ("b --layer top-copper=none.gbr", "no Gerber and no drill file is named 'none.gbr'"),
        ("b --panel 2by3", "panel '2by3' is not like 2x3: columns x rows"),
        ("b --panel 90x1", "design 'b' is 1078 mm long in x"),
        ("b --isolation 0", "isolation is 0 mm, but must be 0.001 to 20 mm"),
        ("b --isolation 400", "but must be 0.001 to 20 mm; was 400um meant?"),
        ("b --layers F.Cu", "inner30-copper; did you mean top-copper?"),
        ("b --layers B.Mask", "inner30-copper; did you mean bottom-mask?"),
        ("b --drill-clear 0 --drill-marks 0.3", "give one of them"),
        (
            "b --align 20,30=1,1 --align 30,30=11,1",
            "the back is aligned by marks of its own: choose the layers",
        ),
        ("none", "'none' cannot be read: No such file or directory"),
        ("text.txt", "text.txt is neither a Gerber nor a drill file, nor a ZIP archive of them"),
        ("my.kicad_pcb", "of them; it looks like a KiCad board: export the layer as Gerber"),
        ("my.svg", "of them; it looks like SVG: `laserpath plan` plans a drawing"),
        ("outside.zip", "which leads out of its folder"),
        ("bomb.zip --limit bytes=1MiB", "the archive holds more than 1 MiB of files, which is the limit"),
        (
            "two",
            "2 files are the outline: a-Edge_Cuts.gbr, b-Edge_Cuts.gbr; --layer outline=FILE chooses one",
        ),
        ("inches", "2 of 2 holes of b.drl lie off the board"),
        ("b --project mask.toml", "layer 'top-msk' cannot be exposed; known: top-copper, bottom-copper"),
        ("b --project off.toml", "no layer is on: at least one of the layers must be planned"),
        ("b --project turned.toml", "mirror says nothing about a board; take it out of the project file"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    arguments: str, sentence: str, refused: Refused
) -> None:
    Path("text.txt").write_text("nothing")
    Path("my.kicad_pcb").write_text("(kicad_pcb (version 20221018)\n")
    Path("my.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    Path("turned.toml").write_text('mirror = "x"\n')
    Path("mask.toml").write_text('layers = ["top-copper", {name = "top-msk", on = false}]\n')
    Path("off.toml").write_text('layers = [{name = "top-copper", on = false}]\n')
    with zipfile.ZipFile("outside.zip", "w") as archive:
        archive.writestr("../b-F_Cu.gbr", SMALL["s-F_Cu.gbr"])
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b-F_Cu.gbr", SMALL["s-F_Cu.gbr"] + b"0" * 3_000_000)
    boards.write(Path("two"))
    Path("two/a-Edge_Cuts.gbr").write_bytes(gerber(box(0, 0, 30, 40)))
    boards.write(Path("inches"), b=boards.drill(*boards.HOLES, unit="INCH"))
    assert sentence in refused("board", *arguments.split(), "-o", "out").splitlines()[-1]
    assert not Path("out").exists()


def test_plan_says_what_a_board_is_for(refused: Refused) -> None:
    shutil.copy("b/b.drl", "holes.drl")
    for given in ("s.zip", "b", "holes.drl"):
        assert "`laserpath board`" in refused("plan", given)


def test_each_layer_says_what_it_means_before_it_is_planned(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    class Told(Exception):
        pass

    def stop(*_: object, **__: object) -> None:
        raise Told

    monkeypatch.setattr(laserpath, "plan_board", stop)
    resin = ("--resin", "positive-photoresist", "--spot-fwhm", "0.05")
    Path("my.toml").write_text(profiles.text("machine", "grbl-diode-405"))
    with pytest.raises(Told):
        run("board", "b", *resin, "--rim", "0.5", "--layers", "top-mask,bottom-copper,top-copper")
    said = capsys.readouterr().err
    told = [line for line in said.splitlines() if "b-" in line and "from b-" in line]
    assert said.count("the spot and the resin are not measured") == 1, "once for all layers"
    assert told[0].endswith("from b-F_Mask.gbr (by name); all but the board without its openings is exposed")
    assert told[1].endswith("all but the copper as drawn is exposed, and 0.5 mm around the board, mirrored")
    assert told[2].startswith("laserpath: b-top-copper: ")


def test_what_the_machine_says_of_all_layers_is_told_once(capsys: Captured) -> None:
    """A slow host, in the terminal and in the list of warnings: not for the forecast and each layer."""
    text = profiles.text("machine", "grbl-diode-405")
    Path("slow.toml").write_text(text.replace("# host_delay_ms = 1 ", "host_delay_ms = 16 "))
    assert run("board", "s.zip", *QUICK, "--machine", "slow.toml", "--json") == 0
    printed = capsys.readouterr()
    assert printed.err.count("the host answers after 16 ms") == 1
    (told,) = [one for one in json.loads(printed.out)["warnings"] if "the host" in one]
    assert told.startswith("the host answers")

"""`laserpath plan --colours`: its files, what it says, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Answer, Refused, run

import laserpath.report
from laserpath.config import profiles

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="4mm" height="3mm" viewBox="0 0 4 3">'
    '<rect x="0.5" y="0.5" width="1" height="1" fill="red"/>'
    '<rect x="2.2" y="1.7" width="0.8" height="0.8" fill="blue"/></svg>'
)
QUICK = ("--iterations", "2", "--initial", "contour", "--report", "brief")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("two.svg").write_text(SVG)
    Path("one.svg").write_text(SVG.replace("blue", "red"))
    Path("lines.dxf").write_text("0\nSECTION\n2\nENTITIES\n0\nENDSEC\n0\nEOF\n")
    text = profiles.text("resin", "generic-405")
    Path("my.toml").write_text("\n".join(
        'name = "mine"' if line.startswith("name") else line for line in text.splitlines()
    ))  # fmt: skip
    monkeypatch.setattr(laserpath.report, "render_colours", lambda *_: "<html></html>")
    return tmp_path


def test_a_program_for_each_colour_with_its_resin(answer: Answer) -> None:
    said = answer("plan", "two.svg", "--colours", "2", "--colour-resin", "blue=my.toml", *QUICK)
    names = ["two-1-red", "two-2-blue"]
    files = [f"{name}.{end}" for name in names for end in ("gcode", "toolpath.svg", "report.html")]
    assert said["files"] == [*files, "two.colours.html"]
    assert all(Path(file).is_file() for file in said["files"])
    assert [one["design"] for one in said["colours"]] == names
    assert [one["colour"] for one in said["colours"]] == ["#ff0000", "#0000ff"]
    assert [one["resin"] == "mine" for one in said["colours"]] == [False, True]
    assert said["colours"][1]["files"] == files[3:]
    assert "mine" in Path("two-2-blue.gcode").read_text()


@pytest.mark.slow
def test_a_project_can_say_it_all(refused: Refused) -> None:
    """The resin's file is relative to the project; --colour on the command line plans one of them."""
    Path("sub").mkdir()
    Path("two.svg").rename("sub/two.svg")
    Path("my.toml").rename("sub/my.toml")
    project = Path("sub/laserpath.toml")
    project.write_text(
        'design = "two.svg"\ncolours = 2\ncolour_resin = ["blue=./my.toml", "1=./none.toml"]\n'
    )
    assert "sub/none.toml' is missing" in refused("plan", "--project", str(project), *QUICK)
    project.write_text('design = "two.svg"\ncolours = 2\n')
    assert run("plan", "--project", str(project), "--colour", "blue", "-o", "out", *QUICK) == 0
    assert sorted(path.name.partition(".")[0] for path in Path("out").iterdir()) == ["two-2-blue"] * 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("two.svg --colours 0", "0 is not in the range 2<=x<=12"),
        ("two.svg --colours 100", "100 is not in the range 2<=x<=12"),
        ("two.svg --colours many", "'many' is not a whole number from 2 to 12"),
        (
            "two.svg --colours 3",
            "only 2 colours besides the paper can be told apart: red #ff0000, blue #0000ff",
        ),
        ("one.svg --colours 2", "only 1 colour besides the paper can be told apart: red #ff0000"),
        ("lines.dxf --colours 2", "--colours says nothing about DXF files"),
        ("two.svg --colour red", "--colour needs --colours with it"),
        ("two.svg --colour-resin red=my.toml", "--colour-resin needs --colours with it"),
        ("two.svg --colours 2 --colour-resin red", "must name a colour and its resin"),
        (
            "two.svg --colours 2 --colour-resin green=my.toml",
            "'green' is none of them; the colours are 1 red",
        ),
        ("two.svg --colours 2 --colour-resin red=my.toml --colour-resin 1=my.toml", "is given two resins"),
        ("two.svg --colours 2 --colour 1 --colour-resin red=my.toml", "give its resin by --resin"),
        ("two.svg --colours 2 --colour violet", "'violet' is none of them"),
        ("two.svg --colours 2 --negative", "--negative cannot be used with --colours or --layers"),
        ("two.svg --colours 2 --grey 60um", "--grey cannot be used with --colours"),
        ("two.svg --colours 2 --threshold 0.3", "--threshold cannot be used with --colours"),
        ("two.svg --colours 2 --sensitivity", "--sensitivity is of one program"),
        ("two.svg --colours 2 --size 900mm", "design 'two' is 900 mm long in x"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    arguments: str, sentence: str, refused: Refused
) -> None:
    assert sentence in refused("plan", *arguments.split(), "-o", "out").splitlines()[-1]
    assert not Path("out").exists()

"""`--align` on the command line: the place of a plan, and what it says of the marks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

from laserpath.config import project, request

BAR = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="3mm" height="3mm" viewBox="0 0 3 3">'
    '<rect x="1" y="1" width="1" height="0.5"/></svg>'
)
QUICK = ("--iterations", "5", "--initial", "contour", "--report", "brief")
ANGLE = np.radians(20)
TURN = np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]])
DRAWN = np.array([(0.0, 0), (3, 0), (3, 3), (0, 3)])
NOISE = 0.001 * np.array([(1, 0), (0, -1), (-1, 1), (0, 0)])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bar.svg").write_text(BAR)
    found = DRAWN @ TURN.T + (30, 40) + NOISE
    rows = [
        f"corner-{k},{x:g},{y:g},{u:.4f},{v:.4f}"
        for k, ((x, y), (u, v)) in enumerate(zip(DRAWN, found, strict=True), start=1)
    ]
    head = "mark,design_x_mm,design_y_mm,machine_x_mm,machine_y_mm"
    Path("marks.csv").write_text("\n".join((head, *rows)) + "\n")
    return tmp_path


def test_a_plan_is_where_the_marks_are_and_says_how_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "bar.svg", *QUICK, "--align", "marks.csv", "--align-fit", "rotation", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    rotation = told["alignment"]["rotation_deg"]
    assert rotation["value"] == pytest.approx(20, abs=rotation["half_of_95_percent"])
    assert 0 < rotation["half_of_95_percent"] < 0.2
    assert [mark["name"] for mark in told["alignment"]["marks"]] == [f"corner-{k}" for k in (1, 2, 3, 4)]
    # The plan was measured against the turned bar: hardly an edge is off.
    assert told["executed"]["missing_edges"] == 0
    assert told["executed"]["epe_mean"] < 0.1
    text = Path("bar.gcode").read_text()
    lit = [line for line in text.splitlines() if line.startswith("G1") and "X" in line]
    places = [[float(word[1:]) for word in line.split() if word[0] in "XY"] for line in lit if "Y" in line]
    at = np.array(places)
    middle = TURN @ (1.5, 1.75) + (30, 40)
    assert at.mean(axis=0) == pytest.approx(middle, abs=0.1)

    assert "Work zero: that of the marks." in text
    assert "Alignment: shift 30" in text
    assert "Mark corner-2: 3, 0 mm found at 32.8191, 41.0251 mm, off by" in text.replace("\n; ", " ")
    page = Path("bar.report.html").read_text().replace("<wbr>", "")
    assert "aligned to 4 marks" in page
    assert "mark corner-3" in page


def test_the_head_of_the_program_has_the_marks_for_another_plan() -> None:
    assert run("plan", "bar.svg", *QUICK, "--align", "marks.csv", "-q") == 0
    head = [line.lstrip("; ") for line in Path("bar.gcode").read_text().splitlines() if line[:1] == ";"]
    begin = next(k for k, line in enumerate(head) if line.startswith(f"{project.NAME}, to plan this again"))
    Path("again.toml").write_text("\n".join(head[begin + 1 :]))
    values = project.load("again.toml").values
    marks = request.arrangement_of(values).align
    assert [mark.design for mark in marks] == [tuple(place) for place in DRAWN]
    assert [mark.name for mark in marks] == [f"corner-{k}" for k in (1, 2, 3, 4)]
    assert request.settings_of(values, 0.1).origin == "own"


def test_a_project_names_its_table_of_marks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Relative to its own folder, as every file that it names; `simulate` finds the design there, too."""
    (folder / "job").mkdir()
    for name in ("bar.svg", "marks.csv"):
        Path(name).rename(folder / "job" / name)
    Path("job/laserpath.toml").write_text('align = "marks.csv"\nalign_fit = "rotation"\n')
    assert run("plan", "job/bar.svg", *QUICK, "--json") == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["alignment"]["fit"] == "rotation"
    assert run("simulate", "bar.gcode", "--design", "job/bar.svg", "--json") == 0
    simulated = json.loads(capsys.readouterr().out)
    assert simulated["executed"]["epe_mean"] == pytest.approx(planned["executed"]["epe_mean"], rel=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--align", "1,2"], "'1,2' cannot be read"),
        (["--align", "1,2=3"], "'1,2=3' is not a mark such as"),
        (["--align", "0,0=5,5", "--origin", "design"], "--origin design cannot be used with --align"),
        (["--align", "0,0=5,5", "--offset", "1,1"], "--offset cannot be used with --align"),
        (["--align", "0,0=5,5", "--align", "3,0=8.4,5"], "a scale of 1.133"),
        (["--align-fit", "scale"], "--align-fit scale needs marks"),
    ],
)
def test_bad_marks_are_one_sentence(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "bar.svg", *options) == 2
    assert words in capsys.readouterr().err
    assert not Path("bar.gcode").exists()

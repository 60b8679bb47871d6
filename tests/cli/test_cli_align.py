"""`laserpath marks` and `--align`: a tour of marks, the place of a plan, and what it says of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Answer, Captured, Refused, run

import gcode
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
        f"Corner-{k},{x:g},{y:g},{u:.4f},{v:.4f}"
        for k, ((x, y), (u, v)) in enumerate(zip(DRAWN, found, strict=True), start=1)
    ]
    head = "mark,design_x_mm,design_y_mm,machine_x_mm,machine_y_mm"
    Path("marks.csv").write_text("\n".join((head, *rows)) + "\n")
    return tmp_path


@pytest.mark.slow
def test_a_plan_is_where_the_marks_are_and_says_how_well(answer: Answer) -> None:
    told = answer("plan", "bar.svg", *QUICK, "--align", "marks.csv", "--align-fit", "rotation")
    rotation = told["alignment"]["rotation_deg"]
    assert rotation["value"] == pytest.approx(20, abs=rotation["half_of_95_percent"])
    assert 0 < rotation["half_of_95_percent"] < 0.2
    assert [mark["name"] for mark in told["alignment"]["marks"]] == [f"Corner-{k}" for k in (1, 2, 3, 4)]
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
    assert "Mark Corner-2: 3, 0 mm found at 32.8191, 41.0251 mm, off by" in text.replace("\n; ", " ")
    page = Path("bar.report.html").read_text().replace("<wbr>", "")
    assert "aligned to 4 marks" in page
    assert "mark Corner-3" in page


@pytest.mark.slow
def test_the_head_of_the_program_has_the_marks_for_another_plan() -> None:
    assert run("plan", "bar.svg", *QUICK, "--align", "marks.csv", "-q") == 0
    head = [line.lstrip("; ") for line in Path("bar.gcode").read_text().splitlines() if line[:1] == ";"]
    begin = next(k for k, line in enumerate(head) if line.startswith(f"{project.NAME}, to plan this again"))
    Path("again.toml").write_text("\n".join(head[begin + 1 :]))
    values = project.load("again.toml").values
    marks = request.arrangement_of(values).align
    assert [mark.design for mark in marks] == [tuple(place) for place in DRAWN]
    assert [mark.name for mark in marks] == [f"Corner-{k}" for k in (1, 2, 3, 4)]
    assert request.settings_of(values, 0.1).origin == "own"


@pytest.mark.slow
def test_a_project_names_its_table_of_marks(folder: Path, answer: Answer) -> None:
    """Relative to its own folder, as every file that it names; `simulate` finds the design there, too."""
    (folder / "job").mkdir()
    for name in ("bar.svg", "marks.csv"):
        Path(name).rename(folder / "job" / name)
    Path("job/laserpath.toml").write_text('align = "marks.csv"\nalign_fit = "rotation"\n')
    planned = answer("plan", "job/bar.svg", *QUICK)
    assert planned["alignment"]["fit"] == "rotation"
    simulated = answer("simulate", "bar.gcode", "--design", "job/bar.svg")
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
def test_bad_marks_are_one_sentence(options: list[str], words: str, refused: Refused) -> None:
    assert words in refused("plan", "bar.svg", *options)
    assert not Path("bar.gcode").exists()


# The tour


def visited(name: str) -> list[list[float]]:
    """The ends of all moves of a program, which are all dark."""
    dialect = gcode.dialect("grbl")
    moves = gcode.verify(Path(name).read_text(), dialect, pauses=True).moves
    assert not moves.on.any()
    return np.unique(moves.xy, axis=0).round(3).tolist()


def test_a_tour_waits_at_each_mark_and_its_table_aligns_a_plan(
    capsys: Captured, answer: Answer, refused: Refused
) -> None:
    """Mirrored, at another place: the table has the places of the file all the same."""
    marks = ("--marks", "A:0,0", "--marks", "B:3,0", "--marks", "C:3,3")
    assert run("marks", "bar.svg", *marks, "--mirror", "x", "--origin", "page", "--offset", "10,20") == 0
    told = capsys.readouterr().out
    assert told == Path("bar.marks.csv").read_text()
    assert told.splitlines()[1:] == ["A,0.0000,0.0000,,", "B,3.0000,0.0000,,", "C,3.0000,3.0000,,"]
    assert visited("bar.marks.gcode") == [[10, 20], [10, 23], [13, 20]]
    text = Path("bar.marks.gcode").read_text()
    assert text.count("\nM0\n") == 3
    assert "; mark B: expected at 10.000, 20.000 mm\nM0" in text
    with pytest.raises(gcode.GcodeError, match="M0 waits for the user"):
        gcode.verify(text, gcode.dialect("grbl"))

    turned = np.array([(0, 0), (-3, 0), (-3, 3)]) @ TURN.T + (113, 40)
    found = [f"{x:.5f},{y:.5f}" for x, y in turned]
    lines = zip(told.splitlines()[1:], found, strict=True)
    rows = [row.removesuffix(",,") + f",{place}" for row, place in lines]
    Path("bar.marks.csv").write_text("\n".join((told.splitlines()[0], *rows)))
    assert "has places that would be lost" in refused("marks", "bar.svg", *marks)
    mirrored = ("--mirror", "x", "--align-fit", "rotation")
    told = answer("plan", "bar.svg", "--align", "bar.marks.csv", *mirrored, *QUICK)
    assert told["alignment"]["rotation_deg"]["value"] == pytest.approx(20, abs=0.001)


def test_a_second_tour_goes_where_the_first_alignment_says() -> None:
    marks = ("--marks", "C:3,3", "--wait", "2", "-q")
    assert run("marks", "bar.svg", *marks, "--align", "0,0=50,60", "--align", "3,0=50,63") == 0
    assert visited("bar.marks.gcode") == [[47, 63]]
    assert "G4 P2\n" in Path("bar.marks.gcode").read_text()


def test_a_dim_tour_says_what_it_leaves(capsys: Captured) -> None:
    machine = ("--machine", "linuxcnc-stage-405", "--marks", "C:3,3", "--marks", "5,3")
    assert run("marks", "bar.svg", *machine, "--dim", "--wait", "0.5") == 0
    assert "the light leaves 0.25 % of the critical dose at a mark" in capsys.readouterr().err
    moves = gcode.verify(
        Path("bar.marks.gcode").read_text(), gcode.dialect("linuxcnc"),
        asked=gcode.parse(Path("bar.marks.gcode").read_text(), gcode.dialect("linuxcnc")),
    ).moves  # fmt: skip
    assert moves.on.sum() == 2 and moves.still[moves.on].all()


def test_there_is_a_program_for_each_mark_on_demand(capsys: Captured) -> None:
    for _ in range(2):  # a table in which nothing is filled in yet may be written again
        assert run("marks", "bar.svg", "--marks", "A/1:0,0", "--marks", "3,0", "--each", "-o", "out") == 0
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "bar.marks-A_1.gcode", "bar.marks-P2.gcode", "bar.marks.csv",
    ]  # fmt: skip
    assert visited("out/bar.marks-P2.gcode") == [[3, 0]]
    assert "M0" not in Path("out/bar.marks-P2.gcode").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Missing option '--marks'"),
        (["--marks", "round:1mm"], "there are no round parts"),
        (["--marks", "900,0"], "off machine"),
        (
            ["--marks", "1,0", "--marks", "2,0", "--machine", "klipper-diode-405"],
            "klipper has no line at which",
        ),
        (["--marks", "1,0", "--dim"], "--dim needs --wait with it, and no --each"),
        (["--marks", "1,0", "--dim", "--wait", "5"], "the weakest light of machine 'generic 405 nm GRBL"),
    ],
)
def test_a_tour_that_cannot_be_is_one_sentence(options: list[str], words: str, refused: Refused) -> None:
    assert words in refused("marks", "bar.svg", *options)
    assert not Path("bar.marks.csv").exists()

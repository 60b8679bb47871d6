"""`laserpath simulate`: what it writes and says of a program of any tool, and its exit codes."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
from pathlib import Path

import pytest
from commands import Answer, Captured, Refused, run

from laserpath.config import profiles
from laserpath.simulation import Simulation

SQUARE = """<svg xmlns="http://www.w3.org/2000/svg" width="4mm" height="3mm" viewBox="0 0 4 3">
<rect x="1" y="1" width="1" height="1"/></svg>"""


def hatch(x0: float = 0.0, y0: float = 0.0, s: float = 60) -> str:
    """Lines over the square, 0.08 mm apart."""
    rows = "".join(
        f"G0 X{1.04 + x0:.3f} Y{1.04 + y0 + k * 0.0767:.3f}\nG1 X{1.96 + x0:.3f} F1200 S{s}\n"
        for k in range(13)
    )
    return f"; by hand\nG21 G90 G17\nM4 S0\n{rows}M5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """job.nc and square.svg in the current folder; the page is drawn by a test of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Simulation, "page", lambda simulation: f"page of {simulation.name}")
    Path("job.nc").write_text(hatch())
    Path("square.svg").write_text(SQUARE)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_without_a_design_it_says_what_cures_and_nothing_of_edges(folder: Path, capsys: Captured) -> None:
    assert run("simulate", "job.nc", "-o", "out") == 0
    printed = capsys.readouterr()
    assert "13 exposing moves, 12.0 mm with 0.664 mW at 20.0 mm/s" in printed.out
    assert "Area exposed" in printed.out
    assert "Edge" not in printed.out
    assert names(folder / "out") == ["job.cured.svg", "job.simulation.html"]
    assert "out/job.simulation.html" in printed.out


def test_the_page_is_the_report_of_that_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert run("simulate", "job.nc", "--design", "square.svg", "-q") == 0
    page = Path("job.simulation.html").read_text()
    assert "<h1>job.nc</h1>" in page
    assert "What this file is" in page
    assert "Whether another power would do better" in page


def test_with_a_design_it_measures_against_it(folder: Path, capsys: Captured) -> None:
    assert run("simulate", "job.nc", "--design", "square.svg") == 0
    printed = capsys.readouterr()
    assert "square: 1 × 1 mm, 1 shape" in printed.err
    assert "Edge error, mean" in printed.out
    assert "Overlap (IoU)" in printed.out


def test_json_is_all_there_is_on_stdout(folder: Path, answer: Answer) -> None:
    content = answer("simulate", "job.nc", "--design", "square.svg")
    assert content["files"] == ["job.simulation.html", "job.cured.svg"]
    assert content["program"] == "job.nc"
    assert content["executed"]["write_length"] == pytest.approx(13 * 0.92)
    assert content["executed"]["cured"] == pytest.approx(
        1 - content["executed"]["undercure"] + content["executed"]["overcure"], rel=1e-6
    )
    assert content["executed"]["dose_max"] > 1
    assert "commanded" not in content, "what the program was made to give is not known"
    assert content["best_dose"]["epe_mean"] <= content["executed"]["epe_mean"]
    assert content["shift_mm"] == [0, 0]


def test_without_a_design_json_has_no_edges(folder: Path, answer: Answer) -> None:
    content = answer("simulate", "job.nc", "-q")
    assert content["design"] is None
    assert content["best_dose"] is None
    assert "epe_mean" not in content["executed"]


def test_a_missed_tolerance_is_exit_code_3_and_the_files_are_there(folder: Path, capsys: Captured) -> None:
    assert run("simulate", "job.nc", "--design", "square.svg", "--max-epe", "0.1um", "-q") == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "tolerance missed by job.nc: 95 % of the edge is within" in printed.err
    assert "µm, above the 0.1 µm asked for" in printed.err
    assert "job.simulation.html" in names(folder)
    assert run("simulate", "job.nc", "--design", "square.svg", "--max-epe", "2fwhm", "-q") == 0


@pytest.mark.slow
def test_a_shifted_program_is_found(folder: Path, capsys: Captured, answer: Answer) -> None:
    Path("far.nc").write_text(hatch(12.0, -0.5))
    assert run("simulate", "far.nc", "--design", "square.svg", "--json") == 0
    apart = capsys.readouterr()
    assert json.loads(apart.out)["executed"]["iou"] == 0
    assert "if the program has another work zero: --align" in apart.err
    joined = answer("simulate", "far.nc", "--design", "square.svg", "--align")
    assert joined["shift_mm"] == pytest.approx([-12.0, 0.5], abs=0.02)
    assert joined["executed"]["iou"] > 0.8


def test_stdin_and_another_dialect(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    marlin = b"G21\nG90\nM3 I S0\nG0 X1 Y1\nG1 X3 F1200 S128\nM5 I\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(marlin)))
    assert run("simulate", "-", "--dialect", "marlin") == 0
    printed = capsys.readouterr()
    assert "with 5.02 mW at 20.0 mm/s. Read as marlin writes it, with 10 mW at S255" in printed.out
    assert "stdin.cured.svg" in names(folder)


def test_a_layer_is_picked(folder: Path, answer: Answer, refused: Refused) -> None:
    Path("layers.nc").write_text(
        "G21 G90 G17\nM4 S0\nG0 X1 Y1 Z0.1\nG1 X3 F1200 S100\nG0 Z0.2\nG1 Y2 S50\nM5\n"
    )
    lit = {}
    for z in ("0.1", "0.2", "all"):
        lit[z] = answer("simulate", "layers.nc", "--z", z)["executed"]["write_length"]
    assert lit == pytest.approx({"0.1": 2.0, "0.2": 1.0, "all": 3.0})
    assert "nothing is exposed at Z 0.3 mm; the file exposes at Z 0.1, 0.2 mm" in refused(
        "simulate", "layers.nc", "--z", "0.3"
    )


def test_the_project_beside_the_design_says_which_machine(folder: Path, answer: Answer) -> None:
    Path("laserpath.toml").write_text('critical_dose = "10 mJ/cm2"\norigin = "design"\n')
    with_project = answer("simulate", "job.nc", "--design", "square.svg", "--align")
    assert with_project["shift_mm"] == pytest.approx([-1, -1], abs=0.02)
    without = answer("simulate", "job.nc", "--critical-dose", "20")
    assert with_project["executed"]["dose_max"] == pytest.approx(
        2 * without["executed"]["dose_max"], rel=0.05
    )


def test_the_machine_s_full_power_scales_the_dose(folder: Path, answer: Answer) -> None:
    text = profiles.text("machine", profiles.DEFAULTS["machine"])
    Path("strong.toml").write_text(text.replace("power_max_mW = 10", "power_max_mW = 20"))
    doses = []
    for machine in (profiles.DEFAULTS["machine"], "strong.toml"):
        doses.append(answer("simulate", "job.nc", "--machine", machine)["executed"]["dose_max"])
    assert doses[1] == pytest.approx(2 * doses[0])


def test_a_doubtful_file_is_exposed_with_a_warning(folder: Path, capsys: Captured) -> None:
    Path("odd.nc").write_text(hatch().replace("M4 S0", "M100\nM4 S0").replace("X1.960", "X-1.960", 1))
    assert run("simulate", "odd.nc", "-q") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "laserpath: warning: line 3: M100 is skipped" in printed.err
    assert "X -1.96 mm is below 0 mm" in printed.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.nc"], "cannot be read: No such file"),
        (["missing.nc", "--design", "missing.stl"], "program 'missing.nc' cannot be read"),
        (["."], "cannot be read: Is a directory"),
        ([], "Missing argument"),
        (["empty.nc"], "'empty.nc' is empty"),
        (["binary.nc"], "'binary.nc' is not text"),
        (["dark.nc"], "'dark.nc' exposes nothing as grbl"),
        (["job.nc", "--design", "missing.svg"], "missing.svg does not exist"),
        (["job.nc", "--align"], "--align needs a design"),
        (["job.nc", "--max-epe", "5um"], "--max-epe needs a design"),
        (["job.nc", "--scale", "2"], "--scale needs a design"),
        (["job.nc", "--sensitivity"], "--sensitivity needs a design"),
        (["job.nc", "--depth"], "has no penetration depth"),
        (["job.nc", "--z", "low"], "--z 'low' is neither a number of mm nor 'all'"),
        (["job.nc", "--s-max", "0"], "s-max"),
        (["job.nc", "--dialect", "grlb"], "did you mean grbl?"),
        (["job.nc", "--machine", "nothing"], "is unknown"),
        (["job.nc", "-o", "job.nc"], "is a file"),
    ],
)
def test_bad_input_is_a_sentence_exit_code_2_and_no_file(
    folder: Path, refused: Refused, arguments: list[str], words: str
) -> None:
    Path("empty.nc").write_bytes(b"")
    Path("binary.nc").write_bytes(b"G1 X5\0\0\0")
    Path("dark.nc").write_text(hatch(s=0))
    before = names(folder)
    assert words in refused("simulate", *arguments)
    assert names(folder) == before


@pytest.mark.slow
def test_the_example_of_the_docs_is_what_is_printed(folder: Path, capsys: Captured) -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "simulating.md").read_text(encoding="utf-8")
    shutil.copy(root / "tests" / "data" / "docs" / "job.nc", folder)
    assert run("simulate", "job.nc", "--design", str(root / "samples" / "holes.svg")) == 0
    printed = " ".join(re.sub("[│┃]", " ", capsys.readouterr().out).split())
    (example,) = re.findall(r"```text\n(job\.nc: .*?)```", page, re.S)
    paragraphs = re.split(r"\n\n| as executed\n|\n(?= )", example)
    assert len(paragraphs) == 9
    for paragraph in paragraphs:
        assert " ".join(paragraph.split()) in printed


@pytest.mark.slow
def test_sensitivity_says_what_spoils_the_edges_most(folder: Path, capsys: Captured, answer: Answer) -> None:
    content = answer("simulate", "job.nc", "--design", "square.svg", "--sensitivity")
    found = content["sensitivity"]
    assert found["planned"]["epe_mean"] == content["executed"]["epe_mean"]
    assert found["improved"] == found["help"] == [], "another tool's path cannot be learned again"
    light = next(one for one in found["disturbed"] if one["cause"] == "light")
    # S60 of 1000 is level 16 of 255: 16/255 is 5.5 % less light than 17/256, and lower levels lose more.
    assert 0.85 < light["dose_max"] / found["planned"]["dose_max"] < 0.945
    assert run("simulate", "job.nc", "--design", "square.svg", "--sensitivity") == 0
    assert found["headline"] in capsys.readouterr().out


def test_the_depth_is_computed_on_request(folder: Path, capsys: Captured, answer: Answer) -> None:
    assert answer("simulate", "job.nc", "-q")["depth"] is None
    found = answer("simulate", "job.nc", "--resin", "working-curve", "--depth", "-q")
    depth, executed = found["depth"], found["executed"]
    assert depth["penetration_depth"] == 0.11
    # Jacobs' working curve at the brightest place; the critical dose of 50 µm is E_c e^(50/110).
    expected = 0.11 * math.log(executed["dose_max"]) + 0.05
    assert depth["largest"] == pytest.approx(expected, rel=1e-6)
    assert depth["at"] == pytest.approx(executed["brightest"])
    assert run("simulate", "job.nc", "--resin", "working-curve", "--depth") == 0
    assert "It cures " in capsys.readouterr().out

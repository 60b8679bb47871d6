"""`laserpath estimate`: the forecast of a plan, without the plan."""

from __future__ import annotations

import re
from pathlib import Path

import boards
import pytest
from commands import Answer, Captured, Refused, run

from laserpath.planning import costs

BAR = '<rect width="2" height="{}" fill="{}"/>'
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4" width="4mm" height="4mm">{}</svg>'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bar.svg").write_text(DRAWING.format(BAR.format(0.5, "black")))
    two = BAR.format(0.5, "red") + '<g transform="translate(0 2)">' + BAR.format(1, "blue") + "</g>"
    Path("two.svg").write_text(DRAWING.format(two))
    return tmp_path


def test_it_says_the_size_the_area_and_the_times_and_writes_nothing(folder: Path, capsys: Captured) -> None:
    before = sorted(folder.iterdir())
    assert run("estimate", "bar.svg") == 0
    printed = capsys.readouterr().out
    assert re.match(
        r"bar: 2 × 0\.5 mm, 1 shape; .*; 1 mm² to expose; about .* to plan, .* to write\n", printed
    )
    assert sorted(folder.iterdir()) == before


@pytest.mark.slow
def test_it_says_what_plan_says(answer: Answer, capsys: Captured) -> None:
    options = ["bar.svg", "--iterations", "2", "--initial", "contour", "--report", "brief"]
    estimate = answer("estimate", *options)
    assert run("plan", *options, "--json") == 0
    seconds = re.search(r"about ([\d.]+) s to write", capsys.readouterr().err)
    assert seconds is not None
    assert float(seconds[1]) == pytest.approx(estimate["write_s"], rel=0.1)


@pytest.mark.parametrize("kept", [True, False])
def test_the_first_plan_after_an_installation_is_said_to_compile(
    answer: Answer, capsys: Captured, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """Forecast with what was compiled before and without: the difference is what the line says."""
    monkeypatch.setattr(costs, "pace", lambda: 1.0)  # the line is rounded to one digit
    monkeypatch.setattr(costs, "is_kept", lambda _: True)
    later = answer("estimate", "bar.svg")["plan_s"]
    monkeypatch.setattr(costs, "is_kept", lambda _: kept)
    now = answer("estimate", "bar.svg")["plan_s"]
    assert run("estimate", "bar.svg") == 0
    said = re.search(r"about (\d+) s of planning are for compiling", capsys.readouterr().out)
    assert (said is None) == kept
    assert float(said[1] if said else 0) == pytest.approx(now - later, rel=0.15)


def test_more_to_expose_takes_longer_and_a_stronger_laser_less(answer: Answer) -> None:
    small = answer("estimate", "bar.svg")
    large = answer("estimate", "bar.svg", "--scale", "4")
    assert large["designs"][0]["exposed_area_mm2"] == pytest.approx(
        16 * small["designs"][0]["exposed_area_mm2"]
    )
    assert large["write_s"] > 4 * small["write_s"]
    assert large["plan_s"] > small["plan_s"]
    assert large["memory_bytes"] > small["memory_bytes"]


def test_of_a_board_it_says_each_layer_and_all(answer: Answer, capsys: Captured) -> None:
    """A folder or an archive; what is exposed of it is that of `laserpath board` with the same options."""
    boards.write(Path("b"))
    boards.archive(Path("s.zip"), boards.small())
    assert run("estimate", "b", "--layers", "bottom-copper,top-mask") == 0
    printed = capsys.readouterr()
    assert "b: 10 × 6 mm, 2 holes" in printed.err
    rows = [re.split(r"\s*│\s*", line) for line in printed.out.splitlines() if "│" in line]
    assert [row[2] for row in rows] == ["bottom-copper", "top-mask", "all"]
    assert all(re.fullmatch(r"[\d.]+ mm²", row[3]) and re.fullmatch(r"[\d.]+ GB", row[5]) for row in rows)
    drawn = answer("estimate", "s.zip")["designs"]
    assert [one["name"] for one in drawn] == ["s-top-copper", "s-bottom-copper"]
    band = answer(
        "estimate", "s.zip", "--isolation", "0.1mm", "--panel", "2x1", "--layer", "top-silk=s-F_Cu.gbr"
    )
    assert [one["name"] for one in band["designs"]] == ["s-bottom-copper"]
    assert band["designs"][0]["size_mm"][0] > 2 * 2.5


def test_of_colours_it_says_each_and_all(answer: Answer, capsys: Captured) -> None:
    found = answer("estimate", "two.svg", "--colours", "2")
    areas = [one["exposed_area_mm2"] for one in found["designs"]]
    assert sorted(areas) == pytest.approx([1.0, 2.0])
    assert found["write_s"] == pytest.approx(sum(one["write_s"] for one in found["designs"]))
    assert run("estimate", "two.svg", "--colours", "2") == 0
    assert "all 2 colours: about" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.svg"], "none.svg"),
        (["bar.svg", "--grey", "50mJ/cm2"], "estimate is for drawings"),
        (["bar.svg", "--scale", "1000"], "mm"),
        (["bar.svg", "--scale", "160"], "long in x, above the 300 mm of machine"),
        (["bar.svg", "--heights", "0,0,0:1,0,0.01:0,1,0mm"], "the heights of the bed are from x -1 to 2"),
        (["bar.svg", "--colour", "1"], "--colours"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], sentence: str, refused: Refused) -> None:
    assert sentence in refused("estimate", *arguments)

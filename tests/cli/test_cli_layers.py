"""Layers of a drawing, each with its own dose, passes, quality and resin: `--layers`, `[[layers]]`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from commands import run

import laserpath
import laserpath.report
from laserpath.base.arrays import Floats
from laserpath.config import profiles

SPACE = "http://www.inkscape.org/namespaces/inkscape"
PLACES = {"plain": 0.5, "strong": 2.0, "other": 3.5}
"""Layer → x of the lower left corner of its square of 0.8 mm."""
QUICK = 'design = "three.svg"\niterations = 2\ninitial = "contour"\nreport = "brief"\n'


def layer(name: str, *lines: str) -> str:
    return f'[[layers]]\nname = "{name}"\n' + "".join(f"{line}\n" for line in lines)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    squares = "".join(
        f'<g i:groupmode="layer" i:label="{name}"><rect x="{x}" y="0.5" width="0.8" height="0.8"/></g>'
        for name, x in PLACES.items()
    )
    Path("three.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:i="{SPACE}" width="5mm" height="2mm" '
        f'viewBox="0 0 5 2">{squares}</svg>'
    )
    text = profiles.text("resin", "generic-405").replace("mJ_per_cm2 = 20", "mJ_per_cm2 = 30")
    Path("my.toml").write_text(
        "\n".join('name = "mine"' if line.startswith("name") else line for line in text.splitlines())
    )
    monkeypatch.setattr(laserpath.report, "render_colours", lambda *_: "<html></html>")
    return tmp_path


def project(*tables: str) -> None:
    Path("laserpath.toml").write_text(QUICK + "".join(tables))


class Lit(NamedTuple):
    """What a program exposes, as executed. xy: (N, 2) mm, ends of lit moves.  length: of the lit path, mm.

    light: mJ that it leaves, the dose over its area.
    """

    xy: Floats
    length: float
    light: float


def lit(program: str) -> Lit:
    done = laserpath.simulate(Path(program))
    path, exposed = done.shipped.executed, done.executed
    xy = np.concatenate([path.xy[:-1][path.on], path.xy[1:][path.on]])
    return Lit(xy, path.length[path.on].sum(), exposed.dose.sum() * exposed.grid.pixel_area)


def commands(program: str) -> list[str]:
    """A program without its head."""
    return [line for line in Path(program).read_text().splitlines() if not line.startswith(";")]


def test_a_layer_gets_its_dose_in_its_passes_and_others_none(capsys: pytest.CaptureFixture[str]) -> None:
    """The squares are alike: 1.2 times the dose is 1.2 times the light, of which each pass has half."""
    project(layer("strong", "dose = 1.2", "passes = 2"), layer("plain"), layer("other", "on = false"))
    assert run("plan", "--json") == 0
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    assert [one["name"] for one in said["layers"]] == ["strong", "plain"]  # as written in the project
    ends = ("gcode", "toolpath.svg", "report.html")
    assert said["files"] == [
        *(f"three-{name}.{end}" for name in ("strong", "plain") for end in ends),
        "three.layers.html",
    ]
    assert "layer 'strong'; its own: critical dose 24 mJ/cm2, passes 2" in printed.err
    twice, once = lit("three-strong.gcode"), lit("three-plain.gcode")
    assert twice.light / once.light == pytest.approx(1.2, rel=0.01)
    assert twice.length / once.length == pytest.approx(2, rel=0.02)
    for name, done in (("strong", twice), ("plain", once)):
        x = PLACES[name]
        assert x < done.xy[:, 0].min() < done.xy[:, 0].max() < x + 0.8


def test_each_layer_is_judged_by_the_threshold_of_its_resin(capsys: pytest.CaptureFixture[str]) -> None:
    """A resin of 1.5 times the critical dose gets that much light; a dose without unit multiplies it."""
    project(
        layer("plain"),
        layer("strong", 'resin = "my.toml"'),
        layer("other", 'resin = "my.toml"', "dose = 2", 'quality = "draft"'),
    )
    assert run("plan", "--json", "--save-project", "-o", "out") == 0
    said = json.loads(capsys.readouterr().out)["layers"]
    assert [one["resin"] for one in said] == ["generic 405 nm resin", "mine", "mine"]
    plain, strong, other = (lit(f"out/three-{name}.gcode").light for name in PLACES)
    assert strong / plain == pytest.approx(1.5, rel=0.01)
    assert other / plain == pytest.approx(3.0, rel=0.02)
    assert "critical_dose_mJ_per_cm2 = 60" in Path("out/three-other.gcode").read_text()
    assert 'quality = "draft"' in Path("out/three-other.gcode").read_text()

    # The saved project, and that in a program's head, plan the same again.
    programs = {name: commands(f"out/three-{name}.gcode") for name in PLACES}
    assert run("plan", "--project", "out/laserpath.toml", "-o", "again", "-q") == 0
    assert {name: commands(f"again/three-{name}.gcode") for name in PLACES} == programs


def test_one_layer_of_several_keeps_its_settings_and_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    project(layer("plain"), layer("strong", "passes = 2"), layer("other", "on = false"))
    assert run("plan", "--layer", "strong", "--json", "--origin", "design") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["design"] == "three-strong"
    assert "its own: passes 2" in printed.err
    corner = lit("three-strong.gcode").xy[:, 0].min()
    assert corner == pytest.approx(1.5, abs=0.1)  # from the corner of "plain", which is not planned
    assert not Path("three-plain.gcode").exists()


def test_layers_on_the_command_line_choose_and_order(capsys: pytest.CaptureFixture[str]) -> None:
    project(layer("plain"), layer("strong", "passes = 2"), layer("other", "on = false"))
    assert run("estimate", "--layers", "other,strong", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["designs"]] == [
        "three-other",
        "three-strong",
    ]
    Path("laserpath.toml").unlink()
    assert run("estimate", "three.svg", "--layers", "strong,plain", "--json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["designs"]] == [
        "three-strong",
        "three-plain",
    ]


def test_colours_have_settings_in_the_same_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """By number or name, in the order of the tables; what is not listed is left out, with a warning."""
    text = Path("three.svg").read_text()
    for colour in ("red", "blue", "lime"):
        text = text.replace('width="0.8"', f'fill="{colour}" width="0.80"', 1)
    Path("three.svg").write_text(text)
    project("colours = 3\n", layer("blue", "dose = 1.5"), layer("1"))
    assert run("estimate", "--json") == 0
    printed = capsys.readouterr()
    names = [one["name"] for one in json.loads(printed.out)["designs"]]
    assert len(names) == 2
    assert names[0].endswith("-blue")
    assert names[1].startswith("three-1-")
    assert run("plan", "--json", "-o", "out", "--colour", "blue") == 0
    assert "its own: critical dose 30 mJ/cm2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tables", "arguments", "sentence"),
    [
        (
            layer("plane"),
            "",
            "layer 'plane' is unknown; known: 'plain', 'strong', 'other'; did you mean 'plain'?",
        ),
        (layer("plain") * 2, "", "layers: layer 'plain' is listed twice; each layer has one program"),
        (layer("plain", "dose = 12"), "", "layer 'plain': dose: 12 is a factor of the resin's critical dose"),
        (layer("plain", 'dose = "1.2mW"'), "", "layer 'plain': dose: '1.2mW'"),
        (layer("plain", "on = false"), "", "no layer is on: at least one of the layers must be planned"),
        (layer("plain", 'resin = "none.toml"'), "", "layer 'plain': resin profile 'none.toml' is missing"),
        (layer("plain", 'resin = "generic"'), "", "layer 'plain': resin profile 'generic' is unknown"),
        (layer("plain", 'pitch = "5mm"'), "", "layer 'plain': pitch 5 mm must be between 0.1 and 10 times"),
        (layer("plain", 'resin = "positive-photoresist"') + layer("other"), "", "must have one tone"),
        (layer("plain"), "--layer other", "layer 'other' is none of the --layers 'plain'"),
        (layer("plain"), "--sensitivity", "choose one of the --layers with --layer"),
        (layer("plain"), "--negative", "--negative cannot be used with --colours or --layers"),
        (layer("plain"), "--grey 60um", "--grey cannot be used with --layers"),
        ("colours = 2\n" + layer("plain"), "", "only 1 colour besides the paper can be told apart"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    tables: str, arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tables)
    assert run("plan", *arguments.split(), "-o", "out") == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("See ")]
    assert sentence in errors[-1]
    assert not Path("out").exists()

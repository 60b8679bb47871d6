"""Layers, each with its own dose, passes, quality, resin: `--layers`, `[[layers]]`, `new-project`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import boards
import numpy as np
import pytest
from commands import Answer, Captured, Refused, run

import laserpath
import laserpath.report
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.config.layers import Dose
from laserpath.config.project import in_head
from laserpath.config.project import load as read_project

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
    """What a program exposes, as executed. begins, ends: (N, 2) mm, of its lit moves.  length: mm, of all.

    energy: mJ, the power over the time.  light: mJ, the dose over its area, but for what is far off.
    """

    begins: Floats
    ends: Floats
    length: float
    energy: float
    light: float

    @property
    def xy(self) -> Floats:
        return np.concatenate([self.begins, self.ends])


def lit(program: str) -> Lit:
    done = laserpath.simulate(Path(program))
    path, exposed = done.shipped.executed, done.executed
    light = exposed.dose.sum() * exposed.grid.pixel_area
    energy = (path.line_energy * path.length).sum()
    return Lit(path.xy[:-1][path.on], path.xy[1:][path.on], path.length[path.on].sum(), energy, light)


def estimated(*arguments: str, capsys: Captured) -> list[str]:
    """The names of the designs of which `laserpath estimate` speaks."""
    assert run("estimate", *arguments, "--json") == 0
    return [one["name"] for one in json.loads(capsys.readouterr().out)["designs"]]


def commands(program: str) -> list[str]:
    """A program without its head."""
    return [line for line in Path(program).read_text().splitlines() if not line.startswith(";")]


def test_a_layer_gets_its_dose_in_its_passes_and_others_none(capsys: Captured) -> None:
    """The squares are alike: 1.2 times the dose is 1.2 times the light, of which each pass has half."""
    strong = layer("strong", "dose = 1.2", "passes = 2")
    project(strong, layer("plain", "passes = 2"), layer("other", "on = false"))
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
    twice, plain = lit("three-strong.gcode"), lit("three-plain.gcode")
    assert twice.light / plain.light == pytest.approx(1.2, rel=0.01)
    for name, done in (("strong", twice), ("plain", plain)):
        x = PLACES[name]
        assert x < done.xy[:, 0].min() < done.xy[:, 0].max() < x + 0.8
    # In one pass the path is another: half as long, with all the light but for what is rounded.
    assert run("plan", "--layer", "other", "-q") == 0
    once = lit("three-other.gcode")
    assert twice.length / once.length == pytest.approx(2, rel=0.02)
    assert plain.light / once.light == pytest.approx(1, rel=0.03)


@pytest.mark.slow
def test_each_layer_is_judged_by_the_threshold_of_its_resin(answer: Answer) -> None:
    """A resin of 1.5 times the critical dose gets that much light; a dose without unit multiplies it."""
    project(
        layer("plain"),
        layer("strong", 'resin = "my.toml"'),
        layer("other", 'resin = "my.toml"', "dose = 2", 'quality = "draft"'),
    )
    said = answer("plan", "--save-project", "-o", "out")["layers"]
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


@pytest.mark.slow
def test_a_joined_program_exposes_the_layers_one_after_the_other(answer: Answer) -> None:
    """It leaves what the programs of the layers leave together, in their order, and none of what is off."""
    project(layer("strong", "dose = 1.5"), layer("plain"), layer("other", "on = false"))
    assert answer("plan", "--joined")["files"][-1] == "three.gcode"
    whole, strong, plain = (lit(f"three{end}.gcode") for end in ("", "-strong", "-plain"))
    assert whole.energy == pytest.approx(strong.energy + plain.energy, rel=1e-3)
    first, last = whole.begins[0], whole.begins[-1]
    assert (first[0] > PLACES["strong"], last[0] < PLACES["plain"] + 0.8) == (True, True)
    assert whole.xy[:, 0].max() < PLACES["other"]
    text = Path("three.gcode").read_text()
    assert "; layer three-strong" in text
    assert "three-strong: Resin: generic 405 nm resin, negative, critical dose 30 mJ/cm2" in text
    assert run("check", "three.gcode") == 0

    # Its head has the project of all of them.
    saved = in_head(text, "three.gcode")
    assert saved
    assert [(one.name, one.on) for one in saved.values["layers"]] == [
        ("strong", True), ("plain", True), ("other", False),
    ]  # fmt: skip


@pytest.mark.slow
def test_a_layer_is_followed_and_another_filled(capsys: Captured) -> None:
    """The project that is saved plans the same again, and a program's head says which is which."""
    name = "a long name of a layer with lines so that a head folds it"
    text = Path("three.svg").read_text()
    line = '<path d="M.5 1.7 H4.5" fill="none" stroke="black" stroke-width=".1"/>'
    lines = f'<g i:groupmode="layer" i:label="{name}">{line}</g>'
    Path("three.svg").write_text(text.replace("</svg>", f"{lines}</svg>"))
    Path("laserpath.toml").write_text(
        'design = "three.svg"\niterations = 2\nreport = "brief"\n'
        + layer(name, "follow = true")
        + layer("plain", 'initial = "contour"')
        + layer("other", "on = false")
    )
    assert run("plan", "--save-project", "-o", "out", "-q") == 0
    file = f"out/three-{re.sub('[ ,]+', '-', name)}.gcode"
    path = lit(file)
    assert path.xy[:, 1] == pytest.approx(0.3, abs=0.01)
    assert path.length == pytest.approx(4, abs=0.05)
    assert lit("out/three-plain.gcode").length > 1.5 * 4 * 0.8, "in rings, not along its outline alone"
    programs = {place: commands(place) for place in (file, "out/three-plain.gcode")}
    assert run("plan", "--project", "out/laserpath.toml", "-o", "again", "-q") == 0
    assert {place: commands(place.replace("out/", "again/")) for place in programs} == programs
    for place, own in ((file, name), ("out/three-plain.gcode", "plain")):
        saved = in_head(Path(place).read_text(), place)
        assert saved and saved.values["layer"] == (own,)
        assert [(one.name, one.values.get("follow")) for one in saved.values["layers"]] == [
            (name, True), ("plain", None), ("other", None),
        ]  # fmt: skip


@pytest.mark.slow
def test_one_layer_of_several_keeps_its_settings_and_its_place(capsys: Captured) -> None:
    project(layer("plain"), layer("strong", "passes = 2"), layer("other", "on = false"))
    assert run("plan", "--layer", "strong", "--json", "--origin", "design") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["design"] == "three-strong"
    assert "its own: passes 2" in printed.err
    corner = lit("three-strong.gcode").xy[:, 0].min()
    assert corner == pytest.approx(1.5, abs=0.1)  # from the corner of "plain", which is not planned
    assert not Path("three-plain.gcode").exists()


def test_layers_on_the_command_line_choose_and_order(capsys: Captured) -> None:
    project(layer("plain"), layer("strong", "passes = 2"), layer("other", "on = false"))
    assert estimated("--layers", "other,strong", capsys=capsys) == ["three-other", "three-strong"]
    Path("laserpath.toml").unlink()
    assert estimated("three.svg", "--layers", "strong,plain", capsys=capsys) == [
        "three-strong",
        "three-plain",
    ]


def test_the_layers_of_a_project_are_those_of_its_design(capsys: Captured) -> None:
    """Another drawing beside it has the other settings alone."""
    project(layer("plain"))
    Path("other.svg").write_text(Path("three.svg").read_text().replace("label", "title"))
    assert estimated("other.svg", capsys=capsys) == ["other"]
    assert estimated("./three.svg", capsys=capsys) == ["three-plain"]


@pytest.mark.slow
def test_colours_have_settings_in_the_same_tables(capsys: Captured) -> None:
    """By number or name, in the order of the tables; what is not listed is left out, with a warning."""
    text = Path("three.svg").read_text()
    for colour in ("red", "blue", "lime"):
        text = text.replace('width="0.8"', f'fill="{colour}" width="0.80"', 1)
    Path("three.svg").write_text(text)
    project("colours = 3\n", layer("blue", "dose = 1.5"), layer("1"))
    names = estimated(capsys=capsys)
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
        (layer("plain") + layer("other", 'resin = "my.toml"'), "--joined", "cannot change the resin from"),
        (layer("plain"), "--layer plain --joined", "--joined joins the programs of several"),
        (layer("plain"), "--sensitivity", "choose one of the --layers with --layer"),
        (layer("plain"), "--negative", "--negative cannot be used with --colours or --layers"),
        (layer("plain"), "--grey 60um", "--grey cannot be used with --layers"),
        (
            "colours = 2\n" + layer("red", "follow = true"),
            "",
            "layer 'red': follow is of all colours, or of none: give --follow",
        ),
        ("colours = 2\n" + layer("plain"), "", "only 1 colour besides the paper can be told apart"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    tables: str, arguments: str, sentence: str, refused: Refused
) -> None:
    project(tables)
    assert sentence in refused("plan", *arguments.split(), "-o", "out").splitlines()[-1]
    assert not Path("out").exists()


# A new project


def test_a_new_project_lists_the_layers_and_plans_them(capsys: Captured) -> None:
    """As it is, it plans every layer that is shown alike."""
    text = Path("three.svg").read_text().replace('"other">', '"other" style="display:none">')
    Path("three.svg").write_text(text)
    assert run("new-project", "three.svg", "--spot-fwhm", "90um", "--resin", "my.toml") == 0
    assert "layer 'plain': 0.8 x 0.8 mm, 1 shape" in capsys.readouterr().err
    loaded = read_project("laserpath.toml")
    assert loaded.design == Path("three.svg")
    assert loaded.values["spot_fwhm"] == pytest.approx(0.09)
    assert [(one.name, one.on) for one in loaded.values["layers"]] == [
        ("plain", True), ("strong", True), ("other", False),
    ]  # fmt: skip
    assert estimated(capsys=capsys) == ["three-plain", "three-strong"]


def test_what_a_new_project_has_as_comments_can_be_used(capsys: Captured) -> None:
    assert run("new-project", "three.svg") == 0
    file = Path("laserpath.toml")
    file.write_text(re.sub(r"^# (\w+ = )", r"\1", file.read_text(), flags=re.MULTILINE))
    values = read_project(file).values
    assert [one.dose for one in values["layers"]] == [Dose(factor=1.0)] * 3
    assert values["quality"] == "standard"
    assert run("estimate", "--json") == 0


def test_a_new_project_stands_beside_its_design_and_replaces_none(refused: Refused) -> None:
    Path("sub").mkdir()
    Path("three.svg").rename("sub/three.svg")
    assert run("new-project", "sub/three.svg", "--resin", "my.toml") == 0
    assert 'resin = "../my.toml"' in Path("sub/laserpath.toml").read_text()
    Path("sub/laserpath.toml").write_text("mine")
    assert "laserpath.toml' is there already, and would be lost; --force" in refused(
        "new-project", "sub/three.svg"
    )
    assert Path("sub/laserpath.toml").read_text() == "mine"
    assert run("new-project", "sub/three.svg", "--force") == 0
    assert read_project("sub/laserpath.toml").design == Path("sub/three.svg")


def test_a_new_project_lists_colours_if_there_are_no_layers(capsys: Captured) -> None:
    """Those of one name by their numbers; of several layers, if they are asked for."""
    squares = "".join(
        f'<rect x="{x}" y="0" width="{1 + x / 10}" height="1" fill="{colour}"/>'
        for x, colour in ((0, "#ff0000"), (2, "#c00000"), (4, "#0000ff"))
    )
    page = '<svg xmlns="http://www.w3.org/2000/svg" width="8mm" height="2mm" viewBox="0 0 8 2">'
    Path("flat.svg").write_text(f"{page}{squares}</svg>")
    assert run("new-project", "flat.svg") == 0
    values = read_project("laserpath.toml").values
    assert (values["colours"], [one.name for one in values["layers"]]) == (3, ["blue", "2", "3"])
    assert "# red #c00000, 1.2 x 1 mm" in Path("laserpath.toml").read_text()
    Path("deep.svg").write_text(f'{page}<g id="a">{squares}</g><g id="b">{squares}</g></svg>')
    assert run("new-project", "deep.svg", "--force") == 0
    assert [one.name for one in read_project("laserpath.toml").values["layers"]] == ["a", "b"]
    assert run("new-project", "deep.svg", "--force", "--colours", "2") == 0
    assert read_project("laserpath.toml").values["colours"] == 2
    assert run("estimate", "--json") == 0


@pytest.mark.slow
def test_a_new_project_of_a_board_is_in_its_folder(capsys: Captured, answer: Answer) -> None:
    boards.write(Path("b"))
    Path("b/odd.gbr").write_bytes(boards.gerber(boards.pads()))
    assert run("new-project", "b") == 0
    assert "follow" not in Path("b/laserpath.toml").read_text(), "a board is not followed"
    assert "nothing says which layer these are: odd.gbr" in capsys.readouterr().err
    loaded = read_project("b/laserpath.toml")
    assert [(one.name, one.on) for one in loaded.values["layers"]] == [
        ("top-copper", True), ("bottom-copper", True), ("top-mask", False), ("top-paste", False),
    ]  # fmt: skip
    assert loaded.design == Path("b")
    boards.archive(Path("s.zip"), boards.small())
    assert run("new-project", "s.zip") == 0
    capsys.readouterr()
    said = answer("board", "--iterations", "2", "--initial", "contour", "--report", "brief")
    assert [one["layer"] for one in said["layers"]] == ["top-copper", "bottom-copper"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("none.svg", "none.svg does not exist"),
        ("three.svg --colours 2", "only 1 colour besides the paper can be told apart"),
        ("three.svg --cell top", "--cell says nothing about SVG files"),
        ("three.svg --resin none", "resin profile 'none' is unknown"),
        ("empty", "empty: no Gerber and no drill file is among them"),
        ("three.svg my.toml", "my.toml is neither a Gerber nor a drill file|three.svg is neither a Gerber"),
    ],
)
def test_no_project_is_written_of_what_cannot_be_read(
    arguments: str, sentence: str, refused: Refused
) -> None:
    Path("empty").mkdir()
    assert re.search(sentence, refused("new-project", *arguments.split()))
    assert not list(Path().rglob("laserpath.toml"))


def test_files_that_cannot_be_written_are_named_before_anything_is_planned(
    monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    """The pass around all layers is one file; none of them has a pass of its own."""

    def planned(*_: object) -> None:
        raise InputError("it is planned")

    monkeypatch.setattr(laserpath, "plan_colours", planned)
    for name, sentence in (("three", "'three.frame.gcode'"), ("three-plain", "it is planned")):
        place = Path(f"{name}.frame.gcode")
        place.mkdir()
        assert sentence in refused("plan", "three.svg", "--layers", "plain,strong", "--frame", "-q")
        place.rmdir()

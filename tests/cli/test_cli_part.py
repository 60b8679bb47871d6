"""`laserpath plan part.stl --layer 50um`: one program for all layers, dark wherever Z moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from builders import SPOKEN
from commands import Answer, Captured, Refused, run
from sets import one_fast

import gcode
import laserpath
from laserpath.cli.ending import Stopped
from laserpath.config import profiles
from laserpath.machine import convert
from laserpath.planning import pipeline
from laserpath.planning import stack as stacks
from laserpath.types import Process, Settings, Spot

QUICK = ("--machine", "my.toml", "--initial", "contour", "--iterations", "0", "-q")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A disc of two layers on one of three, at (10, 10), and a machine that travels 40 mm in Z."""
    monkeypatch.chdir(tmp_path)
    below, above = (trimesh.creation.cylinder(radius, height) for radius, height in ((0.8, 0.3), (0.5, 0.5)))
    below.apply_translation((10, 10, 0.15))
    above.apply_translation((10, 10, 0.25))
    trimesh.util.concatenate([below, above]).export("part.stl")
    text = profiles.text("machine", "grbl-diode-405")
    Path("my.toml").write_text(text.replace("# z_travel_mm", "z_travel_mm"))
    return tmp_path


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The areas, mm², of the designs that have been planned."""
    found: list[float] = []
    plan = stacks.plan

    def counted(design: laserpath.Design, *more: Any, **named: Any) -> laserpath.Plan:
        found.append(design.area.area)
        return plan(design, *more, **named)

    monkeypatch.setattr(stacks, "plan", counted)
    return found


def lit(program: str, z: float) -> np.ndarray:
    """Ends of the lit moves at a height, (n, 2) mm."""
    moves = gcode.parse(program, gcode.dialect("grbl"), 1000)
    return moves.xy[1:][moves.on & (np.abs(moves.z[1:] - z) < 1e-6)]


def test_a_part_is_one_program_and_equal_layers_are_planned_once(
    planned: list[float], capsys: Captured
) -> None:
    assert run("plan", "part.stl", "--layer", "100um", *QUICK[:-1], "--settle", "1.5", "--json") == 0
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert [one["z_mm"] for one in told["layers"]] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert [one["plan"] for one in told["layers"]] == [0, 0, 0, 1, 1]
    assert len(planned) == told["planned"] == 2
    assert planned == pytest.approx([np.pi * 0.64, np.pi * 0.25], rel=0.01)
    assert told["files"] == ["part.gcode"]
    program = Path("part.gcode").read_text()
    for z, radius in zip((0.1, 0.2, 0.3, 0.4, 0.5), (0.8, 0.8, 0.8, 0.5, 0.5), strict=True):
        low, high = lit(program, z).min(axis=0), lit(program, z).max(axis=0)
        assert (low + high) / 2 == pytest.approx((0.8, 0.8), abs=0.02), "the part's corner is the zero"
        assert high - low == pytest.approx([2 * radius] * 2, abs=0.15)
    moves = gcode.parse(program, gcode.dialect("grbl"), 1000)
    assert not moves.on[np.diff(moves.z) != 0].any()
    assert np.count_nonzero(moves.dwell == 1.5) == 5
    assert "; from part.stl; cut into 5 layers of 0.1 mm" in program.replace("\n; ", "; ")
    assert "5 layers, of which 2 differ" in err


@pytest.mark.slow
def test_an_interrupted_run_goes_on_and_ends_with_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, refused: Refused, capsys: Captured
) -> None:
    """It is stopped twice while the second of two layers is solved, and only that one is solved again."""
    arguments = ("plan", "part.stl", "--layer", "0.25mm", *QUICK)
    assert run(*arguments, "-o", "at-once") == 0
    solve, solved = pipeline.solve_within, []

    def counted(*given: Any, **named: Any) -> Any:
        solved.append(given)
        if len(solved) in (2, 3):
            raise Stopped
        return solve(*given, **named)

    monkeypatch.setattr(pipeline, "solve_within", counted)
    for _ in range(2):  # the second one finds nothing itself
        capsys.readouterr()
        assert run(*arguments, "-o", "out", "--resume") == 130
        assert "stopped; what was found is kept in out/part.layers" in capsys.readouterr().err
    (kept,) = Path("out/part.layers").iterdir()
    assert run(*arguments, "-o", "out", "--resume") == 0
    assert len(solved) == 4
    assert [path.name for path in Path("out").iterdir()] == ["part.gcode"], "nothing is left"
    assert Path("out/part.gcode").read_bytes() == Path("at-once/part.gcode").read_bytes()
    kept.parent.mkdir()
    kept.write_text("{")
    assert "of an interrupted run cannot be read: remove it" in refused(*arguments, "-o", "out", "--resume")


def test_a_warning_of_the_mesh_is_given_once_and_a_file_is_named_once(
    capsys: Captured, refused: Refused
) -> None:
    box = trimesh.creation.box((2, 2, 0.5))
    box.faces = box.faces[:-1]
    box.export("open.stl")
    assert run("plan", "open.stl", "--layer", "0.25mm", *QUICK) == 0
    assert capsys.readouterr().err.count("the mesh was open") == 1
    assert refused("plan", "no.stl", "--layer", "0.25mm", *QUICK).count("no.stl") == 1


def test_the_head_of_its_program_names_the_machine_that_it_is_for(capsys: Captured) -> None:
    """Which travels in Z; the default one does not say that it does."""
    assert run("plan", "part.stl", "--layer", "0.25mm", *QUICK) == 0
    capsys.readouterr()
    assert run("check", "part.gcode", "--strict") == 0
    told = capsys.readouterr()
    assert "no errors, no warnings" in told.out
    assert told.err == "laserpath: for 'generic 405 nm GRBL diode', the machine in the head of part.gcode\n"
    assert run("check", "part.gcode", "--machine", "grbl-diode-405", "--strict") == 1
    assert "nothing is known about the machine's range in Z" in capsys.readouterr().out


@pytest.mark.slow
def test_its_program_is_simulated_and_resumed_with_what_its_head_says(
    capsys: Captured, refused: Refused
) -> None:
    assert run("plan", "part.stl", "--layer", "0.25mm", *QUICK) == 0
    assert run("simulate", "part.gcode", "--design", "part.stl", "--z", "0.5", "--json") == 0
    told = capsys.readouterr()
    assert "with the settings in the head of part.gcode" in told.err
    assert json.loads(told.out)["executed"]["iou"] > 0.8
    assert "has no working curve" in refused("simulate", "part.gcode", "--design", "part.stl")
    assert "has no layer at Z 0.4 mm" in refused(
        "simulate", "part.gcode", "--design", "part.stl", "--z", "0.4"
    )
    with_sensitivity = ("simulate", "part.gcode", "--design", "part.stl", "--sensitivity")
    assert "--sensitivity is for drawings, and part.stl is a part" in refused(*with_sensitivity)
    assert "part.stl is a part, and compare" in refused(
        "compare", "part.gcode", "part.gcode", "--design", "part.stl"
    )
    assert "leave it out, or compare one of its layers, as by --z 0.25" in refused(
        "simulate", "part.gcode", "--design", "part.stl", "--align"
    )
    same = ("compare", "part.gcode", "part.gcode", "--design", "part.stl", "--z", "0.5", "--json")
    assert run(*same) == 0, "machine and thickness are those in the heads"
    told = capsys.readouterr()
    assert "with the settings in the heads of all programs" in told.err
    assert json.loads(told.out)["programs"][0]["executed"]["iou"] > 0.8
    assert run("resume", "part.gcode", "--after", "1.0s") == 0
    assert "after what the program does before that layer, dark: Z goes to 0.25 mm" in capsys.readouterr().err
    assert run("check", "part.resume.gcode", "--strict") == 0
    assert "the machine in the head of part.resume.gcode" in capsys.readouterr().err


@pytest.mark.slow
def test_a_program_for_each_layer(capsys: Captured) -> None:
    assert run("plan", "part.stl", "--layer", "0.25mm", "--apart", "-o", "out", *QUICK) == 0
    names = sorted(path.name for path in Path("out").iterdir())
    assert names == ["part-001.gcode", "part-002.gcode"]
    for name, z in zip(names, (0.25, 0.5), strict=True):
        moves = gcode.parse(Path("out", name).read_text(), gcode.dialect("grbl"), 1000)
        assert set(np.round(moves.z[1:][moves.on], 6)) == {z}


@pytest.mark.parametrize("name", one_fast(SPOKEN, "marlin"))
def test_every_controller_is_dark_while_z_moves(name: str) -> None:
    machine, dialect = SPOKEN[name], gcode.dialect(name)
    done = laserpath.plan_layers(
        laserpath.load_part("part.stl", 0.1),
        Process(Spot(0.4), machine=machine),
        Settings(initial="contour", iterations=0, pixels_per_fwhm=3.0),
    )
    moves = gcode.parse(done.program, dialect, machine.s_max)
    climbs = np.diff(moves.z) != 0
    assert sorted(set(np.round(moves.z[1:][moves.on], 6))) == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert not moves.on[climbs | moves.rapid].any()
    found = gcode.check(done.program, dialect, convert.envelope(machine, dialect))
    assert [one for one in found if one.severity == "error"] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--layer", "100um"), "a part needs a Z, and machine 'generic 405 nm GRBL diode' names none"),
        ((*QUICK,), "part.stl is a part: say once how thick its layers are, as in --layer 50um"),
        (("--layer", "pads", *QUICK), "--layer of a part is the thickness of its layers"),
        (("--layer", "50um", "--layer", "60um", *QUICK), "say once how thick"),
        (("--layer", "2mm", *QUICK), "a layer of 2 mm is thicker than the part, which is 1.6 × 1.6 × 0.5 mm"),
        (("--layer", "0.2um", *QUICK), "layers of 0.2 µm are thinner than the 1 µm"),
        (
            ("--layer", "0.1mm", "--unit", "cm", "--offset", "295,0mm", *QUICK),
            "outside the machine's 0 to 300 mm",
        ),
        (("--layer", "1mm", "--unit", "in", "--scale", "2", *QUICK), "--scale is for drawings"),
        (("--layer", "100um", "--grey", "0.1mm", *QUICK), "--grey is for drawings, and part.stl is a part"),
        (("--layer", "100um", "--frame", *QUICK), "--frame is for drawings"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence_and_nothing_is_written(
    arguments: tuple[str, ...], sentence: str, refused: Refused
) -> None:
    before = sorted(Path().iterdir())
    (line,) = [one for one in refused("plan", "part.stl", *arguments).splitlines() if "cutting" not in one]
    assert sentence in line
    assert sorted(Path().iterdir()) == before


def test_a_part_larger_than_the_machine(refused: Refused) -> None:
    trimesh.creation.box((400, 10, 10)).export("long.stl")
    assert "400 mm long in x, above the 300 mm of machine" in refused(
        "plan", "long.stl", "--layer", "5mm", *QUICK
    )
    trimesh.creation.box((10, 10, 50)).export("high.stl")
    assert "high.stl is 50 mm high, above the 40 mm to which machine" in refused(
        "plan", "high.stl", "--layer", "5mm", *QUICK
    )
    Path("my.toml").write_text(Path("my.toml").read_text() + "\nlayer_change.lift_mm = 39.6\n")
    assert "0.5 mm high, and 39.6 mm more in layer changes, above the 40 mm" in refused(
        "plan", "part.stl", "--layer", "100um", *QUICK
    )


def test_the_options_of_parts_are_refused_for_drawings(refused: Refused) -> None:
    Path("a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>')
    assert "--apart is for the layers of a part, and a.svg is a drawing" in refused(
        "plan", "a.svg", "--apart", *QUICK
    )


def square(name: str, size: float) -> None:
    Path(name).write_text(f"POLYGON ((5 5, {5 + size} 5, {5 + size} {5 + size}, 5 {5 + size}, 5 5))")


@pytest.mark.slow
def test_a_drawing_for_each_layer(answer: Answer) -> None:
    """By their numbers, in the coordinates in which they are drawn."""
    for number, size in ((9, 1.2), (10, 0.8), (11, 0.8)):
        square(f"slice_{number}.wkt", size)
    told = answer("plan", "slice_*.wkt", "--layer", "50um", *QUICK[:-1])
    assert told["files"] == ["slice.gcode"]
    assert [(one["z_mm"], one["plan"]) for one in told["layers"]] == [(0.05, 0), (0.1, 1), (0.15, 1)]
    for z, size in ((0.05, 1.2), (0.15, 0.8)):
        ends = lit(Path("slice.gcode").read_text(), z)
        assert ends.min(axis=0) == pytest.approx((0, 0), abs=0.15), "the corner of all is the zero"
        assert ends.max(axis=0) == pytest.approx((size, size), abs=0.15)


def test_the_estimate_of_a_part_counts_all_layers_and_plans_equal_ones_once(capsys: Captured) -> None:
    for number, size in ((9, 1.2), (10, 0.8), (11, 0.8)):
        square(f"slice_{number}.wkt", size)

    def estimated(design: str, *options: str) -> dict[str, Any]:
        assert run("estimate", design, "--layer", "50um", *QUICK[:-1], *options, "--json") == 0
        return dict(json.loads(capsys.readouterr().out))

    whole = estimated("slice_*.wkt", "--settle", "2")
    assert (whole["layers"], whole["planned"]) == (3, 2)
    assert whole["size_mm"] == pytest.approx([1.2, 1.2, 0.15])
    low, high = (estimated(f"slice_{number}.w?t") for number in (9, 10))
    assert whole["write_s"] == pytest.approx(low["write_s"] + 2 * high["write_s"] + 3 * 2)
    each = low["plan_s"], high["plan_s"]
    assert max(each) < whole["plan_s"] < sum(each), "what is loaded for the first is there for the second"
    assert run("estimate", "slice_*.wkt", "--layer", "50um", *QUICK) == 0
    assert "slice: 1.2 × 1.2 × 0.15 mm; 3 layers, of which 2 differ" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["plan", "estimate"])
def test_drawings_of_layers_that_are_not_there(refused: Refused, command: str) -> None:
    for options in (("--layer", "50um"), ()):
        assert "no file has a name like 'slice_*.svg'" in refused(command, "slice_*.svg", *options, *QUICK)
    square("slice_1.wkt", 1.0)
    assert "slice_*.wkt is a part: say once how thick its layers are" in refused(
        "plan", "slice_*.wkt", *QUICK
    )
    assert "layers of 0.1 µm are thinner than the 1 µm" in refused(
        "plan", "slice_*.wkt", "--layer", "0.1um", *QUICK
    )


def test_a_photograph_is_not_of_layers(refused: Refused) -> None:
    """Neither of a part nor of a drawing for each layer, for which it was ignored."""
    square("slice_1.wkt", 1.0)
    for design in ("part.stl", "slice_*.wkt"):
        assert "--printed compares the edges of one program" in refused(
            "plan", design, "--layer", "50um", "--printed", "photo.png", *QUICK
        )

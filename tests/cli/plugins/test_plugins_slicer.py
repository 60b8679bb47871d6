"""A slicer's G-code becomes a laser's program: the outer walls of each layer are its design."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st
from shapely import affinity
from shapes import NODING, differing_area
from solids import FRAME, box, circle, section, stl

import gcode
import laserpath.cli.plugins.slicer
import laserpath.planning
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.limits import limits
from laserpath.cli.ending import Stopped
from laserpath.cli.plugins.slicer import SlicedLayer, layers, read, stack_of
from laserpath.cli.slicer import main
from laserpath.machine import convert
from laserpath.planning import LayerPlans, forecast_stack, plan_stack, together
from laserpath.types import Machine, Process, Settings, Spot

ROOT = Path(__file__).parents[3]
FILES = ROOT / "tests" / "data" / "slicer"
BED = (100.0, 100.0)

QUICK = Settings(initial="contour", iterations=2, pixels_per_fwhm=3.0)
WIDE = Process(Spot(0.4))


def wall(loop: Floats, width: float, *, gap: float = 0.06, start: float = 0.0) -> list[str]:
    """Lines that lay a closed wall (relative E), from `start` along it, ending a gap before its start."""
    ring = shapely.LinearRing(loop)
    turned = [(start + ring.project(shapely.Point(p))) % ring.length for p in loop]
    stops = [0.0, *sorted(s for s in turned if 1e-6 < s < ring.length - gap), ring.length - gap]
    places = [ring.interpolate((s - start) % ring.length) for s in stops]
    lines = [f"G1 X{places[0].x:.3f} Y{places[0].y:.3f} F7800", f";WIDTH:{width:.6f}"]
    return lines + [f"G1 X{p.x:.3f} Y{p.y:.3f} E.05" for p in places[1:]]


def sliced(*stack: Iterable[str], height: float = 0.2) -> str:
    """A file with these lines in its layers."""
    lines = ["; made by a test", "M83", "G90"]
    for number, part in enumerate(stack, 1):
        z = f"{height * number:g}"
        lines += [";LAYER_CHANGE", f";Z:{z}", f";HEIGHT:{height:g}", f"G1 Z{z} F7800"]
        lines += [";TYPE:External perimeter", *part]
    return "\n".join([*lines, "M84", ""])


def square(size: float, x: float = 0.0, y: float = 0.0, width: float = 0.4) -> list[str]:
    """The wall of a square about a place; `size` is the solid's."""
    return wall(box(size - width, size - width) + (x, y), width)


def relaid(text: str, process: Process, settings: Settings, settle: float = 0.0) -> LayerPlans:
    """The plans of a sliced file's layers."""
    return plan_stack(stack_of(text, process, settings, name="part"), settle=settle)


def only(text: str) -> SlicedLayer:
    (layer,) = layers(read(text))
    return layer


# From walls to areas


@example(2.0, 15.0, 7.0, 0.5, 0.5, 6.103515625e-05, False)  # the seam 3 to 6 µm beside a corner
@given(
    st.floats(2, 20), st.floats(2, 20), st.floats(0, 360), st.floats(0.1, 0.9), st.floats(0.2, 0.9),
    st.floats(0, 1), st.booleans(),
)  # fmt: skip
def test_walls_give_back_the_model(
    w: float, h: float, turn: float, hole: float, width: float, seam: float, clockwise: bool
) -> None:
    """Whatever the width, the seam and the direction: the solid that a slicer laid these walls for."""
    outer = affinity.rotate(shapely.Polygon(box(w + 2, h + 2)), turn)
    inner = affinity.scale(outer, hole, hole)
    if (1 - hole) * min(w + 2, h + 2) < 2.2 * width or hole * min(w + 2, h + 2) < 1.2:
        return
    loops = [outer.buffer(-width / 2, join_style="mitre"), inner.buffer(width / 2, join_style="mitre")]
    lines = []
    for loop in loops:
        xy = shapely.get_coordinates(loop.exterior)[:-1]
        xy = xy[::-1] if clockwise else xy
        lines += wall(xy, width, start=seam * loop.length * 0.999)
    found = only(sliced(lines)).area
    assert differing_area(found, outer.difference(inner, grid_size=NODING)) < 2e-3 * (
        outer.length + inner.length
    )
    assert found.hausdorff_distance(outer.difference(inner, grid_size=NODING)) < 0.03, (
        "half the gap, at the seam"
    )


def test_an_island_in_a_hole_is_solid() -> None:
    lines = [line for radius in (5.8, 4.2, 2.8) for line in wall(circle(radius), 0.4)]
    area = only(sliced(lines)).area
    assert [len(part.interiors) for part in sorted(area.geoms, key=lambda g: -g.area)] == [1, 0]
    assert area.area == pytest.approx(np.pi * (36 - 16 + 9), rel=0.01)


def test_only_outer_walls_count() -> None:
    plain = sliced(square(6))
    more = sliced(
        [";TYPE:Perimeter", *square(5.2), ";TYPE:External perimeter", *square(6)]
        + [";TYPE:Solid infill", "G1 X1 Y1 F7800", "G1 X2 Y2 E1", ";TYPE:Skirt/Brim", *square(9)]
    )
    assert only(more).area.equals(only(plain).area)


def test_extrusion_modes_say_the_same() -> None:
    relative = square(6)
    absolute, e = ["M82", "G92 E0"], 0.0
    for line in relative:
        if "E.05" in line:
            e += 0.05
            line = line.replace("E.05", f"E{e:.5f}")
        absolute.append(line)
    retracted = [
        "M83", "G1 E-2 F2400", "G92 E0", *relative[:3], "G1 E2 F2400", *relative[3:], "G10", "G1 F600",
    ]  # fmt: skip
    for lines in (absolute, retracted):
        assert only(sliced(lines)).area.equals(only(sliced(relative)).area)


def test_places_may_be_relative_and_set_anew() -> None:
    size = 5.6
    steps = [f"G1 X{x} Y{y} E.1" for x, y in ((size, 0), (0, size), (-size, 0), (0, -size + 0.05))]
    lines = ["G1 X-2.8 Y-2.8 F7800", ";WIDTH:0.4", "G91", *steps, "G90"]
    assert only(sliced(lines)).area.area == pytest.approx(36, rel=1e-3)
    moved = only(sliced(["G92 X10", *lines])).area
    assert moved.bounds == pytest.approx(only(sliced(lines)).area.bounds)


def test_a_lift_in_relative_mode_does_not_change_how_e_counts() -> None:
    """Slicers say M83 once, and lift with G91 … G90."""
    lines = square(6)
    lifted = ["G1 E-.8 F2400", "G91", "G1 Z.4", "G90", lines[0], "G1 Z.2", "G1 E.8", *lines[1:]]
    assert only(sliced(lifted)).area.equals(only(sliced(lines)).area)


def test_wiping_is_no_wall() -> None:
    wiped = [*square(6), ";WIPE_START", "G1 X0 Y0 E-.4 F7800", "G1 X9 Y9 E-.4", ";WIPE_END"]
    assert only(sliced(wiped)).area.equals(only(sliced(square(6))).area)


def test_arcs_are_followed() -> None:
    lines = ["G1 X3.8 Y0 F7800", ";WIDTH:0.4", "G3 X-3.8 Y0 I-3.8 J0 E1", "G3 X3.79 Y-.03 I3.8 J0 E1"]
    assert only(sliced(lines)).area.area == pytest.approx(np.pi * 16, rel=2e-3)
    whole = [*lines[:2], "G2 X3.8 Y0 I-3.8 J0 E1"]
    assert only(sliced(whole)).area.area == pytest.approx(np.pi * 16, rel=2e-3)


def test_a_bridging_piece_belongs_to_its_wall() -> None:
    lines = square(6)
    over = [*lines[:3], ";TYPE:Overhang perimeter", ";WIDTH:0.6", lines[3]]
    over += [";TYPE:External perimeter", ";WIDTH:0.4", *lines[4:]]
    assert only(sliced(over)).area.equals(only(sliced(lines)).area)


def test_an_inner_wall_that_bridges_is_no_outer_one() -> None:
    inner = square(5)
    lines = [";TYPE:Perimeter", *inner[:3], ";TYPE:Overhang perimeter", *inner[3:5], ";TYPE:Perimeter"]
    lines += [*inner[5:], ";TYPE:External perimeter", *square(6)]
    assert only(sliced(lines)).area.equals(only(sliced(square(6))).area)


def test_a_wall_whose_width_changes_reaches_as_far_as_its_plastic() -> None:
    """Three sides of 0.4 mm, one of 0.8 mm: that side's edge is 0.2 mm farther out."""
    lines = ["G1 X-2 Y-2 F7800", ";WIDTH:0.4", "G1 X2 Y-2 E1", ";WIDTH:0.8", "G1 X2 Y2 E1", ";WIDTH:0.4"]
    lines += ["G1 X-2 Y2 E1", "G1 X-2 Y-1.95 E1"]
    assert only(sliced(lines)).area.bounds == pytest.approx((-2.2, -2.4, 2.4, 2.4), abs=2e-3)


def test_an_open_wall_is_a_line_of_plastic() -> None:
    lines = ["G1 X0 Y0 F7800", ";WIDTH:0.5", "G1 X10 Y0 E1"]
    area = only(sliced(lines)).area
    assert area.area == pytest.approx(10 * 0.5 + np.pi * 0.25**2, rel=0.01)


def test_layers_are_sorted_and_joined_by_height() -> None:
    """Two objects printed one after the other, each from the plate up."""
    first, second = square(4), square(4, 10)
    text = sliced(first, first) + sliced(second, second)
    stack = layers(read(text))
    assert [layer.z for layer in stack] == [0.2, 0.4]
    assert [len(layer.area.geoms) for layer in stack] == [2, 2]


def test_a_recorded_file_has_the_model_s_sections() -> None:
    stack = layers(read((FILES / "prusaslicer.gcode").read_text(encoding="utf-8")))
    assert [layer.z for layer in stack] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.2])
    check_sections(stack)


def check_sections(stack: list[SlicedLayer]) -> None:
    """Within the last digit that the slicer wrote."""
    for layer in stack:
        expected = affinity.translate(section(FRAME, layer.z - 0.1), *BED)
        assert layer.area.hausdorff_distance(expected) < 0.0015
        assert differing_area(layer.area, expected) < 0.001 * expected.length


def test_orcaslicer_s_words() -> None:
    text = (FILES / "orcaslicer.gcode").read_text(encoding="utf-8")
    first, second = layers(read(text))
    assert (first.z, second.z) == (0.2, 0.4)
    assert first.area.area == pytest.approx(60 - np.pi, rel=1e-3)
    assert second.area.area == pytest.approx(60, rel=1e-3)
    bambu = text.replace(";TYPE:", "; FEATURE: ").replace(";WIDTH:", "; LINE_WIDTH: ")
    assert all(a.area.equals(b.area) for a, b in zip(layers(read(bambu)), (first, second), strict=True))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["G1 X1 Y1 F60", "G1 X2 Y1 E1"], r"wall at z 0\.2 mm, near \(2, 1\) mm, has no comment ';WIDTH:'"),
        ([";WIDTH:wide"], "comment ';WIDTH:wide' gives no width"),
        ([";WIDTH:nan", "G1 X1 Y1", "G1 X2 Y1 E1"], "has no comment ';WIDTH:'"),
        (["G20"], r"it is in inches \(G20\)"),
        ([";WIDTH:.4", "G2 X1 Y1 R4 E1"], r"an arc near \(0, 0\) mm is given by R"),
        ([";WIDTH:.4", f"G2 X1 Y0 I{'9' * 301} E1"], r"I9+ is beyond 1e\+06 mm"),
        ([";WIDTH:.4", "G3 X1 Y0 J-1000000000000 E1"], r"J-1000000000000 is beyond 1e\+06 mm"),
        ([";WIDTH:.4", *["G2 X0 Y0 I1000000 E1"] * 200], "takes about .* of memory, but 1 MiB is the lim"),
        ([";WIDTH:.4", "G2 X1 Y0 E1"], r"an arc near \(0, 0\) mm starts 0 mm and ends 1 mm from its centre"),
        ([";WIDTH:1e300"], r";WIDTH:1e300 is beyond 1e\+06 mm"),
        ([f"G1 X{'9' * 400} E1"], r"X9+ is beyond 1e\+06 mm"),
        (["G91", *["G0 X900000"] * 2], r"X after G0 is beyond 1e\+06 mm"),
        ([";WIDTH:.4", "G1 X1 Y1", "G1 X5 Y1 Z.3 E1"], r"climbs from z 0\.2 to 0\.3 mm; a spiral vase"),
        ([";TYPE:Overhang perimeter", *square(5)], "is all in the air, and nothing says"),
        ([";TYPE:Perimeter", *square(5)], "the sliced file has no outer wall"),
        ([], "the sliced file has no outer wall"),
    ],
)  # fmt: skip
def test_unusable_files_are_refused_with_a_sentence(lines: list[str], sentence: str) -> None:
    with limits(memory=1 << 20), pytest.raises(InputError, match=sentence):
        layers(read(sliced(lines)))


@pytest.mark.parametrize("text", ["", "\0\1\2", ";TYPE:", "G1", "G1 X", "<svg/>", "G92\nM82\nG90", "N1G1X3;"])
def test_what_is_no_sliced_file_has_no_walls(text: str) -> None:
    with pytest.raises(InputError, match="the sliced file has no outer wall"):
        read(text)


@example("G2E1")
@given(st.text(alphabet="G0123XYZEIJ.-;:TYPEWIDH \nouterwal", max_size=200))
def test_whatever_stands_in_it_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        layers(read(";TYPE:Outer wall\n;WIDTH:.4\n" + text))


# From layers to a program


@pytest.fixture(scope="module")
def stack() -> tuple[str, gcode.Moves]:
    """The program of four layers, a square, the same again, a smaller one, the first again; and its moves."""
    text = sliced(square(2, 50, 40), square(2, 50, 40), square(1, 50.5, 40), square(2, 50, 40))
    done = relaid(text, WIDE, QUICK, settle=3.0)
    assert (len(done.plans), len(done.each)) == (4, 2)
    return done.program, gcode.parse(done.program, gcode.dialect("grbl"))


def lit_at(moves: gcode.Moves, z: float) -> Floats:
    """Ends of the lit moves at a height."""
    return moves.xy[1:][moves.on & (np.abs(moves.z[1:] - z) < 1e-6)]


@pytest.mark.slow
def test_every_layer_is_lit_at_its_height(stack: tuple[str, gcode.Moves]) -> None:
    _, moves = stack
    assert set(np.round(moves.z[1:][moves.on], 6)) == {0.2, 0.4, 0.6, 0.8}
    for z, x, size in ((0.2, 50, 2), (0.4, 50, 2), (0.6, 50.5, 1), (0.8, 50, 2)):
        (x0, y0), (x1, y1) = lit_at(moves, z).min(axis=0), lit_at(moves, z).max(axis=0)
        assert ((x0 + x1) / 2, (y0 + y1) / 2) == pytest.approx((x, 40), abs=0.05)
        assert size - 0.5 < x1 - x0 < size, "inside the edge, by half a spot at most"


@pytest.mark.slow
def test_it_is_dark_between_layers(stack: tuple[str, gcode.Moves]) -> None:
    _, moves = stack
    climbs = np.flatnonzero(np.diff(moves.z))
    climbs = climbs[climbs > np.argmax(moves.on)]  # after the way from the work zero
    assert len(climbs) == 3
    assert not moves.on[np.diff(moves.z) != 0].any()
    assert (np.diff(moves.xy, axis=0)[climbs] == 0).all(), "straight up, before it goes anywhere"
    assert moves.dwell[moves.still].tolist() == [3.0, 0.0] + [0.0, 3.0, 0.0] * 3, (
        "it stops, climbs and settles"
    )
    assert not moves.on[moves.still].any()
    lit = np.flatnonzero(moves.on)
    begins = [lit[0], *lit[np.searchsorted(lit, climbs)]]
    assert not any(moves.on[k - 1] or moves.still[k - 1] for k in begins), "a dark move leads into the path"


@pytest.mark.slow
def test_equal_layers_get_the_same_moves(stack: tuple[str, gcode.Moves]) -> None:
    _, moves = stack
    for z in (0.4, 0.8):
        assert np.array_equal(lit_at(moves, z), lit_at(moves, 0.2))
    powers = [moves.power[moves.on & (np.abs(moves.z[1:] - z) < 1e-6)] for z in (0.2, 0.8)]
    assert np.array_equal(*powers)


def test_the_program_says_what_it_is(stack: tuple[str, gcode.Moves]) -> None:
    program, moves = stack
    assert "; Layers: 4, 2 of them planned, z 0.2 to 0.8 mm" in program
    assert "CAUTION" in program
    assert [text for _, text in moves.comments if text.startswith("layer ")] == [
        f"layer {n} of 4, z {z:g} mm" for n, z in enumerate((0.2, 0.4, 0.6, 0.8), 1)
    ]


@pytest.mark.parametrize(
    ("origin", "corner"),
    [
        ("page", (49.0, 39.0)),
        pytest.param("design", (0.0, 0.0), marks=pytest.mark.slow),
        pytest.param("centre", (-1.0, -1.0), marks=pytest.mark.slow),
    ],
)
def test_layers_keep_their_places_to_each_other(origin: str, corner: tuple[float, float]) -> None:
    text = sliced(square(2, 50, 40), square(1, 50.5, 40.5))
    settings = replace(QUICK, iterations=0, origin=origin, offset=(3.0, 5.0))
    machine = replace(WIDE.machine, size=(300.0, 200.0))
    done = relaid(text, replace(WIDE, machine=machine), settings)
    moves = gcode.parse(done.program, gcode.dialect("grbl"))
    first, second = (
        np.array([p.min(axis=0), p.max(axis=0)]) for p in (lit_at(moves, 0.2), lit_at(moves, 0.4))
    )
    middle = np.array(corner) + (3.0, 5.0) + 1.0
    assert first.mean(axis=0) == pytest.approx(middle, abs=0.02)
    assert second.mean(axis=0) == pytest.approx(middle + 0.5, abs=0.02)


@pytest.mark.parametrize("dialect", ["klipper", pytest.param("marlin", marks=pytest.mark.slow)])
def test_other_controllers_are_dark_between_layers_too(dialect: str) -> None:
    machine = Machine(dialect=dialect, baud=None)
    text = sliced(square(2, 50, 40), square(1, 50, 40))
    done = relaid(text, replace(WIDE, machine=machine), QUICK)
    moves = gcode.parse(done.program, gcode.dialect(dialect), machine.s_max)
    assert set(np.round(moves.z[1:][moves.on], 6)) == {0.2, 0.4}
    assert not moves.on[(np.diff(moves.z) != 0) | moves.rapid].any()


@pytest.mark.slow
def test_uneven_layers_are_warned_of() -> None:
    text = sliced(square(2, 50, 40), square(2, 50, 40)).replace("G1 Z0.4", "G1 Z0.5")
    done = relaid(text, WIDE, replace(QUICK, iterations=0))
    assert any(w.startswith("the layers are 0.2 to 0.3 mm thick") for w in done.warnings)


@pytest.mark.parametrize(("width", "notes"), [(0.2, 0), (0.4, 0), (0.45, 1)])
def test_walls_wider_than_the_spot_are_warned_of(width: float, notes: int) -> None:
    """With the default nozzle a slicer leaves out details that the spot of 0.4 mm would draw."""
    found = stack_of(sliced(square(2, 50, 40, width)), WIDE, QUICK).notes
    assert len(found) == notes
    assert all(f"walls are {width} mm wide and the spot 0.4 mm" in note for note in found)


def test_a_layer_that_cannot_be_planned_is_named() -> None:
    with pytest.raises(InputError, match=r"^layer at z 0\.2 mm: .*outside the machine's"):
        relaid(sliced(square(2, -50, 40)), WIDE, replace(QUICK, origin="page"))
    with pytest.raises(InputError, match="settle is -1 s"):
        relaid(sliced(square(2, 50, 40)), WIDE, QUICK, settle=-1)


# The command


def slicer(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`laserpath-slicer`, as a slicer calls it."""
    code = "from laserpath.cli.slicer import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], check=False, capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.slow
def test_the_file_is_changed_in_place(tmp_path: Path) -> None:
    file = tmp_path / ".12345.gcode.pp"
    file.write_text(sliced(square(2, 50, 40)), encoding="utf-8")
    options = "--initial contour --spot-fwhm 0.4 --iterations 7"
    name = str(tmp_path / "my part.gcode")
    done = slicer("--iterations", "1", str(file), LASERPATH_ARGS=options, SLIC3R_PP_OUTPUT_NAME=name)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"1 layer, 1 of them planned: {file}\n"
    program = file.read_text(encoding="ascii")
    assert program.startswith("; laserpath ") and ": my part\n" in program
    assert "iterations 1," in program, "what it is called with goes before the environment"
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.parametrize(
    ("text", "words", "environment", "sentence"),
    [
        ("G1 X1", (), {}, "laserpath: the sliced file has no outer wall"),
        (sliced(square(2, 500, 40)), ("--origin", "page"), {}, "laserpath: layer at z 0.2 mm: "),
        (sliced(square(2)), ("--machine", "none"), {}, "laserpath: machine profile 'none' is unknown"),
        (sliced(square(2)), (), {"LASERPATH_ARGS": "'"}, "laserpath: LASERPATH_ARGS cannot be read: "),
    ],
    ids=["no wall", "off the bed", "unknown machine", "arguments"],
)  # fmt: skip
def test_an_error_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    text: str, words: tuple[str, ...], environment: dict[str, str], sentence: str,
) -> None:  # fmt: skip
    file = tmp_path / "part.gcode"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["laserpath-slicer", *words, str(file)])
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    stderr = capsys.readouterr().err
    assert stderr.startswith(sentence) and stderr.count("\n") == 1
    assert file.read_text(encoding="utf-8") == text
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.slow
def test_the_forecast_of_the_layers_is_printed_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "part.gcode"
    file.write_text(sliced(square(2, 50, 40), square(2, 50, 40), square(1, 50, 40)), encoding="utf-8")
    words = ["--settle", "600", "--initial", "contour", "--iterations", "2", "--spot-fwhm", "0.4"]
    monkeypatch.setattr(sys, "argv", ["laserpath-slicer", *words, str(file)])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    lines = [one for one in capsys.readouterr().err.splitlines() if "warning" not in one]
    first, second, *_ = lines
    assert first == "laserpath: 3 layers, of which 2 differ"
    assert re.fullmatch(r"laserpath: about .* to plan, with .* memory; about 3\d min to write", second), (
        second
    )


@pytest.mark.slow
def test_layers_are_forecast_apart_and_together() -> None:
    process, settings = replace(WIDE, machine=Machine()), replace(QUICK, iterations=5)
    text = sliced(square(2, 50, 40), square(2, 50, 40), square(1, 50, 40))
    stack = stack_of(text, process, settings)
    large, small = each = forecast_stack(stack)
    assert large.write_seconds > 1.5 * small.write_seconds
    whole = together(stack, each, settle=2.0)
    assert whole.write_seconds == pytest.approx(2 * large.write_seconds + small.write_seconds + 3 * 2.0)
    assert whole.plan_seconds == pytest.approx(large.plan_seconds + small.later.plan_seconds)
    done = plan_stack(stack, settle=2.0)
    moves = gcode.parse(done.program, gcode.dialect("grbl"))
    took = float(gcode.motion.profile(moves, convert.limits(process.machine)).duration.sum())
    assert 1 / 3 < whole.write_seconds / took < 3


def test_excessive_needs_are_reported_for_the_layer_that_needs_most() -> None:
    stack = stack_of(sliced(square(2, 50, 40), square(1, 50, 40)), WIDE, QUICK)
    first, second = forecast_stack(stack)
    first = replace(first, write_seconds=9.0, memory=1e9, notes=("slow",))
    second = replace(second, write_seconds=1.0, memory=9e9, warnings=("much",))
    whole = together(stack, (first, second))
    assert (whole.memory, whole.notes, whole.warnings) == (9e9, ("slow",), ("much",))


def test_a_settling_time_that_is_no_number_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "part.gcode"
    file.write_text(sliced(square(1)), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["laserpath-slicer", "--settle", "nan", "--spot-fwhm", "0.4", str(file)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "settle is nan s, but must be 0 s or more" in capsys.readouterr().err


def test_a_layer_off_the_bed_is_refused_before_any_is_planned() -> None:
    with pytest.raises(InputError, match=r"^layer at z 0\.4 mm: .*outside the machine's"):
        stack_of(sliced(square(2, 50, 40), square(2, 500, 40)), WIDE, replace(QUICK, origin="page"))


@pytest.mark.parametrize("where", ["stack_of", "plan_stack"])
@pytest.mark.parametrize("lost", [False, True])
def test_ctrl_c_stops_at_once_and_the_file_is_as_it_was(
    where: str,
    lost: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A callback of another library may lose what the signal raises: then it stops before the next step."""
    module = laserpath.planning if where == "plan_stack" else laserpath.cli.plugins.slicer
    real = getattr(module, where)

    def interrupted(*given: object, **named: object) -> object:
        with contextlib.suppress(Stopped) if lost else contextlib.nullcontext():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        return real(*given, **named)

    text = sliced(square(2), square(1))
    file = tmp_path / "part.gcode"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(module, where, interrupted)
    monkeypatch.setattr(sys, "argv", ["laserpath-slicer", "--initial", "contour", str(file)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
    assert capsys.readouterr().err.endswith("laserpath: stopped, nothing is written\n")
    assert file.read_text(encoding="utf-8") == text


def test_a_missing_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["laserpath-slicer", "/nowhere/part.gcode"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert (
        capsys.readouterr().err
        == "laserpath: sliced file '/nowhere/part.gcode' cannot be read: No such file or directory\n"
    )


def test_prusaslicer_calls_it(tmp_path: Path, need: Callable[[str], str]) -> None:
    program = need("prusa-slicer")
    (tmp_path / "frame.stl").write_text(stl(FRAME), encoding="ascii")
    settings = (FILES / "slicer.ini").read_text(encoding="utf-8")
    script = tmp_path / "laserpath-slicer"
    code = shlex.quote("from laserpath.cli.slicer import main; main()")
    script.write_text(
        f'#!/bin/sh\nexport PYTHONPATH={ROOT}\nexec {sys.executable} -c {code} "$@"\n', encoding="utf-8"
    )
    script.chmod(0o755)
    (tmp_path / "plain.ini").write_text(settings, encoding="utf-8")
    options = "--initial contour --iterations 1 --spot-fwhm 0.4"
    (tmp_path / "laser.ini").write_text(f"{settings}post_process = {script} {options}\n", encoding="utf-8")
    for name in ("plain", "laser"):
        subprocess.run(
            [program, "--load", f"{name}.ini", "--export-gcode", "-o", f"{name}.gcode", "frame.stl"],
            cwd=tmp_path, check=True, capture_output=True, timeout=300,
        )  # fmt: skip
    check_sections(layers(read((tmp_path / "plain.gcode").read_text(encoding="utf-8"))))
    moves = gcode.parse((tmp_path / "laser.gcode").read_text(encoding="ascii"), gcode.dialect("grbl"))
    for z in (0.2, 0.4, 0.6, 0.8, 1.0, 1.2):
        solid = affinity.translate(section(FRAME, z - 0.1), *BED)
        assert solid.buffer(0.01).covers(shapely.MultiPoint(lit_at(moves, z)))
        assert np.abs(lit_at(moves, z).mean(axis=0) - 100).max() < 0.3

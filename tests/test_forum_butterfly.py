"""The forum's problem: why x and y had no gradient, that they have one now, and the butterfly it draws."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "samples" / "forum_butterfly.py"
PICTURES = ["forum-gradient.png", "forum-path.png", "forum-result.png", "forum-stages.png"]

# In a process of its own: Taichi compiles on the thread that started it, which here is one of laserpath's.
GRADIENTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import forum_butterfly as forum

forum.ti.init(arch=forum.ti.cpu)
curve, design = forum.forum_curve(), forum.butterfly()
result = {}
for name, kernel in {"cast": forum.stamp_cast, "soft": forum.stamp_soft}.items():
    stamp = forum.Stamp(kernel)
    canvas = stamp.canvas(curve)
    gradient = stamp.gradient(curve, 2 * (canvas - design))
    result[name] = {"zeros": (gradient == 0).sum(axis=1).tolist(), "energy": canvas.sum()}
    if name == "soft":
        result[name]["errors"] = forum.worst_errors(stamp, curve, 2).tolist()
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def forum() -> Iterator[ModuleType]:
    spec = spec_from_file_location("forum_butterfly", SCRIPT)
    module = module_from_spec(spec)
    sys.modules["forum_butterfly"] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["forum_butterfly"]


@pytest.fixture(scope="module")
def by_taichi() -> dict[str, dict]:
    return json.loads(run("-c", GRADIENTS, str(SCRIPT.parent)).splitlines()[-1])


def run(*arguments: str) -> str:
    """What Python prints, from the project's folder."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_integer_cast_has_no_gradient_in_x_and_y_but_in_power_and_speed(by_taichi):
    assert by_taichi["cast"]["zeros"] == [5000, 5000, 0, 0]


@pytest.mark.slow
def test_a_bilinear_splat_has_all_four_and_they_are_right(by_taichi):
    assert by_taichi["soft"]["zeros"] == [0, 0, 0, 0]
    assert max(by_taichi["soft"]["errors"]) < 1e-5


@pytest.mark.slow
def test_both_stamps_leave_all_energy_on_the_canvas(forum, by_taichi):
    curve = forum.forum_curve()
    for stamp in by_taichi.values():
        assert stamp["energy"] == pytest.approx((curve[2] / curve[3]).sum())


@pytest.mark.slow
def test_laserpath_has_all_four_and_they_are_right(forum):
    lines, curve = forum.Lines(), forum.forum_curve()
    gradient = lines.gradient(curve, 2 * (lines.canvas(curve) - forum.butterfly()))
    assert gradient[:2].all()
    assert gradient[2:, :-1].all()
    assert forum.worst_errors(lines, curve, 2).max() < 1e-4


def test_the_stencil_is_airy_s_function_round_pointed_and_faded_out(forum):
    stencil = forum.airy_function_stencil()
    assert stencil.shape == (15, 15)
    assert stencil.sum() == pytest.approx(1)
    np.testing.assert_array_equal(stencil, stencil.T)
    np.testing.assert_array_equal(stencil, stencil[::-1])
    outwards = stencil[7, 7:]
    assert outwards[-1] < 0.01 * outwards[0]
    # It falls steepest in the middle; the spot of a lens is flat there.
    assert (np.diff(outwards, 2) > 0).all()


def test_the_butterfly_has_the_area_of_its_formula(forum):
    t = (np.arange(100_000) + 0.5) * 2e-5 * np.pi
    f = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5
    design = forum.butterfly()
    assert design.sum() * forum.GRID.pixel_area == pytest.approx(
        50 * np.pi * np.maximum(f, 0).mean(), rel=1e-3
    )
    assert not design[:20].any()
    assert not design[-20:].any()


def test_a_random_walk_starts_in_the_middle_and_stays_on_the_canvas(forum):
    walk = forum.random_walk(3, forum.LOW, forum.HIGH, 0.3)
    assert walk.shape == (5000, 2)
    assert np.abs(walk[0]).max() < 2
    assert forum.LOW <= walk.min() < walk.max() <= forum.HIGH
    assert np.hypot(*np.diff(walk, axis=0).T).max() < 2
    assert (walk != forum.random_walk(4, forum.LOW, forum.HIGH, 0.3)).all()


@pytest.mark.parametrize(("fwhm", "pixels"), [(10, 32), (2.5, 64), (0.35, 512)])
def test_a_coarser_design_is_the_same_design(forum, fwhm, pixels):
    design, target = forum.butterfly(), forum.coarser(forum.butterfly(), fwhm)
    assert target.grid.shape == (pixels, pixels)
    assert target.grid.extent == pytest.approx(forum.GRID.extent)
    area = design.sum() * forum.GRID.pixel_area
    assert target.coverage.sum() * target.grid.pixel_area == pytest.approx(area)


def test_adam_s_first_step_goes_straight_downhill_by_one(forum):
    step = forum.Adam().step(np.array([[3.0, 4.0], [0.0, -2e-9]]))
    np.testing.assert_allclose(step, [[-0.6, -0.8], [0, 1]])


@pytest.mark.slow
def test_a_few_iterations_are_better_than_none_and_give_a_path_for_the_machine(forum):
    drawing = forum.draw(0, find=10, finish=20)
    assert forum.iou(drawing.start, forum.butterfly()) < 0.5
    assert drawing.iou > 0.8
    path, machine = drawing.path, forum.MACHINE
    level = machine.level_for(path.power)
    np.testing.assert_allclose(level, np.rint(level), atol=1e-9)
    assert path.speed[path.on].max() <= min(machine.speed_max)
    assert forum.LOW <= path.xy.min() < path.xy.max() <= forum.HIGH
    assert [fwhm for fwhm, *_ in drawing.stages] == pytest.approx([10, 5, 2.5, 1.25, 0.625, 0.35])


def test_no_walk_at_all_is_refused(forum, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--seeds", "0"])
    with pytest.raises(SystemExit, match="2"):
        forum.main()
    assert re.search(r"--seeds: invalid choice: .?0", capsys.readouterr().err)  # Python 3.12.8 quotes it


@pytest.mark.slow(90)
def test_every_random_walk_becomes_the_butterfly(tmp_path):
    printed = run(str(SCRIPT), "--out", str(tmp_path))
    assert re.search(r"integer cast, how many are zero +5000 +5000 +0 +0\n", printed)
    errors = re.findall(r"worst relative error +(\S+) +(\S+) +(\S+) +(\S+)\n", printed)
    assert len(errors) == 2
    assert max(float(e) for row in errors for e in row) < 1e-4
    walks = re.findall(r"^(\d) +(airy\S*) +(\S+) +(\S+) +\d+$", printed, re.M)
    assert [walk[:2] for walk in walks] == [*((k, "airy") for k in "012"), ("0", "airy-function")]
    for _, _, start, end in walks:
        assert float(start) < 0.5
        assert float(end) >= 0.99
    assert sorted(path.name for path in tmp_path.iterdir()) == PICTURES
    for name in PICTURES:
        assert (tmp_path / name).stat().st_size < 150_000
        assert Image.open(tmp_path / name).width > 700

"""The forum's problem: why x and y had no gradient, that they have one now, and the butterfly it draws."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[1] / "samples" / "forum_butterfly.py"


@pytest.fixture(scope="module")
def forum():
    spec = spec_from_file_location("forum_butterfly", SCRIPT)
    module = module_from_spec(spec)
    sys.modules["forum_butterfly"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["forum_butterfly"]


def gradient(forum, kind):
    curve = forum.forum_curve()
    return kind.gradient(curve, 2 * (kind.canvas(curve) - forum.butterfly()))


def test_the_integer_cast_has_no_gradient_in_x_and_y(forum):
    found = gradient(forum, forum.kinds()["integer cast"])
    assert found.shape == (4, 5000)
    assert not found[:2].any()
    assert found[2:].all()


@pytest.mark.parametrize("name", ["bilinear splat", "laserpath"])
def test_a_soft_splat_has_the_right_one(forum, name):
    kind = forum.kinds()[name]
    found = gradient(forum, kind)
    assert found[:2].all()
    assert forum.worst_errors(kind, forum.forum_curve(), 3).max() < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_random_walk_becomes_the_butterfly(forum, seed):
    drawing = forum.draw(seed)
    assert forum.iou(drawing.start, forum.butterfly()) < 0.5
    assert drawing.iou >= 0.99
    assert np.isfinite(drawing.path.xy).all()


@pytest.mark.slow
def test_the_script_runs_and_writes_its_pictures(tmp_path):
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "integer cast, how many are zero          5000     5000        0        0" in result.stdout
    assert len(list(tmp_path.glob("*.png"))) == 4

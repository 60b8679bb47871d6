"""The example trains: the loss falls by a clear factor, and the cured area becomes the design."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.parity

SCRIPT = Path(__file__).parents[2] / "samples" / "torch_power.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("torch_power", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_network_learns_the_power(example):
    result = example.train(steps=120)
    assert result.losses[-1] < result.losses[0] / 10
    assert result.iou > 0.95
    assert result.power.min() >= 0
    inside = result.design[example.GRID.shape[0] // 2, example.GRID.shape[1] // 2]
    assert inside == 0
    assert result.dose[result.design == 1].mean() > 2 * result.dose[result.design == 0].mean()


def test_training_gives_the_same_twice(example):
    first, second = example.train(steps=5, seed=3), example.train(steps=5, seed=3)
    assert first.losses == second.losses
    np.testing.assert_array_equal(first.power, second.power)


def run(example: ModuleType, monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, options)])
    example.main()


def test_the_script_says_the_loss_and_draws_a_picture(example, monkeypatch, capsys, tmp_path):
    picture = tmp_path / "power.png"
    run(example, monkeypatch, "--steps", 3, "--out", picture)
    printed = capsys.readouterr().out
    assert "after 3 steps" in printed
    assert "IoU" in printed
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_no_steps_is_refused_with_a_sentence(example, monkeypatch, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(example, monkeypatch, "--steps", 0)
    assert "--steps is 0, but must be at least 1" in capsys.readouterr().err

"""Why gradients through steps that overwrite their state are 0 or wrong, and steps with an adjoint are not.

A tape holds kernels, not values: an assignment clears the gradient of what it overwrites, and on the way back
a kernel finds what was written last where it had read something else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from laserpath.base.compute.checkpointing import checkpointed

TAPE = """
import taichi as ti
ti.init(arch=ti.cpu, default_fp=ti.f64)
speed, place, loss = (ti.field(ti.f64, shape=(), needs_grad=True) for _ in range(3))

@ti.kernel
def push():
    speed[None] = {pushed}

@ti.kernel
def move():
    place[None] += speed[None]

@ti.kernel
def score():
    loss[None] += place[None] ** 2

speed[None], place[None] = 0.5, 1.0
with ti.ad.Tape(loss):
    push()
    move()
    score()
print(speed.grad[None])
"""


def taped(pushed: str, script: Path) -> float:
    """∂L/∂speed that Taichi's tape gives, in a process of its own; speed is 0.5 at first."""
    script.write_text(TAPE.format(pushed=pushed), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


@pytest.mark.slow(seconds=12)
def test_a_tape_loses_what_is_overwritten(tmp_path: Path) -> None:
    assert taped("0.5", tmp_path / "constant.py") == 0  # and so it is of the speed that was kept, 2 · 1.5
    place = 1 + 0.5**2
    wrong = taped("speed[None] ** 2", tmp_path / "square.py")
    assert wrong == pytest.approx(
        2 * place * 2 * 0.25
    )  # twice the speed after, where it is twice that before


class Squared:
    """speed ← speed², place ← place + speed; nothing is written over."""

    def forward(self, state: np.ndarray, k: int) -> np.ndarray:
        speed, place = state
        return np.array([speed**2, place + speed**2])

    def adjoint(self, state: np.ndarray, k: int, slope: np.ndarray) -> np.ndarray:
        return np.array([2 * state[0] * (slope[0] + slope[1]), slope[1]])


def test_a_step_with_an_adjoint_keeps_it() -> None:
    run = checkpointed(Squared(), np.array([0.5, 1.0]), 1)
    d_speed, d_place = run.gradient(np.array([0.0, 2 * run.final[1]]))
    assert d_speed == 2 * 1.25 * 2 * 0.5 and d_place == 2 * 1.25

"""The cured depth, and a gradient through many steps: `python depth.py REQUEST` says their times as JSON.

Depth: a zigzag on 512² pixels, by the closed form where the spot is equally wide everywhere, and by slices
where it spreads. Its peer is what the slices cannot do without: their doses alone.

Checkpointing: 400 steps of 512² cells, each a diffusion and a reaction in NumPy, with about √(2n) states.
Its peer keeps the states of all steps. Measured in turns, in one process.
"""

from __future__ import annotations

import time
from dataclasses import replace

import asked
import numpy as np

from laserpath import Grid, Machine, Process, Resin, Spot, Toolpath
from laserpath.base.compute.checkpointing import checkpointed
from laserpath.operators.volume import cured_depth
from laserpath.physics.dose import DoseModel

PIXELS, STEPS = 512, 400
SPOT = Spot(0.006, "gaussian", wavelength=405e-6)
RESIN = Resin(critical_dose=0.2, e_c=0.085, penetration_depth=0.11)
PITCH = 0.0015


def depth_calls():
    """By name: functions, and the cured depths that the first two return."""
    width = PITCH * PIXELS
    x = np.where(np.arange(21) % 2 == 0, 0.1, 0.9) * width
    path = Toolpath(
        np.stack([x, np.linspace(0.1, 0.9, 21) * width], axis=1), np.full(20, 0.6), np.full(20, 40.0)
    )
    grid = Grid((0, 0), PITCH, (PIXELS, PIXELS))
    dose = DoseModel(grid, SPOT).dose(path)
    spreading = Process(SPOT, RESIN, Machine())
    even = replace(spreading, spot=replace(SPOT, wavelength=None))
    found = cured_depth(path, grid, dose, spreading)

    def doses():
        for z in found.z[1:]:
            DoseModel(grid, replace(SPOT, defocus=z / 1.5)).dose(path)

    expected = RESIN.penetration_depth * np.log(np.maximum(dose / RESIN.e_c, 1))
    straight = cured_depth(path, grid, dose, even).depth
    error = float(np.abs(straight - expected).max() / expected.max())
    return {
        "closed form": lambda: cured_depth(path, grid, dose, even),
        "slices": lambda: cured_depth(path, grid, dose, spreading),
        "doses of the slices": doses,
    }, {"error": error, "deepest": float(found.depth.max() / straight.max())}


class Step:
    """u ← u + Δ(∇²u) − Δ u²/2 on a torus."""

    def forward(self, state, k):
        return state + 0.1 * _laplacian(state) - 0.005 * state**2

    def adjoint(self, state, k, slope):
        return slope + 0.1 * _laplacian(slope) - 0.01 * state * slope


def _laplacian(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def checkpoint_calls():
    """By name: functions that return ∂L/∂state; and what the schedule says of itself."""
    rng = np.random.default_rng(4)
    state, slope, step = rng.random((PIXELS, PIXELS)), rng.standard_normal((PIXELS, PIXELS)), Step()

    def all_kept():
        states = [state]
        for k in range(STEPS):
            states.append(step.forward(states[-1], k))
        found = slope
        for k in reversed(range(STEPS)):
            found = step.adjoint(states[k], k, found)
        return found

    run = checkpointed(step, state, STEPS)
    by_schedule = run.gradient(slope)
    error = float(np.abs(by_schedule - all_kept()).max())
    return {
        "checkpointed": lambda: checkpointed(step, state, STEPS).gradient(slope),
        "all states kept": all_kept,
    }, {"error": error, "memory": run.memory, "computed": run.computed}


def main(request) -> dict:
    answer = {}
    for name, (calls, facts) in {"depth": depth_calls(), "checkpointing": checkpoint_calls()}.items():
        seconds: dict[str, list[float]] = {key: [] for key in calls}
        for turn in range(request["rounds"] + 1):  # the first round warms up
            for key, call in calls.items():
                begin = time.perf_counter()
                call()
                seconds[key] += [time.perf_counter() - begin] * (turn > 0)
        answer[name] = {"seconds": seconds, **facts}
    return answer


if __name__ == "__main__":
    asked.answer(main(asked.REQUEST))

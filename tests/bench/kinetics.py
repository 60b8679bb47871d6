"""The kinetics of a resin and their peer: `python kinetics.py REQUEST` says their times as JSON.

512² cells, 2000 flashes of a spot of 8 cells' FWHM, which goes along lines; the conversion, and its gradient
by places and energies, in float64. PyTorch computes all cells after each flash, in segments of √n steps under
`torch.utils.checkpoint`; its time is extrapolated from `STEPS_TIMED`, as 2000 take some minutes. Ours takes
intervals of 10 flashes, within which a cell goes from flash to flash that reaches it. The step in the dark is
the same. Measured in one process; the memory is that of the states that are kept.
"""

from __future__ import annotations

import json
import math
import os
import sys

if __name__ == "__main__":
    _REQUEST = json.loads(sys.argv[1])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, _REQUEST["cores"])

import time

import numpy as np

from laserpath import Grid, Spot
from laserpath.kinetics import KineticModel, Kinetics, Light

PITCH, FWHM, STEP = 0.01, 0.08, 2e-3
INTERVAL, STEPS_TIMED = 10 * STEP, 200
RESIN = Kinetics(
    radical_dose=0.15, propagation=2.0, inhibition=100.0, termination=0.5, pair_termination=0.5, supply=0.05
)  # fmt: skip


def problem(size: int, steps: int):
    """(light, ∂L/∂conversion): a zigzag of four lines over the grid."""
    width = size * PITCH
    t = np.linspace(0, 4, steps, endpoint=False)
    x = width * (0.15 + 0.7 * np.abs((t + 1) % 2 - 1))
    y = width * (0.2 + 0.15 * t)
    light = Light(np.stack([x, y], axis=1), np.full(steps, 2e-3), STEP * np.arange(steps))
    return light, np.random.default_rng(3).standard_normal((size, size))


def ours(light, weight):
    """(conversion, ∂L/∂xy, ∂L/∂energy)."""
    grid, end = Grid((0, 0), PITCH, weight.shape), STEP * len(light.time)
    model = KineticModel(grid, Spot(fwhm=FWHM, profile="gaussian"), RESIN, interval=INTERVAL)
    done = model.expose(light, end)
    found = done.gradient(weight)
    return done.conversion, found.xy, found.energy


def _dark(torch, r, o, m):
    """`kinetics.reaction.after`, for all cells at once."""
    k, s = RESIN, STEP
    a, supplied = k.termination * s / 2, math.exp(-k.supply * s / 2)
    o = 1 + (o - 1) * supplied
    rest = math.exp(-a)
    half = s / 2 * (1 - rest) / a
    exposure = torch.log1p(k.pair_termination * half * (1 + rest) * r) / k.pair_termination
    r = r * rest / (1 + k.pair_termination * half * r)
    alpha = k.inhibition * s * r
    w = alpha - k.inhibition * s * o
    w = torch.where(w.abs() < 1e-9, 1e-9, w)
    phi = torch.expm1(w) / w
    x = (alpha * phi).clamp(1e-12)
    exposure = exposure * phi * torch.log1p(x) / x
    fewer = r / (1 + k.inhibition * s * o * torch.expm1(-w) / -w)
    o = o / (1 + x)
    r = torch.where(w > 0, o + w / (k.inhibition * s), fewer)
    r = r * rest / (1 + k.pair_termination * half * r)
    return r, 1 + (o - 1) * supplied, m * torch.exp(-k.propagation * exposure)


def in_torch(light, weight):
    import torch
    from torch.utils.checkpoint import checkpoint

    rows, columns = weight.shape
    xy, energy = (torch.tensor(a, requires_grad=True) for a in (light.xy, light.energy))
    x = PITCH * torch.arange(columns, dtype=torch.float64)
    y = PITCH * torch.arange(rows, dtype=torch.float64)[:, None]
    rate = 4 * math.log(2) / FWHM**2

    def segment(r, o, m, xy, energy):
        for place, e in zip(xy, energy, strict=True):
            across, down = torch.exp(-rate * (x - place[0]) ** 2), torch.exp(-rate * (y - place[1]) ** 2)
            h = rate / math.pi * across * down
            r, o, m = _dark(torch, r + e / RESIN.radical_dose * h, o, m)
        return r, o, m

    state = tuple(torch.full((rows, columns), v, dtype=torch.float64) for v in (0.0, 1.0, 1.0))
    each = math.isqrt(len(energy))
    for k in range(0, len(energy), each):
        part = slice(k, k + each)
        # Reentrant: the other kind keeps what it computes again, 20 GB in 1500 steps.
        state = checkpoint(segment, *state, xy[part], energy[part], use_reentrant=True)
    conversion = 1 - state[2]
    conversion.backward(torch.from_numpy(weight))
    return conversion.detach().numpy(), xy.grad.numpy(), energy.grad.numpy()


def main(request) -> dict:
    import torch

    torch.set_num_threads(len(request["cores"]))
    torch.set_flush_denormal(True)  # the far sides of Gaussians would take many times as long
    few = problem(128, 400)
    pairs = zip(ours(*few), in_torch(*few), strict=True)
    errors = [float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs]
    seconds: dict[str, list[float]] = {"ours": [], "torch": []}
    steps = request["steps"]
    for key, call, timed, rounds in (("ours", ours, steps, 3), ("torch", in_torch, STEPS_TIMED, 1)):
        task = problem(request["size"], timed)
        for _ in range(rounds):
            begin = time.perf_counter()
            call(*task)
            seconds[key].append((time.perf_counter() - begin) * steps / timed)
    kept = math.isqrt(round(2 * steps * STEP / INTERVAL))
    return {**seconds, "errors": errors, "states_MB": kept * 3 * 8 * request["size"] ** 2 / 1e6}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(_REQUEST)) + "\n")

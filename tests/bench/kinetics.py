"""The kinetics of a resin and their peer: `python kinetics.py REQUEST` says their times as JSON.

512² cells, 2000 steps: in each a flash of a spot of 8 cells' FWHM, which goes along lines, and then the same
exact step in the dark; the conversion, and its gradient by places and energies, in float64. PyTorch computes
all cells in each step, in segments of √n steps under `torch.utils.checkpoint`. Measured in turns, in one
process; the memory is that of the states that are kept.
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
    model = KineticModel(grid, Spot(fwhm=FWHM, profile="gaussian"), RESIN, interval=STEP)
    done = model.expose(light, end)
    found = done.gradient(weight)
    return done.conversion, found.xy, found.energy


def _dark(torch, r, o, m):
    """`kinetics.reaction.after`, for all cells at once."""
    k, s = RESIN, STEP
    small, large = torch.minimum(r, o), torch.maximum(r, o)
    w = (k.inhibition * s * (large - small)).clamp(1e-9, 80.0)
    left = small / (1 + large * k.inhibition * s * torch.expm1(w) / w)
    more = left + (large - small)
    r, o = torch.where(r > o, more, left), torch.where(r > o, left, more)
    a = k.termination * s
    lasting = s * -math.expm1(-a) / a
    q = k.pair_termination * lasting * r
    exposure = torch.log1p(q) / k.pair_termination
    r, o = r * math.exp(-a) / (1 + q), 1 + (o - 1) * math.exp(-k.supply * s)
    return r, o, m * torch.exp(-k.propagation * exposure)


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
        state = checkpoint(segment, *state, xy[part], energy[part], use_reentrant=False)
    conversion = 1 - state[2]
    by = torch.autograd.grad(conversion, (xy, energy), torch.from_numpy(weight))
    return conversion.detach().numpy(), *(one.numpy() for one in by)


def main(request) -> dict:
    import torch

    torch.set_num_threads(len(request["cores"]))
    torch.set_flush_denormal(True)  # the far sides of Gaussians would take many times as long
    few = problem(128, 64)
    pairs = zip(ours(*few), in_torch(*few), strict=True)
    errors = [float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs]
    task, seconds = problem(request["size"], request["steps"]), {"ours": [], "torch": []}
    for key, call, rounds in (("ours", ours, 3), ("torch", in_torch, 1)):
        for _ in range(rounds):
            begin = time.perf_counter()
            call(*task)
            seconds[key].append(time.perf_counter() - begin)
    kept = math.isqrt(2 * request["steps"])
    return {**seconds, "errors": errors, "states_MB": kept * 3 * 8 * request["size"] ** 2 / 1e6}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(_REQUEST)) + "\n")

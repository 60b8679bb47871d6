"""The kinetics of a resin and their peer: `python kinetics.py REQUEST` says their times as JSON.

512² cells, 2000 flashes of a spot of 8 cells' FWHM, which goes along lines; the conversion, and its gradient
by places and energies, in float64. Both take 200 intervals of 10 flashes, with half of the oxygen's diffusion
and supply before and after each. Within one, PyTorch takes a step of all cells after each flash, 2000 in all,
and ours goes in each cell from flash to flash that reaches it. The step in the dark is the same. PyTorch runs
in segments of about √n steps under `torch.utils.checkpoint`, and diffuses by two products of matrices; its
time is extrapolated from `torch_steps` of them, in segments as long as if it took all.

Measured in one process. The memory is what the resident memory grows by at most, of a process of its own.
"""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path

import asked
import numpy as np
from memory import status

from laserpath import Grid, Spot
from laserpath.physics.kinetics import KineticModel, Kinetics, Light

PITCH, FWHM, STEP = 0.01, 0.08, 2e-3
EACH = 10
"""Flashes in an interval."""
INTERVAL = EACH * STEP
RESIN = Kinetics(
    radical_dose=0.15, propagation=2.0, inhibition=100.0, termination=0.5, pair_termination=0.5,
    diffusion=1e-3, supply=0.05,
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
    """`kinetics.kernels.after`, for all cells at once."""
    k, s = RESIN, STEP
    a = k.termination * s / 2
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
    return r, o, m * torch.exp(-k.propagation * exposure)


def _spread(torch, n: int):
    """exp(D ∇² t) of half an interval for n cells in a row, (n, n), by its cosines."""
    at = np.arange(n)
    waves = np.cos(np.pi * at[:, None] * (at + 0.5) / n) * np.sqrt(np.where(at == 0, 1, 2) / n)[:, None]
    rate = RESIN.diffusion / PITCH**2 * 4 * np.sin(np.pi * at / (2 * n)) ** 2
    return torch.from_numpy(waves.T * np.exp(-rate * INTERVAL / 2) @ waves)


def segment_of(steps: int) -> int:
    """Steps between two checkpoints, in whole intervals."""
    return EACH * max(1, round(math.sqrt(steps) / EACH))


def in_torch(light, weight, each):
    """The same, with a checkpoint every `each` steps."""
    import torch
    from torch.utils.checkpoint import checkpoint

    rows, columns = weight.shape
    xy, energy = (torch.tensor(a, requires_grad=True) for a in (light.xy, light.energy))
    x = PITCH * torch.arange(columns, dtype=torch.float64)
    y = PITCH * torch.arange(rows, dtype=torch.float64)[:, None]
    rate = 4 * math.log(2) / FWHM**2
    along, sideways = _spread(torch, rows), _spread(torch, columns)
    supplied = math.exp(-RESIN.supply * INTERVAL / 2)

    def renewed(o):
        return 1 + supplied * (along @ (o - 1) @ sideways)

    def segment(r, o, m, xy, energy):
        for k, (place, e) in enumerate(zip(xy, energy, strict=True)):
            if k % EACH == 0:
                o = renewed(o)
            across, down = torch.exp(-rate * (x - place[0]) ** 2), torch.exp(-rate * (y - place[1]) ** 2)
            h = rate / math.pi * across * down
            r, o, m = _dark(torch, r + e / RESIN.radical_dose * h, o, m)
            if k % EACH == EACH - 1:
                o = renewed(o)
        return r, o, m

    state = tuple(torch.full((rows, columns), v, dtype=torch.float64) for v in (0.0, 1.0, 1.0))
    for k in range(0, len(energy), each):
        part = slice(k, k + each)
        # Reentrant: the other kind keeps what it computes again, 20 GB in 1500 steps.
        state = checkpoint(segment, *state, xy[part], energy[part], use_reentrant=True)
    conversion = 1 - state[2]
    conversion.backward(torch.from_numpy(weight))
    return conversion.detach().numpy(), xy.grad.numpy(), energy.grad.numpy()


def _grown(call) -> float:
    """MB by which the resident memory grows at most during a call (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the largest memory so far
    before = status("VmRSS")
    call()
    return (status("VmHWM") - before) / 1e6


def memory(request) -> dict:
    """MB that one of the two takes for the forward way and the gradient."""
    _torch(request)
    call = {"ours": ours, "torch": partial(in_torch, each=segment_of(request["steps"]))}[request["who"]]
    call(*problem(64, 40))  # compiling takes memory of its own, and is not meant
    task = problem(request["size"], request["torch_steps"] if request["who"] == "torch" else request["steps"])
    return {"MB": _grown(lambda: call(*task))}


def _torch(request):
    import torch

    torch.set_num_threads(len(request["cores"]))
    torch.set_flush_denormal(True)  # the far sides of Gaussians would take many times as long


def main(request) -> dict:
    """Times, s, of `rounds` of ours and of one round of PyTorch; and how far apart the results are."""
    _torch(request)
    few = problem(128, 400)
    pairs = zip(ours(*few), in_torch(*few, segment_of(400)), strict=True)
    errors = [float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs]
    seconds: dict[str, list[float]] = {"ours": [], "torch": []}
    steps, theirs = request["steps"], partial(in_torch, each=segment_of(request["steps"]))
    for key, call, timed, rounds in (("ours", ours, steps, 3), ("torch", theirs, request["torch_steps"], 1)):
        task = problem(request["size"], timed)
        for _ in range(rounds):
            begin = time.perf_counter()
            call(*task)
            seconds[key].append((time.perf_counter() - begin) * steps / timed)
    return {**seconds, "errors": errors}


if __name__ == "__main__":
    asked.answer((memory if "who" in asked.REQUEST else main)(asked.REQUEST))

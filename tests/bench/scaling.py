"""Time against points, pixels and threads: `python scaling.py REQUEST` says the seconds of one row as JSON.

Middle size: 2048² pixels, 200 k points, 31², unless varied. Median of 5 after a warm-up.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from dataclasses import replace
from typing import Any

import asked
import numpy as np
from problem import SIZES, Problem
from rows import BY_KEY, OWN_PIXELS_PER_FWHM

POINTS = (1_000, 10_000, 100_000, 1_000_000)
PIXELS = (512, 1024, 2048, 4096)
KEYS = ("ours fft coarse", "torch fft", "jax fft", "numba direct", "finufft")
_REPEATS = 5


def cases(axis: str) -> list[Problem]:
    """Along 'points', 'pixels', or the middle size alone."""
    middle = SIZES["M"]
    if axis == "points":
        return [replace(middle, points=n) for n in POINTS]
    if axis == "pixels":
        return [replace(middle, pixels=n) for n in PIXELS]
    return [middle]


def seconds(key: str, task: Problem) -> float:
    """Of one loss and gradient."""
    row = BY_KEY[key]
    pixels = task.pixels_at(OWN_PIXELS_PER_FWHM) if row.coarse else task.pixels
    peer = importlib.import_module(f"peers.{row.module}").Peer(task, task.grid(pixels), "cpu", **row.options)
    points = task.points_and_energies()
    times = []
    for _ in range(_REPEATS + 1):
        begin = time.perf_counter()
        peer(*points)
        times.append(time.perf_counter() - begin)
    return float(np.median(times[1:]))


def main(request: dict[str, Any]) -> None:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer.write(json.dumps([seconds(request["row"], task) for task in cases(request["axis"])]))


if __name__ == "__main__":
    main(asked.REQUEST)

"""The painter of strokes against a dense one in PyTorch; `strokes.py` measures both, in one process.

And the fits of strokes, by `stroke_fits.py`.
"""

from __future__ import annotations

import itertools
from functools import cache

import pytest
from bench_dose import WorkersClock
from campaign import child
from machine import cores

GOAL = 0.01
"""Seconds on two cores."""
CLOCK = WorkersClock()


@cache
def measured():
    return child("strokes.py", {"cores": cores(), "rounds": 5})


@pytest.mark.parametrize("who", ["ours", "torch"])
@pytest.mark.benchmark(timer=CLOCK, disable_gc=False)
def bench_strokes(benchmark, who: str) -> None:
    """48 strokes on 512², forward and gradient, float32."""
    found = measured()
    times = itertools.chain(found[who], itertools.repeat(0.0))
    benchmark.group = f"strokes, {len(cores())} threads"
    benchmark.extra_info.update(errors=found["errors"], goal=GOAL)
    benchmark.pedantic(
        CLOCK.advance, setup=lambda: ((next(times),), {}), rounds=len(found[who]), iterations=1
    )
    # Measured: 5e-6. PyTorch has its places in float32, ours are in float64.
    assert max(found["errors"]) <= 2e-5, "picture and gradient equal PyTorch's"
    assert min(found["ours"]) <= GOAL


@cache
def fits():
    return child("stroke_fits.py", {"cores": cores(), "rounds": 2})


@pytest.mark.parametrize(
    ("which", "fell"), [("fit_strokes", 10.0), ("lay_strokes", 2.0), ("fit_additive", 2.0)]
)
@pytest.mark.benchmark(timer=CLOCK, disable_gc=False)
def bench_fits(benchmark, which: str, fell: float) -> None:
    """32 strokes of a picture of 256², 1000 steps; 64 of a laser laid on 256², and fitted."""
    found = fits()[which]
    times = itertools.chain(found["seconds"], itertools.repeat(0.0))
    benchmark.group = f"fits of strokes, {len(cores())} threads"
    benchmark.extra_info.update(fell=found["fell"])
    benchmark.pedantic(
        CLOCK.advance, setup=lambda: ((next(times),), {}), rounds=len(found["seconds"]), iterations=1
    )
    assert min(found["fell"]) >= fell, "times less than the loss before"

"""The painter of strokes against a dense one in PyTorch; `strokes.py` measures both, in one process."""

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
    # PyTorch has its places in float32, so that some pixels are on the other side of the coverage's kinks.
    assert max(found["errors"]) <= 1e-2, "picture and gradient equal PyTorch's"

"""The cured depth, and a gradient with checkpoints; `depth.py` measures both, in one process."""

from __future__ import annotations

import itertools
from functools import cache
from statistics import median

import pytest
from bench_dose import WorkersClock
from campaign import child
from machine import cores

STEPS = 400
OVERHEAD = 1.5
"""Largest time of the depth by slices, in that of their doses alone."""
FORWARD = 2.0
"""Largest time of a gradient with checkpoints, in that of one that keeps all states."""
CLOCK = WorkersClock()


@cache
def measured():
    return child("depth.py", {"cores": cores(), "rounds": 5})


def _timed(benchmark, what: str, who: str, *facts: str):
    found = measured()[what]
    times = itertools.chain(found["seconds"][who], itertools.repeat(0.0))
    benchmark.group = f"{what}, 512², {len(cores())} threads"
    benchmark.extra_info.update({key: found[key] for key in facts})
    benchmark.pedantic(
        CLOCK.advance, setup=lambda: ((next(times),), {}), rounds=len(found["seconds"][who]), iterations=1
    )
    return found


@pytest.mark.parametrize("who", ["closed form", "slices", "doses of the slices"])
@pytest.mark.benchmark(timer=CLOCK, disable_gc=False)
def bench_cured_depth(benchmark, who: str) -> None:
    """A zigzag of 20 lines on 512² pixels, float32."""
    found = _timed(benchmark, "depth", who, "error", "deepest")
    assert found["error"] <= 1e-6, "where the spot is equally wide the depth is D_p ln(D/E_c)"
    assert 0.3 < found["deepest"] < 1, "the spot that spreads cures less deep"
    seconds = found["seconds"]
    assert median(seconds["slices"]) <= OVERHEAD * median(seconds["doses of the slices"])


@pytest.mark.parametrize("who", ["checkpointed", "all states kept"])
@pytest.mark.benchmark(timer=CLOCK, disable_gc=False)
def bench_checkpointed(benchmark, who: str) -> None:
    """400 steps of 512² cells and their gradient, float64: √(2n) states against n."""
    found = _timed(benchmark, "checkpointing", who, "error", "memory", "computed")
    assert found["error"] == 0, "the same steps, so the same gradient"
    assert found["memory"] ** 2 <= 2 * STEPS and found["computed"] <= 2 * STEPS
    seconds = found["seconds"]
    assert median(seconds["checkpointed"]) <= FORWARD * median(seconds["all states kept"])

"""Kinetics against PyTorch with `torch.utils.checkpoint`; `kinetics.py` measures both in one process."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
from bench_dose import WorkersClock
from campaign import child
from machine import cores

GOAL = 5.0
"""How many times faster than PyTorch."""
TIMED = 200
"""Steps of PyTorch that are timed, since all take some minutes; its time is extrapolated from them."""
CLOCK = WorkersClock()


@cache
def measured():
    request = {"cores": cores(), "size": 512, "steps": 2000, "torch_steps": TIMED}
    memory = {f"{who}_MB": child("kinetics.py", request | {"who": who})["MB"] for who in ("ours", "torch")}
    return child("kinetics.py", request) | memory


@pytest.mark.parametrize("who", ["ours", "torch"])
@pytest.mark.benchmark(timer=CLOCK, disable_gc=False)
def bench_kinetics(benchmark, who: str) -> None:
    """512² cells, 2000 flashes, forward and gradient by places and energies, float64."""
    found = measured()
    times = itertools.chain(found[who], itertools.repeat(0.0))
    benchmark.group = f"kinetics, 512², 2000 flashes, {len(cores())} threads"
    # PyTorch's memory is that of as many steps as are timed; each checkpoint more is 6 MB.
    benchmark.extra_info.update(errors=found["errors"], MB=found[f"{who}_MB"])
    benchmark.pedantic(
        CLOCK.advance, setup=lambda: ((next(times),), {}), rounds=len(found[who]), iterations=1
    )
    # Our spot is a table that ends at 4 FWHM, and our steps in the dark are up to ten times as long.
    assert max(found["errors"]) <= 1e-3, "conversion and gradients equal PyTorch's"
    assert GOAL * min(found["ours"]) <= min(found["torch"])

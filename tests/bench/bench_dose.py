"""Forward and gradient of the thresholded resist's loss, laserpath and its peers, as pytest-benchmark rows.

The rows are measured in processes of their own (`campaign`), in turns; the times they measured are handed
to pytest-benchmark here, so that its JSON (`--benchmark-json=FILE`) and comparison can be used.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from campaign import Campaign, Group, PeerFailed
from extras import Curve, Machine, Memory, machine, memories, scaling

TOLERANCE = {"dose": 1e-3, "gradient": 1e-2}
"""Largest deviations of laserpath. A peer may have twice that; above, it computes something else."""


class WorkersClock:
    """The time as the row's process says it: the pipe to it is not measured."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


CLOCK = WorkersClock()


@dataclass
class Extras:
    """What is measured beside the rows."""

    machines: dict[int, Machine] = field(default_factory=dict)
    memories: list[Memory] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)


@pytest.mark.benchmark(timer=CLOCK, disable_gc=False)
def bench_row(benchmark, campaign: Campaign, group: Group, key: str) -> None:
    """A row, measured with all others of its group when the first of them is needed."""
    try:
        measured = campaign.measured(group, key)
    except PeerFailed as error:
        pytest.fail(str(error), pytrace=False)
    times = itertools.chain(measured.seconds, itertools.repeat(0.0))
    benchmark.group = f"{group.size}, {group.threads} threads, {group.device}"
    benchmark.extra_info.update(
        errors=measured.errors, first_call=measured.first, grid=measured.row.pixels(group.size)
    )
    benchmark.pedantic(
        CLOCK.advance, setup=lambda: ((next(times),), {}), rounds=len(measured.seconds), iterations=1
    )
    if campaign.profile == "gaussian":
        allowed = 1 if measured.row.module == "ours" else 2
        for name, limit in TOLERANCE.items():
            assert measured.errors[name] <= allowed * limit, f"{name} of {measured.row.label} is off by more"


def bench_machine(campaign: Campaign, extras: Extras, threads: int) -> None:
    """Memory bandwidth and FFT speed."""
    extras.machines[threads] = machine(campaign, threads)


def bench_memory(extras: Extras, sizes: list[str]) -> None:
    """Peak memory of laserpath, at most 8 grids."""
    extras.memories.extend(memories(sizes))
    assert extras.memories


def bench_scaling(extras: Extras, request: pytest.FixtureRequest) -> None:
    """Time against points, pixels and threads."""
    if request.config.getoption("--no-scaling"):
        pytest.skip("--no-scaling")
    extras.curves.extend(scaling())

"""Worker processes: results in order, errors of tasks, and workers that die."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from laserpath.base.compute import runtime, workers
from laserpath.base.errors import InputError


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    """Two processors, whatever there are."""
    runtime.use_processors(2)
    yield
    runtime.use_processors(None)


def _squared(task: tuple[int, int, int]) -> int:
    """value²; in a worker: the one that is given the `deadly` value dies."""
    value, deadly, parent = task
    if value == deadly and os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    if value < 0:
        raise InputError("below 0")
    return value**2


def tasks(values: range, deadly: int = -1) -> Iterator[tuple[int, int, int]]:
    return ((value, deadly, os.getpid()) for value in values)


@pytest.mark.slow
def test_results_are_in_the_order_of_the_tasks() -> None:
    assert list(workers.each(_squared, tasks(range(20)))) == [value**2 for value in range(20)]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_what_a_dead_worker_was_doing_is_done_all_the_same() -> None:
    assert list(workers.each(_squared, tasks(range(12), deadly=5))) == [value**2 for value in range(12)]
    assert list(workers.each(_squared, tasks(range(4)))) == [0, 1, 4, 9]


@pytest.mark.slow
def test_an_error_of_a_task_is_the_caller_s() -> None:
    with pytest.raises(InputError, match="below 0"):
        list(workers.each(_squared, tasks(range(-1, 3))))

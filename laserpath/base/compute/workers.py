"""Worker processes, one a processor: for tasks of seconds that need nothing but their arguments.

Taichi runs one kernel at a time in a process, so that threads do not gain there. loky's processes are kept
for further plans, and start without running the caller's script again, as those of `multiprocessing` do on
most systems.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

from laserpath.base.compute.runtime import cpu_count, use_processors

Task = TypeVar("Task")
Result = TypeVar("Result")

_IDLE = 300.0
"""s after which a worker without a task ends: a longer one keeps its memory for a next plan."""

_AHEAD = 2
"""Tasks for each worker that are made before they are needed: more hold more memory."""


def worker_count() -> int:
    """Worker processes that are worth having: 0 with one processor."""
    return count if (count := cpu_count()) > 1 else 0


def _pool() -> Any:
    """The pool of workers, which start now; an executor of `concurrent.futures`."""
    from loky import get_reusable_executor  # some tens of ms, which small designs need not wait for

    return get_reusable_executor(max_workers=worker_count(), timeout=_IDLE, initializer=_begin)


def each(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """The results of function(task) in the order of the tasks, which are made when they are needed.

    What a worker was doing when it died, such as for want of memory, is done by this process.
    """
    waiting = deque[tuple[Task, Any]]()

    def first() -> Result:
        task, future = waiting.popleft()
        try:
            return future.result()
        except BrokenExecutor:
            return function(task)

    try:
        for task in tasks:
            waiting.append((task, _pool().submit(function, task)))
            if len(waiting) >= _AHEAD * worker_count():
                yield first()
        while waiting:
            yield first()
    finally:
        for _, future in waiting:
            future.cancel()


def _begin() -> None:
    """Prepare a worker: one processor, and Ctrl-C is its parent's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_processors(1)

"""Work beside the caller's, in a thread of its own, on a second processor if there is one.

Threads gain where arrays are transformed or compiled functions run without Python's lock (`nogil`). What is
computed does not depend on how many processors there are.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import TracebackType
from typing import Any, Generic, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from laserpath.base.compute.runtime import cpu_count

Part = TypeVar("Part")
Result = TypeVar("Result")
Told = Callable[[Any], object]
"""What a work calls now and then, with how far it is."""

_POLL = 0.05
"""s between two reports to a caller who waits; a larger one makes Ctrl-C slower."""


class _Unwanted(Exception):
    """Nobody waits for the result any more."""


class Beside(Generic[Result]):
    """Context manager: what `work` returns, computed meanwhile; with one processor, when it is asked for.

    work: is given a function to call now and then, which ends it if the context is left before the result
    was asked for. An error in it is raised by `result`.
    """

    def __init__(self, work: Callable[[Told], Result]) -> None:
        self._work = work
        self._latest: list[Any] = []
        self._found: list[Result] = []
        self._error: BaseException | None = None
        self._wanted = True
        self._thread = (
            threading.Thread(target=self._run, name="beside", daemon=True) if cpu_count() > 1 else None
        )

    def __enter__(self) -> Beside[Result]:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wanted = False
        if self._thread is not None:
            self._thread.join()

    def result(self, told: Told) -> Result:
        """The result; waits for it. told: called in this thread, with how far the work is."""
        if self._thread is None:
            return self._work(told)
        running = True
        while running:
            self._thread.join(_POLL)
            running = self._thread.is_alive()
            if self._latest:
                told(self._latest.pop())
        if self._error is not None:
            raise self._error
        return self._found[0]

    def _run(self) -> None:
        try:
            self._found.append(self._work(self._note))
        except BaseException as error:  # noqa: BLE001 it is raised where the result is asked for
            self._error = error

    def _note(self, latest: Any) -> None:
        if not self._wanted:
            raise _Unwanted
        self._latest[:] = [latest]


def in_parts(work: Callable[[int, int], Result], count: int) -> list[Result]:
    """The results of work(first, end) of parts of range(count) in their order, one part a processor.

    work: without Python's lock, and without parts of its own, for which no thread would be left. Each row's
    result must not depend on where the parts begin.
    """
    bounds = np.linspace(0, count, min(cpu_count(), max(count, 1)) + 1).astype(int)
    parts = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    return in_order(lambda part: work(*part), parts)


def in_order(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """The results of work(part) in the order of the parts, on all processors. work: as of `in_parts`."""
    each = map if min(len(parts), cpu_count()) <= 1 else pool().map
    return list(each(work, parts))


@cache
def pool() -> ThreadPoolExecutor:
    """One thread for each processor, kept: starting threads takes longer than some of their work."""
    return ThreadPoolExecutor(cpu_count(), thread_name_prefix="part")


_blas = threading.Lock()
_inside = [0]
_limits: list[Any] = []


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS have one thread. The last of all threads to leave this gives it back those that it had."""
    with _blas:
        _inside[0] += 1
        if _inside[0] == 1:
            _limits.append(threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _blas:
            _inside[0] -= 1
            if _inside[0] == 0:
                _limits.pop().restore_original_limits()

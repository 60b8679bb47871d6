"""Worker processes: for tasks of seconds that need nothing but their arguments.

Taichi runs one kernel at a time in a process, so that threads do not gain there. On this machine there is a
worker for each processor but that of this process, which takes tasks, too: loky's processes are kept for
further plans, and start without running the caller's script again, as those of `multiprocessing` do on most
systems. On many machines there are those of a cluster (`on_cluster`): Dask's scheduler has queue, data
and dashboard, and many sites run one already.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import re
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, TypeVar

from laserpath.base.arrays import return_freed, return_large_blocks
from laserpath.base.compute.runtime import cpu_count, on_processors, use_processors
from laserpath.base.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

_IDLE = 300.0
"""s after which a worker without a task ends: a longer one keeps its memory for a next plan."""

_AHEAD = 2
"""Tasks for each worker that are made before they are needed: more hold more memory."""

_LARGE = 1.2
"""GiB of this process from which it returns what a task has freed: a smaller one takes more time."""

_OBJECTS = 20_000
"""New objects after which a worker looks for cycles: with Python's own 700 it starts a tenth slower."""

_NONE: Any = object()
"""No further task."""

_ADDRESS, _EXAMPLE = re.compile(r"\w+://\S+:\d+"), "tcp://10.0.0.5:8786"

_LOOK = 2.0
"""s between two looks of a worker for its parent, and of this process for workers that have died."""

_PATIENCE = 10.0
"""s within which a scheduler has to answer."""

_NICE, _IDLE_PRIORITY = 19, 0x40
"""Niceness of a process aside, and Windows' priority class of one; Linux has a policy of its own for it."""


@dataclass(frozen=True, slots=True)
class _Cluster:
    """A client of Dask. gone: what it raises for a task whose worker, or whose scheduler, is lost."""

    client: Any
    gone: tuple[type[BaseException], ...]

    def submit(self, function: Callable[[Task], Result], task: Task) -> Any:
        """The future of function(task), which is new work, even if it is the same as before."""
        return self.client.submit(_on_one_processor, function, task, pure=False)

    @property
    def count(self) -> int:
        """Tasks that its workers do at the same time."""
        return int(sum(self.client.nthreads().values()))


_state = SimpleNamespace(cluster=None, pool=None, ending=[], begun=deque())
"""ending: the threads that end released workers.  begun: futures of `meanwhile`, whose tasks may still occupy
a worker."""


def worker_count() -> int:
    """Tasks that workers do at the same time: 0 on a machine with one processor."""
    if _state.cluster is not None:
        return int(_state.cluster.count)
    return count if (count := cpu_count()) > 1 else 0


def _pool() -> Any:
    """What takes tasks: the cluster, or the workers here, which start now."""
    if _state.cluster is not None:
        return _state.cluster
    from loky import get_reusable_executor  # some tens of ms, which small designs need not wait for

    _state.pool = get_reusable_executor(max_workers=_others(), timeout=_IDLE, initializer=_begin)
    return _state.pool


def _others() -> int:
    """Workers that take tasks beside this process, which takes some itself unless there is a cluster."""
    return worker_count() if _state.cluster is not None else max(worker_count() - 1, 1)


def running() -> bool:
    """Whether there are workers here that have been started and not released."""
    return _state.pool is not None


def prepare(function: Callable[[], object]) -> None:
    """Start the workers here, and let each call a function, such as one that loads what tasks need.

    They take some seconds, which a plan has other work for. A cluster's have started. This process then gives
    freed blocks of 8 MiB and more back to the system.
    """
    return_large_blocks()
    if _state.cluster is None and worker_count():
        for _ in range(_others()):
            _pool().submit(function)


def release(*, wait: bool = False) -> None:
    """End the workers here, which keep some hundred MB each. Further tasks start others.

    wait: until these and those released before have ended, which takes them a quarter of a second.
    """
    if _state.pool is not None:
        # loky forgets the thread that ends them when it is not asked to wait.
        _state.ending.append(getattr(_state.pool, "_executor_manager_thread", None))
        _cut_off(_state.pool)
        _state.pool.shutdown(wait=False)
        _state.pool = None
    while wait and _state.ending:
        if (thread := _state.ending.pop()) is not None:
            thread.join()


def meanwhile(function: Callable[[Task], Result], task: Task) -> Callable[[], Result]:
    """What gives function(task), with which a worker begins now; if that one dies, this process does it."""
    future = _pool().submit(function, task)
    _state.begun.append(future)
    return cache(partial(_result, function, task, future))


def _result(function: Callable[[Task], Result], task: Task, future: Any) -> Result:
    """What a worker has found, or this process if the worker was lost."""
    gone = (BrokenExecutor, *(_state.cluster.gone if _state.cluster is not None else ()))
    try:
        return future.result() if _state.cluster is not None else _received(future)
    except gone:
        return function(task)


def _received(future: Any) -> Any:
    """What a worker here has found; raises BrokenExecutor if one was lost."""
    dead = False
    while True:
        try:
            return future.result(_LOOK)
        except TimeoutError:
            if future.done():  # just now, or its task has raised that
                return future.result()
        before, dead = dead, bool(_state.pool) and any(one.exitcode for one in _processes(_state.pool))
        if before and dead:  # loky has not seen it
            _cut_off(_state.pool)


def _processes(pool: Any) -> list[Any]:
    """The workers of loky's pool, those that have died included."""
    with contextlib.suppress(AttributeError, RuntimeError):  # while others come and go
        return list(pool._processes.values())
    return []


def _cut_off(pool: Any) -> None:
    """If a worker has died, end all, and close here what they write to, upon which loky calls them broken.

    If it was killed while it sent a result, loky's thread would wait for the rest for ever, as this process
    could write it, too.
    """
    workers = _processes(pool)
    if any(one.exitcode for one in workers):
        for one in workers:
            one.terminate()
        with contextlib.suppress(AttributeError, OSError):
            pool._result_queue._writer.close()


class Aside:
    """Context manager: a further process here, of lowest priority, for what is not needed until later.

    It works where others wait for this process, such as while a program is executed as a whole, which is one
    processor's work. It ends when the context is left, with what it may be doing.
    """

    def __init__(self) -> None:
        self._pool: Any = None
        self._folder: Any = None
        self._begun = 0

    def __enter__(self) -> Aside:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def begin(self, function: Callable[[Task], Result], task: Task) -> Callable[[float], Result | None]:
        """Begin function(task), after what was begun before. What is returned waits for it so many seconds.

        It gives None if that is not done then, such as on a machine that others keep busy, or if it fails or
        the process has died: it has to be done here then. What is late is given up, with all that is behind.
        """
        if self._pool is None:
            from loky import ProcessPoolExecutor  # as in `_pool`

            self._pool = ProcessPoolExecutor(max_workers=1, timeout=_IDLE, initializer=_begin_aside)
        self._begun += 1
        try:
            if self._folder is None:
                self._folder = TemporaryDirectory(prefix="laserpath-", ignore_cleanup_errors=True)
            place = Path(self._folder.name) / f"{self._begun}.task"
            # Written now: another thread would pack it while this one adds to what the task has computed. And
            # in a file, as it is 100 MB of a design of a thousand islands, which waits there.
            with place.open("wb") as file:
                pickle.dump((function, task), file, pickle.HIGHEST_PROTOCOL)
            return partial(self._within, self._pool.submit(_unpacked, place))
        except (OSError, BrokenExecutor, RuntimeError):  # no room, or the process has died, or was given up
            return lambda seconds: None

    def _within(self, future: Any, seconds: float) -> Any:
        """What a future gives within so many seconds, or None."""
        try:
            return future.result(seconds)
        except TimeoutError:
            self._end()
        except Exception:  # noqa: BLE001 this process does it anew, and raises what is really wrong
            pass
        return None

    def _end(self) -> None:
        if self._pool is not None:
            _state.ending.append(getattr(self._pool, "_executor_manager_thread", None))
            _cut_off(self._pool)
            self._pool.shutdown(wait=False, kill_workers=True)
        if self._folder is not None:
            self._folder.cleanup()


def _unpacked(place: Path) -> Any:
    """What a function gives for a task, which are together in a file."""
    with place.open("rb") as file:
        function, task = pickle.load(file)
    place.unlink()
    return function(task)


def _begin_aside() -> None:
    """Prepare a process aside: as `_begin`, and it runs where a processor has nothing else to do."""
    _begin()
    with contextlib.suppress(OSError, AttributeError):  # a sandbox may refuse it
        if sys.platform == "linux":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        elif sys.platform == "win32":
            kernel = ctypes.windll.kernel32
            kernel.SetPriorityClass(kernel.GetCurrentProcess(), _IDLE_PRIORITY)
        else:
            os.nice(_NICE)


def _busy() -> int:
    """How many of the things to be done meanwhile have not ended."""
    while _state.begun and _state.begun[0].done():
        _state.begun.popleft()
    return len(_state.begun)


def each(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """The results of function(task) in the order of the tasks, which are made when they are needed.

    This process does a task itself where all workers here have enough to do; those of a cluster are many,
    and wait for it to hand out tasks. What a worker was doing when it died, such as for want of memory, is
    done by this process.
    """
    waiting, shares = deque[tuple[Task, Any]](), _state.cluster is None
    left = iter(tasks)
    coming = next(left, _NONE)
    try:
        while coming is not _NONE:
            task, coming = coming, next(left, _NONE)
            # The last one would wait in a worker's queue.
            most = _others() * (1 if coming is _NONE and shares else _AHEAD)
            if shares and sum(not future.done() for _, future in waiting) + _busy() >= most:
                done = Future[Result]()
                with on_processors(1):  # the others are the workers'
                    done.set_result(function(task))
                return_freed(_LARGE)
                waiting.append((task, done))
            else:
                waiting.append((task, _pool().submit(function, task)))
            while waiting and (waiting[0][1].done() or len(waiting) >= _AHEAD * worker_count()):
                yield _result(function, *waiting.popleft())
        while waiting:
            yield _result(function, *waiting.popleft())
    finally:
        for _, future in waiting:
            future.cancel()
        return_freed()


def _begin() -> None:
    """Prepare a worker: one processor, and Ctrl-C is its parent's.

    Where psutil is installed, loky takes a worker that has grown by 300 MB for one that leaks, warns, and
    starts another. Ours grow by that in their first task: by kernels and spectra, which they keep.
    """
    from loky import process_executor

    gc.set_threshold(_OBJECTS, 10, 10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_executor._USE_PSUTIL = False
    use_processors(1)
    threading.Thread(target=_end_with, args=(os.getppid(),), name="parent", daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process if its parent was killed: it would wait for ever to be rid of its result.

    On Windows a process keeps the number of its parent.
    """
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)


def _on_one_processor(function: Callable[[Task], Result], task: Task) -> Result:
    """What a worker of a cluster does: it may have done something else before."""
    use_processors(1)
    return function(task)


@contextmanager
def on_cluster(scheduler: str) -> Iterator[str]:
    """While it is open, tasks are done by the workers of a Dask scheduler; gives its dashboard's address.

    scheduler: such as 'tcp://10.0.0.5:8786'. Each worker has this version of laserpath, and best one thread.
    Results are the same for any number of workers with processors of one type. Raises InputError if no
    scheduler answers, if it has no workers, or if they have another version.
    """
    client, gone = _client(scheduler)
    try:
        cluster = _Cluster(client, gone)
        _check(client.run(_version, on_error="return"), scheduler)
        _state.cluster = cluster
        yield str(client.dashboard_link)
    finally:
        _state.cluster = None
        client.close()


def _client(scheduler: str) -> tuple[Any, tuple[type[BaseException], ...]]:
    """A client of a scheduler, and its errors for lost workers."""
    if not _ADDRESS.fullmatch(scheduler):
        raise InputError(f"scheduler is {scheduler!r}, but must be an address such as {_EXAMPLE}")
    try:
        from distributed import Client
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise InputError(
            "a scheduler needs the package distributed: pip install 'laserpath[cluster]'"
        ) from None
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, MemoryError) as error:  # MemoryError: a web server's answer, read as a size
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"scheduler {scheduler!r} does not answer within {_PATIENCE:g} s, but must be that of a running "
            f"`dask scheduler`, such as {_EXAMPLE}: {said}"
        ) from None
    return client, (KilledWorker, FutureCancelledError, CancelledError, CommClosedError)


def _version() -> str:
    """That of a worker."""
    from laserpath import __version__

    return __version__


def _check(versions: dict[str, Any], scheduler: str) -> None:
    """Raise InputError if there are no workers, or any of another version."""
    if not versions:
        raise InputError(
            f"scheduler {scheduler!r} has no workers, but needs at least 1: `dask worker {scheduler} "
            "--nthreads 1` starts some"
        )
    ours = _version()
    for worker, found in versions.items():
        if found != ours:
            has = f"laserpath {found}" if isinstance(found, str) else "no laserpath that answers"
            raise InputError(f"worker {worker} has {has}, but must have laserpath {ours}, as here")

"""Worker processes, here and of a cluster: results in order, errors of tasks, and workers that die."""

from __future__ import annotations

import os
import signal
import socketserver
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
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
def test_what_a_worker_does_meanwhile_is_done_once_also_if_it_dies() -> None:
    alive, dead = (workers.meanwhile(_squared, next(tasks(range(5, 6), deadly))) for deadly in (-1, 5))
    assert (alive(), dead(), alive()) == (25, 25, 25)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_what_a_dead_worker_was_doing_is_done_all_the_same() -> None:
    assert list(workers.each(_squared, tasks(range(12), deadly=5))) == [value**2 for value in range(12)]
    assert list(workers.each(_squared, tasks(range(4)))) == [0, 1, 4, 9]


def _slept(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@pytest.mark.slow
def _dies_while_it_sends(task: tuple[int, bytes]) -> int:
    """In a worker: it is killed when a part of its result is written. In the process of that number: 1."""
    if os.getpid() == task[0]:
        return 1
    frame = sys._getframe()
    while "result_queue" not in frame.f_locals:
        frame = frame.f_back  # type: ignore[assignment]
    os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 1000) + b"the first part")
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_worker_that_is_killed_while_it_sends_its_result_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "_LOOK", 0.2)
    task = os.getpid(), bytes(1_000_000)
    assert list(workers.each(_dies_while_it_sends, [task] * 3)) == [1] * 3
    assert list(workers.each(abs, [-1, -2, -3])) == [1, 2, 3], "others take its place"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_process_aside_that_is_killed_while_it_sends_its_result_is_not_waited_for() -> None:
    with workers.Aside() as aside:
        found = aside.begin(_dies_while_it_sends, (os.getpid(), b""))
        assert found(8.0) is None
    workers.release(wait=True)


def test_what_is_done_aside_is_waited_for_so_long_and_ends_with_its_context() -> None:
    began = time.monotonic()
    with workers.Aside() as aside:
        soon, late = aside.begin(_slept, 0.1), aside.begin(_slept, 600.0)
        behind = aside.begin(_squared, (3, -1, os.getpid()))
        assert soon(60.0) == 0.1
        assert late(0.1) is None
        assert behind(60.0) is None, "it is given up, with what is late"
        assert aside.begin(_squared, (3, -1, os.getpid()))(60.0) is None
    assert time.monotonic() - began < 60


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_of_a_process_aside_that_dies_nothing_is_known() -> None:
    with workers.Aside() as aside:
        dead = aside.begin(_squared, (5, 5, os.getpid()))
        assert dead(60.0) is None
        assert aside.begin(_squared, (6, 5, os.getpid()))(60.0) is None


@pytest.mark.slow
def test_what_is_sent_aside_waits_in_files_that_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with workers.Aside() as aside:
        assert aside.begin(_squared, (3, -1, os.getpid()))(60.0) == 9
        aside.begin(_slept, 600.0)
        assert any(tmp_path.iterdir())
        monkeypatch.setattr(Path, "open", _no_room)
        assert aside.begin(_squared, (3, -1, os.getpid()))(60.0) is None, "a full disk is no reason to end"
    assert not any(tmp_path.iterdir())


def _no_room(*given: object) -> None:
    raise OSError(28, "No space left on device")


ABANDONED = """
import os, signal
from laserpath.base.compute import runtime, workers
runtime.use_processors(2)
with workers.Aside() as aside:
    first = workers.meanwhile(eval, "__import__('os').getpid()")
    second = aside.begin(eval, "__import__('os').getpid()")
    print(first(), second(60.0), flush=True)
    aside.begin(eval, "__import__('time').sleep(600)")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_workers_end_if_their_parent_is_killed() -> None:
    done = subprocess.run([sys.executable, "-c", ABANDONED], capture_output=True, text=True, check=False)
    left = {int(pid) for pid in done.stdout.split()}
    assert len(left) == 2, done.stderr
    end = time.monotonic() + 30
    while left and time.monotonic() < end:
        time.sleep(0.2)
        left = {pid for pid in left if _lives(pid)}
    assert not left


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.slow
def test_of_what_fails_aside_nothing_is_known() -> None:
    """The caller does it anew, and meets the error if there is one."""
    with workers.Aside() as aside:
        assert aside.begin(_squared, (-1, -2, os.getpid()))(60.0) is None
        assert aside.begin(_squared, (3, -1, os.getpid()))(60.0) == 9


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="another system's processes have a niceness at most")
def test_a_process_aside_takes_what_others_leave() -> None:
    with workers.Aside() as aside:
        assert aside.begin(os.sched_getscheduler, 0)(60.0) == os.SCHED_IDLE
    assert os.sched_getscheduler(0) != os.SCHED_IDLE


_kept: list[np.ndarray] = []


def _grown(first: int) -> int:
    """A process, after it has kept 320 MB more, and worked for a second."""
    _kept.append(np.ones(40_000_000))
    time.sleep(1.2)
    return os.getpid()


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_workers_that_grow_are_kept() -> None:
    """They keep compiled kernels; loky, with psutil, would take that for a leak."""
    assert len(set(workers.each(_grown, range(6)))) <= 2


@pytest.mark.slow
def test_an_error_of_a_task_is_the_caller_s() -> None:
    with pytest.raises(InputError, match="below 0"):
        list(workers.each(_squared, tasks(range(-1, 3))))


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of one with two workers."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
def test_a_cluster_gives_the_same_results_in_order(scheduler: str) -> None:
    with workers.on_cluster(scheduler):
        assert workers.worker_count() == 2
        assert list(workers.each(_squared, tasks(range(20)))) == [value**2 for value in range(20)]
    assert workers.worker_count() == runtime.cpu_count(), "it is left again"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_task_that_kills_every_worker_of_a_cluster_is_done_here(scheduler: str) -> None:
    with workers.on_cluster(scheduler):
        found = list(workers.each(_squared, tasks(range(6), deadly=3)))
    assert found == [value**2 for value in range(6)]


@pytest.mark.slow
def test_an_error_of_a_cluster_s_task_is_the_caller_s(scheduler: str) -> None:
    with workers.on_cluster(scheduler), pytest.raises(InputError, match="below 0"):
        list(workers.each(_squared, tasks(range(-1, 3))))


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="scheduler is 'nonsense', but must be an address such as tcp://"):
        workers.on_cluster("nonsense").__enter__()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match=r"scheduler 'tcp://127.0.0.1:9' does not answer within 10 s"):
        workers.on_cluster("tcp://127.0.0.1:9").__enter__()


@pytest.mark.slow
def test_a_server_of_another_kind_is_no_scheduler() -> None:
    pytest.importorskip("distributed")
    with socketserver.TCPServer(("127.0.0.1", 0), _WebServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(InputError, match=r"does not answer within 10 s, but must be that of a running"):
            workers.on_cluster(f"tcp://127.0.0.1:{server.server_address[1]}").__enter__()
        server.shutdown()


class _WebServer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        self.request.recv(4096)


@pytest.mark.slow
def test_a_scheduler_without_workers_is_told_how_to_get_some() -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty:
        address = empty.scheduler_address
        with pytest.raises(InputError, match=f"has no workers.*`dask worker {address} --nthreads 1`"):
            workers.on_cluster(address).__enter__()


def test_workers_of_another_version_are_named() -> None:
    versions = {"tcp://a:1": workers._version(), "tcp://b:2": "0.1.0"}
    with pytest.raises(InputError, match=r"worker tcp://b:2 has laserpath 0.1.0, but must have laserpath "):
        workers._check(versions, "tcp://s:8786")
    with pytest.raises(InputError, match="worker tcp://c:3 has no laserpath that answers"):
        workers._check({"tcp://c:3": ModuleNotFoundError("laserpath")}, "tcp://s:8786")


def _process(first: int) -> int:
    """The process that does it, after a while."""
    time.sleep(0.2)
    return os.getpid()


@pytest.mark.slow
def test_workers_that_are_let_go_end_and_others_take_their_place() -> None:
    """Their memory is free for what the command goes on with alone."""
    before = set(workers.each(_process, range(6)))
    workers.release()
    workers.release()
    after = set(workers.each(_process, range(6)))
    assert before & after <= {os.getpid()}
    assert len(after) > 1


@pytest.mark.slow
def test_who_waits_for_released_workers_finds_none() -> None:
    """So that a command may end at once: a worker that lives longer keeps its output open."""
    first = set(workers.each(_process, range(4)))
    workers.release()
    second = set(workers.each(_process, range(4)))
    workers.release(wait=True)
    others = (first | second) - {os.getpid()}
    assert others
    for number in others:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)

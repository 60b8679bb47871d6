"""One run: a process for every row, measured in turns, so that a noisy neighbour hits them all alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from machine import cores
from rows import ROUNDS, Row, rows

HERE = Path(__file__).parent
_PAUSE = 0.01
"""Seconds between the calls, in which the last one's threads go to sleep."""


class PeerFailed(Exception):
    """A row's process ended with an error."""


@dataclass(frozen=True)
class Measured:
    """seconds: of each call.  errors: `worker.compared`.  first: seconds of the first call, compiling."""

    row: Row
    seconds: list[float]
    errors: dict[str, float]
    first: float
    modes: tuple[int, int] | None
    bytes: float | None
    fft_shapes: list[tuple[int, int]]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))


@dataclass(frozen=True)
class Group:
    """Rows that are compared. threads: 1, or all cores; on a GPU the threads of its host."""

    size: str
    threads: int
    device: str = "cpu"


@dataclass
class Campaign:
    """All that was measured. keys: which rows; None: all."""

    profile: str = "gaussian"
    keys: Sequence[str] | None = None
    groups: dict[Group, dict[str, Measured]] = field(default_factory=dict)
    failed: dict[tuple[Group, str], str] = field(default_factory=dict)
    _scratch: tempfile.TemporaryDirectory[str] = field(default_factory=tempfile.TemporaryDirectory)

    def rows(self, size: str, device: str = "cpu") -> list[Row]:
        return [r for r in rows(size, self.profile, device) if self.keys is None or r.key in self.keys]

    def all_rows(self) -> list[Row]:
        """Those of any group, once each."""
        return list({r.key: r for g in self.groups for r in self.rows(g.size, g.device)}.values())

    def measured(self, group: Group, key: str) -> Measured:
        """A row of a group; the whole group is measured when the first is needed."""
        if group not in self.groups:
            self.groups[group] = self._measure(group)
        if (group, key) in self.failed:
            raise PeerFailed(self.failed[group, key])
        return self.groups[group][key]

    def _measure(self, group: Group) -> dict[str, Measured]:
        rows = self.rows(group.size, group.device)
        folders = {row.key: self._reference(group.size, row) for row in rows}
        with ExitStack() as stack:

            def begin(row: Row, on: list[int]) -> tuple[Row, Worker | str]:
                try:
                    return row, Worker(row, group, self.profile, folders[row.key], on)
                except PeerFailed as error:
                    return row, str(error)

            # Compiled and checked side by side, each on a core of its own; measured on the same core.
            places = [cores_for(group.threads, number) for number in range(len(rows))]
            with ThreadPoolExecutor(len(cores())) as pool:
                started = list(pool.map(begin, rows, places))
            self.failed |= {(group, row.key): found for row, found in started if isinstance(found, str)}
            workers = [found for _, found in started if isinstance(found, Worker)]
            for worker in workers:
                stack.callback(worker.close)
                worker.pin(cores_for(group.threads))
            failed = in_turns(workers, ROUNDS[group.size])
            self.failed |= {(group, key): why for key, why in failed.items()}
            return {w.row.key: w.measured() for w in workers if w.row.key not in failed}

    def _reference(self, size: str, row: Row) -> Path:
        """A folder with the exact dose, loss and gradient for the row's points."""
        used = row.task(size).used
        folder = Path(self._scratch.name) / f"{size}-{used}"
        if not folder.exists():
            folder.mkdir()
            command = [sys.executable, "reference.py", size, str(used), self.profile, str(folder)]
            subprocess.run(command, cwd=HERE, check=True, stdout=subprocess.DEVNULL)
        return folder


class Worker:
    """A row's process, compiled and checked."""

    def __init__(self, row: Row, group: Group, profile: str, reference: Path, on: list[int]) -> None:
        self.row, self.seconds = row, []
        request = {
            "row": row.key, "size": group.size, "device": group.device, "profile": profile,
            "reference": str(reference), "cores": on,
        }  # fmt: skip
        # Open as long as the process runs.
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "worker.py", json.dumps(request)], cwd=HERE,
            env=environment(len(on), group.device), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        self._about = self._read()

    def pin(self, on: list[int]) -> None:
        """Puts all its threads on those cores."""
        tasks = Path(f"/proc/{self._process.pid}/task")
        if tasks.exists():  # not on macOS and Windows
            for one in tasks.iterdir():
                os.sched_setaffinity(int(one.name), on)

    def call(self) -> float:
        """Seconds of one loss and gradient."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._read()["seconds"])

    def measured(self) -> Measured:
        about = self._about
        return Measured(
            row=self.row, seconds=self.seconds, errors=about["errors"], first=about["first"],
            modes=about["modes"], bytes=about["bytes"], fft_shapes=about["fft_shapes"],
        )  # fmt: skip

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._errors.close()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            self._process.wait(60)
            self._errors.seek(0)
            errors = self._errors.read().strip().splitlines()
            raise PeerFailed(f"{self.row.label}: {errors[-1] if errors else self._process.returncode}")
        return json.loads(line)


def in_turns(workers: Sequence[Worker], rounds: int) -> dict[str, str]:
    """Calls each once a round, with another one first each time; why some failed, by key."""
    failed: dict[str, str] = {}
    for turn in range(-1, rounds):  # the first round warms up, for the second time
        first = turn % max(len(workers), 1)
        for worker in [*workers[first:], *workers[:first]]:
            if worker.row.key in failed:
                continue
            time.sleep(_PAUSE)
            try:
                seconds = worker.call()
            except (PeerFailed, OSError) as error:
                failed[worker.row.key] = str(error)
            else:
                worker.seconds += [seconds] * (turn >= 0)
    return failed


def cores_for(threads: int, number: int = 0) -> list[int]:
    """All cores, or for a single thread the number-th."""
    every = cores()
    return every if threads > 1 or len(every) == 1 else [every[number % len(every)]]


def environment(threads: int, device: str = "cpu") -> dict[str, str]:
    """Told to every library in its own way.

    Where there is a GPU, JAX would take it for the rows of the processor too, and three quarters of its
    memory at once, of which the other rows beside it need their part.
    """
    variables = ("OMP", "MKL", "OPENBLAS", "NUMBA", "TI")
    counts = {f"{name}_NUM_THREADS": str(threads) for name in variables}
    eigen = "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")
    of_jax = {"XLA_FLAGS": eigen, "JAX_PLATFORMS": device, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    return os.environ | counts | of_jax | {"ENABLE_TAICHI_HEADER_PRINT": "0"}


def child(script: str, request: dict[str, Any]) -> Any:
    """The JSON that a script of this folder answers."""
    # What is freed goes back at once, so that growth is not hidden in what was kept from before.
    frugal = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    run = subprocess.run(
        [sys.executable, script, json.dumps(request)],
        cwd=HERE,
        env=environment(len(request["cores"])) | (frugal if script == "memory.py" else {}),
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(run.stdout.splitlines()[-1])


def has_cuda() -> bool:
    """Whether PyTorch finds a GPU."""
    program = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    return subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

"""Workers that read damaged files, and what counts as a failure.

A process that has imported everything forks a worker for a format. It reads one input after the other, each
from a file, and notes in memory shared with its parent what it is at. A failure is

- an exception other than `InputError` and `GcodeError`;
- a sentence of several lines, or of more than 2000 characters;
- a warning other than `PlausibilityWarning`, or anything printed;
- more than 10 s of the processor, or more than 2 GB of memory, for one input;
- 600 s of the clock for one input: the worker waits for something that does not come;
- the end of the worker by a signal.

Failures of one kind at one place in the code count once; the shortest input is kept. Inputs with a new answer
(a refusal in new words, another warning) are built on.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import hashlib
import json
import math
import mmap
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fuzz_asking import Answer, ask
from fuzz_mutants import LONGEST, Mutator
from fuzz_readers import READERS

from laserpath.base import isolated

SECONDS = 10.0
"""Of the processor, for one input."""
PATIENCE = 600.0
"""s of the clock until a worker that waits for something is killed. Longer than `limits.seconds`, after which
a reader refuses the file itself, and so long that no loaded machine keeps a worker from its `SECONDS`."""
MEMORY = 2 << 30
"""Bytes, of the whole process."""


class Excess(Exception):
    """A child process took too long, or too much memory."""


# The native readers


class Native:
    """Servers of `fuzz_native`, one a script, instead of `subprocess.run` in `laserpath.base.isolated`."""

    def __init__(self) -> None:
        self.servers: dict[str, subprocess.Popen[str]] = {}
        self.memory = 0

    def run(self, command: list[str], env: dict[str, str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        """Have the script's `main` called with the arguments of the command."""
        script, arguments = command[2], command[3:]
        if script not in self.servers:
            native = str(Path(__file__).with_name("fuzz_native.py"))
            server = [sys.executable, native, script, str(int(SECONDS))]
            self.servers[script] = subprocess.Popen(server, env=env, text=True, stdin=-1, stdout=-1)
        one = self.servers[script]
        assert one.stdin is not None and one.stdout is not None
        one.stdin.write(json.dumps(arguments) + "\n")
        one.stdin.flush()
        code, cpu, memory, said = json.loads(one.stdout.readline())
        self.memory = max(self.memory, memory)
        if cpu >= SECONDS - 0.5 or memory > MEMORY:
            raise Excess(f"{Path(script).stem} took {cpu:.0f} s and {memory >> 20} MB")
        return subprocess.CompletedProcess(command, code, b"", said.encode())


@contextlib.contextmanager
def quickly() -> Iterator[Native]:
    """Native readers in children of a small server, while this is open."""
    native, real = Native(), isolated.subprocess
    stand_in = {name: getattr(real, name) for name in ("DEVNULL", "TimeoutExpired")}
    isolated.subprocess = SimpleNamespace(run=native.run, **stand_in)  # type: ignore[assignment]
    try:
        yield native
    finally:
        isolated.subprocess = real
        for server in native.servers.values():
            server.stdin.close()  # type: ignore[union-attr]
            server.wait()


# Workers


class Shared:
    """What a worker is at, and what it has done; readable when it is dead, not before.

    While the worker writes, a reader would see zeros: `pack_into` clears the memory first.

    busy: whether it is reading.  variant, length: of the input that it is at.
    """

    _FIELDS = ("inputs", "refused", "worst_memory", "busy", "variant", "length", "worst_seconds")
    _FORM = struct.Struct("QQQQQQd")

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, self._FORM.size + LONGEST)
        self.inputs = self.refused = self.worst_memory = self.busy = self.variant = self.length = 0
        self.worst_seconds = 0.0
        self.save()

    def save(self) -> None:
        self._FORM.pack_into(self.memory, 0, *(getattr(self, name) for name in self._FIELDS))

    def load(self) -> Shared:
        for name, value in zip(self._FIELDS, self._FORM.unpack_from(self.memory), strict=True):
            setattr(self, name, value)
        return self

    def begin(self, data: bytes, variant: int) -> None:
        self.busy, self.variant, self.length = 1, variant, len(data)
        start = self._FORM.size
        self.memory[start : start + len(data)] = data
        self.save()

    def data(self) -> bytes:
        start = self._FORM.size
        return self.memory[start : start + self.length]


@dataclass
class Tally:
    """Of one format. seconds: of the clock.  failures: key → sentence."""

    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    worst_seconds: float = 0.0
    worst_memory: int = 0
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How to try a format, and where to keep what fails.

    seed: of all that is random.  count: the most inputs.  log: a folder for every input; None: nowhere.
    """

    seed: int
    count: float
    kept: Path
    scratch: Path
    log: Path | None = None


class Fuzz:
    """One format."""

    def __init__(self, name: str, plan: Plan) -> None:
        self.name, self.reader, self.plan = name, READERS[name], plan
        self.examples, self.tally = self.reader.examples(), Tally()
        self.folder = plan.kept / name

    def warm(self) -> None:
        """Read the examples here: what is compiled or imported for them, no worker must wait for."""
        path = self.plan.scratch / f"fuzz{self.reader.suffix}"
        with quickly():
            for number, one in enumerate(self.examples):
                path.write_bytes(one)
                answer = ask(self.reader, path, number % self.reader.variants)
                if answer.failure:
                    self.keep(one, number % self.reader.variants, answer.failure, answer.details)

    def run(self, seconds: float) -> Tally:
        """Fork workers until the time is over or the inputs are enough."""
        begin, generation = time.monotonic(), 0
        while time.monotonic() - begin < seconds and self.tally.inputs < self.plan.count:
            shared = Shared()
            said = self.plan.scratch / f"{self.name}.said"
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    self._work(shared, begin + seconds, generation, said)
                    code = 0
                except BaseException:  # noqa: BLE001  a mistake of the fuzzer itself
                    traceback.print_exc(file=sys.__stderr__)
                finally:
                    os._exit(code)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            generation += 1
            self._count(shared.load(), status, said)
        self.tally.seconds += time.monotonic() - begin
        return self.tally

    def _count(self, shared: Shared, status: int, said: Path) -> None:
        tally = self.tally
        tally.inputs += shared.inputs + shared.busy  # with the one that killed the worker
        tally.refused += shared.refused
        tally.worst_seconds = max(tally.worst_seconds, shared.worst_seconds)
        tally.worst_memory = max(tally.worst_memory, shared.worst_memory)
        if status == 1:
            raise RuntimeError(
                f"the worker for {self.name} failed itself: {said.read_text(errors='replace')}"
            )
        if status < 0:
            stack = said.read_text("utf-8", "replace")
            frames = re.findall(r'File "([^"]+)", line (\d+)', stack)
            ours = [f for f in frames if "/laserpath/" in f[0] or "/gcode/" in f[0]] or frames or [("?", "0")]
            what = {
                -signal.SIGXCPU: f"more than {SECONDS:g} s",
                -signal.SIGALRM: f"more than {PATIENCE:g} s of the clock",
            }.get(status) or signal.Signals(-status).name
            failure = f"{what} at {Path(ours[0][0]).parent.name}/{Path(ours[0][0]).name}:{ours[0][1]}"
            self.keep(shared.data(), shared.variant, failure, stack)
        for path in self.folder.glob("*.txt"):
            tally.failures[path.stem] = path.read_text("utf-8").split("\n", 1)[0]

    def keep(self, data: bytes, variant: int, failure: str, details: str) -> None:
        """Keep an input that failed, if none shorter failed there before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        key = hashlib.sha1(failure.encode("utf-8", "replace")).hexdigest()[:10]
        path = self.folder / f"{key}{self.reader.suffix or '.bin'}"
        self.tally.failures[key] = failure
        if path.exists() and path.stat().st_size <= len(data):
            return
        path.write_bytes(data)
        note = f"{failure}\nvariant {variant}, seed {self.plan.seed}\n\n{details}\n"
        path.with_suffix(".txt").write_text(note, "utf-8", "replace")

    # In the worker

    def _work(self, shared: Shared, until: float, generation: int, said: Path) -> None:
        gc.freeze()
        rng = random.Random(f"{self.plan.seed} {self.name} {generation}")
        mutator, known = Mutator(self.examples, rng), set[str]()
        with quickly() as native, _heard(said) as heard:
            _limit_memory()
            while time.monotonic() < until and self.tally.inputs + shared.inputs < self.plan.count:
                data, variant = mutator.make(), rng.randrange(self.reader.variants)
                answer = self._tried(shared, data, variant, heard)
                shared.worst_memory = max(shared.worst_memory, native.memory)
                if answer.failure:
                    self.keep(data, variant, answer.failure, answer.details)
                    heard.seek(0)
                elif answer.template not in known:
                    known.add(answer.template)
                    mutator.keep(data, answer.refused)
                if shared.worst_memory > MEMORY:
                    return  # what it holds would count for all that follows

    def _tried(self, shared: Shared, data: bytes, variant: int, heard: Any) -> Answer:
        """One input."""
        path = self.plan.scratch / f"fuzz{self.reader.suffix}"
        path.write_bytes(data)
        if self.plan.log is not None:
            (self.plan.log / f"{self.name}-{variant}-{os.getpid()}-{shared.inputs}{path.suffix}").write_bytes(
                data
            )
        shared.begin(data, variant)
        before = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(before + SECONDS) + 1, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)  # until the next input begins
        answer = ask(self.reader, path, variant)
        took = time.process_time() - before
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        said = _said(heard)
        if not answer.failure:
            wrong = (
                f"more than {SECONDS:g} s until it ended" if took > SECONDS else "",
                f"more than {MEMORY >> 20} MB" if memory > MEMORY else "",
                f"prints: {said.split()[0]}" if said.strip() else "",
            )
            details = f"{took:.1f} s, {memory >> 20} MB\n{said}"
            answer = Answer(answer.refused, answer.template, next(filter(None, wrong), ""), details)
        shared.inputs, shared.refused, shared.busy = shared.inputs + 1, shared.refused + answer.refused, 0
        shared.worst_seconds = max(shared.worst_seconds, took)
        shared.worst_memory = max(shared.worst_memory, memory)
        shared.save()
        return answer


@contextlib.contextmanager
def _heard(path: Path) -> Iterator[Any]:
    """A file that gets all that is printed, and the stack of a worker that is killed."""
    with open(path, "w+b", buffering=0) as heard:
        for number in (1, 2):
            os.dup2(heard.fileno(), number)
        faulthandler.enable(heard, all_threads=False)
        for late in (signal.SIGXCPU, signal.SIGALRM):
            signal.signal(late, signal.SIG_DFL)
            faulthandler.register(late, heard, all_threads=False, chain=True)
        yield heard


def _said(heard: Any) -> str:
    """What was printed since the last time."""
    sys.stdout.flush()
    if not os.fstat(heard.fileno()).st_size:
        return ""
    heard.seek(0)
    text: str = heard.read().decode("utf-8", "replace")
    heard.seek(0)
    heard.truncate()
    return text


def _limit_memory() -> None:
    """An input that wants far more fails, and the machine does not swap."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY + (1 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))

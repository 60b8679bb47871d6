"""Signals, full or read-only disks and rivals, at random moments: nothing is lost or half written.

A process that has imported everything forks one child a trial. Two kinds of children run the command line:

- `plan`: the whole of `laserpath plan` of a tiny design, seconds;
- `write`: the same command with planning left out, which writes the files of a plan made before, some ms.

There are two versions, plans of two designs of one name. Plans do not depend on chance, so that every file
can be compared byte for byte with both. The folder of a trial holds one whole version at its start.

After each trial: every file is there and is one of the two versions; all are of the same version; the exit
code and the sentence on stderr agree with the files; nothing else is in the folder. After SIGKILL alone,
files of both versions side by side are counted (`mixed`), not failed, since no filesystem renames several
files at once, and what has a temporary name must be gone after the next run, once it is old.
"""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import laserpath.cli.plan
from laserpath.base import files
from laserpath.cli import main
from laserpath.cli.plan import Job, Made

SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="{0}mm" height="1mm" viewBox="0 0 {0} 1">
<path d="{1}"/></svg>"""
DESIGNS = {"A": SVG.format(1, "M.2 .2h.5v.4h-.5z"), "B": SVG.format(2, "M.2 .2h1.2v.5h-1.2z")}
OPTIONS = ("--iterations", "2", "--initial", "contour", "--quality", "draft", "--frame", "-q")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
STRAY = re.compile(r"\.laserpath-[0-9a-f]+-([0-9a-f]+)\.tmp")
PATIENCE = 300.0
"""s, longest time of a child."""

Version = dict[str, bytes]
"""Name → content of each file of a plan."""


def import_all() -> None:
    """Import what a plan needs, so that no child must. Taichi is not started: children could not use it."""
    reports = ("report.pictures", "report.pages", "simulation")
    for name in ("planning", *reports, "base.compute.runtime", "cli.plan"):
        import_module(f"laserpath.{name}")


@dataclass
class Tally:
    """trials and kills by kind.  kills: signals that came while the child ran.  failures: sentences."""

    trials: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    mixed: int = 0
    strays: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        trials = ", ".join(f"{name} {count}" for name, count in sorted(self.trials.items()))
        return (
            f"{self.kills.total()} kills ({kinds}); trials: {trials}; after SIGKILL {self.strays} with "
            f"temporary files, all removed later, and {self.mixed} with files of two versions; "
            f"{len(self.failures)} failures"
        )


@dataclass(frozen=True)
class End:
    """How a child ended. code: exit code, or −signal.  said: its stderr.  killed: by a signal in time."""

    code: int
    said: str
    killed: bool


def started(arguments: Sequence[str], setup: Callable[[], None], said: Path) -> int:
    """Fork a child that runs the command line; return its number."""
    said.write_text("")  # a child that is killed at once says nothing
    # A SIGINT before the child's `try` would raise in the test that forked it, of which the child is a copy.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return child
    code = 99
    try:
        code = run_child(arguments, setup, said)
    except KeyboardInterrupt:  # before or after `main`, where Python's own handler is in force
        code = 130
    finally:
        os._exit(code)


def run_child(arguments: Sequence[str], setup: Callable[[], None], said: Path) -> int:
    """Run the command line with its stderr in a file; return its exit code, with SIGINT blocked again."""
    code = 99
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        with open(said, "w", encoding="utf-8", buffering=1) as err:
            os.dup2(err.fileno(), 2)
            sys.stderr = err
            setup()
            main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # none may come between here and the exit
    return code


def ended(child: int, seconds: float) -> int | None:
    """The exit code of the child, None if it still runs after that time."""
    limit = time.monotonic() + seconds
    while True:
        number, status = os.waitpid(child, os.WNOHANG)
        if number:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= limit:
            return None
        time.sleep(0.0002)


def waited(child: int, kill: int | None, delay: float, said: Path) -> End:
    """Send the signal after `delay` s, and wait for the child's end."""
    code, killed = ended(child, delay), False
    if code is None and kill is not None:
        os.kill(child, kill)
        killed = True
    if code is None:
        code = ended(child, PATIENCE)
    if code is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        code = 98
    return End(code, said.read_text(encoding="utf-8"), killed)


class Torture:
    """Trials in a folder. plans: the versions are made by real plans, and `plan` is tried; else by texts."""

    def __init__(self, folder: Path, rng: random.Random, *, plans: bool) -> None:
        import_all()
        self.rng, self.folder, self.tally = rng, folder, Tally()
        self.out, self.said = folder / "out", [folder / "said0", folder / "said1"]
        self.seconds = {"write": 0.0, "plan": 0.0}
        if plans:
            self.versions = {name: self._planned(name) for name in DESIGNS}
        else:
            ends = {"gcode": 20_000, "toolpath.svg": 100_000, "report.html": 900_000, "frame.gcode": 500}
            self.versions = {
                name: {f"tiny.{end}": name.encode() * (size + size % 7) for end, size in ends.items()}
                for name in DESIGNS
            }
        self.restore()
        with pytest.MonkeyPatch.context() as patch, suppress(SystemExit):
            # Once here, so that the children have imported and remember all that this takes.
            patch.setattr(laserpath.cli.plan, "_plan", lambda *_: Made((), as_json=str, summary=lambda: None))
            main(self._arguments("A"))
        took = []
        for _ in range(5):
            begin = time.monotonic()
            self._wait("write", "B", None, 0.0)
            took.append(time.monotonic() - begin)
        self.seconds["write"] = sorted(took)[2]

    def _planned(self, name: str) -> Version:
        """The files of a whole plan, and how long it takes."""
        self.restore({})
        begin = time.monotonic()
        end = self._wait("plan", name, None, 0.0)
        self.seconds["plan"] = time.monotonic() - begin
        if end.code != 0:
            raise RuntimeError(f"the plan of version {name} ended with {end.code}: {end.said}")
        return self._found()

    def restore(self, version: Version | None = None) -> None:
        """Have version A in the folder, or another one, and nothing else."""
        self.out.mkdir(parents=True, exist_ok=True)
        for path in self.out.iterdir():
            path.unlink()
        for name, content in (self.versions["A"] if version is None else version).items():
            (self.out / name).write_bytes(content)

    def _wait(self, kind: str, name: str, kill: int | None, delay: float, **more: Any) -> End:
        return waited(self._start(kind, name, 0, **more), kill, delay, self.said[0])

    def _start(self, kind: str, name: str, number: int, setup: Callable[[], None] = lambda: None) -> int:
        def begin() -> None:
            if kind == "write":
                texts = {self.out / n: c.decode() for n, c in self.versions[name].items()}
                laserpath.cli.plan._plan = lambda job, listen, meter: written(job, texts)  # type: ignore
            setup()

        return started(self._arguments(name), begin, self.said[number])

    def _arguments(self, name: str) -> tuple[str, ...]:
        design = self.folder / name / "tiny.svg"
        design.parent.mkdir(exist_ok=True)
        design.write_text(DESIGNS[name])
        return ("plan", str(design), "-o", str(self.out), *OPTIONS)

    def _found(self) -> Version:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    # Trials

    def signalled(self, kind: str) -> None:
        """A signal at a random moment."""
        kill = self.rng.choice(SIGNALS)
        delay = self.rng.uniform(0.0, 1.2 * self.seconds[kind])
        before, name = self.stands(), self.rng.choice("AB")
        end = self._wait(kind, name, kill, delay)
        self.tally.trials[kind] += 1
        self.tally.kills[signal.Signals(kill).name] += end.killed
        self.judge(f"{kind}, {signal.Signals(kill).name} after {delay:.4f} s", end, before, name)

    def limited(self) -> None:
        """A disk on which files end after a random number of bytes."""
        largest = max(map(len, self.versions["B"].values()))
        room = self.rng.randrange(largest + 1000)
        before, name = self.stands(), self.rng.choice("AB")
        end = self._wait(
            "write", name, None, 0.0, setup=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        )
        self.tally.trials["limited"] += 1
        self.judge(f"{room} bytes of room", end, before, name)

    def filled(self) -> None:
        """A disk of its own with room for the version that is there and for a random part of another."""
        there, most = (sum(map(len, self.versions[name].values())) for name in "AB")
        room = there + 64 * 1024 + self.rng.randrange(most)
        name = self.rng.choice("AB")
        with self._mounted(room) as possible:
            if possible:
                self.restore()
                end = self._wait("write", name, None, 0.0)
                self.judge(f"a disk of {room} bytes", end, "A", name)
        self.restore()
        self.tally.trials["filled" if possible else "filled: skipped, no mount"] += 1

    def read_only(self) -> None:
        """A folder, or a disk of its own for root, that cannot be written."""
        name = self.rng.choice("AB")
        with self._mounted(1 << 24) as possible:
            self.restore()
            self._locked(True, possible)
            end = self._wait("write", name, None, 0.0)
            self._locked(False, possible)
            if possible or os.geteuid():
                if end.code != 2:
                    self.fail(f"read-only: exit code {end.code}: {end.said}")
                self.judge("read-only", end, "A", name)
        self.restore()
        self.tally.trials["read-only" if possible or os.geteuid() else "read-only: skipped, no mount"] += 1

    @contextmanager
    def _mounted(self, room: int) -> Iterator[bool]:
        """A disk of that many bytes in place of the folder; False without the right to mount one."""
        done = not os.geteuid() and quiet(
            "mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(self.out)
        )
        try:
            yield done
        finally:
            if done and not quiet("umount", str(self.out)):
                quiet("umount", "-l", str(self.out))

    def _locked(self, locked: bool, disk: bool) -> None:
        """Forbid writing to the folder, or allow it again."""
        if disk:
            quiet("mount", "-o", f"remount,{'ro' if locked else 'rw'}", str(self.out))
        else:
            self.out.chmod(0o555 if locked else 0o755)

    def rivals(self) -> None:
        """Two plans at once into one folder; one may be killed."""
        before = self.stands()
        kill = self.rng.choice((None, *SIGNALS))
        children = [self._start("write", name, number) for number, name in enumerate("AB")]
        delay = self.rng.uniform(0.0, 1.2 * self.seconds["write"])
        ends = [waited(c, k, delay, s) for c, k, s in zip(children, (kill, None), self.said, strict=True)]
        self.tally.trials["rivals"] += 1
        if kill:
            self.tally.kills[signal.Signals(kill).name] += ends[0].killed
        if ends[1].code:
            self.fail(f"rival ended with {ends[1].code}: {ends[1].said}")
        self.judge(f"rivals, {kill}", ends[0], before, None)

    def stands(self) -> str | None:
        """The version in the folder, None if the files are of both."""
        found = {n: c for n, c in self._found().items() if not STRAY.fullmatch(n)}
        return next((name for name, files in self.versions.items() if files == found), None)

    def judge(self, what: str, end: End, before: str | None, name: str | None) -> None:
        """Note all that is wrong, and repair the folder. name: the version that was written, if only one."""
        found, now = self._found(), self.stands()
        strays = [n for n in found if STRAY.fullmatch(n)]
        brutal = end.killed and end.code == -signal.SIGKILL
        for file in self.versions["A"]:
            if found.get(file) not in [version[file] for version in self.versions.values()]:
                self.fail(f"{what}: {file} is {'missing' if file not in found else 'half written'}")
        if foreign := set(found) - set(self.versions["A"]) - set(strays):
            self.fail(f"{what}: unexpected {sorted(foreign)}")
        if now is None:
            self.tally.mixed += 1
        if not brutal:
            if now is None:
                self.fail(f"{what}: files of two versions")
            if strays:
                self.fail(f"{what}: {strays} are left")
            self.agree(what, end, before, name, now)
        elif strays:
            self.tally.strays += 1
            self.swept(strays)
        if now is None or strays:
            self.restore()

    def agree(self, what: str, end: End, before: str | None, name: str | None, now: str | None) -> None:
        """Compare exit code and sentence with the files."""
        if "Traceback" in end.said or (end.code not in (0, 2, 130) and -end.code not in SIGNALS):
            self.fail(f"{what}: exit code {end.code}: {end.said}")
        if name is None:
            return
        unchanged = end.code == 2 or "nothing is written" in end.said
        if unchanged and now != before:
            self.fail(f"{what}: exit code {end.code}, but {before} has become {now}: {end.said}")
        if (end.code == 0 or "files are written" in end.said) and now != name:
            self.fail(f"{what}: exit code {end.code}, but the files are {now} instead of {name}: {end.said}")
        if end.code == 2 and len(end.said.splitlines()) != 1:
            self.fail(f"{what}: not one sentence: {end.said}")

    def swept(self, strays: Sequence[str]) -> None:
        """Let the strays of a killed process grow old: the next run must remove them."""
        for number, name in enumerate(strays):
            old = int(time.time()) - 4000
            (self.out / name).rename(self.out / f".laserpath-{old:08x}-{number:012x}.tmp")
        self._wait("write", "B", None, 0.0)
        if self._found() != self.versions["B"]:
            self.fail(f"strays are left, or files are wrong: {sorted(self._found())}")

    def fail(self, sentence: str) -> None:
        """Note a failure."""
        self.tally.failures.append(sentence)

    def run(self, seconds: float, *, share: float) -> Tally:
        """Trials for that time. share: part of the time for whole plans."""
        start, planning = time.monotonic(), 0.0
        while (elapsed := time.monotonic() - start) < seconds:
            if planning < share * elapsed:
                begin = time.monotonic()
                self.signalled("plan")
                planning += time.monotonic() - begin
            else:
                chance = self.rng.random()
                if chance < 0.8:
                    self.signalled("write")
                else:
                    self.rng.choice((self.limited, self.rivals, self.filled, self.read_only))()
        return self.tally


def quiet(*command: str) -> bool:
    """Run a program without its output; whether it went well."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def written(job: Job, texts: Mapping[Path, str]) -> Made:
    """What `laserpath plan` does once there is a plan: write its files."""
    job.check()
    files.write_all(texts)
    return Made((), as_json=str, summary=lambda: None)

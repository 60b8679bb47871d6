"""A process that reads a file and fails for want of disk or memory does not call the file damaged."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import laserpath
from laserpath import cli
from laserpath.base import bounds, isolated, limits
from laserpath.base.errors import InputError

ENDS = {
    "raise OSError(28, 'No space left on device')": "no temporary folder can be used .*: No space left",
    "raise OSError(122, 'Disk quota exceeded')": "no temporary folder can be used .*",
    "raise OSError(27, 'File too large')": "no temporary folder can be used .*: File too large",
    "raise MemoryError": "takes more than 1024 MiB of memory",
    "raise ValueError('its header')": r"the file is damaged: gdstk stopped at it \(ValueError: its header\)",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_reason_is_named(end: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(end)
    with laserpath.limits(memory=1 << 30), pytest.raises(InputError, match=ENDS[end]):
        isolated.run(script, [], "gdstk")


def bounded(body: str, folder: Path) -> Path:
    """A script that keeps within its bounds, as all do."""
    script = folder / "script.py"
    head = "import os, sys\nfrom laserpath.base import bounds\n"
    script.write_text(f"{head}bounds.keep_within(int(sys.argv[-2]), float(sys.argv[-1]))\n{body}\n")
    return script


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such limits")
def test_a_process_has_a_limit_of_the_processors_time(tmp_path: Path) -> None:
    """One that waits and one that computes for ever."""
    with laserpath.limits(seconds=0.5), pytest.raises(InputError, match=r"reading takes more than 0\.5 s"):
        isolated.run(bounded("import time; time.sleep(60)", tmp_path), [], "gdstk")
    computes = bounded("while True: pass", tmp_path)
    done = subprocess.run([sys.executable, computes, str(1 << 33), "0.1"], timeout=60, check=False)
    assert done.returncode == -signal.SIGXCPU


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it runs until its time is up")
def test_a_process_ends_with_its_parent(tmp_path: Path) -> None:
    waits = bounded("print(os.getpid(), flush=True)\nwhile True: os.read(0, 1)", tmp_path)
    command = [sys.executable, str(waits), str(1 << 33), "100"]
    starts = f"import subprocess\nsubprocess.run({command!r}, stdin=subprocess.PIPE)"
    with subprocess.Popen([sys.executable, "-c", starts], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = Path("/proc", parent.stdout.readline().strip())
        assert child.exists()
        parent.kill()
        parent.wait()
        until = time.monotonic() + 20
        while child.exists() and "State:\tZ" not in (child / "status").read_text():
            assert time.monotonic() < until, "the child runs on"
            time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no limit of this kind")
def test_the_limit_of_the_shell_is_named_where_it_is_the_lower_one() -> None:
    """`--limit memory` would not help there."""
    starts = "from laserpath.base import limits; raise limits.no_memory()"
    command = f"ulimit -v 600000; exec {sys.executable} -c '{starts}'"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)
    assert "more than 585 MiB of memory, which is what this shell allows: `ulimit -v` shows" in done.stderr
    assert "--limit" not in done.stderr
    with laserpath.limits(memory=1 << 30):
        assert "--limit memory=2100MiB raises it, but more may be needed" in str(limits.no_memory())


def test_advice_on_memory_is_that_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(bounds, "memory_allowed", lambda: math.inf)
    monkeypatch.setattr(cli.cli, "main", fail)
    for arguments, advice in ((["check", "a.nc"], "smaller file"), (["plan", "a.svg"], "a wider spot")):
        with pytest.raises(SystemExit):
            cli.main(arguments)
        assert advice in capsys.readouterr().err
    monkeypatch.setattr(bounds, "memory_allowed", lambda: 600_000.0 * 1024)
    with pytest.raises(SystemExit):
        cli.main(["check", "a.nc"])
    assert "this shell allows 585 MiB, as `ulimit -v` shows" in capsys.readouterr().err

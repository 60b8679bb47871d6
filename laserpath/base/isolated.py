"""A Python script in a process of its own, with limits of time and memory, for libraries that trust a file.

Such a library is C or C++: a few changed bytes of a file crash it, or make it ask for any amount of memory.
The script gets the limits of memory, in bytes, and of the processor, in seconds, as its last arguments, and
sets them after its imports (`bounds.keep_within`).
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

from laserpath.base import bounds, limits
from laserpath.base.errors import InputError

_NO_MEMORY = (
    b"MemoryError",
    b"bad_alloc",
    b"annot allocate memory",
    b"failed to map segment",
    b"out of memory",
)
"""Messages of Python, C++ and the loader when memory runs out."""

_NO_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO)
"""Errors of the temporary folder, not of the file that is read."""

_LONGER = 1.0
"""Seconds that the process may take longer than its parent waits, which ends it with a better sentence."""

_START = 640 << 20
"""Bytes of memory for the libraries themselves."""


def run(script: Path, arguments: list[str], library: str, need: int) -> None:
    """Run the script; raises InputError, in which the library is named, unless it ends well.

    need: bytes of memory that reading the file should take, without the library.
    """
    # The same packages as in this process, wherever they are; one thread is enough.
    path = os.pathsep.join([*(p for p in sys.path if p), str(Path(__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    seconds = max(limits.left(), 0.0)
    command = [sys.executable, "-P", str(script), *arguments, str(memory(need)), repr(seconds + _LONGER)]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise limits.late() from None
    except OSError as error:
        raise InputError(f"no process can be started to read the file in: {error.strerror}") from None
    if done.returncode == -getattr(signal, "SIGXCPU", 24):  # our own limit is above `timeout`
        raise InputError(
            "reading the file takes more processor time than this shell allows: "
            "`ulimit -t` shows that limit, in s"
        )
    killed = done.returncode == -getattr(signal, "SIGKILL", 9)  # by the system, when memory runs out
    if done.returncode and (killed or any(word in done.stderr for word in _NO_MEMORY)):
        raise no_memory(need)
    for number in _NO_DISK:
        if done.returncode and f"[Errno {number}]".encode() in done.stderr:
            raise InputError(f"no temporary folder can be used to read the file: {os.strerror(number)}")
    if done.returncode < 0:
        raise InputError(f"the file is damaged: {library} stopped at it with signal {-done.returncode}")
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise InputError(f"the file is damaged: {library} stopped at it ({plain(last)})")


def memory(need: int) -> int:
    """Bytes of memory that the process may have: what it needs, or the limit if it is given."""
    most = limits.now().memory
    return most if most != limits.ReadingLimits().memory else min(most, _START + need)


def no_memory(need: int, what: str = "reading the file takes") -> InputError:
    """The refusal of a file that takes more memory. what: subject and verb."""
    most, allowed = memory(need), bounds.memory_allowed()
    if allowed < most:
        return InputError(
            f"{what} more than {int(allowed) >> 20} MiB of memory, which is what this shell allows: "
            "`ulimit -v` shows that limit, in KiB"
        )
    return InputError(
        f"{what} more than {most >> 20} MiB of memory, which is the limit: "
        f"--limit memory={most >> 19}MiB raises it, but more may be needed"
    )


def plain(text: str) -> str:
    """A message in one line, without its full stop."""
    return " ".join(text.split()).rstrip(".")[:200]

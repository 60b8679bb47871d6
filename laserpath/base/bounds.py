"""The bounds of this process, for scripts that `isolated` runs; it needs the standard library only."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import time

_DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


def keep_within(memory: int, seconds: float) -> None:
    """Limit the memory to so many bytes and the processor to so many seconds from now.

    A short file can request any amount of memory: failing is better than swapping. And a parent that was
    killed cannot end this process any more; on Linux it ends with its parent, elsewhere when its time is up.
    """
    if sys.platform == "linux":
        _die_with_parent()
    try:
        import resource
    except ImportError:  # not on Windows
        return
    until = math.ceil(time.process_time() + seconds)
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, until)):
        # The limit may be lower already, and cannot be raised.
        known = [most for most in resource.getrlimit(kind) if most != resource.RLIM_INFINITY]
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (min([most, *known]), resource.getrlimit(kind)[1]))


def memory_allowed() -> float:
    """Bytes of memory that the system allows this process and its children: `ulimit -v`; or infinity."""
    try:
        import resource
    except ImportError:
        return math.inf
    limits = resource.getrlimit(resource.RLIMIT_AS)
    return min((float(most) for most in limits if most != resource.RLIM_INFINITY), default=math.inf)


def memory_there() -> float:
    """Bytes of memory that this computer has; infinity if it does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # AttributeError: Windows
        return math.inf


def memory_held() -> int:
    """Bytes of memory that this process holds; the most it has held on macOS; 0 on Windows."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _die_with_parent() -> None:
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # where there is no C library to be found
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)

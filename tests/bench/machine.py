"""What the machine can do: `python machine.py REQUEST` says it as JSON.

bandwidth: bytes/s of a ← b + s c over arrays too large for a cache (STREAM's triad, three arrays counted).
fft: seconds of scipy's real FFT, the mean of there and back, for each shape, float32.
"""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path

import asked
import numba
import numpy as np
from scipy import fft

_LONG = 1 << 26
_REPEATS = 7
_PACKAGES = ("laserpath", "taichi", "numpy", "scipy", "torch", "jax", "jaxlib", "numba", "finufft")


@numba.njit(parallel=True, fastmath=True, cache=True)
def _triad(a, b, c, s):
    for i in numba.prange(len(a)):
        a[i] = b[i] + s * c[i]


def bandwidth() -> float:
    """Bytes/s."""
    a, b, c = (np.full(_LONG, x, np.float32) for x in (0, 1, 2))
    _triad(a, b, c, np.float32(3))
    return 3 * a.nbytes / _median(lambda: _triad(a, b, c, np.float32(3)))


def fft_seconds(shape: tuple[int, int], workers: int) -> float:
    """Of one real FFT."""
    plane = np.random.default_rng(1).random(shape, np.float32)
    half = fft.rfft2(plane, workers=workers)
    there = _median(lambda: fft.rfft2(plane, workers=workers))
    return (there + _median(lambda: fft.irfft2(half, s=shape, workers=workers))) / 2


def _median(action) -> float:
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def description() -> str:
    """Processor, memory, and system."""
    return f"{_processor()}, {len(cores())} cores, {_memory() / 2**30:.0f} GiB, {platform.system()}"


def versions() -> str:
    """Of Python and of what takes part."""
    named = [f"{name} {metadata.version(name)}" for name in _PACKAGES]
    return ", ".join([f"Python {platform.python_version()}", *named])


def cores() -> list[int]:
    """Those that this process may use."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return list(range(os.cpu_count() or 1))


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
    named = {key.strip(): value.strip() for key, value in fields.items()}
    widest = next((f for f in ("avx512f", "avx2") if f in named.get("flags", "")), "no AVX2")
    return f"{named.get('model name', platform.machine())} ({widest})"


def _memory() -> float:
    return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    _workers = len(asked.REQUEST["cores"])
    _seconds = [fft_seconds(tuple(shape), _workers) for shape in asked.REQUEST["shapes"]]
    asked.answer({"bandwidth": bandwidth(), "fft": _seconds})

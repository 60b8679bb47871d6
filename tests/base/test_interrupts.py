"""A reading that is over its limits ends in the middle of GEOS's work, and nothing else does."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
import shapely

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.base.overlay import NODING

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="GEOS's functions are not found there")


def strokes(count: int) -> np.ndarray:
    ends = np.random.default_rng(0).random((count, 2, 2))
    return shapely.buffer(shapely.linestrings(ends), 1e-3, cap_style="flat")


def united(count: int) -> float:
    return float(shapely.union_all(strokes(count), grid_size=NODING).area)


def test_a_set_operation_ends_when_the_time_is_up() -> None:
    begun = time.process_time()
    with (
        limits.limits(seconds=0.3),
        pytest.raises(InputError, match=r"^a\.svg: reading takes more than 0\.3 s, .* --limit seconds="),
        limits.work("a.svg"),
    ):
        united(6000)  # which takes minutes
    assert time.process_time() - begun < 5
    assert united(20) > 0


def test_another_thread_computes_on() -> None:
    expected, found = united(80), []
    ready = threading.Event()

    def compute() -> None:
        ready.set()
        found.extend(united(80) for _ in range(3))

    limits.interrupt_geos(threading.get_ident())
    try:
        with pytest.raises(shapely.GEOSException, match="Interrupted"):
            united(80)
        other = threading.Thread(target=compute)
        other.start()
        ready.wait()
        with pytest.raises(shapely.GEOSException, match="Interrupted"):
            united(80)
        other.join()
    finally:
        limits.allow_geos(threading.get_ident())
    assert found == [expected] * 3
    assert united(80) == expected


def take(mebibytes: int) -> None:
    """Takes memory bit by bit, as a reader does."""
    held = []
    with limits.work():
        while len(held) < mebibytes:
            held.append(b"x" * (1 << 20))
            limits.spend()
            time.sleep(1e-4)


def test_memory_is_watched() -> None:
    some = r"^reading takes more than 200 MiB of memory, .* --limit memory=400MiB"
    with limits.limits(memory=200 << 20), pytest.raises(InputError, match=some):
        take(2000)

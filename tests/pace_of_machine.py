"""How fast this machine is at this moment, so that a limit of time is a ratio and holds on any machine.

The unit is four times the processor time of a fixed work, of plain Python and of NumPy: about 0.1 s. It is
measured before what is timed and, where that seems too slow, after it as well, and the slower counts:
another program may have come between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest

T = TypeVar("T")

TRIES = 3
"""How often a work may be done until it is fast enough once. Noise passes; what is slow is slow each time."""


def unit() -> float:
    """s, the processor time of four times the fixed work now."""
    start = time.process_time()
    text = "\n".join([f"{number / 1000:.4f}" for number in range(30_000)])
    numbers = np.array([float(line) for line in text.splitlines()])
    for _ in range(12):
        numbers = np.sort(np.sin(1e4 * numbers))
    return 4 * (time.process_time() - start)


def within(units: float, work: Callable[[], T]) -> T:
    """What a work returns, which must take less than so many units of processor time.

    `units` is about four times what the work was measured to take: a machine on which everything is slower
    passes, and so does one on which this work is three times slower than the unit says.
    """
    found = []
    for _ in range(TRIES):
        before = unit()
        start = time.process_time()
        result = work()
        took = time.process_time() - start
        found.append(took / before if took < units * before else took / max(before, unit()))
        if found[-1] < units:
            return result
    tries = ", ".join(f"{ratio:.3g}" for ratio in found)
    return pytest.fail(
        f"{tries} times the processor time of pace_of_machine.unit(), at most {units:g} are allowed"
    )

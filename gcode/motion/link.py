"""The rate of moves that a program needs from its link. One definition, for planning and for checking.

A controller buffers n moves, so that a short one may follow a long one. It cannot even out a run of n moves
that takes less than n/r at a link of r moves/s: with d_k the duration of move k if the link keeps up, run k
needs

    R_k = n / (d_k + … + d_{k+n−1})    moves/s,

and the program needs the largest of them. A program of fewer moves is one run. The last moves of a longer
program are not a run, because they are in the buffer by then.

Move k is part of the runs k − n + 1 … k, and needs the largest of their rates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from gcode.move import Floats

_SHORTEST = 1e-12
"""s, least duration of a run, so that the rate of moves without length stays finite."""


def run_rates(duration: NDArray[np.floating[Any]], window: int) -> Floats:
    """(runs,) moves/s of every run of `window` moves, or of the one run of fewer; duration: (N,) s."""
    window = min(int(window), len(duration))
    ends = np.concatenate([[0.0], np.cumsum(duration)])
    return np.asarray(window / np.maximum(ends[window:] - ends[: len(ends) - window], _SHORTEST))


def peak_rate(duration: NDArray[np.floating[Any]], window: int) -> float:
    """Moves/s of the busiest run of `window` moves, 0 without any; duration: (N,) s."""
    return float(run_rates(duration, window).max()) if len(duration) else 0.0


def move_rates(duration: NDArray[np.floating[Any]], window: int) -> Floats:
    """(N,) moves/s of the busiest run that contains each move; duration: (N,) s."""
    if not len(duration):
        return np.zeros(0)
    window = min(int(window), len(duration))
    # A run that begins at k holds the moves k … k + window − 1.
    padded = np.concatenate([run_rates(duration, window), np.zeros(window - 1)])
    return np.asarray(
        scipy.ndimage.maximum_filter1d(padded, window, origin=(window - 1) // 2, mode="constant")
    )

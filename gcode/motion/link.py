"""The link: how many moves a second a program asks of it. One definition, for planning and for checking.

A controller buffers n moves, so that a short one may follow a long one. What it cannot even out is a run of n
moves in a row that takes less than n/r at a link of r moves/s: with d_k the seconds of move k if the link
kept up, run k asks for

    R_k = n / (d_k + … + d_{k+n−1})    moves/s,

and the program for the largest of them. A program of fewer moves is one run. What is left in the buffer at
the end of a longer one is no run: it is there by then.

Move k is part of the runs k − n + 1 … k: it asks for the largest of theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from gcode.move import Floats

_SHORTEST = 1e-12
"""s; a run of moves that have no length would ask for infinitely many."""


def run_rates(duration: NDArray[np.floating[Any]], window: int) -> Floats:
    """(runs,) moves/s of every run of `window` moves, or of all where there are fewer; duration: (N,) s."""
    window = min(int(window), len(duration))
    ends = np.concatenate([[0.0], np.cumsum(duration)])
    return np.asarray(window / np.maximum(ends[window:] - ends[: len(ends) - window], _SHORTEST))


def peak_rate(duration: NDArray[np.floating[Any]], window: int) -> float:
    """Moves/s of the busiest run of `window` moves, 0 without any; duration: (N,) s."""
    return float(run_rates(duration, window).max()) if len(duration) else 0.0


def move_rates(duration: NDArray[np.floating[Any]], window: int) -> Floats:
    """(N,) moves/s of the busiest run that each move is in; duration: (N,) s."""
    if not len(duration):
        return np.zeros(0)
    window = min(int(window), len(duration))
    # A run that begins at k holds the moves k … k + window − 1.
    padded = np.concatenate([run_rates(duration, window), np.zeros(window - 1)])
    return np.asarray(maximum_filter1d(padded, window, origin=(window - 1) // 2, mode="constant"))

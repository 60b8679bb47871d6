"""GRBL's segments hold whole steps: where the levels of M4 really change.

A segment of one tick τ should end where the head is after that time, n_i steps after the start of its block.
But the stepper takes whole steps, so it ends at k_i = ⌊n_i⌋, and the time for the rest goes to the next one:

    r_i = (τ_i + ρ_{i−1})/(n_i − k_{i−1}) s a step,    ρ_i = (n_i − k_i)·r_i,    duration (k_i − k_{i−1})·r_i.

With 80 steps/mm, a head that brakes takes 3 ms for a step; then a level ends as much earlier.

Source: https://github.com/gnea/grbl, stepper.c, `st_prep_buffer` (`dt_remainder`, `n_steps_remaining`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gcode.compiled import cached

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WHOLE = 1e-6
"""Steps, of rounding: a larger one takes a place before a step for the step."""


njit = cached(error_model="numpy")


@njit
def to_whole_steps(row: Ints, duration: Floats, end: Floats, events: Floats) -> None:
    """Ends the pieces (P,) of an execution at whole steps, in place.

    duration: s.  end: mm from the start of the row.  events: (N,) steps/mm along each row, 0 if it is a stop.
    """
    taken = kept = 0.0
    for i in range(len(row)):
        per_mm = events[row[i]]
        if i == 0 or row[i] != row[i - 1]:
            taken = kept = 0.0
        steps = end[i] * per_mm - taken
        if steps <= _WHOLE:
            if per_mm > 0:
                end[i] = taken / per_mm
            continue
        whole = math.floor(steps + _WHOLE)
        last = i + 1 == len(row) or row[i + 1] != row[i]
        time = duration[i] + kept
        duration[i] = time if last else time * min(whole / steps, 1.0)
        kept = time - duration[i]
        taken += whole
        end[i] = taken / per_mm

"""Vertices in whole steps, as firmware rounds them: in single precision, halves away from zero.

With 250 steps/mm and places of four decimals one in forty lies half-way between two steps, so the arithmetic
decides where it goes. A step of 4 µm turns a short line, and junction speeds with it: 14 % of a plan's peak
dose in one place.

GRBL reads a number as its digits, a whole number, times 0.01 and 0.1 in turn, each product rounded to single
precision; Marlin takes the nearest number. Both multiply it by steps/mm and call lround. Sources:
https://github.com/gnea/grbl (nuts_bolts.c: read_float; planner.c: plan_buffer_line) and
https://github.com/MarlinFirmware/Marlin (planner.cpp), comments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcode.move import Floats

_DECIMALS = 4
"""Most decimals of a place as read. A place with more (of an arc's chord) is the nearest number."""

_SAME = 1e-9
"""mm, largest distance of a place from the decimals that it is taken to be written with."""


def whole_steps(mm: ArrayLike, per_mm: ArrayLike) -> Floats:
    """(…,) whole numbers of steps, the nearest to places in mm; per_mm: steps/mm."""
    return _rounded(np.asarray(mm, dtype=np.float32), per_mm)


def whole_steps_of_digits(mm: ArrayLike, per_mm: ArrayLike) -> Floats:
    """(…,) as `whole_steps`, of places that GRBL has read digit by digit."""
    return _rounded(_read(np.asarray(mm, dtype=np.float64)), per_mm)


def _rounded(mm: NDArray[np.float32], per_mm: ArrayLike) -> Floats:
    steps = (mm * np.asarray(per_mm, dtype=np.float32)).astype(np.float64)
    return np.asarray(np.sign(steps) * np.floor(np.abs(steps) + 0.5))


def _read(mm: Floats) -> NDArray[np.float32]:
    """The places as GRBL's single precision has them after reading."""
    digits, decimals = np.rint(mm * 10**_DECIMALS), np.full(mm.shape, _DECIMALS)
    written = np.abs(digits / 10**_DECIMALS - mm) < _SAME
    for _ in range(_DECIMALS):
        zero = (decimals > 0) & (digits % 10 == 0)
        digits, decimals = np.where(zero, digits / 10, digits), decimals - zero
    read = digits.astype(np.float32)
    for least, factor in ((4, 0.01), (2, 0.01), (1, 0.1)):
        times = decimals >= least if least > 1 else decimals % 2 == 1
        read = np.where(times, read * np.float32(factor), read)
    return np.where(written, read, mm.astype(np.float32))

"""A stroke font of digits and capitals: polylines on a grid 2 wide and 3 high, scaled to size.

I, O, S and Z are left out, since they read as 1, 0, 5 and 2.
"""

from __future__ import annotations

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError

LETTERS = "ABCDEFGHJKLMNPQRTUVWXY"
WIDTH = 2 / 3
"""Width of a character over its height."""
ADVANCE = 1.0
"""Distance from one character to the next over the height; more spaces them wider."""

_STROKES = {
    "0": "00 20 23 03 00", "1": "02 13 10", "2": "03 23 22 00 20", "3": "03 23 20 00|12 22", "4": "20 23 01 "
    "21",
    "5": "23 03 02 22 20 00", "6": "23 03 00 20 22 02", "7": "03 23 10", "8": "00 20 23 03 00|02 22",
    "9": "00 20 23 03 01 21", "A": "00 02 13 22 20|01 21", "B": "00 03 23 22 12 02|12 21 20 00",
    "C": "23 03 00 20", "D": "00 03 13 22 21 10 00", "E": "23 03 00 20|02 12", "F": "23 03 00|02 12",
    "G": "23 03 00 20 21 11", "H": "00 03|20 23|02 22", "J": "23 20 00 01", "K": "00 03|23 01 20", "L": "03 "
    "00 20",
    "M": "00 03 12 23 20", "N": "00 03 20 23", "P": "00 03 23 21 01", "Q": "00 20 23 03 00|11 20",
    "R": "00 03 23 21 01 20", "T": "03 23|13 10", "U": "03 00 20 23", "V": "03 10 "
    "23",
    "W": "03 00 11 20 23", "X": "00 23|03 20", "Y": "03 11 23|11 10", ".": "00 10", "-": "02 22",
}  # fmt: skip
"""Character → strokes, separated by |, as points xy in thirds of the height."""


def strokes(text: str, x: float, y: float, height: float) -> list[Floats]:
    """Polylines (K, 2) in mm of a text whose lower left corner is (x, y)."""
    lines: list[Floats] = []
    for place, letter in enumerate(text):
        if letter == " ":
            continue
        if letter not in _STROKES:
            raise InputError(f"label {text!r} has {letter!r}, for which there are no strokes")
        for stroke in _STROKES[letter].split("|"):
            points = np.array([[int(c) for c in point] for point in stroke.split()], dtype=np.float64)
            lines.append((x + place * ADVANCE * height, y) + points * height / 3)
    return lines

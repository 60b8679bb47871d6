"""Vertices in whole steps: halves as the firmware's single precision decides them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gcode.controllers.common import whole_steps, whole_steps_of_digits


def read_float(text: str) -> np.float32:
    """A number as GRBL reads it: digits one by one, then the point."""
    digits, _, decimals = text.partition(".")
    value, left = np.float32(int(digits + decimals)), len(decimals)
    while left >= 2:
        value, left = np.float32(value * np.float32(0.01)), left - 2
    return np.float32(value * np.float32(0.1)) if left else value


@given(st.integers(0, 3_000_000), st.sampled_from([80, 250, 400]))
def test_digits_are_read_one_by_one(tenths_of_microns: int, per_mm: int) -> None:
    mm = tenths_of_microns / 1e4
    text = f"{mm:.4f}".rstrip("0").rstrip(".")
    exact = float(read_float(text) * np.float32(per_mm))
    assert whole_steps_of_digits([mm, -mm], per_mm).tolist() == [
        np.floor(exact + 0.5),
        -np.floor(exact + 0.5),
    ]


def test_halves_go_away_from_zero() -> None:
    assert whole_steps([0.5, 1.5, 2.5, -0.5, -2.5], 1).tolist() == [1, 2, 3, -1, -3]
    # Even numbers would be 388 and 390; 1.554 is 1554 · 0.01 · 0.1, a little above.
    assert whole_steps_of_digits([1.554, 1.562], 250).tolist() == [389, 391]


@given(st.floats(-300, 300), st.sampled_from([80, 250, 10_000]))
def test_any_place_is_at_its_nearest_step(mm: float, per_mm: int) -> None:
    """To within the single precision of 300 mm: 0.03 µm."""
    for rounded in (whole_steps, whole_steps_of_digits):
        assert abs(rounded([mm], per_mm)[0] / per_mm - mm) <= 0.5 / per_mm + 1e-4

"""How many moves a second a program asks of its link: one definition, for planning and for checking."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sets import examples

import gcode
from gcode.checking.paths import Envelope
from gcode.motion import move_rates, peak_rate, run_rates

durations = st.lists(st.floats(1e-4, 0.1), min_size=1, max_size=30).map(np.array)


@examples(30)
@given(durations, st.integers(1, 12))
def test_the_rate_is_that_of_the_busiest_run(duration: np.ndarray, window: int) -> None:
    n = min(window, len(duration))
    runs = [n / duration[k : k + n].sum() for k in range(len(duration) - n + 1)]
    np.testing.assert_allclose(run_rates(duration, window), runs)
    assert peak_rate(duration, window) == run_rates(duration, window).max()
    around = [
        max(rate for first, rate in enumerate(runs) if first <= k < first + n) for k in range(len(duration))
    ]
    np.testing.assert_allclose(move_rates(duration, window), around)


def test_without_moves_there_is_no_rate() -> None:
    assert peak_rate(np.zeros(0), 15) == 0
    assert move_rates(np.zeros(0), 15).shape == (0,)


def warned(points: list[tuple[float, float]]) -> list[str]:
    """What the check says of the link, of lines through these points at 20 mm/s."""
    body = "".join(f"G1 X{x:.3f} Y{y:.3f}\n" for x, y in points)
    text = f"G21 G90 G17\nM4 S0\nG0 X1 Y1\nG1 F1200 S500\n{body}M5\nM2\n"
    found = gcode.check(text, gcode.dialect("grbl"), Envelope(box=(0, 0, 300, 200), power_levels=255))
    return [one.message for one in found if "a second" in one.message]


def test_a_short_move_after_long_ones_is_in_the_buffer_by_then() -> None:
    """31 moves of 2 mm and one of 0.02 mm: the last is 1 ms long, but it came while the others ran."""
    long = [(1 + 2.0 * k, 1.0) for k in range(1, 32)]
    assert not warned([*long, (63.02, 1.0)])
    assert warned([(1 + 0.02 * k, 1.0) for k in range(1, 200)])

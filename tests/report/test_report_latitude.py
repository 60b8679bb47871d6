"""How far dose and focus may be off: where an error crosses a limit, and the sentences on it."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laserpath.report.pictures import process_window
from laserpath.report.wording import latitude, latitude_in_words
from laserpath.types.results import ProcessWindow

DOSE = np.linspace(0.8, 1.2, 9)
FLAT = np.full(9, 0.05)


def window(*p95: object, mean: object = FLAT, lost: object = 0.0, samples: int = 1000) -> ProcessWindow:
    """One row of errors for each width: in focus, 15 % and 30 % wider."""
    errors = np.array([np.broadcast_to(row, 9) for row in p95])
    first = np.broadcast_to(mean, errors.shape)
    missing = np.broadcast_to(lost, errors.shape)
    return ProcessWindow(DOSE, np.array([1, 1.15, 1.3])[: len(p95)], first, errors, first, missing, samples)


def words(found: ProcessWindow, limit: float = 0.15) -> str:
    return latitude_in_words(found, limit, lambda fwhms: f"{100 * fwhms:.2g} µm")


def valley(best: float, slope: float = 1.0, floor: float = 0.05) -> np.ndarray:
    return floor + slope * np.abs(DOSE - best)


def test_a_tolerance_is_kept_as_far_as_the_lines_between_the_doses_say() -> None:
    found = latitude(DOSE, valley(1.02, floor=0.03), 0.1)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0.95, 1.09), abs=3e-3)
    assert found.text == "−5 % to +9 %"


@given(st.lists(st.floats(0.001, 2), min_size=9, max_size=9), st.floats(0.01, 2))
def test_the_error_is_at_the_limit_at_both_ends_and_below_it_between(
    errors: list[float], limit: float
) -> None:
    error = np.array(errors)
    found = latitude(DOSE, error, limit)
    if found is None:
        assert error.min() > limit
        return
    assert found.low <= found.high
    assert (np.interp(np.linspace(found.low, found.high, 50), DOSE, error) <= limit + 1e-9).all()
    for end, last in ((found.low, DOSE[0]), (found.high, DOSE[-1])):
        assert end == last or np.interp(end, DOSE, error) == pytest.approx(limit, abs=1e-6)
    assert error[4] > limit or found.low <= 1 <= found.high


def test_the_sentence_says_how_far_in_focus_and_out_of_it() -> None:
    text = words(window(valley(1.02, floor=0.07), valley(1, 2, 0.09), 0.3))
    assert text == (
        "95 % of the edge is within 15 µm (0.15 FWHM) while the dose is off by −6 % to +10 % in focus and "
        "−3 % to +3 % with a spot 15 % wider, and at no dose with a spot 30 % wider."
    )


def test_what_reaches_the_end_of_the_window_may_go_on_there() -> None:
    assert "off by −20 % or less to +20 % or more in focus." in words(window(0.1))


def test_a_dose_that_would_be_better_is_named() -> None:
    text = words(window(valley(1.15, floor=0.07), mean=valley(1.15, 0.5)))
    assert "off by +7 % to +20 % or more in focus" in text
    assert "The mean error would be least at +15 % of dose, 5 µm instead of 12 µm." in text
    assert "would be least" not in words(window(0.1, mean=valley(1)))


def test_where_no_dose_keeps_the_tolerance_the_mean_error_is_given() -> None:
    text = words(window(2.0, 2.0, mean=valley(1, 0.5, 0.08)))
    assert text.startswith(
        "At no dose from −20 % to +20 % of the planned one is 95 % of the edge within 15 µm"
    )
    assert (
        "The mean error, 8 µm as planned, grows by no more than half while the dose is off by −8 % to +8 %"
        in text
    )


def test_edges_lost_at_a_likely_dose_are_reported() -> None:
    lost = np.array([900, 500, 40, 8, 0, 0, 0, 0, 0])
    assert "At −10 % of dose another 4 % of the outline has no printed edge near." in words(
        window(0.1, lost=lost)
    )
    assert "another" not in words(window(0.1, lost=40))


@pytest.mark.parametrize("p95", [0.0, 2.0, valley(1)])
def test_any_window_is_drawn(p95: object) -> None:
    drawn = ElementTree.fromstring(process_window(window(p95, p95), 0.15, 0.1))
    assert {"in focus", "with a spot 15 % wider", "mean, FWHM"} <= set(drawn.itertext())


def test_a_window_of_one_dose_and_one_width_is_drawn() -> None:
    one = np.full((1, 1), 0.1)
    single = ProcessWindow(np.ones(1), np.ones(1), one, one, one, 0 * one, 10)
    assert "in focus" in ElementTree.fromstring(process_window(single, 0.15, 0.1)).itertext()
    assert "0 % or less to 0 % or more" in words(single)

"""What is no number is refused as such, by the nouns and by the dose model."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from laserpath.base.errors import InputError
from laserpath.types import Grid, Machine, Resin, Settings, Spot


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Spot(fwhm="a"), "spot fwhm is 'a', but must be a number"),
        (lambda: Spot(fwhm=None), "spot fwhm is None, but must be a number"),
        (lambda: Spot(aspect="a"), "aspect is 'a', but must be a number"),
        (lambda: Spot(defocus="a"), "spot defocus is 'a', but must be a number"),
        (lambda: Grid((0, 0), "a", (10, 10)), "grid pitch is 'a', but must be a number"),
        (lambda: Grid((0, "a"), 0.1, (10, 10)), "grid origin is (0, 'a'), but must be numbers"),
        (lambda: Resin(critical_dose="20"), "resin critical_dose is '20', but must be a number"),
        (lambda: Machine(speed_max=(50, "a")), "machine speed_max is (50, 'a'), but must be numbers"),
        (lambda: Machine(backlash=(0, "a")), "machine backlash is (0, 'a'), but must be numbers"),
        (lambda: Machine(backlash=0.1), "machine backlash is 0.1, but must be two numbers, of x and y"),
        (
            lambda: Machine(shapers=None),
            "machine shapers are None, but must be two, of x and y, each a Shaper or None",
        ),
        (lambda: Settings(pitch_fwhm="1.2fwhm"), "pitch_fwhm is '1.2fwhm', but must be a number"),
    ],
)
def test_a_value_that_is_no_number_is_named(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == sentence

"""A spot of the same shape, so many times as wide."""

from dataclasses import replace

import numpy as np
import pytest

from laserpath.physics import optics
from laserpath.types import Spot

AIRY = Spot(fwhm=0.1, wavelength=405e-6)


@pytest.mark.parametrize(
    "spot", [AIRY, replace(AIRY, defocus=20.0), replace(AIRY, profile="gaussian", defocus=20.0)]
)
def test_it_has_the_same_shape_and_power_in_focus_or_out(spot):
    wide = optics.widened(spot, 1.15)
    assert optics.fwhm(wide) == pytest.approx(1.15 * optics.fwhm(spot))
    r = np.linspace(0, 0.3, 31)
    # h(r/w)/w² has the same integral.
    np.testing.assert_allclose(
        1.15**2 * optics.profile(wide, 1.15 * r, 0 * r), optics.profile(spot, r, 0 * r), rtol=1e-6
    )

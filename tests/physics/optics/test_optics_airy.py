"""The Airy spot against its definition: energy, widths, zeros, slope and transfer function."""

import numpy as np
import pytest
from builders import SPOT
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import j0

from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.types import Spot

widths = st.floats(1e-4, 10)
# The zeros of J₁, which are those of the spot, as multiples of λ/NA.
FIRST_ZERO, SECOND_ZERO = 3.8317059702075123 / (2 * np.pi), 7.0155866698156187 / (2 * np.pi)


@given(fwhm=widths, radius=st.floats(0.3, 8))
def test_what_lies_inside_and_outside_a_circle_is_all_the_energy(fwhm, radius):
    spot = Spot(fwhm=fwhm)
    inside, _ = quad(lambda r: 2 * np.pi * r * optics.profile(spot, r * fwhm) * fwhm**2, 0, radius, limit=200)
    assert inside + optics.energy_outside(spot, radius * fwhm) == pytest.approx(1, abs=1e-9)


@given(fwhm=widths)
def test_half_maximum_is_at_half_the_fwhm(fwhm):
    spot = Spot(fwhm=fwhm)
    assert optics.profile(spot, fwhm / 2) == pytest.approx(optics.profile(spot, 0) / 2, rel=1e-14)


def test_zeros_and_the_energy_outside_them():
    scale = SPOT.fwhm / optics.FWHM_PER_RESOLUTION  # λ/NA
    assert pytest.approx(0.6098, abs=1e-4) == FIRST_ZERO
    assert pytest.approx(0.5145, abs=1e-4) == optics.FWHM_PER_RESOLUTION
    assert optics.profile(SPOT, np.array([FIRST_ZERO, SECOND_ZERO]) * scale) == pytest.approx(0, abs=1e-28)
    assert optics.energy_outside(SPOT, FIRST_ZERO * scale) == pytest.approx(0.162, abs=5e-4)
    assert optics.energy_outside(SPOT, SECOND_ZERO * scale) == pytest.approx(0.090, abs=5e-4)


def test_peak_is_that_of_the_aperture():
    na_per_wavelength = optics.FWHM_PER_RESOLUTION / SPOT.fwhm
    assert optics.profile(SPOT, 0) == pytest.approx(np.pi * na_per_wavelength**2, rel=1e-12)


@given(radius=st.floats(0.01, 5))
def test_slope_is_the_finite_difference_in_the_squared_radius(radius):
    square, step = radius**2, 1e-6 * radius**2
    spot = Spot(fwhm=1)
    above, below = optics.profile(spot, np.sqrt([square + step, square - step]))
    expected = (above - below) / (2 * step)
    assert optics.profile_slope(spot, radius) == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_slope_is_finite_in_the_middle():
    near = optics.profile_slope(SPOT, np.array([0, 1e-9, 1e-5, 1e-4]))
    np.testing.assert_allclose(near, near[0], rtol=1e-5)
    assert near[0] < 0


@pytest.mark.parametrize("frequency", [0, 0.1, 0.5, 0.9])
def test_transfer_is_the_hankel_transform_of_the_profile(frequency):
    """H(f) = 2π ∫ h(r) J₀(2π f r) r dr; a smooth window stops the slow oscillation far out."""
    spot, f = Spot(fwhm=1), frequency * optics.cutoff(Spot(fwhm=1))
    r = np.linspace(0, 400, 400_001)
    fade = np.exp(-((r / 150) ** 2))
    numerical = np.trapezoid(2 * np.pi * r * optics.profile(spot, r) * j0(2 * np.pi * f * r) * fade, r)
    assert optics.transfer(spot, f) == pytest.approx(numerical, abs=3e-3)


@given(fwhm=widths, relative=st.floats(1, 100))
def test_nothing_passes_above_the_cutoff(fwhm, relative):
    spot = Spot(fwhm=fwhm)
    assert optics.transfer(spot, relative * (1 + 1e-12) * optics.cutoff(spot)) == 0


def test_all_passes_at_frequency_zero_and_less_above():
    h = optics.transfer(SPOT, np.linspace(-1, 1, 101) * optics.cutoff(SPOT))
    assert h[50] == 1
    np.testing.assert_allclose(h, h[::-1])
    assert (np.diff(h[50:]) < 0).all()


def test_fwhm_from_aperture_and_wavelength():
    assert optics.airy_fwhm(0.0521, 405e-6) == pytest.approx(0.0040, abs=1e-4)
    assert optics.cutoff(Spot(fwhm=optics.airy_fwhm(0.5, 405e-6))) == pytest.approx(2 * 0.5 / 405e-6)


@pytest.mark.parametrize(
    ("na", "wavelength", "sentence"),
    [
        (0, 405, "na is 0, but must be above 0"), (np.nan, 405, "na is nan"),
        (1.8, 405, "na is 1.8, but must be at most 1.7"), (0.1, -1, "wavelength is -1"),
        (0.1, np.inf, "wavelength is inf"),
    ],
)  # fmt: skip
def test_bad_apertures_are_named(na, wavelength, sentence):
    with pytest.raises(InputError, match=sentence):
        optics.airy_fwhm(na, wavelength)

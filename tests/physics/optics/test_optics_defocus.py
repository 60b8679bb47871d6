"""Spots out of focus: the pupil by brute force, Gaussian beams, symmetry, the limit.

A spot of the same shape, so many times as wide.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import j0
from spots import SPOTS, WAVELENGTH, F, defocus

from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.types import Spot


def airy(psi: float) -> Spot:
    return Spot(F, defocus=defocus(psi), wavelength=WAVELENGTH)


def overlap(nu: float, psi: float, n: int = 800) -> float:
    """The pupil's autocorrelation at 2ν pupil radii, by counting squares: the definition of H."""
    y = (np.arange(n) + 0.5) / n
    x = np.linspace(-1, 1, 4 * n + 1)
    left, right = x[:, None] + nu, x[:, None] - nu
    inside = (left**2 + y**2 < 1) & (right**2 + y**2 < 1)
    wave = np.cos(psi * (left**2 - right**2))
    return 2 * float((inside * wave).sum()) * (x[1] - x[0]) / n / np.pi


@pytest.mark.parametrize("psi", [0.0, 1.0, -4.0, 15.0])
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8])
def test_transfer_is_the_overlap_of_the_defocused_pupil_with_itself(psi: float, nu: float) -> None:
    spot = airy(psi)
    assert optics.transfer(spot, nu * optics.cutoff(spot)) == pytest.approx(overlap(nu, psi), abs=4e-3)


@pytest.mark.parametrize("psi", [1.0, 6.0, 20.0])
@pytest.mark.parametrize("radius", [0.0, 0.4, 2.0, 11.0])
def test_profile_is_the_hankel_transform_of_the_transfer_function(psi: float, radius: float) -> None:
    """Two formulas that share nothing: |∫ pupil|² and Hopkins' integral. ν = cos θ takes the root away."""
    spot = airy(psi)
    theta = (np.arange(20_000) + 0.5) / 20_000 * np.pi / 2
    f = optics.cutoff(spot) * np.cos(theta)
    weight = 2 * np.pi * f * optics.cutoff(spot) * np.sin(theta) * np.pi / 2 / 20_000
    expected = weight @ (optics.transfer(spot, f) * j0(2 * np.pi * f * radius * F))
    h = optics.profile(spot, radius * F)
    assert h == pytest.approx(expected, abs=1e-6 * optics.profile(Spot(F), 0))


@pytest.mark.parametrize("psi", [0.5, 5.0, 18.0])
def test_on_the_axis_the_light_goes_as_a_sinc(psi: float) -> None:
    """h(0) = [sin(ψ/2)/(ψ/2)]² of that in focus (Born & Wolf §8.8.2)."""
    ratio = optics.profile(airy(psi), 0) / optics.profile(Spot(F), 0)
    assert ratio == pytest.approx((np.sin(psi / 2) / (psi / 2)) ** 2, abs=1e-9)


def test_both_sides_of_the_focus_are_alike_and_little_defocus_is_none() -> None:
    r, f = np.linspace(0, 5 * F, 50), np.linspace(0, 12, 50)
    np.testing.assert_array_equal(optics.transfer(airy(3), f), optics.transfer(airy(-3), f))
    np.testing.assert_allclose(optics.profile(airy(3), r), optics.profile(airy(-3), r), rtol=1e-9)
    np.testing.assert_allclose(optics.profile(airy(1e-5), r), optics.profile(Spot(F), r), atol=1e-7)
    np.testing.assert_allclose(optics.transfer(airy(1e-5), f), optics.transfer(Spot(F), f), atol=1e-9)


def test_tables_are_as_good_at_the_limit() -> None:
    """H from a table against Hopkins' integral itself, by a plain sum."""
    spot = airy(20.0)
    theta = (np.arange(100_000) + 0.5) / 100_000
    for nu in (0.011, 0.23, 0.77):
        end = np.arccos(nu)
        phi = theta * end
        integrand = np.sin(phi) ** 2 * np.cos(80 * nu * (np.cos(phi) - nu))
        expected = 4 / np.pi * end * integrand.mean()
        assert optics.transfer(spot, nu * optics.cutoff(spot)) == pytest.approx(expected, abs=1e-8)


def test_too_much_defocus_is_refused_with_the_limit() -> None:
    with pytest.raises(InputError, match=r"spot defocus is 20\.\d+ λ/\(π NA²\).* within 20 λ/\(π NA²\)"):
        optics.transfer(airy(20.5), 1.0)


def test_a_gaussian_beam_widens_as_it_should() -> None:
    """At Rayleigh's distance π w₀²/λ it is √2 wider, and half as high."""
    w0 = F / optics.FWHM_PER_RADIUS
    spot = Spot(F, "gaussian", defocus=np.pi * w0**2 / WAVELENGTH, wavelength=WAVELENGTH)
    assert optics.fwhm(spot) == pytest.approx(F * np.sqrt(2), rel=1e-12)
    assert optics.profile(spot, 0) == pytest.approx(optics.profile(Spot(F, "gaussian"), 0) / 2, rel=1e-12)
    assert optics.gaussian_fwhm(w0) == pytest.approx(F)
    assert optics.profile(Spot(F, "gaussian"), w0) == pytest.approx(
        optics.profile(Spot(F, "gaussian"), 0) * np.exp(-2)
    )


def test_far_out_of_focus_the_light_is_the_shadow_of_the_aperture() -> None:
    """The disc's radius is z NA/√(1 − NA²) ≈ z NA."""
    spot = airy(20.0)
    na = optics.FWHM_PER_RESOLUTION * WAVELENGTH / F
    assert optics.fwhm(spot) / 2 == pytest.approx(spot.defocus * na, rel=0.2)
    assert optics.energy_outside(spot, 1.1 * spot.defocus * na) < 0.1
    assert optics.energy_outside(spot, 0.5 * spot.defocus * na) == pytest.approx(0.75, abs=0.05)


@pytest.mark.parametrize("name", ["airy", "gaussian"])
def test_the_derivative_with_respect_to_defocus_vanishes_in_focus(name: str) -> None:
    spot = replace(SPOTS[name], wavelength=WAVELENGTH)
    f = np.linspace(0, 12, 7)
    assert np.abs(optics.transfer_slopes(spot, f)[1]).max() < 1e-12
    assert np.abs(optics.transfer_slopes(SPOTS[name], f)[1]).max() < 1e-12


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

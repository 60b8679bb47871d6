"""Spots that are not round, and what holds of all spots in the plane."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sets import one_fast
from spots import ALL, ELLIPTICAL, PHOTOGRAPHS, SPOTS, F, image

from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.optics import BeamImage
from laserpath.types import Spot

PLAIN = (
    "airy", "gaussian", "flat-top", "airy-function", "table", "elliptical airy",
    "elliptical table", "photograph",
)  # fmt: skip
every = pytest.mark.parametrize(
    "spot",
    [
        pytest.param(spot, id=name, marks=pytest.mark.slow if name in PLAIN else ())
        for name, spot in ALL.items()
    ],
)
"""Slow: those that are simpler than one of the others."""
not_round = pytest.mark.parametrize(
    "spot", [*ELLIPTICAL.values(), *PHOTOGRAPHS.values()], ids=[*ELLIPTICAL, *PHOTOGRAPHS]
)


def plane(half: float, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Midpoints of n × n squares within ±half (mm), and their area."""
    x = (np.arange(n) - n / 2 + 0.5) * 2 * half / n
    return x[None, :], x[:, None], (2 * half / n) ** 2


@not_round
def test_transfer_is_the_fourier_transform_of_the_profile(spot: Spot) -> None:
    slow = spot.profile == "airy"  # of its energy 0.8 % is farther out than 25 FWHM
    x, y, area = plane((25 if slow else 5) * F, 800)
    h = optics.profile(spot, x, y) * area
    for fx, fy in ((0.0, 0.0), (2.0, 1.0), (-3.0, 4.0), (0.0, -7.0)):
        expected = np.exp(-2j * np.pi * fy * y).T[0] @ h @ np.exp(-2j * np.pi * fx * x)[0]
        assert optics.transfer(spot, fx, fy) == pytest.approx(expected, abs=1.5e-2 if slow else 1e-6)


@not_round
def test_energy_outside_a_circle_is_what_is_not_inside(spot: Spot) -> None:
    for radius in (0.5 * F, 1.2 * F):
        x, y, area = plane(radius, 500)
        inside = optics.profile(spot, x, y)[np.hypot(x, y) < radius].sum() * area
        assert inside + optics.energy_outside(spot, radius) == pytest.approx(1, abs=5e-4)


@every
def test_slopes_are_central_differences(spot: Spot) -> None:
    rng = np.random.default_rng(1)
    f = rng.uniform(-1.5, 1.5, (2, 60)) / F
    per_fwhm, per_defocus = optics.transfer_slopes(spot, *f)
    step = 1e-5 * F
    wider, narrower = (optics.transfer(replace(spot, fwhm=F + s), *f) for s in (step, -step))
    np.testing.assert_allclose(per_fwhm, (wider - narrower) / (2 * step), atol=3e-6 / F)
    if spot.defocus:
        step = 1e-5 * abs(spot.defocus)
        farther, nearer = (
            optics.transfer(replace(spot, defocus=spot.defocus + s), *f) for s in (step, -step)
        )
        scale = 1 / abs(spot.defocus)
        np.testing.assert_allclose(per_defocus, (farther - nearer) / (2 * step), atol=3e-6 * scale)
    else:
        assert not per_defocus.any()


@every
def test_a_mesh_of_frequencies_is_as_good_as_one_by_one(spot: Spot) -> None:
    fx, fy = np.linspace(0, 2 / F, 40)[None, :], np.linspace(-2 / F, 2 / F, 61)[:, None]
    mesh = optics.transfer(spot, fx, fy)
    one_by_one = optics.transfer(spot, *(f.ravel() for f in np.broadcast_arrays(fx, fy)))
    assert mesh.shape == (61, 40)
    np.testing.assert_allclose(mesh.ravel(), one_by_one, atol=1e-9)
    # A real spot: H(−f) is the conjugate.
    np.testing.assert_allclose(optics.transfer(spot, -fx, -fy), mesh.conj(), atol=1e-9)


@every
def test_scaling_the_spot_scales_everything(spot: Spot) -> None:
    """In focus, or with the defocus scaled by the square of the width."""
    twice = replace(spot, fwhm=2 * F, defocus=4 * spot.defocus)
    assert optics.fwhm(twice) == pytest.approx(2 * optics.fwhm(spot))
    assert optics.profile(twice, 0.06, 0.1) == pytest.approx(optics.profile(spot, 0.03, 0.05) / 4)
    assert optics.transfer(twice, 2.0, -1.0) == pytest.approx(optics.transfer(spot, 4.0, -2.0))
    assert optics.cutoff(twice, 0.02) == pytest.approx(optics.cutoff(spot, 0.02) / 2)
    assert optics.reach(twice, 0.02) == pytest.approx(2 * optics.reach(spot, 0.02))
    assert optics.tail(twice) == pytest.approx(2 * optics.tail(spot))
    assert optics.energy_outside(twice, 0.3) == pytest.approx(optics.energy_outside(spot, 0.15), abs=1e-12)
    expected = optics.power_integral(spot) / 4 ** (spot.photons - 1)
    assert optics.power_integral(twice) == pytest.approx(expected)


# Ellipses


def test_an_ellipse_has_its_widths_along_and_across() -> None:
    spot = ELLIPTICAL["gaussian"]
    along = np.array([np.cos(np.radians(110)), np.sin(np.radians(110))])
    across = np.array([-along[1], along[0]])
    half = optics.profile(spot, 0) / 2
    assert optics.profile(spot, *(along * F * np.sqrt(2) / 2)) == pytest.approx(half)
    assert optics.profile(spot, *(across * F / np.sqrt(2) / 2)) == pytest.approx(half)
    assert optics.fwhm(spot) == F


@pytest.mark.parametrize("spot", ELLIPTICAL.values(), ids=ELLIPTICAL.keys())
def test_an_ellipse_is_the_same_after_half_a_turn_or_with_swapped_axes(spot: Spot) -> None:
    x, y = np.random.default_rng(2).uniform(-2 * F, 2 * F, (2, 100))
    h, t = optics.profile(spot, x, y), optics.transfer(spot, 20 * x, 20 * y)
    scale = h.max()
    for angle, aspect in ((spot.angle + 180, spot.aspect), (spot.angle - 90, 1 / spot.aspect)):
        same = replace(spot, angle=angle, aspect=aspect)
        np.testing.assert_allclose(optics.profile(same, x, y), h, atol=1e-9 * scale)
        np.testing.assert_allclose(optics.transfer(same, 20 * x, 20 * y), t, atol=1e-9)
    np.testing.assert_allclose(optics.profile(spot, -x, -y), h, atol=1e-12 * scale)


@pytest.mark.parametrize("spot", ELLIPTICAL.values(), ids=ELLIPTICAL.keys())
def test_the_limits_of_an_ellipse_hold_in_every_direction(spot: Spot) -> None:
    angle = np.radians(np.arange(0, 360, 3))
    reach = optics.reach(spot, 0.01)
    far = np.linspace(reach, 2 * reach, 300)[:, None]
    peak = optics.profile(spot, *(np.linspace(-F, F, 201)[i] for i in np.ix_(range(201), range(201)))).max()
    assert optics.profile(spot, far * np.cos(angle), far * np.sin(angle)).max() <= 0.01 * peak
    if spot.profile == "airy":
        limit = optics.cutoff(spot) * (1 + 1e-9)
        assert not optics.transfer(spot, limit * np.cos(angle), limit * np.sin(angle)).any()
        assert optics.transfer(spot, *(0.98 * limit * np.array([np.cos(angle), np.sin(angle)]))).any()


def test_the_tail_of_an_ellipse_is_the_mean_over_its_angle() -> None:
    spot = ELLIPTICAL["airy"]
    r = np.linspace(150, 250, 4001)[:, None] * F
    angle = np.linspace(0, np.pi, 200, endpoint=False)
    mean = (optics.profile(spot, r * np.cos(angle), r * np.sin(angle)) * r**3).mean()
    assert optics.tail(spot) == pytest.approx(mean, rel=2e-3)


def test_round_is_round_whatever_the_angle() -> None:
    spot = SPOTS["airy"]
    turned = replace(spot, angle=33.0)
    np.testing.assert_allclose(optics.transfer(turned, 3.0, 4.0), optics.transfer(spot, 5.0), rtol=1e-12)
    assert optics.profile_slope(ELLIPTICAL["airy"], 0.03) == optics.profile_slope(spot, 0.03)


# Photographs


def test_a_photographed_gaussian_is_the_gaussian() -> None:
    spot, gaussian = Spot(F, "measured", measured=image()), Spot(F, "gaussian")
    assert image().fwhm() == pytest.approx(24e-3, rel=1e-3)
    x, y = np.random.default_rng(3).uniform(-F, F, (2, 200))
    peak = optics.profile(gaussian, 0)
    np.testing.assert_allclose(
        optics.profile(spot, x, y), optics.profile(gaussian, np.hypot(x, y)), atol=2e-3 * peak
    )
    np.testing.assert_allclose(
        optics.transfer(spot, 100 * x, 100 * y), optics.transfer(gaussian, 100 * np.hypot(x, y)), atol=1e-3
    )
    assert optics.fwhm(spot) == pytest.approx(F, rel=1e-6)


def test_an_elliptical_photograph_is_turned_to_its_angle() -> None:
    photo = image((36.0, 16.0))
    spot = Spot(F, "measured", measured=photo, angle=30.0)
    gaussian = Spot(F, "gaussian", aspect=36 / 16, angle=30.0)
    x, y = np.random.default_rng(4).uniform(-F, F, (2, 200))
    expected = optics.profile(gaussian, x, y)
    np.testing.assert_allclose(optics.profile(spot, x, y), expected, atol=5e-3 * expected.max())


def test_a_large_mesh_that_is_turned_is_interpolated_well() -> None:
    spot = PHOTOGRAPHS["photograph, turned"]
    fx, fy = np.linspace(0, 3 / F, 90)[None, :], np.linspace(-3 / F, 3 / F, 80)[:, None]
    mesh = optics.transfer(spot, fx, fy)
    slope = optics.transfer_slopes(spot, fx, fy)[0]
    pick = np.random.default_rng(5).integers(0, 80, (2, 100))
    few = fx[0, pick[0]], fy[pick[1], 0]
    np.testing.assert_allclose(mesh[pick[1], pick[0]], optics.transfer(spot, *few), atol=1e-9)
    np.testing.assert_allclose(slope[pick[1], pick[0]], optics.transfer_slopes(spot, *few)[0], atol=1e-7 / F)


def test_the_centroid_is_the_origin_wherever_the_spot_was_in_the_picture() -> None:
    here, there = (
        Spot(F, "measured", measured=image(centre=at, skew=0.5)) for at in ((60.0, 60.0), (52.0, 63.0))
    )
    x, y = np.random.default_rng(6).uniform(-F, F, (2, 100))
    peak = optics.profile(here, 0)
    np.testing.assert_allclose(optics.profile(here, x, y), optics.profile(there, x, y), atol=1e-6 * peak)
    # No first moment: the phase of H begins with the third power of the frequency.
    assert abs(optics.transfer(here, 1e-3, 2e-3).imag) < 1e-9


@pytest.mark.parametrize("spot", PHOTOGRAPHS.values(), ids=PHOTOGRAPHS.keys())
@pytest.mark.parametrize("tolerance", one_fast([0.02, 1e-3], 1e-3))
def test_the_limits_of_a_photograph_hold(spot: Spot, tolerance: float) -> None:
    x, y, _ = plane(2.5 * F, 801)
    h = optics.profile(spot, x, y)
    assert h[np.hypot(x, y) > optics.reach(spot, tolerance)].max(initial=0) <= tolerance * h.max()
    limit = optics.cutoff(spot, tolerance)
    f = np.arange(-250, 251) * 0.03 / F
    size = np.abs(optics.transfer(spot, f[None, :], f[:, None])) * (f[1] - f[0]) ** 2
    above = np.hypot(f[:, None], f) > limit
    assert size[above].sum() <= 1.02 * tolerance * h.max()


def test_a_sharp_edged_photograph_has_a_cutoff_too() -> None:
    """Its spectrum falls slowly; the bound comes from the sum over all periods."""
    light = np.zeros((20, 20))
    light[8:13, 8:13] = 1
    spot = Spot(F, "measured", measured=BeamImage(light, 0.01))
    loose, fine = optics.cutoff(spot, 1e-2), optics.cutoff(spot, 1e-4)
    assert 5 / F < loose < fine < np.inf
    f = np.arange(-250, 251) * 0.2 / F
    size = np.abs(optics.transfer(spot, f[None, :], f[:, None])) * (f[1] - f[0]) ** 2
    above = np.hypot(f[:, None], f) > loose
    assert size[above].sum() <= 1.02e-2 * optics.profile(spot, 0)


def test_a_photograph_has_no_slope_along_a_radius() -> None:
    with pytest.raises(InputError, match="photographed spot is not round"):
        optics.profile_slope(PHOTOGRAPHS["photograph"], 0.1)


@pytest.mark.parametrize("tolerance", [-1, 1, np.nan])
def test_a_tolerance_that_makes_no_sense(tolerance: float) -> None:
    with pytest.raises(InputError, match=r"tolerance is .* at least 0 and below 1"):
        optics.cutoff(SPOTS["airy"], tolerance)

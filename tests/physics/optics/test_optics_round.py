"""Every round spot: energy 1, half maximum, transfer function, powers, cut-off, reach, tail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import j0
from sets import one_fast
from spots import SPOTS, F, gaussian_table, rings

from laserpath.physics import optics
from laserpath.types import Spot

every = pytest.mark.parametrize("spot", SPOTS.values(), ids=SPOTS.keys())


@every
@pytest.mark.parametrize("radius", [0.3, 1.0, 6.0])
def test_energy_inside_and_outside_a_circle_is_all(spot: Spot, radius: float) -> None:
    r, ring = rings(radius * F)
    inside = ring @ optics.profile(spot, r)
    assert inside + optics.energy_outside(spot, radius * F) == pytest.approx(1, abs=1e-7)


@every
def test_nothing_of_the_energy_is_inside_a_point_and_nothing_outside_the_world(spot: Spot) -> None:
    assert optics.energy_outside(spot, 0) == pytest.approx(1, abs=1e-9)
    assert optics.energy_outside(spot, 1000 * F) < 1e-3


@every
def test_half_the_maximum_is_at_half_the_width(spot: Spot) -> None:
    r = np.linspace(0, 3 * F, 30_001)
    h = optics.profile(spot, r)
    half = optics.fwhm(spot) / 2
    assert optics.profile(spot, half) == pytest.approx(h.max() / 2, rel=1e-5)
    assert (h[r > half + 1e-9] < h.max() / 2).all()


@pytest.mark.parametrize("name", ["airy", "gaussian", "flat-top", "airy-function", "table"])
def test_the_width_in_focus_is_the_requested_one(name: str) -> None:
    assert optics.fwhm(SPOTS[name]) == pytest.approx(F, rel=1e-9)


@every
@pytest.mark.parametrize("frequency", one_fast([0.0, 0.2, 0.7, 1.5], 0.7))
def test_transfer_is_the_hankel_transform_of_the_profile(spot: Spot, frequency: float) -> None:
    """H(f) = 2π ∫ h J₀(2πfr) r dr. An Airy spot's tail is faded out, which blurs H by 1/(2π 40 FWHM)."""
    slow = spot.profile == "airy" and spot.photons == 1
    r, ring = rings((400 if slow else 40) * F, 200_000)
    fade = np.exp(-((r / (150 * F)) ** 2)) if slow else 1.0
    numerical = (ring * fade) @ (optics.profile(spot, r) * j0(2 * np.pi * frequency / F * r))
    assert optics.transfer(spot, frequency / F) == pytest.approx(numerical, abs=3e-3 if slow else 1e-6)


@every
def test_transfer_is_1_at_0_and_real(spot: Spot) -> None:
    h = optics.transfer(spot, np.array([0.0, 3.0, -3.0]))
    assert h.dtype == np.float64
    assert h[0] == pytest.approx(1, abs=1e-11)
    assert h[1] == h[2]


@every
def test_slope_along_the_squared_radius_is_the_finite_difference(spot: Spot) -> None:
    square, step = np.linspace(0.1, 2, 40) * F**2, 1e-6 * F**2
    above, below = (optics.profile(spot, np.sqrt(square + s)) for s in (step, -step))
    expected = (above - below) / (2 * step)
    scale = optics.profile(spot, 0) / F**2
    np.testing.assert_allclose(optics.profile_slope(spot, np.sqrt(square)), expected, atol=2e-6 * scale)


@every
def test_the_profile_is_even_and_nowhere_negative(spot: Spot) -> None:
    r = np.linspace(0, 30 * F, 5001)
    h = optics.profile(spot, r)
    assert (h >= 0).all()
    np.testing.assert_array_equal(h, optics.profile(spot, -r))
    np.testing.assert_allclose(h, optics.profile(spot, r * 0.6, r * 0.8), atol=1e-12 * h.max())


@every
@pytest.mark.parametrize("tolerance", [0.05, 1e-3, 1e-5])
def test_beyond_its_reach_a_spot_is_as_faint_as_requested(spot: Spot, tolerance: float) -> None:
    reach = optics.reach(spot, tolerance)
    peak = optics.profile(spot, np.linspace(0, 2 * F, 2001)).max()
    outside = optics.profile(spot, np.linspace(reach, 3 * reach, 20_001))
    assert outside.max() <= tolerance * peak * (1 + 1e-9)
    near = optics.profile(spot, np.linspace(0.9 * reach, reach, 2001))
    assert near.max() >= 0.6 * tolerance * peak


@every
@pytest.mark.parametrize("tolerance", [0.1, 0.06])
def test_what_lies_above_the_cutoff_changes_the_spot_by_no_more_than_requested(
    spot: Spot, tolerance: float
) -> None:
    limit, end = optics.cutoff(spot, tolerance), 8 / F
    peak = optics.profile(spot, np.linspace(0, 2 * F, 2001)).max()

    def above(low: float) -> float:
        f = low + (np.arange(20_000) + 0.5) * (end - low) / 20_000
        size = np.abs(optics.transfer(spot, f)) * 2 * np.pi * f
        # Beyond the end the spectrum of a cusp falls as f^-3; the others have none there.
        return float(size.sum() * (end - low) / 20_000 + size[-1] * end)

    assert above(limit) <= tolerance * peak * (1 + 2e-3)
    # And it is no needless height either: leaving out more would be too much.
    assert above(0.9 * limit) > tolerance * peak


def test_only_the_airy_spot_ends_in_frequency() -> None:
    assert optics.cutoff(SPOTS["airy, 3 photons"]) == pytest.approx(3 * optics.cutoff(SPOTS["airy"]))
    assert optics.cutoff(SPOTS["airy, defocused"]) == optics.cutoff(SPOTS["airy"])
    for name in ("gaussian", "flat-top", "airy-function", "table"):
        assert optics.cutoff(SPOTS[name]) == np.inf


@pytest.mark.parametrize("name", ["airy", "airy, defocused"])
def test_far_away_the_mean_over_the_rings_is_the_tail(name: str) -> None:
    r = np.linspace(150, 150 + 40 * 0.9719, 8001) * F  # 40 rings
    mean = (optics.profile(SPOTS[name], r) * r**3).mean()
    assert optics.tail(SPOTS[name]) == pytest.approx(mean, rel=2e-3)


@pytest.mark.parametrize("name", ["airy, 2 photons", "gaussian", "flat-top", "airy-function", "table"])
def test_the_others_fall_faster(name: str) -> None:
    assert optics.tail(SPOTS[name]) == 0
    assert optics.profile(SPOTS[name], 20 * F) * (20 * F) ** 3 < 1e-4 * optics.tail(SPOTS["airy"])


# Powers


@pytest.mark.parametrize("photons", [2, 3, 5])
@pytest.mark.parametrize(
    "name", ["airy", "airy, defocused", "gaussian", "flat-top", "airy-function", "table"]
)
def test_n_photons_see_the_power_of_the_spot(name: str, photons: int) -> None:
    one = SPOTS[name]
    spot = replace(one, photons=photons)
    r, ring = rings(20 * F)
    power = optics.profile(one, r) ** photons
    assert optics.power_integral(spot) == pytest.approx(ring @ power, rel=1e-6)
    expected = power / optics.power_integral(spot)
    np.testing.assert_allclose(optics.profile(spot, r), expected, atol=1e-9 * expected.max())
    assert optics.power_integral(one) == 1


def test_known_integrals_of_powers() -> None:
    """∫ [2J₁(v)/v]⁴ d²v = 4π · 0.46… by quadrature in v; ∫ h² = 2 ln 2/(π FWHM²) of a Gaussian."""
    assert optics.power_integral(Spot(F, "gaussian", photons=2)) == pytest.approx(
        2 * np.log(2) / (np.pi * F**2), rel=1e-14
    )
    # Parseval: ∫ h² = ∫ H² d²f.
    spot = SPOTS["airy"]
    f = (np.arange(200_000) + 0.5) / 200_000 * optics.cutoff(spot)
    parseval = (optics.transfer(spot, f) ** 2 * 2 * np.pi * f).sum() * optics.cutoff(spot) / 200_000
    assert optics.power_integral(SPOTS["airy, 2 photons"]) == pytest.approx(parseval, rel=1e-9)


def test_the_squared_airy_spot_has_the_overlap_of_two_transfer_functions() -> None:
    """The transform of h² is H * H, here by a two-dimensional sum over the frequencies."""
    one, two = Spot(1.0), Spot(1.0, photons=2)
    limit = optics.cutoff(one)
    n = 400
    f = (np.arange(-n, n) + 0.5) / n * limit
    base = optics.transfer(one, np.hypot(f[:, None], f))
    for shift in (0.0, 0.5, 1.2):
        moved = optics.transfer(one, np.hypot(f[:, None], f - shift * limit))
        overlap = (base * moved).sum() * (limit / n) ** 2 / optics.power_integral(two)
        assert optics.transfer(two, shift * limit) == pytest.approx(overlap, abs=2e-5)


# The spots without a closed form


def test_the_airy_function_has_its_known_energy_and_a_cusp() -> None:
    spot = SPOTS["airy-function"]
    r = np.linspace(0, 1e-4, 11) * F
    slope = np.diff(optics.profile(spot, r)) / np.diff(r)
    assert slope[0] == pytest.approx(slope[-1], rel=1e-6)
    assert slope[0] < -optics.profile(spot, 0) / F
    # A cusp of that slope has the spectrum |h′(0)|/(4π²f³).
    f = 7 / F
    assert optics.transfer(spot, f) == pytest.approx(-slope[0] / (4 * np.pi**2 * f**3), rel=0.01)


def test_a_tabulated_gaussian_is_the_gaussian() -> None:
    spot, gaussian = SPOTS["table"], SPOTS["gaussian"]
    assert gaussian_table(0.02).fwhm() == pytest.approx(0.02, rel=1e-6)
    r, f = np.linspace(0, 2.9, 200) * F, np.linspace(0, 3, 100) / F
    h = optics.profile(gaussian, r)
    np.testing.assert_allclose(optics.profile(spot, r), h, atol=1e-5 * h.max())
    np.testing.assert_allclose(optics.transfer(spot, f), optics.transfer(gaussian, f), atol=1e-5)
    assert optics.profile(spot, 3.01 * F) == 0


def test_tables_are_kept() -> None:
    spot = Spot(F, photons=2)
    first = optics._shape(spot)
    assert optics._shape(replace(spot, fwhm=2 * F)) is first

"""The exact integrals that the engine is measured by, against an integration of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from exact import airy_segment, gaussian_segment
from scipy.integrate import dblquad, quad
from scipy.special import j1
from sets import one_fast

from laserpath.types import Grid, Spot

SPOTS = [
    Spot(fwhm=0.1, profile="gaussian"),
    Spot(fwhm=0.12, profile="gaussian", aspect=1.6, angle=30.0),
    Spot(fwhm=0.15, profile="gaussian", photons=2),
]
ENDS = np.array([[-0.05, 0.02], [0.13, -0.04]])


def one_pixel(x: float, y: float) -> Grid:
    return Grid(origin=(x, y), pitch=0.01, shape=(1, 1))


def gaussian(spot: Spot, x: float, y: float) -> float:
    """exp(−4 ln 2 [(s/a)² + (t/b)²]) for axes of FWHM a and b, to the power of the photons."""
    turn = np.deg2rad(spot.angle)
    s, t = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    a, b = spot.fwhm * np.sqrt(spot.aspect), spot.fwhm / np.sqrt(spot.aspect)
    return float(np.exp(-4 * np.log(2) * ((s / a) ** 2 + (t / b) ** 2))) ** spot.photons


@pytest.mark.parametrize("spot", SPOTS, ids=["round", "elliptical", "two-photon"])
@pytest.mark.parametrize("at", one_fast([(0.0, 0.0), (0.13, -0.05), (-0.1, 0.08)], (0.13, -0.05)))
def test_gaussian_segment(spot, at):
    one = replace(spot, photons=1)
    whole, _ = dblquad(lambda y, x: gaussian(one, x, y), -0.6, 0.6, -0.6, 0.6, epsabs=1e-12)
    step = ENDS[1] - ENDS[0]
    line, _ = quad(lambda f: gaussian(spot, *(at - ENDS[0] - f * step)), 0, 1, epsabs=1e-13)
    expected = 3.0 * np.hypot(*step) * line / whole**spot.photons
    assert gaussian_segment(one_pixel(*at), spot, *ENDS, q=3.0)[0, 0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("at", [(0.0, 0.0), (0.13, -0.05), (-0.3, 0.4)])
def test_airy_segment(at):
    """h from NA and wavelength; FWHM = 0.5145 λ/NA (Born & Wolf) and half its peak at half of that."""
    na, wavelength = 0.02, 0.000405
    spot = Spot(fwhm=1.6163399483107026 / np.pi * wavelength / na)
    x_half = np.pi * na * spot.fwhm / wavelength
    assert (2 * j1(x_half) / x_half) ** 2 == pytest.approx(0.5, rel=1e-12)
    ends, at = ENDS * 0.1, np.multiply(at, 0.1)

    def h(f: float) -> float:
        x = 2 * np.pi * na / wavelength * np.hypot(*(at - ends[0] - f * (ends[1] - ends[0])))
        return np.pi * na**2 / wavelength**2 * (2 * j1(x) / x) ** 2

    line, _ = quad(h, 0, 1, epsabs=1e-7, limit=400)
    expected = np.hypot(*(ends[1] - ends[0])) * line
    assert airy_segment(one_pixel(*at), spot, *ends)[0, 0] == pytest.approx(expected, rel=1e-6)


def test_no_length_is_no_dose():
    for exact in (airy_segment, gaussian_segment):
        assert not exact(one_pixel(0.0, 0.0), SPOTS[0], ENDS[0], ENDS[0]).any()

"""∂L/∂FWHM and ∂L/∂defocus against central differences of the dose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import D_DOSE, GRID, random_curve, toolpath

from laserpath.physics.dose import DoseModel
from laserpath.types import Spot

SPOTS = {
    "airy": Spot(fwhm=0.1),
    "gaussian": Spot(fwhm=0.1, profile="gaussian"),
    "defocused airy": Spot(fwhm=0.1, defocus=0.8, wavelength=0.004),
    "defocused gaussian": Spot(fwhm=0.1, profile="gaussian", defocus=0.8, wavelength=0.004),
    "elliptical": Spot(fwhm=0.1, aspect=1.4, angle=20.0),
    "two-photon": Spot(fwhm=0.1, profile="gaussian", photons=2),
}
EXACT = {"precision": "f64", "tolerance": 1e-6}
PATH = toolpath(random_curve(4))


X, Y = np.meshgrid(GRID.x(), GRID.y())
SMOOTH = np.sin(9 * X + 1) * np.cos(7 * Y) + 0.3 * X
"""∂L/∂D of a loss without pixel noise: the dose is known to 1e-6, so its differences are to 1e-6/step."""


def loss(spot: Spot) -> float:
    """At one line energy whatever the spot, as the model's gradient is."""
    return float((DoseModel(GRID, spot, **EXACT).line_dose(PATH.xy, PATH.line_energy) * SMOOTH).sum())


# In focus the dose has no slope with respect to the defocus, by symmetry.
@pytest.mark.parametrize(
    ("name", "which"),
    [
        pytest.param(name, which, marks=() if name == "defocused airy" else pytest.mark.slow)
        for name in SPOTS
        for which in ("fwhm", *["defocus"] * bool(SPOTS[name].defocus))
    ],
)
def test_spot_gradient_is_the_central_difference(name, which):
    spot = SPOTS[name]
    step = 0.02 * spot.fwhm if which == "fwhm" else 0.02
    value = {k: loss(replace(spot, **{which: getattr(spot, which) + k * step})) for k in (-2, -1, 1, 2)}
    expected = (8 * (value[1] - value[-1]) - (value[2] - value[-2])) / (12 * step)
    model = DoseModel(GRID, spot, **EXACT)
    points = model.points(PATH.xy, PATH.line_energy)
    found = getattr(model.engine.spot_gradient(points.xy, points.energy, SMOOTH), which)
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_spot_gradient_is_finite_and_the_same_twice(precision):
    for spot in SPOTS.values():
        model = DoseModel(GRID, spot, precision=precision)
        first, second = model.spot_gradient(PATH, D_DOSE), model.spot_gradient(PATH, D_DOSE)
        assert (first.fwhm, first.defocus) == (second.fwhm, second.defocus)
        assert np.isfinite([first.fwhm, first.defocus]).all()

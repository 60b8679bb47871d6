"""What the kinetics refuses, each in a sentence with name, value and limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from laserpath.base.errors import InputError
from laserpath.operators.kinetics import kinetics_operator
from laserpath.physics.kinetics import KineticModel, Kinetics, Light, model
from laserpath.physics.optics import BeamImage
from laserpath.types import Grid, Process, Resin, Spot

GRID = Grid((0.0, 0.0), 0.01, (20, 30))
SPOT = Spot(fwhm=0.08, profile="gaussian")
RATES = Kinetics(radical_dose=0.3, propagation=3.0, termination=2.0, diffusion=1e-4)


def test_wrong_numbers_are_a_sentence() -> None:
    one, model = np.zeros(1), KineticModel(GRID, SPOT, RATES)
    with pytest.raises(InputError, match="kinetics inhibition is -1, but must be finite and at least 0"):
        Kinetics(1.0, 1.0, inhibition=-1.0)
    with pytest.raises(InputError, match=r"gel_conversion is 1\.5, but must be below 1"):
        Kinetics(1.0, 1.0, gel_conversion=1.5)
    with pytest.raises(InputError, match=r"must have \(M, 2\)"):
        Light(np.zeros((2, 2)), one, one)
    with pytest.raises(InputError, match=r"energies of shape \(2, 1\)"):
        Light(np.zeros((2, 2)), np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(InputError, match="light xy is complex, but must have real values"):
        Light(np.full((1, 2), 1j), one, one)
    with pytest.raises(InputError, match="ascend"):
        Light(np.zeros((2, 2)), np.zeros(2), np.array([1.0, 0.0]))
    with pytest.raises(InputError, match="end is 0 s, but the last light is at 3 s"):
        model.expose(Light(np.zeros((1, 2)), one, one + 3), 0.0)
    with pytest.raises(InputError, match="end is 0 s, but the last light is at 3 s"):
        kinetics_operator(model, 0.0)(np.zeros((1, 2)), one, one + 3)
    with pytest.raises(InputError, match=r"energies of shape \(\) and times"):
        kinetics_operator(model, 1.0)(np.zeros((1, 2)), 0.0, one)
    for end in (-1.0, np.inf, np.nan):
        with pytest.raises(InputError, match=f"end is {end:g} s, but must be finite and at least 0 s"):
            kinetics_operator(model, end)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: KineticModel(GRID, SPOT, RATES, farthest=0.5),
            "farthest is 0.5 FWHM, but must be between 1 and",
        ),
        (
            lambda: KineticModel(GRID, SPOT, RATES, farthest=np.nan),
            "farthest is nan FWHM, but must be between",
        ),
        (
            lambda: KineticModel(GRID, SPOT, RATES, memory=0),
            "memory is 0, but must be a whole number from 1 to",
        ),
        (
            lambda: KineticModel(GRID, SPOT, RATES, memory=2.5),
            "memory is 2.5, but must be a whole number from",
        ),
        (
            lambda: KineticModel(GRID, SPOT, RATES, interval=0),
            "interval is 0 s, but must be finite and above 0 s",
        ),
        (lambda: KineticModel(GRID, SPOT, RATES, interval="a"), "interval is 'a', but must be a number"),
        (lambda: Kinetics(0.3, 3.0, wait=1e12), "kinetics wait is 1e+12 s, but must be at most 1e+06 s"),
    ],
)
def test_a_parameter_out_of_bounds(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("interval", "end", "sentence"),
    [
        (1.0, 1e12, "end is 1e+12 s and the interval 1 s, which are 1 000 000 000 000 intervals, but"),
        (1e-308, 1e12, "end is 1e+12 s and the interval 1e-308 s, which are inf intervals"),
        (1.0, np.inf, "end is inf s, but must be finite"),
        (1.0, np.nan, "end is nan s, but must be finite"),
        (1.0, -1.0, "end is -1 s, but the last light is at 0 s"),
    ],
)
def test_an_end_that_cannot_be_reached(interval: float, end: float, sentence: str) -> None:
    nothing = Light(np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    with pytest.raises(InputError) as caught:
        KineticModel(GRID, SPOT, RATES, interval=interval).expose(nothing, end)
    assert str(caught.value).startswith(sentence)


def test_a_slope_that_is_not_finite() -> None:
    run = KineticModel(GRID, SPOT, RATES).expose(Light(np.zeros((1, 2)), np.ones(1), np.zeros(1)))
    slope = np.ones(GRID.shape)
    slope[3, 4:6] = np.nan, np.inf
    with pytest.raises(InputError, match="d_conversion is not finite in 2 values"):
        run.gradient(slope)
    with pytest.raises(InputError, match=r"d_conversion has shape \(3,\), but must have \(20, 30\)"):
        run.gradient([1.0, 2.0, 3.0])


def test_a_photographed_spot_before_anything_is_planned() -> None:
    spot = Spot(fwhm=0.08, profile="measured", measured=BeamImage(np.ones((5, 5)), 0.02))
    with pytest.raises(
        InputError, match="the kinetic model has no photographed spot; give its FWHM and a profile"
    ):
        KineticModel(GRID, spot, RATES)
    with pytest.raises(
        InputError, match="'mine' reacts through time, and there the spot cannot be a photograph"
    ):
        Process(spot=spot, resin=Resin(name="mine", kinetics=RATES))


def test_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "device", lambda: "vulkan")
    with pytest.raises(InputError, match="device is 'vulkan', but resins react on the 'cpu' only"):
        KineticModel(GRID, SPOT, RATES)

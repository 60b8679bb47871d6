"""A noun written as a profile is the same noun when it is read."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcode
from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.config.profiles import writing
from laserpath.physics.optics import BeamTable
from laserpath.types import DoseMap, LayerChange, Machine, Resin, Spot

LENGTHS = st.floats(1e-4, 10)
SHAPERS = st.none() | st.builds(
    gcode.motion.Shaper,
    st.sampled_from(["zv", "mzv", "3hump_ei"]),
    st.integers(1, 200),
    st.sampled_from([0.0, 0.1]),
)
RATES = st.tuples(st.floats(1, 500), st.floats(1, 500))


def back(kind: str, noun: Machine | Resin | Spot) -> Machine | Resin | Spot:
    table = tomllib.loads(writing.text(noun), parse_float=Decimal)
    read: Machine | Resin | Spot = getattr(profiles, kind)(table)
    return read


def like(read: object, written: object) -> bool:
    """Equal to the twelve digits that are written."""
    for name in written.__slots__:  # type: ignore[attr-defined]
        value = getattr(written, name)
        same = getattr(read, name)
        parts = value if isinstance(value, tuple) else (value,)
        if all(isinstance(part, float) for part in parts):
            assert same == pytest.approx(value, rel=1e-10), name
        else:
            assert same == value, name
    return True


@pytest.mark.parametrize("kind", profiles.FOLDERS)
def test_those_that_come_along(kind: str) -> None:
    for name in profiles.shipped(kind):
        noun = getattr(profiles, kind)(name)
        assert like(back(kind, noun), noun)


@given(
    size=RATES, speed=RATES, power=st.floats(0.1, 1e4), name=st.text("a\"\\ µ'#\n", min_size=1),
    steps=st.none() | RATES,
)  # fmt: skip
def test_any_machine(
    size: tuple[float, float],
    speed: tuple[float, float],
    power: float,
    name: str,
    steps: tuple[float, float] | None,
) -> None:
    if name.strip():
        machine = Machine(name=name, size=size, speed_max=speed, power_max=power, steps=steps)
        assert like(back("machine", machine), machine)


@given(SHAPERS, SHAPERS)
def test_any_shapers(x: gcode.motion.Shaper | None, y: gcode.motion.Shaper | None) -> None:
    machine = Machine(dialect="klipper", shapers=(x, y))
    assert back("machine", machine) == machine


@given(fwhm=LENGTHS, aspect=st.floats(0.2, 5), angle=st.floats(-360, 360), defocus=st.floats(-1, 1))
def test_any_spot(fwhm: float, aspect: float, angle: float, defocus: float) -> None:
    spot = Spot(fwhm, "gaussian", aspect=aspect, angle=angle if aspect != 1 else 0.0, wavelength=405e-6)
    assert like(back("spot", spot), spot)
    away = Spot(fwhm, defocus=defocus, wavelength=405e-6)
    assert like(back("spot", away), away)


@given(dose=st.floats(1e-6, 1e6), order=st.integers(1, 8), tone=st.sampled_from(["negative", "positive"]))
def test_any_resin(dose: float, order: int, tone: str) -> None:
    resin = Resin(critical_dose=dose, order=order, tone=tone)
    assert like(back("resin", resin), resin)


def test_a_measured_spot_has_no_text() -> None:
    spot = Spot(profile="measured", measured=BeamTable([0, 0.1], [1, 0]))
    with pytest.raises(InputError, match="photograph or a table"):
        writing.text(spot)


def test_a_table_is_a_profile(tmp_path: Path) -> None:
    assert profiles.resin({"critical_dose_mJ_per_cm2": 35, "tone": "negative"}).critical_dose == 0.35
    with pytest.raises(InputError, match=r"resin in \[resin\]: key 'ton' is unknown; did you mean tone"):
        profiles.resin({"critical_dose_mJ_per_cm2": 35, "ton": "negative"})


def test_a_dose_map_is_kept_to_a_hundredth_of_a_percent() -> None:
    logs = tuple(0.02 * k - 0.2 for k in range(20))
    for prints in (0, 1, 2):
        made = DoseMap((-1.5, 2.0, 20.25, 10.0), (4, 5), logs, prints)
        read = back("spot", Spot(0.08, dose_map=made)).dose_map
        assert (read.box, read.shape, read.prints) == (made.box, made.shape, prints)
        assert read.coefficients == pytest.approx(logs, abs=1e-4)


@pytest.mark.parametrize(
    "text",
    ["even", "4 x 4 over 0 0 1 1: +1", "4 x 4 over 0 0 1 1 mm: +1 2", "2 x 8 over 0 0 1 1 mm: " + "0 " * 16,
     "4 x 4 over 0 1 1 0 mm: " + "0 " * 16, "4 x 4 over 0 0 1 1 mm: " + "-100 " * 16],
)  # fmt: skip
def test_a_dose_map_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"dose.map"):
        profiles.spot({"fwhm_um": Decimal(80), "dose_map": text})


def test_what_is_done_between_layers_is_written_line_by_line() -> None:
    change = LayerChange("below", 3.0, 2.0, 1.5, (0.0, 5.0), (0.0, 80.0), 20.0, 4.0)
    machine = Machine(z_travel=(0.0, 40.0), layer_change=change)
    assert like(back("machine", machine), machine)
    assert "layer_change.lift_mm = 3\n" in writing.text(machine)
    assert "layer_change" not in writing.text(Machine())

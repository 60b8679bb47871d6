"""Profiles of resins that react through time."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.config.profiles import writing
from laserpath.types import Kinetics, Resin

RATES = {
    "tone": "negative",
    "model": "kinetics",
    "radical_dose_mJ_per_cm2": 15,
    "propagation_per_s": 2,
    "inhibition_per_s": 100,
    "termination_per_s": Decimal("0.5"),
    "diffusion_um2_per_s": 100,
}


def test_keys_become_kinetics_and_a_critical_dose() -> None:
    resin = profiles.resin(RATES)
    assert resin.kinetics == Kinetics(0.15, 2.0, inhibition=100.0, termination=0.5, diffusion=1e-4)
    # All oxygen is used up, and the radicals that are left convert ∫ k_p R dt = k_p R/k₁ = −ln(1 − gel).
    assert resin.critical_dose == pytest.approx(0.15 * (1 + 0.5 / 2 * -math.log(0.8)))
    assert profiles.resin({**RATES, "critical_dose_mJ_per_cm2": 30}).critical_dose == 0.3


def test_a_profile_is_written_as_it_is_read() -> None:
    resin = profiles.resin(RATES)
    again = profiles.resin(tomllib.loads(writing.text(resin), parse_float=Decimal))
    assert again.critical_dose == pytest.approx(resin.critical_dose, rel=1e-11)
    assert replace(again, critical_dose=resin.critical_dose) == resin


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"propagatoin_per_s": 1}, "key 'propagatoin_per_s' is unknown; did you mean propagation_per_s"),
        ({"model": "kinetic"}, "model is 'kinetic', but must be one of: dose, kinetics"),
        ({"model": "dose"}, "key 'radical_dose_mJ_per_cm2' is of another model; give model = \"kinetics\""),
        ({"gel_conversion": 2}, "kinetics gel_conversion is 2, but must be below 1"),
        ({"supply_per_s": -1}, "supply_per_s is -1, but must be a finite number of at least 0"),
        ({"tone": "positive"}, "but must have 'negative' and 1"),
        ({"inhibition_per_s": 0, "termination_per_s": 0}, "key 'critical_dose_mJ_per_cm2' is missing"),
    ],
)
def test_one_sentence_for_what_is_wrong(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        profiles.resin({**RATES, **change})
    assert sentence in str(caught.value)


def test_the_sample_s_two_resins_have_one_critical_dose() -> None:
    folder = Path(__file__).parents[2] / "samples" / "kinetics"
    by_dose, by_kinetics = (profiles.resin(folder / f"by-{name}.toml") for name in ("dose", "kinetics"))
    assert by_dose.kinetics is None and isinstance(by_kinetics, Resin)
    assert by_dose.critical_dose == by_kinetics.critical_dose

"""Light in a resin whose absorption changes: Beer and Lambert, and Dill's equations step by step in time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.config.profiles import writing
from laserpath.measure.columns import Columns, Curing
from laserpath.physics.absorption import Absorption
from laserpath.types import Grid, Resin

D_P, D_B, DOSE = 0.1, 0.3, 0.15
CLEARS, DARKENS = Absorption(D_P, D_B, DOSE), Absorption(D_P, 0.04, DOSE)
DOSES = np.geomspace(1e-3, 30, 40)


def test_without_bleaching_it_is_beer_and_lambert() -> None:
    law = Absorption(D_P)
    assert law.below(DOSES, 0.17) == pytest.approx(DOSES * math.exp(-1.7))
    assert law.above(0.085, 0.05) == pytest.approx(0.085 * math.exp(0.5))
    assert law.reach([0.05, 0.2], 0.085) == pytest.approx([0.0, 0.1 * math.log(0.2 / 0.085)])


@pytest.mark.parametrize("law", [CLEARS, DARKENS], ids=["clears", "darkens"])
def test_it_lies_between_fresh_and_bleached_and_there_and_back_is_the_same(law: Absorption) -> None:
    fresh, bleached = (Absorption(d).below(DOSES, 0.12) for d in (D_P, float(law.bleached or 0)))
    left = law.below(DOSES, 0.12)
    low, high = np.minimum(fresh, bleached), np.maximum(fresh, bleached)
    assert ((left > low) & (left < high)).all()
    assert left[0] == pytest.approx(fresh[0], rel=0.02), "little light changes nothing"
    assert law.above(left, 0.12) == pytest.approx(DOSES, rel=1e-5)
    assert law.reach(DOSES[-1], float(left[-1])) == pytest.approx(0.12, rel=1e-5)
    assert law.below(law.below(DOSES, 0.05), 0.07) == pytest.approx(left, rel=1e-5)
    assert law.below([0.0, 1e-40], 0.1) == pytest.approx([0.0, 0.0], abs=1e-30)


def integrated(law: Absorption, doses: list[float], thickness: float, cells: int, steps: int) -> list[float]:
    """Doses at the tops of layers, written one after the other, lowest first, by small steps of light.

    Each step falls through all cells that are there; what each transmits depends on its M of that moment.
    """
    assert law.bleached and law.dose
    b, depth = 1 / law.bleached, thickness / cells
    a, m = 1 / law.depth - b, np.ones((len(doses), cells))
    got = np.zeros((len(doses), cells + 1))
    for top, dose in enumerate(doses):
        for _ in range(steps):
            light = dose / steps
            for layer in reversed(range(top + 1)):
                passed = light * np.exp(-np.cumsum(a * m[layer] + b) * depth)
                through = np.append(light, passed)
                got[layer] += through
                mean = (through[:-1] + through[1:]) / 2
                m[layer] *= np.exp(-mean / law.dose)
                light = float(passed[-1])
    return got[:, 0].tolist()


@pytest.mark.parametrize("law", [CLEARS, DARKENS], ids=["clears", "darkens"])
def test_the_sweep_from_the_top_is_what_layers_get_one_after_the_other(law: Absorption) -> None:
    """Dill's two equations, step by step in time, bottom layer first; one layer stays dark."""
    h, doses = 0.05, [0.2, 0.31, 0.0, 0.16, 0.4]
    resin = Resin(
        critical_dose=0.2, e_c=0.085, penetration_depth=D_P, bleached_depth=law.bleached, bleaching_dose=DOSE
    )
    grid = Grid((0.0, 0.0), 0.02, (2, 2))
    columns = Columns.of(grid, [np.ones(grid.shape, bool)] * 5, np.full(5, h), fwhm=0.1)
    curing, found = Curing(columns, resin), []
    for dose in reversed(doses):
        found.append(float(curing.light[0, 0]) + dose)
        curing.add(np.full(grid.shape, dose))
    assert found[::-1] == pytest.approx(integrated(law, doses, h, cells=40, steps=150), rel=2e-3)


def test_a_profile_has_it_and_its_layer_is_cured_through(tmp_path: Path) -> None:
    text = profiles.text("resin", "working-curve")
    place = tmp_path / "clears.toml"
    place.write_text(f"{text}\nbleached_depth_um = 330\nbleaching_dose_mJ_per_cm2 = 15\n")
    resin, fresh = profiles.resin(place), profiles.resin("working-curve")
    assert (resin.bleached_depth, resin.bleaching_dose) == pytest.approx((0.33, 0.15))
    assert 0.085 < resin.critical_dose < fresh.critical_dose, "more light gets through"
    assert Absorption.of(resin).reach(resin.critical_dose, 0.085) == pytest.approx(0.05, rel=1e-5)
    place.write_text(writing.text(resin))
    assert profiles.resin(place).critical_dose == pytest.approx(resin.critical_dose)
    assert profiles.resin(place).bleached_depth == resin.bleached_depth


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"bleached_depth": 0.3}, "are of one model; give both, or neither"),
        ({"bleached_depth": 30.0, "bleaching_dose": 0.1}, "is 300 times the penetration depth, but must be"),
        ({"bleached_depth": 0.3, "bleaching_dose": 0.0}, "bleaching_dose is 0.0, but must be above 0"),
    ],
)
def test_a_resin_cannot_bleach_by_half_or_without_end(changed: dict[str, float], told: str) -> None:
    with pytest.raises(InputError, match=told):
        replace(Resin(critical_dose=0.2, e_c=0.085, penetration_depth=D_P), **changed)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs a working curve beside it"):
        Resin(bleached_depth=0.3, bleaching_dose=0.1)

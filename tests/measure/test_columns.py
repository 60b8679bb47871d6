"""The part that layers cure, column by column, against the working curve in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laserpath.measure.columns import Columns, CuredPart, Curing
from laserpath.physics import optics
from laserpath.physics.dose import usual_model
from laserpath.types import Grid, Resin, Spot, Toolpath

D_P, E_C, H = 0.1, 0.085, 0.05
RESIN = Resin(critical_dose=E_C * math.exp(H / D_P), e_c=E_C, penetration_depth=D_P)
GRID = Grid((0.0, 0.0), 0.02, (20, 40))
ALL = np.ones(GRID.shape, bool)
LEG = np.arange(40)[None, :] < 10
LEG = np.broadcast_to(LEG, GRID.shape)
TABLE = [LEG] * 4 + [ALL] * 12
"""Layers of 50 µm: a leg of four, and a top of twelve over it and over nothing."""


def cured(solid: list[np.ndarray], doses: list[np.ndarray]) -> CuredPart:
    columns = Columns.of(GRID, solid, np.full(len(solid), H), fwhm=0.1)
    curing = Curing(columns, RESIN)
    for dose in reversed(doses):
        curing.add(dose)
    return curing.result()


def test_layers_that_each_just_cure_themselves_print_through_by_the_sum_of_their_light() -> None:
    """C_d = D_p ln Σ e^(−j h/D_p) − h with E = E_c e^(h/D_p), j = 0 … 11: docs/parts.md."""
    found = cured(TABLE, [np.where(one, RESIN.critical_dose, 0.0) for one in TABLE])
    (overhang,) = found.overhangs
    through = D_P * math.log(sum(math.exp(-j * H / D_P) for j in range(12)))
    assert overhang.z == pytest.approx(4 * H)
    assert overhang.through == pytest.approx(through)
    assert overhang.deepest == pytest.approx(through)
    assert (overhang.short, overhang.later) == (0.0, 0)
    outside = np.count_nonzero(~LEG) * GRID.pixel_area
    assert found.excess == pytest.approx(outside * through)
    assert found.missing == pytest.approx(0, abs=1e-9)
    assert found.volume == pytest.approx(sum(one.sum() for one in TABLE) * GRID.pixel_area * H)


def test_an_overhang_s_first_layers_may_stay_dark() -> None:
    """Without the two first ones the others leave Σ e^(−(j + ½)) … = 0.93 E_c at its underside."""
    doses = [np.where(one, RESIN.critical_dose, 0.0) for one in TABLE]
    for k in (4, 5):
        doses[k] = np.where(LEG, RESIN.critical_dose, 0.0)
    found = cured(TABLE, doses)
    (overhang,) = found.overhangs
    at_underside = sum(math.exp(-j * H / D_P) for j in range(2, 12))
    assert at_underside < 1
    assert overhang.through == 0.0
    assert overhang.short == pytest.approx(-D_P * math.log(at_underside))
    nearly = math.exp(-0.5 * H / D_P)
    without = np.cumsum([0.0, 0.0, *(math.exp(-j * H / D_P) for j in range(2, 12))])
    assert overhang.later == np.flatnonzero(without >= nearly)[0]
    doses[5] = np.where(LEG, RESIN.critical_dose, 0.2 * RESIN.critical_dose)
    later = cured(TABLE, doses).overhangs[0].later
    so_far = np.cumsum([0.0, 0.2 * math.exp(-H / D_P), *(math.exp(-j * H / D_P) for j in range(2, 12))])
    assert later == np.flatnonzero(so_far >= nearly)[0]


def test_light_of_a_roof_cures_what_is_in_a_channel_below_it() -> None:
    """A channel of two layers between a floor and a roof: it is shallower by the print-through."""
    channel = [ALL] * 3 + [LEG] * 2 + [ALL] * 12
    found = cured(channel, [np.where(one, RESIN.critical_dose, 0.0) for one in channel])
    (roof,) = found.overhangs
    through = D_P * math.log(sum(math.exp(-j * H / D_P) for j in range(12)))
    assert roof.z == pytest.approx(5 * H)
    assert roof.through == pytest.approx(through)
    assert roof.through < 2 * H
    solid = [ALL] * 3 + [LEG] + [ALL] * 12
    assert cured(solid, [np.where(one, RESIN.critical_dose, 0.0) for one in solid]).through == pytest.approx(
        H
    ), "no more than the channel is high"


def test_a_slope_narrower_than_the_spot_has_no_underside_of_its_own() -> None:
    slope = [np.broadcast_to(np.arange(40)[None, :] < 10 + 2 * k, GRID.shape) for k in range(5)]
    assert not cured(slope, [np.where(one, RESIN.critical_dose, 0.0) for one in slope]).overhangs


def test_an_underside_without_enough_light_stays_liquid() -> None:
    doses = [
        np.where(one if k < 4 or k > 6 else LEG, RESIN.critical_dose, 0.0) for k, one in enumerate(TABLE)
    ]
    (overhang,) = cured(TABLE, doses).overhangs
    assert overhang.later is None


def test_light_spreads_in_depth_as_the_beam_does() -> None:
    """That of a line, three layers below, is the dose of the wider beam there; in all, no energy is lost."""
    spot = Spot(0.005, "gaussian", wavelength=405e-6)
    grid = Grid((0.0, 0.0), 0.001, (60, 90))
    line = Toolpath(np.array([(0.03, 0.03), (0.06, 0.03)]), np.array([1.0]), np.array([1.0]))
    curing = Curing(Columns.of(grid, [np.ones(grid.shape, bool)] * 4, np.full(4, H), 0.005), RESIN, spot)
    dose = usual_model(grid, spot).dose(line)
    curing.add(dose)
    for _ in range(2):
        curing.add(np.zeros(grid.shape))
    there = optics.at_depth(spot, 3 * H, optics.INDEX)
    assert optics.fwhm(there) > 1.1 * optics.fwhm(spot)
    due = usual_model(grid, there).dose(line) * np.exp(-3 * H / 0.1)
    assert curing.light == pytest.approx(due, abs=0.01 * due.max())
    assert curing.light.sum() == pytest.approx(dose.sum() * np.exp(-3 * H / 0.1), rel=1e-3)


def test_light_of_a_wide_spot_stays_as_it_is() -> None:
    """To the last bit: a spot of 0.1 mm is 0.1 % wider at 0.7 mm."""
    columns = Columns.of(GRID, [np.ones(GRID.shape, bool)] * 3, np.full(3, H), 0.1)
    plain, wide = Curing(columns, RESIN), Curing(columns, RESIN, Spot(0.1, wavelength=405e-6))
    dose = np.random.default_rng(0).uniform(0, 0.3, GRID.shape)
    for curing in (plain, wide):
        curing.add(dose)
        curing.add(dose)
    assert np.array_equal(plain.light, wide.light)

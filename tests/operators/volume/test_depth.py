"""Light in depth: Jacobs' closed forms, a spot that spreads, and the pictures of what cures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from laserpath.base.errors import InputError
from laserpath.operators.volume import cured_depth, turned
from laserpath.physics import optics
from laserpath.physics.absorption import Absorption
from laserpath.physics.dose import DoseModel
from laserpath.report import depth as report_depth
from laserpath.types import Grid, Kinetics, Machine, Process, Resin, Spot, Toolpath

E_C, D_P = 0.085, 0.11
RESIN = Resin(critical_dose=0.2, e_c=E_C, penetration_depth=D_P)
SPOT = Spot(0.1, "gaussian")
GRID = Grid((-0.6, -0.4), 0.02, (41, 61))
LINE = Toolpath(np.array([[-0.3, 0.0], [0.3, 0.0]]), np.array([4.0]), np.array([40.0]))
FINE = Spot(0.006, "gaussian", wavelength=405e-6)
"""√2 times as wide at 0.2 mm from its focus (in air)."""
FINE_GRID = Grid((-0.0795, -0.0405), 0.0015, (55, 107))
MIDDLE = 27, 53
FINE_LINE = Toolpath(0.15 * LINE.xy, np.array([0.6]), np.array([40.0]))


def exposed(spot: Spot = SPOT, resin: Resin = RESIN):
    return DoseModel(GRID, spot).dose(LINE), Process(spot, resin, Machine())


def test_a_line_cures_as_deep_as_its_working_curve():
    """E_max of a Gaussian line in its middle: q/(σ √2π), and C_d = D_p ln(E_max/E_c) (Jacobs 1992)."""
    dose, process = exposed()
    found = cured_depth(LINE, GRID, dose, process)
    sigma = 0.1 / np.sqrt(8 * np.log(2))
    row, column = found.deepest
    assert (row, GRID.x()[column]) == (20, pytest.approx(0, abs=0.2))
    assert found.depth.max() == pytest.approx(
        D_P * np.log(0.1 / (sigma * np.sqrt(2 * np.pi)) / E_C), rel=2e-3
    )
    assert not found.spreads and found.as_dict()["volume"] == pytest.approx(found.depth.sum() * 0.02**2)
    # A parabola across, as of any Gaussian line: its width at the surface is σ √(8 C_d/D_p).
    wide = (found.depth[:, column] > 0).sum() * GRID.pitch
    assert wide == pytest.approx(sigma * np.sqrt(8 * found.depth.max() / D_P), abs=1.1 * GRID.pitch)


def test_the_dose_in_depth_is_that_of_beer_and_lambert():
    dose, process = exposed()
    found = cured_depth(LINE, GRID, dose, process)
    z = np.array([0.0, 0.05, 0.1])
    expected = np.log(np.maximum(dose * np.exp(-z / D_P)[:, None, None] / E_C, 1e-9))
    above = found.above_threshold(z)
    np.testing.assert_allclose(above[expected > -15], expected[expected > -15], atol=1e-4)


def test_a_spot_that_spreads_cures_less_deep_by_its_wider_line():
    """Its depth is where the wider spot's dose has fallen to E_c, computed anew at that depth."""
    spot, grid, path = FINE, FINE_GRID, FINE_LINE
    dose = DoseModel(grid, spot).dose(path)
    found = cured_depth(path, grid, dose, Process(spot, RESIN, Machine()), index=1.5)
    straight = cured_depth(path, grid, dose, Process(replace(spot, wavelength=None), RESIN, Machine()))
    assert found.spreads and not straight.spreads
    depth = float(found.depth[MIDDLE])
    assert 0.1 < depth < 0.99 * float(straight.depth[MIDDLE])
    there = replace(spot, defocus=depth / 1.5)
    assert found.widths[1] == pytest.approx(optics.fwhm(there), rel=0.01)
    again = DoseModel(grid, there, precision="f64").dose(path)[MIDDLE] * np.exp(-depth / D_P)
    assert again == pytest.approx(E_C, rel=5e-3)


def test_a_focus_in_the_resin_cures_deeper_than_one_at_its_surface():
    spot, grid, path = FINE, FINE_GRID, FINE_LINE
    depths = []
    for one in (spot, replace(spot, defocus=-0.1)):
        dose = DoseModel(grid, one).dose(path)
        depths.append(cured_depth(path, grid, dose, Process(one, RESIN, Machine())).depth[MIDDLE])
    assert depths[1] > depths[0] + 1e-3


@pytest.mark.slow
def test_the_part_turned_over_is_seen_on_white():
    dose, process = exposed()
    found = cured_depth(LINE, GRID, dose, process)
    seen = turned(found)
    assert seen.picture.shape[2] == 3 and seen.picture.min() >= 0 and seen.picture.max() <= 1
    np.testing.assert_array_equal(seen.picture[0], 1.0)  # nothing at the rim
    part = (seen.picture < 0.95).any(axis=2)
    assert 0.03 < part.mean() < 0.6
    pictures = report_depth.pictures(found)
    assert [one.title for one in pictures] == ["In depth: a section", "In depth: the part, turned over"]
    assert all(len(one.source) < 150_000 for one in pictures)
    assert "µm deep at most" in report_depth.in_words(found)
    sentence = "The depth is that of the light's dose: the reaction through time is left out."
    assert sentence not in report_depth.said(found)[1]
    reacting = replace(found, resin=replace(found.resin, kinetics=Kinetics(1.0, 1.0, 1.0)))
    assert all(sentence in one.text for one in report_depth.pictures(reacting))
    assert sentence in report_depth.said(reacting)[1]


def test_where_nothing_cures_there_is_no_picture():
    dose, process = exposed()
    found = cured_depth(LINE, GRID, 0.01 * dose, process)
    assert found.depth.max() == 0 and report_depth.pictures(found) == []
    assert report_depth.in_words(found).startswith("Nothing cures")
    with pytest.raises(InputError, match="nothing cures: the largest dose is below the resin's e_c"):
        turned(found)


def test_bad_input_is_one_sentence():
    dose, process = exposed()
    with pytest.raises(InputError, match="'generic 405 nm resin' has no penetration depth"):
        cured_depth(LINE, GRID, dose, replace(process, resin=Resin()))
    with pytest.raises(InputError, match=r"refractive index is 0\.5, but must be between 1 and 4"):
        cured_depth(LINE, GRID, dose, process, index=0.5)
    with pytest.raises(InputError, match=r"dose has shape \(2, 2\), but must have \(41, 61\)"):
        cured_depth(LINE, GRID, np.ones((2, 2)), process)
    with pytest.raises(InputError, match="dose is not finite in 1 values"):
        cured_depth(LINE, GRID, np.where(dose == dose.max(), np.nan, dose), process)


def test_a_resin_that_bleaches_cures_deeper() -> None:
    """By what Dill's equations leave at each depth, at which the pictures have their surface, too."""
    clears = replace(RESIN, bleached_depth=0.3, bleaching_dose=0.15)
    dose, process = exposed(resin=clears)
    found = cured_depth(LINE, GRID, dose, process)
    assert found.depth == pytest.approx(Absorption.of(clears).reach(dose, E_C), abs=1e-6)
    assert found.depth.max() > 1.2 * cured_depth(LINE, GRID, *exposed()).depth.max()
    row, column = found.deepest
    here = (slice(row, row + 1), slice(column, column + 1))
    assert found.above_threshold(np.array([found.depth.max()]), here) == pytest.approx(0, abs=1e-4)

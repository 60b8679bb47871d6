"""Widths, diameters and depths by formula, against closed forms and against the dose engine itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import read

from laserpath.base.arrays import Floats
from laserpath.calibration import Item
from laserpath.calibration.model import Physics, SizeModel, line_profile
from laserpath.physics import resin
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Spot, Toolpath

F = 0.1
POWERS = np.geomspace(0.3, 6, 8)


def lines(powers: Floats = POWERS, **more: object) -> list[Item]:
    return [Item(f"L{k}", "line", float(p), 10.0, **more) for k, p in enumerate(powers)]  # type: ignore[arg-type]


def dots(powers: Floats, length: float, speed: float = 1.0) -> list[Item]:
    return [Item(f"D{k}", "dot", float(p), speed, length=length) for k, p in enumerate(powers)]


def physics(dose: float = 0.2, **more: object) -> Physics:
    return Physics((F, F), dose, speed=10.0, **more)  # type: ignore[arg-type]


def test_a_gaussian_line_has_the_width_of_the_closed_form() -> None:
    """q √(4 ln 2/π)/F exp(−4 ln 2 y²/F²) = D_c at half the width."""
    sizes = SizeModel(lines(), "gaussian").sizes(physics())
    ratio = POWERS / 10 * np.sqrt(4 * np.log(2) / np.pi) / F / 0.2
    np.testing.assert_allclose(np.exp(sizes.excess), ratio, rtol=1e-6)
    wide = ratio > 1.02
    np.testing.assert_allclose(sizes.size[wide], F * np.sqrt(np.log2(ratio[wide])), rtol=1e-4)


def test_the_peak_of_an_airy_line_is_8k_over_3_pi_squared() -> None:
    assert line_profile("airy", 1).peak == pytest.approx(8 * 2 * 1.61634 / (3 * np.pi**2), rel=1e-4)


@pytest.mark.parametrize("along", ["x", "y"])
@pytest.mark.parametrize(
    ("profile", "photons"),
    [
        ("airy", 1),
        pytest.param("gaussian", 1, marks=pytest.mark.slow),
        pytest.param("airy", 2, marks=pytest.mark.slow),
        pytest.param("gaussian", 2, marks=pytest.mark.slow),
    ],
)
def test_widths_of_lines_and_dots_are_those_of_the_dose_engine(
    profile: str, photons: int, along: str
) -> None:
    spot = Spot(F, profile, aspect=1.3, photons=photons)
    fx, fy = F * np.sqrt(1.3), F / np.sqrt(1.3)
    for length, powers in ((8.0, 2.0), (0.03, 3.0)):
        kind = "line" if length > 1 else "dot"
        item = Item("A1", kind, powers, 5.0, length=length, along=along)
        # The same threshold for the model as for the engine: a quarter of the peak.
        seen, peak = across(item, spot)
        critical = peak / 4
        at = np.linspace(0, 2 * F, 4001)
        expected = 2 * np.interp(-critical, -seen, at)
        sizes = SizeModel([item], profile, photons).sizes(Physics((fx, fy), critical))
        assert np.exp(sizes.excess[0]) == pytest.approx(4, rel=3e-3)
        assert sizes.size[0] == pytest.approx(expected, rel=3e-3)


def across(item: Item, spot: Spot) -> tuple[Floats, float]:
    """The dose from the middle of a stroke outwards, over 2 F, and its peak, by the engine."""
    way = np.array([1.0, 0.0] if item.along == "x" else [0.0, 1.0])
    half = item.length / 2
    long, short = half + 3 * F, 6 * F
    size = (long, short) if item.along == "x" else (short, long)
    pitch = F / 8
    columns, rows = (int(2 * s / pitch) + 1 for s in size)
    grid = Grid((-size[0], -size[1]), pitch, (rows, columns))
    path = Toolpath(np.array([-half * way, half * way]), np.array([item.power]), np.array([item.speed]))
    dose = DoseModel(grid, spot, precision="f64", tolerance=1e-6).dose(path)
    at = np.linspace(0, 2 * F, 4001)[:, None] * way[::-1]
    seen = read(grid, at, dose)
    down = int(np.argmax(np.diff(seen) > 0)) or len(seen)
    return np.where(np.arange(len(seen)) < down, seen, -np.arange(len(seen)) * 1.0), float(seen[0])


def test_two_lines_merge_where_their_doses_add_up_to_the_threshold() -> None:
    wedge = Item("W", "wedge", 1.0, 10.0, length=6.0, gap=0.4)
    double = Item("L", "line", 2.0, 10.0)
    sizes = SizeModel([wedge, double]).sizes(physics())
    assert sizes.size[0] == pytest.approx(sizes.size[1])


def test_half_the_speed_is_twice_the_dose_and_reciprocity_takes_its_share() -> None:
    fast, slow = Item("A", "line", 1.0, 10.0), Item("B", "line", 1.0, 5.0)
    model = SizeModel([fast, slow])
    plain = model.sizes(physics())
    assert np.diff(plain.excess) == pytest.approx(np.log(2))
    failing = model.sizes(physics(reciprocity=0.1))
    # At the speed that the dose is for nothing changes; the time is twice as long at half of it.
    assert failing.excess[0] == pytest.approx(plain.excess[0])
    assert failing.excess[1] - plain.excess[1] == pytest.approx(0.1 * np.log(2))


def test_a_dot_is_exposed_for_as_long_as_its_stroke_lasts() -> None:
    """A point in it sees light for l/v, that in a line for (L(0)/h(0)) F/v."""
    short, long = dots(np.array([1.0]), 0.001)[0], dots(np.array([1.0]), 0.001, speed=0.5)[0]
    one, two = (SizeModel([short, long]).sizes(physics(reciprocity=m)).excess for m in (0.0, 0.2))
    assert (two - one)[1] - (two - one)[0] == pytest.approx(0.2 * np.log(2))


def test_depth_is_jacobs() -> None:
    items = lines()
    sizes = SizeModel(items).sizes(physics(penetration_depth=0.11, e_c=0.05))
    peak = np.exp(sizes.excess) * 0.2
    deep = peak > 0.05
    np.testing.assert_allclose(sizes.depth[deep], resin.cure_depth(peak, 0.05, 0.11)[deep])


@pytest.mark.parametrize("profile", ["airy", "gaussian"])
def test_the_width_rises_with_the_dose_everywhere_without_a_step_at_the_threshold(profile: str) -> None:
    powers = np.geomspace(0.05, 500, 4001)
    for items in (lines(powers), dots(powers, 0.025)):
        sizes = SizeModel(items, profile).sizes(physics())
        step = np.diff(sizes.size)
        assert (step > 0).all()
        assert step[sizes.excess[1:] < 1].max() < 0.02 * F


def test_an_elliptical_spot_makes_lines_as_wide_as_it_is_across_them() -> None:
    across_y, across_x = lines(along="x"), lines(along="y")
    oval = Physics((0.2, 0.1), 0.2)
    thin = SizeModel(across_y).sizes(oval).size
    thick = SizeModel(across_x).sizes(oval).size
    np.testing.assert_allclose(thin, SizeModel(across_y).sizes(replace(oval, fwhm=(0.1, 0.1))).size)
    np.testing.assert_allclose(thick, SizeModel(across_x).sizes(replace(oval, fwhm=(0.2, 0.2))).size)

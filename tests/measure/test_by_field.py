"""A large design is measured field by field, with the figures of a measurement as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPEED, SPOT, design
from shapes import both, minus

from laserpath.design.partition import Partition
from laserpath.design.scene import Scene
from laserpath.measure import DEFOCUS, edge_errors, edges_at, inspect
from laserpath.measure.by_field import FieldsMeasured, LinesByField, LitLines
from laserpath.measure.edges import rounded_off
from laserpath.measure.exposure import Exposure
from laserpath.measure.figures import ErrorSpread, cure_figures
from laserpath.measure.window import print_and_window, process_window
from laserpath.physics import optics
from laserpath.physics.dose import accurate_model
from laserpath.physics.kinetics import Kinetics
from laserpath.types import Grid, Resin, Toolpath
from laserpath.types.results import EPE_CAP_FWHM

pytestmark = pytest.mark.usefixtures("alone")

LONG = design(
    shapely.box(0, 0, 24, 0.3), minus(shapely.box(0.5, 0.6, 23, 2.2), shapely.box(3, 1, 20, 1.8)),
    shapely.Point(11.9, 1.4).buffer(0.3), name="long",
)  # fmt: skip
"""240 FWHM: two fields, whose border the bars and the disc cross."""


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene.around(LONG, SPOT, Resin(critical_dose=0.35), 6.0)


@pytest.fixture(scope="module")
def path() -> Toolpath:
    """Lines that a design of bars wants, some from end to end."""
    rows = [0.07, 0.15, 0.23, 0.67, 0.8, 0.93, 1.87, 2.0, 2.13]
    xy = np.array([[x, y] for k, y in enumerate(rows) for x in ((0.05, 22.9) if k % 2 else (22.9, 0.05))])
    circle = 11.9 + 0.22 * np.cos(np.linspace(0, 6, 60)), 1.4 + 0.22 * np.sin(np.linspace(0, 6, 60))
    xy = np.vstack([xy, np.column_stack(circle)])
    power = np.append(np.tile([1.7, 0.0], len(rows)), np.full(59, 1.9))
    return Toolpath(xy, power, np.full(len(power), SPEED))


def test_the_design_has_two_fields(scene: Scene) -> None:
    assert Partition.of(scene.grid, scene.fwhm).counts == (1, 2)


def test_figures_and_edges_are_those_of_the_whole(scene: Scene, path: Toolpath) -> None:
    """To the accuracy of a measurement: 1e-4 of the peak of the dose."""
    wide = optics.widened(SPOT, DEFOCUS)
    dose, blurred = (accurate_model(scene.grid, spot).dose(path) for spot in (SPOT, wide))
    edges = edge_errors(dose, scene)
    found = FieldsMeasured.of([path], scene, (SPOT, wide))
    assert np.abs(found.dose - dose).max() < 1e-4 * dose.max()
    measured = found.printed(scene, None)
    seen = measured.edges
    assert (seen.missing == edges.missing).all()
    near = ~edges.missing
    assert np.abs(seen.epe - edges.epe)[near].max() < 1e-3 * FWHM
    figures, whole = measured.figures.as_dict(), cure_figures(dose, blurred, edges, scene).as_dict()
    for name, value in whole.items():
        assert figures[name] == pytest.approx(value, rel=2e-3, abs=2e-4), name


def test_corners_that_are_rounded_off_count_as_in_the_whole(scene: Scene, path: Toolpath) -> None:
    strong = replace(path, power=3 * path.power)
    dose = accurate_model(scene.grid, SPOT).dose(strong)
    edges = edge_errors(dose, scene)
    rounded = rounded_off(edges, dose, scene)
    epe, missing = FieldsMeasured.of([strong], scene, (SPOT, optics.widened(SPOT, DEFOCUS))).counted
    assert (missing == rounded.missing).all() and missing.sum() < edges.missing.sum()
    assert np.abs(epe - rounded.epe)[~missing].max() < 5e-3 * FWHM


@pytest.mark.slow
def test_a_window_is_that_of_the_whole(scene: Scene, path: Toolpath) -> None:
    doses = (0.9, 1.0, 1.1)
    window = process_window(path, scene, doses)
    for k, width in enumerate(window.width):
        dose = accurate_model(scene.grid, optics.widened(SPOT, width)).dose(path)
        for j, edges in enumerate(edges_at(dose, scene, doses)):
            assert window.missing_edges[k, j] == pytest.approx(edges.missing.sum(), abs=2)
            error = np.abs(edges.epe).mean() / FWHM
            assert window.epe_mean[k, j] == pytest.approx(error, rel=5e-3)
            p95 = np.percentile(np.abs(edges.epe), 95) / FWHM
            assert window.epe_p95[k, j] == pytest.approx(p95, rel=5e-3)


@pytest.mark.slow
def test_the_print_and_its_window_are_found_together(scene: Scene, path: Toolpath) -> None:
    """As one after the other; of the window's percentiles only bins of sizes are kept."""

    class Program:
        motion, executed_parts, executed = None, (path,), path

    print_, window = print_and_window(Exposure(Program(), scene), (1.0, 1.3))
    alone, edges = Exposure(Program(), scene).of(path), process_window(path, scene, widths=(1.0, 1.3))
    assert print_.figures == alone.figures
    assert (print_.dose == alone.dose).all()
    assert (print_.edges.epe == alone.edges.epe).all()
    together, apart = window.as_dict(), edges.as_dict()
    bins = np.array(together.pop("epe_p95")), np.array(apart.pop("epe_p95"))
    np.testing.assert_allclose(*bins, atol=2e-4)
    for name, values in together.items():
        np.testing.assert_allclose(values, apart[name], rtol=1e-5, err_msg=name)


def test_a_large_exposure_is_measured_by_fields(scene: Scene, path: Toolpath, monkeypatch) -> None:
    class Program:
        motion = None

    calls = []
    real = FieldsMeasured.of
    monkeypatch.setattr(FieldsMeasured, "of", lambda *some, **how: calls.append(some) or real(*some, **how))
    measured = Exposure(Program(), scene, path).of(path)
    assert len(calls) == 1
    assert measured.dose.shape == measured.grid.shape == scene.grid.shape
    light = Exposure(Program(), scene, path).of(path, kept=False)
    assert light.figures == measured.figures and light.dose.size == 0
    monkeypatch.setattr("laserpath.measure.by_field.PIXELS_MAX", 1000)
    thinned = Exposure(Program(), scene, path).of(path)
    assert thinned.dose.shape == thinned.grid.shape == tuple(-(-n // 2) for n in scene.grid.shape)
    assert inspect(thinned, scene).wrong_outline == pytest.approx(
        inspect(measured, scene).wrong_outline, abs=0.02
    )


def test_a_spread_of_errors_is_that_of_all_points() -> None:
    """Sums are exact, and a percentile is to a bin, whatever the parts that were added."""
    rng = np.random.default_rng(seed := 8)
    epe = FWHM * np.clip(rng.normal(0.0, 0.1, (2, 3, 4000)), -EPE_CAP_FWHM, EPE_CAP_FWHM)
    missing = rng.random(epe.shape) < 0.02
    epe[missing] = -EPE_CAP_FWHM * FWHM
    parts = [ErrorSpread.of(epe[..., k::7], missing[..., k::7], FWHM) for k in range(7)]
    found = sum(parts[1:], parts[0])
    size = np.abs(epe) / FWHM
    assert found.points == 4000, seed
    assert (found.missing == missing.sum(axis=2)).all()
    np.testing.assert_allclose(found.size, size.sum(axis=2))
    np.testing.assert_allclose(found.signed, epe.sum(axis=2) / FWHM)
    for percent in (0, 50, 95, 100):
        np.testing.assert_allclose(
            found.percentile(percent), np.percentile(size, percent, axis=2), atol=3e-4, err_msg=f"seed {seed}"
        )


def test_of_a_very_large_grid_every_other_pixel_is_kept(scene: Scene, path: Toolpath, monkeypatch) -> None:
    spots = (SPOT, optics.widened(SPOT, DEFOCUS))
    all_of_it = FieldsMeasured.of([path], scene, spots)
    monkeypatch.setattr("laserpath.measure.by_field.PIXELS_MAX", 1000)
    found = FieldsMeasured.of([path], scene, spots)
    assert found.grid.pitch == 2 * scene.grid.pitch
    assert np.array_equal(found.dose, all_of_it.dose[::2, ::2])
    whole, thinned = (one.printed(scene, None).figures.as_dict() for one in (all_of_it, found))
    assert thinned == pytest.approx(whole, abs=2e-3)


def test_lines_are_clipped_to_a_window() -> None:
    """As Shapely clips them."""
    rng = np.random.default_rng(3)
    ends = rng.uniform(-2, 3, (400, 2, 2))
    ends[:20, 1, 0] = ends[:20, 0, 0]  # upright
    ends[20:40, 1, 1] = ends[20:40, 0, 1]  # level
    grid, zero = Grid((0.0, 0.0), 0.1, (11, 16)), np.array([0.3, -0.2])
    lines = LitLines(ends, np.ones((1, len(ends))))
    inside = lines.within(grid, zero)
    x0, x1, y0, y1 = grid.extent
    box = shapely.box(x0 + zero[0], y0 + zero[1], x1 + zero[0], y1 + zero[1])
    expected = sum(both(shapely.LineString(pair), box).length for pair in ends)
    length = np.hypot(*(inside.end - inside.start).T)
    assert length.sum() == pytest.approx(expected, rel=1e-6)
    assert (length > 0).all()
    assert inside.energy.shape == (1, len(length))


def test_each_field_finds_its_lines() -> None:
    """Long and short ones, some beyond the grid: what is in its window, in the order of the lines."""
    rng = np.random.default_rng(4)
    start = rng.uniform(-2, 32, (300, 2))
    end = start + rng.normal(0, 1, (300, 2)) * rng.choice([0.05, 1, 12], (300, 1))
    lines = LitLines(np.stack([start, end], axis=1), np.arange(300.0)[None])
    partition = Partition.of(Grid((0.3, -1.0), FWHM / 3, (700, 1000)), FWHM, 50.0)
    found = LinesByField.of(lines, partition)
    for field in partition:
        expected, near = lines.within(partition.window, partition.origin(field)), found.within(field)
        assert len(near.start)
        for one, other in (
            (near.start, expected.start),
            (near.end, expected.end),
            (near.energy, expected.energy),
        ):
            assert np.array_equal(one, other)


RATES = Kinetics(
    radical_dose=0.15, propagation=2.0, inhibition=100.0, termination=0.5, pair_termination=1.0,
    diffusion=1e-3, supply=0.1,
)  # fmt: skip


def test_a_dose_by_conversion_is_on_its_own_grid(scene: Scene, path: Toolpath, monkeypatch) -> None:
    """That of the light has every other pixel of a large design; the equivalent dose has all."""

    class Program:
        motion, executed_parts = None, (path,)

    monkeypatch.setattr("laserpath.measure.by_field.PIXELS_MAX", 1000)
    dose = accurate_model(scene.grid, SPOT).dose(path)
    monkeypatch.setattr("laserpath.measure.conversion.equivalent_dose", lambda program, grid: dose)
    resin = Resin(critical_dose=0.35, kinetics=RATES)
    measured = Exposure(Program(), replace(scene, resin=resin)).executed
    assert measured.dose.shape == measured.grid.shape == scene.grid.shape
    assert measured.light.shape == measured.by_dose.grid.shape != scene.grid.shape

"""Exact pixel coverage: against polygon areas and shapely's intersections."""

import math

import numpy as np
import pytest
import shapely
from builders import SPOT, centred_grid, design, polygons
from hypothesis import given
from hypothesis import strategies as st
from sets import examples
from shapely import affinity
from shapes import NODING

from laserpath.base.errors import InputError
from laserpath.design.target import MARGIN_FWHM, PIXELS_MAX, affordable, grid_for, rasterise
from laserpath.planning.task import Task
from laserpath.types import Design, Grid, Process, Settings, Spot

offsets = st.floats(-0.05, 0.05)


@examples(20)
@given(polygon=polygons(), dx=offsets, dy=offsets)
def test_each_pixel_is_its_intersection_with_the_design(polygon, dx, dy):
    moved = affinity.translate(polygon, dx, dy)
    grid = Grid(origin=(-1.2, -1.2), pitch=0.15, shape=(17, 18))
    x, y = np.meshgrid(grid.x(), grid.y())
    half = grid.pitch / 2
    pixels = shapely.box(x - half, y - half, x + half, y + half)
    expected = shapely.area(shapely.intersection(pixels, moved, grid_size=NODING)) / grid.pixel_area
    np.testing.assert_allclose(rasterise(design(moved), grid).coverage, expected, atol=1e-10)


def test_edges_on_pixel_edges_are_exact():
    # The last row is the grid's rim, where the design's upper edge lies.
    grid = Grid(origin=(0.5, 0.5), pitch=1.0, shape=(4, 5))
    coverage = rasterise(design(shapely.box(1, 1, 3, 4)), grid).coverage
    expected = np.zeros((4, 5))
    expected[1:4, 1:3] = 1
    np.testing.assert_array_equal(coverage, expected)


def test_rows_beyond_the_first_strip_are_covered_as_others():
    grid = Grid(origin=(0.0, 0.0), pitch=1.0, shape=(1100, 7))
    tall = design(shapely.Polygon([(0.2, 3.3), (5.7, 510.9), (4.1, 1096.6), (2.4, 700)]))
    coverage = rasterise(tall, grid).coverage
    rows = shapely.box(-0.5, grid.y() - 0.5, 6.5, grid.y() + 0.5)
    expected = shapely.area(shapely.intersection(rows, tall.area, grid_size=0))
    np.testing.assert_allclose(coverage.sum(axis=1, dtype=np.float64), expected, atol=1e-6)


def test_parts_and_holes_of_several_polygons_add_up():
    ring = shapely.Point(0, 0).buffer(0.8).difference(shapely.Point(0, 0).buffer(0.6), grid_size=NODING)
    area = design(ring, shapely.Point(0.05, 0.03).buffer(0.3))
    grid = centred_grid(1.0, 5)
    assert rasterise(area, grid).coverage.sum() * grid.pixel_area == pytest.approx(area.area.area, rel=1e-12)


def test_orientation_of_rings_does_not_matter():
    shell, hole = shapely.box(-0.5, -0.5, 0.5, 0.5), shapely.box(-0.2, -0.2, 0.2, 0.2)
    rings = shapely.get_coordinates(shell), shapely.get_coordinates(hole)
    grid = centred_grid(0.7)
    results = [
        rasterise(Design(shapely.Polygon(rings[0][::a], [rings[1][::b]])), grid).coverage
        for a in (1, -1)
        for b in (1, -1)
    ]
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], atol=1e-12)


def test_parts_outside_the_grid_are_refused():
    grid = centred_grid(0.5)
    inside = design(shapely.box(-0.5, -0.5, 0.5, 0.5))
    assert rasterise(inside, grid).coverage.max() == 1
    for dx, dy in ((0.2, 0), (-0.2, 0), (0, 0.2), (0, -0.2)):
        with pytest.raises(InputError, match="reaches outside the grid"):
            rasterise(design(affinity.translate(inside.area, dx, dy)), grid)


@given(width=st.floats(0.01, 3), height=st.floats(0.01, 3), fwhm=st.floats(0.05, 1), per_fwhm=st.floats(3, 8))
def test_the_grid_leaves_the_margin_all_round(width, height, fwhm, per_fwhm):
    made = design(shapely.box(7, -5, 7 + width, -5 + height))
    grid = grid_for(made, Spot(fwhm=fwhm), per_fwhm)
    x0, x1, y0, y1 = grid.extent
    margin = MARGIN_FWHM * fwhm * (1 - 1e-9)
    assert grid.pitch == pytest.approx(fwhm / per_fwhm)
    assert min(7 - x0, x1 - 7 - width, -5 - y0, y1 + 5 - height) >= margin
    assert (x0 + x1) / 2 == pytest.approx(7 + width / 2)
    assert (y0 + y1) / 2 == pytest.approx(-5 + height / 2)


def test_a_grid_too_large_is_refused_before_it_is_made():
    with pytest.raises(InputError, match=r"'test', 1000 × 1000 mm, needs 3 600 000 000 pixels"):
        grid_for(design(shapely.box(0, 0, 1000, 1000)), SPOT, 6)


def test_a_large_design_gets_the_finest_grid_that_there_may_be() -> None:
    plate = Design(shapely.MultiPolygon([shapely.box(0, 0, 200, 110)]))
    assert affordable(plate, Spot(0.2), 6) == 6
    fine = affordable(plate, Spot(0.1), 6)
    rows, columns = grid_for(plate, Spot(0.1), fine).shape
    assert 4 < fine < 6
    assert 0.98 * PIXELS_MAX < rows * columns < 1.03 * PIXELS_MAX, "rounded up to fast lengths"
    with pytest.raises(InputError, match="pixels of"):
        affordable(plate, Spot(0.01), 6)


def test_a_design_that_is_cut_into_fields_keeps_its_pixels() -> None:
    plate, process = Design(shapely.MultiPolygon([shapely.box(0, 0, 200, 110)])), Process(Spot(0.1))
    task = Task.affordable(plate, process, Settings())
    assert task.settings.pixels_per_fwhm == 6
    assert math.prod(task.scene.grid.shape) > PIXELS_MAX
    whole = Task.affordable(plate, process, Settings(initial="random"))
    assert whole.settings.pixels_per_fwhm < 6
    assert math.prod(whole.scene.grid.shape) < 1.03 * PIXELS_MAX


@pytest.mark.parametrize(
    ("rows", "columns"), [((3, 9), (-6, None)), ((None, None, 4), (1, None, 4)), ((0, 99), (5, 6))]
)
def test_a_part_of_a_grid_has_the_centres_of_its_pixels(rows, columns):
    grid, some = Grid((-1.2, 3.4), 0.15, (17, 18)), (slice(*rows), slice(*columns))
    part = grid.part(*some)
    assert part.shape == np.zeros(grid.shape)[some].shape
    np.testing.assert_allclose(part.y(), grid.y()[some[0]], rtol=0, atol=1e-14)
    np.testing.assert_allclose(part.x(), grid.x()[some[1]], rtol=0, atol=1e-14)


def test_places_of_pixels_are_the_inverse_of_pixels_of_places() -> None:
    grid = Grid((1.5, -2.0), 0.25, (4, 6))
    assert np.array_equal(grid.of_pixels([[0, 0], [5, 3]]), [[1.5, -2.0], [grid.x()[-1], grid.y()[-1]]])
    some = np.array([[0.3, 2.7], [-1.0, 9.25]])
    assert np.allclose(grid.to_pixels(grid.of_pixels(some)), some, atol=1e-12)

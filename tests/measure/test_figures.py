"""Edge errors, areas and bands of doses whose edges are known."""

from dataclasses import astuple

import numpy as np
import pytest
import shapely
from builders import FWHM, centred_grid, coordinates, design, scene
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates, spline_filter
from sets import examples
from shapes import NODING

from laserpath.base.errors import InputError
from laserpath.design.target import rasterise
from laserpath.measure import EPE_CAP_FWHM, best_exposure, cure_figures, cured_fraction, edge_errors
from laserpath.measure.edges import _spline_of, doses_at
from laserpath.measure.figures import CuredAreas
from laserpath.types import Grid, Toolpath
from laserpath.types.results import MotionFigures

CRITICAL = 0.2
GRID = centred_grid(0.9)
DISC = design(shapely.Point(0, 0).buffer(0.5, quad_segs=180))


def radial(radius, slope=2.0):
    """Falls through the critical dose at `radius`, by `slope` critical doses per FWHM, down to none."""
    x, y = coordinates(GRID)
    return CRITICAL * np.clip(1 + slope * (radius - np.hypot(x, y)) / FWHM, 0, 1.8)


def figures(dose, made=DISC, defocused=None):
    edges = edge_errors(dose, scene(made, GRID, CRITICAL))
    return cure_figures(dose, dose if defocused is None else defocused, edges, scene(made, GRID, CRITICAL))


@examples(25)
@given(angle=st.floats(0, 6.28), shift=st.floats(-1.5, 1.5))
def test_a_tilted_ramp_shifts_the_edge_that_lies_across_it(angle, shift):
    """A ramp along n through the critical dose at n·x = shift; the edges of a half-plane's strip."""
    grid = centred_grid(1.0, 4)
    normal = np.array([np.cos(angle), np.sin(angle)])
    x, y = coordinates(grid)
    # The grid repeats, so the ramp is closed by a smooth hill that is high on one side of the edge.
    along = normal[0] * x + normal[1] * y
    dose = CRITICAL * (1 - 0.5 * (along - shift * FWHM) / FWHM)
    across = np.array([-normal[1], normal[0]])
    strip = design(
        shapely.Polygon(
            [0.2 * across, -0.2 * across, -0.2 * across - 0.3 * normal, 0.2 * across - 0.3 * normal]
        )
    )
    edges = edge_errors(dose, scene(strip, grid, CRITICAL))
    front = edges.normal @ normal > 0.999
    assert front.sum() == 16
    np.testing.assert_allclose(edges.epe[front], shift * FWHM, atol=2e-3 * FWHM)
    assert not edges.missing[front].any()


@pytest.mark.parametrize("shift", [-1.0, -0.3, -0.01, 0.0, 0.05, 0.5, 1.5])
def test_a_disc_cured_too_wide_is_outside_and_too_narrow_inside(shift):
    edges = edge_errors(radial(0.5 + shift * FWHM), scene(DISC, GRID, CRITICAL))
    np.testing.assert_allclose(edges.epe, shift * FWHM, atol=5e-3 * FWHM)
    assert not edges.missing.any() and not edges.corner.any()


def test_the_sign_is_outward_for_holes_too():
    ring = design(
        shapely.Point(0, 0)
        .buffer(0.6, quad_segs=90)
        .difference(shapely.Point(0, 0).buffer(0.3), grid_size=NODING)
    )
    x, y = coordinates(GRID)
    # Cured from 0.27 to 0.63 mm: 0.3 FWHM too far on both sides.
    dose = CRITICAL * (1 + 2 * (0.18 - np.abs(np.hypot(x, y) - 0.45)) / FWHM)
    edges = edge_errors(dose, scene(ring, GRID, CRITICAL))
    np.testing.assert_allclose(edges.epe, 0.3 * FWHM, atol=0.02 * FWHM)


def test_where_no_edge_prints_the_error_is_the_cap():
    nothing = edge_errors(np.zeros(GRID.shape), scene(DISC, GRID, CRITICAL))
    assert nothing.missing.all()
    np.testing.assert_allclose(nothing.epe, -EPE_CAP_FWHM * FWHM)
    everything = edge_errors(np.full(GRID.shape, 1.0), scene(DISC, GRID, CRITICAL))
    assert everything.missing.all()
    np.testing.assert_allclose(everything.epe, EPE_CAP_FWHM * FWHM)


@pytest.mark.parametrize(("shift", "missing"), [(1.95, False), (2.1, True), (-1.95, False), (-2.1, True)])
def test_edges_are_looked_for_up_to_two_fwhm(shift, missing):
    edges = edge_errors(radial(0.5 + shift * FWHM), scene(DISC, GRID, CRITICAL))
    assert edges.missing.all() == missing
    assert np.abs(edges.epe).max() <= EPE_CAP_FWHM * FWHM


def test_of_two_edges_the_nearer_counts():
    x, y = coordinates(GRID)
    r = np.hypot(x, y)
    # Cured to 0.53 mm, and again in a ring from 0.6 to 0.65 mm.
    dose = CRITICAL * np.where(
        r < 0.57, 1 + 2 * (0.53 - r) / FWHM, 1 + 4 * (0.025 - np.abs(r - 0.625)) / FWHM
    )
    edges = edge_errors(dose, scene(DISC, GRID, CRITICAL))
    np.testing.assert_allclose(edges.epe, 0.3 * FWHM, atol=0.05 * FWHM)


def test_corners_are_flagged_and_left_out_of_the_smooth_figures():
    square = design(shapely.box(-0.5, -0.5, 0.5, 0.5))
    x, y = coordinates(GRID)
    # Rounded corners, true sides: the p-norm's level line.
    norm = (np.abs(x) ** 16 + np.abs(y) ** 16) ** (1 / 16)
    dose = CRITICAL * np.clip(1 + 2 * (0.5 - norm) / FWHM, 0, 2)
    edges = edge_errors(dose, scene(square, GRID, CRITICAL))
    assert 0 < edges.corner.sum() < len(edges.corner) / 2
    measured = figures(dose, square)
    error = np.abs(edges.epe) / FWHM
    assert measured.epe_mean == pytest.approx(error.mean())
    assert measured.epe_mean_smooth == pytest.approx(error[~edges.corner].mean())
    assert measured.epe_max == pytest.approx(error.max())
    assert measured.epe_max > 1.5 * measured.epe_max_smooth
    assert measured.samples == len(error) == int(4 / (0.25 * FWHM))


def test_a_design_that_is_all_corner_has_no_smooth_figures():
    dot = design(shapely.box(-0.01, -0.01, 0.01, 0.01))
    measured = figures(radial(0.05), dot)
    assert measured.epe_mean_smooth == measured.epe_max_smooth == 0


@given(radius=st.floats(0.3, 0.7), slope=st.floats(0.5, 2.5))
def test_the_cured_area_is_right_to_a_part_of_a_pixel(radius, slope):
    area = cured_fraction(radial(radius, slope), CRITICAL).sum() * GRID.pixel_area
    assert area == pytest.approx(np.pi * radius**2, abs=0.02 * 2 * np.pi * radius * GRID.pitch)


@pytest.mark.parametrize("level", [0.0, 0.19, 0.21, 1.0])
def test_a_flat_dose_is_cured_everywhere_or_nowhere(level):
    fraction = cured_fraction(np.full((5, 6), level), CRITICAL)
    assert (fraction == (level > CRITICAL)).all()


@pytest.mark.parametrize("shift", [-0.35, -0.02, 0.0, 0.02, 0.5])
def test_overlap_of_two_discs(shift):
    radius = 0.5 + shift * FWHM
    measured = figures(radial(radius))
    smaller, larger = sorted([np.pi * 0.25, np.pi * radius**2])
    pixel_ring = 2 * np.pi * 0.5 * GRID.pitch
    # Where both edges cross one pixel, the smaller of two fractions is not that of the overlap.
    assert measured.iou == pytest.approx(smaller / larger, abs=0.01)
    assert measured.overcure == pytest.approx(max(shift, 0) and larger - smaller, abs=0.1 * pixel_ring)
    assert measured.undercure == pytest.approx(max(-shift, 0) and larger - smaller, abs=0.1 * pixel_ring)
    assert measured.overcure - measured.undercure == pytest.approx(
        np.pi * (radius**2 - 0.25), abs=0.01 * pixel_ring
    )


def test_a_shifted_square_over_and_undercures_by_the_same():
    square, shift = design(shapely.box(-0.5, -0.5, 0.5, 0.5)), 0.03
    x, y = coordinates(GRID)
    norm = np.maximum(np.abs(x - shift), np.abs(y))
    measured = figures(CRITICAL * np.clip(1 + 3 * (0.5 - norm) / FWHM, 0, 2), square)
    assert measured.overcure == pytest.approx(shift, rel=0.03)
    assert measured.undercure == pytest.approx(shift, rel=0.03)
    assert measured.iou == pytest.approx((1 - shift) / (1 + shift), abs=2e-3)


@pytest.mark.parametrize("slope", [1.0, 2.0, 3.0])
def test_the_band_of_a_linear_edge(slope):
    """u = 1 + slope·t: 1.1 u and 0.9 u pass 1 at t = (1/1.1 − 1)/slope and (1/0.9 − 1)/slope."""
    measured = figures(radial(0.5, slope))
    outer, inner = (0.5 + (1 - 1 / k) / slope * FWHM for k in (1.1, 0.9))
    expected = np.pi * (outer**2 - inner**2) / (2 * np.pi * 0.5 * FWHM)
    assert measured.pv_band == pytest.approx(expected, rel=0.01)


def test_the_defocus_band_is_the_area_that_changes():
    measured = figures(radial(0.5), defocused=radial(0.52))
    assert measured.pv_defocus == pytest.approx(np.pi * (0.52**2 - 0.25) / (np.pi * FWHM), rel=0.01)
    assert figures(radial(0.5)).pv_defocus == 0


def test_the_largest_dose_is_in_critical_doses():
    dose = radial(0.5)
    dose[GRID.shape[0] // 2, GRID.shape[1] // 2] = 7 * CRITICAL
    assert figures(dose).dose_max == pytest.approx(7)


def test_the_path_s_figures():
    ends = np.cumsum([0, 5.0, 1, 2, 3, 4, 1])
    power = np.array([0, 1.0, 1, 0, 1, 0])
    path = Toolpath(np.stack([ends, 0 * ends], axis=1), power, np.full(6, 50.0))
    measured = MotionFigures.along(path, write_time=1.5, segment_rate=99.0, lines=12)
    assert (measured.write_length, measured.travel_length) == (7, 9)
    assert measured.toggles == 4
    assert measured.ideal_time == pytest.approx(16 / 50)
    assert (measured.write_time, measured.segment_rate, measured.lines) == (1.5, 99, 12)


@given(angle=st.floats(0, 6.28), offset=st.floats(-0.2, 0.2))
def test_a_straight_edge_at_any_angle_is_covered_exactly(angle, offset):
    """No false over- or undercure where a slanted edge prints exactly as drawn."""
    x, y = coordinates(GRID)
    ramp = CRITICAL + offset - (np.cos(angle) * x + np.sin(angle) * y)
    x0, x1, y0, y1 = GRID.extent
    far = 10 * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    place = offset * far[0] / 10
    half = shapely.Polygon([place - far[1], place + far[1], place + far[1] - far[0], place - far[1] - far[0]])
    solid = half.intersection(shapely.box(x0, y0, x1, y1), grid_size=NODING)
    exact = rasterise(design(solid), GRID).coverage
    np.testing.assert_allclose(cured_fraction(ramp, CRITICAL), exact, atol=1e-6)


@pytest.mark.parametrize("factor", [0.2, 0.9, 1.0, 3.0])
def test_the_best_exposure_puts_the_edges_back(factor):
    """Within the steps of the scan, 2 %."""
    exposure = best_exposure(factor * radial(0.5), scene(DISC, GRID, CRITICAL))
    assert exposure == pytest.approx(1 / factor, rel=0.015)


def test_where_there_is_no_dose_no_exposure_is_the_best():
    with pytest.raises(InputError, match="nowhere above 0"):
        best_exposure(np.zeros(GRID.shape), scene(DISC, GRID, CRITICAL))


def test_the_areas_of_cores_add_up_to_those_of_the_whole():
    dose, made = radial(0.52), scene(DISC, GRID, CRITICAL)
    half = len(dose) // 2
    cores = [
        (rows, columns)
        for rows in (slice(None, half), slice(half - len(dose), None))
        for columns in (slice(0, 9), slice(9, None))
    ]
    parts = CuredAreas.added([CuredAreas.of(dose, dose, made, core) for core in cores])
    np.testing.assert_allclose(astuple(parts), astuple(CuredAreas.of(dose, dose, made)), rtol=1e-12)


def test_a_dose_that_is_no_number_is_told_as_the_largest():
    dose = radial(0.5)
    dose[7, 7] = np.nan
    assert np.isnan(CuredAreas.of(dose, dose, scene(DISC, GRID, CRITICAL)).brightest)


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 7), (3, 1), (2, 2), (5, 9), (64, 8), (65, 7), (130, 70), (23, 200)]
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_spline_goes_through_all_pixels(shape, kind):
    """It is SciPy's, in rows and columns of any number."""
    dose = np.random.default_rng(seed := 3).random(shape).astype(kind)
    expected = spline_filter(dose.astype(np.float64), order=3, mode="grid-wrap")
    np.testing.assert_allclose(_spline_of(dose), expected, atol=1e-12, err_msg=f"seed {seed}")


def test_doses_between_pixels_are_those_of_the_spline():
    rng = np.random.default_rng(seed := 4)
    dose, grid = rng.random((40, 50)), Grid((0.5, -1.0), 0.1, (40, 50))
    pixels = rng.uniform(0, (49, 39), (100, 2))
    xy = np.array(grid.origin) + grid.pitch * pixels
    expected = map_coordinates(dose, pixels.T[::-1], order=3, mode="grid-wrap")
    np.testing.assert_allclose(doses_at(dose, grid, xy), expected, atol=1e-12, err_msg=f"seed {seed}")

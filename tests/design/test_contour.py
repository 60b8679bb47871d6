"""Samples along the contour, and how a grid is read there."""

import numpy as np
import pytest
import shapely
from builders import FWHM, centred_grid, coordinates, design, polygons, read
from hypothesis import given

from laserpath.design import scene
from laserpath.design.scene import SAMPLE_FWHM, PassingSampler, Sampler, contour_samples
from laserpath.types import Grid

GRID = Grid(origin=(-1.0, -0.5), pitch=0.05, shape=(24, 40))


def slopes(grid, xy, direction, field):
    """(M,) the slopes there."""
    return Sampler.of(grid, xy, direction)(field)[1]


def test_the_adjoint_of_reading():
    """⟨a, values⟩ + ⟨b, slopes⟩ = ⟨pull(a, b), field⟩."""
    rng = np.random.default_rng(4)
    sampler = Sampler.of(GRID, rng.uniform((-3, -3), (3, 3), (50, 2)), rng.normal(size=(50, 2)))
    field, (a, b), pulled = rng.normal(size=GRID.shape), rng.normal(size=(2, 50)), np.zeros(GRID.shape)
    value, slope = sampler(field)
    sampler.pull(a, b, pulled)
    assert (pulled * field).sum() == pytest.approx(a @ value + b @ slope, rel=1e-12)


def test_many_points_are_read_in_parts_as_few_are_at_once(monkeypatch):
    monkeypatch.setattr(scene, "_AT_ONCE", 7)
    rng = np.random.default_rng(5)
    given = GRID, rng.uniform((-1, -0.5), (1, 0.7), (50, 2)), rng.normal(size=(50, 2))
    field, slopes = rng.normal(size=GRID.shape), rng.normal(size=(2, 50))
    pulled = [np.zeros(GRID.shape), np.zeros(GRID.shape)]
    whole, passing = Sampler.of(*given), PassingSampler(*given)
    for sampler, out in zip((whole, passing), pulled, strict=True):
        sampler.pull(*slopes, out)
    np.testing.assert_array_equal(passing(field), whole(field))
    np.testing.assert_allclose(*pulled, rtol=1e-12)
    assert len(passing) == 50


def test_a_band_limited_field_is_read_between_its_pixels():
    # What an ideal interpolation, by the discrete Fourier transform, gives at the same places.
    rng = np.random.default_rng(0)
    rows, columns = GRID.shape
    y, x = (np.fft.fftfreq(n) for n in GRID.shape)
    spectrum = np.fft.fft2(rng.normal(size=GRID.shape)) * (np.hypot(y[:, None], x[None, :]) < 0.25)
    field = np.fft.ifft2(spectrum).real
    xy = rng.uniform((-3, -3), (3, 3), (200, 2))
    u, v = GRID.to_pixels(xy).T
    wave_v, wave_u = (np.exp(2j * np.pi * np.outer(t, f)) for t, f in ((v, y), (u, x)))
    expected = np.einsum("mi,ij,mj->m", wave_v, spectrum, wave_u).real / (rows * columns)
    np.testing.assert_allclose(read(GRID, xy, field), expected, atol=6e-4 * np.abs(field).max())


def test_at_the_pixel_centres_the_field_comes_back():
    field = np.random.default_rng(1).normal(size=GRID.shape)
    x, y = coordinates(GRID)
    xy = np.stack([x.ravel(), y.ravel()], axis=1)
    np.testing.assert_allclose(read(GRID, xy, field), field.ravel(), atol=1e-9 * np.abs(field).max())


def test_a_smooth_wave_and_its_slope_are_read_true():
    grid = centred_grid(1.0)
    rows, columns = grid.shape
    kx, ky = 2 * np.pi * 5 / (columns * grid.pitch), 2 * np.pi * 3 / (rows * grid.pitch)
    x, y = coordinates(grid)
    field = np.sin(kx * x + ky * y)
    rng = np.random.default_rng(2)
    xy, direction = rng.uniform(-1, 1, (100, 2)), rng.normal(size=(100, 2))
    phase = xy @ (kx, ky)
    np.testing.assert_allclose(read(grid, xy, field), np.sin(phase), atol=5e-4)
    slope = np.cos(phase) * (direction @ (kx, ky))
    np.testing.assert_allclose(slopes(grid, xy, direction, field), slope, atol=3.5e-3 * np.abs(slope).max())


def test_no_points_read_nothing():
    assert read(GRID, np.zeros((0, 2)), np.zeros(GRID.shape)).shape == (0,)


@given(polygon=polygons())
def test_samples_lie_on_the_contour_with_normals_that_point_out(polygon):
    made = design(polygon)
    samples = contour_samples(made, FWHM)
    points = shapely.points(samples.xy)
    assert shapely.distance(points, made.area.boundary).max() < 1e-12
    np.testing.assert_allclose(np.hypot(*samples.normal.T), 1)
    # At a vertex itself the normal is that of one edge only.
    vertices = shapely.MultiPoint(shapely.get_coordinates(made.area))
    xy, normal = (a[shapely.distance(points, vertices) > 1e-4] for a in (samples.xy, samples.normal))
    assert not shapely.contains_xy(made.area, xy + 1e-6 * normal).any()
    assert shapely.contains_xy(made.area, xy - 1e-6 * normal).all()


@given(polygon=polygons())
def test_samples_are_evenly_spaced(polygon):
    made = design(polygon)
    rings = [r for p in made.area.geoms for r in (p.exterior, *p.interiors)]
    expected = sum(max(8, int(r.length / (SAMPLE_FWHM * FWHM))) for r in rings)
    assert len(contour_samples(made, FWHM).xy) == expected


def test_a_small_ring_still_has_eight_samples():
    assert len(contour_samples(design(shapely.box(0, 0, 0.01, 0.01)), FWHM).xy) == 8


def test_corners_are_what_lies_near_a_turn():
    samples = contour_samples(design(shapely.box(0, 0, 1, 1)), FWHM)
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    nearest = np.abs(samples.xy[:, None] - corners[None]).max(axis=2).min(axis=1)
    # The turn is looked for at steps of 3/16 FWHM along the contour.
    assert samples.corner[nearest < 0.74 * FWHM].all()
    assert not samples.corner[nearest > 0.76 * FWHM].any()


def test_a_round_contour_has_no_corner():
    assert not contour_samples(design(shapely.Point(0, 0).buffer(1, quad_segs=64)), FWHM).corner.any()


@pytest.mark.parametrize(("degrees", "corner"), [(25, False), (35, True)])
def test_a_turn_counts_above_thirty_degrees(degrees, corner):
    turn = np.radians(degrees)
    shape = shapely.Polygon([(-1, -1), (0, -1), (np.cos(turn), np.sin(turn) - 1), (1, 1), (-1, 1)])
    samples = contour_samples(design(shape), FWHM)
    near = np.hypot(*(samples.xy - (0, -1)).T) < 0.5 * FWHM
    assert samples.corner[near].all() == corner
    assert samples.corner[near].any() == corner

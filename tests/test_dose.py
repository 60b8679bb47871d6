"""Laws of the dose model: energy, linearity, shift, the line in closed form, gradients, bad input."""

import numpy as np
import pytest
from builders import FWHM, SPOT, airy_line, centred_grid, coordinates, path, random_path
from hypothesis import given, settings
from hypothesis import strategies as st

from laserpath import optics
from laserpath.dose import DirectEngine, DoseModel, FftEngine
from laserpath.errors import InputError
from laserpath.types import Grid

GRID = centred_grid(0.6, 4)
MODEL = DoseModel(GRID, SPOT, precision="f64")
seeds = st.integers(0, 2**32 - 1)


def direct(grid: Grid = GRID) -> DoseModel:
    return DoseModel(grid, SPOT, engine=DirectEngine(grid, SPOT, "f64"))


@given(seed=seeds)
def test_energy_is_conserved(seed):
    toolpath = random_path(np.random.default_rng(seed))
    energy = (toolpath.line_energy * toolpath.length).sum()
    assert MODEL.dose(toolpath).sum() * GRID.pixel_area == pytest.approx(energy, rel=1e-12)


@settings(max_examples=20)
@given(seed=seeds)
def test_half_the_speed_or_twice_the_power_is_twice_the_dose(seed):
    slow = random_path(np.random.default_rng(seed))
    dose = MODEL.dose(slow)
    near = {"rtol": 1e-12, "atol": 1e-12 * dose.max()}
    np.testing.assert_allclose(MODEL.dose(path(slow.xy, slow.power, slow.speed / 2)), 2 * dose, **near)
    np.testing.assert_allclose(MODEL.dose(path(slow.xy, 2 * slow.power, slow.speed)), 2 * dose, **near)


@settings(max_examples=20)
@given(seed=seeds, columns=st.integers(-30, 30), rows=st.integers(-30, 30))
def test_whole_pixels_shift_the_dose(seed, columns, rows):
    toolpath = random_path(np.random.default_rng(seed), half=0.02)
    small = path(np.clip(toolpath.xy, -0.05, 0.05), toolpath.power, toolpath.speed)
    shift = np.clip([columns, rows], -20, 20)
    moved = path(small.xy + shift * GRID.pitch, small.power, small.speed)
    expected = np.roll(MODEL.dose(small), (shift[1], shift[0]), axis=(0, 1))
    np.testing.assert_allclose(MODEL.dose(moved), expected, atol=1e-12 * expected.max())


@given(dx=st.floats(-0.02, 0.02), dy=st.floats(-0.02, 0.02))
def test_part_of_a_pixel_moves_the_centroid_as_far(dx, dy):
    """The first moment; of the Gaussian-weighted middle, since an Airy tail has no second moment."""
    grid = centred_grid(1.2, 4)
    model = DoseModel(grid, SPOT, precision="f64")
    dot = np.array([[-0.004, 0.0], [0.004, 0.0]])
    x, y = coordinates(grid)
    near = model.dose(path(dot + (dx, dy))) * np.exp(-((x - dx) ** 2 + (y - dy) ** 2) / FWHM**2)
    centroid = np.array([(x * near).sum(), (y * near).sum()]) / near.sum()
    np.testing.assert_allclose(centroid, (dx, dy), atol=2e-3 * grid.pitch)


@pytest.mark.parametrize("length", [0.03, 0.3, 0.5, 0.51, 0.99, 1.01, 2.5, 5.0, 9.0])
@pytest.mark.parametrize("offset", [(0, 0), (0.5, 0.5), (0.3, 0.8)])
def test_a_straight_line_is_the_integral_of_the_spot(length, offset):
    """Middle, edge and ends, at the default 6 pixels per FWHM: 1.1e-3 quadrature and 2e-4 splat."""
    grid = centred_grid(1.8)
    direction = np.array([np.cos(0.6), np.sin(0.6)])
    start = np.array(offset) * grid.pitch - direction * length * FWHM / 2
    end = start + direction * length * FWHM
    dose = DoseModel(grid, SPOT, precision="f64").dose(path(np.array([start, end]), 50.0))
    along = np.linspace(-length / 2 - 1, length / 2 + 1, 41) * FWHM
    across = np.array([-1, -0.5, 0, 0.5, 1]) * FWHM
    centre = (start + end) / 2
    at = (
        centre
        + along[:, None, None] * direction
        + across[None, :, None] * np.array([-direction[1], direction[0]])
    )
    column, row = np.rint(grid.to_pixels(at.reshape(-1, 2))).astype(int).T
    pixels = np.stack([grid.x()[column], grid.y()[row]], axis=1)
    expected = airy_line(start, end, pixels)
    np.testing.assert_allclose(dose[row, column], expected, atol=1.3e-3 * expected.max())


@pytest.mark.parametrize(("per_fwhm", "error"), [(3, 4e-3), (4, 1e-3), (6, 2e-4), (8, 6e-5)])
def test_the_splat_is_as_exact_as_it_says(per_fwhm, error):
    grid = centred_grid(2.4, per_fwhm)
    x, y = coordinates(grid)
    engine = FftEngine(grid, SPOT, "f64")
    for offset in ((0, 0), (0.5, 0.5), (0.25, 0.6)):
        at = np.array([offset]) * grid.pitch
        dose = engine.spread(at, np.ones(1))
        expected = optics.profile(SPOT, np.hypot(x - at[0, 0], y - at[0, 1]))
        near = np.hypot(x, y) < 5 * FWHM
        assert np.abs(dose - expected)[near].max() <= error * optics.profile(SPOT, 0)


def loss_and_slope(dose):
    """A scalar of the dose that is neither linear nor symmetric, and its slope."""
    x, y = coordinates(GRID)
    weight = 1 + x + 2 * y + np.sin(20 * x * y)
    return float((weight * dose**2).sum()), 2 * weight * dose


@pytest.mark.parametrize("engine", ["fft", "direct"])
@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_central_differences(engine, seed):
    """∂x, ∂y, ∂power, ∂speed of a random curve to 1e-6, and none of the four is zero."""
    model = MODEL if engine == "fft" else direct()
    rng = np.random.default_rng(seed)
    toolpath = random_path(rng)
    gradient = model.gradient(toolpath, loss_and_slope(model.dose(toolpath))[1])
    for name in ("x", "y", "power", "speed"):
        # Dark moves stay dark: their power has no derivative.
        mask = toolpath.on if name in ("power", "speed") else np.ones(len(toolpath.xy), bool)
        direction = rng.normal(size=len(mask)) * mask
        given_ = {"x": gradient.xy[:, 0], "y": gradient.xy[:, 1]}.get(name)
        slope = (getattr(gradient, name) if given_ is None else given_) @ direction
        expected = central_difference(model, toolpath, name, direction)
        assert abs(slope) > 1e-6
        assert slope == pytest.approx(expected, rel=1e-6)


def central_difference(model, toolpath, name, direction):
    """Fourth order, so that the step can be wide enough for rounding not to show."""

    def loss(step):
        xy, power, speed = toolpath.xy.copy(), toolpath.power.copy(), toolpath.speed.copy()
        {"x": xy[:, 0], "y": xy[:, 1], "power": power, "speed": speed}[name][...] += step * direction
        return loss_and_slope(model.dose(path(xy, power, speed)))[0]

    h = {"x": 2e-6, "y": 2e-6, "power": 1e-3, "speed": 1e-3}[name]
    return (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h)


@pytest.mark.parametrize("engine", ["fft", "direct"])
def test_moves_of_no_length_are_dark_and_harmless(engine):
    model = MODEL if engine == "fft" else direct()
    plain = np.array([[-0.1, 0.0], [0.05, 0.02], [0.1, 0.1]])
    stuttering = plain[[0, 0, 1, 1, 1, 2, 2]]
    np.testing.assert_array_equal(model.dose(path(stuttering)), model.dose(path(plain)))
    d_dose = np.random.default_rng(0).normal(size=GRID.shape)
    gradient = model.gradient(path(stuttering), d_dose)
    for part in (gradient.xy, gradient.power, gradient.speed):
        assert np.isfinite(part).all()
    np.testing.assert_array_equal(gradient.power[[0, 2, 3, 5]], 0)
    only_points = path(np.zeros((4, 2)))
    assert not model.dose(only_points).any()
    assert not model.gradient(only_points, d_dose).xy.any()


@pytest.mark.parametrize("engine", ["fft", "direct"])
def test_travel_gives_no_dose_and_does_not_pull(engine):
    model = MODEL if engine == "fft" else direct()
    xy = np.array([[-0.2, 0.0], [-0.1, 0.0], [0.1, 0.1], [0.2, 0.1]])
    d_dose = np.random.default_rng(0).normal(size=GRID.shape)
    dark = path(xy[1:3], 0.0)
    assert not model.dose(dark).any()
    assert not model.gradient(dark, d_dose).xy.any()
    split = model.dose(path(xy[:2])) + model.dose(path(xy[2:]))
    joined = path(xy, np.array([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(model.dose(joined), split, atol=1e-12 * split.max())
    np.testing.assert_allclose(model.gradient(joined, d_dose).xy[:2], model.gradient(path(xy[:2]), d_dose).xy)


def test_travel_may_leave_the_grid():
    xy = np.array([[5.0, 5.0], [-0.1, 0.0], [0.1, 0.0]])
    assert MODEL.dose(path(xy, np.array([0.0, 1.0]))).max() > 0


def test_the_two_engines_agree():
    """The stencil is cut at 3 FWHM, beyond which 6.5 % of the energy lie, thin over the plane."""
    grid = centred_grid(1.2)
    toolpath = random_path(np.random.default_rng(0), half=0.1)
    by_fft = DoseModel(grid, SPOT, precision="f64").dose(toolpath)
    by_stencil = direct(grid).dose(toolpath)
    assert np.abs(by_fft - by_stencil).max() < 0.01 * by_fft.max()


def test_single_precision_is_within_rounding_of_double():
    toolpath = random_path(np.random.default_rng(0))
    d_dose = np.random.default_rng(1).normal(size=GRID.shape)
    single = DoseModel(GRID, SPOT, precision="f32")
    double = MODEL.dose(toolpath)
    np.testing.assert_allclose(single.dose(toolpath), double, atol=1e-6 * double.max())
    for name in ("xy", "power", "speed"):
        expected = getattr(MODEL.gradient(toolpath, d_dose), name)
        found = getattr(single.gradient(toolpath, d_dose), name)
        np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_the_same_bits_from_run_to_run(precision):
    toolpath = random_path(np.random.default_rng(0), moves=600)
    d_dose = np.random.default_rng(1).normal(size=GRID.shape)
    model = DoseModel(GRID, SPOT, precision=precision)
    dose, gradient = model.dose(toolpath), model.gradient(toolpath, d_dose)
    for _ in range(5):
        again = DoseModel(GRID, SPOT, precision=precision)
        assert (again.dose(toolpath) == dose).all()
        assert (again.gradient(toolpath, d_dose).xy == gradient.xy).all()


@pytest.mark.parametrize("engine", [FftEngine, DirectEngine])
def test_input_arrays_are_not_written_to(engine):
    model = DoseModel(GRID, SPOT, engine=engine(GRID, SPOT, "f64"))
    toolpath = random_path(np.random.default_rng(0))
    d_dose = np.random.default_rng(1).normal(size=GRID.shape)
    xy, energy, given_ = toolpath.xy.copy(), toolpath.line_energy.copy(), d_dose.copy()
    d_dose.flags.writeable = False
    model.line_dose(toolpath.xy, toolpath.line_energy)
    model.line_gradient(toolpath.xy, toolpath.line_energy, d_dose)
    np.testing.assert_array_equal(toolpath.xy, xy)
    np.testing.assert_array_equal(toolpath.line_energy, energy)
    np.testing.assert_array_equal(d_dose, given_)


@pytest.mark.parametrize("side", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_exposing_outside_the_grid_is_refused(side):
    line = np.array([[0.0, 0.0], np.multiply(side, 0.7)])
    with pytest.raises(InputError, match="outside the grid"):
        MODEL.dose(path(line))


def test_exposing_nowhere_is_refused():
    with pytest.raises(InputError, match="path holds 1 coordinates that are not finite"):
        MODEL.line_dose(np.array([[0.0, 0.0], [np.nan, 0.1]]), np.ones(1))


def test_up_to_the_rim_of_the_grid_all_is_well():
    x0, x1, y0, y1 = GRID.extent
    rim = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1], [x0, y0]])
    dose = MODEL.dose(path(rim))
    assert dose.sum() * GRID.pixel_area == pytest.approx(path(rim).length.sum() / 50, rel=1e-12)


def test_too_coarse_a_pixel_is_refused():
    coarse = Grid(origin=(0.0, 0.0), pitch=FWHM / 2, shape=(20, 20))
    with pytest.raises(InputError, match=r"pixel pitch 0\.05 mm is above 0\.04859"):
        DoseModel(coarse, SPOT)


@pytest.mark.parametrize("engine", [FftEngine, DirectEngine])
def test_an_unknown_precision_is_refused(engine):
    with pytest.raises(InputError, match="precision 'f16' is unknown; known: f32, f64"):
        engine(GRID, SPOT, "f16")

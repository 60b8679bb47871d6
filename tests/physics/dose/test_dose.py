"""Laws of the dose model: energy, linearity, shift, the line in closed form, gradients, bad input.

The dose is within a stated tolerance of the exact one, relative to its peak, and so are the laws.

Energies on pixels: the dose of the same points by another engine, and the adjoint of itself.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from builders import FWHM, SPOT, airy_line, centred_grid, coordinates, path, random_path
from hypothesis import given
from hypothesis import strategies as st
from scipy import fft
from scipy.interpolate import BSpline
from sets import examples, one_fast

from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel, engine
from laserpath.physics.dose.fft import FftEngine, LatticeDose, TiledEngine, _along_columns
from laserpath.physics.dose.kernels import splatting
from laserpath.physics.dose.stencils import separable
from laserpath.types import DoseMap, Grid, Spot, Toolpath

GRID = centred_grid(0.6, 4)
MODEL = DoseModel(GRID, SPOT, precision="f64")
MODELS = {
    "fft": MODEL,
    "fine": DoseModel(GRID, SPOT, precision="f64", tolerance=1e-6),
    "gauss": DoseModel(GRID, Spot(FWHM, "gaussian"), precision="f64"),
    "radial": DoseModel(GRID, SPOT, method="direct", precision="f64"),
    "separable": DoseModel(GRID, Spot(FWHM, "gaussian"), method="direct", precision="f64"),
}
seeds = st.integers(0, 2**32 - 1)
all_models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


@examples(20)
@given(seed=seeds)
def test_a_gaussian_leaves_all_its_energy_on_the_grid(seed):
    toolpath = random_path(np.random.default_rng(seed))
    energy = (toolpath.line_energy * toolpath.length).sum()
    for name in ("gauss", "separable"):
        assert MODELS[name].dose(toolpath).sum() * GRID.pixel_area == pytest.approx(energy, rel=1e-3)


@pytest.mark.parametrize("radius", [0.3, 0.6, 1.2])
def test_an_airy_spot_leaves_what_is_inside_the_circle(radius):
    """Nothing wraps around: what a periodic grid would add is not there."""
    grid = centred_grid(1.25, 4)
    dose = DoseModel(grid, SPOT, precision="f64").engine.spread(np.zeros((1, 2)), np.ones(1))
    x, y = coordinates(grid)
    # The mean over circles that cut pixels differently.
    inside = np.mean([(dose * (np.hypot(x, y) < radius + r)).sum() for r in np.linspace(-0.02, 0.02, 41)])
    assert inside * grid.pixel_area == pytest.approx(1 - optics.energy_outside(SPOT, radius), abs=2e-3)


@examples(20)
@given(seed=seeds)
def test_half_the_speed_or_twice_the_power_is_twice_the_dose(seed):
    slow = random_path(np.random.default_rng(seed))
    dose = MODEL.dose(slow)
    near = {"rtol": 1e-12, "atol": 1e-12 * dose.max()}
    np.testing.assert_allclose(MODEL.dose(path(slow.xy, slow.power, slow.speed / 2)), 2 * dose, **near)
    np.testing.assert_allclose(MODEL.dose(path(slow.xy, 2 * slow.power, slow.speed)), 2 * dose, **near)


@examples(20)
@given(seed=seeds, columns=st.integers(-30, 30), rows=st.integers(-30, 30))
def test_whole_pixels_shift_the_dose(seed, columns, rows):
    toolpath = random_path(np.random.default_rng(seed), half=0.02)
    small = path(np.clip(toolpath.xy, -0.05, 0.05), toolpath.power, toolpath.speed)
    shift = np.clip([columns, rows], -20, 20)
    moved = path(small.xy + shift * GRID.pitch, small.power, small.speed)
    shifted, there = np.roll(MODEL.dose(small), (shift[1], shift[0]), axis=(0, 1)), MODEL.dose(moved)
    # What is rolled in from the other side is not the dose there.
    inner = np.s_[20:-20, 20:-20]
    np.testing.assert_allclose(there[inner], shifted[inner], atol=1e-3 * there.max())


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
@pytest.mark.parametrize("tolerance", one_fast([1e-2, 1e-3, 1e-4, 1e-6], 1e-3, 1e-6))
def test_a_straight_line_is_the_integral_of_the_spot(length, offset, tolerance):
    """Middle, edge and ends, within the tolerance."""
    grid = centred_grid(1.8)
    direction = np.array([np.cos(0.6), np.sin(0.6)])
    start = np.array(offset) * grid.pitch - direction * length * FWHM / 2
    end = start + direction * length * FWHM
    dose = model_of(grid, tolerance).dose(path(np.array([start, end]), 50.0))
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
    np.testing.assert_allclose(dose[row, column], expected, atol=tolerance * expected.max())


@cache
def model_of(grid, tolerance):
    return DoseModel(grid, SPOT, precision="f64", tolerance=tolerance)


def loss_and_slope(dose):
    """A scalar of the dose that is neither linear nor symmetric, and its slope."""
    x, y = coordinates(GRID)
    weight = 1 + x + 2 * y + np.sin(20 * x * y)
    return float((weight * dose**2).sum()), 2 * weight * dose


@all_models
@pytest.mark.parametrize("seed", one_fast(range(3), 0))
def test_gradients_are_central_differences(model, seed):
    """∂x, ∂y, ∂power, ∂speed of a random curve to 1e-6, and none of the four is zero."""
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


@all_models
def test_moves_of_no_length_are_dark_and_harmless(model):
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


@all_models
def test_travel_gives_no_dose_and_does_not_pull(model):
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


def test_an_airy_stencil_agrees_up_to_what_it_cuts():
    """It ends at 3 FWHM, beyond which 6.5 % of the energy lie, thin over the plane."""
    grid = centred_grid(1.2)
    toolpath = random_path(np.random.default_rng(0), half=0.1)
    by_fft, by_stencil = (DoseModel(grid, SPOT, method=m).dose(toolpath) for m in ("fft", "direct"))
    assert np.abs(by_fft - by_stencil).max() < 0.01 * by_fft.max()


@pytest.mark.parametrize("aspect", [1.0, 0.7, 1.6])
@pytest.mark.parametrize("angle", [0.0, 90.0, 30.0])
def test_both_engines_agree_on_gaussians(aspect, angle):
    spot = Spot(FWHM, "gaussian", aspect=aspect, angle=angle)
    toolpath = random_path(np.random.default_rng(1))
    d_dose = np.random.default_rng(2).normal(size=GRID.shape)
    fft, stencil = (DoseModel(GRID, spot, method=m, precision="f64") for m in ("fft", "direct"))
    expected = fft.dose(toolpath)
    np.testing.assert_allclose(stencil.dose(toolpath), expected, atol=1.5e-3 * expected.max())
    expected = fft.gradient(toolpath, d_dose).xy
    np.testing.assert_allclose(
        stencil.gradient(toolpath, d_dose).xy, expected, atol=0.01 * np.abs(expected).max()
    )


def test_taichi_differentiates_the_stencil_as_we_do():
    xy = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
    energy = np.random.default_rng(1).uniform(0, 1, 20)
    d_dose = np.random.default_rng(2).normal(size=GRID.shape)
    ours, taichis = (engine(GRID, SPOT, method=m, precision="f64") for m in ("direct", "autodiff"))
    np.testing.assert_allclose(taichis.spread(xy, energy), ours.spread(xy, energy), rtol=1e-12)
    for found, expected in zip(
        taichis.gather(xy, energy, d_dose), ours.gather(xy, energy, d_dose), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


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


@all_models
def test_input_arrays_are_not_written_to(model):
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
    with pytest.raises(InputError, match=r"path is not finite in 1 of \d+ coordinates"):
        MODEL.line_dose(np.array([[0.0, 0.0], [np.nan, 0.1]]), np.ones(1))


@all_models
def test_up_to_the_rim_of_the_grid_all_is_well(model):
    """A point in each corner and half a pixel beyond the last centres: symmetric, and its energy there."""
    x0, x1, y0, y1 = GRID.extent
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
    doses = [model.engine.spread(corner[None], np.ones(1)) for corner in corners]
    flips = (np.s_[:, :], np.s_[:, ::-1], np.s_[::-1, ::-1], np.s_[::-1, :])
    for dose, flip in zip(doses, flips, strict=True):
        np.testing.assert_allclose(dose[flip], doses[0], atol=1.5e-3 * optics.profile(SPOT, 0))
    gathered, pull = model.engine.gather(corners, np.ones(4), np.ones(GRID.shape))
    np.testing.assert_allclose(gathered, [dose.sum() for dose in doses], rtol=1e-9)
    assert np.isfinite(pull).all()


def test_a_picture_may_be_coarser_than_the_dose_is_fine():
    """2.2 pixels per FWHM do not hold a Gaussian, but may ask for its values."""
    spot, grid = Spot(FWHM, "gaussian"), centred_grid(0.6, 2.2)
    x, y = coordinates(grid)
    model = engine(grid, spot, precision="f64")
    at = np.array([[0.013, -0.027]])
    expected = optics.profile(spot, x - at[0, 0], y - at[0, 1])
    assert np.abs(model.spread(at, np.ones(1)) - expected).max() <= 1e-3 * expected.max()
    d_dose = np.random.default_rng(0).normal(size=grid.shape)
    gathered, _ = model.gather(at, np.ones(1), d_dose)
    assert gathered[0] == pytest.approx((model.spread(at, np.ones(1)) * d_dose).sum(), rel=1e-9)


def exposed_by_strips(side, spread):
    """What spread(xy, energy, strips, out) adds to `side`² pixels, the same for all strips; the energies."""
    rng = np.random.default_rng(0)
    xy, energy = rng.uniform(-0.6, 0.6, (20_000, 2)), rng.uniform(0, 1, 20_000)
    grids = []
    for shares in ([0, 1], [0, 0.5, 1], [0, 0.02, 0.25, 0.26, 0.6, 1]):
        out = np.zeros((side, side), np.float32)
        spread(xy, energy, np.rint(side * np.array(shares)).astype(np.int32), out)
        grids.append(out)
    for other in grids[1:]:
        np.testing.assert_array_equal(other, grids[0])
    return grids[0], energy


def test_one_line_of_a_hundred_thousand_does_not_change_the_bits():
    """Strips of rows, one a thread: the sum of a pixel is in the order of the points."""
    kernel = splatting("f32", 6)

    def spread(xy, energy, strips, out):
        kernel.splat(xy, energy, -1.0, -1.0, 100.0, 100.0, strips, out)

    canvas, energy = exposed_by_strips(200, spread)
    assert canvas.sum(dtype=np.float64) == pytest.approx(energy.sum(), rel=1e-6)


@pytest.mark.parametrize("order", [4, 6, 8, 10])
@pytest.mark.parametrize(("precision", "near"), [("f32", 1e-6), ("f64", 1e-13)])
def test_a_point_is_splatted_and_gathered_by_the_b_spline(precision, near, order):
    """On a line, where SciPy's spline has the same weights and slopes; the other axis is constant."""
    kernel = splatting(precision, order)
    u = np.random.default_rng(3).uniform(8, 12, 50)
    spline = BSpline.basis_element(np.arange(order + 1) - order / 2, extrapolate=False)
    away = np.arange(20) - u[:, None]
    weight, slope = (np.nan_to_num(one(away)) for one in (spline, spline.derivative()))
    real = np.dtype(precision.replace("f32", "f4").replace("f64", "f8"))
    one, strips = np.ones(1), np.array([0, 20], np.int32)
    for at, weights in zip(u, weight, strict=True):
        out = np.zeros((20, 20), real)
        kernel.splat(np.array([[at, 10.0]]), one, 0.0, 0.0, 1.0, 1.0, strips, out)
        np.testing.assert_allclose(out.sum(axis=0), weights, atol=near)
    field = np.tile(np.random.default_rng(4).normal(size=20), (20, 1))
    energy, xy = np.zeros(50), np.zeros((50, 2))
    at = np.stack([u, np.full(50, 10.3)], axis=1)
    kernel.gather(at, np.ones(50), 0.0, 0.0, 1.0, 1.0, field.astype(real), energy, xy)
    np.testing.assert_allclose(energy, weight @ field[0], atol=10 * near)
    np.testing.assert_allclose(xy[:, 0], -slope @ field[0], atol=10 * near)
    np.testing.assert_allclose(xy[:, 1], 0, atol=10 * near)


def test_strips_do_not_change_the_bits_of_a_product_of_gaussians():
    """A point's weights begin at its own first row, not at the strip's."""
    kernel = separable("f32", 8)

    def spread(xy, energy, strips, out):
        kernel.spread(xy, energy, -0.5, -0.5, 100.0, 0.3, 0.2, 5, strips, out)

    exposed_by_strips(100, spread)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"precision": "f16"}, "precision 'f16' is unknown; known: f32, f64"),
        ({"method": "fast"}, "method 'fast' is unknown; known: auto, fft, direct, autodiff"),
        ({"device": "tpu"}, "device 'tpu' is unknown; known: auto, cpu, cuda, vulkan, metal"),
        ({"tolerance": "x"}, "tolerance is 'x', but must be a number"),
        ({"tolerance": 1e-7}, "tolerance is 1e-07, but must be between 1e-06 and 0.1"),
        ({"tolerance": 1e-6}, "tolerance 1e-06 is below 1e-05, too fine for f32; use precision 'f64'"),
        ({"grid": Grid((0, 0), 0.06, (20, 20))}, r"spot FWHM 0\.1 mm is 1\.7 pixels of 0\.06 mm"),
        ({"spot": Spot(0.1, aspect=0.1)}, r"spot FWHM 0\.0316\d* mm is 1\.3 pixels"),
        (
            {"grid": Grid((0, 0), 0.02, (1_000_000, 1_000_000))},
            r"grid of 1\d+ × 1\d+ pixels needs [\d.]+ GiB, above the [\d.]+ GiB that are free",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["fft", "direct"])
def test_what_cannot_be_is_refused_in_a_sentence(change, sentence, method):
    options = {"grid": GRID, "spot": SPOT, "method": method, **change}
    with pytest.raises(InputError, match=sentence):
        engine(options.pop("grid"), options.pop("spot"), **options)


@pytest.mark.parametrize(
    ("spot", "precision", "tolerance", "within"),
    [(SPOT, "f32", 1e-3, 1e-3), (SPOT, "f32", 1e-5, 1e-4), (Spot(FWHM, "gaussian"), "f64", 1e-4, 1e-4)],
)
def test_tiles_have_the_dose_of_the_whole(spot, precision, tolerance, within, monkeypatch):
    """An area at one side, whose far light reaches the tiles at the other, and a point in a corner.

    within: of the peak; rims and far light keep 1e-4 at most.
    """
    monkeypatch.setattr("laserpath.physics.dose.fft._SIDE", 48)
    grid = Grid((0.4, -0.3), FWHM / 3, (130, 400))
    x, y = np.meshgrid(np.arange(0.5, 3, 0.03), np.arange(-0.2, 3.9, 0.03))
    xy = np.concatenate([np.stack([x.ravel(), y.ravel()], axis=1), [[7.2, -0.2]]])
    energy = np.append(np.random.default_rng(5).uniform(0.5, 1.5, x.size), 9.0)
    tiled = TiledEngine(grid, spot, precision, tolerance).spread(xy, energy)
    whole = FftEngine(grid, spot, precision, tolerance).spread(xy, energy)
    assert tiled.dtype == whole.dtype
    lit = tiled != 0
    assert np.abs(tiled - whole)[lit].max() < 2 * within * whole.max(), "each is within its tolerance"
    assert lit.any() and not lit.all(), "a tile with nothing near is left out"
    assert whole[~lit].max() < 0.02 * whole.max()


UNEVEN = DoseMap((0.0, 0.0, 8.0, 8.0), (4, 4), tuple(np.linspace(-0.2, 0.2, 16)))


@pytest.mark.parametrize("spot", [Spot(FWHM, aspect=2.0, angle=30.0), replace(SPOT, dose_map=UNEVEN)])
def test_tiles_have_the_dose_of_lines(spot, monkeypatch):
    """Of a long one, which is cut, some short ones and a dark one; of an ellipse, and of uneven light."""
    monkeypatch.setattr("laserpath.physics.dose.fft._SIDE", 64)
    monkeypatch.setattr("laserpath.physics.dose.model.TILED_FROM", 1000)
    monkeypatch.setattr("laserpath.physics.dose.model._LONGEST", 20.0)
    grid = Grid((0.0, 0.0), FWHM / 3, (300, 420))
    x, y = grid.extent[1], grid.extent[3]
    xy = np.array([[0.05, 0.05], [x - 0.1, y - 0.1], [x / 2, 0.2], [x / 2, 0.4], [0.3, 0.4], [0.3, 0.35]])
    energy = np.array([1.0, 0.0, 2.0, 0.5, -0.25])
    tiled = DoseModel(grid, spot, tolerance=1e-4)
    assert isinstance(tiled.engine, TiledEngine) and isinstance(tiled.at_once.engine, FftEngine)
    whole = tiled.at_once.line_dose(xy, energy)
    dose = tiled.line_dose(xy, energy)
    assert np.abs(dose - whole)[dose != 0].max() < 3e-4 * np.abs(whole).max()
    rows = tiled.dose_by_rows(xy, energy)
    read = [rows[slice(k, min(k + 37, 300)), slice(5, 400)] for k in range(0, 300, 37)]
    assert np.array_equal(np.vstack(read), dose[:, 5:400])
    assert rows[slice(7, 7), slice(0, 3)].shape == (0, 3)
    assert not tiled.line_dose(xy, np.zeros(5)).any()
    with pytest.raises(InputError, match="not finite"):
        tiled.line_dose(xy, np.array([1.0, 0.0, np.nan, 0.5, 1.0]))


def test_tiles_are_read_in_any_order(monkeypatch):
    """Forwards, where rows are let go of, and backwards, where they are computed again."""
    monkeypatch.setattr("laserpath.physics.dose.fft._SIDE", 64)
    monkeypatch.setattr("laserpath.physics.dose.fft._PASSED", 10)
    monkeypatch.setattr("laserpath.physics.dose.model.TILED_FROM", 1000)
    model, rng = (
        DoseModel(Grid((0.0, 0.0), FWHM / 3, (300, 120)), SPOT, tolerance=1e-3),
        np.random.default_rng(3),
    )
    xy = rng.uniform(0.1, 0.9, (40, 2)) * model.grid.extent[1::2]
    rows = model.dose_by_rows(xy, rng.uniform(0.5, 1.5, 39))
    whole = rows.whole
    for first, many in rng.integers((0, 1), (299, 150), (60, 2)).tolist():
        window = slice(first, first + many), slice(many % 7, 100)
        assert np.array_equal(rows[window], whole[window])
        assert np.array_equal(rows[window[0]], whole[window[0]])


def test_tiles_have_the_same_bits_on_any_number_of_processors(monkeypatch):
    monkeypatch.setattr("laserpath.physics.dose.fft._SIDE", 48)
    rng = np.random.default_rng(11)
    made = TiledEngine(Grid((0.0, 0.0), FWHM / 3, (200, 150)), SPOT, "f32", 1e-4)
    xy, energy = rng.uniform(0.1, 0.9, (2000, 2)) * made.grid.extent[1::2], rng.uniform(0.5, 1.5, 2000)
    doses = []
    for count in (1, 3):
        monkeypatch.setattr("laserpath.base.compute.beside.cpu_count", lambda count=count: count)
        doses.append(made.spread(xy, energy))
    assert np.array_equal(*doses) and doses[0].any()


def test_a_large_grid_is_tiled(monkeypatch):
    monkeypatch.setattr("laserpath.physics.dose.model.TILED_FROM", 1000)
    assert isinstance(engine(GRID, SPOT), TiledEngine)
    path = Toolpath([[-0.1, 0], [0.1, 0.02]], [1.0], [10.0])
    tiled, whole = (
        DoseModel(GRID, SPOT, precision="f64"),
        DoseModel(GRID, SPOT, method="fft", precision="f64"),
    )
    assert np.abs(tiled.dose(path) - whole.dose(path)).max() < 1e-3 * whole.dose(path).max()
    slope = np.ones(GRID.shape)
    assert np.array_equal(tiled.gradient(path, slope).xy, whole.gradient(path, slope).xy)
    near = tiled.near(tiled.points(path.xy, np.ones(1)))
    assert isinstance(near.engine, FftEngine), "a descent exposes the grid as its derivatives do"


def test_a_wide_spot_is_blamed_for_the_memory_of_its_rim():
    with pytest.raises(
        InputError, match=r"pixels, most of them the dark rim of a spot of FWHM 100 mm, needs"
    ):
        engine(Grid((0, 0), 0.002, (100, 100)), Spot(100.0), method="fft")


@all_models
@pytest.mark.parametrize(
    ("xy", "energy", "sentence"),
    [
        ([[np.inf, 0]], [1], "path is not finite in 1 of 2 coordinates"),
        ([[0, 0]], [np.nan], "path is not finite in 1 of 1 energies"),
        ([[0, 9]], [1], "outside the grid"),
        ([[0, 0]], [1, 2], r"points xy \(1, 2\) and energy \(2,\) do not go together"),
    ],
)
def test_points_that_cannot_be_are_refused(model, xy, energy, sentence):
    with pytest.raises(InputError, match=sentence):
        model.engine.spread(np.array(xy, float), np.array(energy, float))
    with pytest.raises(InputError, match=sentence):
        model.engine.gather(np.array(xy, float), np.array(energy, float), np.zeros(GRID.shape))
    with pytest.raises(InputError, match=r"slope of the dose has shape \(3, 3\)"):
        model.engine.gather(np.zeros((1, 2)), np.ones(1), np.zeros((3, 3)))


def test_complex_numbers_are_refused_and_lose_no_part():
    xy, one, slope = np.zeros((2, 2)), np.ones(1), np.zeros(GRID.shape)
    calls = {
        "points xy": lambda: MODEL.engine.spread(1j * xy, np.ones(2)),
        "points energy": lambda: MODEL.engine.spread(xy, 1j * np.ones(2)),
        "path": lambda: MODEL.line_dose(1j * xy, one),
        "line energy": lambda: MODEL.line_dose(xy, 1j * one),
        "slope of the dose": lambda: MODEL.line_gradient(xy, one, 1j * slope),
        "toolpath xy": lambda: path(1j * xy, one, one),
    }
    for name, call in calls.items():
        with pytest.raises(InputError, match=f"{name} is complex, but must have real values"):
            call()


def test_power_to_the_order_over_speed():
    """Two photons: twice the power is four times the dose, half the speed twice; and so say the slopes."""
    two = DoseModel(GRID, Spot(FWHM, photons=2), precision="f64")
    toolpath = random_path(np.random.default_rng(0))
    dose = two.dose(toolpath)
    near = {"rtol": 1e-12, "atol": 1e-12 * dose.max()}
    np.testing.assert_allclose(
        two.dose(path(toolpath.xy, 2 * toolpath.power, toolpath.speed)), 4 * dose, **near
    )
    np.testing.assert_allclose(
        two.dose(path(toolpath.xy, toolpath.power, toolpath.speed / 2)), 2 * dose, **near
    )
    slope = loss_and_slope(dose)[1]
    gradient = two.gradient(toolpath, slope)
    # Euler: D is homogeneous of degree 2 in power, −1 in speed.
    total = float((slope * dose).sum())
    assert gradient.power @ toolpath.power == pytest.approx(2 * total, rel=1e-10)
    assert gradient.speed @ toolpath.speed == pytest.approx(-total, rel=1e-10)


def test_a_slope_that_is_not_finite_is_refused():
    d_dose = np.zeros(GRID.shape)
    d_dose[3, 4] = np.nan
    with pytest.raises(InputError, match="slope of the dose holds values that are not finite"):
        MODEL.engine.gather(np.zeros((1, 2)), np.ones(1), d_dose)


def test_what_single_precision_cannot_hold_is_refused():
    with pytest.raises(InputError, match=r"too large for f32; use precision 'f64'"):
        engine(GRID, SPOT).spread(np.zeros((1, 2)), np.array([1e300]))


@pytest.mark.parametrize(("xy", "energy"), [(np.zeros((3, 3)), np.ones(2)), (np.zeros((3, 2)), np.ones(5))])
def test_shapes_that_do_not_go_together_are_named(xy, energy):
    with pytest.raises(InputError, match=r"must have \(N \+ 1, 2\) and \(N,\)"):
        MODEL.line_dose(xy, energy)


GRIDS = {"6 pixels": centred_grid(0.9, 6), "2.4 pixels": centred_grid(0.9, 2.4)}
SPOTS = {"airy": SPOT, "gaussian": Spot(FWHM, "gaussian"), "ellipse": Spot(FWHM, aspect=1.4)}
every_case = pytest.mark.parametrize(
    ("grid", "spot"), [(g, s) for g in GRIDS.values() for s in SPOTS.values()],
    ids=[f"{s}, {g}" for g in GRIDS for s in SPOTS],
)  # fmt: skip


def lit(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Every second pixel of the middle, and energies there, brighter to the right."""
    chosen = np.zeros(grid.shape, dtype=bool)
    rows, columns = grid.shape
    chosen[rows // 4 : -rows // 4 : 2, columns // 4 : -columns // 4 : 2] = True
    return chosen, 0.5 + np.linspace(0, 1, columns)[np.nonzero(chosen)[1]]


@every_case
def test_the_dose_is_that_of_the_points(grid, spot):
    chosen, energy = lit(grid)
    lattice = LatticeDose.of(engine(grid, spot), chosen, energy)
    exact = engine(grid, spot, precision="f64", tolerance=1e-5).spread(lattice.xy, energy)
    np.testing.assert_allclose(lattice.spread(energy), exact, atol=2e-3 * exact.max())


@every_case
def test_slopes_are_the_adjoint_of_the_dose(grid, spot):
    chosen, energy = lit(grid)
    lattice = LatticeDose.of(engine(grid, spot, precision="f64"), chosen, energy)
    slope = np.random.default_rng(1).normal(size=grid.shape)
    total = float(np.vdot(lattice.spread(energy), slope))
    assert lattice.gather(slope) @ energy == pytest.approx(total, rel=1e-10)


def test_the_far_tail_follows_the_energy():
    """It is held in shape: of other energies it is nearly right, and far nearer than without it."""
    grid = GRIDS["6 pixels"]
    chosen, energy = lit(grid)
    lattice = LatticeDose.of(engine(grid, SPOT, precision="f64"), chosen, np.ones(len(energy)))
    exact = engine(grid, SPOT, precision="f64", tolerance=1e-5).spread(lattice.xy, 3 * energy)
    without = LatticeDose(lattice.engine, chosen, lattice.xy).spread(3 * energy)
    off, off_without = (
        np.abs(one - exact).max() / exact.max() for one in (lattice.spread(3 * energy), without)
    )
    assert off < 1e-3 < off_without


def test_an_engine_without_a_grid_of_its_own_takes_them_as_points():
    grid, spot = GRIDS["6 pixels"], SPOTS["gaussian"]
    chosen, energy = lit(grid)
    fft, direct = (
        LatticeDose.of(engine(grid, spot, method=one), chosen, energy) for one in ("fft", "direct")
    )
    dose = direct.spread(energy)
    np.testing.assert_allclose(fft.spread(energy), dose, atol=2e-3 * dose.max())
    np.testing.assert_allclose(fft.gather(dose), direct.gather(dose), rtol=5e-3)


def test_points_that_were_changed_in_place_are_checked_again() -> None:
    """Optimisers change arrays; the check is left out only where a `gather` follows its `spread`."""
    points = engine(Grid((-1, -1), 0.1, (21, 21)), Spot(0.5), method="fft")
    xy, energy = np.zeros((1, 2)), np.ones(1)
    dose = points.spread(xy, energy)
    points.gather(xy, energy, dose)
    xy[0] = 1e4
    with pytest.raises(InputError, match="outside the grid"):
        points.spread(xy, energy)


@pytest.mark.parametrize("transform", [fft.fft, fft.ifft])
def test_transforms_along_columns_have_the_same_bits_with_any_number_of_threads(transform):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(300, 201, 2)) @ [1, 1j]
    one, several = (_along_columns(transform, values.astype(np.complex64), threads) for threads in (1, 2))
    np.testing.assert_array_equal(one, several)
    np.testing.assert_allclose(one, transform(values, axis=0), atol=1e-4)

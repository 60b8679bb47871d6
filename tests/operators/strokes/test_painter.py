"""The painter against the plain one, its gradient against differences, degenerate strokes, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from plain_painter import picture
from sets import one_fast

from laserpath.base.errors import InputError
from laserpath.operators.strokes import Canvas, StrokePainter, Strokes

FIELDS = ("points", "width", "colour", "alpha")
SHAPE = (29, 35)
"""Not a multiple of a tile."""
kinds = pytest.mark.parametrize(
    ("ends", "mode", "channels"),
    [
        pytest.param(2, "over", 3, marks=pytest.mark.slow),
        (3, "over", 1),
        pytest.param(2, "add", 1, marks=pytest.mark.slow),
    ],
)


def strokes(rng, n: int, ends: int = 2, channels: int = 3, widest: float = 9.0) -> Strokes:
    """Some of them reach over the rim, and some are hairlines."""
    points = rng.uniform(-8, 50, (n, ends, 2))
    width = rng.uniform(0, widest, n) * (rng.random(n) < 0.9)
    return Strokes(points, width, rng.uniform(-0.2, 1.2, (n, channels)), rng.uniform(0, 1, n))


def differences(painter: StrokePainter, given: Strokes, slope, name: str, step: float = 1e-6):
    value = getattr(given, name)
    found = np.zeros_like(value)
    for at in np.ndindex(value.shape):
        sums = []
        for h in (step, -step):
            moved = value.copy()
            moved[at] += h
            sums.append(float((painter.paint(replace(given, **{name: moved})) * slope).sum()))
        found[at] = (sums[0] - sums[1]) / (2 * step)
    return found


@kinds
def test_the_picture_is_the_plain_one(ends, mode, channels):
    rng = np.random.default_rng(3)
    canvas, given = Canvas(SHAPE, rng.random((*SHAPE, channels)), mode), strokes(rng, 4, ends, channels)
    expected = picture(given, canvas)
    np.testing.assert_allclose(StrokePainter(canvas, "f64").paint(given), expected, atol=2e-9)
    np.testing.assert_allclose(StrokePainter(canvas, "f32").paint(given), expected, atol=2e-6)


@pytest.mark.slow
@kinds
def test_the_gradient_is_that_of_differences(ends, mode, channels):
    """Random places, so that no pixel is nearer to a kink than the difference's step."""
    rng = np.random.default_rng(11)
    canvas, given = Canvas(SHAPE, rng.random(channels), mode), strokes(rng, 5, ends, channels)
    given = replace(given, width=given.width + 0.01, alpha=0.01 + 0.98 * given.alpha)
    painter, slope = StrokePainter(canvas, "f64"), rng.normal(size=(*SHAPE, channels))
    found, coarse = painter.gradient(given, slope), StrokePainter(canvas, "f32").gradient(given, slope)
    for name in FIELDS:
        one, expected = getattr(found, name), differences(painter, given, slope, name)
        assert np.abs(one - expected).max() <= 1e-6 * np.abs(expected).max(), name
        assert np.abs(getattr(coarse, name) - one).max() <= 1e-5 * np.abs(one).max(), name


def test_a_curve_that_recedes_again_is_nearest_at_its_end():
    """Seen from the left, the distance has a minimum, a maximum, and then the curve's end."""
    one = Strokes([[[45.4, 11.6], [3.8, 21.0], [0.5, 24.2]]], [19.0], [[1.0]], [1.0])
    canvas = Canvas((38, 12), (0.0,))
    np.testing.assert_allclose(StrokePainter(canvas, "f64").paint(one), picture(one, canvas), atol=2e-9)


def test_painter_s_order_counts_and_adding_has_none():
    given = strokes(np.random.default_rng(5), 6)
    turned = Strokes(*(getattr(given, name)[::-1] for name in FIELDS))
    apart = {}
    for mode in ("over", "add"):
        painter = StrokePainter(Canvas(SHAPE, mode=mode), "f64")
        apart[mode] = np.abs(painter.paint(given) - painter.paint(turned)).max()
    assert apart["over"] > 0.1 and apart["add"] < 1e-13


@pytest.mark.slow
def test_the_threads_do_not_change_a_bit():
    given, slope = strokes(np.random.default_rng(5), 40), np.random.default_rng(6).normal(size=(*SHAPE, 3))
    one, many = (StrokePainter(Canvas(SHAPE)) for _ in range(2))
    one._slabs, many._slabs = 1, 5
    np.testing.assert_array_equal(one.paint(given), many.paint(given))
    a, b = one.gradient(given, slope), many.gradient(given, slope)
    assert all(np.array_equal(getattr(a, name), getattr(b, name)) for name in FIELDS)


def test_a_stroke_covers_its_area():
    """width · length and the round ends, which the ramp of one pixel does not change on average."""
    one = Strokes([[[20.3, 30.1], [80.7, 51.4]]], [9.0], [[1.0]], [1.0])
    area = StrokePainter(Canvas((90, 110), (0.0,)), "f64").paint(one).sum()
    assert area == pytest.approx(9 * np.hypot(60.4, 21.3) + np.pi * 4.5**2, rel=2e-3)


@pytest.mark.slow
def test_a_curve_whose_control_is_in_the_middle_is_a_line():
    rng = np.random.default_rng(2)
    line = strokes(rng, 7)
    bent = replace(line, points=np.stack([line.points[:, 0], line.points.mean(1), line.points[:, 1]], 1))
    painter, slope = StrokePainter(Canvas(SHAPE), "f64"), rng.normal(size=(*SHAPE, 3))
    np.testing.assert_allclose(painter.paint(bent), painter.paint(line), atol=1e-11)
    a, b = painter.gradient(bent, slope).points, painter.gradient(line, slope).points
    np.testing.assert_allclose(a[:, [0, 2]] + a[:, 1:2] / 2, b, atol=1e-9 * np.abs(b).max())


DEGENERATE = [
    ("a is b", [[20.2, 17.1]] * 2, 6.0, 0.7),
    ("a is b, on a pixel, width 0", [[20.0, 17.0]] * 2, 0.0, 0.7),
    ("width 0", [[8.3, 9.1], [30.2, 27.5]], 0.0, 0.5),
    ("width 1 along pixels", [[8.0, 9.0], [30.0, 9.0]], 1.0, 0.5),
    ("alpha 0", [[8.3, 9.1], [30.2, 27.5]], 5.0, 0.0),
    ("alpha 1", [[8.3, 9.1], [30.2, 27.5]], 5.0, 1.0),
    ("ends almost one", [[20.2, 17.1], [20.2, 17.1 + 1e-170]], 6.0, 0.7),
    ("curve: a point", [[20.2, 17.1]] * 3, 6.0, 0.7),
    ("curve: there and back", [[8.3, 9.1], [30.2, 27.5], [8.3, 9.1]], 6.0, 0.7),
    ("curve: control at a", [[8.3, 9.1], [8.3, 9.1], [30.2, 27.5]], 6.0, 0.7),
    ("curve: control beyond b", [[8.3, 9.1], [41.0, 9.1], [30.2, 9.1]], 6.0, 1.0),
    ("outside", [[-80.3, 9.1], [-70.2, 27.5]], 6.0, 0.7),
]


@pytest.mark.parametrize("mode", one_fast(["over", "add"], "over"))
@pytest.mark.parametrize("case", DEGENERATE, ids=[case[0] for case in DEGENERATE])
def test_degenerate_strokes_have_finite_gradients(case, mode):
    """Between two others, so that it has something beneath and above."""
    _, points, width, alpha = case
    rng, ends = np.random.default_rng(6), len(points)
    around = strokes(rng, 2, ends)
    given = Strokes(
        np.insert(around.points, 1, points, axis=0), np.insert(around.width, 1, width),
        np.insert(around.colour, 1, 0.8, axis=0), np.insert([0.6, 0.5], 1, alpha),
    )  # fmt: skip
    painter, slope = StrokePainter(Canvas(SHAPE, mode=mode), "f64"), rng.normal(size=(*SHAPE, 3))
    found = painter.gradient(given, slope)
    assert np.isfinite(painter.paint(given)).all()
    assert all(np.isfinite(getattr(found, name)).all() for name in FIELDS)
    if case[0] != "outside":
        assert np.abs(found.alpha[1]) > 0.01
    # By alpha and colour there is no kink, and at alpha 0 and 1 a derivative to one side.
    inside = replace(given, alpha=np.clip(given.alpha, 1e-6, 1 - 1e-6))
    for name in ("alpha", "colour"):
        expected = differences(painter, inside, slope, name, step=1e-6)
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-4)


def test_a_point_s_ends_have_the_mean_of_both_sides():
    """Where a is b, moving b one way lengthens the stroke there, and the other way there: a kink."""
    point = Strokes([[[20.23, 17.14]] * 2], [6.0], [[1.0, 0, 0]], [0.7])
    rng = np.random.default_rng(6)
    painter, slope = StrokePainter(Canvas(SHAPE), "f64"), rng.normal(size=(*SHAPE, 3))
    found = painter.gradient(point, slope).points
    np.testing.assert_allclose(found, differences(painter, point, slope, "points"), atol=1e-4)
    assert np.abs(found).max() > 1


def test_a_curve_s_point_has_the_derivative_of_a_shift():
    """The means of both sides would be ½, ¼ and ½ of it, together more than the shift."""
    point = Strokes([[[20.23, 17.14]] * 3], [6.0], [[1.0, 0, 0]], [0.7])
    rng = np.random.default_rng(6)
    painter, slope = StrokePainter(Canvas(SHAPE), "f64"), rng.normal(size=(*SHAPE, 3))
    found, sides = painter.gradient(point, slope).points[0], differences(painter, point, slope, "points")[0]
    line = replace(point, points=point.points[:, :2])
    shift = painter.gradient(line, slope).points[0].sum(axis=0)
    np.testing.assert_allclose(found, np.outer((0.25, 0.5, 0.25), shift), rtol=1e-9)
    np.testing.assert_allclose(sides, np.outer((0.5, 0.25, 0.5), shift), atol=1e-3)


def test_an_opaque_stroke_hides_what_is_beneath():
    over = Strokes(
        [[[5.0, 5], [40, 30]], [[0, 15.0], [45, 15]]], [4.0, 100], [[1.0, 0, 0], [0, 1, 0]], [0.5, 1]
    )
    slope = np.random.default_rng(1).normal(size=(*SHAPE, 3))
    found = StrokePainter(Canvas(SHAPE), "f64").gradient(over, slope)
    assert all(not getattr(found, name)[0].any() for name in FIELDS)
    assert found.alpha[1] != 0 and found.colour[1].any()


@pytest.mark.slow
def test_many_layers_of_almost_opaque_strokes_do_not_underflow():
    """In float32 the light through all of them would be 0, which is divided out again on the way up."""
    n = 20
    given = Strokes(
        np.tile([[-50.0, 15], [90, 15]], (n, 1, 1)), np.full(n, 200.0), np.linspace(0, 1, n)[:, None],
        np.full(n, 1 - 1e-3),
    )  # fmt: skip
    slope = np.ones((*SHAPE, 1))
    found = [StrokePainter(Canvas(SHAPE, (1.0,)), one).gradient(given, slope) for one in ("f64", "f32")]
    for name in FIELDS:
        a, b = (getattr(one, name) for one in found)
        np.testing.assert_allclose(b, a, atol=1e-5 * max(np.abs(a).max(), 1e-9))
    assert found[0].colour[-1, 0] == pytest.approx((1 - 1e-3) * slope.size)
    assert found[0].colour[-2, 0] == pytest.approx(1e-3 * (1 - 1e-3) * slope.size)


GIVEN = Strokes([[[1.0, 2], [3, 4]]], [1.0], [[1.0, 0, 0]], [0.5])


def test_light_is_added_to_the_dark_unless_a_background_is_given():
    assert not np.any(Canvas(SHAPE, mode="add").background)
    assert np.all(Canvas(SHAPE).background == 1)
    assert Canvas(SHAPE).channels == Canvas(SHAPE, mode="add").channels == 3


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Strokes(np.zeros((0, 2, 2)), [], np.zeros((0, 3)), []), "strokes has 0 strokes, but must"),
        (lambda: replace(GIVEN, points=np.zeros((1, 4, 2))), r"must have \(N, 2, 2\) or \(N, 3, 2\)"),
        (lambda: replace(GIVEN, points=[[[0, 0], [2e6, 0]]]), r"reaches 2e\+06 pixels, but must be within"),
        (lambda: replace(GIVEN, points=[[[0, 0], [np.nan, 0]]]), "strokes points is not finite in 1 of 4"),
        (lambda: replace(GIVEN, width=[-1.0]), "strokes width is -1 pixels, but must be between 0 and"),
        (lambda: replace(GIVEN, width=3.0), r"strokes width has shape \(\), but \(1,\) is needed"),
        (lambda: replace(GIVEN, colour=np.zeros((1, 5))), "colour has 5 channels, but must have 1 to 4"),
        (
            lambda: StrokePainter(Canvas(SHAPE)).paint(replace(GIVEN, alpha=[1.5])),
            "strokes alpha is 1.5, but must be between 0 and 1",
        ),
        (lambda: StrokePainter(Canvas(SHAPE, (0.0,))).paint(GIVEN), "3 channels, but the canvas has 1"),
        (lambda: StrokePainter(Canvas(SHAPE)).gradient(GIVEN, np.ones(3)), r"d_picture has shape \(3,\)"),
        (
            lambda: StrokePainter(Canvas((1, 1))).gradient(GIVEN, np.full((1, 1, 3), np.nan)),
            "d_picture is not finite in 3 values",
        ),
        (
            lambda: replace(GIVEN, points=GIVEN.points + 1j),
            "strokes points is complex, but must have real values",
        ),
        (
            lambda: StrokePainter(Canvas((1, 1))).gradient(GIVEN, np.full((1, 1, 3), 1j)),
            "d_picture is complex, but must have real values",
        ),
        (lambda: Canvas((0, 5)), r"canvas shape is \(0, 5\), but must be \(rows, columns\), each from 1"),
        (lambda: Canvas((1 << 14, 1 << 14)), "has 805306368 values in 3 channels, but must have at most"),
        (lambda: Canvas(SHAPE, mode="under"), "canvas mode 'under' is unknown; known: over, add"),
        (lambda: Canvas(SHAPE, np.zeros((3, 4, 3))), "canvas background has shape"),
        (lambda: StrokePainter(Canvas(SHAPE), "f16"), "precision 'f16' is unknown; known: f32, f64"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()

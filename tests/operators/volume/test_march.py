"""The ray march against the plain one, its gradient against differences, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plain
import pytest
from scenes import FIELDS, MARCH, together, two_cameras, volume
from sets import one_fast

from laserpath import operators
from laserpath.base.errors import InputError
from laserpath.operators.volume import Cameras, March, RayMarcher, marcher_operator
from laserpath.operators.volume.marcher import OPACITIES

CAMERAS = two_cameras()
both = pytest.mark.parametrize("opacity", OPACITIES)


@both
def test_the_picture_is_the_plain_one(opacity):
    march, values = replace(MARCH, opacity=opacity), volume(np.random.default_rng(3))
    expected = plain.picture(values, march, CAMERAS)
    assert expected[..., 3].min() == 0, "some rays should miss"
    np.testing.assert_allclose(RayMarcher(march, "f64").render(values, CAMERAS), expected, atol=1e-13)
    np.testing.assert_allclose(RayMarcher(march, "f32").render(values, CAMERAS), expected, atol=2e-6)


BOX = (-0.8, -0.6, -0.5), (0.7, 0.5, 0.6)


@pytest.mark.slow
def test_samples_outside_the_box_are_left_out():
    values, masked = volume(np.random.default_rng(3)), replace(MARCH, box=BOX)
    expected = plain.picture(values, masked, CAMERAS)
    assert np.abs(expected - plain.picture(values, MARCH, CAMERAS)).max() > 0.1
    np.testing.assert_allclose(RayMarcher(masked, "f64").render(values, CAMERAS), expected, atol=1e-13)
    around = replace(MARCH, box=((-9,) * 3, (9,) * 3))
    np.testing.assert_array_equal(*(RayMarcher(m).render(values, CAMERAS) for m in (around, MARCH)))
    aside = replace(MARCH, box=((5,) * 3, (6,) * 3))
    assert not RayMarcher(aside).render(values, CAMERAS).any()


def test_the_gradient_by_a_volume_in_a_box_is_that_of_differences():
    values, rng = volume(np.random.default_rng(3)), np.random.default_rng(4)
    marcher, weight = RayMarcher(replace(MARCH, box=BOX), "f64"), rng.normal(size=(2, *CAMERAS.shape, 4))
    found, along = marcher.gradient(values, CAMERAS, weight).volume, rng.normal(size=values.shape)
    ahead, behind = (marcher.render(values + step * along, CAMERAS) for step in (1e-6, -1e-6))
    assert (found * along).sum() == pytest.approx((weight * (ahead - behind)).sum() / 2e-6, rel=1e-6)


@pytest.mark.parametrize("jitter", one_fast([0, 0.8], 0.8))
def test_a_batch_is_each_volume_with_its_cameras(jitter):
    """Bit for bit, also where the slope is a function of all pictures."""
    rng, seen = np.random.default_rng(7), together(CAMERAS, CAMERAS)
    values, marcher = np.stack([volume(rng), volume(rng)]), RayMarcher(replace(MARCH, jitter=jitter))
    picture = marcher.render(values, seen)
    found = marcher.gradient(values, seen, lambda pictures: 2 * pictures)
    assert found.volume.shape == values.shape
    for number, one in enumerate(values):
        own = slice(2 * number, 2 * number + 2)
        np.testing.assert_array_equal(picture[own], marcher.render(one, CAMERAS))
        alone = marcher.gradient(one, CAMERAS, 2 * picture[own])
        np.testing.assert_array_equal(found.volume[number], alone.volume)
        for name in FIELDS:
            ours, other = (getattr(one.cameras, name) for one in (found, alone))
            np.testing.assert_array_equal(ours[own], other)


def test_the_operator_takes_batches_and_computes_what_is_wanted(monkeypatch):
    values, rendered = np.stack([volume(np.random.default_rng(1))] * 2), []
    marcher = RayMarcher(MARCH, "f64")
    operator = marcher_operator(marcher, CAMERAS.shape)
    fields = [getattr(CAMERAS, name) for name in FIELDS]
    np.testing.assert_array_equal(operator(values, *fields), marcher.render(values, CAMERAS))
    picture, rays = operator.all_of((values, *fields))
    right = marcher.gradient(values, CAMERAS, picture)
    monkeypatch.setattr(RayMarcher, "_marched", lambda *_: rendered.append(1))
    by_volume = operator.pulled([values, *fields], [rays], [picture], (True, *[False] * 4))
    np.testing.assert_allclose(by_volume[0], right.volume, rtol=1e-12)
    assert by_volume[1:] == (None,) * 4
    by_camera = operator.pulled([values, *fields], [rays], [picture], (False, True, *[False] * 3))
    np.testing.assert_allclose(by_camera[1], right.cameras.position, rtol=1e-12)
    assert by_camera[0] is None and not rendered


@pytest.mark.parametrize("opacity", one_fast(OPACITIES, "clamped"))
def test_the_gradient_is_that_of_differences(opacity):
    """Random places, so that no sample is nearer to a kink than the difference's step."""
    march, rng = replace(MARCH, opacity=opacity), np.random.default_rng(3)
    values, weight = volume(rng), rng.normal(size=(2, *CAMERAS.shape, 4))
    marcher = RayMarcher(march, "f64")
    found = marcher.gradient(values, CAMERAS, weight)

    def slope(change):
        return (change(1e-6) - change(-1e-6)) / 2e-6

    for _ in range(30):
        at = tuple(rng.integers(0, n) for n in values.shape)

        def by_voxel(step, at=at):
            moved = values.copy()
            moved[at] += step
            return (marcher.render(moved, CAMERAS) * weight).sum()

        assert found.volume[at] == pytest.approx(slope(by_voxel), abs=1e-6 * np.abs(found.volume).max())
    for name in FIELDS:
        given, expected = getattr(CAMERAS, name), getattr(found.cameras, name)
        for at in np.ndindex(given.shape):

            def by_camera(step, name=name, given=given, at=at):
                moved = given.copy()
                moved[at] += step
                return (marcher.render(values, replace(CAMERAS, **{name: moved})) * weight).sum()

            assert expected[at] == pytest.approx(slope(by_camera), abs=1e-6 * np.abs(expected).max())


def test_only_what_is_wanted_is_computed_and_is_the_same():
    values = volume(np.random.default_rng(1))
    marcher, weight = RayMarcher(MARCH, "f64"), np.ones((2, *CAMERAS.shape, 4))
    both_ = marcher.gradient(values, CAMERAS, weight)
    one = marcher.gradient(values, CAMERAS, weight, by_cameras=False)
    other = marcher.gradient(values, CAMERAS, weight, by_volume=False)
    assert one.cameras is None and other.volume is None
    np.testing.assert_allclose(one.volume, both_.volume, rtol=1e-12)
    np.testing.assert_allclose(other.cameras.position, both_.cameras.position, rtol=1e-12)


def test_the_slope_may_be_a_function_of_the_picture():
    values, marcher = volume(np.random.default_rng(1)), RayMarcher(MARCH, "f64")
    picture = marcher.render(values, CAMERAS)
    found = marcher.gradient(values, CAMERAS, lambda seen: 2 * seen)
    np.testing.assert_array_equal(found.picture, picture)
    right = marcher.gradient(values, CAMERAS, 2 * picture)
    np.testing.assert_allclose(found.volume, right.volume, rtol=1e-12)
    np.testing.assert_allclose(found.cameras.rotation, right.cameras.rotation, rtol=1e-12)


def test_the_operator_is_the_marcher_and_its_adjoint_that_of_differences():
    """Random places, so that no sample is nearer to a kink than the difference's step."""
    marcher, cameras = RayMarcher(MARCH, "f64"), two_cameras((3, 4))
    values = volume(np.random.default_rng(6), (3, 4, 5))
    operator = marcher_operator(marcher, (3, 4))
    example = (values, *(getattr(cameras, name) for name in FIELDS))
    np.testing.assert_array_equal(operator(*example), marcher.render(values, cameras))
    operators.check(operator, example)


def test_a_homogeneous_slab_has_the_closed_form():
    """Through a slab of density σ and length l the opacity is 1 − e^(−σ l), or σ l where it adds up to 1."""
    values = np.ones((40, 3, 3, 4))
    values[..., 3] = 0.7
    camera = Cameras.looking_at((0, 0, -1.0), (0, 0, 1), (0, 1, 0), 1e4, (1, 1))
    march = March((-1, -1, 0), (1, 1, 0.05), step=1e-3, steps=4000)
    length = 40 * 0.05  # at each end the density falls to 0 over one pitch, half of it outside
    for opacity, expected in (("exponential", 1 - np.exp(-0.7 * length)), ("clamped", min(0.7 * length, 1))):
        picture = RayMarcher(replace(march, opacity=opacity), "f64").render(values, camera)
        assert picture[0, 0, 0, 3] == pytest.approx(expected, rel=1e-5)


def test_jitter_is_of_its_seed():
    values = volume(np.random.default_rng(2))
    pictures = [RayMarcher(replace(MARCH, seed=seed)).render(values, CAMERAS) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(pictures[0], pictures[1])
    assert np.abs(pictures[0] - pictures[2]).max() > 1e-3


def test_behind_an_opacity_of_1_nothing_counts():
    """Neither does a density of 0 there: it can only rise, and then has no effect."""
    march = March((0, 0, 0), (1, 1, 1), step=1.0, steps=6, near=0.5, opacity="clamped")
    camera = Cameras.looking_at((0, 0, -1.0), (0, 0, 1), (0, 1, 0), 1.0, (1, 1))
    values = np.ones((6, 1, 1, 4))
    values[:, 0, 0, 3] = 0.2, 0.3, 0.7, 0, 0, 0.5  # reaches 1 in the third step
    values[:, 0, 0, 0] = 1, 2, 3, 4, 5, 6
    marcher, red = RayMarcher(march, "f64"), np.zeros((1, 1, 1, 4))
    red[..., 0] = 1
    assert marcher.render(values, camera)[0, 0, 0, 0] == pytest.approx(0.2 * 1 + 0.3 * 2 + 0.5 * 3)
    found = marcher.gradient(values, camera, red).volume[:, 0, 0]
    np.testing.assert_allclose(found[:, 3], [1 - 3, 2 - 3, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found[:, 0], [0.2, 0.3, 0.5, 0, 0, 0], atol=1e-12)


def test_steps_far_beyond_the_volume_see_nothing_of_it():
    """Their places in voxels are too large for an index of 32 bits."""
    camera = Cameras.looking_at((0, 0, -1.0), (0, 0, 1), (0, 1, 0), 1.0, (1, 1))
    for step in (1e9, 1e13):
        marcher = RayMarcher(March((0, 0, 0), (1, 1, 1), step=step, steps=4), "f64")
        assert not marcher.render(np.ones((3, 3, 3, 4)), camera).any()
        assert not marcher.gradient(np.ones((3, 3, 3, 4)), camera, np.ones((1, 1, 1, 4))).volume.any()


def bad_volume(values):
    return RayMarcher(MARCH).render(values, CAMERAS)


def operated(values=None, **changed):
    """The operator on good inputs, but for those that are changed."""
    values = np.ones((2, 2, 2, 4)) if values is None else values
    cameras = {name: changed.get(name, getattr(CAMERAS, name)) for name in FIELDS}
    return marcher_operator(RayMarcher(MARCH), CAMERAS.shape)(values, *cameras.values())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: replace(MARCH, steps=0), "steps is 0, but must be between 1 and"),
        (lambda: replace(MARCH, step=-1.0), "march step is -1.0, but must be above 0"),
        (lambda: replace(MARCH, jitter=2), "jitter is 2, but must be between 0 and 1"),
        (lambda: replace(MARCH, opacity="over"), "opacity 'over' is unknown; known: clamped, exponential"),
        (lambda: replace(MARCH, pitch=(1, 2)), r"march pitch is \(1, 2\), but must be three finite numbers"),
        (
            lambda: replace(MARCH, box=((0, 0, 1), (1, 1, 1))),
            r"march box is \(\(0, 0, 1\), \(1, 1, 1\)\), but its first corner must be below the second",
        ),
        (lambda: replace(MARCH, box=(0, 1)), r"march box has shape \(2,\), but \(2, 3\) is needed"),
        (
            lambda: bad_volume(np.ones((3, 2, 2, 2, 4))),
            "volume has 3 volumes for 2 cameras, but each must have as many",
        ),
        (lambda: RayMarcher(MARCH, "f16"), "precision 'f16' is unknown; known: f32, f64"),
        (lambda: replace(CAMERAS, focal=-CAMERAS.focal), "focal is -9 pixels, but must be above 0"),
        (lambda: replace(CAMERAS, rotation=np.eye(3)[None]), r"rotation has shape \(1, 3, 3\)"),
        (lambda: Cameras.looking_at((0, 0, 1), (0, 0, 0), (0, 0, 1), 1, (2, 2)), "must be across it"),
        (lambda: bad_volume(np.ones((2, 2, 2, 3))), r"must have \(z, y, x, 4\)"),
        (lambda: bad_volume(-np.ones((2, 2, 2, 4))), "a density of -1, but it must be at least 0"),
        (
            lambda: replace(CAMERAS, rotation=CAMERAS.rotation * [[[1]], [[0]]]),
            r"rotation of camera 1 is \[\[.*, but its rows must be three directions that are not in one pl",
        ),
        (lambda: replace(CAMERAS, position=1j * CAMERAS.position), "cameras position is complex, but"),
        (lambda: bad_volume(np.ones((2, 2, 2, 4), np.uint8)), "volume is of dtype uint8, but must be real"),
        (lambda: bad_volume(np.ones((2, 2, 2, 4), complex)), "volume is of dtype complex128, but must"),
        (lambda: bad_volume(np.full((2, 2, 2, 4), np.nan)), "volume is not finite in 32 values"),
        (
            lambda: RayMarcher(MARCH).gradient(np.ones((2, 2, 2, 4)), CAMERAS, np.ones(3)),
            "d_picture has shape",
        ),
        (lambda: replace(CAMERAS, position=np.ones(3)), r"cameras position has shape \(3,\), but"),
        (lambda: marcher_operator(RayMarcher(MARCH), (0, 5)), r"cameras shape is \(0, 5\), but must be"),
        (lambda: marcher_operator(RayMarcher(MARCH), (2.5, 5)), "whole numbers of at least 1"),
        (lambda: operated(-np.ones((2, 2, 2, 4))), "a density of -1, but it must be at least 0"),
        (lambda: operated(position=np.float64(1)), r"cameras position has shape \(\), but"),
        (lambda: operated(position=np.ones((0, 3))), "cameras has 0 cameras, but must have at least 1"),
        (lambda: operated(rotation=np.eye(3)), r"rotation has shape \(3, 3\), but \(2, 3, 3\) is needed"),
        (lambda: operated(focal=np.zeros((2, 2))), "focal is 0 pixels, but must be above 0"),
        (
            lambda: Cameras.looking_at((1, 2, 3), (1, 2, 3), (0, 0, 1), 1, (2, 2)),
            r"camera position is \[1\. 2\. 3\.\], which is its target, but must be another place",
        ),
        (
            lambda: Cameras.looking_at((1, 2), (0, 0, 0), (0, 0, 1), 1, (2, 2)),
            r"camera position has shape \(2,\)",
        ),
        (
            lambda: Cameras.looking_at((1, 2, np.nan), (0, 0, 0), (0, 0, 1), 1, (2, 2)),
            "camera position is not finite in 1 of 3 values",
        ),
        (
            lambda: replace(CAMERAS, shape=(1 << 14, 1 << 13)),
            "cameras have 268435456 pixels in all, but must have at most 67108864",
        ),
        (
            lambda: bad_volume(np.broadcast_to(np.float32(1), (1, 1, 4_000_000, 4))),
            r"\(1, 1, 4000000, 4\) has 144000072 values with a rim of zeros around it, but must have at most",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()

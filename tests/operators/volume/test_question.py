"""The faults of a ray marcher whose gradient was not PyTorch's, each written anew, and what it is now.

A picture looked right while its gradient by the volume seemed turned and shifted. The comparison with PyTorch
itself is in tests/parity/test_parity_volume.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from natural import natural_gradient
from scenes import volume

from laserpath.operators.volume import Cameras, March, RayMarcher

N = 6
CAMERA = Cameras.looking_at((0.1, -0.2, -4), (0.1, -0.2, 0), (0, -1, 0), 12.0, (7, 7))
"""Looks along z; its columns run along x and its rows along y."""
BY_FACES = March((-1 + 1 / N,) * 3, (2 / N,) * 3, step=0.07, steps=50, near=2.4, opacity="clamped")
"""The cube −1..1 ends at the faces of the outermost voxels: grid_sample's default."""
BY_CENTRES = replace(BY_FACES, origin=(-1.0,) * 3, pitch=(2 / (N - 1),) * 3)
"""The cube −1..1 ends at the centres of the outermost voxels: align_corners=True."""


WEIGHT = np.random.default_rng(5).normal(size=(1, *CAMERA.shape, 4))


def gradient(march: March, values, camera: Cameras = CAMERA):
    """∂/∂volume of the sum of the picture · WEIGHT."""
    return RayMarcher(march, "f64").gradient(values, camera, WEIGHT, by_cameras=False).volume


def apart(a, b) -> float:
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))


def test_taichi_differentiates_a_state_that_was_overwritten_by_its_last_value():
    """Two rays of four samples; the first reaches an opacity of 1 in its third sample, the second does not.

    Backwards, Taichi asks `min` again which side it took, with the opacity that the ray has in the end: 1.
    So each sample of the first ray looks clipped, and its gradient is 0, by density as by colour.
    """
    density, red = np.array([[0.2, 0.3, 0.7, 0.4], [0.1] * 4]), np.array([[1.0, 2, 3, 4]] * 2)
    picture, by_density, by_red = natural_gradient(density, red)
    march = March((0, 0, 0), (1, 1, 1), step=1.0, steps=4, near=0.5, opacity="clamped")
    camera = Cameras.looking_at((0, 0, -1.0), (0, 0, 1), (0, 1, 0), 1.0, (1, 1))
    ours_density, ours_red = np.zeros((2, 4)), np.zeros((2, 4))
    for ray in range(2):
        values = np.zeros((4, 1, 1, 4))
        values[:, 0, 0, 0], values[:, 0, 0, 3] = red[ray], density[ray]
        marcher = RayMarcher(march, "f64")
        assert marcher.render(values, camera)[0, 0, 0, 0] == pytest.approx(picture[ray, 0])
        found = marcher.gradient(values, camera, np.array([1.0, 0, 0, 0]).reshape(1, 1, 1, 4)).volume
        ours_red[ray], ours_density[ray] = found[:, 0, 0, 0], found[:, 0, 0, 3]
    np.testing.assert_array_equal([by_density[0], by_red[0]], np.zeros((2, 4)))  # the fault
    np.testing.assert_allclose(ours_density, [[1 - 3, 2 - 3, 0, 0], [1, 2, 3, 4]], atol=1e-12)
    np.testing.assert_allclose(ours_red, [[0.2, 0.3, 0.5, 0], [0.1] * 4], atol=1e-12)
    np.testing.assert_allclose(by_density[1], ours_density[1], rtol=1e-12)  # where nothing is clipped


def test_swapped_pixel_axes_turn_the_gradient():
    """The ray took the row for x, and the picture was indexed [x, y]: the gradient of a turned volume."""
    values = volume(np.random.default_rng(4), (N, N, N), density=0.5)
    camera = replace(CAMERA, position=[[0.0, 0, -4]])
    swapped = replace(camera, rotation=camera.rotation[:, [1, 0, 2]])
    right, wrong = gradient(BY_FACES, values, camera), gradient(BY_FACES, values, swapped)
    assert apart(wrong, right) > 0.3
    turned = gradient(BY_FACES, values.swapaxes(1, 2), camera).swapaxes(1, 2)
    np.testing.assert_allclose(wrong, turned, atol=1e-12 * np.abs(right).max())


def test_other_corners_shift_the_gradient():
    """−1 as a voxel's centre here and as its face there: up to half a voxel apart."""
    values = volume(np.random.default_rng(4), (N, N, N), density=0.5)
    assert apart(gradient(BY_CENTRES, values), gradient(BY_FACES, values)) > 0.1
    wide = replace(CAMERA, focal=[[120.0] * 2], principal=[[60.0, 0]], shape=(1, 121))
    for march in (BY_FACES, BY_CENTRES):
        plate = np.zeros((N, N, N, 4))
        plate[2, :, -1, 3] = 1.0  # the last in x, in one layer
        seen = RayMarcher(march, "f64").render(plate, wide)[0, 0, :, 3]
        away = march.origin[2] + 2 * march.pitch[2] - CAMERA.position[0, 2]
        x = 0.1 + (np.average(np.arange(121), weights=seen) - 60) / 120 * away
        assert x == pytest.approx(march.origin[0] + (N - 1) * march.pitch[0], abs=0.01)


def test_a_field_cut_at_the_cube_has_no_derivative_by_the_camera():
    """At the cube's faces the field is half of its value; cut there, a step's share comes and goes."""
    values = np.ones((N, N, N, 4))
    position = np.linspace(-4.03, -3.97, 241)
    marcher = RayMarcher(replace(BY_FACES, step=0.2, steps=20, near=2.5), "f64")

    def cut(z):
        """The samples of the middle ray that lie within the faces count, as with a flag."""
        t = 2.5 + (np.arange(20) + 0.5) * 0.2 + z
        weight = np.clip(np.minimum((t + 1) * N / 2 + 0.5, (1 - t) * N / 2 + 0.5), 0, 1)
        return 0.2 * (weight * (np.abs(t) < 1)).sum()

    def ours(z):
        middle = Cameras.looking_at((0, 0, z), (0, 0, 1), (0, 1, 0), 1.0, (1, 1))
        thin = values.copy()
        thin[..., 3] = 0.3  # below an opacity of 1
        return marcher.render(thin, middle)[0, 0, 0, 3] / 0.3

    jump = [np.abs(np.diff([f(z) for z in position])).max() for f in (cut, ours)]
    assert jump[0] > 0.09  # half of a step's density
    assert jump[1] < 0.01

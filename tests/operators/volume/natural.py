# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""The natural kernel of a ray march: the picture is read, and overwritten, in each step."""

import numpy as np

from laserpath.base.compute.runtime import Kernel, ti

_ROWS = ti.types.ndarray(ti.f64, 2)


@ti.kernel
def _natural(density: _ROWS, red: _ROWS, picture: _ROWS):
    for ray in range(density.shape[0]):
        for k in range(density.shape[1]):
            w = ti.min(picture[ray, 1] + density[ray, k], 1.0) - picture[ray, 1]
            picture[ray, 0] += w * red[ray, k]
            picture[ray, 1] += w


def natural_gradient(density, red):
    """(picture (R, 2), ∂/∂density, ∂/∂red) of the sum of the colour, as Taichi's reverse mode has them."""
    found = []

    def run():
        arrays = [
            ti.ndarray(ti.f64, shape, needs_grad=True) for shape in (density.shape, red.shape, (len(red), 2))
        ]
        for one, given in zip(arrays, (density, red, np.zeros((len(red), 2))), strict=True):
            one.from_numpy(given)
            one.grad.fill(0)
        _natural(*arrays)
        found.append(arrays[2].to_numpy())
        arrays[2].grad.from_numpy(np.array([[1.0, 0.0]] * len(red)))
        _natural.grad(*arrays)
        found.extend(one.grad.to_numpy() for one in arrays[:2])

    Kernel(run)()
    return found

"""Pinhole cameras, their rays, and the adjoint of the rays.

    ray of the pixel (i, j) = (row, column):   o + t d,   o = position,   d = e/|e|
    e = a R[0] + b R[1] + R[2],   a = (j − c_x)/f_x,   b = (i − c_y)/f_y

The rows of the rotation R are the directions, in the world, of the camera's axes: to the right, downwards in
the picture, forwards. Pixel (i, j) has its centre at the column j and the row i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.errors import InputError, one_line

MOST_RAYS = 1 << 26
"""Pixels of all cameras together. More need more memory: 67 million take about 15 GB."""


@dataclass(frozen=True, slots=True, eq=False)
class Cameras:
    """N cameras with pictures of one size.

    position: (N, 3), in the unit of the volume's pitch.  rotation: (N, 3, 3), rows as in the module's
    docstring; need not be orthogonal.  focal: (N, 2) f_x, f_y, pixels.  principal: (N, 2) c_x, c_y, pixels.
    shape: (rows, columns).
    """

    position: Floats
    rotation: Floats
    focal: Floats
    principal: Floats
    shape: tuple[int, int]

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", frozen_array(self.position, "cameras position", (None, 3)))
        if (n := len(self.position)) == 0:
            raise InputError("cameras has 0 cameras, but must have at least 1")
        shapes = {"rotation": (n, 3, 3), "focal": (n, 2), "principal": (n, 2)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"cameras {name}", shape))
        # Rows in one plane have no line of sight at all, or see a plane; zeros would give NaN.
        size = np.linalg.norm(self.rotation, axis=2).prod(axis=1)
        flat = ~(np.abs(np.linalg.det(self.rotation)) > _FLATTEST * size)
        if flat.any():
            at = int(np.flatnonzero(flat)[0])
            raise InputError(
                f"cameras rotation of camera {at} is {self.rotation[at].tolist()}, but its rows must be "
                "three directions that are not in one plane"
            )
        if not (self.focal > 0).all():
            raise InputError(f"cameras focal is {self.focal.min():g} pixels, but must be above 0")
        check_shape(self.shape)
        if (rays := n * int(self.shape[0]) * int(self.shape[1])) > MOST_RAYS:
            raise InputError(f"cameras have {rays} pixels in all, but must have at most {MOST_RAYS}")

    @classmethod
    def looking_at(
        cls, position: ArrayLike, target: ArrayLike, up: ArrayLike, focal: float, shape: tuple[int, int]
    ) -> Cameras:
        """One camera at `position` that sees `target` in the middle; `up` points upwards in the picture."""
        given = {"position": position, "target": target, "up": up}
        position, target, up = (frozen_array(one, f"camera {name}", (3,)) for name, one in given.items())
        forward = target - position
        if not np.linalg.norm(forward) > 0:
            raise InputError(f"camera position is {position}, which is its target, but must be another place")
        right = np.cross(forward, up)
        if not np.linalg.norm(right) > 1e-12 * np.linalg.norm(forward) * np.linalg.norm(up):
            raise InputError(f"camera up is {up}, along the line of sight {forward}, but must be across it")
        check_shape(shape)
        axes = np.stack([right, np.cross(forward, right), forward])
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        middle = (shape[1] - 1) / 2, (shape[0] - 1) / 2
        return cls(position[None], axes[None], np.full((1, 2), focal), np.array([middle]), shape)

    def __len__(self) -> int:
        return len(self.position)

    @property
    def rays(self) -> tuple[Floats, Floats]:
        """(origin, direction) of all pixels, (N·rows·columns, 3) each; directions have length 1."""
        plane = self._plane()
        e = np.einsum("nijk,nkc->nijc", plane, self.rotation)
        e /= np.linalg.norm(e, axis=-1, keepdims=True)
        origin = np.broadcast_to(self.position[:, None, None, :], e.shape)
        return np.ascontiguousarray(origin).reshape(-1, 3), e.reshape(-1, 3)

    def pull(self, d_origin: Floats, d_direction: Floats) -> CameraGradient:
        """∂L/∂(position, rotation, focal, principal) from ∂L/∂(origin, direction); shapes as of `rays`."""
        plane, shape = self._plane(), (len(self), *self.shape, 3)
        e = np.einsum("nijk,nkc->nijc", plane, self.rotation)
        length = np.linalg.norm(e, axis=-1, keepdims=True)
        d, g = e / length, d_direction.reshape(shape)
        d_e = (g - d * np.sum(g * d, axis=-1, keepdims=True)) / length
        # a = (j − c)/f: ∂a/∂c = −1/f, ∂a/∂f = −a/f.
        d_plane = np.einsum("nijc,nkc->nijk", d_e, self.rotation[:, :2])
        return CameraGradient(
            position=d_origin.reshape(shape).sum(axis=(1, 2)),
            rotation=np.einsum("nijk,nijc->nkc", plane, d_e),
            focal=-np.sum(d_plane * plane[..., :2], axis=(1, 2)) / self.focal,
            principal=-d_plane.sum(axis=(1, 2)) / self.focal,
        )

    def order(self, cameras: int) -> NDArray[np.int32]:
        """(cameras·rows·columns,) int32, the rays of so many cameras by tiles of 8 × 8, for `kernels`."""
        rows, columns = self.shape
        i, j = np.indices((rows, columns)).reshape(2, -1)
        within = np.lexsort((j, i, j // _TILE, i // _TILE)).astype(np.int32)
        return (np.arange(cameras, dtype=np.int32)[:, None] * (rows * columns) + within).reshape(-1)

    def _plane(self) -> Floats:
        """(a, b, 1) of each pixel, (N, rows, columns, 3)."""
        rows, columns = self.shape
        plane = np.ones((len(self), rows, columns, 3))
        plane[..., 0] = ((np.arange(columns) - self.principal[:, :1]) / self.focal[:, :1])[:, None, :]
        plane[..., 1] = ((np.arange(rows) - self.principal[:, 1:]) / self.focal[:, 1:])[:, :, None]
        return plane


def check_shape(shape: tuple[int, int]) -> None:
    """Raise InputError unless it can be that of a picture, (rows, columns)."""
    sizes = np.asarray(shape)
    if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise InputError(
            f"cameras shape is {shape}, but must be (rows, columns), whole numbers of at least 1"
        )


@dataclass(frozen=True, slots=True, eq=False)
class CameraGradient:
    """Derivatives of a scalar by the fields of `Cameras`, of the same shapes."""

    position: Floats
    rotation: Floats
    focal: Floats
    principal: Floats


_FLATTEST = 1e-12
"""Least |det R| of a rotation, in products of its rows' lengths. A smaller one lets rays of length 0 pass."""
_TILE = 8
"""Pixels. Larger tiles see more voxels than fit into a core's cache; smaller ones share fewer."""

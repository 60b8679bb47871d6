"""The ray marcher as an operator, for PyTorch and JAX. It works in the host's memory, with a rim of zeros."""

from __future__ import annotations

from laserpath.base.arrays import Floats
from laserpath.operators.record import Operator
from laserpath.volume.camera import Cameras, check_shape
from laserpath.volume.marcher import Marched, RayMarcher

NAME = "laserpath::volume"
FIELDS = ("position", "rotation", "focal", "principal")
"""Of `Cameras`."""


def marcher_operator(marcher: RayMarcher, shape: tuple[int, int]) -> Operator:
    """(volume (z, y, x, 4), position (N, 3), rotation (N, 3, 3), focal (N, 2), principal (N, 2)) → picture.

    The last four are the fields of `Cameras`, whose pictures have the shape (rows, columns); the output is
    that of `RayMarcher.render`, (N, rows, columns, 4), and the volume may be a batch as there. It is computed
    in the marcher's precision. PyTorch and JAX render once for value and gradient, and only the gradients
    that are asked for, by the volume or by the cameras, are computed. Raises InputError for a wrong shape.
    """
    check_shape(shape)
    rows, columns = map(int, shape)

    def picture(volume: Floats, *fields: Floats) -> tuple[Floats, Floats]:
        found = marcher.marched(volume, cameras(*fields))
        return found.picture, found.together()

    def adjoint(volume: Floats, *read: Floats, wanted: tuple[bool, ...]) -> tuple[Floats | None, ...]:
        *fields, rays, slope = read
        marched = Marched.apart(rays.astype(marcher.real, copy=False))
        by_cameras = any(wanted[1:])
        found = marcher.gradient(
            volume, cameras(*fields), slope, by_volume=wanted[0], by_cameras=by_cameras, marched=marched
        )
        return found.volume, *(getattr(found.cameras, name) if by_cameras else None for name in FIELDS)

    def cameras(position: Floats, rotation: Floats, focal: Floats, principal: Floats) -> Cameras:
        return Cameras(position, rotation, focal, principal, (rows, columns))

    return Operator(
        NAME,
        picture,
        adjoint,
        inputs=("volume", *FIELDS),
        # Wrong shapes are refused by `Cameras`, with a sentence: here they only must not fail.
        outputs={"picture": lambda volume, position, *_: (*position[:1], rows, columns, 4)},
        saved={"rays": lambda volume, position, *_: (*position[:1], rows, columns, 9)},
        on_host=True,
        selective=True,
    )

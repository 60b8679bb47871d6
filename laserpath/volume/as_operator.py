"""The ray marcher as an operator, for PyTorch and JAX. It works in the host's memory, with a rim of zeros."""

from __future__ import annotations

from laserpath.base.arrays import Floats
from laserpath.operators.record import Operator
from laserpath.volume.camera import Cameras, check_shape
from laserpath.volume.marcher import RayMarcher

NAME = "laserpath::volume"


def marcher_operator(marcher: RayMarcher, shape: tuple[int, int]) -> Operator:
    """(volume (z, y, x, 4), position (N, 3), rotation (N, 3, 3), focal (N, 2), principal (N, 2)) → picture.

    The last four are the fields of `Cameras`, whose pictures have the shape (rows, columns); the output is
    that of `RayMarcher.render`, (N, rows, columns, 4). It is computed in the marcher's precision, and the
    gradient renders it once more. Raises InputError for a wrong shape.
    """
    check_shape(shape)
    rows, columns = map(int, shape)

    def picture(
        volume: Floats, position: Floats, rotation: Floats, focal: Floats, principal: Floats
    ) -> Floats:
        cameras = Cameras(position, rotation, focal, principal, (rows, columns))
        return marcher.render(volume, cameras)

    def adjoint(
        volume: Floats,
        position: Floats,
        rotation: Floats,
        focal: Floats,
        principal: Floats,
        d_picture: Floats,
    ) -> tuple[Floats, ...]:
        cameras = Cameras(position, rotation, focal, principal, (rows, columns))
        found = marcher.gradient(volume, cameras, d_picture)
        by_volume, by = found.volume, found.cameras
        assert by_volume is not None and by is not None  # both are wanted
        return by_volume, by.position, by.rotation, by.focal, by.principal

    return Operator(
        NAME,
        picture,
        adjoint,
        inputs=("volume", "position", "rotation", "focal", "principal"),
        # Wrong shapes are refused by `Cameras`, with a sentence: here they only must not fail.
        outputs={"picture": lambda volume, position, *_: (*position[:1], rows, columns, 4)},
        on_host=True,
    )

"""The painter as an operator, for PyTorch and JAX. It works in the host's memory, on lists of tiles."""

from __future__ import annotations

from laserpath.base.arrays import Floats
from laserpath.operators.record import Operator
from laserpath.strokes.model import Strokes
from laserpath.strokes.painter import StrokePainter

NAME = "laserpath::strokes"


def strokes_operator(painter: StrokePainter) -> Operator:
    """(points (N, 2 or 3, 2), width (N,), colour (N, C), alpha (N,)) → picture (rows, columns, C)."""

    def picture(points: Floats, width: Floats, colour: Floats, alpha: Floats) -> Floats:
        return painter.paint(Strokes(points, width, colour, alpha))

    def adjoint(
        points: Floats, width: Floats, colour: Floats, alpha: Floats, d_picture: Floats
    ) -> tuple[Floats, ...]:
        found = painter.gradient(Strokes(points, width, colour, alpha), d_picture)
        return found.points, found.width, found.colour, found.alpha

    shape = (*painter.canvas.shape, painter.canvas.channels)
    return Operator(
        NAME,
        picture,
        adjoint,
        inputs=("points", "width", "colour", "alpha"),
        outputs={"picture": lambda *_: shape},
        on_host=True,
    )

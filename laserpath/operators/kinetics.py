"""The kinetic model as an operator, for PyTorch and JAX. It computes in float64, in the host's memory."""

from __future__ import annotations

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.checks import number
from laserpath.base.errors import InputError
from laserpath.operators.record import Operator
from laserpath.physics.kinetics.light import Light
from laserpath.physics.kinetics.model import KineticModel

NAME = "laserpath::kinetics"


def kinetics_operator(model: KineticModel, end: float) -> Operator:
    """(xy (M, 2) mm, energy (M,) mJ, time (M,) s) → conversion (rows, columns) at the time `end`, s.

    The inputs are the fields of `Light`: the times ascend from 0, and none is after the end, which is fixed,
    so that it has no derivative. The gradient computes the exposure once more. Raises InputError for an end
    that is not finite and at least 0.
    """
    number("end", end)
    if not 0 <= end < np.inf:
        raise InputError(f"end is {end:g} s, but must be finite and at least 0 s")

    def conversion(xy: Floats, energy: Floats, time: Floats) -> Floats:
        return model.expose(Light(xy, energy, time), end).conversion

    def adjoint(xy: Floats, energy: Floats, time: Floats, d_conversion: Floats) -> tuple[Floats, ...]:
        found = model.expose(Light(xy, energy, time), end).gradient(d_conversion)
        return found.xy, found.energy, found.time

    return Operator(
        NAME,
        conversion,
        adjoint,
        inputs=("xy", "energy", "time"),
        outputs={"conversion": lambda *_: model.grid.shape},
        on_host=True,
    )

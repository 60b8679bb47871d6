"""The dose as an operator: what PyTorch's layer and JAX's function are made of.

    D(x) = Σ_k power_k/speed_k ∫_segment_k h(|x − γ(s)|) ds

An operator of NumPy arrays, since the default engine is an FFT in the host's memory.
"""

from __future__ import annotations

from laserpath.base.arrays import Floats
from laserpath.operators.record import Operator
from laserpath.physics.dose.model import DoseModel
from laserpath.types import Toolpath

NAME = "laserpath::dose"


def dose_operator(model: DoseModel) -> Operator:
    """(xy (N+1, 2) mm, power (N,) mW, speed (N,) mm/s) → dose (rows, columns) mJ/mm²."""

    def dose(xy: Floats, power: Floats, speed: Floats) -> Floats:
        return model.dose(Toolpath(xy, power, speed))

    def adjoint(xy: Floats, power: Floats, speed: Floats, d_dose: Floats) -> tuple[Floats, ...]:
        gradient = model.gradient(Toolpath(xy, power, speed), d_dose)
        return gradient.xy, gradient.power, gradient.speed

    return Operator(
        NAME,
        dose,
        adjoint,
        inputs=("xy", "power", "speed"),
        outputs={"dose": lambda *_: model.grid.shape},
        on_host=True,
    )

"""Photopolymerisation through time: radicals, oxygen, conversion, and the gradient by the light.

    light → `KineticModel.expose` → `Conversion`,   `Conversion.gradient`: ∂L/∂conversion → ∂L/∂light

`kinetics_operator` makes them an operator for PyTorch and JAX.

The dose model holds where a resin adds up light whenever it comes. This one knows what comes between: oxygen
that stops radicals and diffuses back, radicals that last longer than the head takes to the next line.
"""

from laserpath.kinetics.as_operator import kinetics_operator
from laserpath.kinetics.light import Light, LightGradient
from laserpath.kinetics.model import Conversion, KineticModel
from laserpath.types import Kinetics

__all__ = ["Conversion", "KineticModel", "Kinetics", "Light", "LightGradient", "kinetics_operator"]

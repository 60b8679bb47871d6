"""Photopolymerisation through time: radicals, oxygen, conversion, and the gradient by the light.

    light → `KineticModel.expose` → `Conversion`,   `Conversion.gradient`: ∂L/∂conversion → ∂L/∂light

`laserpath.operators.kinetics` makes them an operator for PyTorch and JAX.

The dose model holds where a resin adds up light whenever it comes. This one knows what comes between: oxygen
that stops radicals and diffuses back, radicals that last longer than the head takes to the next line.
"""

from laserpath.physics.kinetics.light import Light, LightGradient
from laserpath.physics.kinetics.model import Conversion, KineticModel
from laserpath.types import Kinetics

__all__ = ["Conversion", "KineticModel", "Kinetics", "Light", "LightGradient"]

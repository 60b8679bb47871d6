"""Strokes: a differentiable painter of lines and quadratic curves with round ends.

`painter` paints, has the gradient, and is an operator for PyTorch and JAX; `kernels` are its loops, and the
coverage of one pixel by one stroke. `fitting` finds the strokes of a picture. `additive` are the laser's
strokes, whose doses add up, and their fit to any loss of the dose, or one after the other to a wanted dose.
"""

from laserpath.operators.strokes.additive import (
    AdditiveFit,
    AdditiveStrokes,
    StrokeModel,
    fit_additive,
    lay_strokes,
)
from laserpath.operators.strokes.painter import (
    Canvas,
    FitSettings,
    FittedStrokes,
    StrokePainter,
    Strokes,
    StrokesGradient,
    fit_strokes,
    strokes_operator,
)

__all__ = [
    "AdditiveFit", "AdditiveStrokes", "Canvas", "FitSettings", "FittedStrokes", "StrokeModel",
    "StrokePainter", "Strokes", "StrokesGradient", "fit_additive", "fit_strokes", "lay_strokes",
    "strokes_operator",
]  # fmt: skip

"""Strokes: a differentiable painter of lines and quadratic curves with round ends.

`painter` paints and has the gradient, `kernels` are its loops, `capsule` the coverage of one pixel by one
stroke. `fitting` finds the strokes of a picture, `as_operator` makes them an operator for PyTorch and JAX.
`additive` are the laser's strokes, whose doses add up, and their fit to any loss of the dose; `residual` lays
them one after the other for a wanted dose.
"""

from laserpath.strokes.additive import AdditiveFit, AdditiveStrokes, StrokeModel, fit_additive, lay_strokes
from laserpath.strokes.fitting import FitSettings, FittedStrokes, fit_strokes
from laserpath.strokes.painter import Canvas, StrokePainter, Strokes, StrokesGradient, strokes_operator

__all__ = [
    "AdditiveFit",
    "AdditiveStrokes",
    "Canvas",
    "FitSettings",
    "FittedStrokes",
    "StrokeModel",
    "StrokePainter",
    "Strokes",
    "StrokesGradient",
    "fit_additive",
    "fit_strokes",
    "lay_strokes",
    "strokes_operator",
]

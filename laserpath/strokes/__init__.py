"""Strokes: a differentiable painter of lines and quadratic curves with round ends.

`painter` paints and has the gradient, `kernels` are its loops, `capsule` the coverage of one pixel by one
stroke. `fitting` finds the strokes of a picture, `as_operator` makes them an operator for PyTorch and JAX.
`additive` are the laser's strokes, whose doses add up, and their fit; `residual` lays them greedily.
"""

from laserpath.strokes.as_operator import strokes_operator
from laserpath.strokes.fitting import FitSettings, FittedStrokes, fit_strokes
from laserpath.strokes.model import Canvas, Strokes, StrokesGradient
from laserpath.strokes.painter import StrokePainter

__all__ = [
    "Canvas",
    "FitSettings",
    "FittedStrokes",
    "StrokePainter",
    "Strokes",
    "StrokesGradient",
    "fit_strokes",
    "strokes_operator",
]

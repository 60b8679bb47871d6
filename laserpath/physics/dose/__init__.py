"""Dose from a toolpath, and back: `model` for toolpaths, `engines` for points."""

from laserpath.physics.dose.engines import Engine, SpotGradient
from laserpath.physics.dose.fft import TiledDose
from laserpath.physics.dose.model import DoseModel, ToolpathGradient, accurate_model, engine, usual_model
from laserpath.physics.dose.segments import PathGradient

__all__ = [
    "DoseModel", "Engine", "PathGradient", "SpotGradient", "TiledDose", "ToolpathGradient", "accurate_model",
    "engine", "usual_model",
]  # fmt: skip

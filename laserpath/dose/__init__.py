"""Dose from a toolpath, and back: see `model`."""

from laserpath.dose.model import DirectEngine, DoseModel, FftEngine, ToolpathGradient, isolated_dose

__all__ = ["DirectEngine", "DoseModel", "FftEngine", "ToolpathGradient", "isolated_dose"]

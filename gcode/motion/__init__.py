"""Where the head is when, and how bright: GRBL 1.1's planner and its laser, as a model."""

from gcode.motion.execution import execute, quantise
from gcode.motion.gradient import TimeGradient, time_gradient
from gcode.motion.planner import Limits, Motion, profile

__all__ = ["Limits", "Motion", "TimeGradient", "execute", "profile", "quantise", "time_gradient"]

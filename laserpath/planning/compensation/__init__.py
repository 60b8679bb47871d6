"""Compensation: the path and levels that expose, as executed, what the optimised path is to expose."""

from laserpath.planning.compensation.compensate import (
    Learned,
    LearnedProgram,
    converted,
    learned,
    on_steps,
    refined,
)

__all__ = ["Learned", "LearnedProgram", "converted", "learned", "on_steps", "refined"]

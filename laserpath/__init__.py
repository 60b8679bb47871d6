"""Toolpaths for machines that cure resin or photoresist with a focused laser.

    import laserpath

    plan = laserpath.plan("design.svg")
    plan.write("out/")

Names are imported on first use, so that `laserpath --help` need not wait for the numerics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcode.lazy import attach

if TYPE_CHECKING:
    from laserpath.base.errors import InputError, PlausibilityWarning
    from laserpath.base.limits import ReadingLimits, limits
    from laserpath.config import profiles, request
    from laserpath.design import load, load_colours, load_layers
    from laserpath.design.board import BoardExposure, CircuitBoard, load_board
    from laserpath.design.part import load_part
    from laserpath.machine.framing import frame
    from laserpath.planning import (
        BoardPlans,
        ColourPlans,
        DoseMatrix,
        LayerPlans,
        Plan,
        Progress,
        plan,
        plan_board,
        plan_colours,
        plan_layers,
        plan_matrix,
        sensitivity,
    )
    from laserpath.simulation import Simulation, simulate
    from laserpath.simulation.comparison import Comparison, compare
    from laserpath.simulation.printed import PrintedFit, fit_photograph
    from laserpath.types import Design, Grid, Machine, Part, Process, Resin, Settings, Spot, Target, Toolpath
    from laserpath.types.results import (
        Edges,
        KeyFigures,
        Measurement,
        MotionFigures,
        PrintFigures,
        ProcessWindow,
        Report,
        Sensitivity,
        Solution,
        Variation,
    )

__version__ = "0.3.0"

__all__ = [
    "BoardExposure", "BoardPlans", "CircuitBoard", "ColourPlans", "Comparison", "Design", "DoseMatrix",
    "Edges", "Grid", "InputError", "KeyFigures", "LayerPlans", "Machine", "Measurement", "MotionFigures",
    "Part", "Plan", "PlausibilityWarning", "PrintFigures", "PrintedFit", "Process", "ProcessWindow",
    "Progress", "ReadingLimits", "Report", "Resin", "Sensitivity", "Settings", "Simulation", "Solution",
    "Spot", "Target", "Toolpath", "Variation", "compare", "fit_photograph", "frame", "limits", "load",
    "load_board", "load_colours", "load_layers", "load_part", "plan", "plan_board", "plan_colours",
    "plan_layers", "plan_matrix", "profiles", "request", "sensitivity", "simulate",
]  # fmt: skip

__getattr__, __dir__ = attach(
    __name__,
    {
        "base.errors": ("InputError", "PlausibilityWarning"),
        "base.limits": ("ReadingLimits", "limits"),
        "design": ("load", "load_colours", "load_layers"),
        "design.board": ("BoardExposure", "CircuitBoard", "load_board"),
        "design.part": ("load_part",),
        "machine.framing": ("frame",),
        "planning": (
            "BoardPlans", "ColourPlans", "DoseMatrix", "LayerPlans", "Plan", "Progress", "plan", "plan_board",
            "plan_colours", "plan_layers", "plan_matrix", "sensitivity",
        ),
        "simulation": ("Simulation", "simulate"),
        "simulation.comparison": ("Comparison", "compare"),
        "simulation.printed": ("PrintedFit", "fit_photograph"),
        "types": (
            "Design", "Grid", "Machine", "Part", "Process", "Resin", "Settings", "Spot", "Target", "Toolpath",
        ),
        "types.results": (
            "Edges", "KeyFigures", "Measurement", "MotionFigures", "PrintFigures", "ProcessWindow", "Report",
            "Sensitivity", "Solution", "Variation",
        ),
    },
    {"profiles": "config.profiles", "request": "config.request"},
)  # fmt: skip

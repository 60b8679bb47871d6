"""Toolpaths for machines that cure resin or photoresist with a focused laser.

    import laserpath

    plan = laserpath.plan("design.svg")
    plan.write("out/")

Names are imported on first use, so that `laserpath --help` need not wait for the numerics.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from laserpath.base.errors import InputError, PlausibilityWarning
    from laserpath.base.limits import ReadingLimits, limits
    from laserpath.config import profiles, request
    from laserpath.design import load, load_colours
    from laserpath.machine.framing import frame
    from laserpath.planning import ColourPlans, Plan, Progress, plan, plan_colours, sensitivity
    from laserpath.simulation import Simulation, simulate
    from laserpath.simulation.comparison import Comparison, compare
    from laserpath.types import Design, Grid, Machine, Part, Process, Resin, Settings, Spot, Target, Toolpath
    from laserpath.types.results import (
        Edges,
        Measurement,
        MotionFigures,
        PrintFigures,
        ProcessWindow,
        Report,
        Solution,
    )
    from laserpath.types.sensitivity import KeyFigures, Sensitivity, Variation

__version__ = "0.3.0"

__all__ = [
    "ColourPlans",
    "Comparison",
    "Design",
    "Edges",
    "Grid",
    "InputError",
    "KeyFigures",
    "Machine",
    "Measurement",
    "MotionFigures",
    "Part",
    "Plan",
    "PlausibilityWarning",
    "PrintFigures",
    "Process",
    "ProcessWindow",
    "Progress",
    "ReadingLimits",
    "Report",
    "Resin",
    "Sensitivity",
    "Settings",
    "Simulation",
    "Solution",
    "Spot",
    "Target",
    "Toolpath",
    "Variation",
    "compare",
    "frame",
    "limits",
    "load",
    "load_colours",
    "plan",
    "plan_colours",
    "profiles",
    "request",
    "sensitivity",
    "simulate",
]

_ELSEWHERE = {
    **dict.fromkeys(("InputError", "PlausibilityWarning"), "base.errors"),
    **dict.fromkeys(("ReadingLimits", "limits"), "base.limits"),
    **dict.fromkeys(("ColourPlans", "Plan", "Progress", "plan", "plan_colours", "sensitivity"), "planning"),
    **dict.fromkeys(
        ("Edges", "Measurement", "MotionFigures", "PrintFigures", "ProcessWindow", "Report", "Solution"),
        "types.results",
    ),
    **dict.fromkeys(("KeyFigures", "Sensitivity", "Variation"), "types.sensitivity"),
    **dict.fromkeys(("Comparison", "compare"), "simulation.comparison"),
    **dict.fromkeys(("Simulation", "simulate"), "simulation"),
    "frame": "machine.framing",
    **dict.fromkeys(("load", "load_colours"), "design"),
}
"""Public name → its module, if that is not `types`."""

_MODULES = {"profiles": "config.profiles", "request": "config.request"}
"""Public name → the module that it stands for."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _MODULES:
        value = import_module(f"{__name__}.{_MODULES[name]}")
    else:
        value = getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'types')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

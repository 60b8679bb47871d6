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
    from laserpath._plan import Plan, plan
    from laserpath.comparison import Comparison, compare
    from laserpath.design import load
    from laserpath.errors import InputError
    from laserpath.framing import frame
    from laserpath.optimise import Progress
    from laserpath.results import Edges, Figures, Measurement, ProcessWindow, Report, Solution
    from laserpath.simulation import Simulation, simulate
    from laserpath.types import Design, Grid, Machine, Process, Resin, Settings, Spot, Target, Toolpath

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "Design",
    "Edges",
    "Figures",
    "Grid",
    "InputError",
    "Machine",
    "Measurement",
    "Plan",
    "Process",
    "ProcessWindow",
    "Progress",
    "Report",
    "Resin",
    "Settings",
    "Simulation",
    "Solution",
    "Spot",
    "Target",
    "Toolpath",
    "compare",
    "frame",
    "load",
    "plan",
    "simulate",
]

_ELSEWHERE = {
    "InputError": "errors",
    "Plan": "_plan",
    "Progress": "optimise",
    **dict.fromkeys(("Edges", "Figures", "Measurement", "ProcessWindow", "Report", "Solution"), "results"),
    **dict.fromkeys(("Comparison", "compare"), "comparison"),
    **dict.fromkeys(("Simulation", "simulate"), "simulation"),
    "frame": "framing",
    "load": "design",
    "plan": "_plan",
}
"""Where a public name is, if not in `types`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'types')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

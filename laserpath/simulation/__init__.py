"""Any tool's program on this machine and resin: exposed, measured and drawn, without planning anything.

    simulate("job.nc", process, "design.svg").executed.measured.figures.epe_mean

`simulator` has the steps: `source` reads the text as its controller would, and projects several heights onto
one plane; the program is laid on its design, exposed and measured; `result` has its figures and pages. A
plan's own G-code gets the figures of the plan. `printed` compares it with a photograph of the print.

Names are imported on first use: `laserpath frame`, which only reads a program, need not wait for doses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcode.lazy import attach

if TYPE_CHECKING:
    from laserpath.simulation.part import PartSimulation, PlacedPart, simulate_part
    from laserpath.simulation.result import BestExposure, DoseFigures, PathExposure, Simulation, paths_of
    from laserpath.simulation.simulator import Choices, simulate

__all__ = [
    "BestExposure", "Choices", "DoseFigures", "PartSimulation", "PathExposure", "PlacedPart", "Simulation",
    "paths_of", "simulate", "simulate_part",
]  # fmt: skip

__getattr__, __dir__ = attach(
    __name__,
    {
        "part": ("PartSimulation", "PlacedPart", "simulate_part"),
        "result": ("BestExposure", "DoseFigures", "PathExposure", "Simulation", "paths_of"),
        "simulator": ("Choices", "simulate"),
    },
    {},
)

"""Any tool's program on this machine and resin: exposed, measured and drawn, without planning anything.

    simulate("job.nc", process, "design.svg").executed.measured.figures.epe_mean

`simulator` has the steps: `source` reads the text as its controller would, and projects several heights onto
one plane; the program is laid on its design, exposed and measured; `result` has its figures and pages. A
plan's own G-code gets the figures of the plan. `printed` compares it with a photograph of the print.
"""

from laserpath.simulation.result import BestExposure, DoseFigures, PathExposure, Simulation, paths_of
from laserpath.simulation.simulator import Choices, simulate

__all__ = ["BestExposure", "Choices", "DoseFigures", "PathExposure", "Simulation", "paths_of", "simulate"]

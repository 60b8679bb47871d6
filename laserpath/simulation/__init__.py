"""Any tool's program on this machine and resin: exposed, measured and drawn, without planning anything.

    simulate("job.nc", process, "design.svg").executed.measured.figures.epe_mean

`simulator` has the steps: `source` reads the text as its controller would, `plane` projects several heights
onto one plane, `alignment` finds a design that lies elsewhere, `exposing` exposes and measures the program,
on the grid of `view`; `warnings` are for the user, `page` and `drawing` show the `result`. A plan's own
G-code gets the figures of the plan.
"""

from laserpath.simulation.figures import DoseFigures, PathExposure
from laserpath.simulation.result import BestExposure
from laserpath.simulation.simulator import Choices, Simulation, paths_of, simulate

__all__ = ["BestExposure", "Choices", "DoseFigures", "PathExposure", "Simulation", "paths_of", "simulate"]

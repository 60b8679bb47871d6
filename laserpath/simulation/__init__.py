"""Any tool's program on this machine and resin: exposed, measured and drawn, without planning anything.

    simulate("job.nc", process, "design.svg").executed.measured.figures.epe_mean

`source` reads the text as its controller would, `plane` lays several heights into one plane, `walk` executes
it, `exposing` exposes and measures it, `alignment` finds a design that lies elsewhere, `page` and `drawing`
show it. A plan's own G-code gets the figures of the plan.
"""

from laserpath.simulation.figures import DoseFigures, PathExposure
from laserpath.simulation.result import Simulation, Tuned
from laserpath.simulation.walk import Choices, simulate

__all__ = ["Choices", "DoseFigures", "PathExposure", "Simulation", "Tuned", "simulate"]

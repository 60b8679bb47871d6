"""Several programs on one machine and resin, against one design: which is truer, which is faster.

    compare(["hatch.nc", "plan.gcode"], process, "design.svg").write()

Each is simulated by itself (`simulation`); what is compared is what the controller executes.
"""

from laserpath.simulation.comparison.result import Comparison, Line, compare

__all__ = ["Comparison", "Line", "compare"]

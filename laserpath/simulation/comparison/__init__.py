"""Several programs on one machine and resin, against one design: which is more accurate, which faster.

    compare(["hatch.nc", "plan.gcode"], process, "design.svg").write()

Each is simulated by itself (`simulation`) and compared as the controller executes it (`result`).
`page` shows it.
"""

from laserpath.simulation.comparison.result import FigureRow
from laserpath.simulation.comparison.side_by_side import Comparison, compare, path_of

__all__ = ["Comparison", "FigureRow", "compare", "path_of"]

"""Greyscale: a dose, or a height, that is wanted at every place, planned as raster lines of varying power.

    wanted = load_relief("lens.png", Reading(0.002, grey=Black(height=0.06)), resin)
    made = plan_relief(wanted, process, settings)

`wanted` makes a `Relief` of an image; `lines` lays the raster; `solve` finds the line energies; `walk` is
the way from the image to the G-code, which is read back and measured, as that of a design is.
"""

from laserpath.relief.walk import ReliefFigures, ReliefPlan, plan_relief
from laserpath.relief.wanted import from_image, load_relief

__all__ = ["ReliefFigures", "ReliefPlan", "from_image", "load_relief", "plan_relief"]

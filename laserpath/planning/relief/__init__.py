"""Greyscale: a dose, or a height, that is wanted at every place, planned as raster lines of varying power.

    wanted = load_relief("lens.png", Reading(0.002, grey=Black(height=0.06)), resin)
    made = plan_relief(wanted, process, settings)

`wanted` makes a `Relief` of an image; `layout` puts it on the machine, with `lines` over it, and says what it
will take; `solve` finds the line energies; `walk` is the way from there to the G-code, which is read back and
measured, as that of a design is.
"""

from laserpath.planning.relief.layout import Layout, forecast_relief, lay_out
from laserpath.planning.relief.walk import ReliefFigures, ReliefPlan, plan_layout, plan_relief
from laserpath.planning.relief.wanted import from_image, load_relief
from laserpath.planning.relief.words import in_words

__all__ = [
    "Layout",
    "ReliefFigures",
    "ReliefPlan",
    "forecast_relief",
    "from_image",
    "in_words",
    "lay_out",
    "load_relief",
    "plan_layout",
    "plan_relief",
]

"""Greyscale: a target dose or height at every place, planned as raster lines of varying power.

    relief = load_relief("lens.png", Reading(0.002, grey=Black(height=0.06)), resin)
    plan_relief(relief, process, settings).write("out/")

`target` reads a `Relief` from an image. `layout` places it on the machine, covers it with lines and forecasts
the plan. `planner` optimises the line energies and has all the steps up to the G-code, which is read
back, executed and measured like that of a design, and the report.
"""

from laserpath.planning.relief.layout import ReliefLayout, forecast_fit, forecast_relief, lay_out
from laserpath.planning.relief.planner import ReliefFigures, ReliefPlan, in_words, plan_layout, plan_relief
from laserpath.planning.relief.target import from_image, load_relief

__all__ = [
    "ReliefFigures", "ReliefLayout", "ReliefPlan", "forecast_fit", "forecast_relief", "from_image",
    "in_words", "lay_out", "load_relief", "plan_layout", "plan_relief",
]  # fmt: skip

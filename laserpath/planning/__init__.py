"""From a design to the program that exposes it. `pipeline` has all the steps in order.

`start` chooses the starting curve (`curve/`), `stages` optimises it from coarse to fine (`optimise/`), and
`tolerance` finds the fastest plan within a tolerance. `smooth` drops the vertices that shape nothing.
`forecasts` estimates the time and memory of a plan, by the `costs` of its steps, `unconstrained` computes the
best possible dose, `robustness` what the plan relies on and what would help the machine, and `relief/` plans
greyscale.

Names are imported on first use: a plan of one design need not wait for boards, layers and the dose matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcode.lazy import attach

if TYPE_CHECKING:
    from laserpath.planning.colours import (
        BoardPlans,
        ColourPlans,
        adding_doses,
        check_joined,
        plan_board,
        plan_colours,
    )
    from laserpath.planning.costs import PlanStep
    from laserpath.planning.forecasts import Forecast, forecast
    from laserpath.planning.keeping import Keeping
    from laserpath.planning.matrix import DoseMatrix, forecast_matrix, matrix_paths, plan_matrix
    from laserpath.planning.optimise.loop import Progress
    from laserpath.planning.output import header, paths_of, paths_of_all
    from laserpath.planning.pipeline import Plan, plan
    from laserpath.planning.robustness import sensitivity
    from laserpath.planning.stack import (
        LayerPlans,
        Stack,
        forecast_stack,
        plan_layers,
        plan_stack,
        stacked,
        together,
    )
    from laserpath.planning.unconstrained import limit

__all__ = [
    "BoardPlans", "ColourPlans", "DoseMatrix", "Forecast", "Keeping", "LayerPlans", "Plan", "PlanStep",
    "Progress", "Stack", "adding_doses", "check_joined", "forecast", "forecast_matrix", "forecast_stack",
    "header", "limit", "matrix_paths", "paths_of", "paths_of_all", "plan", "plan_board", "plan_colours",
    "plan_layers", "plan_matrix", "plan_stack", "sensitivity", "stacked", "together",
]  # fmt: skip

__getattr__, __dir__ = attach(
    __name__,
    {
        "colours": (
            "BoardPlans", "ColourPlans", "adding_doses", "check_joined", "plan_board", "plan_colours",
        ),
        "costs": ("PlanStep",),
        "forecasts": ("Forecast", "forecast"),
        "keeping": ("Keeping",),
        "matrix": ("DoseMatrix", "forecast_matrix", "matrix_paths", "plan_matrix"),
        "optimise.loop": ("Progress",),
        "output": ("header", "paths_of", "paths_of_all"),
        "pipeline": ("Plan", "plan"),
        "robustness": ("sensitivity",),
        "stack": (
            "LayerPlans", "Stack", "forecast_stack", "plan_layers", "plan_stack", "stacked",
            "together",
        ),
        "unconstrained": ("limit",),
    },
    {},
)  # fmt: skip

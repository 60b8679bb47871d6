"""From a design to the program whose dose is that design. `walk` is the way, step by step.

`start` chooses the curve to begin with (`curve/`), `stages` optimises it from coarse to fine (`optimise/`),
and `tolerance` finds the fastest plan that keeps one; `smooth` and `rate` make of it what the machine can do.
`forecasts` says before what that will take, `unconstrained` what the best dose could be; `relief/` plans
greys.
"""

from laserpath.planning.forecasts import Forecast, forecast
from laserpath.planning.headers import header
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.unconstrained import limit
from laserpath.planning.walk import Plan, plan

__all__ = ["Forecast", "Plan", "Progress", "forecast", "header", "limit", "plan"]

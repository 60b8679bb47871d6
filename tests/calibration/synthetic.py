"""Charts as they would be measured, by the model, with errors of the microscope."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from laserpath import calibration
from laserpath.calibration import Item, Measured, Measurements
from laserpath.calibration.measurements import Levels
from laserpath.calibration.model import Physics, SizeModel

TRUE = Physics((0.082, 0.082), 0.31, penetration_depth=0.105, e_c=0.09, reciprocity=0.04, speed=4.0)


@cache
def items() -> tuple[Item, ...]:
    """Those of the chart that is written without options that have a size."""
    return tuple(item for item in calibration.chart().items if item.kind != "pair")


def filled_in(
    rng: np.random.Generator,
    physics: Physics = TRUE,
    profile: str = "airy",
    *,
    chart: Sequence[Item] | None = None,
    width_error: float = 0.003,
    depth_error: float = 0.005,
    order: int = 1,
    levels: Levels | None = None,
) -> Measurements:
    """All of a chart, by somebody who looks at everything; errors are standard deviations in mm."""
    whole = items() if chart is None else chart
    chart = [item for item in whole if item.kind != "pair"]
    sizes = SizeModel(chart, profile, order, levels).sizes(physics)
    rows = []
    for k, item in enumerate(chart):
        if sizes.excess[k] <= np.log(1.05):
            rows.append(Measured(item, visible=bool(sizes.excess[k] > 0)))
            continue
        size = float(sizes.size[k] + rng.normal(0, width_error))
        deep = max(float(sizes.depth[k] + rng.normal(0, depth_error)), 1e-4)
        if item.kind == "wedge":
            merged = size * item.length / item.gap
            rows.append(Measured(item, merged=merged if merged < item.length else None, visible=True))
        elif item.kind == "dot":
            rows.append(Measured(item, diameter=size, depth=deep, visible=True))
        else:
            rows.append(Measured(item, width=size, depth=deep, visible=True))
    pairs = [Measured(item) for item in whole if item.kind == "pair"]
    return Measurements((*rows, *pairs), order, levels)

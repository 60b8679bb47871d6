"""How late the laser is and how much slack the axes have, from pairs of lines drawn forth and back.

A pair is two lines side by side along an axis at one speed v, the first drawn forth, the second back. Light
that is d late lies v d further along the way, and an axis with slack b is b/2 behind, so that the ends of the
line forth lie

    o = 2 v d − b

ahead of those of the line back. Two speeds tell d from b: least squares over all pairs, with one d for the
laser and a b for each axis. d is the mean of the delays on and off: on shifts one end of each line, off the
other. Intervals: Student's t of the residuals, 95 %.

A chart is written for a machine that may state a delay and backlash already; what is measured adds to those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as student

from laserpath.base.errors import InputError
from laserpath.calibration.estimates import CONFIDENCE, Estimate
from laserpath.calibration.measurements import Measured, Measurements
from laserpath.types import Machine

_APART = 1.2
"""Least ratio of the fastest to the slowest pair's speed: nearer speeds hardly tell a delay from slack."""


@dataclass(frozen=True, slots=True)
class MechanicsFit:
    """delay: s.  backlash: mm, of each axis that was measured.  scatter: mm, of an offset; None: not known.

    Without a pair more than unknowns the intervals are from −∞ to ∞.
    """

    delay: Estimate
    backlash: dict[str, Estimate]
    scatter: float | None

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """All estimates."""
        return (self.delay, *self.backlash.values())

    def machine(self, base: Machine) -> Machine:
        """`base` with the delay of its laser and the slack of its axes, none below 0.

        One whose interval holds 0 is 0: nothing shows that the machine has it.
        """
        x, y = (
            _needed(self.backlash[axis]) if axis in self.backlash else own
            for axis, own in zip("xy", base.backlash, strict=True)
        )
        half = (base.laser_on_delay - base.laser_off_delay) / 2
        delay = _needed(self.delay)
        on, off = delay + half, delay - half
        return replace(
            base, laser_on_delay=max(on, 0.0), laser_off_delay=max(off, 0.0),
            backlash=(max(x, 0.0), max(y, 0.0)),
        )  # fmt: skip

    def told(self) -> Iterator[str]:
        """A sentence for each estimate."""
        for one in self.estimates:
            late = one.name == "laser_delay"
            name, unit = ("the laser is late by", "ms") if late else (f"backlash in {one.name[-1]} is", "µm")
            interval = ""
            if np.isfinite(one.high):
                interval = f", 95 % from {1000 * one.low:.3g} to {1000 * one.high:.3g}"
                interval += "" if _needed(one) else ": it may be 0, so the profile gets none"
            yield f"{name} {1000 * one.value:.3g} {unit}{interval}"
        if self.scatter is None:
            yield "as many pairs as unknowns leave no interval: measure the others, too"

    def as_dict(self) -> dict[str, list[float | None]]:
        """Name with its unit → value, low, high; None: not known."""
        return {
            f"{one.name}_{'ms' if one.name == 'laser_delay' else 'um'}": [
                1000 * v if np.isfinite(v) else None for v in (one.value, one.low, one.high)
            ]
            for one in self.estimates
        }


def _needed(found: Estimate) -> float:
    """The value, 0 if it is within an interval that is known."""
    return 0.0 if np.isfinite(found.high) and found.low <= 0 <= found.high else found.value


def fit_mechanics(measurements: Measurements) -> MechanicsFit | None:
    """Delay and backlash, from the pairs of a chart; None: no offset is filled in.

    Raises InputError if the pairs have one speed, which does not tell a late laser from slack.
    """
    pairs = [row for row in measurements.rows if row.offset is not None]
    if not pairs:
        return None
    axes = sorted({row.item.along for row in pairs})
    speeds = [row.item.speed for row in pairs]
    if max(speeds) < _APART * min(speeds):
        raise InputError(
            f"the pairs with an offset have one speed, {speeds[0]:.4g} mm/s, which does not tell a late "
            "laser from backlash; measure pairs of two speeds"
        )
    told = measurements.mechanics
    values, halves, scatter = _least_squares(pairs, axes)
    already = (told.delay, *(told.backlash["xy".index(axis)] for axis in axes))
    names = ("laser_delay", *(f"backlash_{axis}" for axis in axes))
    delay, *slack = (
        Estimate(name, float(value + known), float(value + known - half), float(value + known + half))
        for name, value, known, half in zip(names, values, already, halves, strict=True)
    )
    return MechanicsFit(delay, dict(zip(axes, slack, strict=True)), scatter)


def _least_squares(pairs: list[Measured], axes: list[str]) -> tuple[list[float], list[float], float | None]:
    """Values of d and each b, halves of their intervals, and the scatter of an offset."""
    offsets = np.array([row.offset for row in pairs], dtype=np.float64)
    columns = [[2 * row.item.speed, *(-float(row.item.along == axis) for axis in axes)] for row in pairs]
    design = np.array(columns)
    values, _, rank, _ = np.linalg.lstsq(design, offsets, rcond=None)
    if rank < design.shape[1]:
        raise InputError(
            "the pairs with an offset do not tell a late laser from backlash: measure two speeds along x or y"
        )
    freedom = len(pairs) - design.shape[1]
    if freedom < 1:
        return values.tolist(), [np.inf] * len(values), None
    scatter = float(np.sqrt(((offsets - design @ values) ** 2).sum() / freedom))
    variances = np.diag(np.linalg.inv(design.T @ design))
    halves = student.ppf((1 + CONFIDENCE) / 2, freedom) * scatter * np.sqrt(variances)
    return values.tolist(), halves.tolist(), scatter

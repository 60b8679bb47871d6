"""The pulses of the laser's PWM, and how far their unknown phase moves the ends of lines.

A PWM of period T shines at the start of each period, and nobody knows when that is. At a speed v the first
pulse of a line comes up to v T after the command. On average half a pulse is lost (`gcode.motion.lag`); about
that mean the beginning of a line lies within

    ± v T/2,   and its end, where the laser goes dark at once, within   ± (1 − d) v T/2

with d the light at its end, 0…1: the light that is missing or too much there, as a length of the line. Along
a line the pulses are v T apart, which the spot blurs up to its optical cut-off, 0.97 FWHM of an Airy spot.

Where pieces of a level are shorter than T the mean of `gcode.levels` does not hold, and the phase decides
which of them shine (`pulsed`): a period has the level that it begins with, and darkness comes at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import figure
from laserpath.machine.convert import PHASE_FWHM
from laserpath.physics import optics
from laserpath.types import Process

_SHARE = 0.1
"""Share of the ends that the phase has to move for a warning; a larger one warns less."""


@dataclass(frozen=True, slots=True, eq=False)
class LineEnds:
    """(E,) beginnings and ends of lines as executed. speed: mm/s.  light: 0…1.  begins: True or False."""

    speed: Floats
    light: Floats
    begins: Bools

    @classmethod
    def of(cls, run: gcode.motion.Executed) -> LineEnds:
        """Those of a run; pieces without a duration count as none."""
        moving = run.duration > 0
        length = np.hypot(*np.diff(run.xyz[:, :2], axis=0).T)
        speed, light = length[moving] / run.duration[moving], run.light[moving]
        lit = np.concatenate([[False], light > 0, [False]])
        begins, ends = np.flatnonzero(lit[1:] & ~lit[:-1]), np.flatnonzero(lit[:-1] & ~lit[1:]) - 1
        at = np.concatenate([begins, ends])
        return cls(speed[at], light[at], np.arange(len(at)) < len(begins))

    def spread(self, period: float) -> Floats:
        """(E,) mm, the largest distance of each from its mean place. period: s, of the PWM."""
        return np.where(self.begins, 1.0, 1 - self.light) * self.speed * period / 2


def phase_warnings(run: gcode.motion.Executed, process: Process) -> Iterator[str]:
    """A sentence if the head moves half a spot in a period of the PWM where more than a few lines end."""
    ends, period = LineEnds.of(run), process.machine.light_period
    fast = ends.speed * period > PHASE_FWHM * optics.fwhm(process.spot)
    if fast.sum() > _SHARE * len(fast):
        fastest, widest = ends.speed.max(), 1000 * ends.spread(period).max()
        yield (
            f"the phase of the laser's PWM is unknown: ends of lines at {figure(fastest)} mm/s lie within "
            f"±{figure(widest, 2)} µm; at {fast.sum()} of {len(fast)} ends the head moves more than half a "
            f"spot in its period of {1000 * period:g} ms (pwm_period_ms in the machine's profile)"
        )


def pulsed(
    run: gcode.motion.Executed, period: float, phase: float, order: int = 1, *, flashes: bool = False
) -> gcode.motion.Executed:
    """The run with the pulses of a PWM for their mean light; where the head is does not change.

    period: s.  phase: 0…1, of a period, at which the first one begins.  order: N of the absorption; the mean
    of light^N is kept.  flashes: the pin is high from where it is lit again to the next pulse, and not dark.
    """
    total = run.write_time
    begins = (np.arange(-1, math.ceil(total / period) + 1) + phase) * period
    piece = np.minimum(np.searchsorted(run.end, begins, side="right"), len(run) - 1)
    duty = np.where(begins >= 0, run.light[piece], 0.0)
    stops = begins + duty * period
    inside = [times[(times > 0) & (times < total)] for times in (begins, stops)]
    times = np.unique(np.concatenate([[0.0], *inside, run.end]))
    cut = run.cut(times)
    middle = (times[1:] + times[:-1]) / 2
    nth = np.floor(middle / period - phase).astype(np.int64) + 1
    share = duty ** (1 - 1 / order)
    high = np.where(middle < stops[nth], share[nth], 0.0)
    if flashes:
        high = np.where(duty[nth] > 0, high, 1.0)
    light = np.where(cut.light > 0, high, 0.0)
    return replace(cut, power=np.where(light > 0, cut.power, 0.0), light=light)

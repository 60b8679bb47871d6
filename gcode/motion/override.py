"""Feed override: what a program does if somebody turns the knob, by a factor f, from its first line on.

GRBL and grblHAL multiply the speed of feed moves by f, up to the axes' limits; rapids have an override of
their own. With M4 the power is S · actual speed ÷ *programmed* speed, and what is above full power is cut off
only then. So the light follows the override, and the line energy stays, in cruise and on ramps, up to the
speed at which the power is full. With M3 the power is S, and the line energy 1/f of the commanded one.

Marlin and Klipper (M220) multiply every speed by f, that of G0 too; LinuxCNC and Smoothieware are taken to
leave out G0. Their power does not know the speed, or, in Smoothieware and on Marlin's ramps, only relative to
the overridden one: the line energy is 1/f.

Sources: https://github.com/gnea/grbl, planner.c (plan_compute_profile_nominal_speed; programmed_rate in
plan_buffer_line), stepper.c (in st_prep_buffer: rpm *= current_speed · inv_rate, 1/programmed_rate) and
spindle_control.c (in spindle_compute_pwm_value: an rpm from rpm_max on has the full PWM);
https://marlinfw.org/docs/gcode/M220.html and Marlin's motion.h (MMS_SCALED);
https://www.klipper3d.org/G-Codes.html and Klipper's gcode_move.py (speed_factor); Smoothieware's Laser.cpp
(current_speed_ratio).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gcode.dialects.record import Dialect
from gcode.errors import GcodeError
from gcode.motion.execution import Controller
from gcode.motion.grbl import Grbl
from gcode.move import Moves


def overridden(
    moves: Moves, controller: Controller, factor: float, dialect: Dialect
) -> tuple[Moves, Controller]:
    """What to execute for `moves` that a controller of this dialect runs at a feed override of `factor`.

    Raises GcodeError for a factor that is not above 0.
    """
    if not (math.isfinite(factor) and factor > 0):
        raise GcodeError(f"feed override is {factor:g}, but must be above 0")
    if isinstance(controller, Grbl):
        return moves, replace(controller, feed_override=factor)
    scaled = np.ones(len(moves), np.bool_) if dialect.rapid_at_feed else ~moves.rapid
    return replace(moves, speed=np.where(scaled, factor * moves.speed, moves.speed)), controller

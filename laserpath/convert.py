"""Toolpath ↔ the machine's moves: mW ↔ the fraction of full power, and the machine's limits.

Travel (power 0) is a rapid. In several passes the path is written again and again, each pass with its
share of the power. A share must itself be a PWM level, or the controller rounds it up in every pass;
so level n is dealt out in whole levels, ⌊(n + j)/k⌋ in pass j of k, whose sum is n (Hermite's identity).
Where n/k is below the machine's smallest level, fewer passes carry it and the others stay dark.
"""

from __future__ import annotations

import numpy as np

import gcode
from laserpath.arrays import Floats
from laserpath.errors import InputError
from laserpath.types import Machine, Toolpath


def to_moves(toolpath: Toolpath, machine: Machine, passes: int = 1) -> gcode.Moves:
    """The moves that expose `toolpath` in `passes` passes, a rapid back to the start between them."""
    if passes < 1:
        raise InputError(f"passes is {passes}, but must be at least 1")
    over = toolpath.power.max(initial=0.0)
    if over > machine.power_max * (1 + 1e-9):
        raise InputError(f"power {over:g} mW is above the machine's {machine.power_max:g} mW")
    power = toolpath.power / machine.power_max
    shares = [power] if passes == 1 else _shares(power, machine, passes)
    travel = ~toolpath.on
    speed = np.where(travel, min(machine.rapid_speed), toolpath.speed)
    xy, parts = [toolpath.xy], [(shares[0], speed, travel)]
    for share in shares[1:]:
        # The way back is the move between the two copies of the vertices.
        parts += [
            (np.zeros(1), np.full(1, min(machine.rapid_speed)), np.ones(1, bool)),
            (share, speed, travel),
        ]
        xy.append(toolpath.xy)
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return gcode.Moves(np.concatenate(xy), np.minimum(joined[0], 1.0), joined[1], joined[2])


def _shares(power: Floats, machine: Machine, passes: int) -> list[Floats]:
    """The power fraction of each pass, in whole PWM levels that add up to the level of `power`."""
    level = np.rint(power * machine.power_levels)
    k = np.clip(level // machine.level_min, 1, passes)
    return [np.where(j < k, (level + j) // k, 0) / machine.power_levels for j in range(passes)]


def from_moves(moves: gcode.Moves, machine: Machine) -> Toolpath:
    """The toolpath that `moves` expose."""
    return Toolpath(moves.xy, moves.power * machine.power_max, moves.speed)


def limits(machine: Machine) -> gcode.Limits:
    """What the controller of `machine` plans with."""
    return gcode.Limits(
        speed_max=machine.speed_max,
        rapid=machine.rapid_speed,
        acceleration=machine.acceleration,
        junction_deviation=machine.junction_deviation,
        look_ahead=int(machine.look_ahead),
        segment_rate=machine.segment_rate,
    )

"""Toolpath ↔ the machine's moves: mW ↔ the fraction of full power, and the machine's limits.

Power is light in a path to expose and in an executed one. In a path as written it is S, as a share of that of
full power: what shines then is `as_light`.

A travel (power 0) is a rapid if it is as fast as one, and else a dark line. With several passes the path is
written once for each, with a share P_j of the light P: the dose is the same where Σ P_j^N = P^N (`resin`).
Each share must itself be the light of a PWM level, or the same rounding in every pass would add up. So each
pass takes the level nearest to an equal share of what is left, and the last one the rest. Where an equal
share is below the machine's smallest level, fewer passes carry it and the others stay dark.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

import gcode
from gcode.levels import level_of
from gcode.writing.layout import power_digit
from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import InputError, figure
from laserpath.types import Machine, Point, Process, Toolpath
from laserpath.types.process import check_look_ahead

_POINT = 1e-6
"""Length, mm, of the stroke that replaces a dwell with the laser on."""

PHASE_FWHM = 0.5
"""Way in a period of the PWM, in FWHM, above which its phase moves the ends of lines. A smaller one counts
what the spot blurs."""

_BITS = 10
"""Bits of a character on a serial line: 8 data bits, a start bit and a stop bit."""


def power_follows(machine: Machine) -> bool:
    """Whether the controller lets the laser's power follow the speed of the head."""
    return bool(gcode.dialect(machine.dialect).dynamic_power)


def to_moves(toolpath: Toolpath, machine: Machine, passes: int = 1, order: int = 1) -> gcode.Moves:
    """The moves that expose `toolpath` in `passes` passes, with a rapid back to the start between them.

    order: N, of the resin's absorption. With several passes the power of the path is light.
    """
    if passes < 1:
        raise InputError(f"passes is {passes}, but must be at least 1")
    over = toolpath.power.max(initial=0.0)
    if over > machine.power_max * (1 + 1e-9):
        raise InputError(f"power {over:g} mW is above the machine's {machine.power_max:g} mW")
    power = toolpath.power / machine.power_max
    shares = [power] if passes == 1 else _shares(power, machine, passes, order)
    rapid = min(machine.rapid_speed)
    travel, speed = ~toolpath.on & (toolpath.speed >= (1 - 1e-9) * rapid), toolpath.speed
    xy, parts = [toolpath.xy], [(shares[0], speed, travel)]
    for share in shares[1:]:
        # The travel back is the move between the two copies of the vertices.
        parts += [(np.zeros(1), np.full(1, rapid), np.ones(1, bool)), (share, speed, travel)]
        xy.append(toolpath.xy)
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return gcode.Moves.straight(
        np.concatenate(xy), np.minimum(joined[0], 1.0), joined[1], joined[2], dynamic=power_follows(machine)
    )


def _shares(light: Floats, machine: Machine, passes: int, order: int) -> list[Floats]:
    """(N,) light of each pass, fractions of full, on levels but for the last one; Σ light^order is kept."""
    due, shares = light**order, []
    least = (machine.power_min / machine.power_max) ** order
    carried = np.where(light > 0, np.clip(np.floor(due / least + 1e-9), 1, passes), 0)
    for j in range(passes):
        left = carried - j
        each = due / np.maximum(left, 1)
        share = np.where(left > 1, _nearest_light(each, machine, order), each ** (1 / order))
        shares.append(np.where(left > 0, share, 0.0))
        due = np.maximum(due - shares[-1] ** order, 0.0)
    return shares


def _nearest_light(energy: Floats, machine: Machine, order: int) -> Floats:
    """(N,) the light of the level whose light^order is nearest to `energy`, fractions of full."""
    full, top = machine.power_max, machine.power_levels
    low = machine.level_below(full * energy ** (1 / order))
    below, above = (machine.power_of(n) / full for n in (low, np.minimum(low + 1, top)))
    return np.where(energy - below**order <= above**order - energy, below, above)


def as_light(path: Toolpath, machine: Machine) -> Toolpath:
    """A path as written, with the light of its powers at full feed, mW, instead of the powers."""
    share = np.asarray(path.power, dtype=np.float64) / machine.power_max
    levels = machine.power_levels
    after = gcode.dialect(machine.dialect).firmware.power_follows
    level = level_of(share, levels) if after else np.rint(share * levels)
    return replace(path, power=machine.power_of(level))


def from_moves(moves: gcode.Moves, machine: Machine) -> Toolpath:
    """The toolpath that `moves` expose."""
    return toolpath_of(moves, machine)[0]


def toolpath_of(moves: gcode.Moves, machine: Machine) -> tuple[Toolpath, Indices]:
    """The toolpath that `moves` expose, and the row of `moves` that each of its moves comes from.

    Arcs become chords; a lit dwell becomes a stroke of negligible length.
    """
    moves, source = moves.cut(gcode.motion.ARC_TOLERANCE)
    still = moves.still
    if not still.any():
        return Toolpath(moves.xy, moves.power * machine.power_max, moves.speed), source
    # A point has no length to expose along, so the stroke goes away from it and back.
    shines = still & moves.on & (moves.dwell > 0)
    kept = ~still | shines
    row = np.repeat(np.flatnonzero(kept), 1 + shines[kept])
    away = shines[row] & (np.diff(row, append=-1) == 0)
    ends = moves.xy[row + 1] + np.where(away, _POINT, 0.0)[:, None] * [1.0, 0.0]
    speed = np.where(shines, 2 * _POINT / np.maximum(moves.dwell, 1e-12), moves.speed)
    path = Toolpath(np.vstack([moves.xy[:1], ends]), moves.power[row] * machine.power_max, speed[row])
    return path, source[row]


def dialect_of(machine: Machine) -> gcode.Dialect:
    """The machine's dialect, with its junction deviation as the path tolerance (LinuxCNC's G64)."""
    return gcode.dialect(machine.dialect).blending(machine.junction_deviation)


def limits(machine: Machine) -> gcode.Limits:
    """The limits for planning a path for any controller: constant acceleration and a look-ahead."""
    # speed_max belongs to the process; the axes themselves can move at the rapid speed.
    deviation = gcode.dialect(machine.dialect).firmware.deviation_of(machine)
    return replace(
        gcode.Limits.of(machine),
        speed_max=machine.speed_max,
        junction_deviation=deviation,
        segment_rate=segment_rate(machine),
    )


def segment_rate(machine: Machine) -> float:
    """Moves/s that the link carries: those of the profile, or fewer if the host cannot deliver them."""
    return min(machine.segment_rate, controller(machine).link_rate)


def controller(machine: Machine, dialect: gcode.Dialect | None = None) -> gcode.motion.Controller:
    """The model of the controller of `machine`, or of another dialect's controller with its limits."""
    if dialect is not None:
        check_look_ahead(machine, dialect)
    return _model((dialect or gcode.dialect(machine.dialect)).firmware, machine)


@lru_cache(maxsize=64)
def _model(firmware: type[gcode.motion.Controller], machine: Machine) -> gcode.motion.Controller:
    """Kept, as it takes half a millisecond to make: a chart asks for it some hundred times."""
    return firmware.of(machine)


def envelope(machine: Machine, dialect: gcode.Dialect) -> gcode.Envelope:
    """The limits of `machine` for checking a program. In another dialect, that one's S is full power."""
    own = gcode.dialect(machine.dialect).name == dialect.name
    return gcode.Envelope(
        box=(0.0, 0.0, *machine.size),
        z=machine.z_travel,
        speed_max=machine.speed_max,
        rapid=machine.rapid_speed,
        acceleration=machine.acceleration,
        junction_deviation=machine.junction_deviation,
        s_max=machine.s_max if own else dialect.power_max,
        power_levels=machine.power_levels,
        level_min=machine.level_min,
        segment_rate=segment_rate(machine),
        character_rate=machine.baud / _BITS if machine.baud and dialect.firmware.serial else None,
        look_ahead=machine.look_ahead,
        controller=controller(machine, dialect),
    )


def board(process: Process) -> gcode.motion.Board:
    """What turns a commanded power into the light of the process."""
    machine = process.machine
    return gcode.motion.Board(
        power_levels=machine.power_levels,
        light=machine.light,
        digit=power_digit(dialect_of(machine), machine.s_max),
        level_min=machine.level_min,
        order=process.resin.order,
        delay=(machine.laser_on_delay + machine.laser_off_delay) / 2 if late(machine) else 0.0,
        backlash=machine.backlash,
    )


def lag(machine: Machine, fwhm: float = math.inf) -> gcode.motion.Lag:
    """The lag of the head and the delays of the laser of `machine`. fwhm: mm, of the spot.

    The mean delay of the PWM is one of them if the head can move half a spot in a period, and is as fast as
    that where lines end. On a gantry they end while it is slow, and the delay is left out.
    """
    fastest, period = max(machine.speed_max), machine.light_period
    pwm = gcode.motion.Lag(pwm=period)
    abrupt = fastest <= gcode.motion.RUN_IN * pwm.longest * min(machine.acceleration)
    counts = abrupt and fastest * period > PHASE_FWHM * fwhm
    delays = (machine.lag, machine.laser_on_delay, machine.laser_off_delay)
    return gcode.motion.Lag(*delays, pwm=period if counts else 0.0)


def late(machine: Machine) -> bool:
    """Whether it is a gantry with a late laser, for which moves are cut (`machine.program.early`).

    A head that is at full speed where lines begin, as a galvo's is, has its strokes moved instead.
    """
    delay = max(machine.laser_on_delay, machine.laser_off_delay)
    ramp = max(machine.speed_max) / min(machine.acceleration)
    return delay > 0 and machine.lag == 0 and ramp > gcode.motion.RUN_IN * delay


def vertex_steps(machine: Machine) -> Point | None:
    """Steps/mm that the controller rounds vertices to; None: it does not, or they are too fine to matter."""
    rounds = gcode.dialect(machine.dialect).firmware.rounds_vertices
    return machine.steps if rounds else None


def strokes_move(machine: Machine, fwhm: float) -> bool:
    """Whether the strokes of a program are moved for the lag of a scanner. fwhm: mm, of the spot."""
    return bool(lag(punctual(machine), fwhm))


def punctual(machine: Machine) -> Machine:
    """The machine without slack and late laser, for which a path is planned before its moves are changed."""
    timely = replace(machine, laser_on_delay=0.0, laser_off_delay=0.0) if late(machine) else machine
    return replace(timely, backlash=(0.0, 0.0)) if any(timely.backlash) else timely


def slow_host(machine: Machine) -> tuple[str, ...]:
    """A sentence if the host delivers fewer moves a second than the link could carry by the profile."""
    carried = segment_rate(machine)
    if carried >= machine.segment_rate:
        return ()
    ways = [f"answers after {figure(1000 * machine.host_delay, 3)} ms"] if machine.host_delay else []
    ways += ["sends line by line"] if machine.host_window == "lines" else []
    return (
        f"the host {' and '.join(ways)}, so the link carries {carried:.0f} moves/s instead of "
        f"{machine.segment_rate:g}: paths have fewer moves, and are slower where there are many; "
        f"{_remedies(machine)} would help",
    )


_QUICK_HOST = 1e-3
"""s, the answer of a fast USB bridge; a slower one can be made as quick."""


def _remedies(machine: Machine) -> str:
    """What there is instead of a slow host."""
    counting = ["a sender that counts characters"] if machine.host_window == "lines" else []
    quick = ["a latency of 1 ms (FTDI's latency timer)"] if machine.host_delay > _QUICK_HOST else []
    return " or ".join([*counting, *quick, "a card that the controller reads"])

"""G2 and G3 as chords. A chord of sweep α on radius r lies within r·(1 − cos α/2) of the arc.

By centre (I, J from the start) or by radius (R; negative: the longer way round), as RS274/NGC
and GRBL define them (https://github.com/gnea/grbl/wiki, "Grbl v1.1 Commands", G2/G3).
"""

from __future__ import annotations

import math

from gcode.errors import GcodeError

Point = tuple[float, float]

# What GRBL and LinuxCNC accept as rounding of I and J: the end's radius may differ by 5 µm or 0.1 %.
RADIUS_SLACK = 0.005
RADIUS_SLACK_RELATIVE = 0.001


def chords(start: Point, end: Point, centre: Point, clockwise: bool, tolerance: float) -> list[Point]:
    """Vertices after `start` up to and with `end`, no chord farther than `tolerance` from the arc."""
    (ax, ay), (bx, by) = (
        (start[0] - centre[0], start[1] - centre[1]),
        (end[0] - centre[0], end[1] - centre[1]),
    )
    ra, rb = math.hypot(ax, ay), math.hypot(bx, by)
    if ra == 0:
        raise GcodeError("the arc's centre is its start, so it has no radius")
    if abs(ra - rb) > max(RADIUS_SLACK, RADIUS_SLACK_RELATIVE * ra):
        raise GcodeError(f"the arc starts {ra:.4f} mm and ends {rb:.4f} mm from its centre")
    sweep = _sweep(math.atan2(by, bx) - math.atan2(ay, ax), clockwise, start == end)
    step = 2 * math.acos(max(1 - tolerance / ra, math.cos(math.pi / 4)))
    n = max(1, math.ceil(abs(sweep) / step))
    angle = math.atan2(ay, ax)
    inner = [
        (centre[0] + r * math.cos(t), centre[1] + r * math.sin(t))
        for r, t in ((ra + (rb - ra) * k / n, angle + sweep * k / n) for k in range(1, n))
    ]
    return [*inner, end]


def _sweep(angle: float, clockwise: bool, full: bool) -> float:
    """Signed sweep, + counter-clockwise; a full turn if start and end coincide."""
    turn = 2 * math.pi
    if full:
        return -turn if clockwise else turn
    return -((-angle) % turn) if clockwise else angle % turn


def centre_of(start: Point, end: Point, radius: float, clockwise: bool) -> Point:
    """The centre of the arc of `radius` from start to end."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    d = math.hypot(dx, dy)
    if d == 0:
        raise GcodeError("an arc with R must not end where it starts")
    h2 = radius**2 - d**2 / 4
    if h2 < -RADIUS_SLACK_RELATIVE * radius**2:
        raise GcodeError(f"radius {abs(radius):g} mm is too small for an arc between points {d:g} mm apart")
    h = math.sqrt(max(h2, 0.0)) * (-1 if clockwise != (radius < 0) else 1)
    return start[0] + dx / 2 - h * dy / d, start[1] + dy / 2 + h * dx / d

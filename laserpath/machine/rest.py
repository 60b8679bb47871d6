"""The rest before a path, so that its first moves are the same wherever the head comes from; dark ways in Z.

After a travel the head would enter the path at the speed that the bend between them allows, and with as many
moves planned ahead as the link has delivered by then: both change the dose at the start of the path. So two
rows come first: a dwell of 0 s, at which the controller executes and acknowledges all that was sent before,
and one in which moves arrive, so that the first ones are planned together.

That is a dwell of `_FILL`, in which a serial line fills the receive buffer. A controller with a `run_in`
reads no further while it rests: GRBL would start with the three or four lines of its receive buffer, and
as many more as the host sends in time. A slow dark move of that duration, from a place on the first line
back to its begin, fills its planner instead: the path begins from rest, too, and alike with hosts that answer
within milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

import gcode
from gcode import Kind
from gcode.controllers.interface import z_of
from laserpath.base.arrays import Floats
from laserpath.machine import convert
from laserpath.types import LayerChange, Machine, Point

_FILL = 0.05
"""s. GRBL's 128 bytes take 11 ms at 115200 baud, and GRBL counts dwells in steps of 50 ms; a longer one also
suits slower lines."""

RESTS = 2
"""Number of rows before a path."""

_RUN_IN_STEPS = 18
"""Motor steps of the dark move. A segment of GRBL's has at least 1.25, and it prepares 5 of 10 ms ahead: with
fewer steps they last longer, and the path is begun before its moves have come: with 15, the edge error of six
designs was 3 % larger. More of them take more room."""

_FINE = 250.0
"""Steps/mm that are taken for motors of which nothing is said."""

_FINEST = 1800.0
"""Most steps/mm that count: with finer steps the dark move is still 0.01 mm long, so that places and speeds
that are rounded as below still tell it apart from none."""

_PLACE, _SPEED = 1e-3, 1 / 600
"""mm and mm/s (0.1 mm/min), of which its begin and its speed are multiples, as they are written."""


def rested(
    moves: gcode.Moves, machine: Machine, start: Point | None = None, speed: float = 1.0
) -> gcode.Moves:
    """The moves after the rows that come first. start: mm, of a travel before them, at `speed`, mm/s.

    None: no travel.
    """
    before = RESTS if start is None else RESTS + 1
    begin = _run_in(moves, machine)
    runs = begin is not None
    kinds = [Kind.RAPID, Kind.DWELL, Kind.LINE if runs else Kind.DWELL][-before:]
    places = np.repeat([moves.xy[0] if begin is None else begin], RESTS, axis=0)
    places = places if start is None else np.vstack([[start], places])
    speeds, lasts = np.full(before, speed), np.zeros(before)
    if begin is None:
        lasts[-1] = _FILL
    else:
        in_time = math.dist(begin, moves.xy[0]) / convert.controller(machine).run_in
        speed_in = min(in_time, *machine.speed_max)  # coarse motors go farther
        speeds[-1] = _SPEED * math.floor(speed_in / _SPEED)
    return gcode.Moves(
        np.vstack([places, moves.xy]), np.append(np.zeros(before), moves.power),
        np.append(speeds, moves.speed), np.append(np.array(kinds, np.int8), moves.kind),
        z=np.append(np.repeat(moves.z[:1], before), moves.z),
        centre=np.vstack([np.zeros((before, 2)), moves.centre]),
        dwell=np.append(lasts, moves.dwell),
        dynamic=np.append(np.full(before, bool(moves.dynamic[:1].any())), moves.dynamic),
        comments=tuple((row + before, text) for row, text in moves.comments),
    )  # fmt: skip


def _run_in(moves: gcode.Moves, machine: Machine) -> Floats | None:
    """(2,) mm, where the dark move before a path begins; None: there is a dwell instead.

    Where the laser, mirrors or axes come late, moves are changed as they follow each other, from rest.
    """
    late = machine.lag or machine.laser_on_delay or machine.laser_off_delay or any(machine.backlash)
    if not convert.controller(machine).run_in or late:
        return None
    if not len(moves) or (moves.xy[1] == moves.xy[0]).all():
        return None
    first, (x, y) = moves.xy[0], moves.xy[1] - moves.xy[0]
    # From ahead, where the head turns back, and so stops; at the edge of the machine from elsewhere.
    ways = np.array([(x, y), (-y, x), (y, -x), (-x, -y)])
    steps = np.minimum(machine.steps or (_FINE, _FINE), _FINEST)
    most = np.abs(ways * steps).max(axis=1, keepdims=True)
    begins = np.rint((first + ways * (_RUN_IN_STEPS / most)) / _PLACE) * _PLACE
    within = ((begins >= 0) & (begins <= machine.size)).all(axis=1)
    return np.asarray(begins[np.argmax(within)])


def one_after_another(
    parts: Iterable[tuple[str, gcode.Moves, float]], machine: Machine, change: LayerChange | None = None
) -> gcode.Moves:
    """All `pieces` of a program, joined."""
    return gcode.concat(pieces(parts, machine, change))


def pieces(
    parts: Iterable[tuple[str, gcode.Moves, float]], machine: Machine, change: LayerChange | None = None
) -> Iterator[gcode.Moves]:
    """Each part of a program at its z, and the dark way from it to the next one.

    parts: comment, moves, whose own z and comments do not count, and z, mm.  change: before each of them.
    """
    rows: list[gcode.Moves] = []
    comments: list[tuple[int, str]] = []
    end: tuple[Floats, float] | None = None
    for comment, moves, z in parts:
        comments.append((sum(map(len, rows)), comment))
        rows.append(way_to(end, moves.xy[0], z, machine, change))
        if end is not None:
            yield replace(gcode.concat(rows), comments=tuple(comments))
            rows, comments = [], []
        rows.append(replace(moves, z=np.full(len(moves.xy), z), comments=()))
        end = (moves.xy[-1], z)
    if rows:
        yield replace(gcode.concat(rows), comments=tuple(comments))


def at_heights(parts: Iterable[tuple[gcode.Moves, float]], machine: Machine) -> gcode.Moves:
    """The parts of a program that begins at the work zero and ends at Z 0, with dark ways to other heights.

    parts: moves, whose own z does not count, and z, mm.
    """
    rows: list[gcode.Moves] = []
    end, height = np.zeros(2), 0.0
    for moves, z in parts:
        rows += [way_to((end, height), moves.xy[0], z, machine)] if z != height else []
        rows += [replace(moves, z=np.full(len(moves.xy), z))]
        end, height = moves.xy[-1], z
    rows += [way_to((end, height), end, 0.0, machine)] if height else []
    return gcode.concat(rows)


def way_to(
    end: tuple[Floats, float] | None, start: Floats, z: float, machine: Machine,
    change: LayerChange | None = None,
) -> gcode.Moves:  # fmt: skip
    """The moves from the end of a layer to the start of the next; before the first one, its change only.

    end: (2,) mm and z of the one before.  start: (2,) mm.  change: what else is done.

    The head stops before it climbs: else it would leave a layer's last line at the speed of that bend. First
    comes the lift beyond the new height, and back, then the wiper, then the wait for the resin.
    """
    change = change or LayerChange()
    begin, below = end or (start, z)
    position = begin
    rapid = min(machine.rapid_speed)
    rows = [(position, below, Kind.DWELL, rapid, 0.0)] if end else []
    # GRBL's G0 uses the controller's own limit instead.
    climb = (Kind.RAPID, min(z_of(machine)[0], rapid))
    if change.lift:
        lift = climb if change.lift_speed is None else (Kind.LINE, change.lift_speed)
        rows += [(position, z + change.lift, *lift, 0.0)]
        rows += [(position, z + change.lift, Kind.DWELL, rapid, change.wait)] if change.wait else []
        rows += [(position, z, *lift, 0.0)]
    elif below != z:
        rows += [(position, z, *climb, 0.0)]
    if change.sweep_from is not None and change.sweep_to is not None:
        first, position = np.array(change.sweep_from), np.array(change.sweep_to)
        rows += [(first, z, Kind.RAPID, rapid, 0.0), (position, z, Kind.LINE, change.sweep_speed, 0.0)]
    rows += [(position, z, Kind.DWELL, rapid, change.settle)] if change.settle else []
    rows += [(start, z, Kind.RAPID, rapid, 0.0)] if (position != start).any() else []
    n = len(rows)
    return gcode.Moves(
        np.array([begin, *(row[0] for row in rows)]), np.zeros(n), np.array([row[3] for row in rows]),
        np.array([row[2] for row in rows], dtype=np.int8), z=np.array([below, *(row[1] for row in rows)]),
        dwell=np.array([row[4] for row in rows]),
    )  # fmt: skip

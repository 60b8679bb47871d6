"""Where in Z a program is: at the focus of its machine, along the heights of its bed.

Moves count Z from the surface in focus. In the program a vertex at x, y has z + focus + h(x, y), so that Z is
a function of the place and never moves alone while the laser is lit. h is taken at the place as written,
rounded to the digits of the dialect. Between vertices the head goes straight: a lit move is split into equal
parts where the surface would be farther away than `bend`. `followed` keeps half of that in a path, so that
vertices may shift a little until the program is written.

The motion is that in the plane. A slope s makes moves longer by 1 + s²/2, 1.001 on the steepest bed that is
taken, and `Machine` refuses slopes on which Z would be too slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import gcode
from gcode import Kind
from laserpath.base.arrays import Floats, Indices, ends_of
from laserpath.base.errors import InputError, figure
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.types import Design, Heights, Machine, Process, Spot

FOLLOWS = "Z follows the bed"
"""Begin of the line in a program's head by which `simulate` knows it."""

_BEND = 0.01
"""Largest distance of a program from the surface, mm, if it is not known how fast the spot widens."""
_SHARE = 0.05
"""The same, in Rayleigh ranges, which widens the spot by 1/800; at least `_LEAST` mm, for the digits."""
_LEAST = 0.002
_SAMPLES = 8
"""Places of each part at which its distance from the surface is looked at."""
_PARTS = 256
"""Most parts of a move."""
_BEYOND = 0.01
"""Share of the bed's size by which lit moves may be beyond its heights, for rounding."""


def said(machine: Machine) -> tuple[str, ...]:
    """The line of a program's head, if the program follows the bed."""
    if machine.heights is None or machine.z_travel is None:
        return ()
    low, high = min(map(min, machine.heights.z)), max(map(max, machine.heights.z))
    return (f"{FOLLOWS}, whose heights are {low:g} to {high:g} mm",)


def bend(spot: Spot | None) -> float:
    """The largest distance, mm, of a program from the surface. spot: None if it is not known."""
    if spot is None or not spot.spreads or spot.wavelength is None:
        return _BEND
    reach = np.pi * spot.fwhm**2 / (2 * np.log(2) * spot.wavelength)
    return float(max(_SHARE * reach, _LEAST))


def at_focus(moves: gcode.Moves, machine: Machine, spot: Spot | None = None) -> gcode.Moves:
    """Moves whose Z is counted from the surface in focus → those of a program, whose Z is the machine's.

    Raises InputError if they are lit beyond the heights of the bed, or leave the machine's travel in Z.
    """
    if machine.z_travel is None or not (machine.focus or machine.heights):
        return moves
    if machine.heights is not None:
        check_covered(moves.xy[ends_of(moves.on)], machine)
        moves = _split(moves, machine.heights, bend(spot))
        moves = replace(moves, z=moves.z + machine.heights.at(_as_written(moves.xy, machine)))
    moves = replace(moves, z=moves.z + machine.focus)
    low, high = machine.z_travel
    if not (low <= moves.z.min() and moves.z.max() <= high):
        raise InputError(
            f"the program would go to Z {figure(moves.z.min(), 4)} to {figure(moves.z.max(), 4)} mm, "
            f"but machine {machine.name!r} travels from {low:g} to {high:g} mm in Z (z_travel_mm)"
        )
    return moves


TIMED_AT_ONCE = 20
"""Layers of a part that are executed at once for their time: more take more memory."""


def write_time(moves: gcode.Moves, process: Process) -> float:
    """S that the machine takes for moves whose Z is counted from the surface in focus."""
    moves = at_focus(moves, process.machine, process.spot)
    return gcode.motion.execute(moves, convert.controller(process.machine)).write_time


def followed(moves: gcode.Moves, process: Process) -> gcode.Moves:
    """The moves with the vertices that they need along the bed, half as far from it as `at_focus` asks."""
    machine = process.machine
    if machine.z_travel is None or machine.heights is None:
        return moves
    return _split(moves, machine.heights, bend(process.spot) / 2)


def check_bed(design: Design, process: Process) -> None:
    """Raise InputError if a placed design is not within the heights of the bed."""
    heights = process.machine.heights
    if heights is None:
        return
    x0, y0, x1, y1 = design.extent
    if _beyond(np.array([(x0, y0), (x1, y1)]), heights) > 0:
        raise _uncovered(heights, f"the design is from x {x0:g} to {x1:g} and y {y0:g} to {y1:g} mm")


def unfollowed(design: Design, process: Process) -> Iterator[str]:
    """A sentence on the bed's heights, if the machine cannot follow them: how much the spot widens."""
    machine, spot = process.machine, process.spot
    if machine.heights is None or machine.z_travel is not None:
        return
    x0, y0, x1, y1 = design.extent
    grid = np.meshgrid(np.linspace(x0, x1, 41), np.linspace(y0, y1, 41))
    places = np.column_stack([axis.ravel() for axis in grid])
    z = machine.heights.at(places)
    worst = int(np.abs(z).argmax())
    if not abs(z[worst]) > bend(spot):
        return
    x, y = places[worst]
    at = f"at {x:.4g}, {y:.4g} mm the resin is {abs(1000 * z[worst]):.3g} µm out of focus"
    if spot.spreads:
        wider = optics.fwhm(replace(spot, defocus=spot.defocus + float(z[worst]))) / optics.fwhm(spot)
        blur = min(max(wider, 1.01), 2)
        at += f", and the spot {wider:.3g} times as wide; --blur {blur:.3g} makes up for some of it"
    else:
        at += "; how wide the spot is there is not known without its wavelength_nm"
    yield f"the machine names no Z (z_travel_mm), so it cannot follow the heights of the bed: {at}"


def check_covered(lit: Floats, machine: Machine) -> None:
    """Raise InputError if lit places (N, 2), mm, of a program are beyond the heights that it follows."""
    heights = None if machine.z_travel is None else machine.heights
    if heights and len(lit) and (beyond := _beyond(lit, heights)):
        raise _uncovered(heights, f"the program exposes up to {figure(beyond)} mm beyond")


def _beyond(xy: Floats, heights: Heights) -> float:
    """mm, by which the farthest of places (N, 2) is beyond the heights; 0: none is, but for rounding."""
    left, below, right, above = heights.box
    off = float(np.concatenate([(left, below) - xy, xy - (right, above)]).max())
    return off if off > _BEYOND * max(right - left, above - below) else 0.0


def _uncovered(heights: Heights, what: str) -> InputError:
    left, below, right, above = heights.box
    return InputError(
        f"the heights of the bed are from x {left:g} to {right:g} and y {below:g} to {above:g} mm, but "
        f"{what}: measure them there, too"
    )


def _as_written(xy: Floats, machine: Machine) -> Floats:
    """Places as the program has them: equal ones have one height, and Z never moves alone."""
    dialect = gcode.dialect(machine.dialect)
    scale = 10.0**dialect.xy_decimals / dialect.unit
    return np.asarray(np.rint(xy * scale) / scale)


def _split(moves: gcode.Moves, heights: Heights, tolerance: float) -> gcode.Moves:
    """The moves with lit lines in as many equal parts as keep them within a tolerance, mm, of the surface."""
    rows = np.flatnonzero(moves.on & (moves.kind == Kind.LINE))
    # A shorter move cannot be as far away: slopes differ by twice the steepest at most.
    rows = rows[moves.length[rows] * heights.slope > 2 * tolerance]
    parts = np.ones(len(moves), dtype=np.int64)
    while rows.size:
        rows = rows[_off(moves, rows, int(parts[rows[0]]), heights) > tolerance]
        parts[rows] *= 2
        if rows.size and parts[rows[0]] >= _PARTS:
            break
    return moves if (parts == 1).all() else gcode.motion.in_parts(moves, parts)


def _off(moves: gcode.Moves, rows: Indices, parts: int, heights: Heights) -> Floats:
    """(R,) mm, the farthest of rows (R,) in equal parts from the surface."""
    begin, way = moves.xy[rows], moves.xy[rows + 1] - moves.xy[rows]
    at = np.linspace(0, 1, parts * _SAMPLES + 1)
    places = begin[:, None] + at[None, :, None] * way[:, None]
    z = heights.at(places.reshape(-1, 2)).reshape(len(rows), len(at))
    straight = np.stack([np.interp(at, at[::_SAMPLES], row[::_SAMPLES]) for row in z])
    return np.asarray(np.abs(z - straight).max(axis=1))

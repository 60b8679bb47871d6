"""Strokes in their order → a toolpath: cut into short moves, and joined by travels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.planning.dots import shortest_stroke, stroke_of_dot
from laserpath.resin import power_for
from laserpath.types import Machine, Process, Settings, Spot, Toolpath


def drawn(tour: Sequence[Floats], process: Process, settings: Settings) -> Toolpath:
    """The toolpath of strokes (K, 2) mm in the given order, cut into moves of at most `segment_fwhm`.

    A stroke that is nearly a point, such as a ring that just fits into a dot, becomes a line.
    """
    fwhm, least = optics.fwhm(process.spot), shortest_stroke(process.spot)
    pieces = [subdivide(stroke_of_dot(stroke, least), settings.segment_fwhm * fwhm) for stroke in tour]
    # A wide area of lines a pitch apart gets the mean dose q/pitch; a third more cures its edge.
    energy = 4 / 3 * process.resin.critical_dose * settings.pitch_fwhm * fwhm
    return join(pieces, [np.full(len(p) - 1, energy) for p in pieces], process.machine, process.spot)


def subdivide(stroke: Floats, longest: float) -> Floats:
    """The polyline (K, 2) with each segment cut into equal pieces of at most `longest` mm."""
    step = np.diff(stroke, axis=0)
    count = np.maximum(1, np.ceil(np.hypot(*step.T) / longest - 1e-9)).astype(np.int64)
    segment = np.repeat(np.arange(len(step)), count)
    k = np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)
    return np.vstack([stroke[segment] + (k / count[segment])[:, None] * step[segment], stroke[-1:]])


def join(strokes: Sequence[Floats], line_energy: Sequence[Floats], machine: Machine, spot: Spot) -> Toolpath:
    """Strokes (K, 2) with line energies (K−1,), joined by travels, at the machine's full speed."""
    speed, rapid = min(machine.speed_max), min(machine.rapid_speed)
    xy: list[Floats] = [strokes[0][:1]]
    power: list[Floats] = []
    speeds: list[Floats] = []
    position = strokes[0][0]
    for stroke, energy in zip(strokes, line_energy, strict=True):
        if (stroke[0] != position).any():
            xy.append(stroke[:1])
            power.append(np.zeros(1))
            speeds.append(np.full(1, rapid))
        xy.append(stroke[1:])
        power.append(power_for(energy, speed, spot))
        speeds.append(np.full(len(energy), speed))
        position = stroke[-1]
    return Toolpath(np.vstack(xy), np.concatenate(power), np.concatenate(speeds))

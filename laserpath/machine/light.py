"""The light of a program, as its controller executes it: flashes, for the reaction through time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laserpath.machine.program import MachineProgram, ProgramPart, lagged
from laserpath.physics import optics
from laserpath.physics.kinetics.light import Flashes, Light


def light_of(program: MachineProgram) -> tuple[Light, float]:
    """The light of a program as its controller executes it, and the time at which it ends, s.

    Flashes are at most a tenth of a FWHM of travel apart, each with the energy and the time of its piece of
    the way. The time counts from the start of the program, dark moves and dwells included.
    """
    parts, begin = [], 0.0
    for part in program.parts:
        light = _light_of_part(part, program.shift)
        parts.append(replace(light, time=light.time + begin))
        begin += part.run.write_time
    names = ("xy", "energy", "time")
    joined = Light(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))
    last = float(joined.time[-1]) if len(joined.time) else 0.0
    return joined, max(begin, last)


def _light_of_part(part: ProgramPart, shift: tuple[float, float]) -> Light:
    machine, fwhm = part.process.machine, optics.fwhm(part.process.spot)
    flat = replace(part.run, xyz=part.run.xyz * (1.0, 1.0, 0.0))
    moves = lagged(flat, machine, fwhm)
    length, duration = np.hypot(*np.diff(moves.xy, axis=0).T), moves.duration
    flashes = Flashes.of(length, duration, np.flatnonzero((moves.power > 0) & (duration > 0)), fwhm)
    return flashes.on(moves.xy + np.asarray(shift), machine.power_max * moves.power * duration)

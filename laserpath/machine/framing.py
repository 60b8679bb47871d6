"""A framing pass: the laser traces the design's bounding box at its lowest power, to show its place.

The middle of a line of energy q (`resin`) along x gets the dose q ∫ h(s, 0) ds. For the Airy spot, with
∫ (2 J₁(x)/x)² dx = 32/(3π) and k = 2·1.61634/FWHM, that is 8k/(3π²) q = 0.8734 q/FWHM.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import gcode
from laserpath.base.errors import figure
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.program import EYE_SAFETY
from laserpath.physics import optics
from laserpath.physics.resin import line_energy
from laserpath.types import Design, Machine, Process, Spot, Toolpath

LAPS = 4
"""Laps around the box: more give more time to look, and more dose."""

_FAINT, _STEPS_PER_FWHM = 1e-6, 16


def frame(design: Design, machine: Machine, laps: int = LAPS) -> str:
    """The G-code of a framing pass around a design that is placed on the machine."""
    x0, y0, x1, y1 = design.extent
    header = (
        f"laserpath framing pass: {design.name}",
        *EYE_SAFETY,
        "The light of this pass exposes resin too: run it before the resin is in place, or with it covered.",
        f"Frame: x {x0:.3f} to {x1:.3f} mm, y {y0:.3f} to {y1:.3f} mm",
        f"{laps} laps at {figure(faintest(machine))} mW",
    )
    moves = convert.to_moves(frame_path(design, machine, laps), machine)
    share = _faintest_level(machine) / machine.power_levels
    moves = replace(moves, power=np.where(moves.on, share, 0.0))
    return verified(moves, machine, header)[0]


def faintest(machine: Machine) -> float:
    """The lowest power that lights the whole of a line, mW."""
    return float(machine.power_of(_faintest_level(machine)))


def _faintest_level(machine: Machine) -> int:
    """The lowest level that lights the whole of a line."""
    lit = gcode.dialect(machine.dialect).firmware.surely_lit
    return max(machine.level_min, min(lit, machine.power_levels))


def frame_path(design: Design, machine: Machine, laps: int = LAPS) -> Toolpath:
    """Laps around the bounding box at the smallest usable power and the full speed."""
    x0, y0, x1, y1 = design.extent
    lap = [(x1, y0), (x1, y1), (x0, y1), (x0, y0)]
    n = 4 * laps
    speed = min(machine.speed_max)
    return Toolpath(np.array([(x0, y0), *lap * laps]), np.full(n, faintest(machine)), np.full(n, speed))


def frame_dose(process: Process, laps: int = LAPS) -> float:
    """The dose of the framing pass along its lines, in critical doses."""
    machine, spot = process.machine, process.spot
    q = laps * float(line_energy(faintest(machine), min(machine.speed_max), spot))
    return q * _line_dose(spot) / process.resin.critical_dose


def _line_dose(spot: Spot) -> float:
    """The dose of a line energy of 1, 1/mm, in the middle of a line along x or along y: the larger."""
    step = optics.fwhm(spot) * min(spot.aspect, 1 / spot.aspect) ** 0.5 / _STEPS_PER_FWHM
    n = int(np.ceil(optics.reach(spot, _FAINT) / step))
    # For a band-limited profile the sum in equal steps is the exact integral.
    s = step * np.arange(-n, n + 1)
    along_x, along_y = optics.profile(spot, s, 0.0), optics.profile(spot, 0.0, s)
    return step * float(max(along_x.sum(), along_y.sum()))

"""A laser that is too weak or too strong for what a line needs, and the filter that makes it right.

A line needs the line energy q = D_c · pitch; a design shorter than the spot needs its dose from less length,
q · FWHM/L. Over a length L the head comes to v = √(aL) at most, or to the full speed, so that the power that
a line needs is P = (q v/E_N)^(1/N) (`resin`). A level above P writes too much at any speed that the head
reaches, and the controller can only leave the line dark. Powers come in levels: the required filter
leaves `LEVELS` of them below P, because one alone leaves nothing to choose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import gcode
from laserpath import optics
from laserpath.base.errors import InputError
from laserpath.machine import convert
from laserpath.resin import line_energy, path_energy, power_for
from laserpath.types import Design, Machine, Process, Settings, Toolpath

LEVELS = 30
"""Of the machine, below the power that a line needs, behind the required filter. With 8, a cell of
25 µm on the shipped stage came out with twice the edge error that it has with 50."""


@dataclass(frozen=True, slots=True)
class Strength:
    """The weakest that a machine's laser can do, and the `power` (mW) that a line needs at `speed` (mm/s)."""

    machine: Machine
    power: float
    speed: float

    @property
    def ratio(self) -> float:
        """How many times as strong as a line needs the weakest level is."""
        return self.machine.power_min / self.power

    @property
    def density(self) -> float:
        """Optical density of the filter, rounded up to tenths: it lets 10^−density of the power through."""
        levels = min(LEVELS, self.machine.power_levels / self.machine.level_min)
        return max(math.ceil(10 * math.log10(self.ratio * levels) - 1e-9) / 10, 0.0)

    @property
    def filter(self) -> str:
        """What to put into the beam, as a part of a sentence."""
        return filter_of(self.machine, self.density)

    def sentence(self, line: str) -> str:
        """That the weakest level is too much for a `line`, and how much."""
        return (
            f"the weakest level of machine {self.machine.name!r}, {self.machine.power_min:.3g} mW, is "
            f"{_figure(self.ratio)} times what {line} needs at {self.speed:.3g} mm/s"
        )


def _figure(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.10g}".replace(",", " ")


def filter_of(machine: Machine, density: float) -> str:
    """That a filter of an optical density is to be put into the beam, and full power behind it."""
    power = float(f"{machine.power_max / 10**density:.2g}")
    return (
        f"attenuate the beam {_figure(10**density)} times, to have levels to choose from, with a filter "
        f"of optical density {density:.1f}: power_max_mW = {power:g}"
    )


def strength(process: Process, settings: Settings, design: Design | None = None) -> Strength:
    """The laser, and a line at the highest speed: of the machine, or that the head reaches in the design.

    Where power follows the speed, it is the machine's: a program tells the power for that.
    """
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    energy, speed = process.resin.critical_dose * settings.pitch_fwhm * fwhm, min(machine.speed_max)
    if design is not None:
        long = math.hypot(*design.size)
        if not gcode.dialect(machine.dialect).dynamic_power:
            speed = min(speed, math.sqrt(min(machine.acceleration) * long))
        energy *= max(1.0, fwhm / long)
    return Strength(machine, float(power_for(energy, speed, process.spot)), speed)


def check_power(process: Process, settings: Settings, design: Design | None = None) -> None:
    """Refuse a laser with which nothing can be written: full power too weak, or each level far too strong.

    Too weak: at the smallest feed it gives less than one line needs.  Too strong, for a design: half of the
    weakest level is more than the over-dose limit allows, so that each line is left dark.
    """
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    slowest = 0.1 ** gcode.dialect(machine.dialect).feed_decimals / 60
    needed = process.resin.critical_dose * settings.pitch_fwhm * fwhm
    strongest = float(line_energy(machine.power_max, slowest, process.spot))
    if strongest < needed:
        raise InputError(
            f"power {machine.power_max:g} mW is too weak for {process.resin.name!r} in a spot of FWHM "
            f"{fwhm:.3g} mm: a line would need {slowest * strongest / needed:.2g} mm/s, below the smallest "
            f"feed, {slowest:.2g} mm/s; take a narrower spot, or more than "
            f"{(needed / strongest) ** (1 / process.resin.order):.2g} times the power"
        )
    if design is not None:
        laser = strength(process, settings, design)
        if laser.ratio > 2 * process.resin.over_dose ** (1 / process.resin.order):
            raise InputError(_nothing(laser, _line(process)))


def too_strong(process: Process, settings: Settings, design: Design | None = None) -> tuple[str, ...]:
    """A sentence if the weakest power level is more than one line needs."""
    laser = strength(process, settings, design)
    if laser.ratio <= 1:
        return ()
    return (f"the laser is too strong: {laser.sentence(_line(process))}; {laser.filter}",)


def check_exposes(
    exposed: Toolpath,
    commanded: Toolpath,
    planned: Toolpath,
    design: Design,
    process: Process,
    settings: Settings,
) -> None:
    """Refuse a program that exposes nothing.

    exposed: as the controller executes the program.  commanded: as the program says.  planned: what it was
    written from.  A dot that the controller passes too quickly is not due to the laser, and is let through.
    """
    if _lit(exposed):
        return
    laser = strength(process, settings, design)
    if _lit(planned):
        laser = min(laser, _strength_of(planned, process), key=lambda one: one.power)
    if laser.ratio > 1:
        raise InputError(_nothing(laser, _line(process)))
    controller = convert.controller(process.machine)
    shortest = controller.shortest_move if isinstance(controller, gcode.motion.Marlin) else 0.0
    who, long = (
        f"the program would expose nothing: design {design.name!r}, {_size(design)},",
        math.hypot(*design.size),
    )
    if shortest > long:
        raise InputError(
            f"{who} is too small for machine {process.machine.name!r}, which leaves out moves below "
            f"{1000 * shortest:.3g} µm, {shortest / long:.2g} times its length: take more steps_per_mm"
        )
    if not _lit(commanded):
        fwhm = 1000 * optics.fwhm(process.spot)
        raise InputError(f"{who} is too fine for the spot of {fwhm:.3g} µm: take a narrower spot")


def _nothing(laser: Strength, line: str) -> str:
    return f"{laser.sentence(line)}, so that the program would expose nothing; {laser.filter}"


def _line(process: Process) -> str:
    return f"a line of {1000 * optics.fwhm(process.spot):.3g} µm"


def _size(design: Design) -> str:
    return " × ".join(f"{1000 * length:.3g}" for length in design.size) + " µm"


def _lit(path: Toolpath) -> bool:
    return bool((path.on & (path.length > 0)).any())


def _strength_of(path: Toolpath, process: Process) -> Strength:
    """The laser, and the line of a lit path that takes most power at the speed that the head really has."""
    moves = convert.to_moves(path, process.machine)
    duration = gcode.motion.profile(moves, convert.limits(process.machine)).duration
    speed = path.length / np.maximum(duration, 1e-12)
    power = np.where(
        path.on, power_for(path_energy(path, process.spot), np.maximum(speed, 1e-12), process.spot), 0.0
    )
    most = int(np.argmax(power))
    return Strength(process.machine, float(power[most]), float(speed[most]))

"""Whether a laser is too weak or too strong for a line, and the filter that corrects it.

A line needs the line energy q = D_c · pitch; in a design of a length L below the spot's FWHM it needs
q · FWHM/L. Over a length L the head reaches at most v = √(aL), or the full speed, so that a line needs the
power P = (q v/E_N)^(1/N) (`resin`). A level with more light than P overexposes the line at every speed that
the head reaches, so that the controller can only leave it dark. The required filter leaves `LEVELS` levels
below P, because a single level cannot be varied.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.errors import InputError, figure
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.physics.resin import line_energy, path_energy, power_for
from laserpath.types import Design, Machine, Process, Settings, Toolpath

LEVELS = 30
"""Power levels below the power that a line needs, behind the required filter: a larger value requires a
denser filter, which slows the machine down. With 8, a cell of 25 µm on the shipped stage had twice the edge
error that it has with 50."""

POOR_LEVELS = 5.0
"""Power levels below the power that a line needs, under which a plan warns. A washer, a line and a disc of
1.5 mm on GRBL at 1, 1.5, 2, 3, 5 and 9 levels: mean edge error 0.34, 0.13, 0.08, 0.03, 0.03 and 0.02 FWHM;
17, 5, 8, 1, 0.7 and 0.3 % of the area missing. A larger one warns of prints that are right."""

FEW_LEVELS = 10.0
"""Level up to which one more is at least 10 % more light, so that edges cannot be placed well (a square with
the median level at 4: mean edge error 0.093 FWHM, and 0.045 with fine levels). A larger one names levels as
the cause more often."""


@dataclass(frozen=True, slots=True)
class Strength:
    """The weakest level of a machine's laser against the `power` (mW) that a line needs at `speed` (mm/s)."""

    machine: Machine
    power: float
    speed: float

    @property
    def ratio(self) -> float:
        """The weakest level divided by the power that a line needs."""
        return self.machine.power_min / self.power

    @property
    def density(self) -> float:
        """Optical density of the required filter, which transmits 10^−density, in tenths.

        Rounded up from a hundredth on: 500 mW at 50 mm/s want 1.705, and 1.7 leaves the 10 mW that
        the default profile has.
        """
        machine = self.machine
        wanted = machine.power_of(min(LEVELS * machine.level_min, machine.power_levels))
        return max(math.ceil(10 * math.log10(float(wanted) / self.power) - 0.1) / 10, 0.0)

    @property
    def levels(self) -> float:
        """The level, not rounded, of the power that a line needs: so many there are to choose from."""
        return float(self.machine.level_for(self.power))

    @property
    def usable(self) -> float:
        """The same, counted from the smallest usable level."""
        return self.levels - self.machine.level_min + 1

    @property
    def poor(self) -> bool:
        """Whether so few levels are usable that a plan will print badly."""
        return self.usable < POOR_LEVELS

    @property
    def filter(self) -> str:
        """The advice to put a filter into the beam, as a part of a sentence."""
        return filter_of(self.machine, self.density)

    def sentence(self, line: str) -> str:
        """A clause that says how much too strong the weakest level is for `line`, or how few there are."""
        if self.ratio <= 1:
            few = math.floor(self.usable)
            return (
                f"only {few} of the {self.machine.power_levels} power levels of machine "
                f"{self.machine.name!r} {'lies' if few == 1 else 'lie'} below the {figure(self.power)} mW "
                f"that {line} needs at {figure(self.speed)} mm/s"
            )
        return (
            f"the weakest level of machine {self.machine.name!r}, {figure(self.machine.power_min)} mW, is "
            f"{figure(self.ratio)} times what {line} needs at {figure(self.speed)} mm/s"
        )


def filter_of(machine: Machine, density: float) -> str:
    """The advice to use a filter of an optical density, with the full power behind it."""
    power = float(f"{machine.power_max / 10**density:.2g}")
    return (
        f"attenuate the beam {figure(10**density)} times, to have levels to choose from, with a filter "
        f"of optical density {density:.1f}: power_max_mW = {power:g}"
    )


def strength(process: Process, settings: Settings, design: Design | None = None) -> Strength:
    """The laser compared with a line at the machine's full speed, or at the speed reached in the design.

    If the power follows the speed, the full speed counts, because the program states the power for it.
    """
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    energy, speed = process.resin.critical_dose * settings.pitch_fwhm * fwhm, min(machine.speed_max)
    if design is not None:
        length = math.hypot(*design.size)
        if not convert.power_follows(machine):
            speed = min(speed, math.sqrt(min(machine.acceleration) * length))
        energy *= max(1.0, fwhm / length)
    return Strength(machine, float(power_for(energy, speed, process.spot)), speed)


def check_process(process: Process, settings: Settings, design: Design | None = None) -> None:
    """Raise InputError if a process can write nothing, or nothing of a design: all planning asks this first.

    A motor step longer than the spot is wide draws no line where it belongs.  Too weak: even at the smallest
    feed, full power gives less than a line needs.  Too strong for a design: a line at the weakest level and
    full speed has more than the resin's over-dose limit, so that none is as wanted.
    """
    _check_steps(process)
    _check_weak(process, settings)
    if design is not None:
        laser = strength(process, settings, design)
        if laser.ratio > process.resin.over_dose ** (1 / process.resin.order):
            raise InputError(
                f"the laser is too strong: {laser.sentence(_line(process))}, above the resin's limit of "
                f"{process.resin.over_dose:g} critical doses (over_dose); {laser.filter}"
            )


def _check_steps(process: Process) -> None:
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    if machine.steps is not None and (step := 1 / min(machine.steps)) > fwhm:
        raise InputError(
            f"a motor step of machine {machine.name!r} is {figure(1000 * step)} µm, {figure(step / fwhm, 2)} "
            f"times the spot's FWHM of {figure(1000 * fwhm)} µm, so no line would lie where it is "
            "drawn; take a wider spot, or a machine with more steps (steps_per_mm)"
        )


def _check_weak(process: Process, settings: Settings) -> None:
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    slowest = 0.1 ** gcode.dialect(machine.dialect).feed_decimals / 60
    needed = process.resin.critical_dose * settings.pitch_fwhm * fwhm
    strongest = float(line_energy(machine.power_max, slowest, process.spot))
    if strongest < needed:
        raise InputError(
            f"power {machine.power_max:g} mW is too weak for {process.resin.name!r} in a spot of FWHM "
            f"{figure(fwhm)} mm: a line would need {figure(slowest * strongest / needed, 2)} mm/s, below the "
            f"smallest feed, {figure(slowest, 2)} mm/s; take a narrower spot, or more than "
            f"{figure((needed / strongest) ** (1 / process.resin.order), 2)} times the power"
        )


def median_level(path: Toolpath, machine: Machine) -> float:
    """The level that half of the lit length of a path as written does not exceed; infinite if all is dark."""
    light = convert.as_light(path, machine)
    rising = np.argsort(light.power)
    length = np.cumsum((light.length * light.on)[rising])
    if not len(length) or length[-1] <= 0:
        return math.inf
    middle = rising[np.searchsorted(length, length[-1] / 2)]
    return float(np.rint(machine.level_for(light.power[middle])))


def too_strong(process: Process, settings: Settings, design: Design | None = None) -> tuple[str, ...]:
    """A sentence if fewer than `POOR_LEVELS` power levels lie below what a line needs, or none."""
    laser = strength(process, settings, design)
    if not laser.poor:
        return ()
    return (f"the laser is too strong: {laser.sentence(_line(process))}; {laser.filter}",)


def levels_in_words(process: Process, settings: Settings) -> tuple[str, ...]:
    """A sentence on the levels that write a line of the resin at speeds of the machine; none without any.

    A line takes P^N/v of the power P at the speed v, so that level n writes it at v_n = v (P_n/P)^N. Levels
    with v_n above the machine's speed overexpose it.
    """
    laser, machine = strength(process, settings), process.machine
    low, high = machine.level_min, min(math.floor(laser.levels + 1e-9), machine.power_levels)
    if high < low:
        return ()
    slow, fast = (
        laser.speed * (float(machine.power_of(level)) / laser.power) ** process.resin.order
        for level in (low, high)
    )
    rest = "; higher ones overexpose it at every speed" if high < machine.power_levels else ""
    levels = f"level {low}" if low == high else f"levels {low} to {high}"
    speeds = f"at {figure(fast)} mm/s" if low == high else f"at {figure(slow)} to {figure(fast)} mm/s"
    return (f"{_line(process)} is written by {levels} of {machine.power_levels}, {speeds}{rest}",)


def check_exposes(
    exposed: Toolpath,
    written: Toolpath,
    planned: Toolpath,
    design: Design,
    process: Process,
    settings: Settings,
) -> None:
    """Raise InputError if a program exposes nothing.

    exposed: the path as executed.  written: the path that the program states.  planned: the path that it
    was made from.  A dot that the controller passes too quickly is not the laser's fault, and is accepted.
    """
    if _lit(exposed):
        return
    laser = strength(process, settings, design)
    if _lit(planned):
        laser = min(laser, _strength_of(planned, process), key=lambda line: line.power)
    if laser.ratio > 1:
        raise InputError(
            f"{laser.sentence(_line(process))}, so the program would expose nothing; {laser.filter}"
        )
    shortest = convert.controller(process.machine).shortest_move
    subject = f"the program would expose nothing: design {design.name!r}, {_size(design)},"
    length = math.hypot(*design.size)
    if shortest > length:
        raise InputError(
            f"{subject} is too small for machine {process.machine.name!r}, which leaves out moves below "
            f"{figure(1000 * shortest)} µm, {figure(shortest / length, 2)} times its length: take more "
            "steps_per_mm"
        )
    if not _lit(written):
        fwhm = 1000 * optics.fwhm(process.spot)
        raise InputError(f"{subject} is too fine for the spot of {figure(fwhm)} µm: take a narrower spot")


def _line(process: Process) -> str:
    return f"a line of {figure(1000 * optics.fwhm(process.spot))} µm"


def _size(design: Design) -> str:
    return " × ".join(f"{figure(1000 * length)}" for length in design.size) + " µm"


def _lit(path: Toolpath) -> bool:
    return bool((path.on & (path.length > 0)).any())


def _strength_of(path: Toolpath, process: Process) -> Strength:
    """The laser compared with the move of a lit path that needs most power at the speed of the head."""
    moves = convert.to_moves(path, process.machine)
    duration = gcode.motion.profile(moves, convert.limits(process.machine)).duration
    speed = path.length / np.maximum(duration, 1e-12)
    power = np.where(
        path.on, power_for(path_energy(path, process.spot), np.maximum(speed, 1e-12), process.spot), 0.0
    )
    most = int(np.argmax(power))
    return Strength(process.machine, float(power[most]), float(speed[most]))

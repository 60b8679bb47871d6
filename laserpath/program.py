"""The program of a machine: written with a header that says how it was made, read back, and executed.

    toolpath → text → moves, and the lines that carry them → run of the controller → path as executed

*Commanded* takes power and feed as they are written. *Executed* cuts every move into pieces of the speed that
the controller's planner reaches, with the power that it then gives (`gcode.motion`), and lets head and laser
come as late as they do. What it exposes is in `measure`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import gcode
from gcode.motion import peak_rate
from laserpath import convert, optics, project
from laserpath.arrays import Indices
from laserpath.quantities import decimals
from laserpath.results import MotionFigures
from laserpath.types import BeamImage, Design, Machine, Point, Process, Resin, Settings, Spot, Toolpath

EXECUTED_PIECE_FWHM = 0.5
"""Longest piece of constant speed; longer ones blur the light of a ramp."""

_LAG_STEP = 1e-3
"""s; a lag is followed in steps of a quarter of its time constant, or of this."""

EYE_SAFETY = (
    "CAUTION: laser radiation. Enclose the beam or wear goggles rated for its wavelength;",
    "405 nm light can blind before you blink, and its reflections too. Never leave it running alone.",
)


_PART_FWHM = 0.5
"""The spot blurs what is shorter."""


@dataclass(frozen=True, slots=True)
class Transmitted:
    """What is sent for a path. characters: (N,) of each move, line ends included.  lines: of the program."""

    characters: Indices
    lines: int


@dataclass(frozen=True, eq=False)
class Shipped:
    """A program, and what the controller does with it: each step is found when first asked for, and once.

    path: as commanded, where the text has it.  transmitted: None: lines of usual length.  text: '' where
    none is written.  execution: of the whole file, where that holds more than the path (other layers,
    dwells, arcs); else the path is executed.  shift: mm, where it is looked at, from where the text has it.
    """

    path: Toolpath
    process: Process
    transmitted: Transmitted | None = None
    text: str = ""
    execution: gcode.motion.Executed | None = None
    shift: Point = (0.0, 0.0)

    @classmethod
    def written(
        cls,
        path: Toolpath,
        design: Design,
        process: Process,
        settings: Settings,
        warnings: Iterable[str] = (),
    ) -> Shipped:
        """The program that exposes a path in all its passes: its text, and what that says, read back."""
        text, machine = write_program(path, design, process, settings, warnings), process.machine
        spoken = gcode.dialect(machine.dialect)
        said = gcode.read(text, spoken, machine.s_max, rapid_speed=min(machine.rapid_speed))
        commanded, row = convert.toolpath_of(said.moves, machine)
        # Of the chords of an arc the first one carries the line.
        first = np.diff(row, prepend=-1) > 0
        sent = Transmitted(np.where(first, said.characters[row], 0), text.count("\n"))
        return cls(commanded, process, sent, text)

    @property
    def power_follows(self) -> bool:
        """Whether the laser's power follows the speed of the head, so that what is commanded counts too.

        Where it does not, the program is bent so that what is executed is right (`export`).
        """
        return bool(gcode.dialect(self.process.machine.dialect).dynamic_power)

    @cached_property
    def commanded(self) -> Toolpath:
        """Where the spot should shine."""
        return replace(self.path, xy=self.path.xy + self.shift) if any(self.shift) else self.path

    @cached_property
    def run(self) -> gcode.motion.Executed:
        """What the controller does, the way from the work zero included."""
        run = self.execution or self._executed()
        return replace(run, xyz=run.xyz + (*self.shift, 0.0)) if any(self.shift) else run

    @cached_property
    def executed(self) -> Toolpath:
        """Where the spot really shines, from above, with the lag of its mirrors and its laser."""
        above = replace(self.run, xyz=self.run.xyz * (1.0, 1.0, 0.0))
        machine = self.process.machine
        return convert.from_moves(
            gcode.motion.lagged(above.moves(), convert.lag(machine), _LAG_STEP), machine
        )

    @cached_property
    def motion(self) -> MotionFigures:
        """Times and lengths, the way from the work zero included."""
        machine, path = self.process.machine, from_zero(self.path, self.process.machine)
        free = gcode.motion.profile(convert.to_moves(path, machine), convert.limits(machine))
        return MotionFigures.along(
            path,
            write_time=self.run.write_time,
            lines=self.transmitted.lines if self.transmitted else 0,
            segment_rate=peak_rate(free.duration / free.slowing, machine.look_ahead),
        )

    def moved(self, by: Point) -> Shipped:
        """The same program looked at elsewhere; how far the head comes from its zero stays as it is."""
        x, y = self.shift
        return replace(self, shift=(x + by[0], y + by[1]), execution=self.execution or self._executed())

    def _executed(self) -> gcode.motion.Executed:
        """The path's own run."""
        machine, path, sent = self.process.machine, self.path, self.transmitted
        characters = np.full(len(path), gcode.motion.LINE_CHARACTERS) if sent is None else sent.characters
        return gcode.motion.execute(
            convert.to_moves(from_zero(path, machine), machine),
            convert.controller(machine),
            characters=np.concatenate([[0], characters]),
            power_levels=machine.power_levels,
            longest=EXECUTED_PIECE_FWHM * optics.fwhm(self.process.spot),
        )


def from_zero(path: Toolpath, machine: Machine) -> Toolpath:
    """The path with a travel from the work zero, where the head stands when the program starts."""
    return Toolpath(
        np.vstack([np.zeros((1, 2)), path.xy]),
        np.concatenate([[0.0], path.power]),
        np.concatenate([[min(machine.rapid_speed)], path.speed]),
    )


def write_program(
    path: Toolpath, design: Design, process: Process, settings: Settings, warnings: Iterable[str] = ()
) -> str:
    """The G-code text of a toolpath in the machine's dialect, with all settings in its header."""
    machine = process.machine
    return gcode.write(
        export(path, process, settings), convert.spoken(machine), machine.s_max,
        header(design, process, settings, warnings),
    )  # fmt: skip


def export(path: Toolpath, process: Process, settings: Settings) -> gcode.Moves:
    """The moves that the machine is told, so that it exposes `path`, in as many passes as wanted.

    Where its power does not follow the speed, ours does; where head or laser come late, they are told early.
    """
    machine = process.machine
    moves = convert.to_moves(path, machine, settings.passes)
    controller = convert.controller(machine)
    if isinstance(controller, gcode.motion.Marlin):
        moves = gcode.join_short(moves, controller.shortest_move)
    if not gcode.dialect(machine.dialect).dynamic_power:
        moves = gcode.motion.corrected(
            moves, controller, shortest=_PART_FWHM * optics.fwhm(process.spot),
            segment_rate=machine.segment_rate, power_levels=machine.power_levels, level_min=machine.level_min,
        )  # fmt: skip
    return gcode.motion.compensated(moves, convert.lag(machine), min(machine.acceleration))


def exported(path: Toolpath, process: Process, settings: Settings) -> Toolpath:
    """The toolpath that the machine is told, one pass of it."""
    return convert.from_moves(export(path, process, replace(settings, passes=1)), process.machine)


def header(
    design: Design, process: Process, settings: Settings, warnings: Iterable[str] = ()
) -> tuple[str, ...]:
    """What made the program, one sentence a line."""
    from laserpath import __version__

    spot, resin, machine = process.spot, process.resin, process.machine
    x0, y0, x1, y1 = (f"{value:.{decimals(optics.fwhm(spot))}f}" for value in design.bounds)
    zero = {
        "auto": "where the design was placed",
        "page": "the page's lower-left corner",
        "design": "the design's lower-left corner",
        "centre": "the centre of the design",
    }[settings.origin]
    return (
        f"laserpath {__version__}: " + "; ".join((design.name, *design.source)),
        *EYE_SAFETY,
        f"Work zero: {zero}. Exposes x {x0} to {x1} mm, y {y0} to {y1} mm.",
        f"Machine: {machine.name}, {machine.power_max:g} mW at {_full_power(machine)}.",
        f"Machine limits: {_pair(machine.speed_max)} mm/s, {_pair(machine.acceleration)} mm/s2, "
        f"{_corner(machine)}",
        f"Spot: {_spot(spot)}",
        f"Resin: {resin.name}, {resin.tone}, critical dose {_dose(resin)}",
        "Settings: " + ", ".join(f"{name} {value}" for name, value in _settings(settings)),
        *(f"Warning: {sentence}" for sentence in warnings),
        f"{project.NAME}, to plan this again:",
        *project.narrow(project.text(design, process, settings)),
    )


def _full_power(machine: Machine) -> str:
    """How the machine's dialect says full power, and what it takes for granted."""
    spoken = gcode.dialect(machine.dialect)
    said = spoken.power.format(power=f"{machine.s_max:g}")
    return f"{said}, laser mode on ($32=1)" if spoken.controller == "grbl" else said


def _corner(machine: Machine) -> str:
    """What sets the speed in corners."""
    if gcode.dialect(machine.dialect).controller == "klipper":
        ratio = machine.minimum_cruise_ratio
        return (
            f"square corner velocity {machine.square_corner_velocity:g} mm/s, minimum cruise ratio {ratio:g}"
        )
    return f"junction deviation {machine.junction_deviation:g} mm"


def _dose(resin: Resin) -> str:
    """The critical dose in the unit of its absorption order, in letters that a controller takes."""
    if resin.order == 1:
        return f"{resin.critical_dose * 100:g} mJ/cm2"
    return f"{resin.critical_dose:g} mW^{resin.order} s/mm^{2 * resin.order}"


def _spot(spot: Spot) -> str:
    """Profile and FWHM, and whatever else is not as usual."""
    parts = [spot.profile, f"FWHM {spot.fwhm:g} mm"]
    if spot.measured is not None:
        parts[0] += " photograph" if isinstance(spot.measured, BeamImage) else " table"
    if spot.aspect != 1:
        parts.append(f"{spot.aspect:g} times as long along {spot.angle:g} degrees as across")
    elif spot.angle and isinstance(spot.measured, BeamImage):
        parts.append(f"turned by {spot.angle:g} degrees")
    if spot.defocus:
        parts.append(f"{spot.defocus:g} mm out of focus at {(spot.wavelength or 0) * 1e6:g} nm")
    if spot.photons != 1:
        parts.append(f"to the power {spot.photons}: as many photons at once")
    return ", ".join(parts)


def _pair(values: tuple[float, float]) -> str:
    return " x ".join(f"{v:g}" for v in values)


def _settings(settings: Settings) -> list[tuple[str, object]]:
    return [(name, getattr(settings, name)) for name in settings.__slots__]

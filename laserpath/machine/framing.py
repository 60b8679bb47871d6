"""A framing pass: the head goes around a box, to show its place, and leaves next to no dose; a tour of marks.

The middle of a line of energy q (`resin`) along x gets the dose q ∫ h(s, 0) ds. For the Airy spot, with
∫ (2 J₁(x)/x)² dx = 32/(3π) and k = 2·1.61634/FWHM, that is 8k/(3π²) q = 0.8734 q/FWHM.

The pass is lit at the lowest level, as many times around as stay below a hundredth of the critical dose, and
only where the head has its full speed: within v²/(2a) of a corner, where it brakes, it is dark. If one lap
is too much, the pass is dark: the head alone shows the box. A tour is dark, or stands at each mark with light
that stays below a hundredth, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

import gcode
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.program import EYE_SAFETY
from laserpath.physics import optics
from laserpath.physics.resin import line_energy
from laserpath.types import Design, Machine, Point, Process, Spot, Toolpath

LAPS = 4
"""Most laps around the box: more give more time to look, and more dose."""

SAFE = 0.01
"""Critical doses that a pass may leave. Exposures add up: a larger one is seen at the edge of a print."""

_DARK_LAPS, _DARK_SPEED = 2, 20.0
"""Laps and speed, mm/s, of a dark pass: slow enough to follow with the eye."""

_CLEAR_FWHM, _APART_FWHM = 2.0, 4.0
"""Way at full speed before the light; and distance of two sides below which their doses add up. In FWHM."""

_FAINT, _STEPS_PER_FWHM = 1e-6, 16

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class FramingPass:
    """Laps around a box.

    box: (x0, y0, x1, y1) mm.  dose: along its lines, in critical doses.
    """

    box: Box
    path: Toolpath
    laps: int
    dose: float

    @property
    def lit(self) -> bool:
        """Whether there is any light in it."""
        return bool(self.path.on.any())

    def sentence(self, machine: Machine) -> str:
        """What the pass does to resin."""
        if not self.lit:
            return f"{self.laps} dark laps: the head shows the box"
        share = f"{figure(100 * self.dose, 2)} % of the critical dose along its lines"
        if self.dose > SAFE:
            return (
                f"{self.laps} laps at {figure(faintest(machine))} mW leave {share}, and several times that "
                "at corners: run it before the resin is in place, or with it covered"
            )
        return f"{self.laps} laps at {figure(faintest(machine))} mW, dark near corners, leave {share}"


def frame(design: Design, process: Process, *, lit: bool = False) -> str:
    """The G-code of a framing pass around a design that is placed on the machine; see `framing_pass`."""
    return program(framing_pass(design.extent, process, lit=lit), process, design.name)


def program(done: FramingPass, process: Process, name: str) -> str:
    """The G-code of a framing pass. name: of what it is around."""
    machine, (x0, y0, x1, y1) = process.machine, done.box
    header = (
        f"laserpath framing pass: {name}",
        *EYE_SAFETY,
        f"Frame: x {x0:.3f} to {x1:.3f} mm, y {y0:.3f} to {y1:.3f} mm",
        done.sentence(machine),
    )
    moves = convert.to_moves(done.path, machine)
    share = _faintest_level(machine) / machine.power_levels
    moves = replace(moves, power=np.where(moves.on, share, 0.0))
    return verified(moves, machine, header)[0]


def framing_pass(box: Box, process: Process, *, lit: bool = False) -> FramingPass:
    """A pass around a box that leaves less than `SAFE` critical doses, or none.

    lit: `LAPS` laps are lit all the way round instead, whatever dose that leaves.
    """
    if lit:
        return FramingPass(box, _lit_path(box, process.machine, LAPS), LAPS, frame_dose(process))
    x0, y0, x1, y1 = box
    sides = 1.0 if min(x1 - x0, y1 - y0) > _APART_FWHM * optics.fwhm(process.spot) else 2.0
    once = sides * frame_dose(process, 1)
    laps = min(LAPS, int(SAFE / once))
    path = _lit_path(box, process.machine, laps, _run_up(process)) if laps else None
    if path is None or not path.on.any():
        return FramingPass(box, _dark_path(box, process.machine), _DARK_LAPS, 0.0)
    return FramingPass(box, path, laps, laps * once)


def faintest(machine: Machine) -> float:
    """The lowest power that lights the whole of a line, mW."""
    return float(machine.power_of(_faintest_level(machine)))


def _faintest_level(machine: Machine) -> int:
    """The lowest level that lights the whole of a line."""
    lit = gcode.dialect(machine.dialect).firmware.surely_lit
    return max(machine.level_min, min(lit, machine.power_levels))


def _run_up(process: Process) -> float:
    """mm, from a corner to where the head has its full speed, and the lag of mirrors and laser is over."""
    machine = process.machine
    speed, slow = min(machine.speed_max), min(machine.acceleration)
    return speed**2 / (2 * slow) + speed * machine.settling + _CLEAR_FWHM * optics.fwhm(process.spot)


def _corners(box: Box, laps: int) -> Floats:
    """(4 laps + 1, 2) mm, from the lower left corner counter-clockwise."""
    x0, y0, x1, y1 = box
    return np.array([(x0, y0), *[(x1, y0), (x1, y1), (x0, y1), (x0, y0)] * laps])


def _lit_path(box: Box, machine: Machine, laps: int, dark: float = 0.0) -> Toolpath:
    """Laps at the smallest usable power and the full speed. dark: mm, the way near corners without light."""
    xy, lit = [_corners(box, laps)[:1]], []
    for start, end in pairwise(_corners(box, laps)):
        length = float(np.hypot(*(end - start)))
        if dark and length > 2 * dark:
            inner = start + np.array([[dark / length], [1 - dark / length]]) * (end - start)
            xy += [inner, end[None]]
            lit += [False, True, False]
        else:
            xy += [end[None]]
            lit += [not dark]
    power = np.where(lit, faintest(machine), 0.0)
    return Toolpath(np.concatenate(xy), power, np.full(len(lit), min(machine.speed_max)))


def _dark_path(box: Box, machine: Machine) -> Toolpath:
    """Laps without light."""
    n = 4 * _DARK_LAPS
    speed = min(*machine.speed_max, _DARK_SPEED)
    return Toolpath(_corners(box, _DARK_LAPS), np.zeros(n), np.full(n, speed))


def frame_dose(process: Process, laps: int = LAPS) -> float:
    """The dose of lit laps along their lines at full speed, in critical doses."""
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


# A tour of marks


def tour(places: Mapping[str, Point], machine: Machine, name: str, wait: float | None = None) -> str:
    """The G-code of a dark tour of places (x, y) mm by their names, which waits at each.

    wait: s, at each place; None: for the user.  Raises InputError if the controller has no such pause.
    """
    if wait is None and len(places) > 1 and not gcode.dialect(machine.dialect).halt:
        raise InputError(
            f"{gcode.dialect(machine.dialect).name} has no line at which it waits for the user: give the "
            "seconds to wait at each mark (--wait 30), or a program for each (--each)"
        )
    moves = _tour(places, machine, wait)
    pauses = [k + 1 for k in range(len(moves))] if wait is None and len(places) > 1 else []
    header = (f"laserpath tour of marks: {name}, all dark", *EYE_SAFETY)
    return verified(moves, machine, header, pauses)[0]


def dim_tour(places: Mapping[str, Point], process: Process, name: str, wait: float) -> tuple[str, float]:
    """(G-code of a tour that stands at each place in the weakest light, its largest dose, in critical ones).

    wait: s, at each place.  Raises InputError if that is above `SAFE` critical doses: the dose of a spot at
    rest is E_N P^N t ĥ(0) (`resin`).
    """
    machine, dialect = process.machine, gcode.dialect(process.machine.dialect)
    if not (dialect.power_line or dialect.power_still):
        raise InputError(f"{dialect.name} does not light a head at rest: leave --dim out")
    moves = _tour(places, machine, wait, _faintest_level(machine) / machine.power_levels)
    header = (
        f"laserpath tour of marks: {name}, at {figure(faintest(machine))} mW for {wait:g} s each",
        *EYE_SAFETY,
    )
    text, read = verified(moves, machine, header)
    dose = float(_doses_at(read.moves, process).max())
    if dose > SAFE:
        raise InputError(
            f"the weakest light of machine {machine.name!r}, {figure(faintest(machine))} mW, leaves "
            f"{figure(dose)} critical doses where it stands for {wait:g} s, above {SAFE:g}; leave --dim out, "
            "or lower the light with a filter, or the time"
        )
    return text, dose


def _tour(
    places: Mapping[str, Point], machine: Machine, wait: float | None, share: float = 0.0
) -> gcode.Moves:
    """A rapid to each place, and a wait there. share: of full power, while it waits."""
    at, rapid = np.array(list(places.values())).reshape(-1, 2), min(machine.rapid_speed)
    for place, xy in zip(places, at, strict=True):
        if (xy < -np.array(machine.size)).any() or (xy > machine.size).any():
            raise InputError(
                f"mark {place} would be at {xy[0]:g}, {xy[1]:g} mm, off machine {machine.name!r}"
            )
    stops = 1 if wait is None else 2
    kinds = np.tile([gcode.Kind.RAPID, gcode.Kind.DWELL][:stops], len(at)).astype(np.int8)
    n, waits = len(kinds), kinds == gcode.Kind.DWELL
    follows = convert.power_follows(machine) and share == 0  # at rest such a power is none
    return gcode.Moves(
        np.vstack([at[:1], np.repeat(at, stops, axis=0)]),
        np.where(waits, share, 0.0), np.full(n, rapid), kinds,
        dwell=np.where(waits, wait or 0.0, 0.0), dynamic=np.full(n, follows),
        comments=tuple(
            (stops * k + 1, f"mark {place}: expected at {x:.3f}, {y:.3f} mm")
            for k, (place, (x, y)) in enumerate(zip(places, at, strict=True))
        ),
    )  # fmt: skip


def _doses_at(moves: gcode.Moves, process: Process) -> Floats:
    """Doses in the middles of where moves stand lit, as the controller executes them, in critical doses."""
    machine, spot = process.machine, process.spot
    run = gcode.motion.execute(moves, convert.controller(machine))
    lit = np.flatnonzero(run.power > 0)
    light = (
        line_energy(machine.power_of(run.power[lit] * machine.power_levels), 1.0, spot) * run.duration[lit]
    )
    xy = (run.xyz[lit, :2] + run.xyz[lit + 1, :2]) / 2
    marks = moves.xy[1:][moves.still & moves.on]
    u, v = np.moveaxis(marks[:, None] - xy, 2, 0)
    return (optics.profile(spot, u, v) * light).sum(axis=1) / process.resin.critical_dose

"""What other doses, spots and machines make of a program: the process window, and disturbances.

**The process window**: edge errors of a toolpath against relative dose k and relative width w of the spot.

    D(x; k, w) = k Σ_j q_j L_j h(|x − x_j|; w·FWHM),   EPE where D = D_c.

k stands for everything that scales the whole dose: laser power, speed, the resin's sensitivity. It needs no
new exposure. w stands for focus: a spot of the same shape and power, w times as wide. A true defocus in mm
also changes an Airy spot's shape; `Spot.defocus` plans with it.

**Disturbances**: the same program on a machine that is not quite the one that it was planned for.

    program → executed with one setting changed → exposed → measured, as the report measures it

The settings are those that a plan takes from the profile and that may be wrong there, or be changed at the
machine: acceleration, speed in junctions, the feed override, the link and its host, the light of a level, on
a gantry the delay of the laser and the slack of the axes, and Klipper's input shaper. Nobody knows the phase
of the laser's pulses, whether GRBL's pin flashes where it is lit again, nor, to tenths of a millisecond, when
a host answers: on that it hangs where a head stops that is sent its lines one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.design.partition import partition_of
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.phase import pulsed
from laserpath.machine.program import MachineProgram, ProgramPart
from laserpath.measure import DEFOCUS
from laserpath.measure.by_field import FieldsMeasured
from laserpath.measure.edges import errors_at
from laserpath.measure.exposure import Exposure
from laserpath.physics import optics
from laserpath.physics.dose import accurate_model
from laserpath.types import Machine, Toolpath
from laserpath.types.results import KeyFigures, Measurement, ProcessWindow, Variation

DOSES = (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2)
"""Relative doses."""

WIDTHS = (1.0, DEFOCUS, 1.3)
"""Relative FWHM of the spot."""


def process_window(
    path: Toolpath, scene: Scene, doses: Sequence[float] = DOSES, widths: Sequence[float] = WIDTHS
) -> ProcessWindow:
    """The edge errors of an exposure at each relative dose and each relative width of the spot.

    path: the executed path, such as `MachineProgram.executed`.
    At dose 1 and width 1 the errors are those of `measure.exposure`.
    """
    epe, missing = edges_of(path, scene, doses, widths)
    mean, p95, signed = np.empty((3, len(widths), len(doses)))
    for k, one in enumerate(epe):  # one after the other: copies of all points take memory
        error, size = one / scene.fwhm, np.abs(one) / scene.fwhm
        signed[k] = error.mean(axis=1, dtype=np.float64)
        mean[k], p95[k] = size.mean(axis=1, dtype=np.float64), np.percentile(size, 95, axis=1)
    lost = missing.sum(axis=2).astype(np.float64)
    return ProcessWindow(np.array(doses), np.array(widths), mean, p95, signed, lost, epe.shape[2])


def print_and_window(
    exposure: Exposure, widths: Sequence[float] = WIDTHS
) -> tuple[Measurement, ProcessWindow | None]:
    """An executed print, and the process window of its path; of a large design in one pass over its fields.

    None for a resin with kinetics, whose edges no dose tells.
    """
    scene, program = exposure.scene, exposure.program
    if scene.resin.kinetics is not None:
        return exposure.executed, None
    if partition_of(scene).single:
        return exposure.executed, process_window(program.executed, scene, widths=widths)
    every = sorted({1.0, DEFOCUS, *widths}, key=lambda width: (width != 1.0, width != DEFOCUS, width))
    spots = [optics.widened(scene.spot, width) for width in every]
    found = FieldsMeasured.of(program.executed_parts, scene, spots, DOSES)
    some = [every.index(width) for width in widths]
    return found.printed(scene, program.motion), _of_spread(found, some, widths)


def _of_spread(found: FieldsMeasured, some: Sequence[int], widths: Sequence[float]) -> ProcessWindow:
    """The process window of what was found at `DOSES`. some: numbers of the spots that `widths` are of."""
    spread = found.spread
    assert spread is not None, "areas were not asked for"
    return ProcessWindow(
        dose=np.array(DOSES),
        width=np.array(widths),
        epe_mean=spread.size[some] / spread.points,
        epe_p95=spread.percentile(95)[some],
        epe_signed=spread.signed[some] / spread.points,
        missing_edges=spread.missing[some].astype(np.float64),
        samples=spread.points,
    )


def edges_of(
    path: Toolpath, scene: Scene, doses: Sequence[float], widths: Sequence[float]
) -> tuple[Floats, Bools]:
    """((F, D, M) EPE in mm, whether it is missing) of F relative widths and D relative doses."""
    _check("doses", doses)
    _check("widths", widths)
    spots = [optics.widened(scene.spot, width) for width in widths]
    if partition_of(scene).single:
        found = [errors_at(accurate_model(scene.grid, spot).dose(path), scene, doses) for spot in spots]
        epe, missing = (np.array(part) for part in zip(*found, strict=True))
        return epe, missing
    by_fields = FieldsMeasured.of([path], scene, spots, doses, areas=False)
    return by_fields.epe, by_fields.missing


def _check(name: str, factors: Sequence[float]) -> None:
    """Raise InputError unless there are factors, and they are finite, above 0 and rising."""
    values = np.asarray(factors, dtype=np.float64)
    good = len(values) and np.isfinite(values).all() and values[0] > 0 and (np.diff(values) > 0).all()
    if not good:
        raise InputError(f"{name} are {tuple(factors)}, but must be above 0 and rise from one to the next")


_ACCELERATIONS = (0.8, 1.2)
"""Factors: a larger range than a profile is usually wrong by makes every plan look fragile."""

_JUNCTIONS = {0.5: "half", 2.0: "twice"}
"""Factors on the junction deviation, or on Klipper's square corner velocity, with whose square it goes."""

OVERRIDES = (0.5, 0.8, 1.2)
"""Feed overrides, relative to 100 %."""

_USUAL_MODE = 50.0
"""Hz, of an input shaper that a profile may not know of: a lower one rounds more. Most printers resonate at
40 to 80 Hz."""

_STALLING = 0.5
"""Factor on the rates of the link: a smaller one stalls more programs."""

_LATE_HOST = 16e-3
"""s, the usual latency timer of FTDI's USB bridges: nearly as late as hosts are."""

_MOMENTS = (-2e-4, -1e-4, 1e-4, 2e-4)
"""s, by which a host that sends line by line answers sooner or later. Where the head stops for want of a line
hangs on less; no host keeps its time better."""

_SLACK = 0.02
"""mm, of backlash that is not stated: a larger one than a tight belt has makes every plan look fragile."""

_COARSE = 1000.0
"""Steps/mm up to which axes are taken to have slack: above it they follow an encoder."""

_LATE = 1e-3
"""s, by which the laser is later than stated: more than most drivers are makes fast plans look fragile."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A machine that differs in one respect. cause, change: as in `Variation`.  override: of the feed.

    phase: of the single pulses of the laser's PWM, 0…1; None: it shines evenly, as in plans.
    flashes: the pin flashes where it is lit again.
    """

    cause: str
    change: str
    machine: Machine
    override: float = 1.0
    phase: float | None = None
    flashes: bool = False

    def program(self, program: MachineProgram) -> MachineProgram:
        """The program on this machine. Its parts are executed by themselves, not with other layers."""
        return self.lit(replace(program, parts=tuple(map(self._part, program.parts))))

    def lit(self, program: MachineProgram) -> MachineProgram:
        """A program that is executed on this machine, with the pulses of its laser."""
        if self.phase is None:
            return program
        return replace(program, parts=tuple(self._pulses(part, self.phase) for part in program.parts))

    def _part(self, part: ProgramPart) -> ProgramPart:
        return replace(part, process=replace(part.process, machine=self.machine), override=self.override)

    def _pulses(self, part: ProgramPart, phase: float) -> ProgramPart:
        period, order = self.machine.light_period, part.process.resin.order
        return replace(part, execution=pulsed(part.run, period, phase, order, flashes=self.flashes))


def disturbances(machine: Machine) -> tuple[Disturbance, ...]:
    """All that have an effect on this machine's controller: Klipper, for example, has no slow link."""
    own = _modelled(machine)
    return tuple(
        one
        for one in _all(machine)
        if one.override != 1 or one.phase is not None or _modelled(one.machine) != own
    )


def _modelled(machine: Machine) -> tuple[Any, ...]:
    """What the execution of a program takes from a machine."""
    return convert.controller(machine), machine.light, convert.lag(machine), machine.backlash


def _all(machine: Machine) -> Iterator[Disturbance]:
    for factor in _ACCELERATIONS:
        x, y = machine.acceleration
        changed = replace(machine, acceleration=(factor * x, factor * y))
        more = "more" if factor > 1 else "less"
        yield Disturbance("acceleration", f"{100 * abs(factor - 1):.0f} % {more} acceleration", changed)
    key = next(iter(gcode.dialect(machine.dialect).firmware.corner))
    for factor, times in _JUNCTIONS.items():
        changed = replace(machine, **{key: factor * getattr(machine, key)})
        yield Disturbance("junction", f"{times} the {key.replace('_', ' ')}", changed)
    for factor in OVERRIDES:
        yield Disturbance("override", f"a feed override of {100 * factor:.0f} %", machine, factor)
    baud = None if machine.baud is None else _STALLING * machine.baud
    slow = replace(machine, baud=baud, segment_rate=_STALLING * machine.segment_rate)
    yield Disturbance("link", "a link half as fast", slow)
    if machine.host_delay < _LATE_HOST:
        late = replace(machine, host_delay=_LATE_HOST)
        yield Disturbance("host", f"a host that answers after {1000 * _LATE_HOST:g} ms", late)
    if machine.host_window == "lines":
        yield from _moments(machine)
    own = machine.light.offset
    other = 0.0 if own else 1.0
    changed = replace(machine, level_offset=other)
    yield Disturbance("light", f"level_offset {other:g} instead of {own:g}", changed)
    yield from _pulses(machine)
    on, off = machine.laser_on_delay + _LATE, machine.laser_off_delay + _LATE
    later = replace(machine, laser_on_delay=on, laser_off_delay=off)
    if convert.late(later):
        yield Disturbance("delay", f"a laser that is {1000 * _LATE:g} ms later", later)
    if gcode.dialect(machine.dialect).firmware.shapes:
        usual = gcode.motion.Shaper("mzv", _USUAL_MODE)
        without, shapers = any(machine.shapers), (usual, usual)
        change = "the input shaper turned off" if without else f"an input shaper, {usual}"
        yield Disturbance("shaper", change, replace(machine, shapers=(None, None) if without else shapers))
    if machine.steps is not None and max(machine.steps) <= _COARSE:
        x, y = machine.backlash
        slack = replace(machine, backlash=(x + _SLACK, y + _SLACK))
        yield Disturbance("backlash", f"{1000 * _SLACK:g} µm more backlash", slack)


def _moments(machine: Machine) -> Iterator[Disturbance]:
    """The host's answers come a little sooner or later."""
    for shift in _MOMENTS:
        when = f"{1000 * abs(shift):g} ms {'later' if shift > 0 else 'sooner'}"
        moved = replace(machine, host_delay=max(machine.host_delay + shift, 0.0))
        yield Disturbance("moments", f"a host that answers {when}", moved)


def _pulses(machine: Machine) -> Iterator[Disturbance]:
    """The phase of the laser's PWM is not known; nor is it whether its pin flashes where it is lit again."""
    if not machine.light_period:
        return
    for phase, which in ((0.0, "one phase"), (0.5, "the opposite phase")):
        yield Disturbance("pulses", f"single pulses of the laser, at {which}", machine, phase=phase)
    if gcode.dialect(machine.dialect).firmware.unplugs_pin:
        flash = "a pin that flashes where it is lit again"
        yield Disturbance("flashes", flash, machine, phase=0.0, flashes=True)


def disturbed(
    machine: Machine, scene: Scene, program: Callable[[Disturbance], MachineProgram]
) -> Iterator[Variation]:
    """The prints under each disturbance of a machine, as they are computed. program: executed with each."""
    for one in disturbances(machine):
        yield Variation(one.cause, one.change, key_figures(program(one), scene))


def key_figures(program: MachineProgram, scene: Scene) -> KeyFigures:
    """The figures of a program as executed."""
    return KeyFigures.of(Exposure(program, scene).executed)

"""A toolpath, exposed and measured: as its G-code commands, and as the controller executes it.

*Commanded* takes power/feed as written. *Executed* cuts every move into pieces of the speed that
the controller's planner reaches, with the power that it then gives (`gcode.motion`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gcode
from gcode.motion import peak_rate
from laserpath import convert, optics
from laserpath.arrays import Indices
from laserpath.dose import accurate_model
from laserpath.errors import InputError
from laserpath.metrics import DEFOCUS, cure_figures, edge_errors, with_path
from laserpath.quantities import place
from laserpath.results import Edges, Figures, Measurement
from laserpath.types import Design, Machine, Process, Target, Toolpath

EXECUTED_PIECE_FWHM = 0.5
_LAG_STEP = 1e-3
"""s; a lag is followed in steps of a quarter of its time constant, or of this."""
_LISTED = 3
_LOST = 0.05
"""Of the outline or of the area, lost between command and execution: more is warned of."""
_WAY_FWHM = 1 / 4
"""A way to full speed, v²/(2a), so short that braking does not matter: docs/resin.md."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What the controller loses of what is commanded.  mend: what to change, '' where nothing helps."""

    wrong: str
    mend: str

    def __str__(self) -> str:
        return f"{self.wrong}; {self.mend}" if self.mend else self.wrong


@dataclass(frozen=True, slots=True)
class Sent:
    """The G-code of a toolpath. characters: (N,) of each move, line ends included.  lines: of the program."""

    characters: Indices
    lines: int


def measure(
    path: Toolpath, design: Design, target: Target, process: Process, *, sent: Sent | None = None
) -> Measurement:
    """The figures of a toolpath as commanded; what is sent for it sets the time on a slow line."""
    return expose(path, execute(path, process, sent), path, design, target, process, sent)


def measure_executed(
    path: Toolpath, design: Design, target: Target, process: Process, *, sent: Sent | None = None
) -> Measurement:
    """The figures of a toolpath with the speeds and powers that the controller really gives."""
    run = execute(path, process, sent)
    return expose(shone(run, process), run, path, design, target, process, sent)


def execute(path: Toolpath, process: Process, sent: Sent | None = None) -> gcode.motion.Executed:
    """What the controller does with a toolpath, the way from the work zero included."""
    machine = process.machine
    characters = np.full(len(path), gcode.motion.LINE_CHARACTERS) if sent is None else sent.characters
    return gcode.motion.execute(
        convert.to_moves(from_zero(path, machine), machine),
        convert.controller(machine),
        characters=np.concatenate([[0], characters]),
        power_levels=machine.power_levels,
        longest=EXECUTED_PIECE_FWHM * optics.fwhm(process.spot),
    )


def as_executed(path: Toolpath, process: Process, sent: Sent | None = None) -> Toolpath:
    """The toolpath in pieces of the speed and power that the controller really gives."""
    return shone(execute(path, process, sent), process)


def shone(run: gcode.motion.Executed, process: Process) -> Toolpath:
    """Where the spot really shines, with the lag of its mirrors and its laser."""
    moves = gcode.motion.lagged(run.moves(), convert.lag(process.machine), _LAG_STEP)
    return convert.from_moves(moves, process.machine)


def expose(
    exposed: Toolpath,
    run: gcode.motion.Executed,
    path: Toolpath,
    design: Design,
    target: Target,
    process: Process,
    sent: Sent | None,
) -> Measurement:
    """Measure the dose of one toolpath, with the times and lengths of another that is executed as `run`."""
    spot, critical = process.spot, process.resin.critical_dose
    grid = target.grid
    dose = accurate_model(grid, spot).dose(exposed)
    blurred = accurate_model(grid, optics.widened(spot, DEFOCUS)).dose(exposed)
    edges = edge_errors(dose, grid, design, spot, critical)
    if not np.isfinite(dose).all():
        raise InputError("the dose is not finite; the toolpath holds values that cannot be exposed")
    figures = cure_figures(dose, blurred, edges, target, design, spot, critical)
    return Measurement(with_motion(figures, path, run, process, sent), grid, dose, edges)


def missing(edges: Edges, fwhm: float) -> tuple[str, ...]:
    """A sentence if parts of the outline have no printed edge near, with some of the places. fwhm: mm."""
    lost = np.flatnonzero(edges.missing)
    if not len(lost):
        return ()
    some = lost[np.linspace(0, len(lost) - 1, min(len(lost), _LISTED)).astype(np.int64)]
    places = ", ".join(place(xy, fwhm) for xy in edges.xy[some])
    return (
        f"{len(lost)} of {len(edges.epe)} points of the outline have no printed edge near, "
        f"among them {places} mm: features or gaps too fine there, or a curve that leaves them out",
    )


def lost_in_motion(
    commanded: Figures, executed: Figures, path: Toolpath, design: Design, process: Process
) -> Lost | None:
    """How much the controller loses of what is commanded, why, and what to do; None if it is not much."""
    area, samples = design.area.area, max(executed.samples, 1)
    gone = (executed.undercure - commanded.undercure) / area
    if max(gone, (executed.missing_edges - commanded.missing_edges) / samples) <= _LOST:
        return None
    here, there = (f"{100 * figures.undercure / area:.1f} %" for figures in (executed, commanded))
    why, mend = _why_slow(executed, path, process)
    return Lost(
        f"as executed {here} of the area is missing and {executed.missing_edges} of {samples} points of the "
        f"outline have no printed edge near, as commanded {there} and {commanded.missing_edges}: {why}",
        mend,
    )


def _why_slow(figures: Figures, path: Toolpath, process: Process) -> tuple[str, str]:
    """(what slows the head down and what that does to the dose, the speed at which it would not)."""
    machine, spot = process.machine, process.spot
    if not (path.on & (path.length > 0)).any():
        return "nothing of it is lit", ""
    order, fastest = process.resin.order, float(path.speed[path.on].max())
    calm = min(fastest, float(np.sqrt(2 * min(machine.acceleration) * _WAY_FWHM * optics.fwhm(spot))))
    why, instead = "it brakes at bends and ends", "more acceleration (acceleration_mm_per_s2 there)"
    if figures.segment_rate > 1.001 * machine.segment_rate:
        why = f"the link keeps up with {machine.segment_rate:g} of {figures.segment_rate:.0f} moves/s"
        instead = "a faster link (segment_rate_per_s there)"
        calm = min(calm, machine.segment_rate / peak_rate(path.length[path.on], machine.look_ahead))
    dose = "where it is slow its power levels do not follow"
    if order > 1 and gcode.dialect(machine.dialect).dynamic_power:
        dose = f"M4 lowers the power with the speed, so that the dose of {order} photons falls"
    return (
        f"the head is slower than commanded, since {why}, and {dose}",
        f"take {speed_key(calm)} in the machine's profile, or {instead}",
    )


def speed_key(speed: float) -> str:
    """A highest speed, mm/s, as the shipped profiles have it, per minute."""
    return f"speed_max_mm_per_min = {float(f'{60 * speed:.2g}'):g}"


def from_zero(path: Toolpath, machine: Machine) -> Toolpath:
    """The path with a travel from the work zero, where the head stands when the program starts."""
    return Toolpath(
        np.vstack([np.zeros((1, 2)), path.xy]),
        np.concatenate([[0.0], path.power]),
        np.concatenate([[min(machine.rapid_speed)], path.speed]),
    )


def with_motion(
    figures: Figures, path: Toolpath, run: gcode.motion.Executed, process: Process, sent: Sent | None
) -> Figures:
    """The figures of the path, the approach from the work zero included."""
    path = from_zero(path, process.machine)
    motion = gcode.motion.profile(convert.to_moves(path, process.machine), convert.limits(process.machine))
    return with_path(
        figures,
        path.length,
        path.on,
        path.length / path.speed,
        time=run.write_time,
        lines=sent.lines if sent else 0,
        rate=peak_rate(motion.duration / motion.slowing, process.machine.look_ahead),
    )

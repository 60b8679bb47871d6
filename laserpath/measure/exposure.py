"""A program, exposed and measured against its design, as commanded and as executed (`machine.program`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import gcode
from gcode.motion import peak_rate
from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.quantities import place
from laserpath.design.scene import Scene
from laserpath.dose import accurate_model
from laserpath.machine.program import MachineProgram
from laserpath.measure import DEFOCUS, cure_figures, edge_errors
from laserpath.types import Design, Grid, Process, Spot, Toolpath
from laserpath.types.results import Edges, Measurement, MotionFigures

_LISTED = 3
_LOST = 0.05
"""Share of the outline or of the area lost in execution above which a warning says so."""
_WAY_FWHM = 1 / 4
"""A way to full speed, v²/(2a), so short that braking does not matter: docs/resin.md."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What the controller loses of what is commanded.  mend: what to change, '' where nothing helps."""

    wrong: str
    mend: str

    def __str__(self) -> str:
        return f"{self.wrong}; {self.mend}" if self.mend else self.wrong


@dataclass(frozen=True, eq=False)
class Exposure:
    """The dose of a program in a scene, whose spot and resin are those of the program's process."""

    program: MachineProgram
    scene: Scene

    @cached_property
    def commanded(self) -> Measurement:
        """As the program says it."""
        return self.of(*self.program.commanded_parts)

    @cached_property
    def executed(self) -> Measurement:
        """With the speeds and powers that the controller really gives."""
        return self.of(*self.program.executed_parts)

    @property
    def counted(self) -> tuple[Measurement, ...]:
        """What a program is judged by: both, or only what is executed where power does not follow speed."""
        return (self.commanded, self.executed) if self.program.power_follows else (self.executed,)

    @property
    def epe_p95(self) -> float:
        """What 95 % of the edge keep, in FWHM, in all that counts: a tolerance's measure."""
        return max(one.figures.epe_p95 for one in self.counted)

    def of(self, *paths: Toolpath) -> Measurement:
        """The dose of all paths together, measured, with the times and lengths of the program."""
        scene, grid, spot = self.scene, self.scene.grid, self.scene.spot
        dose = _dose(paths, grid, spot)
        defocused = _dose(paths, grid, optics.widened(spot, DEFOCUS))
        edges = edge_errors(dose, scene)
        if not np.isfinite(dose).all():
            raise InputError("the dose is not finite; the toolpath holds values that cannot be exposed")
        figures = cure_figures(dose, defocused, edges, scene)
        return Measurement(figures, self.program.motion, grid, dose, edges)


def _dose(paths: Sequence[Toolpath], grid: Grid, spot: Spot) -> Floats:
    """(rows, columns) mJ/mm², the sum over the paths."""
    model = accurate_model(grid, spot)
    total = model.dose(paths[0])
    for path in paths[1:]:
        total = total + model.dose(path)
    return total


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
    commanded: Measurement, executed: Measurement, path: Toolpath, design: Design, process: Process
) -> Lost | None:
    """How much the controller loses of what is commanded, why, and what to do; None if it is not much."""
    before, after = commanded.figures, executed.figures
    area, samples = design.area.area, max(after.samples, 1)
    gone = (after.undercure - before.undercure) / area
    if max(gone, (after.missing_edges - before.missing_edges) / samples) <= _LOST:
        return None
    here, there = (f"{100 * figures.undercure / area:.1f} %" for figures in (after, before))
    why, mend = _why_slow(executed.motion, path, process)
    return Lost(
        f"as executed {here} of the area is missing and {after.missing_edges} of {samples} points of the "
        f"outline have no printed edge near, as commanded {there} and {before.missing_edges}: {why}",
        mend,
    )


def _why_slow(motion: MotionFigures, path: Toolpath, process: Process) -> tuple[str, str]:
    """(what slows the head down and what that does to the dose, the speed at which it would not)."""
    machine, spot = process.machine, process.spot
    if not (path.on & (path.length > 0)).any():
        return "nothing of it is lit", ""
    order, fastest = process.resin.order, float(path.speed[path.on].max())
    calm = min(fastest, float(np.sqrt(2 * min(machine.acceleration) * _WAY_FWHM * optics.fwhm(spot))))
    why, instead = "it brakes at bends and ends", "more acceleration (acceleration_mm_per_s2 there)"
    if motion.segment_rate > 1.001 * machine.segment_rate:
        why = f"the link keeps up with {machine.segment_rate:g} of {motion.segment_rate:.0f} moves/s"
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

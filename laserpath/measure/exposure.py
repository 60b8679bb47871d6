"""A program, exposed and measured against its design: what it prints, and what it was made to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gcode.motion import peak_rate
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, one_line
from laserpath.base.quantities import place
from laserpath.design.partition import partition_of
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.machine.attenuation import FEW_LEVELS, filter_of, median_level, strength
from laserpath.machine.program import MachineProgram
from laserpath.measure import DEFOCUS, cure_figures, edge_errors
from laserpath.measure.by_field import FieldsMeasured
from laserpath.physics import optics
from laserpath.physics.dose import accurate_model
from laserpath.types import Design, Grid, Machine, Process, Settings, Spot, Toolpath
from laserpath.types.results import Edges, Measurement, MotionFigures

_LISTED = 3
_LOST = 0.05
"""Share of the outline or of the area lost in execution above which there is a warning."""
_FILTER = 0.5
"""Least optical density advised for a laser too strong."""
_WAY_FWHM = 1 / 4
"""Braking distance v²/(2a), in FWHM, up to which braking does not matter (docs/resin.md): a larger value
recommends a higher speed."""
SLOWER = 0.9
"""Recommended speed ÷ fastest written one, above which a slower machine would change little."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A loss in execution. wrong: what is lost, and why.  mend: what to change, '' if nothing helps."""

    wrong: str
    mend: str

    def __str__(self) -> str:
        return f"{self.wrong}; {self.mend}" if self.mend else self.wrong


@dataclass(frozen=True, eq=False)
class Exposure:
    """The dose of a program in a scene, whose spot and resin are those of the program's process.

    target: the path whose dose the program is to give, all passes together; None if that is not known, as of
    a program of another tool.
    """

    program: MachineProgram
    scene: Scene
    target: Toolpath | None = None

    __repr__ = one_line

    @cached_property
    def commanded(self) -> Measurement:
        """The print of the target, with the times and lengths of the program. It is no figure of quality.

        Raises InputError without a target.
        """
        if self.target is None:
            raise InputError("an exposure without a target has no commanded print; give it target")
        return self.of(self.target)

    @cached_property
    def executed(self) -> Measurement:
        """The print with the controller's real speeds and powers; by conversion if the resin has kinetics."""
        return self.printed()

    def printed(self, *, kept: bool = True) -> Measurement:
        """`executed`, anew. kept: whether the dose of a design of several fields is."""
        measured = self.of(*self.program.executed_parts, kept=kept)
        if self.scene.resin.kinetics is None:
            return measured
        from laserpath.measure.conversion import equivalent_dose  # Taichi, which others need not wait for

        dose = equivalent_dose(self.program, self.scene.grid)
        edges, known = edge_errors(dose, self.scene), measured.figures
        figures = replace(
            cure_figures(dose, dose, edges, self.scene),
            pv_band=known.pv_band, pv_defocus=known.pv_defocus, dose_max=known.dose_max,
        )  # fmt: skip
        return replace(
            measured, figures=figures, grid=self.scene.grid, dose=dose, edges=edges, by_dose=measured
        )

    def of(self, *paths: Toolpath, kept: bool = True) -> Measurement:
        """The measured dose of all paths together, with the times and lengths of the program.

        kept: whether the dose of a design of several fields is: it takes much memory.
        """
        scene, grid, spot = self.scene, self.scene.grid, self.scene.spot
        if not partition_of(scene).single:
            return by_fields(paths, scene, kept=kept).printed(scene, self.program.motion)
        dose = _dose(paths, grid, spot)
        defocused = _dose(paths, grid, optics.widened(spot, DEFOCUS))
        edges = edge_errors(dose, scene)
        if not np.isfinite(dose).all():
            raise InputError("the dose is not finite; the toolpath holds values that cannot be exposed")
        figures = cure_figures(dose, defocused, edges, scene)
        return Measurement(figures, self.program.motion, grid, dose, edges)


def by_fields(paths: Sequence[Toolpath], scene: Scene, *, kept: bool) -> FieldsMeasured:
    """The dose of all paths together, in focus and out of it, measured field by field. kept: as of `of`."""
    spots = scene.spot, optics.widened(scene.spot, DEFOCUS)
    return FieldsMeasured.of(paths, scene, spots, searched=1, kept=kept)


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
    """What the controller loses of the commanded print, why, and what to do; None if it is little."""
    before, after = commanded.figures, executed.figures
    area, samples = design.area.area, max(after.samples, 1)
    gone = (after.undercure - before.undercure) / area
    if max(gone, (after.missing_edges - before.missing_edges) / samples) <= _LOST:
        return None
    gone_executed, gone_commanded = (f"{100 * f.undercure / area:.1f} %" for f in (after, before))
    why, mend = _too_strong(path, design, process) or _why_slow(executed.motion, path, process)
    return Lost(
        f"as executed {gone_executed} of the area is missing and {after.missing_edges} of {samples} points "
        f"of the outline have no printed edge near, "
        f"as commanded {gone_commanded} and {before.missing_edges}: {why}",
        mend,
    )


def _too_strong(path: Toolpath, design: Design, process: Process) -> tuple[str, str] | None:
    """(why, advice) if a path as written runs at levels so low that they are too coarse for its energies."""
    machine, level = process.machine, median_level(path, process.machine)
    if level >= FEW_LEVELS:
        return None
    density = max(strength(process, Settings(), design).density, _FILTER)
    return (
        f"half of the path runs at level {level:g} of {machine.power_levels} or below: "
        "the laser is too strong, and its levels are too coarse",
        filter_of(machine, density),
    )


def _why_slow(motion: MotionFigures, path: Toolpath, process: Process) -> tuple[str, str]:
    """(what slows the head down and how that affects the dose, advice that includes a speed)."""
    machine, spot = process.machine, process.spot
    if not (path.on & (path.length > 0)).any():
        return "nothing of it is lit", ""
    order, fastest = process.resin.order, float(path.speed[path.on].max())
    calm = min(fastest, calm_speed(machine, optics.fwhm(spot)))
    why, instead = "it brakes at bends and ends", "more acceleration (acceleration_mm_per_s2 there)"
    carried = convert.segment_rate(machine)
    if motion.segment_rate > 1.001 * carried:
        why = f"the link keeps up with {carried:.0f} of {motion.segment_rate:.0f} moves/s"
        instead = "a faster link (segment_rate_per_s there)"
        calm = min(calm, carried / peak_rate(path.length[path.on], machine.look_ahead))
    if calm >= SLOWER * fastest:
        return "at this speed it hardly brakes, so it is too fine for the machine's steps and levels", ""
    dose = "where it is slow its power levels do not follow"
    if order > 1 and convert.power_follows(machine):
        dose = f"M4 lowers the power with the speed, so the dose of {order} photons falls"
    return (
        f"the head is slower than commanded, since {why}, and {dose}",
        f"take {speed_key(calm)} in the machine's profile, or {instead}",
    )


def calm_speed(machine: Machine, fwhm: float) -> float:
    """The highest speed, mm/s, at which braking moves edges little. fwhm: of the spot, mm."""
    return float(np.sqrt(2 * min(machine.acceleration) * _WAY_FWHM * fwhm))


def speed_key(speed: float) -> str:
    """A highest speed, mm/s, as the profile key in mm/min."""
    return f"speed_max_mm_per_min = {float(f'{60 * speed:.2g}'):g}"

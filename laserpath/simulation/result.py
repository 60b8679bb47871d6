"""The result of a simulation: the exposure as executed, and the best power for the same path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import shapely

import gcode
from laserpath import optics
from laserpath.base.errors import one_line
from laserpath.design.scene import Scene
from laserpath.machine.program import MachineProgram
from laserpath.report import advice
from laserpath.simulation.figures import PathExposure, outline
from laserpath.types import Design, Point, Process, Toolpath
from laserpath.types.results import Edges
from laserpath.types.sensitivity import Sensitivity
from laserpath.volume import CuredDepth


@dataclass(frozen=True, slots=True, eq=False)
class BestExposure:
    """The same path with its dose multiplied by the best `factor`. epe_mean, epe_p95: in FWHM."""

    factor: float
    edges: Edges
    epe_mean: float
    epe_p95: float


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """A program of any tool on one machine and resin, exposed and measured.

    process: with the dialect in which the program was read.  shipped: the program, moved onto its design if
    that was requested.  executed: its exposure.  best: the same, at the best power.
    within: the tolerance on the 95th percentile of |EPE| in FWHM, if one was given.
    head: the program's first comments.  sensitivity: to the machine, and
    depth: to which it cures, if they were computed.
    """

    name: str
    process: Process
    shipped: MachineProgram
    executed: PathExposure
    best: BestExposure | None = None
    within: float | None = None
    warnings: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    sensitivity: Sensitivity | None = None
    depth: CuredDepth | None = None

    __repr__ = one_line

    @property
    def scene(self) -> Scene | None:
        """The design on the exposure's grid."""
        return self.executed.scene

    @property
    def design(self) -> Design | None:
        """The design that the program is compared with, where it was placed."""
        return self.scene.design if self.scene else None

    @property
    def toolpath(self) -> Toolpath:
        """The toolpath as written, in the design's coordinates, mm."""
        return self.shipped.shifted_path

    @property
    def run(self) -> gcode.motion.Executed:
        """The program as the controller executes it, from the work zero."""
        return self.shipped.run

    @property
    def shift(self) -> Point:
        """The translation of the program onto its design, mm."""
        return self.shipped.shift

    @cached_property
    def cured(self) -> shapely.MultiPolygon:
        """The area that cures (of a positive resist: is cleared) as executed, mm; may be empty."""
        return outline(self.executed.dose, self.executed.grid, self.process.resin.critical_dose)

    @property
    def epe_p95(self) -> float:
        """The 95th percentile of |EPE| as executed, in FWHM; NaN without a design."""
        measured = self.executed.measured
        return math.nan if measured is None else measured.figures.epe_p95

    @property
    def within_tolerance(self) -> bool:
        """Whether 95 % of the edge are within the given tolerance, if any."""
        return self.within is None or self.epe_p95 <= self.within

    def as_dict(self) -> dict[str, Any]:
        """The figures, for JSON: plain numbers by name; edges are None without a design."""
        best = self.best
        return {
            "program": self.name,
            "design": self.design.name if self.design else None,
            "within_tolerance": bool(self.within_tolerance),
            "warnings": list(self.warnings),
            "fwhm_mm": optics.fwhm(self.process.spot),
            "shift_mm": list(self.shift),
            "pixel_mm": self.executed.grid.pitch,
            "executed": self.executed.as_dict(),
            "sensitivity": self.sensitivity and advice.sensitivity_as_dict(self.sensitivity, self.process),
            "depth": self.depth and self.depth.as_dict(),
            "best_dose": best and {"factor": best.factor, "epe_mean": best.epe_mean, "epe_p95": best.epe_p95},
        }

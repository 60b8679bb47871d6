"""What a simulation gives back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import shapely

import gcode
from laserpath import optics
from laserpath.base import files
from laserpath.machine.program import MachineProgram
from laserpath.simulation.figures import PathExposure, outline
from laserpath.types import Design, Point, Process, Toolpath
from laserpath.types.results import Edges


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """The same path with all of its dose multiplied by `factor`, the best one. epe_mean, epe_p95: in FWHM."""

    factor: float
    edges: Edges
    epe_mean: float
    epe_p95: float


@dataclass(frozen=True, eq=False)
class Simulation:
    """A program of any tool on one machine and resin, exposed and measured.

    process: with the dialect that the program was read in.  shipped: the program, on its design where it was
    aligned.  executed, commanded: what that exposes.  best: with another power, executed.
    within: the tolerance on the 95th percentile of |EPE| in FWHM, if one was asked for.
    head: the program's first comments.
    """

    name: str
    process: Process
    design: Design | None
    shipped: MachineProgram
    commanded: PathExposure
    executed: PathExposure
    best: Tuned | None = None
    within: float | None = None
    warnings: tuple[str, ...] = ()
    head: tuple[str, ...] = ()

    @property
    def toolpath(self) -> Toolpath:
        """As commanded, mm of the design."""
        return self.shipped.commanded

    @property
    def run(self) -> gcode.motion.Executed:
        """As the controller executes it, from the work zero."""
        return self.shipped.run

    @property
    def shift(self) -> Point:
        """How far the program was moved onto its design, mm."""
        return self.shipped.shift

    @cached_property
    def cured(self) -> shapely.MultiPolygon:
        """What cures (of a positive resist: is cleared) as executed, polygons in mm; may be empty."""
        return outline(self.executed.dose, self.executed.grid, self.process.resin.critical_dose)

    @property
    def epe_p95(self) -> float:
        """What 95 % of the edge keep, in FWHM; as in a plan. NaN without a design."""
        both = [o.measured.figures.epe_p95 for o in self._scored if o.measured is not None]
        return max(both, default=math.nan)

    @property
    def _scored(self) -> tuple[PathExposure, ...]:
        """Where the power does not follow the speed, what is commanded says nothing."""
        return (self.commanded, self.executed) if self.shipped.power_follows else (self.executed,)

    @property
    def within_tolerance(self) -> bool:
        """Whether 95 % of the edge keep the tolerance that was asked for, if any."""
        return self.within is None or self.epe_p95 <= self.within

    def page(self) -> str:
        """The report as the text of one HTML file."""
        from laserpath.simulation.page import page

        return page(self)

    def drawing(self) -> str:
        """What cures, as the text of an SVG file, in the place of the design on its page."""
        from laserpath.simulation.drawing import draw

        return draw(self)

    def write(self, folder: str | Path = ".") -> tuple[Path, ...]:
        """Write NAME.simulation.html and NAME.cured.svg, both or none; return their paths."""
        stem = Path(self.name).stem or "program"
        texts = {"simulation.html": self.page(), "cured.svg": self.drawing()}
        return files.write_all({Path(folder) / f"{stem}.{end}": text for end, text in texts.items()})

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
            "commanded": self.commanded.as_dict(),
            "executed": self.executed.as_dict(),
            "best_dose": best and {"factor": best.factor, "epe_mean": best.epe_mean, "epe_p95": best.epe_p95},
        }

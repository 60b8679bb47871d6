"""The records that a page is made from: an exposed program, its measurement, and the text beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import gcode
from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.measure import inspect
from laserpath.measure.exposure import Lost, lost_in_motion
from laserpath.report.numbers import number
from laserpath.report.track import Track, track
from laserpath.report.worst_places import Place, worst_places
from laserpath.types import Design, Grid, Process, Settings, Toolpath
from laserpath.types.results import Edges, Inspection, Report
from laserpath.types.sensitivity import Sensitivity

_GOOD_FWHM = 0.15
"""Tolerance of the edge, in FWHM, where the user gave none. A larger one lets more plans pass as good."""


@dataclass(frozen=True, slots=True)
class Picture:
    """title: above it.  source: data URI.  text: below it.  alt: for readers who cannot see it."""

    title: str
    source: str
    alt: str
    text: str

    @classmethod
    def from_png(cls, title: str, png: bytes, alt: str, text: str) -> Picture:
        """A PNG file as a picture of the page."""
        return cls(title, "data:image/png;base64," + base64.b64encode(png).decode("ascii"), alt, text)

    @classmethod
    def from_svg(cls, title: str, svg: str, alt: str, text: str) -> Picture:
        """The text of an SVG file as a picture of the page."""
        data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
        return cls(title, "data:image/svg+xml;base64," + data, alt, text)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the table of figures. note: under its title.  figures: as in `Measurement.as_dict`."""

    title: str
    note: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page that is not derived from its figures.

    name: the heading.  subtitle: below it.  header: comment lines of the program.  project: text of the
    laserpath.toml that plans the program again.  headline: the verdict's first line, where no design is
    compared.  answers: (question, answer), after those of the verdict.  columns: further columns of the table
    of figures.  pictures: further pictures, before those of every page.
    sensitivity: to the machine, if it was computed.
    """

    name: str
    subtitle: str = ""
    warnings: Sequence[str] = ()
    header: Sequence[str] = ()
    project: str = ""
    headline: str = ""
    answers: Sequence[tuple[str, str]] = ()
    columns: Sequence[Column] = ()
    pictures: Sequence[Picture] = ()
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True, eq=False)
class ExposedProgram:
    """A program and its dose, with or without the scene of a design to compare it with.

    toolpath: as written.  run: as the controller executes it, from the work zero.
    dose: (rows, columns) mJ/mm² on `grid`, as executed.  scene: on the same grid.
    edges: of the design in this dose, as the verdict counts them.
    """

    toolpath: Toolpath
    run: gcode.motion.Executed
    grid: Grid
    dose: Floats
    process: Process
    scene: Scene | None = None
    edges: Edges | None = None

    @property
    def design(self) -> Design | None:
        """The design to compare the program with."""
        return self.scene.design if self.scene else None

    @cached_property
    def light(self) -> Toolpath:
        """The toolpath with the light of its powers at full feed, mW."""
        return convert.as_light(self.toolpath, self.process.machine)

    @property
    def fwhm(self) -> float:
        """FWHM of the spot that exposes, mm."""
        return optics.fwhm(self.process.spot)

    @cached_property
    def track(self) -> Track:
        """Position and power of the spot over time."""
        return track(self.run, self.process.machine)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """(x0, y0, x1, y1), mm, that a map shows: the design, or else the exposing moves."""
        if self.design is not None:
            return self.design.bounds
        on = self.toolpath.on
        if not on.any():
            x0, x1, y0, y1 = self.grid.extent
            return x0, y0, x1, y1
        lit = np.concatenate([self.toolpath.xy[:-1][on], self.toolpath.xy[1:][on]])
        (x0, y0), (x1, y1) = lit.min(axis=0).tolist(), lit.max(axis=0).tolist()
        return x0, y0, x1, y1


@dataclass(frozen=True, slots=True)
class PageData:
    """The measurement of a program against its design, from which verdict, advice and tables are made.

    toolpath: as written.  settings: None if another tool wrote the program.  loss: (iterations,) history.
    places: the worst ones, the worst first.  inspection: differences between the print and the design.
    """

    report: Report
    design: Design
    toolpath: Toolpath
    process: Process
    settings: Settings | None
    loss: Floats
    places: Sequence[Place]
    inspection: Inspection

    @classmethod
    def of(
        cls,
        report: Report,
        design: Design,
        toolpath: Toolpath,
        process: Process,
        settings: Settings | None = None,
        loss: Floats | None = None,
    ) -> PageData:
        """The data of a measured program; the report's inspection is made here if it has none."""
        executed, fwhm = report.executed, optics.fwhm(process.spot)
        inspection = report.inspection
        if inspection is None:
            inspection = inspect(executed, Scene(design, executed.grid, process.spot, process.resin))
        commanded = None if report.commanded is None else report.commanded.edges
        places = worst_places(inspection.edges or executed.edges, design, fwhm, commanded)
        history = np.zeros(0) if loss is None else loss
        return cls(report, design, toolpath, process, settings, history, places, inspection)

    def exposed(self, run: gcode.motion.Executed) -> ExposedProgram:
        """The program with its dose; run: its execution by the controller."""
        executed, process = self.report.executed, self.process
        scene = Scene(self.design, executed.grid, process.spot, process.resin)
        return ExposedProgram(self.toolpath, run, executed.grid, executed.dose, process, scene, self.edges)

    @property
    def done(self) -> str:
        """The effect of the light on the resin: 'cure' or 'clear'."""
        return "cure" if self.process.resin.tone == "negative" else "clear"

    @property
    def tolerance(self) -> float:
        """Tolerance of 95 % of the edge, FWHM: the one in the settings, or the one that counts as good."""
        return (self.settings and self.settings.max_epe_fwhm) or _GOOD_FWHM

    @property
    def planned(self) -> bool:
        """Whether laserpath planned the program."""
        return self.settings is not None

    @property
    def fwhm(self) -> float:
        """FWHM of the spot that exposes, mm."""
        return optics.fwhm(self.process.spot)

    @property
    def edges(self) -> Edges:
        """The edges as executed; at rounded corners they are measured along the bisector (`Inspection`)."""
        return self.inspection.edges or self.report.executed.edges

    @property
    def lost(self) -> Lost | None:
        """The loss of cured area by the controller, why, and the remedy; None if small, or if not known."""
        report = self.report
        if report.commanded is None:
            return None
        return lost_in_motion(report.commanded, report.executed, self.toolpath, self.design, self.process)

    def micrometres(self, fwhms: float) -> str:
        """A length given in FWHM, as text in µm."""
        return f"{number(fwhms * self.fwhm * 1000, 2)} µm"

"""Exposures without an engine: the dose is the design blurred by a Gaussian spot.

A blurred half-plane is at half its dose on the edge, so at twice the critical dose inside, a straight
edge prints where it is drawn and corners are rounded, as with a real spot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.ndimage import gaussian_filter

import gcode
from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.machine.program import MachineProgram
from laserpath.measure import cure_figures, edge_errors, edges_at, inspect, unprintable
from laserpath.report import PageData
from laserpath.types import Design, Machine, Process, Settings, Toolpath
from laserpath.types.results import Limit, Measurement, MotionFigures, ProcessWindow, Report


@dataclass(frozen=True)
class Job:
    """Everything that a report is made of."""

    report: Report
    design: Design
    toolpath: Toolpath
    process: Process
    settings: Settings
    loss: Floats

    @property
    def page_data(self) -> PageData:
        return PageData.of(self.report, self.design, self.toolpath, self.process, self.settings, self.loss)

    @property
    def run(self) -> gcode.motion.Executed:
        return MachineProgram.of(self.toolpath, self.process).run


STILL = MotionFigures(0.0, 0.0, 0.0, 0.0, 0, 0, 0.0)
"""Of an exposure without a program."""


def exposure(
    design: Design,
    process: Process,
    level: float = 2.0,
    lost: Design | None = None,
    lit: Design | None = None,
) -> Measurement:
    """The measurement of a blurred exposure. level: dose inside in critical doses.

    lost: what is not exposed.  lit: what is exposed instead of the design.
    """
    grid = grid_for(design, process.spot, 6)
    target, critical = rasterise(design, grid), process.resin.critical_dose
    exposed = rasterise(lit, grid).coverage if lit else target.coverage
    if lost:
        exposed = exposed - rasterise(lost, grid).coverage
    width = process.spot.fwhm / 2.355 / grid.pitch
    dose, wide = (gaussian_filter(exposed, k * width) * level * critical for k in (1, 1.15))
    scene = Scene.of(design, target, process.spot, process.resin)
    edges = edge_errors(dose, scene)
    figures = cure_figures(dose, wide, edges, scene)
    return Measurement(figures, STILL, grid, dose, edges)


def with_figures(measured: Measurement, **figures: float) -> Measurement:
    """The measurement with other figures, of print or motion."""
    of_motion = {name: value for name, value in figures.items() if hasattr(measured.motion, name)}
    of_print = {name: value for name, value in figures.items() if name not in of_motion}
    return replace(
        measured, figures=replace(measured.figures, **of_print), motion=replace(measured.motion, **of_motion)
    )


def blurred_limit(design: Design, process: Process, level: float = 2.0) -> Limit:
    """A blurred exposure in the place of the best one: what the spot blurs away is unprintable."""
    made = exposure(design, process, level)
    return Limit(
        xy=np.zeros((1, 2)),
        energy=np.ones(1),
        grid=made.grid,
        dose=made.dose,
        edges=made.edges,
        figures=made.figures,
        loss=np.ones(1),
        unprintable=unprintable(made.dose, Scene(design, made.grid, process.spot, process.resin)),
    )


def window(design: Design, process: Process, level: float) -> ProcessWindow:
    """The process window of a blurred exposure."""
    grid, fwhm, critical = grid_for(design, process.spot, 6), process.spot.fwhm, process.resin.critical_dose
    doses, widths, lit = np.linspace(0.8, 1.2, 9), np.array([1, 1.15, 1.3]), rasterise(design, grid).coverage
    found = [
        edges_at(
            gaussian_filter(lit, width * fwhm / 2.355 / grid.pitch) * level * critical,
            Scene(design, grid, process.spot, process.resin), doses.tolist(),
        )
        for width in widths
    ]  # fmt: skip
    epe = np.array([[edges.epe / fwhm for edges in row] for row in found])
    return ProcessWindow(
        dose=doses,
        width=widths,
        epe_mean=np.abs(epe).mean(axis=2),
        epe_p95=np.percentile(np.abs(epe), 95, axis=2),
        epe_signed=epe.mean(axis=2),
        missing_edges=np.array([[edges.missing.sum() for edges in row] for row in found]),
        samples=epe.shape[2],
    )


def rings(design: Design, machine: Machine, pitch: float = 0.12) -> Toolpath:
    """Rings inside the design, their power swinging along the path; travels between them."""
    xy, power, inset = [np.zeros((1, 2))], [], pitch / 3
    while not (area := design.area.buffer(-inset)).is_empty:
        for polygon in shapely.get_parts(area):
            for ring in (polygon.exterior, *polygon.interiors):
                points = shapely.get_coordinates(ring.segmentize(pitch))
                xy.append(points)
                swing = machine.power_max * (0.5 + 0.3 * np.sin(np.arange(len(points) - 1) / 20))
                power.append(np.concatenate([[0], swing]))
        inset += pitch
    step = machine.power_max / machine.power_levels
    level = np.round(np.concatenate(power) / step) * step
    return Toolpath(np.concatenate(xy), level, np.where(level > 0, 40.0, 100.0))


def with_times(exposed: Measurement, toolpath: Toolpath, slower: float) -> Measurement:
    ideal = float((toolpath.length / toolpath.speed).sum())
    motion = MotionFigures.along(
        toolpath, write_time=slower * ideal, lines=len(toolpath) + 12, segment_rate=123.0
    )
    return replace(exposed, motion=motion)


def make_job(
    design: Design,
    process: Process | None = None,
    settings: Settings | None = None,
    lost: Design | None = None,
    warnings: tuple[str, ...] = (),
) -> Job:
    process, settings = process or Process(), settings or Settings()
    path = rings(design, process.machine)
    start, commanded, executed = (
        with_times(exposure(design, process, level, lost), path, slower)
        for level, slower in ((2.6, 1.31), (2.0, 1.17), (2.07, 1.23))
    )
    loss = 0.2 * np.exp(-np.arange(200) / 20) + 0.03
    inspection = inspect(executed, Scene(design, executed.grid, process.spot, process.resin))
    report = Report(
        executed, start, commanded, warnings, window(design, process, 2.07), inspection=inspection
    )
    return Job(report, design, path, process, settings, loss)

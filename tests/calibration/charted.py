"""A chart as the machine would expose it: its G-code read, executed, spread to a dose, and measured there."""

from __future__ import annotations

import numpy as np
from builders import read

import gcode
from laserpath.base.arrays import Floats
from laserpath.calibration import Chart, Item, Measured
from laserpath.machine import convert
from laserpath.physics.dose import DoseModel
from laserpath.physics.resin import cure_depth
from laserpath.types import Grid, Machine, Process, Toolpath

STEPS = 400


def as_executed(chart: Chart, truth: Machine) -> Toolpath:
    """What the controller shines where, by the text of the program, on the machine as it is."""
    machine = chart.process.machine
    program = gcode.read(
        chart.program, gcode.dialect(machine.dialect), machine.s_max, rapid_speed=min(machine.rapid_speed)
    )
    run = gcode.motion.execute(
        program.moves, convert.controller(truth), characters=program.characters,
        power_levels=truth.power_levels, light=truth.light, longest=chart.process.spot.fwhm,
    )  # fmt: skip
    return convert.from_moves(run.moves(), truth)


def dose_of(path: Toolpath, process: Process, pixels_per_fwhm: float = 4.0) -> tuple[Grid, Floats]:
    """The dose, mJ/mm², on a grid around all that is lit."""
    fwhm = process.spot.fwhm
    lit = np.concatenate([path.xy[:-1][path.on], path.xy[1:][path.on]])
    low, high = lit.min(axis=0) - 6 * fwhm, lit.max(axis=0) + 6 * fwhm
    pitch = fwhm / pixels_per_fwhm
    columns, rows = np.ceil((high - low) / pitch).astype(int)
    grid = Grid((float(low[0]), float(low[1])), pitch, (int(rows), int(columns)))
    # What is dark need not be on the grid.
    return grid, DoseModel(grid, process.spot, precision="f64", tolerance=1e-5).dose(path)


def measured(chart: Chart, truth: Process, e_c: float, depth: float) -> list[Measured]:
    """What a microscope without error would see of all items, in a process that is not the chart's own."""
    grid, dose = dose_of(as_executed(chart, truth.machine), truth)
    return [_look(item, grid, dose, truth, e_c, depth) for item in chart.items]


def _look(item: Item, grid: Grid, dose: Floats, truth: Process, e_c: float, depth: float) -> Measured:
    critical, fwhm = truth.resin.critical_dose, truth.spot.fwhm
    if item.kind == "wedge":
        return _wedge(item, grid, dose, critical)
    across = np.array([0.0, 1.0] if item.along == "x" else [1.0, 0.0])
    at = np.linspace(-4, 4, STEPS + 1) * fwhm
    seen = read(grid, (item.x, item.y) + at[:, None] * across, dose)
    peak = float(seen[STEPS // 2])
    if peak <= critical:
        return Measured(item, visible=False)
    # The part about the middle that is above the threshold.
    below = np.flatnonzero(seen <= critical)
    before, behind = below[below < STEPS // 2], below[below > STEPS // 2]
    if not before.size or not behind.size:
        return Measured(item, visible=True)  # it has run into its neighbours
    left, right = before.max(), behind.min()
    size = _crossing(at, seen, critical, right - 1) - _crossing(at, seen, critical, left)
    deep = float(cure_depth(peak, e_c, depth))
    if item.kind == "dot":
        return Measured(item, diameter=size, depth=deep, visible=True)
    return Measured(item, width=size, depth=deep, visible=True)


def _wedge(item: Item, grid: Grid, dose: Floats, critical: float) -> Measured:
    """From the tip along the middle to where a gap opens."""
    at = np.linspace(0.02, 0.98, STEPS) * item.length
    seen = read(grid, np.stack([item.x + item.length / 2 - at, np.full(STEPS, item.y)], 1), dose)
    open_ = np.flatnonzero(seen <= critical)
    if seen[0] <= critical or not len(open_):
        return Measured(item)
    return Measured(item, merged=_crossing(at, seen, critical, open_[0] - 1), visible=True)


def _crossing(at: Floats, seen: Floats, level: float, k: int) -> float:
    return float(np.interp(level, *zip(*sorted([(seen[k], at[k]), (seen[k + 1], at[k + 1])]), strict=True)))

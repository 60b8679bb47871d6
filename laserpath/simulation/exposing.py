"""The executed path → dose → figures, on a grid that holds the light, all of the cured area and the design.

Where the work zeros differ, the program is first moved onto its design: a translation, no rotation, no scale.

**Level.** Where an edge prints depends on the exposure. Edges are taken at the dose above which the print has
the area of the design: it is then neither too wide nor too narrow.

**Coarse.** Of all shifts s by whole pixels, take the one with the largest overlap ∫ c(x) w(x − s) dx, with c
the cured fraction at that level and w the coverage of the design (one FFT). Shifting changes neither area, so
this shift also has the largest IoU. Where many shifts are equally good, their middle is taken.

**Fine.** An edge at x with normal n is off by ε. If the print is shifted by t and too wide by b all around,
then ε ≈ n·t + b; t follows by least squares over the edges that print. The design is moved by t until t
vanishes.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import shapely
from scipy import ndimage
from scipy.signal import fftconvolve

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.design.scene import Scene
from laserpath.design.target import MARGIN_FWHM, grid_for, rasterise
from laserpath.machine.program import MachineProgram
from laserpath.measure import best_exposure, cured_fraction, edge_errors, edges_at
from laserpath.measure.exposure import Exposure
from laserpath.physics import optics
from laserpath.physics.dose import accurate_model
from laserpath.report.canvas import Box, grown
from laserpath.simulation.result import BestExposure, PathExposure, dose_figures
from laserpath.types import Design, Grid, Point, Resin, Settings, Spot, Target, Toolpath

PIXELS = 1 << 24
"""Pixels above which the grid is made coarser, down to COARSEST pixels per FWHM."""

PIXELS_MAX = 1 << 25
"""Pixels above which a program is refused."""

COARSEST = 3.0
"""Fewest pixels per FWHM. A dose is exact with 2.1; the figures measured in it need a few more."""

_ASTRAY_FWHM = 2.0
"""Distance beyond the design, half of the dark margin, up to which light needs no larger grid."""


def lit_box(*paths: Toolpath) -> Box:
    """The box around the lit moves."""
    ends = [xy[path.on] for path in paths for xy in (path.xy[:-1], path.xy[1:])]
    points = np.concatenate(ends)
    (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return x0, y0, x1, y1


def joined(a: Box, b: Box) -> Box:
    """The box around both boxes."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def within(inner: Box, outer: Box) -> bool:
    """Whether the first box lies in the second."""
    return joined(inner, outer) == outer


def box_of(lit: Box, design: Design | None, spot: Spot) -> Box:
    """The box for the grid: around the design, and around the light where that lies elsewhere."""
    if design is None:
        return lit
    near = grown(design.bounds, _ASTRAY_FWHM * optics.fwhm(spot))
    return design.bounds if within(lit, near) else joined(lit, design.bounds)


def grid_around(box: Box, spot: Spot, pixels_per_fwhm: float, extra: float, name: str) -> Grid:
    """The grid around a box and a dark margin. extra: FWHM beyond the usual margin.

    Raises InputError, which names the content of the grid, for more than PIXELS_MAX pixels.
    """
    fwhm = optics.fwhm(spot)
    rim = max(extra * fwhm, 0.0 if min(box[2] - box[0], box[3] - box[1]) > 0 else 0.5 * fwhm)
    box = grown(box, rim)
    width, height = box[2] - box[0], box[3] - box[1]
    spots = (width / fwhm + 2 * MARGIN_FWHM + 1) * (height / fwhm + 2 * MARGIN_FWHM + 1)
    fine = min(pixels_per_fwhm, max(math.sqrt(PIXELS / spots), min(COARSEST, pixels_per_fwhm)))
    if spots * fine**2 > PIXELS_MAX:
        raise InputError(
            f"{name} reaches over {figure(width, 4)} × {figure(height, 4)} mm: {figure(spots * fine**2, 2)} "
            f"pixels even with {fine:g} across the spot of {fwhm:g} mm, above {figure(PIXELS_MAX, 2)}; "
            "simulate a part of it, or a wider spot"
        )
    return grid_for(Design(shapely.box(*box), "view"), spot, fine)


def rim(dose: Floats) -> float:
    """The largest dose on the outermost pixels."""
    return float(max(dose[0].max(), dose[-1].max(), dose[:, 0].max(), dose[:, -1].max()))


_PIXELS = 1 << 22
"""Pixels of the coarse overlap; with more, the shift is finer and the FFT takes longer."""

_SAME = 2e-3
"""Relative difference up to which overlaps count as equally good."""

_SLOPE = (0.02, 0.9)
"""Lowest and highest level, relative to the largest dose; outside this range edges are ill-defined."""

_STEPS, _SETTLED_FWHM = 8, 1e-4
_FEWEST = 8


def translation(dose: Floats, grid: Grid, design: Design, spot: Spot) -> Point:
    """The translation (x, y) mm that lays a design on its print."""
    level = _level(dose, grid, design)
    return _fine(dose, grid, design, spot, level, np.array(_coarse(dose, grid, design, level)))


def _level(dose: Floats, grid: Grid, design: Design) -> float:
    """The dose above which the area equals the design's, kept within _SLOPE."""
    count = min(round(design.area.area / grid.pixel_area), dose.size - 1)
    level = float(np.partition(dose.ravel(), dose.size - 1 - count)[dose.size - 1 - count])
    low, high = _SLOPE
    return min(max(level, low * float(dose.max())), high * float(dose.max()))


def _coarse(dose: Floats, grid: Grid, design: Design, level: float) -> Point:
    """The translation to about a pixel, from the overlap of all shifts."""
    cured = cured_fraction(dose, level)
    (width, height), (rows, columns) = design.size, grid.shape
    many = (columns + width / grid.pitch) * (rows + height / grid.pitch)
    field, pitch, corner = _blocks(cured, grid, max(1, int(np.ceil(np.sqrt(many / _PIXELS)))))
    target = _raster(design, pitch)
    v, u = _middle_of_best(fftconvolve(field, target.coverage[::-1, ::-1]))
    # Pixel (0, 0) of the full convolution: the last pixel of the design lies on the first of the field.
    last = np.array(target.grid.origin) + pitch * (np.array(target.grid.shape[::-1]) - 1)
    x, y = corner + pitch * np.array([u, v]) - last
    return float(x), float(y)


def _blocks(field: Floats, grid: Grid, times: int) -> tuple[Floats, float, Floats]:
    """(means of times × times pixels, their pitch, centre of the first), padded with zeros."""
    rows, columns = (-(-n // times) * times for n in field.shape)
    whole = np.pad(field, [(0, rows - field.shape[0]), (0, columns - field.shape[1])])
    means = whole.reshape(rows // times, times, columns // times, times).mean(axis=(1, 3))
    return means, grid.pitch * times, np.array(grid.origin) + grid.pitch * (times - 1) / 2


def _raster(design: Design, pitch: float) -> Target:
    """The coverage of the design alone, in pixels of any pitch."""
    x0, y0, x1, y1 = design.bounds
    shape = int((y1 - y0) / pitch) + 2, int((x1 - x0) / pitch) + 2
    return rasterise(design, Grid((x0 + pitch / 4, y0 + pitch / 4), pitch, shape))


def _middle_of_best(overlap: Floats) -> tuple[float, float]:
    """(row, column) of the largest overlap: the middle of the region of equally good ones."""
    best = np.unravel_index(int(np.argmax(overlap)), overlap.shape)
    parts, _ = ndimage.label(overlap >= (1 - _SAME) * overlap[best])
    v, u = ndimage.center_of_mass(parts == parts[best])
    return float(v), float(u)


def _fine(dose: Floats, grid: Grid, design: Design, spot: Spot, level: float, shift: Floats) -> Point:
    """The translation from the edges, by least squares for shift and overexposure."""
    x0, x1, y0, y1 = grid.extent
    for _ in range(_STEPS):
        edges = edge_errors(dose, Scene(design.moved(shift[0], shift[1]), grid, spot, Resin()), level)
        (x, y), used = edges.xy.T, ~edges.missing
        used &= (x > x0) & (x < x1) & (y > y0) & (y < y1)
        if used.sum() < _FEWEST:
            break
        unknowns = np.column_stack([edges.normal[used], np.ones(used.sum())])
        by = np.linalg.lstsq(unknowns, edges.epe[used], rcond=None)[0][:2]
        shift = shift + by
        if np.hypot(*by) < _SETTLED_FWHM * optics.fwhm(spot):
            break
    return float(shift[0]), float(shift[1])


_MARGINS = (6.0, 18.0)
"""FWHM beyond the usual margin, tried in turn while the cured area reaches the grid's rim."""


def shift_onto(design: Design, program: MachineProgram, settings: Settings, name: str) -> Point:
    """The translation that lays a program on its design, mm. name: of the program, for errors."""
    spot = program.process.spot
    grid = grid_around(lit_box(program.executed), spot, settings.pixels_per_fwhm, 0.0, repr(name))
    dose = accurate_model(grid, spot).dose(program.executed)
    x, y = translation(dose, grid, design, spot)
    return -x, -y


def exposure_of(
    program: MachineProgram, design: Design | None, settings: Settings, name: str
) -> PathExposure:
    """The exposure, on a grid that holds all of the cured area if memory allows. name: of the program."""
    critical, spot = program.process.resin.critical_dose, program.process.spot
    box = box_of(lit_box(program.shifted_path, program.executed), design, spot)
    what = f"{name!r} with its design (--align lays one on the other)" if design else repr(name)
    grid = grid_around(box, spot, settings.pixels_per_fwhm, 0.0, what)
    scene = Scene(design, grid, spot, program.process.resin) if design else None
    executed = _exposure(program, scene, grid)
    for extra in _MARGINS:
        if rim(executed.dose) < critical:
            break
        try:
            grid = grid_around(box, spot, settings.pixels_per_fwhm, extra, what)
        except InputError:
            break  # keep the largest grid so far
        scene = replace(scene, grid=grid) if scene else None
        executed = _exposure(program, scene, grid)
    return replace(executed, overflow=rim(executed.dose) >= critical)


def _exposure(program: MachineProgram, scene: Scene | None, grid: Grid) -> PathExposure:
    """The exposure of the executed path, measured in the scene on this grid if there is one."""
    resin = program.process.resin
    if scene is not None:
        measured = Exposure(program, scene).executed
        figures = dose_figures(measured.light, measured.dose, grid, resin)
        return PathExposure(figures, program.motion, grid, measured.dose, measured.light, scene, measured)
    dose = accurate_model(grid, program.process.spot).dose(program.executed)
    if not np.isfinite(dose).all():
        raise InputError("the dose is not finite; the program holds values that cannot be exposed")
    light = dose
    if resin.kinetics is not None:
        from laserpath.measure.conversion import equivalent_dose  # Taichi, which others need not wait for

        dose = equivalent_dose(program, grid)
    return PathExposure(dose_figures(light, dose, grid, resin), program.motion, grid, dose, light)


def at_best_power(executed: PathExposure) -> BestExposure | None:
    """The power at which the same path is most accurate; None without a design, or light along its outline.

    None for a resin with kinetics, too, whose conversion is not scaled by the power.
    """
    scene = executed.scene
    if scene is None or scene.resin.kinetics is not None:
        return None
    try:
        factor = best_exposure(executed.dose, scene)
    except InputError:
        return None
    (edges,) = edges_at(executed.dose, scene, (factor,))
    error = np.abs(edges.epe) / scene.fwhm
    return BestExposure(factor, edges, float(error.mean()), float(np.percentile(error, 95)))

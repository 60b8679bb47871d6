"""The grid of a simulation: around the light and the design, as fine as memory allows."""

from __future__ import annotations

import math

import numpy as np
import shapely

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.design.target import MARGIN_FWHM, grid_for
from laserpath.types import Design, Grid, Spot, Toolpath

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in mm."""

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


def grown(box: Box, by: float) -> Box:
    """The box with its sides moved outwards by `by` mm."""
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


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

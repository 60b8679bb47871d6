"""A cured part as a picture: turned over, so that its lower side is up, and seen from the side.

The part is a volume of `marcher`: its density falls from full to nothing within one voxel around the surface
where D = E_c, and its colour is that of a surface lit from above. Depths are mostly small beside the width,
so they are stretched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.types import Grid
from laserpath.volume.camera import Cameras
from laserpath.volume.depth import CuredDepth
from laserpath.volume.marcher import March, RayMarcher

_ACROSS, _DEEP = 200, 40
"""Voxels across the cured area, and in depth. More show more, and take longer."""
_SHAPE = (340, 560)
"""(rows, columns) of the picture."""
_HIGH = 0.16
"""Stretched depth ÷ width that is aimed at."""
_TURN, _TILT, _VIEW = np.radians(-58), np.radians(38), np.radians(24)
"""Of the camera: round the part, above it, and its field of view."""
_LIGHT = np.array([-0.45, -0.35, 0.82])
_INK = np.array([0.80, 0.52, 0.12])
"""Colour of the part."""
_AMBIENT = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Turned:
    """picture: (rows, columns, 3), 0..1, on white.  stretch: of the depths."""

    picture: Floats
    stretch: float


def turned(cured: CuredDepth) -> Turned:
    """The cured part, turned over. Raises InputError if nothing cures."""
    x, y, above = _sampled(cured)
    largest = float(cured.depth.max())
    step_x, step_z = float(x[1] - x[0]), largest * 1.1 / _DEEP
    width = max(float(x[-1] - x[0]), float(y[-1] - y[0]))
    stretch = _round(max(_HIGH * width / largest, 1.0))
    # Turned over about x: y changes its sign, and the depth points up.
    above = above[:, ::-1]
    pitch = step_x, step_x, step_z * stretch
    origin = float(x[0]), float(-y[-1]), 0.0
    values = _lit(above, pitch)
    values[..., 3] *= 2 / min(pitch)
    middle = np.array([x.mean(), -y.mean(), stretch * largest / 2])
    away = 0.62 * float(np.hypot(x[-1] - x[0], y[-1] - y[0])) / np.tan(_VIEW / 2)
    towards = np.array([np.cos(_TURN) * np.cos(_TILT), np.sin(_TURN) * np.cos(_TILT), np.sin(_TILT)])
    focal = _SHAPE[1] / 2 / np.tan(_VIEW / 2)
    camera = Cameras.looking_at(middle + away * towards, middle, (0, 0, 1), focal, _SHAPE)
    reach = 0.75 * float(np.linalg.norm([x[-1] - x[0], y[-1] - y[0], stretch * largest]))
    near = max(away - reach, 0.0)
    step = 0.5 * min(pitch)
    march = March(
        origin, pitch, step, int(np.ceil(2 * reach / step)), near, jitter=1.0, opacity="clamped"
    )  # fmt: skip
    seen = RayMarcher(march).render(values, camera)[0]
    return Turned(np.clip(seen[..., :3] + (1 - seen[..., 3:]), 0, 1).astype(np.float64), stretch)


def _sampled(cured: CuredDepth) -> tuple[Floats, Floats, Floats]:
    """(x, y, ln(D/E_c) (_DEEP, rows, columns)) around what cures, on at most about _ACROSS pixels."""
    if not cured.depth.max() > 0:
        raise InputError("nothing cures: the largest dose is below the resin's e_c")
    solid = cured.depth > 0
    rows, columns = (np.flatnonzero(solid.any(axis=axis)) for axis in (1, 0))
    block = max(1, int(np.ceil(max(np.ptp(rows), np.ptp(columns)) / _ACROSS)))
    part = tuple(
        slice(max(int(at[0]) - 2 * block, 0), min(int(at[-1]) + 2 * block + 1, n))
        for at, n in zip((rows, columns), solid.shape, strict=True)
    )
    z = (np.arange(_DEEP) + 0.5) * float(cured.depth.max()) * 1.1 / _DEEP
    grid: Grid = cured.grid
    x, y = grid.x()[part[1]], grid.y()[part[0]]
    n, m = (len(one) // block for one in (y, x))
    above = np.empty((_DEEP, n, m))
    for k in range(_DEEP):  # one slice at a time: all at once take as much memory as the full grid's
        layer = cured.above_threshold(z[k : k + 1], (part[0], part[1]))[0, : n * block, : m * block]
        above[k] = layer.reshape(n, block, m, block).mean(axis=(1, 3))
    x, y = (one[: k * block].reshape(k, block).mean(axis=1) for one, k in ((x, m), (y, n)))
    return x, y, above


def _lit(above: Floats, pitch: tuple[float, float, float]) -> Floats:
    """The volume (z, y, x, 4): colour of the lit surface, and 0..1 for the density, from ln(D/E_c)."""
    z, y, x = np.gradient(above, *pitch[::-1])
    slope = np.stack([x, y, z], axis=-1)
    steep = np.maximum(np.linalg.norm(slope, axis=-1), 1e-12)
    light = np.maximum(-(slope @ (_LIGHT / np.linalg.norm(_LIGHT))) / steep, 0)
    values = np.empty((*above.shape, 4))
    values[..., :3] = _INK * (_AMBIENT + (1 - _AMBIENT) * light)[..., None]
    values[..., 3] = np.clip(0.5 + above / (steep * min(pitch)), 0, 1)
    return values


def _round(value: float) -> float:
    """The largest of 1, 2, 5, 10, 20 … that is not above the value."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(one * power for one in (1, 2, 5) if one * power <= value * (1 + 1e-12)))

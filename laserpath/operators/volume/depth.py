"""Light in depth: the dose at the depth z below the resin's surface, how deep it cures, and its picture.

    D(x, y, z) = D_z(x, y) e^(−z/D_p),    cured where D ≥ E_c            (Beer–Lambert; Jacobs, see `resin`)

D_z is the dose of the same path with the spot as wide as it is at z. A spot of known wavelength spreads: the
depth z in a resin of refractive index n defocuses it as z/n in air does (paraxially), so at z its defocus is
that of the spot plus z/n. A negative defocus puts the focus into the resin. Where the width is not known, or
changes by less than 1 % down to the deepest place, D_z is the dose at the surface, and the cured depth has
the closed form z_c = D_p ln(D/E_c).

**The picture** shows the cured part turned over, so that its lower side is up, and seen from the side. It is
a volume of `marcher`: its density falls from full to nothing within one voxel around the surface where D =
E_c, and its colour is that of a surface lit from above. Depths are mostly small beside the width, so they are
stretched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from laserpath.base.arrays import Floats, block_means
from laserpath.base.checks import finite_array
from laserpath.base.errors import InputError, figure, one_line
from laserpath.operators.volume.marcher import Cameras, March, RayMarcher
from laserpath.physics import optics
from laserpath.physics.absorption import Absorption
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Process, Resin, Toolpath

_SLICES = 17
"""Depths at which the dose of a spot that spreads is computed. ln D is linear in between."""
_WIDER = 0.01
"""Relative change of the FWHM below which the spot counts as equally wide at all depths."""
_MOST = 1 << 26
"""Values of all slices (256 MB) above which a spot that spreads is refused."""
_DARK = 1e-9
"""Least dose, in E_c, so that it has a logarithm."""


@dataclass(frozen=True, slots=True, eq=False)
class CuredDepth:
    """What a dose cures in depth. depth: (rows, columns) mm, of the deepest cured place; 0 where none is.

    z: (K,) mm, from 0 down.  excess: (K, rows, columns) float32, ln(D/E_c) without the absorption, so that
    ln(D(z)/E_c) is excess − z/D_p; one slice if the spot is equally wide everywhere.
    widths: FWHM (mm) of the spot at the surface and at the deepest cured place.
    """

    grid: Grid
    resin: Resin
    depth: Floats
    z: Floats
    excess: Floats
    widths: tuple[float, float]

    __repr__ = one_line

    @property
    def deepest(self) -> tuple[int, int]:
        """(row, column) of the largest cured depth."""
        row, column = np.unravel_index(int(np.argmax(self.depth)), self.depth.shape)
        return int(row), int(column)

    @property
    def spreads(self) -> bool:
        """Whether the spot's width changes with the depth."""
        return len(self.z) > 1

    def above_threshold(self, z: Floats, part: tuple[slice, slice] = (slice(None),) * 2) -> Floats:
        """ln(D/E_c) at the depths z (M,) in a part of the grid: (M, rows, columns), at least ln(1e-9)."""
        levels = np.asarray(self.excess[(slice(None), *part)], dtype=np.float64)
        if self.spreads:
            at = np.interp(z, self.z, np.arange(len(self.z)))
            low = np.minimum(at.astype(int), len(self.z) - 2)
            share = (at - low)[:, None, None]
            levels = (1 - share) * levels[low] + share * levels[low + 1]
        return np.maximum(levels - np.asarray(z)[:, None, None] / _d_p(self.resin), np.log(_DARK))

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers by name, for JSON: lengths in mm, volume in mm³."""
        cured = self.depth[self.depth > 0]
        row, column = self.deepest
        return {
            "largest": float(self.depth.max()),
            "at": [float(self.grid.x()[column]), float(self.grid.y()[row])],
            "median": float(np.median(cured)) if cured.size else 0.0,
            "volume": float(self.depth.sum() * self.grid.pixel_area),
            "penetration_depth": _d_p(self.resin),
            "fwhm_at_surface": self.widths[0],
            "fwhm_at_largest": self.widths[1],
        }


def cured_depth(
    path: Toolpath, grid: Grid, dose: Floats, process: Process, index: float = optics.INDEX
) -> CuredDepth:
    """How deep a path cures. dose: (rows, columns) mJ/mm², its dose at the surface, on `grid`.

    path: as executed.  index: refractive index of the resin. Raises InputError for a resin without a working
    curve, a dose that is not finite or not of the grid's shape, and a spot that spreads too far to be
    computed.
    """
    resin, spot = process.resin, process.spot
    check_working_curve(resin)
    if not 1 <= index <= 4:
        raise InputError(f"refractive index is {index:g}, but must be between 1 and 4")
    dose = np.maximum(finite_array(dose, "dose", grid.shape), 0)  # the error of an FFT may be below 0
    surface = Absorption.of(resin).reach(dose, resin.e_c or 1.0)
    bottom = _bottom(path, grid, dose, process)
    below = optics.at_depth(spot, bottom, index)
    widths = optics.fwhm(spot), optics.fwhm(below)
    if not bottom or (abs(widths[1] / widths[0] - 1) < _WIDER and spot.defocus >= 0):
        excess = _excess(dose, resin)[None]
        return CuredDepth(grid, resin, surface, np.zeros(1), excess, widths)
    if dose.size * _SLICES > _MOST:
        raise InputError(
            f"the spot widens from {figure(widths[0])} to {figure(widths[1])} mm down to {figure(bottom)} "
            f"mm, which takes {dose.size * _SLICES} values, but must be at most {_MOST}: take fewer pixels "
            "per FWHM"
        )
    z = np.linspace(0, bottom, _SLICES)
    excess = np.stack([_excess(dose, resin), *(
        _excess(DoseModel(grid, optics.at_depth(spot, one, index)).dose(path), resin) for one in z[1:]
    )])  # fmt: skip
    depth = _crossing(excess - (z / _d_p(resin))[:, None, None], z)
    deepest = optics.at_depth(spot, float(depth.max()), index)
    return CuredDepth(grid, resin, depth, z, excess, (widths[0], optics.fwhm(deepest)))


def check_working_curve(resin: Resin) -> None:
    """Raise InputError unless the resin has a penetration depth."""
    if resin.e_c is None:
        raise InputError(
            f"resin {resin.name!r} has no penetration depth; give its working curve in the profile, "
            "e_c_mJ_per_cm2, penetration_depth_um and layer_um, in place of the critical dose"
        )


def _d_p(resin: Resin) -> float:
    return float(resin.penetration_depth or 0.0)


def _excess(dose: Floats, resin: Resin) -> Floats:
    """ln(D/E_c), or Φ(D) − Φ(E_c) in a resin that bleaches (`physics.absorption`), float32."""
    law = Absorption.of(resin)
    return np.maximum(law.optical(dose) - law.optical(resin.e_c or 1.0), np.log(_DARK)).astype(np.float32)


def _bottom(path: Toolpath, grid: Grid, dose: Floats, process: Process) -> float:
    """A depth (mm) below which nothing cures: that of the largest dose, in focus if that is in the resin."""
    resin, spot = process.resin, process.spot
    largest = float(dose.max(initial=0.0))
    if spot.defocus < 0:
        largest = max(largest, float(DoseModel(grid, replace(spot, defocus=0.0)).dose(path).max()))
    return float(Absorption.of(resin).reach(largest, resin.e_c or 1.0))


def _crossing(above: Floats, z: Floats) -> Floats:
    """The deepest z at which `above` (K, rows, columns), linear between slices, is 0; 0 where it never is."""
    last = len(z) - 1 - np.argmax(above[::-1] >= 0, axis=0)
    last = np.minimum(last, len(z) - 2)
    a, b = (np.take_along_axis(above, one[None], axis=0)[0] for one in (last, last + 1))
    share = np.clip(a / np.where(a > b, a - b, 1.0), 0, 1)
    return np.where((above >= 0).any(axis=0), z[last] + share * (z[last + 1] - z[last]), 0.0)


_ACROSS, _DEEP = 200, 40
"""Voxels across the cured area, and in depth. More show more, and take longer."""
_SHAPE = (340, 560)
"""(rows, columns) of the picture."""
_HIGH = 0.16
"""Stretched depth ÷ width that is aimed at."""
_TURN, _TILT, _VIEW = np.radians(-58), np.radians(38), np.radians(24)
"""Of the camera: round the part, above it, and its field of view."""
_LIGHT = np.array([-0.45, -0.35, 0.82])
"""Towards the lamp."""
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
        above[k] = block_means(layer, block)
    x, y = (one[: k * block].reshape(k, block).mean(axis=1) for one, k in ((x, m), (y, n)))
    return x, y, above


def _lit(above: Floats, pitch: tuple[float, float, float]) -> Floats:
    """The volume (z, y, x, 4): colour of the lit surface, and 0..1 for the density, from ln(D/E_c)."""
    toward, steep = facing(above, pitch)
    light = np.maximum(toward, 0)
    values = np.empty((*above.shape, 4))
    values[..., :3] = _INK * (_AMBIENT + (1 - _AMBIENT) * light)[..., None]
    values[..., 3] = np.clip(0.5 + above / (steep * min(pitch)), 0, 1)
    return values


def facing(field: Floats, pitch: Sequence[float]) -> tuple[Floats, Floats]:
    """(cosine between the lamp's direction and the one in which it falls, |∇field|), each (z, y, x).

    field: (z, y, x), larger inside.  pitch: (x, y, z) mm.
    """
    z, y, x = np.gradient(field, *pitch[::-1])
    slope = np.stack([x, y, z], axis=-1)
    steep = np.maximum(np.linalg.norm(slope, axis=-1), 1e-12)
    return -(slope @ (_LIGHT / np.linalg.norm(_LIGHT))) / steep, steep


def _round(value: float) -> float:
    """The largest of 1, 2, 5, 10, 20 … that is not above the value."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(one * power for one in (1, 2, 5) if one * power <= value * (1 + 1e-12)))

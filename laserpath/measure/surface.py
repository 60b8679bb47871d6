"""The cured part beside the drawn one: distances of their surfaces, and both as voxels, for pictures.

Layers are added from the top one down (`PartCure`).

**Surface.** Of each layer the walls are compared at half of its height, where D_k = (E_k + L_k) e^(−h/2D_p)
of `columns`: at points along the drawn outline, the distance along its normal to where D_k is E_c
(`edges`). Of undersides each pixel counts with the thickness that cures below and that is missing above
it. A wall point stands for its length times h, a pixel for its area; upper sides are where the resin's
surface was, and do not count. `Surface` has the mean, the 95th percentile and the largest of the sizes.

**Voxels.** Both parts are kept as the share of each voxel that is solid, a voxel being some layers or a part
of one high. With A the drawn shares and C the cured ones, smoothed by one voxel, the surfaces there are

    d = (C − A)/|∇A|

apart, outside the drawn part if d > 0: to first order, and so also below the size of a voxel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from laserpath.base.arrays import Bools, Floats, block_means
from laserpath.base.errors import one_line
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.measure.columns import Columns, CuredPart, Curing
from laserpath.measure.edges import edge_errors, judged
from laserpath.physics import optics
from laserpath.physics.absorption import Absorption
from laserpath.types import Design, Process, Resin, Spot

COLUMN_PIXELS = 6.0
"""Pixels per FWHM of the grid of columns: more place seams and walls more finely, in more time."""
_FIRST = 2.0
"""Height of the lowest layer, in layers, above which it is taken for that of the plate, not a thickness."""

_ACROSS, _HIGH = 128, 128
"""Most voxels along x or y, and along z: more show more, and take longer to draw."""
_LEVELS = 4
"""Shares of a pixel in the pictures of layers: 0, 1/4 … 1."""
_PIXELS = 320
"""Most pixels along a picture of a layer."""
_SCENES = 2
"""Areas whose outlines are kept for layers to come: more take more memory."""
_ALIKE = 0.005
"""E_c, by which the light of two layers may differ that have the same walls: a larger one spares time."""
_FAR = 3.0
"""Largest distance d, in voxels: where nothing is drawn near, there is no other."""


@dataclass(frozen=True, slots=True)
class Surface:
    """Sizes of the distance between cured and drawn surface, mm. area: mm², that was compared."""

    mean: float
    p95: float
    largest: float
    area: float

    @classmethod
    def of(cls, sizes: Floats, areas: Floats) -> Surface:
        """Of some places. sizes: (N,) mm.  areas: (N,) mm², that each stands for."""
        total = float(areas.sum())
        if not total > 0:
            return cls(0.0, 0.0, 0.0, 0.0)
        order = np.argsort(sizes)
        at = int(np.searchsorted(np.cumsum(areas[order]), 0.95 * total))
        return cls(
            float((sizes * areas).sum() / total), float(sizes[order[min(at, len(order) - 1)]]),
            float(sizes.max()), total,
        )  # fmt: skip

    def as_dict(self) -> dict[str, float]:
        """Plain numbers by name, for JSON."""
        return {
            "mean_mm": self.mean, "p95_mm": self.p95, "largest_mm": self.largest, "compared_mm2": self.area,
        }  # fmt: skip


class Walls:
    """Adds up the distances of walls, layer by layer."""

    def __init__(self, spot: Spot, resin: Resin) -> None:
        e_c = float(resin.e_c or 1.0)
        self._spot, self._resin = spot, replace(resin, critical_dose=e_c)
        self._absorption = Absorption.of(resin)
        self._scenes: dict[int, Scene] = {}
        empty = np.zeros(0, np.float32)
        self._last: tuple[Design | None, float, Floats, NDArray[np.float32], NDArray[np.float32]] = (
            None, 0.0, np.zeros((0, 0)), empty, empty,
        )  # fmt: skip
        self._sizes: list[NDArray[np.float32]] = []
        self._areas: list[NDArray[np.float32]] = []

    def add(self, drawn: Design, columns: Columns, k: int, at_top: Floats) -> None:
        """Layer k. at_top: (rows, columns) mJ/mm², E + L at its top.

        A layer as thick as the one before, of the same area and, but for `_ALIKE`, the same light, has the
        same walls.
        """
        thick = float(columns.thickness[k])
        most = _ALIKE * self._resin.critical_dose
        alike = self._last[0] is drawn and self._last[1] == thick
        if not alike or np.abs(at_top - self._last[2]).max() > most:
            scene = self._scenes.get(id(drawn))
            if scene is None:
                while len(self._scenes) >= _SCENES:
                    self._scenes.pop(next(iter(self._scenes)))
                scene = self._scenes[id(drawn)] = Scene(drawn, columns.grid, self._spot, self._resin)
            dose = self._absorption.below(at_top, thick / 2)
            edges = judged(edge_errors(dose, scene), dose, scene)
            length = drawn.area.length / max(len(edges.epe), 1)
            sizes = np.abs(edges.epe).astype(np.float32)
            self._last = drawn, thick, at_top, sizes, np.full(len(edges.epe), length, np.float32)
        *_, sizes, lengths = self._last
        if self._sizes and self._sizes[-1] is sizes:
            self._areas[-1] = self._areas[-1] + thick * lengths
        else:
            self._sizes.append(sizes)
            self._areas.append(thick * lengths)

    def with_undersides(self, depths: Sequence[Floats], pixel_area: float) -> Surface:
        """The figures of walls and undersides. depths: mm, of pixels of these."""
        sizes = [*self._sizes, *depths]
        areas = [*self._areas, *(np.full(len(one), pixel_area) for one in depths)]
        return Surface.of(np.concatenate([np.zeros(0), *sizes]), np.concatenate([np.zeros(0), *areas]))


@dataclass(frozen=True, slots=True, eq=False)
class Voxels:
    """A part as it is drawn, and as it cures. drawn, cured: (z, y, x) float32, the solid share of voxels.

    origin: (x, y, z) mm, centre of the first voxel.  pitch: (x, y, z) mm.
    layers: pictures of different layers, (rows, columns) of 25 a + 5 b + c, with a, b, c = 0 … 4 quarters of
    a pixel that is right, missing, too much.  picture_of: (K,) index in `layers`.  corner: (x, y) mm of their
    first pixel's lower left corner.  pixel: mm, their width.
    """

    drawn: NDArray[np.float32]
    cured: NDArray[np.float32]
    origin: tuple[float, float, float]
    pitch: tuple[float, float, float]
    layers: tuple[NDArray[np.uint8], ...]
    picture_of: tuple[int, ...]
    corner: tuple[float, float]
    pixel: float

    __repr__ = one_line

    @property
    def apart(self) -> Floats:
        """(z, y, x) mm, d of the module's docstring, of at most `_FAR` voxels."""
        drawn, cured = (
            ndimage.gaussian_filter(one.astype(np.float64), 1.0) for one in (self.drawn, self.cured)
        )
        slopes = np.gradient(drawn, *self.pitch[::-1]) if min(drawn.shape) > 1 else [np.zeros(drawn.shape)]
        steep = np.sqrt(sum(one**2 for one in slopes))
        most = _FAR * max(self.pitch)
        distance = (cured - drawn) / np.maximum(steep, 1e-3 / max(self.pitch))
        return np.clip(distance, -most, most)


class Filling:
    """Makes a `Voxels`, layer by layer from the top down."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        count, shape = len(columns.solid), columns.grid.shape
        self._block = max(1, -(-max(shape) // _ACROSS))
        self._fine = max(1, -(-max(shape) // _PIXELS))
        self._together = -(-count // _HIGH)
        thick = float(np.median(columns.thickness))
        across = self._block * columns.grid.pitch
        self._slices = 1 if self._together > 1 else max(1, min(round(thick / across), _HIGH // count))
        high = -(-count // self._together) * self._slices
        size = (high, *(-(-n // self._block) for n in shape))
        self._drawn, self._cured = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self._layers: dict[bytes, int] = {}
        self._pictures: list[NDArray[np.uint8]] = []
        self._picture_of: list[int] = []

    def add(self, k: int, cured: Floats) -> None:
        """Layer k. cured: (rows, columns) mm, of its upper part that is solid."""
        columns, thick = self._columns, float(self._columns.thickness[k])
        share, solid = cured / thick, columns.solid[k]
        self._picture(solid, share >= 0.5)
        filled = block_means(solid, self._block)
        if self._together > 1:
            self._drawn[k // self._together] += filled / self._together
            self._cured[k // self._together] += block_means(share, self._block) / self._together
            return
        n = self._slices
        for part in range(n):  # from the top of the layer down
            level = k * n + n - 1 - part
            self._drawn[level] = filled
            self._cured[level] = block_means(np.clip(share * n - part, 0, 1), self._block)

    def _picture(self, drawn: Bools, cured: Bools) -> None:
        quarters = [
            np.rint(_LEVELS * block_means(one, self._fine)).astype(np.uint8)
            for one in (drawn & cured, drawn & ~cured, cured & ~drawn)
        ]
        made = 25 * quarters[0] + 5 * quarters[1] + quarters[2]
        number = self._layers.setdefault(made.tobytes(), len(self._pictures))
        if number == len(self._pictures):
            self._pictures.append(made)
        self._picture_of.append(number)

    def result(self) -> Voxels:
        """The shape, after the lowest layer."""
        columns, grid = self._columns, self._columns.grid
        across = self._block * grid.pitch
        high = float(columns.thickness.sum()) / (len(columns.solid) / self._together * self._slices)
        x, y = (grid.origin[axis] + (self._block - 1) / 2 * grid.pitch for axis in (0, 1))
        return Voxels(
            self._drawn, self._cured, (x, y, high / 2), (across, across, high), tuple(self._pictures),
            tuple(reversed(self._picture_of)),
            (grid.origin[0] - grid.pitch / 2, grid.origin[1] - grid.pitch / 2), self._fine * grid.pitch,
        )  # fmt: skip


def thickness_of(z: Sequence[float]) -> Floats:
    """(K,) mm, of the layers; the lowest is as thick as the next one if it is at z 0, or far above it."""
    each = np.diff(z, prepend=0.0)
    usual = float(np.median(each[1:] if len(each) > 1 else each))
    return np.append(each[0] if 0 < each[0] <= _FIRST * usual else usual, each[1:])


def columns_of(whole: Design, drawn: Sequence[Design], process: Process, thickness: Floats) -> Columns:
    """The columns of a part. whole: what all layers expose, on the machine.  thickness: (K,) mm.

    drawn: (K,) areas of the layers, lowest first; equal layers are best the same object.
    """
    grid = grid_for(whole, process.spot, COLUMN_PIXELS)
    each = {id(one): one for one in drawn}
    inside = {key: rasterise(one, grid).coverage >= 0.5 for key, one in each.items()}
    return Columns.of(grid, [inside[id(one)] for one in drawn], thickness, optics.fwhm(process.spot))


@dataclass(frozen=True, slots=True, eq=False)
class PartCure:
    """What some doses of the layers cure, and the walls of that."""

    columns: Columns
    curing: Curing
    walls: Walls

    @classmethod
    def of(cls, columns: Columns, process: Process) -> PartCure:
        """Nothing yet."""
        return cls(columns, Curing(columns, process.resin, process.spot), Walls(process.spot, process.resin))

    def add(self, drawn: Design, k: int, dose: Floats) -> Floats:
        """Layer k, from the top down, and what of it cures, mm."""
        self.walls.add(drawn, self.columns, k, np.maximum(dose, 0) + self.curing.light)
        return self.curing.add(dose)

    def result(self) -> tuple[CuredPart, Surface]:
        """The part, and its surface."""
        part = self.curing.result()
        return part, self.walls.with_undersides(self.curing.undersides, self.columns.grid.pixel_area)

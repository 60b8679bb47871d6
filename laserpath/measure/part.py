"""What the light of a part's layers cures: columns, walls and shape together, from the top layer down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.design.target import grid_for, rasterise
from laserpath.measure.columns import Columns, CuredPart, Curing
from laserpath.measure.surface import Surface, Walls
from laserpath.physics import optics
from laserpath.types import Design, Process

COLUMN_PIXELS = 6.0
"""Pixels per FWHM of the grid of columns: more place seams and walls more finely, in more time."""
_FIRST = 2.0
"""Height of the lowest layer, in layers, above which it is taken for that of the plate, not a thickness."""


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

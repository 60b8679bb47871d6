"""Surface distances of parts whose surfaces are known, and the voxels of pictures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

from laserpath.measure.columns import Columns, Curing
from laserpath.measure.surface import Filling, Surface, Walls
from laserpath.types import Design, Grid, Resin, Spot

D_P, E_C, H = 0.1, 0.085, 0.05
RESIN = Resin(critical_dose=E_C * math.exp(H / D_P), e_c=E_C, penetration_depth=D_P)
GRID = Grid((0.0, 0.0), 0.02, (60, 80))
X, Y = np.meshgrid(GRID.x(), GRID.y())
BLOCK = shapely.box(0.3, 0.3, 1.1, 0.9)


def test_a_wall_that_is_moved_is_as_far_off() -> None:
    """A dose that falls to E_c at half of the layer 30 µm beyond all walls but near corners."""
    distance = np.max([0.3 - X, X - 1.1, 0.3 - Y, Y - 0.9], axis=0)
    dose = E_C * math.exp(H / 2 / D_P) * np.exp((0.03 - distance) / 0.05)
    solid = [distance < 0]
    columns = Columns.of(GRID, solid, np.full(1, H), fwhm=0.1)
    walls = Walls(Spot(0.1), RESIN)
    walls.add(Design(BLOCK), columns, 0, dose)
    found = walls.with_undersides([], GRID.pixel_area)
    assert found.mean == pytest.approx(0.03, abs=0.003)
    assert found.p95 == pytest.approx(0.03, abs=0.005)
    assert found.area == pytest.approx(BLOCK.length * H)


def test_layers_of_one_area_have_the_walls_of_their_own_light() -> None:
    """Those that share a program, too: the light from above is another one near the top."""
    distance = np.max([0.3 - X, X - 1.1, 0.3 - Y, Y - 0.9], axis=0)

    def dose(by: float) -> np.ndarray:
        return E_C * math.exp(H / 2 / D_P) * np.exp((by - distance) / 0.05)

    columns = Columns.of(GRID, [distance < 0] * 3, np.full(3, H), fwhm=0.1)
    walls, block = Walls(Spot(0.1), RESIN), Design(BLOCK)
    for k, by in ((2, 0.0), (1, 0.03), (0, 0.03)):
        walls.add(block, columns, k, dose(by))
    found = walls.with_undersides([], GRID.pixel_area)
    assert found.mean == pytest.approx(2 * 0.03 / 3, abs=0.003)
    assert found.area == pytest.approx(3 * BLOCK.length * H)


def test_layers_that_are_not_as_thick_have_walls_of_their_own() -> None:
    """The dose at half height is another one, though the light at the top is the same."""
    distance = np.max([0.3 - X, X - 1.1, 0.3 - Y, Y - 0.9], axis=0)
    dose = E_C * math.exp(H / 2 / D_P) * np.exp(-distance / 0.05)
    thick = np.array([3 * H, H])
    columns = Columns.of(GRID, [distance < 0] * 2, thick, fwhm=0.1)
    walls, block = Walls(Spot(0.1), RESIN), Design(BLOCK)
    for k in (1, 0):
        walls.add(block, columns, k, dose)
    found = walls.with_undersides([], GRID.pixel_area)
    # 3 H, at its half height, is H farther down: 0.05 mm · H/D_p further in.
    assert found.mean == pytest.approx(0.75 * 0.05 * H / D_P, abs=0.003)


def test_an_underside_is_off_by_what_cures_below_and_what_is_missing_above() -> None:
    """Layers that each just cure themselves print through by D_p ln Σ e^(−j h/D_p)."""
    leg, top = X < 0.4, X < 5
    solid = [leg] * 8 + [top] * 6
    curing = Curing(Columns.of(GRID, solid, np.full(14, H), fwhm=0.1), RESIN)
    for one in reversed(solid):
        curing.add(np.where(one, RESIN.critical_dose, 0.0))
    (overhang,) = curing.result().overhangs
    off = np.concatenate(curing.undersides)
    through = D_P * math.log(sum(math.exp(-j * H / D_P) for j in range(6)))
    assert off == pytest.approx(through, rel=1e-5)
    assert len(off) * GRID.pixel_area == pytest.approx(overhang.area)


def test_figures_weigh_places_by_their_area() -> None:
    found = Surface.of(np.array([0.0, 0.01, 0.1]), np.array([9.0, 9.0, 1.0]))
    assert (found.mean, found.largest) == (pytest.approx(0.19 / 19), 0.1)
    assert found.p95 == 0.1
    assert Surface.of(np.zeros(0), np.zeros(0)).mean == 0.0


def test_voxels_have_the_volume_of_the_part_and_know_how_far_walls_are_apart() -> None:
    """A block that cures a pixel too wide at all sides."""
    drawn = (np.abs(X - 0.8) < 0.3) & (np.abs(Y - 0.6) < 0.3)
    wide = (np.abs(X - 0.8) < 0.32) & (np.abs(Y - 0.6) < 0.32)
    columns = Columns.of(GRID, [drawn] * 12, np.full(12, H), fwhm=0.1)
    filling = Filling(columns)
    for k in reversed(range(12)):
        filling.add(k, np.where(wide, H, 0.0))
    shape = filling.result()
    voxel = float(np.prod(shape.pitch))
    assert shape.drawn.sum() * voxel == pytest.approx(drawn.sum() * GRID.pixel_area * 12 * H)
    assert shape.cured.sum() * voxel == pytest.approx(wide.sum() * GRID.pixel_area * 12 * H)
    assert shape.picture_of == (0,) * 12
    middle = shape.apart[shape.apart.shape[0] // 2, 30]
    wall = np.flatnonzero((shape.drawn[len(shape.drawn) // 2, 30] > 0).astype(int))[0]
    assert middle[wall] == pytest.approx(0.02, abs=0.007)
    assert abs(middle[40]) < 1e-3

"""Arrays of overlapping flashes have the area of the same flashes united one by one."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from sets import one_fast

from laserpath.design.gerber import paint
from laserpath.design.gerber.apertures import disc, rectangle
from laserpath.design.gerber.paint import blocks


def _at(area: shapely.Geometry, points: np.ndarray) -> list[shapely.Geometry]:
    return [shapely.transform(area, lambda xy, point=point: xy + point) for point in points]


def _grid(columns: int, rows: int, x: float, y: float) -> np.ndarray:
    return np.array([(-3.7 + i * x, 12.3 + j * y) for i in range(columns) for j in range(rows)])


AREAS = {
    "overlapping": (disc(0.12, (0, 0), 0.002), 0.1, 0.1),
    "in rows": (disc(0.12, (0, 0), 0.002), 0.1, 0.3),
    "abutting": (rectangle(0.1, 0.3, (0.02, 0)), 0.1, 0.1),
}


@pytest.mark.parametrize("name", one_fast(AREAS, "abutting"))
def test_an_array_with_gaps_keeps_its_area(name: str) -> None:
    area, x, y = AREAS[name]
    points = _grid(40, 40, x, y)
    points = points[np.random.default_rng(3).permutation(len(points))]
    points = points[np.hypot(*(points - points[0]).T) > 5 * x]
    made = blocks(area, points)
    assert sum(len(shifts) for _, shifts in made) < len(points) / 10
    pieces = [piece for one, shifts in made for piece in _at(one, shifts)]
    expected = shapely.union_all(_at(area, points), grid_size=1e-10)
    found = shapely.union_all(pieces, grid_size=1e-10)
    assert found.area == pytest.approx(expected.area, rel=1e-9)
    assert found.symmetric_difference(expected, grid_size=1e-10).area < 1e-8 * expected.area


@pytest.mark.parametrize("case", ["few", "apart", "irregular", "random gaps"])
def test_other_flashes_stay_as_they_are(case: str) -> None:
    rng = np.random.default_rng(4)
    points = _grid(40, 40, 0.1, 0.1)
    points = {
        "few": points[: paint.LEAST - 1],
        "apart": points * 2,
        "irregular": rng.uniform(0, 4, (1600, 2)),
        "random gaps": points[rng.random(len(points)) < 0.8],
    }[case]
    area = disc(0.12, (0, 0), 0.002)
    ((same, where),) = blocks(area, points)
    assert same is area and where is points

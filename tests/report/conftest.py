"""A design with something of everything, and a report's worth of exposures of it."""

from __future__ import annotations

import pytest
import shapely
from exposures import Job, make_job
from shapes import NODING

from laserpath.types import Design


@pytest.fixture(scope="session")
def design() -> Design:
    """Four mm wide: corners, a round hole, a slit and a bar narrower than the spot."""
    plate = shapely.box(1, 1, 5, 4).difference(shapely.Point(2.3, 2.3).buffer(0.7), grid_size=NODING)
    plate = plate.difference(shapely.box(3.6, 1.5, 3.66, 3.0), grid_size=NODING)
    bar = shapely.box(5.3, 1.2, 5.35, 3.5)
    return Design(shapely.MultiPolygon([plate, bar]), "plate", page=(0, 0, 6, 5))


@pytest.fixture(scope="session")
def job(design: Design) -> Job:
    return make_job(design, warnings=("the bar at (5.3, 1.2) mm is narrower than half the spot",))

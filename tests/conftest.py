"""For all tests: the same hypothesis examples on every run of the CI, and no deadline on slow machines.

Geometry has no operators there: `a - b` has no grid, and is wrong by whole areas where edges almost meet.
"""

from __future__ import annotations

import os
from typing import NoReturn

from hypothesis import settings
from shapely.geometry.base import BaseGeometry

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def _refuse(one: object, other: object) -> NoReturn:
    raise AssertionError("an operator on geometry has no grid: use laserpath.overlay, in tests shapes.py")


for _operator in ("__and__", "__or__", "__sub__", "__xor__"):
    setattr(BaseGeometry, _operator, _refuse)

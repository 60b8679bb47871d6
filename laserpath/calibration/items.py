"""The items of a chart, and their measurements.

A line, a dot and a wedge are straight strokes at one power and one speed; a dot is a stroke shorter than the
spot, so that controllers that are dark at a standstill can write it too. A wedge is two strokes that meet in
a tip. Lengths in mm, powers in mW, speeds in mm/s.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from laserpath.base.checks import positive
from laserpath.base.errors import InputError, one_line
from laserpath.calibration.levels import Levels

KINDS = ("line", "dot", "wedge")
SIZES = ("width", "depth", "diameter", "merged")
"""The sizes that may be measured of an item, mm. width: of a line.  depth, or height: of a line or a dot.
diameter: of a dot, across its stroke.  merged: distance from the tip where the lines of a wedge are one."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to measure. x, y: its middle.  along: 'x' or 'y', the direction of writing.

    length: of the stroke; of a wedge, from its tip to its open end.  gap: between the middles of a wedge's
    lines at that end; 0 elsewhere.  level: that was commanded, if known; power is its light.
    """

    id: str
    kind: str
    power: float
    speed: float
    length: float = 0.0
    x: float = 0.0
    y: float = 0.0
    along: str = "x"
    gap: float = 0.0
    level: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind {self.kind!r} is unknown; known: {', '.join(KINDS)}")
        if self.along not in ("x", "y"):
            raise InputError(f"along is {self.along!r}, but must be x or y")
        positive(self, "power", "speed")
        if self.level is not None and self.level < 1:
            raise InputError(f"level is {self.level}, but must be at least 1")
        if self.kind != "line":
            positive(self, "length")
        if self.kind == "wedge":
            positive(self, "gap")

    @property
    def line_energy(self) -> float:
        """Power ÷ speed, mJ/mm."""
        return self.power / self.speed

    @property
    def time(self) -> float:
        """Duration of the whole stroke, s."""
        return self.length / self.speed


@dataclass(frozen=True, slots=True)
class Measured:
    """An item and its measured sizes, mm; None: not measured. visible: None: not reported.

    planned: the width or diameter that the chart was laid out with.
    """

    item: Item
    width: float | None = None
    depth: float | None = None
    diameter: float | None = None
    merged: float | None = None
    visible: bool | None = None
    planned: float | None = None

    def __post_init__(self) -> None:
        where = f"item {self.item.id!r}"
        own = {"line": ("width", "depth"), "dot": ("diameter", "depth"), "wedge": ("merged",)}[self.item.kind]
        for name in SIZES:
            size = getattr(self, name)
            if size is None:
                continue
            if name not in own:
                raise InputError(f"{where} is a {self.item.kind}, which has no {name}")
            if not (np.isfinite(size) and size > 0):
                raise InputError(f"{where} has a {name} of {size * 1000:g} µm, but it must be above 0")
            if self.visible is False:
                raise InputError(f"{where} is not visible, but has a {name}")
        if self.merged is not None and self.merged >= self.item.length:
            raise InputError(
                f"{where} has a merged length of {self.merged * 1000:g} µm, but the wedge is "
                f"{self.item.length * 1000:g} µm long"
            )


@dataclass(frozen=True, slots=True)
class Measurements:
    """All items with their measurements. order: photons that the resin absorbs at once.

    levels: that the items were written with; None if unknown, and then no offset of the light is fitted.
    """

    rows: tuple[Measured, ...]
    order: int = 1
    levels: Levels | None = None

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        if self.rows:
            name, count = Counter(row.item.id for row in self.rows).most_common(1)[0]
            if count > 1:
                raise InputError(f"item {name!r} is there {count} times, but an id may be there once")
            most = max(row.item.level or 0 for row in self.rows)
            if self.levels is not None and most > self.levels.count:
                raise InputError(f"level {most} is above power_levels {self.levels.count}")

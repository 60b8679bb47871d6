"""How a design file is read: what of it, and how exactly. Each format heeds what applies to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from laserpath.base.checks import between, positive
from laserpath.base.errors import InputError
from laserpath.base.quantities import LENGTH, quoted

FLATTEN_FWHM = 1 / 50
"""How far a flattened curve of the design may be from the true one."""


@dataclass(frozen=True, slots=True)
class Black:
    """What black stands for: a dose, mJ/mm², or a height, mm."""

    dose: float | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        if (self.dose is None) == (self.height is None):
            raise InputError("black stands for a dose or for a height; give one of them")
        positive(self, "dose" if self.height is None else "height")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader is told.

    tolerance: largest distance in mm between a curve of the file and its polygon, after all of the file's
    transforms.  layers: names of those that count, of GDSII and OASIS "layer/datatype"; none: all that show.
    cell: of GDSII and OASIS, the one to read; None: the only one that no other places.
    unit: a key of `quantities.LENGTH`, of a file that names none; None: what its format takes for granted.
    pixel: mm, of an image; None: what it says itself.  threshold: ink from which a pixel counts, 0 paper to
    1 black.  grey: what black stands for, where the greys of an image are wanted as they are.
    line_width: mm on the part, of a drawing's lines that have none and close to no outline; None: they have
    no area.  grown: the factor by which all that is read will grow before it is the part.
    """

    tolerance: float
    layers: tuple[str, ...] = ()
    cell: str | None = None
    unit: str | None = None
    pixel: float | None = None
    threshold: float = 0.5
    grey: Black | None = None
    line_width: float | None = None
    grown: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tolerance) and self.tolerance > 0):
            raise InputError(f"flattening tolerance is {self.tolerance} mm, but must be above 0 mm")
        for name in ("pixel", "line_width"):
            if getattr(self, name) is not None:
                positive(self, name)
        between(self, threshold=(0.01, 0.99))
        if self.unit is not None and self.unit not in LENGTH:
            raise InputError(f"unit {self.unit!r} is unknown; known: {', '.join(LENGTH)}")

    @property
    def hairline(self) -> float:
        """How wide lines are drawn where there is nothing else: the spot's FWHM, mm on the part."""
        return self.tolerance * self.grown / FLATTEN_FWHM

    def recipe(self) -> Iterator[str]:
        """The lines of a project file that say the same."""
        if self.layers:
            yield f"layer = [{', '.join(quoted(layer) for layer in self.layers)}]"
        for name in ("cell", "unit"):
            if getattr(self, name) is not None:
                yield f"{name} = {quoted(getattr(self, name))}"
        for name in ("pixel", "line_width"):
            if getattr(self, name) is not None:
                yield f"{name} = {getattr(self, name):.12g}"
        if self.threshold != 0.5:
            yield f"threshold = {self.threshold:.12g}"
        if self.grey is not None and self.grey.height is not None:
            yield f'grey = "{self.grey.height:.12g}mm"'
        elif self.grey is not None:
            yield f'grey = "{self.grey.dose:.12g}mJ/mm2"'

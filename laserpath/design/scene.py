"""A scene: a design on its grid, with the spot and the resin that it is to be printed with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from laserpath import optics
from laserpath.base.errors import one_line
from laserpath.design.contour import Samples, contour_samples
from laserpath.design.sampling import Sampler
from laserpath.design.target import grid_for, rasterise
from laserpath.types import Design, Grid, Resin, Spot, Target


@dataclass(frozen=True, eq=False)
class Outline:
    """The samples of a design's outline, taken once. fwhm: mm."""

    design: Design
    fwhm: float

    @cached_property
    def samples(self) -> Samples:
        """Every FWHM/4 along it (`contour`)."""
        return contour_samples(self.design, self.fwhm)


@dataclass(frozen=True, eq=False)
class Scene:
    """A design on its grid, with the spot and the resin that it is to be printed with.

    outline: made from the design and the spot. `replace(scene, grid=…)` keeps its samples, and computes the
    target anew when first asked for.
    """

    design: Design
    grid: Grid
    spot: Spot
    resin: Resin
    outline: Outline = field(default=None, repr=False)  # type: ignore[assignment]

    __repr__ = one_line

    def __post_init__(self) -> None:
        fwhm, outline = optics.fwhm(self.spot), self.outline
        if outline is None or outline.design is not self.design or outline.fwhm != fwhm:
            object.__setattr__(self, "outline", Outline(self.design, fwhm))

    @classmethod
    def around(cls, design: Design, spot: Spot, resin: Resin, pixels_per_fwhm: float) -> Scene:
        """The design on a grid of its own; raises InputError where that needs too many pixels."""
        return cls(design, grid_for(design, spot, pixels_per_fwhm), spot, resin)

    @classmethod
    def of(cls, design: Design, target: Target, spot: Spot, resin: Resin) -> Scene:
        """The scene of a target that is known already."""
        scene = cls(design, target.grid, spot, resin)
        scene.__dict__["target"] = target  # where `cached_property` keeps it
        return scene

    @cached_property
    def target(self) -> Target:
        """The target coverage of each pixel; raises InputError if the design extends beyond the grid."""
        return rasterise(self.design, self.grid)

    @property
    def samples(self) -> Samples:
        """Points along the outline."""
        return self.outline.samples

    @cached_property
    def sampler(self) -> Sampler:
        """Reads a dose u at the samples, and its outward slope F ∂u/∂n there."""
        return Sampler.of(self.grid, self.samples.xy, self.samples.normal * self.fwhm)

    @cached_property
    def depth(self) -> NDArray[np.float32]:
        """(rows, columns) FWHM, distance of each pixel from those beyond the outline: > 0 inside."""
        solid = self.target.coverage > 0.5
        inside, outside = (ndimage.distance_transform_edt(part) for part in (solid, ~solid))
        depth = (inside - outside) * (self.grid.pitch / self.fwhm)
        return np.asarray(depth, np.float32)

    @property
    def fwhm(self) -> float:
        """Full width at half maximum of the spot, mm."""
        return self.outline.fwhm

    @property
    def critical_dose(self) -> float:
        """D_c of the resin, mJ/mm²."""
        return self.resin.critical_dose

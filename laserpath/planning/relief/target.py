"""An image → the target dose or height of each pixel. With ink a, 0 for paper and 1 for black:

    dose:    D = a D_black
    height:  h = a h_black,   D = E_c exp(h/D_p) where h > 0, else 0        (Jacobs' working curve, `resin`)

Ink is proportional to the pixel's value, so a picture that was made for a screen (gamma 2.2) must be made
linear first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.quantities import quoted_path
from laserpath.design import check_heeded, content, is_image, opened
from laserpath.design.image import decode
from laserpath.design.reading import Black, Reading
from laserpath.physics.resin import dose_for_depth
from laserpath.types import Grid, Relief, Resin

_WRONG_UNIT = "black is a dose in mJ/cm2, but {name!r} absorbs {order} photons at once: it has another unit"
_NOTHING = 1 / 512
"""Ink below which a pixel counts as paper: half a level of an 8-bit image."""


@dataclass(frozen=True, slots=True)
class GreyTarget:
    """The target on the dose's grid. dose: mJ/mm².  height: mm, or None where only the dose counts."""

    dose: Floats
    height: Floats | None
    resin: Resin

    @property
    def black(self) -> float:
        """The largest target: mm of height, or mJ/mm² where only the dose counts."""
        return float((self.dose if self.height is None else self.height).max())

    def residual(self, dose: Floats) -> tuple[Floats, Floats]:
        """(dose or height minus its target, derivative by the dose), (rows, columns) each.

        Where the target height is 0 nothing may cure: only a height above 0 is an error.
        """
        if self.height is None:
            return dose - self.dose, np.ones_like(dose)
        height, slope = self.depth(dose)
        bare = self.height <= 0
        error = np.where(bare, np.maximum(height, 0.0), height - self.height)
        return error, np.where(bare & (height <= 0), 0.0, slope)

    def depth(self, dose: Floats) -> tuple[Floats, Floats]:
        """(h(D) mm, dh/dD), (rows, columns) each; below E_c the tangent continues h."""
        e_c, d_p = self.resin.e_c or 1.0, self.resin.penetration_depth or 1.0
        above = np.maximum(dose, e_c)
        return d_p * (np.log(above / e_c) + np.minimum(dose / e_c - 1, 0.0)), d_p / above


def load_relief(path: str | os.PathLike[str], reading: Reading, resin: Resin) -> Relief:
    """The relief in a PNG or TIFF file; `reading.grey` is the dose or height of black.

    Raises InputError, with the file's name, if it is not such an image or does not suit the resin.
    """
    path = Path(path)
    raw = content(path)
    try:
        data, format_ = opened(raw, path.suffix)
        if not is_image(format_):
            raise InputError(f"the file is {format_}, which has no greys; PNG and TIFF have")
        if resin.order > 1 and reading.grey is not None and reading.grey.dose is not None:
            raise InputError(_WRONG_UNIT.format(name=resin.name, order=resin.order))
        check_heeded(format_, reading)
        relief = from_image(data, path.stem, reading, resin, path.name)
        return replace(relief, file=str(path.resolve()))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def from_image(data: bytes, name: str, reading: Reading, resin: Resin, file: str = "") -> Relief:
    """The relief in the bytes of an image; `reading.pixel` overrides the image's own pixel size.

    name: of the relief.  file: the source that the project file names.
    """
    if any(resin.shrinkage) or resin.development_bias:
        raise InputError(
            f"resin {resin.name!r} has a shrinkage or a development_bias, which are compensated in drawings "
            "and parts, not in greys: leave them out of its profile, and size the image for them"
        )
    black = reading.grey or Black(dose=resin.over_dose * resin.critical_dose)
    pixels = decode(data)
    shade, pixel = pixels.ink, reading.pixel or pixels.pixel
    if pixel is None:
        raise InputError("the image does not say how large its pixels are; give it, such as --pixel 10um")
    shade = np.where(shade < _NOTHING, 0.0, shade)
    if not shade.any():
        raise InputError("the image is blank: nothing in it is darker than paper")
    grid = Grid((pixel / 2, pixel / 2), pixel, (int(shade.shape[0]), int(shade.shape[1])))
    recipe = (f"design = {quoted_path(file or name)}", *replace(reading, pixel=pixel).recipe())
    size = f"{shade.shape[1]} × {shade.shape[0]} pixels of {pixel:g} mm"
    source = (f"from {file or name}", size, *pixels.warnings)
    if black.height is None:
        return Relief(grid, shade * (black.dose or 0.0), None, name, source=source, recipe=recipe)
    height = shade * black.height
    return Relief(grid, _dose(height, resin), height, name, source=source, recipe=recipe)


def _dose(height: Floats, resin: Resin) -> Floats:
    if resin.e_c is None or resin.penetration_depth is None:
        raise InputError(
            f"resin {resin.name!r} has no working curve, so a dose does not tell the height; "
            "give its e_c, penetration_depth and layer"
        )
    if resin.bleached_depth is not None:
        raise InputError(
            f"resin {resin.name!r} bleaches, which the heights of greys do not make up for: leave "
            "bleached_depth and bleaching_dose out of its profile"
        )
    return np.where(height > 0, dose_for_depth(height, resin.e_c, resin.penetration_depth), 0.0)

"""PNG and TIFF files → how much ink is in each pixel, and how wide a pixel is.

    ink = α (1 − min(R, G, B))      0 paper … 1 black;  α opacity, paper is white

Ink is linear in the numbers of the file, so that a pixel half covered by a black edge has half the ink. It is
taken from the smallest channel, not from the brightness: a saturated colour is as solid as black, as in SVG,
and half a pixel of pure yellow or red is half ink too. Floating-point greys go from 0 black to 1 white.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.picture import Decoded, picture

SQUARE = 1e-3  # relative difference of a pixel's width and height that is taken for rounding


@dataclass(frozen=True, slots=True)
class Pixels:
    """ink: (rows, columns) float64, 0 paper … 1 black, row 0 the lowest.

    pixel: width of a pixel, mm; None: not in the file.  warnings: a sentence each.
    """

    ink: Floats
    pixel: float | None
    warnings: tuple[str, ...] = ()


def ink(data: bytes) -> tuple[Floats, float | None]:
    """The ink of an image file, (rows, columns) with row 0 the lowest, and the width of its pixels in mm."""
    pixels = decode(data)
    return pixels.ink, pixels.pixel


def decode(data: bytes) -> Pixels:
    """The first image of a PNG or TIFF file."""
    image = _decoded(data)
    return Pixels(_ink(image)[::-1], _pixel(image), (*_first_of(image), *_scaled(image)))


def _decoded(data: bytes) -> Decoded:
    if not data:
        raise InputError("the file is empty")
    image = picture(data, ("PNG", "TIFF"))
    if image is None:
        raise InputError(_unknown(data))
    return image


def _first_of(image: Decoded) -> tuple[str, ...]:
    """The warning that a file has more images than one."""
    return (f"only the first of the file's {image.pages} pictures is read",) if image.pages > 1 else ()


@dataclass(frozen=True, slots=True)
class Coloured:
    """rgb: (rows, columns, 3) uint8 on white paper, row 0 the lowest.  pixel, warnings: as of `Pixels`."""

    rgb: NDArray[np.uint8]
    pixel: float | None
    warnings: tuple[str, ...] = ()


def decode_colours(data: bytes) -> Coloured:
    """The colours of the first image of a PNG or TIFF file; raises if it has none."""
    image = _decoded(data)
    numbers = image.numbers
    if numbers.ndim == 2:
        raise InputError(
            "the picture has no colours, only black, white or greys: leave --colours out, or read the greys "
            "as wanted dose with --grey"
        )
    if numbers.shape[2] == 4:
        opacity = numbers[..., 3:].astype(np.uint16)
        mixed = (numbers[..., :3] * opacity + 255 * (255 - opacity) + 127) // 255
        numbers = mixed.astype(np.uint8)
    return Coloured(numbers[::-1], _pixel(image), _first_of(image))


def _unknown(data: bytes) -> str:
    """Why a file is not an image that can be read."""
    known = {b"\xff\xd8\xff": "JPEG", b"GIF8": "GIF", b"BM": "BMP", b"RIFF": "WebP", b"%PDF": "PDF"}
    for magic, kind in known.items():
        if data.startswith(magic):
            return f"the file is {kind}, but only PNG and TIFF are read"
    if data.startswith((b"\x89PNG", b"II*\0", b"MM\0*")):
        return "the image is broken or cut off"
    return "the file is neither PNG nor TIFF"


@np.errstate(invalid="ignore")  # a signalling NaN, which is refused by its name
def _ink(image: Decoded) -> Floats:
    """(rows, columns) ink, row 0 the uppermost."""
    numbers = image.numbers
    if numbers.ndim == 3:
        ink = 1 - numbers[..., :3].min(axis=2) / 255
        return ink if numbers.shape[2] == 3 else numbers[..., 3] / 255 * ink
    if numbers.dtype == np.uint8:
        return 1 - numbers / 255
    if numbers.dtype == np.uint16 or _is_16_bit_png(image):
        return _from_white(numbers / 65535, image)
    if numbers.dtype == np.float32:
        return _from_white(_unit(numbers.astype(np.float64)), image)
    low, high = _range(image)
    return _from_white((numbers.astype(np.float64) - low) / (high - low), image)


def _is_16_bit_png(image: Decoded) -> bool:
    """Whether it is a 16-bit PNG as Pillow before version 11 decodes it."""
    return image.numbers.dtype == np.int32 and image.format == "PNG"


def _range(image: Decoded) -> tuple[int, int]:
    """The least and the largest value of an integer image; raises if they are the same."""
    low, high = int(image.numbers.min()), int(image.numbers.max())
    if low == high:
        raise InputError(f"the image is {low} everywhere, which says neither black nor white")
    return low, high


def _scaled(image: Decoded) -> tuple[str, ...]:
    """The warning about integers of 32 bits or with a sign, which do not define black and white."""
    if image.numbers.dtype != np.int32 or _is_16_bit_png(image):
        return ()
    low, high = _range(image)
    ends = "white to black" if image.inverted else "black to white"
    return (f"the image has whole numbers from {low} to {high}, which are taken as {ends}",)


def _from_white(white: Floats, image: Decoded) -> Floats:
    """The ink of greys that Pillow leaves as they are in the file."""
    return white if image.inverted else 1 - white


def _unit(white: Floats) -> Floats:
    """Floating-point greys, checked to be from 0 to 1."""
    low, high = float(white.min()), float(white.max())
    if not (low >= 0 and high <= 1):  # NaN too
        raise InputError(
            f"the image has floats from {low:g} to {high:g}, but they must go from 0 black to 1 white"
        )
    return white


def _pixel(image: Decoded) -> float | None:
    """Width of a pixel in mm; None: the file has no resolution in a unit of length."""
    if image.dpi is None:
        return None
    x, y = image.dpi
    if not (np.isfinite([x, y]).all() and min(x, y) > 0):
        return None
    if abs(x - y) > SQUARE * max(x, y):
        raise InputError(
            f"the image's pixels are {figure(25.4 / x, 4)} × {figure(25.4 / y, 4)} mm, but must be square"
        )
    return 25.4 / x

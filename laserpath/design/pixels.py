"""PNG and TIFF files → how much ink is in each pixel, and how wide a pixel is.

    ink = α (1 − min(R, G, B))      0 paper … 1 black;  α opacity, paper is white

Ink is linear in the numbers of the file, so that a pixel half covered by a black edge has half the ink. It is
taken from the smallest channel, not from the brightness: a saturated colour is as solid as black, as in SVG,
and half a pixel of pure yellow or red is half ink too. Floating-point greys go from 0 black to 1 white.
"""

from __future__ import annotations

import io
import os
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from PIL import Image, TiffTags, UnidentifiedImageError

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError

PIXELS_MAX = limits.PIXELS
SQUARE = 1e-3  # relative difference of a pixel's width and height that is taken for rounding

BROKEN = (
    OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, KeyError, IndexError, TypeError,
    OverflowError, AttributeError, MemoryError, ZeroDivisionError, NotImplementedError, RuntimeError,
)  # fmt: skip
"""Exceptions that Pillow raises on broken files."""
_TIFF = (b"II", b"MM")


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
    if not data:
        raise InputError("the file is empty")
    with warnings.catch_warnings(), _unheard(data):
        warnings.simplefilter("ignore")  # Pillow raises where it cannot decode; its warnings do not matter
        try:
            with Image.open(io.BytesIO(data), formats=("PNG", "TIFF")) as image:
                _bounded(image)
                pages = getattr(image, "n_frames", 1)
                image.load()
                ink, pixel, notes = _ink(image), _pixel(image), _scaled(image)
        except InputError:
            raise
        except UnidentifiedImageError:
            raise InputError(_unknown(data)) from None
        except Image.DecompressionBombError:
            raise InputError(f"the image has more than {PIXELS_MAX:.2g} pixels, which is the limit") from None
        except BROKEN as error:
            what = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
            raise InputError(f"the image is broken or cut off ({what})") from None
    if pages > 1:
        notes = (f"only the first of the file's {pages} pictures is read", *notes)
    return Pixels(ink[::-1], pixel, notes)


@contextmanager
def _unheard(data: bytes) -> Iterator[None]:
    """Nothing on the standard error while a TIFF is decoded.

    libtiff prints there what is wrong with a file, past Python; Pillow raises it as well.
    """
    if not data.startswith(_TIFF):
        yield
        return
    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _unknown(data: bytes) -> str:
    """Why a file is not an image that can be read."""
    known = {b"\xff\xd8\xff": "JPEG", b"GIF8": "GIF", b"BM": "BMP", b"RIFF": "WebP", b"%PDF": "PDF"}
    for magic, kind in known.items():
        if data.startswith(magic):
            return f"the file is {kind}, but only PNG and TIFF are read"
    if data.startswith((b"\x89PNG", b"II*\0", b"MM\0*")):
        return "the image is broken or cut off"
    return "the file is neither PNG nor TIFF"


def _bounded(image: Image.Image) -> None:
    """Raise for too many pixels, before they are unpacked."""
    columns, rows = image.size
    if columns * rows > PIXELS_MAX:
        raise InputError(
            f"the image has {columns} × {rows} pixels, above {PIXELS_MAX:.2g}: scale it down or split it"
        )


def _ink(image: Image.Image) -> Floats:
    """(rows, columns) ink, row 0 the uppermost."""
    mode = image.mode
    if mode.startswith("I;16") or _is_16_bit_png(image):
        return _from_white(np.asarray(image, dtype=np.float64) / 65535, image)
    if mode == "F":
        return _from_white(_unit(np.asarray(image, dtype=np.float64)), image)
    if mode == "I":
        low, high = _range(image)
        return _from_white((np.asarray(image, dtype=np.float64) - low) / (high - low), image)
    if mode in ("1", "L") and "transparency" not in image.info:
        return 1 - np.asarray(image.convert("L"), dtype=np.float64) / 255
    channels = np.asarray(image.convert("RGBA"))
    opaque = channels[..., 3] / 255
    return opaque * (1 - channels[..., :3].min(axis=2) / 255)


def _is_16_bit_png(image: Image.Image) -> bool:
    """Whether it is a 16-bit PNG as Pillow before version 11 decodes it."""
    return image.mode == "I" and image.format == "PNG"


def _range(image: Image.Image) -> tuple[int, int]:
    """The least and the largest value of an integer image; raises if they are the same."""
    numbers = np.asarray(image)
    low, high = int(numbers.min()), int(numbers.max())
    if low == high:
        raise InputError(f"the image is {low} everywhere, which says neither black nor white")
    return low, high


def _scaled(image: Image.Image) -> tuple[str, ...]:
    """The warning about integers of 32 bits or with a sign, which do not define black and white."""
    if image.mode != "I" or _is_16_bit_png(image):
        return ()
    low, high = _range(image)
    ends = "white to black" if _white_is_zero(image) else "black to white"
    return (f"the image has whole numbers from {low} to {high}, which are taken as {ends}",)


def _from_white(white: Floats, image: Image.Image) -> Floats:
    """The ink of greys that Pillow leaves as they are in the file."""
    return white if _white_is_zero(image) else 1 - white


def _white_is_zero(image: Image.Image) -> bool:
    return bool(getattr(image, "tag_v2", {}).get(_TAG["PhotometricInterpretation"]) == 0)


_TAG = {tag.name: number for number, tag in TiffTags.TAGS_V2.items()}


def _unit(white: Floats) -> Floats:
    """Floating-point greys, checked to be from 0 to 1."""
    low, high = float(white.min()), float(white.max())
    if not (low >= 0 and high <= 1):  # NaN too
        raise InputError(
            f"the image has floats from {low:g} to {high:g}, but they must go from 0 black to 1 white"
        )
    return white


def _pixel(image: Image.Image) -> float | None:
    """Width of a pixel in mm; None: the file has no resolution in a unit of length."""
    resolution = image.info.get("dpi")
    if image.format == "TIFF" and _TAG["XResolution"] not in image.tag_v2:  # type: ignore[attr-defined]
        return None
    if resolution is None:
        return None
    x, y = (float(value) for value in resolution)
    if not (np.isfinite([x, y]).all() and min(x, y) > 0):
        return None
    if abs(x - y) > SQUARE * max(x, y):
        raise InputError(f"the image's pixels are {25.4 / x:.4g} × {25.4 / y:.4g} mm, but must be square")
    return 25.4 / x

"""An image file → its pixels, decoded by Pillow in a subprocess.

Pillow and its libtiff are C and trust the file. So this file is run by itself, not imported:
`python decode.py FILE OUT FORMATS PIXELS MEMORY SECONDS`. It needs only Pillow, since NumPy would double
the time to start. OUT gets a line of JSON and the bytes of the pixels, row 0 the uppermost:

format, size [columns, rows], mode (1 byte: "L"; 3: "RGB"; 4: "RGBA"; 2: "I;16…"; 4 of an integer: "I"; of a
float: "F"), pages, dpi [x, y] or null, inverted: whether 0 is white; or only
unknown: the file is of no such format · broken: why it is damaged · size: it has too many pixels.
"""

from __future__ import annotations

import json
import struct
import sys
import warnings
import zlib
from typing import Any

from PIL import Image, TiffTags, UnidentifiedImageError

from laserpath.base import bounds

BROKEN = (
    OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, KeyError, IndexError, TypeError,
    OverflowError, AttributeError, ZeroDivisionError, NotImplementedError, RuntimeError,
)  # fmt: skip
"""Exceptions that Pillow raises on broken files."""

_TAG = {tag.name: number for number, tag in TiffTags.TAGS_V2.items()}


def write(file: str, out: str, formats: str, pixels: int) -> None:
    """Decode the first image of a file."""
    Image.MAX_IMAGE_PIXELS = None  # `pixels` is the limit
    data = b""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where Pillow cannot decode, it raises
            with Image.open(file, formats=formats.split(",")) as image:
                head: dict[str, Any] = {"size": image.size}
                if image.width * image.height <= pixels:
                    head |= _head(image)
                    image.load()
                    plain = _plain(image)
                    head["mode"], data = plain.mode, plain.tobytes()
    except UnidentifiedImageError:
        head = {"unknown": True}
    except BROKEN as error:
        head = {"broken": str(error).splitlines()[0][:100] if str(error) else type(error).__name__}
    with open(out, "wb") as stream:
        stream.write(json.dumps(head).encode() + b"\n")
        stream.write(data)


def _head(image: Image.Image) -> dict[str, Any]:
    tags = getattr(image, "tag_v2", {})
    dpi = image.info.get("dpi")
    if image.format == "TIFF" and _TAG["XResolution"] not in tags:
        dpi = None  # Pillow would say 1
    return {
        "format": image.format,
        "pages": getattr(image, "n_frames", 1),
        "dpi": None if dpi is None else [float(value) for value in dpi],
        "inverted": bool(tags.get(_TAG["PhotometricInterpretation"]) == 0),
    }


def _plain(image: Image.Image) -> Image.Image:
    """The image in one of the modes above; colours have an alpha channel only if some are transparent."""
    opaque = "transparency" not in image.info
    if image.mode.startswith("I;16") or image.mode in ("I", "F") or (opaque and image.mode in ("L", "RGB")):
        return image
    return image.convert("L" if opaque and image.mode == "1" else "RGBA")


def main(file: str, out: str, formats: str, pixels: str, memory: str, seconds: str) -> None:
    """Decode within so many bytes and seconds. formats: `PNG,TIFF`.  pixels: the most that are decoded."""
    bounds.keep_within(int(memory), float(seconds))
    write(file, out, formats, int(pixels))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The pixels of an image file, decoded in a process of its own: `decode`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laserpath.base import isolated, limits
from laserpath.base.errors import InputError

_DECODE = Path(__file__).with_name("decode.py")
_PER_PIXEL = 24
"""Bytes of memory for each pixel: it is copied twice, and has up to 4 bytes or 8."""
_TYPES = {"I;16": "<u2", "I;16L": "<u2", "I;16B": ">u2", "I;16N": "=u2", "I": "=i4", "F": "=f4"}
_CHANNELS = {"RGB": 3, "RGBA": 4}


@dataclass(frozen=True, slots=True)
class Decoded:
    """numbers: (rows, columns) or (rows, columns, 3 or 4), row 0 the uppermost; as they are in the file, but
    palettes and such are RGBA of 8 bits.

    format: `PNG` or `TIFF`.  pages: images in the file, of which this is the first.  dpi: pixels per inch in
    x and y, or None.  inverted: whether the file says that 0 is white.
    """

    numbers: NDArray[Any]
    format: str
    pages: int
    dpi: tuple[float, float] | None
    inverted: bool


def picture(data: bytes, formats: tuple[str, ...]) -> Decoded | None:
    """The first image of a file of one of these formats of Pillow; None: it is of none of them."""
    try:
        with TemporaryDirectory(prefix="laserpath-") as folder:
            file, out = Path(folder, "image"), Path(folder, "pixels")
            file.write_bytes(data)
            _run([str(file), str(out), ",".join(formats), str(limits.now().pixels)])
            content = out.read_bytes()
    except OSError as error:
        raise InputError(f"no temporary folder can be used to read the file: {error.strerror}") from None
    end = content.index(b"\n")
    found = json.loads(content[:end])
    if "unknown" in found:
        return None
    if "broken" in found:
        raise InputError(f"the image is broken or cut off ({found['broken']})")
    columns, rows = found["size"]
    if "mode" not in found:
        raise limits.exceeded(
            f"the image has {columns} × {rows} = {limits.counted(columns * rows)} pixels",
            "pixels",
            columns * rows,
            "scale it down, split it",
        )
    mode = found["mode"]
    numbers = np.frombuffer(content, _TYPES.get(mode, "u1"), offset=end + 1)
    shape = (rows, columns, _CHANNELS[mode]) if mode in _CHANNELS else (rows, columns)
    dpi = found["dpi"] and (found["dpi"][0], found["dpi"][1])
    return Decoded(numbers.reshape(shape), found["format"], found["pages"], dpi, found["inverted"])


def _run(arguments: list[str]) -> None:
    isolated.run(_DECODE, arguments, "Pillow", _PER_PIXEL * limits.now().pixels)

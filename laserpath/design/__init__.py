"""Files that say what shall be solid → `Design` (mm, y up). One reader a format.

    load(path, tolerance=0.002)

tolerance: largest distance in mm between a curve of the file and its polygon, after all of the
file's transforms. Readers are imported on first use.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from laserpath.errors import InputError
from laserpath.types import Design

Reader = Callable[[bytes, str, float], Design]


def _svg(data: bytes, name: str, tolerance: float) -> Design:
    from laserpath.design.svg import read

    return read(data, name, tolerance)


READERS: dict[str, Reader] = {".svg": _svg}


def load(path: str | os.PathLike[str], *, tolerance: float) -> Design:
    """Read the design in a file; the suffix says its format. tolerance: of flattened curves, mm."""
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise InputError(f"flattening tolerance is {tolerance} mm, but must be above 0 mm")
    path = Path(path)
    data = _bytes(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        ending = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise InputError(f"{path} {ending}, but the designs that can be read end in {', '.join(READERS)}")
    try:
        return reader(data, path.stem, tolerance)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _bytes(path: Path) -> bytes:
    """The content of a plain file."""
    try:
        if not path.exists():
            raise InputError(f"{path} does not exist")
        if path.is_dir():
            raise InputError(f"{path} is a folder, but a design is a file")
        if not path.is_file():
            raise InputError(f"{path} is not a plain file")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{str(path)!r} cannot be read: {reason}") from None

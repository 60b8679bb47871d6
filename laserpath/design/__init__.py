"""Files that say what shall be solid → `Design` (mm, y up). One reader a format.

    load("board.gbr", tolerance=0.002, arrangement=Arrangement(rotate=90, size=(20, None)))

Readers are imported on first use. They get bytes, and open nothing that a design names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path

from laserpath import entry_points
from laserpath.design.arrange import Arrangement, arrange, enlargement
from laserpath.design.reading import FLATTEN_FWHM, Reading
from laserpath.errors import InputError
from laserpath.quantities import quoted
from laserpath.types import Design

__all__ = ["FLATTEN_FWHM", "Arrangement", "Reading", "arrange", "check_heeded", "content", "load", "suffixes"]

Reader = Callable[[bytes, str, Reading], Design]
"""From a file's content, the name of its design, and how to read it."""

_MODULES = {
    ".svg": "svg",
    ".dxf": "dxf",
    ".gds": "gds",
    ".gdsii": "gds",
    ".oas": "gds",
    ".oasis": "gds",
    ".gbr": "gerber",
    ".ger": "gerber",
    ".gtl": "gerber",
    ".gbl": "gerber",
    ".gts": "gerber",
    ".gbs": "gerber",
    ".gto": "gerber",
    ".gbo": "gerber",
    ".gko": "gerber",
    ".gm1": "gerber",
    ".png": "image",
    ".tif": "image",
    ".tiff": "image",
    ".geojson": "vector",
    ".json": "vector",
    ".wkt": "vector",
}
"""Suffix → module of this room, each with a function `read`."""

IMAGES = (".png", ".tif", ".tiff")
_FINE = 0.1


def suffixes() -> tuple[str, ...]:
    """The endings of the files that can be read."""
    return tuple(_MODULES)


def load(
    path: str | os.PathLike[str],
    *,
    tolerance: float,
    reading: Reading | None = None,
    arrangement: Arrangement | None = None,
) -> Design:
    """Read the design in a file, and arrange it; the suffix says its format.

    tolerance: of flattened curves, mm, as arranged; it stands for that of `reading`, which says what counts.
    """
    path, reading = Path(path), replace(reading, tolerance=tolerance) if reading else Reading(tolerance)
    data, reader = content(path), _reader(path)
    try:
        check_heeded(path, reading)
        if arrangement and arrangement.size and path.suffix.lower() in IMAGES and reading.pixel is None:
            reading = replace(reading, pixel=1.0)  # however large: it will have the size that is wanted
        design = reader(data, path.stem, reading)
        if arrangement and not _FINE < (larger := enlargement(design, arrangement)) <= 1:
            # Curves are to be as fine as they were asked for after they have grown, and no finer by far.
            design = reader(data, path.stem, replace(reading, tolerance=tolerance / larger))
        design = replace(
            design,
            source=(f"from {path.name}", *design.source),
            recipe=(f"design = {quoted(path.name)}", *reading.recipe()),
            file=str(path.resolve()),
        )
        return arrange(design, arrangement) if arrangement else design
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


_HEEDED = {
    "svg": {"layers", "unit"},
    "dxf": {"layers", "unit", "line_width"},
    "gds": {"layers", "cell"},
    "gerber": {"unit"},
    "image": {"pixel", "threshold", "grey"},
    "vector": {"layers", "unit"},
}
"""Module → what of a `Reading` it heeds."""


def check_heeded(path: Path, reading: Reading) -> None:
    """Refuse what says nothing about a file of that format: it would be dropped without a word."""
    heeded = _HEEDED.get(_MODULES.get(path.suffix.lower(), ""))
    said = [field.name for field in fields(reading) if getattr(reading, field.name) != field.default]
    idle = [name for name in said if heeded is not None and name not in heeded and name != "tolerance"]
    if idle:
        option = idle[0].removesuffix("s").replace("_", "-")
        raise InputError(f"--{option} says nothing about a file that ends in {path.suffix}")


def _reader(path: Path) -> Reader:
    """The reader of a file by its suffix."""
    suffix = path.suffix.lower()
    ours = [known.removeprefix(".") for known in _MODULES]
    plugin = entry_points.find(entry_points.DESIGNS, suffix.removeprefix("."), ours)
    if plugin:
        return lambda data, name, reading: plugin.make(Design, data, name, reading)
    module = _MODULES.get(suffix)
    if module is None:
        known = (*_MODULES, *(f".{name}" for name in entry_points.found(entry_points.DESIGNS)))
        ending = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise InputError(f"{path} {ending}, but the designs that can be read end in {', '.join(known)}")
    read: Reader = import_module(f"{__name__}.{module}").read
    return read


def content(path: Path) -> bytes:
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

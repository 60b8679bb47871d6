"""Design files → `Design` (mm, y up): the area to be solid. One reader per format.

    load("board.gbr", tolerance=0.002, arrangement=Arrangement(rotate=90, size=(20, None)))

Readers are imported on first use. They take bytes, and open no other file that a design refers to.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from gcode.errors import GcodeError
from laserpath.base import entry_points, limits
from laserpath.base.errors import InputError, short
from laserpath.base.quantities import quoted_path
from laserpath.design import formats
from laserpath.design.arrange import Arrangement, arrange, enlargement
from laserpath.design.colours import TooFewColours, chosen
from laserpath.design.formats import head, unpacked
from laserpath.design.reading import FoundPart, Reading, apart, tolerance_for
from laserpath.types import Design, Part

__all__ = [
    "Arrangement", "Reading", "arrange", "as_design", "check_heeded", "content", "found_parts", "is_image",
    "load", "load_colours", "load_layers", "opened", "refuse_drawing", "suffixes", "tolerance_for",
]  # fmt: skip

Reader = Callable[[bytes, str, Reading], tuple[Design, ...]]
"""(content, name of the design, reading) → the designs: one, or one for each colour or layer."""

_FINE = 0.1
"""Enlargement up to which a design is read again with a coarser tolerance. A larger one reads more twice."""
_SAME, _TRIES = 1e-3, 6
"""Relative error of a line's width, and the most readings to reach it: the given size includes it."""


def suffixes() -> tuple[str, ...]:
    """The usual endings of the files that can be read; the format is detected from the content."""
    return tuple(formats.SUFFIXES)


def load(
    path: str | os.PathLike[str],
    *,
    tolerance: float,
    reading: Reading | None = None,
    arrangement: Arrangement | None = None,
) -> Design:
    """Read a design file and arrange the design; the format is detected from the content.

    tolerance: of flattened curves, mm, after arranging; it replaces that of `reading`.
    """
    path, reading = Path(path), replace(reading, tolerance=tolerance) if reading else Reading(tolerance)
    parts = _loaded(path, reading, arrangement)
    if reading.colour is not None:
        try:
            return chosen(parts, reading.colour)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    if reading.split and len(parts) > 1:
        raise InputError(
            f"--layers makes {len(parts)} designs of {path}: choose one with --layer: "
            f"{', '.join(repr(part.name) for part in map(_part, parts))}"
        )
    if reading.colours is not None:
        raise InputError(
            f"--colours {reading.colours} makes several designs of {path}: choose one with --colour, by its "
            f"number or name: {', '.join(f'{part.number} {part.name}' for part in map(_part, parts))}"
        )
    return parts[0]


def as_design(given: object, tolerance: float) -> Design:
    """A design given as itself, as the file to load (`tolerance` as in `load`), or as polygons in mm."""
    if isinstance(given, Design):
        return given
    if isinstance(given, shapely.Geometry):
        return Design(given)  # which refuses other geometries
    if isinstance(given, str | os.PathLike):
        return load(given, tolerance=tolerance)
    raise InputError(
        f"design is of type {type(given).__name__}, but must be a file's name, a Design, or a Polygon or "
        "MultiPolygon of Shapely in mm"
    )


def load_colours(
    path: str | os.PathLike[str],
    colours: int,
    *,
    tolerance: float,
    reading: Reading | None = None,
    arrangement: Arrangement | None = None,
) -> tuple[Design, ...]:
    """Read a drawing or picture as one design for each of its colours, the largest area first.

    All are sized and placed as one drawing (`Design.part`), so that their programs are in register.
    colours: how many, 2 to 12. Similar colours are merged; a file with fewer is refused.  Other arguments:
    those of `load`.
    """
    path, reading = Path(path), replace(reading or Reading(tolerance), tolerance=tolerance, colours=colours)
    return _loaded(path, reading, arrangement)


def load_layers(
    path: str | os.PathLike[str],
    layers: Sequence[str],
    *,
    tolerance: float,
    reading: Reading | None = None,
    arrangement: Arrangement | None = None,
) -> tuple[Design, ...]:
    """Read a drawing as one design for each of these layers, in this order, sized and placed as one drawing.

    layers: names of layers; of them only those in `reading.layers` become designs, if there are any. The
    others count for the size and the place.  Other arguments: those of `load`.
    """
    path, reading = (
        Path(path),
        replace(reading or Reading(tolerance), tolerance=tolerance, split=tuple(layers)),
    )
    if not reading.split:
        raise InputError(f"{path}: no layers are named")
    return _loaded(path, reading, arrangement)


def found_parts(path: str | os.PathLike[str], reading: Reading) -> tuple[FoundPart, ...]:
    """The layers of a drawing, or its colours: those that are asked for, or all if it has no two layers.

    () if it has neither. Colours of a picture are found only if they are asked for.
    """
    path = Path(path)
    raw = content(path)
    try:
        with limits.work(str(path)), np.errstate(all="ignore"):
            data, format_, _ = _opened(raw, path.suffix, reading)
            if format_ not in formats.FORMATS:
                return ()
            check_heeded(format_, reading)
            found = _found_layers(data, format_, reading) if reading.colours is None else ()
            if len(found) < 2 and (reading.colours or (_heeds(format_, "colours") and not is_image(format_))):
                found = _found_colours(data, format_, reading) or found
            return found
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _found_layers(data: bytes, format_: str, reading: Reading) -> tuple[FoundPart, ...]:
    """The layers of a drawing."""
    if not _heeds(format_, "split"):
        return ()
    read = _module(format_).read_layers(data, "drawing", reading)
    return tuple(
        FoundPart(name, seen, None, str(one)) if isinstance(one, InputError) else FoundPart(name, seen, one)
        for (name, seen), one in zip(read.shown.items(), read.layers, strict=True)
    )


def _found_colours(data: bytes, format_: str, reading: Reading) -> tuple[FoundPart, ...]:
    """The colours of a drawing, of which there are as many as are asked for, else all; () if it has one."""
    read, count = _module(format_).read_colours, reading.colours or entry_points.MOST_COLOURS
    try:
        parts = read(data, "drawing", replace(reading, colours=count))
    except TooFewColours as error:
        if reading.colours is not None:
            raise
        parts = read(data, "drawing", replace(reading, colours=error.there)) if error.there > 1 else ()
    return tuple(FoundPart(_part(one).name, True, one, kind="colour") for one in parts)


def _part(design: Design) -> Part:
    assert design.part is not None
    return design.part


def _loaded(path: Path, reading: Reading, arrangement: Arrangement | None) -> tuple[Design, ...]:
    raw = content(path)
    with limits.work(str(path)):
        return _designs(path, raw, reading, arrangement)


@np.errstate(all="ignore")  # overflows are refused later, by name; GEOS divides by lengths of 0, and heeds it
def _designs(path: Path, raw: bytes, reading: Reading, arrangement: Arrangement | None) -> tuple[Design, ...]:
    """The designs of a file: one, or one for each colour or layer."""
    which = ""
    try:
        data, format_, reader = _opened(raw, path.suffix, reading)
        which = _which(path, format_)
        check_heeded(format_, reading)
        if arrangement and arrangement.size and is_image(format_) and reading.pixel is None:
            reading = replace(reading, pixel=1.0)  # any pixel will do: the design is scaled to its size
        name = _name(path, format_)
        designs = _read(lambda reading: reader(data, name, reading), reading, format_, arrangement)
        designs = tuple(
            replace(
                design,
                warnings=tuple(map(short, design.warnings)),
                source=(f"from {path.name}{which}", *design.source),
                recipe=(f"design = {quoted_path(path.name)}", *_of_part(design, reading).recipe()),
                file=str(path.resolve()),
            )
            for design in designs
        )
        return tuple(arrange(design, arrangement) for design in designs) if arrangement else designs
    except InputError as error:
        raise InputError(f"{path}{which}: {error}") from None


def _of_part(design: Design, reading: Reading) -> Reading:
    """The reading that yields this part alone."""
    part = design.part
    if part is None:
        return reading
    return (
        replace(reading, layers=(part.name,)) if reading.split else replace(reading, colour=str(part.number))
    )


def _read(
    read: Callable[[Reading], tuple[Design, ...]],
    reading: Reading,
    format_: str,
    arrangement: Arrangement | None,
) -> tuple[Design, ...]:
    """The designs, read such that the tolerance and the width of lines hold after it is arranged.

    A design that grows is read again with a finer tolerance, one that shrinks a lot with a coarser one.
    """
    designs, grown = read(reading), 1.0
    if arrangement is None:
        return designs
    has_lines = _heeds(format_, "line_width")
    for _ in range(_TRIES):
        larger = enlargement(designs[0], arrangement)
        if abs(larger / grown - 1) <= _SAME or (grown == 1 and _FINE < larger <= 1 and not has_lines):
            break
        designs, grown = read(replace(reading, tolerance=reading.tolerance / larger, grown=larger)), larger
        if not has_lines:
            break
    return designs


def check_heeded(format_: str, reading: Reading) -> None:
    """Refuse an option that does not apply to that format, since it would be ignored silently.

    Formats of plugins are not checked.
    """
    known = formats.FORMATS.get(format_)
    given = [field.name for field in fields(reading) if getattr(reading, field.name) != field.default]
    idle = [name for name in given if known and name not in known.heeds and name != "tolerance"]
    if idle:
        option = {"layers": "layer", "split": "layers"}.get(idle[0], idle[0]).replace("_", "-")
        raise InputError(f"--{option} says nothing about {format_} files")


def _heeds(format_: str, name: str) -> bool:
    """Whether that field of `Reading` applies to a format; False for plugins' formats."""
    return format_ in formats.FORMATS and name in formats.FORMATS[format_].heeds


def is_image(format_: str) -> bool:
    """Whether files of that format are made of pixels."""
    return _heeds(format_, "pixel")


def opened(raw: bytes, suffix: str) -> tuple[bytes, str]:
    """(content as the format's reader takes it, name of the format) of a file's bytes."""
    data = unpacked(raw)
    format_ = formats.detect(data, suffix)
    return formats.readable(data, format_), format_


def refuse_drawing(data: bytes, name: str) -> None:
    """Raise InputError if the content of a file that should be a program is a drawing that `plan` reads."""
    data = unpacked(data)
    known = formats.by_content(data)
    # A dwell with a star in its comment looks like a comment of Gerber.
    if known and not (known == "Gerber" and formats.is_gcode(head(data))):
        what = "a picture" if is_image(known) else "a drawing"
        plan = shlex.quote(name) if name else "FILE"
        raise InputError(
            f"{name or 'the program'} is {what} ({known}), not G-code: `laserpath plan {plan}` makes a "
            "program of it"
        )
    if part := formats.model(data, Path(name).suffix.lower()):
        raise InputError(
            f"{name or 'the program'} is {part}, not G-code: `laserpath plan {shlex.quote(name or 'FILE')} "
            "--layer 50um` makes a program of a part"
        )


def _opened(raw: bytes, suffix: str, reading: Reading) -> tuple[bytes, str, Reader]:
    """(content, format, reader of all its designs); for a plugin, the format is the suffix."""
    ours = [known.removeprefix(".") for known in formats.SUFFIXES]
    plugin = entry_points.find(entry_points.DESIGNS, suffix.lower().removeprefix("."), ours)
    colours, layers = reading.colours is not None, bool(reading.split)
    if plugin and (colours or layers):
        raise InputError(f"--{'colours' if colours else 'layers'} says nothing about {suffix} files")
    if plugin:
        return raw, suffix, lambda data, name, reading: (plugin.make(Design, data, name, reading),)
    data, format_ = opened(raw, suffix)
    module = _module(format_)
    if layers and _heeds(format_, "split"):
        return (
            data,
            format_,
            lambda data, name, reading: apart(module.read_layers(data, name, reading), name, reading),
        )
    if colours and _heeds(format_, "colours"):
        return data, format_, module.read_colours
    return data, format_, lambda data, name, reading: (module.read(data, name, reading),)


def _module(format_: str) -> Any:
    """The module that reads a format."""
    return import_module(f"{__name__}.{formats.FORMATS[format_].module}")


def _name(path: Path, format_: str) -> str:
    """The name of the design, and of the files that are written for it.

    The layers of a board often differ by their suffixes alone: the output for board.cmp must not replace
    that for board.sol.
    """
    layer = format_ == "Gerber" and path.suffix.lower() not in ("", ".gbr", ".ger", ".gerber")
    return path.name if layer else path.stem


def _which(path: Path, format_: str) -> str:
    """The format of a file in words, if its suffix suggests another."""
    promised = formats.SUFFIXES.get(path.suffix.lower())
    return f", which is {format_}" if format_ in formats.FORMATS and format_ != promised else ""


def content(path: Path) -> bytes:
    """The content of a plain file."""
    try:
        if path.is_dir():
            board = "`laserpath board` plans the layers of a board in it"
            raise InputError(f"{path} is a folder, but a design is a file; {board}")
        return limits.plain(path)
    except GcodeError as error:
        raise InputError(f"{path} {error}") from None
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{str(path)!r} cannot be read: {reason}") from None

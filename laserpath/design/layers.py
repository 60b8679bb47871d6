"""The layers of a drawing → one design for each, all with one zero."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import shapely

from laserpath.base.errors import InputError
from laserpath.design.reading import LISTED, Reading
from laserpath.types import Design, Part

_INKS = (
    "#b4531a", "#1f5fa8", "#2c7a3f", "#8a3d96", "#a88a1f", "#3f8f8f", "#a83250", "#5b5b5b",
)  # fmt: skip
"""Colours in which the layers are shown, again from the first after the last."""
_LONGEST = 60
"""Letters of a layer's name in the names of its files; a file system takes 255 bytes."""


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A layer or colour of a drawing. shown: whether it is read if no layer is named.

    design: it alone, as drawn.  why: there is no design; '' if there is one.  kind: `layer` or `colour`.
    """

    name: str
    shown: bool
    design: Design | None = None
    why: str = ""
    kind: str = "layer"


class LayersRead(NamedTuple):
    """What a reader has of `reading.split`: of each layer its design, or why it has none.

    shown: name of every layer of the file → whether it is read if none is named. Without a `split` they are
    all read.  unlisted: names of layers that are shown, but not among those of `split`.
    """

    shown: Mapping[str, bool]
    layers: tuple[Design | InputError, ...]
    unlisted: tuple[str, ...] = ()


def any_shown(layers: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Name → whether it is shown; a name that several layers have is shown if any of them is."""
    out: dict[str, bool] = {}
    for name, shown in layers:
        out[name] = shown or out.get(name, False)
    return out


def each_alone(reading: Reading, read: Callable[[Reading], Design]) -> tuple[Design | InputError, ...]:
    """The design of each layer of `reading.split`, or why it has none. read: makes it of its own reading."""
    found: list[Design | InputError] = []
    for layer in reading.split:
        try:
            found.append(read(reading.alone(layer)))
        except InputError as error:
            found.append(error)
    return tuple(found)


def apart(found: LayersRead, name: str, reading: Reading) -> tuple[Design, ...]:
    """The designs of the layers that are wanted; raises if one of them is empty. name: of the drawing."""
    read = found.layers
    areas = [one.area for one in read if isinstance(one, Design)]
    files = _file_names(reading.split)
    out: list[Design] = []
    hull = shapely.convex_hull(shapely.geometrycollections(areas))
    for k, (layer, one) in enumerate(zip(reading.split, read, strict=True)):
        if layer not in reading.parts:
            continue
        if isinstance(one, InputError):
            raise InputError(f"layer {layer!r}: {one}")
        part = Part(name, len(out) + 1, layer, _INKS[k % len(_INKS)], hull, "layer")
        warnings = (*one.warnings, *_left_out(found.unlisted))
        out.append(replace(one, name=f"{name}-{files[k]}", part=part, warnings=warnings))
    return tuple(out)


def _left_out(unlisted: Sequence[str]) -> Iterator[str]:
    """The warning about layers that are not listed."""
    if unlisted:
        names = ", ".join(map(repr, unlisted[:LISTED]))
        more = f" and {len(unlisted) - LISTED} more" if len(unlisted) > LISTED else ""
        some, be = ("layer", "is") if len(unlisted) == 1 else ("layers", "are")
        yield f"{some} {names}{more} {be} not listed, and {be} left out"


def _file_names(layers: Sequence[str]) -> list[str]:
    """The names of layers as parts of file names, no two the same, whatever their case."""
    out: list[str] = []
    for number, layer in enumerate(layers, 1):
        plain = re.sub(r"[^\w.+-]+", "-", layer)[:_LONGEST].strip("-.") or str(number)
        taken = any(plain.casefold() == other.casefold() for other in out)
        out.append(f"{plain}-{number}" if taken else plain)
    return out

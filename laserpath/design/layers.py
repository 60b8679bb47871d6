"""The layers of a drawing → one design for each, all with one zero."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import shapely

from laserpath.base.errors import InputError
from laserpath.design.reading import Reading
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


def apart(read: Sequence[Design | InputError], name: str, reading: Reading) -> tuple[Design, ...]:
    """The designs of the layers that are wanted; raises if one of them is empty.

    read: of each layer of `reading.split` its design, or why it has none.  name: of the drawing.
    """
    areas = [one.area for one in read if isinstance(one, Design)]
    files, out = _file_names(reading.split), []
    hull = shapely.convex_hull(shapely.geometrycollections(areas))
    for number, (layer, one) in enumerate(zip(reading.split, read, strict=True), 1):
        if layer not in reading.parts:
            continue
        if isinstance(one, InputError):
            raise InputError(f"layer {layer!r}: {one}")
        part = Part(name, number, layer, _INKS[(number - 1) % len(_INKS)], hull, "layer")
        out.append(replace(one, name=f"{name}-{files[number - 1]}", part=part))
    return tuple(out)


def _file_names(layers: Sequence[str]) -> list[str]:
    """The names of layers as parts of file names, no two the same, whatever their case."""
    out: list[str] = []
    for number, layer in enumerate(layers, 1):
        plain = re.sub(r"[^\w.+-]+", "-", layer)[:_LONGEST].strip("-.") or str(number)
        taken = any(plain.casefold() == other.casefold() for other in out)
        out.append(f"{plain}-{number}" if taken else plain)
    return out

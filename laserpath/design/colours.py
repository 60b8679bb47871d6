"""The colours of a drawing → one design for each, all with one zero.

Similar colours are merged until as many are left as are asked for. Merged next are the two groups for which

    w₁ w₂ / (w₁ + w₂) · |c₁ − c₂|²

is least (Ward, J. Am. Stat. Assoc. 58, 236, 1963): w is their area and c their mean colour in Oklab
(Ottosson, 2020), where distances are as large as they look. So shades of one colour are merged before two
colours are, and a small area of a colour of its own survives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import shapely
from PIL import Image
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import InputError
from laserpath.base.overlay import tidy, union
from laserpath.design.reading import Reading
from laserpath.types import Design, Part

RGB = tuple[float, float, float]
"""Red, green, blue of sRGB, 0 to 1."""
Group = tuple[RGB, ...]
"""Colours that count as one; the first, which names it, is the most frequent."""

MOST = 48
"""Colours of a drawing that are told apart before they are merged; each takes a set operation or several."""
_SHADES = 256
"""Colours that are merged one by one; Pillow's quantiser reduces more to so many."""
_NAMED = 4
"""Merged colours that a warning names."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    "black": ("000000", "202020"), "grey": ("606060", "808080", "b0b0b0"), "white": ("ffffff", "e8e8e8"),
    "red": ("ff0000", "c00000", "e04040"), "orange": ("ff8000", "f0a040"), "brown": ("804000", "a06030"),
    "yellow": ("ffff00", "e0c000"), "green": ("00c000", "006000", "80ff40", "60a060"),
    "cyan": ("00ffff", "00a0a0", "80d0e0"), "blue": ("0000ff", "000080", "3070e0", "80a0ff", "204880"),
    "purple": ("8000ff", "600080", "9060c0"), "magenta": ("ff00ff", "c000a0"), "pink": ("ff80c0", "ffc0d0"),
}  # fmt: skip
"""Name → examples, as hexadecimal sRGB. A colour has the name of the nearest example, but for `_COLOURED`."""
_COLOURED = 0.045
"""Chroma in Oklab from which a colour is not called grey or white: a dark green of a photograph is nearer to
grey than to any pure green, and still looks green. A larger value calls more colours grey."""


@dataclass(frozen=True, slots=True)
class Patch:
    """Colours that count as one, and the area where they show, mm."""

    group: Group
    area: BaseGeometry


def merged(weights: Mapping[RGB, float], count: int) -> list[Group]:
    """The colours in `count` groups of similar ones, or fewer. weights: colour → its area."""
    shades = np.array(list(weights), dtype=np.float64).reshape(-1, 3)
    area = np.array(list(weights.values()), dtype=np.float64)
    weight = np.maximum(area, 1e-12)  # colours without any have means, too
    group = _reduced(shades)
    while True:
        labels, group = np.unique(group, return_inverse=True)
        if len(labels) <= count:
            break
        sizes = np.bincount(group, weight)
        sums = [np.bincount(group, weight * channel) for channel in oklab(shades).T]
        centre = np.stack(sums, axis=1) / sizes[:, None]
        apart = ((centre[:, None] - centre) ** 2).sum(axis=2)
        cost = apart * sizes[:, None] * sizes / (sizes[:, None] + sizes)
        np.fill_diagonal(cost, np.inf)
        first, second = np.unravel_index(np.argmin(cost), cost.shape)
        group = np.where(group == second, first, group)
    rgb = list(weights)
    members = [np.flatnonzero(group == one) for one in range(len(labels))]
    return [tuple(rgb[k] for k in some[np.argsort(-area[some], kind="stable")]) for some in members]


def _reduced(shades: Floats) -> Indices:
    """(n,) a group for each colour; too many to be compared in pairs are grouped by Pillow first."""
    if len(shades) <= _SHADES:
        return np.arange(len(shades))
    pixels = Image.fromarray(np.rint(255 * np.clip(shades, 0, 1)).astype(np.uint8)[None])
    return np.asarray(pixels.quantize(_SHADES, Image.Quantize.MEDIANCUT)).ravel().astype(np.int64)


def oklab(rgb: Floats) -> Floats:
    """(n, 3) sRGB → (n, 3) lightness, green to red, blue to yellow, of Oklab."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(linear @ np.array(_TO_CONES).T)
    lab: Floats = cones @ np.array(_TO_LAB).T
    return lab


_TO_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)  # fmt: skip
_TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)  # fmt: skip


def written(rgb: RGB) -> str:
    """`#ff8000`."""
    return "#" + "".join(f"{round(255 * min(max(channel, 0.0), 1.0)):02x}" for channel in rgb)


def named(rgb: RGB) -> str:
    """The name of the nearest common colour: `red`."""
    pairs = [(word, example) for word, examples in _WORDS.items() for example in examples]
    known = np.array([[int(example[k : k + 2], 16) / 255 for k in (0, 2, 4)] for _, example in pairs])
    colour = oklab(np.array([rgb]))
    apart = ((oklab(known) - colour) ** 2).sum(axis=1)
    if np.hypot(*colour[0, 1:]) > _COLOURED:
        apart[[word in ("grey", "white") for word, _ in pairs]] = np.inf
    return pairs[int(np.argmin(apart))][0]


def in_words(rgb: RGB) -> str:
    """`red #e02010`."""
    return f"{named(rgb)} {written(rgb)}"


def designs(
    patches: Sequence[Patch],
    name: str,
    page: tuple[float, float, float, float],
    reading: Reading,
    said: tuple[tuple[str, ...], tuple[str, ...]],
) -> tuple[Design, ...]:
    """A design for each of `reading.colours` colours, the largest first; raises if there are fewer.

    patches: areas that do not overlap.  said: warnings and source of the drawing.
    """
    count, warnings = reading.colours or 1, said[0]
    if len(patches) < count:
        raise InputError(too_few([patch.group[0] for patch in patches], count))
    by_first = {patch.group[0]: patch for patch in patches}
    found = []
    for group in merged({first: patch.area.area for first, patch in by_first.items()}, count):
        some = [by_first[first] for first in group]
        area = some[0].area if len(some) == 1 else tidy(union([patch.area for patch in some]))
        found.append(Patch(tuple(rgb for patch in some for rgb in patch.group), area))
    found.sort(key=lambda patch: -patch.area.area)
    if sum(len(patch.group) for patch in found) > count:
        warnings = (*warnings, _merging(found))
    hull = shapely.convex_hull(shapely.geometrycollections([patch.area for patch in found]))
    return tuple(
        Design(
            shapely.normalize(patch.area), f"{name}-{k}-{named(patch.group[0])}", page, warnings, said[1],
            part=Part(name, k, named(patch.group[0]), written(patch.group[0]), hull),
        )
        for k, patch in enumerate(found, 1)
    )  # fmt: skip


def too_few(inks: Sequence[RGB], count: int) -> str:
    """The refusal of a drawing with fewer colours than are asked for."""
    there = f"{len(inks)} colour{'s' * (len(inks) != 1)} besides the paper"
    listed = f": {', '.join(map(in_words, inks))}" if inks else ""
    instead = f"--colours {len(inks)} takes them" if len(inks) > 1 else "leave --colours out"
    return f"colours is {count}, but only {there} can be told apart{listed}; {instead}"


def _merging(found: Sequence[Patch]) -> str:
    """The warning that similar colours count as one."""
    total = sum(len(patch.group) for patch in found)
    return f"{total} colours are drawn, and similar ones count as one: {'; '.join(_alike(found))}"


def _alike(found: Sequence[Patch]) -> Iterator[str]:
    for patch in found:
        first, *others = patch.group
        if others:
            more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
            yield f"{', '.join(map(written, others[:_NAMED]))}{more} as {in_words(first)}"


def chosen(parts: Sequence[Design], which: str) -> Design:
    """The part with that number or name; raises if there is none, or several."""
    wanted = which.strip().lower()
    names = {part.number: part.name for part in (design.part for design in parts) if part}
    numbers = [k for k, name in names.items() if wanted in (str(k), name, f"{k}-{name}")]
    if len(numbers) == 1:
        return parts[numbers[0] - 1]
    listed = ", ".join(f"{k} {name}" for k, name in names.items())
    what = "is there more than once: give its number" if numbers else "is none of them"
    raise InputError(f"colour {which!r} {what}; the colours are {listed}")


def of_part(design: Design, reading: Reading) -> Reading:
    """The reading that yields this part alone."""
    return reading if design.part is None else replace(reading, colour=str(design.part.number))

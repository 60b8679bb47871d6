"""The colours of a drawing → one design for each, all with one zero.

Similar colours are merged until as many are left as are asked for. Merged next are the two groups for which

    w₁ w₂ / (w₁ + w₂) · |c₁ − c₂|²

is least (Ward, J. Am. Stat. Assoc. 58, 236, 1963): w is their area and c their mean colour in Oklab
(Ottosson, 2020), where distances are as large as they look. So shades of one colour are merged before two
colours are, and a small area of a colour of its own survives.

In a picture, each colour covers a part of each pixel. Anti-aliased edges are mixtures, not colours of their
own: a pixel between two unlike neighbours that face each other counts for no colour. The others are reduced
to few colours by Pillow's quantiser, and those are merged as above. Then a pixel c of an edge is the mixture
t a + (1 − t) b of two colours around it,

    t = (c − b)·(a − b) / |a − b|²,  in [0, 1],

of those two for which the rest |c − t a − (1 − t) b| is least. The background, which is not printed, is the
colour that most of the picture's outermost pixels have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy
import shapely
from numpy.typing import NDArray
from PIL import Image
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError
from laserpath.base.overlay import tidy, union
from laserpath.design.reading import Reading
from laserpath.design.vector import Line, followed
from laserpath.types import Design, Part

RGB = tuple[float, float, float]
"""Red, green, blue of sRGB, 0 to 1."""
Group = tuple[RGB, ...]
"""Colours that count as one; the first, which names it, is the most frequent."""

MOST = 48
"""Colours of a drawing that are told apart before they are merged; each takes a set operation or several."""
_SHADES = 256
"""Colours that are merged one by one; Pillow's quantiser reduces a picture with more to so many."""
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
    """Colours that count as one, and the area where they show, mm. lines: those that are to be followed."""

    group: Group
    area: BaseGeometry
    lines: tuple[Line, ...] = ()


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
    filled: int = 0,
) -> tuple[Design, ...]:
    """A design for each of `reading.colours` colours, the largest first; raises if there are fewer.

    patches: areas that do not overlap, or lines.  said: warnings and source of the drawing.  filled: number
    of shapes that are left out where lines are followed.
    """
    count, warnings = reading.colours or 1, said[0]
    if len(patches) < count:
        raise TooFewColours([patch.group[0] for patch in patches], count)
    by_first = {patch.group[0]: patch for patch in patches}
    found = []
    for group in merged({first: patch.area.area for first, patch in by_first.items()}, count):
        some = [by_first[first] for first in group]
        area = some[0].area if len(some) == 1 else tidy(union([patch.area for patch in some]))
        lines = tuple(line for patch in some for line in patch.lines)
        found.append(Patch(tuple(rgb for patch in some for rgb in patch.group), area, lines))
    found.sort(key=lambda patch: -patch.area.area)
    if sum(len(patch.group) for patch in found) > count:
        warnings = (*warnings, _merging(found))
    hull = shapely.convex_hull(shapely.geometrycollections([patch.area for patch in found]))
    out = []
    for k, patch in enumerate(found, 1):
        own = f"{name}-{k}-{named(patch.group[0])}"
        part = Part(name, k, named(patch.group[0]), written(patch.group[0]), hull)
        if patch.lines:
            design = followed(patch.lines, own, reading, filled, warnings)
            design = replace(design, source=(*said[1], *design.source))
        else:
            design = Design(shapely.normalize(patch.area), own, warnings=warnings, source=said[1])
        out.append(replace(design, page=page, part=part))
    return tuple(out)


class TooFewColours(InputError):
    """The refusal of a drawing with fewer colours than are asked for. there: how many there are."""

    def __init__(self, inks: Sequence[RGB], count: int) -> None:
        self.there = len(inks)
        there = f"{len(inks)} colour{'s' * (len(inks) != 1)} besides the paper"
        listed = f": {', '.join(map(in_words, inks))}" if inks else ""
        instead = f"--colours {len(inks)} takes them" if len(inks) > 1 else "leave --colours out"
        super().__init__(f"colours is {count}, but only {there} can be told apart{listed}; {instead}")


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


Bytes = NDArray[np.uint8]
Labels = NDArray[np.int16]

_EVEN = 8
"""Levels of 255 by which a mixture is inside its neighbours' range; fewer take noise for mixtures."""
_GREY = 12
"""Levels of 255 between the channels of a pixel up to which it counts as grey."""
_COLOURFUL = 1e-3
"""Least share of pixels that are not grey; compression leaves fewer at the edges of black and white."""
_ALIKE = 0.04
"""Distance in Oklab below which two colours are one with noise; black and white are 1 apart."""
_BAND = 256
"""Rows that are looked at together; more need more memory."""
_AROUND = 5
"""Pixels, width of the square around an edge's pixel in which the two colours are looked for."""


@dataclass(frozen=True, slots=True)
class ColourRegions:
    """The colours of a picture, each with the part of each pixel that it covers.

    groups: the colours, without the background.  background: its colour.
    """

    groups: tuple[Group, ...]
    background: RGB
    _labels: Labels
    _edge: Indices
    _shares: Floats
    _order: tuple[int, ...]

    def coverage(self, number: int) -> Floats:
        """(rows, columns) float64, 0 to 1, of the colour `groups[number]`."""
        return self._of(self._order[number])

    def _of(self, label: int) -> Floats:
        covered = (self._labels == label).astype(np.float64)
        covered.ravel()[self._edge] = self._shares[:, label]
        return covered


def regions(rgb: Bytes, count: int) -> ColourRegions:
    """The regions of `count` colours besides the background. rgb: (rows, columns, 3)."""
    _check_coloured(rgb)
    mixed = np.concatenate([_mixed(band) for band in _bands(rgb)])
    if mixed.all():
        mixed[:] = False
    shades, labels, weights = _shades(rgb, ~mixed)
    groups = merged(dict(zip(shades, weights, strict=True)), count + 1)
    number = {rgb: k for k, group in enumerate(groups) for rgb in group}
    table = np.array([*(number[shade] for shade in shades), -1])
    numbered: Labels = table[labels].astype(np.int16)
    paper = _background(numbered, len(groups))
    printed = _told_apart(groups, paper)
    if len(printed) < count:
        raise TooFewColours([groups[k][0] for k in printed], count)
    edge = np.flatnonzero(numbered.ravel() < 0)
    palette = np.array([group[0] for group in groups])
    shares = _shares(rgb.reshape(-1, 3)[edge] / 255, palette, _around(numbered, edge, len(groups)))
    order = tuple(k for k in range(len(groups)) if k != paper)
    return ColourRegions(tuple(groups[k] for k in order), groups[paper][0], numbered, edge, shares, order)


def _check_coloured(rgb: Bytes) -> None:
    """Refuse a picture of greys."""
    coloured = 0
    for band in _bands(rgb, 0):
        channels = _channels(band)
        coloured += int((channels.max(axis=0) - channels.min(axis=0) > _GREY).sum())
    if coloured < _COLOURFUL * rgb.shape[0] * rgb.shape[1]:
        raise InputError(
            "the picture has no colours, only black, white or greys: leave --colours out, or read the greys "
            "as wanted dose with --grey"
        )


def _bands(rgb: Bytes, rim: int = 1) -> Iterator[Bytes]:
    """The picture in bands of rows, each with `rim` pixels more around it, repeated at the border."""
    padded = np.pad(rgb, ((rim, rim), (rim, rim), (0, 0)), mode="edge")
    for start in range(0, rgb.shape[0], _BAND):
        yield padded[start : start + _BAND + 2 * rim]


def _mixed(band: Bytes) -> Bools:
    """Whether each pixel inside the band's rim lies between two neighbours that face each other."""
    wide = _channels(band)
    rows, columns = wide.shape[1] - 2, wide.shape[2] - 2
    centre = wide[:, 1:-1, 1:-1]
    mixed = np.zeros((rows, columns), dtype=bool)
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        a = wide[:, 1 + dy : 1 + dy + rows, 1 + dx : 1 + dx + columns]
        b = wide[:, 1 - dy : 1 - dy + rows, 1 - dx : 1 - dx + columns]
        low, high = np.minimum(a, b), np.maximum(a, b)
        within = ((centre >= low - _EVEN) & (centre <= high + _EVEN)).all(axis=0)
        mixed |= within & ((centre > low + _EVEN) & (centre < high - _EVEN)).any(axis=0)
    return mixed


def _channels(band: Bytes) -> NDArray[np.int16]:
    """(3, rows, columns) of signed numbers, which is faster to compare than with the channels last."""
    return np.ascontiguousarray(np.moveaxis(band, 2, 0)).astype(np.int16)


def _shades(rgb: Bytes, even: Bools) -> tuple[list[RGB], Indices, Floats]:
    """The colours of the even pixels; (rows, columns) their numbers, −1 elsewhere; their pixels."""
    labels = np.full(even.shape, -1, dtype=np.int64)
    pixels = rgb[even]
    red, green, blue = pixels.T.astype(np.int32)
    packed = (red << 16) | (green << 8) | blue
    there = np.zeros(1 << 24, dtype=np.int16)
    there[packed] = 1  # a table, because sorting millions of pixels takes seconds
    values = np.flatnonzero(there)
    if len(values) <= _SHADES:
        there[values] = np.arange(len(values))
        index = there[packed]
        palette = np.stack([values >> 16, values >> 8 & 255, values & 255], axis=1)
    else:
        image = Image.fromarray(pixels[None]).quantize(_SHADES, Image.Quantize.MEDIANCUT, kmeans=1)
        index = np.asarray(image).ravel()
        palette = np.array(image.getpalette()).reshape(-1, 3)
    used = np.flatnonzero(np.bincount(index, minlength=len(palette)))
    found: dict[RGB, int] = {}
    table = np.zeros(len(palette), dtype=np.int64)
    for k in used:  # a palette may have a colour twice
        table[k] = found.setdefault(_unit(palette[k]), len(found))
    labels[even] = table[index]
    return list(found), labels, np.bincount(table[index], minlength=len(found)).astype(np.float64)


def _unit(levels: NDArray[np.integer]) -> RGB:
    red, green, blue = (int(level) / 255 for level in levels)
    return red, green, blue


def _background(labels: Labels, count: int) -> int:
    """The colour that most of the outermost pixels have."""
    rim = np.concatenate([labels[0], labels[-1], labels[1:-1, 0], labels[1:-1, -1]])
    some = rim[rim >= 0] if (rim >= 0).any() else labels[labels >= 0]
    return int(np.argmax(np.bincount(some, minlength=count)))


def _told_apart(groups: Sequence[Group], paper: int) -> list[int]:
    """The groups besides the background that differ from it and from each other by more than noise."""
    lab = oklab(np.array([group[0] for group in groups]))
    kept = [paper]
    for k in range(len(groups)):
        if k != paper and np.hypot.reduce(lab[kept] - lab[k], axis=1).min() >= _ALIKE:
            kept.append(k)
    return kept[1:]


def _around(labels: Labels, edge: Indices, count: int) -> Bools:
    """(n, count) whether each colour is around each pixel of an edge."""
    return np.stack(
        [
            scipy.ndimage.maximum_filter(labels == k, _AROUND, mode="nearest").ravel()[edge]
            for k in range(count)
        ],
        axis=1,
    )


def _shares(rgb: Floats, palette: Floats, around: Bools) -> Floats:
    """(n, count) the share of each colour in each pixel of an edge; two at most are above 0."""
    n, count = around.shape
    near: Bools = around | ~np.any(around, axis=1, keepdims=True)
    apart = np.where(near, ((rgb[:, None] - palette) ** 2).sum(axis=2), np.inf)
    best, rest = np.argmin(apart, axis=1), apart.min(axis=1, initial=np.inf)
    shares = np.zeros((n, count))
    shares[np.arange(n), best] = 1
    for a, b in combinations(range(count), 2):
        along = palette[a] - palette[b]
        t = np.clip((rgb - palette[b]) @ along / (along @ along), 0, 1)
        off = ((rgb - palette[b] - t[:, None] * along) ** 2).sum(axis=1)
        better = near[:, a] & near[:, b] & (off < rest)
        rest[better] = off[better]
        shares[better] = 0
        shares[better, a], shares[better, b] = t[better], 1 - t[better]
    return shares

"""The pixels of a picture → how much of each pixel each of its colours covers.

Anti-aliased edges are mixtures, not colours of their own: a pixel between two unlike neighbours that face
each other counts for no colour. The others are reduced to few colours by Pillow's quantiser, and those are
merged (`colours`). Then a pixel c of an edge is the mixture t a + (1 − t) b of two colours around it,

    t = (c − b)·(a − b) / |a − b|²,  in [0, 1],

of those two for which the rest |c − t a − (1 − t) b| is least. The background, which is not printed, is the
colour that most of the picture's outermost pixels have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import maximum_filter

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.errors import InputError
from laserpath.design import colours
from laserpath.design.colours import RGB, Group

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
_SHADES = 256
"""Colours to which Pillow's quantiser reduces a picture that has more."""
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
    groups = colours.merged(dict(zip(shades, weights, strict=True)), count + 1)
    number = {rgb: k for k, group in enumerate(groups) for rgb in group}
    table = np.array([*(number[shade] for shade in shades), -1])
    numbered: Labels = table[labels].astype(np.int16)
    paper = _background(numbered, len(groups))
    printed = _told_apart(groups, paper)
    if len(printed) < count:
        raise InputError(colours.too_few([groups[k][0] for k in printed], count))
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
    lab = colours.oklab(np.array([group[0] for group in groups]))
    kept = [paper]
    for k in range(len(groups)):
        if k != paper and np.hypot.reduce(lab[kept] - lab[k], axis=1).min() >= _ALIKE:
            kept.append(k)
    return kept[1:]


def _around(labels: Labels, edge: Indices, count: int) -> Bools:
    """(n, count) whether each colour is around each pixel of an edge."""
    return np.stack(
        [maximum_filter(labels == k, _AROUND, mode="nearest").ravel()[edge] for k in range(count)], axis=1
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

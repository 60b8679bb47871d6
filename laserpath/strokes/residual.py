"""Strokes for a picture of greys, one after the other where most of the dose is still missing.

The place of the largest missing dose, blurred by the spot, is the middle of the next stroke. It goes as far
to both sides as at least half of that dose is missing, in the direction of the largest sum, and is as wide as
that holds across. Its dose is the mean of what is missing there. The fewer strokes there are for the area of
the picture, the longer and wider they may be, so that they cover all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from scipy.ndimage import gaussian_filter

from laserpath.base.arrays import Floats
from laserpath.base.checks import whole_between
from laserpath.base.errors import InputError
from laserpath.strokes.additive import AdditiveStrokes, Report, StrokeModel, sigma_of
from laserpath.types import Grid

_DIRECTIONS = 12
"""Directions that are tried: more find better strokes and take longer."""

_MISSING = 0.5
"""Share of the largest missing dose that must be missing along a stroke: a larger value shortens strokes."""

_LONGEST_FWHM = 30.0
"""Longest stroke of a picture that needs few: a larger value takes longer."""

_WIDEST_FWHM = 4.0
"""Widest stroke of a picture that needs few: a larger value leaves fewer strokes for detail."""

_LONG, _WIDE = 6.0, 3.0
"""Longest and widest stroke, relative to the side of the square that each has to cover. Most are shorter, as
the missing dose ends: larger values leave less dose out, smaller ones show more detail."""

_ENOUGH = 0.01
"""Missing dose, relative to the largest wanted one, at which no further stroke is made."""

_MOST = 1_000_000
"""Most strokes that may be asked for."""


def lay_strokes(
    target: Floats, grid: Grid, fwhm: float, most: int, report: Report | None = None
) -> AdditiveStrokes:
    """At most `most` strokes for a target dose (rows, columns) mJ/mm² on a grid: a start for `fit_additive`.

    fwhm: of the spot, mm.  report: called with the number of each stroke, from 1, and the root mean square of
    the dose that is missing, mJ/mm²; a KeyboardInterrupt from it ends with the strokes so far.
    Raises InputError if the target is not of the grid's shape or not finite, the FWHM is not above 0, or
    `most` is not a whole number from 0 to 1e6.
    """
    whole_between("the most strokes", most, 0, _MOST)
    sigma = sigma_of(fwhm) / grid.pitch
    if target.shape != grid.shape:
        raise InputError(f"target has shape {target.shape}, but its grid has {grid.shape}")
    if bad := int((~np.isfinite(target)).sum()):
        raise InputError(f"target is not finite in {bad} values")
    missing, made = np.array(target, dtype=np.float64), list[AdditiveStrokes]()
    each = np.sqrt((target > _ENOUGH * target.max()).sum() / max(most, 1)) * grid.pitch
    largest = max(_LONGEST_FWHM * fwhm, _LONG * each), max(_WIDEST_FWHM * fwhm, _WIDE * each)
    with suppress(KeyboardInterrupt):
        for number in range(1, most + 1):
            blurred = gaussian_filter(missing, sigma, mode="constant")
            row, column = np.unravel_index(int(np.argmax(blurred)), blurred.shape)
            if blurred[row, column] <= _ENOUGH * target.max():
                break
            one = _stroke(blurred, np.array([column, row], dtype=np.float64), grid, fwhm, largest)
            missing -= StrokeModel.of(one, grid, fwhm).dose(one)
            made.append(one)
            if report is not None:
                report(number, float(np.sqrt(np.mean(missing**2))))
    return _as_one(made)


def _as_one(made: Sequence[AdditiveStrokes]) -> AdditiveStrokes:
    """Single strokes as one record."""
    count = len(made)
    return AdditiveStrokes(
        np.concatenate([one.vertices for one in made]) if made else np.zeros((0, 2)),
        np.arange(2 * count).reshape(count, 2),
        np.array([one.width[0] for one in made]),
        np.array([one.energy[0] for one in made]),
    )


def _stroke(
    missing: Floats, middle: Floats, grid: Grid, fwhm: float, largest: tuple[float, float]
) -> AdditiveStrokes:
    """The stroke through a place, (column, row), of the missing dose. largest: length and width, mm."""
    angles = np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    longest, widest = (extent / 2 / grid.pitch for extent in largest)
    arms = [[_arm(missing, middle, side * way, longest) for side in (-1, 1)] for way in ways]
    best = int(np.argmax([sum(total for _, total in pair) for pair in arms]))
    (back, one), (ahead, other) = arms[best]
    first, last = middle - back * ways[best], middle + ahead * ways[best]
    across = ways[(best + _DIRECTIONS // 2) % _DIRECTIONS]
    wide = sum(_arm(missing, middle, side * across, widest)[0] for side in (-1, 1)) * grid.pitch
    mean = (one + other) / max(back + ahead + 2, 1)
    width = max(wide - fwhm / 2, fwhm / 4)
    places = np.array(grid.origin) + grid.pitch * np.stack([first, last])
    return AdditiveStrokes(places, np.array([[0, 1]]), np.full(1, width), np.full(1, mean * width))


def _arm(missing: Floats, middle: Floats, way: Floats, longest: float) -> tuple[float, float]:
    """(pixels, sum of the missing dose) from a place along a direction, as far as enough is missing."""
    steps = np.arange(int(longest) + 1)
    at = np.rint(middle + steps[:, None] * way).astype(np.int64)
    inside = ((at >= 0) & (at < missing.shape[::-1])).all(axis=1)
    values = np.where(inside, missing[tuple(np.clip(at, 0, np.array(missing.shape[::-1]) - 1).T[::-1])], 0.0)
    enough = values >= _MISSING * values[0]
    far = int(np.argmin(enough)) if not enough.all() else len(enough)
    return float(max(far - 1, 0)), float(values[:far].sum())

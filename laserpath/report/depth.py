"""The cured part in section, and turned over, as pictures of a page."""

from __future__ import annotations

import numpy as np

from laserpath.operators.volume import CuredDepth, turned
from laserpath.report.canvas import CIVIDIS, WIDTH, Axes, ColourKey, Line, Paper, add_key, coloured, small_png
from laserpath.report.data import Picture
from laserpath.report.pictures import add_contour
from laserpath.report.wording import number

_LEVELS = 160
"""Depths in the picture of a section."""
_COLUMNS = 900
"""Most pixels across a section; more show no more."""
_BY_DOSE = "The depth is that of the light's dose: the reaction through time is left out."


def pictures(cured: CuredDepth, done: str = "cure") -> list[Picture]:
    """The section through the deepest place, and the part turned over; none if nothing cures."""
    if not cured.depth.max() > 0:
        return []
    row, _ = cured.deepest
    y, part = cured.grid.y()[row], turned(cured)
    depths = (
        "The depths are to scale." if part.stretch == 1 else f"Depths are stretched {part.stretch:g} times."
    )
    return [
        Picture.from_svg(
            "In depth: a section",
            section(cured),
            f"Section through the resin at y = {number(float(y))} mm, with the cured part.",
            f"{in_words(cured, done)} The section runs through that place, at "
            f"y = {number(float(y))} mm; the white line is where the dose is E_c.",
        ),
        Picture.from_png(
            "In depth: the part, turned over",
            small_png(255 * part.picture, 64),
            "The cured part turned over and seen from the side.",
            f"What {done}s, its lower side up: the light came from below. {depths}"
            + (f" {_BY_DOSE}" if _reacts(cured) else ""),
        ),
    ]


def said(cured: CuredDepth, done: str = "cure") -> tuple[str, str]:
    """(question, answer) for the page."""
    return f"How deep it {done}s", in_words(cured, done)


def in_words(cured: CuredDepth, done: str = "cure") -> str:
    """The largest depth, how the spot widens, and what was left out, in one to three sentences."""
    said = _depth_in_words(cured, done)
    return f"{said} {_BY_DOSE}" if _reacts(cured) else said


def _reacts(cured: CuredDepth) -> bool:
    """Whether the resin has kinetics, which the depth leaves out."""
    return cured.resin.kinetics is not None


def _depth_in_words(cured: CuredDepth, done: str) -> str:
    if not cured.depth.max() > 0:
        return f"Nothing {done}s: the largest dose is below the resin's E_c."
    figures = cured.as_dict()
    x, y = figures["at"]
    said = (
        f"It {done}s {number(1000 * figures['largest'], 3)} µm deep at most, at x {number(x)}, "
        f"y {number(y)} mm, by the penetration depth of {number(1000 * figures['penetration_depth'], 3)} µm."
    )
    if not cured.spreads:
        return said
    now, then = (number(1000 * width, 3) for width in cured.widths)
    return f"{said} Down to there the spot's FWHM changes from {now} to {then} µm."


def section(cured: CuredDepth) -> str:
    """D/E_c along x and in depth, through the deepest place, as an SVG."""
    row, _ = cured.deepest
    solid = np.flatnonzero(cured.depth[row] > 0)
    rim = max(8, (solid[-1] - solid[0]) // 12)
    first, last = max(int(solid[0]) - rim, 0), min(int(solid[-1]) + rim + 1, cured.depth.shape[1])
    columns = slice(first, last, max(1, (last - first) // _COLUMNS))
    z = np.linspace(0, 1.25 * float(cured.depth.max()), _LEVELS)
    above = cured.above_threshold(z, (slice(row, row + 1), columns))[:, 0]
    x = cured.grid.x()[columns]
    left, right, deep = float(x[0]), float(x[-1]), 1000 * float(z[-1])
    top = max(float(np.exp(above.max())), 1.0)
    sheet = Paper(WIDTH, 2.7)
    ax = Axes(sheet, (0.7, 1.05, WIDTH - 0.85, 1.55), (left, right), (deep, 0.0))
    ax.image(coloured(np.exp(above[::-1]) / top, CIVIDIS), (left, right, deep, 0.0))
    add_contour(ax, x, 1000 * z, above, 0.0, Line("#ffffff"))
    ax.close("x, mm", "depth, µm")
    add_key(sheet, ColourKey(CIVIDIS, (0, top), "dose ÷ E_c"), 0.7, 0.43, WIDTH - 0.85)
    return sheet.svg()

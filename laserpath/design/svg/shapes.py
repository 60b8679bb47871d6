"""Basic shapes and paths → subpaths of cubics, in the shape's own coordinates (px, y down)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from laserpath.design.curves import Subpath, arc, lines
from laserpath.design.svg import paths
from laserpath.design.svg.values import numbers

Length = Callable[[str, str], float | None]
"""(attribute, along) → px, or None if it is not given. along: 'x', 'y' or 'both', for percentages."""

TAGS = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon")


def outline(tag: str, length: Length, text: Callable[[str], str]) -> tuple[list[Subpath], str]:
    """The subpaths of a shape, and a warning about it, or ''."""
    if tag == "path":
        subpaths, understood = paths.parse(text("d"))
        return subpaths, "" if understood else "the path data has a mistake, and what follows it is left out"
    if tag in ("polyline", "polygon"):
        return _polyline(text("points"), closed=tag == "polygon")
    if tag == "line":
        ends = [[length(f"x{k}", "x") or 0.0, length(f"y{k}", "y") or 0.0] for k in (1, 2)]
        return [Subpath(lines(ends), closed=False)], ""
    if tag == "rect":
        return _rect(length)
    return _ellipse(tag, length)


def _polyline(text: str, closed: bool) -> tuple[list[Subpath], str]:
    values = numbers(text)
    wrong = "there is an odd number of coordinates, and the last is left out" if len(values) % 2 else ""
    points = np.array(values[: len(values) // 2 * 2]).reshape(-1, 2)
    if len(points) < 2:
        return [], wrong
    if closed and (points[0] != points[-1]).any():
        points = np.vstack([points, points[:1]])
    return [Subpath(lines(points), closed)], wrong


def _ellipse(tag: str, length: Length) -> tuple[list[Subpath], str]:
    cx, cy = length("cx", "x") or 0.0, length("cy", "y") or 0.0
    if tag == "circle":
        rx = ry = length("r", "both") or 0.0
    else:
        rx, ry = _radii(length)
    if rx < 0 or ry < 0:
        return [], "a radius below 0 draws nothing"
    if rx == 0 or ry == 0:
        return [], ""
    return [Subpath(arc((cx, cy), (rx, 0), (0, ry), 0, 2 * np.pi), closed=True)], ""


def _radii(length: Length) -> tuple[float, float]:
    """Radii along x and y; one that is not given equals the other."""
    rx, ry = length("rx", "x"), length("ry", "y")
    if rx is None:
        rx = ry
    if ry is None:
        ry = rx
    return rx or 0.0, ry or 0.0


def _rect(length: Length) -> tuple[list[Subpath], str]:
    x, y = length("x", "x") or 0.0, length("y", "y") or 0.0
    w, h = length("width", "x") or 0.0, length("height", "y") or 0.0
    if w < 0 or h < 0:
        return [], "a width or height below 0 draws nothing"
    if w == 0 or h == 0:
        return [], ""
    rx, ry = _radii(length)
    rx, ry = min(max(rx, 0), w / 2), min(max(ry, 0), h / 2)
    if rx == 0 or ry == 0:
        corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)]
        return [Subpath(lines(corners), closed=True)], ""
    return [Subpath(_rounded(x, y, w, h, rx, ry), closed=True)], ""


def _rounded(x: float, y: float, w: float, h: float, rx: float, ry: float) -> np.ndarray:
    """Four edges and four quarter ellipses, clockwise on the screen from the upper left."""
    corners = [
        arc((x + w - rx, y + ry), (rx, 0), (0, ry), -np.pi / 2, np.pi / 2),
        arc((x + w - rx, y + h - ry), (rx, 0), (0, ry), 0, np.pi / 2),
        arc((x + rx, y + h - ry), (rx, 0), (0, ry), np.pi / 2, np.pi / 2),
        arc((x + rx, y + ry), (rx, 0), (0, ry), np.pi, np.pi / 2),
    ]
    pieces = []
    for before, corner in zip([corners[-1], *corners[:-1]], corners, strict=True):
        pieces += [lines([before[-1, 3], corner[0, 0]]), corner]
    return np.concatenate(pieces)

"""viewBox, preserveAspectRatio and the size of the page.

A viewBox (x, y, w, h) is mapped onto a viewport (X, Y, W, H) in px. Default xMidYMid meet:
one scale min(W/w, H/h), centred.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.svg.values import NotUnderstood, length, matrix, numbers

Box = tuple[float, float, float, float]
ALIGN = {"Min": 0.0, "Mid": 0.5, "Max": 1.0}
_ASPECT = re.compile(r"(?:defer\s+)?(none|x(Min|Mid|Max)Y(Min|Mid|Max))(?:\s+(meet|slice))?")


@dataclass(frozen=True, slots=True)
class Page:
    """The outermost viewport. width, height: px, or None if the file does not give them.

    box: the viewBox, if any.  named: whether the size has a unit.  warning: how the size was guessed, or ''.
    """

    width: float | None
    height: float | None
    box: Box | None
    named: bool
    warning: str


def view_box(text: str | None) -> Box | None:
    """(x, y, width, height), or None. Raises NotUnderstood unless width and height are positive."""
    if text is None or not text.strip():
        return None
    values = numbers(text)
    if len(values) != 4 or values[2] <= 0 or values[3] <= 0:
        raise NotUnderstood(text)
    return values[0], values[1], values[2], values[3]


def fit(box: Box, viewport: Box, aspect: str = "") -> Floats:
    """The matrix from viewBox to viewport coordinates. aspect: preserveAspectRatio."""
    (x, y, w, h), (vx, vy, vw, vh) = box, viewport
    match = _ASPECT.fullmatch(aspect.strip() or "xMidYMid")
    if match is None:
        raise NotUnderstood(aspect)
    sx, sy = vw / w, vh / h
    if match[1] == "none":
        return matrix(sx, 0, 0, sy, vx - x * sx, vy - y * sy)
    s = max(sx, sy) if match[4] == "slice" else min(sx, sy)
    dx, dy = ALIGN[match[2]] * (vw - w * s), ALIGN[match[3]] * (vh - h * s)
    return matrix(s, 0, 0, s, vx + dx - x * s, vy + dy - y * s)


def page(width: str | None, height: str | None, box_text: str | None) -> Page:
    """The page from the attributes of the outermost svg element.

    Plain numbers are px. A missing size (or auto, or a percentage, which is of the viewer's window)
    follows from the other one and the viewBox's aspect, else from the viewBox in px; without a
    viewBox the page is the drawing's extent.
    """
    try:
        box = view_box(box_text)
    except NotUnderstood:
        raise InputError(
            f"viewBox is {box_text!r}, but must be x y width height, the last two above 0"
        ) from None
    w, h = _side("width", width, box), _side("height", height, box)
    warning = ""
    if w is None and h is None:
        page = "the viewBox counts in px" if box else "the page is what is drawn, and lengths count in px"
        warning = f"svg has no width and height of its own: {page} of 1/96 inch"
    if box is not None:
        if w is None:
            w = box[2] if h is None else h * box[2] / box[3]
        if h is None:
            h = w * box[3] / box[2]
    elif (w is None) != (h is None):
        warning = "svg has only one of width and height and no viewBox: the page is what is drawn"
        w = h = None
    named = any(re.search(r"\d\s*[a-zA-Z]+\s*$", side or "") for side in (width, height))
    return Page(w, h, box, named, warning)


def _side(name: str, text: str | None, box: Box | None) -> float | None:
    """The width or height of the page in px, or None."""
    if text is None or text.strip().lower() in ("", "auto"):
        return None
    percent = text.strip().endswith("%")
    try:
        value = length(text, 1.0)
    except NotUnderstood:
        raise InputError(f"page {name} is {text!r}, but must be a length, such as 20mm") from None
    if value <= 0:
        raise InputError(f"page {name} is {text!r}, but must be above 0")
    return None if percent else value

"""A toolpath as an SVG drawing in mm. SVG's y points down; it is flipped here and nowhere else.

The design is a faint fill. Exposing moves are coloured, and drawn wider, by power: the used range
of powers is cut into at most `CLASSES` equal classes, and consecutive moves of one class are one
path, so that the order in the file is the order on the machine. Travels are thin and dashed. A
circle marks the start, a square the end. Below the drawing: the powers, and a scale bar whose length
is 1, 2 or 5 times a power of ten. One user unit is one mm; coordinates are rounded to 0.1 µm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import shapely
import svgwrite
from svgwrite.container import Group

from laserpath.base.arrays import Floats
from laserpath.types import Design, Machine, Toolpath

Page = tuple[float, float, float, float]

CLASSES = 12
"""Largest number of power classes; more cannot be told apart by eye."""

POWER_STOPS = ("#e8b021", "#dd7a1f", "#c23b4e", "#86216b", "#2f0f5e")
"""Colours from the lowest to the highest power. Luminance falls all the way, so that the order is
kept in grey and for colour-blind readers, and the lightest still shows on white."""

DESIGN_FILL = "#dfe5ea"
_TRAVEL = "#4a86b8"
_INK = "#222222"
_START = "#00c08b"
_DECIMALS = 4

_ON_SCREEN = "@media screen { svg:root { width: 100vw; height: 100vh } }"
"""The page has the true size, for editors and for print; a browser fills its window with it, because
a design of 5 mm could not be read there otherwise."""

_INVALID = dict.fromkeys((*range(32), 127, *range(128, 160), 65534, 65535), "?")
"""Characters that XML 1.0 or one of its readers rejects, each replaced by '?'."""


def power_colour(fraction: float) -> str:
    """The colour (#rrggbb) of a power at `fraction` (0..1) of the drawn range."""
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in POWER_STOPS])
    position = float(np.clip(fraction, 0, 1)) * (len(stops) - 1)
    rgb = [np.interp(position, np.arange(len(stops)), stops[:, i]) for i in range(3)]
    return "#" + "".join(f"{round(c):02x}" for c in rgb)


def round_length(longest: float) -> float:
    """The largest of 1, 2, 5 · 10ⁿ that is not above `longest`."""
    decade = 10.0 ** math.floor(math.log10(longest) + 1e-9)
    return max(m * decade for m in (1, 2, 5) if m * decade <= longest * (1 + 1e-9))


def printable(text: str) -> str:
    """`text` with characters that XML does not allow (control characters, lone surrogates) as '?'."""
    return text.translate(_INVALID).encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The layout of the sheet. (x0, y1): its upper-left corner, mm, y up.

    plot: height of the drawing above the legend, mm.  unit: mm, the size of a letter, to which strokes and
    margins are scaled.
    """

    x0: float
    y1: float
    width: float
    plot: float
    unit: float

    @property
    def height(self) -> float:
        return self.plot + 5.5 * self.unit

    def flip(self, xy: Floats) -> Floats:
        """(N, 2) mm, y up → user units, y down from the upper-left corner."""
        return (xy - (self.x0, self.y1)) * (1, -1)


@dataclass(frozen=True, slots=True)
class _PowerClasses:
    """Classes of power: edges (C+1,) mW, rising."""

    edges: Floats

    def __len__(self) -> int:
        return len(self.edges) - 1

    def classify(self, power: Floats) -> np.ndarray:
        """(N,) class of each power, −1 for travel."""
        index = np.searchsorted(self.edges, power, side="right") - 1
        return np.where(power > 0, np.clip(index, 0, len(self) - 1), -1)

    def colour(self, k: int) -> str:
        return power_colour(1.0 if len(self) == 1 else k / (len(self) - 1))

    def width(self, k: int) -> float:
        """Stroke width of a class, relative to the middle one."""
        return 0.6 + 0.8 * (0.5 if len(self) == 1 else k / (len(self) - 1))


def near(toolpath: Toolpath, design: Design) -> Toolpath:
    """The toolpath without its first and last travels where they lead far away from the design.

    The machine starts at its work zero. A 5 mm design at (150, 100) mm would be a dot in a drawing
    that shows this travel to scale.
    """
    core = toolpath.exposing()
    whole, spread = (np.ptp(_bounds(path, design), axis=0) for path in (toolpath, core))
    return toolpath if (whole <= 1.5 * spread.max()).all() else core


def _bounds(toolpath: Toolpath, design: Design) -> Floats:
    """(2, 2) lower-left and upper-right corner of design and toolpath, mm."""
    points = np.concatenate([np.array(design.bounds).reshape(2, 2), toolpath.xy])
    return np.array([points.min(axis=0), points.max(axis=0)])


def draw(toolpath: Toolpath, design: Design, machine: Machine) -> str:
    """The toolpath over its design, as the text of an SVG file."""
    whole, toolpath = toolpath, near(toolpath, design)
    sheet, classes = _sheet(toolpath, design), _power_classes(toolpath, machine)
    drawing = svgwrite.Drawing(
        size=(f"{sheet.width:.4f}mm", f"{sheet.height:.4f}mm"),
        viewBox=f"0 0 {sheet.width:.4f} {sheet.height:.4f}",
        debug=False,
    )
    name = printable(design.name)
    drawing.set_desc(
        title=f"Toolpath of {name}",
        desc=f"{len(toolpath)} moves for {printable(machine.name)}; one unit is one mm",
    )
    drawing.embed_stylesheet(_ON_SCREEN)
    drawing.add(drawing.rect((0, 0), ("100%", "100%"), fill="#ffffff"))
    drawing.add(drawing.path(_area(design, sheet), fill=DESIGN_FILL, fill_rule="evenodd", id="design"))
    _add_moves(drawing, toolpath, sheet, classes, design.page)
    _add_ends(drawing, toolpath, sheet)
    _add_legend(drawing, sheet, classes, "start" if toolpath is whole else "first exposure")
    _add_scale_bar(drawing, sheet)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + str(drawing.tostring()) + "\n"


def _sheet(toolpath: Toolpath, design: Design) -> _Sheet:
    low, high = _bounds(toolpath, design)
    size = high - low
    unit = float(max(size.max(), 1e-6)) / 40
    margin = 2 * unit
    # Wide enough for the legend even where the design is a narrow strip.
    width = max(float(size[0]) + 2 * margin, 34 * unit)
    x0 = float(low[0] + high[0] - width) / 2
    return _Sheet(x0, float(high[1]) + margin, width, float(size[1]) + 2 * margin, unit)


def _power_classes(toolpath: Toolpath, machine: Machine) -> _PowerClasses:
    lit = toolpath.power[toolpath.on]
    low, high = (lit.min(), lit.max()) if len(lit) else (0.0, machine.power_max)
    if high - low < machine.power_step / 2:
        return _PowerClasses(np.array([low, high]))
    classes = min(CLASSES, max(2, round((high - low) / machine.power_step)))
    return _PowerClasses(np.linspace(low, high, classes + 1))


def _area(design: Design, sheet: _Sheet) -> str:
    rings = [ring for p in design.area.geoms for ring in (p.exterior, *p.interiors)]
    return " ".join("M" + _points(sheet.flip(shapely.get_coordinates(r)[:-1])) + "Z" for r in rings)


def _points(xy: Floats) -> str:
    return " ".join([f"{x:.{_DECIMALS}f},{y:.{_DECIMALS}f}" for x, y in xy.tolist()])


def _runs(classes: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """(class, first move, one past the last move) of consecutive moves of one class."""
    cuts = np.flatnonzero(np.diff(classes)) + 1
    bounds = [0, *cuts.tolist(), len(classes)]
    for first, last in pairwise(bounds):
        if last > first:
            yield int(classes[first]), first, last


def _add_moves(
    drawing: svgwrite.Drawing, toolpath: Toolpath, sheet: _Sheet, classes: _PowerClasses, page: Page | None
) -> None:
    stroke = sheet.unit / 12
    group: Group = drawing.g(fill="none", stroke_linecap="round", stroke_linejoin="round", id="path")
    if page:
        x0, y0, x1, y1 = page
        group["data-page"] = " ".join(f"{v:.4f}" for v in sheet.flip(np.array([[x0, y1], [x1, y0]])).ravel())
    styles = {
        k: {"class_": "lit", "stroke": classes.colour(k), "stroke_width": round(stroke * classes.width(k), 5)}
        for k in range(len(classes))
    }
    dash = f"{6 * stroke:.4f},{5 * stroke:.4f}"
    styles[-1] = {
        "class_": "travel",
        "stroke": _TRAVEL,
        "stroke_width": round(stroke * 0.4, 5),
        "stroke_dasharray": dash,
    }
    xy = sheet.flip(toolpath.xy)
    for k, first, last in _runs(classes.classify(toolpath.power)):
        group.add(drawing.path("M" + _points(xy[first : last + 1]), **styles[k]))
    drawing.add(group)


def _add_ends(drawing: svgwrite.Drawing, toolpath: Toolpath, sheet: _Sheet) -> None:
    if not len(toolpath.xy):
        return
    r = sheet.unit * 0.35
    ends = sheet.flip(toolpath.xy[[0, -1]]).round(_DECIMALS).tolist()
    style = {"fill": "#ffffff", "stroke": _INK, "stroke_width": round(r / 3, 5)}
    (x, y), (u, v) = ends
    drawing.add(drawing.rect((u - 0.8 * r, v - 0.8 * r), (1.6 * r, 1.6 * r), id="end", **style))
    drawing.add(drawing.circle((x, y), r, id="start", **{**style, "fill": _START}))


def _text(
    drawing: svgwrite.Drawing, text: str, x: float, y: float, size: float, anchor: str = "start"
) -> None:
    place = {"insert": (round(x, _DECIMALS), round(y, _DECIMALS)), "text_anchor": anchor}
    drawing.add(drawing.text(text, fill=_INK, font_size=round(size, 5), font_family="sans-serif", **place))


def _add_legend(drawing: svgwrite.Drawing, sheet: _Sheet, classes: _PowerClasses, start: str) -> None:
    """Swatches of power from the left, and the marks below them."""
    u, n = sheet.unit, len(classes)
    left, top, box, size = 2 * u, sheet.plot + 1.2 * u, 12 * u / max(n, 4), 0.9 * u
    _text(drawing, "laser power, mW", left, top - 0.4 * u, size)
    for k in range(n):
        swatch = drawing.rect((left + k * box, top), (box, 0.8 * u), fill=classes.colour(k), class_="power")
        drawing.add(swatch)
    _text(drawing, f"{classes.edges[0]:.3g}", left, top + 1.8 * u, size)
    if n > 1:
        _text(drawing, f"{classes.edges[-1]:.3g}", left + n * box, top + 1.8 * u, size, "end")
    base = top + 3.4 * u
    middle = base - 0.3 * u
    mark = {"stroke": _INK, "stroke_width": u / 12}
    drawing.add(drawing.circle((left + 0.3 * u, middle), 0.35 * u, fill=_START, **mark))
    _text(drawing, start, left + u, base, size)
    left += (1.6 + 0.52 * len(start)) * u
    drawing.add(drawing.rect((left, middle - 0.3 * u), (0.6 * u, 0.6 * u), fill="#ffffff", **mark))
    _text(drawing, "end", left + u, base, size)
    left += 3.4 * u
    mark |= {"stroke": _TRAVEL, "stroke_dasharray": f"{u / 3:.4f},{u / 4:.4f}"}
    drawing.add(drawing.line((left, middle), (left + 3 * u, middle), **mark))
    _text(drawing, "travel, laser off", left + 3.5 * u, base, size)


def _add_scale_bar(drawing: svgwrite.Drawing, sheet: _Sheet) -> None:
    u = sheet.unit
    length = round_length(min(sheet.width / 4, 14 * u))
    right, y = sheet.width - 2 * u, sheet.plot + 2 * u
    left = right - length
    tick = 0.35 * u
    shape = f"M{left:.5f},{y - tick:.5f}V{y + tick:.5f}M{left:.5f},{y:.5f}H{right:.5f}" + (
        f"M{right:.5f},{y - tick:.5f}V{y + tick:.5f}"
    )
    drawing.add(drawing.path(shape, fill="none", stroke=_INK, stroke_width=round(u / 8, 5), id="scale-bar"))
    label = f"{length:g} mm" if length >= 0.1 else f"{length * 1000:g} µm"
    _text(drawing, label, (left + right) / 2, y - 0.7 * u, 0.9 * u, "middle")

"""Sheets to draw on, as SVG: vectors for lines and text, PNG for rasters and for lines of very many points;
marks, scales and colours.

Of all that draws charts a report needs little, and it pays for all of what a plotting library imports and
lays out. So this writes the elements itself; a sheet is text that depends on nothing but its input.

Sizes are in inches of 96 CSS pixels, widths of lines in points. Axes have their limits from the start, and
what is drawn lies over what was drawn before. Coordinates are whole tenths of a pixel, relative where that
is shorter. Text is 10 pt, which is still readable when a phone shows the picture at two thirds.
"""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Protocol

import numpy as np
import shapely
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.overlay import clipped
from laserpath.measure.inspection import rows_crossed
from laserpath.report.toolpath_svg import printable
from laserpath.types import Design

INK = "#222222"
FAINT = "#8a949c"
DASHED = (4.0, 3.0)
"""Lengths of dashes and gaps, in points."""

POINT = 96 / 72
"""CSS pixels of a point."""


def attributes_of(given: dict[str, object]) -> str:
    """Attributes as text; `_` stands for `-`, and those that are None are left out."""
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in given.items()
        if value is not None
    )


def element(tag: str, **attributes: object) -> str:
    """An empty element."""
    return f"<{tag}{attributes_of(attributes)}/>"


def short(value: float) -> str:
    """A coordinate as short text."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Line:
    """A line. width: points.  dash: lengths of dashes and gaps, points."""

    colour: str = INK
    width: float = 1.0
    dash: tuple[float, float] | None = None

    def attributes(self, scale: float) -> dict[str, object]:
        """Of an element whose unit is 1/scale CSS pixels."""
        dash = None if self.dash is None else " ".join(short(one * POINT * scale) for one in self.dash)
        return {
            "stroke": self.colour,
            "stroke_width": short(self.width * POINT * scale),
            "stroke_dasharray": dash,
        }


@dataclass(frozen=True, slots=True)
class Dot:
    """A mark at a point. kind: 'o', 's' or '^', 'D'.  size: points.  edge: a line around it."""

    kind: str = "o"
    fill: str = "none"
    size: float = 6.0
    edge: Line | None = None

    def at(self, x: float, y: float, scale: float) -> str:
        """The element at a place in units of 1/scale CSS pixels."""
        r = self.size * POINT * scale / 2
        style: dict[str, object] = {"fill": self.fill}
        style |= {} if self.edge is None else self.edge.attributes(scale)
        if self.kind == "o":
            return element("circle", cx=short(x), cy=short(y), r=short(r), **style)
        corners = {
            "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
            "D": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
            "^": ((0, -1), (1, 1), (-1, 1)),
        }[self.kind]
        points = " ".join(f"{short(x + r * a)},{short(y + r * b)}" for a, b in corners)
        return element("polygon", points=points, **style)


@dataclass(frozen=True, slots=True)
class Mark:
    """An entry of a legend: a swatch if `fill` is given, its edge by `pen`, else a line, a dot or both."""

    label: str
    fill: str | None = None
    pen: Line | None = None
    dot: Dot | None = None

    def drawn(self, x: float, y: float) -> str:
        """The elements, 22 CSS pixels wide, from x on, about y."""
        style = self.pen.attributes(1) if self.pen else {}
        if self.fill is not None:
            return element("rect", x=short(x), y=short(y - 5), width=22, height=10, fill=self.fill, **style)
        line = element("path", d=f"M{short(x)} {short(y)}h22", fill="none", **style) if self.pen else ""
        return line + (self.dot.at(x + 11, y, 1) if self.dot else "")


CIVIDIS = (
    "#00224e", "#002e6a", "#1a386f", "#32436d", "#434e6c", "#535a6d", "#61656f", "#6f7073", "#7d7c78",
    "#8c8878", "#9b9476", "#aba072", "#bcae6c", "#cdbb63", "#dec958", "#f0d846", "#fee838",
)  # fmt: skip
"""Colours of doses, dark to bright, in which colour-blind readers see the same order (Nuñez, Anderton and
Renslow, PLoS ONE 13, e0199239, 2018)."""

DIVERGING = (
    "#053061", "#2065ab", "#4393c3", "#90c4dd", "#d1e5f0", "#f7f6f6", "#fddbc7", "#f3a481", "#d6604d",
    "#b1182b", "#67001f",
)  # fmt: skip
"""Colours of differences, from blue over white to red (ColorBrewer RdBu)."""

Pixels = NDArray[np.uint8]

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Steps of ticks, times a power of ten."""


def rgb(colour: str) -> NDArray[np.int64]:
    """(3,) 0..255 of '#rrggbb'."""
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)])


def coloured(share: Floats, stops: Sequence[str]) -> Pixels:
    """(…, 3) the colours of shares 0..1 (…), on a scale with evenly spaced stops."""
    table = np.array([rgb(one) for one in stops])
    position = np.clip(share, 0, 1) * (len(stops) - 1)
    pixels = np.empty((*np.shape(share), 3), np.uint8)
    for channel in range(3):  # one after the other: of a large picture all three take much memory
        pixels[..., channel] = np.rint(np.interp(position, np.arange(len(stops)), table[:, channel]))
    return pixels


def hexes(share: Floats, stops: Sequence[str]) -> list[str]:
    """The same as '#rrggbb', of shares (N,)."""
    return ["#{:02x}{:02x}{:02x}".format(*one) for one in coloured(share, stops).tolist()]


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` + 1 round numbers from low to high, evenly spaced."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * one for one in (*_STEPS, 20.0) if span / (power * one) <= most * (1 + 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from low to high; only the powers if these are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    every = [one * 10.0**power for power in powers for one in factors]
    return [tick for tick in every if low <= tick <= high]


def tick_texts(values: Sequence[float]) -> list[str]:
    """The ticks with as many decimals as all of them need, and a true minus."""
    places = max((len(f"{value:.6g}".partition(".")[2]) for value in values), default=0)
    if any("e" in f"{value:.6g}" for value in values):
        return [f"{value:.3g}".replace("-", "−") for value in values]
    return [f"{value + 0.0:.{places}f}".replace("-", "−") for value in values]


Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in mm."""

RIGHT, OVER, UNDER, PAPER = "#b9c4cc", "#d55e00", "#0072b2", "#ffffff"
"""Cured as drawn, overcured, undercured (the last two from the Okabe–Ito set, which colour-blind
readers tell apart), and neither cured nor drawn."""

SHARPEST = 2000
"""Most pixels along a side of a raster: 3.7 for each CSS pixel of the page's width. More take megabytes."""
_LARGEST = 1_000_000
"""Characters up to which a raster keeps its pixels: more make pages of large designs larger."""
_VERTICES = 120_000
"""Points up to which lines and areas that follow each other are drawn as such, with 7 characters each."""


def grown(box: Box, by: float) -> Box:
    """`box` with its sides moved outwards by `by` mm."""
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


WIDTH = 5.6

_PX = 96.0
"""CSS pixels of an inch."""
_TENTHS = 10
"""Units of coordinates in a CSS pixel."""
_TEXT, _SMALL = 10.0, 9.5
"""Sizes of text and of numbers at ticks, in points."""
_PER_LETTER = 0.56
"""Mean width of a letter, in sizes of the text; a larger one sets legends wider apart."""
_TICK = 3.0
_APART = 42.0, 30.0
"""Least distance of ticks along x and y, in CSS pixels."""
_FEW_COLOURS = 256


class Paper:
    """An empty white sheet, inches."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width * _PX, height * _PX
        self._parts: list[str] = []

    def add(self, *elements: str) -> None:
        """Add elements, whose places are CSS pixels from the upper left corner."""
        self._parts.extend(elements)

    def text(self, words: str, x: float, y: float, *, size: float = _TEXT, **style: object) -> None:
        """Words, from x on or about it, with their middle at y; size: points."""
        given = {"x": short(x), "y": short(y), "font_size": short(size * POINT), "fill": INK, **style}
        self.add(f'<text{attributes_of(given)} dominant-baseline="central">{escape(printable(words))}</text>')

    def legend(self, marks: Sequence[Mark], columns: int | None = None) -> None:
        """A legend along the lower edge, in one row unless `columns` is given."""
        if not marks:
            return
        columns = min(columns or len(marks), len(marks))
        size = _SMALL * POINT
        letters = [max(len(mark.label) for mark in marks[k::columns]) for k in range(columns)]
        wide = [22 + 8 + _PER_LETTER * size * count for count in letters]
        gap, rows = 20.0, -(-len(marks) // columns)
        left = (self.width - sum(wide) - gap * (columns - 1)) / 2
        for k, mark in enumerate(marks):
            row, column = divmod(k, columns)
            x = max(left, 4.0) + sum(wide[:column]) + gap * column
            y = self.height - 11 - 18 * (rows - 1 - row)
            self.add(mark.drawn(x, y))
            self.text(mark.label, x + 30, y, size=_SMALL)

    def svg(self) -> str:
        """The text of an SVG file."""
        w, h = short(self.width), short(self.height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
            f'font-family="sans-serif"><rect width="100%" height="100%" fill="#fff"/>'
            f"{''.join(self._parts)}</svg>"
        )


class Axes:
    """Axes at a place in inches from the lower left corner of a sheet; y is up.

    x, y: limits in the units of what is drawn.  log: whether y is logarithmic.
    """

    def __init__(
        self,
        sheet: Paper,
        place: tuple[float, float, float, float],
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        log: bool = False,
    ) -> None:
        left, bottom, width, height = (one * _PX for one in place)
        self._sheet, self._log, self.x, self.y = sheet, log, x, y
        self.left, self.top = left, sheet.height - bottom - height
        self.width, self.height = width, height
        self._parts: list[str | _Pictured] = []
        self._notes: list[tuple[str, float, float, dict[str, object]]] = []

    def units(self, xy: Floats) -> Floats:
        """(…, 2) tenths of CSS pixels from the upper left corner, of points (…, 2)."""
        (x0, x1), (y0, y1), y = self.x, self.y, xy[..., 1]
        if self._log:
            y0, y1, y = np.log(y0), np.log(y1), np.log(y)
        across, down = (xy[..., 0] - x0) / (x1 - x0), (y1 - y) / (y1 - y0)
        return np.stack([across * self.width * _TENTHS, down * self.height * _TENTHS], axis=-1)

    @property
    def unseen(self) -> float:
        """A length along x that is not seen: a twentieth of a CSS pixel."""
        return (self.x[1] - self.x[0]) / self.width / 20

    def line(self, xy: Floats, pen: Line) -> None:
        """A line through points (N, 2)."""
        self.lines(xy, np.arange(len(xy)) == 0, pen)

    def lines(self, xy: Floats, first: Bools, pen: Line) -> None:
        """Lines through points (N, 2); first: (N,) whether a line begins there."""
        if len(xy):
            self._draw(xy, first, "none", pen)

    def pieces(self, ends: Floats, pen: Line) -> None:
        """Lines between pairs of points (N, 2, 2); what goes on from one to the next is one line."""
        if len(ends):
            begins = np.append(True, (ends[1:, 0] != ends[:-1, 1]).any(axis=1))
            at = np.flatnonzero(begins)
            points = np.insert(ends[:, 1], at, ends[at, 0], axis=0)
            begin = np.insert(np.zeros(len(ends), dtype=np.int64), at, 1)
            # Straight ones are parted where the head brakes or its power changes.
            lines = shapely.simplify(
                shapely.linestrings(points, indices=np.cumsum(begin) - 1), 2 * self.unseen
            )
            xy, line = shapely.get_coordinates(lines, return_index=True)
            self.lines(xy, np.diff(line, prepend=-1) > 0, pen)

    def area(self, xy: Floats, fill: str, *, opacity: float | None = None) -> None:
        """The area within points (N, 2)."""
        curve = _Outlines.of(self._whole(xy), np.arange(len(xy)) == 0, fill, None)
        # One that lets through what is below it stays as it is, however many points it has.
        self._parts.append(curve if opacity is None else curve.element(fill_opacity=opacity))

    def design(self, design: Design, *, fill: str = "none", pen: Line | None = None) -> None:
        """A design, filled, or its outline: as much as is seen of it."""
        (x0, x1), (y0, y1) = sorted(self.x), sorted(self.y)
        parts = shapely.get_parts(design.area)
        low, high = shapely.bounds(parts).reshape(-1, 2, 2).transpose(1, 0, 2)
        seen = (low < (x1, y1)).all(axis=1) & (high > (x0, y0)).all(axis=1)
        parts = parts[seen]
        if ((low < (x0, y0)) | (high > (x1, y1)))[seen].any():  # cut where it is not seen
            rim = x1 - x0, y1 - y0
            parts = shapely.get_parts(clipped(parts, x0 - rim[0], y0 - rim[1], x1 + rim[0], y1 + rim[1]))
            parts = parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]
        rings = shapely.get_rings(parts)
        if len(rings):
            xy, ring = shapely.get_coordinates(rings, return_index=True)
            self._draw(xy, np.diff(ring, prepend=-1) > 0, fill, pen)

    def dots(self, xy: Floats, dot: Dot) -> None:
        """A mark at each point (N, 2)."""
        self._parts += [dot.at(x, y, _TENTHS) for x, y in self.units(xy).tolist()]

    def specks(self, xy: Floats, colour: str, size: float) -> None:
        """Discs at points (N, 2) as one element; those on each other are one. size: points."""
        if len(xy):
            points = np.unique(np.rint(self.units(xy) / 5).astype(np.int64) * 5, axis=0)
            self._parts.append(_Discs(points, Line(colour, size)))

    def image(self, pixels: Pixels, extent: Box) -> None:
        """A raster (rows, columns, 3), row 0 lowest. extent: (x0, x1, y0, y1) of its outer edges.

        Pixels far smaller than a screen's are averaged in blocks; those at the right and below may be larger.
        """
        (x0, x1, y0, y1), (rows, columns) = extent, pixels.shape[:2]
        (left, top), (right, low) = self.units(np.array([[x0, y1], [x1, y0]])).tolist()
        href, block = _raster_uri(pixels[::-1], max(1, math.ceil(max(rows, columns) / SHARPEST)))
        tall, wide = (block * math.ceil(n / block) / n for n in (rows, columns))
        self._parts.append(
            element(
                "image", x=short(left), y=short(top),
                width=short(wide * (right - left)), height=short(tall * (low - top)),
                preserveAspectRatio="none", href=href,
            )
        )  # fmt: skip

    def across(self, y: float, pen: Line) -> None:
        """A line along x at a height."""
        self.line(np.array([[self.x[0], y], [self.x[1], y]]), pen)

    def upright(self, x: float, pen: Line) -> None:
        """A line along y at a place."""
        self.line(np.array([[x, self.y[0]], [x, self.y[1]]]), pen)

    def backed(self, colour: str) -> None:
        """A colour behind all that follows."""
        self._parts.append(element("rect", width="100%", height="100%", fill=colour))

    def note(self, words: str, xy: Floats, shift: tuple[float, float], **style: object) -> None:
        """Words near a point, in front of all; shift: CSS pixels to the right and down."""
        x, y = (self.units(xy) / _TENTHS + (self.left, self.top) + shift).tolist()
        self._notes.append((words, x, y, style))

    def _whole(self, xy: Floats) -> Indices:
        # What is far outside is nowhere seen; numbers beyond a browser's are not drawn at all.
        return np.rint(np.clip(self.units(xy), -1e6, 1e6)).astype(np.int64)

    def _draw(self, xy: Floats, first: Bools, fill: str, pen: Line | None) -> None:
        self._parts.append(_Outlines.of(self._whole(xy), first, fill, pen))

    def close(self, x: str = "", y: str = "", *, title: str = "", numbers: bool = True) -> None:
        """Put what was drawn onto the sheet with frame, ticks, labels and title. numbers: along x too."""
        self._framed()
        self.scale("bottom", x, numbers=numbers)
        self.scale("left", y)
        if title:
            self._sheet.text(title, self.left + self.width / 2, self.top - 9, text_anchor="middle")

    def _framed(self) -> None:
        w, h = self.width, self.height
        box = {"x": short(self.left), "y": short(self.top), "width": short(w), "height": short(h)}
        view = {"viewBox": f"0 0 {short(w * _TENTHS)} {short(h * _TENTHS)}", "preserveAspectRatio": "none"}
        self._sheet.add(f"<svg{attributes_of({**box, **view})}>{''.join(self._elements())}</svg>")
        self._sheet.add(element("rect", **box, fill="none", **Line(FAINT, 0.8).attributes(1)))
        for words, x, y, style in self._notes:
            self._sheet.text(words, x, y, size=_SMALL, **style)

    def _elements(self) -> Iterator[str]:
        """What was drawn, as elements; of lines and areas that have too many points a picture."""
        shapes: list[_Pictured] = []
        for part in (*self._parts, None):
            if part is not None and not isinstance(part, str):
                shapes.append(part)
                continue
            if sum(len(one.points) for one in shapes) > _VERTICES:
                yield self._picture(shapes)
            else:
                yield from (one.element() for one in shapes)
            if part is not None:
                shapes = []
                yield part

    def _picture(self, shapes: Sequence[_Pictured]) -> str:
        """Shapes over each other as one picture of few colours, clear where there is none."""
        sides = _TENTHS * np.array([self.height, self.width])
        scale = SHARPEST / sides.max()
        while True:
            rows, columns = np.ceil(scale * sides).astype(int).tolist()
            index, colours = np.zeros((rows, columns), np.uint8), [PAPER]  # the first one is clear
            for shape in shapes:
                for mask, colour in shape.drawn(scale, (rows, columns)):
                    colours += [] if colour in colours[1:] else [colour]
                    index[mask] = colours.index(colour, 1)
            image = Image.fromarray(index)
            image.putpalette(np.array([rgb(one) for one in colours], np.uint8).tobytes())
            href = _uri(image, transparency=0)
            if len(href) <= _LARGEST:
                break
            scale /= 2
        size = {"width": short(columns / scale), "height": short(rows / scale)}
        return element("image", **size, preserveAspectRatio="none", href=href)

    def bare(self, label: str) -> None:
        """Put what was drawn onto the sheet with a frame, and with ticks and a label only below it."""
        self._framed()
        self.scale("bottom", label)

    def scale(self, side: str, label: str = "", *, factor: float = 1.0, numbers: bool = True) -> None:
        """Ticks, numbers and a label at a side: 'bottom', 'top', 'left' or 'right', in units of 1/factor."""
        along = side in ("bottom", "top")
        low, high = (factor * one for one in (self.x if along else self.y))
        length, apart = (self.width, _APART[0]) if along else (self.height, _APART[1])
        if self._log and not along:
            values = log_ticks(low, high)
            texts = [f"{value:g}" for value in values]
        else:
            values = ticks(min(low, high), max(low, high), max(2, int(length / apart)))
            texts = tick_texts(values)
        points = np.array([(v / factor, self.y[0]) if along else (self.x[0], v / factor) for v in values])
        at = (self.units(points.reshape(-1, 2)) / _TENTHS)[:, 0 if along else 1].tolist()
        self._ticks(side, at, texts if numbers else [""] * len(texts))
        self._label(side, label, max(map(len, texts), default=0))

    def _ticks(self, side: str, at: Sequence[float], texts: Sequence[str]) -> None:
        edge = self._edge(side)
        out = -_TICK if side in ("left", "top") else _TICK
        pen = Line(INK, 0.6).attributes(1)
        for place, words in zip(at, texts, strict=True):
            if side in ("bottom", "top"):
                x, y, step, anchor = self.left + place, edge, f"v{short(out)}", "middle"
                near = (x, y + 4 * out)
            else:
                x, y, step = edge, self.top + place, f"h{short(out)}"
                near, anchor = (x + 2 * out, y), "end" if side == "left" else "start"
            self._sheet.add(element("path", d=f"M{short(x)} {short(y)}{step}", **pen))
            if words:
                self._sheet.text(words, *near, size=_SMALL, text_anchor=anchor)

    def _label(self, side: str, label: str, letters: int) -> None:
        if not label:
            return
        edge, middle = self._edge(side), (self.left + self.width / 2, self.top + self.height / 2)
        if side in ("bottom", "top"):
            y = edge + (31 if side == "bottom" else -30)
            self._sheet.text(label, middle[0], y, text_anchor="middle")
            return
        room = 8 + _PER_LETTER * _SMALL * POINT * letters + 11
        x = edge + (room if side == "right" else -room)
        turn = f"rotate(-90 {short(x)} {short(middle[1])})"
        self._sheet.text(label, x, middle[1], text_anchor="middle", transform=turn)

    def _edge(self, side: str) -> float:
        return {
            "left": self.left, "right": self.left + self.width,
            "top": self.top, "bottom": self.top + self.height,
        }[side]  # fmt: skip


class _Pictured(Protocol):
    """What is drawn in the units of axes, with points (N, 2)."""

    @property
    def points(self) -> Indices:
        """(N, 2)."""

    def element(self) -> str:
        """As vectors."""

    def drawn(self, scale: float, shape: tuple[int, int]) -> Iterator[tuple[Bools, str]]:
        """Its pixels in a picture (rows, columns), by colour. scale: pixels of a unit."""


@dataclass(frozen=True, slots=True, eq=False)
class _Outlines:
    """Lines, or the outlines of an area. first: (N,) whether one begins at a point."""

    points: Indices
    first: Bools
    fill: str
    pen: Line | None

    @classmethod
    def of(cls, points: Indices, first: Bools, fill: str, pen: Line | None) -> _Outlines:
        """Without points that are their predecessors again."""
        # A line of no length is drawn as a dot, so that the point after a beginning always stays.
        moved = np.diff(points, axis=0, prepend=points[:1]).any(axis=1)
        kept = first | moved | np.append(False, first[:-1])
        return cls(points[kept], first[kept], fill, pen)

    def element(self, **style: object) -> str:
        """As `_Pictured` says. style: more of it."""
        style |= {"fill": self.fill}
        if self.pen is not None:
            style |= self.pen.attributes(_TENTHS)
            style |= {} if self.pen.dash else {"stroke_linecap": "round", "stroke_linejoin": "round"}
        rule = None if self.fill == "none" else "evenodd"
        return element("path", d=_path(self.points, self.first), fill_rule=rule, **style)

    def drawn(self, scale: float, shape: tuple[int, int]) -> Iterator[tuple[Bools, str]]:
        """As `_Pictured` says; dashes are joined."""
        xy = scale * self.points
        if self.fill != "none":
            yield _inside(xy, self.first, shape), self.fill
        if self.pen is not None:
            image, width = Image.new("1", shape[::-1]), self.pen.width * POINT * _TENTHS * scale
            draw = ImageDraw.Draw(image)
            for line in np.split(xy, np.flatnonzero(self.first)[1:]):
                draw.line(line.ravel().tolist(), 1, max(1, round(width)))
            # Round ends; a line of no length is nothing else.
            ends = self.first | np.append(self.first[1:], True)
            yield np.asarray(image) | _discs(xy[ends], width / 2, shape), self.pen.colour


@dataclass(frozen=True, slots=True, eq=False)
class _Discs:
    """Discs at points, as wide as a pen."""

    points: Indices
    pen: Line

    def element(self) -> str:
        """As `_Pictured` says."""
        d = "".join(f"m{x} {y}h0" for x, y in np.diff(self.points, axis=0, prepend=0).tolist())
        return element("path", d=d, fill="none", stroke_linecap="round", **self.pen.attributes(_TENTHS))

    def drawn(self, scale: float, shape: tuple[int, int]) -> Iterator[tuple[Bools, str]]:
        """As `_Pictured` says."""
        yield (
            _discs(scale * self.points, self.pen.width * POINT * _TENTHS * scale / 2, shape),
            self.pen.colour,
        )


def _discs(xy: Floats, radius: float, shape: tuple[int, int]) -> Bools:
    """(rows, columns) the pixels in discs at points (N, 2), in pixels."""
    at = np.rint(xy[:, ::-1]).astype(np.int64)
    reach = np.arange(-math.ceil(radius), math.ceil(radius) + 1)
    mask = np.zeros(shape, dtype=bool)
    for step in np.stack(np.meshgrid(reach, reach), axis=-1).reshape(-1, 2):
        if math.hypot(*step) <= radius:
            row, column = (at + step).T
            seen = (row >= 0) & (row < shape[0]) & (column >= 0) & (column < shape[1])
            mask[row[seen], column[seen]] = True
    return mask


def _inside(xy: Floats, first: Bools, shape: tuple[int, int]) -> Bools:
    """(rows, columns) the pixels in an odd number of rings through points (N, 2), in pixels.

    Each edge changes that for all pixels to the right of where it crosses their row.
    """
    begin = np.flatnonzero(first)
    after = np.arange(1, len(xy) + 1)
    after[np.append(begin[1:], len(xy)) - 1] = begin  # the last point of a ring goes on to its first
    _, row, column = rows_crossed(xy, xy[after], shape)
    crossed = np.zeros((shape[0], shape[1] + 1), np.uint8)
    np.add.at(crossed, (row, column), 1)
    return np.asarray(np.cumsum(crossed, axis=1, dtype=np.uint8)[:, :-1] & 1, dtype=bool)


def _path(points: Indices, first: Bools) -> str:
    """Points (N, 2) as the data of a path."""
    lone = first & np.append(first[1:], True)
    columns = (one.tolist() for one in (points, np.diff(points, axis=0, prepend=0), first, lone))
    return "".join(
        f"M{x} {y}l{'0 0 ' * alone}" if new else f"{dx} {dy} "
        for (x, y), (dx, dy), new, alone in zip(*columns, strict=True)
    )


def map_sheet(box: Box, below: float = 0.6) -> tuple[Paper, Axes]:
    """A map of `box` (mm) as wide as the page.

    below: inches under the map's ticks that a colour key and a legend need.
    """
    left, right, top, ticks_ = 0.66, 0.15, 0.1, 0.45
    span = np.array([box[2] - box[0], box[3] - box[1]])
    width = WIDTH - left - right
    height = float(np.clip(width * span[1] / span[0], 1.0, 1.25 * width))
    sheet = Paper(WIDTH, height + top + ticks_ + below)
    # A long or tall box gets margins, so that a mm is as long in x as in y.
    half = np.array([width, height]) * max(span / (width, height)) / 2
    middle = np.array([box[0] + box[2], box[1] + box[3]]) / 2
    (x0, y0), (x1, y1) = (middle - half).tolist(), (middle + half).tolist()
    return sheet, Axes(sheet, (left, below + ticks_, width, height), (x0, x1), (y0, y1))


@dataclass(frozen=True, slots=True)
class ColourKey:
    """A scale of colours between two limits. below, above: colours of what is beyond them, if any is."""

    stops: Sequence[str]
    limits: tuple[float, float]
    label: str = ""
    below: str | None = None
    above: str | None = None


def add_key(sheet: Paper, scale: ColourKey, left: float, bottom: float, width: float) -> None:
    """A key of colours on a sheet, inches; what is beyond its limits are arrows at its ends."""
    tall, limits, stops = 0.13, scale.limits, scale.stops
    top = sheet.height - (bottom + tall) * _PX
    for colour, edge, tip in ((scale.below, left, -tall), (scale.above, left + width, tall)):
        if colour is not None:
            x, step, down = (short(one * _PX) for one in (edge, tip, tall / 2))
            d = f"M{x} {short(top)}l{step} {down} {short(-tip * _PX)} {down}z"
            sheet.add(element("path", d=d, fill=colour, **Line(FAINT, 0.8).attributes(1)))
    key = Axes(sheet, (left, bottom, width, tall), limits, (0, 1))
    key.image(coloured(np.linspace(0, 1, 256), stops)[None], (*limits, 0.0, 1.0))
    key.bare(scale.label)


def _raster_uri(pixels: Pixels, block: int = 1) -> tuple[str, int]:
    """A raster as a PNG in a URI, with a palette where it has so few colours that none is changed by it.

    block: pixels along each side of the squares that become one. Returns those that do: more where the URI
    would be too large.
    """
    whole = Image.fromarray(np.ascontiguousarray(pixels))
    while True:
        image = whole.reduce(block)
        if image.getcolors(_FEW_COLOURS) is not None:
            image = image.quantize(_FEW_COLOURS, dither=Image.Dither.NONE)
        uri = _uri(image)
        if len(uri) <= _LARGEST:
            return uri, block
        block = math.ceil(block * 1.4)


def _uri(image: Image.Image, **options: int) -> str:
    """An image as a PNG in a URI."""
    buffer = BytesIO()
    image.save(buffer, "PNG", **options)
    return png_uri(buffer.getvalue())


def small_png(pixels: Floats, colours: int) -> bytes:
    """A picture of few colours as a small PNG. pixels: (rows, columns, 3), 0..255."""
    image = Image.fromarray(np.clip(pixels + 0.5, 0, 255).astype(np.uint8))
    buffer = BytesIO()
    image.quantize(colours, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def png_uri(png: bytes) -> str:
    """A PNG file in a URI."""
    return "data:image/png;base64," + b64encode(png).decode("ascii")

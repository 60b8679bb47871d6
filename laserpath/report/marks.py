"""Lines, dots and entries of legends as elements of an SVG, and the units of sheets.

Places are CSS pixels, or fractions of them; widths of lines and sizes are in points.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

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

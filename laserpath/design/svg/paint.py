"""Which paints add to the design, which erase, and in which order: light ink erases the paint below it.

A layer is a sequence of shapes in the same ink. It changes the area A below it to (A − W) ∪ B.
Two such steps are one of the same form, W = W₁ ∪ W₂, B = (B₁ − W₂) ∪ B₂, so layers are joined in
pairs, then pairs of pairs, …: n alternating layers cost n log n, not n².

Paper is white, and the design is the dark area on it. Ink is light if its darkest channel is
above 0.6: white, pale greys and pastels erase what lies below them; black, dark greys and
all saturated colours (also yellow and lime, which luminance alone would call light) add. Paint that
is at least half opaque counts as opaque, other paint is not drawn. Doubtful cases give a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import shapely
import tinycss2.color4
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, crossings, minus, plus, union, within
from laserpath.design.fill import EVENODD, NONZERO
from laserpath.design.svg.document import Document, href, tag
from laserpath.design.svg.shapes import Leaf, Work, work
from laserpath.design.svg.style import Styles, Values
from laserpath.design.svg.values import NotFinite, NotUnderstood, length

LIGHT = 0.6  # darkest channel above which ink is light
WHITE = 0.9  # darkest channel; light ink below WHITE gives a warning
OPAQUE = 0.5  # opacity from which paint counts as opaque


@dataclass(frozen=True, slots=True)
class Ink:
    """A colour. rgb: red, green, blue, 0 to 1.  alpha: 0 to 1."""

    rgb: tuple[float, float, float]
    alpha: float

    @property
    def darkest(self) -> float:
        """The lowest of red, green, blue."""
        return min(self.rgb)

    @property
    def dark(self) -> bool:
        """Whether the ink adds to the design."""
        return self.darkest <= LIGHT


BLACK = Ink((0.0, 0.0, 0.0), 1.0)


def colour(text: str, current: str = "black") -> Ink:
    """The ink of a CSS colour. current: the value of currentColor."""
    parsed = tinycss2.color4.parse_color(current if text.lower() == "currentcolor" else text)
    if parsed is None or isinstance(parsed, str):
        raise NotUnderstood(text)
    red, green, blue, alpha = parsed.to("srgb")
    return Ink((red or 0.0, green or 0.0, blue or 0.0), 1.0 if alpha is None else alpha)


def opacity(text: str) -> float:
    """A number or a percentage, 0 to 1."""
    return min(max(length(text, 1.0), 0.0), 1.0)


class Inks:
    """The inks of `fill` and `stroke` in a document. light: darkest channel above which ink erases."""

    def __init__(self, document: Document, styles: Styles, light: float = LIGHT) -> None:
        self._document, self._styles, self._light = document, styles, light
        self._colours: dict[tuple[str, str], Ink] = {}

    def ink(self, element: Element, values: Values, which: str, alpha: float) -> Ink | None:
        """The ink of 'fill' or 'stroke'; None: nothing is drawn. alpha: of the element and its groups."""
        paint = self._paint(element, values, which)
        if paint is None:
            return None
        alpha *= paint.alpha * self._opacity(element, values[f"{which}-opacity"])
        if alpha <= 0:
            return None
        if alpha < OPAQUE:
            self._document.warn(element, f"{which} is more than half transparent, and left out")
            return None
        if alpha < 1:
            self._document.warn(element, f"{which} is partly transparent, and taken as opaque")
        if self._light < paint.darkest < WHITE:
            self._document.warn(element, f"{which} is pale, and taken as white, which removes what is below")
        return Ink(paint.rgb, 1.0)

    def _opacity(self, element: Element, text: str) -> float:
        try:
            return opacity(text)
        except NotUnderstood:
            self._document.warn(element, f"opacity {text!r} is not understood, and taken as 1")
            return 1.0

    def _paint(self, element: Element, values: Values, which: str) -> Ink | None:
        text, current = values[which].strip(), values["color"]
        if text == "none":
            return None
        if text.startswith("url("):
            return self._server(element, text, current, which)
        return self._colour(element, text, current, which)

    def _colour(self, element: Element, text: str, current: str, which: str) -> Ink | None:
        if (text, current) not in self._colours:
            try:
                self._colours[text, current] = colour(text, current)
            except NotUnderstood:
                default = BLACK if which == "fill" else None
                taken = "taken as black" if default else "not drawn"
                self._document.warn(element, f"{which} {text!r} is not a colour, and {taken}")
                return default
        return self._colours[text, current]

    def _server(self, element: Element, text: str, current: str, which: str) -> Ink | None:
        """A gradient or pattern: one ink for all of it, or the colour to fall back on."""
        reference, _, fallback = text[4:].partition(")")
        reference, fallback = reference.strip(" \"'"), fallback.strip()
        server = self._document.local(reference)
        kind = "" if server is None else tag(server)
        if server is not None and kind in ("linearGradient", "radialGradient"):
            return self._gradient(element, server, which)
        if kind == "pattern":
            self._document.warn(element, f"{which} is a pattern, and taken as solid")
            return BLACK
        if fallback and fallback != "none":
            return self._colour(element, fallback, current, which)
        self._document.warn(
            element, f"{which} refers to {reference!r}, which is not a paint in this file: not drawn"
        )
        return None

    def _gradient(self, element: Element, server: Element, which: str) -> Ink | None:
        """The mean of the stops, with a warning unless they are all the same."""
        stops = [s for s in (self._stop(s) for s in self._stops(server)) if s is not None]
        if not stops:
            self._document.warn(element, f"{which} is a gradient without colours in this file: not drawn")
            return None
        if len(set(stops)) > 1:
            self._document.warn(element, f"{which} is a gradient, and taken as one solid colour")
        n = len(stops)
        red, green, blue = (sum(s.rgb[k] for s in stops) / n for k in range(3))
        return Ink((red, green, blue), sum(s.alpha for s in stops) / n)

    def _stops(self, server: Element) -> list[Element]:
        """The stops of a gradient, or of the one that it refers to."""
        seen = {server}
        while not (stops := [child for child in server if tag(child) == "stop"]):
            other = self._document.local(href(server))
            if other is None or other in seen:
                return []
            seen.add(other)
            server = other
        return stops

    def _stop(self, stop: Element) -> Ink | None:
        own = self._styles.own(stop)
        try:
            ink = colour(own.get("stop-color", "black"), own.get("color", "black"))
            return Ink(ink.rgb, ink.alpha * opacity(own.get("stop-opacity", "1")))
        except NotUnderstood:
            return None


BATCH = 10_000  # shapes that are flattened together

Kind = Callable[[Ink], Hashable]
Step = tuple[BaseGeometry, BaseGeometry]  # erased area, added area


@dataclass(frozen=True, slots=True)
class PaintLayer:
    """Consecutive pieces in the same kind of ink and the same clip. kind: false if they erase."""

    kind: Hashable
    clip: BaseGeometry | None
    pieces: list[BaseGeometry]

    @property
    def solid(self) -> bool:
        """Whether they add to the design."""
        return bool(self.kind)


class Painter:
    """Turns shapes into layers. tolerance: of flattened curves, mm.  light: see `Inks`."""

    def __init__(self, document: Document, styles: Styles, tolerance: float, light: float = LIGHT) -> None:
        self._document, self._tolerance = document, tolerance
        self._inks = Inks(document, styles, light)

    def layers(self, leaves: Iterable[Leaf], kind: Kind) -> list[PaintLayer]:
        """The layers that the shapes paint, the lowest first. kind: of an ink; false if it erases."""
        out: list[PaintLayer] = []
        leaves = iter(leaves)
        while batch := list(islice(leaves, BATCH)):
            strokes = [(kind(ink), leaf.state.clip, job) for leaf in batch for ink, job in self._paint(leaf)]
            areas = work([job for _, _, job in strokes])
            for (one, clip, _), pieces in zip(strokes, areas, strict=True):
                if not out or out[-1].kind != one or out[-1].clip is not clip:
                    out.append(PaintLayer(one, clip, []))
                out[-1].pieces.extend(pieces)
        return out

    def lines(self, leaves: Iterable[Leaf], kind: Kind) -> tuple[list[tuple[Any, Floats, float]], int]:
        """(kind, vertices (n, 2) and width, mm, of each line; the number of shapes that are only filled).

        kind: of an ink; what has none is not drawn.
        """
        out: list[tuple[Any, Floats, float]] = []
        filled, leaves = 0, iter(leaves)
        while batch := list(islice(leaves, BATCH)):
            painted = [(leaf.state.clip, self._paint(leaf, bare=True)) for leaf in batch]
            inked = [(clip, [(of, job) for ink, job in jobs if (of := kind(ink))]) for clip, jobs in painted]
            drawn = [(clip, of, job) for clip, jobs in inked for of, job in jobs if job.width]
            filled += sum(bool(jobs) and not any(job.width for _, job in jobs) for _, jobs in inked)
            for (clip, of, job), lines in zip(drawn, work([job for *_, job in drawn]), strict=True):
                shown = lines if clip is None else shapely.get_parts(crossings(np.array(lines), clip))
                out += [
                    (of, shapely.get_coordinates(one), job.width)
                    for one in shown
                    if one.geom_type == "LineString"
                ]
        return out, filled

    def _paint(self, leaf: Leaf, *, bare: bool = False) -> list[tuple[Ink, Work]]:
        """Fill and stroke of one shape. bare: the stroke is a line, not an area."""
        try:
            return self._painted(leaf, bare)
        except NotFinite as error:
            name = self._document.name(leaf.element)
            raise InputError(f"{name} {error}") from None

    def _painted(self, leaf: Leaf, bare: bool) -> list[tuple[Ink, Work]]:
        """Fill and stroke of one shape, in the order of paint-order."""
        element, values = leaf.element, leaf.state.values
        for end in ("marker-start", "marker-mid", "marker-end"):
            if values[end] not in ("none", ""):
                self._document.warn(element, "markers (arrow heads) are not drawn")
        order = values["paint-order"].split()
        stroke_first = [word for word in order if word in ("fill", "stroke")][:1] == ["stroke"]
        out = []
        for which in ("stroke", "fill") if stroke_first else ("fill", "stroke"):
            ink = self._inks.ink(element, values, which, leaf.state.alpha)
            if ink is None:
                continue
            if which == "fill":
                rule = EVENODD if values["fill-rule"] == EVENODD else NONZERO
                job = leaf.interior(rule, self._tolerance)
            else:
                job = leaf.stroked(
                    self._tolerance, lambda what: self._document.warn(element, what), bare=bare
                )
            out.append((ink, job))
        return out


def compose(layers: Iterable[PaintLayer], adds: Callable[[Hashable], bool] = bool) -> BaseGeometry:
    """The area that shows after all layers are painted. adds: whether a kind of ink is of it."""
    steps: list[Step] = []
    for layer in layers:
        area = within(union(layer.pieces), layer.clip)
        if not area.is_empty:
            steps.append((EMPTY, area) if adds(layer.kind) else (area, EMPTY))
    while len(steps) > 1:
        pairs = [_join(*steps[k : k + 2]) for k in range(0, len(steps) - 1, 2)]
        steps = pairs + steps[len(pairs) * 2 :]
    return steps[0][1] if steps else EMPTY


def _join(first: Step, second: Step) -> Step:
    """Two steps as one."""
    (removed, added), (removed_then, added_then) = first, second
    return plus(removed, removed_then), plus(minus(added, removed_then), added_then)

"""Paint order: dark ink adds to the design, light ink erases the paint below it.

A layer is a sequence of shapes in the same ink. It changes the area A below it to (A − W) ∪ B.
Two such steps are one of the same form, W = W₁ ∪ W₂, B = (B₁ − W₂) ∪ B₂, so layers are joined in
pairs, then pairs of pairs, …: n alternating layers cost n log n, not n².
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from itertools import islice

from shapely.geometry.base import BaseGeometry

from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, minus, plus, union, within
from laserpath.design.fill import EVENODD, NONZERO
from laserpath.design.svg.document import Document
from laserpath.design.svg.ink import LIGHT, Ink, Inks
from laserpath.design.svg.leaf import Leaf, Work, work
from laserpath.design.svg.style import Styles
from laserpath.design.svg.values import NotFinite

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

    def _paint(self, leaf: Leaf) -> list[tuple[Ink, Work]]:
        """Fill and stroke of one shape."""
        try:
            return self._painted(leaf)
        except NotFinite as error:
            name = self._document.name(leaf.element)
            raise InputError(f"{name} {error}") from None

    def _painted(self, leaf: Leaf) -> list[tuple[Ink, Work]]:
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
                job = leaf.stroked(self._tolerance, lambda what: self._document.warn(element, what))
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

"""clip-path and mask: the area outside which an element does not show, mm.

A clip is the union of its children's interiors (by clip-rule), each cut by its own clip. A mask
is where its content is light (or, mask-type alpha, where it is painted at all); its shades of
grey count as on or off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, union, within
from laserpath.design.fill import EVENODD, NONZERO
from laserpath.design.svg import paint, shapes
from laserpath.design.svg.document import Document, href, tag
from laserpath.design.svg.leaf import Leaf, State, moved, window, work
from laserpath.design.svg.style import Styles, Values
from laserpath.design.svg.values import NotUnderstood, length, matrix, transform
from laserpath.design.svg.viewport import Box


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements, as far as clips need them.

    leaves: an element's shapes.  bounds: their (x, y, width, height).  tolerance: of flattened curves, mm.
    """

    document: Document
    styles: Styles
    tolerance: float
    leaves: Callable[[Element, State], Iterator[Leaf]]
    bounds: Callable[[Element, State], Box | None]


class Clips:
    """The clips and masks of one document."""

    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        self._cache: dict[tuple[Element, bytes], BaseGeometry] = {}
        self._open: list[Element] = []
        self._nested = 0

    def of(self, element: Element, own: Values, state: State, user: State) -> BaseGeometry | None:
        """The area in which the element is visible: its groups' clip intersected with its own.

        state: inside the element, in the coordinates of its bounding box.  user: the coordinates of
        userSpaceOnUse, which are those inside the viewBox if the element has one.
        """
        out = state.clip
        for name, kind, area in (("clip-path", "clipPath", self._clip), ("mask", "mask", self._mask)):
            text = own.get(name, "none").strip()
            if text in ("none", ""):
                continue
            target = self._target(element, text, name, kind)
            if target is None:
                continue
            if target in self._open:
                raise InputError(f"{self._elements.document.name(target)} clips itself")
            self._nested += bool(self._open)
            if self._nested > limits.now().nested:
                raise limits.uncounted("clips and masks are used in each other more than {} times", "nested")
            self._open.append(target)
            cut = area(element, target, replace(state, clip=None), replace(user, clip=None))
            self._open.pop()
            out = within(cut, out)
        return out

    def _target(self, element: Element, text: str, name: str, kind: str) -> Element | None:
        warn = self._elements.document.warn
        if not text.startswith("url("):
            warn(element, f"{name} {text!r} is not understood, and the element is drawn without it")
            return None
        reference = text[4:].partition(")")[0].strip(" \"'")
        target = self._elements.document.local(reference)
        if target is None or tag(target) != kind:
            warn(
                element, f"{name} refers to {reference!r}, which is no {kind} of this file: drawn without it"
            )
            return None
        return target

    def _clip(self, element: Element, target: Element, state: State, user: State) -> BaseGeometry:
        """The area of a clipPath for an element."""
        mine = self._elements.styles.own(target)
        boxed = target.get("clipPathUnits") == "objectBoundingBox"
        inner = state if boxed else user
        if "transform" in mine:
            try:
                inner = moved(inner, transform(mine["transform"]))
            except NotUnderstood:
                self._elements.document.warn(target, f"the transform {mine['transform']!r} is not understood")
        if boxed:
            box = self._box(element, state)
            if box is None:
                return EMPTY
            inner = moved(inner, box)
        key = (target, inner.matrix.tobytes())
        if key not in self._cache:
            self._cache[key] = self._children(target, inner)
        outer = self.of(element, {k: v for k, v in mine.items() if k == "clip-path"}, state, user)
        area = self._cache[key]
        return within(area, outer)

    def _children(self, target: Element, state: State) -> BaseGeometry:
        elements = self._elements
        state = replace(state, values=elements.styles.computed(target), alpha=1.0, mode="shape", chain=())
        areas = []
        for child in target:
            name = tag(child)
            if name in ("g", "svg", "switch", "a", "image"):
                elements.document.warn(child, f"<{name}> has no effect in a clipPath")
            elif name == "use" and self._used(child) not in (*shapes.TAGS, "text"):
                elements.document.warn(
                    child, "in a clipPath it has no effect unless it refers to a shape itself"
                )
            elif name in shapes.TAGS or name in ("use", "text"):
                for leaf in elements.leaves(child, state):
                    rule = EVENODD if leaf.state.values["clip-rule"] == EVENODD else NONZERO
                    area = union(work([leaf.interior(rule, elements.tolerance)])[0])
                    areas.append(within(area, leaf.state.clip))
        return union(areas)

    def _used(self, use: Element) -> str:
        """The tag of the element that a `use` refers to."""
        target = self._elements.document.local(href(use))
        return "" if target is None else tag(target)

    def _mask(self, element: Element, target: Element, state: State, user: State) -> BaseGeometry:
        """The area in which a mask leaves an element visible."""
        elements = self._elements
        region = self._region(element, target, state, user)
        if region is None:
            return EMPTY
        content = user
        if target.get("maskContentUnits") == "objectBoundingBox":
            box = self._box(element, state)
            if box is None:
                return EMPTY
            content = moved(state, box)
        content = replace(content, values=elements.styles.computed(target), alpha=1.0, mode="paint", chain=())
        painter = paint.Painter(elements.document, elements.styles, elements.tolerance)
        by_alpha = elements.styles.own(target).get("mask-type") == "alpha"
        leaves = (leaf for child in target for leaf in elements.leaves(child, content))
        layers = painter.layers(leaves, (lambda ink: True) if by_alpha else (lambda ink: not ink.dark))
        elements.document.warn(target, "the shades of a mask count as on or off")
        return within(paint.compose(layers), region)

    def _region(self, element: Element, target: Element, state: State, user: State) -> BaseGeometry | None:
        """The rectangle outside which a mask hides everything; None: the element has no area."""
        elements = self._elements
        boxed = target.get("maskUnits") != "userSpaceOnUse"
        sides = []
        for name, default, along in (
            ("x", "-10%", "x"), ("y", "-10%", "y"), ("width", "120%", "x"), ("height", "120%", "y"),
        ):  # fmt: skip
            text, whole = target.get(name) or default, 1.0 if boxed else user.along(along)
            try:
                sides.append(length(text, whole))
            except NotUnderstood:
                elements.document.warn(target, f"{name} {text!r} is not a length, so the default is used")
                sides.append(length(default, whole))
        if boxed:
            box = self._box(element, state)
            if box is None:
                return None
            user = moved(state, box)
        return window((sides[0], sides[1], sides[2], sides[3]), user)

    def _box(self, element: Element, state: State) -> Floats | None:
        """The matrix from the unit square to the element's bounding box; None: the box has no area."""
        box = self._elements.bounds(element, state)
        if box is None or box[2] == 0 or box[3] == 0:
            return None
        return matrix(box[2], 0, 0, box[3], box[0], box[1])

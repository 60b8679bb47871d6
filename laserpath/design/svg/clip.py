"""clip-path and mask: the area outside which an element does not show, mm.

A clip is the union of its children's interiors (by clip-rule), each cut by its own clip. A mask
is where its content is light (or, mask-type alpha, where it is painted at all); its shades of
grey count as on or off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from shapely.geometry.base import BaseGeometry

from laserpath.arrays import Floats
from laserpath.design.fill import EVENODD, NONZERO
from laserpath.design.overlay import EMPTY, union, within
from laserpath.design.svg import paint, shapes
from laserpath.design.svg.document import tag
from laserpath.design.svg.leaf import State, moved, window, work
from laserpath.design.svg.style import Values
from laserpath.design.svg.values import NotUnderstood, length, matrix, transform
from laserpath.errors import InputError

if TYPE_CHECKING:
    from laserpath.design.svg.tree import Walk


class Clips:
    """The clips and masks of one document."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._cache: dict[tuple[Element, bytes], BaseGeometry] = {}
        self._open: list[Element] = []

    def of(self, element: Element, own: Values, state: State) -> BaseGeometry | None:
        """Where the element may show: its groups' clip cut by its own. state: inside the element."""
        out = state.clip
        for name, kind, area in (("clip-path", "clipPath", self._clip), ("mask", "mask", self._mask)):
            text = own.get(name, "none").strip()
            if text in ("none", ""):
                continue
            target = self._target(element, text, name, kind)
            if target is None:
                continue
            if target in self._open:
                raise InputError(f"{self._walk.document.name(target)} clips itself")
            self._open.append(target)
            cut = area(element, target, replace(state, clip=None))
            self._open.pop()
            out = within(cut, out)
        return out

    def _target(self, element: Element, text: str, name: str, kind: str) -> Element | None:
        warn = self._walk.document.warn
        if not text.startswith("url("):
            warn(element, f"{name} {text!r} is not understood, and the element is drawn without it")
            return None
        reference = text[4:].partition(")")[0].strip(" \"'")
        target = self._walk.document.local(reference)
        if target is None or tag(target) != kind:
            warn(
                element, f"{name} refers to {reference!r}, which is no {kind} of this file: drawn without it"
            )
            return None
        return target

    def _clip(self, element: Element, target: Element, state: State) -> BaseGeometry:
        """The area of a clipPath for an element."""
        mine = self._walk.styles.own(target)
        inner = state
        if "transform" in mine:
            try:
                inner = moved(state, transform(mine["transform"]))
            except NotUnderstood:
                self._walk.document.warn(target, f"the transform {mine['transform']!r} is not understood")
        if target.get("clipPathUnits") == "objectBoundingBox":
            box = self._box(element, state)
            if box is None:
                return EMPTY
            inner = moved(inner, box)
        key = (target, inner.matrix.tobytes())
        if key not in self._cache:
            self._cache[key] = self._children(target, inner)
        outer = self.of(target, {k: v for k, v in mine.items() if k == "clip-path"}, state)
        area = self._cache[key]
        return within(area, outer)

    def _children(self, target: Element, state: State) -> BaseGeometry:
        walk = self._walk
        state = replace(state, values=walk.styles.computed(target), alpha=1.0, mode="shape", chain=())
        areas = []
        for child in target:
            name = tag(child)
            if name in ("g", "svg", "switch", "a", "image"):
                walk.document.warn(child, f"<{name}> has no effect in a clipPath")
            elif name in shapes.TAGS or name in ("use", "text"):
                for leaf in walk.leaves(child, state):
                    rule = EVENODD if leaf.state.values["clip-rule"] == EVENODD else NONZERO
                    area = union(work([leaf.interior(rule, walk.tolerance)])[0])
                    areas.append(within(area, leaf.state.clip))
        return union(areas)

    def _mask(self, element: Element, target: Element, state: State) -> BaseGeometry:
        """The area where a mask lets an element show."""
        walk = self._walk
        content = replace(state, values=walk.styles.computed(target), alpha=1.0, mode="paint", chain=())
        region = self._region(element, target, state)
        if region is None:
            return EMPTY
        if target.get("maskContentUnits") == "objectBoundingBox":
            box = self._box(element, state)
            if box is None:
                return EMPTY
            content = moved(content, box)
        painter = paint.Painter(walk.document, walk.styles, walk.tolerance)
        by_alpha = walk.styles.own(target).get("mask-type") == "alpha"
        leaves = (leaf for child in target for leaf in walk.leaves(child, content))
        layers = painter.layers(leaves, (lambda ink: True) if by_alpha else (lambda ink: not ink.dark))
        walk.document.warn(target, "the shades of a mask count as on or off")
        return within(paint.compose(layers), region)

    def _region(self, element: Element, target: Element, state: State) -> BaseGeometry | None:
        """The rectangle that a mask covers at most."""
        walk = self._walk
        boxed = target.get("maskUnits") != "userSpaceOnUse"
        sides = []
        for name, default, along in (
            ("x", "-10%", "x"), ("y", "-10%", "y"), ("width", "120%", "x"), ("height", "120%", "y"),
        ):  # fmt: skip
            text, whole = target.get(name) or default, 1.0 if boxed else state.along(along)
            try:
                sides.append(length(text, whole))
            except NotUnderstood:
                walk.document.warn(target, f"{name} {text!r} is no length, and the default is taken")
                sides.append(length(default, whole))
        if boxed:
            box = self._box(element, state)
            if box is None:
                return None
            state = moved(state, box)
        return window((sides[0], sides[1], sides[2], sides[3]), state)

    def _box(self, element: Element, state: State) -> Floats | None:
        """The matrix from the unit square to the element's bounding box; None: it has no area."""
        box = self._walk.bounds(element, state)
        if box is None or box[2] == 0 or box[3] == 0:
            return None
        return matrix(box[2], 0, 0, box[3], box[0], box[1])

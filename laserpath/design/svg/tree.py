"""Traversal of the elements, with transforms, viewports, `use`, `switch` and visibility → shapes.

Visible elements that are not understood give a warning that names them. Text is left out.

clip-path and mask give the area, mm, outside which an element does not show. A clip is the union of its
children's interiors (by clip-rule), each cut by its own clip. A mask is where its content is light (or,
mask-type alpha, where it is painted at all); its shades of grey count as on or off.

Inkscape's layers are chosen by their labels, and any group by its id. A chosen layer is drawn in its place,
with the transforms, styles and clips of the groups around it, and with the elements that it refers to
elsewhere in the file. The layer and the groups around it count as visible, even if they are switched off.
Elements that are hidden inside it stay hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

import numpy as np
from shapely.geometry.base import BaseGeometry

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, union, within
from laserpath.design.curves import polylines
from laserpath.design.fill import EVENODD, NONZERO
from laserpath.design.reading import unknown
from laserpath.design.svg import paint, shapes, values
from laserpath.design.svg.document import Document, href, tag
from laserpath.design.svg.paint import opacity
from laserpath.design.svg.shapes import Leaf, State, moved, window, work
from laserpath.design.svg.style import UNSUPPORTED, Styles, Values, font_size, inherit
from laserpath.design.svg.values import (
    IDENTITY,
    NotFinite,
    NotUnderstood,
    apply,
    length,
    matrix,
    transform,
    translation,
)


class Clips:
    """The clips and masks of one document."""

    def __init__(self, tree: Traversal) -> None:
        self._tree = tree
        self._cache: dict[tuple[Element, bytes], BaseGeometry] = {}
        self._open: list[Element] = []

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
                raise InputError(f"{self._tree.document.name(target)} clips itself")
            self._open.append(target)
            cut = area(element, target, replace(state, clip=None), replace(user, clip=None))
            self._open.pop()
            out = within(cut, out)
        return out

    def _target(self, element: Element, text: str, name: str, kind: str) -> Element | None:
        warn = self._tree.document.warn
        if not text.startswith("url("):
            warn(element, f"{name} {text!r} is not understood, and the element is drawn without it")
            return None
        reference = text[4:].partition(")")[0].strip(" \"'")
        target = self._tree.document.local(reference)
        if target is None or tag(target) != kind:
            warn(
                element, f"{name} refers to {reference!r}, which is no {kind} of this file: drawn without it"
            )
            return None
        return target

    def _clip(self, element: Element, target: Element, state: State, user: State) -> BaseGeometry:
        """The area of a clipPath for an element."""
        mine = self._tree.styles.own(target)
        boxed = target.get("clipPathUnits") == "objectBoundingBox"
        inner = state if boxed else user
        if "transform" in mine:
            try:
                inner = moved(inner, transform(mine["transform"]))
            except NotUnderstood:
                self._tree.document.warn(target, f"the transform {mine['transform']!r} is not understood")
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
        tree = self._tree
        state = replace(state, values=tree.styles.computed(target), alpha=1.0, mode="shape", chain=())
        areas = []
        for child in target:
            name = tag(child)
            if name in ("g", "svg", "switch", "a", "image"):
                tree.document.warn(child, f"<{name}> has no effect in a clipPath")
            elif name == "use" and self._used(child) not in (*shapes.TAGS, "text"):
                tree.document.warn(child, "in a clipPath it has no effect unless it refers to a shape itself")
            elif name in shapes.TAGS or name in ("use", "text"):
                for leaf in tree.leaves(child, state):
                    rule = EVENODD if leaf.state.values["clip-rule"] == EVENODD else NONZERO
                    area = union(work([leaf.interior(rule, tree.tolerance)])[0])
                    areas.append(within(area, leaf.state.clip))
        return union(areas)

    def _used(self, use: Element) -> str:
        """The tag of the element that a `use` refers to."""
        target = self._tree.document.local(href(use))
        return "" if target is None else tag(target)

    def _mask(self, element: Element, target: Element, state: State, user: State) -> BaseGeometry:
        """The area in which a mask leaves an element visible."""
        tree = self._tree
        region = self._region(element, target, state, user)
        if region is None:
            return EMPTY
        content = user
        if target.get("maskContentUnits") == "objectBoundingBox":
            box = self._box(element, state)
            if box is None:
                return EMPTY
            content = moved(state, box)
        content = replace(content, values=tree.styles.computed(target), alpha=1.0, mode="paint", chain=())
        painter = paint.Painter(tree.document, tree.styles, tree.tolerance)
        by_alpha = tree.styles.own(target).get("mask-type") == "alpha"
        leaves = (leaf for child in target for leaf in tree.leaves(child, content))
        layers = painter.layers(leaves, (lambda ink: True) if by_alpha else (lambda ink: not ink.dark))
        tree.document.warn(target, "the shades of a mask count as on or off")
        return within(paint.compose(layers), region)

    def _region(self, element: Element, target: Element, state: State, user: State) -> BaseGeometry | None:
        """The rectangle outside which a mask hides everything; None: the element has no area."""
        tree = self._tree
        boxed = target.get("maskUnits") != "userSpaceOnUse"
        sides = []
        for name, default, along in (
            ("x", "-10%", "x"), ("y", "-10%", "y"), ("width", "120%", "x"), ("height", "120%", "y"),
        ):  # fmt: skip
            text, whole = target.get(name) or default, 1.0 if boxed else user.along(along)
            try:
                sides.append(length(text, whole))
            except NotUnderstood:
                tree.document.warn(target, f"{name} {text!r} is not a length, so the default is used")
                sides.append(length(default, whole))
        if boxed:
            box = self._box(element, state)
            if box is None:
                return None
            user = moved(state, box)
        return window((sides[0], sides[1], sides[2], sides[3]), user)

    def _box(self, element: Element, state: State) -> Floats | None:
        """The matrix from the unit square to the element's bounding box; None: the box has no area."""
        box = self._tree.bounds(element, state)
        if box is None or box[2] == 0 or box[3] == 0:
            return None
        return matrix(box[2], 0, 0, box[3], box[0], box[1])


INKSCAPE = "{http://www.inkscape.org/namespaces/inkscape}"
NOT_DRAWN = {
    "defs", "style", "title", "desc", "metadata", "linearGradient", "radialGradient", "pattern", "clipPath",
    "mask", "marker", "filter", "symbol", "view", "cursor", "font", "font-face", "color-profile",
    "solidColor", "hatch", "stop", "tspan", "textPath", "tref",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chosen:
    """left_out: elements beside the chosen layers.  shown: the layers and the groups around them."""

    left_out: frozenset[Element] = frozenset()
    shown: frozenset[Element] = frozenset()


EVERYTHING = Chosen()


def choose(document: Document, names: tuple[str, ...]) -> Chosen:
    """The layers of these names; without names, all visible ones."""
    if not names:
        return EVERYTHING
    groups = [(group, _names(group)) for group in _groups(document.root)]
    known = list(dict.fromkeys(name for label in (True, False) for _, own in groups for name in own[label]))
    for name in names:
        if name not in known:
            raise unknown("layer", name, known)
    layers = {group for group, own in groups if not set(names).isdisjoint((*own[True], *own[False]))}
    around = {above for layer in layers for above in _around(document, layer)}
    on_the_way = around - {inner for layer in layers for inner in layer.iter()}
    beside = {child for element in on_the_way for child in element} - layers - around
    return Chosen(frozenset(beside), frozenset(layers | around))


def shown_layers(document: Document, styles: Styles) -> Iterator[tuple[str, bool]]:
    """The name of each outermost layer, and whether it is shown; without layers, of the outermost groups."""
    outer = [child for child in document.root if tag(child) in ("g", "svg", "a")]
    labelled = [child for child in outer if _names(child)[True]]
    for group in labelled or outer:
        names, hidden = _names(group), styles.own(group).get("display") == "none"
        if name := next(iter(names[bool(labelled)]), ""):
            yield name, not hidden


def _groups(element: Element) -> Iterator[Element]:
    """The groups that are drawn, the lowest first."""
    for child in element:
        name = tag(child)
        if name not in NOT_DRAWN:
            if name in ("g", "svg", "a"):
                yield child
            yield from _groups(child)


def _names(group: Element) -> dict[bool, tuple[str, ...]]:
    """The names of a group; True: its label, if it is a layer; False: its id."""
    label = group.get(f"{INKSCAPE}label") if group.get(f"{INKSCAPE}groupmode") == "layer" else None
    key = group.get("id")
    return {True: (label,) if label else (), False: (key,) if key else ()}


def _around(document: Document, element: Element) -> Iterator[Element]:
    while (parent := document.parents.get(element)) is not None:
        yield parent
        element = parent


OUR_PATH = "laserpath-toolpath"
"""Id of the layer that the Inkscape extension adds; it is not part of the drawing."""

MAX_DEPTH = 200  # nested elements, with those that `use` draws
ACTIVE = {"script", "animate", "animateTransform", "animateMotion", "animateColor", "set", "discard"}
TEXT = {"text", "flowRoot"}
TEXT_SENTENCE = (
    "text is left out, because every font draws it differently: convert it to paths first "
    "(Inkscape: select it, then Path > Object to Path)"
)


class Traversal:
    """The elements of one document. tolerance: of flattened curves, mm.  chosen: the layers that count."""

    def __init__(
        self, document: Document, styles: Styles, tolerance: float, chosen: Chosen = EVERYTHING
    ) -> None:
        self.document, self.styles, self.tolerance, self._chosen = document, styles, tolerance, chosen
        self._clips = Clips(self)
        self._drawn = 0

    def leaves(self, element: Element, state: State) -> Iterator[Leaf]:
        """The shapes of an element and of its descendants, in paint order."""
        try:
            yield from self._visit(element, state)
        except NotFinite as error:
            raise InputError(f"{self.document.name(element)} {error}") from None

    def page(self, root: Element, state: State, place: values.Box) -> Iterator[Leaf]:
        """All shapes of the file, also those outside the page. place: the page in px."""
        try:
            own = self.styles.own(root)
            inner = None if self._hidden(root, own) else self._enter(root, own, state)
            if inner is not None:
                yield from self._children(root, self._viewport(root, inner, place))
        except NotFinite as error:
            raise InputError(f"the outermost svg {error}") from None

    def bounds(self, element: Element, state: State) -> values.Box | None:
        """(x, y, width, height) of an element's shapes in its own coordinates; None: it has no shapes."""
        free = replace(state, matrix=IDENTITY, clip=None, mode="bounds", bare=element)
        boxes = []
        for leaf in self.leaves(element, free):
            size = max(
                float(np.ptp(apply(leaf.state.matrix, s.cubics), axis=(0, 1)).max()) for s in leaf.subpaths
            )
            rings = polylines(leaf.rings(max(size, 1e-9) * 1e-5))
            points = np.vstack([ring.points for ring in rings])
            boxes.append(np.concatenate([points.min(axis=0), points.max(axis=0)]))
        if not boxes:
            return None
        low, high = np.min(boxes, axis=0)[:2], np.max(boxes, axis=0)[2:]
        return float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1])

    def _visit(self, element: Element, state: State) -> Iterator[Leaf]:
        name = tag(element)
        if name in NOT_DRAWN or name.startswith("{") or not _applies(element):
            return
        if element.get("id") == OUR_PATH:
            self.document.warn(element, "a toolpath that laserpath drew is left out")
            return
        own = self.styles.own(element)
        if self._hidden(element, own):
            return
        self._limit(element, state)
        if name == "svg":
            yield from self._nested(element, own, state)
            return
        inner = self._enter(element, own, state)
        if inner is None:
            return
        if name in shapes.TAGS:
            yield from self._shape(element, own, inner)
        elif name in ("g", "a"):
            yield from self._children(element, inner)
        elif name == "use":
            yield from self._use(element, inner)
        elif name == "switch":
            first = next((c for c in element if tag(c)[:1] != "{" and _applies(c)), None)
            if first is not None:
                yield from self.leaves(first, inner)
        else:
            self._not_a_shape(element, name, inner)

    def _children(self, element: Element, state: State | None) -> Iterator[Leaf]:
        if state is None:
            return
        all_count = state.mode != "paint" or bool(state.chain)
        for child in element:
            if all_count or child not in self._chosen.left_out:
                yield from self.leaves(child, state)

    def _hidden(self, element: Element, own: Values) -> bool:
        hidden = own.get("display") == "none" and element not in self._chosen.shown
        if hidden:
            self.document.hidden.add(element)
        return hidden

    def _limit(self, element: Element, state: State) -> None:
        """Refuse elements that are nested or repeated without end."""
        self._drawn += 1
        limits.spend()
        if self._drawn > limits.now().shapes:
            raise limits.exceeded(
                "the file draws more than {} elements, with those that `use` repeats", "shapes"
            )
        if state.depth > MAX_DEPTH:
            raise InputError(f"{self.document.name(element)} is nested more than {MAX_DEPTH} deep")

    def _enter(self, element: Element, own: Values, state: State) -> State | None:
        """The state inside the element; None: nothing in it is visible."""
        inner = self._styled(element, own, state)
        return None if inner is None else self._clipped(element, own, inner, inner)

    def _styled(self, element: Element, own: Values, state: State) -> State | None:
        """The same without the element's own clip."""
        values = inherit(state.values, own)
        inner = replace(
            state,
            matrix=state.matrix @ self._transform(element, own, state),
            values=values,
            depth=state.depth + 1,
        )
        if state.mode == "bounds":
            return inner
        if state.mode == "paint" and "opacity" in own:
            try:
                inner = replace(inner, alpha=inner.alpha * opacity(own["opacity"]))
            except NotUnderstood:
                self.document.warn(element, f"opacity {own['opacity']!r} is not understood, and taken as 1")
            if inner.alpha == 0:
                return None
        for name, nothing in UNSUPPORTED.items():
            if own.get(name, nothing) != nothing:
                self.document.warn(element, f"{name} is not understood, and the element is drawn without it")
        return inner

    def _clipped(self, element: Element, own: Values, state: State, user: State) -> State | None:
        """`user` with the element's own clip; None: nothing in it is visible. See `Clips.of`."""
        if state.mode == "bounds":
            return user
        clip = self._clips.of(element, own, state, user)
        return None if clip is not None and clip.is_empty else replace(user, clip=clip)

    def _transform(self, element: Element, own: Values, state: State) -> Floats:
        """The element's transform about its origin; for `use` also its x and y."""
        if element is state.bare:
            return IDENTITY
        out = IDENTITY
        text = own.get("transform", "")
        if text and text != "none":
            try:
                out = transform(text)
                # The outermost svg is a box on the page, and the origin is its centre.
                about = own.get("transform-origin", "50% 50%" if element is self.document.root else "")
                if about:
                    x, y = self._origin(element, own, about, state)
                    out = translation(x, y) @ out @ translation(-x, -y)
            except NotUnderstood:
                self.document.warn(element, f"the transform {text!r} is not understood, and left out")
        if tag(element) == "use":
            x, y = (self._length(element, own, state, name, name) or 0.0 for name in "xy")
            out = out @ translation(x, y)
        return out

    def _origin(self, element: Element, own: Values, about: str, state: State) -> tuple[float, float]:
        """`about`, the transform-origin, in the coordinates of the element."""
        box = (0.0, 0.0, *state.viewport)
        if own.get("transform-box") in ("fill-box", "content-box", "border-box", "stroke-box"):
            box = self.bounds(element, state) or box
        words = about.replace(",", " ").split()[:2] or ["0", "0"]
        if words[0] in ("top", "bottom") or words[-1] in ("left", "right"):
            words = words[::-1] if len(words) == 2 else ["center", *words]
        words = (words + ["center"])[:2]
        share = {"left": "0%", "top": "0%", "center": "50%", "right": "100%", "bottom": "100%"}
        size = font_size(inherit(state.values, own))
        x, y = (length(share.get(w, w), box[2 + k], size) + box[k] for k, w in enumerate(words))
        return x, y

    def _length(self, element: Element, own: Values, state: State, name: str, along: str) -> float | None:
        """A length of the element in px, from its style or attribute; None: not given or auto."""
        text = own.get(name) if name in own else element.get(name)
        if text is None or text.strip() in ("", "auto"):
            return None
        try:
            return length(text, state.along(along), font_size(state.values))
        except NotUnderstood:
            self.document.warn(element, f"{name} {text!r} is not a length, so the default is used")
            return None

    def _shape(self, element: Element, own: Values, state: State) -> Iterator[Leaf]:
        if state.mode != "bounds" and state.values["visibility"] != "visible":
            return
        if "d" in own:
            self.document.warn(element, "path data in a style sheet is not understood")

        def size(name: str, along: str) -> float | None:
            return self._length(element, own, state, name, along)

        try:
            subpaths, wrong = shapes.outline(tag(element), size, lambda name: element.get(name) or "")
        except NotUnderstood:
            subpaths, wrong = [], "its points are not understood, and it is not drawn"
        if wrong:
            self.document.warn(element, wrong)
        if any(child_tag in ACTIVE for child_tag in map(tag, element)):
            self.document.warn(
                element, "scripts and animations are not run: it is drawn as it stands in the file"
            )
        if subpaths:
            fixed = own.get("vector-effect") == "non-scaling-stroke"
            yield Leaf(element, self.document.name, subpaths, state, fixed)

    def _use(self, element: Element, state: State) -> Iterator[Leaf]:
        """The shapes of the element that `use` refers to, in its place."""
        reference = href(element)
        target = self.document.local(reference)
        if target is None:
            where = (
                "is not in this file" if reference.startswith("#") else "lies outside the file: not followed"
            )
            self.document.warn(element, f"it refers to {reference!r}, which {where}")
            return
        if target in state.chain:
            raise InputError(f"{self.document.name(element)} refers to {reference!r}, which contains itself")
        inner = replace(state, chain=(*state.chain, target))
        if tag(target) not in ("symbol", "svg"):
            yield from self.leaves(target, inner)
            return
        own = self.styles.own(target)
        if self._hidden(target, own) or not _applies(target):
            return
        self._limit(element, inner)
        mine = self.styles.own(element)
        w, h = (self._length(element, mine, state, n, a) for n, a in (("width", "x"), ("height", "y")))
        yield from self._nested(target, own, inner, w, h)

    def _nested(
        self,
        element: Element,
        own: Values,
        state: State,
        width: float | None = None,
        height: float | None = None,
    ) -> Iterator[Leaf]:
        """An svg or symbol inside the page. width, height: from the `use` that draws it, px.

        Its clip is in the coordinates inside its viewBox, as in Chromium and resvg.
        """
        outer = self._styled(element, own, state)
        if outer is None:
            return
        x, y, w, h = (
            self._length(element, own, outer, n, a)
            for n, a in (("x", "x"), ("y", "y"), ("width", "x"), ("height", "y"))
        )
        w, h = (v if v is not None else u for v, u in ((width, w), (height, h)))
        full = outer.along("x"), outer.along("y")
        place = (x or 0.0, y or 0.0, full[0] if w is None else w, full[1] if h is None else h)
        if place[2] <= 0 or place[3] <= 0:
            return
        user = self._viewport(element, outer, place)
        inner = None if user is None else self._clipped(element, own, outer, user)
        if inner is None:
            return
        if own.get("overflow", "hidden") in ("hidden", "scroll", "clip") and state.mode != "bounds":
            inner = replace(inner, clip=window(place, replace(outer, clip=inner.clip)))
            if inner.clip is not None and inner.clip.is_empty:
                return
        yield from self._children(element, inner)

    def _viewport(self, element: Element, state: State, place: values.Box) -> State | None:
        """The state inside an element with a viewport at `place`; None: its viewBox is invalid."""
        try:
            box = values.view_box(element.get("viewBox"))
        except NotUnderstood as error:
            self.document.warn(element, f"viewBox {str(error)!r} is not understood: not drawn")
            return None
        fitted = translation(*place[:2])
        if box is not None:
            try:
                fitted = values.fit(box, place, element.get("preserveAspectRatio") or "")
            except NotUnderstood as error:
                self.document.warn(
                    element, f"preserveAspectRatio {str(error)!r} is not understood, so the default is used"
                )
                fitted = values.fit(box, place)
        return replace(moved(state, fitted), viewport=box[2:] if box else place[2:])

    def _not_a_shape(self, element: Element, name: str, state: State) -> None:
        """Warn that an element is left out, if it would be visible."""
        if name in ACTIVE:
            self.document.warn(element, "scripts and animations are not run")
            return
        if state.mode == "bounds":
            return
        if name in TEXT:
            if self._shows_text(element, state.values):
                self.document.warn(element, TEXT_SENTENCE)
        elif state.values["visibility"] == "visible":
            if name == "foreignObject" and "".join(element.itertext()).strip():
                self.document.warn(element, TEXT_SENTENCE)
            elif name == "image":
                self.document.warn(element, "<image> is a picture, not an outline, and left out: trace it")
            else:
                self.document.warn(element, f"<{name}> is not understood, and not drawn")

    def _shows_text(self, element: Element, values: Values) -> bool:
        """Whether any letter of a text element is visible. values: of the element."""
        painted = values["visibility"] == "visible" and (
            values["fill"] != "none" or values["stroke"] != "none"
        )
        if painted and ((element.text or "").strip() or any((c.tail or "").strip() for c in element)):
            return True
        for child in element:
            own = self.styles.own(child)
            hidden = own.get("display") == "none" or tag(child) in ("title", "desc", "style", "flowRegion")
            if not hidden and self._shows_text(child, inherit(values, own)):
                return True
        return False


def _applies(element: Element) -> bool:
    """Whether the element is for a viewer without extensions, in English."""
    if (element.get("requiredExtensions") or "").strip():
        return False
    languages = element.get("systemLanguage")
    return languages is None or any(word.strip().lower().startswith("en") for word in languages.split(","))

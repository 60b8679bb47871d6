"""Which layers of a drawing count: Inkscape's by their labels, and any group by its id.

A chosen layer is drawn in its place, with the transforms, styles and clips of the groups around it, and with
the elements that it refers to elsewhere in the file. The layer and the groups around it count as visible,
even if they are switched off. Elements that are hidden inside it stay hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from laserpath.design.names import unknown
from laserpath.design.svg.document import Document, tag

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

"""Which layers of a drawing count: Inkscape's by their labels, and any group by its id.

A chosen layer is drawn where it lies, with the transforms, styles and clips of the groups around it, and with
what it refers to elsewhere in the file. It counts as shown, and so do the groups around it: who names a
layer that is switched off wants it. What is hidden inside it stays hidden.
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
    """left_out: elements beside the chosen layers.  shown: the layers and what is around them."""

    left_out: frozenset[Element] = frozenset()
    shown: frozenset[Element] = frozenset()


EVERYTHING = Chosen()


def choose(document: Document, names: tuple[str, ...]) -> Chosen:
    """The layers of these names; without any, all that show."""
    if not names:
        return EVERYTHING
    groups = [(group, _names(group)) for group in _groups(document.root)]
    known = list(
        dict.fromkeys(name for label in (True, False) for _, found in groups for name in found[label])
    )
    for name in names:
        if name not in known:
            raise unknown("layer", name, known)
    layers = {group for group, found in groups if not set(names).isdisjoint((*found[True], *found[False]))}
    around = {above for layer in layers for above in _around(document, layer)}
    on_the_way = around - {inner for layer in layers for inner in layer.iter()}
    beside = {child for element in on_the_way for child in element} - layers - around
    return Chosen(frozenset(beside), frozenset(layers | around))


def _groups(element: Element) -> Iterator[Element]:
    """The groups that are drawn, from below up."""
    for child in element:
        name = tag(child)
        if name not in NOT_DRAWN:
            if name in ("g", "svg", "a"):
                yield child
            yield from _groups(child)


def _names(group: Element) -> dict[bool, tuple[str, ...]]:
    """What the group can be called; True: by the label of a layer, False: by its id."""
    label = group.get(f"{INKSCAPE}label") if group.get(f"{INKSCAPE}groupmode") == "layer" else None
    key = group.get("id")
    return {True: (label,) if label else (), False: (key,) if key else ()}


def _around(document: Document, element: Element) -> Iterator[Element]:
    while (parent := document.parents.get(element)) is not None:
        yield parent
        element = parent

"""The CSS cascade: presentation attributes < style sheets by specificity < style="..." < !important.

`Styles.own(element)` has the properties set for an element itself; `inherit` adds those of its parent.
Values remain text, and are parsed where they are used.

Declarations whose value is invalid for its property are ignored, as CSS requires. A declaration of lower
precedence then applies: `fill="black" style="fill: light-dark(...)"` is black in a reader that does not know
`light-dark`. Only properties that affect the area are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element

import cssselect2
import tinycss2
import tinycss2.color4

from laserpath.design.svg.document import Document, tag
from laserpath.design.svg.values import NotFinite, NotUnderstood, length, lengths, number

_RULES = ("nonzero", "evenodd")
_WORDS = {
    "fill-rule": _RULES,
    "clip-rule": _RULES,
    "visibility": ("visible", "hidden", "collapse"),
    "stroke-linecap": ("butt", "round", "square"),
    "stroke-linejoin": ("miter", "round", "bevel"),
}
_PAINTS = ("fill", "stroke")
_COLOURS = ("color", "stop-color")
_SHARES = ("opacity", "fill-opacity", "stroke-opacity", "stop-opacity")
_EVERYWHERE = ("", "inherit", "initial", "unset", "revert")
GEOMETRY = ("x", "y", "width", "height", "cx", "cy", "r", "rx", "ry")


@lru_cache(maxsize=4096)
def normal(name: str, value: str) -> str | None:
    """The value, with keywords in lower case; None: it is invalid for the property."""
    word = value.lower()
    if word in _EVERYWHERE or name in _WORDS:
        return word if word in _WORDS.get(name, ()) or word in _EVERYWHERE else None
    if name in _PAINTS or name in _COLOURS:
        return _paint(name, value, word)
    if name == "display":
        return word
    try:
        return value if _is_measure(name, value, word) else None
    except NotUnderstood:
        return None
    except NotFinite:
        return value  # refused later, by name


def plain_length(value: str) -> bool:
    """Whether a length other than 0 has no unit, which only attributes allow."""
    try:
        return number(value) != 0
    except ValueError:
        return False


def _paint(name: str, value: str, word: str) -> str | None:
    if name in _PAINTS and (word == "none" or word.startswith("url(")):
        return word if word == "none" else value
    return value if tinycss2.color4.parse_color(value) is not None else None


def _is_measure(name: str, value: str, word: str) -> bool:
    """Whether a value is a number, a length or a list of them, and not negative where that is invalid."""
    if name in _SHARES:
        length(value, 1.0)
    elif name == "stroke-width":
        return length(value, 1.0) >= 0
    elif name == "stroke-miterlimit":
        return number(value) >= 0
    elif name == "stroke-dashoffset":
        length(value, 1.0)
    elif name == "stroke-dasharray" and word != "none":
        return all(part >= 0 for part in lengths(value, 1.0))
    return True


Values = dict[str, str]
Declaration = tuple[str, str, bool]
"""(property, value, whether it is !important)"""

INHERITED: Values = {
    "color": "black", "fill": "black", "fill-opacity": "1", "fill-rule": "nonzero", "clip-rule": "nonzero",
    "stroke": "none", "stroke-opacity": "1", "stroke-width": "1", "stroke-linecap": "butt",
    "stroke-linejoin": "miter", "stroke-miterlimit": "4", "stroke-dasharray": "none",
    "stroke-dashoffset": "0", "visibility": "visible", "font-size": "medium", "paint-order": "normal",
    "marker-start": "none", "marker-mid": "none", "marker-end": "none",
}  # fmt: skip
OWN = {
    "display", "opacity", "clip-path", "mask", "overflow", "transform", "transform-origin", "transform-box",
    "vector-effect", "stop-color", "stop-opacity", "filter", "mix-blend-mode", "clip", "rotate", "scale",
    "translate", "offset-path", "zoom", "mask-type",
}  # fmt: skip
UNSUPPORTED = {
    "filter": "none", "mix-blend-mode": "normal", "clip": "auto", "rotate": "none", "scale": "none",
    "translate": "none", "offset-path": "none", "zoom": "1",
}  # fmt: skip
KNOWN = {*OWN, *GEOMETRY, *INHERITED, "d"}
ATTRIBUTES = (OWN | set(INHERITED)) - {"rotate", "scale", "translate", "offset-path", "zoom"}
HARD = re.compile(r"[\\\"'/(){}@!]|marker")  # blocks that need a full parser, which is ten times slower
FONT_SIZES = {
    "xx-small": 9.6, "x-small": 12.0, "small": 14.2, "medium": 16.0, "large": 19.2, "x-large": 24.0,
    "xx-large": 32.0,
}  # fmt: skip


class Styles:
    """The style sheets of a document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._matcher = cssselect2.Matcher()
        self._rules = 0
        for element in document.root.iter():
            if tag(element) == "style":
                self._sheet(element)
        self._wrappers: dict[Element, Any] = {}
        if self._rules:
            wrapper = cssselect2.ElementWrapper.from_xml_root(document.root)
            self._wrappers = {w.etree_element: w for w in wrapper.iter_subtree()}
        self._cache: dict[Element, Values] = {}

    def own(self, element: Element) -> Values:
        """The properties that attributes, style sheets and style="..." set for the element itself."""
        if element not in self._cache:
            self._cache[element] = self._cascade(element)
        return self._cache[element]

    def computed(self, element: Element) -> Values:
        """The inherited properties of an element at its place in the file."""
        line = [element]
        while (parent := self._document.parents.get(line[-1])) is not None:
            line.append(parent)
        values = INHERITED
        for ancestor in reversed(line):
            values = inherit(values, self.own(ancestor))
        return values

    def _cascade(self, element: Element) -> Values:
        attributes = [(k, v.strip(), False) for k, v in element.attrib.items() if k in ATTRIBUTES]
        declared: list[Declaration] = []
        if element in self._wrappers:
            for _, _, pseudo, payload in self._matcher.match(self._wrappers[element]):
                if pseudo is None:
                    declared.extend(payload)
        if style := element.get("style"):
            declared.extend(_declarations(style))
        declared = [one for one in declared if not self._lacks_unit(element, one)]
        values: Values = {}
        for name, value, _ in (*attributes, *sorted(declared, key=lambda one: one[2])):  # !important last
            good = normal(name, value)
            if good is None:
                what = "not a colour" if name in ("fill", "stroke") else "not understood"
                self._document.warn(element, f"{name} {value!r} is {what}, and does not count")
            else:
                values[name] = good
        return values

    def _lacks_unit(self, element: Element, declared: Declaration) -> bool:
        """Whether a style sheet gives a length of a shape without a unit, which is invalid."""
        name, value, _ = declared
        if name not in GEOMETRY or not plain_length(value):
            return False
        self._document.warn(element, f"{name} {value!r} in a style has no unit, and does not count")
        return True

    def _sheet(self, element: Element) -> None:
        if (element.get("type") or "text/css").strip().lower() != "text/css":
            self._document.warn(element, "a style sheet that is not CSS is not read")
            return
        if not _for_screens(element.get("media") or ""):
            return
        text = "".join(element.itertext())
        self._add(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True), element)

    def _add(self, rules: Iterable[Any], element: Element) -> None:
        """Add the rules of a sheet, or of one of its @media blocks."""
        for rule in rules:
            if rule.type == "qualified-rule":
                self._rule(rule, element)
            elif rule.type == "at-rule" and rule.lower_at_keyword == "media":
                if rule.content is not None and _for_screens(tinycss2.serialize(rule.prelude)):
                    inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
                    self._add(inner, element)
            elif rule.type == "at-rule" and rule.lower_at_keyword == "import":
                self._document.warn(element, "@import of a style sheet outside the file is not followed")
            elif rule.type == "at-rule" and rule.lower_at_keyword in ("supports", "layer", "container"):
                self._document.warn(
                    element, f"@{rule.lower_at_keyword} is not understood and its rules not used"
                )
            elif rule.type == "error":
                self._document.warn(element, f"part of the style sheet is not CSS ({rule.message})")

    def _rule(self, rule: Any, element: Element) -> None:
        items = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
        if any(item.type == "qualified-rule" for item in items):
            self._document.warn(element, "a rule inside a rule of the style sheet is not understood")
        declared = list(_declarations(rule.content))
        if not declared:
            return
        try:
            selectors = cssselect2.compile_selector_list(rule.prelude)
        except (cssselect2.SelectorError, SyntaxError, RecursionError, MemoryError):
            # cssselect2 writes Python, whose parser has limits of its own: 200 parentheses in each other.
            text = tinycss2.serialize(rule.prelude).strip()
            self._document.warn(element, f"the selector {text!r} is not understood and its rule not used")
            return
        self._rules += 1
        for selector in selectors:
            self._matcher.add_selector(selector, declared)


def inherit(parent: Values, own: Values) -> Values:
    """The inherited properties of an element."""
    values = parent
    if any(name in INHERITED for name in own):
        values = dict(parent)
        for name, value in own.items():
            if name in INHERITED and value not in ("inherit", "unset", ""):
                values[name] = INHERITED[name] if value in ("initial", "revert") else value
        values["font-size"] = _font_size(values["font-size"], parent["font-size"])
    return values


def font_size(values: Values) -> float:
    """The font size in px."""
    return FONT_SIZES.get(values["font-size"]) or float(values["font-size"])


def _font_size(text: str, parent: str) -> str:
    """A font size, if relative to the parent's made absolute: px as text."""
    base = FONT_SIZES.get(parent) or float(parent)
    if text in FONT_SIZES or text == parent:
        return text
    if text in ("larger", "smaller"):
        return repr(base * 1.2 if text == "larger" else base / 1.2)
    try:
        return repr(length(text, base, base))
    except NotUnderstood:
        return parent


def _declarations(css: Any) -> Iterator[Declaration]:
    """The known declarations in a block."""
    if isinstance(css, str) and not HARD.search(css):
        pairs = (part.partition(":") for part in css.split(";"))
        for name, value in ((n.strip().lower(), v.strip()) for n, _, v in pairs):
            if name in KNOWN and value:
                yield name, value, False
        return
    for item in tinycss2.parse_blocks_contents(css, skip_comments=True, skip_whitespace=True):
        if item.type != "declaration":
            continue
        value = tinycss2.serialize(item.value).strip()
        if item.lower_name == "marker":
            for end in ("start", "mid", "end"):
                yield f"marker-{end}", value, item.important
        elif item.lower_name in KNOWN:
            yield item.lower_name, value, item.important


def _for_screens(media: str) -> bool:
    """Whether a list of media includes screens."""
    queries = [q.strip().lower() for q in media.split(",")]
    return any(q in ("", "all", "screen", "only screen") for q in queries)

"""The XML of an SVG file, read safely, and the warnings about its elements.

Files that are not SVG are refused, and so are entities that are not plain text. Equal warnings are
collected, so that a thousand images make one sentence.

A document type may define entities. Illustrator uses them for its namespaces: `<!ENTITY ns_svg "http://…">`,
then `xmlns="&ns_svg;"`. An entity of plain text is harmless as long as all its uses together stay short.
Entities outside the file, entities made of others or of markup, and parameter entities, which change the
document type itself, are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from laserpath.base.errors import InputError

MOST_TEXT = 32_000_000
"""Most characters that all uses of entities may expand to; more would fill the memory."""

_DEFINITION = re.compile(r"<!ENTITY[^<]*")
_REFERENCE = re.compile(r"&[^#;&<>\s][^;&<>\s]*;")
_PREFIX = re.compile(r"</?([A-Za-z_][\w.-]*):|\s([A-Za-z_][\w.-]*):[\w.-]+\s*=\s*[\"']")
_DECLARED = re.compile(r"\bxmlns:([\w.-]+)\s*=")
_ROOT = re.compile(r"<(?:[\w.-]+:)?svg\b")
_PREFIXES = {
    "svg": "http://www.w3.org/2000/svg",
    "xlink": "http://www.w3.org/1999/xlink",
    "inkscape": "http://www.inkscape.org/namespaces/inkscape",
    "sodipodi": "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
}
_OTHER = "urn:undeclared:"


def parsed(data: bytes) -> tuple[Element, tuple[str, ...]]:
    """The root element, and the prefixes that the file uses without declaring them."""
    try:
        return _root(data), ()
    except ParseError as error:
        if "unbound prefix" not in str(error):
            raise
        mended, lacking = _declared(data)
        if not lacking:
            raise
    return _root(mended), lacking


class _Parser(DefusedXMLParser):  # type: ignore[misc]  # defusedxml has no types
    """An expat parser that allows entities of plain text only."""

    def defused_entity_decl(
        self, name: str, is_parameter_entity: bool, value: str | None, *outside: Any
    ) -> None:
        if is_parameter_entity:
            _refuse(f"%{name}", "steers how the file is read")
        if value is None:
            _refuse(name, "lies outside the file")
        if any(sign in value for sign in "&%<"):
            _refuse(name, "is made of other entities or of markup")

    def defused_unparsed_entity_decl(self, name: str, *outside: Any) -> None:
        _refuse(name, "lies outside the file")


def _refuse(name: str, why: str) -> NoReturn:
    raise InputError(f"XML entity {name!r} {why}, which is not safe; save the file as plain SVG")


def _root(data: str | bytes) -> Element:
    text = data if isinstance(data, str) else data.replace(b"\0", b"").decode("latin-1")  # ASCII is legible
    if _DEFINITION.search(text):
        _check_total(text)
    parser = _Parser(target=TreeBuilder(), forbid_dtd=False, forbid_entities=True, forbid_external=True)
    try:
        parser.feed(data)
        root: Element = parser.close()
        return root
    except DefusedXmlException:
        raise InputError(
            "the file refers to other files in its XML, which is not safe; save it as plain SVG"
        ) from None


def _check_total(text: str) -> None:
    """Refuse entities whose uses would expand too far, assuming the longest definition for each."""
    longest = max(len(one) for one in _DEFINITION.findall(text))
    uses = sum(1 for _ in _REFERENCE.finditer(text))
    if uses * longest > MOST_TEXT:
        raise InputError(
            f"the file uses XML entities {uses} times, of up to {longest} characters each, "
            f"above the {MOST_TEXT:g} that are read, which is not safe; save the file as plain SVG"
        )


def _declared(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The file with its undeclared prefixes declared at the root element, and these prefixes.

    Only files in UTF-8 are mended.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "", ()
    known = {"xml", "xmlns", *_DECLARED.findall(text)}
    used = (prefix for pair in _PREFIX.findall(text) for prefix in pair)
    lacking = tuple(dict.fromkeys(prefix for prefix in used if prefix and prefix not in known))
    begin = _ROOT.search(text)
    if begin is None or not lacking:
        return text, ()
    declared = "".join(f' xmlns:{p}="{_PREFIXES.get(p, _OTHER + p)}"' for p in lacking)
    return text[: begin.end()] + declared + text[begin.end() :], lacking


SVG = "{http://www.w3.org/2000/svg}"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
MAX_DEPTH = 150  # nested elements
NAMED = 3  # elements that a warning names


def tag(element: Element) -> str:
    """The element's name; elements of other namespaces keep their {namespace}. No namespace counts as SVG."""
    name: str = element.tag
    return name.removeprefix(SVG)


def href(element: Element) -> str:
    """The reference of an element, or ''."""
    return (element.get("href") or element.get(XLINK_HREF) or "").strip()


class Document:
    """One SVG file: its elements, their names, and the warnings about them.

    hidden: elements that were left out because nothing of them is displayed.
    """

    def __init__(self, data: str | bytes) -> None:
        data = data.encode() if isinstance(data, str) else data
        self.root, undeclared = _parse(data)
        self.ids: dict[str, Element] = {}
        for element in self.root.iter():
            if key := element.get("id"):
                self.ids.setdefault(key, element)
        self.parents = {child: parent for parent in self.root.iter() for child in parent}
        self.hidden: set[Element] = set()
        self._numbers: dict[Element, int] = {}
        self._warnings: dict[str, dict[str, None]] = {}
        if undeclared:
            prefixes = ", ".join(undeclared)
            self.warn(
                None, f"the file does not say what its XML prefixes mean, and it was guessed: {prefixes}"
            )
        if _STYLESHEET.search(data):
            self.warn(None, "an xml-stylesheet outside the file is not read")

    def name(self, element: Element) -> str:
        """The name of an element in messages: `path 'petal'`, or `path number 3` of the file."""
        if key := element.get("id"):
            return f"{_short(tag(element))} {key!r}"
        if not self._numbers:
            counts: dict[str, int] = {}
            for other in self.root.iter():
                counts[other.tag] = counts.get(other.tag, 0) + 1
                self._numbers[other] = counts[other.tag]
        return f"{_short(tag(element))} number {self._numbers[element]}"

    def warn(self, element: Element | None, sentence: str) -> None:
        """Add a warning about an element, or about the file."""
        names = self._warnings.setdefault(sentence, {})
        if element is not None:
            names[self.name(element)] = None

    def warnings(self) -> tuple[str, ...]:
        """One sentence for each different warning, with the first elements that it is about."""
        out = []
        for sentence, names in self._warnings.items():
            named = list(names)[:NAMED]
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            out.append(f"{', '.join(named)}{more}: {sentence}" if named else sentence)
        return tuple(out)

    def local(self, reference: str) -> Element | None:
        """The element that '#id' refers to; None: it is not in this file."""
        return self.ids.get(reference[1:]) if reference.startswith("#") else None


_STYLESHEET = re.compile(rb"<\?xml-stylesheet\b")


def _short(name: str) -> str:
    return re.sub(r"^\{.*\}", "", name)


def _parse(data: bytes) -> tuple[Element, tuple[str, ...]]:
    """The root element of an SVG file, and its undeclared prefixes."""
    data = data.lstrip()
    if b"<" not in data[:8]:  # a mark of UTF-8 or UTF-16 comes first
        raise InputError("the file is not SVG: it does not begin with '<'")
    try:
        root, undeclared = parsed(data)
    except ParseError as error:
        line, column = error.position
        raise InputError(
            f"the XML is broken or cut off at line {line}, column {column + 1} "
            f"({str(error).partition(':')[0]})"
        ) from None
    except InputError:
        raise  # it is a ValueError too, but has its message already
    except (ValueError, LookupError) as error:
        raise InputError(f"the text encoding cannot be read ({error})") from None
    if tag(root) != "svg":
        name = f"<{_short(root.tag)}>" if _short(root.tag) != "svg" else f"{root.tag}, of another vocabulary"
        raise InputError(f"the file is not SVG: its outermost element is {name}, not <svg>")
    depth = max(_depths(root))
    if depth > MAX_DEPTH:
        raise InputError(f"elements are nested more than {MAX_DEPTH} deep")
    return root, undeclared


def _depths(root: Element) -> Iterator[int]:
    """The depths at which there are elements, the root at 1; without recursion."""
    level, depth = [root], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        yield depth
        level = [child for element in level for child in element]

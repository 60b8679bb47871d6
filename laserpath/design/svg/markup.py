"""The XML of an SVG file → its elements, read safely.

A document type may define entities. Illustrator uses them for its namespaces: `<!ENTITY ns_svg "http://…">`,
then `xmlns="&ns_svg;"`. An entity of plain text is harmless as long as all its uses together stay short.
Entities outside the file, entities made of others or of markup, and parameter entities, which change the
document type itself, are refused by name.
"""

from __future__ import annotations

import re
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


def parsed(data: str | bytes) -> tuple[Element, tuple[str, ...]]:
    """The root element, and the prefixes that the file uses without declaring them."""
    try:
        return _root(data), ()
    except ParseError as error:
        text = _text(data) if "unbound prefix" in str(error) else None
        mended, lacking = _declared(text) if text else ("", ())
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
    text = _letters(data)
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


def _letters(data: str | bytes) -> str:
    """The file as text in which ASCII is legible, whatever its encoding."""
    return data if isinstance(data, str) else data.replace(b"\0", b"").decode("latin-1")


def _check_total(text: str) -> None:
    """Refuse entities whose uses would expand too far, assuming the longest definition for each."""
    longest = max(len(one) for one in _DEFINITION.findall(text))
    uses = sum(1 for _ in _REFERENCE.finditer(text))
    if uses * longest > MOST_TEXT:
        raise InputError(
            f"the file uses XML entities {uses} times, of up to {longest} characters each, "
            f"above the {MOST_TEXT:g} that are read, which is not safe; save the file as plain SVG"
        )


def _text(data: str | bytes) -> str | None:
    """The file as text if it is UTF-8."""
    if isinstance(data, str):
        return data
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _declared(text: str) -> tuple[str, tuple[str, ...]]:
    """The file with its undeclared prefixes declared at the root element, and these prefixes."""
    known = {"xml", "xmlns", *_DECLARED.findall(text)}
    used = (prefix for pair in _PREFIX.findall(text) for prefix in pair)
    lacking = tuple(dict.fromkeys(prefix for prefix in used if prefix and prefix not in known))
    begin = _ROOT.search(text)
    if begin is None or not lacking:
        return text, ()
    declared = "".join(f' xmlns:{p}="{_PREFIXES.get(p, _OTHER + p)}"' for p in lacking)
    return text[: begin.end()] + declared + text[begin.end() :], lacking

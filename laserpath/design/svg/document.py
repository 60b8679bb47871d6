"""The XML of an SVG file, read safely, and the warnings about its elements.

Files that are not SVG are refused, and so are entities that are not plain text (`markup`). Equal warnings are
collected, so that a thousand images make one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from laserpath.base import limits
from laserpath.base.errors import InputError
from laserpath.design.svg.markup import parsed

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
    """One SVG file: its elements, their names, and the warnings about them."""

    def __init__(self, data: str | bytes) -> None:
        self.root, undeclared = _parse(data)
        self.ids: dict[str, Element] = {}
        for element in self.root.iter():
            if key := element.get("id"):
                self.ids.setdefault(key, element)
        self.parents = {child: parent for parent in self.root.iter() for child in parent}
        self._numbers: dict[Element, int] = {}
        self._warnings: dict[str, dict[str, None]] = {}
        if undeclared:
            prefixes = ", ".join(undeclared)
            self.warn(
                None, f"the file does not say what its XML prefixes mean, and it was guessed: {prefixes}"
            )
        if _STYLESHEET.search(data if isinstance(data, bytes) else data.encode("utf-8", "replace")):
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


def _parse(data: str | bytes) -> tuple[Element, tuple[str, ...]]:
    """The root element of an SVG file, and its undeclared prefixes."""
    _sniff(data)
    data = data.lstrip()
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
    _check_number(root)
    depth = max(_depths(root))
    if depth > MAX_DEPTH:
        raise InputError(f"elements are nested more than {MAX_DEPTH} deep")
    return root, undeclared


def _check_number(root: Element) -> None:
    """Refuse files that would take minutes and gigabytes, before anything is drawn."""
    shapes = 0
    for element in root.iter():
        d = element.get("d", "") if tag(element) == "path" else ""
        shapes += max(1, d.count("M") + d.count("m"))
    if shapes > limits.now().shapes:
        raise limits.exceeded(
            f"the file has {limits.counted(shapes)} elements and subpaths", "shapes", shapes
        )


def _sniff(data: str | bytes) -> None:
    """Refuse files of another format."""
    head = data[:1024]
    if isinstance(head, str):
        head = head.encode("utf-8", "replace")
    if not head.strip():
        raise InputError("the file is empty")
    if head.startswith(b"\x1f\x8b"):
        raise InputError("the file is compressed (SVGZ); unpack it or save it as plain SVG")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return  # UTF-16: the XML parser recognises it by its mark
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not text.startswith(b"<"):
        raise InputError("the file is not SVG: it does not begin with '<'")
    if text.startswith((b"<!doctype html", b"<html")):
        raise InputError("the file is a web page (HTML), not SVG")


def _depths(root: Element) -> Iterator[int]:
    """The depths at which there are elements, the root at 1; without recursion."""
    level, depth = [root], 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        yield depth
        level = [child for element in level for child in element]

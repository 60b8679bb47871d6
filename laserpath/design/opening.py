"""Unpacking a file, decoding its beginning, and finding the root element of its XML.

Programs put a byte order mark, blank lines or comments before a format's first word, write UTF-16, and pack
files with gzip. None of this changes the format.
"""

from __future__ import annotations

import codecs
import re
import zlib

from laserpath.base import limits
from laserpath.base.errors import InputError

HEAD = 1 << 16  # bytes from which the format is detected

_GZIP = b"\x1f\x8b"
_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_ENCODING = re.compile(r"""^(<\?xml[^>]*?)\s+encoding\s*=\s*(".*?"|'.*?')""")


def unpacked(data: bytes) -> bytes:
    """The content of a gzip file (.svgz, .gds.gz); any other file unchanged."""
    if not data.startswith(_GZIP):
        return data
    most = limits.now().design_bytes
    stream = zlib.decompressobj(wbits=31)
    try:
        out = stream.decompress(data, most)  # more is refused before it fills the memory
    except zlib.error:
        raise InputError("the file is compressed (gzip) and damaged; unpack it, or save it again") from None
    if not stream.eof:
        if len(out) >= most:
            raise limits.uncounted("the file is compressed (gzip) and holds more than {}", "design_bytes")
        raise InputError("the file is compressed (gzip) and is cut off")
    return out


def head(data: bytes) -> str:
    """The beginning of a text file, without leading blanks; '' for a binary file."""
    first = data[:HEAD]
    encoding = _utf16(first)
    text = first.decode(encoding or "utf-8-sig", "replace").lstrip("\ufeff \t\r\n\v\f")
    return "" if "\0" in text else text


def plain(data: bytes, xml: bool = False) -> bytes:
    """A text from its first letter on, in UTF-8 if it was in UTF-16, else in its own encoding.

    xml: its encoding declaration is removed if the encoding was changed.
    """
    encoding = _utf16(data[:HEAD])
    if encoding:
        text = data.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
        return (_ENCODING.sub(r"\1", text, count=1) if xml else text).encode("utf-8", "replace")
    bare = data.removeprefix(codecs.BOM_UTF8)
    stripped = bare.lstrip()
    # An XML parser reads the mark; only blanks before the declaration are an error.
    return data if xml and stripped == bare else stripped


def root(text: str) -> str:
    """The name of the root element of an XML text, in lower case without its prefix, or ''."""
    at = 0
    while (opening := re.compile(r"\s*<([?!]?)([\w:.-]*)").match(text, at)) is not None:
        mark, name = opening.groups()
        if not mark:
            return name.rpartition(":")[2].lower()
        if name.upper() == "DOCTYPE":
            # It names the root element, and its entities may contain anything.
            declared = re.compile(r"\s+([\w:.-]+)").match(text, opening.end())
            return declared[1].rpartition(":")[2].lower() if declared else ""
        end = {"?": "?>"}.get(mark, "-->" if name.startswith("--") else ">")
        closes = text.find(end, opening.start() + 2)
        if closes < 0:
            return ""
        at = closes + len(end)
    return ""


def _utf16(first: bytes) -> str | None:
    """The encoding of a UTF-16 text, by its mark or by the zeros between its letters; None: another."""
    for mark, encoding in _UTF16:
        if first.startswith(mark):
            return encoding
    if re.match(rb"(?:[\t\n\r -~]\0){4}", first):
        return "utf-16-le"
    return "utf-16-be" if re.match(rb"(?:\0[\t\n\r -~]){4}", first) else None

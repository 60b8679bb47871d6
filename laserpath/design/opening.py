"""How a file begins: unpacked, as text whatever its encoding, and the first element of its XML.

Programs write a byte order mark, UTF-16, blank lines or comments before a format's first word, and pack
files with gzip. None of it changes what the file is.
"""

from __future__ import annotations

import codecs
import re
import zlib

from laserpath.base.errors import InputError

HEAD = 1 << 16
"""Bytes that are looked at."""
MOST = 512 << 20
"""Bytes that a packed file may have when it is unpacked."""

_GZIP = b"\x1f\x8b"
_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_ENCODING = re.compile(r"""^(<\?xml[^>]*?)\s+encoding\s*=\s*(".*?"|'.*?')""")


def unpacked(data: bytes) -> bytes:
    """What gzip has packed (.svgz, .gds.gz); any other file as it is."""
    if not data.startswith(_GZIP):
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        out = stream.decompress(data, MOST)
    except zlib.error:
        raise InputError("the file is compressed (gzip) and damaged; unpack it, or save it again") from None
    if not stream.eof:
        why = f"holds more than {MOST >> 20} MiB" if len(out) >= MOST else "is cut off"
        raise InputError(f"the file is compressed (gzip) and {why}")
    return out


def head(data: bytes) -> str:
    """The first letters of a text, without blanks before them; nothing of a file that is none."""
    first = data[:HEAD]
    encoding = _utf16(first)
    text = first.decode(encoding or "utf-8-sig", "replace").lstrip("\ufeff \t\r\n\v\f")
    return "" if "\0" in text else text


def plain(data: bytes, xml: bool = False) -> bytes:
    """A text in UTF-8, or in whatever has ASCII in it, from its first letter on.

    xml: what it says of its encoding is taken out where that was changed.
    """
    encoding = _utf16(data[:HEAD])
    if encoding:
        text = data.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
        return (_ENCODING.sub(r"\1", text, count=1) if xml else text).encode("utf-8", "replace")
    bare = data.removeprefix(codecs.BOM_UTF8)
    stripped = bare.lstrip()
    # An XML parser heeds the mark, and only what stands before the declaration is wrong.
    return data if xml and stripped == bare else stripped


def root(text: str) -> str:
    """The name of the first element of an XML text, in small letters without its prefix, or nothing."""
    at = 0
    while (found := re.compile(r"\s*<([?!]?)([\w:.-]*)").match(text, at)) is not None:
        mark, name = found.groups()
        if not mark:
            return name.rpartition(":")[2].lower()
        if name.upper() == "DOCTYPE":
            # It says the root's name itself, and its entities may hold anything.
            said = re.compile(r"\s+([\w:.-]+)").match(text, found.end())
            return said[1].rpartition(":")[2].lower() if said else ""
        end = {"?": "?>"}.get(mark, "-->" if name.startswith("--") else ">")
        closes = text.find(end, found.start() + 2)
        if closes < 0:
            return ""
        at = closes + len(end)
    return ""


def _utf16(first: bytes) -> str | None:
    """The encoding of a text in UTF-16, by its mark or by the zeros between its letters."""
    for mark, encoding in _UTF16:
        if first.startswith(mark):
            return encoding
    if re.match(rb"(?:[\t\n\r -~]\0){4}", first):
        return "utf-16-le"
    return "utf-16-be" if re.match(rb"(?:\0[\t\n\r -~]){4}", first) else None

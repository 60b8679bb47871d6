"""Files of unknown origin: plain ones only, of limited size, and TOML that cannot hang its parser.

A device such as /dev/zero never ends, a FIFO without a writer never begins, and both are refused. `tomllib`
takes time that grows with the square of a dotted key's parts, and it recurses into brackets; a number with
a large exponent takes minutes to convert. What no profile needs is refused before it is parsed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from gcode.errors import GcodeError, figure

TOML_BYTES = 1 << 17
"""Bytes of a TOML file; of larger ones, `tomllib` could parse the worst for many seconds."""
DEEPEST = 50
"""Brackets in each other in a TOML file."""
PARTS = 8
"""Parts of a dotted key; a profile's have one, a project's two."""
LONGEST = 4000
"""Letters or digits of a number or a bare word in a TOML file; Python converts up to 4300."""
EXPONENT = 9999
"""Largest exponent of a number in a TOML file; a float has 308."""

# Each alternative takes what it begins, closed or not: a search that gives up and starts again at every
# quotation mark would take time that grows with the square of their number.
_TEXTS = re.compile(
    r'"""(?:\\.|[^\\"]|"(?!""))*+(?:""")?'
    r"|'''(?:[^']|'(?!''))*+(?:''')?"
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{PARTS},}}+", re.ASCII)
_WORD = re.compile(rf"\w{{{LONGEST},}}", re.ASCII)
_EXPONENT = re.compile(r"[eE][+-]?(\d+)")


class OversizeError(GcodeError):
    """A file above its limit. size: its bytes, if they are known."""

    def __init__(self, sentence: str, size: int | None = None) -> None:
        super().__init__(sentence)
        self.size = size


def plain(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a plain file of at most `most` bytes. Raises OSError, or GcodeError with a reason.

    The reason completes a sentence that begins with the file: `… is not a plain file`.
    """
    # Without O_NONBLOCK, opening a FIFO waits for its writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        info = os.stat(path)
    except ValueError as error:  # a name with a zero byte
        raise OSError(errno.EINVAL, str(error)) from None
    _check(info)  # opening a device may have an effect
    with os.fdopen(os.open(path, flags), "rb") as file:
        info = os.fstat(file.fileno())
        _check(info)
        if info.st_size > most:
            sentence = f"has {shown_size(info.st_size)}, but {shown_size(most)} is the limit"
            raise OversizeError(sentence, info.st_size)
        return limited(file, most, info.st_size)


def _check(info: os.stat_result) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(info.st_mode):
        raise GcodeError("is not a plain file")


def limited(stream: BinaryIO, most: int, likely: int = 1 << 20) -> bytes:
    """All bytes of a stream, which may never end; raises GcodeError if there are more than `most`.

    likely: their number. `read` reserves memory for as many bytes as it is asked for.
    """
    data = stream.read(min(likely, most) + 1)
    while len(data) <= most and (more := stream.read(min(len(data), most - len(data)) + 1)):
        data += more
    if len(data) > most:
        raise OversizeError(f"has more than {shown_size(most)}, which is the limit")
    return data


def shown_size(count: int) -> str:
    """Bytes for a sentence: `512 MiB`, `100 bytes`."""
    return f"{figure(count / 2**20, 4)} MiB" if count >= 1 << 20 else f"{count} bytes"


def toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The table of a TOML text. Raises GcodeError: `is not valid TOML: …`, or with the limit it exceeds."""
    bare = _TEXTS.sub("_", text)
    if (dotted := _DOTTED.search(bare)) is not None:
        raise GcodeError(f"has a key of more than {PARTS} parts, which begins {dotted[0][:40]!r}")
    if (word := _WORD.search(bare)) is not None:
        raise GcodeError(f"has a number of {LONGEST} digits or more, which begins {word[0][:40]!r}")
    if _depth(bare) > DEEPEST:
        raise GcodeError(f"has more than {DEEPEST} brackets in each other")
    try:
        return tomllib.loads(text, parse_float=lambda written: parse_float(_sane(written)))
    except GcodeError:
        raise
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise GcodeError(f"is not valid TOML: {error}") from None


def _sane(written: str) -> str:
    """A float as it is written, if its exponent is one of floats."""
    exponent = _EXPONENT.search(written)
    if exponent is not None and (len(exponent[1]) > 9 or int(exponent[1]) > EXPONENT):
        raise GcodeError(f"has the number {written[:40]}, but {EXPONENT} is the largest exponent")
    return written


def _depth(bare: str) -> int:
    """The most brackets that are open at once."""
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", bare):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def read_toml(path: Path, parse_float: Callable[[str], Any] = Decimal) -> dict[str, Any]:
    """The table of a TOML file. Raises GcodeError with a reason; OSError if it cannot be read."""
    try:
        return toml(plain(path, TOML_BYTES).decode("utf-8"), parse_float)
    except UnicodeDecodeError:
        raise GcodeError("is not UTF-8 text") from None

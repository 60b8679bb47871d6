"""The limits of what is read: the only place that states them, the same for all readers.

A small file can ask for any amount of work: blocks that repeat blocks, shapes that all overlap. So each
reader counts what there will be before it makes it, and set operations (`base.overlay`) count how often edges
cross. A reading adds all of that up in a `Budget`, which refuses what exceeds `CROSSINGS` or `SECONDS`.

    with limits.work():             # one reading
        limits.spend(crossings)     # anywhere below: before a set operation

Without a reading around it, `spend` does nothing: what laserpath computes itself needs no limit. gdstk, which
trusts its input, runs in a process of its own besides, within `SECONDS` and `MEMORY`: `base.isolated`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from gcode.errors import GcodeError
from gcode.files import limited, plain
from laserpath.base.errors import InputError

DESIGN_BYTES = 512 << 20
"""Bytes of a design file, packed or not."""
TEXT_BYTES = 300_000_000
"""Bytes of GeoJSON or WKT; reading them takes about 30 times as much memory."""
PROGRAM_BYTES = 512 << 20
"""Bytes of a program."""
TABLE_BYTES = 64 << 20
"""Bytes of a table or a photograph of measurements."""

SHAPES = 300_000
"""Elements and subpaths of an SVG file, each of which takes about 0.3 ms."""
ENTITIES = 500_000
"""Entities of a DXF file; ezdxf takes about 0.1 ms and 4 kB for each."""
CURVES = 1_000_000
"""Curves of a DXF file, with all copies."""
CUBICS = 6_000_000
"""Pieces of curves of a DXF file, with all copies; a circle has 16."""
POLYGONS = 3_000_000
"""Polygons of a Gerber file, with all copies."""
PLACED = 2_000_000
"""Polygons or cells of GDSII and OASIS, with all copies."""
VERTICES = 40_000_000
"""Vertices of polygons, with all copies; each takes about 100 bytes."""
PIECES = 8_000_000
"""Straight pieces that curves are flattened to, with those of the steps to them; each takes 300 bytes."""
PIXELS = 1 << 26
"""Pixels of an image."""
REPEATED = 100_000
"""Elements of an SVG file that `use` draws again."""
MATCHES = 3_000_000
"""Comparisons of elements with selectors of a style sheet; each takes about 1 µs."""
NESTED = 2_000
"""Clips and masks of elements that are in a clip or mask themselves; each is a set operation or several."""
DEPTH = 50
"""Collections in each other."""

CROSSINGS = 3_000_000
"""Crossings of edges that set operations may meet while a file is read: about 20 µs each. Boards of 100 000
strokes have a million."""
CROSSINGS_SMALL, CROSSINGS_PER_BYTE = 150_000, 1.0
"""The limit of a small file, and for each byte of a larger one, up to `CROSSINGS`: 50 kB may not take a
minute to read. 900 random stroked curves have 13 crossings per byte."""
SECONDS = 300.0
"""Seconds that reading a file may take."""
MEMORY = 8 << 30
"""Bytes of memory that a process may have that reads a file."""


@dataclass(slots=True)
class Budget:
    """The work of a reading so far. begun: of `time.monotonic`.  crossings: met by set operations.

    most: crossings that are the limit.
    """

    begun: float = field(default_factory=time.monotonic)
    crossings: float = 0.0
    most: float = CROSSINGS

    def add(self, crossings: float) -> None:
        """Count crossings before they are worked on; raises if there are too many, or if time is up."""
        self.crossings += crossings
        if self.crossings > self.most:
            raise InputError(
                f"its outlines cross or touch about {self.crossings:.2g} times, but {self.most:.2g} times "
                "are the limit for a file of that size: split the design, or draw it without so many overlaps"
            )
        if time.monotonic() - self.begun > SECONDS:
            raise InputError(f"reading takes more than {SECONDS:g} s, which is the limit; split the design")


_BUDGET: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def work(size: float = math.inf) -> Iterator[Budget]:
    """The reading of one file, whose work is counted. size: of the file, bytes."""
    counted = Budget(most=min(CROSSINGS, max(CROSSINGS_SMALL, CROSSINGS_PER_BYTE * size)))
    token = _BUDGET.set(counted)
    try:
        yield counted
    finally:
        _BUDGET.reset(token)


def counting() -> bool:
    """Whether a file is being read, so that its work counts."""
    return _BUDGET.get() is not None


def spend(crossings: float = 0.0) -> None:
    """Count the crossings that a set operation is about to meet; and the time."""
    counted = _BUDGET.get()
    if counted is not None:
        counted.add(crossings)


def stdin() -> bytes:
    """A program from standard input."""
    try:
        return limited(sys.stdin.buffer, PROGRAM_BYTES)
    except GcodeError as error:
        raise InputError(f"standard input {error}") from None


def content(path: Path, most: int, noun: str) -> bytes:
    """The content of a plain file. noun: `program`, for sentences."""
    try:
        return plain(path, most)
    except GcodeError as error:
        raise InputError(f"{noun} {str(path)!r} {error}") from None
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{noun} {str(path)!r} cannot be read: {reason}") from None

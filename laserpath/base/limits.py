"""The limits of what is read: the only place that states them, the same for all readers.

A small file can ask for any amount of work: blocks that repeat blocks, shapes that all overlap. So each
reader counts what there will be before it makes it, and set operations (`base.overlay`) count how often edges
cross. A reading adds all of that up in a `Budget`, which refuses what exceeds `crossings` or `seconds`.

    if count > limits.now().shapes:
        raise limits.exceeded(f"the file has {count} shapes", "shapes", count)
    with limits.work():             # one reading
        limits.spend(crossings)     # anywhere below: before a set operation
        limits.spend()              # in a loop: raises when the time is up

Whoever trusts a file raises a limit by `--limit shapes=400000`, in Python `laserpath.limits(shapes=400_000)`.
No file can: a project that came with a design must not raise them. Without a reading around it, `spend` does
nothing: what laserpath computes itself needs no limit.

The time is checked between the steps of a reading; the work of each step is counted before, so that it takes
a minute or so at most. A signal does not end a call of GEOS: an alarm after 0.5 s acted after 11 s, when
the call ended. A thread does run meanwhile, and ends the process on the command line (`watched`); a library
must not. gdstk and Pillow, which are native and trust their input, run in a process of their own, within
`seconds` and `memory`: `base.isolated`.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from threading import Timer

from gcode.errors import GcodeError
from gcode.files import OversizeError, limited, shown_size
from gcode.files import plain as plain_file
from laserpath.base.errors import InputError, did_you_mean, figure

_LARGEST = 1e15
"""Largest value of a limit; a C integer of 64 bits holds a thousand times as much."""
_LARGEST_OF = {"depth": 200, "seconds": 1e6}
"""The same for some: Python may call functions 1000 deep, and each level takes a few; timers have 32 bits."""
_GRACE = 1.0
"""Seconds in which a reading whose time is up may notice it itself."""
_CROSSINGS_SMALL = 300_000
"""Crossings of edges that a small file may have."""
_CROSSINGS_BYTE = 8
"""The same for each byte of a larger one. The stroked outlines of box generators have up to seven; 520 kB of
them with 2.6 million are read in 20 s."""
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The most that a file may have or take. A larger value reads larger files, in more time and memory."""

    design_bytes: int = 512 << 20
    """Bytes of a design file, packed or not."""
    text_bytes: int = 300_000_000
    """Bytes of GeoJSON or WKT; reading them takes about 30 times as much memory."""
    program_bytes: int = 512 << 20
    """Bytes of a program."""
    table_bytes: int = 64 << 20
    """Bytes of a table of measurements, or of the photograph of a spot."""
    shapes: int = 300_000
    """Elements and subpaths of an SVG file, each of which takes about 0.3 ms."""
    repeated: int = 100_000
    """Elements of an SVG file that `use` draws again."""
    matches: int = 3_000_000
    """Comparisons of elements with selectors of a style sheet; each takes about 1 µs."""
    nested: int = 2_000
    """Clips and masks in others; each is a set operation or several."""
    entities: int = 500_000
    """Entities of a DXF file; each takes about 0.1 ms and 4 kB."""
    curves: int = 1_000_000
    """Curves of a DXF file, with all copies."""
    cubics: int = 6_000_000
    """Pieces of curves of a DXF file, with all copies; a circle has 16."""
    polygons: int = 3_000_000
    """Polygons of a Gerber file, with all copies."""
    placed: int = 2_000_000
    """Polygons or cells of GDSII and OASIS, with all copies."""
    vertices: int = 40_000_000
    """Vertices of the polygons of GDSII and OASIS, with all copies; each takes about 100 bytes."""
    pieces: int = 8_000_000
    """Straight pieces that curves are flattened to, with those of the steps to them; each takes 300 bytes."""
    pixels: int = 1 << 26
    """Pixels of an image."""
    pairs: int = 20_000_000
    """Pairs of shapes whose boxes overlap, in DXF, GDSII and OASIS; a shape of 20 vertices counts twice."""
    depth: int = 50
    """Collections of GeoJSON or WKT in each other."""
    crossings: int = 3_000_000
    """Crossings of edges that set operations may meet while a file is read; each takes 20 µs or more.
    Boards of 100 000 strokes have a million. Unless this is given, a file of less than 375 kB may have eight
    for each byte, or 300 000."""
    seconds: float = 300.0
    """Seconds that reading a design, or decoding an image, may take."""
    memory: int = 8 << 30
    """Bytes of memory of the process that gdstk or Pillow reads a file in; less for a small file, unless this
    is given."""

    def __post_init__(self) -> None:
        for name in NAMES:
            value, most = getattr(self, name), _LARGEST_OF.get(name, _LARGEST)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= most:
                raise InputError(f"limit {name} is {value}, but must be a number above 0, {most:g} at most")
            if name != "seconds" and value != int(value):
                raise InputError(f"limit {name} is {value}, but must be a whole number")


NAMES = tuple(one.name for one in fields(ReadingLimits))
"""The names of all limits."""

_NOW: ContextVar[ReadingLimits] = ContextVar("limits", default=ReadingLimits())  # noqa: B039  # it is frozen


def now() -> ReadingLimits:
    """The limits that hold."""
    return _NOW.get()


@contextmanager
def limits(**values: float) -> Iterator[ReadingLimits]:
    """Other limits for files that you trust: `with laserpath.limits(shapes=400_000): …`.

    They hold inside the block, in the thread that runs it; those that are not named stay as they are.
    `ReadingLimits` has their names.
    """
    for name in values:
        _check_name(name)
    token = _NOW.set(replace(now(), **values))  # type: ignore[arg-type]  # `ReadingLimits` checks them
    try:
        yield now()
    finally:
        _NOW.reset(token)


def parsed(texts: Iterable[str]) -> dict[str, float]:
    """ReadingLimits as users write them, for `limits`: `shapes=400000`, `memory=16GiB`, `seconds=900`."""
    values = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        _check_name(name)
        number = _number(value)
        if not sign or number is None:
            usual = _written(name, getattr(ReadingLimits(), name))
            raise InputError(f"limit {name} is {value!r}, but must be a number: {name}={usual} is usual")
        values[name] = number
    return values


def _check_name(name: str) -> None:
    if name not in NAMES:
        raise InputError(f"limit {name!r} is unknown; known: {', '.join(NAMES)}{did_you_mean(name, NAMES)}")


def _number(text: str) -> float | None:
    unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
    try:
        number = float(text.removesuffix(unit)) * _UNITS.get(unit, 1)
        return math.ceil(number) if unit or number.is_integer() else number
    except (ValueError, OverflowError):
        return None


def exceeded(what: str, name: str, needed: float, instead: str = "") -> InputError:
    """The refusal of what is above a limit, for `raise`: it says the limit, and the option that raises it.

    what: with the count, `the file has 400 000 shapes`.  needed: the count.
    instead: what else to do, `split the design`.
    """
    return InputError(f"{what}, but {_shown(name)} is the limit{_advice(instead, raising(name, needed))}")


def uncounted(what: str, name: str, instead: str = "") -> InputError:
    """The same where the counting stopped at the limit.

    what: with a gap for the limit, `the file draws more than {} polygons`.
    """
    sentence = what.format(_shown(name))
    return InputError(f"{sentence}, which is the limit{_advice(instead, raising(name))}")


def _shown(name: str) -> str:
    most = getattr(now(), name)
    return shown_size(most) if _in_bytes(name) else counted(most)


def _advice(*ways: str) -> str:
    """`: split the design, or --limit shapes=410000 raises it`; empty without any."""
    said = ", or ".join(filter(None, ways))
    return f": {said}" if said else ""


def raising(name: str, needed: float | None = None) -> str:
    """`--limit shapes=410000 raises it`. needed: the count; None: it is unknown, so twice the limit is named.

    '' if no limit can be that high.
    """
    most = float(getattr(now(), name))
    enough = 2 * most if needed is None else max(needed, most)
    if enough > _LARGEST_OF.get(name, _LARGEST):
        return ""
    unsure = ", but more may be needed" if needed is None else ""
    return f"--limit {name}={_written(name, enough)} raises it{unsure}"


def counted(number: float) -> str:
    """A count for a sentence: 300 000; eight copies of eight copies of … have thousands of digits."""
    if number < 10_000:
        return f"{number:g}"
    digits = int(number).bit_length() * math.log10(2)
    return f"{int(number):,}".replace(",", " ") if digits < 20 else f"about 10^{digits:.0f}"


def _in_bytes(name: str) -> bool:
    return name.endswith("_bytes") or name == "memory"


def _written(name: str, value: float) -> str:
    """A value as an option has it, rounded up to two digits: 410000, 600MiB."""
    unit = _UNITS["MiB"] if _in_bytes(name) else 1
    if value == getattr(now(), name) or value == getattr(ReadingLimits(), name):
        return f"{value / unit:.12g}{'MiB' * (unit > 1)}"
    step = 10 ** max(math.floor(math.log10(max(value / unit, 1))) - 1, 0)
    return f"{math.ceil(value / unit / step) * step}{'MiB' * (unit > 1)}"


@dataclass(slots=True)
class Budget:
    """The work of a reading so far. size: of the file, bytes.  begun: of `time.monotonic`.

    crossings: met by set operations.
    """

    size: float = math.inf
    begun: float = field(default_factory=time.monotonic)
    crossings: float = 0.0

    def add(self, crossings: float) -> None:
        """Count crossings before they are worked on; raises if there are too many, or if time is up."""
        self.crossings += crossings
        most = _crossings(self.size)
        if self.crossings > most:
            raise InputError(
                f"its outlines cross or touch about {figure(self.crossings, 2)} times, but {counted(most)} "
                "is the limit for a file of that size: split the design, draw it without so many overlaps, "
                f"or --limit crossings={_written('crossings', self.crossings)} raises it, but more may be "
                "needed"
            )
        if self.left() < 0:
            raise late()

    def left(self) -> float:
        """Seconds until the time is up."""
        return self.begun + now().seconds - time.monotonic()


def late() -> InputError:
    """The refusal of a file that takes too long."""
    return InputError(
        f"reading takes more than {now().seconds:g} s, which is the limit: split the design, or "
        f"{raising('seconds')}"
    )


def _crossings(size: float) -> float:
    """The limit of crossings in a file of so many bytes: 50 kB may not take a minute to read.

    A limit that is given holds for files of any size. 900 random stroked curves have 13 crossings a byte.
    """
    most = now().crossings
    return (
        most
        if most != ReadingLimits().crossings
        else min(most, max(_CROSSINGS_SMALL, _CROSSINGS_BYTE * size))
    )


_BUDGET: ContextVar[Budget | None] = ContextVar("budget", default=None)


_OVERDUE: ContextVar[Callable[[InputError], None] | None] = ContextVar("overdue", default=None)


@contextmanager
def watched(overdue: Callable[[InputError], None]) -> Iterator[None]:
    """Inside, `overdue` is called in another thread if a reading does not notice that its time is up."""
    token = _OVERDUE.set(overdue)
    try:
        yield
    finally:
        _OVERDUE.reset(token)


@contextmanager
def work(size: float = math.inf) -> Iterator[Budget]:
    """The reading of one file, whose work is counted. size: of the file, bytes."""
    budget, overdue = Budget(size), _OVERDUE.get()
    watch = Timer(now().seconds + _GRACE, overdue, [late()]) if overdue else None
    token = _BUDGET.set(budget)
    try:
        if watch:
            watch.daemon = True
            watch.start()
        yield budget
    finally:
        _BUDGET.reset(token)
        if watch:
            watch.cancel()


def counting() -> bool:
    """Whether a file is being read, so that its work counts."""
    return _BUDGET.get() is not None


def spend(crossings: float = 0.0) -> None:
    """Count the crossings that a set operation is about to meet; and the time."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.add(crossings)


def afford(crossings: float) -> None:
    """Raise if a set operation that is planned would meet too many crossings; they do not count yet."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.add(crossings)
        budget.crossings -= crossings


def left() -> float:
    """Seconds that the reading may still take."""
    budget = _BUDGET.get()
    return now().seconds if budget is None else budget.left()


def stdin() -> bytes:
    """A program from standard input."""
    if sys.stdin is None:  # the shell has closed it: `<&-`
        raise InputError("standard input is closed, so there is no program to read")
    try:
        return limited(sys.stdin.buffer, now().program_bytes)
    except GcodeError as error:
        raise InputError(f"standard input {error}: {raising('program_bytes')}") from None


def plain(path: str | os.PathLike[str], name: str) -> bytes:
    """The content of a plain file. name: of its limit.

    Raises OSError, or GcodeError with a reason that completes a sentence: `… is not a plain file`.
    """
    try:
        return plain_file(path, getattr(now(), name))
    except OversizeError as error:
        raise GcodeError(f"{error}: {raising(name, error.size)}") from None


def content(path: Path, name: str, noun: str) -> bytes:
    """The content of a plain file. name: of its limit.  noun: `program`, for sentences."""
    try:
        return plain(path, name)
    except GcodeError as error:
        hint = "; write - for standard input" if str(path) == "/dev/stdin" else ""
        raise InputError(f"{noun} {str(path)!r} {error}{hint}") from None
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{noun} {str(path)!r} cannot be read: {reason}") from None

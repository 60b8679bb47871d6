"""The limits of what is read: the only place that states them, the same for all readers.

A small file can ask for any amount of work: blocks that repeat blocks, shapes that all overlap. So a reading
may take so much time and so much memory. A thread watches it from beside it:

    with limits.work("board.svg"):       # one reading
        limits.spend()                   # in a loop: raises when the time is up, or too much memory taken
        limits.reserve(100 * vertices)   # before an array is made from numbers in the file
        shapely.union_all(…)             # anywhere: raises then, too (`interrupt_geos`)

Copies of shapes and the pixels of an image are known before they are made, so that they are refused at once:

    limits.check("shapes", count, f"the file has {count} shapes")

Whoever trusts a file raises a limit by `--limit shapes=4e6`, in Python `laserpath.limits(shapes=4_000_000)`.
No file can: a project that came with a design must not raise them. Without a reading around it, `spend` does
nothing: what laserpath computes itself needs no limit.

What never looks, such as a parser of XML or a search of a tree, goes on. On the command line the thread ends
the process a second later (`watched`); a library must not. gdstk and Pillow, which are native and trust their
input, run in a process of their own: `base.isolated`. Why not all: `docs/decisions/reading-limits.md`.

**What GEOS computes** in a thread can be ended: its call raises `shapely.GEOSException`. It asks a callback
now and then, in set operations, noding, buffers, polygonising and mending, whether it should stop. The
callback is the process's, but is called in the thread that computes, so that only the wanted threads stop. It
is there only while one is to stop: GEOS asks some thousand times a second. Predicates and searches of a tree
do not ask. On Windows the functions are not found, and nothing stops.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from threading import Event, Lock, Thread, get_ident

from gcode.errors import GcodeError
from gcode.files import OversizeError, limited, shown_size
from gcode.files import plain as plain_file
from laserpath.base import bounds
from laserpath.base.errors import InputError, did_you_mean

TABLE_BYTES = 64 << 20
"""Bytes of a table of measurements, or of the photograph of a spot. No real one has a hundredth of that."""
_LARGEST = 1e15
"""Largest value of a limit; a C integer of 64 bits holds a thousand times as much."""
_LONGEST = 1e6
"""Largest number of seconds; timers have 32 bits."""
_EVERY = 0.05
"""Seconds from one look at time and memory to the next."""
_GRACE = 1.0
"""Seconds in which a reading that is over its limits may notice it itself."""
_SHARE = 0.75
"""Part of the computer's memory that a file may take, unless `memory` is given."""
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """The most that a file may have or take. A larger value reads larger files, in more time and memory."""

    bytes: int = 512 << 20
    """Bytes of a file, packed or not."""
    shapes: int = 3_000_000
    """Shapes of a design, with all copies that blocks, cells and `use` make of them."""
    pixels: int = 1 << 26
    """Pixels of an image."""
    seconds: float = 300.0
    """Seconds that reading a design may take."""
    memory: int = 8 << 30
    """Bytes of memory that reading a design may take, above what laserpath has before; three quarters of the
    computer's if that is less, unless this is given."""

    def __post_init__(self) -> None:
        for name in NAMES:
            value, most = getattr(self, name), _LONGEST if name == "seconds" else _LARGEST
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


def memory() -> int:
    """Bytes of memory that a reading may take."""
    most = now().memory
    return most if most != ReadingLimits().memory else int(min(most, _SHARE * bounds.memory_there()))


@contextmanager
def limits(**values: float) -> Iterator[ReadingLimits]:
    """Other limits, for files that you trust or do not: `with laserpath.limits(seconds=10): …`.

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
    """ReadingLimits as users write them, for `limits`: `shapes=4e6`, `memory=16GiB`, `seconds=900`."""
    values = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
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


# Refusals


def check(name: str, needed: float, what: str, *instead: str) -> None:
    """Raise if more is needed than a limit allows. what: with the count, `the file has 400 000 shapes`.

    instead: what else to do, `split the design`.
    """
    most = _most(name)
    if needed > most:
        option = f"--limit {name}={_written(name, needed)} raises it" if needed <= _LARGEST else ""
        ways = ", or ".join((*instead, option) if option else instead)
        raise InputError(f"{what}, but {_shown(name, most)} is the limit{f': {ways}' if ways else ''}")


def exceeded(what: str, name: str, *instead: str) -> InputError:
    """The refusal where the counting stopped at a limit, for `raise`. Twice the limit may do.

    what: with a gap for the limit, `the file draws more than {} polygons`.
    """
    most = _most(name)
    option = f"--limit {name}={_written(name, 2 * most)} raises it, but more may be needed"
    return InputError(
        f"{what.format(_shown(name, most))}, which is the limit: {', or '.join((*instead, option))}"
    )


def late() -> InputError:
    """The refusal of a file that takes too long."""
    return exceeded("reading takes more than {} s", "seconds", "split the design")


def no_memory(what: str = "reading takes") -> InputError:
    """The refusal of a file that takes too much memory. what: subject and verb."""
    allowed = bounds.memory_allowed()
    if allowed < memory():
        return InputError(
            f"{what} more than {int(allowed) >> 20} MiB of memory, which is what this shell allows: "
            "`ulimit -v` shows that limit, in KiB"
        )
    return exceeded(f"{what} more than {{}} of memory", "memory", "split the design, check its unit")


def counted(number: float) -> str:
    """A count for a sentence: 300 000; eight copies of eight copies of … have thousands of digits."""
    if number < 10_000:
        return f"{number:g}"
    digits = int(number).bit_length() * math.log10(2)
    return f"{int(number):,}".replace(",", " ") if digits < 20 else f"about 10^{digits:.0f}"


def _most(name: str) -> float:
    return float(memory() if name == "memory" else getattr(now(), name))


def _shown(name: str, most: float) -> str:
    return shown_size(int(most)) if name in ("bytes", "memory") else counted(most)


def _written(name: str, value: float) -> str:
    """A value as an option has it, rounded up to two digits: 410000, 600MiB."""
    unit = _UNITS["MiB"] if name in ("bytes", "memory") else 1
    if value == getattr(now(), name) or value == getattr(ReadingLimits(), name):
        return f"{value / unit:.12g}{'MiB' * (unit > 1)}"
    step = 10 ** max(math.floor(math.log10(max(value / unit, 1))) - 1, 0)
    return f"{math.ceil(value / unit / step) * step}{'MiB' * (unit > 1)}"


# A reading


@dataclass(slots=True)
class _Ongoing:
    """One reading. begun: of `time.monotonic`.  held: bytes of memory of this process before.

    refused: why, once it is over a limit.
    """

    name: str
    begun: float = field(default_factory=time.monotonic)
    held: int = field(default_factory=bounds.memory_held)
    refused: InputError | None = None

    def left(self) -> float:
        """Seconds until the time is up."""
        return self.begun + now().seconds - time.monotonic()

    def refuse(self, error: InputError) -> InputError:
        """The refusal with the name of what is read."""
        self.refused = InputError(f"{self.name}: {error}" if self.name else str(error))
        return self.refused

    def look(self) -> InputError | None:
        """Why it must end, if it must."""
        if self.refused is None and self.left() < 0:
            self.refuse(late())
        elif self.refused is None and bounds.memory_held() - self.held > memory():
            self.refuse(no_memory())
        return self.refused


_READING: ContextVar[_Ongoing | None] = ContextVar("reading", default=None)
_OVERDUE: ContextVar[Callable[[InputError], None] | None] = ContextVar("overdue", default=None)


class _Watching:
    """A thread that looks at a reading, and has it end when it must."""

    def __init__(self, reading: _Ongoing) -> None:
        self._reading, self._reader = reading, get_ident()
        self._ended, self._lock = Event(), Lock()
        Thread(target=copy_context().run, args=[self._run], daemon=True).start()

    def _run(self) -> None:
        refused = None
        while refused is None:
            if self._ended.wait(_EVERY):
                return
            refused = self._reading.look()
        with self._lock:
            if self._ended.is_set():
                return
            interrupt_geos(self._reader)
        overdue = _OVERDUE.get()
        if overdue is not None and not self._ended.wait(_GRACE):
            overdue(refused)

    def end(self) -> None:
        """Stop looking."""
        with self._lock:
            self._ended.set()
            allow_geos(self._reader)


@contextmanager
def watched(overdue: Callable[[InputError], None]) -> Iterator[None]:
    """Inside, `overdue` is called in another thread if a reading does not notice that it must end."""
    token = _OVERDUE.set(overdue)
    try:
        yield
    finally:
        _OVERDUE.reset(token)


@contextmanager
def work(name: str = "") -> Iterator[None]:
    """The reading of one file, within `seconds` and `memory`. name: of the file, for the refusal."""
    reading = _Ongoing(name)
    token, watch = _READING.set(reading), _Watching(reading)
    try:
        yield
    except Exception:
        if reading.refused is not None:  # whatever a reader made of a call that was ended
            raise reading.refused from None
        raise
    finally:
        watch.end()
        _READING.reset(token)


def spend() -> None:
    """Raise if the reading around must end."""
    reading = _READING.get()
    if reading is not None and (reading.refused is not None or reading.left() < 0):
        raise reading.refused or reading.refuse(late())


def reserve(needed: float) -> None:
    """Raise if a reading is about to take more memory than it may. needed: bytes."""
    if needed > (most := memory()):
        option = f"--limit memory={_written('memory', needed)} raises it, but more may be needed"
        raise InputError(
            f"reading takes about {shown_size(int(needed))} of memory, but {shown_size(most)} is the limit: "
            f"split the file, or {option}"
        )


def left() -> float:
    """Seconds that the reading may still take."""
    reading = _READING.get()
    return now().seconds if reading is None else reading.left()


# Files


def stdin() -> bytes:
    """A program from standard input."""
    if sys.stdin is None:  # the shell has closed it: `<&-`
        raise InputError("standard input is closed, so there is no program to read")
    try:
        return limited(sys.stdin.buffer, now().bytes)
    except GcodeError:
        raise exceeded("standard input has more than {}", "bytes") from None


def plain(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """The content of a plain file. most: bytes that it may have; None: the limit.

    Raises OSError, or GcodeError with a reason that completes a sentence: `… is not a plain file`.
    """
    try:
        return plain_file(path, now().bytes if most is None else most)
    except OversizeError as error:
        if most is not None:
            raise
        enough = _written("bytes", error.size or 2 * now().bytes)
        raise GcodeError(f"{error}: --limit bytes={enough} raises it") from None


def content(path: Path, noun: str, most: int | None = None) -> bytes:
    """The content of a plain file. noun: `program`, for sentences.  most: as in `plain`."""
    try:
        return plain(path, most)
    except GcodeError as error:
        hint = "; write - for standard input" if str(path) == "/dev/stdin" else ""
        raise InputError(f"{noun} {str(path)!r} {error}{hint}") from None
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{noun} {str(path)!r} cannot be read: {reason}") from None


_wanted: set[int] = set()


def _ask() -> None:
    if threading.get_ident() in _wanted:
        _geos().GEOS_interruptRequest()


_asked = ctypes.CFUNCTYPE(None)(_ask)


def interrupt_geos(thread: int) -> None:
    """Have every call of GEOS in a thread end soon, until `allow_geos`. thread: of `threading.get_ident`."""
    _wanted.add(thread)
    _register(ctypes.cast(_asked, ctypes.c_void_p))


def allow_geos(thread: int) -> None:
    """Let it compute again."""
    if thread in _wanted:
        _wanted.remove(thread)
        if not _wanted:
            _register(None)


def _register(callback: ctypes.c_void_p | None) -> None:
    with contextlib.suppress(AttributeError, TypeError):  # Windows finds only what a library itself offers
        _geos().GEOS_interruptRegisterCallback(callback)


def _geos() -> ctypes.CDLL:
    """The library that shapely has loaded; without shapely, there is nothing to end."""
    shapely = sys.modules.get("shapely")
    return ctypes.CDLL(shapely.lib.__file__ if shapely else None)

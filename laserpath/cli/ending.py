"""How a command ends: exit codes, output that fails, Ctrl-C.

docs/cli.md explains the codes. What a command computes and writes does not depend on whether somebody reads
about it: stdout and stderr may fail, as on a full disk or when the reader has gone, without ending it.

The first Ctrl-C finishes with the best plan so far, the second one stops. Before the optimiser has begun
there is no plan to finish, so the first one stops, too. SIGTERM, and SIGHUP from a terminal that is closed,
stop at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import click

from laserpath.base import files
from laserpath.cli.show import rough

if TYPE_CHECKING:
    from laserpath.cli.progress import Meter


HAS_ERRORS = 1
BAD_INPUT = 2
TOLERANCE_MISSED = 3
STOPPED = 130


def end_if_missed(context: click.Context, missed: str) -> None:
    """End the command with the exit code of a missed tolerance. missed: the sentence, empty if it is kept."""
    if missed:
        click.echo(f"laserpath: {missed}", err=True)
        context.exit(TOLERANCE_MISSED)


class Stream:
    """A text stream that drops everything after its first failure. error: that failure."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write, if the stream still works."""
        if self.error is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Flush, if the stream still works."""
        if self.error is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._fail(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def lost(self) -> OSError | None:
        """The failure, unless it is that the reader has gone: who pipes into `head` wants no more."""
        return None if self.error is None or self.error.errno == errno.EPIPE else self.error

    def _fail(self, error: OSError) -> None:
        """Note it, and send what is buffered nowhere: Python would try to write it once more at its end."""
        self.error = error
        with contextlib.suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def forgiving() -> Iterator[Stream | None]:
    """Put such streams in the place of stdout and stderr; yield stdout's, None if there is no stdout."""
    before = sys.stdout, sys.stderr
    out, err = (None if stream is None else Stream(stream) for stream in before)
    sys.stdout, sys.stderr = out, err
    try:
        yield out
    finally:
        for stream in (out, err):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before


_KEPT = "\nlaserpath: the plan is written; ending its sensitivity; Ctrl-C again leaves that out\n"
_NOTICE = "\nlaserpath: {now}: {left}{time}; Ctrl-C again stops and writes nothing\n"


class Stopped(BaseException):
    """The command is to stop. Not a KeyboardInterrupt, which the optimiser takes as 'finish'."""


_STOPPING = tuple(number for number in files.ENDING if number != signal.SIGINT)
"""SIGTERM and SIGHUP, which stop every command as a second Ctrl-C stops a plan."""


@contextlib.contextmanager
def terminated() -> Iterator[None]:
    """Raise `Stopped` at SIGTERM and SIGHUP, unless they are ignored, as under nohup."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped

    def tell(lost: sys.UnraisableHookArgs) -> None:
        # Python cannot raise in a destructor and prints a traceback; `Interrupts.check` stops soon after.
        if not issubclass(lost.exc_type, Stopped):
            before(lost)

    before, sys.unraisablehook = sys.unraisablehook, tell
    try:
        with _handled(dict.fromkeys(_STOPPING, stop)):
            yield
    finally:
        sys.unraisablehook = before


def ignore_stops() -> None:
    """Ignore Ctrl-C, SIGTERM and SIGHUP from now on."""
    for number in files.ENDING:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _handled(handlers: Mapping[int, Callable[[int, FrameType | None], None]]) -> Iterator[None]:
    """Have these handlers, where Python allows it and the signal is not ignored."""
    before: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                if signal.getsignal(number) not in (None, signal.SIG_IGN):
                    before[number] = signal.signal(number, handler)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupts:
    """Context manager that handles Ctrl-C, SIGTERM and SIGHUP while a plan is made."""

    def __init__(self) -> None:
        self._left = "finishing"
        self._meter: Meter | None = None
        self._optimising = False
        self._interrupted = False
        self._stop = False
        self._finishing = False
        self._kept = False
        self._handlers = contextlib.ExitStack()

    def __enter__(self) -> Interrupts:
        ends = dict.fromkeys(_STOPPING, self._on_end)
        self._handlers.enter_context(_handled({signal.SIGINT: self._on_signal, **ends}))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handlers.close()

    def show_on(self, meter: Meter) -> None:
        """Set the meter that forecasts how long finishing takes, and shows when it begins."""
        self._left, self._meter = "measuring and writing it", meter

    def check(self) -> None:
        """Raise if the user has stopped: an exception from the signal may be lost in a library's callback."""
        if self._stop:
            raise Stopped

    def kept(self) -> None:
        """Record that the plan is written, and that only its sensitivity is left."""
        self._kept = True

    def on_progress(self) -> None:
        """For the optimiser to call in each iteration, where it can be made to finish."""
        self.check()
        self._optimising = True
        if self._interrupted and not self._finishing:
            self._finishing = True
            if self._meter is not None and not self._kept:
                self._meter.finishing()
            raise KeyboardInterrupt

    def _on_end(self, number: int, frame: FrameType | None) -> None:
        self._stop = True
        raise Stopped

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted or not self._optimising:
            self._stop = True
            raise Stopped
        self._interrupted = True
        if self._kept:
            os.write(2, _KEPT.encode())
            return
        # Neither print nor click.echo: the signal may have come in the middle of one.
        time = "" if self._meter is None else f", about {rough(self._meter.ending)}"
        ended = self._meter is not None and self._meter.ended
        now = "the optimiser has ended already" if ended else "stopping with the best so far"
        with contextlib.suppress(OSError):  # a closed terminal
            os.write(2, _NOTICE.format(now=now, left=self._left, time=time).encode())

"""Ctrl-C: the first one finishes with the best plan so far, the second one stops.

Before the optimiser has begun there is no plan to finish, so that the first one stops, too. SIGTERM, and
SIGHUP from a terminal that is closed, stop at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from laserpath.base import signals
from laserpath.cli.show import rough

if TYPE_CHECKING:
    from laserpath.cli.progress import Meter

_NOTICE = "\nlaserpath: {now}: {left}{time}; Ctrl-C again stops and writes nothing\n"


class Stopped(BaseException):
    """The command is to stop. Not a KeyboardInterrupt, which the optimiser takes as 'finish'."""


_STOPPING = tuple(number for number in signals.ENDING if number != signal.SIGINT)
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
    for number in signals.ENDING:
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

    def on_progress(self) -> None:
        """For the optimiser to call in each iteration, where it can be made to finish."""
        self.check()
        self._optimising = True
        if self._interrupted and not self._finishing:
            self._finishing = True
            if self._meter is not None:
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
        # Neither print nor click.echo: the signal may have come in the middle of one.
        time = "" if self._meter is None else f", about {rough(self._meter.ending)}"
        ended = self._meter is not None and self._meter.ended
        now = "the optimiser has ended already" if ended else "stopping with the best so far"
        with contextlib.suppress(OSError):  # a closed terminal
            os.write(2, _NOTICE.format(now=now, left=self._left, time=time).encode())

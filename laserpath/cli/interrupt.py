"""Ctrl-C: the first one finishes with the best plan so far, the second one stops.

Before the optimiser has begun there is no plan to finish, so that the first one stops, too.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from laserpath.cli.show import rough

if TYPE_CHECKING:
    from laserpath.cli.progress import Meter

_KEPT = "\nlaserpath: the plan is written; ending its sensitivity; Ctrl-C again leaves that out\n"
_NOTICE = "\nlaserpath: {now}: {left}{time}; Ctrl-C again stops and writes nothing\n"


class Stopped(BaseException):
    """The user stopped the command. Not a KeyboardInterrupt, which the optimiser takes as 'finish'."""


class Interrupts:
    """Context manager that handles Ctrl-C while a plan is made."""

    def __init__(self) -> None:
        self._left = "finishing"
        self._meter: Meter | None = None
        self._optimising = False
        self._interrupted = False
        self._stop = False
        self._finishing = False
        self._kept = False
        self._before: Any = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

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
        os.write(2, _NOTICE.format(now=now, left=self._left, time=time).encode())

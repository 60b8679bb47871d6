"""Signals that wait while files change, so that no handler raises between two steps that belong together.

Python runs the handlers of its signals in the main thread between any two instructions. An exception from
there could come between making a file and noting that it must be removed.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a program to end; Windows has no SIGHUP."""


class Ending(BaseException):
    """A signal without a handler waits: it ends the process as soon as `Held` lets go."""


class Held:
    """Context manager in which the signals of `ENDING` wait. At its end they act.

    Other threads than the main one have no say over signals: there it does nothing.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._waiting: list[int] = []

    def __enter__(self) -> Held:
        if threading.current_thread() is not threading.main_thread():
            return self
        try:
            for number in ENDING:
                before = signal.getsignal(number)
                # None: a handler that is not Python's. Ignored signals, as under nohup, stay ignored.
                if before is not None and before != signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._note)
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_go()
        for number in self._waiting:
            signal.raise_signal(number)

    def check(self) -> None:
        """Let the signals that wait act here: whatever their handlers raise comes from this call."""
        while self._waiting:
            before = self._before[self._waiting[0]]
            if not callable(before):
                raise Ending
            before(self._waiting.pop(0), None)

    def _let_go(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._waiting.append(number)

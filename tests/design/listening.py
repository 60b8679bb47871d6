"""What Python opens, looks up or starts while a file is read: an audit hook, which nothing can pass by."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_listeners: list[tuple[tuple[str, ...], list[str]]] = []


@cache
def _add() -> None:
    """A hook stays for the life of the process."""
    sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    for heard, seen in _listeners:
        if event.startswith(heard):
            seen.append(f"{event} {args!r}")


@contextmanager
def listening(*heard: str) -> Iterator[list[str]]:
    """The events whose names begin with one of these, with their arguments, as they come."""
    _add()
    seen: list[str] = []
    _listeners.append((heard, seen))
    try:
        yield seen
    finally:
        _listeners.pop()

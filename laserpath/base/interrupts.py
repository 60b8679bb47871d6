"""Ends what GEOS computes in a thread: its call raises `shapely.GEOSException`.

GEOS asks a callback now and then, in set operations, noding, buffers, polygonising and mending, whether it
should stop. The callback is the process's, but is called in the thread that computes, so that only the wanted
threads stop. It is there only while one is to stop: GEOS asks some thousand times a second.

Predicates and searches of a tree do not ask. On Windows the functions are not found, and nothing stops.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading

_wanted: set[int] = set()


def _ask() -> None:
    if threading.get_ident() in _wanted:
        _geos().GEOS_interruptRequest()


_asked = ctypes.CFUNCTYPE(None)(_ask)


def begin(thread: int) -> None:
    """Have every call of GEOS in this thread end soon, until `end`. thread: of `threading.get_ident`."""
    _wanted.add(thread)
    _register(ctypes.cast(_asked, ctypes.c_void_p))


def end(thread: int) -> None:
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

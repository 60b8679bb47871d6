"""What the import of Taichi needs: a library of the system, and less reading of source."""

from __future__ import annotations

import ctypes
import inspect
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from laserpath.base.errors import InputError

LIBRARY = "libX11.so.6"
"""Taichi's Linux wheels are linked with it, for windows that are not used here; a container may lack it."""


def check_library(name: str = LIBRARY) -> None:
    """Raise InputError on a Linux that lacks the library, instead of Taichi's traceback."""
    try:
        ctypes.CDLL(name)
    except OSError:
        raise InputError(
            f"Taichi needs the system's library {name}, which is not here; on Debian and Ubuntu: "
            "apt install libx11-6; on Fedora: dnf install libX11"
        ) from None


@contextmanager
def quick_frames() -> Iterator[None]:
    """While it is open, `inspect.getframeinfo` reads a frame's line without searching for its module.

    Taichi reads that line of each function that it decorates, to see if it is in a class: 0.2 s of an import.
    """
    searching = inspect.getframeinfo

    def quick(frame: Any, context: int = 1) -> inspect.Traceback:
        code, number = frame.f_code, frame.f_lineno
        line = linecache.getline(code.co_filename, number)
        return inspect.Traceback(code.co_filename, number, code.co_name, [line], 0)

    inspect.getframeinfo = quick
    try:
        yield
    finally:
        inspect.getframeinfo = searching

"""The library of the system that Taichi is linked with."""

from __future__ import annotations

import ctypes

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

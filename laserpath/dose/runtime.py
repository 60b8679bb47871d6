"""Taichi, started once, quietly, when the first kernel is wanted."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from functools import cache
from types import SimpleNamespace

_lock = threading.Lock()


@cache
def _start() -> None:
    # Taichi prints a banner at import and a line at init, on stdout, which would spoil `--json`.
    os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
    os.environ.setdefault("TI_LOG_LEVEL", "error")
    import taichi as ti
    from taichi.lang import impl

    if impl.get_runtime().prog is None:  # else: a host program's own ti.init stands
        with contextlib.redirect_stdout(io.StringIO()):
            ti.init(arch=ti.cpu, offline_cache=True, log_level=ti.ERROR)


def kernels(precision: str) -> SimpleNamespace:
    """The compiled kernels for 'f32' or 'f64', Taichi started if need be."""
    with _lock:
        _start()
        from laserpath.dose.kernels import kernels as build

        return build(precision)

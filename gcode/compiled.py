"""Numba's `njit` with a cache on the disk, or without one where nothing can be written.

A cache saves the seconds of compiling. With a read-only home and a read-only installation, Numba refuses to
import a function that is to be cached; with a full disk, the first call of one fails.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numba
from numba.core.runtime.nrt import rtsys


def cached(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like `numba.njit(cache=True, **options)`."""

    def compiled(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        with suppress(RuntimeError):  # no folder for a cache can be written
            made.enable_caching()
            made._cache.save_overload = _tried(made._cache.save_overload)
            made._cache.load_overload = _found(made._cache)
        return made

    return compiled


def is_kept(function: Any) -> bool:
    """Whether a function decorated with `cached` has been compiled before, here, as it is now."""
    with suppress(AttributeError, OSError):  # without a cache
        return bool(function._cache._cache_file._load_index())
    return False


def _tried(save: Callable[..., None]) -> Callable[..., None]:
    def saved(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    return saved


def _found(cache: Any) -> Callable[..., Any]:
    """Loads a function from a cache, without what only compiling needs.

    Numba first registers all that it can compile, which takes 0.5 s of a process, even if it then compiles
    nothing; when it does compile, it does so in any case. What compiled code calls is its runtime alone.

    Begins the cache anew where a release before this one has left something that cannot be read. Its list
    names the types of arguments. Numba reads all of it before it looks at how old it is, which fails if a
    type has gone or has another name.
    """
    load, guarded = cache._load_overload, cache._guard_against_spurious_io_errors

    def loaded(signature: Any, target: Any) -> Any:
        try:
            rtsys.initialize(target)
            with guarded():
                return load(signature, target)
        except (AttributeError, ImportError, pickle.UnpicklingError, EOFError):
            with suppress(OSError):
                cache.flush()
        return None

    return loaded


njit = cached()
"""The decorator for most functions."""

vectorised = cached(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz", "arcp"})
"""For loops over numbers without a branch or a call, which then go over four or eight at a time. The order of
a sum is left open for that, but no value is assumed to be finite: a NaN stays one."""

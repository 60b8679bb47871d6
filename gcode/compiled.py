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


def cached(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like `numba.njit(cache=True, **options)`."""

    def compiled(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        with suppress(RuntimeError):  # no folder for a cache can be written
            made.enable_caching()
            made._cache.save_overload = _tried(made._cache.save_overload)
            made._cache.load_overload = _found(made._cache.load_overload, made._cache.flush)
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


def _found(load: Callable[..., Any], flush: Callable[[], None]) -> Callable[..., Any]:
    """Begins the cache anew where a release before this one has left something that cannot be read.

    Its list names the types of arguments. Numba reads all of it before it looks at how old it is, which
    fails if a type has gone or has another name.
    """

    def loaded(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except (AttributeError, ImportError, pickle.UnpicklingError, EOFError):
            with suppress(OSError):
                flush()
            return None

    return loaded


njit = cached()
"""The decorator for most functions."""

"""Functions compile where nothing can be cached."""

from __future__ import annotations

import errno
from typing import Any, NoReturn

import pytest
from numba.core.caching import FunctionCache

from gcode.compiled import cached


def refuse(error: Exception) -> Any:
    def raising(*_: object) -> NoReturn:
        raise error

    return raising


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("__init__", RuntimeError("cannot cache function: no locator available")),
        ("save_overload", OSError(errno.ENOSPC, "No space left on device")),
    ],
)
def test_a_function_runs_without_a_cache(
    name: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FunctionCache, name, refuse(error))

    @cached()
    def twice(x: float) -> float:
        return 2 * x

    assert twice(3.0) == 6.0

"""Functions compile where nothing can be cached, or what is cached cannot be read."""

from __future__ import annotations

import errno
import importlib
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from numba.core.caching import FunctionCache
from numba.core.cpu import CPUContext

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


def test_a_cache_that_names_a_type_which_has_gone_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older release leaves it beside a module that has been replaced."""
    file = tmp_path / "renamed.py"
    text = (
        "from typing import NamedTuple\nfrom gcode.compiled import cached\n"
        "class Old(NamedTuple):\n    x: float\n"
        "@cached()\ndef twice(old):\n    return 2 * old.x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    file.write_text(text)
    old = importlib.import_module("renamed")
    assert old.twice(old.Old(3.0)) == 6.0
    assert list(tmp_path.rglob("*.nbi"))
    file.write_text(text.replace("Old", "Renamed"))
    for _ in range(2):  # the second time from the new cache
        del sys.modules["renamed"]
        importlib.invalidate_caches()
        new = importlib.import_module("renamed")
        assert new.twice(new.Renamed(3.0)) == 6.0
    assert new.twice.stats.cache_hits
    del sys.modules["renamed"]


def test_what_only_compiling_needs_is_not_registered_to_load_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba's implementations of all that it compiles are half a second of a process."""
    text = (
        "import numpy as np\nfrom gcode.compiled import cached\n"
        "@cached()\ndef halved(x):\n    y = np.zeros(len(x))\n    y[:] = np.sqrt(x) / 2\n    return y\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "kept.py").write_text(text)
    importlib.invalidate_caches()
    assert importlib.import_module("kept").halved(np.full(2, 4.0)).tolist() == [1, 1]
    del sys.modules["kept"]
    monkeypatch.setattr(CPUContext, "load_additional_registries", refuse(AssertionError("registered")))
    again = importlib.import_module("kept").halved
    assert again(np.full(2, 4.0)).tolist() == [1, 1]
    assert again.stats.cache_hits
    del sys.modules["kept"]

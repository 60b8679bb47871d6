"""Taichi's cache is used where it can be written."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from laserpath.base.compute.runtime import cache_options


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TI_OFFLINE_CACHE_FILE_PATH", raising=False)


def options(place: Path) -> dict[str, object]:
    return cache_options(SimpleNamespace(offline_cache_file_path=str(place)))


def test_a_folder_is_made_and_used(tmp_path: Path) -> None:
    assert options(tmp_path / "new" / "ti") == {"offline_cache": True}
    assert list((tmp_path / "new" / "ti").iterdir()) == []


def test_without_a_folder_taichi_gets_one_that_exists_and_caches_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")  # no folder can be made in it, not even by root
    found = options(tmp_path / "file" / "new" / "ti")
    assert found == {"offline_cache": False, "offline_cache_file_path": str(tmp_path)}


def test_the_lock_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    old, young = tmp_path / "ticache.lock", tmp_path / "other.lock"
    for lock in (old, young):
        lock.write_text("")
    os.utime(old, (time.time() - 3600,) * 2)
    assert options(tmp_path) == {"offline_cache": True}
    assert list(tmp_path.iterdir()) == [young]


KEPT = """
import gc
import numpy as np
from laserpath.base.compute.runtime import REALS, Kernel, ti

@ti.kernel
def doubled(values: REALS):
    for i in values:
        values[i] *= 2.0

run = Kernel(doubled)
run(np.ones(3))
gc.freeze()
cycle = [run, doubled]
cycle.append(cycle)
"""


@pytest.mark.slow
def test_what_was_compiled_is_kept_though_python_frees_nothing_at_its_end(tmp_path: Path) -> None:
    """`gc.freeze()` in the tests kept Taichi from writing: each run compiled all kernels anew."""
    (tmp_path / "script.py").write_text(KEPT)
    folder = tmp_path / "cache"
    environment = {**os.environ, "TI_OFFLINE_CACHE_FILE_PATH": str(folder)}
    subprocess.run([sys.executable, tmp_path / "script.py"], env=environment, check=True)
    assert list(folder.rglob("*.tic"))

"""Taichi's cache of compiled kernels, used only where Taichi can write it.

Where its folder cannot be made, Taichi 1.7 crashes with a segmentation fault when the program ends, even if
it was told not to cache; then it gets a folder that exists. It protects its index with a file `ticache.lock`;
a process that is killed while it saves leaves that file, and nothing is cached any more.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

_STALE = 600.0
"""s, age from which a lock belongs to no process: saving takes less than a second."""


def folder(config: Any) -> Path:
    """The folder of the cache by Taichi's configuration and environment."""
    return Path(os.environ.get("TI_OFFLINE_CACHE_FILE_PATH") or config.offline_cache_file_path)


def options(config: Any) -> dict[str, Any]:
    """The options of `ti.init` with which it caches where it can, and else does without."""
    place = folder(config)
    if _can_hold_files(place):
        _remove_stale_locks(place)
        return {"offline_cache": True}
    existing = next(one for one in place.absolute().parents if one.is_dir())
    return {"offline_cache": False, "offline_cache_file_path": str(existing)}


def _can_hold_files(place: Path) -> bool:
    """Whether files can be made in the folder, which is made if it is missing."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def _remove_stale_locks(place: Path) -> None:
    for lock in place.rglob("*.lock"):
        with contextlib.suppress(OSError):
            if time.time() - lock.stat().st_mtime > _STALE:
                lock.unlink()

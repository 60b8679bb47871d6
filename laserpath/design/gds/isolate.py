"""Running `extract` in a subprocess, in which gdstk reads a file into a table of its cells.

The file's bytes are written to a temporary folder, which is removed; no name in them is followed.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laserpath.base.errors import InputError

SECONDS = 600.0  # time limit; gdstk reads 10⁶ polygons in a few seconds
_NO_MEMORY = (b"MemoryError", b"bad_alloc", b"annot allocate memory", b"failed to map segment")
"""Messages of Python, C++ and the loader when memory runs out."""
_EXTRACT = Path(__file__).with_name("extract.py")

Table = Mapping[str, NDArray[Any]]


def table(data: bytes, tolerance: float) -> Table:
    """The table of cells of a GDSII or OASIS file. tolerance: of round ends and circles, mm."""
    try:
        with TemporaryDirectory(prefix="laserpath-") as folder:
            file, out = Path(folder, "design"), Path(folder, "cells.npz")
            file.write_bytes(data)
            _run([str(file), str(out), repr(tolerance)])
            with np.load(out, allow_pickle=False) as columns:
                cells = {name: columns[name] for name in columns.files}
    except OSError as error:
        raise InputError(f"no temporary folder can be used to read the file: {error.strerror}") from None
    except (EOFError, zipfile.BadZipFile):
        raise InputError("the file is damaged: gdstk cannot read it") from None
    if "error" in cells:
        raise InputError(_plain(str(cells["error"])))
    return cells


def _run(arguments: list[str]) -> None:
    # The same packages as in this process, wherever they are; one thread is enough.
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", str(_EXTRACT), *arguments]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(f"gdstk did not finish reading the file within {SECONDS:g} s") from None
    except OSError as error:
        raise InputError(f"no process can be started to read the file in: {error.strerror}") from None
    if done.returncode and any(word in done.stderr for word in _NO_MEMORY):
        raise InputError("reading the file takes more memory than this process may have")
    if done.returncode and f"[Errno {errno.ENOSPC}]".encode() in done.stderr:
        raise InputError(f"no temporary folder can be used to read the file: {os.strerror(errno.ENOSPC)}")
    if done.returncode < 0:
        raise InputError(f"the file is damaged: gdstk stopped at it with signal {-done.returncode}")
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise InputError(f"the file is damaged: gdstk stopped at it ({_plain(last)})")


def _plain(text: str) -> str:
    """A message in one line, without its full stop."""
    return " ".join(text.split()).rstrip(".")[:200]

"""Running `extract` in a subprocess, in which gdstk reads a file into a table of its cells.

The file's bytes are written to a temporary folder, which is removed; no name in them is followed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laserpath.base import isolated, limits
from laserpath.base.errors import InputError

_PER_BYTE = 300
"""Bytes of memory for each byte of the file."""
_EXTRACT = Path(__file__).with_name("extract.py")

Table = Mapping[str, NDArray[Any]]


def table(data: bytes, tolerance: float) -> Table:
    """The table of cells of a GDSII or OASIS file. tolerance: of round ends and circles, mm."""
    try:
        with TemporaryDirectory(prefix="laserpath-") as folder:
            file, out = Path(folder, "design"), Path(folder, "cells.npz")
            file.write_bytes(data)
            # Twice as many, since not all cells need be placed in the end.
            _run([str(file), str(out), repr(tolerance), str(2 * limits.now().placed)])
            with np.load(out, allow_pickle=False) as columns:
                cells = {name: columns[name] for name in columns.files}
    except OSError as error:
        raise InputError(f"no temporary folder can be used to read the file: {error.strerror}") from None
    except (EOFError, zipfile.BadZipFile):
        raise InputError("the file is damaged: gdstk cannot read it") from None
    if "count" in cells:
        count = int(cells["count"])
        raise limits.exceeded(f"its cells hold {limits.counted(count)} polygons or more", "placed", count)
    if "memory" in cells:
        raise isolated.no_memory(_PER_BYTE * len(data), str(cells["memory"]))
    if "error" in cells:
        raise InputError(isolated.plain(str(cells["error"])))
    return cells


def _run(arguments: list[str]) -> None:
    isolated.run(_EXTRACT, arguments, "gdstk", _PER_BYTE * Path(arguments[0]).stat().st_size)

"""A Python script in a process of its own, with limits of time and memory, for libraries that trust a file.

Such a library is C or C++: a few changed bytes of a file crash it, or make it ask for any amount of memory.
The script gets the limits of memory, in bytes, and of the processor, in seconds, as its last arguments, and
sets them after its imports (`bounds.keep_within`).

`decode` is such a script: it reads the pixels of an image file.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laserpath.base import limits
from laserpath.base.errors import InputError

_NO_MEMORY = (
    b"MemoryError", b"bad_alloc", b"annot allocate memory", b"failed to map segment", b"out of memory",
)  # fmt: skip
"""Messages of Python, C++ and the loader when memory runs out."""

_NO_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO)
"""Errors of the temporary folder, not of the file that is read."""

_LONGER = 1.0
"""Seconds that the process may take longer than its parent waits, which ends it with a better sentence."""


def run(script: Path, arguments: list[str], library: str) -> None:
    """Run the script; raises InputError, in which the library is named, unless it ends well."""
    # The same packages as in this process, wherever they are; one thread is enough.
    path = os.pathsep.join([*(p for p in sys.path if p), str(Path(__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    seconds = max(limits.left(), 0.0)
    command = [sys.executable, "-P", str(script), *arguments, str(limits.memory()), repr(seconds + _LONGER)]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise limits.late() from None
    except OSError as error:
        raise InputError(f"no process can be started to read the file in: {error.strerror}") from None
    if done.returncode == -getattr(signal, "SIGXCPU", 24):  # our own limit is above `timeout`
        raise InputError(
            "reading the file takes more processor time than this shell allows: "
            "`ulimit -t` shows that limit, in s"
        )
    killed = done.returncode == -getattr(signal, "SIGKILL", 9)  # by the system, when memory runs out
    if done.returncode and (killed or any(word in done.stderr for word in _NO_MEMORY)):
        raise limits.no_memory()
    for number in _NO_DISK:
        if done.returncode and f"[Errno {number}]".encode() in done.stderr:
            raise InputError(f"no temporary folder can be used to read the file: {os.strerror(number)}")
    if done.returncode < 0:
        raise InputError(f"the file is damaged: {library} stopped at it with signal {-done.returncode}")
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise InputError(f"the file is damaged: {library} stopped at it ({plain(last)})")


def plain(text: str) -> str:
    """A message in one line, without its full stop."""
    return " ".join(text.split()).rstrip(".")[:200]


_DECODE = Path(__file__).with_name("decode.py")
_PER_PIXEL = 40
"""Bytes of memory for each pixel while it becomes ink, of which three arrays of 8 bytes."""
_TYPES = {"I;16": "<u2", "I;16L": "<u2", "I;16B": ">u2", "I;16N": "=u2", "I": "=i4", "F": "=f4"}
_CHANNELS = {"RGB": 3, "RGBA": 4}


@dataclass(frozen=True, slots=True)
class Decoded:
    """numbers: (rows, columns) or (rows, columns, 3 or 4), row 0 the uppermost; as they are in the file, but
    palettes and such are RGBA of 8 bits.

    format: `PNG` or `TIFF`.  pages: images in the file, of which this is the first.  dpi: pixels per inch in
    x and y, or None.  inverted: whether the file says that 0 is white.
    """

    numbers: NDArray[Any]
    format: str
    pages: int
    dpi: tuple[float, float] | None
    inverted: bool

    @property
    def colours(self) -> NDArray[Any]:
        """(rows, columns, 1 or 3) without an opacity."""
        return np.atleast_3d(self.numbers)[..., :3]


def picture(data: bytes, formats: tuple[str, ...]) -> Decoded | None:
    """The first image of a file of one of these formats of Pillow; None: it is of none of them."""
    try:
        with TemporaryDirectory(prefix="laserpath-") as folder:
            file, out = Path(folder, "image"), Path(folder, "pixels")
            file.write_bytes(data)
            _run([str(file), str(out), ",".join(formats), str(limits.now().pixels)])
            content = out.read_bytes()
    except OSError as error:
        raise InputError(f"no temporary folder can be used to read the file: {error.strerror}") from None
    end = content.index(b"\n")
    found = json.loads(content[:end])
    if "unknown" in found:
        return None
    if "broken" in found:
        raise InputError(f"the image is broken or cut off ({found['broken']})")
    columns, rows = found["size"]
    if "mode" not in found:
        what = f"the image has {columns} × {rows} = {limits.counted(columns * rows)} pixels"
        limits.check("pixels", columns * rows, what, "scale it down", "split it")
    limits.reserve(_PER_PIXEL * columns * rows)
    mode = found["mode"]
    numbers = np.frombuffer(content, _TYPES.get(mode, "u1"), offset=end + 1)
    shape = (rows, columns, _CHANNELS[mode]) if mode in _CHANNELS else (rows, columns)
    dpi = found["dpi"] and (found["dpi"][0], found["dpi"][1])
    return Decoded(numbers.reshape(shape), found["format"], found["pages"], dpi, found["inverted"])


def _run(arguments: list[str]) -> None:
    run(_DECODE, arguments, "Pillow")

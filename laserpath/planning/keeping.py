"""What was found for each layer, in a folder, so that an interrupted run can go on from there.

A file is NAME.json for each different layer. Its name is a hash of all that its plan is made from, and of the
version. It has the paths and the history of the solution, in decimals from which the same numbers are read;
the program is written, executed and measured again. Another one has what a layer is dimmed by in the light of
those above it. So a run that goes on ends with the same bytes as one that was not interrupted.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from laserpath.base.errors import InputError
from laserpath.base.files import write_all
from laserpath.types import Toolpath
from laserpath.types.results import Solution

_FORMAT = 1
"""Of the files: another one is not read."""


@dataclass(frozen=True, slots=True)
class Solved:
    """What takes long in a plan. start: the path that the optimiser started from.  solution: its result."""

    start: Toolpath
    solution: Solution


@dataclass(frozen=True, slots=True)
class Keeping:
    """A folder of what was solved, made when there is something to keep in it."""

    folder: Path

    def solved(self, inputs: object, make: Callable[[], Solved]) -> Solved:
        """What was kept for the same inputs, or else is made now, and kept unless the user stopped it.

        Raises InputError for a file that is damaged.
        """
        place = self.folder / f"{_digest(inputs)}.json"
        if place.exists():
            return _read(place)
        found = make()
        if not found.solution.stopped:
            write_all({place: json.dumps(_plain(found))}, kept=True)
        return found

    def dimmed(self, inputs: object, make: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """The numbers (n,) that were kept for the same inputs, or else are made now, and kept.

        Raises InputError for a file that is damaged.
        """
        place = self.folder / f"{_digest(inputs)}.json"
        if place.exists():
            with _readable(place):
                packed = json.loads(place.read_text(encoding="utf-8"))["dimmed"]
                return np.frombuffer(zlib.decompress(base64.b64decode(packed)), np.uint8)
        found = make()
        packed = base64.b64encode(zlib.compress(found.tobytes())).decode("ascii")
        write_all({place: json.dumps({"format": _FORMAT, "dimmed": packed})}, kept=True)
        return found

    def clear(self) -> None:
        """Remove the files, and the folder if nothing else is in it."""
        for place in self.folder.glob("*.json"):
            place.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


def _digest(inputs: object) -> str:
    """The hash of records, arrays, shapes and plain values, to their last digit."""
    from laserpath import __version__

    digest = hashlib.sha256(f"{__version__} {_FORMAT}".encode())

    def add(value: object) -> None:
        if is_dataclass(value):
            digest.update(type(value).__qualname__.encode())
            for one in fields(value):
                add(getattr(value, one.name))
        elif isinstance(value, np.ndarray):
            digest.update(f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
        elif isinstance(value, tuple | list):
            digest.update(f"({len(value)}".encode())
            for item in value:
                add(item)
        elif hasattr(value, "wkb"):
            digest.update(value.wkb)
        else:
            digest.update(f" {value!r}".encode())

    add(inputs)
    return digest.hexdigest()[:32]


def _plain(found: Solved) -> dict[str, Any]:
    solution = found.solution
    return {
        "format": _FORMAT,
        "start": _path(found.start),
        "toolpath": _path(solution.toolpath),
        "written": solution.written and _path(solution.written),
        "loss": solution.loss.tolist(),
        "result": solution.result,
        "converged": bool(solution.converged),
        "time_weight": float(solution.time_weight),
    }


def _path(path: Toolpath) -> dict[str, Any]:
    return {"xy": path.xy.tolist(), "power": path.power.tolist(), "speed": path.speed.tolist()}


def _read(place: Path) -> Solved:
    with _readable(place):
        kept = json.loads(place.read_text(encoding="utf-8"))
        start, toolpath, written = (
            one and Toolpath(np.array(one["xy"], float), np.array(one["power"]), np.array(one["speed"]))
            for one in (kept["start"], kept["toolpath"], kept["written"])
        )
        solution = Solution(
            toolpath, np.array(kept["loss"], float), kept["result"], converged=kept["converged"],
            written=written, time_weight=kept["time_weight"],
        )  # fmt: skip
        return Solved(start, solution)


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    """Within it, what is wrong with a file is an InputError."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, zlib.error) as error:
        raise InputError(f"{str(place)!r} of an interrupted run cannot be read: remove it") from error

"""Other people's readers of G-code, and what they saw in a program.

`fetch FOLDER` brings them; GCODE_READERS, or RS274, names that folder. A reader is found there, or else where
it is installed: rs274 on PATH, the others where Python and node look. RS274 may also be the program itself.
`make test-tools` compares with those; tests of a reader that is nowhere are skipped with `MISSING`.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
MISSING = "{} is not here: bring it by `tests/gcode/readers/fetch FOLDER`, and set GCODE_READERS=FOLDER"


def _folders() -> list[Path]:
    return [Path(os.environ[name]) for name in ("RS274", "GCODE_READERS") if os.environ.get(name)]


def rs274() -> Path | None:
    """LinuxCNC's interpreter."""
    for place in _folders():
        for program in (place, place / "bin" / "rs274", place / "rs274"):
            if program.is_file() and os.access(program, os.X_OK):
                return program
    found = shutil.which("rs274")
    return Path(found) if found else None


def has_python(name: str) -> bool:
    """Whether the package `name` can be imported, from the folder of `fetch` if need be."""
    for place in _folders():
        if (place / "python" / name).is_dir() and str(place / "python") not in sys.path:
            sys.path.append(str(place / "python"))
    return find_spec(name) is not None


def node_modules(name: str) -> Path | None:
    """The folder in which node finds the package `name`."""
    folders = [place / "node_modules" for place in _folders()]
    folders += [Path(place) for place in os.environ.get("NODE_PATH", "").split(os.pathsep) if place]
    return next((f for f in folders if (f / name).is_dir() and shutil.which("node")), None)

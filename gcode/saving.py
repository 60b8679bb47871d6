"""Programs into files: verified first, then put in place as a whole."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from gcode.checking import verify
from gcode.dialects.record import Dialect
from gcode.errors import GcodeError
from gcode.move import Moves
from gcode.writing import TOLERANCE, write

_OLD = 3600.0
"""s, age from which a temporary file belongs to no running process; its name tells when it was made."""
_TEMPORARY = re.compile(r"\.gcode-([0-9a-f]{8,12})-[0-9a-f]{12}\.tmp")


def save(
    path: str | Path,
    moves: Moves,
    dialect: Dialect,
    s_max: float | None = None,
    header: Iterable[str] = (),
    *,
    tolerance: float = TOLERANCE,
) -> None:
    """Write the program of `moves` to a file, completely or not at all; see `write`.

    It is read back and verified before (`verify`); raises GcodeError if that fails, and writes nothing.
    """
    asked = moves if dialect.arcs else moves.chords(tolerance)
    text = write(asked, dialect, s_max, header)
    verify(text, dialect, s_max, asked=asked)
    place = Path(os.path.realpath(path))  # a link stays a link; its target is replaced
    temporary = place.with_name(f".gcode-{int(time.time()):08x}-{secrets.token_hex(6)}.tmp")
    try:
        # Unlike tempfile's, this file gets the permissions that the user's umask gives.
        with open(temporary, "x", encoding="ascii", newline="") as file:
            file.write(text)
        temporary.replace(place)
    except OSError as error:
        raise GcodeError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    _remove_strays(place.parent)


def _remove_strays(folder: Path) -> None:
    """Remove the temporary files of processes that were killed while they saved."""
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            made = _TEMPORARY.fullmatch(file.name)
            if made is not None and time.time() - int(made[1], 16) > _OLD:
                file.unlink(missing_ok=True)

"""Files that are written wholly or not at all.

All texts go to temporary files beside their places, are flushed to the disk, and are then renamed.
After any error, Ctrl-C included, every place is left as it was: no new file, no temporary one, no new
folder, and the files to be replaced have their old content.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from laserpath.base.errors import InputError


def write_all(files: Mapping[Path, str]) -> tuple[Path, ...]:
    """Write each text (UTF-8, line ends unchanged) to its path; return the paths. On error, write none."""
    undo = contextlib.ExitStack()
    done = contextlib.ExitStack()
    place = Path()
    with done:
        try:
            staged = []
            for place, text in files.items():
                # A link stays a link; its target is replaced.
                staged.append((_stage(Path(os.path.realpath(place)), text, undo), place))
            for temporary, place in staged:
                _replace(temporary, Path(os.path.realpath(place)), undo, done)
        except BaseException as error:
            undo.close()
            if isinstance(error, OSError):
                raise InputError(_sentence(place, error)) from error
            raise
    return tuple(files)


def check_folder(folder: Path) -> None:
    """Raise InputError if files could not be written to `folder`, whether or not it exists."""
    existing = next((p for p in (folder, *folder.parents) if p.exists()), Path())
    if not existing.is_dir():
        raise InputError(
            f"{str(existing)!r} is a file, so nothing can be written to the folder {str(folder)!r}"
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"folder {str(existing)!r} is not writable")


def _stage(place: Path, text: str, undo: contextlib.ExitStack) -> Path:
    """The text on the disk under a temporary name beside its place."""
    _make_folder(place.parent, undo)
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    temporary = _spare_name(place)
    undo.callback(temporary.unlink, missing_ok=True)
    # Unlike tempfile's, these files get the permissions that the user's umask gives.
    with open(temporary, "x", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _make_folder(folder: Path, undo: contextlib.ExitStack) -> None:
    """Create the folder and its missing parents."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        _make_folder(folder.parent, undo)
    undo.callback(_remove_if_empty, folder)
    folder.mkdir()


def _replace(temporary: Path, place: Path, undo: contextlib.ExitStack, done: contextlib.ExitStack) -> None:
    """Rename, so that `undo` brings the old file back and `done` forgets it."""
    if place.exists():
        old = _spare_name(place)
        done.callback(old.unlink, missing_ok=True)
        undo.callback(_bring_back, old, place)
        _copy(place, old)
    else:
        undo.callback(place.unlink, missing_ok=True)
    temporary.replace(place)


def _copy(place: Path, copy: Path) -> None:
    try:
        os.link(place, copy)
    except OSError:  # memory cards have no hard links
        shutil.copy2(place, copy)


def _bring_back(old: Path, place: Path) -> None:
    if old.exists():
        old.replace(place)


def _remove_if_empty(folder: Path) -> None:
    # Another process may have put a file there meanwhile, or the folder was never made.
    with contextlib.suppress(OSError):
        folder.rmdir()


def _spare_name(place: Path) -> Path:
    # Of fixed length: a longer variant of the name might exceed the limit of the file system.
    return place.with_name(f".laserpath-{secrets.token_hex(6)}.tmp")


def _sentence(place: Path, error: OSError) -> str:
    """The sentence on why `place` could not be written."""
    folder = str(place.parent)
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return f"{str(place)!r} cannot be written: folder {folder!r} is not writable"
        case errno.EROFS:
            return f"{str(place)!r} cannot be written: its disk is read-only"
        case errno.ENOSPC | errno.EDQUOT:
            return f"{str(place)!r} cannot be written: no space is left on its disk"
        case errno.EISDIR:
            return f"{str(place)!r} cannot be written: it is a folder"
        case errno.ENOTDIR | errno.EEXIST:
            return f"{str(place)!r} cannot be written: a part of {folder!r} is a file, not a folder"
        case errno.ENAMETOOLONG:
            return f"{str(place)!r} cannot be written: its name is too long"
        case _:
            return f"{str(place)!r} cannot be written: {error.strerror or error}"

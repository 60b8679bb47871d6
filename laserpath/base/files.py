"""Files that are written wholly or not at all.

1. All texts go to temporary files beside their places and are flushed to the disk.
2. Second names are given to the files that will be replaced, so that they can be brought back.
3. All temporary files are renamed in one burst, tens of µs a file, in which the folders are locked against
   other processes of laserpath.

After any error, and after a signal that ends the process, every place is left as it was: no new file, no
temporary one, no new folder, and the files to be replaced have their old content. Signals wait (`Held`) and
act between two files of step 1, or after the burst. A file that is read-only is not replaced: that is an
error, too.

No filesystem renames several files at once. If the process is killed (SIGKILL) or the power fails in the
burst, each file is whole, but some are old and some are new. What such an end leaves under temporary names
is removed by the next call that writes to the folder, once it is `_OLD`.

Signals wait while files change (`Held`), so no handler raises between two steps that belong together: Python
runs the handlers of its signals in the main thread between any two instructions. An exception from there
could come between making a file and noting that it must be removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType, SimpleNamespace, TracebackType
from typing import Any

from laserpath.base.errors import InputError

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a program to end; Windows has no SIGHUP."""


class Ending(BaseException):
    """A signal without a handler waits: it ends the process as soon as `Held` lets go."""


class Held:
    """Context manager in which the signals of `ENDING` wait. At its end they act.

    Other threads than the main one have no say over signals: there it does nothing.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._waiting: list[int] = []

    def __enter__(self) -> Held:
        if threading.current_thread() is not threading.main_thread():
            return self
        try:
            for number in ENDING:
                before = signal.getsignal(number)
                # None: a handler that is not Python's. Ignored signals, as under nohup, stay ignored.
                if before is not None and before != signal.SIG_IGN:
                    self._before[number] = before
                    signal.signal(number, self._note)
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_go()
        for number in self._waiting:
            signal.raise_signal(number)

    def check(self) -> None:
        """Let the signals that wait act here: whatever their handlers raise comes from this call."""
        while self._waiting:
            before = self._before[self._waiting[0]]
            if not callable(before):
                raise Ending
            before(self._waiting.pop(0), None)

    def _let_go(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._waiting.append(number)


if os.name == "posix":
    import fcntl

_WRITTEN_AT_ONCE = 1 << 20
"""Characters that are written at a time: more take more memory."""
_OLD = 3600.0
"""s, age from which a temporary file is nobody's: its name tells when it was made. A writer that was
suspended for longer fails, with a sentence and without a loss; a larger age leaves strays for longer."""
_PATIENCE = 5.0
"""s to wait for another process's burst; then the files are renamed all the same."""
_SPARE = re.compile(r"\.laserpath-([0-9a-f]{8,12})-[0-9a-f]{12}\.tmp")

_state = SimpleNamespace(calls=0, kept=None)


def write_all(files: Mapping[Path, str], *, kept: bool = False) -> tuple[Path, ...]:
    """Write each text (UTF-8, line ends unchanged) to its path; return the paths. On error, write none.

    kept: they are what a command needs to go on after a stop, and not what it was called for.
    """
    # A link stays a link; its target is replaced.
    real = {Path(os.path.realpath(path)): text for path, text in files.items()}
    folders = {path.parent for path in real}
    undo, done = contextlib.ExitStack(), contextlib.ExitStack()
    place = Path()  # that of the step which failed, if one does
    with Held() as signals, done:
        try:
            staged = []
            for place, text in real.items():
                signals.check()
                staged.append((_stage(place, text, undo), place))
            signals.check()
            done.enter_context(_locked(folders))
            for _, place in staged:
                _keep(place, undo, done)
            for temporary, place in staged:
                temporary.replace(place)
            _state.calls += not kept
            _state.kept = next(iter(files)).parent if kept else None
        except BaseException as error:
            undo.close()
            if isinstance(error, OSError):
                raise InputError(_sentence(place, error)) from error
            raise
        _settle(folders)
    return tuple(files)


def calls() -> int:
    """How many times this process has written files: tells whether a command that was stopped wrote any."""
    return int(_state.calls)


def kept_in() -> Path | None:
    """The folder with what a command that was stopped needs to go on, if it has written that and no more."""
    return Path(_state.kept) if _state.kept is not None and any(Path(_state.kept).glob("*")) else None


def keep_in(folder: Path | None) -> None:
    """Set the folder from which a command goes on after a stop: what is in it may be of other processes."""
    _state.kept = folder


def check_folder(named: str | Path) -> Path:
    """The folder. Raises InputError if no file can be written to it, whether or not it exists.

    A file is made and removed, since permissions do not tell: root has all of them, and /sys takes no file.
    """
    folder = Path(named)
    existing = next((p for p in (folder, *folder.parents) if p.exists()), Path())
    if not existing.is_dir():
        raise InputError(
            f"{str(existing)!r} is a file, so nothing can be written to the folder {str(folder)!r}"
        )
    try:
        _try(_spare_name(folder / "laserpath"))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.ENOENT):  # the last from /proc
            raise InputError(f"folder {str(existing)!r} is not writable") from error
        raise InputError(_sentence(folder, error)) from error
    return folder


def check_places(places: Iterable[Path]) -> None:
    """Raise InputError if `write_all` could not write these files. Leaves nothing behind.

    For commands that compute for long: it is asked before.
    """
    for place in places:
        try:
            _try(Path(os.path.realpath(place)))
        except OSError as error:
            raise InputError(_sentence(place, error)) from error


def _try(place: Path) -> None:
    """Make what `write_all` makes first, and remove it."""
    with Held(), contextlib.ExitStack() as undo:
        _stage(place, "", undo)


def _stage(place: Path, text: str, undo: contextlib.ExitStack) -> Path:
    """The text on the disk under a temporary name beside its place."""
    _make_folder(place.parent, undo)
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder")
    if place.exists() and not place.is_file():  # root could replace /dev/null
        raise OSError(errno.ENODEV, "it is a device or a pipe, not a plain file")
    # A rename would replace it all the same. For root only the mode tells.
    if place.exists() and not (os.access(place, os.W_OK) and place.stat().st_mode & 0o222):
        raise OSError(errno.ENODEV, "it is there already, and read-only")
    temporary = _spare_name(place)
    undo.callback(temporary.unlink, missing_ok=True)
    # Unlike tempfile's, these files get the permissions that the user's umask gives.
    with open(temporary, "x", encoding="utf-8", newline="") as file:
        for first in range(0, len(text), _WRITTEN_AT_ONCE):  # encoded at once, it would be there twice
            file.write(text[first : first + _WRITTEN_AT_ONCE])
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _make_folder(folder: Path, undo: contextlib.ExitStack) -> None:
    """Create the folder and its missing parents."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        _make_folder(folder.parent, undo)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        undo.callback(_remove_if_empty, folder)


def _keep(place: Path, undo: contextlib.ExitStack, done: contextlib.ExitStack) -> None:
    """Give the file at `place` a second name, from which `undo` brings it back and which `done` removes."""
    if place.exists():
        old = _spare_name(place)
        done.callback(_forget, old)
        undo.callback(_bring_back, old, place)
        _copy(place, old)
    else:
        undo.callback(place.unlink, missing_ok=True)


def _copy(place: Path, copy: Path) -> None:
    try:
        os.link(place, copy)
    except OSError:  # memory cards have no hard links
        shutil.copy2(place, copy)


def _bring_back(old: Path, place: Path) -> None:
    if old.exists():
        old.replace(place)


def _forget(old: Path) -> None:
    # The files are written; that a second name stays for a while is no reason to say otherwise.
    with contextlib.suppress(OSError):
        old.unlink(missing_ok=True)


def _remove_if_empty(folder: Path) -> None:
    # Another process may have put a file there meanwhile.
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _locked(folders: Iterable[Path]) -> Iterator[None]:
    """Hold the folders, so that the files of two plans that end at once are all of one or all of the other.

    The lock is on the folder itself and leaves nothing behind. Not every filesystem has it, nor Windows.
    """
    held: list[int] = []
    try:
        if os.name == "posix":
            limit = time.monotonic() + _PATIENCE
            for folder in sorted(folders):
                with contextlib.suppress(OSError):
                    held.append(os.open(folder, os.O_RDONLY))
                    _lock(held[-1], limit)
        yield
    finally:
        for number in held:
            os.close(number)


def _lock(folder: int, limit: float) -> None:
    """Lock an open folder, or give up at `limit`, s of the monotonic clock."""
    while True:
        try:
            return fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > limit:
                return None
            time.sleep(0.002)


def _settle(folders: Iterable[Path]) -> None:
    """Bring the new names to the disk, and remove what killed processes have left."""
    for folder in folders:
        with contextlib.suppress(OSError):
            for stray in folder.iterdir():
                if _is_old(stray.name):
                    stray.unlink(missing_ok=True)
            if os.name == "posix":
                number = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(number)
                finally:
                    os.close(number)


def _is_old(name: str) -> bool:
    """Whether it is the name of a temporary file that no running process can still need."""
    made = _SPARE.fullmatch(name)
    return made is not None and time.time() - int(made[1], 16) > _OLD


def _spare_name(place: Path) -> Path:
    # Of fixed length: a longer variant of the name might exceed the limit of the file system.
    return place.with_name(f".laserpath-{int(time.time()):08x}-{secrets.token_hex(6)}.tmp")


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

"""Files are written wholly or not at all."""

from __future__ import annotations

import builtins
import errno
import os
import time
from pathlib import Path

import pytest

from laserpath.base import files
from laserpath.base.errors import InputError
from laserpath.base.files import check_folder, check_places, write_all


def everything(folder: Path) -> dict[str, str | None]:
    """Every path below `folder` with its text, None for folders."""
    return {
        str(p.relative_to(folder)): p.read_text(encoding="utf-8") if p.is_file() else None
        for p in folder.rglob("*")
    }


def failing(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, nth: int, error: BaseException
) -> None:
    """Let the nth call of `owner.name` raise."""
    real, calls = getattr(owner, name), iter(range(1, 1000))

    def call(*args: object, **more: object) -> object:
        if next(calls) == nth:
            raise error
        return real(*args, **more)

    monkeypatch.setattr(owner, name, call)


def test_texts_arrive_byte_for_byte(tmp_path: Path) -> None:
    places = {tmp_path / "a.gcode": "G1 X1\nM5\n", tmp_path / "new" / "deep" / "b.svg": "<svg>µ</svg>\r\n"}
    assert write_all(places) == tuple(places)
    assert {p: p.read_bytes() for p in places} == {p: t.encode() for p, t in places.items()}
    assert len(everything(tmp_path)) == 4  # nothing but the two files and the two folders


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_all({tmp_path / "a": ""})
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "card").mkdir()
    (tmp_path / "a").symlink_to(tmp_path / "card" / "real")
    write_all({tmp_path / "a": "new"})
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "card" / "real").read_text() == "new"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), RuntimeError("bug")], ids=type
)
@pytest.mark.parametrize(
    ("owner", "name", "nth"),
    [(os, "fsync", 1), (os, "fsync", 3), (Path, "replace", 1), (Path, "replace", 3), (builtins, "open", 2)],
)
def test_a_failure_at_any_point_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, nth: int, error: BaseException
) -> None:
    (tmp_path / "a").write_text("old a")
    (tmp_path / "c").write_text("old c")
    before = everything(tmp_path)
    places = {tmp_path / "a": "A", tmp_path / "new" / "deep" / "b": "B", tmp_path / "c": "C"}
    with monkeypatch.context() as patch:
        failing(patch, owner, name, nth, error)
        with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
            write_all(places)
    assert everything(tmp_path) == before


def test_old_files_come_back_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links")))
    with monkeypatch.context() as patch:
        failing(patch, Path, "replace", 2, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            write_all({tmp_path / "a": "new", tmp_path / "b": "new"})
    assert everything(tmp_path) == {"a": "old"}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "not writable"), (errno.EROFS, "read-only"), (errno.ENOSPC, "no space"),
        (errno.EIO, "bad disk"),
    ],
)  # fmt: skip
def test_the_sentence_names_the_file_and_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    failing(monkeypatch, builtins, "open", 1, OSError(number, "bad disk"))
    with pytest.raises(InputError, match=words) as caught:
        write_all({tmp_path / "a.gcode": "x"})
    assert "a.gcode" in str(caught.value)


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        write_all({tmp_path / "b": "", tmp_path / "a": ""})
    assert everything(tmp_path) == {"a": None}


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file")
    with pytest.raises(InputError, match="is a file, not a folder"):
        write_all({tmp_path / "a" / "deep" / "b": ""})
    with pytest.raises(InputError, match="is a file"):
        check_folder(tmp_path / "a" / "deep")
    assert everything(tmp_path) == {"a": "a file"}


def test_a_folder_that_cannot_be_written_is_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_folder(tmp_path / "not" / "yet" / "there")
    check_places([tmp_path / "neither" / "a", tmp_path / "b"])
    assert everything(tmp_path) == {}
    monkeypatch.setattr(os, "access", lambda *_: True)  # as for root
    failing(monkeypatch, Path, "mkdir", 1, PermissionError(errno.EPERM, "no"))
    with pytest.raises(InputError, match=f"^folder {str(tmp_path)!r} is not writable$"):
        check_folder(tmp_path / "sub")
    failing(monkeypatch, builtins, "open", 1, PermissionError(errno.EACCES, "no"))
    with pytest.raises(InputError, match=f"^folder {str(tmp_path)!r} is not writable$"):
        check_folder(tmp_path)
    failing(monkeypatch, builtins, "open", 1, OSError(errno.EROFS, "no"))
    with pytest.raises(InputError, match="read-only"):
        check_places([tmp_path / "neither" / "a"])
    assert everything(tmp_path) == {}


@pytest.mark.skipif(not Path("/sys/class").is_dir(), reason="only Linux has a /sys")
@pytest.mark.parametrize("folder", ["/sys/class", "/sys/class/new/deep"])
def test_a_folder_that_takes_no_files_is_refused_beforehand_also_for_root(folder: str) -> None:
    with pytest.raises(InputError, match=r"'/sys/class.* (is not writable|is read-only)$"):
        check_folder(Path(folder))


def test_a_read_only_file_is_not_replaced(tmp_path: Path) -> None:
    """A rename would do it, for its owner as for root."""
    (tmp_path / "a").write_text("kept")
    (tmp_path / "a").chmod(0o444)
    for attempt in (lambda: check_places([tmp_path / "a"]), lambda: write_all({tmp_path / "a": "new"})):
        with pytest.raises(InputError, match=r"a' cannot be written: it is there already, and read-only$"):
            attempt()
    assert everything(tmp_path) == {"a": "kept"}


def test_a_place_that_is_a_folder_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        check_places([tmp_path / "b", tmp_path / "a"])
    assert everything(tmp_path) == {"a": None}


def test_a_name_too_long(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too long"):
        write_all({tmp_path / ("x" * 300): ""})
    assert everything(tmp_path) == {}


def test_what_a_killed_run_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    now = int(time.time())
    old, young = (tmp_path / f".laserpath-{now - age:08x}-0123456789ab.tmp" for age in (4000, 60))
    foreign = tmp_path / ".laserpath-notes.tmp"
    for path in (old, young, foreign):
        path.write_text("x")
    write_all({tmp_path / "a": ""})
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "a", young, foreign])


def test_a_folder_that_somebody_holds_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PATIENCE", 0.05)
    with files._locked([tmp_path]):
        write_all({tmp_path / "a": "x"})
    assert everything(tmp_path) == {"a": "x"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes with names")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """As root, also /dev/null could be replaced."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plan.gcode").symlink_to(tmp_path / "pipe")
    with pytest.raises(InputError, match="cannot be written: it is a device or a pipe, not a plain file"):
        write_all({tmp_path / "plan.gcode": "text"})
    assert (tmp_path / "pipe").is_fifo()

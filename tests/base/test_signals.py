"""Signals wait while files change, and act afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from laserpath.base.files import ENDING, Held, calls, write_all


class Acted(BaseException):
    """What the handler raises."""


@pytest.fixture(params=ENDING, ids=lambda number: number.name)
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    """A signal whose handler raises Acted."""

    def act(*_: object) -> None:
        raise Acted

    before = signal.signal(request.param, act)
    yield request.param
    signal.signal(request.param, before)


def test_a_signal_waits_until_it_may_act(number: int) -> None:
    steps = []

    def work() -> None:
        with Held():
            signal.raise_signal(number)
            steps.append("all of it")

    with pytest.raises(Acted):
        work()
    assert steps == ["all of it"]
    with pytest.raises(Acted):  # the handler is back
        signal.raise_signal(number)


def test_a_signal_acts_at_a_check_and_once_only(number: int) -> None:
    with Held() as held:
        held.check()
        signal.raise_signal(number)
        with pytest.raises(Acted):
            held.check()
        held.check()


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with Held() as held:
            signal.raise_signal(signal.SIGHUP)
            held.check()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_have_no_say() -> None:
    def held() -> None:
        with Held() as one:
            one.check()

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=held)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_between_two_files_leaves_all_as_it_was(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: signal.raise_signal(number))
    before = calls()
    with pytest.raises(Acted):
        write_all({tmp_path / "a": "new", tmp_path / "b": "new"})
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"
    assert calls() == before


def test_a_signal_in_the_burst_acts_after_it(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.replace

    def replace(path: Path, place: Path) -> Path:
        signal.raise_signal(number)
        return real(path, place)

    monkeypatch.setattr(Path, "replace", replace)
    before = calls()
    with pytest.raises(Acted):
        write_all({tmp_path / "a": "new", tmp_path / "b": "new"})
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "new", "b": "new"}
    assert calls() == before + 1


def test_without_a_handler_the_process_ends_after_it_has_tidied(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom pathlib import Path\nfrom laserpath.base.files import write_all\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGTERM)\n"
        "write_all({Path('a'): '1', Path('b'): '2'})"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert ended.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []

"""Files of GDSII, and images, without the 0.1 s and more that a new Python takes for each."""

from __future__ import annotations

import faulthandler
import os
import signal

import pytest

from laserpath.base import decode, isolated
from laserpath.base.errors import InputError
from laserpath.base.limits import ReadingLimits
from laserpath.design import gds
from laserpath.design.gds import extract


def forked(arguments: list[str]) -> None:
    """`gds._run` in a fork of this process: starting a new Python takes 0.1 s each time."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # what crashes is expected to
        signal.alarm(20)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        done = 1
        try:
            extract.main(*arguments, str(ReadingLimits().memory), str(ReadingLimits().seconds))
            done = 0
        finally:
            os._exit(done)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        raise InputError(f"the file is damaged: gdstk stopped at it with signal {os.WTERMSIG(status)}")
    assert os.WEXITSTATUS(status) == 0, "the extraction let an exception through"


@pytest.fixture
def forking(monkeypatch: pytest.MonkeyPatch) -> None:
    """For many small GDSII files; test_gds_bad and `slow` use the real subprocess."""
    if hasattr(os, "fork"):
        monkeypatch.setattr(gds, "_run", forked)


@pytest.fixture
def decoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small images, decoded in this process; test_limits and `slow` use the real subprocess."""

    def run(arguments: list[str]) -> None:
        try:
            decode.write(*arguments[:3], int(arguments[3]))
        except MemoryError:
            raise isolated.no_memory(0) from None

    monkeypatch.setattr(isolated, "_run", run)


HERE = [
    pytest.mark.usefixtures("forking", "decoding"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
"""`pytestmark` of a file of tests that read such files, and are not about how they are read."""

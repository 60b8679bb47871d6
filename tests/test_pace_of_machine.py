"""The limits of time in these tests: ten times as slow fails, three times as slow passes. And `--help`."""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import cache

import pytest
from pace_of_machine import unit, within
from sets import one_fast


@pytest.mark.parametrize("times", [1, 3])
def test_what_is_a_little_slower_passes(times: int) -> None:
    assert within(5 if times == 3 else 4, lambda: [unit() for _ in range(4 * times)])


@pytest.mark.slow
def test_what_is_ten_times_as_slow_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="times the processor time"):
        within(4, lambda: [unit() for _ in range(40)])


def children() -> float:
    """s, the processor time of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@cache
def seconds(*arguments: str) -> float:
    """Processor time of Python with these arguments: the least of three runs."""
    found = []
    for _ in range(3):
        start = children()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        found.append(children() - start)
    return min(found)


@pytest.mark.parametrize(
    "arguments",
    one_fast([["--help"], ["plan", "--help"], ["check", "--help"]], ["plan", "--help"]),
    ids=" ".join,
)
def test_help_answers_about_as_soon_as_python_does(arguments: list[str]) -> None:
    """Measured: twice a start of Python that imports click. NumPy would make it more than three times."""
    assert seconds("-m", "laserpath", *arguments) < 3 * seconds("-c", "import click")

"""For all tests: which set each is in, the programs that some need, and how hypothesis tries.

A random test that fails prints how to have its example again: `@reproduce_failure`, and under the name of
the test the seed for `--hypothesis-seed`. The fast set and the CI have the same examples on
every run, `make test-slow` has others each time. No test has a deadline.

Geometry has no operators here: `a - b` has no grid, and is wrong by whole areas where edges almost meet.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
import sets
import tools
from hypothesis import settings
from in_process import decoding, forking  # noqa: F401
from shapely.geometry.base import BaseGeometry

pytest.register_assert_rewrite("readers.compared")


def pytest_configure(config: pytest.Config) -> None:
    """Before the tests are imported, which ask for their numbers of examples."""
    gc.disable()  # until they are: next to nothing of what importing makes is garbage
    gc.set_threshold(100_000)
    settings.register_profile(
        "laserpath",
        deadline=None,
        print_blob=True,
        derandomize=bool(os.environ.get("CI")) or not _is_thorough(config),
        max_examples=sets.ALL_EXAMPLES if _is_thorough(config) else sets.QUICK_EXAMPLES,
    )
    settings.load_profile("laserpath")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what runs in the background like that, and then no command would heed Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # `nohup` leaves this ignored, and then no command would end with its terminal. Windows has no SIGHUP.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _is_thorough(config: pytest.Config) -> bool:
    return sets.thorough(config.getoption("markexpr"))


def _refuse(one: object, other: object) -> NoReturn:
    raise AssertionError("an operator on geometry has no grid: use base.overlay, in tests shapes.py")


for _operator in ("__and__", "__or__", "__sub__", "__xor__"):
    setattr(BaseGeometry, _operator, _refuse)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before `-m` chooses."""
    for item in items:
        sets.sort(item, thorough=_is_thorough(config))
    sets.longest_first(items)


def pytest_collection_finish() -> None:
    """What lives until the end, modules and thousands of tests, is not looked through for garbage again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def alone() -> Iterator[None]:
    """No workers, which take seconds to start."""
    from laserpath.base.compute import runtime  # with Taichi, which most tests do not need

    runtime.use_processors(1)
    yield
    runtime.use_processors(None)


@pytest.fixture(scope="session")
def need() -> Callable[[str], str]:
    """The path of a program beside Python; who asks for this is run by `make test-tools` alone."""
    return tools.path_of

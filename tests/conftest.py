"""For all tests: which set each is in, the programs that some need, and how hypothesis tries.

A random test that fails prints how to have its example again: `@reproduce_failure`, and under the name of
the test the seed for `--hypothesis-seed`. The CI has the same examples on every run. No test has a deadline.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import sets
import tools
from hypothesis import settings

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `-m` chooses."""
    for item in items:
        sets.sort(item)


@pytest.fixture(scope="session")
def need() -> Callable[[str], str]:
    """The path of a program beside Python; who asks for this is run by `make test-tools` alone."""
    return tools.path_of

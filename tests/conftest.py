"""For all tests: which set each is in, the programs that some need, and how hypothesis tries.

A random test that fails prints how to have its example again: `@reproduce_failure`, and under the name of
the test the seed for `--hypothesis-seed`. The CI has the same examples on every run. No test has a deadline.

Geometry has no operators here: `a - b` has no grid, and is wrong by whole areas where edges almost meet.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NoReturn

import pytest
import sets
import tools
from hypothesis import settings
from shapely.geometry.base import BaseGeometry

from laserpath.report import album

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def _refuse(one: object, other: object) -> NoReturn:
    raise AssertionError("an operator on geometry has no grid: use base.overlay, in tests shapes.py")


for _operator in ("__and__", "__or__", "__sub__", "__xor__"):
    setattr(BaseGeometry, _operator, _refuse)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `-m` chooses."""
    for item in items:
        sets.sort(item)
    sets.longest_first(items)


@pytest.fixture(scope="session")
def need() -> Callable[[str], str]:
    """The path of a program beside Python; who asks for this is run by `make test-tools` alone."""
    return tools.path_of


@pytest.fixture
def unillustrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without their pictures, which take most of the time of a small plan: for tests of all else.

    The pictures are drawn in tests/report, and under `slow` for every command of the docs.
    """
    for name in ("maps", "enlarged", "errors", "distributions", "courses", "unprintable"):
        monkeypatch.setattr(album, name, lambda *_: ())

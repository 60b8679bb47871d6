"""The four sets of tests. Each test is in one of them, and `make test-all` is the first two.

no mark  `make test`         fast, with Python and what pip installs
slow     `make test-slow`    more than a few seconds
tools    `make test-tools`   with programs beside Python: tools.PACKAGES, and the readers of G-code
parity   `make test-parity`  with PyTorch and JAX
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

MARKS = ("slow", "tools", "parity")


def sort(item: pytest.Item) -> None:
    """Put a test that asks for the fixture `need` among the tools; refuse one that is in two sets."""
    if "need" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("tools"):
        item.add_marker(pytest.mark.tools)
    only_one(item.nodeid, {mark.name for mark in item.iter_markers()})


def only_one(name: str, marks: Iterable[str]) -> None:
    """Raise UsageError if the marks put a test into two sets, where it would run in none or twice."""
    found = [mark for mark in MARKS if mark in marks]
    if len(found) > 1:
        raise pytest.UsageError(f"{name} is marked {' and '.join(found)}: a test is in one set")

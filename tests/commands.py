"""The command line, as tests run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from laserpath.cli import main

Captured = pytest.CaptureFixture[str]
Answer, Refused = Callable[..., Any], Callable[..., str]
"""Of the fixtures of the same names in tests/cli/conftest.py."""


def run(*arguments: str) -> int:
    """The exit code of `laserpath` with these arguments, in this process."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)

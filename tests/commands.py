"""The command line, as tests run it."""

from __future__ import annotations

import pytest

from laserpath.cli import main


def run(*arguments: str) -> int:
    """The exit code of `laserpath` with these arguments, in this process."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)

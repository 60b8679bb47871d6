"""What a command says, for tests of the command line."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from commands import Answer, Captured, Refused, run


@pytest.fixture
def answer(capsys: Captured) -> Answer:
    """What a command that succeeds prints with --json, and nothing else."""

    def of(*arguments: str) -> Any:
        capsys.readouterr()
        assert run(*arguments, "--json") == 0
        return json.loads(capsys.readouterr().out)

    return of


@pytest.fixture
def refused(capsys: Captured) -> Refused:
    """What a command says of bad input on stderr, without where help is; on stdout it says nothing."""

    def of(*arguments: str) -> str:
        capsys.readouterr()
        assert run(*arguments) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "Traceback" not in printed.err
        return re.sub(r"^See .*\n", "", printed.err, flags=re.M)

    return of

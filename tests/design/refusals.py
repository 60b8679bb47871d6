"""What a user reads about a file that is not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from laserpath.base.errors import InputError
from laserpath.design import load


def refusal(path: Path, content: bytes, **how: Any) -> str:
    """The message about a file of that content: one sentence that names it, without what raised it."""
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        load(path, **{"tolerance": 0.002, **how})
    message = str(error.value)
    assert str(path) in message
    assert "\n" not in message.strip() and len(message) < 1000, message
    assert error.value.__cause__ is None
    return message

"""Programs that some tests drive: a browser, Inkscape, a slicer. Who has them runs those tests.

Where the environment says TOOLS_REQUIRED=1, as the CI does after installing them, a missing one fails.
"""

from __future__ import annotations

import os
import shutil

import pytest

PACKAGES = {
    "gerbv": "gerbv",
    "chromium": "chromium",
    "inkscape": "inkscape",
    "prusa-slicer": "prusa-slicer",
    "broadwayd": "libgtk-3-bin",
}
"""Program → the Debian package that brings it."""


def need(program: str) -> str:
    """The path of a program; without it the test is skipped with a sentence, or fails."""
    path = shutil.which(program)
    if path is None:
        sentence = f"{program} is not here: on Debian, apt install {PACKAGES.get(program, program)}"
        if os.environ.get("TOOLS_REQUIRED") == "1":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return path

"""Programs beside Python that `make test-tools` drives: a browser, Inkscape, a slicer."""

from __future__ import annotations

import shutil

import pytest

PACKAGES = {
    "gerbv": "gerbv",
    "chromium": "chromium",
    "inkscape": "inkscape",
    "prusa-slicer": "prusa-slicer",
    "broadwayd": "libgtk-3-bin",
}
"""Program → the Debian package that brings it; `make tools` installs them all."""


def path_of(program: str) -> str:
    """Where a program is; a test that needs one fails without it, with a sentence."""
    path = shutil.which(program)
    if path is None:
        sentence = f"{program} is not in the PATH; on Debian, package {PACKAGES[program]}: `make tools`"
        pytest.fail(sentence, pytrace=False)
    return path

"""Hints for typing errors: the known word nearest to an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` with the known words nearest to `word`, or nothing."""
    by_lower = {k.lower(): k for k in known}
    # A word that is the beginning of a known one most likely lacks its end, a unit for instance.
    near = [k for k in by_lower if k.startswith(word.lower())] if len(word) > 2 else []
    near = near or difflib.get_close_matches(word.lower(), by_lower, n=2)
    return f"; did you mean {' or '.join(by_lower[k] for k in near)}?" if near else ""

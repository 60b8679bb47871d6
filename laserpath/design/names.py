"""The error for a layer or cell that a file does not have."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from laserpath.base.errors import InputError

LISTED = 20  # names in the sentence


def unknown(kind: str, name: str, known: Sequence[str]) -> InputError:
    """The error for an unknown name, with the known names and the nearest. kind: 'layer', 'cell'."""
    if not known:
        return InputError(f"{kind} {name!r} is unknown: the file has no {kind}s")
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    listed = ", ".join(map(repr, known[:LISTED]))
    by_lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=2)
    hint = f"; did you mean {' or '.join(repr(by_lower[k]) for k in near)}?" if near else ""
    return InputError(f"{kind} {name!r} is unknown; known: {listed}{more}{hint}")

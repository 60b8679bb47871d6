"""The error for a layer or cell that a file does not have."""

from __future__ import annotations

from collections.abc import Sequence

from laserpath.base.errors import InputError, did_you_mean

LISTED = 20  # names in the sentence


def unknown(kind: str, name: str, known: Sequence[str]) -> InputError:
    """The error for an unknown name, with the known names and the nearest. kind: 'layer', 'cell'."""
    if not known:
        return InputError(f"{kind} {name!r} is unknown: the file has no {kind}s")
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    listed = ", ".join(map(repr, known[:LISTED]))
    near = did_you_mean(name, known, repr)
    return InputError(f"{kind} {name!r} is unknown; known: {listed}{more}{near}")

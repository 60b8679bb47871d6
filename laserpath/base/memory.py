"""A limit of this process's memory, for scripts that `isolated` runs; it needs the standard library only."""

from __future__ import annotations

import contextlib


def limit(most: int) -> None:
    """Limit the memory to `most` bytes, since a short file can request any amount: failing is better than
    swapping.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    # The limit may be lower already, and cannot be raised.
    allowed = [most for most in resource.getrlimit(resource.RLIMIT_AS) if most != resource.RLIM_INFINITY]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(
            resource.RLIMIT_AS, (min([most, *allowed]), resource.getrlimit(resource.RLIMIT_AS)[1])
        )

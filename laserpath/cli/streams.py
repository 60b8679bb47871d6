"""stdout and stderr that may fail, as on a full disk or when the reader has gone, without ending the command.

What a command computes and writes does not depend on whether somebody reads about it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any


class Stream:
    """A text stream that drops everything after its first failure. error: that failure."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        """Write, if the stream still works."""
        if self.error is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._fail(error)
        return len(text)

    def flush(self) -> None:
        """Flush, if the stream still works."""
        if self.error is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._fail(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def lost(self) -> OSError | None:
        """The failure, unless it is that the reader has gone: who pipes into `head` wants no more."""
        return None if self.error is None or self.error.errno == errno.EPIPE else self.error

    def _fail(self, error: OSError) -> None:
        """Note it, and send what is buffered nowhere: Python would try to write it once more at its end."""
        self.error = error
        with contextlib.suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def forgiving() -> Iterator[Stream | None]:
    """Put such streams in the place of stdout and stderr; yield stdout's, None if there is no stdout."""
    before = sys.stdout, sys.stderr
    out, err = (None if stream is None else Stream(stream) for stream in before)
    sys.stdout, sys.stderr = out, err
    try:
        yield out
    finally:
        for stream in (out, err):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before

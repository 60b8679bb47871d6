"""Files and streams are read whole, up to a limit."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import pytest

from gcode.errors import figure
from gcode.files import OversizeError, limited, plain

LIMIT = 512 << 20


class Trickle(io.RawIOBase):
    """A pipe: gives a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part, self.left = self.left[: min(len(buffer), 1000)], self.left[min(len(buffer), 1000) :]
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("length", [0, 1, 99, 100])
@pytest.mark.parametrize("likely", [0, 1, 100, 10**6])
def test_a_stream_within_the_limit_is_read_whole(length: int, likely: int) -> None:
    data = bytes(range(length))
    assert limited(io.BytesIO(data), 100, likely) == data


@pytest.mark.parametrize("likely", [0, 1, 100, 10**6])
def test_a_longer_stream_is_refused(likely: int) -> None:
    endless = io.BytesIO(bytes(10**5))
    with pytest.raises(OversizeError, match="has more than 100 bytes"):
        limited(endless, 100, likely)
    assert endless.tell() == 101


def test_a_pipe_is_read_to_its_end() -> None:
    data = bytes(range(250)) * 10_000
    assert limited(io.BufferedReader(Trickle(data)), LIMIT) == data


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    """It took the limit, of address space at least, and failed where a process may have no more."""
    path = tmp_path / "small"
    path.write_bytes(b"G21\n")
    tracemalloc.start()
    try:
        assert plain(path, LIMIT) == limited(io.BytesIO(b"G21\n"), LIMIT) == b"G21\n"
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (100.4, 2, "100"), (0.000012345, 3, "0.0000123"), (1234.5, 3, "1230"), (12345.6, 3, "12 300"),
        (4e7, 2, "40 000 000"), (-50, 3, "-50"), (0, 3, "0"), (float("inf"), 3, "inf"),
        (1.2e14, 3, "120 000 000 000 000"), (3.54e101, 3, "3.54e+101"), (-1e-30, 3, "-1e-30"),
    ],
)  # fmt: skip
def test_numbers_for_people_have_no_exponent(value: float, digits: int, text: str) -> None:
    """A note said "more at 1e+02 mm/s". Doubts about a dose of 1e300 had 1700 characters."""
    assert figure(value, digits) == text

"""Array types, read-only copies, runs of what is true, tiles, means of squares of pixels, freed memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcode.compiled import njit
from laserpath.base.errors import InputError

_MMAP_THRESHOLD, _TRIM_THRESHOLD, _ARENA_MAX = -3, -1, -8
"""glibc's numbers: of the size from which a block has memory of its own, of what may be free at the end."""

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]


def frozen_array(
    values: ArrayLike, name: str, shape: tuple[int | None, ...], dtype: type[np.floating[Any]] = np.float64
) -> Floats:
    """A read-only copy of `values` of a type, checked for shape (None: any) and finiteness.

    An array that is that already, and owns its values, is taken as it is.
    """
    try:
        given = np.asarray(values)
        done = given.dtype == dtype and given.flags.owndata and not given.flags.writeable
        array = given if done else np.array(given, dtype=None if given.dtype.kind == "c" else dtype)
    except (TypeError, ValueError) as error:  # words, or rows of different lengths
        raise InputError(f"{name} is not an array of numbers: {error}") from error
    not_complex(array, name)
    if array.ndim != len(shape) or any(
        n is not None and n != m for n, m in zip(shape, array.shape, strict=True)
    ):
        needed = ", ".join("any" if n is None else str(n) for n in shape)
        needed = f"({needed},)" if len(shape) == 1 else f"({needed})"
        raise InputError(f"{name} has shape {array.shape}, but {needed} is needed")
    if bad := int((~np.isfinite(array)).sum()):
        raise InputError(f"{name} is not finite in {bad} of {array.size} values")
    array.flags.writeable = False
    return array


def not_complex(values: ArrayLike, name: str) -> NDArray[Any]:
    """The values as an array. Raises InputError if they are complex: NumPy would drop a part of each."""
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise InputError(f"{name} is complex, but must have real values")
    return array


def runs(on: Bools) -> list[tuple[int, int]]:
    """(first, last + 1) of each run of true values (N,), such as the exposing moves of a stroke."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def ends_of(moves: Bools) -> Bools:
    """(N+1,) whether each vertex is an end of a move that is true (N,)."""
    return np.append(moves, False) | np.append(False, moves)


def widened(on: Bools, reach: int) -> Bools:
    """(N,) whether something true (N,) is at most `reach` places away."""
    around = np.convolve(on, np.ones(2 * reach + 1))[reach : reach + len(on)]
    return np.asarray(around > 0.5)


def spans_around(numbers: Indices, reach: int, count: int) -> list[tuple[int, int]]:
    """Spans (first, last + 1) of range(count): all that is at most `reach` from one of the rising numbers."""
    if not len(numbers):
        return []
    new = np.flatnonzero(np.diff(numbers) > 2 * reach + 1)
    first = np.maximum(numbers[np.append(0, new + 1)] - reach, 0)
    last = np.minimum(numbers[np.append(new, len(numbers) - 1)] + reach + 1, count)
    return list(zip(first.tolist(), last.tolist(), strict=True))


def by_group(group: Indices, count: int) -> tuple[Indices, Indices]:
    """What is in groups (N,) of range(count), group by group: its numbers (N,), which rise in each group.

    And (count + 1,) where the numbers of each begin, and the end.
    """
    start = np.append(0, np.cumsum(np.bincount(group, minlength=count)))
    return np.argsort(group, kind="stable"), start


def by_cell(low: Floats, high: Floats, counts: tuple[int, int]) -> tuple[Indices, Indices]:
    """Numbers of N boxes of cells, cell by cell, which rise in each; (cells + 1,) where those of each begin.

    low, high: (N, 2) row and column of a box's first and last cell.  counts: cells (rows, columns); what is
    beyond them is left out.
    """
    start = np.zeros(counts[0] * counts[1] + 1, np.int64)
    _count_cells(low, high, counts, start)
    order = np.empty(np.cumsum(start, out=start)[-1], np.int64)
    _fill_cells(low, high, counts, start[:-1].copy(), order)
    return order, start


@njit
def _cells(low: Floats, high: Floats, k: int, counts: tuple[int, int]) -> tuple[int, int, int, int]:
    """First and last row, first and last column of what is number k."""
    rows, columns = counts
    return (
        int(max(low[k, 0], 0)), int(min(high[k, 0], rows - 1)),
        int(max(low[k, 1], 0)), int(min(high[k, 1], columns - 1)),
    )  # fmt: skip


@njit
def _count_cells(low: Floats, high: Floats, counts: tuple[int, int], start: Indices) -> None:
    """Add to start[1:] how many are in each cell."""
    for k in range(len(low)):
        top, bottom, left, right = _cells(low, high, k, counts)
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                start[row * counts[1] + column + 1] += 1


@njit
def _fill_cells(low: Floats, high: Floats, counts: tuple[int, int], free: Indices, order: Indices) -> None:
    """Write the numbers of those in each cell, whose first free place is `free`."""
    for k in range(len(low)):
        top, bottom, left, right = _cells(low, high, k, counts)
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                order[free[row * counts[1] + column]] = k
                free[row * counts[1] + column] += 1


def joined(spans: Sequence[tuple[int, int]]) -> tuple[Indices, Indices]:
    """Spans (first, last + 1) of a path's moves as one path, by their numbers in the whole.

    Its moves (n,), −1 for those that join two spans, and its vertices (n+1,).
    """
    moves = np.concatenate([np.append(np.arange(a, b), -1) for a, b in spans])[:-1]
    return moves, np.concatenate([np.arange(a, b + 1) for a, b in spans])


def picked(values: Any, index: Indices, other: Any) -> Any:
    """(n, …) the values with these numbers; `other` where the number is −1."""
    found = values[np.maximum(index, 0)]
    found[index < 0] = other
    return found


Window = tuple[slice, slice]

_TILE = 4096
"""Pixels along a tile: more take more memory, fewer more time for rims."""


def tiles(shape: tuple[int, ...], rim: int) -> Iterator[tuple[Window, Window, Window]]:
    """The tiles of a picture (rows, columns): each, the same with `rim` pixels around, and where it is there.

    What takes several arrays of the size of a large picture is done tile by tile.
    """
    for row, column in product(*(range(0, n, _TILE) for n in shape)):
        top, left = max(row - rim, 0), max(column - rim, 0)
        core = slice(row, row + _TILE), slice(column, column + _TILE)
        around = slice(top, row + _TILE + rim), slice(left, column + _TILE + rim)
        there = slice(row - top, row - top + _TILE), slice(column - left, column - left + _TILE)
        yield core, around, there


def block_means(field: Floats | Bools, size: int) -> Floats:
    """The means of squares of size × size pixels (rows, columns); what is beyond the field counts as 0."""
    whole = np.pad(field, [(0, -n % size) for n in field.shape])
    rows, columns = (n // size for n in whole.shape)
    means: Floats = whole.reshape(rows, size, columns, size).mean(axis=(1, 3))
    return means


def return_large_blocks() -> None:
    """Let memory of 8 MiB and more go back to the system as soon as it is freed, under glibc.

    Its own limit rises to 32 MiB with what is freed; what is below stays in the heap, among what is in use.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library has no such function
        library = ctypes.CDLL(None)
        # One heap for all threads: what one of them frees another one takes.
        library.mallopt(_ARENA_MAX, 1)
        library.mallopt(_MMAP_THRESHOLD, 8 << 20)
        # Which would otherwise stay at 128 KiB: each field would have its memory anew.
        library.mallopt(_TRIM_THRESHOLD, 128 << 20)


def return_freed(above: float = 1.0) -> None:
    """Give the system back what is free in the heap of a process above so many GiB, under glibc.

    Of one that plans many fields it is up to a third. To have it again takes time: a smaller one keeps it.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        if pages * os.sysconf("SC_PAGE_SIZE") > above * (1 << 30):
            ctypes.CDLL(None).malloc_trim(0)

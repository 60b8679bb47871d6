"""Damaged files: a few bytes of a good file changed, dropped, doubled or swapped, or the end cut off."""

from __future__ import annotations

import random
from collections.abc import Callable

from laserpath.base.errors import InputError
from laserpath.design.reading import Reading
from laserpath.types import Design

_WORDS = (b"0", b"-1", b"1e300", b"1e999", b"nan", b"inf", b"999999999999", b"255", b"65535", b"")
_SIGNS = b'0123456789-.eE*%XYDGM,$()[]{}"\n\0\xff'


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The file with one or several errors in it."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        if len(out) > 2:
            out = _once(rng, out)
    return bytes(out)


def _once(rng: random.Random, data: bytearray) -> bytearray:
    i, j = rng.randrange(len(data)), rng.randrange(len(data))
    kind = rng.randrange(7)
    if kind == 0:
        data[i] = rng.randrange(256)
    elif kind == 1:
        del data[i : i + rng.choice((1, 2, 5, 50))]
    elif kind == 2:
        data[i:i] = data[j : j + rng.choice((1, 4, 30))]
    elif kind == 3:
        data[i] = rng.choice(_SIGNS)
    elif kind == 4:
        data[i : i + 1] = rng.choice(_WORDS)
    elif kind == 5 and rng.random() < 0.2:
        return data[:i]
    else:
        data[i], data[j] = data[j], data[i]
    return data


def refusal(read: Callable[[bytes, str, Reading], Design], data: bytes, reading: Reading) -> str:
    """The message with which a file is refused; '' if it is read. Other exceptions pass through."""
    try:
        read(data, "fuzz", reading)
    except InputError as error:
        return str(error)
    return ""

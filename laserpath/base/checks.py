"""Checks of user input: an error is one sentence with the name, the value and the limit."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from laserpath.base.arrays import Floats, not_complex
from laserpath.base.errors import InputError, did_you_mean

_PRECISIONS = ("f32", "f64")


def number(name: str, value: object) -> None:
    """Raise unless the value is a number, or a pair of them."""
    if np.asarray(value).dtype.kind not in "biuf":
        needed = "numbers" if isinstance(value, (tuple, list)) else "a number"
        raise InputError(f"{name} is {value!r}, but must be {needed}")


def a_list(name: str, values: object, of: str) -> None:
    """Raise unless the values can be gone through one by one. of: what they must be, for the sentence."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{name} is of type {type(values).__name__}, but must be a list of {of}")


def number_list(name: str, values: object) -> None:
    """Raise unless the values are a list of numbers, which may be empty, or an array with one axis."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        array = np.array(None)
    if array.ndim != 1:
        raise InputError(f"{name} is {values!r}, but must be a list of numbers, even of a single one: [1.0]")
    number(name, values)


def positive(owner: object, *names: str) -> None:
    """Raise unless each named field of `owner` (a number or a pair) is finite and above zero."""
    for name in names:
        value, full = getattr(owner, name), f"{type(owner).__name__.lower()} {name}"
        number(full, value)
        if not (np.isfinite(value).all() and np.all(np.asarray(value) > 0)):
            raise InputError(f"{full} is {value}, but must be above 0")


def whole(owner: object, *names: str) -> None:
    """Raise unless each named field of `owner` is a whole number."""
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise InputError(f"{name} is {value}, but must be a whole number")


def whole_between(name: str, value: object, low: int, high: int) -> None:
    """Raise unless the value is a whole number within its limits."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise InputError(f"{name} is {value}, but must be a whole number between {low} and {high}")


def one_of(what: str, value: object, known: Collection[str]) -> None:
    """Raise, with the nearest of those known, unless the value is one of them; '' is not named."""
    if value not in known:
        near = did_you_mean(str(value), known)
        raise InputError(f"{what} {value!r} is unknown; known: {', '.join(filter(None, known))}{near}")


def known_precision(precision: str) -> None:
    """Raise unless it is the precision of an engine."""
    one_of("precision", precision, _PRECISIONS)


def on_cpu_only(what: str, device: str) -> None:
    """Raise unless the device is 'cpu'. what: subject and verb, such as 'strokes are painted'."""
    if device != "cpu":
        raise InputError(f"device is {device!r}, but {what} on the 'cpu' only")


def between(owner: object, **limits: tuple[float, float]) -> None:
    """Raise unless each named field of `owner` is a number within its limits."""
    for name, (low, high) in limits.items():
        number(name, getattr(owner, name))
        if not low <= getattr(owner, name) <= high:
            raise InputError(f"{name} is {getattr(owner, name)}, but must be between {low:g} and {high:g}")


def finite_array(
    values: ArrayLike, name: str, shape: tuple[int, ...], dtype: type[np.floating[Any]] | None = None
) -> Floats:
    """The values, contiguous, in `dtype` (None: their own). Raise unless finite and of that shape."""
    array: Floats = np.ascontiguousarray(not_complex(values, name), dtype=dtype)
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}, but must have {shape}")
    # nan and inf persist in a sum, which is quicker than a look at every value; it may itself overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    if not np.isfinite(total) and (bad := int((~np.isfinite(array)).sum())):
        raise InputError(f"{name} is not finite in {bad} values")
    return array


def check_real(name: str, array: Any) -> None:
    """Raise unless an array, NumPy's, PyTorch's or JAX's, holds numbers that can have derivatives.

    Bytes are refused: they are mostly a picture's, of 0 to 255, where 0 to 1 is meant.
    """
    dtype = str(array.dtype).removeprefix("torch.")
    if dtype.startswith("complex"):
        raise InputError(f"{name} is of dtype {array.dtype}, but must be real")
    if dtype == "uint8":
        raise InputError(
            f"{name} is of dtype {array.dtype}, but must be real; divide the values of a picture by 255"
        )

"""Numbers with units, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laserpath.base.errors import InputError
from laserpath.base.quantities import DOSE, LENGTH, NUMBER, SPEED, convert, parse


def millimetres(text: str) -> float:
    return convert(*parse(text, LENGTH, "mm"), LENGTH)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", 0.1), ("0.1mm", 0.1), ("100um", 0.1), ("100 µm", 0.1), ("100 μm", 0.1), ("405nm", 0.000405),
        (" .5 MM ", 0.5), ("1e-1mm", 0.1), ("2.cm", 20.0), ("1in", 25.4), ("-3", -3.0),
    ],
)  # fmt: skip
def test_lengths(text: str, value: float) -> None:
    assert millimetres(text) == value


def test_conversion_is_correctly_rounded() -> None:
    assert convert(35, "mJ/cm2", DOSE) == 0.35  # 35 · 0.01 is 0.35000000000000003
    assert convert(*parse("35 mJ/cm²", DOSE, "mJ/cm2"), DOSE) == 0.35
    assert convert(3000, "mm/min", SPEED) == 50.0


@given(st.floats(1e-9, 1e9))
def test_every_length_is_the_same_in_every_unit(value: float) -> None:
    assert millimetres(f"{value!r}") == value
    assert millimetres(f"{value!r}um") == pytest.approx(value / 1000, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("abc", "not a number with a unit"), ("", "not a number"), ("mm", "not a number"),
        ("1 2", "unknown unit '2'"),
        ("0.1miles", "unknown unit 'miles'; known: mm, um"),
        ("0x10", "unknown unit"),
        ("nan", "not a finite"), ("inf mm", "not a finite"), ("-Infinity", "not a finite"),
        ("1e9999", "unknown unit '9'"), ("1mm\n2", "not a number"), ("١mm", "not a number"),
    ],
)  # fmt: skip
def test_a_bad_quantity_is_quoted(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        millimetres(text)


@pytest.mark.parametrize("text", ["115%", "1.15x"])
def test_a_plain_number_has_no_unit_to_name(text: str) -> None:
    with pytest.raises(InputError, match=f"^'{text}' is not a number$"):
        parse(text, NUMBER, "")


def test_a_decimal_comma_is_refused() -> None:
    with pytest.raises(InputError, match="'1,15' has a decimal comma; write a point"):
        parse("1,15", NUMBER, "")
    with pytest.raises(InputError, match="decimal comma"):
        parse("0,1mm", LENGTH, "mm")


def test_a_number_too_large_to_hold() -> None:
    with pytest.raises(InputError, match="too large"):
        millimetres("1e999")

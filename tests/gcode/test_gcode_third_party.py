"""Other people's readers see in our programs what is in our moves: the same box, length and range of power.

`tests/gcode/readers/fetch` brings them; `readers.third_party` says what each of them can tell.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import readers
from readers.compared import SUMMED, compare, here
from readers.programs import GOLDEN, dialect_of, random_moves

import gcode

READERS = [*SUMMED, "klipper"]
HERE = [(reader, name) for reader in READERS for name in here()[reader]]
pytestmark = pytest.mark.tools
each_reader = pytest.mark.parametrize(("reader", "name"), HERE)


@pytest.mark.parametrize("reader", READERS)
def test_each_reader_is_here(reader: str) -> None:
    if not here()[reader]:
        pytest.skip(readers.MISSING.format(f"the reader {reader}"))


NEEDS_G = ("gcodeparser", "printrun")
"""Those that see no motion in a line without a G word."""


@each_reader
def test_random_moves_in_every_dialect(name: str, reader: str) -> None:
    dialect = gcode.dialect(name)
    if reader in NEEDS_G:
        dialect = replace(dialect, modal=False)
    moves = random_moves(1, dialect)
    text = gcode.write(moves, dialect, dialect.power_max, header=["random moves, not G1 X777"])
    compare(reader, text, name)


@each_reader
def test_golden_files(name: str, reader: str) -> None:
    for path in GOLDEN:
        if dialect_of(path) == name:
            compare(reader, path.read_text(), name)

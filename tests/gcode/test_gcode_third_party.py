"""Other people's readers see in our programs what is in our moves: the same box, length and range of power.

`tests/gcode/readers/fetch` brings them; `readers.third_party` says what each of them can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import readers
from readers import third_party
from readers.programs import FAST, GOLDEN, dialect_of, random_moves
from readers.seen import Seen

import gcode

READERS: dict[str, tuple[Callable[[str], Seen], bool]] = {
    "gcodeparser": (third_party.gcodeparser, readers.has_python("gcodeparser")),
    "printrun": (third_party.printrun, readers.has_python("printrun")),
    "gcode-interpreter": (third_party.gcode_interpreter, bool(readers.node_modules("gcode-interpreter"))),
    "gcode-toolpath": (third_party.gcode_toolpath, bool(readers.node_modules("gcode-toolpath"))),
}

HERE = [name for name, (_, here) in READERS.items() if here]
pytestmark = pytest.mark.tools
each_reader = pytest.mark.parametrize("reader", HERE)


@pytest.mark.parametrize("name", READERS)
def test_each_reader_is_here(name: str) -> None:
    if name not in HERE:
        pytest.skip(readers.MISSING.format(f"the reader {name}"))


def ours(moves: gcode.Moves, full: float) -> Seen:
    """What is in the moves. full: the number of full power."""
    box = (*moves.xy[1:].min(axis=0).tolist(), *moves.xy[1:].max(axis=0).tolist())
    feeds = ~moves.rapid & ~moves.still
    power = moves.power[feeds] * full
    return Seen(box, moves.length[moves.rapid].sum(), moves.length[feeds].sum(), (power.min(), power.max()))


def assert_same(found: Seen, expected: Seen) -> None:
    """Within 10 nm, and the seven digits in which printrun keeps places."""
    assert found.box == pytest.approx(expected.box, rel=2e-7, abs=1e-5)
    assert found.rapid == pytest.approx(expected.rapid, rel=1e-6)
    assert found.feed == pytest.approx(expected.feed, rel=1e-6)
    if found.power is not None:
        assert found.power == pytest.approx(expected.power, rel=1e-9)


def compare(reader: str, text: str, name: str) -> None:
    dialect = gcode.dialect(name)
    moves = gcode.parse(text, dialect, dialect.power_max, start=(0.0, 0.0), rapid_speed=FAST)
    found = READERS[reader][0](text)
    if "SET_PIN" in dialect.power:  # none of them knows it
        found = replace(found, power=None)
    assert_same(found, ours(moves, dialect.power_max))


NEEDS_G = ("gcodeparser", "printrun")
"""Those that see no motion in a line without a G word."""


@each_reader
@pytest.mark.parametrize("name", sorted(gcode.DIALECTS))
def test_random_moves_in_every_dialect(name: str, reader: str) -> None:
    dialect = gcode.dialect(name)
    if reader in NEEDS_G:
        dialect = replace(dialect, modal=False)
    moves = random_moves(1, dialect)
    text = gcode.write(moves, dialect, dialect.power_max, header=["random moves, not G1 X777"])
    compare(reader, text, name)


@each_reader
@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_files(path: Path, reader: str) -> None:
    compare(reader, path.read_text(), dialect_of(path))

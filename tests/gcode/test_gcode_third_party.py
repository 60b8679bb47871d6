"""Other people's readers see in our programs what is in our moves: the same box, length and range of power.

`tests/gcode/readers/fetch` brings them; `readers.third_party` says what each of them can tell.

A plan of every sample in every dialect, header and all, as each real reader reads it.

Each sample is planned once, with a draft's settings; its path is written again for a machine of each dialect,
by the gate and with the header of any plan. LinuxCNC's and Klipper's readers must see every motion that we
see, the others the same box, lengths and powers (`readers.compared`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import readers
from readers.compared import SUMMED, compare, here
from readers.programs import GOLDEN, LONG_COMMENTS, dialect_of, random_moves

import gcode
import laserpath
from laserpath import Machine, Settings
from laserpath.config import profiles
from laserpath.machine.powers import energies, to_levels
from laserpath.machine.program import MachineProgram
from laserpath.planning import header

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


SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.svg"))
DRAFT = Settings(iterations=1, initial="contour", quality="draft", report="brief")
PROFILES = {profiles.machine(name).dialect: profiles.machine(name) for name in profiles.names("machine")}


def programs(sample: Path) -> dict[str, str]:
    """The program of a sample in each dialect."""
    plan = laserpath.plan(sample, settings=DRAFT)
    found = {}
    for name in gcode.DIALECTS:
        machine = PROFILES.get(name, Machine(dialect=name))
        process = replace(plan.process, machine=machine)
        comments = header(plan.design, process, plan.settings, plan.report.warnings)
        path = to_levels(energies(plan.solution.toolpath, process.spot), machine, process.spot)
        found[name] = MachineProgram.written(path, process, header=comments).text
    return found


def assert_read(texts: dict[str, str]) -> None:
    """Each reader that is here reads the texts of its dialects."""
    wrong = []
    for reader, names in here().items():
        for name in names:
            try:
                compare(reader, texts[name], name)
            except Exception as error:  # noqa: BLE001 - a reader may raise anything
                wrong.append(f"{name}, {reader}: {str(error).strip()[:300] or repr(error)}")
    assert not wrong, "\n".join(wrong)


@pytest.fixture(autouse=True)
def some_reader() -> None:
    if not any(here().values()):
        pytest.skip(readers.MISSING.format("a reader"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_every_sample_in_every_dialect(sample: Path) -> None:
    texts = programs(sample)
    for name, text in texts.items():
        assert "to plan this again" in text and text.count("\nG1 ") > 200, name
    assert_read(texts)


def test_long_comments_in_every_dialect() -> None:
    texts = {}
    for name, dialect in gcode.DIALECTS.items():
        moves = random_moves(1, dialect, rows=30)
        moves = replace(moves, comments=tuple((10, said) for said in LONG_COMMENTS.values()))
        texts[name] = gcode.write(moves, dialect, header=LONG_COMMENTS.values())
    assert_read(texts)


def test_lines_along_a_bed_in_every_dialect() -> None:
    """Z is a function of the place, as that of a bed that is tilted and twisted."""
    texts = {}
    for name, dialect in gcode.DIALECTS.items():
        moves = random_moves(2, dialect)
        x, y = moves.xy.T
        lines = np.where(moves.arc, gcode.Kind.LINE, moves.kind).astype(np.int8)
        moves = replace(moves, kind=lines, centre=None, z=0.003 * x - 0.002 * y + 1e-5 * x * y)
        texts[name] = gcode.write(moves, dialect, dialect.power_max)
        assert texts[name].count("Z") > 50, name
    assert_read(texts)

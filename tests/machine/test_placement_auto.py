"""Without --origin a design is placed on the machine, wherever its file has it, and one line reports it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import gdstk
import numpy as np
import pytest
import shapely
from builders import SPOT, design
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from sets import examples
from shapely import affinity

import laserpath
from laserpath.base.errors import InputError
from laserpath.design.arrange import Arrangement, arrange
from laserpath.machine.placement import place, placed
from laserpath.types import Design, Machine, Process, Resin, Settings

MACHINE = Machine(size=(30.0, 20.0))
BOX = shapely.box(2, 3, 4, 4)
PAGE = (1.0, 1.0, 11.0, 6.0)
POSITIVE = Resin(tone="positive")

BOARD = "%FSLAX46Y46*%\n%MOMM*%\n%ADD10C,0.4*%\nD10*\nX150000000Y-100000000D02*\nX150800000D01*\nM02*\n"
"""A track as KiCad writes it: y below zero, far from the corner of the sheet."""


def auto(made: Design, resin: Resin | None = None, offset: tuple[float, float] = (0.0, 0.0)):
    return placed(made, resin or Resin(), MACHINE, SPOT, "auto", offset)


def test_a_page_on_which_the_design_lies_on_the_machine_stays():
    placement = auto(Design(BOX, page=PAGE))
    assert placement.origin == "page"
    assert placement.notes == ()
    assert placement.design.bounds == (1, 2, 3, 3)


def test_a_page_larger_than_the_machine_stays_while_the_design_is_on_it():
    assert auto(Design(BOX, page=(0, 0, 297, 210))).origin == "page"


def test_a_page_that_puts_the_design_off_the_machine_is_dropped_with_a_note():
    placement = auto(Design(affinity.translate(BOX, 100, 0), name="plate", page=(0, 0, 297, 210)))
    assert placement.origin == "design"
    assert placement.design.bounds == (0, 0, 2, 1)
    (note,) = placement.notes
    assert "x = 102 to 104 mm, outside the machine's 0 to 30 mm" in note
    assert "--offset" in note


@given(dx=st.floats(-1e3, 1e3), dy=st.floats(-1e3, 1e3), positive=st.booleans())
@examples(30)
def test_without_a_page_its_corner_is_at_the_work_zero_wherever_it_was_drawn(dx, dy, positive):
    made = design(affinity.translate(BOX, dx, dy))
    placement = auto(made, POSITIVE if positive else None)
    assert placement.origin == "design"
    np.testing.assert_allclose(placement.design.bounds[:2], (0, 0), atol=1e-9)
    moved = positive or max(abs(dx + 2), abs(dy + 3)) > 1e-6
    assert len(placement.notes) == (1 if moved else 0)


def test_a_design_that_begins_at_zero_is_not_worth_a_line():
    assert auto(design(shapely.box(0, 0, 3, 3))).notes == ()


@pytest.mark.parametrize(
    ("by", "other"), [((5, 5), "--origin page keeps its own"), ((-9, 0), "--offset puts it elsewhere")]
)
def test_the_line_names_an_option_that_does_otherwise(by, other):
    (note,) = auto(design(affinity.translate(BOX, *by), name="board")).notes
    assert note.startswith("design 'board' names no page")
    assert other in note
    if "page keeps" in other:
        kept = place(design(affinity.translate(BOX, *by)), Resin(), MACHINE, SPOT, "page")
        assert kept.bounds == affinity.translate(BOX, *by).bounds


def test_an_offset_comes_on_top():
    assert auto(design(BOX), offset=(5, 3)).design.bounds == (5, 3, 7, 4)
    assert auto(Design(BOX, page=PAGE), offset=(5, 3)).design.bounds == (6, 5, 8, 6)


def test_an_offset_that_leads_off_the_machine_is_what_is_wrong():
    for made in (design(BOX), Design(BOX, page=PAGE)):
        with pytest.raises(InputError, match="use another --offset than 29,0 mm"):
            auto(made, offset=(29, 0))


def test_what_is_larger_than_the_machine_is_refused_with_its_size():
    for page in (None, PAGE):
        with pytest.raises(InputError, match="is 31 mm long in x, above the 30 mm of machine"):
            auto(Design(shapely.box(-5, 0, 26, 2), page=page))


def test_the_frame_of_a_positive_resist_must_fit_too():
    assert auto(design(shapely.box(0, 0, 29.3, 2)), POSITIVE).design.bounds[:2] == (0, 0)
    with pytest.raises(InputError, match=r"is 30\.1 mm long in x"):
        auto(design(shapely.box(0, 0, 29.5, 2)), POSITIVE)


def test_with_origin_page_the_design_stays_on_its_page():
    with pytest.raises(InputError, match="--origin design starts at its own corner"):
        place(design(affinity.translate(BOX, -9, 0)), Resin(), MACHINE, SPOT, "page")


@pytest.mark.parametrize("origin", ["page", "design", "centre"])
def test_a_given_origin_is_kept_without_a_note(origin):
    placement = placed(Design(BOX, page=PAGE), Resin(), MACHINE, SPOT, origin)
    assert (placement.origin, placement.notes) == (origin, ())


def chip(folder: Path) -> Path:
    library = gdstk.Library(unit=1e-6, precision=1e-9)
    library.new_cell("TOP").add(gdstk.rectangle((-900, -700), (900, 700)))
    library.write_gds(folder / "chip.gds")
    return folder / "chip.gds"


BRIEF = Settings(iterations=1, initial="contour", quality="draft", report="brief")


@pytest.mark.slow
def test_a_plan_holds_the_origin_in_effect(tmp_path: Path):
    plan = laserpath.plan(chip(tmp_path), Process(), replace(BRIEF, origin="auto"))
    assert plan.settings.origin == "design"
    assert plan.notes[0].startswith("chip.gds names no page")
    assert "Work zero: the design's lower-left corner" in plan.program
    assert 'origin = "design"' in plan.project


QUICK = ["plan", "board.gbr", "--iterations", "1", "--initial", "contour", "--report", "brief"]


@pytest.mark.slow
def test_a_board_below_zero_is_planned_with_no_option_and_again_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("board.gbr").write_text(BOARD)
    assert run(*QUICK, "-o", "p", "--save-project") == 0
    messages = capsys.readouterr().err
    assert messages.count("board.gbr names no page") == 1
    assert "--offset puts it elsewhere" in messages
    Path("p/board.gbr").write_text(BOARD)
    assert run("plan", "--project", "p/laserpath.toml", "-o", "again", "--json") == 0
    read = capsys.readouterr()
    assert json.loads(read.out)["notes"] == []
    assert "names no page" not in read.err
    assert Path("again/board.gcode").read_bytes() == Path("p/board.gcode").read_bytes()


@pytest.mark.slow
def test_a_program_is_simulated_where_its_plan_has_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("board.gbr").write_text(BOARD)
    assert run(*QUICK, "-q") == 0
    assert run("simulate", "board.gcode", "--design", "board.gbr", "--json") == 0
    read = capsys.readouterr()
    assert read.err.count("board.gbr names no page") == 1
    assert "lies elsewhere" not in read.err
    assert json.loads(read.out)["executed"]["iou"] > 0.5


def test_a_board_s_layer_is_not_mirrored_in_a_page_that_it_does_not_have():
    """Its file has the board's corner at (120, -95): mirrored, that offset is wrong."""

    def on(made: Design, origin: str, offset: tuple[float, float] = (0.0, 0.0)):
        return np.round(place(made, Resin(), MACHINE, SPOT, origin, offset).bounds, 9).tolist()

    drawn = Design(shapely.box(121, -94, 142.0004, -81), "back", file="b-B_Cu.gbr")
    back = arrange(drawn, Arrangement(mirror="x"))
    with pytest.raises(InputError, match="names no page to be mirrored in") as refused:
        on(back, "page", (-120, 95))
    assert "from (-142, -94) to (-121, -81) mm" in str(refused.value)
    assert "--origin own --offset 142.001,94mm" in str(refused.value)
    assert on(back, "own", (142.001, 94)) == [0.0006, 0, 21.001, 13]
    assert on(drawn, "page", (-120, 95)) == [1, 1, 22.0004, 14]
    on_a_page = replace(drawn, page=(120.0, -95.0, 145.0, -80.0))
    assert on(arrange(on_a_page, Arrangement(mirror="x")), "page") == [2.9996, 1, 24, 14], "in its page"

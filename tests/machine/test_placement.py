"""Tone, work zero, bounds, and the warning about details that are too fine.

Without --origin a design is placed on the machine, wherever its file has it, and one line reports it.
"""

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
from shapes import NODING

import laserpath
from laserpath.base.errors import InputError
from laserpath.design.arrange import Arrangement, arrange
from laserpath.machine.placement import placed, to_expose, too_fine
from laserpath.types import Design, Machine, Process, Resin, Settings

MACHINE = Machine(size=(30.0, 20.0))
BOX = shapely.box(2, 3, 4, 4)
PAGE = (1.0, 1.0, 11.0, 6.0)
POSITIVE = Resin(tone="positive")


def put(made, origin="page", resin=None, machine=MACHINE):
    return placed(made, resin or Resin(), machine, SPOT, origin).design


@pytest.mark.parametrize(
    ("origin", "bounds", "page"),
    [
        ("page", (1, 2, 3, 3), (0, 0, 10, 5)), ("design", (0, 0, 2, 1), (-1, -2, 9, 3)),
        ("centre", (-1, -0.5, 1, 0.5), (-2, -2.5, 8, 2.5)),
    ],
)  # fmt: skip
def test_the_work_zero_is_where_it_is_asked_for_without_a_note(origin, bounds, page):
    placement = placed(Design(BOX, page=PAGE), Resin(), MACHINE, SPOT, origin)
    assert (placement.origin, placement.notes) == (origin, ())
    assert (placement.design.bounds, placement.design.page) == (bounds, page)


def test_without_a_page_coordinates_stay():
    assert put(design(BOX)).bounds == BOX.bounds


@given(dx=st.floats(-100, 100), dy=st.floats(-100, 100), origin=st.sampled_from(["design", "centre"]))
def test_with_its_own_zero_it_does_not_matter_where_a_design_was_drawn(dx, dy, origin):
    moved = put(design(affinity.translate(BOX, dx, dy)), origin)
    np.testing.assert_allclose(moved.bounds, put(design(BOX), origin).bounds, atol=1e-9)


def test_positive_tone_exposes_the_page_around_the_design():
    exposed = to_expose(Design(BOX, page=PAGE), POSITIVE, SPOT)
    assert exposed.area.equals(shapely.box(*PAGE).difference(BOX, grid_size=NODING))


def test_positive_tone_without_a_page_exposes_a_frame():
    exposed = to_expose(design(BOX), POSITIVE, SPOT)
    np.testing.assert_allclose(exposed.bounds, (1.7, 2.7, 4.3, 4.3))
    assert exposed.area.area == pytest.approx(2.6 * 1.6 - 2)


def test_negative_tone_exposes_the_design_itself():
    made = design(BOX)
    assert to_expose(made, Resin(), SPOT) is made


def test_a_page_all_covered_leaves_nothing_to_a_positive_resist():
    with pytest.raises(InputError, match="covers its whole page, so a positive resist"):
        to_expose(Design(shapely.box(*PAGE), page=PAGE), POSITIVE, SPOT)


@pytest.mark.parametrize(
    ("box", "origin", "sentence"),
    [
        ((0, 0, 31, 1), "page", r"is 31 mm long in x, above the 30 mm of machine"),
        ((0, 0, 1, 25), "centre", r"is 25 mm long in y, above the 20 mm of machine"),
        (
            (-1, 0, 5, 5),
            "page",
            r"reaches from x = -1 to 5 mm, outside the machine's 0 to 30 mm; --origin design starts",
        ),
        ((0, 17, 5, 22), "page", r"reaches from y = 17 to 22 mm, outside the machine's 0 to 20 mm"),
    ],
)
def test_a_design_that_does_not_fit_is_refused_in_a_sentence(box, origin, sentence):
    with pytest.raises(InputError, match=sentence):
        put(design(shapely.box(*box)), origin)


@pytest.mark.parametrize("origin", ["page", "design", "centre"])
def test_the_whole_work_area_may_be_used(origin):
    assert put(design(shapely.box(0, 0, 30, 20)), origin).size == (30, 20)


def test_a_fine_line_is_named_with_its_place():
    made = design(shapely.box(0, 0, 1, 1), shapely.box(2, 0, 2.03, 1))
    (sentence,) = too_fine(made, SPOT)
    assert "1 feature narrower than 0.05 mm" in sentence
    assert "(2.015, 0.500)" in sentence


def test_a_fine_gap_is_named_with_its_place():
    (sentence,) = too_fine(design(shapely.box(0, 0, 1, 1), shapely.box(1.03, 0, 2, 1)), SPOT)
    assert "1 gap narrower than" in sentence
    assert "(1.015, 0.500)" in sentence


def test_islands_and_holes_count_however_small():
    island, hole = shapely.box(3, 3, 3.005, 3.005), shapely.box(0.5, 0.5, 0.505, 0.505)
    features, gaps = too_fine(
        design(shapely.box(0, 0, 1, 1).difference(hole, grid_size=NODING), island), SPOT
    )
    assert "1 feature narrower" in features and "(3.002, 3.002)" in features.replace("3.003", "3.002")
    assert "1 gap narrower" in gaps


@given(angle=st.floats(0, 90), width=st.floats(0.12, 0.5))
def test_a_coarse_slanted_or_curved_design_is_no_cause_for_warnings(angle, width):
    bar = affinity.rotate(shapely.box(0, 0, 2, width), angle)
    assert too_fine(design(bar), SPOT) == ()
    bent = shapely.LineString([(0, 0), (1, 0.7), (2, 0)]).buffer(width / 2, quad_segs=32)
    assert too_fine(design(affinity.rotate(bent, angle)), SPOT) == ()
    assert too_fine(design(shapely.Point(0, 0).buffer(width, quad_segs=32)), SPOT) == ()


@given(angle=st.floats(0, 90))
def test_sharp_tips_of_coarse_shapes_may_be_named_but_only_there(angle):
    """A right-angled corner is not too fine at any angle."""
    assert too_fine(design(affinity.rotate(shapely.box(0, 0, 1, 1), angle)), SPOT) == ()


def test_the_spot_decides_what_is_fine():
    from laserpath.types import Spot

    line = design(shapely.box(0, 0, 0.03, 1))
    assert too_fine(line, SPOT)
    assert not too_fine(line, Spot(fwhm=0.05))


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
        kept = placed(design(affinity.translate(BOX, *by)), Resin(), MACHINE, SPOT, "page").design
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
        placed(design(affinity.translate(BOX, -9, 0)), Resin(), MACHINE, SPOT, "page")


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
    assert run("simulate", "board.gcode", "--design", "board.gbr", "--origin", "auto", "--json") == 0
    read = capsys.readouterr()
    assert read.err.count("board.gbr names no page") == 1
    assert "lies elsewhere" not in read.err
    found = json.loads(read.out)["executed"]["iou"]
    assert found > 0.5
    assert run("simulate", "board.gcode", "--design", "board.gbr", "--json") == 0
    read = capsys.readouterr()
    assert "with the settings in the head of board.gcode" in read.err
    assert json.loads(read.out)["executed"]["iou"] == found


def test_a_board_s_layer_is_not_mirrored_in_a_page_that_it_does_not_have():
    """Its file has the board's corner at (120, -95): mirrored, that offset is wrong."""

    def on(made: Design, origin: str, offset: tuple[float, float] = (0.0, 0.0)):
        return np.round(placed(made, Resin(), MACHINE, SPOT, origin, offset).design.bounds, 9).tolist()

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

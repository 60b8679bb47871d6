"""Marks found in a drawing by their shape, layer or place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import design
from shapes import minus

from laserpath.base.errors import InputError
from laserpath.design.alignment import COLUMNS
from laserpath.design.marks import DrawnMark, drills, find_marks, table
from laserpath.types import Design

CORNERS = [(2, 2), (28, 2), (28, 18), (2, 18)]
DISCS = [shapely.Point(x, y).buffer(0.5, quad_segs=16) for x, y in CORNERS]
BOARD = design(
    *DISCS, shapely.Point(15, 10).buffer(0.5, quad_segs=16), shapely.box(8, 5, 13, 9), name="board"
)

DRILL = """M48
METRIC,TZ
T1C0.800
T2C3.200
%
G90
T1
X10.0Y10.0
X12.0Y10.0
T2
X3.0Y3.0
X97.0Y3.0
X97.0Y67.0
X3.0Y67.0
M30
"""


def layer(name: str) -> Design:
    return design(shapely.box(0, 0, 2, 2), shapely.box(10, 0, 12, 2), name=name.replace("/", "-"))


def find(*which: str, drawn: Design = BOARD, most: int = 4) -> tuple[DrawnMark, ...]:
    return find_marks(which, drawn, layer, most)


def test_discs_of_a_size_are_marks_and_those_far_apart_are_taken() -> None:
    """Counter-clockwise from the lower left; the one in the middle is the nearest to all others."""
    marks = find("round:1mm")
    assert [mark.name for mark in marks] == ["M1", "M2", "M3", "M4"]
    assert np.array([mark.xy for mark in marks]) == pytest.approx(np.array(CORNERS, dtype=float))
    assert len(find("round:1mm", most=9)) == 5
    assert {find("round:1000um", most=2)[k].xy for k in (0, 1)} == {marks[0].xy, marks[2].xy}


def test_round_holes_are_marks() -> None:
    plate = minus(shapely.box(0, 0, 30, 20), *DISCS, shapely.box(10, 8, 11, 9))
    marks = find("hole:1mm", drawn=design(plate))
    assert len(marks) == 4
    assert marks[2].xy == pytest.approx((28, 18))
    with pytest.raises(InputError, match="there are no round parts"):
        find("round:1mm", drawn=design(plate))


def test_drills_of_a_size_are_marks(tmp_path: Path) -> None:
    (tmp_path / "board.drl").write_text(DRILL)
    drawn = drills(tmp_path / "board.drl")
    assert drawn is not None
    places = np.array([mark.xy for mark in find("drill:3.2mm", drawn=drawn)])
    assert places == pytest.approx(np.array([(3.0, 3), (97, 3), (97, 67), (3, 67)]))
    with pytest.raises(
        InputError, match=r"no mark of 'board' is drill:1mm; there are round holes of 0\.8 mm, 3\.2"
    ):
        find("drill:1mm", drawn=drawn)
    (tmp_path / "two.wkt").write_text("POLYGON ((0 0, 1 0, 1 1, 0 0))")
    assert drills(tmp_path / "two.wkt") is None


def test_parts_of_a_layer_and_places_are_marks() -> None:
    marks = find("layer:63/0", "NW:1,19mm", "2000um,3000um")
    assert [(mark.name, mark.xy) for mark in marks] == [
        ("M1", (1, 1)), ("M2", (11, 1)), ("NW", (1, 19)), ("P4", (2, 3)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ([], "no marks are named"),
        (["round:2mm"], "no mark of 'board' is round:2mm; there are round parts of 1 mm"),
        (["round:x"], "'x' is not a number"),
        (["fiducial"], "'fiducial' is no mark"),
        (["1,2,3"], "'1,2,3' is no mark"),
        (["A:1,2", "A:3,4"], "two marks have one name"),
    ],
)
def test_what_is_no_mark_is_refused(which: list[str], words: str) -> None:
    with pytest.raises(InputError) as error:
        find(*which)
    assert words in str(error.value)


def test_the_table_has_a_row_for_each() -> None:
    rows = table(find("NW:1,19")).splitlines()
    assert rows == [",".join(COLUMNS), "NW,1.0000,19.0000,,"]

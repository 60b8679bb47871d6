"""Drill files: the notations that programs write, each with the holes that it means."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from shapes import differing_area

from laserpath.base.errors import InputError
from laserpath.design.board.excellon import Drilled, read

INCH = 25.4


def drilled(text: str, **more: object) -> Drilled:
    return read(text.encode(), "b.drl", **more)  # type: ignore[arg-type]


def centres(drills: Drilled) -> list[tuple[float, float]]:
    return [(round(x, 6), round(y, 6)) for x, y in (hole.centre for hole in drills.holes)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nX12.5Y-3.25\nM30\n", (12.5, -3.25)),
        ("M48\nINCH,TZ\nFMAT,2\nT1C0.03\n%\nG90\nT1\nX12500Y-3250\nM30\n", (1.25 * INCH, -0.325 * INCH)),
        ("M48\nINCH,LZ\nT1C0.03\n%\nT1\nX0125Y-00325\nM30\n", (1.25 * INCH, -0.325 * INCH)),
        ("M48\nMETRIC,TZ,000.000\nT1C0.8\n%\nT1\nX12500Y-3250\nM30\n", (12.5, -3.25)),
        ("M48\nMETRIC,LZ,000.000\nT1C0.8\n%\nT1\nX0125Y-00325\nM30\n", (12.5, -3.25)),
        (";FILE_FORMAT=4:4\nM48\nMETRIC,LZ\nT3F00S00C0.8\n%\nT03\nX00125Y-000325\nM30\n", (12.5, -3.25)),
        ("; Format  : 2.4 / Absolute / Inch / Trailing\nM48\nINCH,LZ\nT1C0.03\n%\nT1\nX0125Y-00325\nM30\n",
         (1.25 * INCH, -0.325 * INCH)),
        ("%\nM48\nM72\nT01C0.0240\n%\nT01\nX12500Y-3250\nM30\n", (1.25 * INCH, -0.325 * INCH)),
        ("M48\nMETRIC\nT1C0.8\n%\nT1X12.5Y-3.25\nM30\n", (12.5, -3.25)),
    ],
)  # fmt: skip
def test_coordinates_of_every_notation(text: str, expected: tuple[float, float]) -> None:
    drills = drilled(text)
    assert np.allclose(drills.holes[0].centre, expected, atol=1e-9)


def test_coordinates_that_stay_are_left_out() -> None:
    drills = drilled("M48\nMETRIC\nT1C0.8\nT2C1\n%\nT1\nX1.0Y2.0\nX3.0\nT2\nY5.0\nM30\n")
    assert centres(drills) == [(1, 2), (3, 2), (3, 5)]
    assert [hole.diameter for hole in drills.holes] == [0.8, 0.8, 1.0]


def test_tools_of_allegro_are_in_a_comment() -> None:
    head = ";   Holesize 1. = 12.000000 Tolerance = +0.000000/-0.000000 PLATED MILS Quantity = 241\n"
    head += ";   Holesize 2. = 3.200000 Tolerance = +0.000000/-0.000000 NON_PLATED MM Quantity = 1\n"
    drills = drilled(head + "%\nG90\nM72\nT01\nX00125Y00325\nT02\nX00125Y00525\nM30\n")
    assert [(round(hole.diameter, 6), hole.plated) for hole in drills.holes] == [(0.3048, True), (3.2, False)]


@pytest.mark.parametrize(
    ("text", "plated"),
    [
        (";TYPE=PLATED\nT1C0.8\n;TYPE=NON_PLATED\nT2C3\n", [True, False]),
        ("; #@! TF.FileFunction,NonPlated,1,2,NPTH\nT1C0.8\nT2C3\n", [False, False]),
        ("T1C0.8\nT2C3\n", [None, None]),
    ],
)
def test_whether_holes_are_plated(text: str, plated: list[bool | None]) -> None:
    drills = drilled(f"M48\nMETRIC\n{text}%\nT1\nX1.0Y1.0\nT2\nX2.0Y1.0\nM30\n")
    assert [hole.plated for hole in drills.holes] == plated


def test_slots_and_routes_have_the_area_that_is_milled() -> None:
    head = "M48\nMETRIC\nT1C1.0\n%\nT1\n"
    (slot,) = drilled(head + "X0.0Y0.0G85X5.0Y0.0\nM30\n").holes
    (route,) = drilled(head + "G00X0.0Y0.0\nM15\nG01X5.0Y0.0\nM16\nM30\n").holes
    for hole in (slot, route):
        assert abs(hole.area().area - (5 + np.pi / 4)) < 0.01
        assert hole.centre == (2.5, 0)
    (arc,) = drilled(head + "G00X0.0Y0.0\nM15\nG03X4.0Y0.0A2.0\nM16\nM30\n").holes  # half a circle
    assert abs(arc.area().area - (2 * np.pi + np.pi / 4)) < 0.03
    middle = arc.points[len(arc.points) // 2]
    assert np.allclose(middle, (2, -2), atol=1e-6)  # anticlockwise: below the chord
    (back,) = drilled(head + "G00X0.0Y0.0\nM15\nG01X5.0\nX1.0\nM16\nM30\n").holes
    assert back.centre == (2.5, 0)
    (same,) = drilled(head + "G00X0.0Y0.0\nM15\nG03X4.0Y0.0I2.0J0.0\nM16\nM30\n").holes
    assert differing_area(same.area(), arc.area()) < 1e-3


@pytest.mark.parametrize("drill", ["G05\nX7.0Y1.0", "G05X7.0Y1.0", "T1\nX7.0Y1.0"])
def test_holes_after_a_route(drill: str) -> None:
    route = "G00X0.0Y0.0\nM15\nG01X5.0Y0.0\nM16\n"
    drills = drilled(f"M48\nMETRIC\nT1C1.0\n%\nT1\n{route}{drill}\nM30\n")
    assert centres(drills) == [(2.5, 0), (7, 1)]


def test_repeated_holes() -> None:
    drills = drilled("M48\nMETRIC\nT1C1.0\n%\nT1\nX1.0Y1.0\nR3X2.0\nM30\n")
    assert centres(drills) == [(1, 1), (3, 1), (5, 1), (7, 1)]


def test_an_open_format_is_settled_by_the_copper() -> None:
    text = "M48\nT1C0.8\n%\nT1\nX012500Y003250\nX025000Y003250\nM30\n"
    assert np.allclose(centres(drilled(text))[0], (1.25 * INCH, 0.325 * INCH))  # as is usual
    drills = drilled(text, fits=lambda xy: float((np.abs(xy[:, 0] % 12.5) < 1e-6).mean()))
    assert centres(drills) == [(12.5, 3.25), (25, 3.25)]
    assert drills.notes == (
        "b.drl does not say its format: 3.3 digits in mm, leading zeros omitted, as its holes then meet the "
        "copper",
    )


def test_files_of_one_board_have_one_format() -> None:
    text = "M48\nINCH\nT1C0.06\n%\nT1\nX012500Y003250\nM30\n"
    first = drilled(text)
    other = drilled(text, fits=lambda xy: float((xy < 10).mean()))  # would fit better with 3.5 digits
    assert np.allclose(centres(other)[0], (0.125 * INCH, 0.0325 * INCH))
    assert other.digits != first.digits
    same = drilled(text, fits=lambda xy: float((xy < 10).mean()), like=first.digits)
    assert centres(same) == centres(first)
    assert same.notes == ()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("M25\nX1.0Y2.0\nM01\nM02X10.0\nM02X10.0Y5.0\nM02\nM08\n", [(1, 2), (11, 2), (21, 7)]),
        ("X1.0Y2.0\nM01\nR3M02X10.0\nM08\nX0.5\n", [(1, 2), (11, 2), (21, 2), (31, 2), (0.5, 2)]),
        ("X9.0Y9.0\nM25\nX1.0Y2.0\nM01\nM02Y10.0\nM08\n", [(9, 9), (1, 2), (1, 12)]),
        ("M25\nX1.0Y2.0\nM01\nM02X10.0\nM02\nM01\nM02Y5.0\nM02\nM08\n", [(1, 2), (11, 2), (1, 7), (11, 7)]),
        ("M25\nX1.0Y2.0\nR2X3.0\nM01\nM02Y10.0\nM08M30\n",
         [(1, 2), (4, 2), (7, 2), (1, 12), (4, 12), (7, 12)]),
        ("M25\nX1.0Y2.0G85X3.0Y2.0\nM01\nM02Y10.0\nM08\n", [(2, 2), (2, 12)]),
        ("M25\nX1.0Y2.0\nM24\nM26X10.0\nM26\nM27\n", [(1, 2), (11, 2)]),
    ],
)  # fmt: skip
def test_the_boards_of_a_panel_are_steps_from_each_other(
    body: str, expected: list[tuple[float, float]]
) -> None:
    """As the manual of the CNC-7 has it: each copy a step from the one before; copies of copies."""
    assert centres(drilled(f"M48\nMETRIC\nT1C0.8\n%\nT1\n{body}M30\n")) == expected


def test_steps_one_by_one_are_read_in_a_time_like_that_of_a_repeated_one() -> None:
    """4000 of them took half a minute, as each was added up from the pattern on."""
    head, begin = "M48\nMETRIC\nT1C0.8\n%\nT1\nX1.0Y2.0\nM01\n", process_time()
    steps = drilled(head + "M02X0.5Y0.25\n" * 4000 + "M08\nM30\n")
    assert process_time() - begin < 5
    assert centres(steps) == centres(drilled(f"{head}R4000M02X0.5Y0.25\nM08\nM30\n"))


def test_the_steps_of_a_panel_are_in_the_notation_of_its_holes() -> None:
    """And copies keep the tools of their holes."""
    text = "M48\nINCH,TZ\nT1C0.03\nT2C0.04\n%\nT1\nX10000Y0\nT2\nX20000\nM01\nM02X5000Y10000\nM08\nM30\n"
    holes = drilled(text).holes
    assert [tuple(round(value / INCH, 6) for value in hole.centre) for hole in holes] == [
        (1, 0), (2, 0), (1.5, 1), (2.5, 1),
    ]  # fmt: skip
    assert [round(hole.diameter / INCH, 3) for hole in holes] == [0.03, 0.04, 0.03, 0.04]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "M48\nMETRIC\nT1C0.8\n%\nT1\nX1Y1\nM01\nM02X9Y0M80\nM30\n",
            "b.drl: line 8: 'M02X9Y0M80' repeats, moves or draws",
        ),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nX1Y1\nM99,PINS\nX3Y3\nM30\n", "line 7: 'M99,PINS' repeats, moves or"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nX1Y1\nP9X3.0\nM30\n", "line 7: 'P9X3.0' repeats, moves or draws"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nX1Y1\nM01\nR99999M02X1\nM30\n", "a pattern is repeated 99999 times"),
        (
            "M48\nMETRIC\nT1C0.8\n%\nT1\nX1Y1\nR9999X1\n" + "M01\nM02Y1\n" * 9 + "M30\n",
            "the file repeats its holes to 320000, above 200000",
        ),
        ("M48\nMETRIC\n%\nT1\nX1.0Y1.0\nM30\n", "b.drl: line 5: tool T1 has no diameter"),
        (
            "M48\nMETRIC\nT1C2000\n%\nT1\nX1.0Y1.0\nM30\n",
            "b.drl: line 6: tool T1 is 2000 mm wide, above 1000 mm",
        ),
        ("M48\nT1C2000\n%\nT1\nX1Y1\nM30\n", "b.drl: line 5: tool T1 is 50800 mm wide, above 1000 mm"),
        ("M48\nMETRIC\nT1C0.8\n%\nX1.0Y1.0\nM30\n", "b.drl: line 5: a hole comes before a tool is chosen"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nM02X1.0Y1.0\nM30\n", "line 6: a pattern is repeated .M02. before"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nG32X1.0Y1.0A2.0\nM30\n", "'G32X1.0Y1.0A2.0' is a cycle of the machine"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nM97,ABC\nX1.0Y1.0\nM30\n", "'M97,ABC' repeats, moves or draws"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nG91\nX1.0Y1.0\nM30\n", "b.drl: line 7: coordinates are incremental"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        drilled(text)

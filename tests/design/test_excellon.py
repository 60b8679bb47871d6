"""Drill files: the notations that programs write, each with the holes that it means."""

from __future__ import annotations

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
    ("text", "words"),
    [
        ("M48\nMETRIC\n%\nT1\nX1.0Y1.0\nM30\n", "b.drl: line 5: tool T1 has no diameter"),
        (
            "M48\nMETRIC\nT1C2000\n%\nT1\nX1.0Y1.0\nM30\n",
            "b.drl: line 6: tool T1 is 2000 mm wide, above 1000 mm",
        ),
        ("M48\nT1C2000\n%\nT1\nX1Y1\nM30\n", "b.drl: line 5: tool T1 is 50800 mm wide, above 1000 mm"),
        ("M48\nMETRIC\nT1C0.8\n%\nX1.0Y1.0\nM30\n", "b.drl: line 5: a hole comes before a tool is chosen"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nM02X1.0Y1.0\nM30\n", "b.drl: line 6: 'M02X1.0Y1.0' repeats"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nG32X1.0Y1.0A2.0\nM30\n", "'G32X1.0Y1.0A2.0' is a cycle of the machine"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nM97,ABC\nX1.0Y1.0\nM30\n", "'M97,ABC' repeats, moves or draws"),
        ("M48\nMETRIC\nT1C0.8\n%\nT1\nG91\nX1.0Y1.0\nM30\n", "b.drl: line 7: coordinates are incremental"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        drilled(text)

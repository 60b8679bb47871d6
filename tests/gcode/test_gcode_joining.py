"""Moves cut anywhere, and joined again: the same light on the same path, and dark between strangers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sets import examples

import gcode
from gcode import GcodeError, Kind, Moves

WHOLE = Moves(
    xy=[(0, 0), (4, 0), (4, 0), (6, 2), (2, 2), (2, 2), (2, 2), (9, 9)],
    power=[0, 0, 0.5, 0.25, 0, 0.75, 0],
    speed=[100, 100, 20, 10, 20, 30, 100],
    kind=[Kind.RAPID, Kind.DWELL, Kind.COUNTERCLOCKWISE, Kind.LINE, Kind.DWELL, Kind.CLOCKWISE, Kind.RAPID],
    z=[0, 0, 0, 0, 1, 1, 1, 1],
    centre=[(0, 0), (0, 0), (4, 2), (0, 0), (0, 0), (2, 1), (0, 0)],
    dwell=[0, 0.5, 0, 0, 0.25, 0, 0],
    comments=((0, "begin"), (2, "arc"), (7, "end")),
)
"""A travel, a wait, a quarter circle, a line that climbs, a wait, a full circle, and a travel."""


def light(moves: Moves) -> float:
    """∫ power dt, s."""
    return float((moves.power * moves.duration).sum())


@given(at=st.lists(st.floats(0, len(WHOLE)), min_size=1, max_size=4))
@examples(60)
def test_pieces_are_the_whole_again(at: list[float]) -> None:
    cuts = [0.0, *sorted(at), float(len(WHOLE))]
    pieces = [WHOLE.span(a, b) for a, b in pairwise(cuts)]
    joined = gcode.concat(pieces)
    assert joined.length.sum() == pytest.approx(WHOLE.length.sum())
    assert joined.duration.sum() == pytest.approx(WHOLE.duration.sum())
    assert light(joined) == pytest.approx(light(WHOLE))
    assert joined.xyz[-1] == pytest.approx(WHOLE.xyz[-1])
    chords, due = joined.chords(1e-4), WHOLE.chords(1e-4)
    for part in (chords, due):
        assert np.hypot(*(part.xy[:-1][part.power == 0.75] - (2, 1)).T) == pytest.approx(1, abs=1e-3)
    assert chords.xy.max(axis=0) == pytest.approx(due.xy.max(axis=0), abs=1e-3)


def test_a_cut_is_at_its_share_of_the_length() -> None:
    before, after = WHOLE.span(0, 3.25), WHOLE.span(3.25, len(WHOLE))
    assert before.xyz[-1] == pytest.approx((5, 2, 0.25))
    assert after.xyz[0] == pytest.approx((5, 2, 0.25))
    assert before.comments == ((0, "begin"), (2, "arc"))
    assert after.comments == ((4, "end"),)
    assert WHOLE.span(2.5, 3).length.sum() == pytest.approx(np.pi / 2)
    assert WHOLE.span(1.5, 2).dwell.tolist() == [0.25]
    assert len(WHOLE.span(3.25, 3.25)) == len(WHOLE.span(5, 5 + 1e-12)) == 0
    assert WHOLE.span(3.25, 3.25).xyz[0] == pytest.approx((5, 2, 0.25))


@pytest.mark.parametrize(("begin", "end"), [(-1, 2), (3, 2), (0, 8)])
def test_a_span_beyond_the_moves_is_refused(begin: float, end: float) -> None:
    with pytest.raises(GcodeError, match="must rise within 0 to 7"):
        WHOLE.span(begin, end)


def stroke(x: float, dynamic: bool = False, power: float = 0.5) -> Moves:
    return Moves.straight([(x, 0), (x + 1, 0)], [power], [20.0], [False], dynamic=dynamic)


def test_what_comes_between_is_a_dark_rapid() -> None:
    joined = stroke(0) + stroke(5)
    assert joined.kind.tolist() == [Kind.LINE, Kind.RAPID, Kind.LINE]
    assert joined.power.tolist() == [0.5, 0, 0.5]
    assert joined.xy.tolist() == [[0, 0], [1, 0], [5, 0], [6, 0]]
    assert joined.speed[1] == 20  # the fastest move, as there is no rapid
    assert gcode.concat([stroke(0), stroke(5)], rapid_speed=80).speed[1] == 80
    assert (WHOLE + stroke(5)).speed[-2] == 100
    assert len(stroke(0) + stroke(1)) == 2  # which touch


@pytest.mark.parametrize("name", gcode.DIALECTS)
def test_joined_programs_are_safe_in_every_dialect(name: str) -> None:
    dialect = gcode.dialect(name)
    dynamic = bool(dialect.dynamic_power)
    joined = stroke(0, dynamic) + Moves([(3, 3)], [], [], []) + stroke(5, dynamic)
    program = gcode.verify(gcode.write(joined, dialect), dialect, asked=joined)
    assert program.moves.on.tolist() == [True, False, True]


def test_the_laser_is_armed_anew_where_the_power_begins_to_follow_the_speed() -> None:
    """Also across a part that is dark."""
    dialect = gcode.dialect("grbl")
    joined = gcode.concat([stroke(0, dynamic=True), stroke(3, power=0), stroke(5)])
    read = gcode.verify(gcode.write(joined, dialect), dialect, asked=joined).moves
    assert read.dynamic[read.on].tolist() == [True, False]


def test_joining_needs_moves() -> None:
    nothing = Moves([(3, 3)], [], [], [])
    assert len(gcode.concat([nothing])) == 0
    assert (nothing + stroke(2)).xy.tolist() == [[2, 0], [3, 0]]
    with pytest.raises(GcodeError, match="no moves to join"):
        gcode.concat([])
    with pytest.raises(TypeError):
        stroke(0) + 1  # type: ignore[operator]

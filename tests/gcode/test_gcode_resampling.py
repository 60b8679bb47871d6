"""Fewer moves: the same light, nowhere further away than was allowed, and no line too short to be drawn.

Moves cut anywhere, and joined again: the same light on the same path, and dark between strangers.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from sets import examples
from shapely.geometry import LineString

import gcode
from gcode import GcodeError, Kind, Moves, without_short
from gcode.levels import level_of
from gcode.move import Floats
from gcode.resampling import LEAST_CHORDS, compress, fit_arcs, join_short, merge_lines

SHORTEST = 0.0875


def stroke(xy: object, power: object = 0.2, speed: object = 20.0) -> Moves:
    """A lit stroke between two travels of 1 mm."""
    xy = np.asarray(xy, dtype=float)
    n = len(xy) - 1
    xy = np.vstack([xy[:1] - [1, 0], xy, xy[-1:] + [1, 0]])
    light = np.concatenate([[0], np.broadcast_to(power, n), [0]])
    pace = np.concatenate([[100], np.broadcast_to(speed, n), [100]])
    return Moves.straight(xy, light, pace, light == 0)


def energy(moves: Moves, order: int = 1) -> float:
    """∫ power^order dt, s."""
    return float((moves.power**order * moves.length / moves.speed).sum())


def extents(moves: Moves) -> Floats:
    """mm along x or y of the lit lines, the larger."""
    return np.abs(np.diff(moves.xy, axis=0)).max(axis=1)[moves.on]


def away(moves: Moves, old: Moves) -> float:
    """Mean distance of the old lit path from the new one, mm."""
    line = shapely.LineString(old.xy[1:-1])
    places = shapely.line_interpolate_point(line, np.linspace(0, line.length, 2000))
    return float(shapely.distance(shapely.LineString(moves.xy[1:-1]), places).mean())


@given(
    st.lists(st.floats(0.001, 1.0), min_size=1, max_size=40), st.floats(-0.3, 0.3), st.sampled_from([1, 2])
)
def test_no_line_is_short_and_the_energy_stays(steps: list[float], bend: float, order: int) -> None:
    turn = bend * np.arange(len(steps))
    xy = np.vstack([[0, 0], np.cumsum(np.column_stack([np.cos(turn), np.sin(turn)]) * np.c_[steps], axis=0)])
    moves = stroke(xy, np.linspace(0.1, 0.3, len(steps)), np.linspace(10, 40, len(steps)))
    drawn = without_short(moves, SHORTEST, order)
    assert extents(drawn).min() >= SHORTEST * (1 - 1e-9)
    assert energy(drawn, order) == pytest.approx(energy(moves, order)) or drawn.power.max() == 1
    assert (drawn.kind[[0, -1]] == Kind.RAPID).all()


def test_a_stroke_without_short_lines_is_not_touched() -> None:
    moves = stroke([[0, 0], [1, 0], [1, 0.1], [0, 0.3]])
    drawn = without_short(moves, SHORTEST)
    np.testing.assert_array_equal(drawn.xy, moves.xy)
    np.testing.assert_array_equal(drawn.power, moves.power)


@pytest.mark.parametrize("radius", [0.15, 0.3, 1.0])
def test_curves_are_followed_more_closely_than_by_joining(radius: float) -> None:
    turn = np.arange(0, 1.5 * np.pi, 0.05 / radius)  # chords of 0.05 mm
    moves = stroke(radius * np.column_stack([np.cos(turn), np.sin(turn)]))
    assert away(without_short(moves, SHORTEST), moves) < 0.9 * away(join_short(moves, SHORTEST), moves)


def test_a_corner_between_long_lines_is_kept_beside_short_ones() -> None:
    """One short line after a corner takes what it lacks from the long line behind it."""
    moves = stroke([[0, 0], [1, 0], [1, 0.03], [1, 2]])
    drawn = without_short(moves, SHORTEST)
    assert away(drawn, moves) < 1e-6


def test_light_stays_where_it_was() -> None:
    """The energy up to each new vertex is that of the old path up to there."""
    power = np.where(np.arange(60) < 30, 0.1, 0.4)
    moves = stroke(np.column_stack([0.04 * np.arange(61), np.zeros(61)]), power)
    drawn = without_short(moves, SHORTEST)
    at = np.concatenate([[0], np.cumsum(drawn.power * drawn.length / drawn.speed)])[1:-1]
    expected = np.interp(
        drawn.xy[1:-1, 0], moves.xy[1:-1, 0],
        np.concatenate([[0], np.cumsum((moves.power * moves.length / moves.speed)[1:-1])]),
    )  # fmt: skip
    np.testing.assert_allclose(at, expected, rtol=1e-9)


@pytest.mark.parametrize("shortest", [0, -1, float("nan"), float("inf")])
def test_a_length_that_is_none(shortest: float) -> None:
    with pytest.raises(GcodeError, match=r"shortest is .*, but must be above 0"):
        without_short(stroke([[0, 0], [1, 0]]), shortest)


LEVELS = 255


def lines(xy: object, power: object = 0.5, speed: object = 20.0, rapid: object = False) -> Moves:
    n = len(np.asarray(xy)) - 1
    return Moves.straight(xy, *(np.broadcast_to(v, n) for v in (power, speed, rapid)))  # type: ignore[arg-type]


def circle(n: int, radius: float = 5.0, sweep: float = 2 * np.pi) -> np.ndarray:
    t = np.linspace(0, sweep, n + 1)
    return radius * np.column_stack([np.cos(t), np.sin(t)])


def farthest(a: Moves, b: Moves) -> float:
    """Hausdorff distance of two paths, mm."""
    one, two = (LineString(m.chords(1e-6).xy) for m in (a, b))
    return one.hausdorff_distance(two) if not one.equals(two) else 0.0


@st.composite
def wandering(draw: st.DrawFn) -> Moves:
    """Paths with straight, round and ragged parts, few powers and speeds, and travels."""
    n = draw(st.integers(1, 60))
    turns = draw(
        st.lists(st.sampled_from([0.0, 0.0, 0.05, 0.05, -0.05, 0.3, 1.5, 3.1]), min_size=n, max_size=n)
    )
    steps = draw(st.lists(st.sampled_from([0.0, 0.05, 0.1, 0.1, 1.0]), min_size=n, max_size=n))
    noise = draw(st.sampled_from([0.0, 1e-4, 5e-3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    heading = np.cumsum(turns)
    xy = np.vstack(
        [[0, 0], np.cumsum(np.column_stack([np.cos(heading), np.sin(heading)]) * np.array(steps)[:, None], 0)]
    )
    xy = xy + noise * rng.normal(size=xy.shape)
    rapid = rng.random(n) < 0.05
    power = np.where(rapid, 0, np.repeat(rng.choice([0, 0.4, 0.4004, 0.6], n // 7 + 1), 7)[:n])
    return Moves.straight(xy, power, np.repeat(rng.choice([10.0, 20.0], n // 9 + 1), 9)[:n], rapid)


@settings(deadline=None)
@given(wandering(), st.sampled_from([1e-4, 2e-3, 0.02]), st.booleans())
def test_nothing_leaves_its_place_and_the_light_stays(moves: Moves, tolerance: float, arcs: bool) -> None:
    less = compress(moves, tolerance, LEVELS, arcs=arcs)
    assert len(less) <= len(moves)
    np.testing.assert_array_equal(less.xy[[0, -1]], moves.xy[[0, -1]])
    assert farthest(less, moves) <= (2 if arcs else 1) * tolerance * 1.001 + 1e-9
    for row in range(len(less)):
        # Each row is as bright and as fast as the one that it began with.
        begun = np.flatnonzero((moves.xy[:-1] == less.xy[row]).all(axis=1))
        like = (level_of(moves.power[begun], LEVELS) == level_of(less.power[row : row + 1], LEVELS)) & (
            moves.speed[begun] == less.speed[row]
        )
        assert like.any()
    levels = level_of(moves.power, LEVELS)
    for level in np.unique(levels[moves.on]):
        whole, kept = (
            moves.length[levels == level].sum(),
            less.length[level_of(less.power, LEVELS) == level].sum(),
        )
        assert kept <= whole + 2 * np.pi * 2 * tolerance * len(moves) + 1e-9


def test_collinear_moves_of_one_level_become_one() -> None:
    x = np.linspace(0, 10, 51)
    moves = lines(np.column_stack([x, 2 * x]), 0.5)
    merged = merge_lines(moves, 1e-6)
    assert len(merged) == 1
    assert merged.length[0] == pytest.approx(moves.length.sum())


def test_powers_of_one_level_are_one_power() -> None:
    x = np.linspace(0, 10, 5)
    moves = lines(np.column_stack([x, 0 * x]), [0.5, 0.5001, 0.5003, 0.51])
    assert len(merge_lines(moves, 1e-6, LEVELS)) == 2
    assert len(merge_lines(moves, 1e-6)) == 4


@pytest.mark.parametrize(
    "change",
    [{"power": [0.5, 0.6]}, {"speed": [20, 21]}, {"kind": [1, 0], "power": [0.5, 0]}, {"z": [0, 0, 1]},
     {"dynamic": [True, False]}, {"comments": [(1, "here")]}],
)  # fmt: skip
def test_what_exposes_differently_is_not_joined(change: dict[str, object]) -> None:
    same = {"xy": [[0, 0], [1, 0], [2, 0]], "power": [0.5, 0.5], "speed": [20, 20], "kind": [1, 1]}
    assert len(merge_lines(Moves(**same), 0.1)) == 1  # type: ignore[arg-type]
    assert len(merge_lines(Moves(**(same | change)), 0.1)) == 2  # type: ignore[arg-type]


def test_a_way_back_is_not_lost() -> None:
    there_and_back = lines([[0, 0], [1, 0], [0.2, 0], [2, 0]])
    assert merge_lines(there_and_back, 0.01).length.sum() == pytest.approx(there_and_back.length.sum())


@pytest.mark.parametrize("clockwise", [False, True])
def test_a_polygon_becomes_its_circle(clockwise: bool) -> None:
    xy = circle(100, sweep=1.5 * np.pi) * [1, -1 if clockwise else 1]
    (kind,), (centre,) = (lambda m: (m.kind, m.centre))(fit_arcs(lines(xy), 0.004))
    assert kind == (Kind.CLOCKWISE if clockwise else Kind.COUNTERCLOCKWISE)
    np.testing.assert_allclose(centre, [0, 0], atol=1e-9)


def test_a_full_circle_is_closed_by_two_arcs() -> None:
    arcs = fit_arcs(lines(circle(100)), 0.004)
    assert arcs.arc.all()
    assert len(arcs) == 2
    assert arcs.length.sum() == pytest.approx(2 * np.pi * 5)


def test_a_chord_that_leaves_the_circle_is_no_arc() -> None:
    square = lines(circle(4))
    assert not fit_arcs(square, 0.01).arc.any()
    few = lines(circle(100)[:LEAST_CHORDS])
    assert not fit_arcs(few, 0.01).arc.any()


def test_power_that_changes_along_a_curve_stays() -> None:
    """A tool that fits arcs over rows of changing S turns a shaded curve into one dark arc."""
    n = 120
    shade = np.repeat([0.2, 0.4, 0.6, 0.8], n // 4)
    moves = lines(circle(n, sweep=np.pi), shade)
    arcs = fit_arcs(moves, 0.004, LEVELS)
    assert arcs.power.tolist() == [0.2, 0.4, 0.6, 0.8]
    np.testing.assert_allclose(
        (arcs.power * arcs.length).sum(), (moves.power * moves.length).sum(), rtol=1e-3
    )


def test_a_wave_is_cut_where_it_bends_the_other_way() -> None:
    t = np.linspace(0, 4 * np.pi, 400)
    moves = lines(np.column_stack([t, np.sin(t)]))
    arcs = fit_arcs(moves, 0.01)
    assert set(arcs.kind[arcs.arc]) == {Kind.CLOCKWISE, Kind.COUNTERCLOCKWISE}
    assert len(arcs) < len(moves) / 10


def test_speeds_within_the_slack_become_their_mean() -> None:
    n = 100
    speed = 20 * (1 + 0.004 * np.sin(np.arange(n)))
    moves = lines(circle(n, sweep=np.pi), 0.5, speed)
    assert not fit_arcs(moves, 0.004).arc.any()
    arcs = fit_arcs(moves, 0.004, LEVELS, slack=0.02)
    assert len(arcs) < n / 10
    assert energy(arcs) == pytest.approx(energy(moves), rel=1e-3)
    assert np.abs(arcs.speed / 20 - 1).max() < 0.005


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=40), st.floats(0.01, 0.5))
def test_short_lines_are_joined_and_keep_their_energy(steps: list[float], shortest: float) -> None:
    n = len(steps)
    turn = np.cumsum(0.1 * np.arange(n))
    xy = np.vstack([[0, 0], np.cumsum(np.column_stack([np.cos(turn), np.sin(turn)]) * np.c_[steps], axis=0)])
    moves = lines(xy, np.linspace(0.1, 0.3, n))
    joined = join_short(moves, shortest)
    apart = np.abs(np.diff(joined.xy, axis=0)).max(axis=1)
    assert apart.min() >= shortest * (1 - 1e-9)
    target = energy(moves)
    assert energy(joined) == pytest.approx(target) or joined.power.max() == 1


@pytest.mark.parametrize("radius", [0.02, 0.05, 0.07, 0.15, 0.5])
def test_small_loops_keep_their_light_and_place(radius: float) -> None:
    moves = lines(circle(40, radius), 0.2)
    joined = join_short(moves, 0.0875)
    assert energy(joined) == pytest.approx(energy(moves))
    assert np.abs(np.diff(joined.xy, axis=0)).max(axis=1).min() >= 0.0875 * (1 - 1e-9)
    np.testing.assert_allclose((joined.xy[1:] + joined.xy[:-1]).mean(axis=0) / 2, [0, 0], atol=0.05)
    assert farthest(joined, moves) < 0.09


@pytest.mark.parametrize("tolerance", [-1, float("nan"), float("inf")])
def test_a_tolerance_that_is_none(tolerance: float) -> None:
    with pytest.raises(GcodeError, match=r"tolerance is .*, but must be a length"):
        merge_lines(lines([[0, 0], [1, 0]]), tolerance)


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


def lit(x: float, dynamic: bool = False, power: float = 0.5) -> Moves:
    return Moves.straight([(x, 0), (x + 1, 0)], [power], [20.0], [False], dynamic=dynamic)


def test_what_comes_between_is_a_dark_rapid() -> None:
    joined = lit(0) + lit(5)
    assert joined.kind.tolist() == [Kind.LINE, Kind.RAPID, Kind.LINE]
    assert joined.power.tolist() == [0.5, 0, 0.5]
    assert joined.xy.tolist() == [[0, 0], [1, 0], [5, 0], [6, 0]]
    assert joined.speed[1] == 20  # the fastest move, as there is no rapid
    assert gcode.concat([lit(0), lit(5)], rapid_speed=80).speed[1] == 80
    assert (WHOLE + lit(5)).speed[-2] == 100
    assert len(lit(0) + lit(1)) == 2  # which touch


@pytest.mark.parametrize("name", gcode.DIALECTS)
def test_joined_programs_are_safe_in_every_dialect(name: str) -> None:
    dialect = gcode.dialect(name)
    dynamic = bool(dialect.dynamic_power)
    joined = lit(0, dynamic) + Moves([(3, 3)], [], [], []) + lit(5, dynamic)
    program = gcode.verify(gcode.write(joined, dialect), dialect, asked=joined)
    assert program.moves.on.tolist() == [True, False, True]


def test_the_laser_is_armed_anew_where_the_power_begins_to_follow_the_speed() -> None:
    """Also across a part that is dark."""
    dialect = gcode.dialect("grbl")
    joined = gcode.concat([lit(0, dynamic=True), lit(3, power=0), lit(5)])
    read = gcode.verify(gcode.write(joined, dialect), dialect, asked=joined).moves
    assert read.dynamic[read.on].tolist() == [True, False]


def test_joining_needs_moves() -> None:
    nothing = Moves([(3, 3)], [], [], [])
    assert len(gcode.concat([nothing])) == 0
    assert (nothing + lit(2)).xy.tolist() == [[2, 0], [3, 0]]
    with pytest.raises(GcodeError, match="no moves to join"):
        gcode.concat([])
    with pytest.raises(TypeError):
        lit(0) + 1  # type: ignore[operator]

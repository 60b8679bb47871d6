"""Simplification within its tolerance, powers on the machine's levels, no superfluous travels."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, path
from hypothesis import assume, given
from hypothesis import strategies as st

from laserpath.base.errors import InputError
from laserpath.planning.optimise.variables import runs
from laserpath.planning.smooth import drop_dark, simplify, to_levels
from laserpath.types import Machine, Toolpath

MACHINE = Machine()
FULL = min(MACHINE.speed_max)
seeds = st.integers(0, 2**32 - 1)


def wavy(rng, strokes=3, moves=60):
    """Smooth strokes of slowly changing energy, joined by travels."""
    xy, power = [], []
    for k in range(strokes):
        x = np.linspace(0, 1, moves + 1)
        a, b = rng.uniform(0.005, 0.05, 2)
        xy.append(np.stack([x, k + a * np.sin(9 * x) + b * np.cos(5 * x)], axis=1))
        power += [2 + rng.uniform(0, 0.5) * np.sin(7 * x[:-1]), [0.0]]
    power = np.concatenate(power)[:-1]
    return path(np.vstack(xy), power, rng.uniform(20, 50, len(power)))


def stroke_energies(toolpath):
    energy = toolpath.line_energy * toolpath.length
    return [energy[a:b].sum() for a, b in runs(toolpath.on)]


def lines(toolpath):
    return [shapely.LineString(toolpath.xy[a : b + 1]) for a, b in runs(toolpath.on)]


@given(seed=seeds, tolerance=st.floats(0.005, 0.2))
def test_simplifying_keeps_vertices_within_the_tolerance(seed, tolerance):
    start = wavy(np.random.default_rng(seed))
    simple = simplify(start, SPOT, tolerance)
    for before, after in zip(lines(start), lines(simple), strict=True):
        vertices = shapely.points(before.coords)
        assert shapely.distance(vertices, after).max() <= tolerance * FWHM + 1e-12
        assert set(after.coords) <= set(before.coords)
        assert after.coords[0] == before.coords[0] and after.coords[-1] == before.coords[-1]


@given(seed=seeds, tolerance=st.floats(0.005, 0.2))
def test_simplifying_keeps_the_energy_of_each_stroke(seed, tolerance):
    start = wavy(np.random.default_rng(seed))
    simple = simplify(start, SPOT, tolerance)
    np.testing.assert_allclose(stroke_energies(simple), stroke_energies(start), rtol=1e-9)


@given(seed=seeds)
def test_simplifying_keeps_where_along_the_stroke_the_energy_lies(seed):
    """A change of q by 1 % over one FWHM counts as 0.4 % FWHM: the running energy is held to that."""
    start, tolerance = wavy(np.random.default_rng(seed), strokes=1), 0.02
    simple = simplify(start, SPOT, tolerance)

    def laid_down(p):
        return np.concatenate([[0], np.cumsum(p.line_energy * p.length)])

    typical = laid_down(start)[-1] / start.length.sum()
    kept = np.interp(start.xy[:, 0], simple.xy[:, 0], laid_down(simple))
    # Along x and not along the nearest point, so up to the tolerance's own length of line more.
    assert np.abs(kept - laid_down(start)).max() <= (1 / 0.4 + 1) * 1.2 * tolerance * FWHM * typical


def test_straight_moves_of_one_power_become_one():
    start = path(np.stack([np.linspace(0, 1, 20), np.linspace(0, 2, 20)], axis=1), 3.0)
    simple = simplify(start, SPOT, 0.02)
    assert len(simple) == 1
    np.testing.assert_array_equal(simple.xy, start.xy[[0, -1]])
    assert simple.power[0] == pytest.approx(3.0)


def test_a_step_of_power_on_a_straight_line_is_kept():
    start = path(np.stack([np.linspace(0, 1, 21), np.zeros(21)], axis=1), np.repeat([2.0, 3.0], 10))
    simple = simplify(start, SPOT, 0.02)
    np.testing.assert_allclose(simple.xy[:, 0], [0, 0.5, 1])
    np.testing.assert_allclose(simple.power, [2, 3])


def test_a_ring_stays_a_ring():
    t = np.linspace(0, 2 * np.pi, 101)
    xy = np.stack([np.cos(t), np.sin(t)], axis=1)
    xy[-1] = xy[0]
    simple = simplify(path(xy), SPOT, 0.02)
    assert (simple.xy[0] == simple.xy[-1]).all()
    assert 8 < len(simple) < 100


def test_an_all_dark_path_is_left_alone():
    dark = path(np.random.default_rng(0).normal(size=(5, 2)), 0.0)
    assert simplify(dark, SPOT, 0.02) is dark


@given(seed=seeds)
def test_levels_keep_the_line_energy_exactly(seed):
    rng = np.random.default_rng(seed)
    needed = rng.uniform(MACHINE.power_min, 1.2 * MACHINE.power_max, 30) / FULL
    start = path(rng.uniform(0, 1, (31, 2)), needed * FULL)
    assume(start.length.min() > 0)
    levelled = to_levels(start, MACHINE, SPOT)
    level = MACHINE.level_for(levelled.power)
    np.testing.assert_allclose(level, np.rint(level), atol=1e-9)
    assert level.min() >= 1 and level.max() <= MACHINE.power_levels
    np.testing.assert_allclose(levelled.line_energy, start.line_energy, rtol=1e-8)
    assert levelled.speed.max() <= FULL
    inside = needed * FULL <= MACHINE.power_max
    slowest = (levelled.power / MACHINE.power_of(level + 1))[inside] * FULL
    assert (levelled.speed[inside] >= slowest * (1 - 1e-9)).all()


@pytest.mark.parametrize(("levels", "expected"), [(0.45, 0), (0.55, 1), (0.95, 1), (1.5, 1), (2.0, 2)])
def test_too_weak_a_move_is_dark_or_at_the_smallest_level(levels, expected):
    xy = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    linear = replace(MACHINE, level_offset=0.0)
    start = path(xy, np.array([5, levels, 5]) * linear.power_step)
    levelled = to_levels(start, linear, SPOT)
    assert levelled.power[1] == pytest.approx(expected * linear.power_step)
    assert levelled.speed[1] == pytest.approx(
        min(MACHINE.rapid_speed) if expected == 0 else min(expected / levels, 1) * FULL
    )


def test_the_smallest_usable_level_is_the_machine_s():
    machine = replace(MACHINE, level_min=10)
    start = path(np.array([[0.0, 0], [1, 0], [2, 0]]), np.array([7, 20]) * 10 / 255)
    levelled = to_levels(start, machine, SPOT)
    np.testing.assert_allclose(levelled.power, machine.power_of([10, 19]))


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_a_level_is_as_bright_as_its_board_makes_it(share):
    """Level 1 of an ATmega is twice as bright as 1/255: a line that needs less has it at full speed."""
    xy = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    board = replace(MACHINE, level_offset=1.0)
    assert board.power_min == pytest.approx(2 / 256 * board.power_max)
    start = path(xy, np.array([1.5, 0.9, 8]) / 256 * board.power_max)
    levelled = to_levels(start, board, SPOT, share)
    assert levelled.power[:2] == pytest.approx([board.power_min, 0.0])
    assert levelled.speed[0] == FULL


def test_a_laser_too_strong_for_the_whole_path_is_named():
    xy = np.array([[0.0, 0], [1, 0]])
    with pytest.raises(InputError, match=r"smallest usable power 78\.1 mW at 50 mm/s .* 10 mW .* attenuate"):
        to_levels(path(xy, 10.0), Machine(power_max=10_000), SPOT)


@st.composite
def toolpaths(draw):
    """Moves on a coarse lattice, so that many have no length, and many dark."""
    n = draw(st.integers(1, 12))
    corner = st.tuples(st.integers(0, 2), st.integers(0, 2))
    xy = np.array(draw(st.lists(corner, min_size=n + 1, max_size=n + 1)), dtype=float)
    power = np.array(draw(st.lists(st.sampled_from([0.0, 0.0, 1.0, 2.0]), min_size=n, max_size=n)))
    return path(xy, power)


def lit_moves(toolpath):
    keep = toolpath.on & (toolpath.length > 0)
    return np.column_stack([toolpath.xy[:-1], toolpath.xy[1:], toolpath.power, toolpath.speed])[keep]


@given(start=toolpaths())
def test_dropping_the_dark_keeps_every_exposing_move(start):
    np.testing.assert_array_equal(lit_moves(drop_dark(start)), lit_moves(start))


@given(start=toolpaths())
def test_dropping_the_dark_leaves_single_travels_and_no_points(start):
    dropped = drop_dark(start)
    assert (dropped.length > 0).all()
    assert not (~dropped.on[:-1] & ~dropped.on[1:]).any()
    assert len(dropped) == 0 or dropped.on[-1]


def test_a_stop_within_a_stroke_does_not_switch_the_laser_off():
    """A lit move of no length once became a travel of no length."""
    dropped = drop_dark(path(np.array([[0.0, 0], [1, 0], [1, 0], [2, 0]])))
    np.testing.assert_array_equal(dropped.xy, [[0, 0], [1, 0], [2, 0]])
    assert dropped.on.all()


def test_an_empty_path_stays_one():
    assert len(drop_dark(Toolpath(np.zeros((1, 2)), np.zeros(0), np.zeros(0)))) == 0


@pytest.mark.parametrize("share", [0.9, 0.5, 0.05, 0.001])
def test_going_slower_changes_no_line_energy_and_loses_no_move(share):
    """Where the smallest power is already too much for that speed, the move is as slow as it allows."""
    machine = Machine(level_min=20)
    start = to_levels(path([[0, 0], [1, 0], [2, 0]], [1.0, 8.0]), machine, SPOT)
    slower = to_levels(start, machine, SPOT, share)
    np.testing.assert_allclose(slower.line_energy, start.line_energy)
    needed = start.line_energy * 50 / machine.power_min  # times the smallest power, at full speed
    np.testing.assert_array_less(slower.speed, np.maximum(share, 1 / needed) * 50 * (1 + 1e-9))

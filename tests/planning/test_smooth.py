"""Simplification within its tolerance, and fewer vertices where the link is too slow."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPEED, SPOT, energy_path
from hypothesis import given
from hypothesis import strategies as st

from laserpath.base.arrays import runs
from laserpath.machine.powers import crowding
from laserpath.planning.smooth import decimate, fed, simplify
from laserpath.types import Machine

MACHINE = Machine(acceleration=(5000.0, 5000.0))
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
    return energy_path(np.vstack(xy), power, rng.uniform(20, 50, len(power)))


def stroke_energies(toolpath):
    energy = toolpath.energy * toolpath.length
    return [energy[a:b].sum() for a, b in runs(toolpath.on)]


def lines(toolpath):
    return [shapely.LineString(toolpath.xy[a : b + 1]) for a, b in runs(toolpath.on)]


@given(seed=seeds, tolerance=st.floats(0.005, 0.2))
def test_simplifying_keeps_vertices_within_the_tolerance(seed, tolerance):
    start = wavy(np.random.default_rng(seed))
    simple = simplify(start, FWHM, tolerance)
    for before, after in zip(lines(start), lines(simple), strict=True):
        vertices = shapely.points(before.coords)
        assert shapely.distance(vertices, after).max() <= tolerance * FWHM + 1e-12
        assert set(after.coords) <= set(before.coords)
        assert after.coords[0] == before.coords[0] and after.coords[-1] == before.coords[-1]


@given(seed=seeds, tolerance=st.floats(0.005, 0.2))
def test_simplifying_keeps_the_energy_of_each_stroke(seed, tolerance):
    start = wavy(np.random.default_rng(seed))
    simple = simplify(start, FWHM, tolerance)
    np.testing.assert_allclose(stroke_energies(simple), stroke_energies(start), rtol=1e-9)


@given(seed=seeds)
def test_simplifying_keeps_where_along_the_stroke_the_energy_lies(seed):
    """A change of q by 1 % over one FWHM counts as 0.4 % FWHM: the running energy is held to that."""
    start, tolerance = wavy(np.random.default_rng(seed), strokes=1), 0.02
    simple = simplify(start, FWHM, tolerance)

    def laid_down(p):
        return np.concatenate([[0], np.cumsum(p.energy * p.length)])

    typical = laid_down(start)[-1] / start.length.sum()
    kept = np.interp(start.xy[:, 0], simple.xy[:, 0], laid_down(simple))
    # Along x and not along the nearest point, so up to the tolerance's own length of line more.
    assert np.abs(kept - laid_down(start)).max() <= (1 / 0.4 + 1) * 1.2 * tolerance * FWHM * typical


def test_straight_moves_of_one_power_become_one():
    start = energy_path(np.stack([np.linspace(0, 1, 20), np.linspace(0, 2, 20)], axis=1), 3.0)
    simple = simplify(start, FWHM, 0.02)
    assert len(simple) == 1
    np.testing.assert_array_equal(simple.xy, start.xy[[0, -1]])
    assert simple.energy[0] == pytest.approx(3.0 / SPEED)


def test_a_step_of_power_on_a_straight_line_is_kept():
    start = energy_path(np.stack([np.linspace(0, 1, 21), np.zeros(21)], axis=1), np.repeat([2.0, 3.0], 10))
    simple = simplify(start, FWHM, 0.02)
    np.testing.assert_allclose(simple.xy[:, 0], [0, 0.5, 1])
    np.testing.assert_allclose(simple.energy, np.array([2, 3]) / SPEED)


def test_a_ring_stays_a_ring():
    t = np.linspace(0, 2 * np.pi, 101)
    xy = np.stack([np.cos(t), np.sin(t)], axis=1)
    xy[-1] = xy[0]
    simple = simplify(energy_path(xy), FWHM, 0.02)
    assert (simple.xy[0] == simple.xy[-1]).all()
    assert 8 < len(simple) < 100


def test_an_all_dark_path_is_left_alone():
    dark = energy_path(np.random.default_rng(0).normal(size=(5, 2)), 0.0)
    assert simplify(dark, FWHM, 0.02) is dark


# Where the link is too slow


def circle(radius: float, step: float, power: float = 2.0):
    n = int(2 * np.pi * radius / step)
    angle = np.linspace(0, 2 * np.pi, n + 1)
    return energy_path(10 + radius * np.column_stack([np.cos(angle), np.sin(angle)]), power)


def off(start, thinned):
    """(N,) mm from the vertices of the one path to the other."""
    return shapely.distance(shapely.points(start.xy), shapely.LineString(thinned.xy))


def test_thinning_takes_out_vertices_within_the_tolerance():
    start = circle(5, 0.1)
    thinned = decimate(start, FWHM, MACHINE, 0.1)
    assert crowding(start, MACHINE).max() > 1.9
    assert crowding(thinned, MACHINE).max() < 1
    assert set(map(tuple, thinned.xy)) < set(map(tuple, start.xy))
    assert off(start, thinned).max() <= 0.1 * FWHM + 1e-12


def test_what_learning_crowds_is_fed_without_moving_a_vertex_or_an_energy():
    """Vertices that have come close to each other, two motor steps apart, at the link's full rate."""
    start = circle(5, 0.21)
    near = np.arange(40, 60)
    xy = np.insert(start.xy, near + 1, start.xy[near] + 0.04 * (start.xy[near + 1] - start.xy[near]), axis=0)
    crowded = energy_path(xy, 2.0)
    assert crowding(crowded, MACHINE).max() > 1.2
    kept = fed(crowded, SPOT, MACHINE)
    assert crowding(kept, MACHINE).max() <= 1.01
    assert set(map(tuple, kept.xy)) < set(map(tuple, crowded.xy))
    assert off(crowded, kept).max() < 0.02 * FWHM
    energies = [(one.energy * one.length).sum() for one in (crowded, kept)]
    assert energies[1] == pytest.approx(energies[0], rel=1e-3)
    np.testing.assert_array_equal(fed(start, SPOT, MACHINE).xy, start.xy)


def test_where_every_vertex_shapes_an_edge_the_head_is_slower_instead():
    angle = np.arange(120) * np.pi / 3
    zigzag = np.column_stack([10 + 0.05 * np.arange(120), 10 + 0.05 * np.sin(angle)])
    crowded = energy_path(zigzag, 2.0)
    quick = replace(MACHINE, acceleration=(1e6, 1e6), junction_deviation=1.0)
    assert crowding(crowded, quick).max() > 2
    kept = fed(crowded, SPOT, quick)
    assert crowding(kept, quick).max() <= 1.01
    assert kept.speed.min() < 25
    energies = [(one.energy * one.length).sum() for one in (crowded, kept)]
    assert energies[1] == pytest.approx(energies[0], rel=1e-9)


def test_what_is_inside_may_be_thinned_more_than_the_edge():
    start = circle(5, 0.1)
    upper = start.xy[:, 1] > 10
    thinned = decimate(start, FWHM, MACHINE, 0.02, np.where(upper, 10.0, 1.0))
    above = (thinned.xy[:, 1] > 10).sum()
    assert above < 0.7 * (len(thinned.xy) - above)
    assert off(start, thinned)[~upper].max() <= 0.02 * FWHM + 1e-12
    assert 0.02 * FWHM < off(start, thinned)[upper].max() <= 0.2 * FWHM


def test_a_long_move_may_be_off_by_less_than_one_that_the_spot_blurs():
    """Half as much at twice the length."""
    start = circle(5, 0.05)
    thinned = decimate(start, FWHM, MACHINE, 0.1)
    chord = thinned.length.max()
    assert chord > 1.2 * FWHM
    assert off(start, thinned).max() <= 0.1 * FWHM * 1.2 * FWHM / chord + 1e-9


def test_thinning_keeps_the_energy():
    start = circle(5, 0.1)
    thinned = decimate(start, FWHM, MACHINE, 0.05)
    energy = [(moves.energy * moves.length).sum() for moves in (start, thinned)]
    assert energy[1] == pytest.approx(energy[0])


def test_nothing_is_thinned_where_the_link_keeps_up():
    fast = replace(MACHINE, segment_rate=1e6)
    start = circle(5, 0.1)
    assert len(decimate(start, FWHM, fast, 0.05)) == len(start)

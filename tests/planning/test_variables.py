"""The map from free variables to paths: smooth, closed where rings are, dark moves left alone."""

import numpy as np
import pytest
from builders import energy_path as path
from hypothesis import given
from hypothesis import strategies as st

from laserpath.base.arrays import runs
from laserpath.planning.optimise.variables import Variables
from laserpath.types import EnergyPath

SIGMA_SHIFT, SIGMA_ENERGY = 0.05, 0.03
seeds = st.integers(0, 2**32 - 1)


def straight(n=100, step=0.01):
    return path(np.stack([np.arange(n + 1) * step, np.zeros(n + 1)], axis=1))


def ring(rng=None, n=60, radius=0.15):
    """A closed ring of n moves; with an rng, of uneven ones."""
    t = np.sort(rng.uniform(0, 1, n)) if rng is not None else np.arange(n) / n
    xy = 3 + radius * np.stack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)], axis=1)
    return path(np.vstack([xy, xy[:1]]))


def mixed(rng):
    """An open stroke, a ring, and a dot, joined by travels."""
    parts = [straight(20).xy, ring(rng, 30).xy, np.array([[1.0, 1.0], [1.0, 1.02]])]
    power = np.concatenate([np.append(rng.uniform(1, 2, len(p) - 1), 0) for p in parts])[:-1]
    return path(np.vstack(parts), power, rng.uniform(20, 50, len(power)))


def of(lines):
    return Variables.of(lines, SIGMA_SHIFT, SIGMA_ENERGY)


def test_no_displacement_gives_the_path_back():
    start = mixed(np.random.default_rng(0))
    k, m = of(start).sizes
    xy, energy = of(start).path(np.zeros((k, 2)), np.zeros(m))
    np.testing.assert_array_equal(xy, start.xy)
    np.testing.assert_array_equal(energy, start.energy)


def test_an_impulse_becomes_a_gaussian_bump():
    start = straight()
    z = np.zeros((101, 2))
    z[50, 1] = 1
    xy, _ = of(start).path(z, np.zeros(100))
    s = start.xy[:, 0] - 0.5
    expected = np.where(np.abs(s) <= 3 * SIGMA_SHIFT + 1e-9, np.exp(-0.5 * (s / SIGMA_SHIFT) ** 2), 0)
    # Rounding decides whether the vertices at just 3 σ still count.
    np.testing.assert_allclose(xy[:, 1], expected / expected.sum(), atol=1e-4)
    np.testing.assert_array_equal(xy[:, 0], start.xy[:, 0])


def test_an_impulse_in_energy_is_a_narrower_bump_of_its_logarithm():
    start = straight()
    u = np.zeros(100)
    u[50] = 1
    _, energy = of(start).path(np.zeros((101, 2)), u)
    bump = np.log(energy / start.energy)
    s = 0.01 * (np.arange(100) - 50)
    assert bump.sum() == pytest.approx(1, rel=1e-3)
    assert np.sqrt((bump * s**2).sum() / bump.sum()) == pytest.approx(SIGMA_ENERGY, rel=0.02)


@given(seed=seeds)
def test_one_displacement_for_all_shifts_the_strokes_and_not_the_rest(seed):
    rng = np.random.default_rng(seed)
    start = mixed(rng)
    variables = of(start)
    k, m = variables.sizes
    xy, energy = variables.path(np.tile([0.1, -0.2], (k, 1)), np.full(m, 0.3))
    np.testing.assert_allclose(xy, start.xy + (0.1, -0.2), atol=1e-12)
    np.testing.assert_allclose(energy, start.energy * np.exp(0.3), rtol=1e-12)


@given(seed=seeds)
def test_a_ring_stays_closed_to_the_last_bit(seed):
    """Else rounding makes an open stroke of it, and the next stage pulls it apart at the seam."""
    rng = np.random.default_rng(seed)
    variables = of(ring(rng, int(rng.integers(3, 40))))
    k, m = variables.sizes
    xy, energy = variables.path(rng.normal(size=(k, 2)), np.zeros(m))
    assert (xy[0] == xy[-1]).all()
    assert of(EnergyPath(xy, energy, np.ones(m))).sizes == (k, m)


def test_a_ring_has_no_seam():
    """Displacement and energy of an even ring do not depend on where it begins."""
    rng = np.random.default_rng(0)
    start = ring()
    z, u = rng.normal(size=(60, 2)), rng.normal(size=60)
    turned = np.roll(start.xy[:-1], -17, axis=0)
    other = path(np.vstack([turned, turned[:1]]))
    xy, energy = of(start).path(z, u)
    xy_turned, energy_turned = of(other).path(np.roll(z, -17, axis=0), np.roll(u, -17))
    np.testing.assert_allclose(xy_turned[:-1], np.roll(xy[:-1], -17, axis=0), atol=1e-12)
    np.testing.assert_allclose(energy_turned, np.roll(energy, -17), rtol=1e-12)


def test_a_ring_shorter_than_the_gaussian_moves_as_one():
    variables = of(ring(n=12, radius=0.005))
    z = np.random.default_rng(0).normal(size=(12, 2))
    moved = variables.path(z, np.zeros(12))[0] - variables.xy
    np.testing.assert_allclose(moved, np.tile(z.mean(axis=0), (13, 1)), atol=0.02)


def test_travels_do_not_move():
    xy = np.array([[5.0, 5.0], [6.0, 6.0], [0, 0], [0.1, 0], [7, 7], [8, 8]])
    start = path(xy, np.array([0.0, 0, 1, 0, 0]))
    variables = of(start)
    assert variables.sizes == (2, 1)
    moved, energy = variables.path(np.ones((2, 2)), np.ones(1))
    np.testing.assert_array_equal(moved[[0, 1, 4, 5]], xy[[0, 1, 4, 5]])
    np.testing.assert_allclose(moved[[2, 3]], xy[[2, 3]] + 1)
    np.testing.assert_array_equal(energy[[0, 1, 3, 4]], 0)


def test_strokes_do_not_pull_each_other():
    near = np.array([[0, 0], [0.1, 0], [0.1, 0.001], [0.2, 0.001]])
    variables = of(path(near, np.array([1.0, 0, 1])))
    z = np.array([[1.0, 1], [1, 1], [0, 0], [0, 0]])
    moved, _ = variables.path(z, np.zeros(2))
    np.testing.assert_array_equal(moved[2:], near[2:])


@given(seed=seeds)
def test_pull_is_the_adjoint_of_the_path(seed):
    """⟨J (z, u), g⟩ = ⟨(z, u), Jᵀ g⟩, J by central differences at a random place."""
    rng = np.random.default_rng(seed)
    variables = of(mixed(rng))
    k, m = variables.sizes
    z0, u0, z, u = rng.normal(size=(k, 2)), rng.normal(size=m), rng.normal(size=(k, 2)), rng.normal(size=m)
    d_xy, d_energy = rng.normal(size=variables.xy.shape), rng.normal(size=variables.line_energy.shape)
    h = 1e-5
    (xy1, e1), (xy0, e0) = variables.path(z0 + h * z, u0 + h * u), variables.path(z0 - h * z, u0 - h * u)
    forward = ((xy1 - xy0) * d_xy).sum() / (2 * h) + (e1 - e0) @ d_energy / (2 * h)
    pull_z, pull_u = variables.pull(d_xy, d_energy, variables.path(z0, u0)[1])
    assert (pull_z * z).sum() + pull_u @ u == pytest.approx(forward, rel=1e-6, abs=1e-7)


@given(on=st.lists(st.booleans(), max_size=30))
def test_runs_are_the_lit_moves_in_order(on):
    flags = np.array(on, dtype=bool)
    stretches = runs(flags)
    lit = np.zeros(len(on), dtype=bool)
    for first, last in stretches:
        assert first < last
        assert last == len(on) or not flags[last]
        lit[first:last] = True
    np.testing.assert_array_equal(lit, flags)


def test_a_stroke_of_no_length_moves_as_a_whole() -> None:
    """In a design far below the spot strokes shrink to a point; nothing may become no number."""
    dot = EnergyPath(np.full((4, 2), 0.3), np.full(3, 0.1), np.full(3, 10.0))
    variables = Variables.of(dot, 0.05, 0.05)
    shifts, energies = variables.sizes
    xy, energy = variables.path(np.full((shifts, 2), 0.01), np.zeros(energies))
    assert xy == pytest.approx(np.full((4, 2), 0.31))
    assert energy == pytest.approx(np.full(3, 0.1))


def test_a_unit_of_each_variable_changes_the_path_alike():
    """Whatever the length of the moves: a node of long moves has a smaller unit than one of short moves."""
    x = np.concatenate([np.arange(0, 1, 0.01), np.arange(1, 3, 0.04)])
    uneven = path(np.stack([x, np.zeros(len(x))], axis=1))
    variables = of(uneven)
    shift, log_energy = variables.units
    for matrix, units in ((variables.shift, shift), (variables.log_energy, log_energy)):
        lengths = np.linalg.norm(matrix.toarray() * units, axis=0)
        np.testing.assert_allclose(lengths, lengths[0])
    assert shift[-10] < 0.7 * shift[10]


def test_a_stroke_without_length_has_units_too():
    dot = path(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert all(np.isfinite(units).all() for units in of(dot).units)

"""The choice of steps: truer edges, on the motor's steps, and no slower."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import small
from test_levels import fitted, measured

from laserpath.base.compute import beside
from laserpath.machine import convert
from laserpath.planning.compensation import levels, places
from laserpath.planning.compensation.levels import best_levels
from laserpath.planning.compensation.places import best_places, restored


@pytest.mark.parametrize("dialect", ["grbl", "klipper"])
def test_places_and_levels_in_turn_are_truer_than_levels_alone(dialect: str) -> None:
    """GRBL becomes no slower; Klipper's speeds also depend on the lengths of short moves."""
    task = small.task(dialect)
    levels = best_levels(fitted(task, dialect), task)
    both = best_levels(best_places(levels, task, 0.15, 0.0015), task)
    before, after = (measured(one, task.scene).figures.epe_mean for one in (levels, both))
    assert after < before
    assert dialect != "grbl" or both.motion.write_time <= 1.02 * levels.motion.write_time


@pytest.mark.parametrize("dialect", ["grbl", "klipper", "marlin"])
def test_only_vertices_change_and_by_whole_steps(dialect: str) -> None:
    task = small.task(dialect)
    program = fitted(task, dialect)
    moved = best_places(program, task, 0.15, 0.0015)
    on, level = program.path.on, task.machine.power_max / 255
    np.testing.assert_array_equal(moved.path.on, on)
    slower = moved.path.speed / program.path.speed  # on Marlin, the peak speed is that of the moved line
    np.testing.assert_allclose(moved.path.power, program.path.power * np.where(on, slower, 1), atol=level)
    assert slower.max() < 1 + 1e-3
    assert dialect == "marlin" or (slower == 1).all()
    steps = (moved.path.xy - program.path.xy) * np.asarray(task.machine.steps)
    assert np.abs(steps).max() > 0.9, "some vertices have moved"
    assert np.abs(steps).max() < 2.1
    np.testing.assert_allclose(steps, np.rint(steps), atol=0.1)  # digits written


def test_around_a_place_vertices_and_powers_are_restored() -> None:
    task = small.task("grbl")
    before = fitted(task, "grbl")
    moved = best_levels(best_places(before, task, 0.15, 0.0015), task)
    place = before.path.xy[np.argmax(np.hypot(*(moved.path.xy - before.path.xy).T))]
    back = restored(moved, before, place[None])
    away = np.hypot(*(before.path.xy - place).T)
    near, far = away < 1.5 * task.scene.fwhm, away > 3.5 * task.scene.fwhm
    np.testing.assert_array_equal(back.path.xy[near], before.path.xy[near])
    np.testing.assert_array_equal(back.path.xy[far], moved.path.xy[far])
    assert (moved.path.xy[near] != before.path.xy[near]).any()
    assert (moved.path.xy[far] != before.path.xy[far]).any()
    inside = near[1:] & near[:-1]
    np.testing.assert_array_equal(back.path.power[inside], before.path.power[inside])
    assert restored(moved, before, np.zeros((0, 2))) is moved
    put_back, more = (
        (one.path.xy == before.path.xy).all(axis=1)
        for one in (back, restored(moved, before, place[None], 1.5))
    )
    assert more[put_back].all() and more.sum() > put_back.sum()


def test_no_move_becomes_too_short_for_marlin() -> None:
    """Marlin adds a move of fewer than 6 steps to the next one, whose light then begins where it began."""
    task = small.task("marlin")
    shortest = convert.controller(task.machine).shortest_move
    program = fitted(task, "marlin")
    moved = best_places(program, task, 0.15, 0.0015)
    before, after = (np.abs(np.diff(one.path.xy, axis=0)).max(axis=1) for one in (program, moved))
    assert (after > np.minimum(before, shortest) - 1e-4).all()
    assert np.abs(after - before).max() > 0.9 / 80, "some moves have changed"


def test_behind_a_shaper_the_vertices_stay() -> None:
    task = small.task("shaped")
    program = fitted(task, "shaped")
    assert best_places(program, task, 0.15, 0.0015) is program


def test_looking_only_at_what_has_changed_gives_the_same_as_looking_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call with one sweep looks at every vertex."""
    results: list[tuple[np.ndarray, np.ndarray]] = []

    def descended(given: tuple[Any, ...], sweeps: int) -> int:
        """From copies, until nothing changes any more; vertices may go as far as they like."""
        return descend(*given[:10], sweeps, 1000)

    def both(*given: Any) -> int:
        one, other = copy.deepcopy(given), copy.deepcopy(given)
        assert descended(one, 100) > 10
        while descended(other, 1):
            pass
        results.extend([(one[0], other[0]), (one[6], other[6])])
        return descend(*given)

    descend = places.descend
    monkeypatch.setattr(places, "descend", both)
    best_places(fitted(small.task("grbl"), "grbl"), small.task("grbl"), 0.15, 0.0015)
    for one, other in results:
        np.testing.assert_array_equal(one, other)
    assert len(results) == 4, "two descents, of one step each"


def test_pieces_follow_their_vertices_with_their_energy_per_length() -> None:
    """Two rows of two pieces: the vertex between goes up, the ends stay."""
    ends = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    pieces = places.MovedPieces(ends, np.array([0.5, 1, 0.5, 1]), np.full(4, 2.0), np.array([0, 2, 4]))
    moved = places._shifted(pieces, np.array([[0.0, 0.0], [0.0, 0.4], [0.0, 0.0]]))
    np.testing.assert_allclose(moved.ends, np.column_stack([ends[:, 0], [0, 0.2, 0.4, 0.2, 0]]))
    np.testing.assert_allclose(moved.energy, 2.0 * np.hypot(1, 0.2))


@pytest.mark.parametrize("rows", ["effects", "influence"])
def test_rows_are_the_same_bits_on_any_number_of_processors(
    rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what the vertices change, and of what the moves' light gives, each row is computed by itself."""
    module = {"effects": places, "influence": levels}[rows]
    whole, calls = getattr(module, rows), []

    def kept(*given: Any) -> Any:
        calls.append(given)
        return whole(*given)

    monkeypatch.setattr(module, rows, kept)
    task = small.task("grbl")
    best_places(best_levels(fitted(task, "grbl"), task), task, 0.15, 0.0015)
    found = []
    for count in (1, 2, 5):
        monkeypatch.setattr(beside, "cpu_count", lambda count=count: count)
        found.append(whole(*calls[-1]))
    assert len(found[0].point) > 100
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)

"""No more moves a second than the link delivers."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, path

from laserpath.measure import _peak_rate
from laserpath.rate import crowding, share_of_speed, thin
from laserpath.smooth import to_levels
from laserpath.types import Machine

MACHINE = Machine(acceleration=(5000.0, 5000.0))


def circle(radius: float, step: float, power: float = 2.0):
    n = int(2 * np.pi * radius / step)
    angle = np.linspace(0, 2 * np.pi, n + 1)
    return path(10 + radius * np.column_stack([np.cos(angle), np.sin(angle)]), power)


def test_short_moves_at_full_speed_crowd_the_link():
    """0.1 mm at up to 50 mm/s are 500 moves/s where the link has 250; 0.5 mm are 100."""
    assert crowding(circle(5, 0.1), MACHINE).max() == pytest.approx(2, rel=0.02)
    assert crowding(circle(5, 0.5), MACHINE).max() == pytest.approx(0.4, rel=0.02)


def test_every_move_of_a_crowded_run_is_told():
    found = crowding(circle(5, 0.1), MACHINE)
    assert found.shape == (len(circle(5, 0.1)),)
    middle = len(found) // 2
    assert (found[middle - 20 : middle + 20] > 1.9).all()


def test_thinning_takes_out_vertices_within_the_tolerance():
    start = circle(5, 0.1)
    thinned = thin(start, SPOT, MACHINE, 0.05)
    assert crowding(thinned, MACHINE).max() < 1
    assert set(map(tuple, thinned.xy)) < set(map(tuple, start.xy))
    off = shapely.distance(shapely.points(start.xy), shapely.LineString(thinned.xy))
    assert off.max() <= 0.05 * FWHM + 1e-12


def test_thinning_keeps_the_energy():
    start = circle(5, 0.1)
    thinned = thin(start, SPOT, MACHINE, 0.05)
    energy = [(one.line_energy * one.length).sum() for one in (start, thinned)]
    assert energy[1] == pytest.approx(energy[0])


def test_nothing_is_thinned_where_the_link_keeps_up():
    fast = replace(MACHINE, segment_rate=1e6)
    start = circle(5, 0.1)
    assert len(thin(start, SPOT, fast, 0.05)) == len(start)


def test_a_slower_path_keeps_to_the_rate_and_to_its_line_energies():
    start = circle(5, 0.1)
    slower = to_levels(start, MACHINE, SPOT, share_of_speed(start, MACHINE))
    assert crowding(slower, MACHINE).max() <= 1.01
    np.testing.assert_allclose(slower.line_energy, start.line_energy)
    assert np.median(slower.speed) == pytest.approx(25, rel=0.1)


def test_the_share_is_one_where_the_link_keeps_up():
    assert (share_of_speed(circle(5, 0.5), MACHINE) == 1).all()


def test_it_is_the_figure_that_the_report_shows():
    start = circle(5, 0.1)
    duration = start.length / 50
    inside = _peak_rate(duration[50:-50], MACHINE.look_ahead)
    assert crowding(start, MACHINE).max() * MACHINE.segment_rate == pytest.approx(inside, rel=0.02)

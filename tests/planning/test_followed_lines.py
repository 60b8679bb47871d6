"""Line mode: the spot stays on the lines that are drawn, and its energies give them their widths."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import shapely
from builders import read
from scipy.spatial import cKDTree

from laserpath import Process, Settings, Spot, plan, plan_layers, profiles
from laserpath.base.arrays import Floats, ends_of
from laserpath.base.errors import InputError
from laserpath.design.reading import Reading
from laserpath.design.vector import followed
from laserpath.planning import Plan
from laserpath.planning.curve.follow import too_wide, widest_line
from laserpath.types import Design

pytestmark = pytest.mark.usefixtures("alone")

FWHM = 0.1
PROCESS = Process(Spot(fwhm=FWHM), profiles.resin("generic-405"), profiles.machine("grbl-diode-405"))
STEP = 1 / min(PROCESS.machine.steps)  # type: ignore[arg-type]
LINES = (
    ([(0.5, 0.5), (2.5, 0.5)], 0.1),
    ([(0.5, 0.9), (2.5, 0.9)], 0.08),
    ([(0.5, 1.3), (1.5, 1.7), (2.5, 1.3)], 0.12),
    ([(0.7, 2.0), (2.3, 2.0), (2.3, 2.6), (0.7, 2.6), (0.7, 2.0)], 0.1),
)


def lines(*drawn: tuple[list[tuple[float, float]], float]) -> Design:
    return followed([(np.array(xy), width) for xy, width in drawn], "lines", Reading(FWHM / 50))


@cache
def planned() -> Plan:
    return plan(lines(*LINES), PROCESS, Settings(iterations=60, report="brief", origin="own"))


def lit() -> Floats:
    path = planned().shipped.path
    return path.xy[ends_of(path.on)]


def test_the_laser_is_on_only_along_the_lines_and_turns_where_they_do() -> None:
    drawn = planned().design.lines
    assert drawn is not None
    assert shapely.distance(drawn.paths, shapely.points(lit())).max() < STEP
    assert cKDTree(lit()).query(shapely.get_coordinates(drawn.paths))[0].max() < STEP
    run = planned().shipped.executed  # as the controller moves
    away = shapely.distance(drawn.paths, shapely.points(run.xy[ends_of(run.on)]))
    assert away.max() < STEP


def test_lines_are_executed_in_their_widths() -> None:
    """The width across the middle of each straight line, where the dose is the critical one."""
    executed = planned().report.executed
    offsets = np.linspace(-0.1, 0.1, 401)
    for xy, width in LINES[:2]:
        (x0, y), (x1, _) = xy
        for x in np.linspace(x0 + 3 * FWHM, x1 - 3 * FWHM, 5):
            points = np.stack([np.full(len(offsets), x), y + offsets], axis=1)
            dose = read(executed.grid, points, executed.dose)
            cured = (dose >= PROCESS.resin.critical_dose).sum() * (offsets[1] - offsets[0])
            assert cured == pytest.approx(width, abs=0.06 * FWHM)
    assert executed.figures.epe_mean < 0.05
    assert planned().report.inspection.faults == ()


def test_lines_end_where_they_are_drawn() -> None:
    """A line of constant energy ends half a FWHM early: beyond its end there is half of the dose.

    One wider than the spot has too little room below the largest dose for all of that.
    """
    executed = planned().report.executed
    for xy, width in LINES[:3]:
        for end, inner in ((xy[0], xy[1]), (xy[-1], xy[-2])):
            way = np.subtract(end, inner) / np.hypot(*np.subtract(end, inner))
            beyond = np.linspace(-FWHM, FWHM, 401)
            dose = read(executed.grid, end + beyond[:, None] * way, executed.dose)
            reached = beyond[dose >= PROCESS.resin.critical_dose].max()
            assert reached == pytest.approx(width / 2, abs=(0.1 if width <= FWHM else 0.16) * FWHM)


@pytest.mark.slow
def test_a_dot_beside_lines_is_as_wide_as_it_is_drawn() -> None:
    """It begins with the energy of a dot, not with that of so short a piece of a line."""
    dot = [(1.5, 1.5), (1.501, 1.5)]
    done = plan(lines(LINES[0], (dot, FWHM)), PROCESS, Settings(iterations=60, report="brief", origin="own"))
    executed = done.report.executed
    across = np.linspace(-FWHM, FWHM, 401)
    points = np.stack([np.full(len(across), 1.5), 1.5 + across], axis=1)
    dose = read(executed.grid, points, executed.dose)
    assert np.ptp(across[dose >= PROCESS.resin.critical_dose]) == pytest.approx(FWHM, rel=0.15)


@pytest.mark.slow
def test_the_last_end_of_a_program_is_exposed_as_the_first() -> None:
    """GRBL's light falls with the speed: without a dark way out, the last end is 0.52 FWHM short."""
    xy = [(0.5, 0.5), (2.5, 0.5)]
    executed = plan(lines((xy, FWHM)), PROCESS, Settings(iterations=60, report="brief")).report.executed
    x = np.linspace(0.3, 2.7, 2401)
    points = np.stack([x, np.full(len(x), 0.5)], axis=1)
    dose = read(executed.grid, points, executed.dose)
    cured = x[dose >= PROCESS.resin.critical_dose]
    assert cured[0] - 0.45 < 0.1 * FWHM and 2.55 - cured[-1] < 0.1 * FWHM


def test_a_line_wider_than_the_spot_gives_is_named() -> None:
    """A Gaussian spot draws a line of FWHM · sqrt(log2 u) with u critical doses in its middle."""
    gaussian = Process(Spot(fwhm=FWHM, profile="gaussian"), PROCESS.resin, PROCESS.machine)
    widest = FWHM * np.sqrt(np.log2(PROCESS.resin.over_dose))
    assert widest_line(gaussian) == pytest.approx(widest, rel=0.02)
    assert not list(too_wide(lines(*LINES), gaussian))
    (sentence,) = too_wide(lines(*LINES, ([(0.5, 3.0), (2.5, 3.0)], 0.3)), gaussian)
    assert sentence.startswith(
        "1 line is drawn up to 0.3 mm wide, but one line of this spot gives about 0.12"
    )


def test_another_starting_curve_is_refused() -> None:
    with pytest.raises(
        InputError, match="--follow exposes the drawing's lines, so that --initial hatch says"
    ):
        plan(lines(*LINES), PROCESS, Settings(initial="hatch", iterations=1))


@pytest.mark.slow
def test_layers_of_lines_are_exposed_along_them() -> None:
    """The layers have one zero, which is the corner of neither; their lines cross."""
    across = [(1.0, 0.7), (1.0, 1.9)], 0.1
    layers = [(0.1, lines(LINES[1], across)), (0.2, lines(LINES[2], across))]
    done = plan_layers(layers, PROCESS, Settings(iterations=2, origin="design", report="brief"))
    for one in done.plans:
        path, drawn = one.shipped.path, one.design.lines
        assert drawn is not None
        assert shapely.distance(drawn.paths, shapely.points(path.xy[ends_of(path.on)])).max() < STEP
        assert one.design.area.buffer(1e-6).covers(drawn.paths)

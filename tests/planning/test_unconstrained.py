"""The best dose of any light source: never worse than a hatch, and each place that it misses is named."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from builders import FWHM, SPOT, design, path
from shapely import affinity

from laserpath import measure
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.design.target import grid_for, rasterise
from laserpath.physics.dose import DoseModel
from laserpath.planning import limit, unconstrained
from laserpath.planning.optimise.objective import Objective
from laserpath.types import Design, Resin, Spot

RESIN = Resin()


def loss_of(made: Design, spot: Spot = SPOT, resin: Resin = RESIN) -> Objective:
    """The loss that the planner ends with."""
    target = rasterise(made, grid_for(made, spot, 6))
    return Objective.of(Scene.of(made, target, spot, resin), 0.05).at_contrast(1.2 * resin.contrast)


def limit_of(made: Design, spot: Spot = SPOT, resin: Resin = RESIN, **options) -> measure.Limit:
    loss = loss_of(made, spot, resin)
    return limit(made, loss.scene.target, spot, resin.critical_dose, loss, **options)


def bars(width: float, gap: float, length: float = 8.0) -> Design:
    """Two upright bars, in FWHM."""
    one = shapely.box(0, 0, width * FWHM, length * FWHM)
    return design(one, affinity.translate(one, (width + gap) * FWHM, 0))


WIDE = bars(3, 3)
CLOSE = bars(2.5, 0.3)


@pytest.fixture(scope="module")
def wide() -> measure.Limit:
    return limit_of(WIDE)


@pytest.fixture(scope="module")
def close() -> measure.Limit:
    return limit_of(CLOSE)


def test_light_is_nowhere_negative_and_near_the_design(wide):
    assert wide.energy.min() >= 0
    away = shapely.distance(WIDE.area, shapely.points(wide.xy))
    assert 0.8 * FWHM < away.max() <= FWHM


def test_the_dose_holds_the_source_s_energy_but_for_what_shines_beyond_the_grid(wide):
    assert 0.9 < wide.dose.sum() * wide.grid.pixel_area / wide.energy.sum() < 1


def test_bars_much_wider_than_the_spot_are_printed_almost_exactly(wide):
    assert wide.figures.epe_mean < 0.015
    assert wide.figures.missing_edges == 0
    assert {(place.kind, place.lost) for place in wide.unprintable} <= {("corner", False)}


@pytest.mark.parametrize("pitch", [0.25, 0.5, 1.0])
def test_no_hatch_is_better_whatever_its_exposure(wide, pitch):
    loss = loss_of(WIDE)
    y = np.arange(0.4, 7.7, pitch) * FWHM
    rows = [[(left * FWHM, at), ((left + 2.2) * FWHM, at)] for at in y for left in (0.4, 6.4)]
    hatch = path(np.concatenate(rows))
    hatch = replace(hatch, power=np.where(np.arange(len(hatch)) % 2 == 0, 1.0, 0.0))
    dose = DoseModel(loss.scene.grid, SPOT).dose(hatch)
    losses = [
        loss(dose * np.float32(k * RESIN.critical_dose / dose.max()))[0] for k in np.geomspace(0.5, 4, 40)
    ]
    assert wide.loss.min() < 0.5 * min(losses)


def test_the_search_descends_and_ends_by_itself(wide):
    assert wide.loss[0] > 10 * wide.loss.min()
    assert len(wide.loss) < unconstrained.EVALUATIONS
    assert len(limit_of(WIDE, evaluations=5).loss) <= 6  # scipy ends a step that it has begun


@pytest.mark.slow
def test_twice_the_critical_dose_takes_twice_the_energy(close):
    """The same search in other units, up to what rounding in single precision makes of 100 steps."""
    twice = limit_of(CLOSE, resin=replace(RESIN, critical_dose=2 * RESIN.critical_dose))
    assert twice.energy.sum() == pytest.approx(2 * close.energy.sum(), rel=0.01)
    assert twice.figures.epe_mean == pytest.approx(close.figures.epe_mean, rel=0.05)


@pytest.mark.slow
def test_twice_the_size_with_twice_the_spot_prints_as_well(wide):
    large = Design(affinity.scale(WIDE.area, 2, 2, origin=(0, 0)))
    twice = limit_of(large, spot=replace(SPOT, fwhm=2 * FWHM))
    assert twice.energy.sum() == pytest.approx(4 * wide.energy.sum(), rel=0.02)
    assert twice.figures.epe_mean == pytest.approx(wide.figures.epe_mean, rel=0.1)


def test_a_gap_far_below_the_spot_closes_and_the_place_is_in_it(close):
    gap = shapely.box(2.5 * FWHM, 0, 2.8 * FWHM, 8 * FWHM)
    lost = [place for place in close.unprintable if place.lost]
    # At the one exact dose it can be kept open, at 10 % more it bridges.
    assert {(place.kind, place.exposure) for place in lost} == {("gap", 1.1)}
    assert all(gap.contains(shapely.Point(place.at)) for place in lost)
    assert all(place.width == pytest.approx(0.3 * FWHM, rel=1e-3) for place in lost)
    x, y = lost[0].at
    assert lost[0].sentence == f"gap of 0.030 mm at ({x:.3f}, {y:.3f}): closes at 10 % more dose"
    assert measure.summary(close.unprintable)[0].startswith(f"{len(lost)} gap")


def test_a_gap_of_a_seventh_of_the_spot_closes_at_any_dose():
    narrow = bars(2.5, 0.15)
    closed = limit_of(narrow).unprintable[0]
    assert (closed.kind, closed.lost, closed.exposure) == ("gap", True, 1.0)
    assert shapely.box(0.25, 0, 0.265, 0.8).contains(shapely.Point(closed.at))
    assert closed.sentence.endswith("closes")


def misprints(dose, made: Design) -> tuple[measure.Unprintable, ...]:
    """The places that a dose `dose`(x, y), in critical doses, does not print."""
    grid = grid_for(made, SPOT, 8)
    x, y = np.meshgrid(grid.x(), grid.y())
    return measure.unprintable(dose(x, y), Scene(made, grid, SPOT, Resin(critical_dose=1.0)))


def wall(distance):
    """A dose that falls through the critical one where a signed distance (mm, + inside) is 0."""
    return np.clip(1 + 2 * distance / FWHM, 0, 2)


def test_a_feature_without_dose_is_lost_and_the_place_is_in_it():
    line = design(shapely.box(0, 0, 0.5 * FWHM, 5 * FWHM), shapely.box(0.4, 0, 0.8, 0.5))
    (lost,) = misprints(lambda x, y: wall(np.minimum.reduce([x - 0.4, 0.8 - x, y, 0.5 - y])), line)
    assert (lost.kind, lost.lost) == ("feature", True)
    assert lost.width == pytest.approx(0.5 * FWHM, rel=1e-3)
    assert line.area.geoms[0].contains(shapely.Point(lost.at)) or line.area.geoms[1].contains(
        shapely.Point(lost.at)
    )
    assert lost.at[0] < 0.1


def test_a_rounded_corner_is_a_corner_with_its_error():
    square = design(shapely.box(-0.5, -0.5, 0.5, 0.5))
    corners = misprints(lambda x, y: wall(0.5 - (x**16 + y**16) ** (1 / 16)), square)
    assert len(corners) == 4
    assert {(place.kind, place.lost, place.width) for place in corners} == {("corner", False, None)}
    assert all(place.error < -0.1 * FWHM for place in corners)
    assert all(abs(abs(c) - 0.5) < 0.1 for place in corners for c in place.at)
    assert measure.summary(corners)[0].startswith("4 corners are off by up to 0.0")


def test_a_wide_square_cured_too_far_has_edges_that_are_out():
    square = design(shapely.box(-0.5, -0.5, 0.5, 0.5))
    edges = misprints(lambda x, y: wall(0.52 - np.maximum(np.abs(x), np.abs(y))), square)
    assert {place.kind for place in edges} == {"edge", "corner"}
    assert all(place.error == pytest.approx(0.02, abs=2e-3) for place in edges)
    assert all("0.02" in place.sentence and "too far out" in place.sentence for place in edges)


def test_what_is_printed_as_drawn_is_not_named():
    square = design(shapely.box(-0.5, -0.5, 0.5, 0.5))
    assert misprints(lambda x, y: wall(0.5 - np.maximum(np.abs(x), np.abs(y))), square) == ()
    assert measure.summary(()) == ()


def test_every_bad_sample_belongs_to_one_place(wide):
    bad = wide.edges.missing | (np.abs(wide.edges.epe) > 0.1 * FWHM)
    named = [k for place in wide.unprintable if place.exposure == 1 for k in place.samples]
    assert sorted(named) == list(np.flatnonzero(bad))


def test_what_cannot_be_used_is_refused():
    loss = loss_of(CLOSE)
    with pytest.raises(InputError, match="evaluations is 0"):
        limit(CLOSE, loss.scene.target, SPOT, 0.2, loss, evaluations=0)
    with pytest.raises(InputError, match="loss is nan at evaluation 0"):
        limit(CLOSE, loss.scene.target, SPOT, 0.2, lambda dose: (np.nan, dose))

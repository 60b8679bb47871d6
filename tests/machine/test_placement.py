"""Tone, work zero, bounds, and the warning about details that are too fine."""

import numpy as np
import pytest
import shapely
from builders import SPOT, design
from hypothesis import given
from hypothesis import strategies as st
from shapely import affinity
from shapes import NODING

from laserpath.base.errors import InputError
from laserpath.machine.placement import place, to_expose, too_fine
from laserpath.types import Design, Machine, Resin

MACHINE = Machine(size=(30.0, 20.0))
BOX = shapely.box(2, 3, 4, 4)
PAGE = (1.0, 1.0, 11.0, 6.0)
POSITIVE = Resin(tone="positive")


def placed(made, origin="page", resin=None, machine=MACHINE):
    return place(made, resin or Resin(), machine, SPOT, origin)


def test_the_page_s_corner_is_the_work_zero():
    moved = placed(Design(BOX, page=PAGE))
    assert moved.bounds == (1, 2, 3, 3)
    assert moved.page == (0, 0, 10, 5)


def test_without_a_page_coordinates_stay():
    assert placed(design(BOX)).bounds == BOX.bounds


def test_the_design_s_corner_as_work_zero():
    moved = placed(Design(BOX, page=PAGE), "design")
    assert moved.bounds == (0, 0, 2, 1)
    assert moved.page == (-1, -2, 9, 3)


def test_the_design_s_centre_as_work_zero_may_be_negative():
    assert placed(Design(BOX, page=PAGE), "centre").bounds == (-1, -0.5, 1, 0.5)


@given(dx=st.floats(-100, 100), dy=st.floats(-100, 100), origin=st.sampled_from(["design", "centre"]))
def test_with_its_own_zero_it_does_not_matter_where_a_design_was_drawn(dx, dy, origin):
    moved = placed(design(affinity.translate(BOX, dx, dy)), origin)
    np.testing.assert_allclose(moved.bounds, placed(design(BOX), origin).bounds, atol=1e-9)


def test_positive_tone_exposes_the_page_around_the_design():
    exposed = to_expose(Design(BOX, page=PAGE), POSITIVE, SPOT)
    assert exposed.area.equals(shapely.box(*PAGE).difference(BOX, grid_size=NODING))


def test_positive_tone_without_a_page_exposes_a_frame():
    exposed = to_expose(design(BOX), POSITIVE, SPOT)
    np.testing.assert_allclose(exposed.bounds, (1.7, 2.7, 4.3, 4.3))
    assert exposed.area.area == pytest.approx(2.6 * 1.6 - 2)


def test_negative_tone_exposes_the_design_itself():
    made = design(BOX)
    assert to_expose(made, Resin(), SPOT) is made


def test_a_page_all_covered_leaves_nothing_to_a_positive_resist():
    with pytest.raises(InputError, match="covers its whole page, so a positive resist"):
        to_expose(Design(shapely.box(*PAGE), page=PAGE), POSITIVE, SPOT)


@pytest.mark.parametrize(
    ("box", "origin", "sentence"),
    [
        ((0, 0, 31, 1), "page", r"is 31 mm long in x, above the 30 mm of machine"),
        ((0, 0, 1, 25), "centre", r"is 25 mm long in y, above the 20 mm of machine"),
        (
            (-1, 0, 5, 5),
            "page",
            r"reaches from x = -1 to 5 mm, outside the machine's 0 to 30 mm; --origin design starts",
        ),
        ((0, 17, 5, 22), "page", r"reaches from y = 17 to 22 mm, outside the machine's 0 to 20 mm"),
    ],
)
def test_a_design_that_does_not_fit_is_refused_in_a_sentence(box, origin, sentence):
    with pytest.raises(InputError, match=sentence):
        placed(design(shapely.box(*box)), origin)


@pytest.mark.parametrize("origin", ["page", "design", "centre"])
def test_the_whole_work_area_may_be_used(origin):
    assert placed(design(shapely.box(0, 0, 30, 20)), origin).size == (30, 20)


def test_a_fine_line_is_named_with_its_place():
    made = design(shapely.box(0, 0, 1, 1), shapely.box(2, 0, 2.03, 1))
    (sentence,) = too_fine(made, SPOT)
    assert "1 feature narrower than 0.05 mm" in sentence
    assert "(2.015, 0.500)" in sentence


def test_a_fine_gap_is_named_with_its_place():
    (sentence,) = too_fine(design(shapely.box(0, 0, 1, 1), shapely.box(1.03, 0, 2, 1)), SPOT)
    assert "1 gap narrower than" in sentence
    assert "(1.015, 0.500)" in sentence


def test_islands_and_holes_count_however_small():
    island, hole = shapely.box(3, 3, 3.005, 3.005), shapely.box(0.5, 0.5, 0.505, 0.505)
    features, gaps = too_fine(
        design(shapely.box(0, 0, 1, 1).difference(hole, grid_size=NODING), island), SPOT
    )
    assert "1 feature narrower" in features and "(3.002, 3.002)" in features.replace("3.003", "3.002")
    assert "1 gap narrower" in gaps


@given(angle=st.floats(0, 90), width=st.floats(0.12, 0.5))
def test_a_coarse_slanted_or_curved_design_is_no_cause_for_warnings(angle, width):
    bar = affinity.rotate(shapely.box(0, 0, 2, width), angle)
    assert too_fine(design(bar), SPOT) == ()
    bent = shapely.LineString([(0, 0), (1, 0.7), (2, 0)]).buffer(width / 2, quad_segs=32)
    assert too_fine(design(affinity.rotate(bent, angle)), SPOT) == ()
    assert too_fine(design(shapely.Point(0, 0).buffer(width, quad_segs=32)), SPOT) == ()


@given(angle=st.floats(0, 90))
def test_sharp_tips_of_coarse_shapes_may_be_named_but_only_there(angle):
    """A right-angled corner is not too fine at any angle."""
    assert too_fine(design(affinity.rotate(shapely.box(0, 0, 1, 1), angle)), SPOT) == ()


def test_the_spot_decides_what_is_fine():
    from laserpath.types import Spot

    line = design(shapely.box(0, 0, 0.03, 1))
    assert too_fine(line, SPOT)
    assert not too_fine(line, Spot(fwhm=0.05))

"""What is exposed is larger by what the resin shrinks, and its edges make up for the bias of development."""

from __future__ import annotations

from dataclasses import replace

import pytest
import shapely
from shapely import affinity

import laserpath
from laserpath import InputError
from laserpath.base.overlay import differing, minus
from laserpath.design.reading import Reading
from laserpath.machine.placement import compensated
from laserpath.planning import stacked
from laserpath.planning.output import header_of_parts
from laserpath.planning.relief.target import from_image
from laserpath.types import Alignment, Design, Fiducial, Machine, Process, Resin, Settings, Spot
from laserpath.types.drawing import Fitted

RESIN = Resin(shrinkage=(0.02, 0.01, 0.005), development_bias=0.01)
DRAWN = shapely.MultiPolygon([shapely.box(1, 2, 3, 5), shapely.box(4, 2, 5, 3)])


def printed(exposed: shapely.Geometry, resin: Resin) -> shapely.Geometry:
    """What is left of it after development, once it has shrunk."""
    grown = exposed.buffer(resin.development_bias, join_style="mitre")
    x, y, _ = (1 - share for share in resin.shrinkage)
    return affinity.scale(grown, x, y, origin=(0, 0))


@pytest.mark.parametrize("bias", [0.01, -0.01, 0.0])
def test_what_is_left_is_the_drawing(bias: float) -> None:
    resin = replace(RESIN, development_bias=bias)
    made = compensated(Design(DRAWN), resin)
    assert differing(printed(made.area, resin), DRAWN).area < 1e-9
    assert "a shrinkage of 2 % in x, 1 % in y and 0.5 % in z" in made.source[-1]
    assert ("edges moved" in made.source[-1]) == bool(bias)


def test_a_resin_that_neither_shrinks_nor_has_a_bias_changes_nothing() -> None:
    design = Design(DRAWN)
    assert compensated(design, Resin()) is design
    assert compensated(design, Resin(shrinkage=(0, 0, 0.1))) is design


def test_an_aligned_drawing_stays_at_its_marks() -> None:
    marks = (Fiducial((1, 2), (101, 52)), Fiducial((5, 2), (105, 52)))
    known = Fitted(1.0, None)
    aligned = Alignment(
        marks, "shift", (1, 0, 0, 1, 100, 50), ((0, 0), (0, 0)), Fitted(0.0, None), (known, known),
        Fitted(0.0, None),
    )  # fmt: skip
    area = affinity.translate(DRAWN, 100, 50)
    made = compensated(Design(area, alignment=aligned), replace(RESIN, development_bias=0.0))
    assert made.bounds[0] == pytest.approx(103 - 2 / 0.98)
    assert made.bounds[2] == pytest.approx(103 + 2 / 0.98)


def test_what_the_bias_would_swallow_is_named_or_refused() -> None:
    hair = Design(shapely.MultiPolygon([shapely.box(0, 0, 1, 0.015), shapely.box(0, 1, 1, 2)]))
    assert any("1 feature narrower than 20 µm" in one for one in compensated(hair, RESIN).warnings)
    with pytest.raises(InputError, match="nothing wider than 20 µm, by which the development"):
        compensated(Design(shapely.box(0, 0, 1, 0.015)), RESIN)
    hole = Design(minus(shapely.box(0, 0, 1, 1), shapely.box(0.4, 0.4, 0.415, 0.6)))
    grown = compensated(hole, Resin(development_bias=-0.01))
    assert any("1 hole narrower than 20 µm" in one for one in grown.warnings)


def test_all_layers_of_a_part_shrink_about_one_point_and_keep_their_heights() -> None:
    """And the exposed heights are those before the resin shrinks."""
    process = Process(Spot(0.1), RESIN, Machine())
    stack = stacked([(0.05, shapely.box(0, 0, 2, 2)), (0.1, shapely.box(1, 0, 2, 2))], process, Settings())
    assert stack.z == pytest.approx((0.05 / 0.995, 0.1 / 0.995))
    assert stack.drawn[0].bounds == pytest.approx((0.01, 0.01, 2 / 0.98 - 0.01, 2 / 0.99 - 0.01))
    assert stack.drawn[1].bounds[0] == pytest.approx(1 / 0.98 + 0.01)
    assert "a shrinkage" in stack.whole.source[-1]


def test_a_plan_exposes_the_larger_drawing_and_its_report_says_so() -> None:
    process = Process(Spot(0.2), Resin(shrinkage=(0.05, 0.05, 0.05)), Machine())
    made = laserpath.plan(shapely.box(0, 0, 0.8, 0.4), process, Settings(iterations=0, report="brief"))
    assert made.design.size == pytest.approx((0.8 / 0.95, 0.4 / 0.95))
    assert "made larger for a shrinkage of 5 %" in made.program


def test_the_head_of_a_program_of_several_parts_says_what_each_makes_up_for() -> None:
    process = Process(Spot(0.1), RESIN, Machine())
    parts = [(Design(DRAWN, name=name), process, Settings()) for name in ("wall", "lid")]
    told = [line for line in header_of_parts("box", parts) if "shrinkage of" in line]
    made = (
        "made larger for a shrinkage of 2 % in x, 1 % in y and 0.5 % in z, edges moved in by 10 µm for the "
        "bias of development"
    )
    assert told == [f"wall: {made}", f"lid: {made}"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"shrinkage": (0.01, 0.2, 0.01)}, "shrinkage in y is 20 %, but must be between -10 and 10 %"),
        ({"shrinkage": 0.01}, "must be three numbers, of x, y and z"),
        ({"shrinkage": ("a", 0, 0)}, "must be numbers"),
        ({"development_bias": 3}, "development_bias is 3000 µm, but must be between -200 and 200 µm"),
    ],
)
def test_a_resin_cannot_shrink_or_grow_by_anything(changed: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Resin(**changed)  # type: ignore[arg-type]


def test_boards_and_greys_are_not_scaled() -> None:
    process = Process(Spot(0.1), RESIN, Machine())
    with pytest.raises(InputError, match="on a board it is held by what is below"):
        laserpath.plan_board("board.zip", process)
    with pytest.raises(InputError, match="compensated in drawings and parts, not in greys"):
        from_image(b"", "grey", Reading(0.01), RESIN)

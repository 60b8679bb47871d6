"""A board: its outline, one zero for all layers, what each layer means, holes, copies."""

from __future__ import annotations

from pathlib import Path

import boards
import numpy as np
import pytest
import shapely
from boards import HOLES, box, drill, gerber, line, pads
from shapely import affinity
from shapes import both, differing_area, minus, plus

from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.design.board import BoardExposure, CircuitBoard, load_board
from laserpath.design.board.files import opposite
from laserpath.machine.placement import to_expose
from laserpath.types import Design, Fiducial, Spot

INCHES = boards.files()["b-B_Cu.gbr"].replace(b"%MOMM*%", b"%MOIN*%")
"""Copper whose file names the wrong unit."""
CORNER, SIZE = (20.0, 30.0), (10.0, 6.0)
TOLERANCE = 0.002


def load(folder: Path, *layers: str, **changed: bytes | None) -> CircuitBoard:
    return load_board([boards.write(folder / "b", **changed)], tolerance=TOLERANCE, layers=layers or None)


def exposed(design: Design, tone: str) -> shapely.Geometry:
    """What a plan would expose of it."""
    resin = profiles.resin("generic-405" if tone == "negative" else "positive-photoresist")
    return to_expose(design, resin, Spot(fwhm=0.05)).area


def of_board(area: shapely.Geometry) -> shapely.Geometry:
    """An area in the board's own coordinates, with its corner at zero."""
    return affinity.translate(area, -CORNER[0], -CORNER[1])


def mirrored(area: shapely.Geometry) -> shapely.Geometry:
    return affinity.affine_transform(area, (-1, 0, 0, 1, SIZE[0], 0))


def test_the_outline_is_the_middle_of_its_lines_without_what_is_cut_out(tmp_path: Path) -> None:
    board = load(tmp_path)
    assert board.box == (20, 30, 30, 36)
    assert abs(board.outline.area - (60 - 2)) < 1e-9
    assert [layer.kind for layer in board.layers] == ["top-copper", "bottom-copper"]
    assert [hole.centre for hole in board.holes] == list(HOLES)
    assert board.warnings == ()


def test_all_layers_have_one_zero_and_the_back_lies_over_the_front(tmp_path: Path) -> None:
    board = load(tmp_path)
    front, back = board.designs()
    assert front.page == back.page == (0, 0, *SIZE)
    assert front.extent == back.extent == (0, 0, *SIZE)
    drawn = {layer.kind: of_board(layer.area) for layer in board.layers}
    assert differing_area(front.area, drawn["top-copper"]) < 1e-6
    assert differing_area(mirrored(back.area), drawn["bottom-copper"]) < 1e-6
    for x, y in HOLES:
        pad = shapely.Point(x - 20, y - 30).buffer(0.4)
        assert front.area.contains(pad)
        assert mirrored(back.area).contains(pad)
    turned = board.designs(BoardExposure(mirror="y"))[1]
    assert (
        differing_area(affinity.affine_transform(turned.area, (1, 0, 0, -1, 0, 6)), drawn["bottom-copper"])
        < 1e-6
    )


def test_pads_lie_on_their_copper_on_both_sides(tmp_path: Path) -> None:
    board = load(tmp_path)
    for design in board.designs(BoardExposure(rotate=90, columns=2)):
        assert design.pads is not None and len(design.pads.nets) == 2 * len(HOLES)
        assert minus(design.pads.areas, design.area).area < 1e-6
    assert all(one.pads is None for one in board.designs(tone="positive"))


def test_designs_are_named_and_say_what_is_exposed(tmp_path: Path) -> None:
    front, back = load(tmp_path).designs()
    assert [front.name, back.name] == ["b-top-copper", "b-bottom-copper"]
    assert front.source == ("from b-F_Cu.gbr (by name)", "the copper as drawn is exposed")
    assert back.source[1] == "the copper as drawn is exposed, mirrored"


def test_a_positive_resist_is_exposed_where_no_copper_is_and_around_the_board(tmp_path: Path) -> None:
    board = load(tmp_path)
    front, back = board.designs(BoardExposure(rim=0.5), "positive")
    assert front.page == back.page == (0, 0, 11, 7)
    copper = affinity.translate(of_board(board.layers[0].area), 0.5, 0.5)
    assert differing_area(exposed(front, "positive"), minus(shapely.box(0, 0, 11, 7), copper)) < 1e-6


@pytest.mark.parametrize("tone", ["negative", "positive"])
def test_isolation_removes_a_band_around_the_copper_alone(tone: str, tmp_path: Path) -> None:
    board = load(tmp_path)
    front, _ = board.designs(BoardExposure(isolation=0.4), tone)
    copper = of_board(board.layers[0].area)
    band = both(minus(copper.buffer(0.4), copper), shapely.box(0, 0, *SIZE))
    rest = minus(shapely.box(0, 0, *SIZE), band)
    assert differing_area(exposed(front, tone), band if tone == "positive" else rest) < 1e-3


@pytest.mark.parametrize("kind", ["top-mask", "top-paste"])
def test_mask_and_stencil_are_the_board_without_their_openings(kind: str, tmp_path: Path) -> None:
    board = load(tmp_path, kind)
    openings = of_board(board.layers[0].area)
    whole = minus(shapely.box(0, 0, *SIZE), shapely.box(8.5, 1.5, 9.5, 3.5))
    (negative,), (positive,) = board.designs(), board.designs(tone="positive")
    assert differing_area(negative.area, minus(whole, openings)) < 1e-6
    cut_out = shapely.box(8.5, 1.5, 9.5, 3.5)
    assert differing_area(exposed(positive, "positive"), plus(openings, cut_out)) < 1e-6


def test_a_negative_layer_is_what_its_file_does_not_draw(tmp_path: Path) -> None:
    """A mask's file draws its openings, and says that it is negative, which changes nothing."""
    negative = b"%TF.FilePolarity,Negative*%"
    plain = load(tmp_path, "top-copper", "top-mask")
    files = {name: negative + boards.files()[name] for name in ("b-F_Cu.gbr", "b-F_Mask.gbr")}
    board = load(
        tmp_path, "top-copper", "top-mask", b_F_Cu=files["b-F_Cu.gbr"], b_F_Mask=files["b-F_Mask.gbr"]
    )
    copper, mask = (one.area for one in board.layers)
    assert differing_area(copper, minus(board.outline, plain.layers[0].area)) < 1e-6
    assert differing_area(mask, plain.layers[1].area) < 1e-6
    assert "b-F_Cu.gbr shows where the copper is absent" in " ".join(board.notes)


def test_inner_copper_is_seen_from_the_side_of_its_core(tmp_path: Path) -> None:
    """Planned where it is asked for: odd layers as the front, even ones mirrored; one zero with the rest."""
    drawn = boards.files()["b-B_Cu.gbr"]
    folder = boards.write(tmp_path / "b")
    (folder / "b-In1_Cu.gbr").write_bytes(drawn + b"G04 1*")
    (folder / "b-In2_Cu.gbr").write_bytes(drawn + b"G04 2*")
    outer = load_board(str(folder), tolerance=TOLERANCE)
    assert [one.kind for one in outer.layers] == ["top-copper", "bottom-copper"]
    assert "asked for: --layers inner1-copper,inner2-copper" in outer.notes[0]
    kinds = ("bottom-copper", "inner1-copper", "inner2-copper")
    back, front_of_core, back_of_core = load_board([folder], tolerance=TOLERANCE, layers=kinds).designs()
    assert differing_area(back_of_core.area, back.area) < 1e-6
    assert differing_area(front_of_core.area, mirrored(back.area)) < 1e-6
    assert front_of_core.source[1] == (
        "the copper as drawn is exposed; laminated later, on the front of its core"
    )
    assert back_of_core.source[1].endswith("; laminated later, on the back of its core, mirrored")
    assert back_of_core.page == back.page
    with pytest.raises(InputError, match=r"b has no inner3-copper; it has top-copper, .* inner2-copper"):
        load_board([folder], tolerance=TOLERANCE, layers=("inner3-copper",))
    with pytest.raises(InputError, match=r"known: .* inner1-copper … inner30-copper; did you mean inner1"):
        load_board([folder], tolerance=TOLERANCE, layers=("In1.Cu",))


def test_the_other_side_has_the_same_layers_as_far_as_they_are_there() -> None:
    there = ("top-copper", "top-mask", "top-silk", "bottom-copper", "bottom-silk", "inner1-copper")
    assert opposite(("top-mask", "top-copper", "top-silk"), there) == (
        "bottom", ("bottom-copper", "bottom-silk"),
    )  # fmt: skip
    assert opposite(("bottom-copper",), there) == ("top", ("top-copper",))
    assert opposite(("inner1-copper",), there) == ("bottom", ())


def test_a_plane_of_altium_is_what_its_file_does_not_draw(tmp_path: Path) -> None:
    folder = boards.write(tmp_path / "b")
    gaps = boards.gerber(boards.pads())
    for name, data in (("b.gp1", gaps), ("b.gp2", b"%TF.FilePolarity,Positive*%" + gaps)):
        (folder / name).write_bytes(data)
    read = load_board([folder], tolerance=TOLERANCE, layers=("inner1-copper", "inner2-copper"))
    plane, drawn = (one.area for one in read.layers)
    assert differing_area(plane, minus(read.outline, drawn)) < 1e-6
    assert "b.gp1 shows where the copper is absent (a plane of Altium)" in " ".join(read.notes)


def test_a_pad_master_of_protel_is_no_plane(tmp_path: Path) -> None:
    folder = boards.write(tmp_path / "b")
    (folder / "b.gpt").write_bytes(b"%TF.FilePolarity,Negative*%" + boards.gerber(boards.pads()))
    read = load_board([folder], tolerance=TOLERANCE, layers=("top-copper",), files={"top-copper": "b.gpt"})
    assert "b.gpt shows where the copper is absent (FilePolarity Negative)" in " ".join(read.notes)


def test_a_mask_without_openings_is_the_board(tmp_path: Path) -> None:
    board = load(tmp_path, "top-mask", b_F_Mask=gerber())
    (mask,) = board.designs()
    assert abs(mask.area.area - board.outline.area) < 1e-9
    assert board.notes == ("top-mask has no openings (b-F_Mask.gbr)",)


def test_holes_are_kept_clear_or_marked(tmp_path: Path) -> None:
    board = load(tmp_path)
    drawn = of_board(board.layers[0].area)
    for how, radius in ((BoardExposure(drill_clear=0.1), 0.4), (BoardExposure(drill_marks=0.3), 0.15)):
        front, _ = board.designs(how)
        discs = [shapely.Point(x - 20, y - 30).buffer(radius, quad_segs=64) for x, y in HOLES]
        assert differing_area(front.area, minus(drawn, plus(*discs))) < 5e-3
        assert front.area.area < drawn.area - 1.9 * np.pi * radius**2


def test_copies_lie_beside_each_other_and_between_them_nothing_is_exposed(tmp_path: Path) -> None:
    board = load(tmp_path)
    how = BoardExposure(columns=2, rows=1, gap=2.0, rim=0.5)
    for tone, size in (("negative", SIZE), ("positive", (11, 7))):
        one, many = board.designs(BoardExposure(rim=0.5), tone)[1], board.designs(how, tone)[1]
        assert many.page == (0, 0, 2 * size[0] + 2, size[1])
        copy = exposed(one, tone)
        copies = plus(copy, affinity.translate(copy, size[0] + 2, 0))
        assert differing_area(exposed(many, tone), copies) < 1e-6


@pytest.mark.parametrize("tone", ["negative", "positive"])
@pytest.mark.parametrize("side", ["top", "bottom"])
def test_one_side_is_aligned_by_marks_in_the_coordinates_of_the_files(
    side: str, tone: str, tmp_path: Path
) -> None:
    """The machine finds the board turned by 3 degrees and moved; for the back it is turned over before."""
    board = load(tmp_path, f"{side}-copper")
    sign = 1 if side == "top" else -1
    angle = np.radians(3)

    def found(x: float, y: float) -> tuple[float, float]:
        x = sign * (x - 25)
        return 50 + x * np.cos(angle) - y * np.sin(angle), 10 + x * np.sin(angle) + y * np.cos(angle)

    marks = tuple(Fiducial(at, found(*at)) for at in ((20, 30), (30, 30), (30, 36), (20, 36)))
    (design,) = board.designs(BoardExposure(align=marks, isolation=0.3), tone)
    copper = shapely.transform(board.layers[0].area, lambda xy: np.array([found(*at) for at in xy]))
    outline = shapely.transform(board.outline, lambda xy: np.array([found(*at) for at in xy]))
    band = both(minus(copper.buffer(0.3), copper), shapely.Polygon(outline.geoms[0].exterior))
    rest = minus(shapely.Polygon(outline.geoms[0].exterior), band)
    assert differing_area(exposed(design, tone), band if tone == "positive" else rest) < 1e-3
    assert design.alignment is not None
    under, holes = board.under(BoardExposure(align=marks), tone)
    assert differing_area(under.area, outline) < 1e-6
    assert holes is not None
    assert np.allclose(
        sorted(found(*at) for at in HOLES), sorted(h.centroid.coords[0] for h in holes.area.geoms)
    )


def test_a_turned_board_is_turned_over_as_it_lies(tmp_path: Path) -> None:
    """By 90 degrees: what was up is left, and on the back right."""
    board = load(tmp_path)
    front, back = board.designs(BoardExposure(rotate=90))
    assert front.page == back.page == pytest.approx((0, 0, 6, 10))
    drawn = {layer.kind: of_board(layer.area) for layer in board.layers}
    left = affinity.translate(affinity.rotate(drawn["top-copper"], 90, origin=(0, 0)), 6, 0)
    assert differing_area(front.area, left) < 1e-6
    left = affinity.translate(affinity.rotate(drawn["bottom-copper"], 90, origin=(0, 0)), 6, 0)
    assert differing_area(affinity.affine_transform(back.area, (-1, 0, 0, 1, 6, 0)), left) < 1e-6
    marks = tuple(Fiducial(at, (36 - at[1] + 5, at[0] - 20 + 7)) for at in HOLES)
    (aligned,) = load(tmp_path, "top-copper").designs(BoardExposure(rotate=90, align=marks))
    assert differing_area(aligned.area, affinity.translate(front.area, 5, 7)) < 1e-6


def test_a_mark_with_the_wrong_sign_is_warned_of(tmp_path: Path) -> None:
    """The y of KiCad's window: two marks fit all the same, 60 mm away."""
    board = load(tmp_path, "top-copper")
    right = (Fiducial((20, 30), (1, 1)), Fiducial((30, 30), (11, 1)))
    assert board.designs(BoardExposure(align=right))[0].warnings == ()
    wrong = (Fiducial((20, -30), (1, 1)), Fiducial((30, -30), (11, 1)))
    warnings = board.designs(BoardExposure(align=wrong))[0].warnings
    assert len(warnings) == 2
    assert "60 mm off the board, which has x 20 to 30 and y 30 to 36 in its files: is its sign" in warnings[0]


def test_two_sides_are_not_aligned_at_once(tmp_path: Path) -> None:
    marks = (Fiducial((20, 30), (1, 1)),)
    with pytest.raises(InputError, match="the back is aligned by marks of its own"):
        load(tmp_path).designs(BoardExposure(align=marks))


def test_what_lies_off_the_board_is_left_out_and_said(tmp_path: Path) -> None:
    (front, _) = load(tmp_path, b_F_Cu=gerber(pads(), line("D10", (25, 33), (35, 33)))).designs()
    assert front.bounds[2] == 10
    assert len(front.warnings) == 1
    assert "of it lies off the board, and is left out" in front.warnings[0]


# Outlines


def test_without_an_outline_the_board_is_the_box_of_its_layers(tmp_path: Path) -> None:
    board = load(tmp_path, b_Edge_Cuts=None)
    assert board.box == pytest.approx((21.0, 30.75, 28.25, 35.25), abs=1e-9)
    assert (
        "no file is known as the outline, so the board is the box around its layers, 7.25 × 4.5 mm"
        in board.warnings[0]
    )


def test_small_gaps_of_an_outline_are_closed_and_said(tmp_path: Path) -> None:
    broken = gerber(line("D12", (20, 30), (30, 30), (30, 36)), line("D12", (30, 36.05), (20, 36), (20, 30)))
    board = load(tmp_path, b_Edge_Cuts=broken)
    assert board.box == pytest.approx((20, 30, 30, 36.05))
    assert board.notes == ("b-Edge_Cuts.gbr: a gap of 0.05 mm at (30, 36.025) mm closed",)


def test_an_open_outline_is_said(tmp_path: Path) -> None:
    board = load(tmp_path, b_Edge_Cuts=gerber(line("D12", (20, 30), (30, 30), (30, 36))))
    assert (
        "no closed line in b-Edge_Cuts.gbr has the board in it, so the board is the box" in board.warnings[0]
    )


def test_a_frame_and_letters_are_no_outline(tmp_path: Path) -> None:
    drawn = gerber(box(0, 0, 100, 80), box(20, 30, 30, 36), box(50, 5, 51, 6))
    board = load(tmp_path, b_Edge_Cuts=drawn)
    assert board.box == (20, 30, 30, 36)
    assert board.notes == ("b-Edge_Cuts.gbr: 2 closed lines around or beside the board left out",)
    board = load(tmp_path, b_Edge_Cuts=gerber(box(20, 30, 30, 36), box(50, 5, 51, 6)))
    assert board.box == (20, 30, 30, 36)
    assert board.notes == ("b-Edge_Cuts.gbr: 1 closed line around or beside the board left out",)


def test_two_outlines_in_one_file_are_two_boards(tmp_path: Path) -> None:
    copper = gerber(pads(), line("D10", (41, 33), (45, 33)))
    board = load(tmp_path, b_F_Cu=copper, b_Edge_Cuts=gerber(box(20, 30, 30, 36), box(40, 30, 50, 36)))
    assert board.box == (20, 30, 50, 36)
    assert len(board.outline.geoms) == 2


def test_boards_in_a_panel_are_not_cut_out(tmp_path: Path) -> None:
    copper = gerber(pads(), line("D10", (41, 33), (45, 33)))
    panel = gerber(box(10, 20, 60, 50), box(20, 30, 30, 36), box(40, 30, 50, 36), box(52, 30, 55, 36))
    board = load(tmp_path, b_F_Cu=copper, b_Edge_Cuts=panel)
    assert board.box == (10, 20, 60, 50)
    assert abs(board.outline.area - (50 * 30 - 3 * 6)) < 1e-9
    assert board.notes == ("b-Edge_Cuts.gbr: 2 closed lines with copper in it not cut out",)


# Drills


def test_inches_and_millimetres_are_one_board(tmp_path: Path) -> None:
    board = load(tmp_path, b=drill(*HOLES, unit="INCH", scale=1 / 25.4))
    assert np.allclose([hole.centre for hole in board.holes], HOLES, atol=2e-3)


def test_a_drill_file_may_be_a_gerber(tmp_path: Path) -> None:
    slot = line("D11", (24, 35), (26, 35))
    board = load(tmp_path, b=gerber(pads("D10"), slot, function="Plated,1,2,PTH"))
    holes = sorted(board.holes, key=lambda hole: hole.centre)
    assert np.allclose([hole.centre for hole in holes], [HOLES[0], (25, 35), HOLES[1]], atol=1e-6)
    assert [hole.plated for hole in holes] == [True, True, True]
    assert [len(hole.points) for hole in holes] == [1, 2, 1]
    assert abs(holes[0].diameter - 0.5) < 2 * TOLERANCE
    assert abs(holes[1].area().area - (2 + np.pi / 4)) < 0.02


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"b": drill(*HOLES, unit="INCH")},
            r"2 of 2 holes of b\.drl lie off the board, .* or in another unit\?",
        ),
        (
            {"b_F_Cu": gerber("D11*", boards.at(120.5, 30.5, "D03"))},
            r"b: top-copper reaches from \(120, 30\) to \(121, 31\) mm, and most of it lies off the board",
        ),
        (
            {"b_F_Cu": INCHES},
            r"b: top-copper is 25\.4 times as large as bottom-copper: is one of b-F_Cu\.gbr and b-B_Cu",
        ),
        (
            {"b_F_Cu": None, "b_B_Cu": None},
            "b has no copper that is known as such, only top-mask, top-paste: --layers",
        ),
        (
            {"b_F_Cu": b"%FSLAX36Y36*%\n%MOMM*%\nD99*\nM02*\n"},
            r"b: b-F_Cu\.gbr: line 3: aperture D99 is not defined",
        ),
    ],
)
def test_what_is_no_board_is_refused_in_one_sentence(
    changed: dict[str, bytes | None], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        load(tmp_path, **changed)


def test_a_layer_that_is_not_there_is_refused_and_an_empty_one_left_out(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="b has no bottom-mask; it has top-copper, bottom-copper, top-mask, top-paste"
    ):
        load(tmp_path, "bottom-mask")
    with pytest.raises(InputError, match="layer 'outline' cannot be exposed"):
        load(tmp_path, "outline")
    board = load(tmp_path, b_B_Cu=gerber())
    assert [layer.kind for layer in board.layers] == ["top-copper"]
    assert "nothing is drawn" in board.notes[0]
    with pytest.raises(
        InputError, match=r"b has nothing to expose: b: b-F_Cu\.gbr: .*; b: b-B_Cu\.gbr: .*drawn"
    ):
        load(tmp_path, b_F_Cu=gerber(), b_B_Cu=gerber())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mirror": "xy"}, "mirror 'xy' is unknown"),
        ({"isolation": 0.0}, "isolation"),
        ({"rim": -1.0}, "rim is -1 mm, but must be 0 to 1000 mm"),
        ({"drill_clear": 0.1, "drill_marks": 0.3}, "give one of them"),
    ],
)
def test_bad_exposures_are_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        BoardExposure(**more)  # type: ignore[arg-type]

"""Marks found on a part: the transform that they give, how well it is known, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import SPOT
from hypothesis import given
from hypothesis import strategies as st
from sets import examples
from shapely import affinity
from shapes import differing_area, plus

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design import load_colours
from laserpath.design.alignment import as_text, fit_marks, mark_of, marks_of
from laserpath.design.arrange import Arrangement, Repeat, arrange
from laserpath.machine.placement import placed
from laserpath.types import Design, Fiducial, Machine, Resin

PLACES = np.array([(2.0, 3), (95, 4), (93, 77), (3, 80)])
CORNERS = np.array([(0.0, 0), (100, 0), (100, 90), (0, 90)])
L = shapely.Polygon([(1, 2), (7, 2), (7, 4), (3, 4), (3, 9), (1, 9)])
MACHINE = Machine(size=(300.0, 300.0))


def axes(rotation: float = 0.0, x: float = 1.0, y: float = 1.0, skew: float = 0.0) -> Floats:
    """(2, 2) whose columns are the images of the axes. Angles in degrees."""
    first, second = np.radians(rotation), np.radians(rotation + 90 + skew)
    return np.array([[x * np.cos(first), y * np.cos(second)], [x * np.sin(first), y * np.sin(second)]])


def found(places: Floats, matrix: Floats, shift: tuple[float, float] = (10, 20)) -> list[Fiducial]:
    return [Fiducial(tuple(p), tuple(q)) for p, q in zip(places, places @ matrix.T + shift, strict=True)]


# What is fitted


@given(
    rotation=st.floats(-179, 179), x=st.floats(0.96, 1.04), y=st.floats(0.96, 1.04), skew=st.floats(-1.9, 1.9)
)
@examples(60)
def test_exact_marks_give_the_transform_back(rotation: float, x: float, y: float, skew: float) -> None:
    got = fit_marks(found(PLACES[:3], axes(rotation, x, y, skew), (5.0, -7.0)))
    assert got.fit == "affine"
    values = (got.rotation.value, *(one.value for one in got.scale), got.skew.value)
    assert values == pytest.approx((rotation, x, y, skew), abs=1e-9)
    assert got.matrix[4:] == pytest.approx((5, -7), abs=1e-9)
    assert np.abs(got.residuals).max() < 1e-9


def test_what_is_fitted_follows_from_the_number_of_marks() -> None:
    marks = found(PLACES, axes(30))
    assert [fit_marks(marks[:n]).fit for n in (1, 2, 3, 4)] == ["shift", "rotation", "affine", "affine"]
    assert fit_marks(marks[:1]).matrix == pytest.approx((1, 0, 0, 1, *np.subtract(marks[0].machine, (2, 3))))
    assert fit_marks(marks[:2]).rotation.value == pytest.approx(30)
    assert fit_marks(found(PLACES, axes(30, 1.01, 1.01)), "scale").scale[0].value == pytest.approx(1.01)


@pytest.mark.parametrize(
    ("fit", "matrix", "trials"),
    [
        pytest.param("affine", axes(1.3, 1.002, 0.998, 0.2), 250, id="affine"),
        pytest.param(
            "affine", axes(1.3, 1.002, 0.998, 0.2), 1000, id="affine, often", marks=pytest.mark.slow
        ),
        pytest.param("scale", axes(-40, 1.01, 1.01), 1000, id="scale", marks=pytest.mark.slow),
        pytest.param("rotation", axes(170), 1000, id="rotation", marks=pytest.mark.slow),
    ],
)
def test_the_intervals_hold_the_truth_in_95_of_100_trials(fit: str, matrix: Floats, trials: int) -> None:
    """4 marks with 10 µm of noise each: what is fitted, and where a corner of the drawing is. Of 1000 trials
    930 to 970, 2.9 standard deviations; as many of fewer.
    """
    rng, width = np.random.default_rng(2026), 20 * np.sqrt(trials / 1000)
    first, second = np.degrees(np.arctan2(matrix[1], matrix[0]))
    truth = (first, *np.hypot(*matrix), (second - first) % 360 - 90)
    hits, corner = np.zeros(4), 0
    fitted = {"rotation": [0], "scale": [0, 1], "affine": [0, 1, 2, 3]}[fit]
    for _ in range(trials):
        marks = [
            Fiducial(tuple(p), tuple(q + rng.normal(0, 0.01, 2)))
            for p, q in zip(PLACES, PLACES @ matrix.T + (10, 20), strict=True)
        ]
        got = fit_marks(marks, fit, CORNERS[2:3])
        values = (got.rotation, *got.scale, got.skew)
        for k in fitted:
            hits[k] += abs(values[k].value - truth[k]) <= values[k].half
        a, b, d, e, tx, ty = got.matrix
        place = np.array([[a, b], [d, e]]) @ CORNERS[2] + (tx, ty)
        off = place - (matrix @ CORNERS[2] + (10, 20))
        corner += int(abs(off[0]) <= got.placed) if got.placed else 0
    assert np.abs(hits[fitted] - 0.95 * trials).max() <= width, hits
    assert corner >= 0.95 * trials - width  # the interval is that of the axis known worse


def test_as_many_values_as_unknowns_leave_no_interval() -> None:
    got = fit_marks(found(PLACES[:3], axes(1)), "affine", CORNERS)
    assert got.rotation.half is got.skew.half is got.placed is None
    assert "+/-" not in got.in_words()


@pytest.mark.parametrize("count", [4, 6])
def test_the_outlier_is_named(count: int) -> None:
    rng = np.random.default_rng(5)
    places = np.vstack([PLACES, [(50, 40), (20, 60)]])[:count]
    marks = found(places, axes(1))
    marks = [Fiducial(m.design, tuple(m.machine + rng.normal(0, 0.003, 2))) for m in marks]
    assert fit_marks(marks).suspect == ""
    x, y = marks[2].machine
    wrong = [*marks[:2], Fiducial(marks[2].design, (x + 0.4, y), "north"), *marks[3:]]
    assert f"mark north does not agree with the other {count - 1}" in fit_marks(wrong).suspect


def test_noise_alone_is_seldom_called_an_outlier() -> None:
    rng, places = np.random.default_rng(11), np.vstack([PLACES, [(50, 40), (20, 60)]])
    named = 0
    for _ in range(100):
        marks = [Fiducial(tuple(p), tuple(p + rng.normal(0, 0.01, 2))) for p in places]
        named += bool(fit_marks(marks).suspect)
    assert named <= 0.08 * 100


# What is refused


@pytest.mark.parametrize(
    ("places", "matrix", "fit", "words"),
    [
        (PLACES[:2], axes(0, 1.06, 1.06), "auto", "a scale of 1.06, but 0.95 to 1.05 is the limit"),
        (PLACES, axes(0, 1.06, 1), "rotation", "a scale of 1.06 in x"),
        (PLACES, axes(20, 1, 0.9), "auto", "a scale of 0.9 in y"),
        (PLACES, axes(0, skew=2.2), "auto", "a skew of 2.2 degrees, but 2 is the limit"),
        (PLACES, np.diag([-1.0, 1.0]), "auto", "mirrored on the machine; add --mirror x"),
        (np.array([(0.0, 0), (10, 0), (30, 0)]), axes(0), "auto", "the 3 marks lie on a line"),
        (PLACES[:1], axes(0), "rotation", "an alignment by rotation needs 2 marks, but 1 is given"),
        (PLACES[:2], axes(0), "affine", "an alignment by affine needs 3 marks, but 2 are given"),
        (PLACES[:0], axes(0), "auto", "0 marks are given"),
        (PLACES, axes(0), "linear", "alignment 'linear' is unknown"),
    ],
)
def test_marks_that_cannot_be_right_are_refused(places, matrix, fit, words) -> None:
    with pytest.raises(InputError) as error:
        fit_marks(found(places, matrix), fit)
    assert words in str(error.value)


def test_a_mark_is_measured_once() -> None:
    one, other = Fiducial((1, 2), (3, 4)), Fiducial((1, 2), (3, 4.1))
    with pytest.raises(InputError, match=r"mark 1,2 is given twice, at 3,4 mm and at 3,4.1 mm"):
        fit_marks([one, other])
    with pytest.raises(InputError, match=r"marks 1,2 and 5,6 are both found at 3,4 mm"):
        fit_marks([one, Fiducial((5, 6), (3, 4))])
    with pytest.raises(InputError, match=r"mark machine is \(nan, 4\)"):
        Fiducial((1, 2), (math.nan, 4))


def test_marks_on_a_line_still_give_a_scale() -> None:
    line = np.array([(0.0, 0), (10, 0), (30, 0)])
    assert fit_marks(found(line, axes(12, 1.01, 1.01)), "scale").rotation.value == pytest.approx(12)


# The design


def test_the_design_is_where_its_marks_are() -> None:
    matrix = axes(25, 1.01, 0.99, 1)
    (a, b), (d, e) = matrix
    got = arrange(Design(L), Arrangement(align=tuple(found(PLACES[:3], matrix))))
    assert differing_area(got.area, affinity.affine_transform(L, (a, b, d, e, 10, 20))) < 1e-6
    position = placed(got, Resin(), MACHINE, SPOT)
    assert position.origin == "own"
    assert position.design.bounds == pytest.approx(got.bounds)
    (note,) = position.notes
    assert note.startswith(
        "aligned to 3 marks: shift 10, 20 mm, rotation 25.0000 degrees, scale in x 1.010000"
    )


def test_a_place_less_certain_than_half_the_spot_is_told() -> None:
    """Four marks leave an affine fit two residuals; a rotation, which five remain for, is known better."""
    places = np.array([(0.0, 0), (6, 0), (6, 9), (0, 9)])
    noise = 0.02 * np.array([(1, 0), (-1, 0), (1, 0), (-1, 0)])
    pairs = zip(places, places + (10, 20) + noise, strict=True)
    marks = tuple(Fiducial(tuple(drawn), tuple(found)) for drawn, found in pairs)
    notes = {
        fit: placed(arrange(Design(L), Arrangement(align=marks, align_fit=fit)), Resin(), MACHINE, SPOT).notes
        for fit in ("affine", "rotation")
    }
    assert "um only (95 %), more than half the spot of 100 um" in notes["affine"][1]
    assert notes["affine"][1].endswith("correct less (--align-fit rotation, scale)")
    assert len(notes["rotation"]) == 1


def test_marks_are_mirrored_turned_and_scaled_with_the_drawing() -> None:
    """A back side: drawn at (x, y), it is at (100 − 2x, 2y) on the part; a second copy is 20 mm beside."""
    how = {"mirror": "x", "scale": 2.0, "repeat": Repeat(2, 1, (20.0, 20.0))}
    marks = found(PLACES[:3], np.diag([-2.0, 2.0]), (100.0, 0.0))
    got = arrange(Design(L), Arrangement(**how, align=tuple(marks)))
    one = affinity.affine_transform(L, (-2, 0, 0, 2, 100, 0))
    assert differing_area(got.area, plus(one, affinity.translate(one, 20))) < 1e-6
    assert got.alignment is not None
    assert got.alignment.marks == tuple(marks)


def test_all_colours_are_aligned_alike(tmp_path: Path) -> None:
    (tmp_path / "two.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9mm" height="9mm" viewBox="0 0 9 9">'
        '<rect x="1" y="1" width="3" height="3" fill="red"/>'
        '<rect x="5" y="2" width="2" height="2" fill="blue"/></svg>'
    )
    marks = (Fiducial((1, 5), (50, 60)), Fiducial((7, 5), (50, 66)))
    red, blue = load_colours(tmp_path / "two.svg", 2, tolerance=0.01, arrangement=Arrangement(align=marks))
    assert red.bounds == pytest.approx((47, 60, 50, 63))
    assert blue.bounds == pytest.approx((48, 64, 50, 66))
    assert red.extent == blue.extent


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"origin": "page"}, "--origin page cannot be used with --align"),
        ({"offset": (1.0, 0.0)}, "--offset cannot be used with --align"),
    ],
)
def test_an_aligned_design_has_no_other_place(where: dict[str, object], words: str) -> None:
    got = arrange(Design(L), Arrangement(align=(Fiducial((0, 0), (5, 5)),)))
    with pytest.raises(InputError, match=words):
        placed(got, Resin(), MACHINE, SPOT, **where)  # type: ignore[arg-type]


def test_a_design_that_the_marks_put_off_the_machine_is_refused() -> None:
    got = arrange(Design(L), Arrangement(align=(Fiducial((0, 0), (-50, 5)),)))
    with pytest.raises(InputError, match=r"reaches from x = -49 to -43 mm.*the marks put it there"):
        placed(got, Resin(), MACHINE, SPOT)


def test_a_design_may_keep_its_own_zero() -> None:
    assert placed(Design(L, page=(1, 1, 9, 9)), Resin(), MACHINE, SPOT, "own").design.bounds == (1, 2, 7, 9)


# As written


def test_marks_are_read_as_written() -> None:
    assert mark_of("10,20=110.2,35.1mm") == Fiducial((10, 20), (110.2, 35.1))
    assert mark_of("NW: 1200um,0um = -1,2") == Fiducial((1.2, 0), (-1, 2), "NW")
    assert mark_of("100,200um=1,2").design == pytest.approx((0.1, 0.2))
    one = Fiducial((1.25, -3), (4, 5), "NW")
    assert mark_of(as_text(one)) == one


@pytest.mark.parametrize(
    "text", ["1,2", "1,2=3", "1=2", "1,2=3,4=5,6", "a,b=c,d", "1,2=3,4 furlong", "=", ""]
)
def test_what_is_no_mark_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        mark_of(text)


TABLE = """# from laserpath marks
mark,design_x_mm,design_y_mm,machine_x_mm,machine_y_mm
NW,1,2,11,12
NE,5,2,,
SE,5,-2.5,15.1,7.4
"""


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_table_gives_the_marks_that_are_filled_in(tmp_path: Path, decimal: str) -> None:
    text = TABLE if decimal == "." else TABLE.replace(",", ";").replace(".", ",")
    (tmp_path / "marks.csv").write_text(text)
    assert marks_of([str(tmp_path / "marks.csv"), "9,9=8,8"]) == (
        Fiducial((1, 2), (11, 12), "NW"), Fiducial((5, -2.5), (15.1, 7.4), "SE"), Fiducial((9, 9), (8, 8)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "column 'mark' is missing"),
        ("mark,design_x_mm,design_y_mm,machine_x_mm\nA,1,2,3\n", "column 'machine_y_mm' is missing"),
        (TABLE.replace("11,12", "11,"), "mark 'NW' has no machine_y_mm"),
        (TABLE.replace("11,12", "11,x"), "mark 'NW', machine_y_mm: 'x' is not a number"),
        (TABLE.replace("11,12", ",").replace("15.1,7.4", ","), "no mark has its machine_x_mm"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "marks.csv").write_text(text)
    with pytest.raises(InputError) as error:
        marks_of([str(tmp_path / "marks.csv")])
    assert "marks.csv: " in str(error.value)
    assert words in str(error.value)


def test_a_table_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"table of marks .*none\.csv"):
        marks_of([str(tmp_path / "none.csv")])

"""The designs to compare with are what their README says, and the baselines are what their names say."""

from __future__ import annotations

import math
import re
from pathlib import Path

import baselines
import exposed
import numpy as np
import pages
import pytest
import sensitivity
import shapely

import gcode
from laserpath.design import load
from laserpath.machine import convert
from laserpath.types import Design, Machine

FOLDER = Path(__file__).parents[1] / "data" / "designs"
FILES = sorted(FOLDER.glob("*.svg"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([\w-]+)\.svg` \| (.+) \|$", README, re.M))
FWHM = 0.1
SQUARE = Design(shapely.box(1, 1, 3, 2), "square")


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_design_loads_without_a_warning_and_fits_its_page(path: Path) -> None:
    design = load(path, tolerance=0.02 * FWHM)
    assert design.warnings == ()
    assert design.page is not None
    assert shapely.box(*design.page).contains(design.area)
    assert 10 * FWHM < max(design.size) < 25


def test_every_design_has_its_origin_and_a_licence_that_allows_copying() -> None:
    assert set(ROWS) == {path.stem for path in FILES}
    for row in ROWS.values():
        origin, licence, scale = row.split(" | ")
        assert origin and scale
        assert licence.startswith(("MIT, © ", "Apache-2.0"))
    assert "The above copyright notice and this permission notice shall be included" in README


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in FILES) < 200_000


def test_there_are_eight_baselines_and_all_stay_inside() -> None:
    found = baselines.candidates(SQUARE, FWHM)
    assert len(found) == 8
    assert baselines.COMMON in found
    for lines in found.values():
        assert SQUARE.area.buffer(1e-9).covers(shapely.MultiLineString(lines))


def test_rows_are_a_pitch_apart_and_run_there_and_back() -> None:
    rows = baselines.hatch(SQUARE.area, 0.05, 0.015)
    y = np.array([row[0, 1] for row in rows])
    np.testing.assert_allclose(np.diff(y), 0.05)
    assert y[0] == pytest.approx(1 + 0.015 + 0.025)
    direction = np.sign([row[1, 0] - row[0, 0] for row in rows])
    assert (direction[::2] == 1).all() and (direction[1::2] == -1).all()


def test_rings_are_inset_by_pitch_after_pitch() -> None:
    found = list(baselines.rings(SQUARE.area, 0.04, 0.1, FWHM))
    inset = [ring[:, 1].min() - 1 for ring in found]
    np.testing.assert_allclose(inset, 0.04 + 0.1 * np.arange(len(found)))
    assert len(found) == math.ceil((0.5 - 0.04) / 0.1)
    assert len(list(baselines.rings(SQUARE.area, 0.04, np.inf, FWHM))) == 1


def test_a_toolpath_is_lit_along_the_lines_only() -> None:
    lines = baselines.hatch(SQUARE.area, 0.25)
    path = baselines.toolpath(lines, Machine(), 1.0)
    assert path.length[path.on].sum() == pytest.approx(len(lines) * 2)
    assert path.length[~path.on].sum() == pytest.approx((len(lines) - 1) * 0.25)
    program = gcode.write(convert.to_moves(path, Machine()), gcode.dialect("grbl"), 1000)
    assert exposed.moving(program) == len(path) + 1  # the way to the first line


def test_a_narrow_design_has_only_the_baselines_that_reach_it() -> None:
    """0.6 FWHM wide: an inset of 0.4 FWHM leaves nothing."""
    found = baselines.candidates(Design(shapely.box(0, 0, 1, 0.6 * FWHM), "line"), FWHM)
    assert len(found) == 5
    assert not [name for name in found if "0.4" in name]


def test_a_text_goes_between_the_markers_only(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- compared: begin -->\nold\n<!-- compared: end -->\nafter\n", encoding="utf-8"
    )
    pages.write_between_markers(page, "compared", "new")
    words = page.read_text(encoding="utf-8").split()
    assert words[0] == "before" and words[-1] == "after"
    assert "new" in words and "old" not in words
    page.write_text("no markers", encoding="utf-8")
    with pytest.raises(ValueError, match="has no"):
        pages.write_between_markers(page, "compared", "new")


def test_the_page_has_the_markers() -> None:
    text = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    assert text.count("<!-- compared: begin -->") == text.count("<!-- compared: end -->") == 1


def test_the_tables_of_sensitivity_are_of_ratios_and_their_means() -> None:
    def result(planned: float, slow: float, filtered: tuple[float, ...]) -> dict[str, object]:
        found = {
            "planned": {"epe_mean": planned},
            "disturbed": [{"cause": "link", "change": "a link half as fast", "epe_mean": slow}],
            "improved": [{"cause": "filter", "change": "…", "epe_mean": one} for one in filtered],
        }
        return {"fwhm_mm": 0.1, "sensitivity": found}

    text = sensitivity.designs({"a": result(0.02, 0.08, (0.03, 0.01)), "b": result(0.01, 0.01, (0.01,))})
    rows = [re.split(r"\s*\|\s*", line)[1:-1] for line in text.splitlines() if line]
    link, filtered = (head.index(name) for head, name in ((rows[0], "link ÷ 2"), (rows[6], "filter")))
    assert [row[link] for row in rows[2:6]] == ["4.00", "1.00", "2.00", "4.00"]
    assert [row[filtered] for row in rows[8:]] == ["0.50", "1.00", "0.71"]
    assert rows[2][1] == "2.0 µm"


def test_the_page_of_robustness_has_the_markers() -> None:
    text = sensitivity.PAGE.read_text(encoding="utf-8")
    for name in ("designs", "controllers"):
        assert text.count(f"<!-- {name}: begin -->") == text.count(f"<!-- {name}: end -->") == 1


def test_the_geometric_mean() -> None:
    assert exposed.geometric_mean([0.5, 2.0]) == pytest.approx(1)
    assert exposed.geometric_mean([4.0, 1.0]) == pytest.approx(2)

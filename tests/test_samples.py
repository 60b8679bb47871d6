"""The sample designs: made by their script, small, and of the geometry that their README tells."""

from __future__ import annotations

import math
import runpy
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import shapely
from shapes import differing_area

from laserpath.design import load, svg
from laserpath.design.reading import Reading
from laserpath.operators.strokes import Strokes
from laserpath.types import Design

FOLDER = Path(__file__).parent.parent / "samples"
NAMES = ["butterfly", "pcb", "text", "grating", "holes"]


def sample(name: str) -> Design:
    return load(FOLDER / f"{name}.svg", tolerance=0.001)


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """What the script draws now, by file name."""
    script = runpy.run_path(str(FOLDER / "make_samples.py"))
    return {name: draw() for name, draw in script["SAMPLES"].items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_script_draws_the_files_that_are_kept(name: str, drawn: dict[str, str]) -> None:
    # By area, since matplotlib's outlines of letters differ in the last digits between versions.
    now = svg.read(drawn[f"{name}.svg"].encode(), name, Reading(0.001))
    kept = sample(name)
    assert now.page == kept.page
    assert differing_area(now.area, kept.area) < 5e-3 * kept.area.area


@pytest.mark.parametrize("name", NAMES)
def test_files_are_small_and_their_unit_is_a_millimetre(name: str) -> None:
    file = FOLDER / f"{name}.svg"
    root = ElementTree.parse(file).getroot()
    assert file.stat().st_size <= 150_000
    width, height = (float(root.attrib[k].removesuffix("mm")) for k in ("width", "height"))
    assert [float(v) for v in root.attrib["viewBox"].split()] == [0, 0, width, height]


@pytest.mark.parametrize("name", NAMES)
def test_designs_lie_on_their_page_and_are_understood(name: str) -> None:
    design = sample(name)
    assert design.warnings == ()
    assert design.page is not None
    assert shapely.box(*design.page).contains(design.area)


def test_butterfly_has_the_area_of_its_formula() -> None:
    t = np.linspace(0, 2 * np.pi, 400_001)
    f = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5
    r_squared = 50 * np.maximum(f, 0)
    area = float(np.trapezoid(r_squared / 2, t))
    assert sample("butterfly").area.area == pytest.approx(area, rel=2e-4)


def test_pcb_has_six_nets_and_seven_open_vias() -> None:
    area = sample("pcb").area
    assert len(area.geoms) == 6
    holes = [shapely.Polygon(r) for p in area.geoms for r in p.interiors]
    assert len(holes) == 7
    assert [h.area for h in holes] == pytest.approx([math.pi * 0.15**2] * 7, rel=0.02)


def test_text_strokes_have_the_widths_that_it_tells() -> None:
    design = sample("text")
    # The l of "laserpath" is an upright bar, the leftmost of the first line.
    bar = min(design.area.geoms, key=lambda p: p.bounds[0] if p.area > 0.2 else math.inf)
    x0, y0, x1, y1 = bar.bounds
    assert x1 - x0 == pytest.approx(0.2, rel=0.01)
    assert bar.area == pytest.approx((x1 - x0) * (y1 - y0), rel=1e-3)


def test_grating_is_half_covered_at_every_period() -> None:
    bars = [shapely.bounds(p) for p in sample("grating").area.geoms]
    upright = sorted((b for b in bars if b[3] - b[1] > 2.4), key=lambda b: b[0])
    widths = [round(float(b[2] - b[0]), 4) for b in upright]
    assert sorted(set(widths)) == [0.075, 0.1, 0.125, 0.15, 0.2]
    gaps = [b[0] - a[2] for a, b in pairwise(upright)]
    inner = [(w, g) for w, g in zip(widths[:-1], gaps, strict=True) if g < 0.25]
    assert all(w == pytest.approx(g, abs=1e-3) for w, g in inner)


@pytest.mark.slow
def test_the_painter_s_svg_has_its_strokes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, file = runpy.run_path(str(FOLDER / "paint_strokes.py")), tmp_path / "curves.svg"
    script["main"](["--size", "16", "--strokes", "3", "--steps", "32", "-o", str(file)])
    assert "of the strokes" in capsys.readouterr().out
    root = ElementTree.parse(file).getroot()
    assert root.attrib["viewBox"] == "-0.5 -0.5 16 16"
    paths = [one.attrib["d"] for one in root.findall(".//{*}path")]
    assert len(paths) == 3 and all(" Q" in d for d in paths)
    line = Strokes([[[1, 2], [3.5, 4]]], [2], [[1, 0.5, 0]], [0.25])
    assert (
        '<path d="M1.00,2.00 L3.50,4.00" stroke="#ff8000" stroke-width="2.00" stroke-opacity="0.250"/>'
        in script["as_svg"](line, np.ones(3), (8, 9, 3))
    )


def test_the_painter_refuses_what_it_cannot_do(capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(FOLDER / "paint_strokes.py"))["main"]
    for given, sentence in (
        (["--size", "7"], "--size is 7, but must be at least 8"),
        (["--strokes", "0"], "strokes is 0, but must be between 1 and 65536"),
        (["missing.png"], "missing.png cannot be read"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(given)
        assert ended.value.code == 2 and sentence in capsys.readouterr().err


def test_holes_are_open_and_the_islands_in_them_are_not() -> None:
    design = sample("holes")
    assert design.page is not None
    height = design.page[3]
    inside = {
        (x, y): design.area.contains(shapely.Point(x, height - y))
        for x, y in (
            (1.9, 1.9),
            (1.9, 0.9),
            (1.9, 5.2),
            (1.9, 4.4),
            (6.3, 1.9),
            (6.3, 0.8),
            (4.8, 4.7),
            (6.6, 4.27),
            (6.6, 5.85),
            (6.6, 5.5),
            (4.1, 6.4),
        )
    }
    assert [p for p, solid in inside.items() if solid] == [
        (1.9, 0.9),
        (1.9, 5.2),
        (6.3, 0.8),
        (6.6, 5.85),
        (4.1, 6.4),
    ]

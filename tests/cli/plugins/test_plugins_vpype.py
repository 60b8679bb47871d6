"""The line work of vpype becomes a design; and the command in a real vpype, where one is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import shapely
from click.testing import CliRunner, Result
from distributions import install
from shapes import NODING

from laserpath.base.errors import InputError
from laserpath.cli.plugins.linework import PX, PenLayer, design

ROOT = Path(__file__).parents[3]
MM = 96 / 25.4
"""px."""
PAGE = (6 * MM, 4 * MM)
FINE = 1e-4

DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" width="6mm" height="4mm" viewBox="0 0 6 4" fill="none">
 <path d="M1 1H3V3H1Z" stroke="#000" stroke-width="0.3"/><path d="M1.5 1.5H2.5V2.5H1.5Z" stroke="#000"/>
 <path d="M4 1V3" stroke="#f00"/></svg>"""


def line(*places: tuple[float, float]) -> np.ndarray:
    """Places in mm, y down, as vpype has them."""
    return MM * np.array([complex(x, y) for x, y in places])


def square(x: float, y: float, size: float) -> np.ndarray:
    return line((x, y), (x + size, y), (x + size, y + size), (x, y + size), (x, y))


def test_a_pen_s_line_is_as_wide_as_the_pen() -> None:
    found = design([PenLayer([line((1, 1), (4, 1))], pen=0.5)], PAGE, "line", FINE)
    assert found.area.bounds == pytest.approx((0.75, 2.75, 4.25, 3.25), abs=FINE), (
        "y up, from the lower left corner"
    )
    assert found.area.area == pytest.approx(3 * 0.5 + np.pi * 0.25**2, rel=1e-3)
    assert found.page == pytest.approx((0, 0, 6, 4))


def test_closed_lines_are_filled_by_turns() -> None:
    rings = [square(1, 1, 2), square(1.5, 1.5, 1), square(1.75, 1.75, 0.5)]
    found = design([PenLayer(rings, filled=True)], PAGE, "rings", FINE)
    assert found.area.area == pytest.approx(4 - 1 + 0.25)
    both = design([PenLayer(rings[:1], pen=0.2, filled=True)], PAGE, "both", FINE)
    assert both.area.bounds == pytest.approx((0.9, 0.9, 3.1, 3.1), abs=FINE)


def test_followed_lines_stay_where_they_are() -> None:
    """Each in the width of its pen, y up."""
    layers = [PenLayer([line((1, 1), (4, 1))], pen=0.5), PenLayer([line((1, 2), (2, 3), (4, 2))], pen=0.2)]
    found = design(layers, PAGE, "lines", FINE, follow=True)
    assert found.lines is not None and found.lines.widths == (0.5, 0.2)
    assert [np.round(shapely.get_coordinates(one), 9).tolist() for one in found.lines.paths.geoms] == [
        [[1, 3], [4, 3]], [[1, 2], [2, 1], [4, 2]]
    ]  # fmt: skip
    assert found.area.area == pytest.approx(design(layers, PAGE, "lines", FINE).area.area)
    assert found.page == pytest.approx((0, 0, 6, 4))


def test_layers_are_added_up() -> None:
    found = design(
        [PenLayer([square(1, 1, 2)], filled=True), PenLayer([square(1.5, 1.5, 1)], filled=True)],
        PAGE,
        "a",
        FINE,
    )
    assert found.area.area == pytest.approx(4)


def test_what_is_off_the_page_is_cut() -> None:
    found = design([PenLayer([line((-2, 1), (9, 1))], pen=0.4)], PAGE, "long", FINE)
    assert found.area.bounds == pytest.approx((0, 2.8, 6, 3.2), abs=FINE)
    whole = design([PenLayer([line((-2, 1), (9, 1))], pen=0.4)], None, "long", FINE)
    assert whole.page is None and whole.size[0] == pytest.approx(11.4, abs=2 * FINE)


def test_open_lines_that_cannot_be_filled_are_reported() -> None:
    found = design([PenLayer([square(1, 1, 2), line((1, 1), (2, 2))], filled=True)], PAGE, "a", FINE)
    assert found.warnings == ("open lines cannot be filled and are left out: 1; draw them with a pen width",)
    assert found.area.area == pytest.approx(4)


@pytest.mark.parametrize(
    ("layers", "sentence"),
    [
        ([], "has no area on the page"),
        ([PenLayer([line((1, 1), (2, 2))], filled=True)], "has no area on the page"),
        ([PenLayer([line((8, 8), (9, 9))], pen=0.1)], "has no area on the page"),
        ([PenLayer([np.array([complex(np.nan, 0), 1j])], pen=0.1)], "has coordinates that are not finite"),
        ([PenLayer([line((1, 1), (1e9, 1))], pen=0.1)], "m from the origin, but 100 m is the limit"),
    ],
)
def test_unusable_line_work_is_refused_with_a_sentence(layers: list[PenLayer], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        design(layers, PAGE, "bad", FINE)


def test_a_pixel_is_a_96th_of_an_inch() -> None:
    assert pytest.approx(25.4) == 96 * PX


# In vpype


@pytest.fixture
def vpype(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """How vpype is called, with laserpath's command."""
    pytest.importorskip("vpype_cli", reason="vpype is not here: pip install vpype")
    site = install(
        tmp_path / "site", "for-vpype", {"vpype.plugins": {"laserpath": "laserpath.cli.vpype:laserpath"}}
    )
    (tmp_path / "plate.svg").write_text(DRAWING, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    return [sys.executable, "-c", "from vpype_cli import cli; cli()"], environment


@pytest.mark.slow
def test_it_plans_what_vpype_read(vpype: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    command, environment = vpype
    words = "read plate.svg laserpath -q -o out --fill --stroke 0.2mm --initial contour --iterations 2"
    done = subprocess.run(
        [*command, *words.split(), "write", "after.svg"],
        check=False, capture_output=True, text=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "plate.gcode", "plate.report.html", "plate.toolpath.svg",
    ]  # fmt: skip
    import gcode

    moves = gcode.parse((tmp_path / "out/plate.gcode").read_text(encoding="ascii"), gcode.dialect("grbl"))
    solid = shapely.box(0.9, 0.9, 3.1, 3.1).difference(shapely.box(1.6, 1.6, 2.4, 2.4), grid_size=NODING)
    solid = solid.union(shapely.LineString([(4, 1), (4, 3)]).buffer(0.1), grid_size=NODING)
    lit = moves.xy[1:][moves.on]
    assert solid.buffer(0.02).covers(shapely.MultiPoint(lit))
    assert "path" in (tmp_path / "after.svg").read_text(encoding="utf-8"), "the line work goes on"


# Within this process, where vpype finds the command by the project's own entry point


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Result]:
    """vpype with these words, in a folder with plate.svg."""
    vpype_cli = pytest.importorskip("vpype_cli", reason="vpype is not here: pip install vpype")
    (tmp_path / "plate.svg").write_text(DRAWING, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return lambda words: CliRunner().invoke(vpype_cli.cli, words.split())


def test_bad_input_is_one_sentence(invoke: Callable[[str], Result]) -> None:
    done = invoke("read plate.svg laserpath --spot none -o out")
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: spot profile 'none' is unknown; known: ")
    assert not Path("out").exists()


@pytest.mark.slow
def test_the_pen_width_of_a_layer_is_the_line_s(invoke: Callable[[str], Result]) -> None:
    """Where no --stroke is given."""
    done = invoke(
        "line 1mm 1mm 3mm 1mm pagesize 4mmx6mm penwidth 0.5mm "
        "laserpath -o . --iterations 0 --initial contour --report brief"
    )
    assert done.exit_code == 0, done.output
    assert "laserpath: vpype: 2.5 × 0.5 mm, 1 shape" in done.stderr

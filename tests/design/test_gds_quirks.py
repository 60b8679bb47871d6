"""Chips as foundries and KLayout write them, read with no option: notes, libraries, cells elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gdstk
import in_process
import pytest
from same_shape_cad import as_gds, written
from sets import one_fast

from laserpath.design import load
from laserpath.design.gds import read
from laserpath.design.reading import Reading
from laserpath.types import Process, Settings

pytestmark = in_process.HERE

BOTH = pytest.mark.parametrize("oasis", one_fast([False, True], False), ids=["GDSII", "OASIS"])
CONTEXT = "$$$CONTEXT_INFO$$$"


def drawn(made, oasis=False, **how):
    return read(written(made, oasis), "chip", Reading(1e-4, **how))


def micrometres():
    return gdstk.Library(unit=1e-6, precision=1e-9)


def box(width, height, **layer):
    return gdstk.rectangle((-width / 2, -height / 2), (width / 2, height / 2), **layer)


@BOTH
def test_the_cell_in_which_klayout_keeps_its_notes_is_no_cell(oasis):
    made = micrometres()
    cell = made.new_cell("PCELL$1")
    cell.add(box(1500, 1000))
    notes = made.new_cell(CONTEXT)
    reference = gdstk.Reference(cell)
    reference.set_gds_property(1, "PCELL(name=text)")
    notes.add(reference)
    found = drawn(made, oasis)
    assert found.source == ("layer 0/0 of cell 'PCELL$1'",)
    assert found.size == pytest.approx((1.5, 1.0))
    assert found.warnings == ()


@BOTH
def test_the_sizes_of_cells_count_what_they_place(oasis):
    made = micrometres()
    small, large = made.new_cell("SMALL"), made.new_cell("LARGE")
    unit = made.new_cell("UNIT")
    unit.add(box(2, 1))
    small.add(box(40, 40))
    large.add(gdstk.Reference(unit, columns=30, rows=2, spacing=(10, 7), rotation=0.5 * 3.141592653589793))
    found = drawn(made, oasis)
    assert "'LARGE' (8 × 292 µm), 'SMALL' (40 × 40 µm)" in found.warnings[0]
    assert "cell 'LARGE'" in found.source[0]


@BOTH
def test_the_layer_with_the_longest_outline_counts_all_places(oasis):
    made = micrometres()
    top, via = made.new_cell("TOP"), made.new_cell("VIA")
    via.add(box(1, 1, layer=4, datatype=2))
    top.add(box(100, 100, layer=1), box(30, 30, layer=2))
    top.add(gdstk.Reference(via, columns=20, rows=20, spacing=(3, 3), magnification=1.5))
    found = drawn(made, oasis)
    assert "layer 4/2 of" in found.source[0]
    assert len(found.area.geoms) == 400
    (warning,) = found.warnings
    assert "4/2 (900 µm²), 1/0 (0.01 mm²), 2/0 (900 µm²); 4/2 is read, and --layer 1/0" in warning
    assert drawn(made, oasis, layers=("1",)).warnings == ()


@BOTH
def test_a_cell_that_is_elsewhere_is_left_out_with_a_warning(oasis):
    made = micrometres()
    top, low = made.new_cell("TOP"), made.new_cell("LOW")
    low.add(gdstk.Reference("GONE"), gdstk.Reference("GONE", (5, 5)))
    top.add(box(1000, 500), gdstk.Reference(low), gdstk.Reference("FAR", columns=3, rows=3, spacing=(9, 9)))
    found = drawn(made, oasis)
    assert found.area.area == pytest.approx(0.5)
    (warning,) = found.warnings
    assert "that is not in the file (1 more like it): it is left out" in warning


LIMITED = """
import resource, sys
from pathlib import Path
from laserpath.design.gds import read
from laserpath.design.reading import Reading
from laserpath.base.errors import InputError
hard = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
try:
    print(read(Path(sys.argv[1]).read_bytes(), "chip", Reading(1e-3)).area.area)
except InputError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it has no such limit")
@pytest.mark.parametrize("gibibytes", [6.0, 0.0])
def test_a_process_with_little_memory_does_not_call_a_file_damaged(gibibytes, tmp_path: Path):
    """6 GiB, below the reader's own limit, are enough; 300 MiB are not."""
    path = tmp_path / "chip.gds"
    path.write_bytes(as_gds())
    limit = int(gibibytes * 2**30) or 300 << 20
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(limit)], capture_output=True, text=True, check=False
    )
    assert "damaged" not in done.stdout + done.stderr
    if gibibytes:
        assert float(done.stdout) > 1


@pytest.mark.slow
def test_a_foundry_s_cell_is_planned_with_no_option(tmp_path: Path):
    """Around zero, several layers, notes, a cell that is elsewhere."""
    import laserpath

    made = micrometres()
    top = made.new_cell("inv_1")
    top.add(box(1800, 1200, layer=68, datatype=20), box(300, 200, layer=66), gdstk.Reference("gone"))
    top.add(gdstk.Label("VDD", (0, 0)))
    made.new_cell(CONTEXT).add(gdstk.Reference(top))
    made.write_gds(tmp_path / "inv_1.gds")
    design = load(tmp_path / "inv_1.gds", tolerance=0.002)
    settings = Settings(iterations=1, initial="contour", report="brief", origin="auto")
    plan = laserpath.plan(design, Process(), settings)
    assert plan.design.bounds == pytest.approx((0, 0, 1.8, 1.2))
    assert any("--layer" in warning for warning in plan.report.warnings)
    assert any("'gone'" in warning for warning in plan.report.warnings)

"""The sheet: what is written is read again, as spreadsheets save it, and a bad cell is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import filled_in

from laserpath import InputError, calibration
from laserpath.calibration import Item, Measured, Measurements, read_sheet

HEAD = "id,kind,power_mW,speed_mm_per_s,width_um,visible\n"


def fill(text: str, measured: Measurements, delimiter: str = ",", comma: bool = False) -> str:
    """The chart's own sheet with its empty cells filled in."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("id"))
    names = lines[start].split(delimiter)
    rows = {row.item.id: row for row in measured.rows}
    for k in range(start + 1, len(lines)):
        cells = lines[k].split(delimiter)
        row = rows[cells[0]]
        for name in ("width", "depth", "diameter", "merged", "offset"):
            size = getattr(row, name)
            cell = "" if size is None else f"{size * 1000:.9g}"
            cells[names.index(f"{name}_um")] = cell.replace(".", ",") if comma else cell
        cells[names.index("visible")] = {True: "yes", False: "no", None: ""}[row.visible]
        lines[k] = delimiter.join(cells)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("decimal", "delimiter"), [("point", ","), ("comma", ";")])
def test_a_sheet_that_is_filled_in_is_read_as_it_was_meant(decimal: str, delimiter: str) -> None:
    chart = calibration.chart()
    measured = filled_in(np.random.default_rng(0), chart=chart.items)
    found = read_sheet(fill(chart.sheet(decimal), measured, delimiter, decimal == "comma"))
    assert found.order == 1 and len(found.rows) == len(measured.rows)
    for one, other in zip(found.rows, measured.rows, strict=True):
        assert (one.item.id, one.item.kind, one.item.along) == (
            other.item.id,
            other.item.kind,
            other.item.along,
        )
        assert one.item.speed == pytest.approx(other.item.speed, rel=1e-6)
        assert one.item.power == pytest.approx(other.item.power, rel=1e-6)
        assert one.item.length == pytest.approx(other.item.length) and one.item.gap == pytest.approx(
            other.item.gap
        )
        for name in ("width", "depth", "diameter", "merged"):
            size = getattr(other, name)
            assert getattr(one, name) == (None if size is None else pytest.approx(size, rel=1e-6))
        assert one.visible == other.visible


def test_an_empty_sheet_is_read_as_items_without_sizes() -> None:
    chart = calibration.chart()
    found = read_sheet(chart.sheet())
    assert [row.item.id for row in found.rows] == [item.id for item in chart.items]
    assert all(row.width is None and row.visible is None for row in found.rows)


@pytest.mark.parametrize(
    "text",
    [
        "power_mW,speed_mm_per_s,width_um\n2,10,85.5\n",
        "power_mW;speed_mm_per_s;width_um\n2;10;85,5\n",
        "power_mW\tspeed_mm_per_s\twidth_um\n2\t10\t85,5\n",
        '\ufeffpower_mW,speed_mm_per_s,width_um\r\n2,10,"85,5"\r\n\r\n,,\r\n',
        "power_W,speed_mm_per_min,width_mm\n0.002,600,0.0855\n",
        "power_mW,speed_mm_per_s,width_um\n2,10,85.5 um\n",
        "power_mW,speed_mm_per_s,width_um\n2,10,0.0855 mm\n",
        '# a note, with commas\n"# and, quoted"\npower_mW,speed_mm_per_s,width_um\n2,10,85.5\n# the end\n',
    ],
)
def test_however_a_spreadsheet_saves_it(text: str) -> None:
    for data in (text, text.encode(), text.encode("utf-16")):
        (row,) = read_sheet(data).rows
        assert (row.item.power, row.item.speed) == (pytest.approx(2), pytest.approx(10))
        assert row.width == pytest.approx(0.0855)


def test_words_of_an_old_spreadsheet_do_not_matter() -> None:
    text = "power_mW,speed_mm_per_s,width_um,note\n2,10,85,8 µm zu breit\n"
    assert read_sheet(text.encode("cp1252")).rows[0].width == pytest.approx(0.085)


def test_the_absorption_order_is_read() -> None:
    assert read_sheet("# absorption_order = 2\n" + HEAD + "A1,line,2,10,85,yes\n").order == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ("# only a note\n", "it is empty"),
        (HEAD, "no rows below"),
        (b"PK\x03\x04....", "it is a spreadsheet"),
        (b"\x89PNG\0\0", "not a text file"),
        (
            HEAD.replace("width_um", "widht_um") + "A1,line,2,10,85,\n",
            "column 'widht_um' is unknown; did you mean",
        ),
        (HEAD.replace("power_mW", "note") + "A1,line,2,10,85,\n", "column 'power_mW' is missing"),
        (HEAD.replace("visible", "width_mm") + "A1,line,2,10,85,1\n", "mean the same"),
        (HEAD + "A1,line,2,10,wide,\n", "row 2, column 'width_um': 'wide' is not a number"),
        (HEAD + "A1,line,2,10,nan,\n", "row 2, column 'width_um': 'nan' is not a finite number"),
        (HEAD + "A1,line,2,10,1e400,\n", "column 'width_um'"),
        (HEAD + 'A1,line,2,10,"1,234",\n', "may be a thousand or a decimal"),
        (HEAD + 'A1,line,2,10,"1.234,5",\n', "several points or commas"),
        (HEAD + "A1,line,2,10,85,perhaps\n", "visible is 'perhaps'"),
        (HEAD + "A1,square,2,10,85,\n", "row 2: kind 'square' is unknown"),
        (HEAD + "A1,line,,10,85,\n", "row 2: the power is missing"),
        (HEAD + "A1,line,-2,10,85,\n", "row 2: item power is -2"),
        (HEAD + "A1,line,2,10,-85,\n", "has a width of -85 µm, but it must be above 0"),
        (HEAD + "A1,dot,2,10,85,\n", "item length is 0"),
        (HEAD + "A1,line,2,10,85,no\n", "is not visible, but has a width"),
        (HEAD + "A1,line,2,10,85,5,yes\n", "row 2 has 7 cells, but there are 6 columns"),
        (HEAD + "A1,line,2,10,85,\nA1,line,3,10,90,\n", "item 'A1' is there 2 times"),
        ("# absorption_order = many\n" + HEAD + "A1,line,2,10,85,\n", "absorption_order is 'many'"),
        ("id;power_mW;speed_mm_per_s;width_um\nA;1,5;10;1.234\n", "may be a thousand or a decimal"),
        (HEAD + "A,line,1,1,1,\n" * 10_001, "10001 rows, above 10000"),
    ],
)
def test_a_bad_sheet_is_one_sentence_that_names_the_place(text: str | bytes, words: str) -> None:
    with pytest.raises(InputError, match=r"^chart\.csv: ") as caught:
        read_sheet(text, name="chart.csv")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def sentence_of(data: str | bytes) -> str:
    """What is wrong with it, or nothing."""
    try:
        read_sheet(data)
    except InputError as error:
        return str(error)
    return "measurements: "


@given(st.one_of(st.text(max_size=300), st.binary(max_size=300)))
def test_whatever_is_read_is_measurements_or_a_sentence(data: str | bytes) -> None:
    assert sentence_of(data).startswith("measurements: ")


@given(st.lists(st.text('0123456789.,;-e "\t#', max_size=12), min_size=1, max_size=6))
def test_whatever_stands_in_the_cells(cells: list[str]) -> None:
    assert sentence_of(HEAD + ",".join(["A1", "line", *cells]) + "\n").startswith("measurements: ")


def test_what_is_no_measurement_of_its_item() -> None:
    line, wedge = Item("A", "line", 1, 1), Item("W", "wedge", 1, 1, length=1, gap=0.1)
    with pytest.raises(InputError, match="which has no diameter"):
        Measured(line, diameter=0.1)
    with pytest.raises(InputError, match="but the wedge is 1000 µm long"):
        Measured(wedge, merged=1.5)
    with pytest.raises(InputError, match="along is 'z'"):
        replace(line, along="z")


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_sizes_in_another_unit_than_their_column_are_refused(factor: float) -> None:
    rows = [f"A{k},line,1,{k + 1},{width * factor:g},{width}" for k, width in enumerate((60, 90, 110, 130))]
    text = "\n".join(["id,kind,power_mW,speed_mm_per_s,width_um,planned_um", *rows])
    with pytest.raises(InputError, match="times those that the chart planned"):
        read_sheet(text)


def test_sizes_may_be_far_from_planned() -> None:
    """A critical dose 70 times off makes lines a few times as wide, and no more."""
    rows = [f"A{k},line,1,{k + 1},{3 * width},{width}" for k, width in enumerate((60, 90, 110, 130))]
    text = "\n".join(["id,kind,power_mW,speed_mm_per_s,width_um,planned_um", *rows])
    assert [m.planned for m in read_sheet(text).rows] == pytest.approx([0.06, 0.09, 0.11, 0.13])


def test_levels_need_the_head_that_says_of_how_many() -> None:
    text = "id,level,power_mW,speed_mm_per_s,width_um\nA1,3,0.16,20,80\n"
    assert read_sheet("# power_levels = 255\n" + text).levels is not None
    with pytest.raises(InputError, match="the column level is filled in, but the line '# power_levels"):
        read_sheet(text)

"""Files that cannot be read: one clear sentence each, and no surprise."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from pace_of_machine import within
from refusals import refusal

from laserpath.base.errors import InputError
from laserpath.base.limits import limits
from laserpath.design import load
from laserpath.design.reading import Reading
from laserpath.design.svg import read

NS = 'xmlns="http://www.w3.org/2000/svg"'
ROOT = f'<svg {NS} width="100mm" height="100mm" viewBox="0 0 100 100">'
RECT = '<rect width="10" height="10"/>'
BOMB = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 9))
SWELLS = f'<!DOCTYPE svg [<!ENTITY x "{"y" * 9999}">]>{ROOT}<desc>{"&x;" * 4000}</desc></svg>'

FILES = {
    "json": (b'{"polygons": []}', "is not SVG"),
    "other root": (b"<kml/>", "looks like KML"),
    "other vocabulary": (b'<svg xmlns="http://example.com/"/>', "another vocabulary"),
    "cut in a tag": (f'{ROOT}<rect width="10'.encode(), "cut off at line 1"),
    "cut between tags": (f"{ROOT}\n{RECT}".encode(), "cut off at line 2"),
    "not UTF-8": (b"<svg>\xff\xfe\xfa</svg>", "broken"),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><svg/>', "encoding"),
    "bomb": (f'<!DOCTYPE svg [<!ENTITY e0 "ha">{BOMB}]>{ROOT}&e8;</svg>'.encode(),
        "entity 'e1' is made of other entities"),
    "parameter entity": (f'<!DOCTYPE svg [<!ENTITY % x "">]>{ROOT}{RECT}</svg>'.encode(),
        "entity '%x' steers how the file is read"),
    "a parameter entity among others": (
        f'<!DOCTYPE svg [<!ENTITY % x "| Other"><!ELEMENT Other (#PCDATA)>]>{ROOT}{RECT}</svg>'.encode(),
        "bad.svg: XML entity '%x' steers how the file is read, which is not safe",
    ),
    "an entity of markup": (
        f'<!DOCTYPE svg [<!ENTITY x "&#60;rect/>">]>{ROOT}{RECT}&x;</svg>'.encode(),
        "entity 'x' is made of other entities or of markup",
    ),
    "an entity that swells": (SWELLS.encode(), "uses XML entities 4000 times"),
    "an entity that swells, in UTF-16": (SWELLS.encode("utf-16"), "uses XML entities 4000 times"),
    "external entity": (
        f'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>{ROOT}<desc>&x;</desc></svg>'.encode(),
        "entity 'x' lies outside the file",
    ),
    "nothing": (f"{ROOT}</svg>".encode(), "design is empty"),
    "fill none": (f'{ROOT}<rect width="9" height="9" fill="none"/></svg>'.encode(), "design is empty"),
    "hidden": (
        f'{ROOT}<g style="display:none">{RECT}{RECT}</g><defs>{RECT}</defs></svg>'.encode(),
        "filled or stroked; hidden in it: 2 shapes (show them, or name their layer with --layer)",
    ),
    "sprites": (
        f'{ROOT}<symbol>{RECT}{RECT}</symbol><defs><symbol>{RECT}</symbol></defs></svg>'.encode(),
        "filled or stroked; defined in it but not used: 3 shapes (place what should be solid with <use>)",
    ),
    "only a picture": (f'{ROOT}<image href="a.png"/></svg>'.encode(), "<image>"),
    "white only": (f'{ROOT}<rect width="9" height="9" fill="white"/></svg>'.encode(), "must be dark"),
    "covered": (f'{ROOT}{RECT}<circle r="50" fill="white"/></svg>'.encode(), "covered by white"),
    "no area": (f'{ROOT}<path d="M0 0L9 9"/></svg>'.encode(), "no area"),
    "NaN": (f'{ROOT}<rect width="NaN" height="9"/></svg>'.encode(), "rect number 1 holds 'NaN'"),
    "NaN in a path": (f'{ROOT}<path id="p" d="M0 0L9 nan 5 5Z"/></svg>'.encode(), "path 'p' holds 'nan'"),
    "infinity": (f'{ROOT}<circle r="inf"/></svg>'.encode(), "'inf', but numbers must be finite"),
    "overflow": (f'{ROOT}<path d="M0 0L1e999 9 5 5Z"/></svg>'.encode(), "'1e999', but numbers"),
    "NaN in points": (f'{ROOT}<polygon points="0,0 nan,1 2,2"/></svg>'.encode(), "must be finite"),
    "NaN in a transform": (f'{ROOT}<g transform="scale(nan)">{RECT}</g></svg>'.encode(), "must be finite"),
    "NaN in a stroke": (f'{ROOT}<path d="M0 0H9" stroke="black" stroke-width="nan"/></svg>'.encode(),
        "must be finite"),
    "huge": (f'{ROOT}<rect id="big" width="1e30" height="9"/></svg>'.encode(), "'big' holds '1e30'"),
    "huge scale": (f'{ROOT}<g transform="scale(1e300) scale(1e300)">{RECT}</g></svg>'.encode(),
        "must be finite"),
    "use cycle": (f'{ROOT}<g id="a"><use href="#a"/></g></svg>'.encode(), "contains itself"),
    "clip cycle": (
        f'{ROOT}<clipPath id="c" clip-path="url(#c)"/><g clip-path="url(#c)">{RECT}</g></svg>'.encode(),
        "clipPath 'c' clips itself",
    ),
    "deep": (f"{ROOT}{'<g>' * 9999}{RECT}{'</g>' * 9999}</svg>".encode(), "nested"),
    "page 0": (f'<svg {NS} width="0" height="9">{RECT}</svg>'.encode(), "page width is '0'"),
    "page negative": (f'<svg {NS} width="9" height="-5mm">{RECT}</svg>'.encode(), "page height is '-5mm'"),
    "page nonsense": (f'<svg {NS} width="wide" height="9">{RECT}</svg>'.encode(), "must be a length"),
    "page NaN": (f'<svg {NS} width="nan" height="9">{RECT}</svg>'.encode(), "must be finite"),
    "flat viewBox": (f'<svg {NS} viewBox="0 0 0 9">{RECT}</svg>'.encode(), "viewBox is '0 0 0 9'"),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_one_sentence_that_names_it(case: str, tmp_path: Path) -> None:
    content, words = FILES[case]
    assert words in refusal(tmp_path / "bad.svg", content)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "drawing.step").write_text("0")
    (tmp_path / "noending").write_text("a drawing")
    for name, words in (
        ("nowhere.svg", "does not exist"),
        (".", "is a folder"),
        ("drawing.step", "'.step', as a 3-D model does, which is not read as a design: save it as STL"),
        ("noending", "has no ending, and its content is of no format that can be read: SVG, DXF"),
        ("a\0b.svg", "a.*b.svg"),
    ):
        with pytest.raises(InputError, match=words):
            load(tmp_path / name, tolerance=0.002)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.svg"
    path.write_text(f"{ROOT}{RECT}</svg>")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        load(path, tolerance=0.002)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tolerance_must_be_above_zero(tolerance: float, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tolerance"):
        load(tmp_path / "a.svg", tolerance=tolerance)


@pytest.mark.parametrize("most", [5000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_use_that_multiplies_is_stopped(most: int) -> None:
    groups = "".join(f'<g id="g{k}">{f"""<use href="#g{k - 1}"/>""" * 10}</g>' for k in range(1, 10))
    with limits(shapes=most), pytest.raises(InputError, match="`use` repeats"):
        read(
            f'{ROOT}<defs><g id="g0">{RECT}</g>{groups}</defs><use href="#g9"/></svg>', "bomb", Reading(0.002)
        )


@pytest.mark.slow
def test_a_hundred_thousand_vertices_take_seconds_at_most() -> None:
    """Measured 0.4 s; the bound catches quadratic growth."""
    t = np.linspace(0, 2 * np.pi, 100_000, endpoint=False)
    xy = 50 + 40 * np.stack([np.cos(t), np.sin(t)], axis=1)
    d = "M" + "L".join(f"{x:.5f},{y:.5f}" for x, y in xy) + "Z"
    design = within(25, lambda: read(f'{ROOT}<path d="{d}"/></svg>', "ring", Reading(0.002)))
    assert design.area.area == pytest.approx(np.pi * 1600, rel=1e-6)


@pytest.mark.parametrize(("rows", "units"), [(15, 12), pytest.param(200, 150, marks=pytest.mark.slow)])
def test_forty_thousand_squares_of_one_path_are_read_in_time(rows: int, units: float) -> None:
    """Measured 3 s; comparing all pairs of rings would take hours and gigabytes. First with a thirteenth."""
    d = "".join(f"M{k % 200} {k // 200}h.5v.5h-.5z" for k in range(200 * rows))
    drawing = f'{ROOT.replace("100", "200")}<path d="{d}"/></svg>'
    design = within(units, lambda: read(drawing, "dots", Reading(0.002)))
    assert design.area.area == pytest.approx(50 * rows)
    assert len(design.area.geoms) == 200 * rows

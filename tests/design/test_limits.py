"""Each limit: what it refuses names the option, and that option lets the file through."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import ezdxf
import numpy as np
import pytest
from PIL import Image
from same_shape import as_geojson, as_gerber, as_svg
from same_shape_cad import as_dxf, as_gds, dxf
from sets import one_fast

import laserpath
from laserpath.base import isolated, limits
from laserpath.base.errors import InputError
from laserpath.cli import main
from laserpath.config import project
from laserpath.design import load

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9mm" height="9mm" viewBox="0 0 9 9">{}</svg>'
RECT = '<rect x="1" y="1" width="4" height="5"/>'


USE = '<use href="#g"/>'


def svg(body: str) -> bytes:
    return SVG.format(body).encode()


def png(side: int = 9) -> bytes:
    ink = np.full((side, side), 255, np.uint8)
    ink[2:5, 2:6] = 0
    out = io.BytesIO()
    Image.fromarray(ink).save(out, "PNG", dpi=(254, 254))
    return out.getvalue()


def blocks() -> bytes:
    def draw(drawing: ezdxf.document.Drawing, model: ezdxf.layouts.Modelspace) -> None:
        block = drawing.blocks.new("B")
        for k in range(3):
            block.add_circle((3 * k, 0), 1)
        for k in range(3):
            model.add_blockref("B", (0, 3 * k))

    return dxf(draw)


def crossing(count: int) -> bytes:
    rng = np.random.default_rng(0)
    lines = (f'<line x1="{a}" y1="{b}" x2="{c}" y2="{d}"/>' for a, b, c, d in 9 * rng.random((count, 4)))
    return svg(f'<g stroke="#000" stroke-width="0.01">{"".join(lines)}</g>')


def array() -> bytes:
    def draw(drawing: ezdxf.document.Drawing, model: ezdxf.layouts.Modelspace) -> None:
        drawing.blocks.new("B").add_circle((0, 0), 1)
        insert = model.add_blockref("B", (0, 0))
        insert.dxf.row_count = insert.dxf.column_count = 3
        insert.dxf.row_spacing = insert.dxf.column_spacing = 3

    return dxf(draw)


def repeated() -> bytes:
    return b"%FSLAX46Y46*%%MOMM*%%ADD10C,0.1*%D10*%SRX3Y3I1J1*%X0Y0D03*%SR*%M02*"


CASES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "bytes": ("a.svg", as_svg, "bytes=99"),
    "elements": ("a.svg", as_svg, "shapes=1"),
    "use": ("a.svg", lambda: svg(f'<defs><g id="g">{RECT}</g></defs>{USE * 9}'), "shapes=12"),
    "blocks": ("a.dxf", blocks, "shapes=2"),
    "array": ("a.dxf", array, "shapes=3"),
    "flashes": ("a.gbr", as_gerber, "shapes=1"),
    "step and repeat": ("a.gbr", repeated, "shapes=8"),
    "cells": ("a.gds", as_gds, "shapes=1"),
    "pixels": ("a.png", png, "pixels=9"),
    "text": ("a.json", as_geojson, "memory=1000"),
    "entities": ("a.dxf", as_dxf, "memory=1000"),
    "decoder": ("a.png", lambda: png(1500), "memory=20MiB"),
}
"""What is limited → (file, its content, a limit that refuses it)."""


def test_every_limit_is_tested() -> None:
    tested = {option.partition("=")[0] for _, _, option in CASES.values()}
    assert {one.name for one in fields(limits.ReadingLimits)} == {*tested, "seconds"}


@pytest.mark.parametrize("case", one_fast(CASES, *(set(CASES) - {"cells", "decoder", "pixels"})))
def test_what_a_refusal_says_lets_the_file_through(case: str, tmp_path: Path) -> None:
    """A limit of which only "more" is known is doubled each time."""
    file, make, option = CASES[case]
    name = option.partition("=")[0]
    path, unsure, refused = tmp_path / file, "", 0
    path.write_bytes(make())
    while (refusal := _refusal(path, option)) is not None:
        advice = rf"is the limit.*--limit ({name}=\S+) raises it(, but more may be needed)?$"
        said = re.search(advice, refusal)
        assert said is not None, refusal
        assert refused == 0 or unsure, "what was named as enough was not"
        option, unsure, refused = said[1], said[2], refused + 1
    assert 0 < refused < 20


def _refusal(path: Path, option: str) -> str | None:
    """Why a file is refused with that limit; None: it is read."""
    try:
        with laserpath.limits(**limits.parsed([option])):
            assert load(path, tolerance=0.002).area.area > 0
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shape=5", r"limit 'shape' is unknown; known: bytes, .*, memory; did you mean shapes\?"),
        ("shapes", "limit shapes is '', but must be a number: shapes=3000000 is usual"),
        ("shapes=many", "limit shapes is 'many', but must be a number"),
        ("memory=2GB", "limit memory is '2GB', but must be a number: memory=8192MiB is usual"),
        ("shapes=2.5", "limit shapes is 2.5, but must be a whole number"),
        ("shapes=0", "limit shapes is 0, but must be a number above 0"),
        ("shapes=-1", "limit shapes is -1, but must be"),
        ("seconds=nan", "limit seconds is nan, but must be"),
        ("seconds=inf", "limit seconds is inf, but must be"),
        ("memory=infGiB", "limit memory is 'infGiB', but must be a number"),
        ("seconds=2e6", r"limit seconds is 2000000, but must be a number above 0, 1e\+06 at most"),
    ],
)
def test_a_wrong_limit_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused, laserpath.limits(**limits.parsed([text])):
        pass
    assert "\n" not in str(refused.value)


def test_the_page_has_every_limit_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page[page.index("## Limits of what") :], re.M))
    for one in fields(limits.ReadingLimits):
        shown = rows[one.name].replace(" ", "")
        assert limits.parsed([f"{one.name}={shown}"])[one.name] == pytest.approx(one.default, rel=1e-3)


def test_limits_hold_inside_the_block_and_add_up() -> None:
    usual = limits.now()
    assert limits.parsed(["memory=16GiB", "bytes = 1.5KiB", "shapes=4e5", "seconds=0.5"]) == {
        "memory": 1 << 34, "bytes": 1536, "shapes": 400_000, "seconds": 0.5,
    }  # fmt: skip
    with laserpath.limits(shapes=400_000), laserpath.limits(seconds=900):
        assert (limits.now().shapes, limits.now().seconds) == (400_000, 900)
    assert limits.now() is usual


def test_the_option_holds_for_its_command_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "a.gcode"  # it has errors: 1
    program.write_text("G21\nG90\nM5\nG0 X1 Y1\n", encoding="ascii")
    for options, code in ((["--limit", "bytes=5"], 2), ([], 1), (["--limit", "bytes=20"], 1)):
        with pytest.raises(SystemExit) as ended:
            main(["check", str(program), *options])
        assert ended.value.code == code
    said = "has 20 bytes, but 5 bytes is the limit: --limit bytes=1MiB raises it"
    assert said in capsys.readouterr().err


def test_a_project_cannot_raise_a_limit(tmp_path: Path) -> None:
    """It may have come with the design."""
    (tmp_path / "laserpath.toml").write_text("limit = ['shapes=400000']\n", encoding="ascii")
    with pytest.raises(InputError, match="key 'limit' is unknown"):
        project.load(tmp_path / "laserpath.toml")


def test_time_is_checked_between_the_elements(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_bytes(svg(RECT * 9))
    some = "more than 1e-06 s, which is the limit: split the design, or --limit seconds=1 raises it"
    with laserpath.limits(seconds=1e-6), pytest.raises(InputError, match=some):
        load(path, tolerance=0.002)


def test_a_reading_that_does_not_look_at_the_clock_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[InputError] = []
    monkeypatch.setattr(limits, "_GRACE", 0.0)
    with limits.watched(ended.append), laserpath.limits(seconds=0.05):
        with limits.work():
            time.sleep(0.5)
        with limits.work():
            pass
    time.sleep(0.2)
    (error,) = ended
    assert "more than 0.05 s" in str(error)


@pytest.mark.slow
def test_the_command_line_ends_inside_a_set_operation(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_bytes(crossing(4000))
    options = ["--limit", "seconds=3", "-o", str(tmp_path / "out")]
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "laserpath", "plan", str(path), *options], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.decode().count("--limit seconds=6 raises it") == 1
    assert time.monotonic() - begun < 30
    assert not (tmp_path / "out").exists()


def test_a_decoder_that_crashes_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", encoding="ascii")
    monkeypatch.setattr(isolated, "_DECODE", script)
    with pytest.raises(InputError, match="the file is damaged: Pillow stopped at it with signal 11"):
        isolated.picture(png(), ("PNG",))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "I;16", "F"])
def test_a_decoded_image_has_the_numbers_of_the_file(mode: str) -> None:
    """In the real subprocess: CMYK, palettes and the like become RGBA."""
    ramp = np.arange(6 * 5, dtype=np.uint8).reshape(5, 6) * 8
    kept = {"I": np.int32, "I;16": np.uint16, "F": np.float32}
    made = Image.fromarray(ramp.astype(kept[mode])) if mode in kept else Image.fromarray(ramp).convert(mode)
    out = io.BytesIO()
    made.save(out, "TIFF", dpi=(100, 200))
    shown = isolated.picture(out.getvalue(), ("PNG", "TIFF"))
    assert shown is not None
    expected = made.convert("L") if mode == "1" else made
    expected = made.convert("RGBA") if mode in ("LA", "P", "CMYK") else expected
    np.testing.assert_array_equal(shown.numbers, np.asarray(expected))
    assert (shown.format, shown.pages, shown.dpi) == ("TIFF", 1, (100, 200))


def test_a_few_bytes_are_not_written_as_parts_of_a_mebibyte(tmp_path: Path) -> None:
    path = tmp_path / "a.wkt"
    path.write_text("POLYGON((0 0,1 0,1 1,0 0))")
    some = "has 26 bytes, but 20 bytes is the limit"
    with limits.limits(bytes=20), pytest.raises(InputError, match=some):
        load(path, tolerance=0.002)

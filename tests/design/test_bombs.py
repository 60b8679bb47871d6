"""Small files that ask for a lot of work are refused in one sentence, or read, within seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bombs import BOMBS

from laserpath.base import limits
from laserpath.base.errors import QUOTE, InputError, short
from laserpath.config import profiles, project
from laserpath.design import load

TIME = "reading takes more than 8 s, which is the limit: split the design, or --limit seconds=16 raises it"
SAID = {
    "svg_masks": TIME,
    "svg_even_odd": TIME,
    "svg_beziers": TIME,
    "svg_lines": TIME,
    "svg_css": TIME,
    "gerber_blocks": f"{TIME}|draws more than 3 000 000 polygons, which is the limit",
    "gerber_macro": "399999 characters, above 2000",
    "dxf_hatches": TIME,
    "dxf_metres": f"{TIME}|more than 1024 MiB of memory, which is the limit: .*check its unit",
    "dxf_spline": TIME,
    "dxf_inserts": f"{TIME}|of memory|there would be more than 3 000 000 curves",
    "dxf_array": "takes about 7416 MiB of memory, but 1024 MiB is the limit",
    "gds_point": "there is no polygon",
    "gds_levels": "about 10\\^4516 shapes",
    "gds_tens": "holds 1 111 111 111 110 shapes, but 3 000 000 is the limit",
    "oasis_tens": "holds 1 111 111 111 110 shapes, but 3 000 000 is the limit",
    "oasis_repetition": "its cells hold 4 225 000 000 polygons or more, but 3 000 000 is the limit",
    "oasis_block": f"{TIME}|takes more than 1024 MiB of memory, which is the limit",
}
"""Bomb → the refusal within 8 s and 1 GiB; those that are not here are read."""
FAST = {"gerber_macro", "dxf_array", "gds_point", "oasis_tens"}


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in BOMBS])
def test_a_bomb_is_refused_or_read_soon(name: str, tmp_path: Path) -> None:
    suffix, data = BOMBS[name]()
    file = tmp_path / f"bomb{suffix}"
    file.write_bytes(data)
    begun = time.process_time()
    if name in SAID:
        with limits.limits(seconds=8, memory=1 << 30), pytest.raises(InputError, match=SAID[name]) as refused:
            load(file, tolerance=0.002)
        assert "\n" not in str(refused.value)
    else:
        load(file, tolerance=0.002)
    assert time.process_time() - begun < 20


CHILD = """
import sys
import laserpath
from laserpath.base.errors import InputError
from laserpath.design import load
try:
    with laserpath.limits(seconds=6, memory=1 << 30):
        load(sys.argv[1], tolerance=0.002)
except InputError:
    pass
import re, resource
kinds = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
used = [resource.getrusage(kind) for kind in kinds]
# Its own ru_maxrss begins with what its parent holds.
held = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(sum(one.ru_utime + one.ru_stime for one in used), max(held, used[1].ru_maxrss) / 2**20)
"""
CAD = [name for name in BOMBS if name.partition("_")[0] in ("gerber", "dxf", "gds", "oasis")]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no VmHWM, and ru_maxrss has another unit")
@pytest.mark.parametrize("name", CAD)
def test_a_drawing_takes_at_most_ten_seconds_and_two_gibibytes(name: str, tmp_path: Path) -> None:
    suffix, data = BOMBS[name]()
    file = tmp_path / f"bomb{suffix}"
    file.write_bytes(data)
    command = [sys.executable, "-c", CHILD, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, gibibytes = map(float, done.stdout.split())
    assert seconds < 10 and gibibytes < 2


TOML = {
    "exponent": ("{key} = 1e999999999", "has the number 1e999999999"),
    "digits": ("{key} = " + "9" * 5000, "4000 digits or more"),
    "hexadecimal": ("{key} = 0x" + "f" * 5000, "4000 digits or more"),
    "brackets": ("x = " + "[" * 3000, "more than 50 brackets in each other"),
    "braces": ("x = " + "{a = " * 3000, "more than 50 brackets in each other"),
    "dotted key": ("a" + ".a" * 50_000 + " = 1", "a key of more than 8 parts"),
    "dotted table": ("[a" + ".a" * 50_000 + "]", "a key of more than 8 parts"),
    "quotation marks": ('a = "' + '\\"' * 60_000, "is not valid TOML"),
    "size": ("#" * 200_000, "131072 bytes is the limit"),
}


@pytest.mark.parametrize(("text", "said"), TOML.values(), ids=TOML)
def test_toml_that_would_hang_its_parser_is_refused_at_once(text: str, said: str, tmp_path: Path) -> None:
    for key, read in (("power_max_mW", profiles.machine), ("max_epe", project.load)):
        file = tmp_path / f"{key}.toml"
        file.write_text(text.replace("{key}", key), encoding="ascii")
        begun = time.process_time()
        with pytest.raises(InputError, match=said) as refused:
            read(str(file))
        assert time.process_time() - begun < 2
        assert len(str(refused.value)) < 5 * QUOTE


@pytest.mark.parametrize(
    "name", ["x" * 300, "x" * 300 + ".toml", "a\0b.toml", "/dev/zero", "/dev/null/a.toml"]
)
def test_a_name_that_is_no_plain_file_is_a_sentence(name: str) -> None:
    for read in (profiles.machine, profiles.resin, profiles.spot):
        with pytest.raises(InputError):
            read(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    for suffix in (".toml", ".svg", ".gcode"):
        os.mkfifo(tmp_path / f"pipe{suffix}")
    for read in (profiles.machine, project.load):
        with pytest.raises(InputError, match=r"is not a plain file"):
            read(tmp_path / "pipe.toml")
    with pytest.raises(InputError, match=r"is not a plain file"):
        load(tmp_path / "pipe.svg", tolerance=0.01)
    with pytest.raises(InputError, match=r"program .* is not a plain file"):
        limits.content(tmp_path / "pipe.gcode", "program")


def test_a_file_above_the_limit_is_refused_with_both_sizes(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(bytes(101))
    some = r"program .*long' has 101 bytes, but 100 bytes is the limit: --limit bytes=1MiB raises it"
    with limits.limits(bytes=100), pytest.raises(InputError, match=some):
        limits.content(tmp_path / "long", "program")
    with pytest.raises(InputError, match=r"table .*long' has 101 bytes, but 100 bytes is the limit$"):
        limits.content(tmp_path / "long", "table", 100)


@pytest.mark.parametrize(
    "text", ["x" * 200_000, "a b " * 50_000, "'" * 200_000], ids=["word", "words", "quotes"]
)
def test_a_sentence_repeats_little_of_a_long_text(text: str) -> None:
    sentence = str(InputError(f"key {text!r} is unknown"))
    assert len(sentence) < 2000 and sentence.startswith("key ") and sentence.endswith(" is unknown")
    assert short("as it is") == "as it is"


@pytest.mark.parametrize("name", ["a\U000e0001b.svg", "caf\udcff.svg", "file:a.svg", "plain.svg"])
def test_a_project_names_any_file(name: str, tmp_path: Path) -> None:
    from laserpath.base.quantities import quoted_path

    path = tmp_path / project.NAME
    path.write_text(f"design = {quoted_path(name)}\n", encoding="utf-8")
    assert project.load(path).design == tmp_path / name


def test_true_is_no_coordinate(tmp_path: Path) -> None:
    file = tmp_path / "true.geojson"
    file.write_text('{"type": "Polygon", "coordinates": [[[0, 0], [true, 0], [1, 1], [0, 0]]]}')
    with pytest.raises(InputError, match=r"position .*True"):
        load(file, tolerance=0.01)

"""Other packages add readers, curves, spots and dialects; what is wrong with one names the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import shapely
from builders import design
from distributions import EXAMPLE, install, install_example

import gcode
from laserpath.base import entry_points
from laserpath.base.entry_points import CURVES as CURVE_GROUP
from laserpath.base.entry_points import (
    DESIGNS,
    DIALECTS,
    INITIAL_CURVES,
    KINDS,
    SPOTS,
    find,
    found,
    initial_curves,
)
from laserpath.base.errors import InputError
from laserpath.config.profiles import spot
from laserpath.design import load
from laserpath.physics.optics import fwhm
from laserpath.planning.curve import CURVES, initial_curve
from laserpath.types import Process, Settings, Spot

ROOT = Path(__file__).parents[3]
SQUARE = design(shapely.box(0, 0, 2, 2))

BROKEN = """
from laserpath.base.errors import InputError
import numpy as np
NUMBER = 3
def fails(*args): raise ZeroDivisionError("by\\nzero")
def refuses(*args): raise InputError("this is refused")
def gives_text(*args): return "text"
def gives_points(*args): return [np.zeros((3, 3))]
def gives_nan(*args): return [np.full((2, 2), np.nan)]
def gives_dots(*args): return [np.zeros((1, 2))]
def gives_none(*args): return []
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python looks for packages in, as it does in site-packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    for module in ("laserpath_example", "broken", "other"):
        monkeypatch.setitem(sys.modules, module, None)  # so that what is imported now is gone afterwards
        monkeypatch.delitem(sys.modules, module)
    return folder


@pytest.fixture
def example(site: Path) -> Path:
    return install_example(site)


def broken(site: Path, group: str, name: str, what: str) -> None:
    install(site, "broken", {group: {name: what}}, BROKEN)


# The example


@pytest.mark.usefixtures("example")
def test_the_example_offers_one_of_each() -> None:
    offered = {group: list(found(group)) for group in KINDS}
    assert offered == {DESIGNS: ["hpgl"], CURVE_GROUP: ["diagonals"], SPOTS: ["ring"], DIALECTS: ["shop"]}
    assert found(SPOTS)["ring"][0].title == "spot 'ring' of the package 'laserpath-example 1.0'"
    assert gcode.dialect("shop").header[-1] == "M8"


@pytest.mark.usefixtures("example")
def test_a_reader_reads_its_suffix(tmp_path: Path) -> None:
    file = tmp_path / "plate.HPGL"
    file.write_text("IN;SP1;PU0,0;PD80,0,80,40,0,40;PU120,0;PD160,0,160,40;SP0;", encoding="ascii")
    read = load(file, tolerance=0.01)
    assert read.name == "plate"
    assert read.area.area == pytest.approx(2 * 1 + 1 * 1 / 2)
    file.write_text("IN;", encoding="ascii")
    with pytest.raises(InputError, match=r"plate\.HPGL: no PU and PD with at least three places"):
        load(file, tolerance=0.01)


@pytest.mark.usefixtures("example")
def test_the_message_on_an_unknown_ending_lists_the_plugins_too(tmp_path: Path) -> None:
    (tmp_path / "plate.xyz").write_text("a plate", encoding="ascii")
    with pytest.raises(InputError, match=r"no format that can be read: SVG, .*\.hpgl"):
        load(tmp_path / "plate.xyz", tolerance=0.01)


@pytest.mark.usefixtures("example")
def test_a_curve_is_a_starting_curve_like_ours() -> None:
    process, settings = Process(Spot(0.2)), Settings(initial="diagonals")
    path = initial_curve(SQUARE, process, settings)
    lit = path.on
    direction = np.diff(path.xy, axis=0)[lit]
    assert np.abs(np.abs(direction[:, 0]) - np.abs(direction[:, 1])).max() < 1e-9, "at 45 degrees"
    assert shapely.box(0, 0, 2, 2).covers(shapely.LineString(path.xy))
    pitch = settings.pitch_fwhm * fwhm(process.spot)
    assert path.length[lit].sum() == pytest.approx(SQUARE.area.area / pitch, rel=0.2)


@pytest.mark.usefixtures("example")
def test_a_spot_is_called_by_its_name() -> None:
    ring = spot("ring")
    assert ring.profile == "measured" and fwhm(ring) == pytest.approx(0.2, rel=1e-5)
    with pytest.raises(InputError, match=r"'rung' is unknown; known: .*ring; did you mean ring\?"):
        spot("rung")


@pytest.mark.usefixtures("example")
def test_settings_know_the_curves_of_packages() -> None:
    assert initial_curves() == (*INITIAL_CURVES, "diagonals")
    with pytest.raises(InputError, match=r"'diagonal' is unknown; known: auto, contour, .*, diagonals"):
        Settings(initial="diagonal")


def test_a_package_that_is_installed_meanwhile_is_found(site: Path) -> None:
    assert found(CURVE_GROUP).get("diagonals") is None
    time.sleep(0.02)  # until the clock that folders are dated by has ticked
    install_example(site)
    assert found(CURVE_GROUP).get("diagonals") is not None


def test_what_a_package_offered_is_gone_with_it() -> None:
    assert found(CURVE_GROUP).get("diagonals") is None
    with pytest.raises(InputError, match="'diagonals' is unknown"):
        Settings(initial="diagonals")


def command(*words: str, site: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """`laserpath` in a process that finds the packages in `site`."""
    return subprocess.run(
        [sys.executable, "-m", "laserpath", *words], check=False, capture_output=True, text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])},
    )  # fmt: skip


def plan_with_all_four(site: Path, folder: Path) -> None:
    """A plan of an HP-GL file, from diagonals, with a ring, for a shop."""
    (folder / "plate.hpgl").write_text("PU0,0;PD80,0,80,60,0,60;", encoding="ascii")
    profile = ROOT / "laserpath/config/profiles/machines/grbl-diode-405.toml"
    text = profile.read_text(encoding="utf-8").replace('dialect = "grbl"', 'dialect = "shop"')
    (folder / "shop.toml").write_text(text, encoding="utf-8")
    done = command(
        "plan", "plate.hpgl", "--initial", "diagonals", "--spot", "ring", "--machine", "shop.toml",
        "--iterations", "2", "-q", site=site, folder=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    program = (folder / "plate.gcode").read_text(encoding="ascii")
    assert "\nM8\n" in program and program.endswith("M9\nS0\nM2\n")
    assert "initial diagonals" in program.replace("\n; ", " ")


@pytest.mark.slow
def test_the_example_plans_when_pip_has_installed_it(tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--target", str(site), str(EXAMPLE)], check=True, timeout=300)
    plan_with_all_four(site, tmp_path)
    listed = command("plugins", "list", "--json", site=site, folder=tmp_path)
    assert {row["name"]: row["kind"] for row in json.loads(listed.stdout)} == {
        "hpgl": "design reader", "diagonals": "starting curve", "ring": "spot", "shop": "dialect",
    }  # fmt: skip


def test_the_example_needs_nothing_but_laserpath() -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dependencies"] == ["laserpath"]


# What goes wrong


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("nowhere:X", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("broken:NO", "cannot be loaded: AttributeError: .*has no attribute 'NO'"),
        ("broken:NUMBER", "is a int, but must be a function"),
        ("broken:fails", "failed: ZeroDivisionError: by zero"),
        ("broken:gives_text", "gave no strokes, but must give a list of arrays"),
        ("broken:gives_points", r"stroke 0 has the shape \(3, 3\), but must be \(K, 2\) with K above 1"),
        ("broken:gives_dots", r"stroke 0 has the shape \(1, 2\)"),
        ("broken:gives_nan", "stroke 0 has coordinates that are not finite"),
    ],
)
def test_a_broken_curve_names_its_package(site: Path, what: str, sentence: str) -> None:
    broken(site, CURVE_GROUP, "odd", what)
    title = "starting curve 'odd' of the package 'broken 1.0'"
    with pytest.raises(InputError, match=f"^{title}:? {sentence}"):
        initial_curve(SQUARE, Process(), Settings(initial="odd"))


@pytest.mark.parametrize(
    ("what", "sentence"), [("gives_none", "no odd line fits into design"), ("refuses", "this is refused")]
)
def test_a_refusal_by_a_curve_is_passed_on_unchanged(site: Path, what: str, sentence: str) -> None:
    broken(site, CURVE_GROUP, "odd", f"broken:{what}")
    with pytest.raises(InputError, match=f"^{sentence}"):
        initial_curve(SQUARE, Process(), Settings(initial="odd"))


def test_a_spot_that_is_none(site: Path) -> None:
    broken(site, SPOTS, "odd", "broken:gives_text")
    sentence = "spot 'odd' of the package 'broken 1.0' gave a str, but must give a Spot"
    with pytest.raises(InputError, match=f"^{sentence}$"):
        spot("odd")


def test_a_design_that_is_none(site: Path, tmp_path: Path) -> None:
    broken(site, DESIGNS, "odd", "broken:gives_none")
    (tmp_path / "plate.odd").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"design reader 'odd' of the package 'broken 1\.0' gave a list, but"
    ):
        load(tmp_path / "plate.odd", tolerance=0.01)


def test_our_names_cannot_be_taken(site: Path, tmp_path: Path) -> None:
    points = {
        group: {name: "broken:gives_none"}
        for group, name in ((CURVE_GROUP, "hatch"), (SPOTS, "diode-0.1mm"), (DESIGNS, "svg"))
    }
    install(site, "broken", points, BROKEN)
    (tmp_path / "plate.svg").write_text("<svg/>", encoding="ascii")
    sentence = "of the package 'broken 1.0' has the name of one of laserpath's own; uninstall the package"
    with pytest.raises(InputError, match=f"starting curve 'hatch' {sentence}"):
        initial_curve(SQUARE, Process(), Settings(initial="hatch"))
    with pytest.raises(InputError, match=f"spot 'diode-0.1mm' {sentence}"):
        spot("diode-0.1mm")
    with pytest.raises(InputError, match=f"design reader 'svg' {sentence}"):
        load(tmp_path / "plate.svg", tolerance=0.01)
    assert initial_curve(SQUARE, Process(), Settings(initial="outline")).on.any(), (
        "the others are as they were"
    )


def test_two_packages_with_one_name(site: Path) -> None:
    for package in ("broken", "other"):
        install(site, package, {CURVE_GROUP: {"odd": "broken:gives_none"}}, BROKEN)
    with pytest.raises(InputError, match=r"'odd' is offered by several packages, '(broken|other) 1\.0', '"):
        find(CURVE_GROUP, "odd", CURVES)


def test_a_folder_that_is_twice_on_the_path_is_one_package(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(example), *sys.path])
    assert len(found(CURVE_GROUP)["diagonals"]) == 1


def test_nothing_of_a_package_is_imported_before_it_is_used(site: Path) -> None:
    install(site, "broken", {CURVE_GROUP: {"odd": "broken:x"}}, "raise SystemError('imported')")
    assert "odd" in initial_curves()
    assert find(CURVE_GROUP, "odd", CURVES) is not None
    assert "broken" not in sys.modules


def test_the_list_has_every_group() -> None:
    assert set(KINDS) == {DESIGNS, CURVE_GROUP, SPOTS, DIALECTS}
    assert entry_points.DIALECTS == gcode.dialects.known.ENTRY_POINTS

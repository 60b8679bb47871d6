"""The Inkscape extension: the script alone, with a stand-in for laserpath, and in a real Inkscape."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from shapes import NODING

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.cli.plugins import inkscape
from laserpath.cli.plugins.inkscape import FILES, extensions_folder, install

ROOT = Path(__file__).parents[3]
FOLDER = Path(inkscape.__file__).parent
SCRIPT = FOLDER / "laserpath_inkscape.py"
INX = "{http://www.inkscape.org/namespace/inkscape/extension}"
SVG = "{http://www.w3.org/2000/svg}"
LAYER = "laserpath-toolpath"
SODIPODI = "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd"

DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:kept="urn:kept" width="4mm" height="3mm"
 viewBox="10 20 80 60"><!-- a comment --><metadata kept:that="1"/>
 <path id="ell" d="M20 70V30H30V60H60V70Z"/></svg>"""
"""An L, 20 user units to the mm: its lower left corner is (0.5, 0.5) mm from the page's, the arms 2 mm."""
ELL = shapely.box(0.5, 0.5, 1, 2.5).union(shapely.box(0.5, 0.5, 2.5, 1), grid_size=NODING)

TOOLPATH = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect/><path id="design" d="M1 1Z"/>
 <g id="path" data-page="1 2 5 5"><path d="M2,3 3,4"/></g><rect id="end"/><circle id="start"/><text>x</text>
 </svg>"""


def loaded() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("laserpath_inkscape", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


script = loaded()


def dialog() -> dict[str, ET.Element]:
    """The parameters of the dialog by name."""
    root = ET.parse(FOLDER / "laserpath.inx").getroot()
    return {str(p.get("name")): p for p in root.iter(f"{INX}param") if p.get("type") != "notebook"}


# The dialog and the script


def test_the_dialog_has_what_the_script_takes() -> None:
    taken = {action.dest.replace("_", "-") for action in script.parser()._actions} - {"help", "drawing"}
    assert set(dialog()) == taken


def test_its_values_are_options_of_plan() -> None:
    from laserpath.cli.plan import plan

    options = {option for p in plan.params if isinstance(p, click.Option) for option in p.opts}
    own = {"folder", "options", "command"}
    assert {f"--{name}" for name in dialog().keys() - own} <= options
    for name in ("quality", "origin"):
        known = next(p.type for p in plan.params if p.name == name)
        assert isinstance(known, click.Choice)
        assert {o.get("value") for o in dialog()[name].iter(f"{INX}option")} == set(known.choices)


def test_its_defaults_are_those_of_plan() -> None:
    from laserpath.config.profiles import DEFAULTS
    from laserpath.types import Settings

    for name in ("machine", "resin", "spot"):
        assert dialog()[name].text == DEFAULTS[name]
    for name in ("initial", "iterations", "passes"):
        assert dialog()[name].text == str(getattr(Settings(), name))


def test_the_script_is_python_3_8_of_the_standard_library() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 8))
    modules = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    modules |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in modules} <= sys.stdlib_module_names


def options(**values: Any) -> argparse.Namespace:
    """What the dialog hands over."""
    words = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    found: argparse.Namespace = script.parser().parse_args([*words, "drawing.svg"])
    return found


def test_zeros_and_nothing_are_left_to_laserpath(tmp_path: Path) -> None:
    command = script.plan_command(options(command=sys.executable), tmp_path / "a.svg", tmp_path)
    assert command == [sys.executable, "plan", str(tmp_path / "a.svg"), "-o", str(tmp_path), "--json"]
    given = options(
        command=sys.executable, spot_fwhm=80, spot="other", critical_dose=35.5, max_epe=5, frame="true",
        quality="fine", options="--angle 45 --tone 'positive'",
    )  # fmt: skip
    assert script.plan_command(given, tmp_path / "a.svg", tmp_path)[6:] == [
        "--quality", "fine", "--spot-fwhm", "80um", "--critical-dose", "35.5mJ/cm2", "--max-epe", "5um",
        "--frame", "--angle", "45", "--tone", "positive",
    ]  # fmt: skip


@given(
    st.tuples(*[st.floats(-100, 100)] * 2), st.tuples(*[st.floats(1, 100)] * 2),
    st.tuples(*[st.floats(-100, 100)] * 2), st.floats(0.01, 100), st.floats(0.2, 5),
)  # fmt: skip
def test_the_page_lies_on_the_viewbox(
    corner: tuple[float, float], size: tuple[float, float], at: tuple[float, float], unit: float, wide: float
) -> None:
    """As large as fits, in the middle: what preserveAspectRatio says where nobody says else."""
    page = [*corner, corner[0] + size[0], corner[1] + size[1]]
    box = np.array([*at, size[0] * unit * wide, size[1] * unit])
    root = ET.Element("svg", {"viewBox": " ".join(map(repr, box.tolist()))})
    scale, x, y = script.onto(root, page)
    low, high = scale * np.array(page).reshape(2, 2) + (x, y)
    assert (low + high) / 2 == pytest.approx(box[:2] + box[2:] / 2, abs=1e-6 * max(box[2:]))
    assert (high - low >= box[2:] * (1 - 1e-9)).all(), "the viewBox is inside the page"
    assert ((high - low) / box[2:]).min() == pytest.approx(1), "and touches it"


def test_without_a_viewbox_a_unit_is_a_pixel() -> None:
    scale, x, y = script.onto(ET.Element("svg"), [1.0, 2.0, 3.0, 5.0])
    assert (scale, x, y) == pytest.approx((96 / 25.4, -96 / 25.4, -2 * 96 / 25.4))


# The script with a stand-in for laserpath


FAKE = """#!{python}
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
drawing, folder = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[4])
record = {{"arguments": sys.argv[1:], "drawing": drawing.read_text(encoding="utf-8"), "folder": os.getcwd(),
         "python": os.environ.get("PYTHONPATH")}}
(here / "call.json").write_text(json.dumps(record), encoding="utf-8")
stderr, code = {stderr!r}, {code}
if stderr:
    print(stderr.replace("COPY", str(drawing)), file=sys.stderr)
if code in (0, 3):
    path = folder / (drawing.stem + ".toolpath.svg")
    path.write_text({toolpath!r}, encoding="utf-8")
    print(json.dumps({{"files": [str(path)], "warnings": {warnings!r}, "fwhm_mm": 0.1,
                      "executed": {{"write_time": 12.34, "epe_mean": 0.0456}}}}))
sys.exit(code)
"""


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Path]:
    """Writes a command that does as if it were laserpath."""

    def write(
        code: int = 0, stderr: str = "", warnings: tuple[str, ...] = (), toolpath: str = TOOLPATH
    ) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        path = folder / "laserpath"
        text = FAKE.format(
            python=sys.executable, stderr=stderr, code=code, warnings=list(warnings), toolpath=toolpath
        )
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    return write


def call(
    drawing: Path, *words: str, document: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """The script, called as Inkscape calls it: the values, the selection, a copy of the drawing."""
    everything = {**os.environ, "PYTHONPATH": "/usr/share/inkscape/extensions", **environment}
    everything["DOCUMENT_PATH"] = str(document or "")
    return subprocess.run(
        [sys.executable, "-I", str(SCRIPT), "--tab=plan", *words, "--id=ell", str(drawing)],
        check=False, capture_output=True, env=everything, cwd=FOLDER,
    )  # fmt: skip


@pytest.fixture
def drawing(tmp_path: Path) -> Path:
    """The copy that Inkscape hands over."""
    path = tmp_path / "ink_ext_XXXXXX.svgABC"
    path.write_text(DRAWING, encoding="utf-8")
    return path


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Where the drawing was saved."""
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine" / "my plate.svg"


def test_the_toolpath_comes_back_as_a_locked_layer(
    fake: Callable[..., Path], drawing: Path, document: Path
) -> None:
    command = fake()
    done = call(drawing, f"--command={command}", document=document)
    assert (done.returncode, done.stderr) == (0, b"")
    root = ET.fromstring(done.stdout)
    (layer,) = [g for g in root.iter(f"{SVG}g") if g.get("id") == LAYER]
    assert layer.get(f"{{{script.INKSCAPE}}}groupmode") == "layer"
    assert layer.get(f"{{{script.INKSCAPE}}}label") == "laserpath: 12.3 s, mean edge error 4.6 µm"
    assert layer.get(f"{{{SODIPODI}}}insensitive") == "true"
    assert [child.get("id") for child in layer] == [
        f"{LAYER}-{n}" for n in ("design", "path", "end", "start")
    ]
    assert layer.get("transform") == "matrix(20,0,0,20,-10,-20)"
    text = done.stdout.decode()
    assert "<!-- a comment -->" in text and 'xmlns:kept="urn:kept"' in text and 'kept:that="1"' in text
    record = json.loads((command.parent / "call.json").read_text(encoding="utf-8"))
    assert Path(record["arguments"][1]).name == "my plate.svg", "the files are called as the drawing"
    assert record["arguments"][3] == record["folder"] == str(document.parent)
    assert record["python"] is None, "Inkscape's own Python path is not handed on"
    assert not Path(record["arguments"][1]).parent.exists()


def test_the_next_run_takes_the_layer_away(fake: Callable[..., Path], drawing: Path, document: Path) -> None:
    command = fake()
    for _ in range(2):
        done = call(drawing, f"--command={command}", document=document)
        drawing.write_bytes(done.stdout)
        record = json.loads((command.parent / "call.json").read_text(encoding="utf-8"))
        assert LAYER not in record["drawing"]
    assert done.stdout.count(f'id="{LAYER}"'.encode()) == 1


def test_notes_and_warnings_are_shown(fake: Callable[..., Path], drawing: Path, document: Path) -> None:
    command = fake(3, "laserpath: warning: x\nlaserpath: tolerance missed: y", ("too strong",))
    done = call(drawing, f"--command={command}", document=document)
    assert done.returncode == 0 and LAYER.encode() in done.stdout
    assert done.stderr.decode() == "laserpath: warning: too strong\nlaserpath: tolerance missed: y\n"


@pytest.mark.parametrize(
    ("code", "stderr", "sentence"),
    [
        (2, "laserpath: COPY: it is empty", "my plate.svg: it is empty"),
        (2, "laserpath: No such option: --x\nSee 'laserpath plan --help'.", "No such option: --x"),
        (1, "Traceback\n  line\nKeyError: 3", "the command stopped with the code 1: KeyError: 3"),
        (139, "", "the command stopped with the code 139: no error message"),
    ],
)
def test_an_error_is_one_sentence(
    fake: Callable[..., Path], drawing: Path, document: Path, code: int, stderr: str, sentence: str
) -> None:
    done = call(drawing, f"--command={fake(code, stderr)}", document=document)
    assert (done.returncode, done.stdout) == (1, b""), "Inkscape leaves the drawing as it is"
    assert done.stderr.decode() == f"laserpath: {sentence}\n"


def test_a_drawing_without_a_folder_or_a_page(
    fake: Callable[..., Path], drawing: Path, tmp_path: Path
) -> None:
    command = fake(toolpath=TOOLPATH.replace('data-page="1 2 5 5"', ""))
    done = call(drawing, f"--command={command}")
    assert done.stderr.decode() == f"laserpath: {script.SAVE}\n"
    done = call(drawing, f"--command={command}", f"--folder={tmp_path}")
    assert done.stderr.decode() == f"laserpath: {script.NO_PAGE}\n"


@pytest.mark.slow
def test_where_the_command_is_looked_for(
    fake: Callable[..., Path], drawing: Path, document: Path, tmp_path: Path
) -> None:
    done = call(drawing, document=document, PATH=str(fake().parent))
    assert done.returncode == 0
    bare = {"PATH": str(tmp_path / "empty"), "HOME": str(tmp_path / "home")}
    if not any(Path(place, "laserpath").exists() for place in ("/opt/homebrew/bin", "/usr/local/bin")):
        done = call(drawing, document=document, **bare)
        assert done.stderr.decode() == f"laserpath: {script.MISSING}\n"
    (tmp_path / "home" / ".local").mkdir(parents=True)
    (tmp_path / "bin").rename(tmp_path / "home" / ".local" / "bin")
    assert call(drawing, document=document, **bare).returncode == 0, "where pipx puts it"
    done = call(drawing, "--command=/nowhere/laserpath", document=document)
    assert "laserpath: /nowhere/laserpath is not a command" in done.stderr.decode()


def test_text_without_an_inkscape_is_refused(
    fake: Callable[..., Path], drawing: Path, document: Path, tmp_path: Path
) -> None:
    drawing.write_text(DRAWING.replace("<path", "<text>hello</text><path"), encoding="utf-8")
    done = call(drawing, f"--command={fake()}", document=document, PATH=str(tmp_path), INKSCAPE_COMMAND="")
    assert done.stderr.decode() == f"laserpath: {script.TEXT}\n"


@pytest.mark.parametrize("text", ["", "no", "<svg", "\0"])
def test_a_drawing_that_is_none(drawing: Path, text: str) -> None:
    drawing.write_text(text, encoding="utf-8")
    done = call(drawing)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"laserpath: {drawing} cannot be read: ")
    assert done.stderr.count(b"\n") == 1


# With laserpath, and with Inkscape


def real(folder: Path) -> Path:
    """The command laserpath of this tree."""
    path = folder / "laserpath"
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m laserpath "$@"\n', encoding="utf-8"
    )
    path.chmod(0o755)
    return path


def points(root: ET.Element) -> Floats:
    """(N, 2) vertices of the toolpath, mm, y up from the page's lower left corner; 20 units are a mm."""
    (layer,) = [g for g in root.iter(f"{SVG}g") if g.get("id") == LAYER]
    scale, _, _, _, x, y = map(float, str(layer.get("transform"))[7:-1].split(","))
    (group,) = [g for g in layer if g.get("id") == f"{LAYER}-path"]
    pairs = [p.split(",") for path in group for p in str(path.get("d"))[1:].split()]
    xy = scale * np.array(pairs, dtype=float) + (x, y)
    return (xy - (10, 80)) / 20 * (1, -1)


QUICK = ("--iterations=2", "--initial=contour", "--spot-fwhm=200")


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["design", "page"])
def test_the_planned_path_lies_in_the_drawing(
    tmp_path: Path, drawing: Path, document: Path, origin: str
) -> None:
    """Wherever the work zero is."""
    done = call(drawing, f"--command={real(tmp_path)}", f"--origin={origin}", *QUICK, document=document)
    assert done.returncode == 0, done.stderr
    found = points(ET.fromstring(done.stdout))
    assert ELL.buffer(0.01).covers(shapely.MultiPoint(found))
    assert found.min(axis=0) == pytest.approx((0.6, 0.6), abs=0.1)
    assert found.max(axis=0) == pytest.approx((2.4, 2.4), abs=0.1)
    assert sorted(p.name for p in document.parent.iterdir()) == [
        f"my plate.{end}" for end in ("gcode", "report.html", "toolpath.svg")
    ]


def test_text_becomes_outlines_in_a_copy(
    fake: Callable[..., Path], drawing: Path, document: Path, tmp_path: Path, need: Callable[[str], str]
) -> None:
    program = need("inkscape")
    drawing.write_text(
        DRAWING.replace("<path", '<text x="30" y="40" font-size="20"><tspan>hello</tspan></text><path'),
        encoding="utf-8",
    )
    command = fake()
    profile = tmp_path / "profile"
    done = call(
        drawing, f"--command={command}", document=document, INKSCAPE_COMMAND=program,
        INKSCAPE_PROFILE_DIR=str(profile),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = ET.fromstring(json.loads((command.parent / "call.json").read_text(encoding="utf-8"))["drawing"])
    assert not script.has_text(seen)
    assert len(list(seen.iter(f"{SVG}path"))) >= 5, "a letter each at most"
    assert script.has_text(ET.fromstring(done.stdout)), "the drawing keeps its text"


@pytest.fixture
def screen(tmp_path: Path, need: Callable[[str], str]) -> Iterator[dict[str, str]]:
    """The environment of a program that wants a screen, where there is none: GTK's own display server."""
    server = need("broadwayd")
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    number = 100 + os.getpid() % 800
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(run)}
    address = str(run / "http")
    with subprocess.Popen(
        [server, "--unixsocket", address, f":{number}"], env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while not Path(address).exists() and process.poll() is None:
            time.sleep(0.05)
        yield {**environment, "GDK_BACKEND": "broadway", "BROADWAY_DISPLAY": f":{number}"}
        process.terminate()


def test_inkscape_runs_it(
    tmp_path: Path, document: Path, screen: dict[str, str], need: Callable[[str], str]
) -> None:
    program = need("inkscape")
    profile = tmp_path / "profile"
    install(profile / "extensions")
    values = dict(word[2:].split("=") for word in (*QUICK, f"--command={real(tmp_path)}"))
    values |= {"spot-fwhm": "200", "iterations": "60"}  # so that there is nothing to warn of, in a window
    attributes = " ".join(f'org.laserpath.plan.{name}="{value}"' for name, value in values.items())
    (profile / "preferences.xml").write_text(
        f'<inkscape version="1"><group id="extensions" {attributes}/></inkscape>', encoding="utf-8"
    )
    document.write_text(DRAWING, encoding="utf-8")
    actions = "org.laserpath.plan.noprefs;export-filename:done.svg;export-do"
    subprocess.run(
        [program, "--with-gui", "--batch-process", document.name, f"--actions={actions}"],
        cwd=document.parent, env={**screen, "INKSCAPE_PROFILE_DIR": str(profile)}, timeout=300,
        check=True, capture_output=True,
    )  # fmt: skip
    found = points(ET.parse(document.parent / "done.svg").getroot())
    assert ELL.buffer(0.05).covers(shapely.MultiPoint(found))
    assert (document.parent / "my plate.gcode").exists()


# Into Inkscape's folder


def test_it_is_installed_as_it_is(tmp_path: Path) -> None:
    written = install(tmp_path / "extensions")
    assert [path.name for path in written] == list(FILES)
    assert all(path.read_bytes() == (FOLDER / path.name).read_bytes() for path in written)


def test_inkscape_says_where_its_extensions_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, need: Callable[[str], str]
) -> None:
    need("inkscape")
    monkeypatch.setenv("INKSCAPE_PROFILE_DIR", str(tmp_path / "profile"))
    assert extensions_folder() == tmp_path / "profile" / "extensions"


def test_without_an_inkscape_a_folder_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match=r"inkscape is not in the PATH; name the folder"):
        install()
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/false")
    with pytest.raises(InputError, match="/bin/false does not say where its extensions are"):
        install()

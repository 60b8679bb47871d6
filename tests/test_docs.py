"""What the docs say works: their Python runs, their commands run, they link to what there is.

Commands stand in blocks marked `sh`. They run one page from top to bottom, in a folder with files of the
names that the pages use, and with a laserpath.toml that makes planning short, a setting like any other.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import boards
import click
import ezdxf
import gdstk
import numpy as np
import pytest
import trimesh
from PIL import Image, ImageDraw, ImageFilter

from laserpath.cli import COMMANDS, cli, main
from laserpath.config import profiles

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "questions").glob("*.md"), ROOT / "README.md"]
)
TO_READ = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
"""Pages without anything to run."""
BY_NAME = pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
EXAMPLES = {
    page: found
    for page in PAGES
    if page.stem != "README"  # test_readme.py runs them
    and (found := re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S))
}
"""Page → its examples in Python."""
SCHEDULER = "tcp://10.0.0.5:8786"
"""Of the pages; tests run one of their own."""
WITH_INKSCAPE = "laserpath plugins install inkscape"
"""Asks Inkscape itself for the folder."""
DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="3mm" height="2.5mm" viewBox="0 0 6 5">'
    '<path d="M1 1h3v2h-1v-1h-2z"/><circle cx="4.5" cy="3.5" r="0.6"/></svg>'
)
DRAWINGS = ROOT / "tests" / "data" / "docs"
IN_VPYPE = ("--iterations", "2", "--initial", "contour")
"""As in laserpath.toml, which vpype's command does not read."""


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_are_python(page: Path) -> None:
    """And what they import of laserpath is there."""
    for example in EXAMPLES[page]:
        for node in ast.walk(ast.parse(example)):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            parts = node.module.split(".")
            if parts[0] in ("laserpath", "gcode") and parts[-1] not in ("torch", "jax"):
                for name in node.names:
                    found = hasattr(importlib.import_module(node.module), name.name)
                    assert found or importlib.util.find_spec(f"{node.module}.{name.name}"), name.name


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=page.stem, marks=pytest.mark.parity if "torch" in "".join(examples) else pytest.mark.slow
        )
        for page, examples in EXAMPLES.items()
    ],
)
def test_the_examples_of_a_page_run(page: Path, folder: Path) -> None:
    _samples(folder / "samples")
    names: dict[str, object] = {}
    with ExitStack() as opened:
        for number, example in enumerate(EXAMPLES[page]):
            if SCHEDULER in example:
                cluster = pytest.importorskip("distributed").LocalCluster(
                    n_workers=1, threads_per_worker=1, dashboard_address=None
                )
                example = example.replace(SCHEDULER, opened.enter_context(cluster).scheduler_address)
            file = folder / f"example_{number}.py"  # where Taichi reads its kernels
            file.write_text(example, encoding="utf-8")
            exec(compile(example, file, "exec", dont_inherit=True), names)


@pytest.mark.parametrize("page", [*PAGES, *TO_READ], ids=lambda page: page.stem)
def test_links_and_pictures_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [*TO_READ, ROOT / "docs" / "architecture.md"], ids=lambda page: page.stem)
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(
        r"`((?:docs|gcode|laserpath|samples|tests)/[\w./-]+)`", page.read_text(encoding="utf-8")
    )
    assert [path for path in named if "NAME" not in path and not (ROOT / path).exists()] == []


def test_the_files_of_the_architecture_are_there() -> None:
    """It names them from the room on: `design/target.py`."""
    rooms = [path.name for path in (ROOT / "laserpath").iterdir() if path.is_dir()]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{'|'.join(rooms)})/[\w./-]*)`", text)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / "laserpath" / path).exists()] == []


@pytest.mark.parametrize("page", TO_READ, ids=lambda page: page.stem)
def test_a_page_without_a_test_of_its_commands_has_none(page: Path) -> None:
    assert commands(page) == []


def commands(page: Path) -> list[str]:
    """Every command of a page, of its `sh` blocks and within its sentences; continued lines are joined."""
    text = page.read_text(encoding="utf-8")
    found = []
    for kind, block, inline in re.findall(r"```(\w*)\n(.*?)```|`(laserpath [^`]+)`", text, re.S):
        lines = block.replace("\\\n", " ").splitlines() if kind == "sh" else [inline.replace("\n", " ")]
        found += [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        stray = [] if kind == "sh" else re.findall(r"^(?:laserpath|vpype) .*", block, re.M)
        assert not stray, f"{stray} would not be run; mark the block as sh"
    return [line for line in found if not _is_a_name(line)]


def _is_a_name(command: str) -> bool:
    """`laserpath check` in a sentence is the name of a command, and COMMAND stands for any."""
    words = command.split()
    return words[0] == "laserpath" and (
        words[1:2] == ["COMMAND"]
        or (len(words) == 2 and words[1] in COMMANDS and words[1] != "doctor")
        or ".hpgl" in command  # of the plugin in samples/, which tests/plugins installs and runs
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder: designs of all kinds, other tools' programs, and a short way to plan."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LASERPATH_PROFILES", str(tmp_path / "profiles"))
    for file in DRAWINGS.glob("*"):
        shutil.copy(file, tmp_path / file.name)
    _samples(tmp_path)
    Path("design.svg").write_text(DRAWING)
    ink = np.add.outer(np.linspace(-1, 1, 40) ** 2, np.linspace(-1, 1, 60) ** 2)
    for name in ("lens", "photo"):
        Image.fromarray(np.uint8(255 * np.clip(ink, 0, 1))).save(f"{name}.png", dpi=(1270, 1270))
    Path("my-laser.toml").write_text(profiles.text("machine", "grbl-diode-405"))
    with_z = profiles.text("machine", "grbl-diode-405").replace("# z_travel_mm = [0", "z_travel_mm = [-1")
    Path("my-z-laser.toml").write_text(with_z)
    _part()
    _drawings()
    _print()
    Path("laserpath.toml").write_text('design = "design.svg"\niterations = 2\ninitial = "contour"\n')
    return tmp_path


def _print() -> None:
    """A photograph of a print of the drawing, 20 µm a pixel."""
    picture = Image.new("L", (150, 125), 200)
    draw = ImageDraw.Draw(picture)
    draw.polygon([(25 * x, 25 * y) for x, y in ((1, 1), (4, 1), (4, 3), (3, 3), (3, 2), (1, 2))], 90)
    draw.ellipse([(97.5, 72.5), (127.5, 102.5)], 90)
    picture.filter(ImageFilter.GaussianBlur(1)).save("print.png")


def _samples(folder: Path) -> None:
    """Under the name of each sample a small drawing: the commands are what is tested."""
    folder.mkdir(exist_ok=True)
    for file in (ROOT / "samples").glob("*.svg"):
        (folder / file.name).write_text(DRAWING)
    (folder / "board").mkdir(exist_ok=True)
    for name, data in boards.small().items():
        (folder / "board" / name).write_bytes(data)


def _part() -> None:
    trimesh.creation.box((1.5, 1, 0.1)).export("part.stl")


def _drawings() -> None:
    """A small one in each format that the pages name, and programs."""
    line = "X500000Y500000D02*X1500000Y500000D01*X1500000Y1250000D01*"
    gerber = f"%FSLAX36Y36*%%MOMM*%%ADD10C,0.3*%D10*{line}M02*"
    for name in ("board", "board-F_Cu", "board-F_Mask", "panel"):
        Path(f"{name}.gbr").write_text(gerber)
    boards.archive(Path("board.zip"), boards.small())
    shutil.copytree("board", "gerbers")
    chip = gdstk.Library()
    chip.new_cell("TOP").add(
        gdstk.rectangle((500, 500), (1500, 1000), layer=1), gdstk.rectangle((0, 0), (500, 250), layer=2)
    )
    chip.write_gds("chip.gds")
    bracket = ezdxf.new(units=ezdxf.units.MM)
    bracket.modelspace().add_lwpolyline([(0, 0), (1.5, 0), (1.5, 0.5), (0, 0.5)], close=True)
    bracket.saveas("bracket.dxf")
    scales = ezdxf.new(units=ezdxf.units.MM)
    scales.modelspace().add_line((0, 0), (1, 0.5))
    scales.saveas("scales.dxf")
    panel = ezdxf.new(units=ezdxf.units.MM)
    for number, layer in enumerate(("pads", "text", "frame", "marks")):
        corners = [(x + number, y) for x, y in ((0, 0), (0.5, 0), (0.5, 0.5), (0, 0.5))]
        panel.modelspace().add_lwpolyline(corners, close=True, dxfattribs={"layer": layer})
    panel.saveas("panel.dxf")
    for name in ("design", "file", "other"):
        shutil.copy("job.nc", f"{name}.gcode")
    shutil.copy("measured.csv", "chart.csv")
    _series()
    _bed()
    Path("drawing.svg").write_text(DRAWING)
    boxes = "".join(
        f'<rect x="{x}" y="1" width="{2 - x / 10}" height="1" fill="{colour}"/>'
        for x, colour in ((0, "red"), (2, "blue"), (4, "green"))
    )
    Path("poster.svg").write_text(re.sub("(<svg[^>]*>).*(</svg>)", rf"\1{boxes}\2", DRAWING))
    lines = '<path d="M1 1h4v3" fill="none" stroke="#000" stroke-width=".2"/>'
    Path("traces.svg").write_text(re.sub("(<svg[^>]*>).*(</svg>)", rf"\1{lines}\2", DRAWING))
    Path("red-resin.toml").write_text(profiles.text("resin", "generic-405"))
    for name in ("comb", "layer-1", "layer-2"):
        Path(f"{name}.svg").write_text(DRAWING)
    for resin in (ROOT / "samples" / "kinetics").glob("by-*.toml"):
        shutil.copy(resin, resin.name)
    Path("logo.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="1mm" height="1mm"><path d="M1 1h2v1h-2z"/></svg>'
    )


def _bed() -> None:
    """Heights on a grid, as a table and as Klipper's mesh."""
    heights = [(x, y, (x + 2 * y) / 1000) for y in (-20, 40) for x in (-20, 40)]
    Path("bed.csv").write_text("x_mm,y_mm,z_mm\n" + "".join(f"{x},{y},{z}\n" for x, y, z in heights))
    Path("printer.cfg").write_text(
        "#*# [bed_mesh default]\n#*# points =\n#*# \t0, 0.1\n#*# \t0.05, 0.1\n#*# min_x = -20\n"
        "#*# max_x = 40\n#*# min_y = -20\n#*# max_y = 40\n"
    )


def _series() -> None:
    """Widths of lines at several heights: of a Gaussian beam that is 90 µm wide at Z 0.1 mm, its focus."""
    rows = ["z_mm,power_mW,speed_mm_per_s,width_um"]
    for z in np.linspace(-0.5, 0.5, 6):
        fwhm = 0.09 * np.hypot(1, (z - 0.1) / 0.3)
        for power in (1.2, 2.4, 4.8):
            peak = power / 14 * np.sqrt(4 * np.log(2) / np.pi) / fwhm
            rows.append(f"{z:g},{power},14,{1000 * fwhm * np.sqrt(np.log2(peak / 0.25)):.1f}")
    Path("series.csv").write_text("\n".join(rows))


@BY_NAME
def test_the_commands_of_a_page_are_understood(page: Path) -> None:
    """Their options and values, as `laserpath` reads them before it begins."""
    for command in commands(page):
        name, *arguments = shlex.split(command.partition(">")[0], comments=True)
        assert name in ("laserpath", "vpype"), f"{command!r} is not run; give it another kind of block"
        if name == "laserpath":
            understand(cli, arguments)


def understand(group: click.Group, arguments: list[str]) -> None:
    """Fails with click's sentence."""
    context = click.Context(group, **group.context_settings)  # which its commands keep: -h
    name, command, rest = group.resolve_command(context, arguments)
    assert command is not None
    if isinstance(command, click.Group):
        understand(command, rest)
    else:
        command.make_context(name, rest, parent=context)


@BY_NAME
def test_the_project_files_of_a_page_can_be_used(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each tells what it would take to plan its design."""
    found = re.findall(r"```toml\n(design = .*?)```", page.read_text(encoding="utf-8"), re.S)
    for text in found:
        Path("laserpath.toml").write_text(text)
        name = re.match(r'design = "(.*)"', text)[1]  # type: ignore[index]
        if not Path(name).exists():
            Path(name).write_text(DRAWING)
        with pytest.raises(SystemExit) as caught:
            main(["estimate", "--json"])
        assert not caught.value.code, capsys.readouterr().err


@pytest.mark.slow
@BY_NAME
def test_the_commands_of_a_page_run(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(page):
        if command == WITH_INKSCAPE:
            continue
        words, _, target = command.partition(">")
        name, *arguments = shlex.split(words, comments=True)
        if name == "vpype":
            pytest.importorskip("vpype_cli").execute(shlex.join([*arguments, *IN_VPYPE]))
            continue
        if arguments[:2] == ["profiles", "new"] and "-o" in arguments:
            Path(arguments[arguments.index("-o") + 1], f"{arguments[3]}.toml").unlink(missing_ok=True)
        short = Path("laserpath.toml").read_text()
        if arguments[0] == "new-project":  # which replaces none
            Path("laserpath.toml").unlink()
        if "--follow" in arguments:  # which needs no starting curve
            Path("laserpath.toml").write_text(short.replace('initial = "contour"\n', ""))
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        Path("laserpath.toml").write_text(short)
        printed = capsys.readouterr()
        done = {0, None} | ({1} if arguments[0] == "check" else {3} if "--max-epe" in arguments else set())
        assert caught.value.code in done, f"{command}: {printed.err}"
        if target:
            Path(target.lstrip("> ").strip()).write_text(printed.out)


def test_the_command_that_needs_inkscape_runs(
    need: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert WITH_INKSCAPE in [command for page in PAGES for command in commands(page)]
    need("inkscape")
    monkeypatch.setenv("INKSCAPE_PROFILE_DIR", str(tmp_path))
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(WITH_INKSCAPE)[1:])
    assert caught.value.code in (0, None)
    assert list(tmp_path.glob("extensions/*.inx"))


def test_every_command_is_in_the_docs() -> None:
    shown = {words[1] for page in PAGES for c in commands(page) if len(words := c.split()) > 1}
    assert set(COMMANDS) <= shown


SCRIPTS = sorted(
    {*ROOT.glob("docs/**/*.py"), *ROOT.glob("tests/bench/*.py"), *ROOT.glob("tests/compare/*.py")}
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_takes_from_here_is_there(script: Path) -> None:
    """They take minutes to run, so that nothing else tells when a name has moved."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("laserpath", "gcode"):
            module = importlib.import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or importlib.util.find_spec(f"{node.module}.{name}"), name


def test_the_pages_are_in_the_site() -> None:
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    docs = ROOT / "docs"
    assert sorted(listed) == sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))

"""The table of options: each entry is on the command line, in project files and on docs/cli.md."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import shapely
from click.testing import CliRunner

from laserpath import types
from laserpath.base.quantities import LENGTH, Length
from laserpath.cli import cli
from laserpath.cli import options as flags
from laserpath.cli.grouped import GroupedCommand
from laserpath.cli.grouped import options as decorated
from laserpath.config import options, project, request, values
from laserpath.config.values import Option, Quantity, Whole
from laserpath.design.arrange import Arrangement, Repeat
from laserpath.design.reading import Black, Reading
from laserpath.types import Design, Fiducial, Machine, Process, Resin, Settings, Spot

RECORDS = (Process, Machine, Resin, Spot, Reading, Arrangement, Settings)
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
DESIGN = Design(shapely.box(0, 0, 1, 1))
EVERY = list(options.all_options())


def test_every_option_has_one_entry() -> None:
    """Those of `laserpath plan` that are no part of a project are of the output, say where it is made, or are
    of a photograph, of which the project's spot says what it has told."""
    (plan,) = [command for name, command in cli.commands_by_name().items() if name == "plan"]
    given = {p.name for p in plan.params if isinstance(p, click.Option)}
    files = {"output", "json", "quiet", "verbose", "frame", "save_project", "project", "sensitivity", "limit"}
    files |= {"joined", "scheduler", "settle", "apart", "resume"}
    files |= {"printed", "printed_program", "printed_pixel", "printed_marks"}
    assert given == files | {option.name for option in EVERY if option.flag}
    assert len(EVERY) == len(options.by_name())


@pytest.mark.parametrize("option", EVERY, ids=lambda option: option.name)
def test_an_entry_sets_a_field(option: Option) -> None:
    (record,) = [record for record in RECORDS if record.__name__ == option.record]
    assert option.field in {field.name for field in fields(record)}
    assert set(option.replaces) <= set(options.by_name())


def test_every_setting_has_an_entry() -> None:
    settable = [option.field for option in options.setting("Settings")]
    assert sorted(settable) == sorted(field.name for field in fields(Settings))


@pytest.mark.parametrize("option", options.setting("Settings"), ids=lambda option: option.name)
def test_the_default_shown_is_the_default(option: Option) -> None:
    default = getattr(request.settings_of({}, fwhm=0.1), option.field)
    if option.default == "none":
        assert default is None
        return
    if option.parse is values.yes_no:  # a switch, which is off
        assert default is False
        assert not option.default
        return
    value = int(option.default) if isinstance(option.parse, Whole) else option.parse(option.default)
    assert (value.in_fwhm(0.1) if isinstance(value, Length) else value) == default


@pytest.mark.parametrize("option", [o for o in EVERY if not o.flag], ids=lambda option: option.name)
def test_the_page_has_the_keys_without_an_option(option: Option) -> None:
    """mkdocs-click lists the options themselves."""
    assert f"| `{option.name}` | {option.help} | {option.default} |" in PAGE.read_text()


def test_an_option_is_one_entry_and_a_field(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    glow = Option(
        name="glow",
        sets="Settings.glow_fwhm",
        parse=Quantity(LENGTH, "mm", relative=True),
        help="A made-up length",
        default="2fwhm",
        metavar="LENGTH",
    )
    monkeypatch.setattr(options, "OPTIONS", {**options.OPTIONS, "Plan": (*options.OPTIONS["Plan"], glow)})
    glowing: Any = make_dataclass("Settings", [("glow_fwhm", float, 2.0)], bases=(Settings,), frozen=True)
    monkeypatch.setattr(types, "Settings", glowing)
    received: dict[str, Any] = {}

    @click.command(cls=GroupedCommand)
    @decorated(flags.group("Plan"))
    def command(**given: Any) -> None:
        received.update(given)

    help_text = CliRunner().invoke(command, ["--help"]).output
    assert "--glow LENGTH" in help_text
    assert "A made-up length  [2fwhm]" in help_text
    assert CliRunner().invoke(command, ["--glow", "500um"]).exit_code == 0
    settings: Any = request.settings_of(received, fwhm=0.125)
    assert settings.glow_fwhm == 4

    file = tmp_path / project.NAME
    file.write_text(project.text(DESIGN, Process(), settings))
    assert 'glow = "4fwhm"' in file.read_text()
    assert request.settings_of(project.load(file).values, fwhm=0.125) == settings


def test_a_recipe_names_every_option_of_the_design(tmp_path: Path) -> None:
    """`design` writes these lines itself: it stands below the table."""
    reading = Reading(
        0.01,
        ("F.Cu",),
        cell="top",
        unit="um",
        pixel=0.1,
        threshold=0.3,
        grey=Black(height=0.06),
        line_width=0.2,
    )
    sized = Arrangement("x", 90.0, size=(20.0, None), negative=True, repeat=Repeat(3, 2, (10.0, 8.0)))
    scaled = Arrangement(scale=2.0)
    marked = Arrangement(
        align=(Fiducial((1, 2), (3.5, 4)), Fiducial((5, 6), (7, 8), "NW")), align_fit="scale"
    )
    coloured, followed = Reading(0.01, colours=3, colour="red"), Reading(0.01, follow=True)
    layered = Reading(0.01, ("text",), split=("text", "F.Cu"))
    recipes = [
        list(record.recipe()) for record in (reading, sized, scaled, coloured, marked, layered, followed)
    ]
    keys = {line.partition(" = ")[0] for lines in recipes for line in lines}
    assert keys == {option.name for option in options.setting("Reading", "Arrangement")}

    file = tmp_path / project.NAME
    file.write_text("\n".join(recipes[0] + recipes[1]))
    values = project.load(file).values
    assert request.reading_of(values, 0.01) == reading
    assert request.arrangement_of(values) == sized
    file.write_text("\n".join(recipes[3]))
    assert request.reading_of(project.load(file).values, 0.01) == coloured
    file.write_text("\n".join(recipes[4]))
    assert request.arrangement_of(project.load(file).values) == marked
    file.write_text("\n".join(recipes[5]))
    assert request.reading_of(project.load(file).values, 0.01) == layered

"""`laserpath profiles`: list, show, create and check profiles."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError, did_you_mean
from laserpath.cli.options import LIMIT
from laserpath.cli.show import Talk, days_ago, json_of
from laserpath.config import profiles as library

if TYPE_CHECKING:
    from laserpath.types import Machine

_KINDS = tuple(library.FOLDERS)

_EPILOG = """\b
Examples:
  laserpath profiles list
  laserpath profiles show grbl-diode-405
  laserpath profiles new machine my-laser --from klipper-diode-405
  laserpath profiles check my-laser.toml --resin my-resin.toml
  laserpath profiles history                 # of your own profiles, and of those in this folder
  laserpath profiles history my-resin.resin.toml"""


@click.group(invoke_without_command=True, epilog=_EPILOG)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List, show, create and check profiles of machines, resins and spots; and when they were measured."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@profiles.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout")
def list_(as_json: bool = False) -> None:
    """List all profiles by kind; your own are marked."""
    known = [(kind, name) for kind in _KINDS for name in library.names(kind)]
    rows: list[dict[str, Any]] = [
        {"kind": kind, "name": name, "own": name in library.own(kind), "text": _in_short(kind, name)}
        for kind, name in known
    ]
    if as_json:
        click.echo(json_of(rows))
        return
    widest = max(len(name) for _, name in known)
    for kind in _KINDS:
        click.echo(f"{kind}s")
        for row in rows:
            if row["kind"] == kind:
                mark = " (yours)" if row["own"] else ""
                click.echo(f"  {row['name']:{widest}}  {row['text']}{mark}")
    click.echo(f"Yours go to {library.user_folder()}; `laserpath profiles new` writes one.")


@profiles.command()
@click.argument("name", metavar="NAME|FILE")
@click.option("--kind", type=click.Choice(_KINDS), help="Kind, if several have a profile of that name")
def show(name: str, kind: str | None) -> None:
    """Print a profile as TOML."""
    click.echo(library.text(kind or _kind_of(name), name), nl=False)


@profiles.command()
@click.argument("kind", type=click.Choice(_KINDS))
@click.argument("name")
@click.option("--from", "source", metavar="NAME|FILE", help="Profile to copy  [the default of its kind]")
@click.option("-o", "--output", metavar="DIR", help="Output folder  [your profile folder]")
def new(kind: str, name: str, source: str | None, output: str | None) -> None:
    """Create a profile NAME to edit, with every key explained."""
    from laserpath.base.files import write_all

    text = library.text(kind, source or library.DEFAULTS[kind])
    if name != Path(name).name or name.endswith(".toml"):
        raise InputError(f"profile name {name!r} must be a plain name, without .toml and without a folder")
    place = Path(output) if output else library.user_folder() / library.FOLDERS[kind]
    file = place / f"{name}.toml"
    if file.exists():
        raise InputError(f"{str(file)!r} is there already; choose another name, or edit it")
    write_all({file: text})
    how = f"--{kind} {name}" if output is None else f"--{kind} {file}"
    click.echo(f"{file}\nEdit it; then: laserpath profiles check {file}; laserpath plan design.svg {how}")


@profiles.command()
@click.argument("file")
@click.option("--kind", type=click.Choice(_KINDS), help="Kind of the profile  [judged by its keys]")
@click.option("--resin", metavar="NAME|FILE", help="Resin that a machine's laser is to suit  [the default]")
@click.option("--spot", metavar="NAME|FILE", help="Its spot  [the default]")
@click.option("--limit", **LIMIT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout")
def check(file: str, kind: str | None, resin: str | None, spot: str | None, as_json: bool) -> None:
    """Check the keys and values of the profile FILE, and print how they are read.

    Of a machine, also whether its laser is too strong or too weak for a resin, and which levels of its power
    cure lines of that.
    """
    named = any(file in library.names(kind) for kind in _KINDS)
    kind = kind or (_kind_of(file) if named else library.likely_kind(file))
    noun: Any = getattr(library, kind)(file)
    notes, warnings = _suits(noun, resin, spot) if kind == "machine" else ((), ())
    if as_json:
        content = {
            "kind": kind, "valid": True, "profile": library.summary(noun), "notes": notes,
            "warnings": warnings,
        }  # fmt: skip
        click.echo(json_of(content))
        return
    click.echo(f"{file}: a {kind}, without errors: {library.summary(noun)}")
    for note in notes:
        click.echo(note)
    Talk().warn(*warnings)


_MEASURED = ("spot", "resin")


@profiles.command()
@click.argument("file", metavar="[NAME|FILE]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout")
def history(file: tuple[str, ...], as_json: bool) -> None:
    """Print when and by which chart spots and resins were measured, as `laserpath fit` has recorded it.

    Without a NAME or FILE: of your own profiles, and of those that `fit` has written to the current folder.
    """
    found = [(kind, one) for one in file for kind in _measured_kinds(one)] if file else _own_measured()
    rows: list[dict[str, Any]] = [
        {
            "kind": kind,
            "name": name,
            "on": day,
            "days": (date.today() - date.fromisoformat(day)).days,
            "by": by,
        }
        for kind, name in found
        for line in library.calibrated(kind, name).splitlines()
        for day, _, by in [line.partition(" ")]
    ]
    if as_json:
        click.echo(json_of(rows))
        return
    for kind, name in found:
        click.echo(f"{name} ({kind})")
        own = [row for row in rows if (row["kind"], row["name"]) == (kind, name)]
        for row in own:
            click.echo(f"  {row['on']}, {days_ago(row['days'])}: {row['by']}")
        if not own:
            click.echo("  not measured, as far as it says")
    if not found:
        click.echo("no spot or resin of yours is known; `laserpath calibrate` and `laserpath fit` make them")


def _own_measured() -> list[tuple[str, str]]:
    """The user's spots and resins, and those in the current folder: (kind, name or file)."""
    own = [(kind, name) for kind in _MEASURED for name in library.own(kind)]
    return own + [(kind, path.name) for kind in _MEASURED for path in sorted(Path().glob(f"*.{kind}.toml"))]


def _measured_kinds(name: str) -> list[str]:
    """The kinds of a profile, of those that a chart measures."""
    kinds = [kind for kind in _MEASURED if name in library.names(kind)]
    if not kinds:
        kinds = [kind for kind in (library.likely_kind(name),) if kind in _MEASURED]
    if not kinds:
        raise InputError(f"{name} is a machine's profile; a chart measures spots and resins")
    return kinds


def _suits(machine: Machine, resin: str | None, spot: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The levels that the machine has for the resin, and a warning if its laser does not suit it."""
    from laserpath.machine.attenuation import check_process, levels_in_words, too_strong
    from laserpath.types import Process, Settings

    process = Process(
        library.spot(spot or library.DEFAULTS["spot"]),
        library.resin(resin or library.DEFAULTS["resin"]),
        machine,
    )
    try:
        check_process(process, Settings())
    except InputError as error:
        return (), (f"with {process.resin.name!r}: {error}",)
    found = (levels_in_words(process, Settings()), too_strong(process, Settings()))
    notes, warnings = (tuple(f"with {process.resin.name!r}: {one}" for one in some) for some in found)
    return notes, warnings


def _in_short(kind: str, name: str) -> str:
    """A profile in one line, or why it cannot be used; a broken one must not stop the list."""
    try:
        getattr(library, kind)(name)
        return library.in_short(kind, name)
    except InputError as error:
        return f"cannot be used: {error}"


def _kind_of(name: str) -> str:
    """The kind of the profile of this name."""
    kinds = [kind for kind in _KINDS if name in library.names(kind)]
    if len(kinds) > 1:
        raise InputError(f"profile {name!r} is a {' and a '.join(kinds)}; give one by --kind")
    if not kinds and name.endswith(".toml"):
        return library.likely_kind(name)
    if not kinds:
        known = [name for kind in _KINDS for name in library.names(kind)]
        near = library.file_of(name) or did_you_mean(name, known)
        raise InputError(f"profile {name!r} is unknown; known: {', '.join(known)}{near}")
    return kinds[0]

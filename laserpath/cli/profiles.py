"""`laserpath profiles`: list, show, create and check profiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from laserpath.base.errors import InputError
from laserpath.base.hints import did_you_mean
from laserpath.cli.options import LIMIT
from laserpath.config import profiles as library

_KINDS = tuple(library.FOLDERS)

_EPILOG = """\b
Examples:
  laserpath profiles list
  laserpath profiles show grbl-diode-405
  laserpath profiles new machine my-laser --from klipper-diode-405
  laserpath profiles check my-laser.toml"""


@click.group(invoke_without_command=True, epilog=_EPILOG)
@click.pass_context
def profiles(context: click.Context) -> None:
    """List, show, create and check profiles of machines, resins and spots."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@profiles.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout")
def list_(as_json: bool = False) -> None:
    """List all profiles by kind; your own are marked."""
    known = [(kind, name) for kind in _KINDS for name in library.names(kind)]
    rows = [
        {"kind": kind, "name": name, "own": name in library.own(kind), "text": _in_short(kind, name)}
        for kind, name in known
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
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
@click.argument("name")
@click.option("--kind", type=click.Choice(_KINDS), help="Kind, if several have a profile of that name")
def show(name: str, kind: str | None) -> None:
    """Print the profile NAME as TOML."""
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
@click.option("--limit", **LIMIT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout")
def check(file: str, kind: str | None, as_json: bool) -> None:
    """Check the keys and values of the profile FILE, and print how they are read."""
    kind = kind or (_kind_of(file) if _is_name(file) else library.likely_kind(file))
    noun: Any = getattr(library, kind)(file)
    if as_json:
        content = {"kind": kind, "valid": True, "profile": library.summary(noun)}
        click.echo(json.dumps(content, ensure_ascii=False))
        return
    click.echo(f"{file}: a {kind}, without errors: {library.summary(noun)}")


def _in_short(kind: str, name: str) -> str:
    """A profile in one line, or why it cannot be used; a broken one must not stop the list."""
    try:
        getattr(library, kind)(name)
        return library.in_short(kind, name)
    except InputError as error:
        return f"cannot be used: {error}"


def _is_name(profile: str) -> bool:
    return any(profile in library.names(kind) for kind in _KINDS)


def _kind_of(name: str) -> str:
    """The kind of the profile of this name."""
    kinds = [kind for kind in _KINDS if name in library.names(kind)]
    if len(kinds) > 1:
        raise InputError(f"profile {name!r} is a {' and a '.join(kinds)}; give one by --kind")
    if not kinds:
        known = [name for kind in _KINDS for name in library.names(kind)]
        raise InputError(f"profile {name!r} is unknown; known: {', '.join(known)}{did_you_mean(name, known)}")
    return kinds[0]

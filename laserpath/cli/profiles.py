"""`laserpath profiles`: what comes along, and its text to start from."""

from __future__ import annotations

import click

from laserpath import profiles as library
from laserpath.errors import InputError

_HELP = """List the machines, resins and spots that come along, or print the file of one.

\b
laserpath profiles
laserpath profiles grbl-diode-405 > my-laser.toml    # then edit, and plan with
laserpath plan design.svg --machine my-laser.toml"""


@click.command(help=_HELP)
@click.argument("name", required=False)
def profiles(name: str | None) -> None:
    """List the machines, resins and spots that come along, or print the file of one."""
    known = {profile: kind for kind in library.FOLDERS for profile in library.names(kind)}
    if name is None:
        for kind in library.FOLDERS:
            click.echo(f"{kind + ':':9}{', '.join(library.names(kind))}")
    elif name in known:
        click.echo(library.text(known[name], name), nl=False)
    else:
        raise InputError(f"profile {name!r} is unknown; known: {', '.join(known)}{library.hint(name, known)}")

"""`laserpath plugins`: what installed packages add, and laserpath in other programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

import click

from laserpath.base import entry_points

_EPILOG = """\b
Examples:
  laserpath plugins
  laserpath plugins install inkscape
  laserpath plugins install inkscape --to ~/.config/inkscape/extensions

\b
A slicer calls the command laserpath-slicer, and vpype finds its command laserpath by itself."""


@click.group(invoke_without_command=True, epilog=_EPILOG)
@click.pass_context
def plugins(context: click.Context) -> None:
    """What installed packages add to laserpath; and laserpath in Inkscape."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@plugins.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON on stdout, nothing else there")
def list_(as_json: bool = False) -> None:
    """List design readers, starting curves, spots and dialects of installed packages."""
    rows = list(_rows())
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if not rows:
        click.echo("No installed package adds anything to laserpath.")
    for row in rows:
        trouble = f"  (cannot be used: {row['trouble']})" if row["trouble"] else ""
        click.echo(f"{row['kind']:15}  {row['name']}  {row['package']}{trouble}")


def _rows() -> Iterator[dict[str, str]]:
    for group, kind in entry_points.KINDS.items():
        ours = _ours(group)
        for name, offers in entry_points.found(group).items():
            trouble = "several packages have this name" if len(offers) > 1 else ""
            trouble = "one of laserpath's own has this name" if name in ours else trouble
            for plugin in offers:
                yield {"kind": kind, "name": name, "package": plugin.package, "trouble": trouble}


def _ours(group: str) -> Collection[str]:
    """The names that laserpath has itself."""
    import gcode
    from laserpath import design
    from laserpath.base import choices
    from laserpath.config import profiles

    return {
        entry_points.DESIGNS: [suffix.removeprefix(".") for suffix in design.suffixes()],
        entry_points.CURVES: choices.INITIAL_CURVES,
        entry_points.SPOTS: profiles.names("spot"),
        entry_points.DIALECTS: gcode.DIALECTS.keys(),
    }[group]


@plugins.group()
def install() -> None:
    """Put laserpath into another program."""


@install.command()
@click.option(
    "--to", "folder", metavar="DIR", type=click.Path(path_type=Path),
    help="Folder of the extensions  [the one that the installed Inkscape names]",
)  # fmt: skip
def inkscape(folder: Path | None) -> None:
    """Copy the extension to Inkscape's folder: then Extensions > Laser > laserpath… has it."""
    from laserpath.plugins import inkscape as extension

    for path in extension.install(folder):
        click.echo(path)
    click.echo("Start Inkscape anew; then: Extensions > Laser > laserpath…", err=True)

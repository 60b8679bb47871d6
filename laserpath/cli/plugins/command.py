"""`laserpath plugins`: list and install plug-ins; `laserpath completion`: a script for the shell."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from laserpath.base import entry_points
from laserpath.cli.show import json_of

_PLUGINS_EPILOG = """\b
Examples:
  laserpath plugins
  laserpath plugins install inkscape
  laserpath plugins install inkscape --to ~/.config/inkscape/extensions

\b
Slicers call the program laserpath-slicer; vpype finds its command laserpath by itself."""


@click.group(invoke_without_command=True, epilog=_PLUGINS_EPILOG)
@click.pass_context
def plugins(context: click.Context) -> None:
    """List what installed packages add to laserpath, or install its Inkscape extension."""
    if context.invoked_subcommand is None:
        context.invoke(list_)


@plugins.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout")
def list_(as_json: bool = False) -> None:
    """List readers, curves, spots and dialects of other packages."""
    rows = list(_rows())
    if as_json:
        click.echo(json_of(rows))
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
    """Names of laserpath's own readers, curves, spots or dialects."""
    import gcode
    from laserpath import design
    from laserpath.config import profiles

    return {
        entry_points.DESIGNS: [suffix.removeprefix(".") for suffix in design.suffixes()],
        entry_points.CURVES: (*entry_points.INITIAL_CURVES, *entry_points.FORMER_CURVES),
        entry_points.SPOTS: profiles.names("spot"),
        entry_points.DIALECTS: gcode.DIALECTS.keys(),
    }[group]


@plugins.group()
def install() -> None:
    """Install laserpath in another program."""


@install.command()
@click.option(
    "--to", "folder", metavar="DIR", type=click.Path(path_type=Path),
    help="Inkscape's extension folder  [the one that Inkscape reports]",
)  # fmt: skip
def inkscape(folder: Path | None) -> None:
    """Install the extension: Extensions > Laser > laserpath…"""
    from laserpath.cli.plugins import inkscape as extension

    for path in extension.install(folder):
        click.echo(path)
    click.echo("Restart Inkscape; then: Extensions > Laser > laserpath…", err=True)


SHELLS = ("bash", "zsh", "fish")

_COMPLETION_EPILOG = """\b
Examples:
  laserpath completion bash >> ~/.bashrc
  laserpath completion zsh >> ~/.zshrc
  laserpath completion fish > ~/.config/fish/completions/laserpath.fish"""


@click.command(epilog=_COMPLETION_EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes laserpath's commands and options in your shell."""
    from laserpath.cli import cli

    maker = get_completion_class(shell)
    if maker is None:
        raise click.ClickException(f"click cannot complete in {shell}")
    click.echo(maker(cli, {}, "laserpath", "_LASERPATH_COMPLETE").source())

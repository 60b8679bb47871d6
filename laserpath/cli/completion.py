"""`laserpath completion`: the script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")

_EPILOG = """\b
Examples:
  laserpath completion bash >> ~/.bashrc
  laserpath completion zsh >> ~/.zshrc
  laserpath completion fish > ~/.config/fish/completions/laserpath.fish"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes laserpath's commands and options in your shell."""
    from laserpath.cli import cli

    maker = get_completion_class(shell)
    if maker is None:
        raise click.ClickException(f"click cannot complete in {shell}")
    click.echo(maker(cli, {}, "laserpath", "_LASERPATH_COMPLETE").source())

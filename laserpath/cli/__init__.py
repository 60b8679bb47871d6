"""The command line. Everything that it does is one public call of the library.

Modules of this room are imported without NumPy, Shapely or Taichi, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

import laserpath
from laserpath.cli.check import check
from laserpath.cli.interrupt import Stopped
from laserpath.cli.plan import plan
from laserpath.cli.profiles import profiles
from laserpath.errors import InputError

BAD_INPUT = 2
STOPPED = 130

_HELP = """Plan toolpaths for machines that cure resin or photoresist with a focused laser.

\b
laserpath plan design.svg      # design.gcode, design.toolpath.svg, design.report.html
laserpath check design.gcode   # what would go wrong on the machine
laserpath profiles             # the machines, resins and spots that it knows"""

_EPILOG = """\b
Exit codes: 0 done; 1 the checked file has errors; 2 bad input, nothing written; 3 files written,
but a tolerance asked for is missed; 130 stopped by a second Ctrl-C, nothing written."""


@click.group(
    invoke_without_command=True,
    help=_HELP,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(laserpath.__version__, prog_name="laserpath", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Plan toolpaths for machines that cure resin or photoresist with a focused laser."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


cli.add_command(plan)
cli.add_command(check)
cli.add_command(profiles)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Bad input is one sentence, never a traceback."""
    try:
        sys.exit(cli.main(args=arguments, prog_name="laserpath", standalone_mode=False))
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "laserpath"
        _say(f"{error.format_message()}\nSee '{command} --help'.")
        sys.exit(BAD_INPUT)
    except click.ClickException as error:
        _say(error.format_message())
        sys.exit(BAD_INPUT)
    except (click.Abort, KeyboardInterrupt, Stopped):
        _say("stopped")
        sys.exit(STOPPED)
    except MemoryError:
        _say("the memory is not enough; take a smaller design or a wider spot")
        sys.exit(BAD_INPUT)
    except ValueError as error:
        if not _is_bad_input(error):
            raise
        _say(" ".join(str(error).split()))
        sys.exit(BAD_INPUT)


def _is_bad_input(error: ValueError) -> bool:
    """Whether the sentence is for the user; any other ValueError is a fault of ours."""
    if isinstance(error, InputError):
        return True
    import gcode

    return isinstance(error, gcode.GcodeError)


def _say(sentence: str) -> None:
    click.echo(f"laserpath: {sentence}", err=True)

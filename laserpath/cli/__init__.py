"""The command line. Everything that it does is one public call of the library.

Modules of this room are imported without NumPy, Shapely or Taichi, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

import laserpath
from laserpath.base.errors import InputError
from laserpath.cli.codes import BAD_INPUT, STOPPED
from laserpath.cli.grouped import LazyGroup
from laserpath.cli.interrupt import Stopped

COMMANDS = {
    "plan": ("laserpath.cli.plan:plan", "Plan the laser's way over a design"),
    "check": ("laserpath.cli.check:check", "What would go wrong with a G-code file on the machine"),
    "simulate": ("laserpath.cli.simulate:simulate", "What any G-code file would cure"),
    "compare": ("laserpath.cli.compare:compare", "G-code files against each other and a design"),
    "calibrate": ("laserpath.cli.calibrate:calibrate", "Write a test chart to expose and to measure"),
    "fit": ("laserpath.cli.fit:fit", "Spot and resin from what was measured"),
    "profiles": ("laserpath.cli.profiles:profiles", "Machines, resins and spots: list, show, new, check"),
    "slicer": ("laserpath.cli.slicer:slicer", "A slicer's G-code, layer by layer, for the laser"),
    "plugins": ("laserpath.cli.plugins:plugins", "For Inkscape, slicers, vpype; and what is installed"),
    "doctor": ("laserpath.cli.doctor:doctor", "Whether laserpath works here, with numbers"),
    "completion": ("laserpath.cli.completion:completion", "Completion of commands and options in a shell"),
}
"""In the order in which one needs them."""

_HELP = """Plan toolpaths for machines that cure resin or photoresist with a focused laser.

\b
laserpath plan design.svg            # design.gcode, design.toolpath.svg, design.report.html
laserpath check design.gcode         # what would go wrong on the machine
laserpath simulate other.gcode --design design.svg   # what another tool's file would cure
laserpath calibrate                  # a chart to expose and to measure
laserpath fit chart.csv              # what was measured: profiles of spot and resin
laserpath profiles list              # the machines, resins and spots that it knows"""

_EPILOG = """\b
Exit codes: 0 done; 1 the checked file has errors, or doctor found something wrong; 2 bad input,
nothing written; 3 files written, but a tolerance asked for is missed; 130 stopped by a second
Ctrl-C, nothing written."""


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
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
        _say("stopped, nothing is written")
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

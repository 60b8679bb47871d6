"""The command line. Each command makes one public call of the library.

The modules here import no NumPy, Shapely or Taichi at the top, so that `--help` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

import laserpath
from laserpath.base import bounds, files, limits
from laserpath.base.errors import InputError, PlausibilityWarning
from laserpath.cli import ending
from laserpath.cli.ending import BAD_INPUT, STOPPED, Stopped, ignore_stops, terminated
from laserpath.cli.grouped import LazyGroup
from laserpath.cli.show import Talk

COMMANDS = {
    "plan": ("laserpath.cli.plan:plan", "Plan a toolpath that exposes a design"),
    "board": ("laserpath.cli.board:board", "Plan the layers of a circuit board with one zero"),
    "new-project": (
        "laserpath.cli.new_project:new_project",
        "Write a laserpath.toml with all layers of a design",
    ),
    "estimate": ("laserpath.cli.estimate:estimate", "Say what planning and writing a design would take"),
    "check": ("laserpath.cli.check:check", "Find errors in a G-code file before it runs"),
    "simulate": ("laserpath.cli.simulate:simulate", "Compute what a G-code file from any tool would cure"),
    "compare": ("laserpath.cli.simulate:compare", "Compare G-code files with each other and a design"),
    "marks": ("laserpath.cli.programs:marks", "Write a dark tour of marks, and the table for their places"),
    "resume": ("laserpath.cli.programs:resume", "Write the rest of a G-code program that was interrupted"),
    "frame": ("laserpath.cli.programs:frame", "Write a pass around what a G-code file exposes"),
    "calibrate": ("laserpath.cli.calibrate:calibrate", "Write a test chart to expose and measure"),
    "matrix": ("laserpath.cli.calibrate:matrix", "Repeat a design with other doses, to find its dose"),
    "fit": ("laserpath.cli.calibrate:fit", "Fit spot and resin profiles to measurements"),
    "profiles": ("laserpath.cli.profiles:profiles", "List, show, create, check machines, resins, spots"),
    "slicer": ("laserpath.cli.slicer:slicer", "Replan a slicer's G-code for the laser, layer by layer"),
    "plugins": (
        "laserpath.cli.plugins.command:plugins",
        "List installed plug-ins; install the Inkscape extension",
    ),
    "doctor": ("laserpath.cli.doctor:doctor", "Test whether laserpath works on this computer"),
    "completion": (
        "laserpath.cli.plugins.command:completion",
        "Print a completion script for bash, zsh or fish",
    ),
}
"""Name → (`module:object`, line of the help), in the order in which a user needs the commands."""

_OBJECTS = 20_000
"""New objects after which Python looks for cycles. A larger number looks less often, and frees them later:
with Python's own 700 it takes 0.4 s of a plan, since imports and kernels make many objects that stay."""

_CLUSTER, _WORKERS = "distributed", "laserpath.base.compute.workers"
"""Modules whose threads or processes end with this one."""

_HELP = """Plan toolpaths for machines that cure resin or photoresist with a focused laser.

\b
laserpath plan design.svg            # design.gcode, design.toolpath.svg, design.report.html
laserpath board board.zip            # front and back of a circuit board, with one zero
laserpath new-project panel.dxf      # a project file with all layers, each with its own dose
laserpath estimate design.svg        # how long planning and writing would take
laserpath check design.gcode         # find errors before it runs
laserpath simulate other.gcode --design design.svg   # what another tool's file would cure
laserpath calibrate                  # a test chart to expose and measure
laserpath fit chart.csv              # spot and resin profiles from the measurements
laserpath profiles list              # the machines, resins and spots available"""

_EPILOG = """\b
Exit codes: 0 success; 1 the checked file has errors, or a test of doctor failed; 2 bad input,
nothing written; 3 files written, but the edge tolerance (--max-epe) is not met; 130 interrupted or
terminated, nothing written."""


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


def command() -> None:
    """What the script `laserpath` runs: `main`, then an end that does not take all objects apart.

    With Taichi and Numba loaded that would take 0.3 s of a processor, a tenth of a small plan; mypy ends in
    the same way. Worker processes are told to end before; with a cluster Python ends as it always does.
    """
    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int) or _CLUSTER in sys.modules:
            raise
        if _WORKERS in sys.modules:
            sys.modules[_WORKERS].release(wait=True)
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or none
                stream.flush()
        os._exit(end.code)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Bad input is one sentence, never a traceback."""
    _keep_warnings_from_failing()
    gc.set_threshold(_OBJECTS, 10, 10)
    with warnings.catch_warnings():
        warnings.showwarning = _telling(warnings.showwarning)
        code = _main(arguments)
    sys.exit(code)


def _main(arguments: Sequence[str] | None) -> int:
    """Run the command line with what it prints last; return its exit code."""
    # It tells of folders that it cannot write to, and takes others.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    written = files.calls()
    with ending.forgiving() as out:
        try:
            with terminated():
                code = _run(arguments, written)
        except (Stopped, KeyboardInterrupt):  # one more, while the first was reported
            code = STOPPED
        if out is not None:
            out.flush()
        if out is not None and out.lost is not None:
            left = "; the files are written" if files.calls() > written else ""
            _print_error(f"standard output cannot be written: {out.lost.strerror}{left}")
            code = BAD_INPUT
    # What is left is to remove the temporary folders of libraries, which nothing should cut short.
    atexit.unregister(ignore_stops)
    atexit.register(ignore_stops)
    return code


def _run(arguments: Sequence[str] | None, written: int) -> int:
    """Run the command line; return its exit code. written: `files.calls` before."""
    try:
        with limits.watched(_end_late):
            return cli.main(args=arguments, prog_name="laserpath", standalone_mode=False) or 0
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "laserpath"
        _print_error(f"{error.format_message()}\nSee '{command} --help'.")
    except click.ClickException as error:
        _print_error(error.format_message())
    except (click.Abort, KeyboardInterrupt, Stopped):
        _print_error(_stopped(written))
        return STOPPED
    except MemoryError:
        _print_error(_no_memory(sys.argv[1:] if arguments is None else arguments))
    except ValueError as error:
        if not _is_bad_input(error):
            raise
        _print_error(" ".join(str(error).split()))
    return BAD_INPUT


def _stopped(written: int) -> str:
    """What is there after a stop. written: `files.calls` before."""
    if files.calls() > written:
        return "stopped, the files are written"
    if (folder := files.kept_in()) is not None:
        return f"stopped; what was found is kept in {folder}, from where the same command goes on"
    return "stopped, nothing is written"


def _no_memory(arguments: Sequence[str]) -> str:
    """What to do about a MemoryError."""
    if (allowed := bounds.memory_allowed()) < math.inf:
        return f"not enough memory: this shell allows {int(allowed) >> 20} MiB, as `ulimit -v` shows in KiB"
    command = next((word for word in arguments if word in COMMANDS), "")
    exposes = command in ("plan", "simulate", "compare", "slicer", "calibrate")
    return f"not enough memory; take a smaller {'design or a wider spot' if exposes else 'file'}"


def _end_late(error: InputError) -> None:
    """End the process while a library computes, if a file takes too long to read; nothing is written yet."""
    shown = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # a progress bar has hidden the cursor
    os.write(2, f"{shown}laserpath: {error}\n".encode())
    os._exit(BAD_INPUT)


def _keep_warnings_from_failing() -> None:
    """Take PYTHONWARNINGS=error back: what a library deprecates is nothing that a user can mend.

    Other settings of it, and filters that a test or a program has set, stay as they are.
    """
    if any(option.partition(":")[0].strip() == "error" for option in sys.warnoptions):
        warnings.simplefilter("ignore")


def _telling(others: Callable[..., None]) -> Callable[..., None]:
    """A `warnings.showwarning` that tells our own warnings as those of the command line, and shows others."""

    def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
        if issubclass(category, PlausibilityWarning):
            Talk().warn(str(message))
        else:
            others(message, category, *place)

    return show


def _is_bad_input(error: ValueError) -> bool:
    """Whether the sentence is for the user; any other ValueError is a bug."""
    if isinstance(error, InputError):
        return True
    import gcode

    return isinstance(error, gcode.GcodeError)


def _print_error(sentence: str) -> None:
    click.echo(f"laserpath: {sentence}", err=True)

"""Progress of a plan: one share done and one time left for the whole, on a terminal and in plain lines.

The forecast gives the seconds for trying curves, solving, and measuring and writing; the share done counts
in these. Steps that turn out to be needless (a curve like another, iterations after the optimiser has
converged) count as done, but not as work. The pace is the time elapsed ÷ the forecast of the work done; in
the first half, where the program's start distorts it, it is at most `_SLOWEST`. The time left is the rest of
the forecast at that pace. It is shown to rise only if it was far too short.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from laserpath.cli.show import Talk, expected, rough, too_long

if TYPE_CHECKING:
    from rich.console import Console

    from laserpath import Progress
    from laserpath.planning import Forecast
    from laserpath.types import Design, Process, Settings

_TRIES = 3
"""Number of starting curves usually tried; with more, each counts as a smaller share of the trials."""

_ATTEMPTS = 4
"""Most plans that a tolerance takes (`planning.tolerance`); with more, each is a smaller share of solving."""

_KNOWN = 0.03
"""Share done from which the time left is shown; a larger one shows it later and more reliably."""

_SLOWEST = 3.0
"""Highest pace in the first half, in s per s of forecast; a higher one lets a slow start inflate the time
left."""

_RISE = 1.3
"""Factor by which the time left must grow to be shown: a larger one shows fewer rises."""

_JUMP = 8.0
"""Ratio of progress to that expected in the elapsed time, above which a step counts as skipped; a larger one
counts fewer."""

_EVERY, _STEP = 30.0, 0.1
"""s, and share of the whole, between two plain lines, whichever comes first; larger ones print fewer."""

_SILENT = 5.0
"""s of reading before the first plain line, and least time between two; a larger one prints fewer."""

_ENDING = "measuring and writing"
_NAMES = {
    "fit": "fitting strokes",
    "try": "trying curves",
    "find": "finding",
    "shape": "shaping",
    "refine": "refining",
    "place": "placing",
    "convert": "correcting by conversion",
}


class Meter:
    """Share done and time left of one plan, from its `Progress`. The share never falls.

    iterations: the settings' limit.  clock: s.
    """

    def __init__(self, iterations: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._iterations, self._clock = max(iterations, 1), clock
        self._start = self._shown_at = self._advanced_at = clock()
        self._all: list[tuple[float, float, float]] = [(0.0, 0.9, 0.1)]
        self._fitting = [0.0]
        self._layer, self._attempts, self._noun = 0, 1, "layer"
        self._begin()
        self._work = self._done = self._share = 0.0
        self._shown: float | None = None
        self.name, self.loss = "reading", ""
        self.on_change: Callable[[], None] = lambda: None

    def expect(self, *forecasts: Forecast, attempts: int = 1, noun: str = "layer") -> None:
        """Set the forecast of each layer, and start the clock, unless a part has been done already.

        attempts: most plans of a layer; a tolerance takes several.  noun: what the layers are.
        """
        self._all = [(one.trying, one.solving, one.finishing) for one in forecasts]
        self._fitting = [one.fitting for one in forecasts]
        self._layer, self._attempts, self._noun = 0, attempts, noun
        self._iterations = max(forecasts[0].iterations or self._iterations, 1)
        if self._done > 0:
            return
        self._start = self._shown_at = self._advanced_at = self._clock()
        self.name = "starting"

    def layer(self, number: int) -> None:
        """Begin this layer, counted from 0; those before it are done."""
        if number != self._layer:
            self._layer = number
            self._begin()

    def __call__(self, progress: Progress) -> None:
        """Record the planner's progress."""
        self.name = self._named(_NAMES.get(progress.stage, progress.stage))
        if progress.stage == "measure":
            self.finishing()
            return
        trying, solving, finishing = self._parts
        at_end = trying + solving + finishing * progress.iteration / (progress.of + 1)
        if progress.stage == "sensitivity":
            self.name = f"sensitivity, {progress.iteration} of {progress.of}"
            self._advance(at_end)
            return
        self.loss = f"{progress.loss:.4g}"
        self._count(progress)
        fitting, step = self._fitting[self._layer], progress.iteration / max(progress.of, 1)
        if progress.stage in ("place", "convert") and self._attempts == 1:
            done = at_end
        elif progress.stage == "fit":
            done = fitting * step
        elif progress.stage == "try":
            tries = 1 if fitting else max(_TRIES, self._tried)  # fitted strokes are improved once
            done = fitting + (trying - fitting) * (self._tried - 1 + step) / tries
        else:
            iterations = min((self._before + progress.iteration) / self._iterations, self._attempts)
            done = trying + solving * iterations / self._attempts
        self._advance(done)

    def finishing(self) -> None:
        """Record that only measuring and writing are left."""
        self.name = self._named(_ENDING)
        self._advance(self._parts[0] + self._parts[1])

    @property
    def share(self) -> float:
        """Share of the whole that is done, 0…1."""
        return self._share

    @property
    def left(self) -> float | None:
        """S until the files are written; None until the pace is known."""
        return None if self._shown is None else max(self._shown - (self._clock() - self._shown_at), 0.0)

    @property
    def ended(self) -> bool:
        """Whether the optimiser has ended, so that it can no longer be stopped early."""
        return self.name == _ENDING

    @property
    def ending(self) -> float:
        """S that measuring and writing will take."""
        return self._parts[2] * self._pace()

    def _named(self, stage: str) -> str:
        """`layer 3 of 12, refining`, or the stage alone."""
        return f"{self._noun} {self._layer + 1} of {len(self._all)}, {stage}" if len(self._all) > 1 else stage

    @property
    def _parts(self) -> tuple[float, float, float]:
        """Seconds forecast for this layer."""
        return self._all[self._layer]

    @property
    def _total(self) -> float:
        """Seconds forecast for all layers."""
        return sum(map(sum, self._all))

    def _begin(self) -> None:
        """Reset the counters for a new layer."""
        self._tried, self._before = 0, 0
        self._stage, self._last = "", 0

    def _count(self, progress: Progress) -> None:
        """Count curves, stages and attempts."""
        if progress.stage != self._stage or progress.iteration < self._last:
            if progress.stage == "try":
                self._tried += 1
            elif self._stage not in ("fit", "try"):
                self._before += self._last
            if progress.stage in ("shape", "find") and self._stage in ("refine", "execute", "place"):
                # Another attempt; the iterations that the last one did not need are done.
                self._before = self._iterations * -(-self._before // self._iterations)
        self._stage, self._last = progress.stage, progress.iteration

    def _advance(self, done: float) -> None:
        """Set the forecast seconds done of this layer; a jump over needless steps is not work."""
        gained = max(sum(map(sum, self._all[: self._layer])) + done - self._done, 0.0)
        self._done += gained
        self._share = max(self._share, self._done / self._total)  # a forecast may be replaced by a larger one
        elapsed, self._advanced_at = self._clock() - self._advanced_at, self._clock()
        # A jump is not work, but time passed as if it were.
        usual = elapsed / self._pace() if elapsed > 0 else 0.0
        self._work += gained if gained < _JUMP * usual else usual
        if self._work < _KNOWN * self._total and self.name != _ENDING:
            self.on_change()
            return
        left = self._pace() * (self._total - self._done)
        shown = self.left
        if shown is None or left < shown or left > _RISE * shown + 1:
            self._shown, self._shown_at = left, self._clock()
        else:
            self._shown, self._shown_at = shown, self._clock()
        self.on_change()

    def _pace(self) -> float:
        """Seconds per second of the forecast."""
        if self._work < _KNOWN * self._total:
            return 1.0
        pace = (self._clock() - self._start) / self._work
        return min(pace, _SLOWEST) if self.share < 0.5 else pace


@contextmanager
def meter(iterations: int, *, hidden: bool = False) -> Iterator[Meter]:
    """A meter shown on stderr: a bar on a terminal, otherwise plain lines."""
    from rich.console import Console

    console, made = Console(stderr=True), Meter(iterations)
    if hidden:
        yield made
    elif console.is_terminal:
        with _bar(made, console):
            yield made
    else:
        made.on_change = Lines(made)
        yield made


class Lines:
    """Prints the meter without a terminal: a line every 30 s or 10 %, none in the first 5 s."""

    def __init__(self, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        self._meter, self._clock = meter, clock
        self._printed_at, self._share = clock(), 0.0

    def __call__(self) -> None:
        """Print a line, if it is time for one."""
        elapsed, gained = self._clock() - self._printed_at, self._meter.share - self._share
        if elapsed >= _SILENT and (elapsed >= _EVERY or gained >= _STEP):
            self._printed_at, self._share = self._clock(), self._meter.share
            click.echo(f"laserpath: {line(self._meter)}", err=True)


def line(meter: Meter) -> str:
    """`42 %, refining; about 1 min 20 s left`."""
    left = "" if meter.left is None else f"; about {rough(meter.left)} left"
    return f"{100 * meter.share:.0f} %, {meter.name}{left}"


@contextmanager
def _bar(meter: Meter, console: Console) -> Iterator[None]:
    """Show the meter on a terminal; its clock runs on between reports of progress."""
    from rich import progress as rich
    from rich.text import Text

    class Left(rich.ProgressColumn):
        max_refresh = 0.5

        def render(self, task: rich.Task) -> Text:
            return Text("" if meter.left is None else f"about {rough(meter.left)} left")

    class Stage(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            return Text(f"{meter.name:<13}")

    class Share(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            return Text(f"{100 * meter.share:3.0f}%  loss {meter.loss or '–'}")

    with rich.Progress(
        Stage(), rich.BarColumn(), Share(), Left(), console=console, transient=True,
        redirect_stdout=False, redirect_stderr=False,
    ) as bar:  # fmt: skip
        task = bar.add_task("", total=1.0)
        meter.on_change = lambda: bar.update(task, completed=meter.share)
        yield


def expect(
    design: Design,
    process: Process,
    settings: Settings,
    talk: Talk,
    meter: Meter,
    *,
    sensitivity: bool = False,
) -> tuple[str, ...]:
    """Print the forecast of a plan before it begins, with warnings about machine and computer.

    Returns those that the plan has, too.
    """
    from laserpath.planning import forecast

    work = forecast(design, process, settings)
    work = work.with_sensitivity if sensitivity else work
    meter.expect(work, attempts=attempts(settings))
    tell_expected(work, talk)
    return work.warnings


def attempts(settings: Settings) -> int:
    """Largest number of plans to make: one, or as many as a tolerance may need."""
    return 1 if settings.max_epe_fwhm is None else _ATTEMPTS


def tell_expected(forecast: Forecast, talk: Talk) -> None:
    """Print a forecast and its notes."""
    talk.tell(expected(forecast))
    for note in forecast.notes:
        talk.tell(note)
    for warning in (*forecast.warnings, too_long(forecast)):
        if warning:
            talk.warn(warning)


@contextmanager
def reading(name: str, meter: Meter, *, hidden: bool = False) -> Iterator[None]:
    """Show that a file is being read: on the bar at once, in lines after 5 s and then every 30 s."""
    meter.name = f"reading {name}"
    if hidden or not isinstance(meter.on_change, Lines):
        yield
        return
    read = threading.Event()
    printer = threading.Thread(target=_while_reading, args=(name, read), daemon=True)
    printer.start()
    try:
        yield
    finally:
        read.set()
        printer.join()


def _while_reading(name: str, read: threading.Event) -> None:
    """Print lines that a file is being read until it has been."""
    start, pause = time.monotonic(), _SILENT
    while not read.wait(pause):
        since = f" for {time.monotonic() - start:.0f} s" if pause == _EVERY else ""
        click.echo(f"laserpath: reading {name}{since} …", err=True)
        pause = _EVERY

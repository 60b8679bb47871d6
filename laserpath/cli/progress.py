"""Progress of a plan: one share done and one time left for everything, on a terminal and in plain lines.

The forecast gives the seconds of each step. While a plan runs, they are corrected by what steps have really
taken. The pace is

    g = (time spent + κT) / (forecast of the work done + κT),      T: the whole forecast,

and steps to come take their forecast times g. A step of F seconds of which the share f was done in e seconds
takes (e + κFg)/(f + κ) in all. What turns out to be needless (a curve like another, iterations after the
optimiser has converged) is not work. The share done is the time elapsed ÷ (time elapsed + time left), so that
bar and time left say the same; reading the design counts, too. The share never falls.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from laserpath.base.plan_steps import ENDING, PlanPart, label_of
from laserpath.cli.show import Talk, expected, notes, rough, too_long

if TYPE_CHECKING:
    from rich.console import Console

    from laserpath import Progress
    from laserpath.planning import Forecast, PlanStep
    from laserpath.types import Design, Process, Settings

_TRUST = 0.1
"""κ: share of a forecast that its own time weighs; a larger one lets the time left change later, and less."""

_RISE = 1.3
"""Factor by which the time left must grow to be shown: a larger one shows fewer rises."""

_EVERY, _STEP = 30.0, 0.1
"""s, and share of the whole, between two plain lines, whichever comes first; larger ones print fewer."""

_SILENT = 5.0
"""s before the first plain line, and least time between two; a larger one prints fewer."""

_ALMOST = 0.99
"""Largest share before the end."""

_TICK = 1.0
"""s between two looks whether a plain line is due."""


class Meter:
    """Share done and time left of a plan, or of several, from their `Progress`. clock: s.

    name: of what is being done.  loss: the latest.  on_change: called after each report.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = self._expected_at = clock()
        self._plans: tuple[Forecast, ...] = ()
        self._noun, self._number = "layer", 0
        self._done = self._share = self._fraction = 0.0
        self._shown: tuple[float, float] | None = None
        self._begin()
        self.name, self.loss = "starting", ""
        self.on_change: Callable[[], None] = lambda: None

    def expect(self, *forecasts: Forecast, noun: str = "layer") -> None:
        """Set the forecast of each plan; what was done before remains done. noun: what the plans are."""
        if not self._plans:
            self._expected_at = self._entered = self._told = self._clock()
            self.name = "starting"
        self._plans = (*forecasts[:1], *(one.later for one in forecasts[1:]))
        self._noun, self._shown = noun, None
        self._show()

    def layer(self, number: int) -> None:
        """Begin this plan, counted from 0; those before it are done."""
        if number != self._number:
            self._leave()
            self._number = number
            self._begin()

    def __call__(self, progress: Progress) -> None:
        """Record the planner's progress."""
        began = progress.stage != self._stage
        if began:
            self._enter(progress.stage)
        if progress.stage == PlanPart.SENSITIVITY:
            self.name = f"{PlanPart.SENSITIVITY.label}, {progress.iteration} of {progress.of}"
        if math.isfinite(progress.loss):
            self.loss = f"{progress.loss:.4g}"
        usual = self._step.rounds if self._step else 0.0
        of = usual if 0 < progress.iteration <= usual else progress.of
        self._fraction = max(self._fraction, min(progress.iteration / max(of, 1), 1.0))
        if began:
            self._first = self._fraction
        self._told = self._clock()
        self._show()

    def finishing(self) -> None:
        """Record that only measuring and writing are left."""
        if not self.ended:
            self._enter(PlanPart.MEASURE)
            self._show()

    def writing(self) -> None:
        """Record that the report is made and written."""
        self._enter(PlanPart.REPORT)
        self._show()

    def end(self) -> None:
        """Record that everything is done."""
        self._leave()
        self._number, self._plans = 0, ()
        self._shown, self._share = (0.0, self._clock()), 1.0
        self.on_change()

    @property
    def share(self) -> float:
        """Share of the whole that is done, 0…1: time elapsed ÷ (time elapsed + time left)."""
        left, elapsed = self.left, self._clock() - self._start
        if left is not None and elapsed > 0:
            self._share = max(self._share, min(elapsed / (elapsed + left), _ALMOST))
        return self._share

    @property
    def left(self) -> float | None:
        """S until everything is written; None before the forecast."""
        if self._shown is None:
            return None
        shown, at = self._shown
        counted, computed = max(shown - (self._clock() - at), 0.0), self._left()
        return computed if computed < counted or computed > _RISE * counted + 1 else counted

    @property
    def ended(self) -> bool:
        """Whether the optimiser has ended, so that it can no longer be stopped early."""
        return self._stage in ENDING

    @property
    def ending(self) -> float:
        """S that measuring and writing will take."""
        return self._pace() * self._plans[self._number].seconds(ENDING) if self._plans else 0.0

    @property
    def _step(self) -> PlanStep | None:
        """The step that is being done, None if it is in no forecast."""
        plans, number, at = self._plans, self._number, self._at  # another thread may end it meanwhile
        steps = plans[number].steps if number < len(plans) else ()
        return steps[at] if at < len(steps) else None

    def _begin(self) -> None:
        """Begin a plan with its first step."""
        self._stage: str = PlanPart.START
        self._at, self._round = 0, 1.0
        self._fraction = self._first = 0.0
        self._entered = self._told = self._clock()

    def _enter(self, stage: str) -> None:
        """Leave a step for another one, which is a step of a further plan if it comes before."""
        self._leave()
        self._stage, self.name = stage, self._named(label_of(stage))
        names = [step.name for step in self._plans[self._number].steps] if self._plans else []
        if stage in names[self._at + 1 :]:
            self._at = names.index(stage, self._at + 1)
        elif stage in names:
            self._at, self._round = names.index(stage), self._round + 1
        if self.ended:
            self._round = math.inf
        self._fraction = self._first = 0.0
        self._entered = self._told = self._clock()

    def _leave(self) -> None:
        """Count the work of the step: all of it, if it does not report rounds."""
        if self._step:
            self._done += self._step.seconds * (self._fraction or 1.0)
        self._fraction = 0.0

    def _named(self, stage: str) -> str:
        """`layer 3 of 12, refining`, or the stage alone."""
        count = len(self._plans)
        return f"{self._noun} {self._number + 1} of {count}, {stage}" if count > 1 else stage

    def _pace(self) -> float:
        """Seconds per second of the forecast."""
        trust = _TRUST * sum(one.plan_seconds for one in self._plans) or 1.0
        now = self._step.seconds * self._fraction if self._step else 0.0
        return (self._told - self._expected_at + trust) / (self._done + now + trust)

    def _left(self) -> float:
        """S until everything is written, as it is computed now."""
        plans, number, step = self._plans, self._number, self._step  # another thread may show it
        if not step or number >= len(plans):
            return 0.0
        plan, pace = plans[number], self._pace()
        # A step is entered with its first report, when some of its rounds may be done.
        into, share = self._told - self._entered, self._fraction - self._first
        whole = (into + _TRUST * step.seconds * pace) / (share + _TRUST)
        later = sum(one.seconds for one in plan.steps[self._at + 1 :])
        later += plan.further(self._round)
        later += sum(one.plan_seconds for one in plans[number + 1 :])
        now = whole * (1 - self._fraction) - (self._clock() - self._told)
        return max(now, 0.0) + pace * later

    def _show(self) -> None:
        """Take the time left now as that to count down from."""
        if self._plans:
            left = self._left() if self._shown is None else self.left
            self._shown = (left or 0.0, self._clock())
        self.on_change()


@contextmanager
def meter(*, hidden: bool = False) -> Iterator[Meter]:
    """A meter shown on stderr: a bar on a terminal, otherwise plain lines. It ends at 100 %."""
    from rich.console import Console

    console, made = Console(stderr=True), Meter()
    if hidden:
        yield made
        return
    with _bar(made, console) if console.is_terminal else _lines(made):
        yield made
        made.end()


class Lines:
    """Prints the meter without a terminal: a line every 30 s or 10 %, none in the first 5 s."""

    def __init__(self, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        self._meter, self._clock, self._lock = meter, clock, threading.Lock()
        self._printed_at, self._share, self._printed = clock(), 0.0, False

    def __call__(self) -> None:
        """Print a line, if it is time for one."""
        with self._lock:
            elapsed, share = self._clock() - self._printed_at, self._meter.share
            first = not self._printed and self._meter.left is None  # reading takes long
            if elapsed >= _SILENT and (first or elapsed >= _EVERY or share - self._share >= _STEP):
                self._printed_at, self._share, self._printed = self._clock(), share, True
                click.echo(f"laserpath: {line(self._meter)}", err=True)


@contextmanager
def _lines(meter: Meter) -> Iterator[None]:
    """Print lines, also while a step does not report."""
    meter.on_change, ended = Lines(meter), threading.Event()

    def tick() -> None:
        while not ended.wait(min(_TICK, _SILENT)):
            meter.on_change()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield
    finally:
        ended.set()
        ticking.join()


def line(meter: Meter) -> str:
    """`42 %, refining; about 1 min 20 s left`, or what is being done before there is a forecast."""
    if meter.left is None:
        return f"{meter.name} …"
    return f"{100 * meter.share:.0f} %, {meter.name}; about {rough(meter.left)} left"


@contextmanager
def _bar(meter: Meter, console: Console) -> Iterator[None]:
    """Show the meter on a terminal; its clock runs on between reports of progress."""
    from rich import progress as rich
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    class Left(rich.ProgressColumn):
        max_refresh = 0.5

        def render(self, task: rich.Task) -> Text:
            return Text("" if meter.left is None else f"about {rough(meter.left)} left")

    class Stage(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            return Text(f"{meter.name:<20}")

    class Share(rich.ProgressColumn):
        def render(self, task: rich.Task) -> Text:
            return Text(f"{100 * meter.share:3.0f}%  loss {meter.loss or '–'}")

    class Bar(rich.BarColumn):
        def render(self, task: rich.Task) -> ProgressBar:
            task.completed = meter.share  # goes on while a step does not report
            return super().render(task)

    with rich.Progress(
        Stage(), Bar(), Share(), Left(), console=console, transient=True,
        redirect_stdout=False, redirect_stderr=False,
    ) as bar:  # fmt: skip
        bar.add_task("", total=1.0)
        yield


def of_one(meter: Meter, on_progress: Callable[[], None]) -> Callable[[Progress], None]:
    """Shows the progress of a plan. on_progress: of `Interrupts`, called after each report."""

    def listen(now: Progress) -> None:
        meter(now)
        on_progress()

    return listen


def of_several(meter: Meter, check: Callable[[], None]) -> Callable[[int, int, Progress], None]:
    """Shows the progress of each of several plans. check: raises if the user has interrupted."""

    def listen(number: int, of: int, now: Progress) -> None:
        check()
        meter.layer(number)
        meter(now)

    return listen


def expect(
    design: Design,
    process: Process,
    settings: Settings,
    talk: Talk,
    meter: Meter,
    *,
    sensitivity: bool = False,
) -> None:
    """Print the forecast of a plan before it begins, with warnings about machine and computer."""
    from laserpath.planning import forecast

    work = forecast(design, process, settings)
    work = work.with_sensitivity if sensitivity else work
    meter.expect(work)
    tell_expected(work, talk)


def tell_expected(forecast: Forecast, talk: Talk) -> None:
    """Print a forecast and its notes."""
    talk.tell(expected(forecast))
    talk.tell(*notes(forecast))
    warn_of(forecast, talk)


def warn_of(forecast: Forecast, talk: Talk) -> None:
    """Print the warnings of a forecast."""
    for warning in (*forecast.warnings, too_long(forecast)):
        if warning:
            talk.warn(warning)

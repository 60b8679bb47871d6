"""Output of a plan in the terminal: messages, forecast, table of figures, JSON."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import figure, told_once

if TYPE_CHECKING:
    from laserpath import Measurement, Plan
    from laserpath.config.request import PlannedPart
    from laserpath.planning import Forecast
    from laserpath.types import Design, Process, Settings
    from laserpath.types.results import Limit, Sensitivity

_LONG = 3600.0
"""s, write or plan time from which a warning questions the design's size; a larger one warns less often."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Messages on stderr, each sentence once. quiet: only warnings.  verbose: more, with the time elapsed."""

    quiet: bool = False
    verbose: bool = False
    start: float = field(default_factory=time.monotonic)
    _said: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def tell(self, *sentences: str) -> None:
        """Print messages, unless quiet."""
        for sentence in () if self.quiet else self._new(sentences):
            click.echo(f"laserpath: {self._clock()}{sentence}", err=True)

    def more(self, sentence: str) -> None:
        """Print a message if verbose."""
        if self.verbose:
            self.tell(sentence)

    def warn(self, *sentences: str) -> None:
        """Print warnings, yellow on a terminal."""
        for sentence in self._new(sentences):
            click.secho("laserpath: warning: ", err=True, nl=False, fg="yellow")
            click.echo(sentence, err=True)

    def _new(self, sentences: Iterable[str]) -> Iterator[str]:
        """Those that were not said yet."""
        for sentence in sentences:
            if sentence not in self._said:
                self._said.add(sentence)
                yield sentence

    def _clock(self) -> str:
        return f"{time.monotonic() - self.start:.1f} s: " if self.verbose else ""


def expected(forecast: Forecast) -> str:
    """`about 12 s to plan, with 0.5 GB of memory; about 2 min 10 s to write`: within a factor of 3."""
    from laserpath.report.wording import number

    return (
        f"about {rough(forecast.plan_seconds)} to plan, with "
        f"{number(forecast.memory / 1e9, 1)} GB of memory; about {rough(forecast.write_seconds)} to write"
    )


def notes(forecast: Forecast) -> Iterator[str]:
    """The notes of a forecast, and before them one if the plan is the first after an installation."""
    if forecast.compiling >= 1:
        yield (
            f"about {rough(forecast.compiling)} of planning are for compiling, which only the first plan "
            "after an installation does"
        )
    yield from forecast.notes


def too_long(forecast: Forecast) -> str:
    """A question about the size if the time is suspiciously long, else ''."""
    write, plan = forecast.write_seconds, forecast.plan_seconds
    if max(write, plan) < _LONG:
        return ""
    doubt = "the size, and what the line above says of the machine," if forecast.notes else "the size"
    return f"about {rough(write)} to write and {rough(plan)} to plan: is {doubt} right?"


def rough(seconds: float) -> str:
    """A time, rounded to what is significant: 0.9 s, 8 s, 40 s, 13 min, 2 h 10 min, 14 h."""
    steps = ((1, 0.1), (20, 1), (120, 10), (3600, 60), (36000, 600), (math.inf, 3600))
    step = next(step for most, step in steps if seconds < most)
    whole = max(round(seconds / step), 1)
    if step < 60:
        return f"{whole * step:g} s"
    minutes = whole * step // 60
    parts = (f"{minutes // 60} h" * (minutes >= 60), f"{minutes % 60} min" * (minutes % 60 > 0))
    return " ".join(part for part in parts if part)


def in_short(design: Design) -> str:
    """`board: 42.1 × 30 mm, 120 shapes; from board.gbr`."""
    width, height = design.size
    shapes = len(design.area.geoms)
    source = "; ".join(design.source)
    return (
        f"{design.name}: {figure(width, 4)} × {figure(height, 4)} mm, {shapes} shape{'s' * (shapes != 1)}"
        + (f"; {source}" if source else "")
    )


def part_in_short(one: PlannedPart, process: Process, settings: Settings) -> str:
    """`in_short`, with the colour of a colour, and what a part has of its own.

    process, settings: of parts without anything of their own.
    """
    design, own = one.design, ", ".join(_own(one, process, settings))
    colour = f"{design.part.colour} " if design.part and one.kind == "colour" else ""
    return f"{colour}{in_short(design)}" + (f"; its own: {own}" if own else "")


def _own(one: PlannedPart, process: Process, settings: Settings) -> Iterator[str]:
    """`passes 2`, for each thing in which a part differs."""
    resin, usual = one.process.resin, process.resin
    if resin.name != usual.name:
        yield f"resin {resin.name}"
    if resin.critical_dose != usual.critical_dose and resin.order == 1:
        yield f"critical dose {figure(100 * resin.critical_dose, 4)} mJ/cm2"
    elif resin.critical_dose != usual.critical_dose:
        yield f"critical dose {figure(resin.critical_dose / usual.critical_dose, 4)} times the resin's"
    for field_ in fields(settings):
        value = getattr(one.settings, field_.name)
        if value != getattr(settings, field_.name):
            name = field_.name.removesuffix("_fwhm")
            unit = " FWHM" if name != field_.name and value is not None else ""
            yield f"{name.replace('_', ' ')} {f'{value:.6g}' if isinstance(value, float) else value}{unit}"


def left_out(read: Sequence[Design], planned: Sequence[PlannedPart], values: Mapping[str, Any]) -> str:
    """A sentence about colours that `layers` does not list, or ''."""
    off = [one.name for one in values.get("layers", ()) if not one.on]
    kept = [one.design.name for one in planned]
    names = [
        part.name
        for design in read
        if design.name not in kept and (part := design.part) and {part.name, str(part.number)}.isdisjoint(off)
    ]
    if not names:
        return ""
    be = "are" if len(names) > 1 else "is"
    return f"{', '.join(names)} {be} not listed in layers, and {be} left out"


@contextmanager
def busy(name: str, *, hidden: bool = False) -> Iterator[None]:
    """Show the name of the work and the time elapsed on stderr, for work of unknown length."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if hidden or not console.is_terminal:
        yield
        return
    columns = (rich.SpinnerColumn(), rich.TextColumn(name), rich.TimeElapsedColumn())
    with rich.Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(name, total=None)
        yield


def tell_table(
    headings: Iterable[str], rows: Iterable[Iterable[str]], caption: str | None = None, left: int = 1
) -> None:
    """Print a table. left: how many columns are of words; the others are of numbers, and end at the right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(caption=caption, caption_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < left else "right")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)


def summary(plan: Plan, written: Iterable[Path]) -> None:
    """Print the table of figures and the files written."""
    from laserpath.physics import optics
    from laserpath.report.figure_table import ROWS, Shown, cell, keys_of, means_explained
    from laserpath.report.wording import rounded

    fwhm = optics.fwhm(plan.process.spot)
    caption = f"({plan.settings.quality} quality; in brackets: in FWHM of the spot, {fwhm:g} mm)"
    columns = {heading: one.as_dict() for heading, one in _columns(plan).items()}
    click.echo(f"{plan.design.name} {what_cures(plan)}")
    click.echo(plan.verdict[1])
    rows = (
        [ROWS[key].name, *(cell(key, one, fwhm) for one in columns.values())]
        for key in keys_of(Shown.TERMINAL)
    )
    tell_table(["", *columns], rows, caption)
    for name, why in means_explained(columns.items()):
        click.echo(f"{name.capitalize()}: {why}")
    if why := rounded(plan.report.inspection, fwhm):
        click.echo(f"As executed: {why}")
    if plan.report.limit:
        click.echo(at_best(plan, plan.report.limit))
    if plan.sensitivity:
        tell_sensitivity(plan.sensitivity, plan.process)
    tell_written(written)


def tell_written(written: Iterable[Path]) -> None:
    """Print the files written."""
    click.echo("Written:")
    for path in written:
        click.echo(f"  {path}")


def tell_sensitivity(sensitivity: Sensitivity, process: Process) -> None:
    """Print what a print is most sensitive to, and what would help the machine."""
    from laserpath.report.advice import headline, help_in_words

    click.echo(headline(sensitivity, process))
    for sentence in help_in_words(sensitivity, process):
        click.echo(sentence)
    if sensitivity.stopped:
        click.echo("Ctrl-C has ended this early: not every change was tried.")


def _columns(plan: Plan) -> dict[str, Measurement]:
    """The measurements of a plan by heading: the one that counts first, what was aimed at last."""
    report = plan.report
    columns = {"as executed": report.executed, "starting curve": report.start}
    return columns if report.commanded is None else {**columns, "aimed at": report.commanded}


def what_cures(plan: Plan) -> str:
    """`cures 99.2 % of the drawn 3.1 mm²; 0.02 mm² missing, 0.03 mm² too much`."""
    from laserpath.report.wording import area, percent

    figures, drawn = plan.report.executed.figures, plan.design.area.area
    share = percent(max(1 - figures.undercure / drawn, 0.0))
    return (
        f"{plan.process.resin.done}s {share} of the {area(drawn)} to expose; "
        f"{area(figures.undercure, 2)} missing, {area(figures.overcure, 2)} too much"
    )


def at_best(plan: Plan, limit: Limit) -> str:
    """`Limit of this spot: 4.1 µm (0.041) on average, 20 of 1816 edges missing; plan: 1.3 ×`."""
    from laserpath.physics import optics
    from laserpath.report.figure_table import cell
    from laserpath.report.wording import number, times_the_limit

    figures, fwhm = limit.figures.as_dict(), optics.fwhm(plan.process.spot)
    return (
        f"Limit of this spot: {cell('epe_mean', figures, fwhm)} on average, "
        f"{cell('missing_edges', figures, fwhm)} edges missing; "
        f"plan: {number(times_the_limit(plan.report), 2)} × as executed"
    )


_OLD_DAYS = 90
"""Age of a calibration from which a plan says it: resins age within months, and diodes within years."""


def days_ago(days: int) -> str:
    """`today`, `1 day ago`, `117 days ago`."""
    return "today" if days == 0 else f"{days} day{'s' * (days != 1)} ago"


def ages(process: Process, today: date) -> Iterator[str]:
    """A sentence if spot or resin were measured long ago, or never."""
    from laserpath.config.profiles.writing import newest

    if process.resin.source and not process.resin.calibrated:
        yield f"the resin's doses are a starting point and not measured: {process.resin.source}"
    never = []
    for kind, noun in (("spot", process.spot), ("resin", process.resin)):
        day = (newest(noun) or "").partition(" ")[0]
        if not day:
            never.append(kind)
        elif (age := (today - date.fromisoformat(day)).days) > _OLD_DAYS:
            yield f"the {kind} was measured {days_ago(age)}, on {day}; `laserpath calibrate` does it again"
    if never:
        yield (
            f"the {' and the '.join(never)} {'is' if len(never) == 1 else 'are'} not measured, as far as the "
            "profile says; `laserpath calibrate` measures both"
        )


def placing(design: Design, process: Process, settings: Settings) -> tuple[str, ...]:
    """Notes on the design's place if it differs from the file's; raises if the design does not fit."""
    from laserpath.machine.heights import check_bed
    from laserpath.machine.placement import placed

    position = placed(design, process.resin, process.machine, process.spot, settings.origin, settings.offset)
    check_bed(position.design, process)
    return position.notes


def warnings(plan: Plan, *, frame: bool) -> Iterator[str]:
    """Warnings to read before the program is run."""
    yield from plan.report.warnings
    if frame:
        yield from _of_framing(plan)


def warnings_of_each(plans: Mapping[str, Plan], *, frame: bool) -> Iterator[str]:
    """The same for plans with one zero, each once; without those of their designs, printed before."""
    names = list(plans)
    new = [
        [text for text in one.report.warnings if text not in one.design.warnings] for one in plans.values()
    ]
    yield from told_once(new, lambda few: ", ".join(names[k] for k in few))
    if frame:
        yield from _of_framing(next(iter(plans.values())))


def _of_framing(plan: Plan) -> Iterator[str]:
    from laserpath.machine.framing import framing_pass

    if not framing_pass(plan.design.extent, plan.process).lit:
        yield (
            "the framing pass is dark, since the weakest light would leave more than a hundredth of the "
            "critical dose: follow the head; `laserpath frame --lit` makes one to run without resin"
        )


def tolerance_missed(plan: Plan) -> str:
    """A sentence with the edge error and the tolerance that it exceeds, or nothing."""
    from laserpath.physics import optics
    from laserpath.report import figure_table

    if plan.within_tolerance:
        return ""
    limit, fwhm = plan.settings.max_epe_fwhm or 0.0, optics.fwhm(plan.process.spot)
    return f"tolerance missed: {figure_table.tolerance_missed(plan.report.epe_p95, limit, fwhm)}"


def tolerances_missed(plans: Mapping[str, Plan]) -> str:
    """The same for each of several plans that exceeds it, with its name."""
    missed = {name: tolerance_missed(one) for name, one in plans.items()}
    return "; ".join(f"{name}: {sentence}" for name, sentence in missed.items() if sentence)


def json_of(content: Any) -> str:
    """The content as JSON, with plain Python numbers throughout; null where they are not finite."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False)


def _plain(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if isinstance(content, bool) or content is None or isinstance(content, str):
        return content
    number = int(content) if isinstance(content, int) else float(content)
    return number if math.isfinite(number) else None


def content(plan: Plan, written: Iterable[Path], warnings: Iterable[str]) -> dict[str, Any]:
    """What the JSON of a plan holds. Lengths are in FWHM where `PrintFigures` says so."""
    from laserpath.physics import optics
    from laserpath.report import advice

    process, report = plan.process, plan.report
    return {
        "design": plan.design.name,
        "files": [str(path) for path in written],
        "within_tolerance": bool(plan.within_tolerance),
        "verdict": plan.verdict[0],
        "headline": plan.verdict[1],
        "inspection": plan.report.inspection.as_dict() if plan.report.inspection else None,
        "stopped": bool(plan.solution.stopped),
        "result": plan.solution.result,
        "warnings": list(warnings),
        "notes": list(plan.notes),
        "alignment": plan.design.alignment and plan.design.alignment.as_dict(),
        "quality": plan.settings.quality,
        "fwhm_mm": optics.fwhm(process.spot),
        _dose_key(process.resin.order): process.resin.critical_dose,
        "executed": _figures(report.executed.as_dict()),
        "start": _figures(report.start.as_dict()),
        "commanded": report.commanded and _figures(report.commanded.as_dict()),
        "window": plan.report.window.as_dict() if plan.report.window else None,
        "limit": _limit(plan.report.limit) if plan.report.limit else None,
        "sensitivity": plan.sensitivity and advice.sensitivity_as_dict(plan.sensitivity, process),
    }


def _dose_key(order: int) -> str:
    """JSON key of the critical dose, with its unit, which depends on the absorption order."""
    return "critical_dose_" + ("mJ_per_mm2" if order == 1 else f"mW{order}_s_per_mm{2 * order}")


def _limit(limit: Limit) -> dict[str, Any]:
    """Figures of the unconstrained optimum, and sentences on what cannot be printed."""
    from laserpath.measure import summary
    from laserpath.report.wording import ROWS_OF_LIMIT

    figures = _figures(limit.figures.as_dict())
    return {**{key: figures[key] for key in ROWS_OF_LIMIT}, "unprintable": list(summary(limit.unprintable))}


def _figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures, and as `epe_capped` the names of those that are lower bounds."""
    from laserpath.types.results import is_capped

    return {**figures, "epe_capped": [name for name, value in figures.items() if is_capped(name, value)]}

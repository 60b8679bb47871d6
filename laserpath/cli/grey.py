"""`laserpath plan --grey`: the same steps for an image whose greys are target heights or doses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from laserpath.base.errors import figure
from laserpath.cli import progress, show
from laserpath.cli.job import Job, Made
from laserpath.config import options, request

if TYPE_CHECKING:
    from laserpath.cli.progress import Meter
    from laserpath.planning import Progress
    from laserpath.planning.relief import ReliefFigures, ReliefPlan

_ARRANGING = [option.name for option in options.setting("Arrangement")]
_DRAWINGS_ONLY = [option.name for option in options.all_options() if option.drawings_only]
"""Options without effect on a grey image: refused on the command line, ignored in a project file, where they
may be meant for other designs."""


def plan_grey(job: Job, listen: Callable[[Progress], None], meter: Meter) -> Made:
    """Plan the image and write its files."""
    from laserpath.base.errors import InputError
    from laserpath.planning.relief import forecast_fit, forecast_relief, lay_out, load_relief, plan_layout

    refused = [name for name in _ARRANGING if job.values.get(name)]
    if refused:
        raise InputError(
            f"--{refused[0]} is for drawings; turn and size a grey image before, or give its --pixel 10um"
        )
    taken = ("initial", "strokes") if job.values.get("initial") == "strokes" else ()
    idle = [name for name in _DRAWINGS_ONLY if job.given.get(name) is not None and name not in taken]
    if idle:
        raise InputError(f"--{idle[0].replace('_', '-')} is for drawings: the greys are the target")
    if job.given["sensitivity"]:
        raise InputError(
            "--sensitivity cannot be used with --grey: it compares printed edges with drawn ones, "
            "and a grey image has no drawn edges; leave it out"
        )
    meter.name = f"reading {Path(job.file).name}"
    relief = load_relief(job.file, request.reading_of(job.values, tolerance=1.0), job.process.resin)
    job.check_places(relief.name)
    width, height = relief.size
    job.talk.tell("; ".join((f"{relief.name}: {figure(width, 4)} × {figure(height, 4)} mm", *relief.source)))
    if fit := forecast_fit(relief, job.process, job.settings):
        meter.expect(fit)
        job.talk.tell(f"fitting strokes, about {show.rough(fit.seconds(('fit',)))}, before more can be said")
    layout = lay_out(relief, job.process, job.settings, listen)
    for note in layout.notes:
        job.talk.tell(note)
    expected = forecast_relief(layout)
    meter.expect(expected)
    progress.tell_expected(expected, job.talk)
    plan = plan_layout(layout, listen)
    frame, save_project = job.given["frame"], job.given["save_project"]
    job.check()
    meter.writing()
    written = plan.write(job.folder, frame=frame, project=save_project)
    return Made(plan.warnings, as_json=lambda: as_json(plan, written), summary=lambda: summary(plan, written))


def summary(plan: ReliefPlan, written: tuple[Path, ...]) -> None:
    """Print the result and the files written."""
    from laserpath.planning.relief import in_words
    from laserpath.report.wording import duration

    executed = plan.executed
    click.echo(in_words(plan))
    click.echo(
        f"{duration(executed.write_time)} to write; largest dose {figure(100 * executed.dose_max, 4)} mJ/cm²"
    )
    click.echo("Written:")
    for path in written:
        click.echo(f"  {path}")


def as_json(plan: ReliefPlan, written: tuple[Path, ...]) -> str:
    """Figures and files as JSON; errors are relative to the value of black."""

    def plain(figures: ReliefFigures) -> dict[str, float]:
        return {name: float(getattr(figures, name)) for name in figures.__slots__}

    content = {
        "design": plan.relief.name,
        "files": [str(path) for path in written],
        "warnings": list(plan.warnings),
        "notes": list(plan.notes),
        "wanted": "dose" if plan.relief.height is None else "height",
        "commanded": plain(plan.commanded),
        "executed": plain(plan.executed),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

"""`laserpath plan`: parse, load, plan, write, exit code.

With `--colours` or `--layers` the steps are the same for each colour or layer of a drawing, and there is one
page for all of them; with `--grey` they are the same for an image whose greys are target heights or doses.
A part is cut into layers, which are planned as a slicer's are. All take a `Job` and return what was `Made`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError, figure
from laserpath.base.files import check_folder, check_places, keep_in
from laserpath.base.plan_steps import PlanPart
from laserpath.base.quantities import LENGTH
from laserpath.cli import progress, show, slicer
from laserpath.cli.ending import Interrupts, Stopped, end_if_missed
from laserpath.cli.grouped import GroupedCommand, options
from laserpath.cli.options import (
    CAUTION,
    COLOURS,
    DESIGN,
    FILES,
    LIMITS,
    OUTPUT,
    PARTS,
    PLAN,
    PRINTED,
    PROCESS,
    WORKERS,
)
from laserpath.config import options as known
from laserpath.config import project, request
from laserpath.config.values import Quantity

if TYPE_CHECKING:
    from laserpath import Plan
    from laserpath.cli.progress import Meter
    from laserpath.cli.show import Talk
    from laserpath.config.request import PlannedPart
    from laserpath.planning import ColourPlans, Forecast, Progress, Stack
    from laserpath.planning.relief import ReliefFigures, ReliefPlan
    from laserpath.types import Design, Process, Settings


@dataclass(frozen=True, slots=True)
class Job:
    """file: the design.  given: options as given.  values: with those of the project, for `request`.

    folder: for output.  check: raises if the user has interrupted; call it before anything is written.
    kept: to call once the plan is written, so that an interrupt only ends what comes after.
    """

    file: str
    given: Mapping[str, Any]
    values: Mapping[str, Any]
    process: Process
    settings: Settings
    folder: Path
    talk: Talk
    check: Callable[[], None]
    kept: Callable[[], None]

    def check_places(self, name: str) -> None:
        """Raise InputError if the files of a plan of this name could not be written."""
        from laserpath.planning import paths_of

        given = self.given
        check_places(paths_of(name, self.folder, frame=given["frame"], project=given["save_project"]))


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a job. missed: a sentence if the tolerance is missed, else empty."""

    warnings: tuple[str, ...]
    as_json: Callable[[], Mapping[str, Any]]
    summary: Callable[[], None]
    missed: str = ""


def check_parts(file: str, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse options that say nothing about this drawing: with --colours or --layers, or without them."""
    for name in ("apart", "settle", "resume"):
        if given.get(name):
            raise InputError(f"--{name} is for the layers of a part, and {file} is a drawing")
    if values.get("layers") and values.get("grey"):
        raise InputError("--grey cannot be used with --layers: give one of them")
    if given.get("joined") and not in_parts(values):
        raise InputError("--joined joins the programs of several --colours or --layers: there is one here")
    if in_parts(values) and given.get("sensitivity"):
        each, one = ("--colours", "--colour") if values.get("colours") else ("--layers", "--layer")
        raise InputError(f"--sensitivity is of one program: choose one of the {each} with {one}")
    if not values.get("colours"):
        for name in ("colour", "colour_resin"):
            if values.get(name):
                raise InputError(f"--{name.replace('_', '-')} needs --colours with it, which says how many")
    elif values.get("colour") and values.get("colour_resin"):
        raise InputError("--colour plans one colour: give its resin by --resin, and no --colour-resin")


def plan_parts(job: Job, meter: Meter) -> Made:
    """Plan each colour or layer of a drawing and write the files of all."""
    import laserpath
    from laserpath.planning import Forecast, check_joined, forecast, paths_of_all

    each = _load_parts(job, meter)
    parts = [one.design for one in each]
    given, names = job.given, [part.name for part in parts]
    files = {"frame": given["frame"], "project": given["save_project"], "joined": given["joined"]}
    if files["joined"]:
        check_joined([one.process for one in each])
    check_places(paths_of_all(each[0].drawing, f"{each[0].kind}s", names, job.folder, **files))
    reported = tuple(dict.fromkeys(sentence for part in parts for sentence in part.warnings))
    job.talk.warn(*reported)
    job.talk.tell(*show.placing(parts[0], each[0].process, each[0].settings))
    expected = [forecast(*one) for one in each]
    progress.tell_expected(Forecast.of_all(expected), job.talk)
    meter.expect(*reported_last(expected), noun=each[0].kind)
    job.check()

    # A part of the drawing is of little use, so one Ctrl-C stops at once.
    processes, settings = [one.process for one in each], [one.settings for one in each]
    plans = laserpath.plan_colours(parts, processes, settings, progress.of_several(meter, job.check))
    job.check()
    meter.writing()
    written = plans.write(job.folder, **files)
    by_name = {one.design.name: one for one in plans.plans}
    warnings = tuple(show.warnings_of_each(by_name, frame=job.given["frame"]))
    return Made(
        (*reported, *warnings),
        as_json=lambda: _parts_json(plans, written, (*reported, *warnings)),
        summary=lambda: _parts_summary(plans, written),
        missed=show.tolerances_missed(by_name),
    )


def in_parts(values: Mapping[str, Any]) -> bool:
    """Whether each colour or layer of the drawing has a program of its own."""
    if values.get("colours"):
        return not values.get("colour")
    return bool(values.get("layers")) and len(values.get("layer", ())) != 1


def designs_of(file: str, values: Mapping[str, Any], process: Process) -> tuple[Design, ...]:
    """The drawing of a file, or each of its colours or layers."""
    from laserpath.design import load, load_colours, load_layers, tolerance_for

    tolerance = tolerance_for(process.spot)
    reading, arrangement = request.reading_of(values, tolerance), request.arrangement_of(values)
    if not in_parts(values):
        return (load(file, tolerance=tolerance, reading=reading, arrangement=arrangement),)
    if reading.colours:
        colours = reading.colours
        return load_colours(file, colours, tolerance=tolerance, reading=reading, arrangement=arrangement)
    return load_layers(file, reading.split, tolerance=tolerance, reading=reading, arrangement=arrangement)


def _load_parts(job: Job, meter: Meter) -> tuple[PlannedPart, ...]:
    """The colours or layers of the job's file to plan, each with a line that says what it is."""
    from laserpath.planning import adding_doses

    meter.name = f"reading {Path(job.file).name}"
    drawn = designs_of(job.file, job.values, job.process)
    each = request.planned_parts(job.values, job.process, job.settings, drawn)
    for one in each:
        job.talk.tell(show.part_in_short(one, job.process, job.settings))
    if left := show.left_out(drawn, each, job.values):
        job.talk.warn(left)
    if each[0].kind == "colour":  # which always meet
        return each
    near = adding_doses([one.design for one in each], [one.process for one in each])
    return tuple(
        one._replace(design=replace(one.design, warnings=(*one.design.warnings, *near))) for one in each
    )


def reported_last(each: Sequence[Forecast]) -> list[Forecast]:
    """The forecasts of all plans, with all reports in the last one, as they are written together."""
    reports = sum(one.seconds((PlanPart.REPORT,)) for one in each)
    plans = [one.without_report for one in each]
    last = (*plans[-1].steps, each[-1].steps[-1]._replace(seconds=reports))
    return [*plans[:-1], replace(plans[-1], steps=last)]


def _parts_summary(plans: ColourPlans, written: Sequence[Path]) -> None:
    """Print the verdict on each plan, a table of their figures, and the files written."""
    from laserpath.report.figure_table import ROWS, Shown, cell, keys_of

    fwhm = plans.plans[0].page_data.fwhm
    for one in plans.plans:
        click.echo(f"{one.design.name} {show.what_cures(one)}. {one.verdict[1]}")
    figures = {one.design.name: one.report.executed.as_dict() for one in plans.plans}
    rows = (
        [ROWS[key].name, *(cell(key, one, fwhm) for one in figures.values())]
        for key in keys_of(Shown.TERMINAL)
    )
    show.tell_table(["", *figures], rows, f"(as executed; in brackets: in FWHM of the spot, {fwhm:g} mm)")
    show.tell_written(written)


def _parts_json(plans: ColourPlans, written: Sequence[Path], warnings: Sequence[str]) -> dict[str, Any]:
    """Figures and files as JSON: those of all, and for each colour or layer those of a plan."""
    return {
        "design": plans.name,
        "files": [str(path) for path in written],
        "within_tolerance": bool(plans.within_tolerance),
        "warnings": list(warnings),
        f"{plans.kind}s": [
            {
                "number": one.design.part.number if one.design.part else None,
                "name": one.design.part.name if one.design.part else None,
                "colour": one.design.part.colour if one.design.part else None,
                "resin": one.process.resin.name,
                **show.content(one, own(one.design.name, written), one.report.warnings),
            }
            for one in plans.plans
        ],
    }


def own(name: str, written: Sequence[Path]) -> list[Path]:
    """The files of one plan."""
    return [path for path in written if path.name.startswith(f"{name}.")]


_OF_A_DRAWING = [
    option.name for option in known.setting("Arrangement", "Reading") if option.name not in ("layer", "unit")
]
_OF_EACH_DRAWING = ("pixel", "threshold", "line_width")
_OF_ONE_PROGRAM = ("frame", "joined", "save_project", "sensitivity")
"""Options without effect on a part."""


def is_part(file: str, values: Mapping[str, Any]) -> bool:
    """Whether the file, with the values of its options, is cut into layers, or is a stack of them."""
    from laserpath.design import part

    return part.is_part(file) or part.is_layout(file, values.get("layer", ()))


def stack_of(
    file: Path, given: Mapping[str, Any], values: Mapping[str, Any], process: Process, settings: Settings
) -> Stack:
    """The layers of a part, placed on the machine. given: options as given.  values: with the project's."""
    from laserpath.design import tolerance_for
    from laserpath.design.part import files_like, is_layout, is_stack, load_part, load_stack
    from laserpath.machine.placement import scales
    from laserpath.planning import stacked

    machine = process.machine
    drawn = is_stack(file) or is_layout(file, values.get("layer", ()))
    if is_stack(file):
        files_like(file)
    layer = _thickness(file.name, given, values, drawn=drawn)
    if machine.z_travel is None:
        raise InputError(
            f"a part needs a Z, and machine {machine.name!r} names none: put z_travel_mm = [0, 40] with its "
            "lowest and highest Z into its profile"
        )
    tolerance = tolerance_for(process.spot)
    *_, higher = scales(process.resin)
    if drawn and layer is not None:
        of_each = {name: value for name, value in values.items() if name != "layer"}
        reading = request.reading_of(of_each, tolerance)
        layers = load_stack(file, layer, reading=reading, resin=process.resin)
    else:
        layers = load_part(
            file, layer, unit=values.get("unit"), pixel=values.get("pixel"), tolerance=tolerance,
            resin=process.resin,
        )  # fmt: skip
    name = re.sub(r"[*?]+", "", file.stem).strip("-_. ") or "layers"
    height, lift = higher * layers[-1][0], machine.layer_change.lift
    if height + lift > machine.z_travel[1]:
        lifted = f", and {lift:g} mm more in layer changes" if lift else ""
        raise InputError(
            f"{file.name} is {height:g} mm high{lifted}, above the {machine.z_travel[1]:g} mm to which "
            f"machine {machine.name!r} travels in Z (z_travel_mm)"
        )
    # No mesh names a page: the zero is the part's corner, unless another one is asked for.
    origin = "design" if settings.origin == "auto" else settings.origin
    return stacked(layers, process, replace(settings, origin=origin), name=name)


def plan_sliced(job: Job, meter: Meter) -> Made:
    """Plan the layers of the job's part and write their program, or programs."""
    from laserpath.planning import Keeping

    file, given = Path(job.file), job.given
    meter.name = f"cutting {file.name}"
    stack = stack_of(file, given, job.values, job.process, job.settings)
    check_places(stack.places(job.folder, apart=given["apart"]))
    x0, y0, x1, y1 = stack.whole.bounds
    job.talk.tell(f"{file.name}: {x1 - x0:.4g} × {y1 - y0:.4g} × {stack.z[-1]:.4g} mm")
    # A part of a stack is of no use, so one Ctrl-C stops at once.
    keeping = Keeping(job.folder / f"{stack.whole.name}.layers") if given["resume"] else None
    keep_in(None if keeping is None else keeping.folder)
    done = slicer.planned(stack, given["settle"], job.talk, meter, job.check, keeping)
    job.check()
    meter.writing()
    written = done.write(job.folder, apart=given["apart"])
    if keeping is not None:
        keeping.clear()
    return Made(
        done.warnings,
        as_json=lambda: slicer.part_json(done, written),
        summary=lambda: slicer.part_summary(done, written),
        missed=slicer.missed(done),
    )


def _thickness(
    name: str, given: Mapping[str, Any], values: Mapping[str, Any], *, drawn: bool
) -> float | None:
    """The thickness of a layer, mm; None: the file says it. Options that say nothing here are refused.

    drawn: whether each of its layers is a drawing.
    """
    from laserpath.design.part import is_sliced

    taken = _OF_EACH_DRAWING if drawn else ("pixel",) if is_sliced(name) else ()
    idle = [one for one in _OF_A_DRAWING if values.get(one) and one not in taken]
    idle += [one for one in _OF_ONE_PROGRAM if given.get(one)]
    if idle:
        raise InputError(f"--{idle[0].replace('_', '-')} is for drawings, and {name} is a part: leave it out")
    layers: Sequence[str] = values.get("layer", ())
    if is_sliced(name) and not layers:
        return None
    if len(layers) != 1:
        raise InputError(f"{name} is a part: say once how thick its layers are, as in --layer 50um")
    try:
        return float(Quantity(LENGTH, "mm")(layers[0]))  # type: ignore[arg-type]  # no lengths in FWHM
    except InputError as error:
        raise InputError(f"--layer of a part is the thickness of its layers, as in 50um: {error}") from None


_ARRANGING = [option.name for option in known.setting("Arrangement")]
_DRAWINGS_ONLY = [option.name for option in known.all_options() if option.drawings_only]
"""Options without effect on a grey image: refused on the command line, ignored in a project file, where they
may be meant for other designs."""


def plan_grey(job: Job, listen: Callable[[Progress], None], meter: Meter) -> Made:
    """Plan the image and write its files."""
    from laserpath.planning.relief import forecast_fit, forecast_relief, lay_out, load_relief, plan_layout

    refused = [name for name in _ARRANGING if job.values.get(name)]
    if refused:
        option = refused[0].replace("_", "-")
        raise InputError(
            f"--{option} is for drawings; turn and size a grey image before, or give its --pixel 10um"
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
    job.talk.tell(*layout.notes)
    expected = forecast_relief(layout)
    meter.expect(expected)
    progress.tell_expected(expected, job.talk)
    plan = plan_layout(layout, listen)
    frame, save_project = job.given["frame"], job.given["save_project"]
    job.check()
    meter.writing()
    written = plan.write(job.folder, frame=frame, project=save_project)
    return Made(
        plan.warnings, as_json=lambda: _grey_json(plan, written), summary=lambda: _grey_summary(plan, written)
    )


def _grey_summary(plan: ReliefPlan, written: tuple[Path, ...]) -> None:
    """Print the result and the files written."""
    from laserpath.planning.relief import in_words
    from laserpath.report.wording import duration

    executed = plan.executed
    click.echo(in_words(plan))
    click.echo(
        f"{duration(executed.write_time)} to write; largest dose {figure(100 * executed.dose_max, 4)} mJ/cm²"
    )
    show.tell_written(written)


def _grey_json(plan: ReliefPlan, written: tuple[Path, ...]) -> dict[str, Any]:
    """Figures and files as JSON; errors are relative to the value of black."""

    def plain(figures: ReliefFigures) -> dict[str, float]:
        return {name: float(getattr(figures, name)) for name in figures.__slots__}

    return {
        "design": plan.relief.name,
        "files": [str(path) for path in written],
        "warnings": list(plan.warnings),
        "notes": list(plan.notes),
        "wanted": "dose" if plan.relief.height is None else "height",
        "commanded": plain(plan.commanded),
        "executed": plain(plan.executed),
    }


_EPILOG = """\b
Examples:
  laserpath plan design.svg
  laserpath plan design.svg -o out --spot-fwhm 80um --critical-dose 35
  laserpath plan board.gbr --negative --mirror x --machine my-laser.toml
  laserpath plan chip.gds --layer 1/0 --resin positive-photoresist --na 0.1 --wavelength 405 \\
      --machine linuxcnc-stage-405 --origin design
  laserpath plan logo.png --size 20mm --max-epe 10um --json
  laserpath plan scales.dxf --follow --line-width 0.12mm
  laserpath plan poster.svg --colours 3 --colour-resin red=red-resin.toml
  laserpath plan panel.dxf --layers pads,text
  laserpath plan part.stl --layer 50um --machine my-laser.toml
  laserpath plan 'layer-*.svg' --layer 50um --machine my-laser.toml
  laserpath plan design.svg --printed photo.png --printed-pixel 4um
  laserpath plan pcb.gbr --heights printer.cfg@50,30mm --machine my-laser.toml
  laserpath plan panel.gbr --scheduler tcp://10.0.0.5:8786
  laserpath plan                     # the design that laserpath.toml in this folder names

\b
Ctrl-C while optimising takes the best plan so far; a second Ctrl-C stops without writing.
Ctrl-C while the sensitivity is computed keeps the plan, which is written before.
With --colours or --layers, and of a part, the first Ctrl-C stops without writing; of a part with
--resume the layers that are done are kept, and the same command goes on with them.

\b
Exit codes: 0 success; 2 bad input, nothing written; 3 files written, but --max-epe is not met;
130 interrupted by a second Ctrl-C, or before there was any plan, nothing written."""


def join_cluster(context: click.Context, scheduler: str | None, talk: show.Talk) -> None:
    """Have the workers of a scheduler, if one is given, until the command ends."""
    if scheduler is None:
        return
    from laserpath.base.compute.workers import on_cluster

    dashboard = context.with_resource(on_cluster(scheduler))
    talk.tell(f"squares of a large design go to the workers of {scheduler}; their dashboard: {dashboard}")


@click.command(cls=GroupedCommand, epilog=_EPILOG + CAUTION)
@click.argument("design", metavar="[DESIGN]", type=click.Path(), required=False)
@options(OUTPUT, FILES, PRINTED, PARTS, PROCESS, DESIGN, COLOURS, PLAN, WORKERS, LIMITS)
@click.pass_context
def plan(context: click.Context, /, design: str | None, **given: Any) -> None:
    """Plan a toolpath that exposes DESIGN: SVG, DXF, GDSII, OASIS, Gerber, PNG, TIFF, GeoJSON or WKT.

    Writes DESIGN.gcode for the machine, DESIGN.toolpath.svg, a drawing, and DESIGN.report.html, which shows
    what will cure. A part (STL, 3MF, OBJ) is cut into layers, and one program exposes all of them, as it does
    those of an SL1 archive, of a GDSII file if --layer is a thickness, and of a drawing for each layer,
    named by a pattern in quotes. Options that are not given come from a laserpath.toml beside the design.
    """
    with Interrupts() as interrupts:
        from laserpath.physics import optics

        folder = check_folder(given["output"])
        if given["save_project"] and (folder / project.NAME).exists():
            raise InputError(f"{str(folder / project.NAME)!r} is there already, and would be lost")
        file, values = inputs(design, given)
        if not is_part(file, values):
            check_parts(file, given, values)
        process, settings = request.process_and_settings_of(values)
        talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
        talk.more(f"spot {optics.fwhm(process.spot):g} mm; {process.resin.name}; {process.machine.name}")
        join_cluster(context, given["scheduler"], talk)
        _check_printed(file, given, values)
        job = Job(file, given, values, process, settings, folder, talk, interrupts.check, interrupts.kept)
        with progress.meter(hidden=given["quiet"]) as meter:
            interrupts.show_on(meter)
            made = _made(job, progress.of_one(meter, interrupts.on_progress), meter)
    talk.warn(*made.warnings)
    if not given["printed"]:
        talk.tell(*show.ages(process, date.today()))
    if given["json"]:
        click.echo(show.json_of(made.as_json()))
    elif not given["quiet"]:
        made.summary()
    end_if_missed(context, made.missed)


def _made(job: Job, listen: Callable[[Progress], None], meter: progress.Meter) -> Made:
    """Plan a part, greys, colours, layers or a drawing, and write the files."""
    if is_part(job.file, job.values):
        return plan_sliced(job, meter)
    if job.values.get("grey"):
        return plan_grey(job, listen, meter)
    if in_parts(job.values):
        return plan_parts(job, meter)
    return _plan(job, listen, meter)


def _plan(job: Job, listen: Callable[[Progress], None], meter: progress.Meter) -> Made:
    """Plan a drawing and write its files."""
    frame, save_project = job.given["frame"], job.given["save_project"]
    import laserpath
    from laserpath.base.compute.workers import release

    meter.name = f"reading {Path(job.file).name}"
    read = designs_of(job.file, job.values, job.process)
    (one,) = request.planned_parts(job.values, job.process, job.settings, read)
    drawn = one.design
    job.check_places(drawn.name)
    job.talk.tell(show.part_in_short(one, job.process, job.settings))
    job.talk.warn(*drawn.warnings)
    job.talk.tell(*show.placing(*one))
    one, learnt = _after_print(one, job, meter)
    progress.expect(*one, job.talk, meter, sensitivity=job.given["sensitivity"])
    planned = laserpath.plan(*one, progress=listen)
    planned = replace(planned, notes=(*planned.notes, *learnt))
    job.talk.more(f"the optimiser {planned.solution.result}")
    job.check()
    meter.writing()
    if not job.given["sensitivity"]:
        release()  # the workers end while the page is drawn
    written, untold = planned.write(job.folder, frame=frame, project=save_project), ""
    if job.given["sensitivity"] and not planned.solution.stopped:
        planned, untold = _with_sensitivity(planned, job, listen, meter)
    warnings = (*show.warnings(planned, frame=frame), *([untold] if untold else ()))
    return Made(
        warnings,
        as_json=lambda: show.content(planned, written, warnings),
        summary=lambda: show.summary(planned, written),
        missed=show.tolerance_missed(planned),
    )


_OF_PRINT = ("printed_program", "printed_pixel", "printed_marks")


def _check_printed(file: str, given: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse a photograph of what has no single program of edges, and its options without one."""
    idle = [name for name in _OF_PRINT if given[name]]
    if idle and not given["printed"]:
        raise InputError(f"--{idle[0].replace('_', '-')} needs --printed with it, the photograph")
    if given["printed"] and (is_part(file, values) or values.get("grey") or in_parts(values)):
        raise InputError(
            "--printed compares the edges of one program with its photograph: choose one of the colours or "
            "layers; parts and grey images have none"
        )


def _after_print(one: PlannedPart, job: Job, meter: Meter) -> tuple[PlannedPart, tuple[str, ...]]:
    """The design with the spot that a photograph of its last print has shown; and what that is, if any."""
    given = job.given
    if not given["printed"]:
        return one, ()
    import laserpath
    from laserpath.base import limits
    from laserpath.calibration.photographs import read_photograph
    from laserpath.design.alignment import marks_of

    photo, name = Path(given["printed"]), one.design.name
    program = Path(given["printed_program"] or job.folder / f"{name}.gcode")
    meter.name = f"comparing {photo.name} with {program.name}"
    if not program.exists():
        raise InputError(
            f"{program} is missing, the program of the print: give it by --printed-program, or with -o the "
            "folder that has it"
        )
    text = limits.content(program, "program").decode("utf-8", "surrogateescape")
    head = project.in_head(text, program)
    process = request.process_of(_of_process(head.values)) if head else one.process
    data = limits.content(photo, "photograph")
    digest = hashlib.sha256(data).hexdigest()[:12]
    if digest in text:
        raise InputError(
            f"{program} makes up for {photo} already: print it and photograph that, or name by "
            "--printed-program the program that was printed"
        )
    simulated = laserpath.simulate(program, process, one.design, one.settings)
    try:
        fit = laserpath.fit_photograph(
            simulated, read_photograph(data), marks_of(given["printed_marks"]), given["printed_pixel"]
        )
    except InputError as error:
        raise InputError(f"{photo}: {error}") from None
    job.talk.tell(*fit.sentences())
    design = replace(one.design, source=(*one.design.source, f"after its print in {photo.name}, {digest}"))
    line = f"{date.today().isoformat()} after the print in {photo.name}"
    spot = replace(fit.spot, calibrated=f"{fit.spot.calibrated}\n{line}".strip())
    return one._replace(design=design, process=replace(one.process, spot=spot)), fit.sentences()


def _of_process(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of machine, resin and spot."""
    names = {option.name for option in known.OPTIONS["Machine, resin, spot"]}
    return {name: value for name, value in values.items() if name in names}


def _with_sensitivity(
    planned: Plan, job: Job, listen: Callable[[Progress], None], meter: progress.Meter
) -> tuple[Plan, str]:
    """The written plan with its sensitivity, also in its files; or as it is, and a sentence that says why."""
    import laserpath

    job.kept()
    try:
        found = replace(planned, sensitivity=laserpath.sensitivity(planned, listen))
        meter.writing()
        found.write(job.folder, frame=job.given["frame"], project=job.given["save_project"])
    except InputError as error:
        return planned, f"the plan is written without its sensitivity: {error}"
    except Stopped:
        return planned, "the plan is written without its sensitivity, which Ctrl-C has stopped"
    return found, ""


def inputs(design: str | None, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The design's file, and the options; the project file gives those that are missing."""
    chosen = {name: value for name, value in given.items() if value is not None and value != ()}
    saved = project.load(given["project"]) if given["project"] else project.beside(design)
    file = design or (str(saved.design) if saved and saved.design else None)
    if file is None:
        reason = f"{saved.path} names no design" if saved else f"there is no {project.NAME} here"
        raise click.UsageError(f"Which design? None is given, and {reason}.")
    if saved is None:
        return file, chosen
    if not given["quiet"]:
        click.echo(f"laserpath: with the settings of {saved.path}", err=True)
    return file, request.over(saved.of(file), chosen)

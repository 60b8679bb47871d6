"""`laserpath calibrate`: parse, lay out, report, write; `laserpath fit`: read, fit, report, write.

`fit --printed` fits a photograph of a print to the commanded image. `matrix` is a chart of one's own design.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from laserpath.base import limits
from laserpath.base.errors import InputError, figure
from laserpath.base.quantities import DOSE, LENGTH, NUMBER, SPEED, Units
from laserpath.cli import show
from laserpath.cli.ending import Interrupts, end_if_missed
from laserpath.cli.grouped import GroupedCommand, Options, Parsed, options
from laserpath.cli.options import CAUTION, DESIGN, FILES, LIMITS, OUTPUT, PLAN, PROCESS
from laserpath.config import request
from laserpath.config.values import Quantity, Series

if TYPE_CHECKING:
    from laserpath.calibration import Chart, Fit, FocusFit, MechanicsFit, PrintFit
    from laserpath.planning import DoseMatrix


LINE_ENERGY: Units = {"mJ/mm": Fraction(1), "uJ/mm": Fraction(1, 1000), "J/m": Fraction(1)}


def _length(unit: str = "um") -> Parsed:
    """A length, as mm."""
    return Parsed(Quantity(LENGTH, unit), "length")


def _line_energy() -> Parsed:
    """An energy per length, as mJ/mm."""
    return Parsed(Quantity(LINE_ENERGY, "mJ/mm"), "line energy")


_CHART: Options = {
    "Chart": {
        "--around": {
            "type": Parsed(Quantity(DOSE, "mJ/cm2"), "dose"),
            "metavar": "DOSE",
            "help": "Narrow the chart to around a roughly known critical dose, mJ/cm2  [a wide chart]",
        },
        "--from": {
            "type": _line_energy(),
            "metavar": "ENERGY",
            "help": "Lowest line energy (power/speed), mJ/mm; needs --to",
        },
        "--to": {
            "type": _line_energy(),
            "metavar": "ENERGY",
            "help": "Highest line energy, mJ/mm; needs --from",
        },
        "--powers": {
            "type": click.IntRange(2, 12),
            "default": 6,
            "metavar": "N",
            "help": "Number of powers, one row of lines each  [6]",
        },
        "--speeds": {
            "type": click.IntRange(2, 12),
            "default": 8,
            "metavar": "N",
            "help": "Number of speeds, one column of lines each  [8]",
        },
        "--focus": {
            "type": Parsed(Series(LENGTH, "mm"), "focus"),
            "metavar": "LOW:HIGH:N",
            "help": "A series over Z instead, for the best focus and its depth: lines at each height, "
            "-0.5:0.5:9mm from the focus of the profile; the machine needs z_travel_mm",
        },
        "--name": {"metavar": "NAME", "help": "File name without its suffix  [chart, or focus]"},
        "--decimal": {
            "type": click.Choice(["point", "comma"]),
            "default": "point",
            "help": "Decimal separator of your spreadsheet; with comma, semicolons separate columns  [point]",
        },
    }
}

_CALIBRATE_EPILOG = """\b
Examples:
  laserpath calibrate --machine my-laser.toml -o chart
  laserpath calibrate --machine my-laser.toml --spot-fwhm 80um --around 35
  laserpath calibrate --from 0.002 --to 2mJ/mm --powers 4
  laserpath calibrate --focus -0.5:0.5:9mm --machine my-laser.toml

\b
By default, line energies run from 1/16 to 256 times what the resin's profile predicts for a line to cure,
with --focus from 1 to 32 times.
Measure the chart, fill in NAME.csv, then run `laserpath fit NAME.csv`."""


@click.command(cls=GroupedCommand, epilog=_CALIBRATE_EPILOG + CAUTION)
@options(OUTPUT, _CHART, PROCESS, LIMITS)
def calibrate(**given: Any) -> None:
    """Write a test chart that measures spot, critical dose, penetration depth and reciprocity.

    The chart has lines of many powers and speeds, dots and wedges. Writes NAME.gcode for the machine,
    NAME.svg, a map of the chart, and NAME.csv, the sheet for your measurements. With --focus the chart has
    lines at several heights instead, for the best focus and the depth of focus.
    """
    from laserpath import calibration
    from laserpath.base.files import check_folder, check_places

    folder = check_folder(given["output"])
    series = given["focus"] is not None
    name = plain_name(given["name"] or ("focus" if series else "chart"))
    check_places(folder / f"{name}.{end}" for end in ("gcode", "svg", "csv"))
    if series:
        _refuse_others(click.get_current_context(), ("--powers", "--speeds"), "a chart of spot and resin")
    low, high = given["from"], given["to"]
    if (low is None) != (high is None):
        raise click.UsageError(
            f"--{'from' if high is None else 'to'} needs --{'to' if high is None else 'from'}."
        )
    with show.busy("laying out", hidden=given["quiet"]):
        process, energies = request.process_of(given), None if low is None else (low, high)
        if series:
            chart = calibration.focus_chart(
                process, given["focus"], around=given["around"], energies=energies
            )
        else:
            chart = calibration.chart(
                process, around=given["around"], energies=energies, powers=given["powers"],
                speeds=given["speeds"],
            )  # fmt: skip
    talk = show.Talk(quiet=given["quiet"] or given["json"], verbose=given["verbose"])
    talk.tell(_in_short(chart))
    warnings = (*chart.notes, *chart.findings())
    talk.warn(*warnings)
    written = chart.write(folder, name=name, decimal=given["decimal"])
    if given["json"]:
        click.echo(show.json_of(_chart_json(chart, written, warnings)))
    elif not given["quiet"]:
        click.echo("wrote " + ", ".join(map(str, written)))


_KEPT = ("origin", "offset", "align", "align_fit", "grey")
"""Options of a design that say nothing here: the copies are side by side, from the work zero on."""
_MATRIX: Options = {
    "Matrix": {
        "--dose": {
            "type": Parsed(Series(NUMBER, ""), "dose"),
            "metavar": "LOW:HIGH:N",
            "default": "0.8:1.2:5",
            "help": "Doses of the columns, relative to the plan's: from, to and how many, or a list: "
            "0.8,1,1.3  [0.8:1.2:5]",
        },
        "--focus": {
            "type": Parsed(Series(LENGTH, "mm"), "focus"),
            "metavar": "LOW:HIGH:N",
            "default": "0",
            "help": "Z of the rows: -0.1:0.1:3mm; the machine's profile must have z_travel_mm  [0]",
        },
        "--decimal": _CHART["Chart"]["--decimal"],
        "--project": FILES["Output"]["--project"],
    },
    "Design": {
        name: row for name, row in DESIGN["Design"].items()
        if name.removeprefix("--").replace("-", "_") not in _KEPT
    },
    "Plan": {name: row for name, row in PLAN["Plan"].items() if name != "--report"},
}  # fmt: skip

_MATRIX_EPILOG = """\b
Examples:
  laserpath matrix design.svg --machine my-laser.toml
  laserpath matrix design.svg --dose 0.6:1.6:6 -o out
  laserpath matrix logo.svg --dose 0.8,1,1.25 --focus -0.1:0.1:3mm --machine my-laser.toml

\b
If the copy of dose f prints right, the critical dose is f times the one that you planned with. Below
each copy are three lines: `laserpath fit DESIGN.matrix.csv` takes their widths.

\b
Exit codes: 0 success; 2 bad input, nothing written; 3 files written, but --max-epe is not met;
130 interrupted, nothing written."""


@click.command(cls=GroupedCommand, epilog=_MATRIX_EPILOG + CAUTION)
@click.argument("design", metavar="DESIGN", type=click.Path())
@options(OUTPUT, _MATRIX, PROCESS, LIMITS)
@click.pass_context
def matrix(context: click.Context, /, design: str, **given: Any) -> None:
    """Repeat DESIGN in a grid, a dose for each column and a focus for each row, to find them by one print.

    The design is planned once. Writes DESIGN.matrix.gcode, a drawing of it, DESIGN.matrix.svg, and the
    sheet to fill in, DESIGN.matrix.csv, or one for each row.
    """
    from laserpath.base.files import check_folder, check_places

    with Interrupts() as interrupts:
        import laserpath
        from laserpath.cli import plan, progress
        from laserpath.planning import forecast_matrix, matrix_paths

        folder = check_folder(given["output"])
        file, values = plan.inputs(design, given)
        values = {name: value for name, value in values.items() if name not in _KEPT}
        if plan.in_parts(values):
            raise InputError(
                "a matrix is of one drawing: choose one of the --colours with --colour, or of the --layers "
                "with --layer"
            )
        process, settings = request.process_and_settings_of(values)
        talk = show.Talk(quiet=given["quiet"] or given["json"], verbose=given["verbose"])
        with progress.meter(hidden=given["quiet"]) as meter:
            interrupts.show_on(meter)
            meter.name = f"reading {Path(file).name}"
            (drawn,) = plan.designs_of(file, values, process)
            check_places(matrix_paths(drawn.name, len(given["focus"]), folder))
            talk.tell(show.in_short(drawn))
            expected = forecast_matrix(drawn, process, settings, given["dose"], given["focus"])
            meter.expect(expected)
            progress.tell_expected(expected, talk)
            listen = progress.of_one(meter, interrupts.on_progress)
            made = laserpath.plan_matrix(
                drawn, process, settings, doses=given["dose"], focus=given["focus"], progress=listen
            )
            interrupts.check()
        written = made.write(folder, decimal=given["decimal"])
    warnings = tuple(dict.fromkeys((*drawn.warnings, *made.plan.report.warnings)))
    talk.warn(*warnings)
    if given["json"]:
        click.echo(show.json_of(_matrix_json(made, written, warnings)))
    elif not given["quiet"]:
        click.echo(_matrix_in_short(made))
        click.echo("wrote " + ", ".join(map(str, written)))
    end_if_missed(context, show.tolerance_missed(made.plan))


def _matrix_in_short(made: DoseMatrix) -> str:
    width, height = made.size
    rows = f", {len(made.focus)} rows" if len(made.focus) > 1 else ""
    return (
        f"matrix: {figure(width, 4)} × {figure(height, 4)} mm, doses "
        f"{', '.join(f'{dose:g}' for dose in made.doses)}{rows}, {made.write_time:.0f} s to write; "
        f"the plan: {made.plan.verdict[1]}"
    )


def _matrix_json(made: DoseMatrix, written: tuple[Path, ...], warnings: tuple[str, ...]) -> dict[str, Any]:
    return {
        "design": made.plan.design.name,
        "files": [str(path) for path in written],
        "doses": made.doses.tolist(),
        "executed": made.executed.tolist(),
        "focus_mm": made.focus.tolist(),
        "size_mm": made.size,
        "write_time_s": made.write_time,
        "within_tolerance": bool(made.plan.within_tolerance),
        "warnings": warnings,
    }


def plain_name(name: str) -> str:
    """`name`, checked to be a plain file name."""
    if not name.strip() or name != Path(name).name:
        raise InputError(f"name {name!r} is not a plain file name")
    return name


def _in_short(chart: Chart) -> str:
    width, height = chart.size
    size = f"{figure(width, 4)} × {figure(height, 4)} mm"
    return f"chart: {size}, {len(chart.items)} items, {chart.write_time:.0f} s to write"


def _chart_json(chart: Chart, written: tuple[Path, ...], warnings: tuple[str, ...]) -> dict[str, Any]:
    low, high = chart.energies
    return {
        "files": [str(path) for path in written],
        "size_mm": chart.size,
        "items": len(chart.items),
        "write_time_s": chart.write_time,
        "line_energy_mJ_per_mm" if chart.process.resin.order == 1 else "line_energy": [low, high],
        "warnings": warnings,
    }


_NAMES = {
    "fwhm": ("spot's FWHM", 1000.0, "µm"),
    "contrast": ("contrast", 1.0, ""),
    "gamma": ("gamma", 1.0, ""),
    "critical_dose": ("critical dose, 1: that of a wide area", 1.0, ""),
}


def fit_printed(folder: Path, name: str, given: dict[str, Any], talk: show.Talk) -> None:
    """Read both images, fit, report, and write the profiles of spot and resin."""
    from laserpath import calibration
    from laserpath.base.files import write_all
    from laserpath.config import profiles

    missing = [key for key in ("commanded", "pixel") if given[key] is None]
    if missing:
        raise InputError(f"--printed needs --{missing[0]} with it")
    photo, mask = _image(given["printed"]), _image(given["commanded"])
    with show.busy("registering", hidden=given["quiet"]):
        result = calibration.fit_print(photo, mask, given["pixel"], printed_pixel=given["printed_pixel"])
    base = profiles.resin(given["resin"] or profiles.DEFAULTS["resin"])
    photograph = Path(given["printed"]).name
    line = f"{date.today().isoformat()} {photograph}: the blur of a print"
    known = _calibrated({"spot": line}, folder, name)
    texts = calibration.print_profiles(result, photograph, base, name, known["spot"])
    written = write_all({folder / place: text for place, text in texts.items()})
    talk.warn(*result.warnings)
    if given["json"]:
        click.echo(show.json_of(_printed_json(result, written)))
    elif not given["quiet"]:
        click.echo(_printed_table(result))
        click.echo("wrote " + ", ".join(map(str, written)))


def _image(file: str) -> Any:
    """The darkness of an image file, (rows, columns), 0 white … 1 black, row 0 at the top."""
    from laserpath.design import content
    from laserpath.design.image import ink

    try:
        return ink(content(Path(file)))[0][::-1]
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _printed_table(result: PrintFit) -> str:
    lines = []
    for estimate in result.estimates:
        label, factor, unit = _NAMES[estimate.name]
        value, low, high = (factor * v for v in (estimate.value, estimate.low, estimate.high))
        lines.append(
            f"{label}: {figure(value, 4)} {unit}".rstrip()
            + f", 95 % from {figure(low, 4)} to {figure(high, 4)}"
        )
    x, y = (1000 * v for v in result.shift)
    lines.append(
        f"the print lies {figure(x)} µm right and {figure(y)} µm up, turned by {figure(result.turn, 2)}°"
    )
    lines.append(f"{figure(100 * result.explained)} % of what the image shows is explained")
    return "\n".join(lines)


def _printed_json(result: PrintFit, written: tuple[Path, ...]) -> dict[str, Any]:
    return {
        "files": [str(path) for path in written],
        "estimates": [
            {"name": e.name, "value": e.value, "low": e.low, "high": e.high} for e in result.estimates
        ],
        "shift_mm": list(result.shift),
        "turn_deg": result.turn,
        "scale": result.scale,
        "explained": result.explained,
        "warnings": list(result.warnings),
    }


_FIT: Options = {
    "What to fit": {
        "--spot": {
            "type": click.Choice(["auto", "airy", "gaussian", "flat-top"]),
            "default": "auto",
            "help": "Spot shape; auto: the one that the sizes tell  [auto]",
        },
        "--spot-fwhm": {
            "type": _length("mm"),
            "metavar": "LENGTH",
            "help": "Spot FWHM, if known; it is not fitted then: 80um",
        },
        "--elliptical": {
            "is_flag": True,
            "default": None,
            "help": "Fit separate widths along x and y; needs lines in both directions  [if they differ]",
        },
        "--robust": {"is_flag": True, "help": "Give outliers less weight"},
        "--speed": {
            "type": Parsed(Quantity(SPEED, "mm/s"), "speed"),
            "metavar": "SPEED",
            "help": "Writing speed to give the doses for, where reciprocity fails: 20, 1200mm/min  "
            "[the mean of the measured lines]",
        },
        "--width-error": {
            "type": _length(),
            "metavar": "LENGTH",
            "help": "Standard deviation of a measured width, um; then chi2 is reported  [from the scatter]",
        },
        "--depth-error": {
            "type": _length(),
            "metavar": "LENGTH",
            "help": "Standard deviation of a measured depth, um  [from the scatter]",
        },
    },
    "Profiles": {
        "--name": {"metavar": "NAME", "help": "Name of the profiles and of the resin  [that of FILE]"},
        "--layer": {
            "type": _length(),
            "metavar": "LENGTH",
            "help": "Layer thickness, um: take the critical dose from the working curve at that depth  "
            "[from the line edges]",
        },
        "--machine": {
            "metavar": "NAME|FILE",
            "help": "Profile of the chart's machine; NAME.machine.toml becomes it with what was measured",
        },
        "--resin": {
            "metavar": "NAME|FILE",
            "help": "Profile to take tone, contrast and over_dose from  [generic-405]",
        },
    },
}

_PRINTED: Options = {
    "A photograph instead of FILE": {
        "--printed": {"metavar": "IMAGE", "help": "Photograph of the print: PNG or TIFF"},
        "--commanded": {"metavar": "IMAGE", "help": "Commanded image: black is full dose"},
        "--pixel": {
            "type": _length("mm"),
            "metavar": "LENGTH",
            "help": "Pixel size of the commanded image: 0.1um, 10um",
        },
        "--printed-pixel": {
            "type": _length("mm"),
            "metavar": "LENGTH",
            "help": "Approximate pixel size of the photograph  [that of the commanded image]",
        },
    }
}

_CHART_ONLY = (*_FIT["What to fit"], "--layer", "--machine")
_PRINTED_ONLY = {
    name: row for name, row in _PRINTED["A photograph instead of FILE"].items() if name != "--printed"
}

_FIT_EPILOG = """\b
Examples:
  laserpath fit chart.csv
  laserpath fit chart.csv --name my-resin -o profiles
  laserpath fit chart.csv --spot gaussian --elliptical
  laserpath fit chart.csv --layer 50um --speed 20mm/s
  laserpath fit chart.csv --machine my-laser.toml
  laserpath fit --printed photo.png --commanded mask.png --pixel 10um --name my-resin
  laserpath plan design.svg --resin my-resin.resin.toml --spot my-resin.spot.toml

\b
FILE is the filled-in sheet of `laserpath calibrate`, or any CSV with at least the columns
power_mW, speed_mm_per_s and width_um."""


@click.command(cls=GroupedCommand, epilog=_FIT_EPILOG)
@click.argument("file", metavar="[FILE]", type=click.Path(path_type=Path), required=False)
@options(OUTPUT, _FIT, _PRINTED, LIMITS)
def fit(file: Path | None, **given: Any) -> None:
    """Fit spot and resin to FILE, the measurements of a chart; or blur and contrast to a photograph.

    Writes the profiles NAME.spot.toml and NAME.resin.toml for `laserpath plan`, and for a chart NAME.fit.svg,
    a plot of the fit and the data.
    """
    if (file is None) == (given["printed"] is None):
        raise click.UsageError("Give the FILE of a chart, or a photograph by --printed.")
    talk = show.Talk(quiet=given["quiet"], verbose=given["verbose"])
    others, source = (_CHART_ONLY, "a chart") if file is None else (_PRINTED_ONLY, "a photograph")
    _refuse_others(click.get_current_context(), others, source)
    if file is None:
        from laserpath.base.files import check_folder

        folder = check_folder(given["output"])
        name = plain_name(Path(given["printed"]).stem if given["name"] is None else given["name"])
        fit_printed(folder, name, given, talk)
        return
    _fit_chart(file, given, talk)


def _refuse_others(context: click.Context, others: Iterable[str], source: str) -> None:
    """Refuse options that would be ignored, as they are for another source."""
    for option in others:
        name = option.removeprefix("--").replace("-", "_")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} is for {source}.")


def _fit_chart(file: Path, given: dict[str, Any], talk: show.Talk) -> None:
    from laserpath import calibration
    from laserpath.base.files import check_folder, write_all
    from laserpath.config import profiles

    folder = check_folder(given["output"])
    sheet = limits.content(file, "measurements", limits.TABLE_BYTES)
    measured = calibration.read_sheet(sheet, name=f"measurements {str(file)!r}")
    name = plain_name(file.stem if given["name"] is None else given["name"])
    base = profiles.resin(given["resin"] or profiles.DEFAULTS["resin"])
    keys = ("spot", "elliptical", "robust", "speed", "width_error", "depth_error")
    choices = calibration.Options(fwhm=given["spot_fwhm"], **{key: given[key] for key in keys})
    with show.busy("fitting", hidden=given["quiet"]):
        mechanics = calibration.fit_mechanics(measured)
        focus = calibration.fit_focus(measured, robust=given["robust"])
        # Pairs alone tell of the machine, and nothing of spot and resin; in a focus series each row has
        # another spot.
        alone = focus is not None or (mechanics is not None and not measured.sized)
        result = None if alone else calibration.fit(measured, choices)
    texts: dict[str, str] = {}
    if focus is not None:
        _refuse_others(click.get_current_context(), _NOT_OF_FOCUS, "a chart of spot and resin")
        line = f"{date.today().isoformat()} {file.name}: a series over Z; {'; '.join(focus.told())}"
        known = _calibrated({"spot": line}, folder, name)
        texts[f"{name}.spot.toml"] = calibration.focus_profile(focus, file.name, known["spot"])
    if result is not None:
        texts = calibration.files_of(
            result, measured, name=name, source=file.name, base=base, layer=given["layer"],
            calibrated=_calibrated(calibration.entries(result, file.name, date.today()), folder, name),
        )  # fmt: skip
    if given["machine"] is not None:
        machine = profiles.machine(given["machine"])
        machine = machine if result is None else result.machine(machine)
        machine = machine if mechanics is None else mechanics.machine(machine)
        machine = machine if focus is None else focus.machine(machine)
        texts[f"{name}.machine.toml"] = calibration.machine_profile(machine, mechanics, file.name, focus)
    written = write_all({folder / place: text for place, text in texts.items()})
    if given["json"]:
        click.echo(show.json_of(_fit_json(result, mechanics, focus, written)))
    elif not given["quiet"]:
        if result is not None:
            click.echo(_fit_table(result))
        told = [result.notes if result else (), *(one.told() for one in (mechanics, focus) if one)]
        for sentence in (sentence for some in told for sentence in some):
            click.echo(f"- {sentence}")
        if (mechanics or focus) and given["machine"] is None:
            click.echo("- put them into the machine's profile: fit again with --machine FILE")
        click.echo("wrote " + (", ".join(map(str, written)) or "nothing"))
    talk.warn(*(result.warnings if result else ()), *(focus.warnings if focus else ()))


_NOT_OF_FOCUS = (
    "--spot", "--spot-fwhm", "--elliptical", "--speed", "--width-error", "--depth-error", "--layer",
    "--resin",
)  # fmt: skip
"""Options of `fit` that a focus series has no use for."""


def _calibrated(entries: dict[str, str], folder: Path, name: str) -> dict[str, str]:
    """When each profile was measured: what is said in the file that is replaced, and the new line."""
    from laserpath.config import profiles

    found = {}
    for kind, line in entries.items():
        file, before = folder / f"{name}.{kind}.toml", ""
        with suppress(InputError):  # a file that cannot be read is replaced, too
            before = profiles.calibrated(kind, file) if file.exists() else ""
        found[kind] = f"{before}\n{line}".strip()
    return found


def _rows(result: Fit) -> list[tuple[str, float, float, float, str]]:
    from laserpath.calibration import in_words

    return [in_words(estimate, result.order) for estimate in result.estimates]


def _fit_table(result: Fit) -> str:
    """One line for each estimate, and the scatter of the measured sizes."""
    from laserpath.calibration import PLURAL, supported

    rows = [["", "value", "95 % from", "to", ""]]
    for estimate, (name, *_, unit) in zip(result.estimates, _rows(result), strict=True):
        rows.append([name, *supported(estimate, result.order), unit])
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(row[k].rjust(widths[k]) for k in (1, 2, 3)), row[4]]).rstrip()
        for row in rows
    ]
    scatter = ", ".join(f"{figure(s * 1000)} µm of {PLURAL[name]}" for name, s in result.noise.items())
    if scatter:
        lines.append(f"one measurement scatters by {scatter}")
    if result.chi2 is not None:
        lines.append(
            f"chi² {figure(result.chi2, 4)} with {figure(result.freedom or 0)} degrees of freedom, "
            f"p = {result.p_value:.2g}"
        )
    return "\n".join(lines)


def _fit_json(
    result: Fit | None, mechanics: MechanicsFit | None, focus: FocusFit | None, written: tuple[Path, ...]
) -> dict[str, Any]:
    return {
        "files": [str(path) for path in written],
        "mechanics": None if mechanics is None else mechanics.as_dict(),
        "focus": None if focus is None else focus.as_dict(),
        **({} if result is None else _fit_content(result)),
    }


def _fit_content(result: Fit) -> dict[str, Any]:
    return {
        "estimates": [
            {"name": e.name, "unit": row[4], "value": row[1], "low": row[2], "high": row[3]}
            for e, row in zip(result.estimates, _rows(result), strict=True)
        ],
        "spot": result.profile,
        "shapes": result.shapes,
        "speed_mm_per_s": result.physics.speed,
        "scatter_um": {name: sigma * 1000 for name, sigma in result.noise.items()},
        "chi2": result.chi2,
        "degrees_of_freedom": result.freedom if result.chi2 is not None else None,
        "outliers": result.outliers,
        "sizes": [
            {"id": r.id, "what": r.what, "measured_um": r.measured * 1000, "fitted_um": r.fitted * 1000,
             "critical_doses": r.excess, "used": r.used}
            for r in result.residuals
        ],
        "notes": result.notes,
        "warnings": result.warnings,
    }  # fmt: skip

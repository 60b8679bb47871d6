"""`laserpath fit`: read, fit, report, write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from laserpath.base import limits
from laserpath.base.errors import figure
from laserpath.cli import amounts, show
from laserpath.cli.calibrate import plain_name
from laserpath.cli.grouped import GroupedCommand, Options, options
from laserpath.cli.options import LIMITS, OUTPUT
from laserpath.cli.printed import fit_printed

if TYPE_CHECKING:
    from laserpath.calibration import Fit

_FIT: Options = {
    "What to fit": {
        "--spot": {
            "type": click.Choice(["airy", "gaussian"]),
            "default": "airy",
            "help": "Spot shape  [airy]",
        },
        "--spot-fwhm": {
            "type": amounts.length("mm"),
            "metavar": "LENGTH",
            "help": "Spot FWHM, if known; it is not fitted then: 80um",
        },
        "--elliptical": {
            "is_flag": True,
            "help": "Fit separate widths along x and y; needs lines in both directions",
        },
        "--robust": {"is_flag": True, "help": "Give outliers less weight"},
        "--speed": {
            "type": amounts.speed(),
            "metavar": "SPEED",
            "help": "Writing speed to give the doses for, where reciprocity fails: 20, 1200mm/min  "
            "[the mean of the measured lines]",
        },
        "--width-error": {
            "type": amounts.length(),
            "metavar": "LENGTH",
            "help": "Standard deviation of a measured width, um; then chi2 is reported  [from the scatter]",
        },
        "--depth-error": {
            "type": amounts.length(),
            "metavar": "LENGTH",
            "help": "Standard deviation of a measured depth, um  [from the scatter]",
        },
    },
    "Profiles": {
        "--name": {"metavar": "NAME", "help": "Name of the profiles and of the resin  [that of FILE]"},
        "--layer": {
            "type": amounts.length(),
            "metavar": "LENGTH",
            "help": "Layer thickness, um: take the critical dose from the working curve at that depth  "
            "[from the line edges]",
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
            "type": amounts.length("mm"),
            "metavar": "LENGTH",
            "help": "Pixel size of the commanded image: 0.1um, 10um",
        },
        "--printed-pixel": {
            "type": amounts.length("mm"),
            "metavar": "LENGTH",
            "help": "Approximate pixel size of the photograph  [that of the commanded image]",
        },
    },
}

_CHART_ONLY = (*_FIT["What to fit"], "--layer")
_PRINTED_ONLY = {
    name: row for name, row in _PRINTED["A photograph instead of FILE"].items() if name != "--printed"
}

_EPILOG = """\b
Examples:
  laserpath fit chart.csv
  laserpath fit chart.csv --spot gaussian --name my-resin -o profiles
  laserpath fit chart.csv --layer 50um --speed 20mm/s
  laserpath fit --printed photo.png --commanded mask.png --pixel 10um --name my-resin
  laserpath plan design.svg --resin my-resin.resin.toml --spot my-resin.spot.toml

\b
FILE is the filled-in sheet of `laserpath calibrate`, or any CSV with at least the columns
power_mW, speed_mm_per_s and width_um."""


@click.command(cls=GroupedCommand, epilog=_EPILOG)
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
    _refuse_others(click.get_current_context(), _CHART_ONLY if file is None else _PRINTED_ONLY)
    if file is None:
        from laserpath.base.files import check_folder

        folder = Path(given["output"])
        check_folder(folder)
        name = plain_name(Path(given["printed"]).stem if given["name"] is None else given["name"])
        fit_printed(folder, name, given, talk)
        return
    _fit_chart(file, given, talk)


def _refuse_others(context: click.Context, others: Iterable[str]) -> None:
    """Refuse options that would be ignored: those of a chart with a photograph, and the other way round."""
    for option in others:
        name = option.removeprefix("--").replace("-", "_")
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            source = "a photograph" if option in _PRINTED_ONLY else "a chart"
            raise click.UsageError(f"{option} is for {source}.")


def _fit_chart(file: Path, given: dict[str, Any], talk: show.Talk) -> None:
    from laserpath import calibration
    from laserpath.base.files import check_folder, write_all
    from laserpath.config import profiles

    folder = Path(given["output"])
    check_folder(folder)
    measured = calibration.read_sheet(_bytes(file), name=f"measurements {str(file)!r}")
    name = plain_name(file.stem if given["name"] is None else given["name"])
    base = profiles.resin(given["resin"] or profiles.DEFAULTS["resin"])
    keys = ("spot", "elliptical", "robust", "speed", "width_error", "depth_error")
    choices = calibration.Options(fwhm=given["spot_fwhm"], **{key: given[key] for key in keys})
    with show.busy("fitting", hidden=given["quiet"]):
        result = calibration.fit(measured, choices)
    texts = calibration.files_of(
        result, measured, name=name, source=file.name, base=base, layer=given["layer"]
    )  # fmt: skip
    written = write_all({folder / place: text for place, text in texts.items()})
    if given["json"]:
        click.echo(_as_json(result, written))
    elif not given["quiet"]:
        click.echo(_table(result))
        for sentence in result.notes:
            click.echo(f"- {sentence}")
        click.echo("wrote " + ", ".join(map(str, written)))
    for sentence in result.warnings:
        talk.warn(sentence)


def _bytes(file: Path) -> bytes:
    return limits.content(file, "table_bytes", "measurements")


def _rows(result: Fit) -> list[tuple[str, float, float, float, str]]:
    from laserpath.calibration import in_words

    return [in_words(estimate, result.order) for estimate in result.estimates]


def _table(result: Fit) -> str:
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


def _as_json(result: Fit, written: tuple[Path, ...]) -> str:
    content = {
        "files": [str(path) for path in written],
        "estimates": [
            {"name": e.name, "unit": row[4], "value": row[1], "low": row[2], "high": row[3]}
            for e, row in zip(result.estimates, _rows(result), strict=True)
        ],
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
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

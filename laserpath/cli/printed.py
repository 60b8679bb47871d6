"""`laserpath fit --printed`: fit a photograph of a print to the commanded image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError, figure
from laserpath.cli import show

if TYPE_CHECKING:
    from laserpath.calibration import PrintFit

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
    texts = calibration.print_profiles(result, Path(given["printed"]).name, base, name)
    written = write_all({folder / place: text for place, text in texts.items()})
    for sentence in result.warnings:
        talk.warn(sentence)
    if given["json"]:
        click.echo(_as_json(result, written))
    elif not given["quiet"]:
        click.echo(_table(result))
        click.echo("wrote " + ", ".join(map(str, written)))


def _image(file: str) -> Any:
    """The darkness of an image file, (rows, columns), 0 white … 1 black, row 0 at the top."""
    from laserpath.design import content
    from laserpath.design.image import ink

    try:
        return ink(content(Path(file)))[0][::-1]
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _table(result: PrintFit) -> str:
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


def _as_json(result: PrintFit, written: tuple[Path, ...]) -> str:
    content = {
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
    return json.dumps(content, indent=2, ensure_ascii=False)

"""`laserpath fit --printed`: fit a photograph of a print to the commanded image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from laserpath.base.errors import InputError
from laserpath.cli import show

if TYPE_CHECKING:
    from laserpath.calibration import PrintFit

_NAMES = {
    "fwhm": ("spot's FWHM", 1000.0, "µm"),
    "contrast": ("contrast", 1.0, ""),
    "gamma": ("gamma", 1.0, ""),
    "critical_dose": ("critical dose, 1: that of a wide area", 1.0, ""),
}


def fit_printed(folder: Path, name: str, said: dict[str, Any], talk: show.Talk) -> None:
    """Read both images, fit, report, and write the profiles of spot and resin."""
    from laserpath import calibration
    from laserpath.base.files import write_all
    from laserpath.config import profiles

    missing = [key for key in ("commanded", "pixel") if said[key] is None]
    if missing:
        raise InputError(f"--printed needs --{missing[0]} with it")
    photo, mask = _image(said["printed"]), _image(said["commanded"])
    with show.busy("registering", hidden=said["quiet"]):
        found = calibration.fit_print(photo, mask, said["pixel"], printed_pixel=said["printed_pixel"])
    base = profiles.resin(said["resin"] or profiles.DEFAULTS["resin"])
    texts = calibration.print_profiles(found, Path(said["printed"]).name, base, name)
    written = write_all({folder / place: text for place, text in texts.items()})
    for sentence in found.warnings:
        talk.warn(sentence)
    if said["json"]:
        click.echo(_as_json(found, written))
    elif not said["quiet"]:
        click.echo(_table(found))
        click.echo("wrote " + ", ".join(map(str, written)))


def _image(file: str) -> Any:
    """The darkness of an image file, (rows, columns), 0 white … 1 black, row 0 at the top."""
    from laserpath.design import content
    from laserpath.design.image import ink

    try:
        return ink(content(Path(file)))[0][::-1]
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _table(found: PrintFit) -> str:
    lines = []
    for estimate in found.estimates:
        what, factor, unit = _NAMES[estimate.name]
        value, low, high = (factor * v for v in (estimate.value, estimate.low, estimate.high))
        lines.append(f"{what}: {value:.4g} {unit}".rstrip() + f", 95 % from {low:.4g} to {high:.4g}")
    x, y = (1000 * v for v in found.shift)
    lines.append(f"the print lies {x:.3g} µm right and {y:.3g} µm up, turned by {found.turn:.2g}°")
    lines.append(f"{100 * found.explained:.3g} % of what the image shows is explained")
    return "\n".join(lines)


def _as_json(found: PrintFit, written: tuple[Path, ...]) -> str:
    content = {
        "files": [str(path) for path in written],
        "estimates": [
            {"name": e.name, "value": e.value, "low": e.low, "high": e.high} for e in found.estimates
        ],
        "shift_mm": list(found.shift),
        "turn_deg": found.turn,
        "scale": found.scale,
        "explained": found.explained,
        "warnings": list(found.warnings),
    }
    return json.dumps(content, indent=2, ensure_ascii=False)

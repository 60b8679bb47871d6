"""What a page was made with: settings, spot, resin, machine and design field by field, and the versions."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import fields
from importlib import metadata
from typing import Any

import gcode
from laserpath import optics
from laserpath.base.errors import figure
from laserpath.base.quantities import decimals
from laserpath.report.toolpath_svg import printable
from laserpath.types import Design, Process, Settings

Record = tuple[str, list[tuple[str, str]]]
"""A title, and the (name, value) pairs under it."""

_OF_SOME = {"junction_deviation", "square_corner_velocity", "minimum_cruise_ratio", "baud"}
"""Fields of a machine that only some controllers have."""


def records(process: Process, settings: Settings | None, design: Design | None) -> list[Record]:
    """The records that are needed to plan or expose the same again; settings: None if nothing was planned."""
    nouns: list[tuple[str, Any]] = [
        ("Settings", settings),
        ("Spot", process.spot),
        ("Resin", process.resin),
        ("Machine", process.machine),
    ]
    firmware = gcode.dialect(process.machine.dialect).firmware
    unused = _OF_SOME - {*firmware.corner, *(("baud",) if firmware.serial else ())}
    return [
        *_design(design, optics.fwhm(process.spot)),
        *(
            (title, [(f.name, _value(getattr(noun, f.name))) for f in fields(noun) if f.name not in unused])
            for title, noun in nouns
            if noun is not None
        ),
    ]


def versions() -> str:
    """The versions of laserpath, Python and the packages that compute."""
    from laserpath import __version__

    parts = [f"laserpath {__version__}", f"Python {platform.python_version()}"]
    parts += [f"{name} {metadata.version(name)}" for name in ("numpy", "shapely", "taichi")]
    return ", ".join(parts)


def _design(design: Design | None, fwhm: float) -> Iterator[Record]:
    if design is None:
        return
    x0, y0, x1, y1 = (f"{value:.{decimals(fwhm)}f}" for value in design.bounds)
    shapes = len(design.area.geoms)
    items = [
        ("name", printable(design.name)),
        ("place", f"x {x0} to {x1}, y {y0} to {y1}"),
        ("area", f"{figure(design.area.area, 4)} mm² in {shapes} part{'s' * (shapes != 1)}"),
        *([("source", "; ".join(map(printable, design.source)))] if design.source else []),
    ]
    yield "Design", items


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return " × ".join(_value(v) for v in value)
    if isinstance(value, float):
        return f"{value:.10g}"
    return "none" if value is None else printable(str(value))

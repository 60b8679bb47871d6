"""The comment lines at the head of a program: how it was made, and what to beware of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import shapely

import gcode
from laserpath.base.quantities import decimals
from laserpath.config import project
from laserpath.machine.heights import said
from laserpath.machine.program import EYE_SAFETY
from laserpath.physics import optics
from laserpath.physics.dose.uneven import range_of
from laserpath.types import Design, Machine, Process, Resin, Settings, Spot


def header(
    design: Design, process: Process, settings: Settings, warnings: Iterable[str] = (), parts: str = ""
) -> tuple[str, ...]:
    """The header: version, machine, spot, resin, settings, warnings and project file; one sentence a line.

    parts: a sentence on what the program holds besides the design, or instead of it.
    """
    settings = replace(settings, report="full")  # nothing of the program depends on it
    made = "; ".join((design.name, *design.source))
    text = project.text(design, process, settings)
    return (
        *_machine_of(made, design, design.bounds, process, settings),
        *_own("", process, settings),
        *(f"Warning: {sentence}" for sentence in warnings),
        *([parts] if parts else []),
        project.IN_HEAD,
        *_project(text, gcode.dialect(process.machine.dialect)),
    )


def header_of_parts(
    name: str, parts: Sequence[project.Part], warnings: Iterable[str] = ()
) -> tuple[str, ...]:
    """The header of one program of several colours or layers, with what each has of its own. name: of all."""
    parts = [(design, process, replace(settings, report="full")) for design, process, settings in parts]
    (design, process, settings), names = parts[0], [design.name for design, _, _ in parts]
    bounds = shapely.total_bounds([design.area for design, _, _ in parts])
    return (
        *_machine_of("; ".join((name, *design.source[:1])), design, bounds, process, settings),
        f"In this order: {', '.join(names)}",
        *(line for design, own, how in parts for line in _own(f"{design.name}: ", own, how)),
        *(f"Warning: {sentence}" for sentence in warnings),
        project.IN_HEAD,
        *_project(project.text_of_parts(parts), gcode.dialect(process.machine.dialect)),
    )


def _machine_of(
    made: str, design: Design, bounds: Sequence[float], process: Process, settings: Settings
) -> Iterator[str]:
    """Version, safety, place, machine and spot. made: what the program exposes.  bounds: of that, mm."""
    from laserpath import __version__

    spot, machine = process.spot, process.machine
    x0, y0, x1, y1 = (f"{value:.{decimals(optics.fwhm(spot))}f}" for value in bounds)
    zero = {
        "auto": "where the design was placed",
        "page": "the page's lower-left corner",
        "design": "the design's lower-left corner",
        "centre": "the centre of the design",
        "own": "that of the marks" if design.alignment else "the drawing's own",
    }[settings.origin]
    yield f"laserpath {__version__}: {made}"
    yield from EYE_SAFETY
    yield f"Work zero: {zero}. Exposes x {x0} to {x1} mm, y {y0} to {y1} mm."
    yield from _marks(design)
    yield f"Machine: {machine.name}, {machine.power_max:g} mW at {_full_power(machine)}."
    yield (
        f"Machine limits: {_pair(machine.speed_max)} mm/s, {_pair(machine.acceleration)} mm/s2, "
        f"{_corner(machine)}"
    )
    yield from said(machine)
    yield f"Spot: {_spot(spot)}"


def _own(which: str, process: Process, settings: Settings) -> Iterator[str]:
    """Resin and settings. which: part of a drawing they are of."""
    resin = process.resin
    yield f"{which}Resin: {resin.name}, {resin.tone}, critical dose {_dose(resin)}"
    yield f"{which}Settings: " + ", ".join(f"{name} {value}" for name, value in _settings(settings))


def _marks(design: Design) -> Iterator[str]:
    """What an alignment has fitted, and how far off each mark is."""
    if design.alignment:
        yield "Alignment: " + "; ".join(" ".join(row) for row in design.alignment.figures())
        yield from (f"{mark[:1].upper()}{mark[1:]}: {text}" for mark, text in design.alignment.of_marks())


def _project(text: str, dialect: gcode.Dialect) -> Iterator[str]:
    """The lines of a project file, so short and plain that they stay as they are in comments."""
    return project.narrow(text, min(60, dialect.line_room - len("; ")), dialect.comment_refused)


def _full_power(machine: Machine) -> str:
    """The word for full power in the machine's dialect, and what must be set so that it is one."""
    dialect = gcode.dialect(machine.dialect)
    full_power = dialect.power.format(power=f"{machine.s_max:g}")
    return ", ".join(filter(None, (full_power, dialect.firmware.laser_mode)))


def _corner(machine: Machine) -> str:
    """The parameters that set the speed in corners."""
    return ", ".join(
        f"{name.replace('_', ' ')} {getattr(machine, name):g} {unit}".rstrip()
        for name, unit in gcode.dialect(machine.dialect).firmware.corner.items()
    )


def _dose(resin: Resin) -> str:
    """The critical dose in the unit of its absorption order, in characters that a controller accepts."""
    if resin.order == 1:
        return f"{resin.critical_dose * 100:g} mJ/cm2"
    return f"{resin.critical_dose:g} mW^{resin.order} s/mm^{2 * resin.order}"


def _spot(spot: Spot) -> str:
    """Profile and FWHM, and every other property that is not the default."""
    parts = [spot.profile, f"FWHM {spot.fwhm:g} mm"]
    if spot.measured is not None:
        parts[0] += f" {spot.measured.title}"
    if spot.aspect != 1:
        parts.append(f"{spot.aspect:g} times as long along {spot.angle:g} degrees as across")
    elif spot.angle and not spot.round:
        parts.append(f"turned by {spot.angle:g} degrees")
    if spot.defocus:
        parts.append(f"{spot.defocus:g} mm out of focus at {(spot.wavelength or 0) * 1e6:g} nm")
    if spot.photons != 1:
        parts.append(f"to the power {spot.photons}: as many photons at once")
    if spot.dose_map is not None:
        low, high = (100 * (share - 1) for share in range_of(spot.dose_map))
        parts.append(f"a dose that differs by {low:+.0f} to {high:+.0f} % from place to place")
    return ", ".join(parts)


def _pair(values: tuple[float, float]) -> str:
    return " x ".join(f"{v:g}" for v in values)


def _settings(settings: Settings) -> list[tuple[str, object]]:
    return [(name, getattr(settings, name)) for name in settings.__slots__ if name != "report"]

"""The files of a plan, of a drawing or of greys: program, drawing of the toolpath, report, frame, project.

A program begins with comments: how it was made, and what to beware of (`header`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import shapely

import gcode
from laserpath.base import files
from laserpath.base.compute import workers
from laserpath.base.quantities import decimals
from laserpath.config import project as project_file
from laserpath.machine import convert, framing
from laserpath.machine.heights import said
from laserpath.machine.placement import in_words
from laserpath.machine.program import EYE_SAFETY, MachineProgram
from laserpath.physics import optics
from laserpath.physics.dose.uneven import range_of
from laserpath.report import toolpath_svg
from laserpath.types import Design, Machine, Process, Resin, Settings, Spot, Toolpath

_LONG = 20_000
"""Moves of a path from which a worker makes its drawing; of fewer it is sooner made than sent."""


class Planned:
    """What the files of a plan are made from.

    design: the area to expose.  settings: those in effect.  shipped: the program, read back and executed.
    """

    __slots__ = ()

    design: Design
    process: Process
    settings: Settings
    shipped: MachineProgram

    @property
    def toolpath(self) -> Toolpath:
        """The toolpath as written, parsed back from the G-code."""
        return self.shipped.path

    @property
    def run(self) -> gcode.motion.Executed:
        """The program as the controller executes it."""
        return self.shipped.run

    @property
    def program(self) -> str:
        """The G-code."""
        return self.shipped.text


def paths_of(name: str, folder: str | Path = ".", *, frame: bool, project: bool) -> tuple[Path, ...]:
    """The paths of the files that a plan writes; name: of its design. The program's is the first.

    Other arguments: those of `Plan.write`.
    """
    ends = ("gcode", "toolpath.svg", "report.html", *(("frame.gcode",) if frame else ()))
    places = (*(f"{name}.{end}" for end in ends), *((project_file.NAME,) if project else ()))
    return tuple(Path(folder) / place for place in places)


def paths_of_all(
    name: str, page: str, each: Sequence[str], folder: str | Path = ".", *, frame: bool,
    project: bool = False, joined: bool = False,
) -> tuple[Path, ...]:  # fmt: skip
    """The paths of the files that plans of one drawing, or of a board, write: those of each plan come first.

    name: of the drawing or board.  page: `colours`, `layers` or `board`.  each: names of the designs.
    Other arguments: those of `ColourPlans.write`.
    """
    ends = (f"{page}.html", *(("frame.gcode",) if frame else ()))
    places = [f"{name}.{end}" for end in ends] + [project_file.NAME] * project + [f"{name}.gcode"] * joined
    own = (path for one in each for path in paths_of(one, folder, frame=False, project=False))
    return (*own, *(Path(folder) / place for place in places))


def write_files(
    plan: Planned, name: str, page: Callable[[], str], folder: str | Path, *, frame: bool, project: bool
) -> tuple[Path, ...]:
    """Write the files of a plan, all or none; return their paths. Arguments: those of `files_of`."""
    return files.write_all(files_of(plan, name, page, folder, frame=frame, project=project))


def files_of(
    plan: Planned, name: str, page: Callable[[], str], folder: str | Path, *, frame: bool, project: bool
) -> dict[Path, str]:
    """The texts of NAME.gcode, NAME.toolpath.svg and NAME.report.html by their paths.

    page: makes the report; of a long path a worker that has planned it makes the drawing meanwhile.
    frame: also NAME.frame.gcode, a faint or dark pass around the bounding box.  project: also laserpath.toml.
    """
    machine = plan.process.machine
    sent = convert.as_light(plan.toolpath, machine), plan.design, machine
    shared = workers.running() and len(plan.toolpath) >= _LONG
    drawing = workers.meanwhile(_drawn, sent) if shared else partial(_drawn, sent)
    report = page()
    texts = [plan.program, drawing(), report]
    if frame:
        texts.append(framing.frame(plan.design, plan.process))
    if project:
        texts.append(project_file.text(plan.design, plan.process, plan.settings, folder))
    return dict(zip(paths_of(name, folder, frame=frame, project=project), texts, strict=True))


def _drawn(sent: tuple[Toolpath, Design, Machine]) -> str:
    """The drawing of a path, of light, in a design."""
    return toolpath_svg.draw(*sent)


def header(
    design: Design, process: Process, settings: Settings, warnings: Iterable[str] = (), parts: str = ""
) -> tuple[str, ...]:
    """The header: version, machine, spot, resin, settings, warnings and project file; one sentence a line.

    parts: a sentence on what the program holds besides the design, or instead of it.
    """
    settings = replace(settings, report="full")  # nothing of the program depends on it
    made = "; ".join((design.name, *design.source))
    text = project_file.text(design, process, settings)
    return (
        *_machine_of(made, design, design.bounds, process, settings),
        *_own("", process, settings),
        *(f"Warning: {sentence}" for sentence in warnings),
        *([parts] if parts else []),
        project_file.IN_HEAD,
        *_project(text, gcode.dialect(process.machine.dialect)),
    )


def header_of_parts(
    name: str, parts: Sequence[project_file.Part], warnings: Iterable[str] = ()
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
        project_file.IN_HEAD,
        *_project(project_file.text_of_parts(parts), gcode.dialect(process.machine.dialect)),
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
    if which and (made := in_words(resin)):  # of one design the first line says so
        yield f"{which}{made}"
    names = (name for name in settings.__slots__ if name != "report")
    yield f"{which}Settings: " + ", ".join(f"{name} {getattr(settings, name)}" for name in names)


def _marks(design: Design) -> Iterator[str]:
    """What an alignment has fitted, and how far off each mark is."""
    if design.alignment:
        yield "Alignment: " + "; ".join(" ".join(row) for row in design.alignment.figures())
        yield from (f"{mark[:1].upper()}{mark[1:]}: {text}" for mark, text in design.alignment.of_marks())


def _project(text: str, dialect: gcode.Dialect) -> Iterator[str]:
    """The lines of a project file, so short and plain that they stay as they are in comments."""
    return project_file.narrow(text, min(60, dialect.line_room - len("; ")), dialect.comment_refused)


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

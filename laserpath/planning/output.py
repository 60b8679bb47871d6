"""The files of a plan, of a drawing or of greys: program, drawing of the toolpath, report, frame, project."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from laserpath.base import files
from laserpath.config import project as project_file
from laserpath.machine import convert, framing
from laserpath.report import toolpath_svg
from laserpath.types import Design, Process, Settings, Toolpath


class Planned(Protocol):
    """What the files of a plan are made from."""

    @property
    def design(self) -> Design:
        """The area to expose."""

    @property
    def process(self) -> Process:
        """Spot, resin and machine."""

    @property
    def settings(self) -> Settings:
        """The settings in effect."""

    @property
    def toolpath(self) -> Toolpath:
        """The toolpath as written."""

    @property
    def program(self) -> str:
        """The G-code."""


def write_files(
    plan: Planned, name: str, page: str, folder: str | Path, *, frame: bool, project: bool
) -> tuple[Path, ...]:
    """Write the files of a plan, all or none; return their paths. Arguments: those of `files_of`."""
    return files.write_all(files_of(plan, name, page, folder, frame=frame, project=project))


def files_of(
    plan: Planned, name: str, page: str, folder: str | Path, *, frame: bool, project: bool
) -> dict[Path, str]:
    """The texts of NAME.gcode, NAME.toolpath.svg and NAME.report.html by their paths.

    page: the report.  frame: also NAME.frame.gcode, a low-power pass around the bounding box.
    project: also laserpath.toml.
    """
    machine = plan.process.machine
    texts = {
        "gcode": plan.program,
        "toolpath.svg": toolpath_svg.draw(convert.as_light(plan.toolpath, machine), plan.design, machine),
        "report.html": page,
    }
    if frame:
        texts["frame.gcode"] = framing.frame(plan.design, machine)
    places = {Path(folder) / f"{name}.{end}": text for end, text in texts.items()}
    if project:
        text = project_file.text(plan.design, plan.process, plan.settings, folder)
        places[Path(folder) / project_file.NAME] = text
    return places

"""The files of a plan, of a drawing or of greys: program, drawing of the toolpath, report, frame, project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gcode
from laserpath.base import files
from laserpath.config import project as project_file
from laserpath.machine import convert, framing
from laserpath.machine.program import MachineProgram
from laserpath.report import toolpath_svg
from laserpath.types import Design, Process, Settings, Toolpath


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
    plan: Planned, name: str, page: str, folder: str | Path, *, frame: bool, project: bool
) -> tuple[Path, ...]:
    """Write the files of a plan, all or none; return their paths. Arguments: those of `files_of`."""
    return files.write_all(files_of(plan, name, page, folder, frame=frame, project=project))


def files_of(
    plan: Planned, name: str, page: str, folder: str | Path, *, frame: bool, project: bool
) -> dict[Path, str]:
    """The texts of NAME.gcode, NAME.toolpath.svg and NAME.report.html by their paths.

    page: the report.  frame: also NAME.frame.gcode, a faint or dark pass around the bounding box.
    project: also laserpath.toml.
    """
    machine = plan.process.machine
    texts = [
        plan.program,
        toolpath_svg.draw(convert.as_light(plan.toolpath, machine), plan.design, machine),
        page,
    ]
    if frame:
        texts.append(framing.frame(plan.design, plan.process))
    if project:
        texts.append(project_file.text(plan.design, plan.process, plan.settings, folder))
    return dict(zip(paths_of(name, folder, frame=frame, project=project), texts, strict=True))

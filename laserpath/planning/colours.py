"""A drawing in several colours: one plan for each, all with one zero, so that they print in register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from laserpath import report
from laserpath.base.errors import InputError, one_line
from laserpath.base.files import write_all
from laserpath.config import project as project_file
from laserpath.machine import framing
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.pipeline import Plan, plan
from laserpath.types import Design, Process, Settings

ColourListener = Callable[[int, int, Progress], None]
"""(number of the plan, from 0; how many; its progress)."""


@dataclass(frozen=True)
class ColourPlans:
    """The result of `plan_colours`: a plan for each colour. name: of the drawing."""

    name: str
    plans: tuple[Plan, ...]

    __repr__ = one_line

    @property
    def within_tolerance(self) -> bool:
        """Whether each of them keeps the given tolerance."""
        return all(one.within_tolerance for one in self.plans)

    def write(
        self, folder: str | Path = ".", *, frame: bool = False, project: bool = False
    ) -> tuple[Path, ...]:
        """Write the files of each plan, and NAME.colours.html, which shows all together; all or none.

        A plan's files are NAME-1-red.gcode, .toolpath.svg and .report.html.
        frame: also NAME.frame.gcode, a faint or dark pass around the bounding box of the whole drawing.
        project: also laserpath.toml, which plans all of them again; only if they have one resin.
        Returns the paths.
        """
        folder = Path(folder)
        texts = files_of_all(self.name, self.plans, folder, frame=frame)
        if project:
            texts[folder / project_file.NAME] = self._project(folder)
        return write_all(texts)

    def _project(self, folder: Path) -> str:
        """The project of all plans."""
        first = self.plans[0]
        if any(one.process != first.process for one in self.plans):
            raise InputError(
                "a project cannot have the resins of several colours; the head of each program has the "
                "project that plans its colour again"
            )
        recipe = tuple(line for line in first.design.recipe if not line.startswith("colour = "))
        return project_file.text(replace(first.design, recipe=recipe), first.process, first.settings, folder)


def files_of_all(
    name: str, plans: Sequence[Plan], folder: Path, *, frame: bool, board: report.Underlay | None = None
) -> dict[Path, str]:
    """The files of plans with one zero, their common page, and with `frame` a pass around the box of all.

    name: of the drawing, or of the board.  board: of which they are the layers, if they are no colours.
    """
    texts: dict[Path, str] = {}
    for one in plans:
        texts |= one.files(folder)
    page = "colours" if board is None else "board"
    texts[folder / f"{name}.{page}.html"] = report.render_colours(
        name, [(one.page_data, one.run) for one in plans], board
    )
    if frame:
        whole = replace(plans[0].design, name=name)
        texts[folder / f"{name}.frame.gcode"] = framing.frame(whole, plans[0].process)
    return texts


def plan_colours(
    designs: Sequence[Design],
    process: Process | Sequence[Process] | None = None,
    settings: Settings | None = None,
    progress: ColourListener | None = None,
) -> ColourPlans:
    """Plan each colour of a drawing. designs: of `load_colours`.

    process: one for all, or one for each; they may differ in their resins, of one tone.
    progress: called with the number of the plan, from 0, how many there are, and the plan's progress.
    Raises InputError for input that cannot be used.
    """
    if process is None or isinstance(process, Process):
        process = [process or Process()] * len(designs)
    _check(designs, process)
    plans = []
    for number, (design, own) in enumerate(zip(designs, process, strict=True)):
        plans.append(plan(design, own, settings, listener_of(progress, number, len(designs))))
    return ColourPlans(_drawing(designs[0]), tuple(plans))


def listener_of(
    progress: ColourListener | None, number: int, count: int
) -> Callable[[Progress], None] | None:
    """The listener of one of `count` plans, that tells the listener of all."""
    return None if progress is None else lambda now: progress(number, count, now)


def _drawing(design: Design) -> str:
    """The name of the drawing that a design is one colour of."""
    if design.part is None:
        raise InputError(f"design {design.name!r} is not one colour of a drawing: see load_colours")
    return design.part.drawing


def _check(designs: Sequence[Design], processes: Sequence[Process]) -> None:
    """Refuse designs and processes whose programs would not be in register."""
    if not designs:
        raise InputError("there are no colours to plan")
    if len(processes) != len(designs):
        raise InputError(
            f"there are {len(processes)} processes for {len(designs)} colours; give one for each"
        )
    first, process = designs[0], processes[0]
    for design, own in zip(designs, processes, strict=True):
        if _drawing(design) != _drawing(first) or design.extent != first.extent or design.page != first.page:
            raise InputError(f"{design.name!r} and {first.name!r} are not colours of one drawing")
        if (own.spot, own.machine) != (process.spot, process.machine):
            raise InputError("the processes of several colours may differ in their resins alone")
        if own.resin.tone != process.resin.tone:
            raise InputError(
                f"resins of several colours must have one tone, but {process.resin.name!r} is "
                f"{process.resin.tone} and {own.resin.name!r} {own.resin.tone}"
            )

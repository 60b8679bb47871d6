"""Several plans with one zero, in register: colours or layers of a drawing, or the layers of a board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path

import shapely

from laserpath import report
from laserpath.base.errors import InputError, figure, one_line, told_once
from laserpath.base.files import write_all
from laserpath.base.overlay import within
from laserpath.config import project as project_file
from laserpath.design import tolerance_for
from laserpath.design.board import BoardExposure, CircuitBoard, load_board
from laserpath.design.board.files import opposite, side_of
from laserpath.design.marks import as_drawn, is_filled, table
from laserpath.machine import convert, framing
from laserpath.machine.gate import verified
from laserpath.machine.rest import one_after_another, rested
from laserpath.physics import optics
from laserpath.planning.output import header_of_parts, paths_of_all
from laserpath.planning.pipeline import ColourListener, Plan, listener_of, plan
from laserpath.types import Design, Part, Process, Resin, Settings

_NOTHING_FWHM2 = 1e-3
"""Overlap, in FWHM², up to which parts touch only; a larger one calls more overlaps a touch."""


@dataclass(frozen=True)
class ColourPlans:
    """The result of `plan_colours`: a plan for each colour or layer. name: of the drawing."""

    name: str
    plans: tuple[Plan, ...]

    __repr__ = one_line

    @property
    def kind(self) -> str:
        """What they are of the drawing: `colour` or `layer`."""
        return _part(self.plans[0].design).kind

    @property
    def within_tolerance(self) -> bool:
        """Whether each of them keeps the given tolerance."""
        return all(one.within_tolerance for one in self.plans)

    def write(
        self, folder: str | Path = ".", *, frame: bool = False, project: bool = False, joined: bool = False
    ) -> tuple[Path, ...]:
        """Write the files of each plan, and a page that shows all together; all or none.

        A plan's files are NAME-1-red.gcode, .toolpath.svg and .report.html, of a layer NAME-pads.gcode and so
        on; the page is NAME.colours.html or NAME.layers.html.
        frame: also NAME.frame.gcode, a faint or dark pass around the bounding box of the whole drawing.
        project: also laserpath.toml, which plans all of them again.  joined: also NAME.gcode, `joined`.
        Returns the paths.
        """
        page = texts_of_all(self.name, self.plans, frame=frame)
        of_project = [project_file.text_of_parts(self._parts, folder)] if project else []
        texts = [*page, *of_project, *([self.joined] if joined else [])]
        each = [one.design.name for one in self.plans]
        paths = paths_of_all(
            self.name, f"{self.kind}s", each, folder, frame=frame, project=project, joined=joined
        )
        return write_all(dict(zip(paths, texts, strict=True)))

    @property
    def joined(self) -> str:
        """One program that exposes all of them in their order, dark in between; they must have one resin."""
        check_joined([one.process for one in self.plans])
        machine = self.plans[0].process.machine
        names = [one.design.name for one in self.plans]
        told = told_once(
            [one.report.warnings for one in self.plans], lambda few: ", ".join(names[k] for k in few)
        )
        parts = [
            (
                f"{_part(one.design).kind} {one.design.name}",
                rested(convert.to_moves(one.toolpath, machine), machine),
                0.0,
            )
            for one in self.plans
        ]
        top = header_of_parts(self.name, self._parts, told)
        return verified(one_after_another(parts, machine), machine, top)[0]

    @property
    def _parts(self) -> list[project_file.Part]:
        return [(one.design, one.process, one.settings) for one in self.plans]


def check_joined(processes: Sequence[Process]) -> None:
    """Refuse resins that no one program can expose, since they are changed in between."""
    first = processes[0].resin
    for other in (process.resin for process in processes[1:]):
        if not one_resin(first, other):
            raise InputError(
                f"one program cannot change the resin from {first.name} to {_of(other, first)}: "
                "leave --joined out"
            )


def one_resin(one: Resin, other: Resin) -> bool:
    """Whether two parts are in one resin: they may differ in the dose at which they are to cure."""
    return not _differing(one, other)


def _differing(one: Resin, other: Resin) -> list[str]:
    """The names of the fields by which two resins are not the same."""
    chosen = ("critical_dose", "over_dose")
    return [
        each.name
        for each in fields(Resin)
        if each.name not in chosen and getattr(one, each.name) != getattr(other, each.name)
    ]


def _of(resin: Resin, first: Resin) -> str:
    """A resin's name; if it is that of the first, too, with what tells them apart."""
    if resin.name != first.name:
        return resin.name
    return f"another {resin.name} (they differ in their {_differing(first, resin)[0]})"


def adding_doses(designs: Sequence[Design], processes: Sequence[Process]) -> tuple[str, ...]:
    """A sentence for each two parts in one resin that come nearer to each other than the spot is wide.

    Each is planned as if it were alone. If both are exposed before the resin is washed, their doses add up.
    """
    told = []
    for (one, own), (other, its) in combinations(zip(designs, processes, strict=True), 2):
        width = optics.fwhm(own.spot)
        shapely.prepare(one.area)
        if not one_resin(own.resin, its.resin) or not shapely.dwithin(one.area, other.area, width):
            continue
        both = within(one.area, other.area).area if shapely.intersects(one.area, other.area) else 0.0
        how = "come nearer than the spot is wide"
        if both > _NOTHING_FWHM2 * width**2:
            how = f"overlap, on {figure(both)} mm²"
        names = f"{_part(one).kind}s {_part(one).name!r} and {_part(other).name!r}"
        told.append(f"{names} {how}: their doses add up there unless {own.resin.name} is washed in between")
    return tuple(told)


def texts_of_all(
    name: str, plans: Sequence[Plan], *, frame: bool, board: report.Underlay | None = None
) -> list[str]:
    """The texts of `paths_of_all`: of each plan, their page, and with `frame` a pass around the box of all.

    name: of the drawing, or of the board.  board: of which they are the layers, if they are no colours.
    """
    texts = [text for one in plans for text in one.files().values()]
    texts.append(report.render_colours(name, [(one.page_data, one.run) for one in plans], board))
    if frame:
        texts.append(framing.frame(replace(plans[0].design, name=name), plans[0].process))
    return texts


def plan_colours(
    designs: Sequence[Design],
    process: Process | Sequence[Process] | None = None,
    settings: Settings | Sequence[Settings] | None = None,
    progress: ColourListener | None = None,
) -> ColourPlans:
    """Plan each colour or layer of a drawing. designs: of `load_colours` or `load_layers`.

    process: one for all, or one for each; they may differ in their resins, of one tone.
    settings: one for all, or one for each; all with one work zero.
    progress: called with the number of the plan, from 0, how many there are, and the plan's progress.
    Raises InputError for input that cannot be used.
    """
    if process is None or isinstance(process, Process):
        process = [process or Process()] * len(designs)
    if settings is None or isinstance(settings, Settings):
        settings = [settings or Settings()] * len(designs)
    _check(designs, process, settings)
    plans = []
    for number, (design, own, how) in enumerate(zip(designs, process, settings, strict=True)):
        plans.append(plan(design, own, how, listener_of(progress, number, len(designs))))
    return ColourPlans(_part(designs[0]).drawing, tuple(plans))


def _part(design: Design) -> Part:
    """Which colour or layer of a drawing a design is."""
    if design.part is None:
        raise InputError(
            f"design {design.name!r} is not one colour or layer of a drawing: see load_colours, load_layers"
        )
    return design.part


def _check(designs: Sequence[Design], processes: Sequence[Process], settings: Sequence[Settings]) -> None:
    """Refuse designs, processes and settings whose programs would not be in register."""
    if not designs:
        raise InputError("there are no colours or layers to plan")
    kind = _part(designs[0]).kind
    for what, given in (("processes", processes), ("settings", settings)):
        if len(given) != len(designs):
            raise InputError(f"there are {len(given)} {what} for {len(designs)} {kind}s; give one for each")
    first, process, zero = designs[0], processes[0], (settings[0].origin, settings[0].offset)
    for design, own, how in zip(designs, processes, settings, strict=True):
        same = _part(design).drawing == _part(first).drawing
        if not same or design.extent != first.extent or design.page != first.page:
            raise InputError(f"{design.name!r} and {first.name!r} are not {kind}s of one drawing")
        if (own.spot, own.machine) != (process.spot, process.machine):
            raise InputError(f"the processes of several {kind}s may differ in their resins alone")
        if own.resin.tone != process.resin.tone:
            raise InputError(
                f"resins of several {kind}s must have one tone, but {process.resin.name!r} is "
                f"{process.resin.tone} and {own.resin.name!r} {own.resin.tone}"
            )
        if (how.origin, how.offset) != zero:
            raise InputError(f"the settings of several {kind}s must have one origin and one offset")


@dataclass(frozen=True)
class BoardPlans:
    """The result of `plan_board`. plans: kind of layer → its plan, in the order asked for."""

    board: CircuitBoard
    exposure: BoardExposure
    plans: dict[str, Plan]

    __repr__ = one_line

    @property
    def within_tolerance(self) -> bool:
        """Whether each of them keeps the given tolerance."""
        return all(one.within_tolerance for one in self.plans.values())

    @property
    def write_time(self) -> float:
        """Seconds that the machine takes for all layers."""
        return sum(one.report.executed.motion.write_time for one in self.plans.values())

    @property
    def name(self) -> str:
        """What the common files are named after: the board, or the side of it that is aligned."""
        return self.exposure.name_of(self.board)

    def write(self, folder: str | Path = ".", *, frame: bool = False) -> tuple[Path, ...]:
        """Write the files of each plan, and `name`.board.html, which shows all over each other; all or none.

        A plan's files are BOARD-top-copper.gcode, .toolpath.svg and .report.html.
        frame: also `name`.frame.gcode, a faint or dark pass around the box of the board.  Returns the paths.
        """
        plans = list(self.plans.values())
        outline, holes = self.board.under(self.exposure, plans[0].process.resin.tone)
        turned = [one.design.name for kind, one in self.plans.items() if side_of(kind) == "bottom"]
        backs = frozenset(() if self.exposure.align else turned)
        under = report.Underlay(outline, holes, backs, self.exposure.mirror)
        texts = texts_of_all(self.name, plans, frame=frame, board=under)
        paths = paths_of_all(self.name, "board", [one.design.name for one in plans], folder, frame=frame)
        return write_all(dict(zip(paths, texts, strict=True)))

    def other_side(self, folder: str | Path = ".") -> tuple[Path | None, tuple[str, ...]]:
        """The table of an aligned board's marks for its other side, and the layers that are planned with it.

        The same layers as here, as far as the board has them. (None, ()): it has none, or is not aligned.
        """
        side, kinds = opposite(list(self.plans), self.board.kinds)
        if not self.exposure.align or not kinds:
            return None, ()
        return Path(folder) / f"{self.board.name}-{side}.marks.csv", kinds

    def write_marks(self, folder: str | Path = ".") -> tuple[Path, ...]:
        """Write the table of `other_side`, to be filled in: the marks as the board's files have them.

        Returns its path; (): there is none, or one is there that somebody has filled in.
        """
        sheet, _ = self.other_side(folder)
        if sheet is None or is_filled(sheet):
            return ()
        return write_all({sheet: table(as_drawn(self.exposure.align))})


def plan_board(
    board: CircuitBoard | str | Path | Sequence[str | Path],
    process: Process | Sequence[Process] | None = None,
    settings: Settings | Sequence[Settings] | None = None,
    exposure: BoardExposure | None = None,
    progress: ColourListener | None = None,
) -> BoardPlans:
    """Plan each layer of a board: its folder, ZIP archive, files, or what `load_board` has read of them.

    process, settings: one for all, or one for each layer, as in `plan_colours`.
    exposure: what is exposed of each layer; how the back is mirrored.
    progress: called with the number of the plan, from 0, how many there are, and the plan's progress.
    Raises InputError for input that cannot be used.
    """
    process, exposure = process or Process(), exposure or BoardExposure()
    first = process if isinstance(process, Process) else process[0]
    if any(first.resin.shrinkage[:2]):
        raise InputError(
            f"resin {first.resin.name!r} has a shrinkage, but on a board it is held by what is below, and "
            "both sides must fit the same holes: leave shrinkage_percent out of its profile"
        )
    if not isinstance(board, CircuitBoard):
        board = load_board(board, tolerance=tolerance_for(first.spot))
    designs = board.designs(exposure, first.resin.tone)
    made = plan_colours(designs, process, settings, progress)
    return BoardPlans(
        board, exposure, {layer.kind: one for layer, one in zip(board.layers, made.plans, strict=True)}
    )

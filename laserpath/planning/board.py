"""A board: one plan for each layer, all with one zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from laserpath import report
from laserpath.base.errors import InputError, one_line
from laserpath.base.files import write_all
from laserpath.design import FLATTEN_FWHM
from laserpath.design.board import BoardExposure, CircuitBoard, load_board
from laserpath.design.board.files import opposite, side_of
from laserpath.design.marks import as_drawn, is_filled, table
from laserpath.physics import optics
from laserpath.planning.colours import plan_colours, texts_of_all
from laserpath.planning.output import paths_of_all
from laserpath.planning.pipeline import ColourListener, Plan
from laserpath.types import Process, Settings


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
        paths = [board] if isinstance(board, str | Path) else list(board)
        board = load_board([Path(path) for path in paths], tolerance=FLATTEN_FWHM * optics.fwhm(first.spot))
    designs = board.designs(exposure, first.resin.tone)
    made = plan_colours(designs, process, settings, progress)
    return BoardPlans(
        board, exposure, {layer.kind: one for layer, one in zip(board.layers, made.plans, strict=True)}
    )

"""A design repeated in a grid, with a dose for each column and a focus for each row, to find both by a print.

The design is planned once. A copy of dose f has the path and the speeds of the plan, and powers that give
every line f times the energy that it has in the plan as executed (`gcode.motion.with_energies`). So that the
largest dose has the power it needs, the plan may use the laser up to the level n alone whose light, times
that dose, is full light.

Below each copy are three lines of known energies, which `calibration.fit` takes: their peak doses are those
of `_PEAKS`, times f. The dose of each column stands above it, letter and focus of each row at its left.
A focus is a Z of the program; labels are written at Z = 0, to which the head returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import shapely

import gcode
from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.checks import number_list
from laserpath.base.errors import InputError, figure, one_line
from laserpath.base.files import write_all
from laserpath.calibration.charts import planned_sizes
from laserpath.calibration.focus import checked_focus
from laserpath.calibration.layout import (
    ADVANCE,
    LETTERS,
    Dimensions,
    Stroke,
    label_level_and_speed,
    moves_of,
    run_in,
    slowest_speed,
    speed_limit,
    speed_of,
    strokes,
    threshold_energy,
)
from laserpath.calibration.measurements import Item, Levels, write_sheet
from laserpath.design import as_design, tolerance_for
from laserpath.machine import convert
from laserpath.machine.attenuation import POOR_LEVELS
from laserpath.machine.gate import verified
from laserpath.machine.heights import check_covered, write_time
from laserpath.machine.placement import to_expose
from laserpath.machine.program import longest_piece
from laserpath.machine.rest import at_heights, rested
from laserpath.physics import optics
from laserpath.physics.resin import power_for
from laserpath.planning.forecasts import Forecast, forecast
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.output import header
from laserpath.planning.pipeline import Plan, plan
from laserpath.report import toolpath_svg
from laserpath.types import Design, Machine, Process, Settings

_PEAKS = ((1.5, 1.0), (2.0, 0.25), (3.0, 1.0))
"""Of each line below a copy of dose 1: the peak dose, in critical doses, and the speed, relative to the
fastest. Near 2 a line is as wide as the spot. Lines of one energy and two speeds tell whether only the energy
matters."""
_LABEL = 8.0
"""Line energy of labels, in that of a line that just cures; a larger one makes their strokes wider."""
_APART, _MARGIN = 8.0, 3.0
"""Distance of the lines below a copy; and of the design from the work zero, while it is planned. In FWHM."""
_NEAR, _EXACT, _DONE, _ROUNDS = 0.05, 0.01, 0.001, 2
"""Relative error of a copy's dose as executed, above which it is refused: before it is made up for, since
single lines have more of it, and after that. The error that is left; and the times that it is made up for."""
_MOST = 12
"""Columns, and rows."""
_RANGE = (0.05, 20.0)
"""Doses, relative to the plan's."""


@dataclass(frozen=True, slots=True)
class _MatrixGrid:
    """corners: (rows, columns, 2) mm, lower left corner of each copy.  labels: their strokes.

    items: of each row, the lines below its copies.  size: mm, of all with the lines' run-ups.
    """

    corners: Floats
    labels: tuple[Stroke, ...]
    items: tuple[tuple[tuple[Item, Stroke], ...], ...]
    size: tuple[float, float]

    @classmethod
    def of(
        cls, size: tuple[float, float], doses: Sequence[float], focus: Sequence[float], process: Process
    ) -> _MatrixGrid:
        """The grid of a design of a size, mm; raises InputError if machine or bed are too small for it."""
        lay = Dimensions.of(optics.fwhm(process.spot), process.machine)
        heads = [f"{dose:g}" for dose in doses]
        names = [_row_name(row, focus) for row in range(len(focus))]
        wide = max(size[0], lay.length, lay.letter * ADVANCE * max(map(len, heads)))
        below = len(_PEAKS) * _APART * lay.f
        pitch = wide + lay.space, size[1] + below + lay.space
        column, row = np.meshgrid(np.arange(len(doses)), np.arange(len(focus)))
        corners = np.stack([column * pitch[0], -row * pitch[1]], axis=2)
        texts = [
            *((head, k * pitch[0], size[1] + lay.space / 2) for k, head in enumerate(heads)),
            *(
                (name, -lay.space - lay.letter * ADVANCE * len(name), size[1] / 2 - k * pitch[1])
                for k, name in enumerate(names)
            ),
        ]
        label = _label(lay, process)
        labels = [Stroke(xy, *label) for text, x, y in texts for xy in strokes(text, x, y, lay.letter)]
        items = [
            [_line(LETTERS[r], c, k, dose, corners[r, c], lay, process) for c, dose in enumerate(doses)
             for k in range(len(_PEAKS))]
            for r in range(len(focus))
        ]  # fmt: skip
        return cls._moved(corners, size, labels, items, process.machine)

    @classmethod
    def _moved(
        cls,
        corners: Floats,
        size: tuple[float, float],
        labels: Sequence[Stroke],
        items: Sequence[Sequence[tuple[Item, Stroke]]],
        machine: Machine,
    ) -> _MatrixGrid:
        """The grid with its lower left corner at the work zero."""
        lines = [stroke for row in items for _, stroke in row]
        copies = np.vstack([corners.reshape(-1, 2), (corners + size).reshape(-1, 2)])
        lit = np.vstack([*(s.xy for s in (*labels, *lines)), copies])
        points = np.vstack([lit, *(s.ends(machine) for s in lines)])
        margin = max(run_in(s.speed, machine) for s in labels)
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        for axis, length, room in zip("xy", high - low, machine.size, strict=True):
            if length > room:
                raise InputError(
                    f"the matrix is {figure(length, 4)} mm long in {axis}, above the {room:g} mm of machine "
                    f"{machine.name!r}; take fewer doses or rows, or a part of the design"
                )
        check_covered(lit - low, machine)
        moved = tuple(
            tuple(
                (replace(item, x=float(item.x - low[0]), y=float(item.y - low[1])), stroke.moved(*-low))
                for item, stroke in row
            )
            for row in items
        )
        whole = float(high[0] - low[0]), float(high[1] - low[1])
        return cls(corners - low, tuple(stroke.moved(*-low) for stroke in labels), moved, whole)


def _row_name(row: int, focus: Sequence[float]) -> str:
    """`A`, or `A -0.05` if the rows differ in their focus."""
    return LETTERS[row] if len(focus) == 1 else f"{LETTERS[row]} {focus[row]:g}"


def _label(lay: Dimensions, process: Process) -> tuple[int, float]:
    """Level and speed, mm/s, of labels."""
    energy = _LABEL * threshold_energy(process.resin.critical_dose, process.spot)
    return label_level_and_speed(energy, lay.letter / 3, process)


def _line(
    row: str, column: int, k: int, dose: float, corner: Floats, lay: Dimensions, process: Process
) -> tuple[Item, Stroke]:
    """The k-th line below a copy."""
    machine, (peak, share) = process.machine, _PEAKS[k]
    energy = dose * peak * threshold_energy(process.resin.critical_dose, process.spot)
    fastest = speed_limit(machine)
    wanted = float(power_for(energy, share * fastest, process.spot))
    level = int(machine.level_below(wanted))
    power = float(machine.power_of(level))
    speed = speed_of(power, energy, process)
    if not slowest_speed(machine) <= speed <= 1.001 * fastest:
        raise InputError(
            f"dose {dose:g} needs a line of {figure(power)} mW at {figure(speed)} mm/s, but machine "
            f"{machine.name!r} has {figure(slowest_speed(machine), 2)} to {figure(fastest)} mm/s; "
            "take doses nearer to 1, or another filter"
        )
    x, y = corner[0], corner[1] - (k + 1) * _APART * lay.f
    name = f"{row}{column + 1}{'abc'[k]}"
    item = Item(name, "line", power, speed, lay.length, x + lay.length / 2, y, level=level)
    return item, Stroke(np.array([(x, y), (x + lay.length, y)]), level, speed, name)


@dataclass(frozen=True)
class DoseMatrix:
    """The result of `plan_matrix`. program: G-code, verified.  doses: (columns,) relative to the plan's.

    plan: of the design alone; its machine may go up to a level that leaves power for the largest dose.
    focus: (rows,) mm, Z of each row.  executed: (columns,) the doses as the controller executes them.
    whole: all copies, as a design.  size: mm.  write_time: s.  items: of each row, the lines to measure.
    """

    plan: Plan
    process: Process
    doses: Floats
    focus: Floats
    executed: Floats
    whole: Design
    program: str
    size: tuple[float, float]
    write_time: float
    items: tuple[tuple[Item, ...], ...]
    corners: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        for name in ("doses", "focus", "executed"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"matrix {name}", (None,)))

    def sheet(self, row: int = 0, decimal: str = "point") -> str:
        """The CSV to fill in for a row, which `calibration.read_sheet` reads."""
        items, process = self.items[row], self.process
        return write_sheet(
            items, self._instructions(row), planned_sizes(items, process), process.resin.order, decimal,
            Levels.of(process.machine),
        )  # fmt: skip

    def _instructions(self, row: int) -> tuple[str, ...]:
        name, letter = self.plan.design.name, LETTERS[row]
        right = "If the copy of dose f prints right, the critical dose is f times the one planned with"
        resin = self.process.resin
        planned = f", {100 * resin.critical_dose:g} mJ/cm2" if resin.order == 1 else ""
        return (
            f"laserpath matrix of {name} on {self.process.machine.name}, row {letter}"
            + (f", focus {self.focus[row]:g} mm" if len(self.focus) > 1 else ""),
            *(
                f"{letter}{k + 1}: dose {dose:g}, its lower left corner at {x:.3f}, {y:.3f} mm"
                for k, (dose, (x, y)) in enumerate(zip(self.doses, self.corners[row], strict=True))
            ),
            f"1. {right}{planned}.",
            "2. Or fill in what you can measure of the lines below the copies, and keep these lines.",
            "3. visible: yes or no. width_um: of a line, in its middle. depth_um: or height.",
            "4. Then: laserpath fit, with the name of this file",
        )

    def drawing(self) -> str:
        """The path of all copies, lines and labels, as the text of an SVG file."""
        machine = self.process.machine
        dialect = gcode.dialect(machine.dialect)
        path = convert.from_moves(gcode.parse(self.program, dialect, machine.s_max), machine)
        return toolpath_svg.draw(convert.as_light(path, machine), self.whole, machine)

    def write(self, folder: str | Path = ".", *, decimal: str = "point") -> tuple[Path, ...]:
        """Write the files of `matrix_paths`, all or none; return their paths. decimal: 'point' or 'comma'."""
        sheets = [self.sheet(row, decimal) for row in range(len(self.focus))]
        texts = [self.program, self.drawing(), *sheets]
        paths = matrix_paths(self.plan.design.name, len(self.focus), folder)
        return write_all(dict(zip(paths, texts, strict=True)))


def matrix_paths(name: str, rows: int, folder: str | Path = ".") -> tuple[Path, ...]:
    """NAME.matrix.gcode, NAME.matrix.svg, and NAME.matrix.csv, or one for each row, NAME.matrix-A.csv …"""
    sheets = [f"-{LETTERS[row]}" for row in range(rows)] if rows > 1 else [""]
    ends = (".gcode", ".svg", *(f"{sheet}.csv" for sheet in sheets))
    return tuple(Path(folder) / f"{name}.matrix{end}" for end in ends)


def plan_matrix(
    design: str | Path | Design | shapely.Polygon | shapely.MultiPolygon,
    process: Process | None = None,
    settings: Settings | None = None,
    *,
    doses: Sequence[float],
    focus: Sequence[float] = (0.0,),
    progress: Callable[[Progress], None] | None = None,
) -> DoseMatrix:
    """Plan a design once and repeat it with doses, relative to the plan's, and at focus positions, mm of Z.

    The work zero is the matrix's lower left corner, whatever the origin of the settings.
    Raises InputError for input that cannot be used, and for a dose that the laser's levels cannot give.
    """
    process, settings = process or Process(), settings or Settings()
    doses, focus = _checked_doses(doses), tuple(checked_focus(focus, process.machine, 1, _MOST))
    given = as_design(design, tolerance_for(process.spot))
    if given.alignment:
        raise InputError(
            "a matrix cannot be aligned to marks: its copies are side by side; leave --align out"
        )
    margin = _MARGIN * optics.fwhm(process.spot)
    grid = _grid(given, process, doses, focus)
    settings = replace(settings, origin="design", offset=(margin, margin), report="brief")
    planned = plan(given, _with_room(process, max(doses)), settings, progress)
    copies, executed = _copies(planned, process, doses)
    copies = [replace(one, xy=one.xy - margin) for one in copies]
    moves = _joined(copies, grid, doses, focus, process)
    area = shapely.MultiPolygon(
        [
            shapely.transform(part, lambda xy, by=corner: xy - margin + by)
            for corner in grid.corners.reshape(-1, 2)
            for part in planned.design.area.geoms
        ]
    )
    whole = replace(planned.design, area=area, page=None, part=None, pads=None, lines=None)
    anywhere = replace(planned.settings, origin="auto", offset=(0.0, 0.0))  # of a plan of the design alone
    top = header(whole, process, anywhere, planned.report.warnings, _said(doses, focus))
    items = tuple(tuple(item for item, _ in row) for row in grid.items)
    text = verified(moves, process.machine, top, spot=process.spot)[0]
    return DoseMatrix(
        planned, process, np.array(doses), np.array(focus), executed, whole, text, grid.size,
        write_time(moves, process), items, grid.corners,
    )  # fmt: skip


def forecast_matrix(
    design: Design, process: Process, settings: Settings, doses: Sequence[float], focus: Sequence[float]
) -> Forecast:
    """The forecast of the design's plan, and of writing all copies, their lines and labels.

    Raises InputError as `plan_matrix` does, for what is known before it is planned.
    """
    doses, focus = _checked_doses(doses), tuple(checked_focus(focus, process.machine, 1, _MOST))
    grid, controller = _grid(design, process, doses, focus), convert.controller(process.machine)
    expected = forecast(design, _with_room(process, max(doses)), settings)
    marks = [grid.labels, *([stroke for _, stroke in row] for row in grid.items)]
    seconds = sum(gcode.motion.execute(moves_of(one, process), controller).write_time for one in marks)
    copies = len(doses) * len(focus)
    return replace(expected, write_seconds=copies * expected.write_seconds + seconds)


def _grid(design: Design, process: Process, doses: Sequence[float], focus: Sequence[float]) -> _MatrixGrid:
    """The grid of a design's copies."""
    x0, y0, x1, y1 = to_expose(design, process.resin, process.spot).extent
    return _MatrixGrid.of((x1 - x0, y1 - y0), doses, focus, process)


def _checked_doses(doses: Sequence[float]) -> tuple[float, ...]:
    """Rounded as they are labelled."""
    number_list("dose", doses)
    if not 1 <= len(doses) <= _MOST:
        raise InputError(f"there are {len(doses)} doses, but must be 1 to {_MOST}")
    low, high = _RANGE
    for dose in doses:
        if not low <= dose <= high:
            raise InputError(f"dose {dose:g} must be between {low:g} and {high:g} times the plan's")
    rounded = tuple(float(f"{dose:.3g}") for dose in doses)
    if len(set(rounded)) < len(rounded):
        raise InputError("two doses are equal in three digits; give doses farther apart")
    return rounded


def _with_room(process: Process, most: float) -> Process:
    """The process whose laser goes up to the level that leaves light for a dose `most` times as large."""
    machine = process.machine
    if most <= 1:
        return process
    level = int(machine.level_for(machine.power_max / most ** (1 / process.resin.order)) + 1e-9)
    if level < machine.level_min + POOR_LEVELS:
        raise InputError(
            f"dose {most:g} leaves the plan {level} of the {machine.power_levels} power levels of machine "
            f"{machine.name!r}; take doses nearer to 1"
        )
    less = replace(
        machine,
        power_max=float(machine.power_of(level)),
        power_levels=level,
        s_max=machine.s_max * level / machine.power_levels,
        level_offset=machine.light.offset,
    )
    return replace(process, machine=less)


def _copies(planned: Plan, process: Process, doses: Sequence[float]) -> tuple[list[gcode.Moves], Floats]:
    """The moves of the plan with each dose, after a rest, and the doses as executed.

    Raises InputError for a dose that is not met.
    """
    own, machine = planned.process.machine, process.machine
    once = rested(convert.to_moves(planned.toolpath, own), own)
    longest = longest_piece(process)
    before = gcode.motion.Response.of(
        once, convert.controller(own), convert.board(planned.process), longest=longest
    )
    light = (own.power_max / machine.power_max) ** process.resin.order
    due = light * before.energies(before.light(once.power))
    once = replace(once, power=once.power * own.power_levels / machine.power_levels)
    controller, board = convert.controller(machine), convert.board(process)
    copies, executed = [], []
    for dose in doses:
        asked, tried = dose, []
        for _ in range(1 + _ROUNDS):
            copy = gcode.motion.with_energies(once, asked * due, controller, board, longest=longest)
            after = gcode.motion.Response.of(copy, controller, board, longest=longest)
            found = float(after.energies(after.light(copy.power)).sum() / due.sum())
            tried.append((abs(found / dose - 1), found, copy))
            if tried[0][0] > _NEAR or tried[-1][0] <= _DONE:
                break
            asked *= dose / found
        # Not always the last one: where short lines go dark at once, the sum jumps.
        error, found, copy = min(tried, key=lambda one: one[0])
        if error > _EXACT:
            raise InputError(
                f"dose {dose:g} would be {figure(found)} as executed: the {machine.power_levels} levels of "
                f"machine {machine.name!r} are too coarse for it, or its laser is too weak; take doses "
                "nearer to 1, or another filter"
            )
        copies.append(copy)
        executed.append(found)
    return copies, np.array(executed)


def _joined(
    copies: Sequence[gcode.Moves],
    grid: _MatrixGrid,
    doses: Sequence[float],
    focus: Sequence[float],
    process: Process,
) -> gcode.Moves:
    """The moves of labels, and of each row its lines and copies, with the ways between them."""
    parts = [(moves_of(grid.labels, process), 0.0)]
    for row, z in enumerate(focus):
        # All first lines from left to right, then all second ones: their run-ups are shared ways.
        lines = [
            grid.items[row][k]
            for j in range(len(_PEAKS))
            for k in range(j, len(grid.items[row]), len(_PEAKS))
        ]
        parts.append((moves_of([stroke for _, stroke in lines], process), z))
        for column, (copy, dose) in enumerate(zip(copies, doses, strict=True)):
            comment = f"{LETTERS[row]}{column + 1}: dose {dose:g}" + (f", focus {z:g} mm" if z else "")
            placed = replace(copy, xy=copy.xy + grid.corners[row, column], comments=((0, comment),))
            parts.append((placed, z))
    return at_heights(parts, process.machine)


def _said(doses: Sequence[float], focus: Sequence[float]) -> str:
    """A comment at the top of the program."""
    columns = ", ".join(f"{dose:g}" for dose in doses)
    rows = ", ".join(f"{LETTERS[k]} {z:g}" for k, z in enumerate(focus))
    said = f"Matrix: from left to right doses of {columns} times the plan's"
    return f"{said}; from the top rows with focus {rows} mm" if len(focus) > 1 else said

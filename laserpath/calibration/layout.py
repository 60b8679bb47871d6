"""The strokes of a chart: their powers and speeds, their places, its labels, and the program that draws them.

Powers rise and speeds fall by one ratio r, P_i ∝ r^(i/N) and v_j ∝ r^(−j), so that the line energies of the
matrix, P_i^N/v_j ∝ r^(i+j), are the same along each diagonal: this separates reciprocity from energy. Powers
are the light of the controller's levels; each speed compensates for their rounding, and is exactly
representable in the dialect. `level_row` is the row that measures how a level becomes light (`measurements`).

The layout begins at the upper left corner of its lines and goes down; `build` moves it to the work zero. The
stroke font has digits and capitals as polylines on a grid 2 wide and 3 high, scaled to size, without I, O, S
and Z, which read as 1, 0, 5 and 2. The program is G-code that a machine executes as commanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import gcode
from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import InputError, figure
from laserpath.calibration.measurements import Item, doubled, level_for
from laserpath.calibration.model import line_profile, stroke_profile
from laserpath.machine import convert
from laserpath.machine.gate import verified
from laserpath.machine.heights import said, write_time
from laserpath.machine.program import EYE_SAFETY, early
from laserpath.physics import optics
from laserpath.physics.resin import line_energy, power_for
from laserpath.types import Machine, Process, Spot

RUN_SHARE = 0.1
"""Share of the machine's shorter side for the run-up at each end of a line; more allows faster lines."""
_RUN_UP_MARGIN = 1.25
_TRANSMISSION_TIMES = 2.0
"""Least duration of a short move, in times that the link takes to transmit a move."""
_FEED_MARGIN = 1e-3
"""Relative margin of the highest speed for the rounding of feeds."""
_TIME_CONSTANTS = 6.0
"""Length of the lead, in time constants; `gcode.motion.compensated` takes 5, and the shift itself."""
_NOTED_RATIO = 1.5
_SWITCHING_TIME = 2e-3
"""s, the shortest lit stroke."""
_DOUBLED = 4
"""Least number of levels in the row that measures their light; a larger one asks for more energy if the
laser is strong, and then its lines are wider than a fit can use."""
_FEED_STEPS = 5
"""Least speed in steps of the feed. With fewer, rounded speeds leave the diagonals of equal line energy."""


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """level: (I,), and power: (I,) mW of its light, rising.  speed: (J,) mm/s, falling, before rounding.

    energy: (I + J − 1,) rising, the line energy of each diagonal, in the unit of `resin.line_energy`.
    """

    level: Indices
    power: Floats
    speed: Floats
    energy: Floats


def threshold_energy(dose: float, spot: Spot) -> float:
    """The line energy whose line has `dose` along its middle."""
    light = line_profile(optics.ideal(spot), spot.photons)
    return dose * spot.fwhm / light.peak


def matrix(
    process: Process, low: float, high: float, powers: int, speeds: int
) -> tuple[Matrix, tuple[str, ...]]:
    """The matrix from line energy `low` to `high`, or as near as the machine comes; notes on differences."""
    machine, spot = process.machine, process.spot
    if not 0 < low < high:
        raise InputError(f"line energies from {low:g} to {high:g} mJ/mm are not a range")
    limit = speed_limit(machine)
    faintest = machine.power_min
    weakest, strongest = (float(line_energy(p, 1.0, spot)) for p in (faintest, machine.power_max))
    least = max(low, weakest / limit)
    if least >= high:
        raise InputError(
            f"even the weakest line, {figure(faintest)} mW at {figure(limit)} mm/s, has "
            f"{figure(least / high)} times the highest requested line energy; put a filter into the beam, or "
            "request more"
        )
    # As many powers as fit between the weakest and the strongest.
    rows = powers
    while rows > 2 and (high / least) ** ((rows - 1) / (rows + speeds - 2)) > strongest / weakest:
        rows -= 1
    steps = np.arange(rows + speeds - 1)
    energy = least * (high / least) ** (steps / steps[-1])
    # If the machine lacks the power for the strongest line at this speed, all lines are slower.
    fastest = min(limit, strongest / float(energy[rows - 1]))
    target = power_for(energy[:rows], np.full(rows, fastest), spot)
    level = np.unique(level_for(target, machine))
    power = machine.power_of(level)
    own = energy[: len(power)]
    # A power that was rounded up must not push the speed above the limit.
    energy = energy * max(1.0, float((line_energy(power, limit, spot) / own).max()) * (1 + _FEED_MARGIN))
    speed = line_energy(power[0], 1.0, spot) / energy[:speeds]
    matrix = Matrix(level, power, speed, energy[: len(power) + speeds - 1])
    _check_slowest(matrix, process)
    return matrix, tuple(_notes(matrix, machine, low, powers))


def _notes(matrix: Matrix, machine: Machine, low: float, powers: int) -> Iterator[str]:
    if matrix.energy[0] > _NOTED_RATIO * low:
        yield (
            f"the weakest line has {figure(matrix.energy[0] / low)} times the line energy asked for: the "
            f"lowest power, {figure(matrix.power[0])} mW, at the highest speed, {figure(matrix.speed[0])} "
            "mm/s"
        )
    if len(matrix.power) < powers:
        yield (
            f"{len(matrix.power)} powers instead of {powers}: the machine has no more between level "
            f"{machine.level_min}, {figure(machine.power_min)} mW, and level "
            f"{machine.power_levels}, {figure(machine.power_max)} mW"
        )


def _check_slowest(matrix: Matrix, process: Process) -> None:
    least = slowest_speed(process.machine)
    slowest = float(line_energy(matrix.power[0], 1.0, process.spot) / matrix.energy[len(matrix.speed) - 1])
    if slowest < least:
        raise InputError(
            f"the slowest line would be written at {figure(slowest, 2)} mm/s, below the "
            f"{figure(least, 2)} mm/s that the "
            "feed's digits can still tell; ask for less line energy or fewer speeds"
        )


def level_row(table: Matrix, process: Process) -> tuple[Indices, float]:
    """Levels, each twice the one before, and the line energy of the row that measures their light.

    The energy is in the middle of the matrix, or higher if fewer than `_DOUBLED` levels can have it. The
    speeds are within those of the matrix, so that no line takes longer than there.
    """
    level, low, high = doubled(process.machine), float(table.energy[0]), float(table.energy[-1])
    unit = line_energy(process.machine.power_of(level), 1.0, process.spot)
    fastest, slowest = float(table.speed[0]), float(table.speed[-1])
    needed = float(unit[min(_DOUBLED, len(level)) - 1]) / fastest
    energy = min(max(float(np.sqrt(low * high)), needed), high)
    return level[(unit >= slowest * energy) & (unit <= (1 + _FEED_MARGIN) * fastest * energy)], energy


def slowest_speed(machine: Machine) -> float:
    """The speed in mm/s below which the rounding of feeds is coarse."""
    dialect = gcode.dialect(machine.dialect)
    return _FEED_STEPS * 0.1**dialect.feed_decimals * dialect.unit / 60


def speed_of(power: float, energy: float, process: Process) -> float:
    """mm/s at which a power has a line energy, rounded to a feed that the dialect can write."""
    exact = float(line_energy(power, 1.0, process.spot)) / energy
    machine, dialect = process.machine, gcode.dialect(process.machine.dialect)
    unit = dialect.unit / 60 * 0.1**dialect.feed_decimals
    if machine.steps is None or not dialect.firmware.rounds_speeds:
        return round(exact / unit) * unit
    # Marlin rounds up to whole steps/s, a large change at low speeds: take a feed just below such a speed.
    whole = max(round(exact * min(machine.steps)), 1) / min(machine.steps)
    return int(whole / unit + 1e-9) * unit


def run_up(speed: float, machine: Machine) -> float:
    """Length in mm of the dark run-up: enough to reach the speed, and to transmit the move."""
    distance = _RUN_UP_MARGIN * speed**2 / (2 * _ramp(machine)) + speed * machine.shaping
    return max(
        distance,
        _TRANSMISSION_TIMES * speed / convert.segment_rate(machine),
        2 * shortest(machine),
        run_in(speed, machine),
    )


def run_in(speed: float, machine: Machine) -> float:
    """Lead in mm that makes up for lagging mirrors and laser delays."""
    return _TIME_CONSTANTS * max(machine.lag, machine.laser_on_delay, machine.laser_off_delay) * speed


def shortest(machine: Machine) -> float:
    """The shortest move in mm that the controller does not drop: a few motor steps."""
    controller = convert.controller(machine)
    if controller.shortest_move > 0:
        return controller.shortest_move
    return 2 / min(machine.steps) if machine.steps is not None else 0.0


def shortest_time(machine: Machine) -> float:
    """Least duration of a lit stroke in s; the link delays a shorter one, and it switches badly."""
    return max(_SWITCHING_TIME, _TRANSMISSION_TIMES / convert.segment_rate(machine))


def speed_limit(machine: Machine) -> float:
    """mm/s that the machine reaches within its share of the work area."""
    room = RUN_SHARE * min(machine.size)
    return min(*machine.speed_max, float(np.sqrt(2 * _ramp(machine) * room / _RUN_UP_MARGIN)))


def _ramp(machine: Machine) -> float:
    """The effective acceleration, mm/s². Klipper keeps a part of each move for cruising."""
    return convert.controller(machine).ramp


_ROUNDING = 1e-6
"""Error of a division, in digits of S; a larger one rounds up what has to be rounded down."""


@dataclass(frozen=True, slots=True, eq=False)
class Stroke:
    """xy: (K, 2) mm, written at one level and speed, mm/s. of: the item's id, '' of labels and marks."""

    xy: Floats
    level: int
    speed: float
    of: str = ""

    def moved(self, dx: float, dy: float) -> Stroke:
        """The stroke, shifted by (dx, dy) mm."""
        return Stroke(self.xy + (dx, dy), self.level, self.speed, self.of)

    def ends(self, machine: Machine) -> Floats:
        """(2, 2) mm, where the head begins and ends: for an item, with a dark run-up before and after."""
        if not self.of:
            return self.xy[[0, -1]]
        along = self.xy[-1] - self.xy[0]
        run = along / np.hypot(*along) * run_up(self.speed, machine)
        return np.array([self.xy[0] - run, self.xy[-1] + run])


def placed(
    marks: Sequence[Stroke], lines: Sequence[Stroke], machine: Machine, many: str
) -> tuple[Floats, tuple[float, float]]:
    """(2,) mm, the lower left corner of all strokes with their run-ups, and the size, mm, from there on.

    many: what to take fewer of where that is above the work area, which raises InputError.
    """
    box = np.vstack([np.vstack([s.xy, s.ends(machine)]) for s in (*marks, *lines)])
    margin = max(run_in(s.speed, machine) for s in marks)
    low, high = box.min(axis=0) - margin, box.max(axis=0) + margin
    size = (float(high[0] - low[0]), float(high[1] - low[1]))
    for axis, length, room in zip("xy", size, machine.size, strict=True):
        if length > room:
            raise InputError(
                f"the chart is {figure(length, 4)} mm long in {axis}, above the {room:g} mm of machine "
                f"{machine.name!r}; take fewer {many}"
            )
    return low, size


def moves_of(strokes: Sequence[Stroke], process: Process, start: Floats | None = None) -> gcode.Moves:
    """Rapids between strokes, dark lines before and after those of items, whose ids are comments.

    start: (2,) mm, of the head; None: the work zero.
    """
    machine, digit = process.machine, convert.board(process).digit
    xy: list[Floats] = [np.zeros(2) if start is None else start]
    power: list[float] = []
    speed: list[float] = []
    kind: list[int] = []
    comments: list[tuple[int, str]] = []

    def go(to: Floats, level: int, fast: float, how: gcode.Kind) -> None:
        if not np.array_equal(to, xy[-1]):
            xy.append(to)
            # Rounded up to the digits of S, it might be the next level.
            power.append(np.floor(level / machine.power_levels / digit + _ROUNDING) * digit)
            speed.append(fast)
            kind.append(how)

    item = ""
    for stroke in strokes:
        before, behind = stroke.ends(machine)
        go(before, 0, min(machine.rapid_speed), gcode.Kind.RAPID)
        if stroke.of != item:
            item = stroke.of
            comments.append((len(power), item or "labels"))
        go(stroke.xy[0], 0, stroke.speed, gcode.Kind.LINE)
        for point in stroke.xy[1:]:
            go(point, stroke.level, stroke.speed, gcode.Kind.LINE)
        go(behind, 0, stroke.speed, gcode.Kind.LINE)
    dynamic = np.full(len(power), convert.power_follows(machine))
    moves = gcode.Moves(
        np.array(xy), np.array(power), np.array(speed), np.array(kind, dtype=np.int8), dynamic=dynamic,
        comments=tuple(comments),
    )  # fmt: skip
    return early(moves, process)


def write(strokes: Sequence[Stroke], process: Process, head: Iterable[str]) -> tuple[str, float]:
    """The program of strokes, and its write time in s. head: lines of its header."""
    return written(moves_of(strokes, process), process, head)


def written(moves: gcode.Moves, process: Process, head: Iterable[str]) -> tuple[str, float]:
    """The program of moves and its write time in s. head: lines of its header."""
    machine = process.machine
    head = (next(iter(head)), *EYE_SAFETY, *tuple(head)[1:], *said(machine))
    return verified(moves, machine, head, spot=process.spot)[0], write_time(moves, process)


LETTERS = "ABCDEFGHJKLMNPQRTUVWXY"
WIDTH = 2 / 3
"""Width of a character over its height."""
ADVANCE = 1.0
"""Distance from one character to the next over the height; more spaces them wider."""

_STROKES = {
    "0": "00 20 23 03 00", "1": "02 13 10", "2": "03 23 22 00 20", "3": "03 23 20 00|12 22", "4": "20 23 01 "
    "21",
    "5": "23 03 02 22 20 00", "6": "23 03 00 20 22 02", "7": "03 23 10", "8": "00 20 23 03 00|02 22",
    "9": "00 20 23 03 01 21", "A": "00 02 13 22 20|01 21", "B": "00 03 23 22 12 02|12 21 20 00",
    "C": "23 03 00 20", "D": "00 03 13 22 21 10 00", "E": "23 03 00 20|02 12", "F": "23 03 00|02 12",
    "G": "23 03 00 20 21 11", "H": "00 03|20 23|02 22", "J": "23 20 00 01", "K": "00 03|23 01 20", "L": "03 "
    "00 20",
    "M": "00 03 12 23 20", "N": "00 03 20 23", "P": "00 03 23 21 01", "Q": "00 20 23 03 00|11 20",
    "R": "00 03 23 21 01 20", "T": "03 23|13 10", "U": "03 00 20 23", "V": "03 10 "
    "23",
    "W": "03 00 11 20 23", "X": "00 23|03 20", "Y": "03 11 23|11 10", ".": "00 10", "-": "02 22",
}  # fmt: skip
"""Character → strokes, separated by |, as points xy in thirds of the height."""


def strokes(text: str, x: float, y: float, height: float) -> list[Floats]:
    """Polylines (K, 2) in mm of a text whose lower left corner is (x, y)."""
    lines: list[Floats] = []
    for place, letter in enumerate(text):
        if letter == " ":
            continue
        if letter not in _STROKES:
            raise InputError(f"label {text!r} has {letter!r}, for which there are no strokes")
        for stroke in _STROKES[letter].split("|"):
            points = np.array([[int(c) for c in point] for point in stroke.split()], dtype=np.float64)
            lines.append((x + place * ADVANCE * height, y) + points * height / 3)
    return lines


_DOT_FWHM = 0.25
_POWER_RATIO = 4.0
"""Dose rate of the first row of dots over that of the second."""
_WEDGES = 6
_LABEL_ENERGY = 0.67
"""Line energy of labels as a share of the logarithmic range: 0 is the weakest, 1 the strongest line."""
_TICK_FWHM = 10.0
_PAIR_FWHM = 6.0
"""Distance between the lines of a pair: a larger one makes their ends harder to compare."""
_PAIR_SPEEDS = 3
"""Speeds of pairs along each axis, each half of the one before: two tell a late laser from slack."""


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Sizes in mm, most of them multiples of the spot's FWHM f.

    pitch: between rows.  length: of lines.  space: between groups.  letter: height.  wedge: length, gap: how
    far it opens.  dot: length of its stroke.
    """

    f: float
    pitch: float
    length: float
    space: float
    letter: float
    wedge: float
    gap: float
    dot: float

    @classmethod
    def of(cls, fwhm: float, machine: Machine) -> Dimensions:
        """The sizes for a spot and a machine. A dot has whole motor steps, and more than the shortest move.

        A controller that rounds to steps would make any other dot up to a step longer or shorter, and change
        its dose as much: at 250 steps/mm one of 25 µm was 4 % too short.
        """
        dot = max(_DOT_FWHM * fwhm, 1.01 * shortest(machine))
        if machine.steps is not None:
            dot = float(np.ceil(dot * machine.steps[0] - 1e-6)) / machine.steps[0]
        return cls(
            f=fwhm, pitch=16 * fwhm, length=25 * fwhm, space=12 * fwhm, letter=8 * fwhm, wedge=60 * fwhm,
            gap=4 * fwhm, dot=dot,
        )  # fmt: skip


class ChartBuilder:
    """A chart under construction. y: mm, of the next row."""

    def __init__(self, process: Process, table: Matrix, layout: Dimensions) -> None:
        self.process, self.table, self.layout = process, table, layout
        self.items: list[tuple[Item, list[Stroke]]] = []
        self.marks: list[Stroke] = []
        self.step = layout.length + layout.space
        self.fastest = float(table.speed[0])
        self.label_energy = float(table.energy[0] * (table.energy[-1] / table.energy[0]) ** _LABEL_ENERGY)
        self.letters = iter(LETTERS)
        self.y = 0.0

    def build(self) -> tuple[tuple[Item, ...], tuple[Stroke, ...], tuple[float, float]]:
        """Items, strokes in order, and the size of the chart with its head starts."""
        self._lines()
        self._upright()
        self._levels()
        self._between()
        self._dots()
        self._wedges()
        self._pairs()
        self._frame()
        lines = [s for _, own in self.items for s in own]
        low, size = placed(self.marks, lines, self.process.machine, "powers or speeds")
        strokes = [*self.marks, *lines]
        moved = tuple(s.moved(-low[0], -low[1]) for s in strokes)
        items = tuple(replace(i, x=float(i.x - low[0]), y=float(i.y - low[1])) for i, _ in self.items)
        return items, moved, size

    def _lines(self) -> None:
        table, lay = self.table, self.layout
        for j in range(len(table.speed)):
            self._label(str(j + 1), j * self.step + (lay.length - lay.letter * WIDTH) / 2, lay.space)
        for i, level in enumerate(table.level):
            row = self._row()
            for j in range(len(table.speed)):
                middle = j * self.step + lay.length / 2
                self._line(f"{row}{j + 1}", level, table.energy[i + j], (middle, self.y), "x")
            self.y -= lay.pitch

    def _line(self, name: str, level: int, energy: float, middle: tuple[float, float], along: str) -> None:
        half = self.layout.length / 2 * np.array([along == "x", along == "y"])
        item = self._item(name, "line", level, energy, middle, self.layout.length, along=along)
        self._add(item, np.array([middle - half, middle + half]))

    def _upright(self) -> None:
        """Lines along y, at the middle power."""
        table, lay = self.table, self.layout
        i = len(table.power) // 2
        self.y -= lay.length / 2
        row = self._row()
        for j in range(len(table.speed)):
            middle = (j * self.step + lay.length / 2, self.y)
            self._line(f"{row}{j + 1}", table.level[i], table.energy[i + j], middle, "y")
        self.y -= lay.length / 2 + lay.space

    def _levels(self) -> None:
        """Lines of one line energy along x, at levels that double."""
        levels, energy = level_row(self.table, self.process)
        row = self._row()
        for k, level in enumerate(levels):
            middle = k * self.step + self.layout.length / 2
            self._line(f"{row}{k + 1}", level, energy, (middle, self.y), "x")
        self.y -= self.layout.pitch

    def _between(self) -> None:
        """Lines whose energies are between those of the diagonals: the shape of a spot shows in the steps."""
        across = len(self.table.speed)
        for k, energy in enumerate(_midway(self.table.energy)):
            column = k % across
            if column == 0:
                if k:
                    self.y -= self.layout.pitch
                row = self._row()
            middle = (column * self.step + self.layout.length / 2, self.y)
            level = self._level(float(energy), self.fastest / 2)
            self._line(f"{row}{column + 1}", level, energy, middle, "x")
        self.y -= self.layout.pitch

    def _dots(self) -> None:
        """Two rows of the same energies, at a high power for a short time and at a low power for a long time;
        and one of energies between them.
        """
        machine = self.process.machine
        fastest = min(self.layout.dot / shortest_time(machine), self.fastest)
        slowest = max(slowest_speed(machine), convert.controller(machine).slowest)
        energies = self._dot_energies()
        slower = _POWER_RATIO ** (1 / self.process.spot.photons)
        for slow, some in ((1.0, energies), (slower, energies), (1.0, _midway(energies))):
            row = self._row()
            for k, energy in enumerate(some):
                level = int(level_for(machine.power_of(self._level(energy, fastest)) / slow, machine))
                speed = float(line_energy(machine.power_of(level), 1.0, self.process.spot) / energy)
                if not slowest <= speed <= self.fastest:
                    continue
                middle = (self.layout.f / 2 + k * self.layout.space, self.y)
                half = np.array([self.layout.dot / 2, 0.0])
                item = self._item(f"{row}{k + 1}", "dot", level, energy, middle, self.layout.dot)
                self._add(item, np.array([middle - half, middle + half]))
            self.y -= self.layout.pitch

    def _dot_energies(self) -> Floats:
        """Line energies that give the middle of a dot the peak dose of each line."""
        spot, length = self.process.spot, self.layout.dot
        light = stroke_profile(optics.ideal(spot), spot.photons)
        share = min(length / spot.fwhm, 4.0)
        peak = share * float(light.peaks(np.array([share]))[0])
        return self.table.energy * line_profile(optics.ideal(spot), spot.photons).peak / peak

    def _level(self, energy: float, speed: float) -> int:
        """The highest level of the matrix that writes a line energy no faster than `speed`."""
        needed = line_energy(self.table.power, 1.0, self.process.spot) / energy
        slow = np.flatnonzero(needed <= speed)
        return int(self.table.level[slow[-1] if slow.size else 0])

    def _wedges(self) -> None:
        lay, table = self.layout, self.table
        across = max(1, int((len(table.speed) * self.step) // (lay.wedge + lay.space)))
        chosen = np.unique(np.rint(np.linspace(2, len(table.energy) - 2, _WEDGES)).astype(int))
        row = ""
        for k, diagonal in enumerate(chosen.tolist()):
            if k % across == 0:
                if row:
                    self.y -= 2 * lay.pitch
                row = row or self._row()
            energy = float(table.energy[diagonal])
            level = self._level(energy, self.fastest / 2)
            x = (k % across) * (lay.wedge + lay.space)
            tip = np.array([x + lay.wedge, self.y])
            middle = (x + lay.wedge / 2, self.y)
            item = self._item(f"{row}{k + 1}", "wedge", level, energy, middle, lay.wedge, gap=lay.gap)
            starts = [np.array([x, self.y + side * lay.gap / 2]) for side in (1, -1)]
            self._add(item, *(np.array([start, tip]) for start in starts))
            self._ticks(tip, lay.wedge)
        self.y -= lay.pitch

    def _pairs(self) -> None:
        """Lines forth and back, side by side, at speeds that halve: along x, then along y."""
        table, lay, gap = self.table, self.layout, _PAIR_FWHM * self.layout.f
        energy = min(
            float(np.sqrt(table.energy[0] * table.energy[-1])), float(table.energy[len(table.power) - 1])
        )
        full = float(line_energy(table.power[-1], 1.0, self.process.spot)) / energy
        self.y -= lay.length / 2
        row, k = self._row(), 0
        for along in "xy":
            way, side = np.array([along == "x", along == "y"]), np.array([along == "y", along == "x"])
            half, fastest = lay.length / 2 * way, np.inf
            for slower in 2.0 ** np.arange(_PAIR_SPEEDS):
                target = power_for(energy, min(full, self.fastest) / slower, self.process.spot)
                level = int(level_for(target, self.process.machine))
                middle = np.array([k * self.step + lay.length / 2, self.y])
                item = self._item(
                    f"{row}{k + 1}", "pair", level, energy, tuple(middle), lay.length, along=along, gap=gap
                )
                if not slowest_speed(self.process.machine) <= item.speed < fastest / 1.5:
                    continue
                # The line forth is the upper one, or the left one.
                forth = middle + gap / 2 * side * (1 if along == "x" else -1)
                back = 2 * middle - forth
                self._add(item, np.array([forth - half, forth + half]), np.array([back + half, back - half]))
                fastest, k = item.speed, k + 1
        self.y -= lay.length / 2 + lay.space

    def _ticks(self, tip: Floats, length: float) -> None:
        """Scale marks below a wedge, every ten FWHM from its tip."""
        f = self.layout.f
        for k in range(int(length / (_TICK_FWHM * f)) + 1):
            top = tip - (k * _TICK_FWHM * f, 7 * f)
            self._mark(np.array([top, top - (0.0, (3 if k % 2 else 5) * f)]))

    def _frame(self) -> None:
        """A rectangle around all strokes, with a mark every mm, or more closely on a small chart."""
        lay = self.layout
        lit = np.vstack([s.xy for s in (*self.marks, *(s for _, lines in self.items for s in lines))])
        (x0, y0), (x1, y1) = lit.min(axis=0) - lay.space, lit.max(axis=0) + lay.space
        self._mark(np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)]))
        step = 10.0 ** np.ceil(np.log10(10 * lay.f) - 1e-9)
        for k in range(1, int((x1 - x0) / step) + 1):
            high = lay.f * (6 if k % 5 == 0 else 3)
            self._mark(np.array([(x0 + k * step, y0), (x0 + k * step, y0 + high)]))

    def _row(self) -> str:
        """The letter of the next row, after writing it to the left of the row."""
        letter = next(self.letters)
        lay = self.layout
        self._label(letter, -lay.space - lay.letter * WIDTH, self.y - lay.letter / 2)
        return letter

    def _label(self, text: str, x: float, y: float) -> None:
        for stroke in strokes(text, x, y, self.layout.letter):
            self._mark(stroke)

    def _mark(self, xy: Floats) -> None:
        level, speed = label_level_and_speed(self.label_energy, self.layout.letter / 3, self.process)
        self.marks.append(Stroke(xy, level, speed))

    def _item(
        self,
        name: str,
        kind: str,
        level: int,
        energy: float,
        middle: tuple[float, float],
        length: float,
        **more: Any,
    ) -> Item:
        """An item written at a level, with the speed at which that has a line energy."""
        power = float(self.process.machine.power_of(level))
        speed = speed_of(power, float(energy), self.process)
        return Item(name, kind, power, speed, length, *middle, level=int(level), **more)

    def _add(self, item: Item, *lines: Floats) -> None:
        """Add an item of the chart, and the lines that draw it."""
        level = item.level or self.process.machine.level_min
        self.items.append((item, [Stroke(xy, level, item.speed, item.id) for xy in lines]))


def _midway(energies: Floats) -> Floats:
    """Line energies half-way between neighbours, by their ratio."""
    return np.sqrt(energies[:-1] * energies[1:])


def label_level_and_speed(energy: float, shortest_stroke: float, process: Process) -> tuple[int, float]:
    """Level, and speed in mm/s, of labels; slow enough to keep the speed around the corners of letters."""
    machine = process.machine
    smooth = float(np.sqrt(min(machine.acceleration) * shortest_stroke / 2))
    slow = min(smooth, shortest_stroke / shortest_time(machine), *machine.speed_max)
    target = float(power_for(energy, slow, process.spot))
    level = int(level_for(target, machine))
    power = float(machine.power_of(level))
    return level, min(speed_of(power, energy, process), *machine.speed_max)

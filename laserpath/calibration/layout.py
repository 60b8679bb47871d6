"""The layout of a chart, from the upper left corner of its lines down; `build` moves it to the work zero."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.calibration.items import Item
from laserpath.calibration.levels import level_for
from laserpath.calibration.matrix import (
    Matrix,
    level_row,
    run_in,
    shortest,
    shortest_time,
    slowest_speed,
    speed_of,
)
from laserpath.calibration.model import line_profile, shape_of, stroke_profile
from laserpath.calibration.program import Stroke
from laserpath.calibration.stroke_font import LETTERS, WIDTH, strokes
from laserpath.resin import line_energy, power_for
from laserpath.types import Machine, Process

_DOT_FWHM = 0.25
_POWER_RATIO = 4.0
"""Dose rate of the first row of dots over that of the second."""
_WEDGES = 6
_LABEL_ENERGY = 0.67
"""Line energy of labels as a share of the logarithmic range: 0 is the weakest, 1 the strongest line."""
_TICK_FWHM = 10.0


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
        self._dots()
        self._wedges()
        self._frame()
        machine = self.process.machine
        strokes = [*self.marks, *(s for _, lines in self.items for s in lines)]
        box = np.vstack([np.vstack([s.xy, s.ends(machine)]) for s in strokes])
        margin = max(run_in(s.speed, machine) for s in self.marks)
        low, high = box.min(axis=0) - margin, box.max(axis=0) + margin
        size = (float(high[0] - low[0]), float(high[1] - low[1]))
        for axis, length, room in zip("xy", size, machine.size, strict=True):
            if length > room:
                raise InputError(
                    f"the chart is {figure(length, 4)} mm long in {axis}, above the {room:g} mm of machine "
                    f"{machine.name!r}; take fewer powers or speeds"
                )
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

    def _dots(self) -> None:
        """Two rows of the same energies: a high power for a short time, and a low power for a long time."""
        machine = self.process.machine
        fastest = min(self.layout.dot / shortest_time(machine), self.fastest)
        for slower in (1.0, _POWER_RATIO ** (1 / self.process.spot.photons)):
            row = self._row()
            for k, energy in enumerate(self._dot_energies()):
                level = int(level_for(machine.power_of(self._level(energy, fastest)) / slower, machine))
                speed = float(line_energy(machine.power_of(level), 1.0, self.process.spot) / energy)
                if not slowest_speed(machine) <= speed <= self.fastest:
                    continue
                middle = (self.layout.f / 2 + k * self.layout.space, self.y)
                half = np.array([self.layout.dot / 2, 0.0])
                item = self._item(f"{row}{k + 1}", "dot", level, energy, middle, self.layout.dot)
                self._add(item, np.array([middle - half, middle + half]))
            self.y -= self.layout.pitch

    def _dot_energies(self) -> Floats:
        """Line energies that give the middle of a dot the peak dose of each line."""
        spot, length = self.process.spot, self.layout.dot
        light = stroke_profile(shape_of(spot), spot.photons)
        share = min(length / spot.fwhm, 4.0)
        peak = share * float(light.peaks(np.array([share]))[0])
        return self.table.energy * line_profile(shape_of(spot), spot.photons).peak / peak

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


def label_level_and_speed(energy: float, shortest_stroke: float, process: Process) -> tuple[int, float]:
    """Level, and speed in mm/s, of labels; slow enough to keep the speed around the corners of letters."""
    machine = process.machine
    smooth = float(np.sqrt(min(machine.acceleration) * shortest_stroke / 2))
    slow = min(smooth, shortest_stroke / shortest_time(machine), *machine.speed_max)
    target = float(power_for(energy, slow, process.spot))
    level = int(level_for(target, machine))
    power = float(machine.power_of(level))
    return level, min(speed_of(power, energy, process), *machine.speed_max)

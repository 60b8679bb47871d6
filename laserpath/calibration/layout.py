"""The layout of a chart, from the upper left corner of its lines down; `build` moves it to the work zero."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.calibration.items import Item
from laserpath.calibration.matrix import Matrix, run_in, shortest, shortest_time, slowest_speed, speed_of
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
        """The sizes for a spot and a machine; a dot is longer than the shortest move of the machine."""
        return cls(
            f=fwhm, pitch=16 * fwhm, length=25 * fwhm, space=12 * fwhm, letter=8 * fwhm, wedge=60 * fwhm,
            gap=4 * fwhm, dot=max(_DOT_FWHM * fwhm, 1.01 * shortest(machine)),
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
                    f"the chart is {length:.4g} mm long in {axis}, above the {room:g} mm of machine "
                    f"{machine.name!r}; take fewer powers or speeds"
                )
        moved = tuple(s.moved(-low[0], -low[1]) for s in strokes)
        items = tuple(replace(i, x=float(i.x - low[0]), y=float(i.y - low[1])) for i, _ in self.items)
        return items, moved, size

    def _lines(self) -> None:
        table, lay = self.table, self.layout
        for j in range(len(table.speed)):
            self._label(str(j + 1), j * self.step + (lay.length - lay.letter * WIDTH) / 2, lay.space)
        for i, power in enumerate(table.power):
            row = self._row()
            for j in range(len(table.speed)):
                middle = j * self.step + lay.length / 2
                self._line(f"{row}{j + 1}", power, table.energy[i + j], (middle, self.y), "x")
            self.y -= lay.pitch

    def _line(self, name: str, power: float, energy: float, middle: tuple[float, float], along: str) -> None:
        half = self.layout.length / 2 * np.array([along == "x", along == "y"])
        speed = self._speed(power, energy)
        item = Item(name, "line", float(power), speed, self.layout.length, *middle, along=along)
        self._add(item, np.array([middle - half, middle + half]))

    def _upright(self) -> None:
        """Lines along y, at the middle power."""
        table, lay = self.table, self.layout
        i = len(table.power) // 2
        self.y -= lay.length / 2
        row = self._row()
        for j in range(len(table.speed)):
            middle = (j * self.step + lay.length / 2, self.y)
            self._line(f"{row}{j + 1}", table.power[i], table.energy[i + j], middle, "y")
        self.y -= lay.length / 2 + lay.space

    def _dots(self) -> None:
        """Two rows of the same energies: a high power for a short time, and a low power for a long time."""
        machine = self.process.machine
        step, fastest = machine.power_step, min(self.layout.dot / shortest_time(machine), self.fastest)
        for slower in (1.0, _POWER_RATIO ** (1 / self.process.spot.photons)):
            row = self._row()
            for k, energy in enumerate(self._dot_energies()):
                power = max(round(self._power(energy, fastest) / slower / step), machine.level_min) * step
                speed = float(line_energy(power, 1.0, self.process.spot) / energy)
                if not slowest_speed(machine) <= speed <= self.fastest:
                    continue
                middle = (self.layout.f / 2 + k * self.layout.space, self.y)
                half = np.array([self.layout.dot / 2, 0.0])
                speed = self._speed(power, energy)
                item = Item(f"{row}{k + 1}", "dot", float(power), speed, self.layout.dot, *middle)
                self._add(item, np.array([middle - half, middle + half]))
            self.y -= self.layout.pitch

    def _dot_energies(self) -> Floats:
        """Line energies that give the middle of a dot the peak dose of each line."""
        spot, length = self.process.spot, self.layout.dot
        light = stroke_profile(shape_of(spot), spot.photons)
        share = min(length / spot.fwhm, 4.0)
        peak = share * float(light.peaks(np.array([share]))[0])
        return self.table.energy * line_profile(shape_of(spot), spot.photons).peak / peak

    def _power(self, energy: float, speed: float) -> float:
        """The highest power of the matrix that writes a line energy no faster than `speed`."""
        needed = line_energy(self.table.power, 1.0, self.process.spot) / energy
        slow = np.flatnonzero(needed <= speed)
        return float(self.table.power[slow[-1] if slow.size else 0])

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
            power = self._power(float(table.energy[diagonal]), self.fastest / 2)
            x = (k % across) * (lay.wedge + lay.space)
            tip = np.array([x + lay.wedge, self.y])
            middle = (x + lay.wedge / 2, self.y)
            speed = self._speed(power, table.energy[diagonal])
            item = Item(f"{row}{k + 1}", "wedge", power, speed, lay.wedge, *middle, gap=lay.gap)
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
        power, speed = label_power_and_speed(self.label_energy, self.layout.letter / 3, self.process)
        self.marks.append(Stroke(xy, power, speed))

    def _speed(self, power: float, energy: float) -> float:
        """mm/s at which a power, mW, has a line energy."""
        return speed_of(float(power), float(energy), self.process)

    def _add(self, item: Item, *lines: Floats) -> None:
        self.items.append((item, [Stroke(xy, item.power, item.speed, item.id) for xy in lines]))


def label_power_and_speed(energy: float, shortest_stroke: float, process: Process) -> tuple[float, float]:
    """Power, mW, and speed, mm/s, of labels; slow enough to keep the speed around the corners of letters."""
    machine = process.machine
    smooth = float(np.sqrt(min(machine.acceleration) * shortest_stroke / 2))
    slow = min(smooth, shortest_stroke / shortest_time(machine), *machine.speed_max)
    target = float(power_for(energy, slow, process.spot))
    level = np.clip(np.floor(target / machine.power_step), machine.level_min, machine.power_levels)
    power = float(level) * machine.power_step
    return power, min(speed_of(power, energy, process), *machine.speed_max)

"""A chart to expose, measure and fit: lines over powers and speeds, dots, wedges, and labels to find them.

                         columns: speeds, 1 2 3 …, falling
    rows: powers A B …   lines along x; the same line energy along each diagonal
    K (or what follows)  lines along y, for a spot that is not round
    next                 lines of one line energy, at levels that double: how a level becomes light
    next                 lines whose energies are between those of the diagonals
    next three           dots, of many energies, each with a long and a short exposure, and between them
    next                 wedges: two lines that meet in a tip, for the resolution
    next                 pairs of lines forth and back, at three speeds along x, then along y: how late the
                         laser is, and the slack of the axes (`mechanics`)

Every item is one straight stroke. Its dark run-up is long enough that all of it is written at the
commanded speed and power, whatever the controller does while it accelerates. A dot is a stroke of a
quarter of the spot, since a controller that lets the power follow the speed is dark at a standstill.

The drawing is a labelled SVG, in mm; only this module flips y. Strokes of items are as wide as the profiles
of the process predict, so that it looks like the print under the microscope; invisible strokes are thin and
dashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import svgwrite
from svgwrite.container import Group

import gcode
from laserpath.base import files
from laserpath.base.errors import InputError, figure
from laserpath.calibration.layout import ChartBuilder, Dimensions, Stroke, matrix, threshold_energy, write
from laserpath.calibration.measurements import Item, Levels, Stated, write_sheet
from laserpath.calibration.model import Physics, SizeModel
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.types import Process


@dataclass(frozen=True, slots=True, eq=False)
class ChartData:
    """The data of a chart. strokes: in order.  program: G-code.  size: mm.  write_time: s.

    energies: range of the lines' line energies.  notes: sentences.
    """

    items: tuple[Item, ...]
    strokes: tuple[Stroke, ...]
    process: Process
    program: str
    size: tuple[float, float]
    write_time: float
    energies: tuple[float, float]
    notes: tuple[str, ...]

    @property
    def at_heights(self) -> bool:
        """Whether it is a series over the focus, with rows at several heights."""
        return len({item.z for item in self.items}) > 1

    def planned(self) -> dict[str, float]:
        """`planned_sizes` of all items that have a size."""
        return planned_sizes([item for item in self.items if item.kind != "pair"], self.process)

    def shown(self) -> dict[str, float]:
        """`planned`, but with the width of the lines of a wedge or a pair."""
        items = [replace(i, kind="line") if i.kind in ("wedge", "pair") else i for i in self.items]
        return planned_sizes(items, self.process)


def planned_sizes(items: Sequence[Item], process: Process) -> dict[str, float]:
    """Size in mm of each item, by id, if the process matches its profiles; 0 for an invisible item."""
    spot, resin = process.spot, process.resin
    model = SizeModel(items, optics.ideal(spot), resin.order)
    sizes = model.sizes(Physics((spot.fwhm, spot.fwhm), resin.critical_dose))
    return {item.id: max(float(size), 0.0) for item, size in zip(items, sizes.size, strict=True)}


_INK, _MARK, _SHOWN, _HIDDEN, _PAPER = "#222222", "#9aa5ad", "#86216b", "#c9a0bd", "#ffffff"
_DECIMALS = 4
_ON_SCREEN = "@media screen { svg:root { width: 100vw; height: 100vh } }"
_LEFT, _ABOVE, _BELOW = 10.0, 7.0, 10.0
"""Margins for text, in letter heights."""


def chart_svg(chart: ChartData) -> str:
    """The chart with its rows and columns labelled, as the text of an SVG file."""
    width, height = chart.size
    letter = max(width, height) / 75
    left, above, below = (n * letter for n in (_LEFT, _ABOVE, _BELOW))
    whole = width + left + letter, height + above + below
    drawing = svgwrite.Drawing(
        size=(f"{whole[0]:.4f}mm", f"{whole[1]:.4f}mm"),
        viewBox=f"{-left:.4f} {-above:.4f} {whole[0]:.4f} {whole[1]:.4f}",
        debug=False,
    )
    drawing.set_desc(title="Calibration chart", desc="one unit is one mm")
    drawing.embed_stylesheet(_ON_SCREEN)
    drawing.add(drawing.rect((-left, -above), whole, fill=_PAPER))
    _add_strokes(drawing, chart.strokes, chart.shown(), height, chart.process.spot.fwhm)
    _add_words(drawing, chart, letter)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + str(drawing.tostring()) + "\n"


def _add_strokes(
    drawing: svgwrite.Drawing,
    strokes: Sequence[Stroke],
    wide: Mapping[str, float],
    height: float,
    fwhm: float,
) -> None:
    group: Group = drawing.g(fill="none", stroke_linecap="round", stroke_linejoin="round", id="chart")
    for stroke in strokes:
        points = "M" + " ".join(
            f"{x:.{_DECIMALS}f},{height - y:.{_DECIMALS}f}" for x, y in stroke.xy.tolist()
        )
        if not stroke.of:
            group.add(drawing.path(points, stroke=_MARK, stroke_width=round(fwhm, 5)))
        elif wide[stroke.of] > 0:
            style = {"stroke": _SHOWN, "stroke_width": round(min(wide[stroke.of], 4 * fwhm), 5)}
            group.add(drawing.path(points, id=_id(stroke, group), **style))
        else:
            dash = f"{fwhm:.4f},{fwhm:.4f}"
            style = {"stroke": _HIDDEN, "stroke_width": round(fwhm / 3, 5), "stroke_dasharray": dash}
            group.add(drawing.path(points, id=_id(stroke, group), **style))
    drawing.add(group)


def _id(stroke: Stroke, group: Group) -> str:
    """An id that is not in the group yet: a wedge has two strokes."""
    taken = {element.attribs.get("id") for element in group.elements}
    return stroke.of if stroke.of not in taken else f"{stroke.of}b"


def _add_words(drawing: svgwrite.Drawing, chart: ChartData, letter: float) -> None:
    """The speeds or levels above their columns, labels to the left of rows, and a description below."""
    width, height = chart.size
    style = {"font_family": "sans-serif", "fill": _INK}

    def say(text: str, x: float, y: float, size: float = 1.0, anchor: str = "start") -> None:
        place = {"insert": (round(x, _DECIMALS), round(y, _DECIMALS)), "text_anchor": anchor}
        drawing.add(drawing.text(text, font_size=round(size * letter, 5), **place, **style))

    rows: dict[str, list[Item]] = {}
    for item in chart.items:
        rows.setdefault(item.id[0], []).append(item)
    first = next(iter(rows.values()))
    series = chart.at_heights
    head = "line energy, mJ/mm" if chart.process.resin.order == 1 else "power, mW"
    say(head if series else "speed, mm/s (first row)", first[0].x - first[0].length / 2, -4.6 * letter, 1.1)
    for item in first:
        energy = item.line_energy if chart.process.resin.order == 1 else item.power
        number = f"{energy:.2g}" if series else f"{item.speed:.3g}"
        say(number, item.x, -2.9 * letter, 0.8 if item.along == "y" else 1.1, "middle")
    for name, items in rows.items():
        y = height - float(np.mean([items[0].y])) + 0.35 * letter
        say(
            f"{name}: Z {items[0].z:.4g} mm" if series else f"{name}: {_what(items)}",
            -_LEFT * letter + 0.5 * letter,
            y,
            1.1,
        )
        for item, head in zip(items, [] if series else _heads(items, first), strict=False):
            top = item.y + (item.length / 2 if item.along == "y" else item.gap / 2)
            say(head, item.x, height - top - 0.6 * letter, 0.9, "middle")
    low, high = chart.energies
    facts = (
        f"{len(chart.items)} items, {width:.4g} × {height:.4g} mm, {_time(chart.write_time)} on "
        f"{chart.process.machine.name}",
        f"line energies {_short(low)} to {_short(high)} mJ/mm"
        + ("" if series else "; the same along each diagonal of the lines")
        if chart.process.resin.order == 1 else "the same dose along each diagonal of the lines",
        f"drawn for a critical dose of {chart.process.resin.critical_dose * 100:.4g} mJ/cm² and a spot of "
        f"{chart.process.spot.fwhm * 1000:.4g} µm; dashed: would not show"
        if chart.process.resin.order == 1 else "dashed: would not show",
        "" if series else
        "wedges: the pair of lines meets at the right; marks every 10 FWHM from that tip",
    )  # fmt: skip
    for k, line in enumerate(facts):
        say(line, 0, height + (2.2 + 1.8 * k) * letter, 1.2)


def _heads(items: Sequence[Item], first: Sequence[Item]) -> list[str]:
    """Of each line, if the heads of the columns, those of the first row, do not do: level or speed."""
    if items[0].kind == "pair":
        return [f"{item.speed:.3g} mm/s" for item in items]
    if items[0].kind != "line":
        return []
    if _one_energy(items):
        return [f"level {item.level}" for item in items]
    other = [item.speed / head.speed for item, head in zip(items, first, strict=False)]
    if items[0].along == "y" or np.abs(np.log(other)).max() > _OTHER_SPEED:
        return [f"{item.speed:.3g} mm/s" for item in items]
    return []


_OTHER_SPEED = 0.1
"""|ln| of a speed over that of its column from which it stands above its line."""


def _one_energy(items: Sequence[Item]) -> bool:
    return bool(np.ptp(np.log([item.line_energy for item in items])) < _OTHER_SPEED)


def _what(items: Sequence[Item]) -> str:
    powers = sorted({item.power for item in items})
    if items[0].kind == "line":
        return f"{powers[0]:.3g} mW" if len(powers) == 1 else "levels" if _one_energy(items) else "between"
    return {"dot": "dots", "wedge": "wedges", "pair": "forth, back"}[items[0].kind]


def _short(value: float) -> str:
    """Three significant digits, without an exponent."""
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


BELOW, ABOVE = 16.0, 256.0
"""Default range of line energies: the threshold divided by the first, to the threshold times the second."""
BELOW_AROUND, ABOVE_AROUND = 2.0, 20.0
"""The same range around a dose that is roughly known."""


@dataclass(frozen=True, slots=True, eq=False)
class Chart(ChartData):
    """A chart to expose: its data (`ChartData`), and the drawing, sheet and files made from them."""

    def findings(self) -> tuple[str, ...]:
        """Problems that the G-code checker reports, a sentence each."""
        dialect = gcode.dialect(self.process.machine.dialect)
        problems = gcode.check(self.program, dialect, convert.envelope(self.process.machine, dialect))
        return tuple(f"line {f.line} of the G-code: {f.message}" for f in problems)

    def svg(self) -> str:
        """A labelled drawing of the chart."""
        return chart_svg(self)

    def sheet(self, decimal: str = "point") -> str:
        """The CSV to fill in."""
        order, levels = self.process.resin.order, Levels.of(self.process.machine)
        stated = Stated.of(self.process.machine)
        return write_sheet(self.items, _instructions(self), self.planned(), order, decimal, levels, stated)

    def write(
        self, folder: str | Path = ".", *, name: str = "chart", decimal: str = "point"
    ) -> tuple[Path, ...]:
        """Write NAME.gcode, NAME.svg and NAME.csv, all or none; return their paths."""
        texts = {"gcode": self.program, "svg": self.svg(), "csv": self.sheet(decimal)}
        return files.write_all({Path(folder) / f"{name}.{end}": text for end, text in texts.items()})


def chart(
    process: Process | None = None,
    *,
    around: float | None = None,
    energies: tuple[float, float] | None = None,
    powers: int = 6,
    speeds: int = 8,
) -> Chart:
    """The chart for a process whose spot and critical dose need to be known only roughly.

    around: critical dose, mJ/mm², for a narrow second chart.  energies: the range, mJ/mm, instead.
    """
    process = process or Process()
    if around is not None and energies is not None:
        raise InputError(
            "a dose to be around and line energies from and to both set the range; give one of them"
        )
    for name, count in (("powers", powers), ("speeds", speeds)):
        if not 2 <= count <= 12:
            raise InputError(f"{name} is {count}, but must be between 2 and 12")
    if energies is None:
        below, above = (BELOW, ABOVE) if around is None else (BELOW_AROUND, ABOVE_AROUND)
        middle = threshold_energy(around or process.resin.critical_dose, process.spot)
        energies = middle / below, middle * above
    table, notes = matrix(process, *energies, powers, speeds)
    dimensions = Dimensions.of(optics.fwhm(process.spot), process.machine)
    items, strokes, size = ChartBuilder(process, table, dimensions).build()
    program, seconds = write(strokes, process, _header(process, size, len(items)))
    low, high = float(table.energy[0]), float(table.energy[-1])
    return Chart(items, strokes, process, program, size, seconds, (low, high), notes)


# In words


def _header(process: Process, size: tuple[float, float], items: int) -> tuple[str, ...]:
    machine = process.machine
    return (
        f"laserpath calibration chart: {items} items",
        f"Size {size[0]:.3f} x {size[1]:.3f} mm, work zero at its lower left corner.",
        f"Machine: {machine.name}, {machine.power_max:g} mW at full power.",
        "Expose, develop, measure; fill in the sheet, then: laserpath fit chart.csv",
    )


def _instructions(chart: Chart) -> tuple[str, ...]:
    size = chart.size
    if chart.at_heights:
        return (
            f"laserpath focus series of {chart.process.machine.name}; {figure(size[0], 4)} x "
            f"{figure(size[1], 4)} mm",
            "1. Fill in what you can measure of each row. Leave the rest empty, and keep these lines.",
            "2. visible: yes or no. width_um: of a line, in its middle. z_mm: the Z of the program.",
            "3. x_mm and y_mm count from the work zero, where the head starts: the lower left corner.",
            "4. Then: laserpath fit, with the name of this file",
        )
    return (
        f"laserpath calibration chart of {chart.process.machine.name}; {figure(size[0], 4)} x "
        f"{figure(size[1], 4)} mm",
        "1. Fill in what you can measure. Leave the rest empty, and keep these lines: fit reads some.",
        "2. visible: yes or no. width_um: of a line, in its middle. depth_um: or height, of a line or a dot.",
        "3. diameter_um: of a dot, across its stroke. merged_um: of a wedge, from its tip to its gap. "
        "offset_um: of a pair, how far its upper line lies to the right of the other, or its left line above "
        "it; negative if to the left or below.",
        "4. x_mm and y_mm count from the work zero, where the head starts: the lower left corner.",
        "5. Then: laserpath fit chart.csv",
    )

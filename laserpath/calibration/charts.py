"""A chart to expose, measure and fit: lines over powers and speeds, dots, wedges, and labels to find them.

                         columns: speeds, 1 2 3 …, falling
    rows: powers A B …   lines along x; the same line energy along each diagonal
    K (or what follows)  lines along y, for a spot that is not round
    next                 lines of one line energy, at levels that double: how a level becomes light
    next two             dots, of many energies, each with a long and a short exposure
    next                 wedges: two lines that meet in a tip, for the resolution

Every item is one straight stroke. Its dark run-up is long enough that all of it is written at the
commanded speed and power, whatever the controller does while it accelerates. A dot is a stroke of a
quarter of the spot, since a controller that lets the power follow the speed is dark at a standstill.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gcode
from laserpath import optics
from laserpath.base import files
from laserpath.base.errors import InputError, figure
from laserpath.calibration import drawing
from laserpath.calibration.chart_data import ChartData
from laserpath.calibration.layout import ChartBuilder, Dimensions
from laserpath.calibration.levels import Levels
from laserpath.calibration.matrix import matrix, threshold_energy
from laserpath.calibration.program import write
from laserpath.calibration.sheet import write_sheet
from laserpath.machine import convert
from laserpath.types import Process

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
        return drawing.chart_svg(self)

    def sheet(self, decimal: str = "point") -> str:
        """The CSV to fill in."""
        order, levels = self.process.resin.order, Levels.of(self.process.machine)
        return write_sheet(self.items, _instructions(self), self.planned(), order, decimal, levels)

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
        raise InputError("a dose to be around and line energies from and to say the same; give one of them")
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
    return (
        f"laserpath calibration chart of {chart.process.machine.name}; {figure(size[0], 4)} x "
        f"{figure(size[1], 4)} mm",
        "1. Fill in what you can measure. Leave the rest empty, and keep these lines: fit reads some.",
        "2. visible: yes or no. width_um: of a line, in its middle. depth_um: or height, of a line or a dot.",
        "3. diameter_um: of a dot, across its stroke. merged_um: of a wedge, from its tip to its gap.",
        "4. x_mm and y_mm count from the work zero, where the head starts: the lower left corner.",
        "5. Then: laserpath fit chart.csv",
    )

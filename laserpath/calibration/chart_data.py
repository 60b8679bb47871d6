"""The record of a chart, which its drawing, sheet and program are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from laserpath.calibration.items import Item
from laserpath.calibration.model import Physics, SizeModel, shape_of
from laserpath.calibration.program import Stroke
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

    def planned(self) -> dict[str, float]:
        """Size in mm of each item, by id, if the process matches its profiles; 0 for an invisible item."""
        return self._sizes(self.items)

    def shown(self) -> dict[str, float]:
        """`planned`, but with the width of the lines of a wedge."""
        return self._sizes([replace(i, kind="line") if i.kind == "wedge" else i for i in self.items])

    def _sizes(self, items: Sequence[Item]) -> dict[str, float]:
        spot, resin = self.process.spot, self.process.resin
        model = SizeModel(items, shape_of(spot), resin.order)
        sizes = model.sizes(Physics((spot.fwhm, spot.fwhm), resin.critical_dose))
        return {item.id: max(float(size), 0.0) for item, size in zip(items, sizes.size, strict=True)}

"""Warnings about an exposure, in sentences, the worst first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.quantities import place
from laserpath.machine.program import MachineProgram
from laserpath.measure import rounded_off
from laserpath.measure.exposure import missing
from laserpath.report.wording import area, number
from laserpath.simulation.figures import PathExposure
from laserpath.simulation.view import COARSEST, Box, lit_box
from laserpath.types import Point, Process

_OVER = 1.05
"""Ratio of the largest dose to the resin's limit above which a warning is given. A larger one warns less."""

_NEAR_FWHM, _APART = 1.0, 0.7
"""Distance, in FWHM, between the middles of light and design, and IoU. A larger distance together with a
smaller IoU gives the warning that they lie apart."""


def of_dose(executed: PathExposure, process: Process) -> Iterator[str]:
    """A dose that is too low or too high."""
    dose, resin = executed.figures, process.resin
    done = "cures" if resin.tone == "negative" else "is cleared"
    if dose.cured == 0:
        yield (
            f"nothing {done}: the largest dose executed is {number(dose.dose_max, 2)} of the critical one; "
            f"it would take more than {number(1 / max(dose.dose_max, 1e-12), 2)} times the dose"
        )
    if dose.dose_max > _OVER * resin.over_dose:
        yield (
            f"the largest dose as executed is {number(dose.dose_max)} critical doses, at "
            f"{place(dose.brightest, optics.fwhm(process.spot))} mm: {area(dose.over_dosed, 2)} of the "
            f"{area(dose.cured, 2)} that {done} get more than the resin's limit of {resin.over_dose:g}"
        )
    if executed.overflow:
        yield f"what {done} reaches beyond the area that is simulated: the dose is far too high"


def of_shift(shift: Point, fwhm: float) -> Iterator[str]:
    """A program that was moved onto its design. shift: mm.  fwhm: of the spot, mm."""
    if shift != (0.0, 0.0):
        yield (
            f"the program was moved by {place(shift, fwhm)} mm onto the design; where the file "
            "has it, it is that far off"
        )


def of_place(executed: PathExposure, shipped: MachineProgram, aligned: bool) -> Iterator[str]:
    """Coarse pixels, a program that lies elsewhere, and edges that do not print."""
    fwhm, grid, scene = optics.fwhm(shipped.process.spot), executed.grid, executed.scene
    if fwhm / grid.pitch < 1.5 * COARSEST:
        yield (
            f"with so many spots to expose the dose was computed with {number(fwhm / grid.pitch, 2)} pixels "
            "across one: areas and edges are less exact"
        )
    measured = executed.measured
    if scene is None or measured is None:
        return
    x, y = (_middle(scene.design.bounds) - _middle(lit_box(shipped.executed))).tolist()
    if not aligned and measured.figures.iou < _APART and max(abs(x), abs(y)) > _NEAR_FWHM * fwhm:
        yield (
            f"what is exposed lies elsewhere than the design: its middle would have to move by "
            f"{place((x, y), fwhm)} mm; if the program has another work zero: --align"
        )
    yield from missing(rounded_off(measured.edges, measured.dose, scene), fwhm)


def _middle(box: Box) -> Floats:
    return np.array([box[0] + box[2], box[1] + box[3]]) / 2

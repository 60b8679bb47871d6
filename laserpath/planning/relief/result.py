"""The result of planning a relief: its program, its dose, and the error of the dose or height."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import figure, one_line
from laserpath.machine.program import MachineProgram
from laserpath.planning.relief.target import GreyTarget
from laserpath.types import Design, Grid, Process, Relief, Settings, Toolpath


@dataclass(frozen=True, slots=True)
class ReliefFigures:
    """The error of the dose, or of the height, against its target.

    rmse: root mean square error over the picture.  p95: 95th percentile of the absolute error.  mean: mean
    signed error.  All three are relative to the value of black.  dose_max: mJ/mm².  write_time: s.
    """

    rmse: float
    p95: float
    mean: float
    dose_max: float
    write_time: float

    @classmethod
    def of(cls, dose: Floats, target: GreyTarget, picture: Bools, write_time: float) -> ReliefFigures:
        """The figures of a dose (rows, columns) mJ/mm². picture: (rows, columns) whether a pixel counts."""
        error = target.residual(dose)[0][picture] / target.black
        return cls(
            rmse=float(np.sqrt(np.mean(error**2))),
            p95=float(np.percentile(np.abs(error), 95)),
            mean=float(error.mean()),
            dose_max=float(dose.max()),
            write_time=write_time,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ReliefResult:
    """A planned relief. dose: as executed, (rows, columns) mJ/mm² on `grid`.

    design: the rectangle of the picture.  target: on `grid`.  shipped: the program, read back and executed.
    loss: one value for each iteration.  notes: a sentence for each choice made for the user.
    """

    relief: Relief
    process: Process
    settings: Settings
    grid: Grid
    target: GreyTarget
    shipped: MachineProgram
    dose: Floats
    commanded: ReliefFigures
    executed: ReliefFigures
    loss: Floats
    warnings: tuple[str, ...]
    design: Design
    notes: tuple[str, ...] = ()

    __repr__ = one_line

    @property
    def toolpath(self) -> Toolpath:
        """The toolpath as written, parsed back from the G-code."""
        return self.shipped.path

    @property
    def run(self) -> gcode.motion.Executed:
        """The program as the controller executes it."""
        return self.shipped.run

    @property
    def program(self) -> str:
        """The G-code."""
        return self.shipped.text


def in_words(result: ReliefResult) -> str:
    """The errors as commanded and as executed, in percent of black, in one sentence."""
    what = "height" if result.relief.height is not None else "dose"
    executed, commanded = result.executed, result.commanded
    return (
        f"The {what} is off by {figure(100 * executed.rmse, 2)} % of black (root mean square), "
        f"95 % of the picture by less than {figure(100 * executed.p95, 2)} %; "
        f"as commanded by {figure(100 * commanded.rmse, 2)} % and {figure(100 * commanded.p95, 2)} %."
    )

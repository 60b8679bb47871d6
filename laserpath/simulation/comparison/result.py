"""The result of a comparison: a row for each figure, and which programs have the best value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from laserpath.base.errors import one_line
from laserpath.physics import optics
from laserpath.report.figure_table import ROWS, Shown, keys_of
from laserpath.simulation.result import SimulationResult
from laserpath.types import Design, Process

_SAME = 0.01
"""Relative difference up to which values count as equal, so that no program is the best."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure of all programs. better: 'low', 'high' or ''.  best: indices of those that have the best."""

    key: str
    values: tuple[float, ...]
    better: str
    best: tuple[int, ...]

    @classmethod
    def of(cls, key: str, values: tuple[float, ...]) -> FigureRow:
        """The row of a figure, with the programs that have its best value."""
        better = ROWS[key].better
        best: tuple[int, ...] = ()
        if better and max(values) - min(values) > _SAME * max(map(abs, values)):
            top = min(values) if better == "low" else max(values)
            best = tuple(k for k, value in enumerate(values) if value == top)
        return cls(key, values, better, best)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Each value over the first program's; NaN where that is 0."""
        first = self.values[0]
        return tuple(value / first if first else math.nan for value in self.values)


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonResult:
    """simulations: one for each program, all on one machine and resin, against one design."""

    simulations: tuple[SimulationResult, ...]

    __repr__ = one_line

    @property
    def design(self) -> Design | None:
        """The design of all programs, if it was given."""
        return self.simulations[0].design

    @property
    def process(self) -> Process:
        """The process of all programs."""
        return self.simulations[0].process

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the programs."""
        return tuple(s.name for s in self.simulations)

    @property
    def rows(self) -> tuple[FigureRow, ...]:
        """All figures that every program has."""
        programs = [_figures(s) for s in self.simulations]
        keys = [key for key in keys_of(Shown.SIMULATION) if all(key in figures for figures in programs)]
        return tuple(FigureRow.of(key, tuple(float(figures[key]) for figures in programs)) for key in keys)

    def as_dict(self) -> dict[str, Any]:
        """The figures for JSON: each program's, and for each figure the best and the ratios to the first."""
        return {
            "design": self.design.name if self.design else None,
            "fwhm_mm": optics.fwhm(self.process.spot),
            "programs": [s.as_dict() for s in self.simulations],
            "figures": {
                row.key: {
                    "values": list(row.values),
                    "ratios": list(row.ratios),
                    "better": row.better or None,
                    "best": [self.names[k] for k in row.best],
                }
                for row in self.rows
            },
        }


def _figures(simulation: SimulationResult) -> dict[str, Any]:
    """The figures as executed, and the mean edge error of the same path at its best power."""
    figures = dict(simulation.as_dict()["executed"])
    if simulation.best is not None:
        figures["epe_mean_tuned"] = simulation.best.epe_mean
    return figures

"""What a comparison gives back: a line for each figure, and which program has the better one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laserpath import optics
from laserpath.base import files
from laserpath.base.errors import InputError
from laserpath.design import FLATTEN_FWHM, load
from laserpath.report.figure_table import ROWS, Shown, keys_of
from laserpath.simulation import Choices, Simulation, simulate
from laserpath.types import Design, Process, Settings

MOST = 8
"""Programs: more columns nobody can read."""

_SAME = 0.01
"""Relative difference that is none."""


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of all programs. better: 'low', 'high' or ''.  best: indices of those that have the best."""

    key: str
    values: tuple[float, ...]
    better: str
    best: tuple[int, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """Each over the first one's; NaN where that is 0."""
        first = self.values[0]
        return tuple(value / first if first else math.nan for value in self.values)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """simulations: one a program, of one machine, resin and design."""

    simulations: tuple[Simulation, ...]

    @property
    def design(self) -> Design | None:
        """What they should all print, if that is known."""
        return self.simulations[0].design

    @property
    def process(self) -> Process:
        """The physics of all."""
        return self.simulations[0].process

    @property
    def names(self) -> tuple[str, ...]:
        """Of the programs."""
        return tuple(s.name for s in self.simulations)

    @property
    def lines(self) -> tuple[Line, ...]:
        """All figures that every program has."""
        found = [_figures(s) for s in self.simulations]
        keys = [key for key in keys_of(Shown.SIMULATION) if all(key in values for values in found)]
        return tuple(_line(key, tuple(float(values[key]) for values in found)) for key in keys)

    def page(self) -> str:
        """The comparison as the text of one HTML file."""
        from laserpath.simulation.comparison.page import page

        return page(self)

    def write(self, folder: str | Path = ".") -> tuple[Path, ...]:
        """Write NAME.comparison.html, of the design's name or the first program's; return its path."""
        name = self.design.name if self.design else Path(self.names[0]).stem
        return files.write_all({Path(folder) / f"{name}.comparison.html": self.page()})

    def as_dict(self) -> dict[str, Any]:
        """The figures, for JSON: each program's, and of each figure the best and the ratios to the first."""
        return {
            "design": self.design.name if self.design else None,
            "fwhm_mm": optics.fwhm(self.process.spot),
            "programs": [s.as_dict() for s in self.simulations],
            "figures": {
                line.key: {
                    "values": list(line.values),
                    "ratios": list(line.ratios),
                    "better": line.better or None,
                    "best": [self.names[k] for k in line.best],
                }
                for line in self.lines
            },
        }


def compare(
    programs: Sequence[str | bytes | Path],
    process: Process | None = None,
    design: Design | str | None = None,
    settings: Settings | None = None,
    choices: Choices | None = None,
    *,
    names: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Simulate each program, and set them side by side; names: what to call them. See `simulate`."""
    if not 2 <= len(programs) <= MOST:
        raise InputError(f"{len(programs)} programs cannot be compared; give 2 to {MOST} of them")
    process = process or Process()
    if isinstance(design, str):
        design = load(design, tolerance=FLATTEN_FWHM * process.spot.fwhm)
    called = list(_told_apart(names or [_name(p, k) for k, p in enumerate(programs)]))
    return Comparison(
        tuple(
            simulate(program, process, design, settings, choices, name=name, progress=progress)
            for program, name in zip(programs, called, strict=True)
        )
    )


def _name(program: str | bytes | Path, k: int) -> str:
    """A file's; a text has a number."""
    if isinstance(program, Path) or (isinstance(program, str) and "\n" not in program):
        return str(program)
    return f"program {k + 1}"


def _told_apart(names: Sequence[str]) -> Iterator[str]:
    """Short names where that is enough, else as they were given, else numbered."""
    short, full = Counter(Path(name).name for name in names), Counter(names)
    for k, name in enumerate(names):
        if full[name] > 1:
            yield f"{k + 1}: {Path(name).name}"
        else:
            yield Path(name).name if short[Path(name).name] == 1 else name


def _figures(simulation: Simulation) -> dict[str, Any]:
    """As executed, and how true the path would be at its best power."""
    figures = dict(simulation.as_dict()["executed"])
    if simulation.best is not None:
        figures["epe_mean_tuned"] = simulation.best.epe_mean
    return figures


def _line(key: str, values: tuple[float, ...]) -> Line:
    better = ROWS[key].better
    best: tuple[int, ...] = ()
    if better and max(values) - min(values) > _SAME * max(map(abs, values)):
        top = min(values) if better == "low" else max(values)
        best = tuple(k for k, value in enumerate(values) if value == top)
    return Line(key, values, better, best)

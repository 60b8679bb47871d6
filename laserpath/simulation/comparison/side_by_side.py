"""The steps of a comparison: simulate each program, and set the results side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from laserpath.base import files
from laserpath.base.errors import InputError
from laserpath.design import FLATTEN_FWHM, as_design
from laserpath.simulation import Choices, Simulation, simulate
from laserpath.simulation.comparison.page import page
from laserpath.simulation.comparison.result import ComparisonResult
from laserpath.types import Design, Process, Settings

MOST = 8
"""Largest number of programs; a table with more columns is unreadable."""


def path_of(names: Sequence[str], design: Design | None, folder: str | Path = ".") -> Path:
    """The path of the page that compares programs of these names."""
    name = design.name if design else Path(names[0]).stem
    return Path(folder) / f"{name}.comparison.html"


class Comparison(ComparisonResult):
    """The result of `compare`, and the page made of it. simulations: one for each program."""

    __slots__ = ()
    simulations: tuple[Simulation, ...]

    def page(self) -> str:
        """The comparison as the text of one HTML file."""
        return page(self)

    def write(self, folder: str | Path = ".") -> tuple[Path, ...]:
        """Write NAME.comparison.html, of the design's name or the first program's; return its path."""
        return files.write_all({path_of(self.names, self.design, folder): self.page()})


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
    """Simulate 2 to 8 programs on one machine and resin; the other parameters are those of `simulate`.

    names: of the programs, instead of their files'. Raises InputError for a program that cannot be simulated.
    """
    if not 2 <= len(programs) <= MOST:
        raise InputError(f"{len(programs)} programs cannot be compared; give 2 to {MOST} of them")
    process = process or Process()
    if design is not None:
        design = as_design(design, FLATTEN_FWHM * process.spot.fwhm)
    unique = list(_unique(names or [_name(p, k) for k, p in enumerate(programs)]))
    return Comparison(
        tuple(
            simulate(program, process, design, settings, choices, name=name, progress=progress)
            for program, name in zip(programs, unique, strict=True)
        )
    )


def _name(program: str | bytes | Path, k: int) -> str:
    """The file's name; a text gets a number."""
    if isinstance(program, Path) or (isinstance(program, str) and "\n" not in program):
        return str(program)
    return f"program {k + 1}"


def _unique(names: Sequence[str]) -> Iterator[str]:
    """The files' names where they differ, else the names as given, else numbered ones."""
    short, full = Counter(Path(name).name for name in names), Counter(names)
    for k, name in enumerate(names):
        if full[name] > 1:
            yield f"{k + 1}: {Path(name).name}"
        else:
            yield Path(name).name if short[Path(name).name] == 1 else name

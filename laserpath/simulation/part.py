"""A program of a part, of any tool: all layers are executed and exposed, and what they cure is measured.

Light goes on below the layer that it is meant for, so that a layer alone says little. What the light of all
layers cures is found as for a plan (`measure.surface`): a plan's own program gets the figures of the plan.
Each layer is executed from the rest with which it begins; equal ones that follow each other are exposed once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import gcode
from laserpath.base import files
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure, one_line
from laserpath.design.supports import Unsupported
from laserpath.machine import convert
from laserpath.machine.heights import FOLLOWS, TIMED_AT_ONCE
from laserpath.machine.program import execute, lagged, moves_of_part
from laserpath.machine.resuming import SAME_Z, layer_rows
from laserpath.measure.columns import CuredPart
from laserpath.measure.surface import Filling, PartCure, Surface, Voxels, columns_of, thickness_of
from laserpath.physics import optics
from laserpath.physics.dose import usual_model
from laserpath.report.part import PartData, part_page
from laserpath.simulation import source
from laserpath.simulation.source import Program, Source
from laserpath.types import Design, Grid, Process, Resin

_RETURNED = 5e-4
"""mm, half of a program's last digit, by which Z may be off where a layer is left and entered again."""
_KEPT = 3
"""Different layers whose doses are kept for equal ones below: more take more memory."""


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A part on the machine. whole: what all layers expose.  layers: (z, area) each, mm, the lowest first.

    hanging: what of it cannot print.
    """

    whole: Design
    layers: tuple[tuple[float, Design], ...]
    hanging: tuple[Unsupported, ...] = ()

    __repr__ = one_line


@dataclass(frozen=True, slots=True, eq=False)
class PartSimulation:
    """What a program of a part cures. cured, surface: figures.  shape: for pictures.  write_time: s."""

    name: str
    process: Process
    part: PlacedPart
    cured: CuredPart
    surface: Surface
    shape: Voxels
    write_time: float
    warnings: tuple[str, ...] = ()

    __repr__ = one_line

    def as_dict(self) -> dict[str, Any]:
        """The figures, for JSON: plain numbers by name; lengths in mm, volumes in mm³."""
        return {
            "program": self.name,
            "design": self.part.whole.name,
            "layers": len(self.part.layers),
            "write_s": self.write_time,
            "warnings": list(self.warnings),
            "cured": {**self.cured.as_dict(), "surface": self.surface.as_dict()},
        }

    @property
    def sentences(self) -> tuple[str, str]:
        """What cures wrongly, and how far the surface is off."""
        now = self.cured
        through = f"{1000 * now.through:.0f} µm cure below overhangs on average; " if now.overhangs else ""
        return (
            f"{through}{figure(now.wrong)} of {figure(now.volume)} mm³ are cured wrongly",
            f"its surface is {1000 * self.surface.mean:.0f} µm off on average, and no more than "
            f"{1000 * self.surface.p95:.0f} µm over 95 % of it",
        )

    def page(self) -> str:
        """The report as the text of one HTML file."""
        part = self.part
        return part_page(
            PartData(
                part.whole, self.process, None, tuple(z for z, _ in part.layers), 0, self.write_time,
                self.cured, self.surface, None, None, self.shape, self.warnings, part.hanging,
                f"{self.name}, simulated",
            )
        )  # fmt: skip

    def write(self, folder: str | Path = ".") -> tuple[Path, ...]:
        """Write NAME.simulation.html."""
        return files.write_all({path_of_part(self.name, folder): self.page()})


def path_of_part(name: str, folder: str | Path = ".") -> Path:
    """The file that `PartSimulation.write` writes. name: of the program."""
    return Path(folder) / f"{Path(name).stem}.simulation.html"


def check_part(resin: Resin, z: float) -> None:
    """Raise InputError unless it is known what the light of all layers cures in a resin.

    z: mm, of a layer that can be simulated alone.
    """
    if resin.e_c is None or resin.tone != "negative":
        why = "is a positive resist" if resin.tone != "negative" else "has no working curve"
        raise InputError(
            f"resin {resin.name!r} {why}, so what the light of all layers cures is not known: simulate "
            f"one layer, as by --z {z:g}, or put e_c_mJ_per_cm2, penetration_depth_um and layer_um into "
            "its profile"
        )


def simulate_part(
    program: Program,
    process: Process,
    part: PlacedPart,
    *,
    dialect: str | None = None,
    s_max: float | None = None,
    name: str = "",
) -> PartSimulation:
    """Expose all layers of a part's program, a file or a text, and measure what they cure.

    part: as it is placed on the machine.  dialect, s_max: as in `Choices`.
    Raises InputError for a program that cannot be read or has other layers, and without a working curve.
    """
    check_part(process.resin, part.layers[0][0] + process.machine.focus)
    read = source.read(program, process.machine, dialect, s_max, name)
    process = replace(process, machine=read.machine)
    rows = _rows_of(read, part, process)
    drawn = [area for _, area in part.layers]
    columns = columns_of(part.whole, drawn, process, thickness_of([z for z, _ in part.layers]))
    made, filling = PartCure.of(columns, process), Filling(columns)
    doses = _LayerDoses(read, process, columns.grid)
    for k in reversed(range(len(drawn))):
        filling.add(k, made.add(drawn[k], k, doses.of(*rows[k])))
    cured, surface = made.result()
    several = [rows[k][0] for k in range(0, len(rows), TIMED_AT_ONCE)]
    groups = pairwise([*several, len(read.moves)])
    seconds = sum(_executed(read, process, *group).write_time for group in groups)
    return PartSimulation(read.name, process, part, cured, surface, filling.result(), seconds, read.remarks)


def _executed(read: Source, process: Process, first: int, last: int) -> gcode.motion.Executed:
    """Rows of layers, from the rest with which they begin; the first ones from the work zero."""
    sent = read.program.characters[first:last]
    joined = moves_of_part(read.moves.span(first, last), first, process.machine)
    return execute(joined, np.append(0, sent), process)


def _rows_of(read: Source, part: PlacedPart, process: Process) -> list[tuple[int, int]]:
    """The rows of each layer of the part. Raises InputError if the program has other layers.

    A tool may lift Z between two strokes of a layer: what is lit at the same height is one layer. Along a bed
    heights say nothing of that.
    """
    moves, machine, each = read.moves, process.machine, [z for z, _ in part.layers]
    along = machine.heights is not None or any(line.startswith(FOLLOWS) for line in read.head)
    rows = layer_rows(moves)
    first = [start + int(np.argmax(moves.on[start:end])) for start, end in pairwise(rows.tolist())]
    heights = moves.z[np.array(first) + 1] - machine.focus
    if not along:
        begins = np.append(True, np.abs(np.diff(heights)) > _RETURNED)
        rows, heights = np.append(rows[:-1][begins], rows[-1]), heights[begins]
    pairs = list(pairwise(rows.tolist()))
    if len(pairs) == len(each) and (along or np.abs(heights - each).max() <= SAME_Z):
        return pairs
    off = np.abs(heights[:, None] - each) > SAME_Z
    missing = np.array(each)[off.all(axis=0)] + machine.focus
    if not along and len(missing) and not off.all(axis=1).any():
        z, had = float(heights[0]) + machine.focus, len(each) - len(missing)
        raise InputError(
            f"{read.name!r} has {had} of the {len(each)} layers of {part.whole.name!r}, and none at Z "
            f"{source.listed(missing)} mm, so what the light of all layers cures is not known: simulate the "
            f"whole program, or one layer, as by --z {z:g}"
        )
    some = f"{len(pairs)} layers, Z {figure(float(heights[0]), 4)} to {figure(float(heights[-1]), 4)} mm"
    raise InputError(
        f"{read.name!r} has {some}, and {part.whole.name!r} has {len(each)}, {each[0]:g} to {each[-1]:g} mm: "
        "give --layer as it was planned, and the machine whose focus it has"
    )


class _LayerDoses:
    """The doses of a program's layers, as executed, on a grid."""

    def __init__(self, read: Source, process: Process, grid: Grid) -> None:
        self._read, self._process = read, process
        self._model = usual_model(grid, process.spot)
        self._made: deque[tuple[bytes, Floats]] = deque(maxlen=_KEPT)

    def of(self, first: int, last: int) -> Floats:
        """(rows, columns) mJ/mm², of the rows of a layer; equal layers have the same array."""
        moves = self._read.moves.span(first, last)
        start = int(np.argmax(moves.on))
        # All that its dose depends on: where it is in Z, and in how many characters it came, it does not.
        columns = moves.xy, moves.power, moves.speed, moves.kind, moves.centre, moves.dwell, moves.dynamic
        key = b"".join(one[start:].tobytes() for one in columns)
        dose = next((one for known, one in self._made if known == key), None)
        if dose is None:
            run = _executed(self._read, self._process, first, last)
            flat = replace(run, xyz=run.xyz * (1.0, 1.0, 0.0))
            machine, fwhm = self._process.machine, optics.fwhm(self._process.spot)
            lit = convert.from_moves(lagged(flat, machine, fwhm), machine)
            dose = np.maximum(self._model.dose(lit), 0.0).astype(np.float32)
            self._made.append((key, dose))
        return dose

"""What real firmware did with 78 files, and what the motion models say of them: `make firmware`.

Run as a program it writes the table of docs/gcode.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import gcode
from gcode.motion import Controller, Executed, Grbl, Klipper, Marlin, execute

DATA = Path(__file__).parents[1] / "data" / "firmware"
RECORDED: dict[str, dict[str, float]] = json.loads((DATA / "results.json").read_text())

_STEPS = (80.0, 80.0, 80.0)
MACHINES: dict[str, tuple[Controller, float, int | None]] = {
    "grbl": (Grbl(steps=_STEPS), 1000, 255),
    "marlin": (Marlin(steps=_STEPS), 255, 255),
    "klipper": (Klipper(minimum_cruise_ratio=0, steps=_STEPS), 1000, None),
}
"""Of each firmware: its limits, the number of full power, PWM levels."""


@dataclass(frozen=True)
class Error:
    """Relative errors of run time and exposure; position: mm RMS at equal time, NaN where not recorded."""

    run_time: float
    exposure: float
    position: float


@cache
def executed(name: str) -> Executed:
    """What the model says of a file."""
    firmware = name.split(".")[1]
    controller, s_max, levels = MACHINES[firmware]
    text = (DATA / f"{name}.gcode").read_text()
    program = gcode.read(text, gcode.dialect(firmware), s_max, start=(0, 0))
    return execute(program.moves, controller, characters=program.characters, power_levels=levels)


def error(name: str) -> Error:
    """How far the model is off; the clock of the recordings starts with the first step."""
    done, real = executed(name), RECORDED[name]
    first, last = done.stepping
    return Error(
        (last - first) / real["motion_s"] - 1, done.exposure / real["exposure"] - 1, _position(name, first)
    )


def _position(name: str, first: float) -> float:
    path = DATA / f"{name}.csv"
    if not path.exists():
        return float("nan")
    t, x, y, _ = np.loadtxt(path, delimiter=",", skiprows=1).T
    away = executed(name).at(t + first)[:, :2] - np.column_stack([x, y])
    return float(np.sqrt((away**2).sum(axis=1).mean()))


def _rows() -> list[list[str]]:
    """For each firmware mean and worst of the errors."""
    rows = []
    for firmware in MACHINES:
        found = [error(name) for name in RECORDED if name.endswith(f".{firmware}")]
        cells = [firmware, str(len(found))]
        for part, scale, unit in (("run_time", 100, " %"), ("exposure", 100, " %"), ("position", 1, " mm")):
            sizes = scale * np.abs([getattr(one, part) for one in found])
            cells.append(f"{np.nanmean(sizes):.2g} / {np.nanmax(sizes):.2g}{unit}")
        rows.append(cells)
    return rows


if __name__ == "__main__":
    import pages

    head = ["firmware", "files", "run time", "exposure ∫ power dt", "position, RMS at equal time"]
    page = Path(__file__).parents[2] / "docs" / "gcode.md"
    pages.write_between_markers(page, "firmware", pages.table(head, _rows()))

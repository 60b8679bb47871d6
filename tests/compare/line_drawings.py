"""The starting curve `strokes` against `auto` on five line drawings, as executed.

    python tests/compare/line_drawings.py [auto] [strokes] [NAME ...]

plans each with the default machine, resin and spot, and prints the mean edge error, the same with corners
that the spot rounds off measured along their bisector, the 95th percentile, the points of the outline without
a printed edge near, the write time, and the time that planning took.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import laserpath
from laserpath import Plan, Settings
from laserpath.design.scene import Scene
from laserpath.measure import rounded_off

FOLDER = Path(__file__).parents[1] / "data" / "line_drawings"
CURVES = ("auto", "strokes")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def bisected(plan: Plan) -> float:
    """Mean |EPE| of a plan as executed, mm; of corners that the spot rounds off, along their bisector."""
    printed, process = plan.report.executed, plan.process
    scene = Scene.of(plan.design, plan.target, process.spot, process.resin)
    return float(np.abs(rounded_off(printed.edges, printed.dose, scene).epe).mean())


def row(name: str, initial: str, **settings: object) -> tuple[float, float]:
    """Plan a drawing, print its figures, and return the mean edge error, µm, and the write time, s."""
    begun = time.perf_counter()
    plan = laserpath.plan(FOLDER / f"{name}.svg", settings=Settings(initial=initial, **settings))
    report = plan.report
    executed, start = report.executed.figures, report.start.figures
    _say(
        f"| {name} | {initial} | {100 * executed.epe_mean:.2f} | {1000 * bisected(plan):.2f} | "
        f"{100 * executed.epe_p95:.2f} | "
        f"{executed.missing_edges} of {executed.samples} | {report.executed.motion.write_time:.2f} | "
        f"{executed.dose_max:.2f} | {100 * start.epe_mean:.1f}, {report.start.motion.write_time:.2f} s | "
        f"{time.perf_counter() - begun:.0f} s |"
    )
    return executed.epe_mean, report.executed.motion.write_time


def main(given: list[str]) -> None:
    names = [one for one in given if one not in CURVES] or [p.stem for p in sorted(FOLDER.glob("*.svg"))]
    curves = [one for one in CURVES if one in given] or list(CURVES)
    _say("| drawing | start | mean EPE, µm | corners along bisectors | 95 %, µm | missing | write time, s |"
          " largest dose | starting curve: mean EPE, write time | planning |")  # fmt: skip
    _say("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        for initial in curves:
            row(name, initial)


if __name__ == "__main__":
    main(sys.argv[1:])

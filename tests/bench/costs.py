"""Measures the unit costs of `laserpath.planning.costs`: they are fits to the steps of plans of the samples.

`make costs` runs it: some 6 minutes of one core, best on an idle machine. It prints the table for `costs.py`,
the share of the rounds that was needed, and for each plan the forecast by this table ÷ the processor time. A
step's time is that between its first report and the next step's, as the progress bar counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import shapely
from scipy.optimize import nnls

import laserpath
from laserpath.planning import costs, forecast
from laserpath.planning.forecasts import length_of
from laserpath.planning.task import Task

SAMPLES = Path(__file__).parents[2] / "samples"

CASES: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("holes", "grbl-diode-405", {}),
    ("holes", "klipper-diode-405", {}),
    ("holes", "marlin-diode-405", {"quality": "draft"}),
    ("holes", "grbl-diode-405", {"quality": "fine", "pixels_per_fwhm": 10.0}),
    ("pcb", "grbl-diode-405", {}),
    ("pcb", "klipper-diode-405", {"initial": "contour"}),
    ("text", "marlin-diode-405", {}),
    ("text", "grbl-diode-405", {"initial": "strokes", "strokes": 600}),
    ("grating", "grbl-diode-405", {"quality": "draft"}),
    ("grating", "klipper-diode-405", {"iterations": 100}),
    ("butterfly", "grbl-diode-405", {"iterations": 200}),
    ("tee", "grbl-diode-405", {}),
    ("tee", "marlin-diode-405", {"quality": "fine"}),
)
"""Sample, machine, and settings other than the defaults; the tee is small."""

_OUTLINE = ((0, 0), (1, 0), (1, 0.3), (0.6, 0.3), (0.6, 1), (0.4, 1), (0.4, 0.3), (0, 0.3))
TEE = laserpath.Design(shapely.MultiPolygon([shapely.Polygon(_OUTLINE)]), "tee")
"""1 mm."""

WHAT = ("once", "pixel", "line", "edge")

Measured = list[tuple[str, float, float, list[float]]]
"""(step, rounds done, rounds allowed, [s, pixels, line, edge]) of each step."""


def measured(name: str, machine: str, choices: dict[str, object]) -> Measured:
    """The processor time and the work of each step of a plan."""
    process = laserpath.Process(machine=laserpath.profiles.machine(machine))
    settings = replace(laserpath.Settings(), **choices)  # type: ignore[arg-type]
    file = SAMPLES / f"{name}.svg"
    design = TEE if name == "tee" else laserpath.load(file, tolerance=process.spot.fwhm / 50)
    costs.pace(), forecast(design, process, settings)
    spent: dict[str, float] = defaultdict(float)
    rounds: dict[str, int] = defaultdict(int)
    now = ["start", time.process_time()]

    def change(stage: str) -> None:
        spent[now[0]] += time.process_time() - now[1]
        now[:] = stage, time.process_time()

    def listen(progress: laserpath.Progress) -> None:
        if progress.stage != now[0]:
            change(progress.stage)
        rounds[progress.stage] += progress.iteration > 0

    plan = laserpath.plan(design, process, settings, listen)
    change("report")
    plan.files(".")
    change("end")
    task = Task.of(plan.design, process, plan.settings)
    works = list(costs.works(task, length_of(task)))
    load = [work.rounds * work.pixels for work in works]
    whole = [sum(load[k] for k, one in enumerate(works) if one.step == work.step) for work in works]
    return [  # a step that comes twice is one step in what is reported: its time is shared by the load
        (
            work.step, (rounds[work.step] or 1.0) * part / every, work.rounds,
            [spent[work.step] * part / every, *sizes(work)],
        )
        for work, part, every in zip(works, load, whole, strict=True)
    ]  # fmt: skip


def sizes(work: costs.StepWork) -> tuple[float, float, float]:
    """Pixels, line and edge of each round."""
    return work.pixels, work.line, work.edge


def fitted(found: list[Measured], step: str) -> tuple[list[float], float]:
    """The four unit costs of a step, s and µs, none of them negative, and the share of rounds needed."""
    rows = [(done, most, values) for plan in found for name, done, most, values in plan if name == step]
    took = np.array([values[0] for _, _, values in rows])
    work = np.array([[done, *(1e-6 * done * np.array(values[1:]))] for done, _, values in rows])
    weight = 1 / np.maximum(took, 0.3)  # relative errors, but none of a moment's
    known = slice(0, 4) if len(rows) > 4 else slice(1, 2)  # of a few plans, the cost of a pixel alone
    units = np.zeros(4)
    units[known], _ = nnls(work[:, known] * weight[:, None], took * weight)
    return list(units), float(np.mean([done / most for done, most, _ in rows]))


def table(found: list[Measured]) -> dict[str, costs.Cost]:
    """The unit costs of all steps."""
    made = {}
    for step in costs.COSTS:
        if any(name == step for plan in found for name, *_ in plan):
            units, share = fitted(found, step)
            made[step] = costs.Cost(*(float(f"{unit:.2g}") for unit in units), share=round(min(share, 1), 2))
    return {**made, "find": made["shape"]}


def main() -> None:
    """Plan each case in a process of its own, and print what was found."""
    kept, found = Path(sys.argv[1]) if sys.argv[1:] else None, []
    if kept and kept.exists():
        found = json.loads(kept.read_text())
    for case in CASES[len(found) :]:
        done = subprocess.run(
            [sys.executable, __file__, "--one", json.dumps(case)], capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
        if kept:
            kept.write_text(json.dumps(found))
    costs.COSTS.update(table(found))
    click.echo(f"_REFERENCE = {min(costs.fixed_work() for _ in range(50)):.4f}\n\nCOSTS = {{")
    for step, cost in costs.COSTS.items():
        values = ", ".join(
            f"{name}={getattr(cost, name):g}"
            for name in (*WHAT, "share")
            if getattr(cost, name) != (name == "share")
        )
        click.echo(f'    "{step}": Cost({values}),')
    click.echo("}\n")
    for case, plan in zip(CASES, found, strict=False):
        steps = [
            (name, costs.StepWork(name, most, *values[1:]).seconds, values[0])
            for name, _, most, values in plan
        ]
        ratio = sum(one[1] for one in steps) / sum(one[2] for one in steps)
        words = (*case, f"{ratio:.2f}", *(f"{name} {a:.1f}/{b:.1f}" for name, a, b in steps))
        click.echo(" ".join(map(str, words)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        # With one processor nothing runs beside the steps, so that each one's time is its own.
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
        click.echo(json.dumps(measured(*json.loads(sys.argv[2]))))
    else:
        main()

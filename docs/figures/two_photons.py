"""The table of docs/resin.md on two photons: `python docs/figures/two_photons.py` prints it; two minutes."""

from __future__ import annotations

from dataclasses import replace

import shapely

import laserpath
from laserpath import Machine, Process, Spot, profiles
from laserpath.types import Design

FRAME = shapely.box(0.001, 0.001, 0.015, 0.010).difference(shapely.box(0.005, 0.004, 0.011, 0.007))
SPOT = Spot(0.35e-3 * 2**0.5, "gaussian", photons=2)
SPEEDS = {50.0: 120.0, 0.3: 9.0, 0.1: 9.0}
"""Full speed, mm/s → full power, mW."""
CONTROLLERS = (("smoothieware", 250.0), ("smoothieware", 10000.0), ("grbl", 250.0), ("grbl", 10000.0))
"""(dialect, moves/s of the link)."""


def cell(dialect: str, rate: float, speed: float, power: float) -> str:
    """IoU as commanded / as executed, without motor steps, with which no spot this small is drawn."""
    machine = replace(
        Machine(), dialect=dialect, segment_rate=rate, speed_max=(speed, speed), power_max=power, steps=None
    )
    process = Process(SPOT, profiles.resin("two-photon-resist"), machine)
    report = laserpath.plan(Design(FRAME, "frame"), process).report
    assert report.commanded is not None
    aimed, executed = (100 * one.figures.iou for one in (report.commanded, report.executed))
    return f"{aimed:.1f} / {executed:.1f} %"


if __name__ == "__main__":
    for speed, power in SPEEDS.items():
        way = speed**2 / (2 * min(Machine().acceleration)) / 0.35e-3
        print(f"| {speed:g} | {way:.2g} | {' | '.join(cell(*of, speed, power) for of in CONTROLLERS)} |")

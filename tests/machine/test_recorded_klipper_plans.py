"""Whole plans as real firmware executed them, step by step: what they print is what the models say."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gcode
from gcode.motion import Controller, Klipper, execute
from laserpath import Machine, Resin, Spot, Toolpath, load
from laserpath.base.arrays import Floats
from laserpath.design.scene import Scene
from laserpath.dose import accurate_model
from laserpath.machine import convert
from laserpath.measure import edge_errors

ROOT = Path(__file__).parents[2]
PLANS = ROOT / "tests" / "data" / "firmware" / "plans"
TICK = 1e-5
"""s, unit of the recorded times."""
FWHM = 0.1
POWER = 10.0
"""mW, at full level."""
DOT = 1e-6
"""mm, length of a stroke that stands for a rest."""


@dataclass(frozen=True)
class Recording:
    """(K+1,) s, times at which a step was taken or the power changed.

    xy: (K, 2) mm, where the axes stood in between.  level: (K,) 0 to 255.
    """

    time: Floats
    xy: Floats
    level: Floats

    @classmethod
    def read(cls, name: str, controller: str, steps: int) -> Recording:
        """The recording of a plan; the clock starts with the first step, at 0 mm."""
        data = np.load(PLANS / f"{name}.{controller}.{steps}.npz")
        axes = []
        for axis in "xy":
            times = np.cumsum(data[f"t{axis}"].astype(np.int64))
            ways = np.where(np.unpackbits(data[axis], count=len(times)), 1, -1)
            axes.append((times, np.append(0, np.cumsum(ways)) / steps))
        switched = data["tp"].astype(np.int64)
        ends = [times for times, _ in axes]
        time = np.unique(np.concatenate([[0], *ends, switched[switched > 0]]))
        since = time[:-1]
        xy = np.column_stack([places[np.searchsorted(at, since, side="right")] for at, places in axes])
        level = data["level"][np.searchsorted(switched, since, side="right") - 1]
        return cls(time * TICK, xy, level.astype(float))

    def path(self, power: Floats) -> Toolpath:
        """The lit rests as short strokes. power: (K,) mW."""
        lit = power > 0
        xy, seconds = self.xy[lit], np.diff(self.time)[lit]
        ends = np.stack([xy - [DOT / 2, 0], xy + [DOT / 2, 0]], axis=1).reshape(-1, 2)
        dark, fast = np.zeros(len(xy)), np.full(len(xy), 100.0)
        powers = np.column_stack([power[lit], dark]).ravel()[:-1]
        return Toolpath(ends, powers, np.column_stack([DOT / seconds, fast]).ravel()[:-1])


def executed(name: str, dialect: str, controller: Controller) -> Toolpath:
    """What the model says of a plan's program."""
    machine = Machine(dialect=dialect, power_max=POWER)
    text = gzip.decompress((PLANS / f"{name}.{dialect}.gcode.gz").read_bytes()).decode()
    program = gcode.read(text, gcode.dialect(dialect), machine.s_max, start=(0, 0))
    run = execute(program.moves, controller, characters=program.characters, longest=FWHM / 2)
    return convert.from_moves(replace(run, xyz=run.xyz * (1, 1, 0)).moves(), machine)


@cache
def scene(name: str) -> Scene:
    design = load(ROOT / "samples" / f"{name}.svg", tolerance=0.001)
    return Scene.around(design, Spot(FWHM), Resin(), pixels_per_fwhm=6)


@pytest.mark.parametrize(("name", "steps"), [("pcb", 80), ("pcb", 400), ("text", 80), ("holes", 80)])
def test_klipper_prints_what_the_model_says(name: str, steps: int) -> None:
    """The dose within 2 % of its peak everywhere, the mean edge error within 0.2 µm."""
    place = scene(name)
    model = accurate_model(place.grid, place.spot)
    recording = Recording.read(name, "klipper", steps)
    real = model.dose(recording.path(POWER * recording.level / 255))
    controller = Klipper(minimum_cruise_ratio=0.5, steps=(steps, steps, 400))
    said = model.dose(executed(name, "klipper", controller))
    assert np.abs(said - real).max() < 0.02 * real.max()
    one, other = (np.abs(edge_errors(dose, place).epe).mean() for dose in (said, real))
    assert one == pytest.approx(other, abs=2e-4)


def test_without_its_steps_klippers_model_is_wrong() -> None:
    """At 80 steps/mm an axis stands up to 6 µm beside its plan."""
    place = scene("pcb")
    model = accurate_model(place.grid, place.spot)
    recording = Recording.read("pcb", "klipper", 80)
    real = model.dose(recording.path(POWER * recording.level / 255))
    said = model.dose(executed("pcb", "klipper", Klipper(minimum_cruise_ratio=0.5)))
    assert np.abs(said - real).max() > 0.08 * real.max()
    one, other = (np.abs(edge_errors(dose, place).epe).mean() for dose in (said, real))
    assert other > one + 1e-3

"""Whole plans as real GRBL executed them, step by step and level by level: tests/data/firmware/plans.

The recorded head stands at the place of its last step, and its light is that of the pin. The model's dose of
the same file lies within a few per cent of the peak everywhere, and its mean edge error is the same.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from gcode.motion import Executed, LightCurve
from laserpath.base.arrays import Floats
from laserpath.config import profiles
from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.simulation import simulate
from laserpath.types import Machine, Process, Settings
from laserpath.types.results import Measurement

DATA = Path(__file__).parents[1] / "data" / "firmware" / "plans"
SAMPLES = Path(__file__).parents[2] / "samples"

TICK = 20e-6
"""s, of the recordings' times."""

GRID = 50e-6
"""s, between places of the recorded path: less than a step at full speed takes."""

DOSE = {250: 0.02, 80: 0.07}
"""Largest difference of the doses at each steps/mm, as a share of the peak."""

EPE = 0.2e-3
"""mm, of the mean edge errors."""

TIME = 1.5e-3
"""Of the run time."""


@dataclass(frozen=True)
class Recording:
    """A run of a plan: design, steps/mm."""

    design: str
    steps: int

    @property
    def text(self) -> str:
        """The program."""
        return gzip.decompress((DATA / f"{self.design}.grbl.gcode.gz").read_bytes()).decode()

    @property
    def machine(self) -> Machine:
        """The machine."""
        return replace(profiles.machine("grbl-diode-405"), steps=(self.steps, self.steps))

    def executed(self) -> Executed:
        """The recorded run, from the first step, with the light of the pin."""
        with np.load(DATA / f"{self.design}.grbl.{self.steps}.npz") as file:
            data = {name: file[name] for name in file.files}
        switched = np.cumsum(data["after_level"].astype(np.int64)) * TICK
        end = max(float(data["last"]), switched[-1])
        time = np.union1d(np.arange(0, end + GRID, GRID), switched)
        x, y = (self._axis(data, axis, time) for axis in "xy")
        level = data["level"][np.searchsorted(switched, time[:-1], side="right") - 1].astype(np.float64)
        xyz = np.column_stack([x, y, np.zeros(len(x))])
        light = LightCurve(1).of(level / 255, 255)
        row = np.zeros(len(level), dtype=np.int64)
        return Executed(row, np.diff(time), xyz, level / 255, (0.0, float(data["last"])), light)

    def _axis(self, data: dict[str, np.ndarray], axis: str, time: Floats) -> Floats:
        """(T,) mm at T times, after the last step."""
        after = data[f"after_{axis}"].astype(np.int64)
        after[after == 255] = data[f"long_{axis}"]
        way = np.where(np.unpackbits(data[f"up_{axis}"])[: len(after)] > 0, 1, -1)
        steps = np.append(0, np.cumsum(way))
        return steps[np.searchsorted(np.cumsum(after) * TICK, time + 1e-9, side="right")] / self.steps


def doses(recording: Recording) -> tuple[Measurement, Measurement, MachineProgram]:
    """The model's exposure, the recorded one, and the model's program."""
    design = str(SAMPLES / f"{recording.design}.svg")
    process = Process(machine=recording.machine)
    made = simulate(recording.text, process, design, Settings(origin="page"))
    assert made.scene is not None
    real = MachineProgram.of(made.shipped.path, made.process, execution=recording.executed())
    return (
        Exposure(made.shipped, made.scene).executed,
        Exposure(real, made.scene).executed,
        made.shipped,
    )


RECORDINGS = [
    pytest.param(Recording(design, steps), id=f"{design}-{steps}",
                 marks=[] if (design, steps) == ("pcb", 250) else pytest.mark.slow(2))
    for design in ("pcb", "text", "holes")
    for steps in (250, 80)
]  # fmt: skip


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_plan_is_exposed_as_the_firmware_exposed_it(recording: Recording) -> None:
    model, real, shipped = doses(recording)
    off = np.abs(model.dose - real.dose).max() / real.dose.max()
    assert off < DOSE[recording.steps]
    fwhm = 0.1
    assert abs(model.figures.epe_mean - real.figures.epe_mean) * fwhm < EPE
    first, last = shipped.run.stepping
    assert last - first == pytest.approx(recording.executed().stepping[1], rel=TIME)
    assert shipped.run.exposure == pytest.approx(recording.executed().exposure, rel=2e-3)


def test_the_pin_rather_than_the_level_explains_the_recorded_run() -> None:
    """Without the ATmega's curve the model is 4 % of the light short."""
    recording = Recording("pcb", 250)
    plain = Process(machine=replace(recording.machine, level_offset=0))
    short = simulate(recording.text, plain).shipped.run.exposure
    assert short < 0.97 * recording.executed().exposure

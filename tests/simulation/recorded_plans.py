"""What real firmware did with twelve whole plans, and what the motion models say of them: `make firmware`.

A recording has every step and every level: tests/data/firmware/plans. Between two steps an axis stands at the
place of its last one, as a motor does. The light is that of the pin: of an ATmega's fast PWM with GRBL, level
÷ 255 with Klipper. Run as a program it writes the table of docs/gcode.md.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from gcode.motion import Executed
from laserpath.base.arrays import Floats
from laserpath.config import profiles
from laserpath.machine.program import MachineProgram
from laserpath.measure.exposure import Exposure
from laserpath.simulation import simulate
from laserpath.types import Machine, Process, Settings
from laserpath.types.results import Measurement

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "firmware" / "plans"
HOSTS = DATA.with_name("hosts")
DESIGNS = ("pcb", "text", "holes")
STEPS = {"grbl": (250, 80), "klipper": (400, 80)}
"""Of each controller: the steps/mm that were recorded."""

GRID = 50e-6
"""s, longest time in which an axis goes from one step to the next. A larger one smears the steps."""

FWHM = 0.1
"""mm, of the default spot."""


@dataclass(frozen=True)
class Recording:
    """A run of a plan. steps: per mm."""

    design: str
    controller: str
    steps: int

    def __str__(self) -> str:
        return f"{self.design}-{self.controller}-{self.steps}"

    @property
    def text(self) -> str:
        """The program."""
        return gzip.decompress((DATA / f"{self.design}.{self.controller}.gcode.gz").read_bytes()).decode()

    @property
    def machine(self) -> Machine:
        """The machine that was told the program."""
        return replace(profiles.machine(f"{self.controller}-diode-405"), steps=(self.steps, self.steps))

    @property
    def drawing(self) -> Path:
        """The design that was planned."""
        return ROOT / "samples" / f"{self.design}.svg"

    @property
    def steps_file(self) -> Path:
        """The record of its steps and levels."""
        return DATA / f"{self.design}.{self.controller}.{self.steps}.npz"

    def executed(self) -> Executed:
        """The recorded run, from the first step."""
        with np.load(self.steps_file) as file:
            data = {name: file[name] for name in file.files}
        switched = np.cumsum(data["after_level"]) * data["tick"]
        last = float(data["last"])
        time = np.union1d(np.arange(0, max(last, switched[-1]) + GRID, GRID), switched[switched > 0])
        x, y = (self._axis(data, axis, time) for axis in "xy")
        level = data["level"][np.searchsorted(switched, time[:-1], side="right") - 1] / 255
        xyz = np.column_stack([x, y, np.zeros(len(x))])
        light = self.machine.light.of(level, 255)
        return Executed(np.zeros(len(level), int), np.diff(time), xyz, level, (0.0, last), light)

    def _axis(self, data: dict[str, np.ndarray], axis: str, time: Floats) -> Floats:
        """(T,) mm at T times, after the last step."""
        stepped = np.cumsum(data[f"after_{axis}"]) * data["tick"]
        way = np.where(np.unpackbits(data[f"up_{axis}"], count=len(stepped)), 1, -1)
        return np.append(0, np.cumsum(way))[np.searchsorted(stepped, time + 1e-9, "right")] / self.steps


@dataclass(frozen=True)
class HostRecording(Recording):
    """A run of the gear, sent by a slow host. window: as in `Machine`.  delay: ms after each "ok"."""

    window: str
    delay: int

    def __str__(self) -> str:
        return f"{self.window}-{self.delay}ms"

    @property
    def text(self) -> str:
        """The program."""
        return (HOSTS / f"{self.design}.{self.controller}.gcode").read_text()

    @property
    def machine(self) -> Machine:
        """The machine with its host."""
        return replace(super().machine, host_window=self.window, host_delay=self.delay / 1000)

    @property
    def drawing(self) -> Path:
        """The gear."""
        return HOSTS / f"{self.design}.svg"

    @property
    def steps_file(self) -> Path:
        """The record of its steps and levels."""
        return HOSTS / f"{self.design}.{self.window}.{self.delay}.npz"


@dataclass(frozen=True)
class KnownHostRecording(HostRecording):
    """A run of a gear that was planned for its host."""

    @property
    def text(self) -> str:
        """The program."""
        file = HOSTS / f"known.{self.window}.{self.delay}.{self.controller}.gcode.gz"
        return gzip.decompress(file.read_bytes()).decode()

    @property
    def steps_file(self) -> Path:
        """The record of its steps and levels."""
        return HOSTS / f"known.{self.window}.{self.delay}.npz"


RECORDINGS = tuple(
    Recording(design, controller, steps)
    for controller, recorded in STEPS.items()
    for steps in recorded
    for design in DESIGNS
)


HOST_RECORDINGS = tuple(
    HostRecording("gear", "grbl", 250, window, delay)
    for window in ("characters", "lines")
    for delay in (0, 1, 4, 16)
)

KNOWN_HOSTS = tuple(
    KnownHostRecording(one.design, one.controller, one.steps, one.window, one.delay)
    for one in HOST_RECORDINGS
)


@dataclass(frozen=True)
class Agreement:
    """The model's exposure of a plan, and the recorded one. run_time: s of the model, and recorded."""

    model: Measurement
    real: Measurement
    run_time: tuple[float, float]
    exposure: tuple[float, float]

    @property
    def dose(self) -> float:
        """The largest difference of the doses, as a share of the recorded peak."""
        return float(np.abs(self.model.dose - self.real.dose).max() / self.real.dose.max())

    @property
    def epe(self) -> tuple[float, float]:
        """mm, the mean edge errors."""
        return FWHM * self.model.figures.epe_mean, FWHM * self.real.figures.epe_mean


@cache
def agreement(recording: Recording, machine: Machine | None = None) -> Agreement:
    """What the model of the recording's machine, or of another, says of its program."""
    process = Process(machine=machine or recording.machine)
    made = simulate(recording.text, process, str(recording.drawing), Settings(origin="page"))
    assert made.scene is not None
    run, real = made.shipped.run, recording.executed()
    printed = MachineProgram.of(made.shipped.path, made.process, execution=real)
    return Agreement(
        Exposure(made.shipped, made.scene).executed,
        Exposure(printed, made.scene).executed,
        (run.stepping[1] - run.stepping[0], real.stepping[1]),
        (run.exposure, real.exposure),
    )


def _row(recording: Recording) -> list[str]:
    found = agreement(recording)
    off = (100 * (model / real - 1) for model, real in (found.run_time, found.exposure))
    model, real = (1000 * mean for mean in found.epe)
    return [
        recording.design, recording.controller, str(recording.steps), *(f"{part:+.2f} %" for part in off),
        f"{100 * found.dose:.1f} %", f"{real:.2f} µm", f"{model:.2f} µm",
    ]  # fmt: skip


def _host_row(recording: HostRecording) -> list[str]:
    found = agreement(recording)
    (model_time, real_time), (model_epe, real_epe) = found.run_time, found.epe
    model, real = found.model.figures, found.real.figures
    return [
        recording.window, f"{recording.delay} ms", f"{real_time:.2f} s", f"{model_time:.2f} s",
        f"{1000 * real_epe:.2f} µm", f"{1000 * model_epe:.2f} µm", f"{real.dose_max:.2f}",
        f"{model.dose_max:.2f}",
    ]  # fmt: skip


if __name__ == "__main__":
    import pages

    head = ["plan", "firmware", "steps/mm", "run time", "exposure ∫ light dt", "dose, of its peak",
            "mean edge error, recorded", "by the model"]  # fmt: skip
    table = pages.table(head, [_row(recording) for recording in RECORDINGS])
    pages.write_between_markers(ROOT / "docs" / "gcode.md", "plans", table)
    head = ["sent by", "delay", "run time, recorded", "by the model", "mean edge error, recorded",
            "by the model", "largest dose, recorded", "by the model"]  # fmt: skip
    for place, hosts in (("hosts", HOST_RECORDINGS), ("known hosts", KNOWN_HOSTS)):
        table = pages.table(head, [_host_row(recording) for recording in hosts])
        pages.write_between_markers(ROOT / "docs" / "gcode.md", place, table)

"""The motion models against what real firmware did: tests/data/firmware."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gcode
from gcode.motion import Controller, Executed, Grbl, Klipper, Marlin, execute

DATA = Path(__file__).parents[1] / "data" / "firmware"
RECORDED = json.loads((DATA / "results.json").read_text())
STEPS = (80.0, 80.0, 80.0)
MACHINES: dict[str, tuple[Controller, float, int | None]] = {
    "grbl": (Grbl(steps=STEPS), 1000, 255),
    "marlin": (Marlin(steps=STEPS), 255, 255),
    "klipper": (Klipper(minimum_cruise_ratio=0, steps=STEPS), 1000, None),
}
"""Of each firmware: its limits, the number of full power, PWM levels."""

RUN_TIME = {"grbl": 0.01, "marlin": 0.01, "klipper": 0.005}
EXPOSURE = 0.005
POSITION = 0.1
"""mm RMS at equal time."""

CHAOTIC = {"circle_005_F50.marlin": 0.2}
"""Where Marlin's link starves, its slowdown swings: 0.5 µs more per line move the head by 0.06 to 0.2 mm."""


@cache
def executed(name: str) -> Executed:
    """What the model says of a file."""
    firmware = name.split(".")[1]
    controller, s_max, levels = MACHINES[firmware]
    text = (DATA / f"{name}.gcode").read_text()
    program = gcode.read(text, gcode.dialect(firmware), s_max, start=(0, 0))
    return execute(program.moves, controller, characters=program.characters, power_levels=levels)


@pytest.mark.parametrize("name", RECORDED)
def test_run_time_and_exposure_are_the_firmware_s(name: str) -> None:
    done = executed(name)
    first, last = done.stepping
    assert last - first == pytest.approx(RECORDED[name]["motion_s"], rel=RUN_TIME[name.split(".")[1]])
    assert done.exposure == pytest.approx(RECORDED[name]["exposure"], rel=EXPOSURE)


@pytest.mark.parametrize("name", [name for name in RECORDED if "_F50." in name])
def test_the_head_is_where_the_firmware_had_it(name: str) -> None:
    done = executed(name)
    t, x, y, _ = np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1).T
    away = done.at(t + done.stepping[0])[:, :2] - np.column_stack([x, y])
    assert np.sqrt((away**2).sum(axis=1).mean()) < CHAOTIC.get(name, POSITION)


@pytest.mark.parametrize("firmware", MACHINES)
def test_a_million_moves_in_two_seconds(firmware: str) -> None:
    """Of processor time, once compiled: 0.2 mm moves along a wave, as a plan has them."""
    from time import process_time

    controller = MACHINES[firmware][0]
    n = 1_000_000
    t = np.arange(n + 1) * 0.2
    moves = gcode.Moves.straight(
        np.column_stack([t, np.sin(t / 5)]), np.full(n, 0.5), np.full(n, 20.0), np.zeros(n, bool)
    )
    few = gcode.Moves.straight(moves.xy[:100], moves.power[:99], moves.speed[:99], np.zeros(99, bool))
    execute(few, controller)
    begun = process_time()
    assert execute(moves, controller, longest=0.2).write_time > n * 0.2 / 20
    assert process_time() - begun < 8, "a machine four times as slow passes"

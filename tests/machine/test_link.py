"""The moves a second that the link carries with a slow host, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gcode
from gcode.controllers.common import PLANNED_CHARACTERS
from laserpath.machine import convert
from laserpath.machine.convert import slow_host
from laserpath.machine.powers import crowding, energies, executable
from laserpath.types import Machine, Spot, Toolpath

N = 400
ANGLE = np.linspace(0, 2 * np.pi, N + 1)
CIRCLE = 10 + 3 * np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])


@pytest.mark.parametrize(("window", "delay"), [("characters", 16), ("lines", 0), ("lines", 4)])
def test_a_fine_path_is_as_fast_as_the_host_lets_it(window: str, delay: int) -> None:
    """By the model of the firmware, line by line, with lines of usual length."""
    machine = Machine(host_window=window, host_delay=delay / 1000)
    moves = gcode.Moves.straight(CIRCLE, np.full(N, 0.5), np.full(N, 50.0), np.zeros(N, bool))
    sent = np.full(N, PLANNED_CHARACTERS)
    run = gcode.motion.execute(moves, convert.controller(machine), characters=sent, power_levels=255)
    assert convert.segment_rate(machine) < machine.segment_rate
    assert N / run.write_time == pytest.approx(convert.segment_rate(machine), rel=0.15)


def test_a_host_that_keeps_up_changes_nothing() -> None:
    """Marlin slows down by itself until lines come in time, and learned plans are truer with that."""
    for machine in (
        Machine(),
        Machine(host_delay=4e-3),
        Machine(host_window="card", host_delay=1.0),
        Machine(dialect="marlin", host_delay=16e-3),
    ):
        assert convert.segment_rate(machine) == machine.segment_rate
        assert slow_host(machine) == ()


def test_plans_are_as_fast_as_their_host() -> None:
    slow, spot = Machine(host_delay=16e-3), Spot(0.1)
    path = energies(Toolpath(CIRCLE, np.full(N, 2.0), np.full(N, 50.0)), spot)
    made = executable(path, spot, slow, 1.0)
    assert crowding(made, slow).max() < 1.05
    assert crowding(made, Machine()).max() == pytest.approx(
        crowding(made, slow).max() * convert.segment_rate(slow) / Machine().segment_rate
    )


def test_what_would_help_is_said() -> None:
    machine = Machine(host_delay=16e-3)
    (told,) = slow_host(machine)
    assert told.startswith("the host answers after 16 ms, so the link carries 162 moves/s instead of 250: ")
    assert told.endswith(
        "a latency of 1 ms (FTDI's latency timer) or a card that the controller reads would help"
    )
    (told,) = slow_host(replace(machine, host_window="lines"))
    assert "answers after 16 ms and sends line by line" in told
    assert "; a sender that counts characters or a latency of 1 ms" in told

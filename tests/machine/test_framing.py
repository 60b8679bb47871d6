"""The framing pass stays on the bounding box, as weak as the machine can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import shapely
from scipy.integrate import quad

import gcode
from laserpath.machine.framing import LAPS, frame, frame_dose
from laserpath.physics import optics
from laserpath.types import Design, Machine, Process, Spot

DESIGN = Design(
    shapely.MultiPolygon([shapely.Point(12, 7).buffer(3), shapely.box(20, 1, 22, 4)]), "two parts"
)


def moves(machine: Machine) -> gcode.Moves:
    return gcode.parse(frame(DESIGN, machine), gcode.dialect(machine.dialect), machine.s_max)


def test_it_goes_around_the_bounding_box() -> None:
    framed = moves(Machine())
    assert (*framed.xy.min(axis=0), *framed.xy.max(axis=0)) == pytest.approx(DESIGN.bounds, abs=1e-3)
    box = shapely.box(*DESIGN.bounds).exterior
    lit = shapely.linestrings(np.stack([framed.xy[:-1], framed.xy[1:]], axis=1)[framed.on])
    assert shapely.distance(lit, box).max() < 1e-3
    assert framed.length[framed.on].sum() == pytest.approx(LAPS * box.length, rel=1e-3)


def test_it_burns_at_the_smallest_usable_power() -> None:
    machine = replace(Machine(), level_min=3)
    framed = moves(machine)
    assert framed.power[framed.on] == pytest.approx(3 / machine.power_levels, rel=1e-3)


def test_its_program_warns_of_the_light() -> None:
    text = frame(DESIGN, Machine())
    assert "CAUTION: laser radiation" in text
    assert "exposes resin" in text


def test_the_dose_that_it_states_is_that_of_a_line() -> None:
    spot = Spot(0.07)
    process = replace(Process(), spot=spot)
    across = 2 * sum(
        quad(lambda r: float(optics.profile(spot, r)), k * spot.fwhm, (k + 1) * spot.fwhm)[0]
        for k in range(300)
    )
    machine = process.machine
    q = LAPS * machine.power_min / min(machine.speed_max)
    assert frame_dose(process) == pytest.approx(q * across / process.resin.critical_dose, rel=1e-3)

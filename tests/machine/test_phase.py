"""The PWM's unknown phase at the ends of lines, against a pin that is switched at all phases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sets import one_fast

import gcode
from laserpath import Machine, Process, Resin, simulate
from laserpath.machine import convert
from laserpath.machine.phase import LineEnds, phase_warnings, pulsed

PERIOD = 1.024e-3
GANTRY = Process()
GALVO = replace(
    GANTRY, machine=Machine(speed_max=(200.0, 200.0), rapid_speed=(400.0, 400.0), acceleration=(1e6, 1e6))
)


def dashes(speed: float, level: int = 90) -> gcode.Moves:
    """Three lit dashes of 3 mm on a line of 24 mm, all at one speed: the head moves through their ends."""
    x = [0, 8, 11, 12, 15, 16, 19, 27]
    power = np.array([0, 1, 0, 1, 0, 1, 0]) * level / 255
    xy = np.column_stack([x, np.ones(8)])
    return gcode.Moves.straight(xy, power, [speed] * 7, [False] * 7, dynamic=True)


def run_of(speed: float, process: Process = GANTRY, level: int = 90) -> gcode.motion.Executed:
    machine = process.machine
    return gcode.motion.execute(
        dashes(speed, level),
        convert.controller(machine),
        power_levels=machine.power_levels,
        light=machine.light,
    )


def pin(run: gcode.motion.Executed, phase: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """(T,) places and whether the pin is lit there: a level holds from the next period on, and 0 at once."""
    end = np.cumsum(run.duration)
    t = np.arange(step / 2, end[-1], step)
    start = np.floor((t - phase) / PERIOD) * PERIOD + phase
    now, then = (np.minimum(np.searchsorted(end, at, side="right"), len(end) - 1) for at in (t, start))
    lit = (t - start < np.where(start >= 0, run.light[then], 0) * PERIOD) & (run.light[now] > 0)
    return np.interp(t, np.concatenate([[0], end]), run.xyz[:, 0]), lit


@pytest.mark.parametrize("level", one_fast([25, 90, 200], 25))
def test_the_spread_and_the_mean_are_those_of_the_pin(level: int) -> None:
    """A beginning's place is where a steady light with as much energy up to the middle would begin."""
    run, step = run_of(50.0, level=level), 4e-6
    light = float(run.light.max())
    ends = LineEnds.of(run)
    spread, late = ends.spread(PERIOD), light * 50 * PERIOD / 2
    assert len(ends.speed) == 6
    np.testing.assert_allclose(ends.speed, 50, rtol=1e-3)
    begins, stops = [], []
    for phase in (np.arange(32) + 0.5) / 32 * PERIOD:
        x, lit = pin(run, phase, step)
        for first in (8, 12, 16):
            # Periods are counted from pulse to pulse, so that the energy of each lies about its middle.
            pulses = x[lit & (x > first - 0.1) & (x < first + 3.1)]
            edges = np.flatnonzero(np.diff(pulses) > 1e-3)
            heads = np.concatenate([pulses[:1], pulses[edges + 1]])
            steady = heads[len(heads) // 2] + light * 50 * PERIOD / 2
            before, after = (pulses < steady).sum(), (pulses >= steady).sum()
            begins.append(steady - before * step * 50 / light - first)
            stops.append(steady + after * step * 50 / light - first - 3)
    assert np.mean(begins) == pytest.approx(late, abs=1e-3), "half a pulse late"
    assert np.mean(stops) == pytest.approx(0, abs=1e-3), "dark at once"
    for found, half, mean in ((begins, spread[:3].max(), late), (stops, spread[3:].max(), 0.0)):
        assert np.abs(np.array(found) - mean).max() == pytest.approx(half, abs=2e-3)


def test_only_lines_that_end_at_speed_are_told_of() -> None:
    (told,) = phase_warnings(run_of(50.0), GANTRY)
    assert told.startswith(
        "the phase of the laser's PWM is unknown: ends of lines at 50 mm/s lie within ±26 µm; at 6 of 6 ends"
    )
    assert not list(phase_warnings(run_of(20.0), GANTRY))
    short = replace(GANTRY, machine=Machine(pwm_period=0.2e-3))
    assert not list(phase_warnings(run_of(50.0), short))
    wide = replace(GANTRY, spot=replace(GANTRY.spot, fwhm=0.2))
    assert not list(phase_warnings(run_of(50.0), wide))


def test_a_simulation_tells_it() -> None:
    process = Process(resin=Resin(critical_dose=0.1))
    text = gcode.write(dashes(50.0), gcode.dialect("grbl"), 1000.0)
    assert [w for w in simulate(text, process).warnings if "phase of the laser's PWM" in w]


def test_the_mean_delay_counts_where_a_head_is_fast_at_the_ends_of_lines() -> None:
    fwhm = GALVO.spot.fwhm
    assert convert.lag(GALVO.machine, fwhm) == gcode.motion.Lag(pwm=PERIOD)
    assert not convert.lag(GALVO.machine, 5 * fwhm), "205 µm a period are less than half of 500 µm"
    assert not convert.lag(GANTRY.machine, fwhm), "a gantry is slow there"
    assert not convert.lag(replace(GALVO.machine, pwm_period=0.2e-3), fwhm)
    assert not convert.lag(replace(GALVO.machine, dialect="linuxcnc"), fwhm), "a DAC has no period"


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.75])
def test_pulses_are_those_of_the_pin(phase: float) -> None:
    """Its light up to each place; a period that began in the dark has none."""
    run, step = run_of(20.0, level=25), 4e-6
    x, lit = pin(run, phase * PERIOD, step)
    got = pulsed(run, PERIOD, phase)
    assert got.write_time == pytest.approx(run.write_time)
    assert set(np.unique(got.light)) == {0.0, 1.0}
    order = np.argsort(x)
    pulses = np.interp(x[order], got.xyz[:, 0], np.append(0, np.cumsum(got.light * got.duration)))
    np.testing.assert_allclose(pulses, np.cumsum(lit[order]) * step, atol=0.01 * pulses[-1])


def test_pulses_have_the_energy_of_their_mean() -> None:
    """Half a pulse is lost where lines begin, and won where they end."""
    run, phases = run_of(20.0, level=25), (np.arange(16) + 0.5) / 16
    half = run.light.max() * PERIOD / 2
    dark, flashing = (
        float(np.mean([pulsed(run, PERIOD, p, flashes=flashes).exposure for p in phases]))
        for flashes in (False, True)
    )
    assert run.exposure == pytest.approx(dark, abs=0.2 * 3 * half)
    assert flashing - dark == pytest.approx(3 * PERIOD / 2, rel=0.1)


def test_pulses_keep_what_two_photons_absorb() -> None:
    run = run_of(20.0, level=25)
    got = pulsed(run, PERIOD, 0.0, order=2)
    assert got.light**2 @ got.duration == pytest.approx(run.light**2 @ run.duration, rel=0.05)

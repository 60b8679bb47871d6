"""The powers and speeds of a chart.

Powers rise and speeds fall by one ratio r, P_i ∝ r^(i/N) and v_j ∝ r^(−j), so that the line energies of the
matrix, P_i^N/v_j ∝ r^(i+j), are the same along each diagonal: this separates reciprocity from energy. Powers
are the light of the controller's levels; each speed compensates for their rounding, and is exactly
representable in the dialect. `level_row` is the row that measures how a level becomes light (`levels`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import gcode
from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import InputError, figure
from laserpath.calibration.levels import doubled, level_for
from laserpath.calibration.model import line_profile, shape_of
from laserpath.machine import convert
from laserpath.resin import line_energy, power_for
from laserpath.types import Machine, Process, Spot

RUN_SHARE = 0.1
"""Share of the machine's shorter side for the run-up at each end of a line; more allows faster lines."""
_RUN_UP_MARGIN = 1.25
_TRANSMISSION_TIMES = 2.0
"""Least duration of a short move, in times that the link takes to transmit a move."""
_FEED_MARGIN = 1e-3
"""Relative margin of the highest speed for the rounding of feeds."""
_TIME_CONSTANTS = 6.0
"""Length of the lead, in time constants; `gcode.motion.compensated` takes 5, and the shift itself."""
_NOTED_RATIO = 1.5
_SWITCHING_TIME = 2e-3
"""s, the shortest lit stroke."""
_DOUBLED = 4
"""Least number of levels in the row that measures their light; a larger one asks for more energy if the
laser is strong, and then its lines are wider than a fit can use."""
_FEED_STEPS = 5
"""Least speed in steps of the feed. With fewer, rounded speeds leave the diagonals of equal line energy."""


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """level: (I,), and power: (I,) mW of its light, rising.  speed: (J,) mm/s, falling, before rounding.

    energy: (I + J − 1,) rising, the line energy of each diagonal, in the unit of `resin.line_energy`.
    """

    level: Indices
    power: Floats
    speed: Floats
    energy: Floats


def threshold_energy(dose: float, spot: Spot) -> float:
    """The line energy whose line has `dose` along its middle."""
    light = line_profile(shape_of(spot), spot.photons)
    return dose * spot.fwhm / light.peak


def matrix(
    process: Process, low: float, high: float, powers: int, speeds: int
) -> tuple[Matrix, tuple[str, ...]]:
    """The matrix from line energy `low` to `high`, or as near as the machine comes; notes on differences."""
    machine, spot = process.machine, process.spot
    if not 0 < low < high:
        raise InputError(f"line energies from {low:g} to {high:g} mJ/mm are no range")
    limit = speed_limit(machine)
    faintest = machine.power_min
    weakest, strongest = (float(line_energy(p, 1.0, spot)) for p in (faintest, machine.power_max))
    least = max(low, weakest / limit)
    if least >= high:
        raise InputError(
            f"even the weakest line, {figure(faintest)} mW at {figure(limit)} mm/s, has "
            f"{figure(least / high)} times the highest requested line energy; put a filter into the beam, or "
            "request more"
        )
    # As many powers as fit between the weakest and the strongest.
    rows = powers
    while rows > 2 and (high / least) ** ((rows - 1) / (rows + speeds - 2)) > strongest / weakest:
        rows -= 1
    steps = np.arange(rows + speeds - 1)
    energy = least * (high / least) ** (steps / steps[-1])
    # If the machine lacks the power for the strongest line at this speed, all lines are slower.
    fastest = min(limit, strongest / float(energy[rows - 1]))
    target = power_for(energy[:rows], np.full(rows, fastest), spot)
    level = np.unique(level_for(target, machine))
    power = machine.power_of(level)
    own = energy[: len(power)]
    # A power that was rounded up must not push the speed above the limit.
    energy = energy * max(1.0, float((line_energy(power, limit, spot) / own).max()) * (1 + _FEED_MARGIN))
    speed = line_energy(power[0], 1.0, spot) / energy[:speeds]
    matrix = Matrix(level, power, speed, energy[: len(power) + speeds - 1])
    _check_slowest(matrix, process)
    return matrix, tuple(_notes(matrix, machine, low, powers))


def _notes(matrix: Matrix, machine: Machine, low: float, powers: int) -> Iterator[str]:
    if matrix.energy[0] > _NOTED_RATIO * low:
        yield (
            f"the weakest line has {figure(matrix.energy[0] / low)} times the line energy asked for: the "
            f"lowest power, {figure(matrix.power[0])} mW, at the highest speed, {figure(matrix.speed[0])} "
            "mm/s"
        )
    if len(matrix.power) < powers:
        yield (
            f"{len(matrix.power)} powers instead of {powers}: the machine has no more between level "
            f"{machine.level_min}, {figure(machine.power_min)} mW, and level "
            f"{machine.power_levels}, {figure(machine.power_max)} mW"
        )


def _check_slowest(matrix: Matrix, process: Process) -> None:
    least = slowest_speed(process.machine)
    slowest = float(line_energy(matrix.power[0], 1.0, process.spot) / matrix.energy[len(matrix.speed) - 1])
    if slowest < least:
        raise InputError(
            f"the slowest line would be written at {figure(slowest, 2)} mm/s, below the "
            f"{figure(least, 2)} mm/s that the "
            "feed's digits can still tell; ask for less line energy or fewer speeds"
        )


def level_row(table: Matrix, process: Process) -> tuple[Indices, float]:
    """Levels, each twice the one before, and the line energy of the row that measures their light.

    The energy is in the middle of the matrix, or higher if fewer than `_DOUBLED` levels can have it. The
    speeds are within those of the matrix, so that no line takes longer than there.
    """
    level, low, high = doubled(process.machine), float(table.energy[0]), float(table.energy[-1])
    unit = line_energy(process.machine.power_of(level), 1.0, process.spot)
    fastest, slowest = float(table.speed[0]), float(table.speed[-1])
    needed = float(unit[min(_DOUBLED, len(level)) - 1]) / fastest
    energy = min(max(float(np.sqrt(low * high)), needed), high)
    return level[(unit >= slowest * energy) & (unit <= (1 + _FEED_MARGIN) * fastest * energy)], energy


def slowest_speed(machine: Machine) -> float:
    """The speed in mm/s below which the rounding of feeds is coarse."""
    dialect = gcode.dialect(machine.dialect)
    return _FEED_STEPS * 0.1**dialect.feed_decimals * dialect.unit / 60


def speed_of(power: float, energy: float, process: Process) -> float:
    """mm/s at which a power has a line energy, rounded to a feed that the dialect can write."""
    exact = float(line_energy(power, 1.0, process.spot)) / energy
    machine, dialect = process.machine, gcode.dialect(process.machine.dialect)
    unit = dialect.unit / 60 * 0.1**dialect.feed_decimals
    if machine.steps is None or dialect.controller != "marlin":
        return round(exact / unit) * unit
    # Marlin rounds up to whole steps/s, a large change at low speeds: take a feed just below such a speed.
    whole = max(round(exact * min(machine.steps)), 1) / min(machine.steps)
    return int(whole / unit + 1e-9) * unit


def run_up(speed: float, machine: Machine) -> float:
    """Length in mm of the dark run-up: enough to reach the speed, and to transmit the move."""
    distance = _RUN_UP_MARGIN * speed**2 / (2 * _ramp(machine))
    return max(
        distance,
        _TRANSMISSION_TIMES * speed / machine.segment_rate,
        2 * shortest(machine),
        run_in(speed, machine),
    )


def run_in(speed: float, machine: Machine) -> float:
    """Lead in mm that makes up for lagging mirrors and laser delays."""
    return _TIME_CONSTANTS * max(machine.lag, machine.laser_on_delay, machine.laser_off_delay) * speed


def shortest(machine: Machine) -> float:
    """The shortest move in mm that the controller does not drop: a few motor steps."""
    controller = convert.controller(machine)
    if isinstance(controller, gcode.motion.Marlin):
        return float(controller.shortest_move)
    return 2 / min(machine.steps) if machine.steps is not None else 0.0


def shortest_time(machine: Machine) -> float:
    """Least duration of a lit stroke in s; the link delays a shorter one, and it switches badly."""
    return max(_SWITCHING_TIME, _TRANSMISSION_TIMES / machine.segment_rate)


def speed_limit(machine: Machine) -> float:
    """mm/s that the machine reaches within its share of the work area."""
    room = RUN_SHARE * min(machine.size)
    return min(*machine.speed_max, float(np.sqrt(2 * _ramp(machine) * room / _RUN_UP_MARGIN)))


def _ramp(machine: Machine) -> float:
    """The effective acceleration, mm/s². Klipper keeps a part of each move for cruising."""
    klipper = gcode.dialect(machine.dialect).controller == "klipper"
    return min(machine.acceleration) * (1 - machine.minimum_cruise_ratio if klipper else 1)

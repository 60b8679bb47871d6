"""What a plan will take, before it is begun: time to plan, memory, time to write; within a factor of about 3.

**Write time.** Lines a pitch apart fill the area A, and the outline, of length P, adds `_RIM` of itself:
L = A/pitch + 0.28 P, and no less than that one way along each part. The head goes along all of them about as
it would along the outline, which is given to the controller's planner: its bends, its ends and the link count
as they are, at the machine's full speed, or at the one that full power allows, E_N P^N/(D_c · pitch).

**Planning.** Seconds are for p pixels of the grid, n moves of the start, i iterations:

    tries        of each curve 40 iterations on a grid of 3 pixels per FWHM
    iterations   (25 ns p + 0.8 µs n + 5 ms) each, of which the optimiser does about `_DONE`
    checks       0.5 ms per FWHM of outline; 2.5 µs p for measuring and drawing; 3 s to begin with

and memory 400 MB + 200 B p. These are fits to plans of the five samples and of fields of 64 and 400 squares,
with 6 to 150 iterations, in processor seconds of one computer: forecast ÷ measured was 0.73 to 1.54 for
planning, 0.65 to 1.1 for memory, and 1.01 to 1.37 for writing, which has no fit but `_RIM`.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace

import numpy as np
import shapely

import gcode
from laserpath import optics
from laserpath.design.target import PIXELS_MAX, affordable, grid_for
from laserpath.machine import convert
from laserpath.machine.attenuation import check_power
from laserpath.machine.placement import to_expose
from laserpath.resin import speed_for
from laserpath.types import Design, Machine, Process, Settings, Toolpath

_RIM = 0.28
"""Of the outline's length, in lines that are not a whole pitch apart."""

_DONE = 0.7
"""Of the iterations allowed; the optimiser ends by itself."""

_TRIES, _OF_A_TRY = 3.0, 40
"""Curves that are tried as a rule, others being alike; and iterations of each."""

_AGAIN = 2.5
"""Plans that a tolerance takes."""

_BYTES = 200.0
"""Of memory for a pixel."""

BASE_BYTES = 4e8
"""Of memory for the program itself, and what it imports."""

_SIMPLE_FWHM = 0.03
"""How far vertices of the outline are left out, as the planner does."""

_SLOWER = 1.15
"""Write time relative to that without a link limit, above which a note says so."""

_TINY_FWHM = 0.5
"""Extent of a design below which a warning asks for its unit; a dot of that size may well be meant."""

_SLOW = 0.2
"""Mean speed, relative to the commanded one, below which a note says so."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """trying, solving, finishing: s, the parts of planning.  memory: bytes.  write_seconds: s.

    notes: what the machine cannot keep, and warnings: what this computer cannot; sentences.
    iterations: that solving takes at most as a rule; None: as many as the settings allow.
    """

    trying: float
    solving: float
    finishing: float
    memory: float
    write_seconds: float
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    iterations: int | None = None

    @property
    def plan_seconds(self) -> float:
        """s, to plan and to write the files."""
        return self.trying + self.solving + self.finishing


def forecast(design: Design, process: Process, settings: Settings) -> Forecast:
    """What a plan of a design takes.

    Raises InputError where it needs more pixels than there may be, or where the laser cannot write it.
    """
    design = to_expose(design, process.resin, process.spot)
    check_power(process, settings, design)
    requested = settings.pixels_per_fwhm
    settings = replace(settings, pixels_per_fwhm=affordable(design, process.spot, requested))
    grid = grid_for(design, process.spot, settings.pixels_per_fwhm)
    pixels = float(grid.shape[0] * grid.shape[1])
    memory = BASE_BYTES + _BYTES * pixels
    write, notes = _writing(design, process, settings)
    parts = _planning(design, process, settings, pixels)
    return Forecast(
        *parts, memory, write, notes, (*_tiny(design, process), *coarser(settings, requested), *tight(memory))
    )


def _planning(
    design: Design, process: Process, settings: Settings, pixels: float
) -> tuple[float, float, float]:
    """s, of one processor: trying curves, solving, measuring and drawing."""
    fwhm = optics.fwhm(process.spot)
    moves = _length(design, process, settings) / (settings.segment_fwhm * fwhm)

    def iteration(pixels: float) -> float:
        return 25e-9 * pixels + 0.8e-6 * moves + 5e-3

    coarse = pixels * (3 / settings.pixels_per_fwhm) ** 2
    tries = _TRIES * (_OF_A_TRY * iteration(coarse) + 0.5 + 5e-5 * moves)
    outline = design.area.length / fwhm
    solving = (
        _DONE * settings.iterations * iteration(pixels) * (2 if settings.blur > 1 else 1) + 5e-4 * outline
    )
    again = 1.0 if settings.max_epe_fwhm is None else _AGAIN
    area = design.area.area / fwhm**2
    reach = 1 + 1e-3 * area if area < 5000 and pixels < 1e6 else 0.0
    trying = 1.0 + (tries if settings.initial == "auto" else 0.0)
    return trying, again * solving, 2 + 2.5e-6 * pixels + reach


def _length(design: Design, process: Process, settings: Settings) -> float:
    """mm, of all lines."""
    return design.area.area / (settings.pitch_fwhm * optics.fwhm(process.spot)) + _RIM * design.area.length


def _writing(design: Design, process: Process, settings: Settings) -> tuple[float, tuple[str, ...]]:
    """s, and what slows the head down."""
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    energy = process.resin.critical_dose * settings.pitch_fwhm * fwhm
    fastest = min(machine.speed_max)
    allowed = float(speed_for(energy, machine.power_max, process.spot))
    speed = min(fastest, allowed)
    rings = _rings(design, _SIMPLE_FWHM * fwhm)
    along = sum(ring.length for ring in rings)
    seconds, free = (
        _outline(rings, speed, replace(machine, segment_rate=rate)) for rate in (machine.segment_rate, 1e9)
    )
    total = _length(design, process, settings) / along
    notes = []
    if allowed < fastest:
        notes.append(slowed(machine, allowed, "this resin"))
    if seconds > _SLOWER * free:
        notes.append(
            f"the link carries {machine.segment_rate:g} moves/s, and bends this fine have more at "
            f"{speed:.2g} mm/s: the head will go at about {along / seconds:.2g} mm/s"
        )
    elif along / free < _SLOW * speed:
        notes.append(
            f"bends and ends keep the head at about {along / free:.2g} of {speed:.2g} mm/s: "
            f"that is the machine's acceleration of {min(machine.acceleration):g} mm/s²"
        )
    return settings.passes * total * (seconds + _travels(design, len(rings), machine)), tuple(notes)


def _rings(design: Design, tolerance: float) -> list[shapely.LinearRing]:
    """All rings of the outline, as simple as the planner would have them."""
    simple = [
        ring.simplify(tolerance) for part in design.area.geoms for ring in (part.exterior, *part.interiors)
    ]
    return [ring for ring in simple if ring.length > 0]


def _outline(rings: list[shapely.LinearRing], speed: float, machine: Machine) -> float:
    """S to go along all rings, from rest to rest, the travels between them apart."""
    xy = [shapely.get_coordinates(ring) for ring in rings]
    on = np.concatenate([np.append(np.ones(len(one) - 1, dtype=bool), False) for one in xy])[:-1]
    path = Toolpath(
        np.concatenate(xy),
        np.where(on, machine.power_max, 0.0),
        np.where(on, speed, min(machine.rapid_speed)),
    )
    motion = gcode.motion.profile(convert.to_moves(path, machine), convert.limits(machine))
    return float(motion.duration[on].sum())


def _travels(design: Design, count: int, machine: Machine) -> float:
    """s, of as many travels as there are rings, each to a neighbour."""
    width, height = design.size
    each = math.sqrt(width * height / count) / 2
    return count * 2 * math.sqrt(each / min(machine.acceleration))


def _tiny(design: Design, process: Process) -> tuple[str, ...]:
    """A sentence if the whole design is smaller than half the spot: its unit may be wrong."""
    fwhm, size = optics.fwhm(process.spot), max(design.size)
    if size >= _TINY_FWHM * fwhm:
        return ()
    return (
        f"the whole design is {fwhm / size:.2g} times smaller than the spot of {1000 * fwhm:.3g} µm: take a "
        "smaller spot (--spot-fwhm), or a larger design (--scale) if its size is not as meant",
    )


def coarser(settings: Settings, requested: float) -> tuple[str, ...]:
    """A sentence if the grid is coarser than requested, to stay within `PIXELS_MAX`."""
    if settings.pixels_per_fwhm == requested:
        return ()
    return (
        f"the dose is computed with {settings.pixels_per_fwhm:.2g} pixels per FWHM instead of {requested:g}, "
        f"as more than {PIXELS_MAX:.2g} pixels would be needed; a wider spot, or a part at a time, is faster",
    )


def slowed(machine: Machine, speed: float, what: str) -> str:
    """A sentence that full power lets the head go no faster than `speed`, mm/s."""
    return (
        f"full power, {machine.power_max:g} mW, writes {what} at about {speed:.2g} mm/s, "
        f"below the {min(machine.speed_max):g} mm/s of the machine"
    )


def tight(memory: float) -> tuple[str, ...]:
    """A sentence if it may be more memory than there is."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system says
        return ()
    if memory <= there:
        return ()
    return (
        f"it needs about {memory / 1e9:.2g} GB of memory, above the {there / 1e9:.2g} GB of this computer: "
        "plan a part of the design at a time, or with a wider spot",
    )

"""The drawing's own lines as the path (`Reading.follow`): vertices stay, energies along them are optimised.

A line of width w needs the dose h ⊛ line at w/2 to be the critical one. In its middle the dose then is

    D(0) / D_c = L(0) / L(w/2),   L(s) = ∫ h(s, t) dt,

which rises steeply with w: in a Gaussian spot as 2^(w²/FWHM²). So the resin's limit of the dose is a limit of
the width of one line.

A line of constant energy ends too early, by about half a FWHM: beyond its end there is half of the dose. It
ends where it is drawn if it ends in a dot. So its ends are short moves of much energy, then of little.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import shapely

from laserpath.base.arrays import Floats, runs
from laserpath.base.errors import figure
from laserpath.machine import convert
from laserpath.machine.powers import within_power
from laserpath.physics import optics
from laserpath.types import Design, EnergyPath, Process

_REACH_FWHM, _STEPS = 4.0, 400
"""Half the length of the line that L is integrated over, and its steps: little of a spot is beyond."""

_ENDS = ((0.1, 6.0), (0.25, 3.0), (0.5, 0.4))
"""Ways from the ends of a line, in FWHM, up to which it has these shares of its energy: of three short moves
the least squares of the dose along the outline around a round end, in a spot of an Airy profile; more and
shorter ones would end it nearer to where it is drawn, and no head is so exact."""

_DOT_FWHM = 1.06
"""Length of a line with the energy of a dot as wide, in FWHM: √(π/4 ln 2), of a Gaussian spot."""

_SLACK = 1.02
"""Width relative to the widest line up to which nothing is said: a larger one warns less."""


def lines_of(design: Design) -> list[Floats]:
    """The strokes (K, 2) mm of a design that is followed."""
    assert design.lines is not None
    return [shapely.get_coordinates(one) for one in design.lines.paths.geoms]


def with_ends(path: EnergyPath, process: Process) -> EnergyPath:
    """The path with open strokes that end where they are drawn: in short moves, of the energies of `_ENDS`.

    A stroke shorter than both ends has the energy of a dot more.
    """
    fwhm, controller = optics.fwhm(process.spot), convert.controller(process.machine)
    ways, shares = fwhm * np.array([at for at, _ in _ENDS]), [share for _, share in _ENDS]
    xy, energy, speed = [path.xy[:1]], [np.zeros(0)], [np.zeros(0)]
    strokes = [(*run, True) for run in runs(path.on)]
    lengths = path.length
    for first, last, lit in sorted([*strokes, *((*run, False) for run in runs(~path.on))]):
        moves = slice(first, last)
        stroke, along = path.xy[first : last + 1], np.append(0.0, np.cumsum(lengths[moves]))
        length, own = along[-1], path.energy[moves]
        places, share = along, np.ones(last - first)
        if lit and (stroke[0] != stroke[-1]).any():
            if length <= 2 * ways[-1]:
                share *= 1 + _DOT_FWHM * fwhm / max(length, 1e-9)
            elif ways[0] >= controller.shortest_move:
                places = np.unique(np.concatenate([along, ways, length - ways]))
                middle = (places[1:] + places[:-1]) / 2
                share = np.append(shares, 1.0)[np.searchsorted(ways, np.minimum(middle, length - middle))]
        row = np.searchsorted(along, (places[1:] + places[:-1]) / 2) - 1
        xy.append(np.column_stack([np.interp(places[1:], along, axis) for axis in stroke.T]))
        energy.append(share * own[row])
        speed.append(path.speed[moves][row])
    return within_power(
        EnergyPath(np.vstack(xy), np.concatenate(energy), np.concatenate(speed)),
        process.machine,
        process.spot,
    )


def widest_line(process: Process) -> float:
    """mm, width of a single line whose middle has the largest dose that the resin allows."""
    spot, fwhm = process.spot, optics.fwhm(process.spot)
    s = np.linspace(0, _REACH_FWHM * fwhm, _STEPS)
    t = np.linspace(-_REACH_FWHM * fwhm, _REACH_FWHM * fwhm, 2 * _STEPS + 1)
    # A spot that is not round draws lines of different widths along x and y.
    across = [optics.profile(spot, s[:, None], t), optics.profile(spot, t, s[:, None])]
    widths = []
    for profile in across:
        dose = profile.sum(axis=1)
        below = np.flatnonzero(dose * process.resin.over_dose < dose[0])
        widths.append(2 * s[below[0] if len(below) else -1])
    return float(np.mean(widths))


def too_wide(design: Design, process: Process) -> Iterator[str]:
    """A sentence if lines are drawn wider than one line of the spot gives."""
    if design.lines is None:
        return
    most, widths = widest_line(process), np.array(design.lines.widths)
    wide = int((widths > _SLACK * most).sum())
    if wide:
        some = "1 line is" if wide == 1 else f"{wide} lines are"
        yield (
            f"{some} drawn up to {figure(widths.max())} mm wide, but one line of this spot gives about "
            f"{figure(most)} mm before its dose exceeds the resin's limit of {process.resin.over_dose:g} × "
            "critical: it comes out narrower or overexposed; without --follow lines are filled to their width"
        )

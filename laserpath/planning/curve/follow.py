"""The drawing's own lines as the path (`Reading.follow`): vertices stay, energies along them are optimised.

A line of width w needs the dose h ⊛ line at w/2 to be the critical one. In its middle the dose then is

    D(0) / D_c = L(0) / L(w/2),   L(s) = ∫ h(s, t) dt,

which rises steeply with w: in a Gaussian spot as 2^(w²/FWHM²). So the resin's limit of the dose is a limit of
the width of one line.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import shapely

from laserpath.base.arrays import Floats
from laserpath.base.errors import figure
from laserpath.physics import optics
from laserpath.types import Design, Process

_REACH_FWHM, _STEPS = 4.0, 400
"""Half the length of the line that L is integrated over, and its steps: little of a spot is beyond."""

_SLACK = 1.02
"""Width relative to the widest line up to which nothing is said: a larger one warns less."""


def lines_of(design: Design) -> list[Floats]:
    """The strokes (K, 2) mm of a design that is followed."""
    assert design.lines is not None
    return [shapely.get_coordinates(one) for one in design.lines.paths.geoms]


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

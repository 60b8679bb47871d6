"""Histograms of dose by area, and of power and speed by time; each function returns an SVG."""

from __future__ import annotations

import numpy as np
import shapely

from laserpath.base.arrays import Floats
from laserpath.report.canvas import WIDTH, Axes, Paper
from laserpath.report.data import ExposedProgram
from laserpath.report.marks import DASHED, INK, Line, Mark
from laserpath.report.raster import OVER, coverage
from laserpath.report.track import Track
from laserpath.types import Design

_BINS = 60
_RIM_FWHM = 1.0
"""Width of the strip around the design, in FWHM."""
_LIT = 0.05
"""Smallest dose that counts as exposed, in critical doses."""
_INSIDE, _OUTSIDE = "#5b7f95", "#e69f00"


def doses(exposed: ExposedProgram) -> str:
    """The dose by area, inside the design and around it; of all that is exposed if there is no design."""
    resin = exposed.process.resin
    dose = exposed.dose / resin.critical_dose
    lit = dose[dose > _LIT]
    top = 1.1 * float(max(np.percentile(lit, 99.9), 1.0)) if lit.size else 1.1
    bins, heights, marks = np.linspace(0, top, _BINS + 1), [], []
    for share, colour, label in _shares(exposed, dose):
        seen = share > 0
        weights = 100 * share[seen] / max(float(share.sum()), 1e-12)
        heights.append((np.histogram(np.clip(dose[seen], 0, top), bins, weights=weights)[0], colour))
        marks.append(Mark(label, fill=colour))
    sheet = Paper(WIDTH, 2.75)
    ax = Axes(sheet, (0.62, 1.0, WIDTH - 0.9, 1.6), (0, top), (0, _room(*(height for height, _ in heights))))
    for height, colour in heights:
        ax.area(stairs(bins, height), colour, opacity=0.75)
    lines = [(1.0, Line(INK), "critical dose")]
    if resin.over_dose < top:
        lines.append((resin.over_dose, Line(OVER, 1, DASHED), f"limit, {resin.over_dose:g} ×"))
    for at, pen, label in lines:
        ax.upright(at, pen)
        marks.append(Mark(label, pen=pen))
    ax.close("dose ÷ critical dose", "share of area, %")
    sheet.legend(marks, columns=2)
    return sheet.svg()


def stairs(bins: Floats, height: Floats, base: Floats | float = 0.0) -> Floats:
    """(N, 2) the outline of bars between bins (N + 1,), from `base` up to the heights (N,)."""
    x = np.repeat(bins, 2)[1:-1]
    upper, lower = np.repeat(height, 2), np.repeat(np.broadcast_to(base, height.shape), 2)
    return np.concatenate([np.stack([x, upper], axis=1), np.stack([x, lower], axis=1)[::-1]])


def _room(*heights: Floats) -> float:
    """The upper limit of an axis on which all bars have room."""
    return 1.05 * max((float(height.max(initial=0)) for height in heights), default=0.0) or 1.0


def _shares(exposed: ExposedProgram, dose: Floats) -> list[tuple[Floats, str, str]]:
    """(share of each pixel, colour, label) of each histogram."""
    if exposed.design is None:
        return [((dose > _LIT).astype(np.float64), _INSIDE, "exposed")]
    inside = coverage(exposed.design, exposed.grid)
    around = exposed.design.area.buffer(_RIM_FWHM * exposed.fwhm, quad_segs=4)
    parts = [g for g in shapely.get_parts(around) if g.geom_type == "Polygon"]
    near = coverage(Design(shapely.MultiPolygon(parts)), exposed.grid)
    rim = f"outside, up to {_RIM_FWHM:g} FWHM from it"
    return [(inside, _INSIDE, "inside the design"), (np.maximum(near - inside, 0), _OUTSIDE, rim)]


def powers_and_speeds(track: Track) -> str:
    """Power and speed, as executed, by time with the laser on."""
    sheet = Paper(WIDTH, 2.1)
    on, time = track.on, np.diff(track.t)
    wide = (WIDTH - 1.5) / 2
    for left, values, name, colour in (
        (0.62, track.power[on], "power, mW", "#86216b"),
        (1.32 + wide, track.speed[on], "speed, mm/s", "#5b7f95"),
    ):
        top = float(values.max(initial=0.0)) * 1.02 or 1.0
        share = 100 * time[on] / max(float(time[on].sum()), 1e-12)
        height, bins = np.histogram(values, np.linspace(0, top, 41), weights=share)
        ax = Axes(sheet, (left, 0.5, wide, 1.45), (0, top), (0, _room(height)))
        ax.area(stairs(bins, height), colour)
        ax.close(name, "share of time, %")
    return sheet.svg()

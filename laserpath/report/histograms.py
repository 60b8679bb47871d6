"""Histograms of dose by area, and of power and speed by time; each function returns a PNG."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from matplotlib.axes import Axes

from laserpath.base.arrays import Floats
from laserpath.report.canvas import FAINT, INK, WIDTH, axes, labelled, legend, png, sheet
from laserpath.report.data import ExposedProgram
from laserpath.report.raster import OVER, coverage
from laserpath.report.track import Track
from laserpath.types import Design

_BINS = 60
_RIM_FWHM = 1.0
"""Width of the strip around the design, in FWHM."""
_LIT = 0.05
"""Smallest dose that counts as exposed, in critical doses."""
_INSIDE, _OUTSIDE = "#5b7f95", "#e69f00"


def doses(exposed: ExposedProgram) -> bytes:
    """The dose by area, inside the design and around it; of all that is exposed if there is no design."""
    resin = exposed.process.resin
    dose = exposed.dose / resin.critical_dose
    figure = sheet(WIDTH, 2.75)
    ax = labelled(axes(figure, 0.62, 1.0, WIDTH - 0.9, 1.6), "dose ÷ critical dose", "share of area, %")
    lit = dose[dose > _LIT]
    top = 1.1 * float(max(np.percentile(lit, 99.9), 1.0)) if lit.size else 1.1
    bins = np.linspace(0, top, _BINS + 1)
    for share, colour, label in _shares(exposed, dose):
        seen = share > 0
        weights = 100 * share[seen] / max(float(share.sum()), 1e-12)
        _fill(ax, np.clip(dose[seen], 0, top), bins, weights, color=colour, label=label, alpha=0.75)
    ax.axvline(1, color=INK, lw=1, label="critical dose")
    if resin.over_dose < top:
        ax.axvline(resin.over_dose, color=OVER, lw=1, ls=(0, (4, 3)), label=f"limit, {resin.over_dose:g} ×")
    ax.set_xlim(0, top)
    legend(figure, ax.get_legend_handles_labels()[0], columns=2)
    return png(figure)


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


def powers_and_speeds(track: Track) -> bytes:
    """Power and speed, as executed, by time with the laser on."""
    figure = sheet(WIDTH, 2.1)
    on, time = track.on, np.diff(track.t)
    wide = (WIDTH - 1.5) / 2
    for left, values, name, colour in (
        (0.62, track.power[on], "power, mW", "#86216b"),
        (1.32 + wide, track.speed[on], "speed, mm/s", "#5b7f95"),
    ):
        ax = labelled(axes(figure, left, 0.5, wide, 1.45), name, "share of time, %")
        _add_shares(ax, values, time[on], colour)
    return png(figure)


def _add_shares(ax: Axes, values: Floats, weight: Floats, colour: str) -> None:
    top = float(values.max(initial=0.0)) * 1.02 or 1.0
    share = 100 * weight / max(float(weight.sum()), 1e-12)
    _fill(ax, values, np.linspace(0, top, 41), share, color=colour)
    ax.axvline(0, color=FAINT, lw=0.8)
    ax.set_xlim(0, top)


def _fill(ax: Axes, values: Floats, bins: Floats, weights: Floats, **style: Any) -> None:
    """A histogram as one patch, which is drawn much faster than a patch for every bar."""
    ax.hist(values, bins.tolist(), weights=weights, histtype="stepfilled", **style)

"""The physical limit: the best dose that any source of light could leave, whatever the machine can do.

The light is a source of energies e_k = E₀ w_k² ≥ 0 on a square lattice in and around the design, free of
paths, powers and speeds; its weights w are moved downhill until

    min over w of  loss(Σ_k e_k h(· − x_k)),   ∂loss/∂w_k = 2 E₀ w_k ∂loss/∂e_k

gains no more. That is inverse lithography with the mask left out (Pang, *Inverse lithography technology: 30
years from concept to practical, full-chip reality*, J. Micro/Nanopattern. Mater. Metrol. 20, 030901, 2021).
A lattice of pitch FWHM/3 is as good as a continuum: in focus an Airy spot passes no period below 0.97 FWHM,
so that the copies of the spectrum at 3/FWHM are far beyond, and a Gaussian has fallen to e⁻³² there.

E₀ is the energy of one lattice cell at 1.4 critical doses; the start is w = 1 inside, 0.2 outside. L-BFGS
(scipy's) goes to the nearest hollow, and w² keeps e ≥ 0 without bounds. The loss is given, since what is
measured here must not depend on what is optimised. The limit is one of that loss: it trades edges against the
process window and over-dose as the loss does. It is found, not proven: nothing near it is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import shapely

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.dose import accurate_model, engine
from laserpath.measure.figures import DEFOCUS, cure_figures, edge_errors
from laserpath.measure.places import THRESHOLD_FWHM, unprintable
from laserpath.planning.optimise.descent import downhill
from laserpath.types import Design, Grid, Spot, Target
from laserpath.types.results import Limit

Loss = Callable[[Floats], tuple[float, Floats]]
"""dose (rows, columns) on the target's grid → (loss, ∂loss/∂dose (rows, columns))."""

EVALUATIONS = 250
TOLERANCE = 0.01

_LATTICE_FWHM = 1 / 3
_AROUND_FWHM = 1.0
_BRIGHT = 1.4
_OUTSIDE = 0.2


def limit(
    design: Design,
    target: Target,
    spot: Spot,
    critical_dose: float,
    loss: Loss,
    *,
    evaluations: int = EVALUATIONS,
    tolerance: float = TOLERANCE,
    threshold_fwhm: float = THRESHOLD_FWHM,
) -> Limit:
    """How well a design can be printed with a spot, and what cannot.

    design: the area to expose, mm.  target: the same on a grid, 6 pixels per FWHM say.
    critical_dose: mJ/mm².  loss: of a dose on that grid, `objective.Objective` for one.
    It ends where the last 20 iterations gained less than `tolerance` of the loss, or after so many
    evaluations.  threshold_fwhm: edges misplaced by more are named as unprintable, in FWHM.
    """
    if evaluations < 1:
        raise InputError(f"evaluations is {evaluations}, but must be at least 1")
    xy, start, unit = _lattice(design, spot, critical_dose)
    energy, history = _optimise(xy, start, unit, target.grid, spot, loss, evaluations, tolerance)
    grid, wide = target.grid, optics.widened(spot, DEFOCUS)
    dose = accurate_model(grid, spot).engine.spread(xy, energy)
    defocused = accurate_model(grid, wide).engine.spread(xy, energy)
    edges = edge_errors(dose, grid, design, spot, critical_dose)
    return Limit(
        xy=xy,
        energy=energy,
        grid=grid,
        dose=dose,
        edges=edges,
        figures=cure_figures(dose, defocused, edges, target, design, spot, critical_dose),
        loss=history,
        unprintable=unprintable(dose, grid, design, spot, critical_dose, threshold_fwhm),
    )


def _lattice(design: Design, spot: Spot, critical_dose: float) -> tuple[Floats, Floats, float]:
    """(xy (M, 2) mm, first weights w (M,), E₀): the lattice within 1 FWHM of the design."""
    # Out of focus an Airy spot is wider, but its finest structure is not; across an ellipse it is finer.
    narrow = optics.fwhm(replace(spot, defocus=0.0)) * min(spot.aspect, 1 / spot.aspect) ** 0.5
    pitch = _LATTICE_FWHM * narrow
    around = design.area.buffer(_AROUND_FWHM * optics.fwhm(spot))
    x0, y0, x1, y1 = around.bounds
    x, y = np.meshgrid(np.arange(x0, x1 + pitch, pitch), np.arange(y0, y1 + pitch, pitch))
    shapely.prepare(around)
    shapely.prepare(design.area)
    kept = shapely.contains_xy(around, x, y)
    xy = np.stack([x[kept], y[kept]], axis=1)
    start = np.where(shapely.contains_xy(design.area, xy), 1.0, _OUTSIDE)
    return xy, start, _BRIGHT * critical_dose * pitch**2


def _optimise(
    xy: Floats,
    start: Floats,
    unit: float,
    grid: Grid,
    spot: Spot,
    loss: Loss,
    evaluations: int,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """(energy (M,), losses): energies unit·w², w from `start` downhill; the best of all evaluations."""
    light = engine(grid, spot)
    history: list[float] = []
    best = (np.inf, start)

    def evaluate(w: Floats) -> tuple[float, Floats]:
        nonlocal best
        energy = unit * w**2
        value, slope = loss(light.spread(xy, energy))
        if not np.isfinite(value):
            raise InputError(f"loss is {value} at evaluation {len(history)}, but must be finite")
        history.append(value)
        if value < best[0]:
            best = (value, w.copy())
        d_energy, _ = light.gather(xy, energy, slope)
        return value, 2 * unit * w * d_energy

    downhill(evaluate, start, evaluations, tolerance)
    return unit * best[1] ** 2, np.array(history)

"""The physical limit: the best dose that a light source with this spot could give on an ideal machine.

The source has energies e_k = E₀ w_k² ≥ 0 on a square lattice in and around the design, without paths, powers
or speeds. Its weights w minimise

    loss(Σ_k e_k h(· − x_k)),   ∂loss/∂w_k = 2 E₀ w_k ∂loss/∂e_k.

That is inverse lithography without the mask (Pang, *Inverse lithography technology: 30 years from concept to
practical, full-chip reality*, J. Micro/Nanopattern. Mater. Metrol. 20, 030901, 2021). A lattice of pitch
FWHM/3 is as good as a continuum: in focus an Airy spot passes no period below 0.97 FWHM, so that the copies
of the spectrum at 3/FWHM are far beyond its cut-off, and a Gaussian has fallen to e⁻³² there. The lattice is
on pixels of the design's grid, as far apart as that allows, so that its dose is one filter (`dose.fft`).

E₀ is the energy of one lattice cell at 1.4 critical doses; the start is w = 1 inside, 0.2 outside. scipy's
L-BFGS descends to a local minimum, and w² keeps e ≥ 0 without bounds. The loss is an argument, because a
measurement must not depend on what the planner optimises. The limit is that of the given loss, with the same
balance of edges, process window and over-dose. It is a local minimum, not a proven bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.measure.edges import edge_errors
from laserpath.measure.figures import DEFOCUS, cure_figures
from laserpath.measure.places import THRESHOLD_FWHM, unprintable
from laserpath.physics import optics
from laserpath.physics.dose import accurate_model, engine
from laserpath.physics.dose.fft import LatticeDose
from laserpath.planning.optimise.descent import downhill
from laserpath.types import Design, Resin, Settings, Spot, Target
from laserpath.types.results import Limit

LossOfDose = Callable[[Floats], tuple[float, Floats]]
"""dose (rows, columns) on the target's grid → (loss, ∂loss/∂dose (rows, columns))."""

EVALUATIONS = 250
TOLERANCE = 0.01

_LIMIT_FWHM2, _LIMIT_PIXELS = 5000.0, 1_000_000
"""Design area in FWHM², and pixels, up to which the unconstrained optimum is part of a plan; it takes a few
seconds there and longer for larger designs."""

_LATTICE_FWHM = 1 / 3
_AROUND_FWHM = 1.0
_BRIGHT = 1.4
_OUTSIDE = 0.2


@dataclass(frozen=True, slots=True)
class Effort:
    """The descent ends when the last 20 iterations gained less than the share `tolerance` of the loss, or
    after `evaluations`.  threshold_fwhm: edge error, in FWHM, above which a place is named as unprintable.
    """

    evaluations: int = EVALUATIONS
    tolerance: float = TOLERANCE
    threshold_fwhm: float = THRESHOLD_FWHM

    def __post_init__(self) -> None:
        if self.evaluations < 1:
            raise InputError(f"evaluations is {self.evaluations}, but must be at least 1")


def limit(
    design: Design, target: Target, spot: Spot, critical_dose: float, loss: LossOfDose, **effort: Any
) -> Limit:
    """How well a design can be printed with a spot, and which places cannot.

    design: the area to expose, mm.  target: the design on a grid of, for example, 6 pixels per FWHM.
    critical_dose: mJ/mm².  loss: function of a dose on that grid, such as an `objective.Objective`.
    effort: three keywords, the fields of `Effort`: evaluations: int = 250, the most of the loss, at least 1;
    tolerance: float = 0.01, the share of the loss below which a gain in 20 iterations ends the descent;
    threshold_fwhm: float = 0.1, the edge error, in FWHM, above which a place is named as unprintable.

    Raises TypeError for another keyword, and InputError for fewer than 1 evaluation or a loss that is not
    finite.
    """
    scene = Scene.of(design, target, spot, Resin(critical_dose=critical_dose))
    return unconstrained_optimum(scene, loss, Effort(**effort))


def unconstrained_optimum(
    scene: Scene,
    loss: LossOfDose,
    effort: Effort | None = None,
    told: Callable[[int], None] = lambda done: None,
) -> Limit:
    """How well the design of a scene can be printed with its spot, and which places cannot.

    loss: function of a dose on the scene's grid.  told: called with the number of evaluations done.
    """
    lattice, effort = _Lattice.of(scene), effort or Effort()
    energy, history = _optimise(lattice, loss, effort, told)
    grid, xy, wide = scene.grid, lattice.dose.xy, optics.widened(scene.spot, DEFOCUS)
    dose = accurate_model(grid, scene.spot).engine.spread(xy, energy)
    defocused = accurate_model(grid, wide).engine.spread(xy, energy)
    edges = edge_errors(dose, scene)
    return Limit(
        xy=xy,
        energy=energy,
        grid=grid,
        dose=dose,
        edges=edges,
        figures=cure_figures(dose, defocused, edges, scene),
        loss=history,
        unprintable=unprintable(dose, scene, effort.threshold_fwhm),
    )


def is_wanted(scene: Scene, settings: Settings) -> bool:
    """Whether the unconstrained optimum is part of a plan: of a small design, for a full report."""
    rows, columns = scene.grid.shape
    small = scene.design.area.area <= _LIMIT_FWHM2 * scene.fwhm**2 and rows * columns <= _LIMIT_PIXELS
    return small and not settings.brief


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """dose: of energies at M places within 1 FWHM of the design.  start: (M,) first weights w.

    unit: E₀, mJ.
    """

    dose: LatticeDose
    start: Floats
    unit: float

    @classmethod
    def of(cls, scene: Scene) -> _Lattice:
        design, spot, grid = scene.design, scene.spot, scene.grid
        # Out of focus an Airy spot is wider, but its finest structure is not; across an ellipse it is finer.
        narrow = optics.fwhm(replace(spot, defocus=0.0)) * min(spot.aspect, 1 / spot.aspect) ** 0.5
        stride = max(1, int(_LATTICE_FWHM * narrow / grid.pitch + 1e-6))
        around = design.area.buffer(_AROUND_FWHM * scene.fwhm)
        x, y = np.meshgrid(grid.x()[::stride], grid.y()[::stride])
        shapely.prepare(around)
        shapely.prepare(design.area)
        chosen = np.zeros(grid.shape, dtype=bool)
        chosen[::stride, ::stride] = kept = shapely.contains_xy(around, x, y)
        start = np.where(shapely.contains_xy(design.area, x[kept], y[kept]), 1.0, _OUTSIDE)
        unit = _BRIGHT * scene.critical_dose * (stride * grid.pitch) ** 2
        return cls(LatticeDose.of(engine(grid, spot), chosen, unit * start**2), start, unit)


def _optimise(
    lattice: _Lattice, loss: LossOfDose, effort: Effort, told: Callable[[int], None]
) -> tuple[Floats, Floats]:
    """(energy (M,) mJ, losses): the energies E₀ w² of the evaluation with the lowest loss, and all losses."""
    light, start, unit = lattice.dose, lattice.start, lattice.unit
    history: list[float] = []
    best = (np.inf, start)

    def evaluate(w: Floats) -> tuple[float, Floats]:
        nonlocal best
        energy = unit * w**2
        value, slope = loss(light.spread(energy))
        if not np.isfinite(value):
            raise InputError(f"loss is {value} at evaluation {len(history)}, but must be finite")
        history.append(value)
        told(len(history))
        if value < best[0]:
            best = (value, w.copy())
        return value, 2 * unit * w * light.gather(slope)

    downhill(evaluate, start, effort.evaluations, effort.tolerance)
    return unit * best[1] ** 2, np.array(history)

"""The loss of a path: a sum of terms, each a value and its derivatives by the vertices and line energies.

    L(path) = Σ terms of the light that the machine makes of the path  +  Σ terms of the path itself

A term of light is a `LightTerm`: a loss of the dose (`objective`) in or out of focus, or of another quantity
that light makes. `terms_of_path` is the list of the others, such as `WriteTimeTerm`.

**Write time** comes from the controller's planner, with its derivative by every vertex. The unit is U = P/v,
the time that the design's perimeter P takes at full speed v, so that a weight means the same for every
design: with weight w, one U of write time counts as much as w of the loss. The final loss
contains 0.15 of the mean edge error in FWHM, so a saving of one U is worth an edge error of 7 w FWHM. Only
one of several passes is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

import gcode
from laserpath.base.arrays import Bools, Floats
from laserpath.design.scene import Scene
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.physics.dose import PathGradient, usual_model
from laserpath.planning.optimise.objective import Objective, OverDose
from laserpath.planning.task import Task
from laserpath.types import Design, Grid, Machine, Spot, StraightMoves

BLUR_WEIGHT = 0.3
"""w_b, weight of the loss out of focus, relative to that in focus: a larger value tolerates more defocus and
costs accuracy in focus."""


class Exposing(Protocol):
    """What a path of lines exposes, and its adjoint: a `DoseModel`, or `compensation.conversion`."""

    def points(self, xy: Floats, line_energy: Floats) -> Any:
        """The points of a polyline (N+1, 2) mm with line energies (N,), for `spread` and `pull`."""

    def near(self, points: Any) -> Exposing:
        """The same for paths near the one with these points; what hardly changes with them may be held."""

    def spread(self, points: Any) -> Floats:
        """(rows, columns) what the points expose."""

    def pull(self, points: Any, d_dose: Floats, xy: Floats, line_energy: Floats) -> PathGradient:
        """∂L/∂(xy, line energy) from ∂L/∂exposed (rows, columns)."""


class ExposedShape(Protocol):
    """What the machine exposes, as a function of the path, and its adjoint (`compensation.shape`)."""

    def __call__(self, xy: Floats, energy: Floats) -> tuple[Floats, Floats]:
        """The exposed polyline (P+1, 2) mm and its line energies (P,)."""

    def pull(self, d_ends: Floats, d_energy: Floats, moves: int) -> tuple[Floats, Floats]:
        """Derivatives by the exposed polyline → those by the path's vertices and line energies."""


class DoseLoss(Protocol):
    """A loss of what a path exposes, such as an `Objective`."""

    def __call__(self, dose: Floats) -> tuple[float, Floats]:
        """(loss, ∂loss/∂dose) of a dose (rows, columns)."""

    def at_contrast(self, contrast: float) -> DoseLoss:
        """This loss with another steepness of the threshold."""


class Term(Protocol):
    """A part of the loss of a polyline xy (N+1, 2) mm with line energies (N,) mJ/mm."""

    def __call__(self, xy: Floats, line_energy: Floats) -> tuple[float, PathGradient]:
        """The value and its derivatives."""

    def at_contrast(self, contrast: float) -> Term:
        """This term with another steepness of the threshold."""

    def near(self, xy: Floats, line_energy: Floats) -> Term:
        """This term for paths near this one; what hardly changes with them may be held."""


class PathTerm(Term, Protocol):
    """A term of the path itself, which a large design cuts into fields."""

    def of_moves(self, picked: Callable[[Any, Any], Any]) -> PathTerm:
        """This term for some moves. picked: (values of all moves, of a travel that joins) → of those."""


@dataclass(frozen=True, slots=True)
class LightTerm:
    """w L(r D): a loss of what the path exposes. strength: r.  weight: w."""

    model: Exposing
    loss: DoseLoss
    strength: float = 1.0
    weight: float = 1.0

    def __call__(self, xy: Floats, line_energy: Floats) -> tuple[float, PathGradient]:
        """The value and its derivatives, as those of a `Term`."""
        energy = self.strength * line_energy
        points = self.model.points(xy, energy)
        value, slope = self.loss(self.model.spread(points))
        if not np.isfinite(value):  # the optimiser stops at it
            return value, PathGradient(np.zeros(xy.shape), np.zeros(len(line_energy)))
        gradient = self.model.pull(points, slope, xy, energy)
        by_energy = self.weight * self.strength * gradient.line_energy
        return self.weight * value, PathGradient(self.weight * gradient.xy, by_energy)

    def at_contrast(self, contrast: float) -> LightTerm:
        """This term with another steepness of the threshold."""
        return replace(self, loss=self.loss.at_contrast(contrast))

    def near(self, xy: Floats, line_energy: Floats) -> LightTerm:
        """This term for paths near this one."""
        return replace(self, model=self.model.near(self.model.points(xy, self.strength * line_energy)))


def over_dose(scene: Scene) -> LightTerm:
    """`OverDose` of a scene's resin, on its grid."""
    return LightTerm(usual_model(scene.grid, scene.spot), OverDose.of(scene))


def defocused(spot: Spot, width: float) -> tuple[Spot, float]:
    """The spot `width` times as wide, and its strength at the same powers: r of `out_of_focus`."""
    wide = optics.widened(spot, width)
    return wide, optics.power_integral(wide) / optics.power_integral(spot)


def out_of_focus(width: float, objective: Objective, spot: Spot, weight: float = BLUR_WEIGHT) -> LightTerm:
    """The loss of the same moves, at the same power and speed, through a spot `width` times as wide:

        B = w_b L(D_w),   D_w(x) = Σ_k r q_k ∫ h(x − γ_k(s); w·FWHM) ds,   r = E_N(w·FWHM)/E_N(FWHM),

    where L is the area term of the objective at all its doses, as in focus, without E. r is 1 for one-photon
    absorption and w^(2−2N) for N photons, because the wider spot is less intense. `measure.window` reports
    the same widths. weight: w_b.
    """
    wide, strength = defocused(spot, width)
    return LightTerm(
        model=usual_model(objective.scene.grid, wide),
        loss=replace(objective, edge_weight=0.0),
        strength=strength,
        weight=weight,
    )


@dataclass(frozen=True, slots=True)
class Loss:
    """The sum of terms. grid: of the first.  light: terms of what the machine makes of the path: `shape`.

    path: terms of the path itself.  shape: None: the path as it is.
    """

    grid: Grid
    light: tuple[Term, ...]
    path: tuple[Term, ...] = ()
    shape: ExposedShape | None = None

    @classmethod
    def of(
        cls,
        objective: Objective,
        model: Exposing,
        *,
        path: tuple[PathTerm, ...] = (),
        blurred: LightTerm | None = None,
        too_bright: LightTerm | None = None,
        shape: ExposedShape | None = None,
    ) -> Loss:
        """All terms that there are; None: left out.

        objective: of what the model exposes.  path: `terms_of_path`.  blurred: `out_of_focus`.  too_bright:
        `over_dose`, where the objective is not of the dose.
        """
        light = (LightTerm(model, objective), blurred, too_bright)
        return cls(objective.scene.grid, tuple(filter(None, light)), path, shape)

    def __call__(self, xy: Floats, energy: Floats) -> tuple[float, PathGradient]:
        """(loss, derivatives) of vertices (N+1, 2) mm and line energies (N,) mJ/mm."""
        value, found = _sum(self.light, *self._made(xy, energy))
        if self.shape is not None:
            found = PathGradient(*self.shape.pull(found.xy, found.line_energy, len(energy)))
        if not self.path:
            return value, found
        more, added = _sum(self.path, xy, energy)
        return value + more, PathGradient(found.xy + added.xy, found.line_energy + added.line_energy)

    def at_contrast(self, contrast: float) -> Loss:
        """This loss with another steepness of the threshold."""
        light, path = (tuple(one.at_contrast(contrast) for one in part) for part in (self.light, self.path))
        return replace(self, light=light, path=path)

    def near(self, xy: Floats, energy: Floats) -> Loss:
        """This loss for paths near this one; what hardly changes with them is held."""
        ends, pieces = self._made(xy, energy)
        light = tuple(one.near(ends, pieces) for one in self.light)
        return replace(self, light=light, path=tuple(one.near(xy, energy) for one in self.path))

    def _made(self, xy: Floats, energy: Floats) -> tuple[Floats, Floats]:
        """The ends and line energies of what the machine makes of a path."""
        return self.shape(xy, energy) if self.shape is not None else (xy, energy)


def _sum(terms: Iterable[Term], xy: Floats, energy: Floats) -> tuple[float, PathGradient]:
    """The sum of some terms of one polyline, and its derivatives."""
    values, found = zip(*(term(xy, energy) for term in terms), strict=True)
    by_xy, by_energy = found[0].xy, found[0].line_energy
    for one in found[1:]:
        by_xy, by_energy = by_xy + one.xy, by_energy + one.line_energy
    return sum(values), PathGradient(by_xy, by_energy)


TIME_WEIGHTS = {"draft": 1.2e-2, "standard": 2.1e-3, "fine": 6e-4}
"""Weight of the write time by quality: a larger one gives a faster and less accurate plan."""

_REACHED, _POWER, _HEAVIEST = 0.2, 1.3, 2.5
"""Share of the full speed that a head reaches over one spot, from which on the write time weighs more behind
an input shaper, by which power of it, and by how much at most. Plans of a head that accelerates three times
as fast take 0.6 of the time, which counts for less. On GRBL 6 % of the time would cost 9 % of the edges."""

_ONCE = 0.3
"""Weight of the write time for strokes, relative to that of other curves. They write each line once, which is
so much faster that they can afford it; a larger weight makes them less accurate than the other curves."""

SHARES_OF_PEAK = {"draft": 1.0, "standard": 0.9, "fine": 0.9}
"""Speed limit of a short stroke by quality, relative to its peak speed: a smaller one makes the speed more
constant, and so the dose more accurate and the write time longer."""

_NO_LINK = 1e9
"""Moves/s. Where the link limits the speed, the positions of vertices do not change the time. `smooth` drops
vertices there, and more of them on a straighter path."""


@dataclass(frozen=True, slots=True)
class WriteTimeTerm:
    """Weighted write time of a path whose vertices move. on, speed: (N,) of each move.  unit: U, s.

    limits: those of the machine, with a link that always keeps up.
    """

    on: Bools
    speed: Floats
    limits: gcode.Limits
    unit: float
    weight: float

    @classmethod
    def of(cls, path: StraightMoves, design: Design, machine: Machine, weight: float) -> WriteTimeTerm:
        """The term for the vertices of `path`; `weight` in units of the loss."""
        return cls(path.on, path.speed, unhindered(machine), unit_of(design, machine), weight)

    def __call__(self, xy: Floats, line_energy: Floats) -> tuple[float, PathGradient]:
        """The term of vertices xy (N+1, 2) mm and its derivatives; the travel from the work zero counts."""
        gradient = gcode.motion.time_gradient_along(
            np.vstack([np.zeros((1, 2)), xy]),
            np.append(min(self.limits.rapid), self.speed),
            np.append(True, ~self.on),
            self.limits,
        )
        scale = self.weight / self.unit
        return scale * gradient.time, PathGradient(scale * gradient.xy[1:], np.zeros(len(line_energy)))

    def at_contrast(self, contrast: float) -> WriteTimeTerm:
        """The same: it has no threshold."""
        return self

    def near(self, xy: Floats, line_energy: Floats) -> WriteTimeTerm:
        """The same: nothing is held."""
        return self

    def of_moves(self, picked: Callable[[Any, Any], Any]) -> WriteTimeTerm:
        """That of some moves, as if they were a program."""
        return replace(self, on=picked(self.on, False), speed=picked(self.speed, 1.0))


def terms_of_path(path: StraightMoves, task: Task, time_weight: float) -> tuple[PathTerm, ...]:
    """All terms of the path itself, wherever its vertices are optimised. time_weight: of the write time."""
    return (WriteTimeTerm.of(path, task.design, task.machine, time_weight),)


def unit_of(design: Design, machine: Machine) -> float:
    """U, s: the time that the design's perimeter takes at full speed."""
    return design.area.length / min(machine.speed_max)


def weight_for(task: Task) -> float:
    """The weight of the write time for the quality, the starting curve, and a head behind an input shaper."""
    settings, machine = task.settings, task.machine
    weight = TIME_WEIGHTS[settings.quality] * (_ONCE if settings.initial == "strokes" else 1.0)
    if convert.controller(machine).impulses is None:
        return weight
    reached = np.sqrt(2 * min(machine.acceleration) * task.scene.fwhm) / min(machine.speed_max)
    return weight * float(np.clip((reached / _REACHED) ** _POWER, 1.0, _HEAVIEST))


def share_of_peak(time_weight: float) -> float:
    """The share of a short stroke's peak speed for a weight of time, interpolated between the qualities."""
    logs = [-np.log(TIME_WEIGHTS[quality]) for quality in SHARES_OF_PEAK]
    return float(np.interp(-np.log(max(time_weight, 1e-300)), logs, list(SHARES_OF_PEAK.values())))


def unhindered(machine: Machine) -> gcode.Limits:
    """The machine's limits with a link that always keeps up."""
    return replace(convert.limits(machine), segment_rate=_NO_LINK)

"""Light in depth: the layers of a part, dimmed where light from the layers above does their work.

The light of a layer goes on below it (`measure.columns`). Planned as if alone, all layers over an overhang
together cure far below it, and walls come out too thick. So paths are planned for areas that are `inset`,
and each layer gets a share w(x, y) ≤ 1 of their line energies, such that its dose E_k is within lo … hi;
with the light L_k of the layers above, the critical dose D_c of a layer and its thickness h:

    outside the layer    E_k + L_k ≤ E_c e^(h/2D_p), so that walls are right at half of its height
    at its edge, inside  E_k + L_k ≥ the same
    inside               E_k ≥ D_c: a layer gels by its own light, down to the one below
    above nothing        E_c g₁ ≤ (E_k + L_k) e^(−d/D_p) ≤ E_c g₂, d from the top of the layer down to the
                         underside; where that is not above D_c, it takes the place of the line before

These are for Beer and Lambert's law; `physics.absorption` is what is used, also for resins that bleach. Light
only goes down, so one sweep from the top layer down settles all. The last line leaves the first layers
of an overhang dark, until those above no longer suffice.

w is linear between nodes half an FWHM apart, and minimises by a projected L-BFGS

    Σ_pixels [a max(0, lo − E_k)² + max(0, E_k − hi)²]/D_c².

The search begins with what was found for the layer of equal area above. Layers share a program if lo and hi
are the same, or if another one would be hardly better.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import ndimage, sparse

from gcode.compiled import cached
from gcode.move import numbered
from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.base.compute.minimise import minimised_between
from laserpath.base.errors import figure, one_line
from laserpath.base.overlay import minus, union, within
from laserpath.machine import convert
from laserpath.machine.powers import drop_dark, share_of_speed
from laserpath.machine.program import MachineProgram
from laserpath.measure.columns import Columns, CuredPart
from laserpath.measure.surface import Filling, PartCure, Surface, Voxels, columns_of
from laserpath.physics import optics
from laserpath.physics.absorption import Absorption
from laserpath.physics.dose import DoseModel, usual_model
from laserpath.physics.dose.segments import Points
from laserpath.physics.resin import path_energy
from laserpath.planning.keeping import Keeping
from laserpath.planning.pipeline import Plan
from laserpath.types import Design, Grid, Machine, Process, Resin, StraightMoves, Toolpath

_NODE_FWHM = 0.5
"""Distance of the nodes of w: a larger one dims lines beside each other together."""
_FITTED_PIECE_FWHM = 1 / 3
_WRITTEN_PIECE_FWHM = 1.0
"""Longest piece of one share in a program: a longer one lets the link feed more speed."""
_SLOWINGS = 4
"""Rounds in which moves are slowed down to the link's rate: a further one changes little."""
_KEPT = 255
_STEPS = 16
"""Steps of w in a program: more give more moves, whose doses differ by less than powers can tell."""

_INSET_FWHM = 0.2
"""Distance of the edges of planned areas from those drawn: a larger one makes walls thinner, most of all in
the top layers, which have no light from above."""
_NARROW_FWHM = 1.4
_SLIVER_FWHM = 0.05

_UNDERSIDE = (1.0, 1.05)
"""g₁, g₂: larger ones print farther through, and let a dose that is too low by as much still cure it."""
_RIM_FWHM = 0.8
"""Distance from its edge from which a layer gels by its own light: a smaller one makes walls thicker."""
_MOST_OVER = 2.0
"""Critical doses, largest dose within `FAR_DEPTHS` of an underside: a smaller one writes more layers."""
FAR_DEPTHS = 10.0
"""Penetration depths above an underside within which its light is counted."""
_TOO_LITTLE = 2.0
"""a, weight of too low a dose: a larger one joins layers more safely, and prints farther through."""
_ITERATIONS, _GAIN = 60, 1e-3
_ALIKE = 0.05
"""Relative gain of the loss up to which a layer takes the program that was made for the light above another
one: a larger one makes fewer programs."""
_SAME = 0.005
"""Critical doses by which lo and hi may differ from those of the layer above without another search."""
_LATEST, _AT_A_TIME = 3, 2
"""Programs of a plan that are tried again, and plans that are held for that: more need more memory."""
_THROUGH = 0.02
"""mm of print-through, or of missing thickness, above which there is a warning."""
_THICKER = 1.05
"""Thickness of layers, relative to what the critical dose cures through, up to which they hold together."""

_REMEMBERED = 16 << 20
"""Bytes of bounds of a plan that are remembered: more spare searches in parts that repeat."""


# One pass over the pixels: NumPy's would take as long as the dose itself.
njit = cached(error_model="numpy", nogil=True)

Singles = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class InDepth:
    """The layers of a stack, planned for the light of those above them.

    programs: (K,) of the layers, lowest first; equal ones are the same.  undimmed: what would cure if each
    layer were exposed as it is planned by itself.  cured: what cures.  dimmed: number of different programs.
    surface, undimmed_surface: distances from the drawn surface.  shape: of the part, for pictures.
    """

    programs: tuple[MachineProgram, ...]
    undimmed: CuredPart
    cured: CuredPart
    dimmed: int
    surface: Surface
    undimmed_surface: Surface
    shape: Voxels

    __repr__ = one_line

    @property
    def sentence(self) -> str:
        """What cures wrongly, and what would if each layer were planned alone, in one sentence."""
        now, before = self.cured, self.undimmed
        through = (
            f"{_micrometres(now.through)} cure below overhangs on average, {_micrometres(before.through)} "
            "undimmed; "
            if now.overhangs
            else ""
        )
        return (
            f"{through}{figure(now.wrong)} of {figure(now.volume)} mm³ are cured wrongly, "
            f"{figure(before.wrong)} mm³ undimmed"
        )

    def as_dict(self) -> dict[str, object]:
        """Plain numbers by name, for JSON: lengths in mm, volumes in mm³."""
        return {
            "cured": {**self.cured.as_dict(), "surface": self.surface.as_dict()},
            "undimmed": {**self.undimmed.as_dict(), "surface": self.undimmed_surface.as_dict()},
            "programs": self.dimmed,
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on the worst underside, if it prints far through or stays liquid."""
        found, each = [], self.cured.overhangs
        worst = max(each, key=lambda one: one.through, default=None)
        if worst is not None and worst.through > _THROUGH:
            found.append(
                f"the overhang at z {worst.z:g} mm prints through by {_micrometres(worst.through)} on average"
            )
        weak = max(each, key=lambda one: one.short, default=None)
        if weak is not None and weak.short > _THROUGH:
            found.append(
                f"the overhang at z {weak.z:g} mm comes out {_micrometres(weak.short)} too thin on "
                "average: too little light reaches its underside"
            )
        return tuple(found)


def _micrometres(length: float) -> str:
    return f"{1000 * length:.0f} µm"


def applies(resin: Resin, layers: int) -> bool:
    """Whether light in depth can be planned: of several layers, and by a working curve."""
    return resin.e_c is not None and _could_apply(resin, layers)


def _could_apply(resin: Resin, layers: int) -> bool:
    """Whether light in depth can be planned once the working curve is known."""
    return resin.tone == "negative" and resin.order == 1 and resin.kinetics is None and layers > 1


def limits_of(resin: Resin, thickness: Floats) -> tuple[str, ...]:
    """A sentence if layers are thicker than the resin's critical dose cures, or if nobody knows what it does.

    By the working curve it cures D_p ln(D_c/E_c). thickness: (K,) mm, of the layers.
    """
    if resin.e_c is not None and resin.penetration_depth is not None:
        deep = resin.penetration_depth * math.log(resin.critical_dose / resin.e_c)
        thickest = float(thickness.max())
        if thickest <= _THICKER * deep:
            return ()
        return (
            f"layers of {figure(thickest)} mm are thicker than the {figure(deep)} mm that the critical dose "
            f"of resin {resin.name!r} cures through, so they do not hold together; put layer_um = "
            f"{figure(1000 * thickest)} into its profile",
        )
    if not _could_apply(resin, len(thickness)):
        return ()
    return (
        f"each layer is planned as if alone, since resin {resin.name!r} has no working curve: what overhangs "
        "print through is not known; put e_c_mJ_per_cm2, penetration_depth_um and layer_um into its profile",
    )


def inset(area: shapely.MultiPolygon, fwhm: float) -> shapely.MultiPolygon:
    """What a layer's path is planned for, so that light from all layers together cures the area as drawn.

    That light reaches farther out than the layer's own; only what is `_NARROW_FWHM` wide or less keeps its
    width. fwhm: of the spot, mm.
    """
    narrow = minus(area, _widened(_widened(area, -_NARROW_FWHM / 2 * fwhm), _NARROW_FWHM / 2 * fwhm))
    kept = within(_widened(_widened(narrow, -_SLIVER_FWHM * fwhm), 2 * _SLIVER_FWHM * fwhm), area)
    parts = shapely.get_parts(union([_widened(area, -_INSET_FWHM * fwhm), kept]))
    polygons = [one for one in parts if one.geom_type == "Polygon" and not one.is_empty]
    return shapely.MultiPolygon(polygons) if polygons else area


def _widened(area: shapely.Geometry, by: float) -> shapely.Geometry:
    """An area with its edges moved by a length, mm, and its corners kept."""
    return area.buffer(by, join_style="mitre")


def planned_in_depth(
    whole: Design,
    drawn: Sequence[Design],
    plans: Sequence[Plan],
    thickness: Floats,
    told: Callable[[int, int], None] = lambda *_: None,
    keeping: Keeping | None = None,
) -> InDepth:
    """The programs of layers for the light of those above them.

    whole: what all layers expose, where the plans put it.  drawn: (K,) the areas of the layers, lowest first.
    plans: (K,) of them, or of what is `inset` from them; equal layers have the same one.  thickness: (K,) mm.
    told: called with the number of the layers that are done, and how many there are.  keeping: of what the
    layers are dimmed by.
    """
    process, fwhm = plans[0].process, optics.fwhm(plans[0].process.spot)
    columns = columns_of(whole, drawn, process, thickness)
    each = {id(one): one for one in plans}
    layer_of = lru_cache(_AT_A_TIME)(lambda key: _PlannedLayer.of(each[key], columns.grid, keeping))
    made, alone = (PartCure.of(columns, process) for _ in range(2))
    filling = Filling(columns)
    programs: list[MachineProgram] = []
    for k in reversed(range(len(plans))):
        bounds = _DoseBounds.of(columns, k, made.curing.light, plans[k].process.resin, fwhm)
        layer = layer_of(id(plans[k]))
        found = layer.within(bounds)
        alone.add(drawn[k], k, layer.dose)
        filling.add(k, made.add(drawn[k], k, found.dose))
        programs.append(found.program)
        told(len(programs), len(plans))
    dimmed = len({id(one) for one in programs})
    (part, surface), (undimmed, before) = made.result(), alone.result()
    return InDepth(tuple(reversed(programs)), undimmed, part, dimmed, surface, before, filling.result())


@dataclass(frozen=True, slots=True, eq=False)
class _DoseBounds:
    """lo, hi: (rows, columns) float32, mJ/mm², between which the dose of a layer is to be."""

    lo: Singles
    hi: Singles

    @property
    def size(self) -> int:
        """Bytes."""
        return self.lo.nbytes + self.hi.nbytes

    @classmethod
    def of(cls, columns: Columns, k: int, light: Floats, resin: Resin, fwhm: float) -> _DoseBounds:
        """Those of layer k. light: (rows, columns) mJ/mm², of the layers above, at its top."""
        law, e_c, d_c = Absorption.of(resin), float(resin.e_c or 1.0), resin.critical_dose
        solid, depth = columns.solid[k], columns.above_nothing(k)
        at_walls = np.maximum(law.above(e_c, columns.thickness[k] / 2) - light, 0.0)
        near = solid & (depth < FAR_DEPTHS * law.depth)
        down = np.where(near, depth, 0.0)
        low, high = (np.maximum(law.above(g * e_c, down) - light, 0.0) for g in _UNDERSIDE)
        inside = _inside(solid & (~near | (low >= d_c)), columns.grid, fwhm)
        lo = np.where(solid, np.where(inside, np.maximum(at_walls, d_c), at_walls), 0.0)
        hi = np.where(solid, np.inf, at_walls)
        most = np.where(inside, np.maximum(_MOST_OVER * d_c, lo), np.inf)
        hi = np.where(near, np.minimum(high, most), hi)
        lo = np.where(near, np.minimum(np.minimum(lo, low), hi), lo)
        return cls(lo.astype(np.float32), hi.astype(np.float32))

    def like(self, other: _DoseBounds, d_c: float) -> bool:
        """Whether both are equal but for `_SAME` critical doses; what is above all doses need not be."""
        most = 10 * d_c
        pairs = ((self.lo, other.lo), (self.hi, other.hi))
        return all(np.abs(np.minimum(a, most) - np.minimum(b, most)).max() <= _SAME * d_c for a, b in pairs)

    def loss(self, dose: Floats, d_c: float) -> tuple[float, Floats]:
        """Σ [a max(0, lo − E)² + max(0, E − hi)²]/D_c² of a dose E, mJ/mm², and its derivative by E."""
        dose = np.ascontiguousarray(dose, np.float32)
        slope = np.empty_like(dose)
        return _outside(dose, self.lo, self.hi, d_c, slope), slope


@njit
def _outside(dose: Singles, lo: Singles, hi: Singles, d_c: float, slope: Singles) -> float:
    """`_DoseBounds.loss`, whose derivative is filled in."""
    total = 0.0
    for i in range(dose.shape[0]):
        for j in range(dose.shape[1]):
            lack, more = (lo[i, j] - dose[i, j]) / d_c, (dose[i, j] - hi[i, j]) / d_c
            slope[i, j] = 0.0
            if lack > 0:
                total += _TOO_LITTLE * lack**2
                slope[i, j] = -2 * _TOO_LITTLE * lack / d_c
            if more > 0:
                total += more**2
                slope[i, j] += 2 * more / d_c
    return total


def _inside(area: Bools, grid: Grid, fwhm: float) -> Bools:
    """What is `_RIM_FWHM` from the edge of an area, and the middle of what is narrower than that."""
    distance = ndimage.distance_transform_edt(area)
    around = ndimage.maximum_filter(distance, 2 * round(fwhm / 2 / grid.pitch) + 1)
    inside: Bools = area & ((distance >= _RIM_FWHM * fwhm / grid.pitch) | (distance >= around))
    return inside


@dataclass(frozen=True, slots=True, eq=False)
class _Dimmed:
    """A layer's program for the light above it. dose: (rows, columns) float32 mJ/mm², as executed.

    shares: w at the nodes near its path.
    """

    program: MachineProgram
    dose: Singles
    shares: Floats


@dataclass(slots=True, eq=False)
class _PlannedLayer:
    """One plan on the grid of columns. dose: (rows, columns) float32 mJ/mm², of its program, as executed.

    points: of the light of the executed path in short pieces.  nodes: (n,) of the lattice, those near the
    path.  by_node: (pieces, n) sparse, the w of lit pieces by those of these nodes.
    made: the latest programs for different light above.  searched: the latest bounds for which one was
    looked for, and which was found.
    """

    plan: Plan
    model: DoseModel
    points: Points
    dose: Singles
    lattice: _ShareNodes
    nodes: Indices
    by_node: Any
    made: deque[_Dimmed]
    searched: deque[tuple[_DoseBounds, _Dimmed]]
    keeping: Keeping | None

    @classmethod
    def of(cls, plan: Plan, grid: Grid, keeping: Keeping | None) -> _PlannedLayer:
        """A plan of which no program was dimmed yet."""
        process, fwhm = plan.process, optics.fwhm(plan.process.spot)
        model = usual_model(grid, process.spot)
        executed = plan.shipped.executed
        xy, source = _cut(executed, _FITTED_PIECE_FWHM * fwhm)
        points = model.points(xy, path_energy(executed, process.spot)[source])
        lattice = _ShareNodes.of(grid, fwhm)
        fitted = lattice.at(((xy[1:] + xy[:-1]) / 2)[points.lit])
        written, _ = _cut(plan.shipped.path, _WRITTEN_PIECE_FWHM * fwhm)
        nodes = np.union1d(fitted.indices, lattice.at((written[1:] + written[:-1]) / 2).indices)
        return cls(
            plan, model.near(points), points, _exposed(model, executed), lattice, nodes, fitted[:, nodes],
            deque(maxlen=_LATEST), deque(), keeping,
        )  # fmt: skip

    def within(self, bounds: _DoseBounds) -> _Dimmed:
        """The program whose dose is nearest to the bounds; one that was made for others, if it is as near."""
        d_c = self.plan.process.resin.critical_dose
        for number, (known, found) in enumerate(self.searched):
            if bounds.like(known, d_c):
                self.searched.rotate(-number)
                return found
        found = self._found(bounds)
        self.searched.appendleft((bounds, found))
        while len(self.searched) > max(_REMEMBERED // bounds.size, 1):
            self.searched.pop()
        if not any(found is made for made in self.made):
            self.made.append(found)
        return found

    def _found(self, bounds: _DoseBounds) -> _Dimmed:
        known = [_Dimmed(self.plan.shipped, self.dose, np.ones(len(self.nodes))), *self.made]
        losses = [self._loss(one.shares, bounds) for one in known]
        best = int(np.argmin(losses))
        start, least = known[best].shares, losses[best]
        if not least:
            return known[best]
        rough = self._start(bounds)
        if self._loss(rough, bounds) < least:
            start = rough
        shares = self._searched(start, bounds)
        if self._loss(shares, bounds) > (1 - _ALIKE) * least:
            return known[best]
        every = np.ones(self.lattice.shape).ravel()
        every[self.nodes] = shares
        path = _written(self.plan.shipped.path, every, self.plan.process, self.lattice)
        if not path.on.any():
            return known[best]  # it hangs on nothing, all of it, and is exposed as it is
        moves = convert.to_moves(path, self.plan.process.machine)
        program = MachineProgram.of_moves(moves, self.plan.process)
        return _Dimmed(program.bare, _exposed(self.model, program.executed), shares)

    def _searched(self, start: Floats, bounds: _DoseBounds) -> Floats:
        """The w of the nodes that are best for the bounds, in steps of 1/255, as they are kept."""

        def search() -> NDArray[np.uint8]:
            found = minimised_between(
                lambda w: self._loss_and_slopes(w, bounds),
                start,
                (0.0, 1.0),
                iterations=_ITERATIONS,
                gain=_GAIN,
            )
            return np.rint(_KEPT * found.x).astype(np.uint8)

        inputs = self.plan.process, self.plan.shipped.path, start, bounds
        found = search() if self.keeping is None else self.keeping.dimmed(inputs, search)
        return found / _KEPT

    def _lit(self, shares: Floats) -> Points:
        """The points of the path with the w of the nodes."""
        each = np.repeat(self.by_node @ shares, np.diff(self.points.start))
        return replace(self.points, energy=self.points.energy * each)

    def _loss(self, shares: Floats, bounds: _DoseBounds) -> float:
        """The loss of the w of the nodes; without its derivatives, which take as long as the dose."""
        dose = self.model.spread(self._lit(shares))
        return bounds.loss(dose, self.plan.process.resin.critical_dose)[0]

    def _loss_and_slopes(self, shares: Floats, bounds: _DoseBounds) -> tuple[float, Floats]:
        """The loss of the w of the nodes, and its derivatives."""
        points = self._lit(shares)
        value, slope = bounds.loss(self.model.spread(points), self.plan.process.resin.critical_dose)
        by_point = self.model.engine.gather(points.xy, points.energy, slope)[0] * self.points.energy
        by_piece = np.add.reduceat(by_point, points.start[:-1])
        return value, self.by_node.T @ by_piece

    def _start(self, bounds: _DoseBounds) -> Floats:
        """The w of the nodes by which the dose would be below `hi`, if it did not spread."""
        lit = self.dose > 0.3 * self.plan.process.resin.critical_dose
        share = np.where(lit, np.minimum(bounds.hi, self.dose) / np.maximum(self.dose, 1e-30), 1.0)
        pixels = self.lattice.pitch / self.model.grid.pitch
        row, column = (pixels * one for one in np.divmod(self.nodes, self.lattice.shape[1]))
        found: Floats = ndimage.map_coordinates(share, [row, column], order=0, mode="nearest")
        return np.clip(found, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class _ShareNodes:
    """Nodes over a grid, between which w is linear. origin, pitch: mm.  shape: (rows, columns)."""

    origin: tuple[float, float]
    pitch: float
    shape: tuple[int, int]

    @classmethod
    def of(cls, grid: Grid, fwhm: float) -> _ShareNodes:
        pitch = _NODE_FWHM * fwhm
        rows, columns = (int(np.ceil(n * grid.pitch / pitch)) + 2 for n in grid.shape)
        return cls(grid.origin, pitch, (rows, columns))

    def at(self, xy: Floats) -> Any:
        """(N, nodes) sparse, the linear interpolation at xy (N, 2) mm."""
        place = (xy - self.origin) / self.pitch
        low = np.clip(np.floor(place).astype(np.int64), 0, np.array(self.shape[::-1]) - 2)
        right, up = np.clip(place - low, 0.0, 1.0).T
        first = low[:, 1] * self.shape[1] + low[:, 0]
        node = np.stack([first, first + 1, first + self.shape[1], first + self.shape[1] + 1], axis=1)
        part = np.stack([(1 - up) * (1 - right), (1 - up) * right, up * (1 - right), up * right], axis=1)
        row = np.repeat(np.arange(len(xy)), 4)
        size = (len(xy), self.shape[0] * self.shape[1])
        return sparse.csr_matrix((part.ravel(), (row, node.ravel())), shape=size)


def _cut(path: StraightMoves, longest: float) -> tuple[Floats, Indices]:
    """The vertices of a path whose lit moves are cut into equal pieces, and the move of each piece."""
    pieces = np.where(path.on, np.maximum(np.ceil(path.length / longest - 1e-9), 1), 1).astype(np.int64)
    source, nth = numbered(pieces)
    share = ((nth + 1) / pieces[source])[:, None]
    ends = (1 - share) * path.xy[source] + share * path.xy[source + 1]
    return np.vstack([path.xy[:1], ends]), source


def _exposed(model: DoseModel, path: Toolpath) -> Singles:
    """(rows, columns) float32 mJ/mm². The error of an FFT may be below 0."""
    return np.maximum(model.dose(path), 0.0).astype(np.float32)


def _written(path: Toolpath, shares: Floats, process: Process, lattice: _ShareNodes) -> Toolpath:
    """A path as written, dimmed. shares: w at the nodes of the lattice.

    Moves keep their speeds where w is 1 and the link keeps up; else powers are on levels, and speeds make up
    for the rounding.
    """
    machine, fwhm = process.machine, optics.fwhm(process.spot)
    light = convert.as_light(path, machine).power
    xy, source = _cut(path, _WRITTEN_PIECE_FWHM * fwhm)
    share = np.rint(_STEPS * (lattice.at((xy[1:] + xy[:-1]) / 2) @ shares)) / _STEPS
    share = np.where(path.on[source], share, 1.0)
    last = np.append((source[1:] != source[:-1]) | (share[1:] != share[:-1]), True)
    xy, source, share = xy[np.append(True, last)], source[last], share[last]
    due, given = share * light[source] / path.speed[source], path.speed[source]
    most = given
    for _ in range(_SLOWINGS):
        power, speed = _on_levels(due, most, machine)
        kept = (share == 1) & (most == given)
        made = Toolpath(
            xy, np.where(kept, path.power[source], power), np.where(kept, path.speed[source], speed)
        )
        slower = share_of_speed(made, machine)
        if (slower == 1).all():
            break
        most = np.where(made.on, np.minimum(most, slower * min(machine.speed_max)), most)
    return drop_dark(made)


def _on_levels(energy: Floats, limit: Floats, machine: Machine) -> tuple[Floats, Floats]:
    """Powers as written, mW, and speeds up to `limit`, mm/s, that give line energies (N,) mJ/mm.

    What needs less than the lowest level at its limit goes faster, or is dark if it needs less than half.
    """
    wanted = energy * limit
    fastest = np.maximum(limit, min(machine.speed_max))
    dark = energy * fastest < machine.power_min / 2
    level = machine.level_below(wanted)
    as_fast = machine.power_of(level) / np.maximum(energy, 1e-30)
    power = machine.power_max * level / machine.power_levels
    return np.where(dark, 0.0, power), np.where(dark, min(machine.rapid_speed), np.minimum(as_fast, fastest))

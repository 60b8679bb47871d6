"""What cures by conversion: the executed program of a resin with kinetics, through time.

The conversion c is nearly a step at the edge: 0 as long as there is oxygen, soon 1 when there is none. Edges
between pixels are therefore found, and corrected, on

    u = ((J + e)/(G + e))^⅓,   J = −ln(1 − c),   G = −ln(1 − gel),   e = G/1000,

which is 1 at the gel point, and rises and falls there about as a relative dose does.

`PathConversion` is the conversion of a toolpath, with its gradient by positions, powers and speeds. Move k,
of length l_k (mm), power P_k (mW) and speed v_k (mm/s), takes t_k = l_k/v_k seconds and gives the light e_k
= P_k t_k mJ. Its n flashes are at the fractions f_i along it, and come at

    T_i = t_1 + … + t_(k−1) + f_i t_k,   each with e_k/n.

So a move's duration delays all light that comes after it. With ∂L/∂T of each flash from the kinetic model,

    ∂L/∂t_k = Σ_(i of k) f_i ∂L/∂T_i + Σ_(i of later moves) ∂L/∂T_i + P_k ∂L/∂e_k,
    ∂L/∂v_k = −∂L/∂t_k t_k/v_k.

`light_of` gives the light of a program, as its controller executes it, as flashes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.design.scene import Scene
from laserpath.machine.program import MachineProgram, ProgramPart, lagged
from laserpath.physics import optics
from laserpath.physics.dose.model import ToolpathGradient
from laserpath.physics.kinetics import Conversion, KineticModel, LightGradient
from laserpath.physics.kinetics.light import Flashes, Light
from laserpath.types import Grid, Kinetics, Resin, Toolpath

_LEAST = 1e-3
"""e, in G: a smaller one makes the slope steeper where hardly anything converts."""

_LEFT = 1e-6
"""Monomer that is always left, so that J stays finite."""


def kinetics_of(resin: Resin) -> Kinetics:
    """The kinetics of a resin; raises InputError for one that knows only its critical dose."""
    if resin.kinetics is None:
        raise InputError(f'resin {resin.name!r} has no kinetics; its profile needs model = "kinetics"')
    return resin.kinetics


def conversion_of(program: MachineProgram, grid: Grid) -> Floats:
    """(rows, columns) 0..1, the conversion when the rest is washed away, of a program as executed."""
    kinetics = kinetics_of(program.process.resin)
    light, end = light_of(program)
    return KineticModel(grid, program.process.spot, kinetics).expose(light, end + kinetics.wait).conversion


def equivalent_dose(program: MachineProgram, grid: Grid) -> Floats:
    """(rows, columns) mJ/mm², u times the critical dose, of a program as executed.

    What takes a dose and a threshold, from edges to pictures, then goes by conversion.
    """
    resin = program.process.resin
    return resin.critical_dose * relative(conversion_of(program, grid), kinetics_of(resin).gel_conversion)[0]


def relative(conversion: Floats, gel: float) -> tuple[Floats, Floats]:
    """(u, ∂u/∂c) of conversions; gel: that of the gel point."""
    at_gel = -np.log1p(-gel)
    left = np.maximum(1 - conversion, _LEFT)
    least = _LEAST * at_gel
    u = np.cbrt((least - np.log(np.minimum(left, 1.0))) / (at_gel + least))
    slope = 1 / (3 * u**2 * (at_gel + least) * left)
    return u, np.where((left > _LEFT) & (left < 1), slope, 0.0)


def by_conversion(scene: Scene, grid: Grid | None = None) -> Scene:
    """The scene whose dose is u, on its grid or another."""
    highest = float(relative(np.ones(1), kinetics_of(scene.resin).gel_conversion)[0][0])
    # No conversion is too high.
    resin = replace(scene.resin, kinetics=None, critical_dose=1.0, over_dose=max(2 * highest, 2.0))
    return replace(scene, resin=resin, grid=grid or scene.grid)


@dataclass(frozen=True, slots=True, eq=False)
class PieceGradient:
    """Derivatives of a scalar by a polyline of P pieces, each with the other two held.

    ends: (P+1, 2) per mm.  energy: (P,) per mJ.  duration: (P,) per s.
    """

    ends: Floats
    energy: Floats
    duration: Floats

    @classmethod
    def of(cls, at: Flashes, found: LightGradient, pieces: int) -> PieceGradient:
        """The derivatives by the flashes of so many pieces, summed over each piece."""
        ends = np.zeros((pieces + 1, 2))
        for axis in range(2):
            pull = found.xy[:, axis]
            ends[:-1, axis] += np.bincount(at.piece, (1 - at.fraction) * pull, pieces)
            ends[1:, axis] += np.bincount(at.piece, at.fraction * pull, pieces)
        later = np.cumsum(np.bincount(at.piece, found.time, pieces)[::-1])[::-1]
        duration = np.bincount(at.piece, at.fraction * found.time, pieces).astype(np.float64)
        duration[:-1] += later[1:]
        energy = np.bincount(at.piece, at.share * found.energy, pieces).astype(np.float64)
        return cls(ends, energy, duration)


class PathConversion:
    """What a toolpath makes of the resin, if its moves have exactly their speeds.

    end: s, when the rest is washed away; by default `Kinetics.wait` after the path. It counts from the start
    of the path, and the gradient holds it. conversion: (rows, columns), 0..1.

    Raises InputError for a spot of several photons and an end before the last light. What a controller makes
    of a program, with its own speeds, is in `light_of`.
    """

    def __init__(self, model: KineticModel, path: Toolpath, end: float | None = None) -> None:
        if model.spot.photons != 1:
            raise InputError(f"spot has {model.spot.photons} photons, but kinetics are of absorption order 1")
        self._path, self._length = path, path.length
        self._duration = self._length / path.speed
        lit = np.flatnonzero(path.on & (self._length > 0))
        self._flashes = Flashes.of(self._length, self._duration, lit, optics.fwhm(model.spot))
        self.end = float(self._duration.sum()) + model.kinetics.wait if end is None else end
        light = self._flashes.on(path.xy, path.power * self._duration)
        self._exposed: Conversion = model.expose(light, self.end)

    @property
    def conversion(self) -> Floats:
        """(rows, columns), 0..1, at the end."""
        return self._exposed.conversion

    def gradient(self, d_conversion: Floats) -> ToolpathGradient:
        """∂L/∂(xy, power, speed) from ∂L/∂conversion (rows, columns), with the end held.

        A dark move has a derivative by its place and speed, since it delays what follows, but none by its
        power, so that it stays dark. A move of no length has none. The conversion has a small step, and no
        derivative, where a flash is added to a longer or slower move, and where one comes in another interval
        of the model.
        """
        path, length = self._path, self._length
        found = PieceGradient.of(self._flashes, self._exposed.gradient(d_conversion), len(path))
        by_duration = found.duration + path.power * found.energy
        pull = (by_duration / path.speed / np.maximum(length, 1e-12))[:, None] * np.diff(path.xy, axis=0)
        xy = found.ends
        xy[:-1] -= pull
        xy[1:] += pull
        return ToolpathGradient(xy, self._duration * found.energy, -by_duration * self._duration / path.speed)


def light_of(program: MachineProgram) -> tuple[Light, float]:
    """The light of a program as its controller executes it, and the time at which it ends, s.

    Flashes are at most a tenth of a FWHM of travel apart, each with the energy and the time of its piece of
    the way. The time counts from the start of the program, dark moves and dwells included.
    """
    parts, begin = [], 0.0
    for part in program.parts:
        light = _light_of_part(part, program.shift)
        parts.append(replace(light, time=light.time + begin))
        begin += part.run.write_time
    names = ("xy", "energy", "time")
    joined = Light(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))
    last = float(joined.time[-1]) if len(joined.time) else 0.0
    return joined, max(begin, last)


def _light_of_part(part: ProgramPart, shift: tuple[float, float]) -> Light:
    machine, fwhm = part.process.machine, optics.fwhm(part.process.spot)
    flat = replace(part.run, xyz=part.run.xyz * (1.0, 1.0, 0.0))
    moves = lagged(flat, machine, fwhm)
    length, duration = np.hypot(*np.diff(moves.xy, axis=0).T), moves.duration
    flashes = Flashes.of(length, duration, np.flatnonzero((moves.power > 0) & (duration > 0)), fwhm)
    return flashes.on(moves.xy + np.asarray(shift), machine.power_max * moves.power * duration)

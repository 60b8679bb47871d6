"""Toolpath → conversion of a resin with kinetics, and its gradient by positions, powers and speeds.

Move k, of length l_k (mm), power P_k (mW) and speed v_k (mm/s), takes t_k = l_k/v_k seconds and gives the
light e_k = P_k t_k mJ. Its n flashes are at the fractions f_i along it, and come at

    T_i = t_1 + … + t_(k−1) + f_i t_k,   each with e_k/n.

So a move's duration delays all light that comes after it. With ∂L/∂T of each flash from the kinetic model,

    ∂L/∂t_k = Σ_(i of k) f_i ∂L/∂T_i + Σ_(i of later moves) ∂L/∂T_i + P_k ∂L/∂e_k,
    ∂L/∂v_k = −∂L/∂t_k t_k/v_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath import optics
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.dose.model import ToolpathGradient
from laserpath.kinetics import Conversion, KineticModel, LightGradient
from laserpath.kinetics.timeline import Flashes
from laserpath.types import Toolpath


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
    of a program, with its own speeds, is in `kinetics.timeline.light_of`.
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

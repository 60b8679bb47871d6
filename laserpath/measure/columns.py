"""A part as the light of its layers cures it, column by column of the grid, from the top layer down.

Layer k is exposed at its top z_k with the dose E_k(x, y). Light goes on below it and never up, so that a
place of layer j, at the height z, ends with the dose of layer j and of all above it:

    D(z) = Σ_{k ≥ j} E_k e^(−(z_k − z)/D_p) = (E_j + L_j) e^(−(z_j − z)/D_p),
    L_{j−1} = (E_j + L_j) e^(−h_j/D_p)                 the light that arrives at z_{j−1} from above

(Beer–Lambert; `physics.absorption` has it for a resin that bleaches, in which the sum is not as simple, but
the same sweep is exact). It is solid where D ≥ E_c (Jacobs 1992, Rapid Prototyping & Manufacturing, ch. 4). D
rises with z within a layer, so of its thickness h_j the upper part is solid:

    t_j = D_p ln((E_j + L_j)/E_c), within 0 … h_j.

A spot of known wavelength spreads on its way down. At the depth z below its layer the light of a layer is
then blurred by the Gaussian by which the FWHM becomes that of the spot there (`optics.at_depth`): exact for a
Gaussian beam. L is the sum over the layers above, each with its own blur. In a resin that bleaches, and where
the spot becomes narrower, light is as wide as at the surface.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import one_line
from laserpath.physics import optics
from laserpath.physics.absorption import Absorption
from laserpath.types import Grid, Resin, Spot

PLATE = 0
"""`Columns.start` of a place that is solid down to the plate."""
_NEVER = -1

_FARTHEST = 7.0
"""Penetration depths below a layer down to which its light is followed as it spreads: there is 1e-3 of it."""
_WIDER = 0.01
"""Relative change of the FWHM at that depth below which light counts as equally wide everywhere."""

_LAYERS_LATER = 16
"""Most layers after which an underside is looked for to be gelled."""

_MOST = 0.9
"""Share of an underside that is to be gelled: a larger one also counts its rims."""
_NEARLY = 0.5
"""Part of an underside's layer that need not be gelled yet, as its last light comes from far above."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """A part in layers, (rows, columns) on `grid`. thickness: (K,) mm, lowest first.

    solid: K masks of the layers' areas.  start: K arrays with the number of the layer in which a place's
    solid begins, counted down from each layer without a gap: `PLATE` if that is the plate, −1 where nothing
    is solid.  overhang: K masks of what lies over nothing, farther than the spot's half from its edge; or
    None.
    """

    grid: Grid
    thickness: Floats
    solid: tuple[Bools, ...]
    start: tuple[NDArray[np.int16], ...]
    overhang: tuple[Bools | None, ...]

    __repr__ = one_line

    @classmethod
    def of(cls, grid: Grid, solid: Sequence[Bools], thickness: Floats, fwhm: float) -> Columns:
        """The columns of layers. solid: equal layers are best the same array.  fwhm: of the spot, mm."""
        start: list[NDArray[np.int16]] = [np.where(solid[0], np.int16(PLATE), np.int16(_NEVER))]
        overhang: list[Bools | None] = [None]
        for k in range(1, len(solid)):
            if solid[k] is solid[k - 1]:
                start.append(start[-1])
                overhang.append(None)
                continue
            begun = np.where(solid[k - 1], start[-1], np.int16(k))
            start.append(np.where(solid[k], begun, np.int16(_NEVER)))
            over = solid[k] & ~solid[k - 1]
            # Distances are between the centres of pixels, half of one from the edge.
            wide = ndimage.distance_transform_edt(over) - 0.5 > fwhm / 2 / grid.pitch
            overhang.append(wide if wide.any() else None)
        return cls(grid, thickness, tuple(solid), tuple(start), tuple(overhang))

    @property
    def top(self) -> Floats:
        """(K,) mm above the plate, tops of the layers."""
        return np.cumsum(self.thickness)

    def above_nothing(self, k: int) -> Floats:
        """(rows, columns) mm from the top of layer k down to the underside below it; inf above the plate."""
        bottoms = np.concatenate([[-np.inf], self.top[:-1], [0.0]])  # the last one is of index −1
        depth = self.top[k] - bottoms[self.start[k]]
        return np.where(self.solid[k], depth, 0.0)


@dataclass(frozen=True, slots=True)
class Overhang:
    """An underside that is wider than the spot. z: mm, of the underside above the plate.  area: mm².

    through, deepest: mm, mean and largest thickness that cures below it.  short: mm, mean thickness that is
    missing above it.  later: number of layers after its own until nine tenths of its area are
    gelled in the upper half of its own layer; None if they never are.
    """

    z: float
    area: float
    through: float
    deepest: float
    short: float
    later: int | None


@dataclass(frozen=True, slots=True)
class CuredPart:
    """What cures. missing: mm³ of the part that stay liquid.  excess: mm³ outside that cure.

    volume: mm³, of the part as drawn in layers.
    """

    volume: float
    missing: float
    excess: float
    overhangs: tuple[Overhang, ...]

    @property
    def wrong(self) -> float:
        """mm³ that are wrongly cured or not cured."""
        return self.missing + self.excess

    @property
    def through(self) -> float:
        """mm, mean thickness that cures below all overhangs; 0 without any."""
        return self._mean("through")

    @property
    def short(self) -> float:
        """mm, mean thickness that is missing above all overhangs; 0 without any."""
        return self._mean("short")

    @property
    def later(self) -> int | None:
        """The largest number of layers after which an underside is gelled; None if one never is."""
        each = [one.later for one in self.overhangs]
        return None if None in each else max((one for one in each if one is not None), default=0)

    def as_dict(self) -> dict[str, object]:
        """Plain numbers by name, for JSON: lengths in mm, volumes in mm³."""
        return {
            "volume_mm3": self.volume,
            "missing_mm3": self.missing,
            "excess_mm3": self.excess,
            "print_through_mm": self.through,
            "short_mm": self.short,
            "overhangs": [
                {
                    "z_mm": one.z,
                    "area_mm2": one.area,
                    "print_through_mm": one.through,
                    "deepest_mm": one.deepest,
                    "short_mm": one.short,
                    "gelled_layers_later": one.later,
                }
                for one in self.overhangs
            ],
        }

    def _mean(self, name: str) -> float:
        """The mean over all undersides."""
        area = sum(one.area for one in self.overhangs)
        return sum(getattr(one, name) * one.area for one in self.overhangs) / area if area else 0.0


class _Spreading:
    """Light that spreads on its way down. blur: mm, by depth (mm), standard deviation of its Gaussian."""

    def __init__(self, depth: float, blur: Callable[[float], float], pitch: float) -> None:
        self._depth, self._blur, self._pitch = depth, blur, pitch
        self._layers: deque[tuple[float, Floats]] = deque()  # how far up, and the layer's own dose

    @classmethod
    def of(cls, spot: Spot | None, resin: Resin, pitch: float) -> _Spreading | None:
        """That of a spot in a resin, on pixels of a pitch, mm; None if it stays as wide."""
        law = Absorption.of(resin)
        if spot is None or law.bleached is not None or not spot.spreads:
            return None
        begin = optics.fwhm(spot)

        def wide(z: float) -> float:
            return optics.fwhm(optics.at_depth(spot, z, optics.INDEX))

        @cache  # thin layers have more depths than there are shapes of spots that are kept
        def blur(z: float) -> float:
            return float(np.sqrt(max(wide(z) ** 2 - begin**2, 0.0) / (8 * np.log(2))))

        return cls(law.depth, blur, pitch) if wide(_FARTHEST * law.depth) > (1 + _WIDER) * begin else None

    def below(self, dose: Floats, thick: float) -> Floats:
        """(rows, columns) mJ/mm², the light below a layer. dose: its own, at its top.  thick: mm."""
        self._layers.appendleft((0.0, dose))
        self._layers = deque(
            (up + thick, one) for up, one in self._layers if up + thick <= _FARTHEST * self._depth
        )
        light = np.zeros(dose.shape)
        for up, one in self._layers:
            sigma = self._blur(round(up, 9)) / self._pitch  # depths are alike but for rounding
            wide = ndimage.gaussian_filter(one, sigma, mode="constant")
            light += np.exp(-up / self._depth) * wide
        return light


class Curing:
    """Adds up a part's layers from the top down. light: (rows, columns) mJ/mm², L at the next layer's top.

    undersides: (N,) mm, arrays of what cures below and is missing above pixels of undersides.
    """

    def __init__(self, columns: Columns, resin: Resin, spot: Spot | None = None) -> None:
        """spot: whose light spreads in depth, if that is known; None: it does not."""
        self._columns, self._spreading = columns, _Spreading.of(spot, resin, columns.grid.pitch)
        self._e_c, self._absorption = float(resin.e_c or 1.0), Absorption.of(resin)
        count, shape = len(columns.solid), columns.grid.shape
        self._next = count - 1
        self.light: Floats = np.zeros(shape)
        self._doses: dict[int, list[Floats]] = {}  # of layers above overhangs to come
        self._missing = self._excess = 0.0
        self._owner = np.full(shape, _NEVER, np.int16)  # overhang whose print-through goes on here
        self._depth = np.zeros(shape)
        self._lacking = np.zeros(shape)  # missing in the layers down to the next underside
        self._off = np.zeros(shape)  # what is missing above and cures below the underside of the owner
        self.undersides: list[Floats] = []
        self._sums = {name: np.zeros(count) for name in ("through", "deepest", "short")}
        self._later: dict[int, int | None] = {}

    def add(self, dose: Floats) -> Floats:
        """The next layer below. dose: (rows, columns) mJ/mm², at its top. Returns what of it cures, mm."""
        k, columns = self._next, self._columns
        thick, solid = float(columns.thickness[k]), columns.solid[k]
        for below in range(max(k - _LAYERS_LATER + 1, 0), k + 1):
            if (overhang := columns.overhang[below]) is not None:
                self._doses.setdefault(below, []).append(np.maximum(dose[overhang], 0))
        at_top = np.maximum(dose, 0) + self.light
        cured = np.minimum(self._absorption.reach(at_top, self._e_c), thick)
        self._missing += float((thick - cured)[solid].sum())
        self._excess += float(cured[~solid].sum())
        self._follow(k, cured, thick)
        if self._spreading is None:
            self.light = self._absorption.below(at_top, thick)
        else:
            self.light = self._spreading.below(np.maximum(dose, 0).astype(np.float32), thick)
        over = columns.overhang[k]
        if over is not None:
            self._owner[over], self._depth[over] = k, 0.0
            self._off[over] = self._lacking[over]
            self._later[k] = self._gelled(k)
        self._next -= 1
        return cured

    def _follow(self, k: int, cured: Floats, thick: float) -> None:
        """Add what cures below overhangs, and what is missing above them, in layer k."""
        columns, sums = self._columns, self._sums
        self._lacking = np.where(columns.solid[k], self._lacking + (thick - cured), 0.0)
        self._ended(columns.solid[k])
        on = self._owner >= 0
        if on.any():
            owner = self._owner[on]
            self._depth[on] += cured[on]
            sums["through"] += np.bincount(owner, cured[on], len(columns.solid))
            np.maximum.at(sums["deepest"], owner, self._depth[on])
            self._off[on] += cured[on]
            self._ended(cured < thick * (1 - 1e-9))
        short = (columns.start[k] > PLATE) & (cured < thick)
        starts = columns.start[k][short]
        for first in np.unique(starts).tolist():
            over = columns.overhang[first]
            if over is not None:
                here = short & (columns.start[k] == first) & over
                sums["short"][first] += float((thick - cured[here]).sum())

    def _ended(self, where: Bools) -> None:
        """Nothing more cures below the undersides there."""
        ended = where & (self._owner >= 0)
        if ended.any():
            self.undersides.append(self._off[ended].astype(np.float32))
            self._owner[ended] = _NEVER

    def _gelled(self, k: int) -> int | None:
        """`Overhang.later` of the overhang of layer k."""
        thickness, law = self._columns.thickness, self._absorption
        needed = law.above(self._e_c, (1 - _NEARLY) * thickness[k])
        doses = self._doses.pop(k)[::-1]  # from layer k up
        for count in range(1, len(doses) + 1):
            so_far = doses[count - 1]
            for number in reversed(range(count - 1)):
                so_far = law.below(so_far, thickness[k + number + 1]) + doses[number]
            if np.mean(so_far >= needed) >= _MOST:
                return count - 1
        return None

    def result(self) -> CuredPart:
        """What the part is after its lowest layer."""
        self._ended(np.ones(self._owner.shape, bool))
        columns, area = self._columns, self._columns.grid.pixel_area
        overhangs = []
        for k, over in enumerate(columns.overhang):
            if over is not None:
                count, sums = int(over.sum()), self._sums
                overhangs.append(
                    Overhang(
                        float(columns.top[k] - columns.thickness[k]), count * area,
                        through=float(sums["through"][k] / count), deepest=float(sums["deepest"][k]),
                        short=float(sums["short"][k] / count), later=self._later[k],
                    )
                )  # fmt: skip
        volume = sum(float(t) * float(s.sum()) for t, s in zip(columns.thickness, columns.solid, strict=True))
        return CuredPart(volume * area, self._missing * area, self._excess * area, tuple(overhangs))

"""Measured sizes against the model's, as residuals of unknowns θ; see `fitting`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from laserpath.base.arrays import Bools, Floats, Indices
from laserpath.calibration.items import Measured, Measurements
from laserpath.calibration.model import Physics, SizeModel, Sizes

GROUPS = ("width", "diameter", "merged", "depth")
DEPTH = GROUPS.index("depth")
LINEAR = "reciprocity"
"""The exponent m, the one unknown that is not a logarithm."""
OFFSET = "level_offset"
"""The offset o of the light of levels. Its unknown is ln(n + o), with n the lowest measured level, which
therefore always shines."""
_BLUR = 0.1
"""Relative uncertainty of a threshold between visible and invisible items; larger weights them less."""
_MOST = 3.0
"""Limit of such a residual, so that two items mistaken for each other do not spoil the whole fit."""
_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Unknowns:
    """The unknowns of a fit by name, and the given parameters.

    Names: fwhm, the geometric mean of both axes; aspect, that along x ÷ that along y; critical_dose;
    reciprocity; penetration_depth; e_c; level_offset.  lowest: the lowest level that was measured.
    """

    names: tuple[str, ...]
    given: Physics
    lowest: int = 1

    def without(self, name: str) -> Unknowns:
        """The unknowns without one, which is then as given."""
        return replace(self, names=tuple(n for n in self.names if n != name))

    def value(self, name: str, theta: float) -> float:
        """The value of an unknown whose θ is given."""
        if name == LINEAR:
            return float(theta)
        return float(np.exp(theta)) - (self.lowest if name == OFFSET else 0)

    def physics(self, theta: Floats) -> Physics:
        """The given parameters, with the values of θ."""
        values = {n: self.value(n, x) for n, x in zip(self.names, theta.tolist(), strict=True)}
        given = self.given
        fx, fy = given.fwhm
        fwhm, root = values.get("fwhm", np.sqrt(fx * fy)), np.sqrt(values.get("aspect", fx / fy))
        return Physics(
            fwhm=(fwhm * root, fwhm / root),
            critical_dose=values.get("critical_dose", given.critical_dose),
            penetration_depth=values.get("penetration_depth", given.penetration_depth),
            e_c=values.get("e_c", given.e_c), reciprocity=values.get(LINEAR, given.reciprocity),
            speed=given.speed, level_offset=values.get(OFFSET, given.level_offset),
        )  # fmt: skip

    def theta(self, values: Mapping[str, float]) -> Floats:
        """θ of values by name."""
        shift = {OFFSET: self.lowest}
        return np.array(
            [values[n] if n == LINEAR else np.log(values[n] + shift.get(n, 0)) for n in self.names]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """(R,) measured sizes: indices of item and group, and the size, mm; of a wedge, the gap where it closes.

    seen: (K,) items that are reported as visible or not, without a size.  sign: (K,) +1 if visible, else −1.
    ids: of the items.
    """

    model: SizeModel
    item: Indices
    group: Indices
    size: Floats
    seen: Indices
    sign: Floats
    ids: tuple[str, ...]

    @classmethod
    def of(cls, measurements: Measurements, profile: str) -> Data:
        """All measurements, for a spot profile."""
        rows = measurements.rows
        sizes = [
            (k, g, _in_plane(row, size) if g != DEPTH else size)
            for k, row in enumerate(rows)
            for g, name in enumerate(GROUPS)
            if (size := getattr(row, name)) is not None
        ]
        seen = [
            (k, 1.0 if _visible(row) else -1.0) for k, row in enumerate(rows) if _visible(row) is not None
        ]
        items = [row.item for row in rows]
        model = SizeModel(items, profile, measurements.order, measurements.levels)
        item, group, size = (np.array(column) for column in zip(*sizes, strict=True)) if sizes else _none(3)
        seen_item, sign = (np.array(column) for column in zip(*seen, strict=True)) if seen else _none(2)
        as_index = np.int64
        return cls(
            model, item.astype(as_index), group.astype(as_index), size, seen_item.astype(as_index), sign,
            tuple(one.id for one in items),
        )  # fmt: skip

    def unseen(self) -> Data:
        """The sizes alone: visibility only constrains the critical dose."""
        return replace(self, seen=self.seen[:0], sign=self.sign[:0])

    def only(self, keep: Bools) -> Data:
        """The sizes where keep, (R,), is true."""
        return replace(self, item=self.item[keep], group=self.group[keep], size=self.size[keep])

    @property
    def deep(self) -> Bools:
        """(R,) True for a depth."""
        return self.group == DEPTH

    def predicted(self, sizes: Sizes) -> Floats:
        """(R,) mm, the model's value of each size."""
        return np.where(self.deep, sizes.depth[self.item], sizes.size[self.item])

    def residuals(self, physics: Physics, sigma: Floats) -> Floats:
        """(R + K,): sizes in units of σ, (R,); then how far each seen item is beyond the threshold."""
        sizes = self.model.sizes(physics)
        wrong = np.maximum(-self.sign * sizes.excess[self.seen], 0) / _BLUR
        wrong = wrong / np.sqrt(1 + (wrong / _MOST) ** 2)
        return np.concatenate([(self.predicted(sizes) - self.size) / sigma, wrong])

    def slopes(self, unknowns: Unknowns, theta: Floats, sigma: Floats) -> Floats:
        """(R + K, θ) derivatives of the residuals, by central differences."""
        columns = []
        for step in _STEP * np.eye(len(theta)):
            up, down = (unknowns.physics(theta + s * step) for s in (1, -1))
            columns.append((self.residuals(up, sigma) - self.residuals(down, sigma)) / (2 * _STEP))
        return np.stack(columns, axis=1)


def _in_plane(row: Measured, size: float) -> float:
    return size * row.item.gap / row.item.length if row.item.kind == "wedge" else size


def _visible(row: Measured) -> bool | None:
    """Whether the item is visible; None if that is unknown, or if a measured size is more informative."""
    if row.width is not None or row.diameter is not None or row.merged is not None:
        return None
    return True if row.depth is not None else row.visible


def _none(columns: int) -> Sequence[Floats]:
    return [np.zeros(0) for _ in range(columns)]

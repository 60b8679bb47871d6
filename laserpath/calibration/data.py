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
"""The one unknown that is not a logarithm."""
_BLUR = 0.1
"""Of a threshold that is told by visible and not visible, relative to the dose."""
_MOST = 3.0
"""Of such a residual: whoever has confused two items shall not turn the whole fit."""
_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class Unknowns:
    """What is to be found, by name, and what is given.

    Names: fwhm, the geometric mean of both axes; aspect, that along x ÷ that along y; critical_dose;
    reciprocity; penetration_depth; e_c.
    """

    names: tuple[str, ...]
    given: Physics

    def physics(self, theta: Floats) -> Physics:
        """With the values of θ, which are logarithms, but m."""
        said = {n: float(v if n == LINEAR else np.exp(v)) for n, v in zip(self.names, theta, strict=True)}
        old = self.given
        fx, fy = old.fwhm
        fwhm, root = said.get("fwhm", np.sqrt(fx * fy)), np.sqrt(said.get("aspect", fx / fy))
        return Physics(
            fwhm=(fwhm * root, fwhm / root),
            critical_dose=said.get("critical_dose", old.critical_dose),
            penetration_depth=said.get("penetration_depth", old.penetration_depth),
            e_c=said.get("e_c", old.e_c), reciprocity=said.get(LINEAR, old.reciprocity), speed=old.speed,
        )  # fmt: skip

    def theta(self, values: Mapping[str, float]) -> Floats:
        """Of values by name."""
        return np.array([values[n] if n == LINEAR else np.log(values[n]) for n in self.names])


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """(R,) measured sizes: of which item and group, and how large, mm; of a wedge the gap where it closes.

    seen: (K,) items of which is known whether they are visible.  sign: (K,) +1 if they are, else −1.
    """

    model: SizeModel
    item: Indices
    group: Indices
    size: Floats
    seen: Indices
    sign: Floats

    @classmethod
    def of(cls, measurements: Measurements, profile: str) -> Data:
        """All that was measured, for a spot profile."""
        rows = measurements.rows
        found = [
            (k, g, _in_plane(row, size) if g != DEPTH else size)
            for k, row in enumerate(rows)
            for g, name in enumerate(GROUPS)
            if (size := getattr(row, name)) is not None
        ]
        seen = [
            (k, 1.0 if _visible(row) else -1.0) for k, row in enumerate(rows) if _visible(row) is not None
        ]
        model = SizeModel([row.item for row in rows], profile, measurements.order)
        item, group, size = (np.array(column) for column in zip(*found, strict=True)) if found else _none(3)
        which, sign = (np.array(column) for column in zip(*seen, strict=True)) if seen else _none(2)
        as_index = np.int64
        return cls(
            model, item.astype(as_index), group.astype(as_index), size, which.astype(as_index), sign
        )  # fmt: skip

    def unseen(self) -> Data:
        """Without what is only known to be visible or not, which tells of the critical dose alone."""
        return replace(self, seen=self.seen[:0], sign=self.sign[:0])

    def only(self, keep: Bools) -> Data:
        """Some of the sizes; keep: (R,)."""
        return Data(self.model, self.item[keep], self.group[keep], self.size[keep], self.seen, self.sign)

    @property
    def deep(self) -> Bools:
        """(R,) whether it is a depth."""
        return self.group == DEPTH

    def predicted(self, sizes: Sizes) -> Floats:
        """(R,) mm."""
        return np.where(self.deep, sizes.depth[self.item], sizes.size[self.item])

    def residuals(self, physics: Physics, sigma: Floats) -> Floats:
        """(R + K,) in units of σ (R,); of the visible ones, how far the threshold is on the wrong side."""
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
    """What is known but for sizes in the plane, which say more."""
    if row.width is not None or row.diameter is not None or row.merged is not None:
        return None
    return True if row.depth is not None else row.visible


def _none(columns: int) -> Sequence[Floats]:
    return [np.zeros(0) for _ in range(columns)]

"""Marks on a part that were found on the machine, and the transform that they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from laserpath.base.checks import number
from laserpath.base.entry_points import ALIGN_FITS
from laserpath.base.errors import InputError, figure

_FARTHEST = 1e5
"""mm from the zero, as for designs."""

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Fiducial:
    """A mark. design: (x, y) mm in the drawing's coordinates.  machine: where the machine finds it, mm."""

    design: Pair
    machine: Pair
    name: str = ""

    def __post_init__(self) -> None:
        for where in ("design", "machine"):
            value = getattr(self, where)
            number(f"mark {where}", value)
            if np.shape(value) != (2,) or not np.abs(value).max() <= _FARTHEST:
                raise InputError(f"mark {where} is {value} mm, but must be x and y within {_FARTHEST:g} mm")
            object.__setattr__(self, where, (float(value[0]), float(value[1])))

    def __str__(self) -> str:
        """Its name, or the place in the drawing."""
        return self.name or "{:g},{:g}".format(*self.design)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted value ± half of its 95 % interval. half: None for one that was not fitted, or exactly."""

    value: float
    half: float | None = None

    def text(self, decimals: int) -> str:
        """`1.0012 +/- 0.0003`, in characters that a program's comment may have."""
        bound = "" if self.half is None else f" +/- {figure(self.half, 2)}"
        return f"{self.value:.{decimals}f}{bound}"


@dataclass(frozen=True, slots=True)
class Alignment:
    """The transform from a drawing to the machine, fitted to marks, x' = R(rotation) K x + shift.

    marks: as given.  fit: one of `ALIGN_FITS`.  matrix: (a, b, d, e, tx, ty), x' = a x + b y + tx and
    y' = d x + e y + ty, mm, of the drawing as mirrored, turned and scaled by its other options.
    residuals: (x, y) mm of each mark, where it is found minus where the transform puts it.
    rotation: degrees, counter-clockwise, of the x axis.  scale: of x and of y.  skew: degrees by which the
    angle between the axes exceeds 90.  placed: mm, the drawing's farthest corner lies within this of its true
    place in x and in y, with 95 % confidence each; None as in `Fitted`.
    suspect: a sentence on a mark that disagrees with all others, or ''.
    """

    marks: tuple[Fiducial, ...]
    fit: str
    matrix: tuple[float, float, float, float, float, float]
    residuals: tuple[Pair, ...]
    rotation: Fitted
    scale: tuple[Fitted, Fitted]
    skew: Fitted
    placed: float | None = None
    suspect: str = ""

    def in_short(self) -> str:
        """`aligned to 4 marks`."""
        return f"aligned to {len(self.marks)} mark{'s' * (len(self.marks) != 1)}"

    def in_words(self) -> str:
        """One phrase: what was fitted, and how far off the marks are."""
        return f"{self.in_short()}: " + ", ".join(" ".join(row) for row in self.figures())

    def figures(self) -> Iterator[tuple[str, str]]:
        """(name, text) of what was fitted, for a report."""
        rank = ALIGN_FITS.index(self.fit)
        yield "shift", f"{figure(self.matrix[4], 6)}, {figure(self.matrix[5], 6)} mm"
        if rank >= 1:
            yield "rotation", f"{self.rotation.text(4)} degrees"
        if rank == 2:
            yield "scale", self.scale[0].text(6)
        if rank == 3:
            yield "scale in x", self.scale[0].text(6)
            yield "scale in y", self.scale[1].text(6)
            yield "skew", f"{self.skew.text(4)} degrees"
        if self.placed is not None:
            yield "farthest corner placed within", f"+/- {figure(1000 * self.placed, 2)} um"
        yield "marks off by", f"up to {self._most()}"

    def of_marks(self) -> Iterator[tuple[str, str]]:
        """(mark, text) of each mark: where it is drawn, where it was found, and how far off that is."""
        for mark, (dx, dy) in zip(self.marks, self.residuals, strict=True):
            places = ("{:.6g}, {:.6g}".format(*place) for place in (mark.design, mark.machine))
            yield f"mark {mark}", f"{' mm found at '.join(places)} mm, off by {_um(dx)}, {_um(dy)} um"

    def _most(self) -> str:
        return f"{_um(max(float(np.hypot(*off)) for off in self.residuals), sign=False)} um"

    def as_dict(self) -> dict[str, object]:
        """All of it as plain values, for JSON; lengths in mm, angles in degrees, null where unknown."""

        def bound(one: Fitted) -> dict[str, float | None]:
            return {"value": one.value, "half_of_95_percent": one.half}

        return {
            "fit": self.fit,
            "matrix": list(self.matrix),
            "rotation_deg": bound(self.rotation),
            "scale": [bound(one) for one in self.scale],
            "skew_deg": bound(self.skew),
            "placed_within_mm": self.placed,
            "suspect": self.suspect,
            "marks": [
                {"name": str(m), "design_mm": m.design, "machine_mm": m.machine, "off_mm": off}
                for m, off in zip(self.marks, self.residuals, strict=True)
            ],
        }


def _um(value: float, *, sign: bool = True) -> str:
    """A length given in mm, in µm to a tenth."""
    return f"{1000 * value + 0.0:{'+' if sign else ''}.1f}"

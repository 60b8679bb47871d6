"""What planning and measuring give back: solutions, figures, measurements, reports.

Units as in `types`: mm, s, mJ/mm²; lengths called "in FWHM" are multiples of the spot's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from laserpath.base.arrays import Bools, Floats, Indices, frozen_array
from laserpath.types import Grid, Point, Toolpath

EPE_CAP_FWHM = 2.0
"""FWHM, how far from the outline an edge is looked for; where there is none, the error is at least that."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What an optimiser found. result: one sentence.  loss: (iterations,) history.  stopped: by the user."""

    toolpath: Toolpath
    loss: Floats
    result: str
    stopped: bool = False
    converged: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", frozen_array(self.loss, "loss", (None,)))

    @property
    def unfinished(self) -> str:
        """How it ended where more iterations might have done more, in words; else nothing."""
        return "" if self.converged else self.result


@dataclass(frozen=True, slots=True)
class MotionFigures:
    """The figures of a program's motion, whatever its dose. Times s, lengths mm.

    toggles: how often the laser goes on or off.  lines: of the program.  segment_rate: moves/s that the
    busiest `look_ahead` moves need from the link (write_time counts its limit).
    """

    write_time: float
    ideal_time: float
    write_length: float
    travel_length: float
    toggles: int
    lines: int
    segment_rate: float

    @classmethod
    def along(cls, path: Toolpath, *, write_time: float, lines: int, segment_rate: float) -> MotionFigures:
        """The figures of a toolpath, with those that only the controller and its link determine."""
        on = path.on
        return cls(
            write_time=write_time,
            ideal_time=float((path.length / path.speed).sum()),
            write_length=float(path.length[on].sum()),
            travel_length=float(path.length[~on].sum()),
            toggles=int(np.abs(np.diff(np.concatenate([[0], on.astype(np.int64), [0]]))).sum()),
            lines=lines,
            segment_rate=segment_rate,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers by name, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class PrintFigures:
    """The figures of one dose against one design.

    epe_*: |edge placement error| in FWHM: mean, 95th percentile, largest; `_smooth`: away from corners.
    missing_edges of `samples` contour points have no printed edge near.  pv_band: area cured at dose
    +10 % but not at −10 %, ÷ (perimeter · FWHM); pv_defocus: area that changes with FWHM·1.15, likewise.
    iou: intersection ÷ union.  overcure, undercure: mm².  dose_max: in critical doses.
    """

    epe_mean: float
    epe_p95: float
    epe_max: float
    epe_mean_smooth: float
    epe_max_smooth: float
    missing_edges: int
    samples: int
    pv_band: float
    pv_defocus: float
    iou: float
    overcure: float
    undercure: float
    dose_max: float

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers by name, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def epe_capped(self) -> tuple[str, ...]:
        """The names of the edge errors that are lower bounds: no edge was found within the cap."""
        return tuple(name for name, value in self.as_dict().items() if is_capped(name, value))


def is_capped(name: str, value: float) -> bool:
    """Whether a figure is an edge error at the cap: at least so large, in FWHM."""
    return name.startswith("epe_") and EPE_CAP_FWHM * (1 - 1e-9) <= value < math.inf


@dataclass(frozen=True, slots=True)
class Edges:
    """Edge placement errors along the design's contour.

    xy: (M, 2) mm.  normal: (M, 2) outward.  epe: (M,) mm, + is printed outside the design;
    ± the cap where no edge prints.  missing, corner: (M,) bool.
    """

    xy: Floats
    normal: Floats
    epe: Floats
    missing: Bools
    corner: Bools


@dataclass(frozen=True, slots=True)
class Measurement:
    """One exposure, measured. dose: (rows, columns) mJ/mm² on `grid`.  motion: of the whole program."""

    figures: PrintFigures
    motion: MotionFigures
    grid: Grid
    dose: Floats
    edges: Edges

    def as_dict(self) -> dict[str, Any]:
        """The figures of print and motion by name, for JSON."""
        return {**self.figures.as_dict(), **self.motion.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class ProcessWindow:
    """Edge errors where all of the dose is off by a factor and the spot is wider than planned for.

    dose: (D,) relative doses, rising.  width: (F,) relative FWHM of the spot at the same power, rising.
    epe_mean, epe_p95: (F, D) mean and 95th percentile of |EPE|, in FWHM as planned for; what has no edge
    counts as 2.  epe_signed: (F, D) mean EPE, + is outside.  missing_edges: (F, D) of `samples` points.
    """

    dose: Floats
    width: Floats
    epe_mean: Floats
    epe_p95: Floats
    epe_signed: Floats
    missing_edges: Floats
    samples: int

    def __post_init__(self) -> None:
        for axis in ("dose", "width"):
            object.__setattr__(self, axis, frozen_array(getattr(self, axis), f"window {axis}", (None,)))
        shape = (len(self.width), len(self.dose))
        for name in ("epe_mean", "epe_p95", "epe_signed", "missing_edges"):
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"window {name}", shape))

    def as_dict(self) -> dict[str, float | list[float]]:
        """Plain numbers and lists of them by name, for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: v if name == "samples" else v.tolist() for name, v in values.items()}


@dataclass(frozen=True, slots=True)
class Unprintable:
    """One place that is not printed as drawn.

    kind: 'gap', 'feature', 'corner' or 'edge'.  lost: whether the gap closes, or the feature vanishes.
    at: mm; in the gap, in the feature, or on the contour.
    width: of the gap or feature at its narrowest, mm; None of corners and edges.
    error: the largest |EPE| with its sign, mm, + is outside; of what is lost as far as it is known, 2 FWHM.
    samples: (n,) indices into the edges.  exposure: at which relative dose.
    capped: whether no edge was found within the search distance, so that the error is at least the given one.
    decimals: of mm, that its place is printed with.
    """

    kind: str
    lost: bool
    at: Point
    width: float | None
    error: float
    samples: Indices
    exposure: float = 1.0
    capped: bool = False
    decimals: int = 3

    @property
    def where(self) -> str:
        """`(1.250, 0.700)`, mm."""
        return f"({self.at[0]:.{self.decimals}f}, {self.at[1]:.{self.decimals}f})"

    @property
    def sentence(self) -> str:
        """What happens, where and by how much, in mm."""
        digits, where = self.decimals, self.where
        if self.lost:
            fate = "closes" if self.kind == "gap" else "is lost"
            return f"{self.kind} of {self.width:.{digits}f} mm at {where}: {fate}{at_exposure(self.exposure)}"
        name = self.kind if self.width is None else f"{self.kind} of {self.width:.{digits}f} mm"
        round_off = "comes out round, " if self.kind == "corner" else ""
        too_far = f"{abs(self.error):.{digits}f} mm too far {'out' if self.error > 0 else 'in'}"
        return f"{name} at {where}: {round_off}its edge is {'at least' if self.capped else 'up to'} {too_far}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is printed otherwise than drawn. at: (x, y) mm.  size: mm.  area: mm².

    kind: of the topology 'lost', 'closed', 'cut' or 'joined'; else 'pinhole', 'speck', 'bite' or 'blob'.
    size: the longer side of a part, gap, pinhole and the like; the length cut away; the width of a bridge.
    width: mm, of a part, gap, pinhole and the like that is at least four times as long; else None.
    """

    kind: str
    at: Point
    size: float
    area: float
    width: float | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is printed against what is drawn (`measure.inspection`).

    faults: of the topology, the largest first.  flaws: the rest, the largest first.
    wrong_area: mm² that are wrong away from the edges; wrong_share: of the drawn area.
    wrong_outline: share of the outline's points without a printed edge near.
    rounded: how many points have no edge along their normal because the spot rounds off their corner.
    astray: how many at such corners have another wall's or part's edge along their normal.
    edges: those of the exposure, of rounded corners along the bisector.
    missing, excess: unprinted more than a FWHM inside the outline, printed more than a FWHM outside it: where
    most of that is, and the area of all; None where there is none to speak of.
    """

    faults: tuple[Fault, ...] = ()
    flaws: tuple[Fault, ...] = ()
    wrong_area: float = 0.0
    wrong_share: float = 0.0
    wrong_outline: float = 0.0
    rounded: int = 0
    astray: int = 0
    edges: Edges | None = None
    missing: Fault | None = None
    excess: Fault | None = None

    def as_dict(self) -> dict[str, object]:
        """Plain numbers, and lists of kinds with places, for JSON; lengths in mm."""
        return {
            **{
                name: [
                    {
                        "kind": one.kind,
                        "at_mm": list(one.at),
                        "size_mm": one.size,
                        "width_mm": one.width,
                        "area_mm2": one.area,
                    }
                    for one in some
                ]
                for name, some in (("faults", self.faults), ("flaws", self.flaws))
            },
            "wrong_area_mm2": self.wrong_area,
            "wrong_share": self.wrong_share,
            "wrong_outline": self.wrong_outline,
            "rounded": self.rounded,
            "astray": self.astray,
        }


@dataclass(frozen=True, slots=True)
class Limit:
    """The best light source without a path that the optimiser reached, and its print.

    xy: (M, 2) mm.  energy: (M,) mJ ≥ 0 (with N photons in the dose's unit · mm²).
    dose: (rows, columns) mJ/mm² on `grid`, in double precision.  loss: (evaluations,) history.
    unprintable: what even this source misses.
    """

    xy: Floats
    energy: Floats
    grid: Grid
    dose: Floats
    edges: Edges
    figures: PrintFigures
    loss: Floats
    unprintable: tuple[Unprintable, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The measured exposures of the shipped program and of its starting curve.

    commanded: power/feed as written.  executed: with the speeds that the controller reaches.
    start: the initial curve at its best single power.  window: of what is executed, if it was computed.
    limit: the unconstrained optimum, if it was computed.
    inspection: the faults of the executed print; None: not inspected yet.
    uncorrected: where the controller's power does not follow its speed, the plan before its powers were
    corrected for that; then only what is executed is scored. None: the power follows.
    unfinished: how the optimiser ended before it had converged (`Solution.result`), or ''.
    stopped: by the user.
    """

    commanded: Measurement
    executed: Measurement
    start: Measurement
    warnings: tuple[str, ...] = ()
    window: ProcessWindow | None = None
    limit: Limit | None = None
    uncorrected: Measurement | None = None
    inspection: Inspection | None = None
    unfinished: str = ""
    stopped: bool = False

    @property
    def scored(self) -> Measurement:
        """What the plan is judged by and compared with its limit."""
        return self.commanded if self.uncorrected is None else self.executed

    @property
    def planned(self) -> Measurement:
        """What it would be if the controller lost nothing."""
        return self.commanded if self.uncorrected is None else self.uncorrected

    @property
    def scored_as(self) -> str:
        """'commanded' or 'executed'."""
        return "commanded" if self.uncorrected is None else "executed"

    @property
    def epe_p95(self) -> float:
        """What 95 % of the edge keep, in FWHM, as scored and as executed: a tolerance's measure."""
        return max(self.scored.figures.epe_p95, self.executed.figures.epe_p95)


def at_exposure(exposure: float) -> str:
    """' at 10 % more dose', or nothing."""
    change = round(100 * (exposure - 1))
    return f" at {abs(change)} % {'more' if change > 0 else 'less'} dose" if change else ""

"""The results of planning and measuring: solutions, figures, measurements, reports, sensitivity.

Units as in `types`: mm, s, mJ/mm²; lengths called "in FWHM" are multiples of the spot's FWHM. Sensitivity is
how a program prints where the machine is not as planned, and what a better machine would print: edge errors
in FWHM, doses in critical doses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from laserpath.base.arrays import Bools, Floats, Indices, frozen_array
from laserpath.base.errors import one_line
from laserpath.types import Grid, Point, Toolpath

EPE_CAP_FWHM = 2.0
"""Distance from the outline, in FWHM, within which an edge is searched for; without an edge, the error counts
as this."""


@dataclass(frozen=True, slots=True)
class Solution:
    """An optimiser's result. result: how it ended, in one sentence.  loss: (iterations,) history.

    stopped: by the user.  written: the path to write as it is, in all passes, so that the machine exposes
    the toolpath (`planning.compensation`); None: not learned.  time_weight: of the write time in the loss.
    """

    toolpath: Toolpath
    loss: Floats
    result: str
    stopped: bool = False
    converged: bool = False
    written: Toolpath | None = None
    time_weight: float = 0.0

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", frozen_array(self.loss, "loss", (None,)))

    @property
    def unfinished(self) -> str:
        """How the optimiser ended, if more iterations might have lowered the loss further; else ''."""
        return "" if self.converged else self.result


@dataclass(frozen=True, slots=True)
class MotionFigures:
    """The figures of a program's motion. Times are in s, lengths in mm.

    toggles: number of times that the laser goes on or off.  lines: lines of the program.  segment_rate:
    moves/s that the busiest `look_ahead` moves need from the link (`write_time` includes the link's limit).
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
        """The figures of a toolpath; those that depend on the controller and its link are given."""
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

    epe_*: |edge placement error| in FWHM: mean, 95th percentile, largest (at corners that the spot rounds off
    across the corner, `measure.edges`); `_smooth`: away from corners.
    missing_edges: number of the `samples` contour points without a printed edge near.
    pv_band: area cured at dose +10 % but not at −10 %, ÷ (perimeter · FWHM).  pv_defocus: area that changes
    with FWHM · 1.15, divided likewise.
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
    """Whether a figure is an edge error at the cap, so that it is a lower bound. value: FWHM."""
    return name.startswith("epe_") and EPE_CAP_FWHM * (1 - 1e-9) <= value < math.inf


@dataclass(frozen=True, slots=True)
class Edges:
    """Edge placement errors along the design's contour.

    xy: (M, 2) mm.  normal: (M, 2) outward.  epe: (M,) mm, + means printed outside the design; ± the cap where
    no edge prints.  missing: (M,) whether no edge prints.  corner: (M,) whether the point is near a corner.
    """

    xy: Floats
    normal: Floats
    epe: Floats
    missing: Bools
    corner: Bools

    __repr__ = one_line


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of one exposure. motion: of the program.

    dose: (rows, columns) mJ/mm² on `grid`; (0, 0) of the start of a layer or of a design of several fields,
    and as it is commanded.

    by_dose: the measurement of the dose alone, where conversion decides what cures (a resin with kinetics);
    then figures, edges and dose are those of the equivalent dose (`measure.conversion`), but for the bands
    and the largest dose.
    """

    figures: PrintFigures
    motion: MotionFigures
    grid: Grid
    dose: Floats
    edges: Edges
    by_dose: Measurement | None = None

    __repr__ = one_line

    @property
    def light(self) -> Floats:
        """(rows, columns) mJ/mm², the dose itself."""
        return (self.by_dose or self).dose

    @property
    def without_dose(self) -> Measurement:
        """The same with a dose of no pixels: that of a large design takes hundreds of MB."""
        return replace(self, dose=np.zeros((0, 0), self.dose.dtype))

    def as_dict(self) -> dict[str, Any]:
        """The figures of print and motion by name, for JSON."""
        return {**self.figures.as_dict(), **self.motion.as_dict()}


@dataclass(frozen=True, slots=True, eq=False)
class ProcessWindow:
    """Edge errors if the whole dose is scaled by a factor and the spot is wider than planned.

    dose: (D,) relative doses, rising.  width: (F,) relative FWHM of the spot at the same power, rising.
    epe_mean, epe_p95: (F, D) mean and 95th percentile of |EPE|, in planned FWHM; a missing edge counts as 2.
    epe_signed: (F, D) mean EPE, + is outside.  missing_edges: (F, D) number of the `samples` points.
    """

    dose: Floats
    width: Floats
    epe_mean: Floats
    epe_p95: Floats
    epe_signed: Floats
    missing_edges: Floats
    samples: int

    __repr__ = one_line

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
    width: of the gap or feature at its narrowest, mm; None for corners and edges.
    error: the EPE of largest size, mm, + is outside; 2 FWHM if no edge is near.
    samples: (n,) indices into the edges.  exposure: the relative dose.
    capped: whether there is no edge within the search distance, so that the error is a lower bound.
    decimals: number of decimals of mm in the printed place.
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
    """One fault of the print. at: (x, y) mm.  size: mm.  area: mm².

    kind: of topology 'lost', 'filled' (a hole), 'closed', 'cut', 'joined' or 'pad'; else 'pinhole', 'speck',
    'bite' or 'blob'.
    size: the longer side of a part, gap, pinhole or the like; the length cut away; the width of a bridge.
    width: mm, of a part, gap, pinhole or the like that is at least four times as long; else None.
    net: 'R1.2 of net GND', the pin and the nets of a board that it concerns; '' if its file does not name
    them, None if pads are not known.
    """

    kind: str
    at: Point
    size: float
    area: float
    width: float | None = None
    net: str | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """The print compared with the drawing (`measure.inspection`).

    faults: faults of topology, the largest first.  flaws: the other faults, the largest first.
    wrong_area: mm² that are wrong away from the edges.  wrong_share: that relative to the drawn area.
    wrong_outline: share of the outline's points without a printed edge near.
    rounded: number of points without an edge along their normal because the spot rounds off their corner.
    astray: number of points at such corners with another wall's or part's edge along their normal.
    edges: those of the exposure; at rounded corners along the bisector, and right at slivers without one.
    missing, excess: what is unprinted more than a FWHM inside the outline, or printed more than a FWHM
    outside it: the place of the largest region and the total area; None if it is negligible.
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

    __repr__ = one_line

    def as_dict(self) -> dict[str, object]:
        """Plain numbers, and lists of kinds with places, for JSON; lengths in mm."""
        return {
            **{
                name: [
                    {
                        "kind": fault.kind,
                        "at_mm": list(fault.at),
                        "size_mm": fault.size,
                        "width_mm": fault.width,
                        "area_mm2": fault.area,
                        **({"net": fault.net} if fault.net else {}),
                    }
                    for fault in some
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
    """The best light source that the optimiser reached without a path, and its print.

    xy: (M, 2) mm.  energy: (M,) mJ ≥ 0 (with N photons in the dose's unit · mm²).
    dose: (rows, columns) mJ/mm² on `grid`, in double precision.  loss: (evaluations,) history.
    unprintable: the places that even this source misses.
    """

    xy: Floats
    energy: Floats
    grid: Grid
    dose: Floats
    edges: Edges
    figures: PrintFigures
    loss: Floats
    unprintable: tuple[Unprintable, ...]

    __repr__ = one_line


@dataclass(frozen=True, slots=True)
class Report:
    """The measured exposures of the shipped program and of its starting curve. What counts is `executed`.

    executed: what the controller makes of the program.  start: the initial curve at its best single power,
    executed too.  commanded: the dose that the program was made to give, if the controller added nothing of
    its own; None if another tool wrote the program.  window: of the executed path, if it was computed.
    limit: the unconstrained optimum, if it was computed.
    inspection: the faults of the executed print; None: not inspected yet.
    unfinished: how the optimiser ended, if it did not converge (`Solution.result`); else ''.
    stopped: whether the user stopped it.
    """

    executed: Measurement
    start: Measurement
    commanded: Measurement | None = None
    warnings: tuple[str, ...] = ()
    window: ProcessWindow | None = None
    limit: Limit | None = None
    inspection: Inspection | None = None
    unfinished: str = ""
    stopped: bool = False

    __repr__ = one_line

    @property
    def epe_p95(self) -> float:
        """The 95th percentile of |EPE| as executed, in FWHM, which a tolerance limits."""
        return self.executed.figures.epe_p95


def at_exposure(exposure: float) -> str:
    """A phrase such as ' at 10 % more dose'; '' at a relative dose of 1."""
    change = round(100 * (exposure - 1))
    return f" at {abs(change)} % {'more' if change > 0 else 'less'} dose" if change else ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The figures of an executed print that a comparison of many needs, as in `PrintFigures`."""

    epe_mean: float
    missing_edges: int
    dose_max: float
    write_time: float

    @classmethod
    def of(cls, measured: Measurement) -> KeyFigures:
        """Those of a measured exposure."""
        figures = measured.figures
        return cls(
            float(figures.epe_mean),
            int(figures.missing_edges),
            float(figures.dose_max),
            float(measured.motion.write_time),
        )

    def as_dict(self) -> dict[str, float]:
        """Plain numbers by name, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Variation:
    """One change of the machine, and the print with it. figures: as executed.

    cause: 'acceleration', 'junction', 'override', 'link', 'host', 'moments', 'shaper', 'light', 'pulses',
    'flashes', 'delay', 'backlash' of a disturbance; 'filter', 'levels', 'acceleration', 'link', 'steps' of an
    improvement.
    change: in words, such as 'twice the acceleration'.
    """

    cause: str
    change: str
    figures: KeyFigures

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name, for JSON."""
        return {"cause": self.cause, "change": self.change, **self.figures.as_dict()}


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """planned: the print on the machine as it is stated.  disturbed: of the same program on one that differs.

    improved: the same path, learned again for a better machine; empty if the program was not planned here.
    stopped: by the user, so that some are missing.
    """

    planned: KeyFigures
    disturbed: tuple[Variation, ...]
    improved: tuple[Variation, ...] = ()
    stopped: bool = False

    __repr__ = one_line

    @property
    def worst(self) -> Variation | None:
        """The disturbance with the largest mean edge error, overrides and flashes apart; None without any.

        Flashes are a bound: nobody has seen that a pin does.
        """
        return _worst(one for one in self.disturbed if one.cause not in ("override", "flashes"))

    @property
    def worst_override(self) -> Variation | None:
        """The feed override with the largest mean edge error: nobody sets one without knowing it."""
        return _worst(one for one in self.disturbed if one.cause == "override")

    @property
    def doses(self) -> tuple[float, float] | None:
        """Least and largest of the largest doses with a host that answers a little sooner or later.

        None if it does not hang on that.
        """
        moments = [one.figures.dose_max for one in self.disturbed if one.cause == "moments"]
        doses = (self.planned.dose_max, *moments)
        return (min(doses), max(doses)) if moments else None

    def gain(self, improved: Variation) -> float:
        """Share of the mean edge error that a better machine takes away; negative if it adds to it."""
        before = self.planned.epe_mean
        return 1 - improved.figures.epe_mean / before if before > 0 else 0.0

    @property
    def helpful(self) -> tuple[Variation, ...]:
        """The best improvement of each cause that gains more than `WORTH`, the best first."""
        best: dict[str, Variation] = {}
        for one in sorted(self.improved, key=self.gain, reverse=True):
            if self.gain(one) > WORTH and one.figures.missing_edges <= self.planned.missing_edges:
                best.setdefault(one.cause, one)
        return tuple(best.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name, for JSON."""
        return {
            "planned": self.planned.as_dict(),
            "disturbed": [one.as_dict() for one in self.disturbed],
            "improved": [one.as_dict() for one in self.improved],
            "stopped": self.stopped,
        }


def _worst(some: Iterable[Variation]) -> Variation | None:
    return max(some, key=lambda one: one.figures.epe_mean, default=None)


WORTH = 0.05
"""Least gain of an improvement that is told, as a share of the mean edge error: learning once more changes it
by some percent by itself. A larger one tells less."""

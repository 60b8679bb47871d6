"""What planning and measuring give back: solutions, figures, measurements, reports.

Units as in `types`: mm, s, mJ/mm²; lengths called "in FWHM" are multiples of the spot's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from laserpath.arrays import Bools, Floats, frozen_array
from laserpath.types import Grid, Toolpath


@dataclass(frozen=True, slots=True)
class Solution:
    """What an optimiser found. result: one sentence.  loss: (iterations,) history.  stopped: by the user."""

    toolpath: Toolpath
    loss: Floats
    result: str
    stopped: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", frozen_array(self.loss, "loss", (None,)))


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one toolpath against one design.

    epe_*: |edge placement error| in FWHM: mean, 95th percentile, largest; `_smooth`: away from corners.
    missing_edges of `samples` contour points have no printed edge near.  pv_band: area cured at dose
    +10 % but not at −10 %, ÷ (perimeter · FWHM); pv_defocus: area that changes with FWHM·1.15, likewise.
    iou: intersection ÷ union.  overcure, undercure: mm².  dose_max: in critical doses.  Times s, lengths mm.
    segment_rate: moves/s that the busiest `look_ahead` moves ask of the link (write_time counts its limit).
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
    write_time: float
    ideal_time: float
    write_length: float
    travel_length: float
    toggles: int
    lines: int
    segment_rate: float

    def as_dict(self) -> dict[str, float]:
        """Plain numbers by name, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


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
    """One exposure, measured. dose: (rows, columns) mJ/mm² on `grid`."""

    figures: Figures
    grid: Grid
    dose: Floats
    edges: Edges


@dataclass(frozen=True, slots=True)
class Report:
    """What the shipped G-code will cure, next to the curve that it started from.

    commanded: power/feed as written.  executed: with the speeds that the controller reaches.
    start: the initial curve at its best single power.
    """

    commanded: Measurement
    executed: Measurement
    start: Measurement
    warnings: tuple[str, ...] = ()

    @property
    def epe_p95(self) -> float:
        """What 95 % of the edge keep, in FWHM, both as commanded and as executed: a tolerance's measure."""
        return max(self.commanded.figures.epe_p95, self.executed.figures.epe_p95)

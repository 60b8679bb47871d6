"""The settings of a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from laserpath.base.checks import between, one_of, positive, whole
from laserpath.base.entry_points import (
    FORMER_CURVES,
    QUALITIES,
    REPORTS,
    STROKES_MAX,
    initial_curves,
    is_initial_curve,
)
from laserpath.base.errors import InputError
from laserpath.types.drawing import Point

SEGMENTS_FWHM = (0.1, 100)
"""Limits of the longest move while optimising, in FWHM."""

FIELD_FWHM = 140.0
"""Side of a field (`design.partition`), unless it is given."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Choices and numerics of a plan, without physics. Names that end in `_fwhm` are lengths in FWHM.

    quality: 'draft', 'standard' or 'fine': from the shortest write time to the most accurate edges.
    initial: starting curve: 'contour', 'spiral', 'hatch', 'outline' (with a hatch inside), 'centreline',
    'strokes' (fitted straight lines), 'random', or 'auto': the best of a short trial, for each region.
    strokes: the most straight strokes that 'strokes' may use; None: a thousand.
    pitch_fwhm: hatch pitch, the distance between neighbouring lines or rings.
    inset_fwhm: distance of the first ring from the outline.  angle: of the hatch, degrees from +x.
    segment_fwhm: longest move while optimising.  iterations: maximum over all stages.
    pixels_per_fwhm: of the grid that measures and chooses powers; a path is optimised on 3.
    simplify_fwhm: largest distance of a vertex from the simplified path.
    max_epe_fwhm: tolerance on the 95th percentile of |EPE|; None: no tolerance.
    blur: relative spot width out of focus that is optimised for as well; 1: only in focus.
    one_way: whether open lines are drawn in one direction only, to the right or up.
    passes: repeats of the path, which share its power.  seed: of the random starting curve.
    origin: the point at the work zero: the lower left corner of the 'page' or of the 'design', or the
    design's 'centre'; 'own': that of the drawing's coordinates, so that designs of one part stay in register.
    'auto', as on the command line: 'own' if the drawing is aligned to marks, else the page's corner if the
    design then fits on the machine, else the design's.
    offset: mm, position of that corner or centre relative to the work zero.
    field_fwhm: side of the squares in which a larger design is optimised, one after the other.
    report: 'full', or 'brief': without pictures, nor the best that any path could do. The path is the same.
    """

    quality: str = "standard"
    initial: str = "auto"
    strokes: int | None = None
    pitch_fwhm: float = 1.2
    inset_fwhm: float = 0.4
    angle: float = 0.0
    segment_fwhm: float = 1.0
    iterations: int = 300
    pixels_per_fwhm: float = 6.0
    simplify_fwhm: float = 0.005
    max_epe_fwhm: float | None = None
    blur: float = 1.0
    passes: int = 1
    origin: str = "own"
    offset: Point = (0.0, 0.0)
    seed: int = 0
    field_fwhm: float = FIELD_FWHM
    report: str = "full"
    one_way: bool = False

    @property
    def brief(self) -> bool:
        """Whether the report is brief: without pictures, and without the best that any path could do."""
        return self.report == "brief"

    def __post_init__(self) -> None:
        whole(self, "iterations", "passes", "seed")
        one_of("quality", self.quality, QUALITIES)
        object.__setattr__(self, "initial", FORMER_CURVES.get(self.initial, self.initial))
        if not is_initial_curve(self.initial):
            raise InputError(
                f"initial curve {self.initial!r} is unknown; known: {', '.join(initial_curves())}"
            )
        between(self, pitch_fwhm=(0.1, 10), inset_fwhm=(0, 2), angle=(-360, 360))
        between(self, segment_fwhm=SEGMENTS_FWHM, simplify_fwhm=(1e-6, 1), seed=(0, 2**63))
        between(self, field_fwhm=(20, 1000))
        between(self, pixels_per_fwhm=(3, 100), iterations=(0, 1_000_000), passes=(1, 100), blur=(1, 2))
        if self.strokes is not None:
            whole(self, "strokes")
            between(self, strokes=(1, STROKES_MAX))
            if self.initial != "strokes":
                raise InputError(
                    f"strokes is {self.strokes}, but only the starting curve 'strokes' uses it, not "
                    f"{self.initial!r}; give --initial strokes, too"
                )
        one_of("origin", self.origin, ("auto", "page", "design", "centre", "own"))
        one_of("report", self.report, REPORTS)
        if not np.isfinite(self.offset).all():
            raise InputError(f"offset is {self.offset} mm, but must be finite")
        if self.max_epe_fwhm is not None:
            positive(self, "max_epe_fwhm")

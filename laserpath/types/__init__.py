"""The types of laserpath: inputs, paths and results.

All of them are immutable: arrays are read-only, and `dataclasses.replace` makes changed copies. Each type
checks its values; its errors name the bad one.

Internal units: mm, s, mW (= mJ/s), mJ/mm². y points up. Lengths called "in FWHM" are multiples of the spot's
full width at half maximum.
"""

from laserpath.types.beam import (
    FITTED_PROFILES,
    SPOT_PROFILES,
    DoseMap,
    MeasuredBeam,
    NamedProfile,
    Shape,
    Spot,
)
from laserpath.types.drawing import (
    Alignment,
    Design,
    DrawnLines,
    Fiducial,
    Grid,
    Pads,
    Part,
    Point,
    Relief,
    Target,
)
from laserpath.types.path import EnergyPath, StraightMoves, Toolpath
from laserpath.types.process import Heights, Kinetics, LayerChange, Machine, Process, Resin
from laserpath.types.settings import Settings

__all__ = [
    "Alignment", "Design", "DoseMap", "DrawnLines", "EnergyPath", "FITTED_PROFILES", "Fiducial", "Grid",
    "Heights", "Kinetics", "LayerChange", "Machine", "MeasuredBeam", "NamedProfile", "Pads", "Part", "Point",
    "Process", "Relief", "Resin", "SPOT_PROFILES", "Settings", "Shape", "Spot", "StraightMoves", "Target",
    "Toolpath",
]  # fmt: skip

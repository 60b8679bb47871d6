"""The quality of a dose: `exposure` of a program, `figures` of a dose against the design, process `window`.

`inspect` lists the faults of the print.
"""

from laserpath.measure.edges import best_exposure, edge_errors, edges_at, rounded_off
from laserpath.measure.faults import inspect
from laserpath.measure.figures import DEFOCUS, DOSE_BAND, cure_figures, cured_fraction
from laserpath.measure.places import summary, unprintable
from laserpath.types.results import EPE_CAP_FWHM, Limit, Unprintable

__all__ = [
    "DEFOCUS", "DOSE_BAND", "EPE_CAP_FWHM", "Limit", "Unprintable", "best_exposure", "cure_figures",
    "cured_fraction", "edge_errors", "edges_at", "inspect", "rounded_off", "summary", "unprintable",
]  # fmt: skip

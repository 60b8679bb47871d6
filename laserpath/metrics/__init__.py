"""How good a dose is: `figures` of any dose against the design, and `limit`, the best dose there could be.

`inspect` names what it prints otherwise than drawn.
"""

from laserpath.metrics.corners import rounded_off
from laserpath.metrics.figures import (
    DEFOCUS,
    DOSE_BAND,
    best_exposure,
    cure_figures,
    cured_fraction,
    edge_errors,
    edges_at,
)
from laserpath.metrics.inspection import inspect
from laserpath.metrics.places import summary, unprintable
from laserpath.metrics.unconstrained import limit
from laserpath.results import EPE_CAP_FWHM, Limit, Unprintable

__all__ = [
    "DEFOCUS",
    "DOSE_BAND",
    "EPE_CAP_FWHM",
    "Limit",
    "Unprintable",
    "best_exposure",
    "cure_figures",
    "cured_fraction",
    "edge_errors",
    "edges_at",
    "inspect",
    "limit",
    "rounded_off",
    "summary",
    "unprintable",
]

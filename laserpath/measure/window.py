"""The process window: edge errors of a toolpath against relative dose k and relative width w of the spot.

    D(x; k, w) = k Σ_j q_j L_j h(|x − x_j|; w·FWHM),   EPE where D = D_c.

k stands for everything that scales the whole dose: laser power, speed, the resin's sensitivity. It needs no
new exposure. w stands for focus: a spot of the same shape and power, w times as wide. A true defocus in mm
also changes an Airy spot's shape; `Spot.defocus` plans with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError
from laserpath.design.partition import Partition
from laserpath.design.scene import Scene
from laserpath.measure import DEFOCUS
from laserpath.measure.by_field import FieldsMeasured
from laserpath.measure.edges import errors_at
from laserpath.physics import optics
from laserpath.physics.dose import accurate_model
from laserpath.types import Toolpath
from laserpath.types.results import ProcessWindow

DOSES = (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2)
"""Relative doses."""

WIDTHS = (1.0, DEFOCUS, 1.3)
"""Relative FWHM of the spot."""


def process_window(
    path: Toolpath,
    scene: Scene,
    doses: Sequence[float] = DOSES,
    widths: Sequence[float] = WIDTHS,
) -> ProcessWindow:
    """The edge errors of an exposure at each relative dose and each relative width of the spot.

    path: the executed path, such as `MachineProgram.executed`.
    At dose 1 and width 1 the errors are those of `measure.exposure`.
    """
    epe, missing = edges_of(path, scene, doses, widths)
    error = epe / scene.fwhm  # (F, D, M)
    return ProcessWindow(
        dose=np.array(doses),
        width=np.array(widths),
        epe_mean=np.abs(error).mean(axis=2),
        epe_p95=np.percentile(np.abs(error), 95, axis=2),
        epe_signed=error.mean(axis=2),
        missing_edges=missing.sum(axis=2),
        samples=error.shape[2],
    )


def edges_of(
    path: Toolpath, scene: Scene, doses: Sequence[float], widths: Sequence[float]
) -> tuple[Floats, Bools]:
    """((F, D, M) EPE in mm, whether it is missing) of F relative widths and D relative doses."""
    _check("doses", doses)
    _check("widths", widths)
    spots = [optics.widened(scene.spot, width) for width in widths]
    if Partition.of(scene.grid, scene.fwhm).single:
        found = [errors_at(accurate_model(scene.grid, spot).dose(path), scene, doses) for spot in spots]
        epe, missing = (np.array(part) for part in zip(*found, strict=True))
        return epe, missing
    by_fields = FieldsMeasured.of([path], scene, spots, doses, areas=False)
    return by_fields.epe, by_fields.missing


def _check(name: str, factors: Sequence[float]) -> None:
    """Raise InputError unless there are factors, and they are finite, above 0 and rising."""
    values = np.asarray(factors, dtype=np.float64)
    good = len(values) and np.isfinite(values).all() and values[0] > 0 and (np.diff(values) > 0).all()
    if not good:
        raise InputError(f"{name} are {tuple(factors)}, but must be above 0 and rise from one to the next")

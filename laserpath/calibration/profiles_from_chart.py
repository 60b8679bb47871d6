"""The profiles that a chart's fit gives: commented TOML files for `plan --resin … --spot …`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from laserpath.base.errors import InputError
from laserpath.calibration.estimates import Fit
from laserpath.calibration.formatting import PLURAL, sentence
from laserpath.calibration.items import Measurements
from laserpath.calibration.plots import fit_svg
from laserpath.types import Resin


def spot_profile(fit: Fit, source: str) -> str:
    """The TOML text of the spot. source: file name of the measurements."""
    fx, fy = fit.physics.fwhm
    known = [e for e in fit.estimates if e.name in ("fwhm", "aspect")]
    lines = [
        *_head("Spot", source, fit),
        *(f"# {sentence(e, fit.order)}." for e in known),
        *([] if known else ["# The FWHM was given, not fitted."]),
        "",
        f'profile = "{fit.profile}"',
        f"fwhm_um = {fx * 1000:.5g}" if fx == fy else f"fwhm_um = [{fx * 1000:.5g}, {fy * 1000:.5g}]",
    ]
    return "\n".join(lines) + "\n"


def resin_profile(
    fit: Fit, source: str, name: str, base: Resin | None = None, layer: float | None = None
) -> str:
    """The TOML text of the resin: `base` with the fitted dose. layer: mm to cure through."""
    resin = fit.resin(base, layer)
    doses = [e for e in fit.estimates if e.name not in ("fwhm", "aspect")]
    lines = [
        *_head("Resin", source, fit),
        *(f"# {sentence(e, fit.order)}." for e in doses),
        "",
        f"name = {json.dumps(name, ensure_ascii=False)}",
        f'tone = "{resin.tone}"',
        *([] if fit.order == 1 else [f"absorption_order = {fit.order}"]),
        "",
        *_dose(fit, resin),
        "",
        f"contrast = {resin.contrast:g}",
        f"over_dose = {resin.over_dose:g}",
    ]
    return "\n".join(lines) + "\n"


def _head(what: str, source: str, fit: Fit) -> Iterator[str]:
    from laserpath import __version__

    counts = [(sum(r.what == kind and r.used for r in fit.residuals), kind) for kind in fit.noise]
    sizes = ", ".join(f"{n} {PLURAL[kind]}" for n, kind in counts) or "what was visible"
    yield f"# {what} fitted by laserpath {__version__} from {json.dumps(source)[1:-1]}: {sizes}."
    yield f"# Doses are those of lines written at {fit.physics.speed:g} mm/s; reciprocity " + (
        "holds, as far as can be told." if fit.lasting else "FAILS: fit again with --speed for another."
    )


def _dose(fit: Fit, resin: Resin) -> Iterator[str]:
    """The lines of the critical dose; by the working curve, if the resin has one."""
    if fit.order > 1:
        scale = 10.0 ** (6 * fit.order)
        yield f"critical_dose_mW{fit.order}_s_per_um{2 * fit.order} = {resin.critical_dose / scale:.5g}"
    elif resin.e_c is None or resin.penetration_depth is None:
        yield f"critical_dose_mJ_per_cm2 = {resin.critical_dose * 100:.5g}"
    else:
        layer = resin.penetration_depth * np.log(resin.critical_dose / resin.e_c)
        yield f"# Cured through at {resin.critical_dose * 100:.4g} mJ/cm²."
        yield f"e_c_mJ_per_cm2 = {resin.e_c * 100:.5g}"
        yield f"penetration_depth_um = {resin.penetration_depth * 1000:.5g}"
        yield f"layer_um = {layer * 1000:.5g}"


def files_of(
    fit: Fit,
    measurements: Measurements,
    *,
    name: str,
    source: str,
    base: Resin | None = None,
    layer: float | None = None,
) -> dict[str, str]:
    """NAME.spot.toml, NAME.resin.toml and NAME.fit.svg → text; without a fitted dose or sizes, fewer files.

    source: file name of the measurements, for the comments.  base, layer: see `Fit.resin`.
    """
    if layer is not None and not (np.isfinite(layer) and layer > 0):
        raise InputError(f"layer is {layer * 1000:g} µm, but must be above 0")
    if layer is not None and fit.order > 1:
        raise InputError(f"a layer has a working curve, which is of one photon, not of {fit.order}")
    texts = {f"{name}.spot.toml": spot_profile(fit, source)}
    if layer is not None or "critical_dose" in fit.names:
        texts[f"{name}.resin.toml"] = resin_profile(fit, source, name, base, layer)
    if fit.residuals:
        texts[f"{name}.fit.svg"] = fit_svg(fit, [row.item for row in measurements.rows])
    return texts

"""The profiles that a photograph of a print gives: a Gaussian spot of its blur, a resin of its contrast."""

from __future__ import annotations

from dataclasses import replace

from laserpath.calibration.prints import PrintFit
from laserpath.config.profiles import writing
from laserpath.types import Resin, Spot

_LEAST_CONTRAST = 0.1


def print_profiles(fit: PrintFit, source: str, base: Resin, name: str) -> dict[str, str]:
    """File name → TOML text. base: the resin that provides all other values.

    The spot includes the camera's blur. A photograph has no unit of dose, so the resin keeps its own.
    """
    fwhm, contrast = fit.fwhm, fit.contrast
    spot = [
        f"# Spot, fitted to the photograph {source}: its blur, the camera's too.",
        f"# FWHM {fwhm.value * 1000:.4g} µm, 95 % from {fwhm.low * 1000:.4g} to {fwhm.high * 1000:.4g}.",
        "",
        writing.text(Spot(fwhm.value, "gaussian")),
    ]
    resin = [
        f"# Resin, fitted to the photograph {source}: its contrast. Critical dose and tone are as before.",
        f"# Contrast {contrast.value:.4g}, 95 % from {contrast.low:.4g} to {contrast.high:.4g}.",
        "",
        writing.text(replace(base, name=name, contrast=max(contrast.value, _LEAST_CONTRAST))),
    ]
    return {f"{name}.spot.toml": "\n".join(spot), f"{name}.resin.toml": "\n".join(resin)}

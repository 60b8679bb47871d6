"""The picture and the tables of docs/spots.md: `python docs/figures/spots.py` writes both anew."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
from matplotlib import pyplot as plt

from laserpath.physics import optics
from laserpath.physics.optics.airy import Airy
from laserpath.physics.optics.gaussian import Gaussian
from laserpath.types import Spot

DOCS = Path(__file__).parents[1]
RADII = (1, 2, 3, 6, 12)


def spot(profile: str = "airy", *, photons: int = 1, defocus: float = 0.0) -> Spot:
    """A FWHM of 1 mm, and a wavelength of 1 mm to measure the defocus with."""
    return Spot(1.0, profile, defocus=defocus, wavelength=1.0, photons=photons)


PEAK_HALF = 1.39 * 2 / Airy.DEFOCUS  # [sin(ψ/2)/(ψ/2)]² = 1/2
RAYLEIGH = 1 / Gaussian.DEFOCUS
SPOTS = {
    "airy": spot(),
    "airy, defocused to half the peak": spot(defocus=PEAK_HALF),
    "airy, 2 photons": spot(photons=2),
    "gaussian": spot("gaussian"),
    "gaussian, defocused to half the peak": spot("gaussian", defocus=RAYLEIGH),
    "gaussian, 2 photons": spot("gaussian", photons=2),
    "flat-top": spot("flat-top"),
    "airy-function": spot("airy-function"),
}
DRAWN = {
    "airy": "C0-",
    "airy, defocused to half the peak": "C0--",
    "airy, 2 photons": "C0:",
    "gaussian": "C1-",
    "flat-top": "C2-",
    "airy-function": "C3-",
}


def energy_table() -> str:
    """Energy outside circles, as Markdown."""
    head = "| spot | " + " | ".join(f"{r} FWHM" for r in RADII) + " |\n| --- |" + " ---: |" * len(RADII)
    rows = (
        f"| {name} | " + " | ".join(share(optics.energy_outside(one, r)) for r in RADII) + " |"
        for name, one in SPOTS.items()
    )
    return "\n".join([head, *rows])


def share(fraction: float) -> str:
    """A fraction in per cent, or what it is less than."""
    return f"{100 * fraction:.2g} %" if fraction >= 1e-8 else "< 1e-6 %"


def width_table() -> str:
    """Widths and limits, as Markdown."""
    head = (
        "| spot | FWHM of h | peak of h × FWHM² | h ≤ 1e-3 of the peak beyond | cut-off | for 1e-3 |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    rows = (
        f"| {name} | {optics.fwhm(one):.3f} | {optics.profile(one, 0.0):.3f} | "
        f"{optics.reach(one, 1e-3):.2f} | {number(optics.cutoff(one))} | {number(optics.cutoff(one, 1e-3))} |"
        for name, one in SPOTS.items()
    )
    return "\n".join([head, *rows])


def number(value: float) -> str:
    """Three digits, or a dash where there is none."""
    return f"{value:.3g}" if np.isfinite(value) else "–"


def draw(path: Path) -> None:
    """Profiles on a logarithmic scale, and transfer functions."""
    plt.rcParams.update({"svg.hashsalt": "spots", "font.size": 9})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    r, f = np.linspace(0, 6, 1201), np.linspace(0, 2.2, 600)
    for name, style in DRAWN.items():
        h = optics.profile(SPOTS[name], r)
        left.semilogy(r, np.maximum(h, 1e-12), style, lw=1.2, label=name)
        right.plot(f, optics.transfer(SPOTS[name], f), style, lw=1.2, label=name)
    left.set(xlabel="radius, FWHM", ylabel="h, 1/FWHM²", ylim=(1e-7, 3), xlim=(0, 6))
    right.set(xlabel="frequency, 1/FWHM", ylabel="transfer function H", xlim=(0, 2.2))
    right.axhline(0, color="0.7", lw=0.6, zorder=0)
    right.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def fill(page: Path, tables: dict[str, str]) -> None:
    """Put each table between its markers."""
    text = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        marked = rf"(<!-- {name}: written by docs/figures/spots.py -->\n).*?(<!-- end -->)"
        text, found = re.subn(marked, lambda m, t=table: m[1] + t + "\n" + m[2], text, flags=re.DOTALL)
        if found != 1:
            raise SystemExit(f"{page} has {found} places for the table {name!r}, but must have 1")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    draw(DOCS / "img" / "spots.svg")
    fill(DOCS / "spots.md", {"energy": energy_table(), "widths": width_table()})

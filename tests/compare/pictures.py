"""A small picture of a design: what the best baseline cures, and what the plan cures, under its outline.

Large designs are cut to the 20 FWHM where the baseline's edges are worst.
"""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
import numpy as np
import shapely
from exposed import Compared, Print
from matplotlib.axes import Axes
from PIL import Image
from scipy import ndimage

from laserpath.physics import optics

matplotlib.use("agg")
from matplotlib import pyplot as plt

DRAWN = (
    "iccad13_M1_test5", "mdi_chip", "mdi_flower-tulip-outline", "lithobench_StdContact_BUF_X16__0_0",
    "neurallitho_FOV111_slice", "phidl_litho_calipers",
)  # fmt: skip
"""Of these there are pictures, one of each kind."""

LARGEST = 40_000
"""Bytes."""

_WINDOW_FWHM = 20.0
_RIM_FWHM = 1.5
_FINER = 3
_SIZES = ((32, 100), (16, 100), (16, 80), (8, 70))
"""Colours and dots per inch, the finest first."""


def draw(compared: Compared, folder: Path) -> str:
    """Write compare-NAME.png; the line of Markdown that shows it, from the folder above."""
    name = compared.design.name
    for colours, dpi in _SIZES:
        image = _image(compared, dpi).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
        data = io.BytesIO()
        image.save(data, "PNG", optimize=True)
        if data.tell() <= LARGEST:
            break
    else:
        raise ValueError(f"the picture of {name} has {data.tell()} bytes, above {LARGEST}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"compare-{name}.png").write_bytes(data.getvalue())
    return f"![{name}: cured by the best baseline, and by the plan]({folder.name}/compare-{name}.png)"


def _image(compared: Compared, dpi: int) -> Image.Image:
    figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
    x0, y0, x1, y1 = _window(compared)
    for axes, one in zip(panels, (compared.best, compared.plan), strict=True):
        _cured(axes, one, compared)
        for polygon in compared.design.area.geoms:
            for ring in (polygon.exterior, *polygon.interiors):
                axes.plot(*shapely.get_coordinates(ring).T, "k-", lw=0.7)
        axes.set(xlim=(x0, x1), ylim=(y0, y1), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"{one.name}: {one.figures.epe_mean:.3f} FWHM, {one.write_time:.1f} s", size=9)
    figure.suptitle(compared.design.name, size=10)
    data = io.BytesIO()
    figure.savefig(data, dpi=dpi)
    plt.close(figure)
    return Image.open(data)


def _cured(axes: Axes, one: Print, compared: Compared) -> None:
    """Grey where the dose is above the critical one, through its cubic spline."""
    grid = compared.target.grid
    rows, columns = ((n - 1) * _FINER + 1 for n in grid.shape)
    shape = (rows / grid.shape[0], columns / grid.shape[1])
    dose = ndimage.zoom(one.dose / compared.process.resin.critical_dose, shape, order=3, mode="nearest")
    x = grid.origin[0] + grid.pitch * np.arange(columns) / _FINER
    y = grid.origin[1] + grid.pitch * np.arange(rows) / _FINER
    axes.contourf(x, y, dose, levels=[1, 1e9], colors=["#e69f00"])


def _window(compared: Compared) -> tuple[float, float, float, float]:
    """x0, y0, x1, y1 of a square in mm."""
    fwhm = optics.fwhm(compared.process.spot)
    x0, y0, x1, y1 = compared.design.bounds
    side = min(max(x1 - x0, y1 - y0) + 2 * _RIM_FWHM * fwhm, _WINDOW_FWHM * fwhm)
    edges = compared.best.edges
    low = np.array([x0, y0]) + side / 2 - _RIM_FWHM * fwhm
    high = np.array([x1, y1]) - side / 2 + _RIM_FWHM * fwhm
    centres = np.where(low < high, np.clip(edges.xy, low, high), (low + high) / 2)
    error = [
        np.abs(edges.epe[(np.abs(edges.xy - centre) < side / 2).all(axis=1)]).sum() for centre in centres[::8]
    ]
    x, y = centres[::8][int(np.argmax(error))]
    return x - side / 2, y - side / 2, x + side / 2, y + side / 2

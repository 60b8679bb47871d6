"""docs/img/scaling.svg: time against points, pixels and threads, log-log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from extras import Curve
from matplotlib import pyplot as plt
from rows import BY_KEY, OWN_PIXELS_PER_FWHM

_LABELS = {
    "points": "points (2048², 31², 1 thread)",
    "pixels": "pixels of the row (200 k points, 31², 1 thread)",
    "threads": "threads (2048², 200 k points, 31²)",
}
_STYLES = {"ours fft coarse": ("C3", "o-"), "torch fft": ("C1", "s-"), "jax fft": ("C0", "^-")}
_OTHERS = {"numba direct": ("C2", "v--"), "finufft": ("C4", "D--")}


def draw(curves: Sequence[Curve], path: Path) -> None:
    """One panel an axis."""
    plt.rcParams.update({"svg.hashsalt": "laserpath", "svg.fonttype": "path", "font.size": 9})
    figure, panels = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
    for panel, axis in zip(panels, _LABELS, strict=True):
        for curve in curves:
            if curve.axis == axis:
                colour, style = (_STYLES | _OTHERS)[curve.key]
                panel.loglog(
                    curve.at, [1e3 * s for s in curve.seconds], style, color=colour, label=_name(curve.key)
                )
        panel.set_xlabel(_LABELS[axis])
        panel.grid(which="major", alpha=0.3)
    _threads_axis(panels[2], [curve for curve in curves if curve.axis == "threads"])
    panels[0].set_ylabel("loss and gradient, ms")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _name(key: str) -> str:
    row = BY_KEY[key]
    return row.label + (f" (≤ {OWN_PIXELS_PER_FWHM:g} pixels a FWHM)" if row.coarse else "")


def _threads_axis(panel: plt.Axes, curves: Sequence[Curve]) -> None:
    counts = sorted({int(n) for curve in curves for n in curve.at})
    panel.set_xticks(counts, [str(n) for n in counts], minor=False)
    panel.set_xticks([], minor=True)

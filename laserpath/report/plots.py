"""The report's charts: each function returns one as a PNG. Edge errors are in FWHM and µm."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from laserpath.base.arrays import Floats
from laserpath.report.canvas import FAINT, INK, WIDTH, axes, labelled, legend, png, sheet
from laserpath.report.latitude import focus, latitude
from laserpath.report.raster import OVER
from laserpath.types import Machine, Toolpath
from laserpath.types.results import Measurement, ProcessWindow

_LINES = ((INK, "o"), ("#86216b", "s"), ("#e69f00", "^"))
"""Colour and mark of the lines in focus and out of it."""
_KEPT_COLOUR = "#e2f3ec"


def epe_histogram(exposure: Measurement, start: Measurement | None, fwhm: float) -> bytes:
    """Histogram of the edge errors, with that of the starting curve if there is one."""
    figure = sheet(WIDTH, 2.95)
    ax = labelled(axes(figure, 0.62, 0.72, WIDTH - 0.9, 1.65), "edge error, FWHM", "share of points, %")
    edges, error = exposure.edges, exposure.edges.epe / fwhm
    before = start.edges.epe / fwhm if start else np.zeros(0)
    drawn = before[~start.edges.missing] if start else before
    known = np.concatenate([error[~edges.missing], drawn, [0.0]])
    limit = float(np.clip(np.percentile(np.abs(known), 98) * 1.2, 0.1, 2.05))
    bins = np.linspace(-limit, limit, 62).tolist()
    groups = [np.clip(error[~edges.corner], -limit, limit), np.clip(error[edges.corner], -limit, limit)]
    ax.hist(
        groups,
        bins,
        weights=[np.full(len(g), 100 / max(len(error), 1)) for g in groups],
        stacked=True,
        histtype="stepfilled",  # one patch instead of a hundred bars
        color=["#5b7f95", "#e69f00"],
        label=["away from corners", "near corners"],
    )
    if start:
        _add_outline(ax, np.clip(before, -limit, limit), bins)
    ax.axvline(0, color=FAINT, lw=0.8)
    ax.set_xlim(-limit, limit)
    micrometres = _micrometres(ax.secondary_xaxis("top", functions=_scaled(fwhm)))
    micrometres.set_xlabel("µm   (inside the design ← → outside)", fontsize=10, color=INK, labelpad=3)
    handles, _ = ax.get_legend_handles_labels()
    legend(figure, handles)
    return png(figure)


def _add_outline(ax: Axes, before: Floats, bins: list[float]) -> None:
    """The starting curve's errors, as a line."""
    weights = np.full(len(before), 100 / max(len(before), 1))
    ax.hist(before, bins, weights=weights, histtype="step", color=INK, linewidth=1, label="starting curve")


def process_window(window: ProcessWindow, limit: float, fwhm: float) -> bytes:
    """Mean and 95 % edge error against dose, a line for each width of the spot.

    limit: of the 95 %, FWHM, dashed. The doses that keep it in focus are shaded.
    """
    figure = sheet(WIDTH, 4.0)
    left, wide = 0.62, WIDTH - 1.24
    mean = labelled(axes(figure, left, 2.4, wide, 1.4), "", "mean, FWHM")
    most = labelled(axes(figure, left, 0.85, wide, 1.4), "dose, % off the planned one", "95 %, FWHM")
    for ax, errors in ((mean, window.epe_mean), (most, window.epe_p95)):
        _add_errors(ax, window, errors, limit, fwhm)
    mean.tick_params(labelbottom=False)
    most.axhline(limit, color=FAINT, lw=1, ls=(0, (4, 3)))
    kept = latitude(window.dose, window.epe_p95[0], limit)
    if kept:
        most.axvspan(100 * (kept.low - 1), 100 * (kept.high - 1), color=_KEPT_COLOUR, lw=0, zorder=0)
    legend(figure, mean.get_legend_handles_labels()[0])
    return png(figure)


def _add_errors(ax: Axes, window: ProcessWindow, errors: Floats, limit: float, fwhm: float) -> None:
    """Errors (F, D) in FWHM against dose. Lines may leave the top: lost edges would flatten all others."""
    off = 100 * (window.dose - 1)
    for width, error, (colour, marker) in zip(window.width, errors, cycle(_LINES), strict=False):
        ax.plot(off, error, color=colour, marker=marker, ms=4, lw=1.3, label=focus(width))
    ax.axvline(0, color=FAINT, lw=0.8)
    top = max(4 * limit, 2.5 * float(errors[0].min()))
    ax.set(xlim=(off[0] - 1, off[-1] + 1), ylim=(0, max(min(1.1 * float(errors.max()), top), limit)))
    _micrometres(ax.secondary_yaxis("right", functions=_scaled(fwhm))).set_ylabel(
        "µm", fontsize=10, color=INK, labelpad=3
    )


def _scaled(fwhm: float) -> Any:
    """Functions from FWHM to µm and back."""
    return (lambda x: x * fwhm * 1000, lambda x: x / (fwhm * 1000))


def _micrometres(axis: Any) -> Any:
    """The axis with ticks in the style of all others."""
    axis.tick_params(labelsize=9.5, colors=INK, length=3)
    return axis


def power_along(toolpath: Toolpath, machine: Machine) -> bytes:
    """Light and speed as written against the exposed length."""
    figure = sheet(WIDTH, 3.1)
    on = toolpath.on
    length, power, speed = toolpath.length[on], toolpath.power[on], toolpath.speed[on]
    for bottom, values, name, colour, top in (
        (1.8, power, "power, mW", "#86216b", machine.power_max),
        (0.5, speed, "speed, mm/s", "#5b7f95", max(machine.speed_max)),
    ):
        ax = labelled(axes(figure, 0.62, bottom, WIDTH - 0.74, 1.15), "", name)
        _add_course(ax, length, values, colour)
        ax.axhline(top, color=FAINT, lw=0.8, ls=(0, (4, 3)))
        ax.set(xlim=(0, max(float(length.sum()), 1e-9)), ylim=(0, 1.12 * max(top, values.max(initial=0))))
        if bottom > 1:
            ax.tick_params(labelbottom=False)
        else:
            ax.set_xlabel(
                "exposed length, mm   (dashed: the machine's maximum)", fontsize=10, color=INK, labelpad=2
            )
    return png(figure)


def loss_history(loss: Floats) -> bytes:
    """The loss at each iteration, on a logarithmic scale where it is positive."""
    figure = sheet(WIDTH, 2.2)
    ax = labelled(axes(figure, 0.62, 0.5, WIDTH - 0.74, 1.6), "iteration", "loss")
    ax.plot(np.arange(1, len(loss) + 1), loss, color="#5b7f95", lw=1.2)
    ax.plot(len(loss), loss[-1], "o", color=OVER, ms=5)
    ax.annotate(
        f"{loss[-1]:.3g}",
        (len(loss), loss[-1]),
        (-4, 7),
        textcoords="offset points",
        ha="right",
        fontsize=9.5,
        color=INK,
    )
    if loss.min() > 0 and loss.max() > 3 * loss.min():
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlim(0, len(loss) + 1)
    return png(figure)


def _add_course(ax: Axes, length: Floats, values: Floats, colour: str, bins: int = 900) -> None:
    """Values along the length: in each of `bins` steps their range and, over it, their mean."""
    if not len(values):
        return
    end = np.cumsum(length)
    if len(values) <= bins:
        ax.stairs(values, np.concatenate([[0], end]), color=colour, lw=0.9, baseline=None)
        return
    which = np.minimum(((end - length / 2) / end[-1] * bins).astype(int), bins - 1)
    first = np.flatnonzero(np.diff(which, prepend=-1))
    low, high = np.minimum.reduceat(values, first), np.maximum.reduceat(values, first)
    mean = np.add.reduceat(values * length, first) / np.maximum(np.add.reduceat(length, first), 1e-12)
    x = (which[first] + 0.5) * end[-1] / bins
    ax.fill_between(x, low, high, color=colour, alpha=0.3, lw=0, step="mid")
    ax.step(x, mean, where="mid", color=colour, lw=0.9)

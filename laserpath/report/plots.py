"""The report's charts: each function returns one as an SVG. Edge errors are in FWHM and µm."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from laserpath.base.arrays import Floats
from laserpath.report.canvas import WIDTH, Axes, Paper
from laserpath.report.histograms import stairs
from laserpath.report.latitude import focus, latitude
from laserpath.report.marks import DASHED, FAINT, INK, Dot, Line, Mark
from laserpath.report.raster import OVER
from laserpath.types import Machine, Toolpath
from laserpath.types.results import Measurement, ProcessWindow

_LINES = ((INK, "o"), ("#86216b", "s"), ("#e69f00", "^"))
"""Colour and mark of the lines in focus and out of it."""
_KEPT_COLOUR = "#e2f3ec"
_MIDDLE = Line(FAINT, 0.8)
_MOST_STEPS = 900
"""Steps of a course along the path; more show no more."""


def epe_histogram(exposure: Measurement, start: Measurement | None, fwhm: float) -> str:
    """Histogram of the edge errors, with that of the starting curve if there is one."""
    edges, error = exposure.edges, exposure.edges.epe / fwhm
    before = start.edges.epe / fwhm if start else np.zeros(0)
    drawn = before[~start.edges.missing] if start else before
    known = np.concatenate([error[~edges.missing], drawn, [0.0]])
    limit = float(np.clip(np.percentile(np.abs(known), 98) * 1.2, 0.1, 2.05))
    bins = np.linspace(-limit, limit, 62)
    away, near, first = (
        100 / max(len(every), 1) * np.histogram(np.clip(some, -limit, limit), bins)[0]
        for some, every in ((error[~edges.corner], error), (error[edges.corner], error), (before, before))
    )
    sheet, top = Paper(WIDTH, 2.95), 1.05 * float(max((away + near).max(), first.max()))
    ax = Axes(sheet, (0.62, 0.72, WIDTH - 0.9, 1.65), (-limit, limit), (0, top or 1.0))
    marks = [Mark("away from corners", fill="#5b7f95"), Mark("near corners", fill="#e69f00")]
    ax.area(stairs(bins, away), "#5b7f95")
    ax.area(stairs(bins, away + near, away), "#e69f00")
    if start:
        ax.line(stairs(bins, first)[: 2 * len(first)], Line(INK))
        marks.append(Mark("starting curve", pen=Line(INK)))
    ax.upright(0, _MIDDLE)
    ax.close("edge error, FWHM", "share of points, %")
    ax.scale("top", "µm   (inside the design ← → outside)", factor=1000 * fwhm)
    sheet.legend(marks)
    return sheet.svg()


def process_window(window: ProcessWindow, limit: float, fwhm: float) -> str:
    """Mean and 95 % edge error against dose, a line for each width of the spot.

    limit: of the 95 %, FWHM, dashed. The doses that keep it in focus are shaded.
    """
    sheet, left, wide = Paper(WIDTH, 4.0), 0.62, WIDTH - 1.24
    off = 100 * (window.dose - 1)
    mean, most = (
        Axes(sheet, (left, bottom, wide, 1.4), (off[0] - 1, off[-1] + 1), (0, _top(errors, limit)))
        for bottom, errors in ((2.4, window.epe_mean), (0.85, window.epe_p95))
    )
    kept = latitude(window.dose, window.epe_p95[0], limit)
    if kept:
        low, high, top = 100 * (kept.low - 1), 100 * (kept.high - 1), most.y[1]
        most.area(np.array([[low, 0], [high, 0], [high, top], [low, top]]), _KEPT_COLOUR)
    marks = []
    for ax, errors in ((mean, window.epe_mean), (most, window.epe_p95)):
        ax.upright(0, _MIDDLE)
        for width, error, (colour, kind) in zip(window.width, errors, cycle(_LINES), strict=False):
            mark = Mark(focus(width), pen=Line(colour, 1.3), dot=Dot(kind, colour, 4))
            ax.line(np.stack([off, error], axis=1), Line(colour, 1.3))
            ax.dots(np.stack([off, error], axis=1), Dot(kind, colour, 4))
            marks += [mark] if ax is mean else []
    most.across(limit, Line(FAINT, 1, DASHED))
    mean.close("", "mean, FWHM", numbers=False)
    most.close("dose, % off the planned one", "95 %, FWHM")
    for ax in (mean, most):
        ax.scale("right", "µm", factor=1000 * fwhm)
    sheet.legend(marks)
    return sheet.svg()


def _top(errors: Floats, limit: float) -> float:
    """The upper end of an axis for errors (F, D), FWHM. Lines may leave it: lost edges would flatten all."""
    top = max(4 * limit, 2.5 * float(errors[0].min()))
    return max(min(1.1 * float(errors.max()), top), limit)


def power_along(toolpath: Toolpath, machine: Machine) -> str:
    """Light and speed as written against the exposed length."""
    sheet, on = Paper(WIDTH, 3.1), toolpath.on
    length, power, speed = toolpath.length[on], toolpath.power[on], toolpath.speed[on]
    for bottom, values, name, colour, top in (
        (1.8, power, "power, mW", "#86216b", machine.power_max),
        (0.5, speed, "speed, mm/s", "#5b7f95", max(machine.speed_max)),
    ):
        highest = 1.12 * max(top, float(values.max(initial=0)))
        ax = Axes(
            sheet, (0.62, bottom, WIDTH - 0.74, 1.15), (0, max(float(length.sum()), 1e-9)), (0, highest)
        )
        _add_course(ax, length, values, colour)
        ax.across(top, Line(FAINT, 0.8, DASHED))
        last = bottom < 1
        ax.close("exposed length, mm   (dashed: the machine's maximum)" if last else "", name, numbers=last)
    return sheet.svg()


def loss_history(loss: Floats) -> str:
    """The loss at each iteration, on a logarithmic scale where it is positive."""
    low, high = float(loss.min()), float(loss.max())
    log = low > 0 and high > 3 * low
    rim = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    y = (low * (low / high) ** 0.05, high * (high / low) ** 0.05) if log else (low - rim, high + rim)
    sheet = Paper(WIDTH, 2.2)
    ax = Axes(sheet, (0.62, 0.5, WIDTH - 0.74, 1.6), (0, len(loss) + 1), y, log=log)
    course = np.stack([np.arange(1, len(loss) + 1), loss], axis=1)
    ax.line(course, Line("#5b7f95", 1.2))
    ax.dots(course[-1:], Dot("o", OVER, 5))
    ax.note(f"{loss[-1]:.3g}", course[-1], (-5, -12), text_anchor="end")
    ax.close("iteration", "loss")
    return sheet.svg()


def _add_course(ax: Axes, length: Floats, values: Floats, colour: str) -> None:
    """Values along the length: in each step their range and, over it, their mean."""
    if not len(values):
        return
    end, pen = np.cumsum(length), Line(colour, 0.9)
    if len(values) <= _MOST_STEPS:
        ax.line(stairs(np.concatenate([[0], end]), values)[: 2 * len(values)], pen)
        return
    which = np.minimum(((end - length / 2) / end[-1] * _MOST_STEPS).astype(int), _MOST_STEPS - 1)
    first = np.flatnonzero(np.diff(which, prepend=-1))
    low, high = np.minimum.reduceat(values, first), np.maximum.reduceat(values, first)
    mean = np.add.reduceat(values * length, first) / np.maximum(np.add.reduceat(length, first), 1e-12)
    bins = np.append(which[first], _MOST_STEPS) * end[-1] / _MOST_STEPS
    ax.area(stairs(bins, high, low), colour, opacity=0.3)
    ax.line(stairs(bins, mean)[: 2 * len(mean)], pen)

"""Initial curves: Design → path of constant line energy, each kind in a file of its own.

`initial_curve` finds the curve by name, also among those of installed packages (`entry_points`), orders its
strokes and joins them by travels. A curve takes (design, process, settings), not a `planning.task.Task`,
because other packages provide curves, too.

`random_walk`, one lit stroke of normally distributed steps, is that of the forum script that started this
project: it shows nothing of the design, so that the optimiser has to find the shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import shapely
from shapely.geometry import MultiPolygon

from laserpath.base import entry_points
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.physics import optics
from laserpath.planning.curve.contour import centreline, contour, hatch, main_direction, outline
from laserpath.planning.curve.order import drawn, is_closed, join, one_way, order, quicker, subdivided
from laserpath.planning.curve.spiral import spiral
from laserpath.planning.curve.strokes import fitted_lines, strokes
from laserpath.planning.optimise.loop import Progress
from laserpath.types import Design, EnergyPath, Process, Settings
from laserpath.types.settings import SEGMENTS_FWHM

__all__ = [
    "CURVES", "drawn", "fitted_curve", "initial_curve", "is_closed", "join", "main_direction", "one_way",
    "order", "quicker", "subdivided",
]  # fmt: skip

_FLATNESS_FWHM = 0.01
"""Largest distance of a ring from the true offset curve: a larger value gives fewer vertices."""

_SHARE_OF_SEGMENT = 0.5
"""Longest move along strokes, relative to that along other curves: one line shapes both edges, where rings
have a line at each. A larger value gives larger edge errors in the same write time, a smaller one takes
longer to plan."""

_Curve = Callable[[Design, Process, Settings], list[Floats]]


def _along_the_edge(curve: Callable[[MultiPolygon, float, float, float], list[Floats]]) -> _Curve:
    """The curve of a design, from one of an area that takes inset, pitch and flatness in mm."""

    def of_design(design: Design, process: Process, settings: Settings) -> list[Floats]:
        fwhm = optics.fwhm(process.spot)
        inset, pitch = settings.inset_fwhm * fwhm, settings.pitch_fwhm * fwhm
        return curve(design.area, inset, pitch, _FLATNESS_FWHM * fwhm)

    return of_design


def _hatch(design: Design, process: Process, settings: Settings) -> list[Floats]:
    fwhm = optics.fwhm(process.spot)
    pitch = settings.pitch_fwhm * fwhm
    strokes = hatch(design.area, settings.inset_fwhm / 2 * fwhm, pitch, settings.angle)
    # Islands between two lines get rings or a centre line instead.
    lines = shapely.MultiLineString(strokes)
    shapely.prepare(lines)
    missed = [island for island in design.area.geoms if not lines.intersects(island)]
    inset = settings.inset_fwhm * fwhm
    return strokes + contour(shapely.MultiPolygon(missed), inset, pitch, _FLATNESS_FWHM * fwhm)


def _outline(design: Design, process: Process, settings: Settings) -> list[Floats]:
    fwhm = optics.fwhm(process.spot)
    inset, pitch = settings.inset_fwhm * fwhm, settings.pitch_fwhm * fwhm
    return outline(design.area, inset, pitch, settings.angle, _FLATNESS_FWHM * fwhm)


def _random(design: Design, process: Process, settings: Settings) -> list[Floats]:
    rng = np.random.default_rng(settings.seed)
    return random_walk(design.area, settings.pitch_fwhm * optics.fwhm(process.spot), rng)


CURVES: dict[str, _Curve] = {
    "contour": _along_the_edge(contour),
    "spiral": _along_the_edge(spiral),
    "hatch": _hatch,
    "outline": _outline,
    "centreline": _along_the_edge(centreline),
    "strokes": strokes,
    "random": _random,
}


def _named(name: str) -> _Curve:
    """The curve of a name, built in or from an installed package."""
    plugin = entry_points.find(entry_points.CURVES, name, CURVES)
    if plugin is None:
        return CURVES[name]
    return lambda design, process, settings: _strokes(plugin, plugin(design, process, settings))


def _strokes(plugin: entry_points.Plugin, made: Any) -> list[Floats]:
    """The strokes that another package's curve has returned; raises if they are no strokes."""
    try:
        strokes: list[Floats] = [np.array(stroke, dtype=np.float64) for stroke in made]
    except (TypeError, ValueError):
        raise InputError(f"{plugin.title} gave no strokes, but must give a list of arrays (K, 2)") from None
    for n, stroke in enumerate(strokes):
        if stroke.ndim != 2 or stroke.shape[1] != 2 or len(stroke) < 2:
            raise InputError(
                f"{plugin.title}: stroke {n} has the shape {stroke.shape}, but must be (K, 2) with K above 1"
            )
        if not np.isfinite(stroke).all():
            raise InputError(f"{plugin.title}: stroke {n} has coordinates that are not finite")
    return strokes


def fitted_curve(
    design: Design, process: Process, settings: Settings, progress: Callable[[Progress], None] | None = None
) -> tuple[EnergyPath, bool]:
    """(the path along fitted strokes, with their energies; whether the user stopped the fit).

    progress: called in each iteration of the fit, which a KeyboardInterrupt from it ends.
    """
    fitted = fitted_lines(design, process, settings, progress)
    if not fitted.strokes:
        raise _nothing_fits("strokes", design, process)
    shorter = replace(settings, segment_fwhm=max(_SHARE_OF_SEGMENT * settings.segment_fwhm, SEGMENTS_FWHM[0]))
    path = drawn(quicker(order(fitted.strokes), process.machine), process, shorter)
    return fitted.dosed(path), fitted.stopped


def initial_curve(design: Design, process: Process, settings: Settings) -> EnergyPath:
    """The curve that the settings name, with one line energy for all exposing moves, but for strokes.

    'auto' means 'contour' here; `start` tries several curves.
    """
    if settings.initial == "strokes":
        return fitted_curve(design, process, settings)[0]
    lines = _named("contour" if settings.initial == "auto" else settings.initial)(design, process, settings)
    if not lines:
        raise _nothing_fits(settings.initial, design, process)
    return drawn(quicker(order(lines), process.machine), process, settings)


def _nothing_fits(initial: str, design: Design, process: Process) -> InputError:
    return InputError(
        f"no {initial} line fits into design {design.name!r}: "
        f"all of it is narrower than the spot of {optics.fwhm(process.spot):g} mm; use a smaller spot"
    )


def random_walk(area: MultiPolygon, pitch: float, rng: np.random.Generator) -> list[Floats]:
    """One stroke (K, 2) in mm, with steps of about one pitch, long enough to cover the bounds once."""
    x0, y0, x1, y1 = area.bounds
    low, size = np.array([x0, y0]), np.array([x1 - x0, y1 - y0])
    steps = max(8, int(np.ceil(size.prod() / pitch**2)))
    walk = np.cumsum(rng.normal(0, pitch / np.sqrt(2), (steps, 2)), axis=0) + size / 2
    folded = size - np.abs(np.mod(walk, 2 * size) - size)
    return [low + folded]

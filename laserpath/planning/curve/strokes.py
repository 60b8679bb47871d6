"""Strokes: straight lines along the middle of a drawing's lines, fitted to it, then joined to long strokes.

1. The skeleton of the design (`skeleton`), simplified to straight strokes, so coarsely that they are no more
   than asked for. A dot gets a short stroke. Parts too wide for a few lines side by side get rings and a
   hatch (`outline`).
2. The ends, widths and line energies of all strokes are fitted together, by the loss of the dose that they
   add up to (`strokes.additive`). Strokes that meet share their ends.
3. A stroke that is wider than one line becomes lines side by side.
4. Where lines meet, those that continue each other most nearly straight are one, so that the laser seldom
   goes off and the head seldom stops.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import shapely
from scipy.ndimage import gaussian_filter1d
from shapely.geometry import MultiPolygon

from laserpath.base.arrays import Floats, Indices
from laserpath.base.errors import InputError
from laserpath.base.overlay import EMPTY, areas, within
from laserpath.base.plan_steps import PlanPart
from laserpath.design.scene import Scene
from laserpath.operators.strokes import AdditiveStrokes, fit_additive
from laserpath.physics import optics
from laserpath.planning.curve.contour import main_direction, outline
from laserpath.planning.curve.skeleton import skeleton
from laserpath.planning.optimise.loop import Progress
from laserpath.planning.optimise.objective import Objective
from laserpath.types import Design, EnergyPath, Process, Settings

STROKES = 1000
"""Strokes that are used unless the user says how many: more follow finer curves and take longer to fit."""

_PIXELS_PER_FWHM = 3.0
"""Resolution of the fit: a finer one places the strokes more accurately and takes longer."""

ITERATIONS = 80
"""Most iterations of the fit: more bring the strokes nearer to the drawing, and take longer."""

_SPACING_FWHM = 0.1
"""Distance of the skeleton's samples of the edge: closer ones give a smoother skeleton and take longer."""

_FLATNESS_FWHM = 0.02, 0.32
"""Tolerances for simplifying the skeleton to straight strokes: the finest one that needs few enough is taken,
in steps of a factor of 2."""

_LINES = 3
"""Most lines side by side in a stroke: wider parts get rings and a hatch."""

_ONE_LINE_FWHM = 1.26
"""Width that one line of a Gaussian spot cures where 3 critical doses are the limit, √log₂ 3."""

_NARROW_FWHM = 0.4
"""Width of a band up to which it is one line: a larger value leaves wider lines overexposed in the middle."""

_EVEN_FWHM = 1.0
"""Distance over which the fitted energies are smoothed along a line. Two strokes shorter than the spot can
share their energy in many ways that expose the same, and the planner keeps how it was shared; a larger value
makes the energy more even, also where a line is really wider."""

_FAINT = 0.02
"""Energy, relative to the median, below which a stroke is left out: the fit did not need it."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedLines:
    """strokes: polylines (K, 2) mm.  segments: (S, 2, 2) mm, all of their segments.  energy: (S,) mJ/mm.

    stopped: whether the user stopped their fit.
    """

    strokes: list[Floats]
    segments: Floats
    energy: Floats
    stopped: bool = False

    def dosed(self, path: EnergyPath) -> EnergyPath:
        """A path along these lines, each exposing move with the energy of its segment."""
        middle, energy = (path.xy[1:] + path.xy[:-1])[path.on] / 2, path.energy.copy()
        energy[path.on] = self.energies(middle)
        return replace(path, energy=energy)

    def energies(self, middle: Floats) -> Floats:
        """(K,) mJ/mm, those of the segments nearest to some points (K, 2) mm."""
        tree = shapely.STRtree(shapely.linestrings(self.segments))
        return self.energy[tree.nearest(shapely.points(middle))]


def strokes(design: Design, process: Process, settings: Settings) -> list[Floats]:
    """Polylines (K, 2) mm along the fitted strokes."""
    return fitted_lines(design, process, settings).strokes


def fitted_lines(
    design: Design, process: Process, settings: Settings, progress: Callable[[Progress], None] | None = None
) -> FittedLines:
    """The lines of a design's fitted strokes, with energies; InputError if it needs too many strokes.

    progress: called in each iteration of the fit, which a KeyboardInterrupt from it ends.
    """
    scene = Scene.around(design, process.spot, process.resin, _PIXELS_PER_FWHM)
    objective = Objective.of(scene)
    most = min(ITERATIONS, settings.iterations)

    def report(iteration: int, loss: float) -> None:
        if progress is not None:
            progress(Progress(PlanPart.FIT, iteration, most, loss))

    first = first_strokes(design, process, settings)
    fitted = fit_additive(first, scene.grid, scene.fwhm, objective, most, report)
    found = fitted.strokes
    needed = found.energy > _FAINT * (np.median(found.energy) if len(found) else 0.0)
    found = replace(found, ends=found.ends[needed], width=found.width[needed], energy=found.energy[needed])
    lines = side_by_side(found, scene.fwhm, settings.pitch_fwhm * scene.fwhm)
    return replace(lines, stopped=fitted.stopped)


def first_strokes(design: Design, process: Process, settings: Settings) -> AdditiveStrokes:
    """The strokes before they are fitted."""
    fwhm, most = optics.fwhm(process.spot), settings.strokes or STROKES
    inset, pitch = settings.inset_fwhm * fwhm, settings.pitch_fwhm * fwhm
    wide = _wide(design.area, inset + (_LINES - 1) / 2 * pitch)
    graph = skeleton(design.area, _SPACING_FWHM * fwhm)
    if not wide.is_empty:
        graph = graph.outside(wide)
    graph = graph.with_dots(design.area, wide)
    finest, coarsest = (tolerance * fwhm for tolerance in _FLATNESS_FWHM)
    while True:
        along = main_direction(design.area)
        filled = outline(wide, inset, pitch, along, finest) if not wide.is_empty else []
        vertices, ends, radius = graph.simplified(finest)
        count = len(ends) + sum(len(line) - 1 for line in filled)
        if count <= most:
            break
        if finest >= coarsest:
            raise InputError(
                f"design {design.name!r} needs at least {count} strokes, but --strokes is {most}; "
                "give more, or take another starting curve"
            )
        finest *= 2
    return _with_energies(vertices, ends, 2 * radius, filled, process, pitch)


def _with_energies(
    vertices: Floats, ends: Indices, wide: Floats, filled: list[Floats], process: Process, pitch: float
) -> AdditiveStrokes:
    """Strokes along a skeleton, where lines are `wide` mm, and along the lines that fill the wide parts."""
    fwhm, critical = optics.fwhm(process.spot), process.resin.critical_dose
    one = np.minimum(wide / fwhm, _ONE_LINE_FWHM)
    band = np.maximum(wide - _ONE_LINE_FWHM * fwhm, 0.0)
    # A line of peak 2^(w/F)² cures the width w; its energy is the peak times the integral of its profile.
    line = critical * 2 ** (one**2) * fwhm * np.sqrt(np.pi / np.log(16))
    energy = line + 4 / 3 * critical * band
    for piece in filled:
        first = len(vertices)
        vertices = np.vstack([vertices, piece])
        index = np.arange(first, first + len(piece))
        ends = np.vstack([ends, np.stack([index[:-1], index[1:]], axis=1)])
    more = len(ends) - len(energy)
    return AdditiveStrokes(
        vertices,
        ends,
        np.concatenate([band, np.zeros(more)]),
        np.concatenate([energy, np.full(more, 4 / 3 * critical * pitch)]),
    )


def _wide(area: MultiPolygon, radius: float) -> MultiPolygon:
    """The parts of an area that hold a circle of this radius, mm."""
    core = area.buffer(-radius)
    parts = areas(EMPTY if core.is_empty else within(core.buffer(radius), area))
    return MultiPolygon([part for part in getattr(parts, "geoms", [parts]) if part.area > 0])


def side_by_side(found: AdditiveStrokes, fwhm: float, pitch: float) -> FittedLines:
    """The trails of strokes as lines, several beside each other where they are wide."""
    lines: list[Floats] = []
    energies: list[Floats] = []
    for trail, members in trails(found):
        xy, width = found.vertices[trail], found.width[members]
        length = np.maximum(np.hypot(*np.diff(xy, axis=0).T), 1e-9 * fwhm)
        energy = _even(found.energy[members], length, _EVEN_FWHM * fwhm, loop=bool(trail[0] == trail[-1]))
        band = float(np.average(width, weights=length))
        count = 1 if band <= _NARROW_FWHM * fwhm else max(2, int(np.ceil(band / pitch)))
        for k in range(count):
            line = _beside(xy, band * ((k + 0.5) / count - 0.5))
            if len(line) == len(xy):
                energies.append(energy / count)
            else:  # an offset line has other vertices
                energies.append(np.full(len(line) - 1, np.average(energy, weights=length) / count))
            lines.append(line)
    segments = [np.stack([line[:-1], line[1:]], axis=1) for line in lines]
    return FittedLines(
        lines, np.concatenate([np.zeros((0, 2, 2)), *segments]), np.concatenate([np.zeros(0), *energies])
    )


def _even(energy: Floats, length: Floats, sigma: float, *, loop: bool) -> Floats:
    """Energies (K,) of segments of these lengths, smoothed along the line; all lengths in mm."""
    far = np.concatenate([[0.0], np.cumsum(length)])
    count = max(2, int(np.ceil(4 * far[-1] / sigma)))
    step = far[-1] / count
    place = (np.arange(count) + 0.5) * step
    sampled = energy[np.minimum(np.searchsorted(far, place, "right") - 1, len(energy) - 1)]
    smooth = gaussian_filter1d(sampled, sigma / step, mode="wrap" if loop else "nearest")
    # The mean over each segment, as the difference of an integral.
    total = np.interp(far, np.arange(count + 1) * step, np.concatenate([[0.0], np.cumsum(smooth) * step]))
    return np.diff(total) / length


def _beside(line: Floats, distance: float) -> Floats:
    """The line beside a polyline (K, 2), to its left if the distance, mm, is above 0; or itself."""
    if distance == 0:
        return line
    beside = shapely.offset_curve(shapely.LineString(line), distance, join_style="mitre")
    parts = [part for part in shapely.get_parts(beside) if part.length > 0]
    return shapely.get_coordinates(max(parts, key=shapely.length)) if parts else line


def trails(found: AdditiveStrokes) -> list[tuple[Indices, Indices]]:
    """(vertices (K+1,), strokes (K,)) of each line that strokes make if they go on as straight as possible.

    At each vertex the two strokes that continue each other most nearly straight are joined first. Of a loop
    the first and last vertex are the same.
    """
    following = _continued(found)
    done, made = np.zeros(len(found), dtype=bool), []
    # Ends first, so that only loops are left.
    begins = [(k, side) for k in range(len(found)) for side in (0, 1) if (k, side) not in following]
    for k, side in (*begins, *((k, 0) for k in range(len(found)))):
        if done[k]:
            continue
        trail, members = [int(found.ends[k, side])], []
        at: tuple[int, int] | None = (k, side)
        while at is not None and not done[at[0]]:
            stroke, entered = at
            done[stroke] = True
            members.append(stroke)
            trail.append(int(found.ends[stroke, 1 - entered]))
            at = following.get((stroke, 1 - entered))
        made.append((np.array(trail), np.array(members)))
    return made


def _continued(found: AdditiveStrokes) -> dict[tuple[int, int], tuple[int, int]]:
    """(stroke, end) → the (stroke, end) that continues it; ends are 0 and 1."""
    meeting: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for k, (first, last) in enumerate(found.ends.tolist()):
        meeting[first].append((k, 0))
        meeting[last].append((k, 1))
    way = found.lines[:, 1] - found.lines[:, 0]
    way = way / np.maximum(np.hypot(*way.T), 1e-300)[:, None]
    following: dict[tuple[int, int], tuple[int, int]] = {}
    for arms in meeting.values():
        out = [way[k] * (1 - 2 * side) for k, side in arms]
        pairs = sorted(
            (float(out[i] @ out[j]), i, j)
            for i in range(len(arms))
            for j in range(i)
            if arms[i][0] != arms[j][0]
        )
        free = set(range(len(arms)))
        for _, i, j in pairs:
            if i in free and j in free:
                free -= {i, j}
                following[arms[i]], following[arms[j]] = arms[j], arms[i]
    return following

"""Where axes stand that count their steps along a line with Bresenham's algorithm, as GRBL's do.

A line has N steps of its main axis and s ≤ N of another. GRBL's timer ticks r = 1, 2, 4 or 8 times per step
of the main axis (`ticks_per_step`). At every tick the counter of each axis, at first N/2, grows by s/r. When
it passes N, N is taken off, and the axis steps at the next tick. So, with the progress n in steps of the main
axis, step j comes at

    o_j = (⌊r·m_j⌋ + 1)/r,    m_j = (j − ½)·N/s.

At m_j the line passes the middle between two steps. The step is up to one tick late: the main axis trails by
1/8 to 1/2 of a step. The displacement of an axis from the line, d(n) = #{j: o_j ≤ n} − s·n/N, does not depend
on time.

The spot blurs single steps, so the pieces of an execution need not follow them. The ends of the pieces are
displaced by c_p, such that the continuous, piecewise linear function with these values is nearest to d along
the path (least squares; φ_p are the hat functions of the ends, l the length of path):

    Σ_q c_q ∫ φ_p φ_q dl = ∫ φ_p d dl.

Where the head stands, c = d. Pieces are cut into shorter ones only where the steps of an axis are so far
apart that the spot resolves them.

Source: https://github.com/gnea/grbl, stepper.c: comments of the stepper interrupt ("Execute step displacement
profile by Bresenham line algorithm"), and `st_prep_buffer` on AMASS levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gcode.compiled import cached
from gcode.controllers.executed import Executed
from gcode.controllers.grbl.kernel import TOGETHER, ticks_per_step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

njit = cached(error_model="numpy")

_COARSE = 0.1
"""Longest step that is not followed, in `longest`. With a larger one, axes of more machines go evenly."""

_TREAD = 2.0
"""Least distance between two steps of an axis at which pieces are cut, in `longest`. A smaller one makes more
pieces: with 0.7, three whole plans at 80 steps/mm have 1.3 to 1.6 times as many as without steps, and with 2
they have 1.1 to 1.2 times as many, for the same dose to 0.02 % of its peak."""

_PART = 1.0
"""Longest part of a piece that is cut, in `longest`. With 2, one of these plans is 1.5 % of the peak dose off
its recording instead of 1.0 %."""


def on_counted_steps(done: Executed, vertices: Floats, steps: Floats, longest: float) -> Executed:
    """`done` with x and y displaced as the motors' steps are, averaged along the pieces; z stays as it is.

    vertices: (N+1, 3) mm, on steps, of the rows that are executed; pieces end at whole steps of their row.
    steps: (3,) per mm.  longest: mm, half a FWHM. Steps that are fine for it leave `done` as it is.
    """
    if not len(done) or 1 / steps[:2].min() <= _COARSE * longest:
        return done
    way = _CountedPieces.of(done, vertices, steps)
    done, way = way.cut(done, longest)
    length = np.hypot(*np.diff(done.xyz[:, :2], axis=0).T)
    shift = _displacements(way.begin, way.end, way.rate, way.main, way.steps, length)
    xyz = done.xyz.copy()
    xyz[:, :2] += shift / steps[:2]
    return replace(done, xyz=xyz)


@dataclass(frozen=True, slots=True)
class _CountedPieces:
    """(P,) pieces of rows, in steps. begin, end: of the main axis since the start of the row.

    main: N.  steps: (P, 2) of x and y along the row, signed.  rate: steps/s.
    """

    begin: Ints
    end: Ints
    main: Ints
    steps: Ints
    rate: Floats

    @classmethod
    def of(cls, done: Executed, vertices: Floats, steps: Floats) -> _CountedPieces:
        """The pieces of an execution; arguments as for `on_counted_steps`."""
        row = done.row
        along = np.rint(np.diff(vertices, axis=0) * steps).astype(np.int64)[row]
        end = np.rint(np.abs(done.xyz[1:] - vertices[row]) * steps).max(axis=1).astype(np.int64)
        begin = np.where(np.diff(row, prepend=-1) == 0, np.append(0, end[:-1]), 0)
        rate = (end - begin) / np.maximum(done.duration, TOGETHER)
        return cls(begin, end, np.abs(along).max(axis=1), along[:, :2], rate)

    def cut(self, done: Executed, longest: float) -> tuple[Executed, _CountedPieces]:
        """The pieces with lit ones cut whose steps the spot resolves, at whole steps."""
        count = self.end - self.begin
        length = np.linalg.norm(np.diff(done.xyz, axis=0), axis=1)
        fewer = np.abs(self.steps).min(axis=1)
        apart = length * self.main / np.maximum(fewer * count, 1)
        long = (done.power > 0) & (fewer > 0) & (apart >= _TREAD * longest)
        parts = np.where(long, np.minimum(np.ceil(length / (_PART * longest)), count), 1)
        parts = np.maximum(parts, 1).astype(np.int64)
        piece = np.repeat(np.arange(len(parts)), parts)
        nth = np.arange(len(piece)) - np.repeat(np.cumsum(parts) - parts, parts)
        of, whole = parts[piece], count[piece]
        begin, end = (self.begin[piece] + whole * k // of for k in (nth, nth + 1))
        share = np.where(of > 1, (end - begin) / np.maximum(whole, 1), 1.0)
        part = np.where(nth + 1 == of, 1.0, (end - self.begin[piece]) / np.maximum(whole, 1))[:, None]
        ends = (1 - part) * done.xyz[piece] + part * done.xyz[piece + 1]
        cut = replace(
            done, row=done.row[piece], duration=done.duration[piece] * share,
            xyz=np.vstack([done.xyz[:1], ends]), power=done.power[piece], light=done.light[piece],
        )  # fmt: skip
        return cut, _CountedPieces(begin, end, self.main[piece], self.steps[piece], self.rate[piece])


@njit
def _displacements(begin: Ints, end: Ints, rate: Floats, main: Ints, steps: Ints, length: Floats) -> Floats:
    """(P+1, 2) steps, c at the ends of pieces (P,) of these lengths, mm."""
    knots = len(begin) + 1
    mass, coupling, load = np.zeros(knots), np.zeros(knots), np.zeros((knots, 2))
    held = np.zeros(knots, np.bool_)
    held[0] = held[-1] = True
    for p in range(len(begin)):
        if length[p] <= 0:
            held[p] = held[p + 1] = True
            continue
        mass[p] += length[p] / 3
        mass[p + 1] += length[p] / 3
        coupling[p] = length[p] / 6
        ticks = ticks_per_step(rate[p])
        for axis in range(2):
            first, second = _loads(begin[p], end[p], ticks, main[p], abs(steps[p, axis]))
            scale = np.sign(steps[p, axis]) * length[p]
            load[p, axis] += scale * first
            load[p + 1, axis] += scale * second
    for k in range(knots):
        if not held[k]:
            continue
        mass[k] = 1.0
        p = min(k, knots - 2)
        at = begin[p] if k == p else end[p]
        for axis in range(2):
            s = abs(steps[p, axis])
            stands = _taken(at, main[p], s) - s * at / max(main[p], 1)
            load[k, axis] = np.sign(steps[p, axis]) * stands
    _solve(mass, coupling, held, load)
    return load


@njit
def _taken(n: int, main: int, s: int) -> int:
    """Steps of an axis after n whole steps of the main one."""
    return ((2 * s * n - 1) // main + 1) // 2 if s > 0 else 0


@njit
def _loads(begin: int, end: int, ticks: int, main: int, s: int) -> tuple[float, float]:
    """∫ φ d over a piece for the hat functions of its begin and its end, per length."""
    if s == 0:
        return 0.0, 0.0
    count = end - begin
    before, after = _taken(begin, main, s), _taken(end, main, s)
    offset, slope = before - s * begin / main, s * count / main
    first, second = offset / 2 - slope / 6, offset / 2 - slope / 3
    for j in range(before + 1, after + 1):
        come = ((2 * j - 1) * main * ticks // (2 * s) + 1) / ticks
        part = (come - begin) / count
        first += (1 - part) ** 2 / 2
        second += (1 - part**2) / 2
    return first, second


@njit
def _solve(mass: Floats, coupling: Floats, held: Bools, load: Floats) -> None:
    """Solve the tridiagonal system in place (Thomas). coupling: of knots k and k + 1.  held: knots given."""
    last = len(mass) - 1
    above = np.zeros(last + 1)
    for k in range(last + 1):
        back = coupling[k - 1] if k > 0 and not held[k] else 0.0
        pivot = mass[k] - (back * above[k - 1] if k > 0 else 0.0)
        above[k] = 0.0 if held[k] else coupling[k] / pivot
        for axis in range(2):
            load[k, axis] = (load[k, axis] - (back * load[k - 1, axis] if k > 0 else 0.0)) / pivot
    for k in range(last - 1, -1, -1):
        for axis in range(2):
            load[k, axis] -= above[k] * load[k + 1, axis]

"""The executed pieces of a path as a function of its vertices and line energies.

The controller's motion hardly changes if vertices move by a fraction of the spot. So it is held: the ends of
the pieces keep their places relative to the ends of their move, and each piece keeps its share of the move's
energy.

    x_p = x̄_p + Σ_i w_pi (v_i − v̄_i),    q_p = c_p q_k

with x̄ as executed, rounded to motor steps, v̄ the commanded vertices then, and k the move of piece p. Both
are linear, so the adjoint is exact. Behind an input shaper the head is at a sum of planned places at several
times, and w is the same sum of the weights that the ends of a move have at each, for either axis. Executing
again after some iterations makes up for the rest: iterative learning control (Bristow, Tharayil and Alleyne
2006), here with the dose as the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

import gcode
from laserpath.base.arrays import Floats, Indices, joined, picked
from laserpath.machine import convert
from laserpath.machine.program import longest_piece
from laserpath.machine.rest import RESTS, rested
from laserpath.types import Process, Toolpath

_POINT = 1e-7
"""mm, shortest piece that exposes along its length."""


@dataclass(frozen=True, slots=True, eq=False)
class ExecutedShape:
    """The pieces of one execution. ends: (P+1, 2) mm, x̄.  vertices: (N+1, 2) mm, v̄.

    weight: (P+1, N+1) matrices w of x and y, which may be the same one.  move: (P,) k.  share: (P,) c.
    duration: (P,) s.
    """

    ends: Floats
    vertices: Floats
    weight: tuple[sparse.csr_matrix, sparse.csr_matrix]
    move: Indices
    share: Floats
    duration: Floats

    @classmethod
    def of(cls, path: Toolpath, process: Process, *, moving: bool = False) -> ExecutedShape:
        """The execution of a path whose moves need no further splitting, from rest.

        moving: whether its vertices will move. Then GRBL's axes go evenly: the single steps of a line change
        with every shift of its ends, so they cannot be held.
        """
        machine, controller = process.machine, convert.controller(process.machine)
        if moving and controller.counts_steps:
            controller = controller.stepless()
        moves = rested(convert.to_moves(path, machine), machine)
        board, longest = convert.board(process), longest_piece(process)
        response = gcode.motion.Response.of(moves, controller, board, longest=longest)
        due = gcode.motion.energies_due(moves, process.resin.order)
        light = response.mean_light(response.powers(due))
        shining = light**process.resin.order * response.run.duration
        # A level cannot be below the smallest: such a move is brighter than it should be.
        bright = np.where(due > 0, np.maximum(response.least_energies, due) / np.maximum(due, 1e-300), 1.0)
        run = response.run
        row, ends = run.row, run.xyz[:, :2]
        length = np.hypot(*np.diff(ends, axis=0).T)
        # What a head that waits for its next step exposes goes to the other pieces of its move.
        total = np.bincount(row, np.where(length > _POINT, shining, 0.0), len(moves))
        along = np.where(length > _POINT, shining / np.maximum(length, _POINT), 0.0)
        share = along * (bright * moves.length / np.maximum(total, 1e-300))[row]
        # The first RESTS rows are dark.
        return cls(
            ends,
            path.xy,
            _weights(moves, run, controller),
            np.maximum(row - RESTS, 0),
            share,
            run.duration,
        )

    def __call__(self, xy: Floats, energy: Floats) -> tuple[Floats, Floats]:
        """(P+1, 2) ends, mm, and (P,) line energies of the pieces of a path (N+1, 2), (N,)."""
        return self.ends + _weighted(self.weight, xy - self.vertices), self.share * energy[self.move]

    def part(self, moves: Indices, vertices: Indices, zero: Floats) -> ExecutedShape:
        """The pieces of a part of the path, from another zero (2,) mm; those of travels that join are dark.

        moves: (n,) of the path, −1 for travels that join.  vertices: (n+1,) of the path.
        """
        kept, follows = moves >= 0, np.append(False, np.diff(moves) == 1)
        begins, stops = kept & ~follows, kept & ~np.append(follows[1:], False)
        first, last, at = moves[begins], moves[stops], np.flatnonzero(begins)
        low, high = np.searchsorted(self.move, first), np.searchsorted(self.move, last, "right")
        # A piece without light goes from the last end of each run of moves to the first of the next.
        pieces, ends = joined(list(zip(low, high, strict=True)))
        run = np.repeat(np.arange(len(first)), high - low + 1)

        def cut(whole: sparse.csr_matrix) -> sparse.csr_matrix:
            weight = whole[ends].tocoo()
            own = run[weight.row]
            inside = (weight.col >= first[own]) & (weight.col <= last[own] + 1)
            entries = weight.row[inside], (weight.col + (at - first)[own])[inside]
            return sparse.csr_matrix((weight.data[inside], entries), shape=(len(ends), len(vertices)))

        shifted = self.move[np.maximum(pieces, 0)] + (at - first)[run[:-1]]
        return ExecutedShape(
            ends=self.ends[ends] - zero,
            vertices=self.vertices[vertices] - zero,
            weight=_of_both(self.weight, cut),
            move=np.where(pieces >= 0, shifted, 0),
            share=picked(self.share, pieces, 0.0),
            duration=picked(self.duration, pieces, 0.0),
        )

    def pull(self, d_ends: Floats, d_energy: Floats, moves: int) -> tuple[Floats, Floats]:
        """Derivatives by ends and line energies of the pieces → those by the path's, (N+1, 2) and (N,)."""
        energies = np.bincount(self.move, self.share * d_energy, moves)
        back = _of_both(self.weight, lambda whole: whole.T)
        return _weighted(back, d_ends), energies.astype(np.float64)


def parts_behind(moves: gcode.Moves, run: gcode.motion.Executed) -> Floats:
    """(P,) part of its move, 0 … 1, that lies behind the end of each piece of a run."""
    start, way = moves.xy[run.row], moves.xy[run.row + 1] - moves.xy[run.row]
    square = (way**2).sum(axis=1)
    along = ((run.xyz[1:, :2] - start) * way).sum(axis=1)
    return np.where(square > 0, np.clip(along / np.maximum(square, 1e-300), 0, 1), 1.0)


def _weights(
    moves: gcode.Moves, run: gcode.motion.Executed, controller: gcode.motion.Controller
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """(P+1, moves+1−RESTS) share of each vertex in the place of each end, along x and along y."""
    if controller.impulses is None:
        part = np.append(0.0, parts_behind(moves, run))
        both = _matrix([(np.append(0, run.row), part, 1.0)], len(moves))
        return both, both
    planned = gcode.motion.execute(moves, controller.unshaped().stepless())
    time = np.append(0.0, run.end) - gcode.motion.lead(controller.impulses)
    x, y = (
        _matrix(
            [
                (*_place_in_row(moves, planned, time - delay), float(share))
                for share, delay in zip(one.share, one.delay, strict=True)
            ],
            len(moves),
        )
        for one in controller.impulses
    )
    return x, y


def _place_in_row(moves: gcode.Moves, run: gcode.motion.Executed, time: Floats) -> tuple[Indices, Floats]:
    """(T,) row in which a run is at a time, s, and the part of the row, 0 … 1, that is behind it then."""
    part = parts_behind(moves, run)
    begin = np.where(np.diff(run.row, prepend=-1) > 0, 0.0, np.append(0.0, part[:-1]))
    begin = np.where(moves.length[run.row] > 0, begin, part)
    piece = np.minimum(np.searchsorted(run.end, time), len(part) - 1)
    gone = np.clip(1 - (run.end[piece] - time) / np.maximum(run.duration[piece], 1e-12), 0, 1)
    return run.row[piece], begin[piece] + (part - begin)[piece] * gone


def _matrix(terms: Sequence[tuple[Indices, Floats, float]], moves: int) -> sparse.csr_matrix:
    """(P+1, moves+1−RESTS) weights of a sum of places. terms: row and part of each end, and their share.

    The dwells before the path are at its first vertex.
    """
    ends = len(terms[0][0])
    data = np.concatenate([share * x for _, part, share in terms for x in (1 - part, part)])
    vertex = np.concatenate([np.maximum(row + k - RESTS, 0) for row, _, _ in terms for k in (0, 1)])
    of = np.tile(np.arange(ends), 2 * len(terms))
    return sparse.csr_matrix((data, (of, vertex)), shape=(ends, moves + 1 - RESTS))


def _weighted(weight: tuple[sparse.csr_matrix, sparse.csr_matrix], xy: Floats) -> Floats:
    """The matrix of each axis times its column of (…, 2)."""
    x, y = weight
    return x @ xy if x is y else np.column_stack([x @ xy[:, 0], y @ xy[:, 1]])


def _of_both(
    weight: tuple[sparse.csr_matrix, sparse.csr_matrix],
    change: Callable[[sparse.csr_matrix], sparse.csr_matrix],
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Both matrices changed, once if they are the same."""
    x, y = weight
    changed = change(x)
    return changed, changed if x is y else change(y)

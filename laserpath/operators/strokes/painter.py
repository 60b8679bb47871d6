"""A picture of strokes, and its gradient by their ends, widths, colours and opacities.

With the coverage c_k of a pixel by stroke k = 1 … N (`kernels`), α_k its alpha and f_k its colour,

    'over'   C_k = (1 − α_k c_k) C_(k−1) + α_k c_k f_k,   C_0 the background, C_N the picture
    'add'    C_N = C_0 + Σ_k α_k c_k f_k                  light, which only adds: α_k the dose

**Adjoint.** With g = ∂L/∂C_N, and T_k = Π_(j>k) (1 − α_j c_j) the light that passes what is above k,

    'over'   ∂L/∂(α_k c_k) = T_k g·(f_k − C_(k−1)),   ∂L/∂f_k = T_k α_k c_k g
    'add'    ∂L/∂(α_k c_k) = g·f_k,                   ∂L/∂f_k = α_k c_k g

Of the composites C_k only g·C_k is needed, a number; it is recomputed from the background upwards, and stored
nowhere. T_k is a product from the top down; upwards it is divided out again. Where a stroke is opaque, that
would be 0/0, so the way down ends there: all beneath it has the derivative 0, and the stroke itself has the
T_k that was found on the way. Its own derivative by alpha is not 0: with less, what is beneath comes through.

A stroke of alpha 0 paints nothing, but has a derivative by alpha. A stroke of width 0 is a faint hairline, of
a coverage of ½ on its axis, since the coverage is a ramp over one pixel.

**Tiles.** Each tile of 16 × 16 pixels has the list of the strokes that reach it, in painter's order.

The painter is also an operator, for PyTorch and JAX. It works in the host's memory, on lists of tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.checks import finite_array, known_precision, on_cpu_only
from laserpath.base.compute.runtime import cpu_count, device
from laserpath.base.errors import InputError, one_line
from laserpath.operators.record import Operator
from laserpath.operators.strokes import kernels

MODES = ("over", "add")
"""How a stroke is put onto what is beneath it."""

MOST_CHANNELS = 4
_FAR = 1e6
"""Largest coordinate and width, in pixels: coverage is then still known to 1e-9."""
_LARGEST = 1 << 14
"""Rows and columns of a canvas."""
_MOST_VALUES = 1 << 28
"""Rows · columns · channels of a canvas: 2 GB in float64, and a gradient needs it twice."""


@dataclass(frozen=True, slots=True, eq=False)
class Strokes:
    """N strokes, the first at the bottom.

    points: (N, 2, 2) ends a, b of lines, or (N, 3, 2) a, control, b of quadratic Bézier curves; x (columns),
    y (rows), pixels.  width: (N,) pixels.  colour: (N, C), 1 to 4 channels.  alpha: (N,) opacity, 0 to 1;
    in the mode 'add' any number, which multiplies the colour.
    """

    points: Floats
    width: Floats
    colour: Floats
    alpha: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        n, ends = int(np.size(self.alpha)), np.shape(self.points)[1:2]
        if n == 0:
            raise InputError("strokes has 0 strokes, but must have at least 1")
        if ends not in ((2,), (3,)):
            raise InputError(
                f"strokes points has shape {np.shape(self.points)}, but must have (N, 2, 2) or (N, 3, 2)"
            )
        shapes = {"points": (n, *ends, 2), "width": (n,), "colour": (n, None), "alpha": (n,)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"strokes {name}", shape))
        if not 1 <= self.channels <= MOST_CHANNELS:
            raise InputError(
                f"strokes colour has {self.channels} channels, but must have 1 to {MOST_CHANNELS}"
            )
        if (far := float(np.abs(self.points).max())) > _FAR:
            raise InputError(f"strokes points reaches {far:g} pixels, but must be within ±{_FAR:g}")
        if not (self.width.min() >= 0 and self.width.max() <= _FAR):
            wrong = self.width.min() if self.width.min() < 0 else self.width.max()
            raise InputError(f"strokes width is {wrong:g} pixels, but must be between 0 and {_FAR:g}")

    def __len__(self) -> int:
        return len(self.width)

    @property
    def channels(self) -> int:
        """C."""
        return self.colour.shape[1]

    @property
    def curved(self) -> bool:
        """Whether they are quadratic curves."""
        return self.points.shape[1] == 3


@dataclass(frozen=True, slots=True, eq=False)
class StrokesGradient:
    """Derivatives of a scalar by the fields of `Strokes`, of the same shapes."""

    points: Floats
    width: Floats
    colour: Floats
    alpha: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """shape: (rows, columns).  background: (C,) or (rows, columns, C).  mode: 'over' or 'add'.

    Without a background it is white, (1, 1, 1), or dark, (0, 0, 0), in the mode 'add'.
    """

    shape: tuple[int, int]
    background: ArrayLike = ()
    mode: str = "over"

    def __post_init__(self) -> None:
        shape = np.asarray(self.shape)
        if (
            shape.shape != (2,)
            or shape.dtype.kind not in "iu"
            or not (1 <= shape.min() <= shape.max() <= _LARGEST)
        ):
            raise InputError(
                f"canvas shape is {self.shape}, but must be (rows, columns), each from 1 to {_LARGEST}"
            )
        if self.mode not in MODES:
            raise InputError(f"canvas mode {self.mode!r} is unknown; known: {', '.join(MODES)}")
        given = self.background
        if np.size(given) == 0:
            given = (0.0,) * 3 if self.mode == "add" else (1.0,) * 3
        needed = (None,) if np.ndim(given) == 1 else (*self.shape, None)
        background = frozen_array(given, "canvas background", needed)
        if not 1 <= background.shape[-1] <= MOST_CHANNELS:
            raise InputError(
                f"canvas background has {background.shape[-1]} channels, but must have 1 to {MOST_CHANNELS}"
            )
        if (values := int(shape[0]) * int(shape[1]) * background.shape[-1]) > _MOST_VALUES:
            raise InputError(
                f"canvas of shape {self.shape} has {values} values in {background.shape[-1]} channels, "
                f"but must have at most {_MOST_VALUES}"
            )
        object.__setattr__(self, "background", background)

    @property
    def channels(self) -> int:
        """C."""
        return np.shape(self.background)[-1]


MOST_ENTRIES = 1 << 26
"""Strokes in all tiles' lists together: 6 GB of derivatives."""
_SLABS = 4
"""For each processor, so that one that has finished takes over work from a busy one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Tiles:
    """The lists of the tiles: listed[first[k]:first[k + 1]] are the strokes of tile k."""

    first: NDArray[np.int32]
    listed: NDArray[np.int32]


class StrokePainter:
    """Pictures and gradients on one canvas in one precision, 'f32' or 'f64', on the CPU."""

    def __init__(self, canvas: Canvas, precision: str = "f32") -> None:
        known_precision(precision)
        on_cpu_only("strokes are painted", device())
        self.canvas, self.precision = canvas, precision
        self._real: type[np.floating[Any]] = np.float32 if precision == "f32" else np.float64
        shape = (*canvas.shape, canvas.channels)
        self._background: Floats = np.ascontiguousarray(np.broadcast_to(canvas.background, shape), self._real)
        self._slabs = 1 if cpu_count() == 1 else _SLABS * cpu_count()

    def paint(self, strokes: Strokes) -> Floats:
        """The picture, (rows, columns, C)."""
        tiles, picture = self._tiles(strokes), self._background.copy()
        kernels.paint(*self._kind(strokes))(
            *_flat(strokes), tiles.first, tiles.listed, self._slabs, picture
        )  # fmt: skip
        return picture

    def gradient(self, strokes: Strokes, d_picture: ArrayLike) -> StrokesGradient:
        """∂L/∂strokes from ∂L/∂picture, (rows, columns, C)."""
        slope = finite_array(d_picture, "d_picture", self._background.shape, self._real)
        tiles, ends = self._tiles(strokes), strokes.points.shape[1]
        parts = np.zeros((max(1, len(tiles.listed)), 2 * ends + 2 + strokes.channels))
        pixels = self._slabs, kernels.TILE**2
        passed, worth, closed = (
            np.empty(pixels, self._real),
            np.empty(pixels, self._real),
            np.empty(pixels, np.int32),
        )
        kernels.adjoint(*self._kind(strokes))(
            *_flat(strokes), tiles.first, tiles.listed, self._slabs, self._background, slope, passed, worth,
            closed, parts,
        )  # fmt: skip
        sums = _by_stroke(parts, tiles, len(strokes))
        points = sums[:, : 2 * ends].reshape(strokes.points.shape)
        return StrokesGradient(points, sums[:, 2 * ends], sums[:, 2 * ends + 2 :], sums[:, 2 * ends + 1])

    def _tiles(self, strokes: Strokes) -> _Tiles:
        """The tiles' lists."""
        self._check(strokes)
        rows, columns = self.canvas.shape
        count = np.zeros(-(-rows // kernels.TILE) * -(-columns // kernels.TILE), np.int32)
        first, none = np.zeros(len(count) + 1, np.int32), np.zeros(1, np.int32)
        points, width, *_ = _flat(strokes)
        given = points, width, rows, columns, self._slabs, first
        kernels.lists(strokes.curved, False)(*given, count, none)
        if (entries := int(count.sum(dtype=np.int64))) > MOST_ENTRIES:
            raise InputError(
                f"strokes reach {entries} tiles in all, but must reach at most {MOST_ENTRIES}: take fewer, "
                "narrower ones or a smaller canvas"
            )
        np.cumsum(count, out=first[1:])
        count[:], listed = 0, np.zeros(max(1, entries), np.int32)
        kernels.lists(strokes.curved, True)(*given, count, listed)
        return _Tiles(first, listed)

    def _kind(self, strokes: Strokes) -> tuple[str, bool, bool, int]:
        """Of the kernels."""
        return self.precision, self.canvas.mode == "add", strokes.curved, strokes.channels

    def _check(self, strokes: Strokes) -> None:
        if strokes.channels != self.canvas.channels:
            raise InputError(
                f"strokes colour has {strokes.channels} channels, but the canvas has {self.canvas.channels}"
            )
        low, high = float(strokes.alpha.min()), float(strokes.alpha.max())
        if self.canvas.mode == "over" and not 0 <= low <= high <= 1:
            raise InputError(f"strokes alpha is {low if low < 0 else high:g}, but must be between 0 and 1")


def _flat(strokes: Strokes) -> tuple[Floats, Floats, Floats, Floats]:
    """The kernels' arrays: points (N, 2 P), width, alpha, colour."""
    return strokes.points.reshape(len(strokes), -1), strokes.width, strokes.alpha, strokes.colour


def _by_stroke(parts: Floats, tiles: _Tiles, count: int) -> Floats:
    """The sums of the rows of each stroke, in the order of the tiles: (N, columns of parts)."""
    sums = np.zeros((count, parts.shape[1]))
    entries = int(tiles.first[-1])
    if entries:
        order = np.argsort(tiles.listed[:entries], kind="stable")
        listed = tiles.listed[order]
        begins = np.flatnonzero(np.diff(listed, prepend=-1))
        sums[listed[begins]] = np.add.reduceat(parts[order], begins, axis=0)
    return sums


NAME = "laserpath::strokes"


def strokes_operator(painter: StrokePainter) -> Operator:
    """(points (N, 2 or 3, 2), width (N,), colour (N, C), alpha (N,)) → picture (rows, columns, C)."""

    def picture(points: Floats, width: Floats, colour: Floats, alpha: Floats) -> Floats:
        return painter.paint(Strokes(points, width, colour, alpha))

    def adjoint(
        points: Floats, width: Floats, colour: Floats, alpha: Floats, d_picture: Floats
    ) -> tuple[Floats, ...]:
        found = painter.gradient(Strokes(points, width, colour, alpha), d_picture)
        return found.points, found.width, found.colour, found.alpha

    shape = (*painter.canvas.shape, painter.canvas.channels)
    return Operator(
        NAME,
        picture,
        adjoint,
        inputs=("points", "width", "colour", "alpha"),
        outputs={"picture": lambda *_: shape},
        on_host=True,
    )

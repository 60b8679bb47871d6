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

**Fitting.** The strokes of a picture are found by Adam on all their numbers, with strokes added, and moved,
to where the error is:

    L = mean over pixels and channels of (picture − target)²

The strokes come in rounds. Each round puts its share where the squared error, smoothed over a stroke's width,
is largest, in the target's colour there; then all strokes of the rounds so far are improved. A stroke that
hides nothing and changes nothing is a minimum that Adam cannot leave, so between the last rounds the strokes
without which the loss rises least are put anew in the same way; if that does not pay within the round, what
was before stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from laserpath.base.arrays import Bools, Floats, frozen_array
from laserpath.base.checks import between, finite_array, known_precision, on_cpu_only, one_of, whole
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
        one_of("canvas mode", self.mode, MODES)
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


_FIELDS = ("points", "width", "colour", "alpha")
_RATES = {"points": 1.0, "width": 0.6, "colour": 0.02, "alpha": 0.02}
"""Adam's step at its start: pixels of a canvas of 256, and shares of 1. Twice as much overshoots."""
_WIDEST, _NARROWEST = 0.25, 0.06
"""Width of the first and of the last strokes put, in sides of the canvas."""
_OVERSHOOT = 0.25
"""By how much a target may be outside of what colours of 0 to 1 reach: a picture that was resized with a
cubic filter overshoots edges by less than that. A larger value takes wrongly scaled pictures."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """strokes: how many.  steps: of Adam in all, at least 2 (rounds + moves).  rounds: in which strokes are
    added.  moves: rounds in which some strokes are put anew.  seed: of their directions.  curved: quadratic
    curves, which follow a picture better and take about three times as long as lines; if False, lines.
    """

    strokes: int = 32
    steps: int = 1000
    rounds: int = 8
    moves: int = 8
    seed: int = 0
    curved: bool = True

    def __post_init__(self) -> None:
        whole(self, "strokes", "steps", "rounds", "moves", "seed")
        between(self, strokes=(1, 1 << 16), steps=(1, 1 << 20), seed=(0, 2**32 - 1))
        between(self, rounds=(1, self.strokes), moves=(0, 1 << 10))
        if self.steps < (least := 2 * (self.rounds + self.moves)):
            raise InputError(
                f"steps is {self.steps}, but must be at least {least}, two for each of {self.rounds} rounds "
                f"and {self.moves} moves"
            )


@dataclass(frozen=True, slots=True, eq=False)
class FittedStrokes:
    """strokes: the best that were found.  loss: theirs.  losses: of the empty canvas, then of each step."""

    strokes: Strokes
    loss: float
    losses: Floats

    __repr__ = one_line


def fit_strokes(
    painter: StrokePainter, target: ArrayLike, settings: FitSettings | None = None
) -> FittedStrokes:
    """The strokes of a picture (rows, columns, C), at least a pixel wide, with colours and alphas in 0..1."""
    return _Fitting(painter, target, settings or FitSettings()).run()


class _Fitting:
    """One fit."""

    def __init__(self, painter: StrokePainter, target: ArrayLike, settings: FitSettings) -> None:
        self.painter, self.settings = painter, settings
        shape = (*painter.canvas.shape, painter.canvas.channels)
        real = np.float32 if painter.precision == "f32" else np.float64
        self.target = finite_array(target, "target", shape, real)
        self.background: Floats = np.asarray(painter.canvas.background)
        self._within_reach()
        self.side = float(min(shape[:2]))
        self.rng = np.random.default_rng(settings.seed)
        self.losses: list[float] = []

    def run(self) -> FittedStrokes:
        """Rounds of adding, then of moving, then the rest of the steps with a falling rate."""
        use, empty = self.settings, np.broadcast_to(self.background, self.target.shape)
        self.losses.append(float(np.mean((empty - self.target) ** 2)))
        error, strokes = empty - self.target, None
        each = use.steps // (2 * (use.rounds + use.moves))
        shares = np.array_split(np.arange(use.strokes), use.rounds)
        for number, count in enumerate(map(len, shares)):
            width = _WIDEST * (_NARROWEST / _WIDEST) ** (number / max(1, use.rounds - 1))
            strokes = _together(strokes, self._put(error, count, width * self.side))
            strokes, loss = self._improved(strokes, each, 1.0, 0.5)
            error = self.painter.paint(strokes) - self.target
        assert strokes is not None
        for _ in range(use.moves):
            moved, found = self._improved(self._moved(strokes, error), each, 1.0, 0.3)
            if found < loss:
                strokes, loss = moved, found
                error = self.painter.paint(strokes) - self.target
        strokes, loss = self._improved(strokes, use.steps + 1 - len(self.losses), 0.7, 0.01)
        return FittedStrokes(strokes, loss, np.array(self.losses))

    def _within_reach(self) -> None:
        """InputError if strokes with colours of 0 to 1 cannot come near the target."""
        low, high = min(0.0, float(self.background.min())), max(1.0, float(self.background.max()))
        if self.painter.canvas.mode == "add":
            high += self.settings.strokes - 1
        least, most = float(self.target.min()), float(self.target.max())
        if least < low - _OVERSHOOT or most > high + _OVERSHOOT:
            advice = ": divide one of 8 bits by 255" if most > high + _OVERSHOOT else ""
            raise InputError(
                f"target has values from {least:g} to {most:g}, but must be between {low:g} and {high:g}"
                f"{advice}"
            )

    def _put(self, error: Floats, count: int, width: float) -> Strokes:
        """Strokes where the error is largest, one after the other; each takes its surroundings out."""
        left = gaussian_filter(np.sum(error**2, axis=2, dtype=np.float64), width / 2)
        colours = np.stack(
            [gaussian_filter(one, width / 4) for one in np.moveaxis(self.target, 2, 0)], axis=2
        )
        rows, columns = np.indices(left.shape)
        # A curve begins straight, with its control in the middle.
        sides = np.linspace(-1, 1, 3 if self.settings.curved else 2)[:, None]
        points, colour = np.zeros((count, len(sides), 2)), np.zeros((count, self.target.shape[2]))
        for k in range(count):
            i, j = np.unravel_index(int(np.argmax(left)), left.shape)
            angle = self.rng.uniform(0, np.pi)
            along = width / 2 * np.array([np.cos(angle), np.sin(angle)])
            points[k], colour[k] = np.array([j, i]) + sides * along, colours[i, j]
            left = left * (1 - np.exp(-((rows - i) ** 2 + (columns - j) ** 2) / (2 * width**2)))
        return Strokes(points, np.full(count, width), colour, np.full(count, 0.7))

    def _moved(self, strokes: Strokes, error: Floats) -> Strokes:
        """With an eighth of the strokes, those that are missed least, put anew and on top."""
        without = [self._loss(_chosen(strokes, np.arange(len(strokes)) != k)) for k in range(len(strokes))]
        count = max(1, len(strokes) // 8)
        least = np.argsort(without, kind="stable")[:count]
        kept = _chosen(strokes, ~np.isin(np.arange(len(strokes)), least)) if count < len(strokes) else None
        width = float(self.rng.choice([_NARROWEST, 2 * _NARROWEST])) * self.side
        return _together(kept, self._put(error, count, width))

    def _loss(self, strokes: Strokes | None) -> float:
        seen = self.background if strokes is None else self.painter.paint(strokes)
        return float(np.mean((seen - self.target) ** 2))

    def _improved(self, strokes: Strokes, steps: int, first: float, last: float) -> tuple[Strokes, float]:
        """The best strokes of some steps, and their loss; the rate falls geometrically."""
        best, least = strokes, np.inf
        for number, (given, loss) in enumerate(self._adam(strokes, steps, first, last)):
            if number < steps:
                self.losses.append(loss)
            if loss < least:
                best, least = given, loss
        return best, least

    def _adam(
        self, strokes: Strokes, steps: int, first: float, last: float
    ) -> Iterator[tuple[Strokes, float]]:
        """The strokes and the loss before each step (Kingma and Ba, 2015), and after the last."""
        mean = {name: np.zeros_like(getattr(strokes, name)) for name in _FIELDS}
        square = {name: np.zeros_like(getattr(strokes, name)) for name in _FIELDS}
        rates = {
            **_RATES,
            "points": _RATES["points"] * self.side / 256,
            "width": _RATES["width"] * self.side / 256,
        }
        for number in range(steps):
            error = self.painter.paint(strokes) - self.target
            yield strokes, float(np.mean(error**2))
            found = self.painter.gradient(strokes, error * (2 / error.size))
            factor = first * (last / first) ** (number / steps)
            values = {}
            for name in _FIELDS:
                slope = getattr(found, name)
                mean[name] += 0.1 * (slope - mean[name])
                square[name] += 0.01 * (slope**2 - square[name])
                up, down = mean[name] / (1 - 0.9 ** (number + 1)), square[name] / (1 - 0.99 ** (number + 1))
                values[name] = getattr(strokes, name) - factor * rates[name] * up / (np.sqrt(down) + 1e-12)
            strokes = Strokes(
                np.clip(values["points"], -self.side, 2 * max(self.target.shape)),
                np.clip(values["width"], 1.0, 2 * max(self.target.shape)), np.clip(values["colour"], 0, 1),
                np.clip(values["alpha"], 0, 1),
            )  # fmt: skip
        yield strokes, self._loss(strokes)


def _together(beneath: Strokes | None, above: Strokes) -> Strokes:
    if beneath is None:
        return above
    return Strokes(*(np.concatenate([getattr(one, name) for one in (beneath, above)]) for name in _FIELDS))


def _chosen(strokes: Strokes, which: Bools) -> Strokes | None:
    if not which.any():
        return None
    return replace(strokes, **{name: getattr(strokes, name)[which] for name in _FIELDS})

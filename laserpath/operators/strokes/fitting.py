"""The strokes of a picture: Adam on all their numbers, with strokes added, and moved, to where the error is.

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

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter

from laserpath.base.arrays import Bools, Floats
from laserpath.base.checks import between, finite_array, whole
from laserpath.base.errors import InputError, one_line
from laserpath.operators.strokes.painter import StrokePainter, Strokes

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
        for number, count in enumerate(_shares(use.strokes, use.rounds)):
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


def _shares(count: int, rounds: int) -> list[int]:
    """Of a number of strokes, in each round."""
    return [len(one) for one in np.array_split(np.arange(count), rounds)]


def _together(beneath: Strokes | None, above: Strokes) -> Strokes:
    if beneath is None:
        return above
    return Strokes(*(np.concatenate([getattr(one, name) for one in (beneath, above)]) for name in _FIELDS))


def _chosen(strokes: Strokes, which: Bools) -> Strokes | None:
    if not which.any():
        return None
    return replace(strokes, **{name: getattr(strokes, name)[which] for name in _FIELDS})

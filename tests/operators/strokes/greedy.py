"""A greedy fit, the peer of the tests: stroke after stroke, the best of many, and Adam on all so far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from laserpath.operators.strokes import StrokePainter, Strokes

FIELDS = ("points", "width", "colour", "alpha")
_TRIED = 24
"""Random strokes, of which the best is taken."""
RATES = {"points": 1.0, "width": 0.6, "colour": 0.02, "alpha": 0.02}


def smooth_drawing(size: int = 256):
    """(size, size, 3): soft discs and a bar on a gradient, which no few strokes are exactly."""
    y, x = np.mgrid[:size, :size] / size
    picture = np.stack([0.9 - 0.3 * y, 0.85 - 0.2 * x, 0.7 + 0.2 * y], axis=2)
    for cx, cy, r, colour in (
        (0.3, 0.35, 0.18, (0.8, 0.2, 0.1)), (0.62, 0.3, 0.1, (0.1, 0.3, 0.7)),
        (0.7, 0.68, 0.2, (0.2, 0.5, 0.2)), (0.25, 0.75, 0.12, (0.95, 0.8, 0.2)),
    ):  # fmt: skip
        share = 1 / (1 + np.exp((np.hypot(x - cx, y - cy) - r) * 60))
        picture += share[..., None] * (np.array(colour) - picture)
    wave = np.exp(-(((y - 0.5 - 0.08 * np.sin(9 * x)) / 0.03) ** 2))
    picture += 0.8 * wave[..., None] * (np.array((0.1, 0.1, 0.2)) - picture)
    return picture.astype(np.float32)


def greedy(painter: StrokePainter, target, count: int, calls: int, seed: int = 0):
    """The loss that it reaches with so many pictures painted, most of them with their gradient."""
    rng, size, strokes = np.random.default_rng(seed), target.shape[0], None
    steps = 0.6 * calls / count - _TRIED
    for _ in range(count):
        best = None
        for _ in range(_TRIED):
            middle, angle = rng.uniform(0, size, 2), rng.uniform(0, np.pi)
            along = rng.uniform(0.02, 0.2) * size * np.array([np.cos(angle), np.sin(angle)])
            at = np.clip(middle.astype(int), 0, size - 1)
            one = (
                [[middle - along, middle + along]], [rng.uniform(0.04, 0.3) * size], [target[at[1], at[0]]],
                [0.7],
            )  # fmt: skip
            tried = Strokes(*(_joined(strokes, name, one) for name in FIELDS))
            loss = float(np.mean((painter.paint(tried) - target) ** 2))
            if best is None or loss < best[0]:
                best = loss, tried
        strokes, _ = adam(painter, target, best[1], round(steps), (1.0, 0.3))
    return adam(painter, target, strokes, round(0.4 * calls), (0.7, 0.01))[1]


def _joined(strokes, name, one):
    new = one[FIELDS.index(name)]
    return new if strokes is None else np.concatenate([getattr(strokes, name), new])


def adam(painter, target, strokes, steps, rates):
    """(strokes, loss), the best of so many steps."""
    best = np.inf, strokes
    mean, square = (dict.fromkeys(FIELDS, 0.0) for _ in range(2))
    for n in range(1, steps + 1):
        error = painter.paint(strokes) - target
        loss = float(np.mean(error**2))
        best = min(best, (loss, strokes), key=lambda pair: pair[0])
        found = painter.gradient(strokes, error * (2 / error.size))
        values, rate = {}, rates[0] * (rates[1] / rates[0]) ** (n / steps)
        for name in FIELDS:
            slope = getattr(found, name)
            mean[name] = 0.9 * mean[name] + 0.1 * slope
            square[name] = 0.99 * square[name] + 0.01 * slope**2
            step = (mean[name] / (1 - 0.9**n)) / (np.sqrt(square[name] / (1 - 0.99**n)) + 1e-12)
            values[name] = getattr(strokes, name) - RATES[name] * rate * step
        values["points"] = np.clip(values["points"], -target.shape[0], 2 * target.shape[0])
        values["width"] = np.clip(values["width"], 1, None)
        values["colour"], values["alpha"] = np.clip(values["colour"], 0, 1), np.clip(values["alpha"], 0, 1)
        strokes = replace(strokes, **values)
    return best[1], best[0]

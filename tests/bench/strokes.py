"""The painter and its peer: `python strokes.py REQUEST` says their times as JSON.

48 strokes on 512², forward and gradient by all their numbers, float32. Measured in turns, in one process.
PyTorch paints each stroke over the whole picture, and autograd keeps what it needs for the way back.
"""

from __future__ import annotations

import time

import asked
import numpy as np

from laserpath.operators.strokes import Canvas, StrokePainter, Strokes

COUNT, PIXELS = 48, 512
FIELDS = ("points", "width", "colour", "alpha")


def problem():
    """(strokes, ∂L/∂picture): ends anywhere, widths of 2 to 20 pixels."""
    rng = np.random.default_rng(0)
    strokes = Strokes(
        rng.uniform(0, PIXELS, (COUNT, 2, 2)), rng.uniform(2, 20, COUNT), rng.random((COUNT, 3)),
        rng.uniform(0.2, 1, COUNT),
    )  # fmt: skip
    return strokes, rng.standard_normal((PIXELS, PIXELS, 3)).astype(np.float32)


def ours(painter: StrokePainter, strokes: Strokes, slope):
    """(picture, derivatives)."""
    picture, found = painter.paint(strokes), painter.gradient(strokes, slope)
    return picture, [getattr(found, name) for name in FIELDS]


def in_torch(strokes: Strokes, slope):
    import torch

    points, width, colour, alpha = given = [
        torch.tensor(getattr(strokes, name), dtype=torch.float32, requires_grad=True) for name in FIELDS
    ]
    at = torch.arange(PIXELS, dtype=torch.float32)
    x, y = at[None, :], at[:, None]
    picture = torch.ones(PIXELS, PIXELS, 3)
    for k in range(COUNT):
        (ax, ay), (bx, by) = points[k]
        ex, ey = bx - ax, by - ay
        t = (((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey)).clamp(0, 1)
        away = torch.sqrt((x - ax - t * ex) ** 2 + (y - ay - t * ey) ** 2)
        share = (alpha[k] * (0.5 + width[k] / 2 - away).clamp(0, 1))[..., None]
        picture = (1 - share) * picture + share * colour[k]
    gradients = torch.autograd.grad(picture, given, torch.from_numpy(slope))
    return picture.detach().numpy(), [one.numpy() for one in gradients]


def main(request) -> dict:
    import torch

    torch.set_num_threads(len(request["cores"]))
    painter, (strokes, slope) = StrokePainter(Canvas((PIXELS, PIXELS))), problem()
    calls = {"ours": lambda: ours(painter, strokes, slope), "torch": lambda: in_torch(strokes, slope)}
    (a, by_a), (b, by_b) = calls["ours"](), calls["torch"]()
    errors = [
        float(np.linalg.norm(x - y) / np.linalg.norm(y)) for x, y in ((a, b), *zip(by_a, by_b, strict=True))
    ]
    seconds: dict[str, list[float]] = {"ours": [], "torch": []}
    for _ in range(request["rounds"]):
        for key, count in (("ours", 9), ("torch", 1)):
            for _ in range(count):
                begin = time.perf_counter()
                calls[key]()
                seconds[key].append(time.perf_counter() - begin)
    return {**seconds, "errors": errors}


if __name__ == "__main__":
    asked.answer(main(asked.REQUEST))

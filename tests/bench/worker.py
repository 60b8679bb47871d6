"""One row in a process of its own: `python worker.py REQUEST`, a JSON object made by `campaign.Worker`.

It says what it found in one JSON line when it is ready, compiled and compared with the reference. For each
line that it then reads it computes loss and gradient once and says the seconds that took.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import asked
import numpy as np
from problem import Array, Problem, Result
from rows import BY_KEY
from scipy import fft


def main(request: dict[str, Any]) -> None:
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Taichi prints on stdout

    def say(**fields: Any) -> None:
        answer.write(json.dumps(fields) + "\n")
        answer.flush()

    row, size = BY_KEY[request["row"]], request["size"]
    task = row.task(size, request["profile"])
    peer = row.make(size, request["profile"], request["device"])
    points = task.points_and_energies()
    begin = time.perf_counter()
    result = peer(*points)
    first = time.perf_counter() - begin
    errors = compared(task, peer.dose(*points), result, Path(request["reference"]))
    sets = [points] if task.count == task.points else [points, tuple(a[: task.count // 4] for a in points)]
    for one in sets[1:]:
        peer(*one)
    bytes_moved = peer.bytes_moved(task.count) if hasattr(peer, "bytes_moved") else None
    shapes = peer.fft_shapes() if hasattr(peer, "fft_shapes") else []
    say(errors=errors, first=first, modes=getattr(peer, "modes", None), bytes=bytes_moved, fft_shapes=shapes)
    for _ in sys.stdin:
        seconds = []
        for one in sets:
            begin = time.perf_counter()
            peer(*one)
            seconds.append(time.perf_counter() - begin)
        say(seconds=extrapolated(seconds, task))


def extrapolated(seconds: list[float], task: Problem) -> float:
    """For all points, from the times for `count` and a quarter of it: what the grid takes is there once."""
    if len(seconds) == 1:
        return seconds[0]
    per_point = (seconds[0] - seconds[1]) / (task.count - task.count // 4)
    return seconds[0] + per_point * (task.points - task.count)


def compared(task: Problem, dose: Array, result: Result, folder: Path) -> dict[str, float]:
    """Deviations from the reference.

    dose: the largest, ÷ the largest dose, at the row's pixels.  loss: relative.  gradient: the larger of
    those of ∂L/∂xy and ∂L/∂e, root of the sum of squares ÷ that of the reference; gradient_max: the largest
    ÷ the largest of the reference.
    """
    exact, slopes = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("dose", "gradient"))
    loss, d_xy, d_energy = result
    expected = float(np.load(folder / "loss.npy"))
    pairs = [(np.asarray(d_xy, np.float64), slopes[:, :2]), (np.asarray(d_energy, np.float64), slopes[:, 2])]
    return {
        "dose": float(np.abs(at_pixels(dose, task) - exact).max() / exact.max()),
        "loss": abs(loss / expected - 1),
        "gradient": max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs),
        "gradient_max": max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs),
    }


def at_pixels(dose: Array, task: Problem) -> Array:
    """A dose on a coarser grid of the same square, at the row's pixels: its trigonometric interpolation."""
    n, wide = len(dose), task.pixels
    if n == wide:
        return np.asarray(dose, np.float64)
    spectrum = fft.rfft2(np.asarray(dose, np.float64))
    k = np.arange(-(n // 2) + 1, n // 2)  # without the highest, whose phase is not known
    # The first pixels' centres are not at the same place.
    shift = np.exp(1j * np.pi * k * (1 / wide - 1 / n))
    half = k >= 0
    padded = np.zeros((wide, wide // 2 + 1), np.complex128)
    padded[np.ix_(k, k[half])] = spectrum[np.ix_(k, k[half])] * shift[:, None] * shift[None, half]
    return fft.irfft2(padded, s=(wide, wide)) * (wide / n) ** 2


if __name__ == "__main__":
    main(asked.REQUEST)

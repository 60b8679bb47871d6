"""A volume found from pictures of it: docs/img/volume.png.

    python docs/figures/volume.py

A ring of changing colour is rendered from twelve cameras. From an empty volume, Adam then finds one with
the same pictures, by the marcher's gradient. The figure has a view that was not among them: of the ring, of
the volume after a few steps, and of the volume at the end.
"""

from pathlib import Path

import numpy as np
from PIL import Image

from laserpath.operators.volume import Cameras, March, RayMarcher

OUT = Path(__file__).parents[1] / "img" / "volume.png"
N, SIZE, STEPS, EARLY = 32, 56, 150, 6
"""Voxels along each side, pixels, steps in all, and those of the figure's middle."""
FIELDS = ("position", "rotation", "focal", "principal")


def ring():
    """(z, y, x, 4)."""
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, N)] * 3, indexing="ij")
    away = np.hypot(np.hypot(x, y) - 0.6, z)
    turn = np.arctan2(y, x)
    colour = [0.5 + 0.45 * np.cos(turn - shift) for shift in (0, 2.1, 4.2)]
    return np.stack([*colour, 25 * np.clip((0.25 - away) / 0.08, 0, 1)], axis=-1).astype(np.float32)


def around(size):
    """Twelve cameras in two circles."""
    made = [
        Cameras.looking_at(
            (3 * np.cos(a), 3 * np.sin(a), height), (0, 0, 0), (0, 0, 1), 1.15 * size, (size, size)
        )
        for height, first in ((1.0, 0.0), (2.6, 0.5))
        for a in first + np.arange(6) * np.pi / 3
    ]
    fields = (np.concatenate([getattr(one, name) for one in made]) for name in FIELDS)
    return Cameras(*fields, (size, size))


def found(marcher, cameras, pictures):
    """(steps done, volume) after EARLY and after all steps."""
    volume = np.full((N, N, N, 4), 0.5, np.float32)
    volume[..., 3] = 0.1
    mean, square = np.zeros_like(volume), np.zeros_like(volume)
    rate = np.array([0.05, 0.05, 0.05, 0.5], np.float32)
    for step in range(1, STEPS + 1):
        slope = marcher.gradient(volume, cameras, lambda seen: seen - pictures, by_cameras=False).volume
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        moved = volume - rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-6)
        volume = np.maximum(moved, 0).astype(np.float32)
        if step in (EARLY, STEPS):
            error = np.sqrt(np.mean((marcher.render(volume, cameras) - pictures) ** 2))
            print(f"{step} steps: the pictures differ by {error:.4f} (root mean square)")
            yield volume


def main():
    march = March((-1 + 1 / N,) * 3, (2 / N,) * 3, step=0.04, steps=100, near=1.6, jitter=1.0)
    marcher, cameras = RayMarcher(march), around(SIZE)
    target = ring()
    pictures = marcher.render(target, cameras)
    view = Cameras.looking_at((1.4, -2.4, 1.9), (0, 0, 0), (0, 0, 1), 330, (200, 240))
    fine = RayMarcher(March(march.origin, march.pitch, step=0.02, steps=200, near=1.6, jitter=1.0))
    seen = [fine.render(one, view)[0] for one in (target, *found(marcher, cameras, pictures))]
    white = np.concatenate([one[..., :3] + (1 - one[..., 3:]) for one in seen], axis=1)
    Image.fromarray((255 * np.clip(white, 0, 1)).astype(np.uint8)).save(OUT, optimize=True)
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()

"""The ray march in NumPy, written from its equations alone: the reference of the tests. One ray at a time."""

from __future__ import annotations

import numpy as np

from laserpath.operators.volume import Cameras, March


def scrambled(x: int) -> int:
    """PCG's output function on 32 bits."""
    state = (x * 747796405 + 2891336453) % 2**32
    word = (((state >> ((state >> 28) + 4)) ^ state) * 277803737) % 2**32
    return (word >> 22) ^ word


def uniform(seed: int, ray: int, step: int) -> float:
    key = scrambled((ray + scrambled(seed)) % 2**32)
    return scrambled((key + step) % 2**32) / 2**32


def field(volume, march: March, at):
    """The values (4,) at one place: trilinear between voxel centres, 0 beyond."""
    u = (np.asarray(at) - march.origin) / march.pitch
    low = np.floor(u).astype(int)
    total = np.zeros(4)
    for corner in np.ndindex(2, 2, 2):
        index = low + corner
        if (index >= 0).all() and (index < volume.shape[2::-1]).all():
            x, y, z = index
            total += np.prod(1 - np.abs(u - index)) * volume[z, y, x]
    return total


def picture(volume, march: March, cameras: Cameras):
    """(N, rows, columns, 4)."""
    out = np.zeros((len(cameras), *cameras.shape, 4))
    for ray, (n, i, j) in enumerate(np.ndindex(out.shape[:3])):
        a = (j - cameras.principal[n, 0]) / cameras.focal[n, 0]
        b = (i - cameras.principal[n, 1]) / cameras.focal[n, 1]
        d = a * cameras.rotation[n, 0] + b * cameras.rotation[n, 1] + cameras.rotation[n, 2]
        d = d / np.sqrt(d @ d)
        colour, opacity = np.zeros(3), 0.0
        for k in range(march.steps):
            t = march.near + (k + 0.5 + march.jitter * (uniform(march.seed, ray, k) - 0.5)) * march.step
            place = cameras.position[n] + t * d
            if march.box is not None and not (march.box[0] < place).all() & (place < march.box[1]).all():
                continue
            sample = field(volume, march, place)
            s = sample[3] * march.step
            if march.opacity == "clamped":
                w = min(opacity + s, 1) - opacity
            else:
                w = (1 - opacity) * (1 - np.exp(-s))
            colour, opacity = colour + w * sample[:3], opacity + w
        out[n, i, j] = *colour, opacity
    return out

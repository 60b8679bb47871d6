"""Small volumes and cameras for the tests."""

from __future__ import annotations

import numpy as np

from laserpath.operators.volume import Cameras, March

FIELDS = ("position", "rotation", "focal", "principal")
MARCH = March((-0.9, -0.8, -0.7), (0.3, 0.33, 0.35), step=0.09, steps=50, near=1.9, jitter=0.8, seed=5)


def volume(rng, shape=(5, 6, 7), density=4.0):
    """(z, y, x, 4); 4/length is dense enough for most rays to reach an opacity of 1."""
    made = rng.uniform(0.1, 1, (*shape, 4))
    made[..., 3] *= density
    return made


def together(*cameras: Cameras) -> Cameras:
    parts = (np.concatenate([getattr(one, name) for one in cameras]) for name in FIELDS)
    return Cameras(*parts, cameras[0].shape)


def two_cameras(shape=(6, 5)) -> Cameras:
    return together(
        Cameras.looking_at((0.3, -0.2, -4), (0.1, 0, 0), (0, 1, 0), 9.0, shape),
        Cameras.looking_at((3, 1.4, 2), (0, 0, 0.1), (0, 0, 1), 8.0, shape),
    )

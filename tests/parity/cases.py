"""Curves for the comparison: random ones, and the ones at which derivatives break."""

from __future__ import annotations

from functools import cache

import numpy as np

from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Spot, Toolpath

GRID = Grid(origin=(-0.51, -0.4), pitch=0.1 / 6, shape=(50, 60))
SPOT = Spot(fwhm=0.1)
NAMES = ("x", "y", "power", "speed")

Case = tuple[np.ndarray, np.ndarray, np.ndarray]
"""xy (N+1, 2) mm, power (N,) mW, speed (N,) mm/s."""


def random_curve(seed: int, moves: int = 24) -> Case:
    """Vertices, powers and speeds drawn evenly; two moves dark."""
    rng = np.random.default_rng(seed)
    power = rng.uniform(0.5, 5, moves)
    power[[3, 7]] = 0
    return rng.uniform((-0.45, -0.35), (0.42, 0.36), (moves + 1, 2)), power, rng.uniform(20, 50, moves)


def degenerate() -> dict[str, Case]:
    """What goes wrong in a careless engine: 0/0, a square root at 0, a point on a knot of the splat."""
    xy, power, speed = random_curve(5, 8)
    power = power + 1
    dot = np.full((9, 2), (0.013, -0.021))
    repeated = np.repeat(xy[:3], 3, axis=0)
    pixels = np.stack([GRID.x()[[10, 14, 14, 20, 12]], GRID.y()[[8, 8, 30, 30, 12]]], axis=1)
    tiny = xy[0] + np.cumsum(np.full((9, 2), 1e-13), axis=0)
    return {
        "zero-length segment": (np.insert(xy, 4, xy[4], axis=0)[:9], power, speed),
        "all in one place": (dot, power, speed),
        "repeated points": (repeated, power, speed),
        "a segment there and back": (xy[[0, 1, 0, 1, 0, 2, 0, 2, 2]], power, speed),
        "segments of 1e-13 mm": (tiny, power, speed),
        "zero power at some": (xy, power * (np.arange(8) % 2), speed),
        "zero power at all": (xy, 0 * power, speed),
        "one segment": (xy[:2], power[:1], speed[:1]),
        "one point": (xy[:1], power[:0], speed[:0]),
        "no point": (xy[:0], power[:0], speed[:0]),
        "along rows and columns, from pixel to pixel": (pixels, power[:4], speed[:4]),
        "nine decades of line energy": (xy, 10.0 ** np.linspace(-4, 1, 8), 10.0 ** np.linspace(3, -1, 8)),
    }


def toolpath(case: Case) -> Toolpath:
    return Toolpath(*case)


def in_four(xy: np.ndarray, power: np.ndarray, speed: np.ndarray) -> dict[str, np.ndarray]:
    """The four gradients by their names."""
    return dict(zip(NAMES, (xy[:, 0], xy[:, 1], power, speed), strict=True))


D_DOSE = np.random.default_rng(9).normal(size=GRID.shape)
"""∂L/∂D of all comparisons: rough, so that no symmetry hides anything."""
RANDOM = {f"random curve {seed}": random_curve(seed) for seed in range(3)}
DEGENERATE = degenerate()
CASES = RANDOM | DEGENERATE


SET_UPS = {
    "airy": (SPOT, 1e-3),
    "gaussian": (Spot(fwhm=0.1, profile="gaussian"), 1e-3),
    "airy to 1e-6": (SPOT, 1e-6),
}
"""Spot, tolerance."""


@cache
def model(set_up: str, precision: str) -> DoseModel:
    spot, tolerance = SET_UPS[set_up]
    return DoseModel(GRID, spot, precision=precision, tolerance=tolerance)


def by_engine(case: Case, precision: str, set_up: str = "airy") -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The model's dose and four gradients."""
    path, one = toolpath(case), model(set_up, precision)
    gradient = one.gradient(path, D_DOSE)
    return one.dose(path), in_four(gradient.xy, gradient.power, gradient.speed)

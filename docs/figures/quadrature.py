"""How long a segment n Gauss–Legendre points can stand for: the table in `laserpath.physics.dose.segments`.

    python docs/figures/quadrature.py

For each n and error, the longest segment (in FWHM) whose dose is everywhere within that error of its peak,
the smaller of an Airy and a Gaussian spot's, found by bisection against 80 points.
"""

import numpy as np

from laserpath.physics import optics
from laserpath.types import Spot

ERRORS = (5e-4, 5e-5, 5e-6, 5e-7)
SPOTS = (Spot(1.0), Spot(1.0, "gaussian"))
X, Y = np.meshgrid(np.linspace(0, 4, 161), np.linspace(0, 2, 41))
FINE = np.polynomial.legendre.leggauss(80)


def dose(spot, length, node, weight):
    """Of a segment of line energy 1 about the origin, along x; symmetric, so a quarter is enough."""
    return sum(w * optics.profile(spot, X - t * length / 2, Y) for t, w in zip(node, weight, strict=True))


def longest(spot, points, error):
    rule = np.polynomial.legendre.leggauss(points)
    low, high = 0.0, 4.0
    for _ in range(14):
        length = (low + high) / 2
        exact = dose(spot, length, *FINE)
        good = np.abs(dose(spot, length, *rule) - exact).max() <= error * exact.max()
        low, high = (length, high) if good else (low, length)
    return low


def rounded(length):
    """Down to two digits."""
    step = 0.001 if length < 0.1 else 0.01
    return f"{step * np.floor(length / step):.{3 if length < 0.1 else 2}f}"


for error in ERRORS:
    row = (min(longest(spot, n, error) for spot in SPOTS) for n in range(1, 9))
    print(f"{error:g}: ({', '.join(map(rounded, row))}),")

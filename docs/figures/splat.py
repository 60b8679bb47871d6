"""Error against cost of the splat, and of the quadrature: the tables in docs/dose.md.

    python docs/figures/splat.py           # prints them
    python docs/figures/splat.py --write   # and puts them between the markers of docs/dose.md

A splat's error: the largest deviation of a point's dose from the spot, relative to the peak, anywhere
and over 16 offsets within a pixel. Its cost: forward and adjoint, one thread, for a square of
200 FWHM with 100 000 points.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from laserpath.physics import optics
from laserpath.physics.dose import DoseModel, engine, fft
from laserpath.physics.dose.segments import to_points
from laserpath.types import Grid, Spot

PAGE = Path(__file__).parents[1] / "dose.md"
ORDERS = {2: "bilinear", 4: "cubic", 6: "quintic", 8: "of order 8", 10: "of order 10"}
PIXELS = (2.5, 3.0, 4.0, 6.0, 8.0)
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def grid(half, per_fwhm):
    """Square, about the origin, in FWHM."""
    n = int(np.ceil(half * per_fwhm))
    return Grid((-n / per_fwhm, -n / per_fwhm), 1 / per_fwhm, (2 * n + 1, 2 * n + 1))


def made(on, spot, order, per_fwhm, precision="f64"):
    """An engine with a splat of this order and pitch, whatever its tolerance says."""
    chosen = fft._resolution
    fft._resolution = lambda *_: (order, 1 / per_fwhm)
    try:
        return fft.FftEngine(on, spot, precision, 1e-3 if precision == "f32" else 1e-6)
    finally:
        fft._resolution = chosen


def point_error(one, spot):
    x, y = np.meshgrid(one.grid.x(), one.grid.y())
    step = one.splat.pitch[0] / 4
    worst = 0.0
    for i in range(4):
        for j in range(4):
            at = np.array([[i * step, j * step]])
            exact = optics.profile(spot, x - at[0, 0], y - at[0, 1])
            worst = max(worst, np.abs(one.spread(at, np.ones(1)) - exact).max())
    return worst / optics.profile(spot, 0, 0)


def cost(order, per_fwhm):
    """Ms of a forward and an adjoint call."""
    one = made(grid(100, 4), Spot(1.0), order, per_fwhm, "f32")
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(0, 0.5, (100_000, 2)), axis=0)
    xy, energy = np.abs((walk % 360) - 180) - 90, rng.uniform(0, 1, len(walk))
    slope = rng.normal(size=one.grid.shape).astype(np.float32)
    times = []
    for _ in range(6):
        start = time.perf_counter()
        one.spread(xy, energy)
        one.gather(xy, energy, slope)
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times[1:]))


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def splats():
    """Orders × pixels per FWHM: error of an Airy / a Gaussian spot, and cost."""
    yield row("spline", *(f"{p:g} px" for p in PIXELS)) + "\n|" + "---|" * (len(PIXELS) + 1)
    spots = (Spot(1.0), Spot(1.0, "gaussian"))
    for order, name in ORDERS.items():
        cells = []
        for per_fwhm in PIXELS:
            airy, gauss = (point_error(made(grid(2, 8), spot, order, per_fwhm), spot) for spot in spots)
            cells.append(f"{airy:.0e} / {gauss:.0e} · {cost(order, per_fwhm):.0f} ms")
        yield row(name, *cells)


def chosen():
    """What the engine takes for a tolerance, and what that gives."""
    head = ("tolerance", "spot", "spline", "px/FWHM", "dark rim, FWHM", "a point", "a line", "a flat area")
    yield row(*head) + "\n|" + "---|" * len(head)
    for tolerance in TOLERANCES:
        for profile in ("airy", "gaussian"):
            spot = Spot(1.0, profile)
            model = DoseModel(grid(8, 6), spot, precision="f64", tolerance=tolerance)
            one = model.engine
            rim = (one.padded.shape[0] - one.grid.shape[0]) / 6
            errors = point_error(one, spot), line_error(model, spot), area_error(one, spot)
            pixels = f"{1 / one.splat.pitch[0]:.2f}"
            shown = (f"{error:.1e}" for error in errors)
            yield row(f"{tolerance:g}", profile, ORDERS[one.splat.order], pixels, f"{rim:.1f}", *shown)


def plain(spot, on, xy, energy):
    """Σ e h on the pixels, row by row."""
    x, y = on.x(), on.y()
    total = np.zeros(on.shape)
    for at, e in zip(xy, energy, strict=True):
        total += e * optics.profile(spot, x[None, :] - at[0], y[:, None] - at[1])
    return total


def line_error(model, spot):
    """The worst of five segments, 0.3 to 13 FWHM long; 10 points per FWHM are the reference."""
    worst = 0.0
    for length in (0.3, 0.95, 2.7, 6.1, 13.0):
        turn = np.array([np.cos(0.6), np.sin(0.6)]) * length / 2
        ends = np.array([0.013, -0.021]) + np.array([-turn, turn])
        points = to_points(ends, np.ones(1), 0.2, 1e-6)
        exact = plain(spot, model.grid, points.xy, points.energy)
        worst = max(worst, np.abs(model.line_dose(ends, np.ones(1)) - exact).max() / exact.max())
    return worst


def area_error(one, spot):
    """Of points 1/3 FWHM apart all over the picture: where a spot's cut tail or a copy would show."""
    side = np.arange(-7, 7, 1 / 3)
    xy = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    exact = plain(spot, one.grid, xy, np.ones(len(xy)))
    return np.abs(one.spread(xy, np.ones(len(xy))) - exact).max() / exact.max()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one thread
    engine(grid(2, 4), Spot(1.0))
    for name, lines in (("splats", splats()), ("chosen", chosen())):
        table = "\n".join(lines)
        print(table, end="\n\n")
        if write:
            text = PAGE.read_text(encoding="utf-8")
            begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
            head, rest = text.split(begin)
            tail = rest.split(end)[1]  # either marker missing: an error, and the page as it was
            PAGE.write_text(f"{head}{begin}\n{table}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()

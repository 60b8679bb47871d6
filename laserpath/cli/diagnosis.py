"""Diagnosis of this computer: versions, device, Taichi's cache, and a self-test with numbers.

| check | what is compared | largest difference |
| --- | --- | --- |
| dose | a long line of the default spot, against q·8k/(3π²), k = 2·1.61634/FWHM (`framing`) | 1e-3 |
| gradient | ∂L/∂y of a vertex by the adjoint, against a central difference | 1e-3 |
| G-code | moves, written and parsed back in each dialect | none |
| cured width | the line where D = D_c, on the grid, against the profile's root | 1 % of FWHM |
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

import numpy as np
from scipy.optimize import brentq

import gcode
from laserpath import __version__
from laserpath.base.arrays import Floats
from laserpath.base.compute.runtime import cache_folder, cpu_count, device, ti
from laserpath.base.errors import InputError
from laserpath.config import profiles
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Machine, Spot, Toolpath

PACKAGES = ("taichi", "numpy", "scipy", "numba", "shapely", "matplotlib")
_Q = 0.02
"""Line energy, mJ/mm: 1 mW at 50 mm/s."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the self-test. result: a phrase.  limit: the largest error allowed.  seconds: duration."""

    name: str
    result: str
    error: float
    limit: float
    seconds: float

    @property
    def good(self) -> bool:
        """Whether the error is within its limit."""
        return bool(self.error <= self.limit)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """facts: name → value, for bug reports.  checks: the self-test."""

    facts: dict[str, str]
    checks: tuple[Check, ...]

    @property
    def good(self) -> bool:
        """Whether every check passed."""
        return all(check.good for check in self.checks)


def diagnose() -> Diagnosis:
    """Collect the facts and run the self-test: a few seconds, more if Taichi has to compile."""
    return Diagnosis(facts(), tuple(_timed(name, test, limit) for name, test, limit in _TESTS))


def facts() -> dict[str, str]:
    """Versions, device, folders."""
    return {
        "laserpath": __version__,
        **{name: _version(name) for name in PACKAGES},
        "python": f"{platform.python_version()}, {sys.executable}",
        "system": f"{platform.platform()}, {cpu_count()} processors",
        "device": device(),
        "taichi cache": _cache(),
        "profiles": str(profiles.user_folder()),
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cache() -> str:
    """Folder and size of Taichi's cache of compiled kernels."""
    folder = cache_folder(ti.cfg)
    if not ti.cfg.offline_cache:
        return "off: every start compiles anew"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else 0
    return f"{folder}, {size / 1e6:.1f} MB"


def _timed(name: str, test: Callable[[], tuple[str, float]], limit: float) -> Check:
    start = time.perf_counter()
    try:
        result, error = test()
    except (InputError, gcode.GcodeError, RuntimeError) as problem:
        result, error = " ".join(str(problem).split()), float("inf")
    return Check(name, result, error, limit, time.perf_counter() - start)


def _line() -> tuple[Spot, Grid, Toolpath]:
    """A line along x, much longer than the spot is wide, on a grid around its middle."""
    spot = Spot()
    pitch = spot.fwhm / 10
    grid = Grid((-10 * pitch, -40 * pitch), pitch, (81, 21))
    return spot, grid, Toolpath(np.array([[-0.19, 0.0], [0.19, 0.0]]) * 10, np.ones(1), np.full(1, 50.0))


def _dose() -> tuple[str, float]:
    spot, _, path = _line()
    pitch = spot.fwhm / 10
    grid = Grid((-250 * pitch, -8 * pitch), pitch, (17, 501))
    computed = float(DoseModel(grid, spot, precision="f64", tolerance=1e-5).dose(path)[8, 250])
    k = 2 * 1.61634 / spot.fwhm
    exact = _Q * 8 * k / (3 * np.pi**2)
    return f"{computed:.6f} mJ/mm² on a line, {exact:.6f} in closed form", abs(computed / exact - 1)


def _gradient() -> tuple[str, float]:
    spot = Spot()
    grid = Grid((-0.5, -0.5), spot.fwhm / 6, (61, 61))
    model = DoseModel(grid, spot, precision="f64", tolerance=1e-6)
    xy = np.array([[-0.2, -0.1], [0.05, 0.11], [0.3, -0.05]])
    weight = np.sin(7 * grid.x())[None, :] * np.cos(5 * grid.y())[:, None]

    def loss(shift: float) -> float:
        return float((model.line_dose(xy + [[0, 0], [0, shift], [0, 0]], np.full(2, _Q)) * weight).sum())

    step = 1e-4
    exact = (loss(step) - loss(-step)) / (2 * step)
    computed = float(model.line_gradient(xy, np.full(2, _Q), weight).xy[1, 1])
    return f"{computed:.6g} per mm, {exact:.6g} by differences", abs(computed / exact - 1)


def _width() -> tuple[str, float]:
    spot, grid, path = _line()
    dose = DoseModel(Grid((-4.0, grid.origin[1]), grid.pitch, (81, 801)), spot, precision="f64").dose(path)
    profile = dose[:, 400]
    critical = 0.5 * float(profile.max())
    above = np.flatnonzero(profile >= critical)
    y, i, j = grid.y(), above[0], above[-1]
    low = np.interp(critical, profile[[i - 1, i]], y[[i - 1, i]])
    high = np.interp(critical, profile[[j + 1, j]], y[[j + 1, j]])
    exact = 2 * brentq(lambda y: _across(spot, y) / _across(spot, 0.0) - 0.5, 0.01, 0.09)
    return f"{high - low:.5f} mm wide, {exact:.5f} by quadrature", abs(high - low - exact) / spot.fwhm


def _across(spot: Spot, y: float) -> float:
    """∫ h(s, y) ds of a long line, in equal steps, which is exact for a band-limited h."""
    s = spot.fwhm / 16 * np.arange(-2000, 2001)
    values: Floats = optics.profile(spot, s, np.full_like(s, y))
    return float(values.sum() * spot.fwhm / 16)


def _gcode() -> tuple[str, float]:
    """Number of dialects in which writing and parsing changes the moves."""
    square = np.array([[0, 0], [10, 0], [10, 5], [0, 5.0]])
    path = Toolpath(square, np.array([0, 5.0, 2.5]), np.full(3, 50.0))
    changed = 0
    for name in gcode.DIALECTS:
        dialect = gcode.dialect(name)
        moves = convert.to_moves(path, Machine(dialect=name))
        back = gcode.parse(gcode.write(moves, dialect, dialect.power_max), dialect, dialect.power_max)
        same = len(back) == len(moves) and np.allclose(back.xy, moves.xy, atol=1e-3)
        changed += not (same and np.allclose(back.power, moves.power, atol=1 / dialect.power_max))
    return f"{len(gcode.DIALECTS)} dialects written and read", float(changed)


_TESTS: tuple[tuple[str, Callable[[], tuple[str, float]], float], ...] = (
    ("dose", _dose, 1e-3),
    ("gradient", _gradient, 1e-3),
    ("cured width", _width, 1e-2),
    ("G-code", _gcode, 0.0),
)

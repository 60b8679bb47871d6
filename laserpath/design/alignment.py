"""The transform from a drawing to the machine, fitted to marks by least squares.

Marks x_i of the drawing are found at y_i on the machine. With their centroids x̄ and ȳ,

    y = ȳ + A (x − x̄),    A = R(θ) · (s_x  s_y sin(−κ) ; 0  s_y cos κ)

minimises Σ|y_i − y(x_i)|² over A = 1 (shift), R(θ) (rotation), s R(θ) (scale) or any A (affine). Rotation and
scale have closed forms in the plane: θ is the angle of Σ (c̄_i d_i), and s = |Σ c̄_i d_i| / Σ|c_i|², with the
centred marks c, d as complex numbers (S. Umeyama, IEEE Trans. PAMI 13 (1991) 376, in two dimensions).

Near the solution every fit is linear: with m_i = A (x_i − x̄), y moves by δt + Σ_k δ_k G_k m_i, where the G_k
are a quarter turn (rotation), also the identity (scale), or the four unit matrices (affine). With the
matrix J of these movements, ν = 2n − p degrees of freedom and s² = Σ|r_i|²/ν, the covariance of (δt, δ) is
s² (JᵀJ)⁻¹, and a value with gradient g is known within ± t_{0.975, ν} √(gᵀ s² (JᵀJ)⁻¹ g), Student's t
(N. Draper, H. Smith, Applied Regression Analysis, 3rd ed., 1998, chapters 5 and 24). The gradients of
rotation, scales and skew follow from the axes' images a = A e, which move by δa = δ_k G_k a: along a that
changes the scale, across it the angle.

Fiducial j is an outlier if leaving it out lowers the sum S of squares to S_j such that
F = ((S − S_j)/2) / (S_j/(ν − 2)) exceeds the F distribution's quantile of 1 − 0.05/n, for the mark with the
largest F (R. Cook, S. Weisberg, Residuals and Influence in Regression, 1982, section 2.2.2, with the
Bonferroni bound; two values are left out with a mark).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.checks import one_of
from laserpath.base.entry_points import ALIGN_FITS
from laserpath.base.errors import InputError, figure
from laserpath.base.quantities import LENGTH, convert, lengths, parse
from laserpath.types import Point
from laserpath.types.drawing import Alignment, Fiducial, Fitted

COLUMNS = ("mark", "design_x_mm", "design_y_mm", "machine_x_mm", "machine_y_mm")
"""Of a table of marks: the last two are filled in where the marks were found."""

_MOST = 100
_APART = 1e-3
"""mm; marks nearer to each other are the same."""
_LINE = 0.01
"""Width ÷ length of the marks, below which they lie on a line."""
_SCALE, _SKEW = 0.05, 2.0
"""Scale off 1, and skew in degrees, beyond which marks must be mistaken: no machine is that wrong."""
_CONFIDENCE, _ERROR = 0.95, 0.05

_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
_UNITS = [np.outer(row, column) for row in np.eye(2) for column in np.eye(2)]
_MOVEMENTS = {"shift": [], "rotation": [_TURN], "scale": [_TURN, np.eye(2)], "affine": _UNITS}
"""The G_k of each fit."""
_LEAST = {"shift": 1, "rotation": 2, "scale": 2, "affine": 3}
"""Marks that each fit needs."""


def fit_marks(marks: Sequence[Fiducial], fit: str = "auto", corners: ArrayLike = ()) -> Alignment:
    """The alignment of a drawing whose marks were found on the machine.

    fit: one of `ALIGN_FITS`, or 'auto': a shift for one mark, rotation for two, affine for more.
    corners: (C, 2) mm, of the drawing, for `Alignment.placed`.
    Raises InputError for marks that do not determine it, or that ask for what no machine does.
    """
    marks = tuple(marks)
    _check(marks)
    check_fit(fit)
    if fit == "auto":
        fit = {1: "shift", 2: "rotation"}.get(len(marks), "affine")
    if len(marks) < _LEAST[fit]:
        raise InputError(
            f"an alignment by {fit} needs {_LEAST[fit]} marks, but {len(marks)} "
            f"{'is' if len(marks) == 1 else 'are'} given"
        )
    x, y = (np.array([getattr(mark, where) for mark in marks]) for where in ("design", "machine"))
    if fit == "affine" and _on_a_line(x):
        raise InputError(
            f"the {len(marks)} marks lie on a line, so skew and the scale across it are unknown; add a mark "
            "away from the line, or correct less: --align-fit scale"
        )
    suspect = _suspect(marks, x, y, fit)
    _check_plausible(x, y, suspect)
    return replace(_estimated(marks, x, y, fit, np.reshape(corners, (-1, 2))), suspect=suspect)


def check_fit(fit: str) -> None:
    """Raise for a fit that is unknown."""
    one_of("alignment", fit, ("auto", *ALIGN_FITS))


def _check(marks: tuple[Fiducial, ...]) -> None:
    """Raise for too many marks, and for two that are one."""
    if not 1 <= len(marks) <= _MOST:
        raise InputError(f"{len(marks)} marks are given, but must be 1 to {_MOST}")
    for k, one in enumerate(marks):
        for other in marks[:k]:
            if math.dist(one.design, other.design) < _APART:
                raise InputError(f"mark {one} is given twice, at {_at(other)} and at {_at(one)}; keep one")
            if math.dist(one.machine, other.machine) < _APART:
                raise InputError(
                    f"marks {other} and {one} are both found at {_at(one)}: one of them is wrong"
                )


def _at(mark: Fiducial) -> str:
    return "{:g},{:g} mm".format(*mark.machine)


def _on_a_line(x: Floats) -> bool:
    long, short = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    return bool(short < _LINE * long)


def _solved(x: Floats, y: Floats, fit: str) -> Floats:
    """(2, 2) the A that fits best."""
    c, d = x - x.mean(axis=0), y - y.mean(axis=0)
    if fit == "shift":
        return np.eye(2)
    if fit == "affine":
        return np.asarray(np.linalg.lstsq(c, d, rcond=None)[0]).T
    turned = np.sum((c @ (1, -1j)) * (d @ (1, 1j)))
    turned /= np.abs(turned) if fit == "rotation" else np.sum(c**2)
    return np.array([[turned.real, -turned.imag], [turned.imag, turned.real]])


def _residuals(x: Floats, y: Floats, matrix: Floats) -> Floats:
    """(N, 2) mm, found minus where the transform puts them."""
    return (y - y.mean(axis=0)) - (x - x.mean(axis=0)) @ matrix.T


def _freedom(n: int, fit: str) -> int:
    return 2 * n - 2 - len(_MOVEMENTS[fit])


def _estimated(marks: tuple[Fiducial, ...], x: Floats, y: Floats, fit: str, corners: Floats) -> Alignment:
    """The alignment with its intervals."""
    matrix, middle = _solved(x, y, fit), x.mean(axis=0)
    off, freedom = _residuals(x, y, matrix), _freedom(len(x), fit)
    shift = y.mean(axis=0) - matrix @ middle
    covariance = _covariance((x - middle) @ matrix.T, fit)
    # Student's t times the standard deviation of one coordinate of one mark.
    wide = (
        scipy.special.stdtrit(freedom, (1 + _CONFIDENCE) / 2) * np.sqrt((off**2).sum() / freedom)
        if freedom
        else None
    )
    values, gradients = _figures(matrix, fit)
    known = np.sqrt(np.einsum("ij,jk,ik->i", gradients, covariance, gradients))
    rotation, x_scale, y_scale, skew = (
        Fitted(float(value), float(wide * one) if wide is not None and one else None)
        for value, one in zip(values, known, strict=True)
    )
    placed = None
    if wide is not None and len(corners):
        moved = _moving((corners - middle) @ matrix.T, fit)
        placed = float(wide * np.sqrt(np.einsum("ij,jk,ik->i", moved, covariance, moved).max()))
    (a, b), (d, e) = matrix.tolist()
    return Alignment(
        marks, fit, (a, b, d, e, float(shift[0]), float(shift[1])),
        tuple((float(dx), float(dy)) for dx, dy in off), rotation, (x_scale, y_scale), skew, placed,
    )  # fmt: skip


def _moving(m: Floats, fit: str) -> Floats:
    """(2N, p) J: how the images m (N, 2) of points move with the shift and each G_k; x and y alternate."""
    columns = [np.tile(axis, len(m)) for axis in np.eye(2)]
    columns += [(m @ g.T).ravel() for g in _MOVEMENTS[fit]]
    return np.stack(columns, axis=1)


def _covariance(m: Floats, fit: str) -> Floats:
    """(p, p) (JᵀJ)⁻¹."""
    j = _moving(m, fit)
    return np.asarray(np.linalg.inv(j.T @ j))


def _figures(matrix: Floats, fit: str) -> tuple[Floats, Floats]:
    """((4,) rotation, scales of x and y, skew; angles in degrees, (4, p) their gradients)."""
    axes = matrix.T
    angle, scale = np.degrees(np.arctan2(axes[:, 1], axes[:, 0])), np.hypot(*matrix)
    skew = (angle[1] - angle[0]) % 360 - 90
    gradients = np.zeros((4, 2 + len(_MOVEMENTS[fit])))
    for k, g in enumerate(_MOVEMENTS[fit], start=2):
        moved = axes @ g.T
        along = (axes * moved).sum(axis=1) / scale
        across = (axes[:, 0] * moved[:, 1] - axes[:, 1] * moved[:, 0]) / scale**2
        turned = np.degrees(across)
        gradients[:, k] = turned[0], along[0], along[1], turned[1] - turned[0]
    return np.array([angle[0], *scale, skew]), gradients


def _check_plausible(x: Floats, y: Floats, suspect: str) -> None:
    """Raise if the marks ask for a mirror image, a scale or a skew that no machine has, whatever the fit."""
    if len(x) < 2:
        return
    full = len(x) > 2 and not _on_a_line(x)
    matrix = _solved(x, y, "affine" if full else "scale")
    because = f"; {suspect}" if suspect else ""
    if full and np.linalg.det(matrix) < 0:
        raise InputError(f"the marks are mirrored on the machine; add --mirror x, or check them{because}")
    (_, *scales, skew), _ = _figures(matrix, "affine")
    for axis, scale in zip(("in x", "in y") if full else ("",), scales, strict=False):
        if not abs(scale - 1) <= _SCALE:
            raise InputError(
                f"the marks ask for a scale of {figure(scale, 4)} {axis}".rstrip()
                + f", but {1 - _SCALE:g} to {1 + _SCALE:g} is the limit: check the marks and their "
                f"units, or size the drawing first (--scale){because}"
            )
    if full and abs(skew) > _SKEW:
        raise InputError(
            f"the marks ask for a skew of {figure(skew)} degrees, but {_SKEW:g} is the limit: check "
            f"whether each belongs to its place{because}"
        )


def _suspect(marks: tuple[Fiducial, ...], x: Floats, y: Floats, fit: str) -> str:
    """A sentence on the outlier, or ''. A fit with too few marks to name one is replaced by a stiffer one."""
    n = len(marks)
    fit = next((one for one in ALIGN_FITS[ALIGN_FITS.index(fit) :: -1] if _freedom(n - 1, one) > 0), "")
    if n < 4 or not fit:
        return ""
    total, free = float((_residuals(x, y, _solved(x, y, fit)) ** 2).sum()), _freedom(n - 1, fit)
    without = []
    for j in range(n):
        others = np.arange(n) != j
        off = _residuals(x[others], y[others], _solved(x[others], y[others], fit))
        without.append(float((off**2).sum()))
    j = int(np.argmin(without))
    ratio = (total - without[j]) / 2 * free / max(without[j], np.finfo(float).tiny)
    if total < (_APART / 10) ** 2 or scipy.special.fdtrc(2, free, ratio) > _ERROR / n:
        return ""
    before, after = (figure(1000 * np.sqrt(square / n), 2) for square in (total, without[j]))
    return (
        f"mark {marks[j]} does not agree with the other {n - 1}: without it they are off by {after} um "
        f"instead of {before} um (root mean square); measure it again, or leave it out"
    )


# As written


def marks_of(given: Iterable[str | Fiducial]) -> tuple[Fiducial, ...]:
    """Marks as written on a command line, `10,20=110.2,35.1mm`, also with `NAME:` before, and CSV files."""
    marks: list[Fiducial] = []
    for one in given:
        if isinstance(one, Fiducial):
            marks.append(one)
        elif "=" in one:
            marks.append(mark_of(one))
        else:
            path = Path(one)
            measured = measured_in(path)
            if not measured:
                raise InputError(f"{path}: no mark has its machine_x_mm and machine_y_mm filled in")
            marks.extend(measured)
    return tuple(marks)


def mark_of(text: str) -> Fiducial:
    """`10,20=110.2,35.1mm` → the mark."""
    name, _, places = text.rpartition(":")
    parts = [place.split(",") for place in places.split("=")]
    if [len(part) for part in parts] != [2, 2]:
        raise InputError(f"{text!r} is not a mark such as 10,20=110.2,35.1mm: drawn place = found place")
    design, machine = map(point_of, parts)
    return Fiducial(design, machine, name.strip())


def point_of(parts: Sequence[str]) -> Point:
    """`10`, `20um` → (x, y) mm; a bare x has the unit of y, and a bare y is in mm."""
    x, y = lengths(parts)
    return x, y


def as_text(mark: Fiducial) -> str:
    """The mark as `mark_of` reads it, for a project file."""
    x, y = (",".join(f"{value:.12g}" for value in place) for place in (mark.design, mark.machine))
    name = "".join(c for c in mark.name if c not in ':="\\\n')
    return f"{name}:{x}={y}" if name else f"{x}={y}"


def measured_in(path: Path) -> list[Fiducial]:
    """The marks of a table; rows whose machine columns are empty are not yet measured, and left out."""
    try:
        text = limits.content(path, "table of marks").decode("utf-8-sig", "replace")
        lines = text.splitlines()
        head = next((line for line in lines if line.strip() and not line.startswith("#")), "")
        delimiter = max(",;\t", key=head.count)
        rows = csv.DictReader((line for line in lines if not line.startswith("#")), delimiter=delimiter)
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise InputError(f"column {missing[0]!r} is missing; a table of marks has {', '.join(COLUMNS)}")
        return [mark for row in rows for mark in _of_row(row, delimiter)]
    except csv.Error as error:
        raise InputError(f"{path}: it is not a CSV file: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _of_row(row: dict[str, str | None], delimiter: str) -> list[Fiducial]:
    """The mark of a row, if it was measured."""
    name, *cells = ((row.get(column) or "").strip() for column in COLUMNS)
    if not any(cells[2:]):
        return []
    values = []
    for column, cell in zip(COLUMNS[1:], cells, strict=True):
        if not cell:
            raise InputError(f"mark {name!r} has no {column}")
        try:
            values.append(
                convert(*parse(cell.replace(",", ".") if delimiter != "," else cell, LENGTH, "mm"), LENGTH)
            )
        except InputError as error:
            raise InputError(f"mark {name!r}, {column}: {error}") from None
    return [Fiducial((values[0], values[1]), (values[2], values[3]), name)]

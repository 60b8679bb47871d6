"""Heights of the bed as users have them → `Heights`.

    0,0,0:100,0,0.2:0,80,-0.1     three points or more, x,y,z in mm: a plane, or what a file of them is
    bed.csv                       columns x, y, z, with a unit or not: x_mm, z_um
    printer.cfg                   Klipper's mesh: [bed_mesh default], also as SAVE_CONFIG leaves it
    printer.cfg@50,30             the work zero is at 50, 30 mm of its coordinates

Points that are a full grid are bilinear between. Others are fitted by least squares: three to five by a
plane, six or more also by a bow,

    z = a + b x + c y (+ d x² + e x y + f y²),

and a point that is far from all others is refused. Three points are a plane that goes on beyond them, as far
again as they are apart. Klipper's mesh has its first row at min_y, and bicubic or Lagrange points between are
left out.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.base.quantities import LENGTH, lengths
from laserpath.types import Heights

_FARTHEST = 1e5
"""mm"""
_MOST = 2500
"""Points; a larger number makes the heads of programs long."""
_BOWED = 6
"""Points from which a bow is fitted, too."""
_BOW_GRID = 9
"""Places along x, and along y, on which a bow is tabulated: it is within 1/64 of its height between them."""
_OUTLIER, _OUTLIER_MM = 8.0, 0.1
"""Residual of an outlier: in standard deviations by the median, and at least in mm."""
_THIN = 0.02
"""Width ÷ length of the points, below which they lie on a line."""


def read(given: str, folder: Path = Path()) -> Heights:
    """The heights of a text or a file. folder: that the file is in, unless it is absolute."""
    if are_points(given):
        return _of_points(_points(given))
    name, at, zero = given.partition("@")
    shift = np.zeros(2)
    if at:
        parts = zero.split(",")
        if len(parts) != 2:
            raise InputError(f"heights {given!r} must end in a place such as @50,30mm, or in the file's name")
        shift = np.array(lengths(parts))
    path = folder / name
    content = limits.content(path, "heights", limits.TABLE_BYTES).decode("utf-8", "replace")
    try:
        points = _mesh(content) if re.search(r"^\W*\[bed_mesh", content, re.M) else _table(content)
        points[:, :2] -= shift
        return _of_points(points)
    except InputError as error:
        raise InputError(f"heights {str(path)!r}: {error}") from None


def are_points(given: str) -> bool:
    """Whether heights are the points themselves, not a file; its `@X,Y` does not count."""
    return "," in given.partition("@")[0]


def text(heights: Heights) -> str:
    """The text of which `read` makes the same."""
    return ":".join(
        f"{x:.9g},{y:.9g},{z:.9g}"
        for y, row in zip(heights.y, heights.z, strict=True)
        for x, z in zip(heights.x, row, strict=True)
    )


def _points(given: str) -> Floats:
    """(N, 3) of `x,y,z:x,y,z:…`"""
    rows = [one.split(",") for one in re.split(r"[:;\s]+", given.strip())]
    if any(len(row) != 3 for row in rows):
        raise InputError(f"heights {given[:40]!r} must be points x,y,z such as 0,0,0:100,0,0.2:0,80,-0.1mm")
    return np.array(lengths([part for row in rows for part in row])).reshape(-1, 3)


def _table(content: str) -> Floats:
    """(N, 3) mm of a CSV."""
    lines = [
        line for line in content.lstrip("\ufeff").splitlines() if line.strip() and line.strip()[0] != "#"
    ]
    if not lines:
        raise InputError("it is empty")
    rows = [
        [cell.strip() for cell in row] for row in csv.reader(lines, delimiter=max(",;\t", key=lines[0].count))
    ]
    units, columns = ["mm"] * 3, [0, 1, 2]
    if not re.match(r"[-+.\d]", rows[0][0]):
        names = [re.fullmatch(r"([xyz])(?:_(mm|um))?", cell.lower()) for cell in rows.pop(0)]
        found = {name[1]: (k, name[2] or "mm") for k, name in enumerate(names) if name}
        if set(found) != set("xyz"):
            raise InputError("it has no columns x, y and z, such as x_mm, y_mm, z_um")
        columns, units = [found[axis][0] for axis in "xyz"], [found[axis][1] for axis in "xyz"]
    points = np.zeros((len(rows), 3))
    for number, row in enumerate(rows):
        if len(row) <= max(columns):
            raise InputError(f"row {number + 1} has {len(row)} cells, but x, y and z are needed")
        for axis, (k, unit) in enumerate(zip(columns, units, strict=True)):
            try:
                points[number, axis] = float(row[k]) * float(LENGTH[unit])
            except ValueError:
                raise InputError(f"row {number + 1}: {row[k]!r} is not a number") from None
    return points


def _mesh(content: str) -> Floats:
    """(N, 3) mm of Klipper's mesh: the saved one named 'default', or else the first that has points."""
    plain = re.sub(r"^#\*#[ \t]?", "", content, flags=re.M)
    sections = re.split(r"^\[", plain, flags=re.M)
    meshes = [one for one in sections if re.match(r"bed_mesh [^\]]+\]", one) and "points" in one]
    if not meshes:
        raise InputError("its [bed_mesh] has no saved points: run BED_MESH_CALIBRATE and SAVE_CONFIG first")
    mesh = next((one for one in meshes if one.startswith("bed_mesh default]")), meshes[0])
    found = re.search(r"^points\s*[:=]((?:.*\n)(?:[ \t]+.*\n?)*)", mesh, re.M)
    try:
        if found is None:
            raise ValueError
        rows = [line for line in found[1].splitlines() if line.strip()]
        z = np.array([[float(cell) for cell in line.split(",") if cell.strip()] for line in rows])
        ends = [_option(mesh, name) for name in ("min_x", "max_x", "min_y", "max_y")]
        if z.ndim != 2 or not np.isfinite([*z.ravel(), *ends]).all():
            raise ValueError
    except ValueError:
        raise InputError(
            "its [bed_mesh] cannot be read: points, min_x, max_x, min_y or max_y is wrong"
        ) from None
    x, y = np.linspace(ends[0], ends[1], z.shape[1]), np.linspace(ends[2], ends[3], z.shape[0])
    return np.column_stack([_places(x, y), z.ravel()])


def _places(x: Floats, y: Floats) -> Floats:
    """(J·I, 2) places of a grid, row by row."""
    return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))])


def _option(section: str, name: str) -> float:
    found = re.search(rf"^{name}\s*[:=]\s*(\S+)", section, re.M)
    return float(found[1]) if found else float("nan")


def _of_points(points: Floats) -> Heights:
    """The surface of points (N, 3)."""
    if not 3 <= len(points) <= _MOST:
        raise InputError(f"there are {len(points)} heights, but must be 3 to {_MOST}")
    if not (np.isfinite(points).all() and np.abs(points).max() < _FARTHEST):
        raise InputError(f"a height or its place is not finite, or not below {_FARTHEST / 1000:g} m")
    points = np.round(points, 6)
    across = np.linalg.svd(points[:, :2] - points[:, :2].mean(axis=0), compute_uv=False)
    if across[1] <= _THIN * across[0]:
        raise InputError("the heights lie on a line: measure some beside it")
    x, y = (np.unique(points[:, k]) for k in (0, 1))
    if len(np.unique(points[:, :2], axis=0)) < len(points):
        raise InputError("two heights are of one place")
    _check_outlier(points)
    if len(x) * len(y) == len(points):
        z = points[np.lexsort((points[:, 0], points[:, 1])), 2].reshape(len(y), len(x))
    else:
        low, high = points[:, :2].min(axis=0), points[:, :2].max(axis=0)
        beyond = (high - low) if len(points) == 3 else 0.0
        count = 2 if len(points) < _BOWED else _BOW_GRID
        x, y = (
            np.round(np.linspace(a, b, count), 6) for a, b in zip(low - beyond, high + beyond, strict=True)
        )
        z = np.round(_fitted(points, _places(x, y)).reshape(count, count), 6)
    return Heights(tuple(x.tolist()), tuple(y.tolist()), tuple(map(tuple, z.tolist())))


def _fitted(points: Floats, at: Floats) -> Floats:
    """(M,) mm, the plane, or the bow, of points at (M, 2) places."""
    middle, scale = points[:, :2].mean(axis=0), np.abs(points[:, :2]).max() + 1.0

    def terms(xy: Floats) -> Floats:
        u, v = ((xy - middle) / scale).T
        plane = [np.ones_like(u), u, v]
        return np.stack(plane if len(points) < _BOWED else [*plane, u * u, u * v, v * v], axis=1)

    weights = np.linalg.lstsq(terms(points[:, :2]), points[:, 2], rcond=None)[0]
    return np.asarray(terms(at) @ weights)


def _check_outlier(points: Floats) -> None:
    """Raise InputError for a point that is much farther from the fit than the others."""
    off = np.abs(points[:, 2] - _fitted(points, points[:, :2]))
    k = int(off.argmax())
    limit = max(_OUTLIER_MM, _OUTLIER * 1.4826 * float(np.median(np.delete(off, k))))
    if len(points) > _BOWED and off[k] > limit:
        raise InputError(
            f"the height {points[k, 2]:g} mm at {points[k, 0]:g}, {points[k, 1]:g} mm is "
            f"{figure(off[k])} mm from where the others have it: measure it again, or leave it out"
        )

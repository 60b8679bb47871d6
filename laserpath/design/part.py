"""A part, drawn as a mesh or sliced, → its layers, each a design.

Layer k = 0, 1 … reaches from k h to (k + 1) h above the part's lowest point. Its area is the section of the
part at its middle, (k + ½) h: on a slope, what the layer has too much below makes up for what it lacks
above. n layers of thickness h are as high as the part to the nearest layer, |n h − H| ≤ h/2.

**Section.** A vertex counts as above the plane z if its own z is at least that, so that none lies in the
plane. A facet with vertices on both sides then has one edge that falls through the plane and one that rises
through it, as its corners are counted, anticlockwise seen from outside. The piece of the section from the
falling to the rising edge has the solid on its left. In a closed mesh every edge is run through as often up
as down: pieces are joined at their edges, without comparing coordinates, and every ring closes. Rings are
filled by their winding number, which is 1 in a body, 0 in its cavities, and 2 where two bodies overlap.

**Closed** is a mesh each of whose edges is run through as often in one direction as in the other. One that
is not is mended where only one result is possible: facets that are turned over, and holes of three or four
edges. trimesh reads the files and mends the meshes; `pip install 'laserpath[parts]'` brings it.
"""

from __future__ import annotations

import hashlib
import io
import logging
import math
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from laserpath.base import limits
from laserpath.base.arrays import Floats
from laserpath.base.checks import number
from laserpath.base.errors import InputError, figure
from laserpath.base.overlay import tidy
from laserpath.base.quantities import LENGTH, parse, quoted_path
from laserpath.design import content, formats, found_parts, image, load
from laserpath.design.fill import EVENODD, NONZERO, check_reach, fill
from laserpath.design.reading import Reading
from laserpath.types import Design, Resin

SUFFIXES = (".stl", ".3mf", ".obj")
SLICED = (".sl1", ".sl1s")
"""Archives of PrusaSlicer, which hold a picture of each layer."""

_THINNEST = 1e-3
"""mm, the last digit of Z in programs."""
_MOST = 20_000
"""Layers of a part. A larger value cuts higher parts into thinner layers, in more time."""
_SMALL, _LARGE = 0.2, 1000.0
"""mm, longest side of a part outside which its unit is asked for: a smaller range asks more often."""
_MM = {
    "micron": 1e-3, "millimeter": 1.0, "centimeter": 10.0, "inch": 25.4, "foot": 304.8, "meter": 1000.0,
}  # fmt: skip
"""Unit of a 3MF file → mm; 3MF Core Specification 1.3, section 3.4."""


Facets = NDArray[np.int64]

logging.getLogger("trimesh").addHandler(logging.NullHandler())  # what it says of a bad file is ours to say


@dataclass(frozen=True, slots=True)
class _Solid:
    """A closed mesh. vertices: (n, 3), mm.  facets: (m, 3), indices of vertices, anticlockwise from outside.

    rule: by which its sections are filled.  warnings: what was mended.
    """

    vertices: Floats
    facets: Facets
    rule: str
    warnings: tuple[str, ...]


def is_part(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a part, or of a drawing for each of its layers, not of one drawing."""
    return Path(path).suffix.lower() in SUFFIXES + SLICED or is_stack(path)


def is_sliced(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a part which a slicer has cut into layers."""
    return Path(path).suffix.lower() in SLICED


def is_stack(path: str | os.PathLike[str]) -> bool:
    """Whether it is a pattern of names, such as `layer-*.svg`: a drawing for each layer."""
    return any(one in Path(path).name for one in "*?") and not Path(path).exists()


def is_layout(path: str | os.PathLike[str], thickness: Sequence[str]) -> bool:
    """Whether the layers of a GDSII or OASIS file are those of a part: if one thickness is given, as 50um."""
    if not _of_layout(path) or len(thickness) != 1:
        return False
    try:
        parse(thickness[0], LENGTH, "")
    except InputError:
        return False
    return True


def _of_layout(path: str | os.PathLike[str]) -> bool:
    """Whether the name is that of a GDSII or OASIS file."""
    return formats.SUFFIXES.get(Path(path).suffix.lower()) in ("GDSII", "OASIS")


def load_stack(
    pattern: str | os.PathLike[str], layer: float, *, reading: Reading, resin: Resin | None = None
) -> tuple[tuple[float, Design], ...]:
    """A drawing for each layer, for `plan_layers`: (z, area) each, the lowest first.

    pattern: of the files' names; numbers in them are in their order, 9 before 10. Or the name of a GDSII or
    OASIS file, whose layers are in the order of their numbers.  layer: thickness, mm.
    reading: of each of them. They keep the coordinates in which they are drawn.
    resin: in which the part is made; a warning says how thick its layers are exposed if it shrinks along z.
    Raises InputError if there are none, or one cannot be read.
    """
    pattern = Path(pattern)
    _check_thickness(layer)
    if _of_layout(pattern) and pattern.exists():
        each, count = _layout(pattern, reading), "layers"
    else:
        files, count = files_like(pattern), "drawings"
        if len(files) > _MOST:
            raise InputError(
                f"{len(files)} drawings are like {str(pattern)!r}, but {_MOST} layers are the most"
            )
        each = [load(file, tolerance=reading.tolerance, reading=reading) for file in files]
    source = (f"from {pattern.name}", f"{len(each)} {count}, {layer:.9g} mm thick each")
    recipe = (f"design = {quoted_path(pattern.name)}", f'layer = ["{layer:.9g}mm"]')
    place, thicker = str(pattern.absolute()), _thicker(layer, resin)
    return tuple(
        (
            round((k + 1) * layer, 9),
            replace(one, warnings=(*one.warnings, *thicker), source=source, recipe=recipe, file=place),
        )
        for k, one in enumerate(each)
    )


def _layout(path: Path, reading: Reading) -> list[Design]:
    """The designs of a layout's layers, in the order of their numbers."""
    found = [one for one in found_parts(path, reading) if one.kind == "layer"]
    if not found:
        raise InputError(f"{path}: it has no layers")
    for one in found:
        if one.design is None:
            raise InputError(f"{path}: layer {one.name}: {one.why}")
    in_order = sorted(found, key=lambda one: [int(number) for number in one.name.split("/")])
    return [replace(one.design, name=path.stem) for one in in_order if one.design is not None]


def _thicker(layer: float, resin: Resin | None) -> tuple[str, ...]:
    """A sentence if layers, mm, that are cut already are exposed thicker, as the resin shrinks."""
    shrinkage = 0.0 if resin is None else resin.shrinkage[2]
    if not shrinkage:
        return ()
    exposed = 1000 * layer / (1 - shrinkage)
    return (
        f"the layers are cut already, so each is exposed {figure(exposed, 4)} µm thick instead of "
        f"{figure(1000 * layer, 4)} µm, to be right when the resin has shrunk by {figure(100 * shrinkage)} % "
        "along z",
    )


def files_like(pattern: Path) -> list[Path]:
    """The files of a pattern, in the order of the layers. Raises InputError if there are none."""
    files = sorted(pattern.parent.glob(pattern.name), key=lambda file: _in_order(file.name))
    if not files:
        raise InputError(f"no file has a name like {str(pattern)!r}")
    return files


def _check_thickness(layer: float) -> None:
    """Raise InputError for layers, mm, that programs cannot tell apart."""
    if not _THINNEST <= layer < math.inf:
        raise InputError(
            f"layers of {figure(1000 * layer, 4)} µm are thinner than the 1 µm to which programs give Z"
        )


def _in_order(name: str) -> list[tuple[int, str]]:
    """By which names are sorted: numbers by their value."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _slices(
    path: Path, layer: float | None, pixel: float | None, tolerance: float, resin: Resin | None
) -> tuple[tuple[float, Design], ...]:
    """The layers of an SL1 archive, as `load_part` gives them: pictures whose white is to be solid.

    layer, pixel: mm, of an archive that does not say them; None: it does.

    PrusaSlicer draws the part as seen from above, mirrored if the display is to be, and turned onto its side
    by an exchange of x and y if the display is upright (its RasterBase.hpp, `Trafo`).
    """
    data = content(path)
    try:
        with limits.work(), zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_unpacked(archive)
            said = {**_said(archive, _OF_DISPLAY), **_said(archive, "config.ini")}
            names = [one for one in archive.namelist() if one.lower().endswith(".png") and "/" not in one]
            if not names:
                raise InputError("it has no pictures of layers")
            thickness, width = _thickness(said, layer), _pixel(said, pixel)
            display, unsaid = _display(said)
            areas: dict[bytes, shapely.MultiPolygon] = {}
            found: list[tuple[str, shapely.MultiPolygon]] = []
            for name in sorted(names, key=_in_order):
                limits.spend()
                picture = archive.read(name)
                key = hashlib.sha256(picture).digest()
                if key not in areas:
                    areas[key] = _white(picture, display, width, tolerance)
                found.append((name, areas[key]))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # of the archive, of what packs it, of its text
        raise InputError(f"{path}: it cannot be read as SL1, damaged or of another kind") from error
    for name, area in found:
        if area.is_empty:
            raise InputError(f"{path}: there is nothing in {name}: what is above hangs on nothing")
    source = (f"from {path.name}", f"{len(found)} layers of {thickness:.9g} mm, pixels of {width:.6g} mm")
    recipe = [
        f"design = {quoted_path(path.name)}",
        *([f'layer = ["{layer:.9g}mm"]'] if layer is not None else []),
        *([f'pixel = "{pixel:.9g}mm"'] if pixel is not None else []),
    ]
    warnings = (*unsaid, *_thicker(thickness, resin))
    return tuple(
        (
            round((k + 1) * thickness, 9),
            Design(
                area, path.stem, warnings=warnings, source=source, recipe=tuple(recipe),
                file=str(path.resolve()),
            ),
        )
        for k, (_, area) in enumerate(found)
    )  # fmt: skip


def _check_unpacked(archive: zipfile.ZipFile) -> None:
    """Raise InputError if what is in it is too large."""
    size = sum(one.file_size for one in archive.infolist())
    limits.check("bytes", size, f"it holds {size >> 20} MiB unpacked")


_OF_DISPLAY = "prusaslicer.ini"
_DISPLAY = {"display_orientation": "landscape", "display_mirror_x": "0", "display_mirror_y": "0"}
"""How a display lies whose pictures are as seen from above."""


def _said(archive: zipfile.ZipFile, name: str) -> dict[str, str]:
    """The lines `key = value` of a file, {} if there is none."""
    if name not in archive.namelist():
        return {}
    lines = (line.partition("=") for line in archive.read(name).decode("utf-8", "replace").splitlines())
    return {key.strip(): value.strip() for key, equals, value in lines if equals}


def _number_of(said: dict[str, str], key: str) -> float:
    """A number that the archive says. Raises InputError if it is none, or not above 0."""
    try:
        value = float(said[key])
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(f"it says {key} = {said[key]}, but that must be a number above 0")
    return value


def _thickness(said: dict[str, str], layer: float | None) -> float:
    """Mm, of a layer. layer: as given."""
    stated = "layerHeight" in said
    if stated and layer is not None:
        raise InputError(f"it says how thick its layers are, {said['layerHeight']} mm: leave --layer out")
    if not stated and layer is None:
        raise InputError("its config.ini does not say layerHeight: give the thickness by --layer 50um")
    found = _number_of(said, "layerHeight") if layer is None else layer
    _check_thickness(found)
    return found


def _pixel(said: dict[str, str], pixel: float | None) -> float:
    """Width of a pixel, mm; the display's pixels must be square. pixel: as given."""
    keys = [f"display_{end}" for end in ("width", "height", "pixels_x", "pixels_y")]
    missing = [key for key in keys if key not in said]
    if missing and pixel is None:
        raise InputError(
            f"it has no {_OF_DISPLAY}, or that does not say {missing[0]}, so its pixels have no size: give "
            "it by --pixel 47um"
        )
    if pixel is not None:
        if not missing:
            raise InputError("it says how large its pixels are: leave --pixel out")
        if not 0 < pixel < math.inf:
            raise InputError(f"pixel is {pixel} mm, but must be above 0")
        return pixel
    wide, high, columns, rows = (_number_of(said, key) for key in keys)
    wide, high = wide / columns, high / rows
    if abs(wide - high) > 1e-3 * wide:
        raise InputError(f"its pixels are {figure(wide, 4)} × {figure(high, 4)} mm, but must be square")
    return wide


def _display(said: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """How the display lies, and a sentence if the archive does not say so."""
    missing = [key for key in _DISPLAY if key not in said]
    if not missing:
        return said, ()
    return {**_DISPLAY, **said}, (
        f"the archive does not say {missing[0]}, so its pictures are taken as seen from above: if the part "
        "comes out mirrored, mirror it in the slicer",
    )


def _white(data: bytes, said: dict[str, str], pixel: float, tolerance: float) -> shapely.MultiPolygon:
    """What is white in a picture, mm, as seen from above. said: how the display lies."""
    white = 1 - image.ink(data)[0]
    upright = said["display_orientation"] == "portrait"
    if said["display_mirror_y"] == "1":
        white = white[::-1]
    if (said["display_mirror_x"] == "1") != upright:
        white = white[:, ::-1]
    if upright:
        white = white.T
    outline = shapely.transform(image.outline(white, 0.5), lambda xy: (xy + 0.5) * pixel)
    area = tidy(shapely.simplify(outline, tolerance)) if not outline.is_empty else outline
    return shapely.MultiPolygon([one for one in shapely.get_parts(area) if not one.is_empty])


def load_part(
    path: str | os.PathLike[str],
    layer: float | None = None,
    *,
    unit: str | None = None,
    pixel: float | None = None,
    tolerance: float = 1e-4,
    resin: Resin | None = None,
) -> tuple[tuple[float, Design], ...]:
    """Cut a part into layers, for `plan_layers`: (z, area) each, the lowest first.

    path: of an STL, 3MF or OBJ file, or of an SL1 archive, which is cut already.  layer: thickness of a
    layer, mm; None: as the archive says.  z: mm, of a layer's top above the part's lowest point.
    unit: of STL and OBJ, which state none: mm, um, nm, cm, in; None: mm, unless the part would then be
    absurdly small or large.  pixel: mm, width of a pixel of an archive that does not say it.
    tolerance: mm, to which outlines are simplified.
    resin: in which the part is made. What it shrinks along z is exposed higher (`Resin.shrinkage`), so cuts
    are closer by that, and layers are as thick as asked for when they are exposed. Those of an archive are
    thicker then, as a warning says.
    Raises InputError for what cannot be cut: a mesh that is open or empty, a layer thicker than the part.
    """
    path = Path(path)
    number("tolerance", tolerance)
    if is_sliced(path):
        if unit is not None:
            raise InputError(f"{path}: --unit says nothing about SL1 archives, whose numbers are mm")
        return _slices(path, layer, pixel, tolerance, resin)
    if pixel is not None:
        raise InputError(f"{path}: --pixel says nothing about meshes")
    if layer is None:
        raise InputError(f"{path}: say how thick its layers are, mm")
    for name, value in (("layer", layer), ("tolerance", tolerance)):
        number(name, value)
        if not 0 < value < math.inf:
            raise InputError(f"{name} is {value} mm, but must be above 0")
    cut = layer if resin is None else layer * (1 - resin.shrinkage[2])
    data = content(path)
    try:
        with limits.work():
            solid = _solid(data, path.suffix.lower(), unit)
            sections = tuple(_sections(solid, cut, tolerance))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    source = (f"from {path.name}", f"cut into {len(sections)} layers of {cut:.9g} mm")
    recipe = [
        f"design = {quoted_path(path.name)}",
        f'layer = ["{layer:.9g}mm"]',
        *([f'unit = "{unit}"'] if unit else []),
    ]
    return tuple(
        (
            z,
            Design(
                area, path.stem, warnings=solid.warnings, source=source, recipe=tuple(recipe),
                file=str(path.resolve()),
            ),
        )
        for z, area in sections
    )  # fmt: skip


@np.errstate(all="ignore")  # numbers that overflow are refused
def _solid(data: bytes, suffix: str, unit: str | None) -> _Solid:
    """The closed mesh of a file, in mm."""
    if suffix not in SUFFIXES:
        raise InputError(f"a part is an STL, 3MF or OBJ file, and this one ends in {suffix!r}")
    if not data.strip():
        raise InputError("the file is empty")
    if known := formats.by_content(data):
        raise InputError(f"it is a drawing ({known}), whatever its name ends in: name it so")
    vertices, facets, own = _read(data, suffix)
    if not len(facets):
        raise InputError("the part is empty: the file has no facets, or it is damaged")
    if facets.min() < 0 or facets.max() >= len(vertices):
        raise InputError("it names vertices that it does not have: it is damaged")
    if not np.isfinite(vertices).all():
        raise InputError("the part has coordinates that are not finite")
    vertices = _scale(np.ptp(vertices[facets], axis=(0, 1)), unit, own) * vertices
    check_reach("the part", vertices)
    return _closed(vertices, facets)


def _read(data: bytes, suffix: str) -> tuple[Floats, Facets, float | None]:
    """Vertices and facets as in `_Solid`, in the file's unit; and that unit in mm, if the file states it."""
    try:
        import lxml  # noqa: F401  # what trimesh needs for 3MF
        import networkx  # noqa: F401  # and to mend
        import trimesh
    except ImportError:
        raise InputError(
            "parts in STL, 3MF and OBJ need the package trimesh: pip install 'laserpath[parts]'"
        ) from None
    own = _unit_of(data) if suffix == ".3mf" else None
    try:
        read: Any = trimesh.load_scene(
            io.BytesIO(data), file_type=suffix[1:], skip_materials=True, process=False
        ).to_mesh()
        vertices = np.asarray(read.vertices, dtype=np.float64).reshape(-1, 3)
        facets = np.asarray(read.faces, dtype=np.int64).reshape(-1, 3)
    except Exception as error:  # whatever a reader of trimesh stumbles over
        raise InputError(f"it cannot be read as {suffix[1:].upper()}, damaged or of another kind") from error
    return vertices, facets, own


def _unit_of(data: bytes) -> float:
    """Mm of the unit that a 3MF file states. Raises InputError for what is no 3MF, or unpacks to too much."""
    from defusedxml.ElementTree import iterparse

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_unpacked(archive)
            name = next(name for name in archive.namelist() if name.lower().endswith("3d/3dmodel.model"))
            with archive.open(name) as model:
                _, root = next(iterparse(model, ("start",)))
    except InputError:
        raise
    except Exception as error:  # of the archive, of what packs it, of its XML
        raise InputError("it cannot be read as 3MF, damaged or of another kind") from error
    unit = root.get("unit", "millimeter")
    if unit not in _MM:
        raise InputError(f"its unit is {unit!r}, but must be one of: {', '.join(_MM)}")
    return _MM[unit]


def _scale(size: Floats, unit: str | None, own: float | None) -> float:
    """Mm of the file's unit. size: (3,) of the part in that unit.  own: mm, if the file states it."""
    if unit is not None and unit not in LENGTH:
        raise InputError(f"unit is {unit!r}, but must be one of: {', '.join(LENGTH)}")
    if own is not None:
        if unit is not None:
            raise InputError("--unit says nothing about 3MF files, which state their own")
        return own
    if unit is not None:
        return float(LENGTH[unit])
    if not _SMALL <= size.max() <= _LARGE:
        raise InputError(
            f"the part is {_by(size)} mm if its numbers are mm, {_by(25.4 * size)} mm if they are inches, "
            f"{_by(1000 * size)} mm if they are metres, {_by(size / 1000)} mm if they are micrometres: say "
            "which by --unit mm, in, um, and scale a part in metres where it was drawn"
        )
    return 1.0


def _by(size: Floats) -> str:
    return " × ".join(figure(float(one), 3) for one in size)


def _closed(vertices: Floats, facets: Facets) -> _Solid:
    """The mesh with equal vertices merged, mended where that is safe; one that stays open is refused."""
    import trimesh

    mesh = trimesh.Trimesh(vertices, facets, process=True)
    a, b, c = mesh.faces.T
    mesh.update_faces((a != b) & (b != c) & (c != a))
    if not len(mesh.faces):
        raise InputError("the part is empty: all its facets are lines or points")
    warnings, rule = [], NONZERO
    if len(_open(mesh.faces)):
        before = mesh.faces.copy()
        trimesh.repair.fix_winding(mesh)
        if turned := int((before != mesh.faces).any(axis=1).sum()):
            # Which side of each surface is outside was not known before, and is not now.
            rule = EVENODD
            warnings.append(
                f"{turned} of {len(before)} facets were turned over, so as to agree with their neighbours"
            )
    if len(_open(mesh.faces)):
        before = len(mesh.faces)
        trimesh.repair.fill_holes(mesh)
        if added := len(mesh.faces) - before:
            warnings.append(f"the mesh was open, and small holes in it were closed by {added} facets")
    edges = _open(mesh.faces)
    if len(edges):
        x, y, z = (figure(float(one), 4) for one in mesh.vertices[edges[0]].mean(axis=0))
        raise InputError(
            f"the mesh is open: {len(edges)} of its edges lack a facet on one side, the first at x {x}, "
            f"y {y}, z {z} mm; close it in the program that made it"
        )
    merged = np.array(mesh.vertices, dtype=np.float64)
    return _Solid(merged, np.array(mesh.faces, dtype=np.int64), rule, tuple(warnings))


def _open(facets: Facets) -> Facets:
    """(k, 2) edges that are not run through as often in one direction as in the other."""
    a, b = facets.ravel(), np.roll(facets, -1, axis=1).ravel()
    edges, which = np.unique(np.sort(np.column_stack([a, b]), axis=1), axis=0, return_inverse=True)
    balance = np.bincount(which.ravel(), weights=np.sign(b - a), minlength=len(edges))
    found: Facets = edges[balance != 0]
    return found


def _sections(solid: _Solid, layer: float, tolerance: float) -> Iterator[tuple[float, shapely.MultiPolygon]]:
    """The z of each layer's top, and its area; mm."""
    heights = solid.vertices[:, 2]
    low, size = float(heights.min()), np.ptp(solid.vertices, axis=0)
    height = float(size[2])
    _check_thickness(layer)
    if layer > height * (1 + 1e-9):
        raise InputError(f"a layer of {layer:g} mm is thicker than the part, which is {_by(size)} mm")
    count = max(math.ceil(height / layer - 0.5 - 1e-6), 1)
    if count > _MOST:
        raise InputError(
            f"the part has {count} layers of {layer:g} mm, but {_MOST} are the most: take thicker ones"
        )
    facets = solid.facets
    bottom, top = heights[facets].min(axis=1), heights[facets].max(axis=1)
    for k in range(count):
        limits.spend()
        z = low + (k + 0.5) * layer
        rings = _rings(solid.vertices, facets[(bottom < z) & (top >= z)], z)
        area = tidy(shapely.simplify(fill(rings, solid.rule), tolerance))
        if area.is_empty:
            raise InputError(
                f"there is nothing in layer {k + 1} of {count}, {figure((k + 0.5) * layer, 4)} mm above the "
                "lowest point: what is above hangs on nothing"
            )
        yield round((k + 1) * layer, 9), shapely.MultiPolygon(shapely.get_parts(area).tolist())


def _rings(vertices: Floats, facets: Facets, z: float) -> list[Floats]:
    """The closed rings, (n, 2) mm, in which facets that cross the plane z cut it; solids are on the left."""
    above = vertices[:, 2] >= z
    a, b = facets, np.roll(facets, -1, axis=1)
    falls, rises = above[a] & ~above[b], ~above[a] & above[b]  # one of each in a facet
    start, end = np.column_stack([b[falls], a[falls]]), np.column_stack([a[rises], b[rises]])
    low, high = vertices[start[:, 0]], vertices[start[:, 1]]
    share = ((z - low[:, 2]) / (high[:, 2] - low[:, 2]))[:, None]
    points = low[:, :2] + share * (high - low)[:, :2]
    following = np.empty(len(facets), dtype=np.int64)
    following[np.lexsort(end.T)] = np.lexsort(start.T)  # the same edges, each as often
    after, left = following.tolist(), [True] * len(facets)
    rings: list[Floats] = []
    for first in range(len(after)):
        ring = []
        at = first
        while left[at]:
            left[at] = False
            ring.append(at)
            at = after[at]
        if len(ring) > 2:
            rings.append(points[ring])
    return rings

"""What is fuzzed, one `Reader` for each format: everything that laserpath reads from a file.

A reader returns the sentences that a user would see with the result (warnings, findings, remarks), and raises
`InputError` or `GcodeError` for a file that it refuses. Its variants are the options that the file is read
with; each file that has failed is read with all of them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import fuzz_examples as examples
import numpy as np

import gcode
from laserpath import calibration
from laserpath.base.errors import InputError
from laserpath.cli.plugins import linework
from laserpath.cli.plugins import slicer as sliced
from laserpath.cli.plugins.inkscape import laserpath_inkscape as inkscape
from laserpath.config import profiles, request
from laserpath.config import project as projects
from laserpath.config.profiles import beams, bed
from laserpath.design import Arrangement, Reading, image, load
from laserpath.design.alignment import fit_marks, marks_of
from laserpath.design.board import excellon, load_board
from laserpath.design.part import load_part
from laserpath.design.reading import Black
from laserpath.machine import convert
from laserpath.physics import optics
from laserpath.simulation import source
from laserpath.types import Design, Process, Settings

TOLERANCE = 0.01
"""mm, coarser than that of a plan: curves with fewer vertices are read sooner."""
Sentences = Iterable[str]


@dataclass(frozen=True)
class Reader:
    """read: (path, variant) → sentences.  variants: their number.  suffix: of the file."""

    suffix: str
    examples: Callable[[], list[bytes]]
    read: Callable[[Path, int], Sentences]
    variants: int = 1


# Designs

_SIZED = {"arrangement": Arrangement(size=(20.0, None), mirror="x", rotate=30)}
_NEGATIVE = {"arrangement": Arrangement(negative=True)}
_FOLLOWED = {**_SIZED, "follow": True}
_DRAWING = (
    {}, {"unit": "in"}, {"layers": ("0",)}, {"line_width": 0.2}, _SIZED, {**_SIZED, "line_width": 0.1},
    _NEGATIVE, _FOLLOWED,
)  # fmt: skip
_SVG = ({}, {"unit": "in"}, {"layers": ("a", "cut")}, _SIZED, _NEGATIVE, _FOLLOWED)
_LAYOUT = ({}, {"layers": ("1/0", "2")}, {"cell": "TOP"}, _SIZED, _FOLLOWED)
_BOARD = ({}, {"unit": "mil"}, _SIZED, _NEGATIVE, _FOLLOWED)
_IMAGE = (
    {}, {"pixel": 0.1}, {"pixel": 0.05, "threshold": 0.3}, {"pixel": 0.1, "grey": Black(height=0.1)}, _SIZED,
)  # fmt: skip


def _design(make: Callable[[], list[bytes]], suffix: str, ways: tuple[dict[str, Any], ...]) -> Reader:
    """A reader of designs. ways: fields of `Reading`, and an arrangement."""

    def read(path: Path, variant: int) -> Sentences:
        way = dict(ways[variant])
        arrangement = way.pop("arrangement", None)
        design = load(path, tolerance=TOLERANCE, reading=Reading(TOLERANCE, **way), arrangement=arrangement)
        return _sentences(design)

    return Reader(suffix, make, read, len(ways))


def _sentences(design: Design) -> Sentences:
    box = np.array(design.area.bounds)
    if design.area.is_empty or not np.isfinite(box).all():
        raise AssertionError(f"a design of {len(design.area.geoms)} polygons within {box}")
    if not design.area.is_valid:
        raise AssertionError("a design whose area is not valid")
    return (*design.warnings, *design.source)


def _part(path: Path, variant: int) -> Sentences:
    """The layers of a part; its unit is asked for, or given."""
    layers = load_part(path, 0.25, unit=(None, "mm")[variant])
    if not all(low < high for (low, _), (high, _) in pairwise(layers)):
        raise AssertionError(f"layers at {[z for z, _ in layers]}")
    return [sentence for _, one in layers for sentence in _sentences(one)]


def _slices(path: Path, _: int) -> Sentences:
    """The layers of an archive, cut already."""
    return tuple(f"{z:g} {one.area.area > 0}" for z, one in load_part(path))


def _any(path: Path, variant: int) -> Sentences:
    """A file of any format under a suffix of another."""
    suffixes = ("", ".svg", ".dxf", ".gds", ".gbr", ".png", ".json", ".wkt", ".txt", ".pdf")
    return _sentences(load(path.rename(path.with_suffix(suffixes[variant])), tolerance=TOLERANCE))


def _ink(path: Path, variant: int) -> Sentences:
    """A photograph of a print, or the image that was commanded."""
    ink, pixel = image.ink(path.read_bytes())
    if not (np.isfinite(ink).all() and ink.min() >= 0 and ink.max() <= 1):
        raise AssertionError(f"ink from {ink.min()} to {ink.max()}")
    return (f"{pixel}",)


# Programs


@cache
def _process() -> Process:
    return request.process_of({})


def _program(path: Path, variant: int) -> Iterator[str]:
    """As `check`, `simulate` and the library's user read it."""
    data, name = path.read_bytes(), list(gcode.DIALECTS)[variant]
    machine, dialect = _process().machine, gcode.dialect(name)
    try:
        checked = gcode.examine(data, dialect, convert.envelope(machine, dialect))
    except gcode.GcodeError as error:
        raise AssertionError(f"gcode.examine raises: {error}") from error
    yield from (finding.message for finding in checked.findings)
    refused: list[Exception] = []
    try:
        read = source.read(data, machine, dialect=name)
        yield from read.remarks
    except InputError as error:
        refused.append(error)
    text = data.decode("utf-8", "surrogateescape")
    yield from (note.message for note in gcode.read(text, dialect).notes)
    if refused:
        raise refused[0]


def _sliced(path: Path, variant: int) -> Sentences:
    """As the plug-in of slicers reads it, before it plans."""
    text = path.read_bytes().decode("utf-8", "replace")
    settings = Settings(origin=("auto", "design", "page", "centre")[variant])
    stack = sliced.stack_of(text, _process(), settings)
    return (*stack.notes, f"{len(stack.z)} layers")


# Settings

_PROGRAM = "G21\nG90\nM3 S0\nG0 X1 Y1\nG1 X5 F600 S100\nG1 Y5 S200\nM5\n"


def _dialect(path: Path, variant: int) -> Sentences:
    """A dialect, and a program read and written in it."""
    own = gcode.load(path)
    moves = gcode.parse(_PROGRAM, gcode.dialect("grbl"))
    text = gcode.write(moves, own)
    gcode.parse(text, own)
    return (f"{len(own.header)} lines",)


def _machine(path: Path, variant: int) -> Sentences:
    machine = profiles.machine(path)
    convert.envelope(machine, gcode.dialect(machine.dialect))
    profiles.in_short("machine", path)
    return (profiles.likely_kind(path), f"{len(profiles.summary(machine))} characters")


def _resin(path: Path, variant: int) -> Sentences:
    return (profiles.likely_kind(path), f"{len(profiles.summary(profiles.resin(path)))} characters")


def _spot(path: Path, variant: int) -> Sentences:
    spot = profiles.spot(path)
    return (f"{len(profiles.summary(spot))} characters", f"{optics.fwhm(spot)}")


def _project(path: Path, variant: int) -> Sentences:
    """A project, and all that its values say."""
    file = projects.load(path)
    process = request.process_of(file.values)
    fwhm = optics.fwhm(process.spot)
    reading = request.reading_of(file.values, TOLERANCE)
    settings = request.settings_of(file.values, fwhm)
    return (*reading.recipe(), f"{request.arrangement_of(file.values)}", f"{settings}")


# Measurements


def _drills(path: Path, _: int) -> Sentences:
    drills = excellon.read(path.read_bytes(), path.name, lambda xy: float(np.hypot(*xy.T).mean()))
    if not all(np.isfinite(hole.points).all() and hole.area().is_valid for hole in drills.holes):
        raise AssertionError("a hole that is not finite")
    return drills.notes


def _board(path: Path, variant: int) -> Sentences:
    """Both sides, or a mask, for both tones."""
    read = load_board([path], tolerance=TOLERANCE, layers=(None, ("top-mask",))[variant])
    designs = [*read.designs(), *read.designs(tone="positive")]
    return (*read.notes, *read.warnings, *(text for design in designs for text in _sentences(design)))


def _sheet(path: Path, variant: int) -> Sentences:
    """A sheet; with the second variant its fit, too, for one sheet of many, since that takes long."""
    data = path.read_bytes()
    measured = calibration.read_sheet(data)
    if variant == 0 or sum(data) % 16:
        return (f"{len(measured.rows)} rows",)
    fit = calibration.fit(measured, calibration.Options())
    texts = calibration.files_of(fit, measured, name="x", source="x.csv")
    return (*fit.notes, *fit.warnings, *(line for text in texts.values() for line in text.splitlines()[:1]))


def _marks(path: Path, _: int) -> Sentences:
    """A table of marks, and what they give."""
    found = fit_marks(marks_of([str(path)]), corners=[(0, 0), (30, 20)])
    if not np.isfinite(found.matrix).all():
        raise AssertionError(f"the matrix is {found.matrix}")
    return (found.in_words(), found.suspect)


def _bed(path: Path, _: int) -> Sentences:
    """Heights of a bed."""
    found = bed.read(path.name, path.parent)
    if not np.isfinite(found.at([(0, 0), (1e3, -1e3)])).all() or bed.read(bed.text(found)) != found:
        raise AssertionError(f"heights {bed.text(found)[:200]}")
    return (f"{found.box}",)


def _beam(path: Path, variant: int) -> Sentences:
    way = ({}, {"smooth": 0.0}, {"smooth": 0.02})[variant]
    pixel = None if path.suffix == ".csv" else 0.002
    return (f"{beams.read(path, pixel, **way).fwhm}",)


# Programs that call laserpath


def _linework(path: Path, variant: int) -> Sentences:
    data = path.read_bytes()
    numbers = np.frombuffer(data[: len(data) // 16 * 16], dtype=np.float64).reshape(-1, 2)
    ends = np.flatnonzero(np.isnan(numbers).all(axis=1))
    runs = [run[~np.isnan(run).all(axis=1)] for run in np.split(numbers, ends)]
    lines = [np.ascontiguousarray(run).view(np.complex128).ravel() for run in runs]
    layer = linework.PenLayer(lines, None if variant == 2 else 0.3, variant > 0)
    page = (200.0, 100.0) if variant else None
    return _sentences(linework.design([layer], page, "lines", TOLERANCE))


def _toolpath() -> ET.Element:
    return ET.fromstring('<svg><g id="path" data-page="0 0 20 10"><path id="start" d="M0 0"/></g></svg>')


def _inkscape(path: Path, variant: int) -> Sentences:
    """A drawing, as the extension reads it and puts a toolpath into it."""
    try:
        root = inkscape.read(path)
        inkscape.take_away(root)
        text, name = inkscape.has_text(root), inkscape.drawing_name(root)
        root.append(inkscape.layer(root, _toolpath(), "laserpath: 1 s"))
    except inkscape.Refused as refused:
        raise InputError(str(refused)) from refused
    return (f"{text}", name, f"{len(ET.tostring(root)) > 0}")


READERS = {
    "svg": _design(examples.svg, ".svg", _SVG),
    "dxf": _design(examples.dxf, ".dxf", _DRAWING),
    "gdsii": _design(examples.gdsii, ".gds", _LAYOUT),
    "oasis": _design(examples.oasis, ".oas", _LAYOUT),
    "gerber": _design(examples.gerber, ".gbr", _BOARD),
    "drills": Reader(".drl", examples.drills, _drills),
    "board": Reader(".zip", examples.board, _board, 2),
    "geojson": _design(examples.geojson, ".geojson", _DRAWING),
    "wkt": _design(examples.wkt, ".wkt", _DRAWING),
    "png": _design(examples.png, ".png", _IMAGE),
    "tiff": _design(examples.tiff, ".tif", _IMAGE),
    "stl": Reader(".stl", examples.stl, _part, 2),
    "obj": Reader(".obj", examples.obj, _part, 2),
    "3mf": Reader(".3mf", examples.threemf, _part),
    "sl1": Reader(".sl1", examples.sl1, _slices),
    "any": Reader("", examples.everything, _any, 10),
    "photo": Reader("", lambda: examples.png() + examples.tiff(), _ink),
    "gcode": Reader(".gcode", examples.gcode, _program, len(gcode.DIALECTS)),
    "slicer": Reader(".gcode", examples.slicer, _sliced, 4),
    "dialect": Reader(".toml", examples.dialect, _dialect),
    "machine": Reader(".toml", examples.machine, _machine),
    "resin": Reader(".toml", examples.resin, _resin),
    "spot": Reader(".toml", examples.spot, _spot),
    "project": Reader(".toml", examples.project, _project),
    "sheet": Reader(".csv", examples.sheet, _sheet, 2),
    "marks": Reader(".csv", examples.marks, _marks),
    "bed": Reader(".txt", examples.bed, _bed),
    "beam-table": Reader(".csv", examples.beam_table, _beam, 3),
    "beam-photo": Reader(".png", examples.beam_photo, _beam, 3),
    "linework": Reader(".bin", examples.lines, _linework, 3),
    "inkscape": Reader(".svg", examples.svg, _inkscape),
}
"""Format → its reader. `make fuzz FORMATS="svg dxf"` names some of them."""

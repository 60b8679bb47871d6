"""Gerber → `Design`: dark objects are solid, clear ones erase earlier objects.

`read(data, name, reading)`, after the Gerber Layer Format Specification 2024.05 (Ucamco), with constructs
that older files still use: single-quadrant arcs, omitted trailing zeros, incremental coordinates, rectangular
holes. The way through: `plotter` (text → commands → the modal state) →
`apertures` (shapes for flashes and strokes) → `paint` (consecutive objects of one polarity at
once) → here: the area in mm.

Two other readers were tried: gerbonara 1.5.0 ignores block apertures and LM, LR, LS and draws one copy of
step and repeat; pygerber 2.4.3 takes 0.2 ms a command, and does not read incremental coordinates and omitted
trailing zeros.
"""

from __future__ import annotations

import re

import numpy as np
import shapely
from shapely.affinity import scale
from shapely.geometry.base import BaseGeometry

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError
from laserpath.base.overlay import tidy, valid
from laserpath.base.quantities import LENGTH
from laserpath.design.enclosed import enclosed
from laserpath.design.fill import check_reach, joined, without_specks
from laserpath.design.gerber.apertures import Aperture
from laserpath.design.gerber.paint import Painting, Path, area, moved
from laserpath.design.gerber.plotter import MM, Pad, Plotter, commands, text_of, where
from laserpath.design.reading import SHOWS_ABSENCE, Reading
from laserpath.design.vector import Line, Shapes, followed, hairlines, left_out
from laserpath.types import Design, Pads

_COPPER = ("", "Copper")
"""Functions of files whose flashes are pads; '' is unknown."""

SPECK = 1e-3  # smallest area of parts and holes, in tolerance²; smaller ones are rounding errors


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a Gerber file. name: of the design."""
    if reading.layers:
        raise InputError(f"a Gerber file is one layer, but layer {reading.layers[0]!r} is requested")
    text = text_of(data)
    unit = float(LENGTH[reading.unit]) if reading.unit else None
    plotter = Plotter(reading.tolerance, unit)
    painting = _plotted(text, plotter)
    if reading.follow:
        return _followed(plotter, painting, name, reading)
    layers = painting.layers()
    shown = valid(area(layers))
    if any(not layer.solid for layer in layers):  # differences leave slivers, unions do not
        shown = without_specks(tidy(shown), SPECK * reading.tolerance**2)
    shown, notes = _with_bare(shown, plotter.bare, reading)
    function = _attribute(text, "FileFunction")
    pads = _pads(plotter.pads) if function.partition(",")[0] in _COPPER else None
    if any(plotter.mirror):
        x, y = (-1 if mirrored else 1 for mirrored in plotter.mirror)
        shown = scale(shown, x, y, origin=(0, 0))
        pads = pads and pads.mapped((x, 0, 0, y, 0, 0))
        notes.append("the image is mirrored, as its command MI says")
    check_reach("the design", shapely.get_coordinates(shown))
    if shown.is_empty:
        raise InputError("the design is empty: " + ("all is cleared again" if layers else "nothing is drawn"))
    warnings = (*plotter.warnings, *notes, *_about(text))
    drawn_in = "inches" if plotter.scale == MM["IN"] else "mm"
    source = " ".join(filter(None, ("Gerber", function, f"in {drawn_in}")))
    return Design(shapely.normalize(shown), name, warnings=warnings, source=(source,), pads=pads)


def _followed(plotter: Plotter, painting: Painting, name: str, reading: Reading) -> Design:
    """The lines that are drawn, each as wide as its aperture."""
    x, y = (-1 if mirrored else 1 for mirrored in plotter.mirror)
    lines: list[Line] = [(np.array(path) * (x, y), None) for path in plotter.bare]
    filled = 0
    for coat in painting.coats:
        filled += sum(map(len, coat.flashes.values())) + len(coat.contours) + sum(map(len, coat.pieces))
        for aperture, paths in coat.paths.items() if coat.solid else ():
            x0, y0, x1, y1 = aperture.pen.bounds if aperture.pen else (0.0, 0.0, 0.0, 0.0)
            width = aperture.round or min(x1 - x0, y1 - y0)
            lines += [(np.array(path) * (x, y), width) for path in paths]
    return followed(lines, name, reading, filled, tuple(plotter.warnings))


def traced(data: bytes, tolerance: float) -> tuple[list[Floats], list[Floats]]:
    """(contours of regions, middles of lines) that a Gerber draws, (n, 2) mm each: the profile of a board.

    Lines of blocks are as wide as they are drawn, so their edges are contours, too.
    """
    plotter = Plotter(tolerance, None)
    painting = _plotted(text_of(data), plotter)
    lines = [np.array(path) for path in plotter.bare]
    rings: list[Floats] = []
    for coat in painting.coats:
        lines += [np.array(path) for paths in coat.paths.values() for path in paths]
        rings += [np.array(contour) for contour in coat.contours]
        rings += [
            shapely.get_coordinates(one.exterior) for piece in coat.pieces for one in shapely.get_parts(piece)
        ]
    check_reach("a line", np.concatenate([np.zeros((0, 2)), *lines, *rings]))
    return rings, lines


def _pads(flashes: list[Pad]) -> Pads | None:
    """The flashes that are pads; of those that meet, the largest."""
    by_aperture: dict[Aperture, list[Pad]] = {}
    for flash in flashes:
        by_aperture.setdefault(flash.aperture, []).append(flash)
    # Several primitives of a macro may be one area; several areas, as of a thermal relief, are no pad.
    by_aperture = {one: some for one, some in by_aperture.items() if len(shapely.get_parts(one.area)) == 1}
    if not by_aperture:
        return None
    areas = np.concatenate(
        [
            moved(np.array([aperture.area], dtype=object), np.array([one.at for one in some]))
            for aperture, some in by_aperture.items()
        ]
    )
    every = [one for some in by_aperture.values() for one in some]
    rank = np.lexsort((np.arange(len(areas)), -shapely.area(areas))).argsort()
    smaller, larger = shapely.STRtree(areas).query(areas, predicate="intersects")
    kept = np.ones(len(areas), dtype=bool)
    kept[smaller[rank[larger] < rank[smaller]]] = False
    names = [every[k] for k in np.flatnonzero(kept)]
    pins, nets = tuple(one.pin for one in names), tuple(one.net for one in names)
    return Pads(shapely.multipolygons(areas[kept]), pins, nets)


def _with_bare(shown: BaseGeometry, bare: list[Path], reading: Reading) -> tuple[BaseGeometry, list[str]]:
    """The image with the lines that have no width, and warnings about them.

    A board's profile is often of such lines alone: then it is what they enclose, unless a width is given.
    """
    lines = [np.array(path) for path in bare]
    check_reach("a line", np.concatenate([np.zeros((0, 2)), *lines]))
    width, spot, notes = reading.line_width, reading.hairline / reading.grown, []
    if lines and width is None and shown.is_empty:
        found = enclosed([], lines, reading.tolerance, spot)
        if not found.area.is_empty:
            some = "the file has only lines without a width, and what they enclose is solid"
            return found.area, [f"{some}: --line-width 0.2mm would draw the lines", *found.notes(spot)]
        width = reading.hairline
        notes.append(hairlines(len(lines), width))
    if lines and width is None:
        notes.append(left_out(len(lines), "line", "draw the lines with --line-width 0.2mm"))
    if lines and width is not None:
        shapes = Shapes(1.0, reading.tolerance)
        for line in lines:
            shapes.line(line, width / reading.grown, "a line")
        shown = joined([shown, *shapes.pieces])
    return shown, notes


def _plotted(text: str, plotter: Plotter) -> Painting:
    """The image that the commands draw."""
    at = 0
    try:
        for command in commands(text):
            at = command.at
            if command.fields:
                plotter.word(command.fields)
            else:
                plotter.extended(command.text)
            if plotter.ended:
                return plotter.finish()
    except InputError as error:
        message = str(error)
        raise InputError(
            message if message.startswith("line ") else f"{where(text, at)}: {message}"
        ) from None
    raise InputError("the file is cut off: it does not end with M02")


def _about(text: str) -> tuple[str, ...]:
    """A warning if the file's attributes give it a negative polarity."""
    if _attribute(text, "FilePolarity") == "Negative":
        return (SHOWS_ABSENCE,)
    return ()


def _attribute(text: str, name: str) -> str:
    """The value of a file attribute of X2, or in a comment; '' if there is none."""
    match = re.search(rf"TF\.{name},([^*%]{{1,60}})\*", text)
    return match[1].strip() if match else ""

"""The bytes of a Gerber file → `Design`."""

from __future__ import annotations

import re

import shapely

from laserpath.base.errors import InputError
from laserpath.base.overlay import tidy, valid
from laserpath.base.quantities import LENGTH
from laserpath.design.gerber.numbers import MM
from laserpath.design.gerber.paint import Painting, area
from laserpath.design.gerber.plotter import Plotter
from laserpath.design.gerber.words import commands, text_of, where
from laserpath.design.joined import check_reach, without_specks
from laserpath.design.reading import SHOWS_ABSENCE, Reading
from laserpath.types import Design

SPECK = 1e-3  # smallest area of parts and holes, in tolerance²; smaller ones are rounding errors


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a Gerber file. name: of the design."""
    if reading.layers:
        raise InputError(f"a Gerber file is one layer, but layer {reading.layers[0]!r} is requested")
    text = text_of(data)
    unit = float(LENGTH[reading.unit]) if reading.unit else None
    if re.search(r"%\s*(AB|SR)", text):  # blocks of blocks are counted before they are drawn
        _plotted(text, Plotter(reading.tolerance, unit, dry=True)).check_copies()
    plotter = Plotter(reading.tolerance, unit)
    painting = _plotted(text, plotter)
    layers = painting.layers()
    shown = valid(area(layers))
    if any(not layer.solid for layer in layers):  # differences leave slivers, unions do not
        shown = without_specks(tidy(shown), SPECK * reading.tolerance**2)
    check_reach("the design", shapely.get_coordinates(shown))
    if shown.is_empty:
        raise InputError("the design is empty: " + ("all is cleared again" if layers else "nothing is drawn"))
    warnings = (*plotter.warnings, *_about(text))
    drawn_in = "inches" if plotter.scale == MM["IN"] else "mm"
    source = " ".join(filter(None, ("Gerber", _attribute(text, "FileFunction"), f"in {drawn_in}")))
    return Design(shapely.normalize(shown), name, warnings=warnings, source=(source,))


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

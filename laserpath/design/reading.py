"""How a design file is read: which part of it, and how exactly. Which fields apply depends on the format.

`unknown` is the error for a layer or cell that a file does not have. A drawing that is read by layers becomes
one design for each (`FoundPart`, `LayersRead`), all with one zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import shapely

from laserpath.base.checks import between, one_of, positive, whole
from laserpath.base.entry_points import MOST_COLOURS
from laserpath.base.errors import InputError, did_you_mean
from laserpath.base.quantities import LENGTH, quoted
from laserpath.physics import optics
from laserpath.types import Design, Part, Spot

FLATTEN_FWHM = 1 / 50
"""Largest distance of a flattened curve from the true one; larger values give fewer vertices."""


def tolerance_for(spot: Spot) -> float:
    """The largest error of flattened curves for a spot, mm."""
    return FLATTEN_FWHM * optics.fwhm(spot)


SHOWS_ABSENCE = (
    "the file says that it shows where material is absent (FilePolarity Negative); with --negative "
    "what is not drawn becomes solid"
)
"""The warning of a file that is to be inverted, which `arrange` takes back once it is."""


@dataclass(frozen=True, slots=True)
class Black:
    """The dose in mJ/mm², or the height in mm, that black stands for."""

    dose: float | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        if (self.dose is None) == (self.height is None):
            raise InputError("black stands for a dose or for a height; give one of them")
        positive(self, "dose" if self.height is None else "height")


@dataclass(frozen=True, slots=True)
class Reading:
    """The options of a reader.

    tolerance: largest distance in mm between a curve of the file and its polygon, after all of the file's
    transforms.  layers: names of the layers to read ("layer/datatype" in GDSII and OASIS); (): all visible
    ones.  cell: the cell to read, of GDSII and OASIS; None: the top cell, which no other places.  unit: a key
    of `quantities.LENGTH`, for files that name none; None: the format's default.  pixel: mm, of an image;
    None: from the image's resolution.  threshold: ink from which a pixel is solid, 0 paper to 1 black.  grey:
    the dose or height of black; None: greys are solid or empty by the threshold.  line_width: mm on the part,
    for lines that have no width and enclose nothing; None: they have no area.  grown: factor by which the
    design will be enlarged after reading.  colours: number of colours that become a design each; None: all
    is one design.  colour: the only one of them to read, by its number or name; None: all.  split: names of
    layers that become a design each, of which only `layers` are wanted; (): all is one design.
    follow: whether lines are read as the path of the spot (`vector.followed`), and nothing else.
    followed: the layers of `split` that are read so although `follow` is not set.
    """

    tolerance: float
    layers: tuple[str, ...] = ()
    cell: str | None = None
    unit: str | None = None
    pixel: float | None = None
    threshold: float = 0.5
    grey: Black | None = None
    line_width: float | None = None
    grown: float = 1.0
    colours: int | None = None
    colour: str | None = None
    split: tuple[str, ...] = ()
    follow: bool = False
    followed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tolerance) and self.tolerance > 0):
            raise InputError(f"flattening tolerance is {self.tolerance} mm, but must be above 0 mm")
        for name in ("pixel", "line_width"):
            if getattr(self, name) is not None:
                positive(self, name)
        between(self, threshold=(0.01, 0.99))
        if self.unit is not None:
            one_of("unit", self.unit, LENGTH)
        self._check_split()
        if self.colours is not None:
            whole(self, "colours")
            between(self, colours=(2, MOST_COLOURS))
            if self.grey is not None:
                raise InputError("--grey cannot be used with --colours: give one of them")
            if self.threshold != 0.5:
                raise InputError("--threshold cannot be used with --colours: it is of the ink of a picture")
        elif self.colour is not None:
            raise InputError(f"--colour {self.colour} needs --colours with it, which says how many there are")

    def _check_split(self) -> None:
        """Refuse layers of a split that are there twice, or not at all, and other ways to split."""
        again = next((one for k, one in enumerate(self.split) if one in self.split[:k]), None)
        if again is not None:
            raise InputError(f"layer {again!r} is listed twice; each layer has one program")
        if self.split and self.grey is not None:
            raise InputError("--grey cannot be used with --layers: give one of them")
        if self.split and self.colours is not None:
            raise InputError("--colours and --layers both say what becomes a program; give one of them")
        absent = [one for one in self.layers if self.split and one not in self.split]
        if absent:
            raise InputError(
                f"layer {absent[0]!r} is none of the --layers {', '.join(map(repr, self.split))}"
                f"{did_you_mean(absent[0], self.split, repr)}"
            )

    @property
    def parts(self) -> tuple[str, ...]:
        """The layers that become a design each."""
        return tuple(one for one in self.split if one in self.layers) if self.layers else self.split

    def alone(self, layer: str) -> Reading:
        """How that layer of `split` is read."""
        return replace(self, layers=(layer,), follow=self.follow or layer in self.followed)

    @property
    def hairline(self) -> float:
        """Width of lines in a drawing of nothing else: the spot's FWHM, mm on the part."""
        return self.tolerance * self.grown / FLATTEN_FWHM

    def _listed(self, layer: str) -> str:
        """A layer in the list of a project file."""
        own = not self.follow and layer in self.followed
        return f"{{name = {quoted(layer)}, follow = true}}" if own else quoted(layer)

    def recipe(self) -> Iterator[str]:
        """The same as lines of a project file."""
        if self.split:
            yield f"layers = [{', '.join(map(self._listed, self.split))}]"
        if self.layers:
            yield f"layer = [{', '.join(quoted(layer) for layer in self.layers)}]"
        for name in ("cell", "unit"):
            if getattr(self, name) is not None:
                yield f"{name} = {quoted(getattr(self, name))}"
        for name in ("pixel", "line_width"):
            if getattr(self, name) is not None:
                yield f"{name} = {getattr(self, name):.12g}"
        if self.follow:
            yield "follow = true"
        if self.colours is not None:
            yield f"colours = {self.colours}"
        if self.colour is not None:
            yield f"colour = {quoted(self.colour)}"
        if self.threshold != 0.5:
            yield f"threshold = {self.threshold:.12g}"
        if self.grey is not None and self.grey.height is not None:
            yield f'grey = "{self.grey.height:.12g}mm"'
        elif self.grey is not None:
            yield f'grey = "{self.grey.dose:.12g}mJ/mm2"'


LISTED = 20  # names in the sentence


def unknown(kind: str, name: str, known: Sequence[str]) -> InputError:
    """The error for an unknown name, with the known names and the nearest. kind: 'layer', 'cell'."""
    if not known:
        return InputError(f"{kind} {name!r} is unknown: the file has no {kind}s")
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    listed = ", ".join(map(repr, known[:LISTED]))
    near = did_you_mean(name, known, repr)
    return InputError(f"{kind} {name!r} is unknown; known: {listed}{more}{near}")


_INKS = (
    "#b4531a", "#1f5fa8", "#2c7a3f", "#8a3d96", "#a88a1f", "#3f8f8f", "#a83250", "#5b5b5b",
)  # fmt: skip
"""Colours in which the layers are shown, again from the first after the last."""
_LONGEST = 60
"""Letters of a layer's name in the names of its files; a file system takes 255 bytes."""


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A layer or colour of a drawing. shown: whether it is read if no layer is named.

    design: it alone, as drawn.  why: there is no design; '' if there is one.  kind: `layer` or `colour`.
    """

    name: str
    shown: bool
    design: Design | None = None
    why: str = ""
    kind: str = "layer"


class LayersRead(NamedTuple):
    """What a reader has of `reading.split`: of each layer its design, or why it has none.

    shown: name of every layer of the file → whether it is read if none is named. Without a `split` they are
    all read.  unlisted: names of layers that are shown, but not among those of `split`.
    """

    shown: Mapping[str, bool]
    layers: tuple[Design | InputError, ...]
    unlisted: tuple[str, ...] = ()


def any_shown(layers: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Name → whether it is shown; a name that several layers have is shown if any of them is."""
    out: dict[str, bool] = {}
    for name, shown in layers:
        out[name] = shown or out.get(name, False)
    return out


def each_alone(reading: Reading, read: Callable[[Reading], Design]) -> tuple[Design | InputError, ...]:
    """The design of each layer of `reading.split`, or why it has none. read: makes it of its own reading."""
    found: list[Design | InputError] = []
    for layer in reading.split:
        try:
            found.append(read(reading.alone(layer)))
        except InputError as error:
            found.append(error)
    return tuple(found)


def apart(found: LayersRead, name: str, reading: Reading) -> tuple[Design, ...]:
    """The designs of the layers that are wanted; raises if one of them is empty. name: of the drawing."""
    read = found.layers
    areas = [one.area for one in read if isinstance(one, Design)]
    files = _file_names(reading.split)
    out: list[Design] = []
    hull = shapely.convex_hull(shapely.geometrycollections(areas))
    for k, (layer, one) in enumerate(zip(reading.split, read, strict=True)):
        if layer not in reading.parts:
            continue
        if isinstance(one, InputError):
            raise InputError(f"layer {layer!r}: {one}")
        part = Part(name, len(out) + 1, layer, _INKS[k % len(_INKS)], hull, "layer")
        warnings = (*one.warnings, *_left_out(found.unlisted))
        out.append(replace(one, name=f"{name}-{files[k]}", part=part, warnings=warnings))
    return tuple(out)


def _left_out(unlisted: Sequence[str]) -> Iterator[str]:
    """The warning about layers that are not listed."""
    if unlisted:
        names = ", ".join(map(repr, unlisted[:LISTED]))
        more = f" and {len(unlisted) - LISTED} more" if len(unlisted) > LISTED else ""
        some, be = ("layer", "is") if len(unlisted) == 1 else ("layers", "are")
        yield f"{some} {names}{more} {be} not listed, and {be} left out"


def _file_names(layers: Sequence[str]) -> list[str]:
    """The names of layers as parts of file names, no two the same, whatever their case."""
    out: list[str] = []
    for number, layer in enumerate(layers, 1):
        plain = re.sub(r"[^\w.+-]+", "-", layer)[:_LONGEST].strip("-.") or str(number)
        taken = any(plain.casefold() == other.casefold() for other in out)
        out.append(f"{plain}-{number}" if taken else plain)
    return out

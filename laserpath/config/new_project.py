"""A project file to edit: the layers or colours of a drawing, or a board's layers, and what each may have.

Lines that begin with `#` and a key are settings that are not in effect; without the `#` they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from laserpath.base.errors import figure
from laserpath.base.quantities import quoted, quoted_path
from laserpath.config.layers import FACTORS
from laserpath.config.profiles import DEFAULTS
from laserpath.design.board.files import EXPOSABLE

if TYPE_CHECKING:
    from laserpath.design.board.files import BoardFiles
    from laserpath.design.reading import FoundPart


@dataclass(frozen=True, slots=True)
class ListedLayer:
    """A layer as a new project lists it. note: what it is, for a comment."""

    name: str
    on: bool
    note: str


def listed_parts(parts: Sequence[FoundPart]) -> tuple[ListedLayer, ...]:
    """The layers or colours of a drawing. Of two colours with one name, each is listed by its number."""
    names = [one.name for one in parts]
    out = []
    for number, one in enumerate(parts, 1):
        colour = one.design.part.colour if one.design and one.design.part else ""
        name = str(number) if colour and names.count(one.name) > 1 else one.name
        note = colour and f"{one.name} {colour}, "
        if one.design is None:
            note = f"nothing to expose: {one.why}"
        else:
            width, height = one.design.size
            shapes = len(one.design.area.geoms)
            note += f"{figure(width, 4)} x {figure(height, 4)} mm, {shapes} shape{'s' * (shapes != 1)}"
        hidden = "" if one.shown or one.design is None else "; not read unless it is named"
        out.append(ListedLayer(name, one.shown and one.design is not None, note + hidden))
    return tuple(out)


def listed_board(files: BoardFiles) -> tuple[ListedLayer, ...]:
    """The layers of a board that can be exposed; its copper is on. Raises if two files are one layer."""
    found = ((kind, files.one(kind)) for kind in EXPOSABLE)
    return tuple(
        ListedLayer(kind, kind in ("top-copper", "bottom-copper"), f"{file.name} (by {file.said})")
        for kind, file in found
        if file is not None
    )


def new_text(
    design: Path | None,
    layers: Sequence[ListedLayer],
    *,
    values: Mapping[str, str],
    command: str,
    noun: str,
    follows: bool,
    notes: Sequence[str] = (),
) -> str:
    """The project. design: relative to its folder; None: no single file.

    values: of machine, resin and spot that are given: key → its value as written.  command: that uses it.
    noun: what is listed, `layer` or `colour`.  follows: whether each can be told to follow its lines.
    notes: comments about what was read.
    """
    lines = [
        f"# What `{command}` does with this design. A line that begins with # is not in effect.",
        *([f"design = {quoted_path(design.as_posix())}"] if design else []),
        *([f"colours = {len(layers)}"] if noun == "colour" and len(layers) > 1 else []),
        "",
        *_general(values),
        *(f"# {note}" for note in notes),
        *_tables(layers, noun, follows),
    ]
    return "".join(f"{line}\n" for line in lines)


def _general(values: Mapping[str, str]) -> Iterator[str]:
    usual = {
        "machine": (quoted(DEFAULTS["machine"]), "see `laserpath profiles list`; or a file: my-laser.toml"),
        "resin": (quoted(DEFAULTS["resin"]), "its critical dose comes from `laserpath fit`"),
        "spot_fwhm": ('"0.1mm"', "full width of the spot at half its maximum"),
        "quality": ('"standard"', "draft, standard, fine"),
        "max_epe": ('"20um"', "takes the fastest plan whose edge is that accurate"),
    }
    for key in values.keys() - usual.keys():
        yield f"{key} = {values[key]}"
    for key, (value, comment) in usual.items():
        if key in values:
            yield f"{key} = {values[key]}"
        else:
            yield f"# {key} = {value}  # {comment}"
    yield ""


def _tables(layers: Sequence[ListedLayer], noun: str, follows: bool) -> Iterator[str]:
    """A table for each layer; what its keys mean stands before the first. follows: as in `new_text`."""
    if not layers:
        return
    low, high = FACTORS
    yield from (
        f"# A program for each {noun}, in this order, all with one work zero. Each may have:",
        "#   on = false             it is not exposed",
        f"#   dose = 1.2             times its resin's critical dose, {low:g} to {high:g}",
        '#   dose = "42mJ/cm2"      or the dose itself',
        "#   passes = 2             repeats of its path, which share its light",
        *(["#   follow = true          its lines are the path, and nothing else of it is exposed"] * follows),
        '#   quality = "fine"       or any other option of the plan: max_epe, pitch, angle, iterations …',
        '#   resin = "other.toml"   its own resin',
    )
    for one in layers:
        yield ""
        yield "[[layers]]"
        yield f"name = {quoted(one.name)}  # {_plain(one.note)}"
        if not one.on:
            yield "on = false"
        yield "# dose = 1.0"
        yield "# passes = 1"
        yield '# quality = "standard"'


def _plain(text: str) -> str:
    """A text without characters that a comment of TOML may not have."""
    return "".join(one if one.isprintable() else " " for one in text)

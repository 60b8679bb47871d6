"""The project file, `laserpath.toml` beside a design: the options of its plan, to plan it again.

    design = "board.gbr"
    machine = "my-laser.toml"       # a name, a file beside this one, or a table with a profile's keys
    quality = "fine"
    max_epe = "10um"

Its keys are the names of `options.OPTIONS`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcode.errors import GcodeError
from gcode.files import read_toml, toml
from laserpath.base.errors import InputError, did_you_mean
from laserpath.base.quantities import path_of, quoted, quoted_path
from laserpath.config import layers, options, values
from laserpath.config.values import Option

if TYPE_CHECKING:
    from laserpath.types import Design, Process, Settings

NAME = "laserpath.toml"
IN_HEAD = f"{NAME}, to plan this again:"
"""The comment before the project in the head of a program."""
_COMMENTS = re.compile(r"(?:[ \t]*[;(][^\n]*\n)*")
"""The comments with which a program begins."""
_OF_ITS_DESIGN = ("layers", "layer", "unit", "pixel")
"""Options that say what is in a file: another file has other layers, and its own unit."""
_TABLES = ("machine", "resin", "spot")
_ITEM = re.compile(r"""(\{\w+ = )?("(?:\\.|[^"\\])*"|[^\[\]{},\s]+)((?(1)[^}]*\}))""")
"""An item of a list: a string or a number, also as the first value of a table, with what is around it."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project file. path: its own.  design: the file to plan.  values: of options, for `request`."""

    path: Path
    design: Path | None
    values: Mapping[str, Any]

    def of(self, design: str | Path | None) -> Mapping[str, Any]:
        """The values for a design beside it, without what is said of the file of the design that it names."""
        if design is None or self.design is None:
            return self.values
        own, other = (Path(os.path.realpath(one)) for one in (self.design, design))
        if own == other or own.name == other.name:  # a program that was moved names its design elsewhere
            return self.values
        return {name: value for name, value in self.values.items() if name not in _OF_ITS_DESIGN}


def beside(design: str | Path | None) -> Project | None:
    """The project beside a design (None: in the current folder), if there is one.

    That of a folder, such as of a board, is in it; or beside it, if there is none in it.
    """
    folders = [Path()] if design is None else [folder_of(design), Path(design).parent]
    places = (folder / NAME for folder in folders)
    return next((load(path) for path in places if os.path.exists(path) and not os.path.isdir(path)), None)


def folder_of(design: str | Path) -> Path:
    """The folder in which a new project of a design belongs: its own, or that of a file."""
    path = Path(design)
    return path if path.is_dir() else path.parent


def load(path: str | Path) -> Project:
    """Read a project file. Raises with the key and the value that is wrong."""
    path = Path(path)
    owner = f"project {str(path)!r}"
    return _project(_table(path, owner), path, owner)


def first_comments(text: str) -> list[str]:
    """The comments with which a program begins, a line each."""
    return [line.strip(" ;()\r") for line in _COMMENTS.match(text)[0].splitlines()]  # type: ignore[index]


def in_head(text: str, path: str | Path) -> Project | None:
    """The project in the head of a program that laserpath has written to `path`; None if it has none."""
    lines = first_comments(text)
    begin = next((k for k, line in enumerate(lines, 1) if line.startswith(IN_HEAD)), None)
    if begin is None:
        return None
    owner = f"the project in the head of {str(path)!r}"
    try:
        table = toml("\n".join(lines[begin:]), Decimal)
    except GcodeError as error:
        raise InputError(f"{owner} {error}; --project gives another") from None
    return _project(table, Path(path), owner)


_HEAD_BYTES = 1 << 20
"""Bytes of a program in which its head is: some ten times as many as a head has."""


def in_heads(programs: Sequence[str | Path]) -> Project | None:
    """The project in the heads of all programs: what all of them say; None if their machines differ.

    Of a long program no more than the head is read.
    """
    heads = [head for one in programs if (head := _in_file(Path(one))) is not None]
    if not heads or len(heads) < len(programs):
        return None
    own = heads[0].values
    same = {name: own[name] for name in own if all(one.values.get(name) == own[name] for one in heads)}
    return replace(heads[0], values=same) if len(heads) == 1 or "machine" in same else None


def _in_file(path: Path) -> Project | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            data = file.read(_HEAD_BYTES)
    except OSError:  # which is told where the program is read
        return None
    return in_head(data.decode("utf-8", "surrogateescape"), path)


def for_programs(
    given: str | None, programs: Sequence[str | Path], folder_of: str | Path | None
) -> tuple[Project | None, str]:
    """The project that programs are read with, and where it stands, in words; None, '': there is none.

    That of the option --project comes first, then the head of the programs, then the file beside `folder_of`
    (None: in the current folder). It holds as a whole: what it leaves out is as by default.
    """
    if given is not None:
        saved = load(given)
        return saved, f"of {saved.path}"
    if (head := in_heads(programs)) is not None:
        one = f"in the head of {programs[0]}"
        return head, one if len(programs) == 1 else "in the heads of all programs"
    near = beside(folder_of)
    return near, "" if near is None else f"of {near.path}"


def _project(table: dict[str, Any], path: Path, owner: str) -> Project:
    """The project of a table. path: of the file, which others that it names are beside."""
    design = table.pop("design", None)
    if design is not None and (not isinstance(design, str) or not design):
        raise InputError(f"{owner}: design is {design!r}, but must be a file name in quotes")
    known, given = options.by_name(), {}
    for key, value in table.items():
        option = known.get(key.replace("-", "_"))
        if option is None:
            every = ("design", *known)
            near = did_you_mean(key.replace("-", "_"), every) or f"; known: {', '.join(every)}"
            raise InputError(f"{owner}: key {key!r} is unknown{near}")
        try:
            parsed = option.parse(value)
            given[option.name] = _located(path, option, parsed)
        except InputError as error:
            raise InputError(f"{owner}: {key}: {error}") from None
    return Project(path, path.parent / path_of(design) if design else None, given)


def _table(path: Path, owner: str) -> dict[str, Any]:
    """The keys and values of a TOML file; numbers are Decimal, exactly as written."""
    try:
        return read_toml(path, Decimal)
    except FileNotFoundError:
        raise InputError(f"{owner} is missing") from None
    except OSError as error:
        raise InputError(f"{owner} cannot be read: {error.strerror}") from error
    except GcodeError as error:
        raise InputError(f"{owner} {error}") from None


def _located(path: Path, option: Option, value: Any) -> Any:
    """A value in which the files of profiles are relative to the project's folder."""
    if option.parse is values.colour_resins:
        pairs = (one.partition("=") for one in value)
        return tuple(f"{colour}={_beside(path, resin.strip())}" for colour, _, resin in pairs)
    if isinstance(option.parse, layers.LayerList):
        return tuple(replace(one, values={**one.values, **_resin(path, one.values)}) for one in value)
    if option.parse is values.marks:
        return tuple(one if "=" in one else str(path.parent / one) for one in value)
    if option.parse is values.heights:
        from laserpath.config.profiles import bed

        return value if bed.are_points(value) else str(path.parent / value)
    return _beside(path, value) if option.parse is values.profile else value


def _resin(path: Path, own: Mapping[str, Any]) -> dict[str, Any]:
    return {"resin": _beside(path, own["resin"])} if "resin" in own else {}


def _beside(path: Path, profile: Any) -> Any:
    """A profile whose file, or the files that its table names, are relative to the project's folder."""
    if isinstance(profile, Mapping):
        files = {key: profile[key] for key in ("measured", "dialect") if is_file(profile.get(key))}
        return {**profile, **{key: str(path.parent / file) for key, file in files.items()}}
    return str(path.parent / profile) if is_file(profile) else profile


def is_file(value: Any) -> bool:
    """Whether a profile is given as a file, and not by its name."""
    return isinstance(value, str) and (
        value.endswith((".toml", ".csv", ".png")) or "/" in value or "\\" in value
    )


# Writing one


def text(design: Design, process: Process, settings: Settings, folder: str | Path | None = None) -> str:
    """The project that plans the same again. It states all values, because profiles may change.

    folder: of the project; the design's path is relative to it.
    """
    lines = [*_head(design, folder), *_settings(settings), *_tables(process)]
    return "".join(f"{line}\n" for line in lines)


Part = tuple["Design", "Process", "Settings"]


def text_of_parts(parts: Sequence[Part], folder: str | Path | None = None) -> str:
    """The project that plans several colours or layers of a drawing again; they have one machine and spot.

    What all of them have stands once, what only some have stands in their own tables. folder: as in `text`.
    """
    (design, process, settings), fewer = parts[0], ("colour", "layer", "layers")
    head = [line for line in _head(design, folder) if line.partition(" = ")[0] not in fewer]
    same = {
        field.name
        for field in fields(settings)
        if all(getattr(how, field.name) == getattr(settings, field.name) for _, _, how in parts)
    }
    lines = [*head, *_settings(settings, same), *_tables(process), *_tables_of_parts(parts, same)]
    return "".join(f"{line}\n" for line in lines)


def _tables_of_parts(parts: Sequence[Part], same: Collection[str]) -> Iterator[str]:
    """A `[[layers]]` for each part, and for the layers that are off; none if all colours are planned alike.

    same: the fields of settings in which they agree.
    """
    from laserpath.config.profiles import writing

    recipe = toml("\n".join(line for line in parts[0][0].recipe if not line.startswith("#")))
    planned = [part for design, _, _ in parts if (part := design.part)]
    listed = [one if isinstance(one, dict) else {"name": one} for one in recipe.get("layers", ())]
    followed = [one["name"] for one in listed if one.get("follow")]
    resins = len({process.resin for _, process, _ in parts}) > 1
    numbers = [part.number for part in planned]
    whole = numbers == list(range(1, recipe.get("colours", 0) + 1))
    if whole and not resins and len(same) == len(fields(parts[0][2])):
        return
    for part, (_, process, settings) in zip(planned, parts, strict=True):
        yield "[[layers]]"
        yield f"name = {quoted(part.name if part.kind == 'layer' else str(part.number))}"
        if part.name in followed:
            yield "follow = true"
        yield from _settings(settings, {field.name for field in fields(settings)} - set(same))
        if resins:
            yield "[layers.resin]"
            yield from writing.text(process.resin).splitlines()
    for one in listed:
        if one["name"] not in [part.name for part in planned]:
            yield from ("[[layers]]", f"name = {quoted(one['name'])}", "on = false")
            if one["name"] in followed:
                yield "follow = true"


def narrow(text: str, width: int = 60, refused: str = "") -> Iterator[str]:
    """The lines of a project in ASCII, at most `width` long, because a program's head folds longer ones.

    refused: characters that the program's comments may not have; texts have them as escapes.
    """
    for line in text.splitlines():
        plain = "".join(c if c.isascii() and c not in refused else _escaped(c) for c in line)
        key, _, value = plain.partition(" = ")
        if len(plain) > width and value.startswith("["):
            yield f"{key} = ["
            for before, item, after in _ITEM.findall(value):
                *lines, last = _folded(before, item, width - len(after))
                yield from (*lines, f"{last}{after},")
            yield "]"
        else:
            yield from _folded(f"{key} = ", value, width) if value.startswith('"') else (plain,)


def _folded(before: str, text: str, width: int) -> Iterator[str]:
    """The lines of a string of TOML, or of a number."""
    if len(before) + len(text) <= width:
        yield before + text
        return
    # In TOML a backslash at the end of a line removes the line break and the blanks after it.
    parts = re.findall(r"\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\.|[^\\]", text[1:-1])
    yield f'{before}"""\\'
    yield from (f"{part}\\" for part in _joined(parts, width - 10))
    yield '"""'


def _joined(parts: list[str], width: int) -> Iterator[str]:
    """Parts joined to lines that do not begin with a blank."""
    line = ""
    for part in parts:
        if len(line) + len(part) > width and line and not part[0].isspace():
            yield line
            line = ""
        line += part
    yield line


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _head(design: Design, folder: str | Path | None) -> list[str]:
    """The design's file, and how it was read and arranged."""
    lines = list(design.recipe or (f"# design: {quoted(design.name)}, made by a program",))
    if folder is not None and design.file is not None:
        path = Path(os.path.relpath(design.file, folder)).as_posix()
        lines[0] = f"design = {quoted_path(path)}"
    return lines


def _tables(process: Process) -> Iterator[str]:
    """The tables of machine, resin and spot."""
    from laserpath.config.profiles import writing

    measured = process.spot.measured is not None
    if measured:
        # A spot from a program has no source. Its empty name is refused; without the key, the default
        # spot would be planned with.
        yield f"spot = {quoted(process.spot.source)}"
    for name in _TABLES:
        if name == "spot" and measured:
            continue
        yield f"[{name}]"
        yield from writing.text(getattr(process, name)).splitlines()


def _settings(settings: Settings, names: Collection[str] | None = None) -> Iterator[str]:
    """The options of settings that differ from their defaults. names: of the fields to write; None: all."""
    default = replace(type(settings)(), **options.UNLESS_GIVEN)
    by_field = {option.field: option for option in options.setting("Settings")}
    for field in fields(settings):
        value, option = getattr(settings, field.name), by_field[field.name]
        if value == getattr(default, field.name) or (names is not None and field.name not in names):
            continue
        if isinstance(option.parse, values.Quantity) and option.parse.relative:
            written = f'"{value:.12g}fwhm"'
        elif isinstance(value, str):
            written = quoted(value)
        elif isinstance(value, tuple):
            written = f"[{', '.join(f'{part:.12g}' for part in value)}]"
        else:
            written = f"{value:.12g}"
        yield f"{option.name} = {written}"

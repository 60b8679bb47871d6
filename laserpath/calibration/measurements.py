"""What a chart asks and what was measured: levels and their light, items, and the sheet, a CSV to fill in.

Levels. `gcode.levels` has the formula of their light, mW. A chart is written in levels, but laid out, and
fitted, in mW of light. Its fit also finds the offset o of the light, because the light of low levels depends
on it: the row of `doubled` has one line energy throughout, at levels that double from line to line, if o is
that of the machine's profile. With another o the lines at the lowest levels have another dose, and so another
width and depth.

Items. A line, a dot and a wedge are straight strokes at one power and one speed; a dot is a stroke shorter
than the spot, so that controllers that are dark at a standstill can write it too. A wedge is two strokes that
meet in a tip, a pair two lines side by side, one drawn forth and one back (`mechanics`). Lengths in mm,
powers in mW, speeds in mm/s.

Sheet: a CSV, read back as any spreadsheet saves it. A column is named by its quantity and unit, `width_um` or
`width_mm`. Columns may be separated by commas, semicolons or tabs. Between semicolons or tabs a decimal comma
may be used; between commas it needs quotes, and is refused where it might separate thousands (`"1,234"`).
Lines that begin with # are not data, but `# absorption_order = 2` is read.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gcode.levels import shine
from laserpath.base.arrays import Floats, Indices
from laserpath.base.checks import positive
from laserpath.base.errors import InputError, did_you_mean, one_line
from laserpath.base.quantities import LENGTH, POWER, SPEED, Units, convert, parse
from laserpath.types import Machine, Point

_FAINT = 1e-9
"""Least light of a level, as a fraction of full power, so that its logarithm is finite."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels that a chart was written with. count: N, above zero.

    offset: o of the machine's profile. The powers of the chart's items are the light of their levels with it.
    """

    count: int
    offset: float = 0.0

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"power_levels is {self.count}, but must be at least 1")
        if not (np.isfinite(self.offset) and self.offset > -self.count):
            raise InputError(f"level_offset is {self.offset:g}, but must be above {-self.count}")

    @classmethod
    def of(cls, machine: Machine) -> Levels:
        """Those of a machine."""
        return cls(machine.power_levels, machine.light.offset)

    def light(self, level: ArrayLike, offset: ArrayLike | None = None) -> Floats:
        """Light of levels above zero, as a fraction of full power. offset: o, if not that of the profile.

        Level and offset are broadcast.
        """
        o = np.asarray(self.offset if offset is None else offset, dtype=np.float64)
        return np.maximum(shine(np.asarray(level, dtype=np.float64), self.count, o), _FAINT)


def level_for(power: ArrayLike, machine: Machine) -> Indices:
    """The usable level whose light is nearest to a power in mW."""
    level = np.rint(machine.level_for(power))
    return np.clip(level, machine.level_min, machine.power_levels).astype(np.int64)


def doubled(machine: Machine) -> Indices:
    """The usable levels from the lowest up, each twice the one before."""
    count = int(np.log2(machine.power_levels / machine.level_min) + 1e-9) + 1
    return machine.level_min * 2 ** np.arange(count)


@dataclass(frozen=True, slots=True)
class Stated:
    """What the machine of a chart stated. delay: s, of its laser, on average.  backlash: mm, of x and y."""

    delay: float = 0.0
    backlash: Point = (0.0, 0.0)

    @classmethod
    def of(cls, machine: Machine) -> Stated:
        """That of a machine."""
        return cls((machine.laser_on_delay + machine.laser_off_delay) / 2, machine.backlash)

    def lines(self) -> list[str]:
        """Lines of a sheet's head; none if nothing was stated."""
        told = {_DELAY: self.delay, _SLACK[0]: self.backlash[0], _SLACK[1]: self.backlash[1]}
        return [f"{name} = {1000 * value:.10g}" for name, value in told.items() if value]


KINDS = ("line", "dot", "wedge", "pair")
SIZES = ("width", "depth", "diameter", "merged")
"""The sizes that may be measured of an item, mm. width: of a line.  depth, or height: of a line or a dot.
diameter: of a dot, across its stroke.  merged: distance from the tip where the lines of a wedge are one."""


_SIZES_OF: Mapping[str, tuple[str, ...]] = {
    "line": ("width", "depth"), "dot": ("diameter", "depth"), "wedge": ("merged",), "pair": (),
}  # fmt: skip
_FURTHEST = 5.0
"""mm, largest offset of a pair; a larger one most likely is in another unit."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to measure. x, y: its middle.  along: 'x' or 'y', the direction of writing.

    length: of the stroke; of a wedge, from its tip to its open end.  gap: between the middles of a wedge's
    lines at that end, or of a pair's lines; 0 elsewhere.  level: that was commanded, if known; power is its
    light.  z: of the program, where a chart has several heights.
    """

    id: str
    kind: str
    power: float
    speed: float
    length: float = 0.0
    x: float = 0.0
    y: float = 0.0
    along: str = "x"
    gap: float = 0.0
    level: int | None = None
    z: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind {self.kind!r} is unknown; known: {', '.join(KINDS)}")
        if self.along not in ("x", "y"):
            raise InputError(f"along is {self.along!r}, but must be x or y")
        positive(self, "power", "speed")
        if self.level is not None and self.level < 1:
            raise InputError(f"level is {self.level}, but must be at least 1")
        if self.kind != "line":
            positive(self, "length")
        if self.kind in ("wedge", "pair"):
            positive(self, "gap")

    @property
    def line_energy(self) -> float:
        """Power ÷ speed, mJ/mm."""
        return self.power / self.speed

    @property
    def time(self) -> float:
        """Duration of the whole stroke, s."""
        return self.length / self.speed


@dataclass(frozen=True, slots=True)
class Measured:
    """An item and its measured sizes, mm; None: not measured. visible: None: not reported.

    planned: the width or diameter that the chart was laid out with.  offset: mm, of a pair, how far its line
    forth, the upper or the left one, lies ahead of the other, to the right or up.
    """

    item: Item
    width: float | None = None
    depth: float | None = None
    diameter: float | None = None
    merged: float | None = None
    visible: bool | None = None
    planned: float | None = None
    offset: float | None = None

    def __post_init__(self) -> None:
        where = f"item {self.item.id!r}"
        own = _SIZES_OF[self.item.kind]
        if self.offset is not None and self.item.kind != "pair":
            raise InputError(f"{where} is a {self.item.kind}, which has no offset")
        if self.offset is not None and not abs(self.offset) < _FURTHEST:
            raise InputError(
                f"{where} has an offset of {self.offset * 1000:g} µm, but it must be below {_FURTHEST:g} mm"
            )
        for name in SIZES:
            size = getattr(self, name)
            if size is None:
                continue
            if name not in own:
                raise InputError(f"{where} is a {self.item.kind}, which has no {name}")
            if not (np.isfinite(size) and size > 0):
                raise InputError(f"{where} has a {name} of {size * 1000:g} µm, but it must be above 0")
            if self.visible is False:
                raise InputError(f"{where} is not visible, but has a {name}")
        if self.merged is not None and self.merged >= self.item.length:
            raise InputError(
                f"{where} has a merged length of {self.merged * 1000:g} µm, but the wedge is "
                f"{self.item.length * 1000:g} µm long"
            )


@dataclass(frozen=True, slots=True)
class Measurements:
    """All items with their measurements. order: photons that the resin absorbs at once.

    levels: that the items were written with; None if unknown, and then no offset of the light is fitted.
    mechanics: what the machine stated then.
    """

    rows: tuple[Measured, ...]
    order: int = 1
    levels: Levels | None = None
    mechanics: Stated = field(default_factory=Stated)

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        if self.rows:
            name, count = Counter(row.item.id for row in self.rows).most_common(1)[0]
            if count > 1:
                raise InputError(f"item {name!r} is there {count} times, but an id may be there once")
            most = max(row.item.level or 0 for row in self.rows)
            if self.levels is not None and most > self.levels.count:
                raise InputError(f"level {most} is above power_levels {self.levels.count}")

    @property
    def sized(self) -> bool:
        """Whether a size of a line, a dot or a wedge is filled in, or that one is visible or not."""
        rows = (row for row in self.rows if row.item.kind != "pair")
        return any(row.visible is not None or any(getattr(row, s) is not None for s in SIZES) for row in rows)


ROWS_MAX = 10_000
_LENGTHS: Units = {unit: LENGTH[unit] for unit in ("um", "mm", "nm")}
_QUANTITIES: Mapping[str, Units] = {
    **dict.fromkeys(("x", "y", "z", "length", "gap", *SIZES, "height", "offset"), _LENGTHS),
    "power": POWER, "speed": SPEED,
}  # fmt: skip
_WORDS = ("id", "kind", "along", "level", "visible", "note")
_ORDER, _COUNT, _OFFSET = "absorption_order", "power_levels", "level_offset"
_DELAY, _SLACK = "laser_delay_ms", ("backlash_x_um", "backlash_y_um")
_HEAD = (_ORDER, _COUNT, _OFFSET, _DELAY, *_SLACK)
_DERIVED = ("line_energy_mJ_per_mm", "energy_mJ", "time_ms", "planned_um")
"""Columns for the reader's orientation. The fit ignores them, except for the planned size."""
_PLANNED = "planned_um"
_WRONG_UNIT = 50.0
"""Ratio to the planned sizes above which the unit is taken to be wrong, since no dose explains it."""
_YES, _NO = ("yes", "y", "1", "true", "x", "ja", "oui", "si"), ("no", "n", "0", "false", "nein", "non")
_BLANK = ("", "-", "–", "—", "n/a", "na")
_HEADING = r"#\s*{}\s*[=:]\s*(\S+)"
"""Of a line of the head that is read."""
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([.,])\d{3}")

COLUMNS = (
    "id", "kind", "along", "x_mm", "y_mm", "z_mm", "level", "power_mW", "speed_mm_per_s", "length_um",
    "gap_um", *_DERIVED, "visible", "width_um", "depth_um", "diameter_um", "merged_um", "offset_um", "note",
)  # fmt: skip

# To fill in


def write_sheet(
    items: Sequence[Item],
    head: Sequence[str],
    planned: Mapping[str, float],
    order: int,
    decimal: str = "point",
    levels: Levels | None = None,
    mechanics: Stated | None = None,
) -> str:
    """The CSV text. head: comment lines at its top.  planned: mm by id.  decimal: 'point' or 'comma'.

    levels: that the items are written with.  mechanics: what their machine states.
    """
    if decimal not in ("point", "comma"):
        raise InputError(f"decimal is {decimal!r}, but must be point or comma")
    text = io.StringIO()
    light = [] if levels is None else [f"{_COUNT} = {levels.count}", f"{_OFFSET} = {levels.offset:.10g}"]
    known = [] if mechanics is None else mechanics.lines()
    for line in (*head, f"{_ORDER} = {order}", *light, *known):
        text.write(f"# {line}\n")
    writer = csv.writer(text, delimiter="," if decimal == "point" else ";", lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in items:
        row = [str(value) for value in _row(item, planned.get(item.id))]
        writer.writerow(row if decimal == "point" else [row[0], *(v.replace(".", ",") for v in row[1:])])
    return text.getvalue()


def _row(item: Item, planned: float | None) -> list[object]:
    dot, apart = item.kind == "dot", item.kind in ("wedge", "pair")
    # The commanded values, with more digits than the machine takes.
    return [
        item.id, item.kind, item.along, _short(item.x), _short(item.y), _short(item.z),
        "" if item.level is None else item.level, f"{item.power:.8g}", f"{item.speed:.8g}",
        _short(item.length * 1000), _short(item.gap * 1000) if apart else "",
        f"{item.line_energy:.4g}", f"{item.line_energy * item.length:.4g}" if dot else "",
        f"{item.time * 1000:.4g}" if dot else "", "" if planned is None else f"{planned * 1000:.3g}",
        "", "", "", "", "", "", "",
    ]  # fmt: skip


def _short(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


# Filled in


@dataclass(frozen=True, slots=True)
class _Style:
    """The number format of a file. decimal: whether any number has a decimal comma."""

    delimiter: str
    decimal: bool


def read_sheet(data: str | bytes, name: str = "measurements") -> Measurements:
    """The measurements. An error names a cell by its column and its row, counted as a spreadsheet does."""
    try:
        return _read(_text(data))
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _text(data: str | bytes) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    if data[:4] == b"PK\x03\x04":
        raise InputError("it is a spreadsheet, but must be a CSV; save it as CSV")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace").removeprefix("\ufeff")
    if b"\0" in data:
        raise InputError("it is not a text file, but must be a CSV")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")  # the encoding of older spreadsheets


def _read(text: str) -> Measurements:
    head = {name: re.search(_HEADING.format(name), text) for name in _HEAD}
    given = {name: found[1].strip(' ",;') for name, found in head.items() if found}
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((line for line in lines if line.strip(' \t,;"') and not _comment(line)), None)
    if first is None:
        raise InputError("it is empty")
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise InputError(f"it is not a CSV file: {error}") from error
    # csv.reader keeps blank lines as empty rows, so that rows count as in a spreadsheet.
    table = [
        (n, row) for n, row in enumerate(rows, start=1) if any(map(str.strip, row)) and not _comment(row[0])
    ]
    if not table:
        raise InputError("it is empty")
    (_, names), body = table[0], table[1:]
    columns = [name.strip() for name in names]
    known = _known()
    _check_columns(columns, known)
    if not body:
        raise InputError("it has no rows below the names of its columns")
    if len(body) > ROWS_MAX:
        raise InputError(f"it has {len(body)} rows, above {ROWS_MAX}")
    style = _Style(delimiter, any(re.fullmatch(r"\s*\d+,\d+\s*", cell) for _, row in body for cell in row))
    measured = [_measured(number, row, columns, known, style) for number, row in body]
    _check_unit(measured)
    if _COUNT not in given and any(one.item.level is not None for one in measured):
        raise InputError(
            f"the column level is filled in, but the line '# {_COUNT} = …' is missing: keep the lines "
            "that begin with # at the top of the sheet"
        )
    return Measurements(tuple(measured), _order(given.get(_ORDER, "1")), _levels(given), _stated(given))


def _comment(text: str) -> bool:
    return text.lstrip(' "').startswith("#")


def _levels(given: Mapping[str, str]) -> Levels | None:
    """The levels that the head of a sheet tells of."""
    if _COUNT not in given:
        return None
    count = given[_COUNT]
    if not (count.isascii() and count.isdecimal()):
        raise InputError(f"{_COUNT} is {count!r}, but must be a whole number")
    return Levels(int(count), _told(given, _OFFSET))


def _stated(given: Mapping[str, str]) -> Stated:
    """What the head of a sheet says of the machine's laser and axes."""
    values = {name: _told(given, name) / 1000 for name in (_DELAY, *_SLACK)}
    return Stated(values[_DELAY], (values[_SLACK[0]], values[_SLACK[1]]))


def _told(given: Mapping[str, str], name: str) -> float:
    """A number of the head; 0 if it is missing."""
    try:
        value = float(given.get(name, "0"))
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise InputError(f"{name} is {given[name]!r}, but must be a number")
    return value


def _order(cell: str) -> int:
    if cell not in [str(n) for n in range(1, 9)]:
        raise InputError(f"absorption_order is {cell!r}, but must be a whole number from 1 to 8")
    return int(cell)


def _known() -> dict[str, tuple[str, str]]:
    """Column → quantity and unit."""
    quantities = {
        f"{name}_{unit.replace('/', '_per_')}": (name, unit)
        for name, units in _QUANTITIES.items()
        for unit in units
    }
    words = {name: (name, "") for name in (*_WORDS, *_DERIVED)}
    return {**quantities, **words, _PLANNED: ("planned", "um")}


def _check_columns(columns: Sequence[str], known: Mapping[str, tuple[str, str]]) -> None:
    holds: dict[str, str] = {}
    for column in filter(None, columns):
        if column not in known:
            near = did_you_mean(column, known) or f"; known: {', '.join(COLUMNS)}"
            raise InputError(f"column {column!r} is unknown{near}")
        what = {"height": "depth"}.get(known[column][0], known[column][0])
        if what in holds:
            raise InputError(f"columns {holds[what]!r} and {column!r} mean the same; leave one of them out")
        holds[what] = column
    for what, column in (("power", "power_mW"), ("speed", "speed_mm_per_s")):
        if what not in holds:
            raise InputError(f"column {column!r} is missing")


def _check_unit(measured: Sequence[Measured]) -> None:
    """Refuse widths in mm in a column of µm, by comparing them with the planned widths."""
    pairs = [(m.width or m.diameter, m.planned) for m in measured]
    ratios = sorted(size / planned for size, planned in pairs if size and planned)
    if len(ratios) < 3:
        return
    middle = ratios[len(ratios) // 2]
    if not 1 / _WRONG_UNIT < middle < _WRONG_UNIT:
        raise InputError(
            f"its sizes are {middle:.2g} times those that the chart planned, and no dose does that; "
            "are they in the unit that their columns name?"
        )


def _measured(
    number: int,
    row: Sequence[str],
    columns: Sequence[str],
    known: Mapping[str, tuple[str, str]],
    style: _Style,
) -> Measured:
    """The measurement in one row."""
    if len(row) > len(columns) and any(cell.strip() for cell in row[len(columns) :]):
        raise InputError(
            f"row {number} has {len(row)} cells, but there are {len(columns)} columns; a decimal comma must "
            "be in quotes, or the columns separated by semicolons"
        )
    values: dict[str, Any] = {}
    for column, cell in zip(columns, row, strict=False):
        if not column or (column in _DERIVED and column != _PLANNED) or cell.strip().lower() in _BLANK:
            continue
        what, unit = known[column]
        try:
            units = _LENGTHS if what == "planned" else _QUANTITIES.get(what, {})
            values[what] = _number(cell.strip(), unit, units, style) if unit else cell.strip()
        except InputError as error:
            raise InputError(f"row {number}, column {column!r}: {error}") from error
    try:
        return _row_of(number, values)
    except InputError as error:
        raise InputError(f"row {number}: {error}") from error


def _row_of(number: int, values: dict[str, Any]) -> Measured:
    values.pop("note", None)
    for name in ("power", "speed"):
        if name not in values:
            raise InputError(f"the {name} is missing")
    if "height" in values:
        values["depth"] = values.pop("height")
    visible = _visible(values.pop("visible", ""))
    sizes = {name: values.pop(name) for name in SIZES if name in values}
    planned, offset = values.pop("planned", None), values.pop("offset", None)
    kind, level = values.pop("kind", "line").lower(), values.pop("level", None)
    if level is not None and not (level.isascii() and level.isdecimal()):
        raise InputError(f"level is {level!r}, but must be a whole number")
    item = Item(values.pop("id", str(number)), kind, **values, level=None if level is None else int(level))
    return Measured(item, visible=visible, planned=planned, offset=offset, **sizes)


def _number(cell: str, unit: str, units: Units, style: _Style) -> float:
    """The value of a cell in our units; it may name another unit than its column."""
    digits = cell.split()[0] if cell.split() else cell
    ambiguous = _THOUSANDS.fullmatch(digits)
    if ambiguous and (
        (ambiguous[1] == "," and style.delimiter == ",") or (ambiguous[1] == "." and style.decimal)
    ):
        raise InputError(
            f"{cell!r} may be a thousand or a decimal number; write it without, or as {digits + '0'!r}"
        )
    if digits.count(",") > 1 or ("," in digits and "." in digits):
        raise InputError(f"{cell!r} has several points or commas, but may have one")
    number, own_unit = parse(cell.replace(",", ".", 1), units, unit)
    return convert(number, own_unit, units)


def _visible(cell: str) -> bool | None:
    cell = cell.lower()
    if cell in (*_YES, *_NO, ""):
        return None if not cell else cell in _YES
    raise InputError(f"visible is {cell!r}, but must be yes or no")

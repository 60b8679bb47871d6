"""DXF → `Design`: hatches and solids, and outlines filled by the even-odd rule, seen from above.

`read(data, name, reading)`. The way through: `drawing` (ezdxf's drawing, unit, layers) → `blocks` (entities,
and blocks placed by INSERT) → `shapes` (each entity's curves) → `design.enclosed` (what lines enclose) →
here: the area in mm, y up, and warnings.

Solid are the areas that DXF fills (hatches, solids, lines with a width), and the areas that outlines enclose
by the even-odd rule over all layers that count: an outline in another is a hole, and an outline in a hole is
an island. An outline that is drawn twice counts once. Lines that branch enclose what is between them, unless
a width is given. Lines that enclose nothing are drawn in the width of the reading; without one they are left
out, unless there is nothing else: then they are as wide as the spot.

Entities that are left out or changed give a warning or an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats
from laserpath.base.errors import InputError, figure
from laserpath.design import fill
from laserpath.design.curves import Chain, Pen, polylines, stroke
from laserpath.design.dxf.blocks import CLOSED, FILLED, LARGEST, OPEN, WIDE, Curves, EntityReader
from laserpath.design.dxf.drawing import NAMED, DrawingFile, Layers, listed
from laserpath.design.enclosed import SAME, Gap, enclosed
from laserpath.design.fill import EVENODD
from laserpath.design.reading import LayersRead, Reading, each_alone
from laserpath.design.vector import Line, followed, hairlines
from laserpath.types import Design

Met = Counter[tuple[str, str, int]]


@dataclass(frozen=True, slots=True)
class OpenLines:
    """Lines that enclose nothing. curves, layers: numbers.  gap: between their nearest loose ends.

    branching: whether they branch.
    """

    curves: list[int]
    layers: list[int]
    gap: Gap | None
    branching: bool

    def near(self, most: float = np.inf) -> str:
        """Where an outline may have been intended to close, for the end of a sentence. most: mm."""
        if self.gap is None or self.branching or self.gap.width > most:
            return ""
        return f"; the nearest loose ends are {figure(self.gap.width)} mm apart, at {self.gap.at}"


def left_out(other: Met, layers: Layers) -> list[str]:
    """The warnings about entities that are not read: one counts them by kind, one names each problem."""
    counts: dict[str, Counter[str]] = {}
    where: dict[tuple[str, str], set[int]] = {}
    for (what, name, layer), n in other.items():
        if layers.counts(layer):
            counts.setdefault(what, Counter())[name] += n
            where.setdefault((what, name), set()).add(layer)
    out = [_unread(counts.pop("unread"))] if "unread" in counts else []
    if "damaged" in counts:
        out.append(_damaged(list(counts.pop("damaged"))))
    for what, names in counts.items():
        for name, n in names.items():
            on = f"on layer {listed(layers.names[k] for k in sorted(where[what, name]))}"
            out.append(
                {
                    "pattern": f"{n} HATCH {on} with the pattern {name!r}: filled as a whole",
                    "clipped": f"block {name!r} {on} is clipped: it counts as a whole",
                    "missing": f"block {name!r} is placed {on}, but is not in the file: left out",
                    "reference": f"external reference {name!r} {on}: other files are never read",
                }[what]
            )
    return out


def _unread(kinds: Counter[str]) -> str:
    parts = [f"{n} {kind}" for kind, n in kinds.most_common()]
    some = ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]
    be, it = ("is", "it is not an outline") if kinds.total() == 1 else ("are", "they are not outlines")
    return f"{some} {be} left out, because {it}: explode in the CAD program what should count"


def _damaged(names: Sequence[str]) -> str:
    more = f"; and {len(names) - NAMED} more" if len(names) > NAMED else ""
    be = "is" if len(names) == 1 else "are"
    return f"{'; '.join(names[:NAMED])}{more}: what is damaged {be} left out"


def hidden(curves: Curves, counts: Bools, layers: Layers) -> list[str]:
    """The warnings about hidden layers that have curves."""
    out = []
    for layer, n in sorted(Counter(curves.layer[~counts[curves.layer]].tolist()).items()):
        if why := layers.why_not(layer):
            out.append(f"{n} curve{'s' * (n > 1)} left out, because layer {layers.names[layer]!r} is {why}")
    return out


def drawn_twice(n: int) -> list[str]:
    """The warning about outlines that lie on others."""
    return [f"{n} outline{'s' * (n > 1)} drawn more than once: counted once"] if n else []


def not_drawn(lines: OpenLines, layers: Layers) -> str:
    """The warning about lines that enclose nothing and are left out."""
    n, where = len(lines.curves), listed(layers.names[k] for k in lines.layers)
    some, be = ("1 line", "is") if n == 1 else (f"{n} lines", "are")
    if lines.branching:
        return (
            f"{some} on layer {where} {be} left out, because branching lines do not say what is inside: "
            "hatch what should be solid, or draw the lines with --line-width 0.2mm"
        )
    return (
        f"{some} on layer {where} {be} left out, because what is not closed has no area{lines.near()}: "
        "close the outline, or draw the lines with --line-width 0.2mm"
    )


def summary(curves: Curves, counts: Bools, layers: Layers) -> str:
    """How many curves were read, and from which layers."""
    used = curves.layer[counts[curves.layer]]
    names = listed(layers.names[k] for k in np.unique(used))
    return f"{len(used)} curve{'s' * (len(used) > 1)} on layer {names}"


def why_empty(warnings: Sequence[str], chosen: Sequence[str]) -> str:
    """The error about a drawing without an area."""
    where = f" on layer {listed(chosen)}" if chosen else ""
    return f"the design is empty: nothing{where} encloses an area" + (
        f" ({'; '.join(warnings)})" if warnings else ""
    )


METRE = 1000.0  # mm: units of at least this are taken for mm if they make the drawing too large
NEAR = 10.0  # spots: loose ends no farther apart look as if they were meant to meet
FARTHEST = 1e10  # mm from the origin: up to here the coordinates are good to 2 nm


def read(data: bytes, name: str, reading: Reading) -> Design:
    """The design in a DXF. name: of the design."""
    with np.errstate(all="ignore"):  # overflows are refused later, by name
        drawing = DrawingFile(data, reading)
        return _design(drawing, _curves(drawing, reading), name, reading)


def read_layers(data: bytes, name: str, reading: Reading) -> LayersRead:
    """A design for each layer of `reading.split`, or why it has none. name: of the drawing."""
    with np.errstate(all="ignore"):
        drawing = DrawingFile(data, replace(reading, layers=reading.split))
        layers, curves = drawing.layers, _curves(drawing, reading)
        drawn = np.unique(curves.layer).tolist()
        shown = {layers.names[k]: not layers.hidden(k) for k in drawn}
        if not reading.split:
            reading = replace(reading, split=tuple(shown))
            layers.choose(reading.split)  # so that blocks on layers that are frozen are read, too
            curves = _curves(drawing, reading)
        counts = _counted(layers)
        zero = _far(_in_mm(curves, counts[curves.layer], drawing.unit))
        unlisted = [layers.names[k] for k in drawn if not counts[k] and not layers.hidden(k)]
        lines = curves
        if reading.followed and not reading.follow:
            lines = _curves(drawing, replace(reading, follow=True))
        parts = each_alone(
            reading, lambda alone: _design(drawing, lines if alone.follow else curves, name, alone, zero)
        )
        return LayersRead(shown, parts, tuple(unlisted))


def _curves(drawing: DrawingFile, reading: Reading) -> Curves:
    """All curves of a drawing, in its unit."""
    curves = EntityReader(drawing, reading.tolerance, follow=reading.follow).curves()
    drawing.layers.check()
    if drawing.unit >= METRE and (size := _size(curves) * drawing.unit) > LARGEST:
        drawing.take_mm(size)
        curves = EntityReader(drawing, reading.tolerance, follow=reading.follow).curves()
    return curves


def _counted(layers: Layers) -> Bools:
    """(layers,) which of them count."""
    return np.array([layers.counts(k) for k in range(len(layers.names))])


def _design(
    drawing: DrawingFile, curves: Curves, name: str, reading: Reading, zero: Floats | None = None
) -> Design:
    """The design of the layers of a reading. zero: mm, where a drawing far from its origin is moved from."""
    drawing.layers.choose(reading.layers)
    counts = _counted(drawing.layers)
    warnings = [*drawing.warnings, *left_out(curves.other, drawing.layers)]
    warnings += hidden(curves, counts, drawing.layers)
    builder = _AreaBuilder(curves, counts[curves.layer], drawing.unit, reading.tolerance, zero)
    if reading.follow:
        lines, filled = builder.lines()
        return followed(lines, name, reading, filled, [*warnings, *builder.notes])
    area, notes = builder.area(drawing.layers, reading)
    warnings += [*builder.notes, *notes]
    if area.is_empty:
        raise InputError(why_empty(warnings, reading.layers))
    return Design(
        area, name, None, tuple(warnings), (*drawing.source, summary(curves, counts, drawing.layers))
    )


class _AreaBuilder:
    """The curves that count, in mm. keep: (m,) which count.

    zero: mm, where a drawing far from its origin is moved from; None: found in what counts.
    """

    def __init__(
        self, curves: Curves, keep: Bools, unit: float, tolerance: float, zero: Floats | None = None
    ) -> None:
        self._role, self._group, self._layer = curves.role[keep], curves.group[keep], curves.layer[keep]
        size = curves.size[keep]
        cubics = _in_mm(curves, keep, unit)
        limits.spend()
        zero = _far(cubics) if zero is None else zero
        self.notes: list[str] = []
        if zero is not None:
            cubics = cubics - zero
            x, y = (zero / 1000).tolist()
            self.notes = [f"what is drawn lies {x:.6g}, {y:.6g} m from the origin, and is moved there"]
        if not (np.isfinite(cubics).all() and np.abs(cubics).max(initial=0) <= LARGEST):
            raise InputError(
                f"what is drawn reaches farther than {LARGEST / 1000:g} m; check the unit, and look for "
                "something far off the rest"
            )
        self._cubics = np.split(cubics, np.cumsum(size)[:-1]) if len(size) else []
        self._tolerance = tolerance

    def _filled(self) -> fill.Polygons:
        """The polygons that DXF fills."""
        at = np.flatnonzero(self._role == FILLED)
        rings = self._flattened([self._cubics[k] for k in at])
        groups = self._group[at]
        cuts = np.flatnonzero(np.diff(groups)) + 1
        single = np.diff(np.concatenate([[0], cuts, [len(at)]])) == 1 if len(at) else np.zeros(0, dtype=bool)
        spans = np.split(np.arange(len(at)), cuts) if len(at) else []
        alone = [rings[int(span[0])] for span, one in zip(spans, single, strict=True) if one]
        together = [
            fill.filled([rings[k] for k in span], EVENODD)
            for span, one in zip(spans, single, strict=True)
            if not one
        ]
        return np.concatenate([fill.polygons(*fill.flat(alone), EVENODD), fill.parts(*together)])

    def area(self, layers: Layers, reading: Reading) -> tuple[fill.Geometry, list[str]]:
        """The solid area, and warnings about it."""
        outlined, lines, notes = self._outlined(reading)
        pieces = np.concatenate([self._filled(), fill.parts(outlined)])
        width = reading.line_width
        if width is None and len(pieces) == 0 and lines:
            width = reading.hairline
            near = lines[0].near(NEAR * width / reading.grown)
            notes.append(hairlines(sum(len(line.curves) for line in lines), width) + near)
        elif len(pieces) == 0 and self._cubics and not lines:
            notes.append("its outlines cancel each other by the even-odd rule: choose a layer by --layer")
        elif width is None:
            notes += [not_drawn(line, layers) for line in lines]
        if width is not None:
            drawn = [self._cubics[k] for line in lines for k in line.curves]
            pieces = np.concatenate([pieces, stroked(drawn, width / reading.grown, self._tolerance)])
        return fill.covered(pieces), notes

    def lines(self) -> tuple[list[Line], int]:
        """(the lines, closed or not, with the widths that they have; the number of areas that DXF fills)."""
        wide, pen = (np.flatnonzero(some) for some in (self._role == WIDE, self._role < FILLED))
        widths = [float(np.hypot(*(self._cubics[k][-1, 3] - self._cubics[k][-1, 0]))) for k in wide]
        drawn = self._flattened([*(self._cubics[k] for k in pen), *(self._cubics[k][:-1] for k in wide)])
        filled = len(np.unique(self._group[self._role == FILLED]))
        return list(zip(drawn, [*[None] * len(pen), *widths], strict=True)), filled

    def _outlined(self, reading: Reading) -> tuple[fill.Geometry, list[OpenLines], list[str]]:
        """The area that outlines enclose, the lines that enclose nothing, and warnings about both."""
        whole = self._flattened([self._cubics[k] for k in np.flatnonzero(self._role == CLOSED)])
        pen, twice = self._once(np.flatnonzero(self._role == OPEN))
        strokes = self._flattened([self._cubics[k] for k in pen])
        spot = reading.hairline / reading.grown
        found = enclosed(whole, strokes, self._tolerance, spot, branching=reading.line_width is None)
        lines = [
            OpenLines(
                pen[which].tolist(), np.unique(self._layer[pen[which]]).tolist(), found.nearest, branching
            )
            for which, branching in ((found.open, False), (found.branching, True))
            if which.any()
        ]
        return found.area, lines, [*drawn_twice(twice + found.again), *found.notes(spot)]

    def _flattened(self, cubics: Sequence[Floats]) -> list[Floats]:
        limits.spend()
        return [line.points for line in polylines([Chain(one, self._tolerance) for one in cubics])]

    def _once(self, pen: fill.Indices) -> tuple[fill.Indices, int]:
        """The curves without duplicates, which may run in either direction; and how many are dropped."""
        seen: set[bytes] = set()
        keep = []
        for k in pen.tolist():
            points = np.round(self._cubics[k] / SAME)
            forward, backward = points.tobytes(), points[::-1, ::-1].tobytes()
            if forward in seen or backward in seen:
                continue
            seen.add(forward)
            keep.append(k)
        return np.array(keep, dtype=np.intp), len(pen) - len(keep)


def _size(curves: Curves) -> float:
    """The larger side of the drawing, in its unit; inf if it is not finite."""
    if not len(curves.cubics):
        return 0.0
    size = float(np.ptp(curves.cubics, axis=(0, 1)).max())
    return size if np.isfinite(size) else np.inf


def _in_mm(curves: Curves, keep: Bools, unit: float) -> Floats:
    """(n, 4, 2) mm, the cubics of the curves that count. keep: (m,) which do."""
    begin, size = (np.cumsum(curves.size) - curves.size)[keep], curves.size[keep]
    which = np.repeat(begin + size - np.cumsum(size), size) + np.arange(size.sum())
    cubics: Floats = curves.cubics[which] * unit
    return cubics


def _far(cubics: Floats) -> Floats | None:
    """(2,) mm, the corner of curves far from the origin, as map coordinates are; None: they are near it."""
    if not len(cubics) or not LARGEST < np.abs(cubics).max() < FARTHEST:
        return None
    low: Floats = np.floor(cubics.min(axis=(0, 1)))
    return low


def stroked(cubics: Sequence[Floats], width: float, tolerance: float) -> fill.Polygons:
    """The pieces whose union is the area of lines with round ends and corners. width: mm."""
    pen = Pen(width, "round", "round", 4.0, tolerance)
    drawn = polylines([Chain(one, tolerance / 2, pen.turn) for one in cubics])
    return fill.parts(*(piece for line in drawn for piece in stroke(line, False, pen)))

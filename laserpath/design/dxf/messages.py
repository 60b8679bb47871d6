"""Warnings and errors about a drawing: entities that are left out or changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from laserpath.base.arrays import Bools
from laserpath.base.errors import figure
from laserpath.design.dxf.blocks import Curves
from laserpath.design.dxf.drawing import Layers, listed
from laserpath.design.dxf.repair import NAMED
from laserpath.design.loops import Gap

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


def twice(n: int) -> list[str]:
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

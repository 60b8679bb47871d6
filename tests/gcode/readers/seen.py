"""What a reader sees in a program: how large it is, how long its path is, and between which powers.

The readers tell commands, lines or arcs; what is worked out of them here is the same for all of them.
An arc of radius r and sweep α is r|α| long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Place = tuple[float, float]
Command = tuple[str, Mapping[str, float]]
"""A command, as G1, and the numbers of its letters."""


@dataclass(frozen=True, slots=True)
class Seen:
    """box: (x0, y0, x1, y1) mm, of the places to which moves go, arcs' ends among them.

    rapid, feed: mm of path at G0, and at G1, G2, G3.  power: (lowest, highest) power word in force in a feed
    move; None: the reader does not tell it.
    """

    box: tuple[float, float, float, float]
    rapid: float
    feed: float
    power: tuple[float, float] | None


def arc_length(start: Place, end: Place, centre: Place, clockwise: bool) -> float:
    """mm; an arc that ends where it starts is a full circle."""
    angles = [math.atan2(p[1] - centre[1], p[0] - centre[0]) for p in (start, end)]
    sweep = (angles[0] - angles[1] if clockwise else angles[1] - angles[0]) % math.tau
    return math.dist(start, centre) * (math.tau if start == end else sweep)


@dataclass(slots=True)
class Path:
    """Adds up moves."""

    here: Place = (0.0, 0.0)
    places: list[Place] = field(default_factory=list)
    rapid: float = 0.0
    feed: float = 0.0
    powers: list[float] = field(default_factory=list)

    def go(self, code: str, end: Place, centre: Place | None = None, power: float | None = None) -> None:
        """One G0, G1, G2 or G3."""
        if centre is None:
            length = math.dist(self.here, end)
        else:
            length = arc_length(self.here, end, centre, code == "G2")
        if code == "G0":
            self.rapid += length
        else:
            self.feed += length
            self.powers += [] if power is None else [power]
        self.here = end
        self.places.append(end)

    def seen(self, box: tuple[float, float, float, float] | None = None) -> Seen:
        """box: what the reader itself says."""
        xs, ys = zip(*self.places, strict=True) if self.places else ((0.0,), (0.0,))
        power = (min(self.powers), max(self.powers)) if self.powers else None
        return Seen(box or (min(xs), min(ys), max(xs), max(ys)), self.rapid, self.feed, power)


PLAIN = frozenset(
    ["G4", "G17", "G21", "G40", "G49", "G64", "G80", "G90", "G94"]
    + ["M2", "M3", "M4", "M5", "M30", "M67", "M68"]
)
"""Commands that a path may contain besides moves; another one would mean something that is missed here."""


def of_commands(commands: Iterable[Command]) -> Seen:
    """What a program does whose reader only tells its commands: mm, absolute, in the XY plane."""
    path, power = Path(), 0.0
    for code, value in commands:
        stated = value.get("Q" if code in ("M67", "M68") else "S")
        power = power if stated is None else stated
        if code in ("G0", "G1", "G2", "G3"):
            end = value.get("X", path.here[0]), value.get("Y", path.here[1])
            centre = None
            if code in ("G2", "G3"):
                centre = path.here[0] + value.get("I", 0.0), path.here[1] + value.get("J", 0.0)
            path.go(code, end, centre, power)
        elif code not in PLAIN:
            raise NotImplementedError(f"{code} {dict(value)}")
    return path.seen()

"""How often a fit finds the shape of the spot, and how often its intervals hold the truth.

    python tests/calibration/intervals.py [CHARTS] [FIRST SEED]

simulates that many charts of each of the spots `TRUTHS`, measured wholly and in part, and prints a table.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from synthetic import filled_in

from laserpath import Machine, calibration
from laserpath.base.errors import InputError
from laserpath.calibration import Fit, Item, Measurements, Options
from laserpath.calibration.measurements import Levels
from laserpath.calibration.model import Physics

LEVELS = Levels.of(Machine())
ROUND = Physics(
    (0.12, 0.12), 0.35, penetration_depth=0.1, e_c=0.1, reciprocity=0.0, speed=4.0,
    level_offset=LEVELS.offset,
)  # fmt: skip
OVAL = replace(ROUND, fwhm=(0.108, 0.132))
TRUTHS = {
    "airy": ("airy", ROUND), "gaussian": ("gaussian", ROUND), "ellipse": ("gaussian", OVAL),
    "flat-top": ("flat-top", ROUND),
}  # fmt: skip
"""Name → profile and parameters."""
ERRORS = {"width_error": 0.004, "depth_error": 0.006}
"""mm, standard deviations of one measurement."""
NAMES = ("fwhm", "aspect", "critical_dose", "penetration_depth", "e_c", "reciprocity", "level_offset")
SOME = {("line", "x"): 15, ("line", "y"): 3, ("dot", "x"): 8, ("wedge", "x"): 4}
"""Sizes in the plane that a hasty person measures, by kind and direction; of every third the depth.
"""


@dataclass
class Tally:
    """Counts over charts. right: the likeliest shape is that of the truth.  sure: a shape was said for
    certain.  wrong: for certain, but another.  held: name → intervals that hold the truth; asked: how many.
    """

    charts: int = 0
    right: int = 0
    sure: int = 0
    wrong: int = 0
    refused: int = 0
    held: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)

    def add(self, found: Fit, profile: str, physics: Physics) -> None:
        """Count one fit."""
        right = found.profile == profile and ("aspect" in found.names) == (physics.fwhm[0] != physics.fwhm[1])
        self.charts += 1
        self.right += right
        self.sure += found.certain
        self.wrong += found.certain and not right
        for estimate in found.estimates:
            self.asked[estimate.name] += 1
            self.held[estimate.name] += estimate.low <= truth(physics, estimate.name) <= estimate.high

    def row(self) -> str:
        """Counts of shapes, and the percentages of intervals that hold."""
        held = (f"{100 * self.held[n] / self.asked[n]:6.1f}" if self.asked[n] else "     –" for n in NAMES)
        counts = self.charts, self.right, self.sure, self.wrong, self.refused
        return " ".join(f"{count:5}" for count in counts) + "   " + " ".join(held)


def truth(physics: Physics, name: str) -> float:
    """The true value of an estimate."""
    fx, fy = physics.fwhm
    of_both = {"fwhm": (fx * fy) ** 0.5, "aspect": fx / fy}
    return of_both[name] if name in of_both else float(getattr(physics, name))


def in_part(rng: np.random.Generator, whole: Measurements) -> Measurements:
    """What a hasty person measures of a chart: `SOME` of the items that show, whichever they are."""
    rows = list(whole.rows)
    kept = []
    for sort, count in SOME.items():
        shown = [k for k, row in enumerate(rows) if (row.item.kind, row.item.along) == sort and row.visible]
        kept += rng.permutation(shown)[:count].tolist()
    deep = set(kept[::3])
    return replace(
        whole, rows=tuple(rows[k] if k in deep else replace(rows[k], depth=None) for k in sorted(kept))
    )


def tallies(
    truth_name: str, seeds: Sequence[int], chart: Sequence[Item], *, wholly_only: bool = False
) -> dict[str, Tally]:
    """'whole' and 'in part' → what the fits of charts found."""
    options = Options(speed=ROUND.speed)
    profile, physics = TRUTHS[truth_name]
    found = {"whole": Tally()} | ({} if wholly_only else {"in part": Tally()})
    for seed in seeds:
        rng = np.random.default_rng(seed)
        whole = filled_in(rng, physics, profile, chart=chart, levels=LEVELS, **ERRORS)
        measured = {"whole": whole} | ({} if wholly_only else {"in part": in_part(rng, whole)})
        for what, sizes in measured.items():
            try:
                found[what].add(calibration.fit(sizes, options), profile, physics)
            except InputError:
                found[what].refused += 1
    return found


def main() -> None:
    charts, first = (int(word) for word in (*sys.argv[1:3], *("100", "0")[len(sys.argv) - 1 :]))
    items = [item for item in calibration.chart().items if item.kind != "pair"]
    sys.stdout.write(
        f"{'':20} charts right  sure wrong refused " + " ".join(f"{n[:6]:>6}" for n in NAMES) + "\n"
    )
    for name in TRUTHS:
        for what, tally in tallies(name, range(first, first + charts), items).items():
            sys.stdout.write(f"{name:9} {what:9} {tally.row()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

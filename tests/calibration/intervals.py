"""How often a fit finds the shape of the spot, and how often its intervals hold the truth.

    python tests/calibration/intervals.py [CHARTS] [--first SEED] [--shapes NAME …] [--whole]

simulates that many charts of each of the spots `TRUTHS`, measured wholly and in part, and prints a table.
Below each row stand its counts, which add up with those of runs with other seeds, on other machines:

    python tests/calibration/intervals.py --pool FILE …
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

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


def pooled(files: Sequence[str]) -> dict[tuple[str, str], Tally]:
    """Shape and 'whole' or 'in part' → the counts of all runs whose outputs these files are."""
    totals: dict[tuple[str, str], Tally] = {}
    for line in (line for file in files for line in Path(file).read_text().splitlines()):
        if not line.startswith("{"):
            continue
        counts = json.loads(line)
        total = totals.setdefault((counts.pop("shape"), counts.pop("measured")), Tally())
        for name, count in counts.items():
            if isinstance(count, dict):
                getattr(total, name).update(count)
            else:
                setattr(total, name, getattr(total, name) + count)
    return totals


def show(shape: str, measured: str, tally: Tally, counts: bool) -> None:
    """Print a row of the table and, if asked for, its counts."""
    lines = [f"{shape:9} {measured:9} {tally.row()}"]
    if counts:
        lines.append(json.dumps({"shape": shape, "measured": measured} | vars(tally)))
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("charts", nargs="?", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--shapes", nargs="+", choices=[*TRUTHS], default=[*TRUTHS])
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--pool", nargs="+", default=[])
    asked = parser.parse_args()
    sys.stdout.write(
        f"{'':20} charts right  sure wrong refused " + " ".join(f"{n[:6]:>6}" for n in NAMES) + "\n"
    )
    for (shape, measured), tally in pooled(asked.pool).items():
        show(shape, measured, tally, counts=False)
    if asked.pool:
        return
    items = [item for item in calibration.chart().items if item.kind != "pair"]
    seeds = range(asked.first, asked.first + asked.charts)
    for shape in asked.shapes:
        for measured, tally in tallies(shape, seeds, items, wholly_only=asked.whole).items():
            show(shape, measured, tally, counts=True)


if __name__ == "__main__":
    main()

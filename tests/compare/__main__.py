"""The plan against constant-power baselines and the limit: `make compare`, `make compare DESIGNS="mdi_chip"`.

Of all designs it writes docs/compare.md and its pictures; of some it only says what it found.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pages
import pictures
import tables
from exposed import Compared, compare

from laserpath import Process, Settings

DESIGNS = Path(__file__).parents[1] / "data" / "designs"
DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    """Compare, say, write."""
    known = sorted(path.stem for path in DESIGNS.glob("*.svg"))
    parser = argparse.ArgumentParser(prog="make compare", description=__doc__)
    parser.add_argument("designs", nargs="*", help=f"of {', '.join(known)}; all if none is named")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw the designs there, too")
    options = parser.parse_args()
    if unknown := sorted(set(options.designs) - set(known)):
        parser.error(f"{unknown} unknown; known: {', '.join(known)}")
    found = []
    for name in options.designs or known:
        found.append(compare(str(DESIGNS / f"{name}.svg"), Process(), Settings()))
        _say(_line(found[-1]))
    if options.designs:
        drawn = [pictures.draw(one, options.pictures) for one in found] if options.pictures else []
        _say(tables.document(found, drawn))
        return
    drawn = [pictures.draw(one, DOCS / "img") for one in found if one.design.name in pictures.DRAWN]
    text = tables.document(found, drawn)
    _say(text)
    pages.write_between_markers(DOCS / "compare.md", "compared", text)


def _line(one: Compared) -> str:
    plan, best, limit = one.plan.figures, one.best.figures, one.limit.figures
    return (
        f"{one.design.name}: mean EPE {plan.epe_mean:.4f} (best, {one.best.name}: {best.epe_mean:.4f}, limit "
        f"{limit.epe_mean:.4f}), {one.plan.write_time:.2f} s (best: {one.best.write_time:.2f} s), planned in "
        f"{one.seconds:.1f} s"
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

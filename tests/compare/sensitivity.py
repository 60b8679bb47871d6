"""Tables of docs/robustness.md, of plans' JSON: FOLDER/grbl/NAME.json, FOLDER/klipper/NAME.json …

    laserpath plan tests/data/designs/NAME.svg --sensitivity --json -q -o out > FOLDER/grbl/NAME.json
    PYTHONPATH=tests python tests/compare/sensitivity.py FOLDER

The second table is of the designs that all controllers have.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from exposed import geometric_mean
from pages import table, write_between_markers

PAGE = Path(__file__).parents[2] / "docs" / "robustness.md"

DISTURBED = {
    "20 % less acceleration": "acceleration −20 %",
    "20 % more acceleration": "+20 %",
    "half the junction": "bends ÷ 2",
    "twice the junction": "× 2",
    "a feed override of 50 %": "override 50 %",
    "a feed override of 80 %": "80 %",
    "a feed override of 120 %": "120 %",
    "a link half as fast": "link ÷ 2",
    "level_offset": "other `level_offset`",
}
"""Beginning of a change → the heading of its column."""

IMPROVED = {
    "filter": "filter",
    "levels": "1023 levels",
    "acceleration": "acceleration × 2",
    "link": "free link",
    "steps": "steps ÷ 4",
}
"""Cause → the heading of its column."""

Result = Mapping[str, Any]
Ratios = Mapping[str, float]


def disturbed(result: Result) -> dict[str, float]:
    """Heading → mean edge error under the disturbance ÷ that as planned."""
    own = result["sensitivity"]["planned"]["epe_mean"]
    changes = {
        # Klipper's corner velocity stands for the junction deviation.
        one["change"].replace("square corner velocity", "junction"): one["epe_mean"] / own
        for one in result["sensitivity"]["disturbed"]
    }
    return {
        heading: value
        for begin, heading in DISTURBED.items()
        for change, value in changes.items()
        if change.startswith(begin)
    }


def improved(result: Result) -> dict[str, float]:
    """Heading → least mean edge error with such a machine ÷ that as planned."""
    own, found = result["sensitivity"]["planned"]["epe_mean"], result["sensitivity"]["improved"]
    return {
        heading: min(values)
        for cause, heading in IMPROVED.items()
        if (values := [one["epe_mean"] / own for one in found if one["cause"] == cause])
    }


def micrometres(result: Result) -> float:
    """The mean edge error as planned."""
    return float(1000 * result["fwhm_mm"] * result["sensitivity"]["planned"]["epe_mean"])


def row(name: str, first: float | None, ratios: Ratios, headings: Iterable[str]) -> list[str]:
    """Cells of a line; a dash where the controller has no such thing."""
    own = "" if first is None else f"{first:.1f} µm"
    return [name, own, *(f"{ratios[one]:.2f}" if one in ratios else "–" for one in headings)]


def mean(all_of: Sequence[Ratios]) -> dict[str, float]:
    """The geometric means of what all have."""
    common = [one for one in all_of[0] if all(one in ratios for ratios in all_of)]
    return {one: geometric_mean([ratios[one] for ratios in all_of]) for one in common}


def largest(all_of: Sequence[Ratios]) -> dict[str, float]:
    """The largest of each."""
    return {one: max(ratios.get(one, 0.0) for ratios in all_of) for one in all_of[0]}


def designs(results: Mapping[str, Result]) -> str:
    """A line a design, their means and the largest values; first disturbed, then improved."""
    parts = []
    for headings, of in ((DISTURBED.values(), disturbed), (IMPROVED.values(), improved)):
        ratios = [of(one) for one in results.values()]
        body = [
            row(name, micrometres(result), found, headings)
            for (name, result), found in zip(results.items(), ratios, strict=True)
        ]
        body.append(row("**geometric mean**", None, mean(ratios), headings))
        if of is disturbed:
            body.append(row("**largest**", None, largest(ratios), headings))
        parts.append(table(("design", "as planned", *headings), body))
    return "\n\n".join(parts)


def controllers(found: Mapping[str, Mapping[str, Result]]) -> str:
    """A line a controller: geometric means over the designs that all have."""
    first, *others = found.values()
    common = sorted(one for one in first if all(one in results for results in others))
    body = []
    for name, results in found.items():
        some = [results[one] for one in common]
        ratios = {**mean([disturbed(one) for one in some]), **mean([improved(one) for one in some])}
        own = geometric_mean([micrometres(one) for one in some])
        body.append(row(name, own, ratios, (*DISTURBED.values(), *IMPROVED.values())))
    text = table(("controller", "as planned", *DISTURBED.values(), *IMPROVED.values()), body)
    return f"Geometric means over {', '.join(f'`{one}`' for one in common)}.\n\n{text}"


def main(folder: Path) -> None:
    """Write the tables into the page."""
    found = {
        of.name: {one.stem: json.loads(one.read_text(encoding="utf-8")) for one in sorted(of.glob("*.json"))}
        for of in sorted(folder.iterdir(), key=lambda of: (of.name != "grbl", of.name))
    }
    write_between_markers(PAGE, "designs", designs(found["grbl"]))
    write_between_markers(PAGE, "controllers", controllers(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

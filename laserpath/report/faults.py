"""What an inspection found, in words: how many of each kind, how large, where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from laserpath.edges import CORNER_FWHM
from laserpath.quantities import place
from laserpath.report.rows import area, number
from laserpath.results import Fault, Inspection

WRONG_AREA, WRONG_OUTLINE = 0.001, 0.01
"""Shares of the drawn area and of the outline: with more of it wrong, a print is not as drawn."""

LEAST_FWHM2 = 0.1
"""FWHM², of the wrong area: less is a flaw however small the design is."""

_LISTED = 3
"""Places told of each kind."""

_WORDS = {
    "lost": ("feature lost", "features lost"),
    "closed": ("gap closed", "gaps closed"),
    "cut": ("cut through a part", "cuts through parts"),
    "joined": ("bridge between parts", "bridges between parts"),
    "pinhole": ("pinhole", "pinholes"),
    "speck": ("speck beside the parts", "specks beside the parts"),
    "bite": ("piece missing at an edge", "pieces missing at edges"),
    "blob": ("piece too much at an edge", "pieces too much at edges"),
}
"""Kinds of `results.Fault`, one and many."""

_WIDE = ("hole", "holes")
"""What is no pinhole any more."""

_PINHOLE_FWHM = 2.0


def too_much_wrong(found: Inspection, fwhm: float) -> bool:
    """Whether more of the area is wrong than a usable print may have."""
    return found.wrong_area > LEAST_FWHM2 * fwhm**2 and found.wrong_share > WRONG_AREA


def too_far_off(found: Inspection) -> bool:
    """Whether more of the outline has no printed edge near than that of a usable print."""
    return found.wrong_outline > WRONG_OUTLINE


def kinds(faults: Sequence[Fault], fwhm: float, listed: int = 1) -> tuple[str, ...]:
    """`2 pinholes, the largest 0.05 mm at (87.200, 12.600)`, a phrase for each kind, in their order."""
    groups: dict[tuple[str, str], list[Fault]] = {}
    for one in faults:
        wide = one.kind == "pinhole" and one.size > _PINHOLE_FWHM * fwhm
        groups.setdefault(_WIDE if wide else _WORDS[one.kind], []).append(one)
    return tuple(_phrase(words, some, listed, fwhm) for words, some in groups.items())


def _phrase(words: tuple[str, str], some: Sequence[Fault], listed: int, fwhm: float) -> str:
    some = sorted(some, key=lambda one: -one.size)
    first, *others = some
    size = f"{number(first.size, 2)} mm at {place(first.at, fwhm)}"
    if not others:
        return f"1 {words[0]}, {size}"
    phrase = f"{len(some)} {words[1]}, the largest {size}"
    named, more = others[: listed - 1], len(others[listed - 1 :])
    if named:
        rest = [*(place(one.at, fwhm) for one in named), *([f"{more} more"] if more else [])]
        phrase += ", others at " + (" and ".join([", ".join(rest[:-1]), rest[-1]]) if rest[1:] else rest[0])
    return phrase


def rounded(found: Inspection | None, fwhm: float) -> str:
    """That points without an edge along their normal are round corners, if any are. fwhm: mm."""
    if found is None or not found.rounded:
        return ""
    points = "1 of the points without an edge is at a corner" if found.rounded == 1 else (
        f"{found.rounded} of the points without an edge are at corners"
    )  # fmt: skip
    return (
        f"{points}, which a spot of {number(1000 * fwhm)} µm rounds off: an edge is printed within "
        f"{number(1000 * CORNER_FWHM * fwhm, 2)} µm across the corner, so that nothing is lost there."
    )


def sentences(found: Inspection, fwhm: float) -> Iterator[str]:
    """All that was found, the topology first, and how much of the area is wrong."""
    for some in (found.faults, found.flaws):
        yield from (f"{phrase}." for phrase in kinds(some, fwhm, _LISTED))
    if found.flaws or too_much_wrong(found, fwhm):
        yield (
            f"Away from the edges {area(found.wrong_area, 2)} are wrong, "
            f"{number(100 * found.wrong_share, 2)} % of the drawn area."
        )

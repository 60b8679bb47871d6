"""What an inspection found, in words: how many of each kind, how large, where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from laserpath.base.quantities import place
from laserpath.design.contour import CORNER_FWHM
from laserpath.report.numbers import area, number
from laserpath.types.results import EPE_CAP_FWHM, Fault, Inspection

WRONG_AREA, WRONG_OUTLINE = 0.001, 0.01
"""Shares of the drawn area and of the outline: with more of it wrong, a print is not as drawn."""

LEAST_FWHM2 = 0.1
"""FWHM², of the wrong area: less is a flaw however small the design is."""

_KINDS, _PLACES = 3, 3
"""Kinds told in sentences at most; places of one kind, where it is the only one."""

_ROWS = 200
"""Faults listed one by one at most."""

_WORDS = {
    "lost": ("feature lost", "features lost"),
    "closed": ("gap closed", "gaps closed"),
    "cut": ("cut through a part", "cuts through parts"),
    "joined": ("bridge between parts", "bridges between parts"),
    "pinhole": ("pinhole", "pinholes"),
    "slit": ("slit left in a part", "slits left in parts"),
    "hole": ("hole", "holes"),
    "speck": ("speck beside the parts", "specks beside the parts"),
    "bite": ("piece missing at an edge", "pieces missing at edges"),
    "blob": ("piece too much at an edge", "pieces too much at edges"),
}
"""Kinds of `results.Fault`, one and many; a pinhole that is long, or large, is called otherwise."""

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
        groups.setdefault(_words(one, fwhm), []).append(one)
    return tuple(_phrase(words, some, listed, fwhm) for words, some in groups.items())


def kind_of(one: Fault, fwhm: float) -> str:
    """Its kind, of a large pinhole 'hole' or 'slit'. fwhm: mm."""
    if one.kind == "pinhole" and one.size > _PINHOLE_FWHM * fwhm:
        return "hole" if one.width is None else "slit"
    return one.kind


def _words(one: Fault, fwhm: float) -> tuple[str, str]:
    return _WORDS[kind_of(one, fwhm)]


def size(one: Fault) -> str:
    """`0.051 mm`, or width × length of what is long and narrow."""
    width = "" if one.width is None else f"{number(one.width, 2)} × "
    return f"{width}{number(one.size, 2)} mm"


def _phrase(words: tuple[str, str], some: Sequence[Fault], listed: int, fwhm: float) -> str:
    some = sorted(some, key=lambda one: -one.size)
    first, *others = some
    told = f"{size(first)} at {place(first.at, fwhm)}"
    if not others:
        return f"1 {words[0]}, {told}"
    phrase = f"{len(some)} {words[1]}, the largest {told}"
    named, more = others[: listed - 1], len(others[listed - 1 :])
    if named:
        rest = [*(place(one.at, fwhm) for one in named), *([f"{more} more"] if more else [])]
        phrase += ", others at " + (" and ".join([", ".join(rest[:-1]), rest[-1]]) if rest[1:] else rest[0])
    return phrase


def rounded(found: Inspection | None, fwhm: float) -> str:
    """What the figures make of points at round corners, if there are any. fwhm: mm."""
    return "" if found is None else " ".join((*_without_edge(found, fwhm), *_astray(found, fwhm)))


def _without_edge(found: Inspection, fwhm: float) -> Iterator[str]:
    if not found.rounded:
        return
    points = "1 of the points without an edge is at a corner" if found.rounded == 1 else (
        f"{found.rounded} of the points without an edge are at corners"
    )  # fmt: skip
    yield (
        f"{points}, which a spot of {number(1000 * fwhm)} µm rounds off: an edge is printed within "
        f"{number(1000 * CORNER_FWHM * fwhm, 2)} µm across the corner, so that nothing is lost there. "
        f"The figures count each as {EPE_CAP_FWHM:g} FWHM."
    )


def _astray(found: Inspection, fwhm: float) -> Iterator[str]:
    if not found.astray:
        return
    points = "1 point at a corner finds" if found.astray == 1 else f"{found.astray} points at corners find"
    yield (
        f"{points} the edge of another wall or part straight out, which the figures count; across the corner "
        f"an edge is printed within {number(1000 * CORNER_FWHM * fwhm, 2)} µm, and the verdict counts that."
    )


def sentences(found: Inspection, fwhm: float) -> Iterator[str]:
    """What was found, the topology first, and how much of the area is wrong; of many kinds the worst."""
    alone = len({_words(one, fwhm) for one in (*found.faults, *found.flaws)}) == 1
    phrases = [
        phrase
        for some in (found.faults, found.flaws)
        for phrase in kinds(some, fwhm, _PLACES if alone else 1)
    ]
    yield from (f"{phrase}." for phrase in phrases[:_KINDS])
    if len(phrases) > _KINDS:
        more = len(phrases) - _KINDS
        yield f"{more} more kind{'s' * (more > 1)} of fault {'are' if more > 1 else 'is'} in the list below."
    if found.flaws or too_much_wrong(found, fwhm):
        yield (
            f"Away from the edges {area(found.wrong_area, 2)} are wrong, "
            f"{number(100 * found.wrong_share, 2)} % of the drawn area."
        )


def listed(found: Inspection, fwhm: float) -> tuple[tuple[tuple[str, str, str], ...], int]:
    """((kind, size, place) of each, how many more there are); none where the sentences tell all there is."""
    every = (*found.faults, *found.flaws)
    if len(every) <= 1:
        return (), 0
    rows = tuple((_words(one, fwhm)[0], size(one), place(one.at, fwhm)) for one in every[:_ROWS])
    return rows, len(every) - len(rows)

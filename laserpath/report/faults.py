"""The faults and flaws of an inspection in words: the number of each kind, their size and place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from laserpath.base.quantities import place
from laserpath.design.contour import CORNER_FWHM
from laserpath.report.numbers import area, number
from laserpath.types.results import EPE_CAP_FWHM, Fault, Inspection

WRONG_AREA, WRONG_OUTLINE = 0.001, 0.01
"""Shares of the drawn area and of the outline that may be wrong; a print with more is poor."""

LEAST_FWHM2 = 0.1
"""Wrong area, in FWHM², up to which a print of any size is not poor."""

_KINDS, _PLACES = 3, 3
"""Largest number of kinds named in sentences, and of places named if there is only one kind."""

_ROWS = 200
"""Largest number of faults listed one by one."""

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
"""Singular and plural of each kind of `results.Fault`; a long or large pinhole is a 'slit' or a 'hole'."""

_PINHOLE_FWHM = 2.0
"""Largest size, in FWHM, of a pinhole; a larger one is called a hole or a slit."""


def too_much_wrong(inspection: Inspection, fwhm: float) -> bool:
    """Whether more of the area is wrong than a usable print may have."""
    return inspection.wrong_area > LEAST_FWHM2 * fwhm**2 and inspection.wrong_share > WRONG_AREA


def too_far_off(inspection: Inspection) -> bool:
    """Whether more of the outline lacks a printed edge than a usable print may."""
    return inspection.wrong_outline > WRONG_OUTLINE


def kinds(faults: Sequence[Fault], fwhm: float, listed: int = 1) -> tuple[str, ...]:
    """A phrase for each kind, in order: `2 pinholes, the largest 0.05 mm at (87.200, 12.600)`."""
    groups: dict[tuple[str, str], list[Fault]] = {}
    for one in faults:
        groups.setdefault(_words(one, fwhm), []).append(one)
    return tuple(_phrase(words, some, listed, fwhm) for words, some in groups.items())


def kind_of(one: Fault, fwhm: float) -> str:
    """The kind of a fault; a large pinhole is a 'hole' or a 'slit'. fwhm: mm."""
    if one.kind == "pinhole" and one.size > _PINHOLE_FWHM * fwhm:
        return "hole" if one.width is None else "slit"
    return one.kind


def _words(one: Fault, fwhm: float) -> tuple[str, str]:
    return _WORDS[kind_of(one, fwhm)]


def size(one: Fault) -> str:
    """Size as text, `0.051 mm`; width × length if the fault is long and narrow."""
    width = "" if one.width is None else f"{number(one.width, 2)} × "
    return f"{width}{number(one.size, 2)} mm"


def _phrase(words: tuple[str, str], some: Sequence[Fault], listed: int, fwhm: float) -> str:
    some = sorted(some, key=lambda one: -one.size)
    first, *others = some
    largest = f"{size(first)} at {place(first.at, fwhm)}"
    why = _too_fine(some, fwhm)
    if not others:
        return f"1 {words[0]}, {largest}{why}"
    phrase = f"{len(some)} {words[1]}, the largest {largest}"
    named, more = others[: listed - 1], len(others[listed - 1 :])
    if named:
        rest = [*(place(one.at, fwhm) for one in named), *([f"{more} more"] if more else [])]
        phrase += ", others at " + (" and ".join([", ".join(rest[:-1]), rest[-1]]) if rest[1:] else rest[0])
    return phrase + why


def _too_fine(some: Sequence[Fault], fwhm: float) -> str:
    """The reason, if parts or gaps are gone that are all narrower than the spot; else ''."""
    if any(one.kind not in ("lost", "closed") or (one.width or one.size) >= fwhm for one in some):
        return ""
    return f", {'all ' * (len(some) > 1)}narrower than the spot"


def rounded(inspection: Inspection | None, fwhm: float) -> str:
    """How the figures count the points at rounded corners, if there are any. fwhm: mm."""
    if inspection is None:
        return ""
    return " ".join((*_without_edge(inspection, fwhm), *_astray(inspection, fwhm)))


def _without_edge(inspection: Inspection, fwhm: float) -> Iterator[str]:
    if not inspection.rounded:
        return
    points = "1 of the points without an edge is at a corner" if inspection.rounded == 1 else (
        f"{inspection.rounded} of the points without an edge are at corners"
    )  # fmt: skip
    yield (
        f"{points}, which a spot of {number(1000 * fwhm)} µm rounds off: an edge is printed within "
        f"{number(1000 * CORNER_FWHM * fwhm, 2)} µm across the corner, so nothing is lost there. "
        f"Mean and 95 % count each as {EPE_CAP_FWHM:g} FWHM, the largest error does not."
    )


def _astray(inspection: Inspection, fwhm: float) -> Iterator[str]:
    if not inspection.astray:
        return
    points = (
        "1 point at a corner finds"
        if inspection.astray == 1
        else f"{inspection.astray} points at corners find"
    )
    yield (
        f"{points} the edge of another wall or part straight out, which mean and 95 % count; across the "
        f"corner an edge is printed within {number(1000 * CORNER_FWHM * fwhm, 2)} µm, which counts for the "
        "largest error and the verdict."
    )


def sentences(inspection: Inspection, fwhm: float) -> Iterator[str]:
    """A sentence for each of the worst kinds, the topology first, and one for the wrong area."""
    alone = len({_words(one, fwhm) for one in (*inspection.faults, *inspection.flaws)}) == 1
    phrases = [
        phrase
        for some in (inspection.faults, inspection.flaws)
        for phrase in kinds(some, fwhm, _PLACES if alone else 1)
    ]
    yield from (f"{phrase}." for phrase in phrases[:_KINDS])
    if len(phrases) > _KINDS:
        more = len(phrases) - _KINDS
        yield f"{more} more kind{'s' * (more > 1)} of fault {'are' if more > 1 else 'is'} in the list below."
    if inspection.flaws or too_much_wrong(inspection, fwhm):
        yield (
            f"Away from the edges {area(inspection.wrong_area, 2)} are wrong, "
            f"{number(100 * inspection.wrong_share, 2)} % of the drawn area."
        )


def listed(inspection: Inspection, fwhm: float) -> tuple[tuple[tuple[str, str, str], ...], int]:
    """((kind, size, place) of each, number of those left out); none if the sentences name them all."""
    every = (*inspection.faults, *inspection.flaws)
    if len(every) <= 1:
        return (), 0
    rows = tuple((_words(one, fwhm)[0], size(one), place(one.at, fwhm)) for one in every[:_ROWS])
    return rows, len(every) - len(rows)

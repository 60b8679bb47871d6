"""How a program prints where the machine is not as planned, and what a better machine would print.

Units as in `types.results`: edge errors in FWHM, doses in critical doses, times in s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from laserpath.base.errors import one_line
from laserpath.types.results import Measurement


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The figures of an executed print that a comparison of many needs, as in `PrintFigures`."""

    epe_mean: float
    missing_edges: int
    dose_max: float
    write_time: float

    @classmethod
    def of(cls, measured: Measurement) -> KeyFigures:
        """Those of a measured exposure."""
        figures = measured.figures
        return cls(
            float(figures.epe_mean),
            int(figures.missing_edges),
            float(figures.dose_max),
            float(measured.motion.write_time),
        )

    def as_dict(self) -> dict[str, float]:
        """Plain numbers by name, for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Variation:
    """One change of the machine, and the print with it. figures: as executed.

    cause: 'acceleration', 'junction', 'override', 'link', 'shaper', 'light', 'delay', 'backlash' of a
    disturbance; 'filter', 'levels', 'acceleration', 'link', 'steps' of an improvement.
    change: in words, such as 'twice the acceleration'.
    """

    cause: str
    change: str
    figures: KeyFigures

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name, for JSON."""
        return {"cause": self.cause, "change": self.change, **self.figures.as_dict()}


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """planned: the print on the machine as it is stated.  disturbed: of the same program on one that differs.

    improved: the same path, learned again for a better machine; empty if the program was not planned here.
    stopped: by the user, so that some are missing.
    """

    planned: KeyFigures
    disturbed: tuple[Variation, ...]
    improved: tuple[Variation, ...] = ()
    stopped: bool = False

    __repr__ = one_line

    @property
    def worst(self) -> Variation | None:
        """The disturbance with the largest mean edge error, overrides apart; None without any."""
        return _worst(one for one in self.disturbed if one.cause != "override")

    @property
    def worst_override(self) -> Variation | None:
        """The feed override with the largest mean edge error: nobody sets one without knowing it."""
        return _worst(one for one in self.disturbed if one.cause == "override")

    def gain(self, improved: Variation) -> float:
        """Share of the mean edge error that a better machine takes away; negative if it adds to it."""
        before = self.planned.epe_mean
        return 1 - improved.figures.epe_mean / before if before > 0 else 0.0

    @property
    def helpful(self) -> tuple[Variation, ...]:
        """The best improvement of each cause that gains more than `WORTH`, the best first."""
        best: dict[str, Variation] = {}
        for one in sorted(self.improved, key=self.gain, reverse=True):
            if self.gain(one) > WORTH and one.figures.missing_edges <= self.planned.missing_edges:
                best.setdefault(one.cause, one)
        return tuple(best.values())

    def as_dict(self) -> dict[str, Any]:
        """Plain values by name, for JSON."""
        return {
            "planned": self.planned.as_dict(),
            "disturbed": [one.as_dict() for one in self.disturbed],
            "improved": [one.as_dict() for one in self.improved],
            "stopped": self.stopped,
        }


def _worst(some: Iterable[Variation]) -> Variation | None:
    return max(some, key=lambda one: one.figures.epe_mean, default=None)


WORTH = 0.05
"""Least gain of an improvement that is told, as a share of the mean edge error: learning once more changes it
by some percent by itself. A larger one tells less."""

"""The rates of a resin's photopolymerisation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from laserpath.base.checks import number, positive
from laserpath.base.errors import InputError

_LONGEST_WAIT = 1e6
"""s, twelve days. A simulation takes at least a step for each second of the wait."""


@dataclass(frozen=True, slots=True)
class Kinetics:
    """Rates of radicals R, oxygen O and monomer m, in a layer that light fills evenly from top to bottom.

        dR/dt = I/E_R − k_o R O − k₁ R − k₂ R²
        dO/dt = D ∇²O + s (1 − O) − k_o R O
        dm/dt = −k_p R m

    R and O are in units of the oxygen that the resin holds at rest, m is 1 before exposure, and 1 − m is the
    conversion. Unreacted initiator is plentiful, and radicals do not move.

    radical_dose: E_R, mJ/mm², the dose that makes as many radicals as there is oxygen at rest.
    propagation: k_p, 1/s.  inhibition: k_o, 1/s.  termination: k₁, 1/s, where a radical ends alone.
    pair_termination: k₂, 1/s, where two end each other.  diffusion: D of oxygen, mm²/s.  supply: s, 1/s, of
    oxygen through the surface.  oxygen: at first, 1 in air and 0 under nitrogen.  gel_conversion: from which
    the resin stays.  wait: s, at most 1e6, from the last light until the rest is washed away, at which plans
    and simulations of programs measure the conversion.

    Sources: E. Andrzejewska, "Photopolymerization kinetics of multifunctional monomers", Prog. Polym. Sci. 26
    (2001), 605–665, for termination of both orders; C. Decker and A. D. Jenkins, "Kinetic approach of oxygen
    inhibition in ultraviolet- and laser-induced polymerizations", Macromolecules 18 (1985), 1241–1244.
    """

    radical_dose: float
    propagation: float
    inhibition: float = 0.0
    termination: float = 0.0
    pair_termination: float = 0.0
    diffusion: float = 0.0
    supply: float = 0.0
    oxygen: float = 1.0
    gel_conversion: float = 0.2
    wait: float = 10.0

    def __post_init__(self) -> None:
        positive(self, "radical_dose", "propagation", "gel_conversion")
        for name in (
            "inhibition",
            "termination",
            "pair_termination",
            "diffusion",
            "supply",
            "oxygen",
            "wait",
        ):
            value = getattr(self, name)
            number(f"kinetics {name}", value)
            if not 0 <= value < float("inf"):
                raise InputError(f"kinetics {name} is {value:g}, but must be finite and at least 0")
        if self.wait > _LONGEST_WAIT:
            raise InputError(f"kinetics wait is {self.wait:g} s, but must be at most {_LONGEST_WAIT:g} s")
        if self.gel_conversion >= 1:
            raise InputError(f"kinetics gel_conversion is {self.gel_conversion:g}, but must be below 1")

    @property
    def critical_dose(self) -> float:
        """mJ/mm², the dose that reaches the gel point if it comes at once, and no oxygen does.

        Of the radicals D/E_R that it makes, oxygen takes as many as it is; the rest, R, ends in the dark:

            k_p ∫R dt = (k_p/k₂) ln(1 + k₂ R/k₁) = −ln(1 − gel),   and k_p R/k₁ without ends of second order.

        0 where radicals live for ever and nothing inhibits them.
        """
        needed, ends = -math.log1p(-self.gel_conversion) / self.propagation, self.pair_termination
        left = self.termination * (math.expm1(min(ends * needed, 700.0)) / ends if ends else needed)
        return self.radical_dose * ((self.oxygen if self.inhibition else 0.0) + left)

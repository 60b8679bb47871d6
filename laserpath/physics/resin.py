"""The resin: its response to a dose, and the dose that a power and a speed give.

**Working curve** (Jacobs, *Rapid Prototyping & Manufacturing*, 1992, ch. 4). Light falls off with depth
as exp(−z/D_p) and the resin gels where its dose reaches E_c, so a surface dose D cures down to

    C_d = D_p ln(D/E_c),   and a layer of thickness t is cured through at   D_c = E_c exp(t/D_p).

**Development.** A threshold at the critical dose D_c, smooth for the planner: with u = D/D_c

    σ = 1/(1 + exp(−β (u − 1))).

Resists have another contrast, the slope of remaining thickness over log dose: γ = 1/log₁₀(D_100/D_0)
with D_0 and D_100 the doses where the thickness begins and ceases to change (IUPAC, *Terminology of polymers
in advanced lithography*, Pure Appl. Chem. 92, 1861, 2020: the largest gradient of that curve). The logistic
has the same slope ∂σ/∂log₁₀D = β ln(10)/4 at D_c if β = 4 γ/ln 10.

**Absorption order.** Where N photons are absorbed at once, the rate goes with the intensity to the N. With
a power P (mW), a speed v (mm/s) and the one-photon spot h₁ the dose of a line is

    D = q ∫ ĥ ds,   q = E_N P^N/v,   ĥ = h₁^N/E_N,   E_N = ∫ h₁^N dA.

| | N = 1 | N |
| --- | --- | --- |
| E_N | 1 | mm^(2−2N) |
| q, the line energy | mJ/mm | mW^N s mm^(1−2N) |
| D, the dose | mJ/mm² | (mW/mm²)^N s |

The dose of N = 2 is a square of intensity times time, not an energy; all formulas for doses hold for it.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from laserpath.base.arrays import Floats
from laserpath.base.errors import InputError, figure
from laserpath.physics import optics
from laserpath.types import Resin, Spot, Toolpath

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

# In depth


def cure_depth(dose: ArrayLike, e_c: float, penetration_depth: float) -> Floats:
    """Depth down to which a surface dose cures, in the unit of `penetration_depth`; 0 where it is below E_c.

    dose, e_c: in one unit, mJ/mm² or another.
    """
    _above_zero(e_c=e_c, penetration_depth=penetration_depth)
    return penetration_depth * np.log(np.maximum(_not_negative(dose=dose) / e_c, 1.0))


def dose_for_depth(depth: ArrayLike, e_c: float, penetration_depth: float) -> Floats:
    """The surface dose that cures to a depth: E_c exp(C_d/D_p), in the unit of `e_c`."""
    _above_zero(e_c=e_c, penetration_depth=penetration_depth)
    depth = _not_negative(depth=depth)
    with np.errstate(over="ignore"):
        depths = depth / penetration_depth
        dose = e_c * np.exp(depths)
    if not np.isfinite(dose).all():
        raise InputError(
            f"depth {depth.max():g} is {figure(depths.max())} penetration depths, too deep for any dose "
            "to reach"
        )
    return dose


def critical_dose(e_c: float, penetration_depth: float, layer: float) -> float:
    """D_c, the dose that cures a layer through, in the unit of `e_c`; both lengths in one unit."""
    _above_zero(layer=layer)
    return float(dose_for_depth(layer, e_c, penetration_depth))


# In the plane


def development(dose: ArrayLike, resin: Resin) -> Floats:
    """σ, 0..1: the degree to which a dose cures the resin (clears a positive resist)."""
    return scipy.special.expit(resin.contrast * (np.asarray(dose) / resin.critical_dose - 1))


def over_dose(dose: ArrayLike, resin: Resin) -> Floats:
    """Excess of a dose over the largest acceptable one, in critical doses; 0 below that."""
    return np.maximum(np.asarray(dose) / resin.critical_dose - resin.over_dose, 0)


def gamma(d_0: float, d_100: float) -> float:
    """γ of a resist, from the doses (in one unit) where its thickness begins and ceases to change."""
    _above_zero(d_0=d_0, d_100=d_100)
    if d_100 <= d_0:
        raise InputError(f"d_100 is {d_100:g}, but must be above d_0, {d_0:g}")
    return float(1 / np.log10(d_100 / d_0))


def contrast_of(gamma: float) -> float:
    """β of the logistic that is as steep over log dose at D_c as a resist of contrast γ."""
    _above_zero(gamma=gamma)
    return float(4 * gamma / np.log(10))


def gamma_of(contrast: float) -> float:
    """γ of a resist as steep as the logistic of steepness β."""
    _above_zero(contrast=contrast)
    return float(contrast * np.log(10) / 4)


# From power and speed to dose. The spot's photons are the order N.


def line_energy(power: ArrayLike, speed: ArrayLike, spot: Spot) -> Floats:
    """Line energies q = E_N P^N/v of powers (mW) at speeds (mm/s)."""
    power, speed = _not_negative(power=power), _checked_speed(speed)
    return optics.power_integral(spot) * power**spot.photons / speed


def line_energy_slopes(power: ArrayLike, speed: ArrayLike, spot: Spot) -> tuple[Floats, Floats]:
    """(∂q/∂P, ∂q/∂v), per mW and per mm/s."""
    power, speed = _not_negative(power=power), _checked_speed(speed)
    per_power = spot.photons * optics.power_integral(spot) * power ** (spot.photons - 1) / speed
    return per_power, -line_energy(power, speed, spot) / speed


def power_for(line_energy: ArrayLike, speed: ArrayLike, spot: Spot) -> Floats:
    """The power (mW) that writes a line energy at a speed (mm/s): (q v/E_N)^(1/N)."""
    energy_rate = _not_negative(line_energy=line_energy) * _checked_speed(speed)
    return (energy_rate / optics.power_integral(spot)) ** (1 / spot.photons)


def speed_for(line_energy: ArrayLike, power: ArrayLike, spot: Spot) -> Floats:
    """The speed (mm/s) at which a power (mW) writes a line energy: E_N P^N/q, inf where that is 0."""
    target, power = _not_negative(line_energy=line_energy), _not_negative(power=power)
    energy_rate = optics.power_integral(spot) * power**spot.photons
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(target > 0, energy_rate / target, np.inf)


def path_energy(path: Toolpath, spot: Spot) -> Floats:
    """(N,) line energies of the moves of a toolpath."""
    return line_energy(path.power, path.speed, spot)


# Units


def dose_unit(order: int) -> str:
    """The unit of the dose: mJ/mm² or (mW/mm²)² s, with the order as exponent."""
    return "mJ/mm²" if order == 1 else f"(mW/mm²){_raised(order)} s"


def _raised(number: int) -> str:
    return str(number).translate(_SUPERSCRIPT)


# Checks


def _above_zero(**values: float) -> None:
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} is {value:g}, but must be above 0")


def _not_negative(**values: ArrayLike) -> Floats:
    """The one value as an array; raises InputError unless it is finite and at least 0."""
    ((name, value),) = values.items()
    array = np.asarray(value, dtype=np.float64)
    if array.size and not (np.isfinite(array).all() and array.min() >= 0):
        worst = array[~np.isfinite(array)].flat[0] if not np.isfinite(array).all() else array.min()
        raise InputError(f"{name} is {worst:g}, but must be at least 0")
    return array


def _checked_speed(speed: ArrayLike) -> Floats:
    array = np.asarray(speed, dtype=np.float64)
    if array.size and not (np.isfinite(array).all() and array.min() > 0):
        raise InputError(f"speed is {array.min():g} mm/s, but must be above 0 mm/s")
    return array

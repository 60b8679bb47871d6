"""The model's dose and four gradients against the same discretisation in PyTorch and in JAX.

All deviations are the largest one ÷ the largest value of that array (`discretisation.relative`): below
1e-5 in f32, 1e-9 in f64. The references compute in float64, so that 'f32' is the engine's error alone.
"""

from __future__ import annotations

from functools import cache

import discretisation
import in_jax
import in_torch
import numpy as np
import pytest
from cases import CASES, D_DOSE, NAMES, RANDOM, SET_UPS, by_engine, in_four, model
from discretisation import Discretisation, relative

pytestmark = pytest.mark.parity

LIMIT = {"f32": 1e-5, "f64": 1e-9}


@cache
def described(set_up: str) -> Discretisation:
    one = model(set_up, "f64")
    return discretisation.of(one.engine, one.spot, one.tolerance)


def by_torch(set_up: str, name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    how = described(set_up)
    dose, gradient = in_torch.pull(lambda *a: in_torch.dose(how, *a), CASES[name], D_DOSE)
    return dose, in_four(*gradient)


def by_jax(set_up: str, name: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    how = described(set_up)
    cuts = in_jax.cuts_of(how, *CASES[name])
    dose, gradient = in_jax.pull(lambda *a: in_jax.dose(how, *a, cuts), CASES[name], D_DOSE)
    return dose, in_four(*gradient)


PEER = {"PyTorch": cache(by_torch), "JAX": cache(by_jax)}
COMPARED = [
    (set_up, name, precision)
    for set_up, (_, tolerance) in SET_UPS.items()
    for name in (CASES if set_up == "airy" else RANDOM)
    for precision in LIMIT
    if precision == "f64" or tolerance >= 1e-5  # which f32 refuses
]


@pytest.mark.parametrize("peer", PEER)
@pytest.mark.parametrize(("set_up", "name", "precision"), COMPARED)
def test_dose_and_four_gradients_are_those_of(peer, set_up, name, precision):
    dose, gradient = by_engine(CASES[name], precision, set_up)
    right_dose, right = PEER[peer](set_up, name)
    errors = {"dose": relative(dose, right_dose)} | {n: relative(gradient[n], right[n]) for n in NAMES}
    assert max(errors.values()) <= LIMIT[precision], errors

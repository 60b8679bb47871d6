"""The kinetic model as an operator of PyTorch and JAX: derivatives, memory, and what is refused."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import torch
from jax.test_util import check_grads

from laserpath import InputError
from laserpath.operators import jax_function, torch_function
from laserpath.operators.kinetics import kinetics_operator
from laserpath.physics.kinetics import KineticModel, Kinetics
from laserpath.types import Grid, Spot

pytestmark = pytest.mark.parity

RESIN = Kinetics(
    radical_dose=0.02,
    propagation=3.0,
    inhibition=50.0,
    termination=2.0,
    pair_termination=5.0,
    diffusion=1.0,
    supply=0.05,
)
MODEL = KineticModel(Grid((0.0, 0.0), 1.0, (7, 9)), Spot(fwhm=4.0), RESIN, interval=0.5)
"""In units in which places, energies and times are about 1, as the steps of the differences are of them."""
OPERATOR = kinetics_operator(MODEL, 2.5)


def light() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(9)
    return rng.uniform(2, 6, (4, 2)), rng.uniform(0.5, 1.5, 4), np.sort(rng.uniform(0, 2, 4))


def tensors(dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    return [torch.tensor(one, dtype=dtype, requires_grad=True) for one in light()]


def test_gradcheck():
    assert torch.autograd.gradcheck(torch_function(OPERATOR), tensors())


def test_torch_s_check_of_ops():
    call = torch_function(OPERATOR)
    torch.library.opcheck(torch.ops.laserpath.kinetics.default, (*tensors(), call.which))


def test_jax_has_the_derivatives_of_torch_and_of_differences():
    given = tensors()
    (torch_function(OPERATOR)(*given) ** 2).sum().backward()
    with jax.enable_x64(True):
        function = jax_function(OPERATOR)
        by_jax = jax.jit(jax.grad(lambda *t: (function(*t) ** 2).sum(), (0, 1, 2)))(*light())
        for one, other in zip(by_jax, given, strict=True):
            np.testing.assert_allclose(np.asarray(one), other.grad.numpy(), rtol=1e-12, atol=1e-12)
        check_grads(function, light(), order=1, modes=["rev"], eps=1e-6, atol=1e-6, rtol=1e-6)


def test_in_single_precision_it_is_computed_in_double():
    found = torch_function(OPERATOR)(*tensors(torch.float32))
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.detach().numpy(), OPERATOR(*light()), atol=1e-6)


def test_tensors_of_float64_are_not_copied(monkeypatch):
    seen, expose = [], MODEL.expose

    def watched(given, end):
        seen.append([one.__array_interface__["data"][0] for one in (given.xy, given.energy, given.time)])
        return expose(given, end)

    monkeypatch.setattr(MODEL, "expose", watched)
    given = tensors()
    torch_function(OPERATOR)(*given).sum().backward()
    assert seen == 2 * [[one.data_ptr() for one in given]]


def test_refusals_name_what_is_wrong():
    xy, energy, time = tensors()
    call = torch_function(OPERATOR)
    with pytest.raises(InputError, match=r"light has an energy of -\S+ mJ, but must be at least 0 mJ"):
        call(xy, -energy, time)
    with pytest.raises(InputError, match=r"end is 2\.5 s, but the last light is at \S+ s"):
        call(xy, energy, time + 2)
    with pytest.raises(InputError, match=r"places of shape \(3, 2\), energies of shape \(4,\)"):
        call(xy[:3], energy, time)
    (slope,) = torch.autograd.grad(call(xy, energy, time).sum(), energy, create_graph=True)
    with pytest.raises(RuntimeError, match="laserpath::kinetics has no second derivative"):
        slope.sum().backward()
    with pytest.raises(jax.errors.JaxRuntimeError, match="light has times that do not ascend from 0 s"):
        jax.block_until_ready(jax_function(OPERATOR)(*light()[:2], light()[2][::-1]))

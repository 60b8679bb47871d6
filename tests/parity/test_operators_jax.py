"""Operators in JAX, and the dose by one: derivatives, `jit`, `vmap`, f32 and f64, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import operator_kernels as kernels
import pytest
from jax.test_util import check_grads

from laserpath import InputError
from laserpath.operators import derived, jax_function, repeated
from laserpath.operators.dose.jax import dose_function
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Spot, Toolpath

pytestmark = pytest.mark.parity

BY_HAND = kernels.scattering()
BY_TAICHI = derived("tests::scattered_derived", kernels.scattered, **kernels.SHAPE, example=kernels.example())
BOTH = pytest.mark.parametrize("operator", [BY_HAND, BY_TAICHI], ids=["by hand", "by Taichi"])


@pytest.fixture
def x64() -> Iterator[None]:
    """JAX in double precision."""
    with jax.enable_x64(True):
        yield


def loss(y, z):
    return (y**2).sum() + (jnp.arange(4) * z).sum()


@BOTH
@pytest.mark.usefixtures("x64")
def test_derivatives_equal_differences(operator):
    function, (x, a, to) = jax_function(operator), kernels.example()
    check_grads(lambda x, a: function(x, a, to), (x, a), order=1, modes=["rev"])


@BOTH
@pytest.mark.parametrize(("dtype", "within"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_value_and_derivatives_are_right_under_jit_too(operator, dtype, within):
    with jax.enable_x64(dtype == np.float64):
        function, (x, a, to) = jax_function(operator), kernels.example(dtype)
        outputs = kernels.expected(x, a, to)
        right = kernels.expected_gradient(x, a, to, 2 * outputs[0], np.arange(4))
        for value, gradient in (
            (function, jax.grad(lambda *t: loss(*function(*t)), (0, 1))),
            (jax.jit(function), jax.jit(jax.grad(lambda *t: loss(*function(*t)), (0, 1)))),
        ):
            for found, one in zip((*value(x, a, to), *gradient(x, a, to)), (*outputs, *right), strict=True):
                assert found.dtype == dtype
                np.testing.assert_allclose(found, one, rtol=within, atol=within)


def test_vmap_calls_it_for_each():
    function, (x, a, to) = jax_function(BY_HAND), kernels.example(np.float32)
    several = jnp.stack([x, 2 * x])
    y, z = jax.vmap(function, (0, None, None))(several, a, to)
    for number, one in enumerate(several):
        np.testing.assert_allclose(y[number], function(one, a, to)[0])
        np.testing.assert_allclose(z[number], function(one, a, to)[1])


@pytest.mark.usefixtures("x64")
def test_a_repeated_operator_keeps_few_states_and_has_the_derivatives_of_differences():
    function = jax_function(repeated(kernels.growth(), 6, each=("push",)))
    check_grads(function, kernels.grown_by(6), order=1, modes=["rev"])
    by_push = jax.jit(jax.grad(lambda *t: function(*t).sum(), 2))(*kernels.grown_by(6))
    assert by_push.shape == (6, 2)


@BOTH
def test_a_second_derivative_is_refused_by_name(operator):
    function, (x, a, to) = jax_function(operator), kernels.example()
    slope = jax.grad(lambda x: loss(*function(x, a, to)))
    with pytest.raises(RuntimeError, match=f"{operator.name} has no second derivative"):
        jax.grad(lambda x: slope(x).sum())(x)


def test_bad_input_is_refused_with_a_sentence():
    function, (x, a, to) = jax_function(BY_HAND), kernels.example()
    with pytest.raises(InputError, match="was given 2 inputs, but has x, a, to"):
        function(x, a)
    with pytest.raises(InputError, match="x is of dtype complex64, but must be real"):
        function(jnp.ones(5, jnp.complex64), a, to)


GRID, SPOT = Grid(origin=(-0.26, -0.23), pitch=0.04, shape=(12, 14)), Spot(fwhm=0.1)


def path() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return rng.uniform(-0.2, 0.2, (5, 2)), rng.uniform(1, 5, 4), rng.uniform(20, 50, 4)


@pytest.mark.usefixtures("x64")
def test_the_dose_and_its_gradient_are_the_models_own():
    dose, model = dose_function(GRID, SPOT, precision="f64"), DoseModel(GRID, SPOT, precision="f64")
    weight = np.random.default_rng(1).normal(size=GRID.shape)
    np.testing.assert_array_equal(jax.jit(dose)(*path()), model.dose(Toolpath(*path())))
    found = jax.grad(lambda *t: (weight * dose(*t)).sum(), (0, 1, 2))(*path())
    right = model.gradient(Toolpath(*path()), weight)
    for one, other in zip(found, (right.xy, right.power, right.speed), strict=True):
        np.testing.assert_array_equal(one, other)
    # A longer step may change the number of points of a segment.
    check_grads(dose, path(), order=1, modes=["rev"], atol=1e-6, rtol=1e-5, eps=1e-6)


def test_the_dose_in_single_precision():
    dose = dose_function(GRID, SPOT)
    with jax.enable_x64(False):
        found = dose(*path())
    assert found.dtype == jnp.float32
    right = DoseModel(GRID, SPOT).dose(Toolpath(*path()))
    np.testing.assert_allclose(found, right, atol=1e-5 * right.max())


def test_a_bad_path_raises_jax_s_error_with_the_sentence():
    xy, power, speed = path()
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"toolpath power -1 mW is below 0 mW"):
        jax.block_until_ready(dose_function(GRID, SPOT)(xy, -power / power, speed))

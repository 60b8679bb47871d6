"""An operator on NumPy arrays: value and derivatives, adjoints that Taichi derives, and what is refused."""

from __future__ import annotations

import threading

import numpy as np
import operator_kernels as kernels
import pytest

from laserpath import InputError
from laserpath.base.compute.runtime import Kernel
from laserpath.operators import Operator, check, derived

ONE_TO_ONE = {"inputs": ("x",), "outputs": {"y": lambda x: x}}


@pytest.fixture(scope="module")
def by_taichi() -> Operator:
    """Its adjoint is Taichi's."""
    return derived("tests::scattered_derived", kernels.scattered, **kernels.SHAPE, example=kernels.example())


@pytest.mark.parametrize(("dtype", "within"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_values_and_derivatives_are_right_by_both_adjoints(by_taichi, dtype, within):
    example = kernels.example(dtype)
    slopes = np.linspace(1, 2, 5, dtype=dtype), np.linspace(-1, 1, 4, dtype=dtype)
    for operator in (kernels.scattering(), by_taichi):
        for found, right in zip(operator(*example), kernels.expected(*example), strict=True):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, right, rtol=within)
        right = kernels.expected_gradient(*example, *slopes)
        for found, one in zip(operator.gradient(example, slopes), right, strict=True):
            assert found.dtype == dtype
            np.testing.assert_allclose(found, one, rtol=within)
        check(operator, example)


def test_arrays_are_read_where_they_are_and_strided_ones_right():
    """No copy of what is contiguous and of the right precision."""
    seen = []

    def square(x):
        seen.append(x)
        return x * x

    operator = Operator("tests::square", square, lambda x, d_y: 2 * x * d_y, **ONE_TO_ONE, on_host=True)
    x = np.arange(6.0)
    operator(x)
    assert np.shares_memory(seen[-1], x)
    np.testing.assert_array_equal(operator(x[::-2]), x[::-2] ** 2)
    assert operator(np.arange(3)).dtype == np.float64


@pytest.mark.parametrize("by", ["hand", "Taichi"])
def test_floats_in_a_kernel_have_the_precision_of_its_arrays(by):
    """Also where the caller has compiled the kernel already, as Taichi does: 0.1 x is 0.10000000149 x."""
    x = np.array([1.0, 1 / 3, -7.7])
    spoilt = np.zeros(3)
    Kernel(kernels.with_literals)(x, spoilt)
    assert abs(spoilt[0] - 0.1) > 1e-9
    if by == "hand":
        operator = Operator(
            "tests::literals", kernels.with_literals, kernels.with_literals_adjoint, **ONE_TO_ONE
        )
        check(operator, [x])
    else:
        operator = derived("tests::literals", kernels.with_literals, **ONE_TO_ONE, example=[x])
    np.testing.assert_allclose(operator(x), 0.1 * x + np.arange(3) / 3, atol=2e-16)
    assert operator.gradient([x], [np.ones(3)])[0].tolist() == [0.1] * 3
    single = operator(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, 0.1 * x + np.arange(3) / 3, atol=2e-7)
    again = np.zeros(3)
    Kernel(kernels.with_literals)(x, again)
    np.testing.assert_array_equal(again, spoilt)


def test_it_may_first_be_called_on_any_thread(by_taichi):
    """Taichi compiles on its own; another precision is another kernel to it."""
    found = []
    x, a, to = kernels.example(np.float32)
    slopes = np.ones((2, 5), np.float32)[0], np.ones(4, np.float32)
    thread = threading.Thread(target=lambda: found.extend(by_taichi.gradient((x, a, to), slopes)))
    thread.start()
    thread.join()
    np.testing.assert_allclose(found[0], kernels.expected_gradient(x, a, to, *slopes)[0], rtol=1e-5)


def test_no_elements_are_no_trouble(by_taichi):
    empty = np.zeros(0), np.array(1.0), np.zeros(0, np.int32)
    y, z = by_taichi(*empty)
    assert (y.shape, z.tolist()) == ((0,), [0.0] * 4)
    d_x, d_a = by_taichi.gradient(empty, (y, z))
    assert (d_x.shape, float(d_a)) == ((0,), 0.0)


def test_an_adjoint_that_taichi_derives_wrong_is_refused():
    with pytest.raises(InputError, match=r"the adjoint that Taichi derives is wrong; by x.*, but"):
        derived(
            "tests::weighed",
            kernels.weighed,
            inputs=("x", "w"),
            outputs={"y": lambda x, w: x},
            example=(np.array([0.5, 2.0]), np.array([1.0, 2.0, 4.0])),
        )


def test_a_wrong_adjoint_by_hand_is_refused():
    operator = Operator("tests::cube", lambda x: x**3, lambda x, g: 2 * x * g, **ONE_TO_ONE, on_host=True)
    with pytest.raises(InputError, match=r"operator tests::cube: its adjoint is wrong; by x\[\d\] it is"):
        check(operator, [np.array([1.0, 2.0])])


def test_a_kernel_that_writes_into_its_input_is_refused():
    operator = Operator("tests::spoiling", kernels.spoiling, lambda x, d_y, d_x: None, **ONE_TO_ONE)
    with pytest.raises(InputError, match="operator tests::spoiling writes into x, which it may only read"):
        check(operator, [np.ones(3)])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "square"}, "operator name 'square' must be of the form 'namespace::name'"),
        ({"inputs": ("x", "x")}, "has a name 'x', but needs different identifiers"),
        ({"inputs": ()}, "must have an input and an output"),
        ({"constants": ("n",)}, "has a constant 'n', which is not an input"),
    ],
)
def test_what_is_no_operator_is_refused(change, sentence):
    with pytest.raises(InputError, match=sentence):
        Operator(**({"name": "tests::none", "forward": print, "adjoint": print} | ONE_TO_ONE | change))


def test_what_does_not_fit_is_refused():
    operator = kernels.scattering()
    x, a, to = kernels.example()
    with pytest.raises(InputError, match="operator tests::scattered was given 2 inputs, but has x, a, to"):
        operator(x, a)
    with pytest.raises(InputError, match="x is of dtype complex128, but must be real"):
        operator(1j * x, a, to)
    with pytest.raises(InputError, match="x is of dtype uint8, but must be real; divide the values of a pic"):
        operator(x.astype(np.uint8), a, to)
    with pytest.raises(InputError, match="∂L/∂y is of dtype complex128, but must be real"):
        operator.gradient((x, a, to), (1j * x, np.ones(4)))
    with pytest.raises(InputError, match=r"has slopes of shapes \[\(4,\), \(4,\)\], not \[\(5,\), \(4,\)\]"):
        operator.gradient((x, a, to), (np.ones(4), np.ones(4)))
    with pytest.raises(InputError, match="operator tests::none has no kernel of Taichi to derive"):
        derived("tests::none", lambda x: x, **ONE_TO_ONE, example=[x])

"""An operator applied many times: the value of a loop, the gradient of differences, and what is refused."""

from __future__ import annotations

import numpy as np
import operator_kernels as kernels
import pytest

from laserpath import InputError
from laserpath.operators import Operator, check, repeated


@pytest.mark.parametrize("memory", [None, 1])
def test_it_is_the_loop_and_its_gradient_that_of_differences(memory):
    growth, (x, c, push) = kernels.growth(), kernels.grown_by(5)
    run = repeated(growth, 5, each=("push",), memory=memory)
    expected = x
    for one in push:
        expected = growth(expected, c, one)
    found = run(x, c, push)
    np.testing.assert_array_equal(found, expected)
    found += 1  # it is the caller's own
    check(run, (x, c, push))
    assert [one.shape for one in run.gradient((x, c, push), [found])] == [(2,), (), (5, 2)]
    assert run(*(one.astype(np.float32) for one in (x, c, push))).dtype == np.float32


def test_the_page_s_gradient():
    """docs/questions/kinetics.md has the same by a step in Python."""
    x, c, _ = kernels.grown_by(1)
    d_x, *_ = repeated(kernels.growth(), 50).gradient((x, c, np.zeros(2)), [np.ones(2)])
    np.testing.assert_allclose(d_x, [26.2259354, 0.0231540854], rtol=1e-8)


def test_several_states_constants_and_no_step():
    swing = Operator(
        "tests::swing",
        lambda x, v, k, step: (x + 0.1 * v, v - 0.1 * k * x * step),
        lambda x, v, k, step, d_x, d_v: (d_x - 0.1 * k * step * d_v, d_v + 0.1 * d_x, -0.1 * x * step * d_v),
        inputs=("x", "v", "k", "step"),
        outputs={"x_after": lambda x, *_: x, "v_after": lambda x, v, *_: v},
        constants=("step",),
        on_host=True,
    )
    example = np.array([1.0, 2.0]), np.array([0.5, -1.0]), np.array([3.0, 4.0]), np.arange(7)
    check(repeated(swing, 7, each=("step",)), example)
    for found, given in zip(repeated(swing, 0)(*example), example, strict=False):
        np.testing.assert_array_equal(found, given)


def test_what_cannot_be_repeated_is_refused():
    growth, (x, c, push) = kernels.growth(), kernels.grown_by(4)
    with pytest.raises(InputError, match="n is -1, but must be a whole number between 0 and"):
        repeated(growth, -1)
    with pytest.raises(InputError, match="memory is 0, but must be a whole number from 1"):
        repeated(growth, 3, memory=0)
    with pytest.raises(InputError, match="operator tests::growth has no input 'x' besides its state"):
        repeated(growth, 3, each=("x",))
    with pytest.raises(InputError, match=r"push has shape \(4, 2\), but must have one of each of 3 steps"):
        repeated(growth, 3, each=("push",))(x, c, push)
    with pytest.raises(InputError, match=r"cannot be repeated: z has shape \(4,\) after a step, but the"):
        repeated(kernels.scattering(), 3)(*kernels.example())
    turned = Operator("tests::turned", print, print, ("to", "x"), {"y": lambda x: x}, ("to",))
    with pytest.raises(InputError, match="first 1 inputs must be its state, and no constants, but"):
        repeated(turned, 3)
    halves = Operator(
        "tests::half", lambda x: x[1:], print, inputs=("x",), outputs={"y": lambda x: x}, on_host=True
    )
    with pytest.raises(InputError, match=r"y has shape \(1,\) after a step, but the state had \(2,\)"):
        repeated(halves, 2)(x)

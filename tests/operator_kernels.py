# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""A kernel of two outputs with its adjoint, for the tests of operators.

y_i = a x_i²,   z_j = Σ_{i: to_i = j} sin x_i
"""

import numpy as np

from laserpath.base.compute.runtime import ti
from laserpath.operators import Operator

A = ti.types.ndarray()
SHAPE = {
    "inputs": ("x", "a", "to"),
    "outputs": {"y": lambda x, a, to: x, "z": lambda x, a, to: (4,)},
    "constants": ("to",),
}


@ti.kernel
def scattered(x: A, a: A, to: A, y: A, z: A):
    for i in x:
        y[i] = a[None] * x[i] * x[i]
        z[to[i]] += ti.sin(x[i])


@ti.kernel
def scattered_adjoint(x: A, a: A, to: A, d_y: A, d_z: A, d_x: A, d_a: A):
    for i in x:
        d_x[i] = 2 * a[None] * x[i] * d_y[i] + ti.cos(x[i]) * d_z[to[i]]
        d_a[None] += x[i] * x[i] * d_y[i]


def scattering(name: str = "tests::scattered") -> Operator:
    return Operator(name, scattered, scattered_adjoint, **SHAPE)


def example(dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x (5,), a (), to (5,)."""
    x = np.random.default_rng(0).normal(size=5)
    return x.astype(dtype), np.array(1.3, dtype), np.array([0, 3, 1, 1, 2], np.int32)


def expected(x: np.ndarray, a: np.ndarray, to: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The outputs."""
    return a * x**2, np.bincount(to, np.sin(x), minlength=4)


def expected_gradient(
    x: np.ndarray, a: np.ndarray, to: np.ndarray, d_y: np.ndarray, d_z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """∂L/∂x and ∂L/∂a."""
    return 2 * a * x * d_y + np.cos(x) * d_z[to], np.sum(x**2 * d_y)


@ti.kernel
def tripled(x: A, y: A):
    """The kernel of the question."""
    for i, j in x:
        y[i, j] = 3 * x[i, j]


@ti.kernel
def tripled_adjoint(x: A, d_y: A, d_x: A):
    for i, j in x:
        d_x[i, j] = 3 * d_y[i, j]


@ti.kernel
def weighed(x: A, w: A, y: A):
    """y_i = Σ_k 2 x_i w_k, by a local variable that an inner loop uses: Taichi's adjoint is wrong."""
    for i in range(x.shape[0]):
        twice = 2 * x[i]
        for k in range(w.shape[0]):
            y[i] += twice * w[k]


@ti.kernel
def spoiling(x: A, y: A):
    """Writes into its input."""
    for i in x:
        y[i] = x[i]
        x[i] = 0


@ti.kernel
def with_literals(x: ti.types.ndarray(), y: ti.types.ndarray()):
    """y = x/10 + i/3, with a float, a variable made of one, a quotient of whole numbers and a cast."""
    for i in x:
        s = 0.0
        s += 0.1 * x[i]
        y[i] = s + i / 3 + ti.cast(i, float) * 0.25 - i * 0.25


@ti.kernel
def with_literals_adjoint(x: ti.types.ndarray(), d_y: ti.types.ndarray(), d_x: ti.types.ndarray()):
    for i in x:
        d_x[i] = 0.1 * d_y[i]


@ti.kernel
def grown(x: A, c: A, push: A, y: A):
    """A step of growth, x + c x (1 − x) + push."""
    for i in x:
        y[i] = x[i] + c[None] * x[i] * (1.0 - x[i]) + push[i]


@ti.kernel
def grown_adjoint(x: A, c: A, push: A, d_y: A, d_x: A, d_c: A, d_push: A):
    for i in x:
        d_x[i] = d_y[i] * (1.0 + c[None] * (1.0 - 2.0 * x[i]))
        d_c[None] += d_y[i] * x[i] * (1.0 - x[i])
        d_push[i] = d_y[i]


def growth() -> Operator:
    return Operator(
        "tests::growth",
        grown,
        grown_adjoint,
        inputs=("x", "c", "push"),
        outputs={"after": lambda x, c, push: x},
    )


def grown_by(steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x (2,), c (), push (steps, 2)."""
    return np.array([0.01, 0.5]), np.array(0.1), np.random.default_rng(3).uniform(0, 1e-3, (steps, 2))

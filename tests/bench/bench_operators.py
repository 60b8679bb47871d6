"""What an operator costs: y = 3 x and its derivative, by the kernels alone, by NumPy, PyTorch and JAX.

In turns within one process, so that a noisy neighbour hits all alike; the least of many calls, since what is
added is small. `make bench BENCH="-k operator -s"` prints the table of docs/questions/operators.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import operator_kernels as kernels
import pytest
from pages import table

from laserpath.base.compute.runtime import Kernel
from laserpath.operators import Operator, derived, jax_function, torch_function

SIZES = {"20 × 30": (20, 30), "2048 × 2048": (2048, 2048)}
ONE_TO_ONE = {"inputs": ("x",), "outputs": {"y": lambda x: x}}
SECONDS = 4.0
"""For all calls of a size."""


def calls(shape: tuple[int, int]) -> dict[str, Callable[[], object]]:
    """Value and derivative, f32, by each way."""
    import jax
    import torch

    forward, adjoint = Kernel(kernels.tripled), Kernel(kernels.tripled_adjoint)
    by_hand = Operator("bench::tripled", kernels.tripled, kernels.tripled_adjoint, **ONE_TO_ONE)
    by_taichi = derived("bench::derived", kernels.tripled, **ONE_TO_ONE, example=[np.ones((2, 3))])
    x, g = np.ones(shape, np.float32), np.ones(shape, np.float32)
    tensor, above = torch.from_numpy(x).requires_grad_(), torch.from_numpy(g)
    y, d_x = np.zeros_like(x), np.zeros_like(x)
    in_jax = jax_function(by_hand)
    on_jax = jax.device_put(x)

    @jax.jit
    def both(x, g):
        value, pull = jax.vjp(in_jax, x)
        return value, pull(g)

    def torch_grad(function: Callable[..., torch.Tensor]) -> Callable[[], object]:
        return lambda: torch.autograd.grad(function(tensor), tensor, above)

    return {
        "the kernels alone": lambda: (forward(x, y), adjoint(x, g, d_x)),
        "`Operator`, NumPy": lambda: (by_hand(x), by_hand.gradient([x], [g])),
        "`torch_function`": torch_grad(torch_function(by_hand)),
        "`torch_function`, derived adjoint": torch_grad(torch_function(by_taichi)),
        "`jax_function`, jitted": lambda: jax.block_until_ready(both(on_jax, g)),
        "PyTorch's own `3 * x`": torch_grad(lambda x: 3 * x),
    }


@pytest.mark.parametrize("size", SIZES)
def bench_operator(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The least time of each; the values are checked first."""
    ways = calls(SIZES[size])
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for call in ways.values():
        call()
        call()
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        for name, call in ways.items():
            begin = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - begin)
    body = [[size, name, f"{1e3 * min(seconds):.2g}"] for name, seconds in taken.items()]
    with capsys.disabled():
        print("\n" + table(["size", "way", "ms"], body))  # noqa: T201

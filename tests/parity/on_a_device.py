"""`python on_a_device.py DEVICE`: operators with Taichi and PyTorch on one device, in a process of its own.

Taichi has one device a process, so that the tests' own process has it on the CPU.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import operator_kernels as kernels

from laserpath.base.compute import runtime
from laserpath.operators import Operator, derived, torch_function


def no_copy(place: torch.device) -> None:
    """The functions get the tensors' own memory, on their own device, both ways."""
    seen = []

    def forward(x, y):
        seen.append((x.device, x.data_ptr(), y.data_ptr()))
        y.copy_(3 * x)

    def adjoint(x, d_y, d_x):
        seen.append((x.device, x.data_ptr(), d_y.data_ptr(), d_x.data_ptr()))
        d_x.copy_(3 * d_y)

    operator = Operator("tests::there", forward, adjoint, inputs=("x",), outputs={"y": lambda x: x})
    function = torch_function(operator)
    for dtype in (torch.float32, torch.float64):
        x = torch.ones(7, dtype=dtype, device=place, requires_grad=True)
        above = torch.full_like(x, 2)
        y = function(x)
        assert seen.pop() == (x.device, x.data_ptr(), y.data_ptr())
        (d_x,) = torch.autograd.grad(y, x, above)
        assert seen.pop() == (x.device, x.data_ptr(), above.data_ptr(), d_x.data_ptr())
        assert torch.equal(y, 3 * x) and torch.equal(d_x, torch.full_like(x, 6))


def kernels_are_right(place: torch.device) -> None:
    """Values and gradients of the kernels, with the adjoint by hand and by Taichi, are those of torch."""
    by_taichi = derived("tests::derived_there", kernels.scattered, **kernels.SHAPE, example=kernels.example())
    for operator in (kernels.scattering("tests::by_hand_there"), by_taichi):
        for dtype, within in ((torch.float64, 1e-9), (torch.float32, 1e-5)):
            x, a, to = (torch.from_numpy(one).to(place) for one in kernels.example())
            x, a = x.to(dtype).requires_grad_(), a.to(dtype).requires_grad_()
            found = torch_function(operator)(x, a, to)
            right = a * x**2, torch.zeros(4, dtype=dtype, device=place).index_add(0, to, torch.sin(x))
            assert all(one.device == x.device for one in found)
            pairs = [*zip(found, right, strict=True)]
            slopes = (torch.autograd.grad((y**2).sum() + z.sum(), (x, a)) for y, z in (found, right))
            for one, other in (*pairs, *zip(*slopes, strict=True)):
                torch.testing.assert_close(one, other, rtol=within, atol=within)


if __name__ == "__main__":
    runtime.start(sys.argv[1])
    where = torch.device(sys.argv[1], 0) if sys.argv[1] != "cpu" else torch.device("cpu")
    no_copy(where)
    kernels_are_right(where)

"""Operators in PyTorch: `gradcheck`, torch's check of ops, one graph, no copy; and the question's case."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import operator_kernels as kernels
import pytest
import torch

from laserpath import InputError
from laserpath.base.compute.runtime import Kernel
from laserpath.operators import Operator, derived, repeated, torch_function

pytestmark = pytest.mark.parity

BY_HAND = kernels.scattering("tests::scattered")
BY_TAICHI = derived("tests::scattered_derived", kernels.scattered, **kernels.SHAPE, example=kernels.example())
BOTH = pytest.mark.parametrize("operator", [BY_HAND, BY_TAICHI], ids=["by hand", "by Taichi"])
ONE_TO_ONE = {"inputs": ("x",), "outputs": {"y": lambda x: x}}
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")


def tensors(dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    x, a, to = map(torch.from_numpy, kernels.example())
    return [x.to(dtype).requires_grad_(), a.to(dtype).requires_grad_(), to]


def loss(y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    return (y**2).sum() + (torch.arange(4) * z).sum()


# The question: a kernel that writes a tensor which torch allocated, and Taichi's `kernel.grad`


class AsInTheQuestion(torch.autograd.Function):
    """The gradients are left to Taichi, which takes them from the tensors' own `grad`."""

    forward_kernel, backward_kernel = Kernel(kernels.tripled), Kernel(kernels.tripled.grad)

    @staticmethod
    def forward(ctx, x):
        y = torch.zeros_like(x, requires_grad=True)
        AsInTheQuestion.forward_kernel(x, y)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, d_y):
        x, y = ctx.saved_tensors
        y.grad = d_y
        AsInTheQuestion.backward_kernel(x, y)
        return x.grad


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_the_question_s_function_fails_in_four_ways():
    """Taichi 1.7 no longer refuses it; it is wrong without a word, or refused by other sentences."""
    ones, above = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)
    AsInTheQuestion.apply(ones).backward(above)
    assert torch.equal(ones.grad, torch.full((2, 3), 6.0))  # not 3: written by Taichi, then added by torch
    assert not above.any()  # Taichi has cleared the caller's tensor
    with pytest.raises(ValueError, match="Non contiguous gradient tensors are not supported"):
        AsInTheQuestion.apply(torch.ones(2, 3, requires_grad=True)).sum().backward()
    with pytest.raises(ValueError, match="Non contiguous tensors are not supported"):
        AsInTheQuestion.apply(torch.ones(3, 2).T)


def test_the_question_s_kernel_works_as_an_operator():
    operator = derived("tests::tripled", kernels.tripled, **ONE_TO_ONE, example=[np.ones((2, 3))])
    function, three = torch_function(operator), torch.full((2, 3), 3.0)
    x, above = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3)
    function(x).backward(above)
    assert torch.equal(x.grad, three)
    assert torch.equal(above, torch.ones(2, 3))
    function(x).sum().backward()
    assert torch.equal(x.grad, 2 * three)
    assert torch.equal(function(torch.ones(3, 2).T), three)
    x.grad = None
    torch.nn.L1Loss()(x, function(x)).backward()  # the question's loss: |x − 3 x|, a mean of 6
    torch.testing.assert_close(x.grad, torch.full((2, 3), 2 / 6))


# Operators


@BOTH
def test_gradcheck(operator):
    assert torch.autograd.gradcheck(torch_function(operator), tensors())


@BOTH
def test_torch_finds_nothing_wrong_with_the_op(operator):
    function = torch_function(operator)
    op = getattr(torch.ops.tests, operator.name.split("::")[1])
    found = torch.library.opcheck(op.default, (*tensors(), function.which))
    assert set(found.values()) == {"SUCCESS"}


@BOTH
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_derivatives_are_those_of_torch_in_every_dtype(operator, dtype):
    x, a, to = tensors(dtype)
    found = torch_function(operator)(x, a, to)
    right = a * x**2, torch.zeros(4, dtype=dtype).index_add(0, to, torch.sin(x))
    assert {one.dtype for one in found} == {dtype}
    gradients = (torch.autograd.grad(loss(*outputs), (x, a)) for outputs in (found, right))
    within = {torch.float64: 1e-9, torch.float32: 1e-5, torch.bfloat16: 0.03}[dtype]
    for one, other in zip(*gradients, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one, other, rtol=within, atol=within)


@BOTH
def test_torch_compile_makes_one_graph(operator):
    function, inputs = torch_function(operator), tensors()
    compiled = torch.compile(lambda *t: loss(*function(*t)), backend="aot_eager", fullgraph=True)
    for found, right in zip(
        torch.autograd.grad(compiled(*inputs), inputs[:2]),
        torch.autograd.grad(loss(*function(*inputs)), inputs[:2]),
        strict=True,
    ):
        torch.testing.assert_close(found, right)


@BOTH
def test_a_second_derivative_is_refused_by_name(operator):
    x, a, to = tensors()
    (d_x,) = torch.autograd.grad(loss(*torch_function(operator)(x, a, to)), x, create_graph=True)
    with pytest.raises(RuntimeError, match=f"{operator.name} has no second derivative"):
        d_x.sum().backward()


@BOTH
def test_strided_tensors_and_an_unused_output_are_right(operator):
    function, (x, a, to) = torch_function(operator), tensors()
    strided = x.detach().repeat_interleave(2)[::2].requires_grad_()
    twice = [torch.autograd.grad(function(one, a, to)[1].sum(), one)[0] for one in (x, strided)]
    assert torch.equal(*twice)
    torch.testing.assert_close(twice[0], torch.cos(x.detach()))


def test_inputs_that_need_no_gradient_get_none():
    x, a, to = tensors()
    loss(*torch_function(BY_HAND)(x.detach(), a, to)).backward()
    assert x.grad is None
    assert a.grad is not None
    assert not torch_function(BY_HAND)(x.detach(), a.detach(), to)[0].requires_grad


def test_a_kernel_works_in_the_tensors_own_memory():
    seen = []

    def forward(x, y):
        seen.append((x.data_ptr(), y.data_ptr()))
        y.copy_(x)

    def adjoint(x, d_y, d_x):
        seen.append((x.data_ptr(), d_y.data_ptr(), d_x.data_ptr()))
        d_x.copy_(d_y)

    function = torch_function(Operator("tests::seen", forward, adjoint, **ONE_TO_ONE))
    for dtype in (torch.float32, torch.float64):
        x, above = torch.ones(7, dtype=dtype, requires_grad=True), torch.ones(7, dtype=dtype)
        y = function(x)
        assert seen.pop() == (x.data_ptr(), y.data_ptr())
        (d_x,) = torch.autograd.grad(y, x, above)
        assert seen.pop() == (x.data_ptr(), above.data_ptr(), d_x.data_ptr())


def test_a_function_that_nobody_holds_still_goes_backward():
    x, a, to = tensors()
    outputs = torch_function(kernels.scattering())(x, a, to)
    gc.collect()
    loss(*outputs).backward()
    assert x.grad.any()


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])
def test_with_taichi_on_the_same_device_nothing_is_copied_and_gradients_are_right(device):
    run = subprocess.run(
        [sys.executable, "on_a_device.py", device], cwd=Path(__file__).parent, check=False, text=True,
        capture_output=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


@needs_cuda
def test_tensors_on_a_gpu_go_to_a_taichi_on_the_cpu_and_back():
    here, there = tensors(), [one.detach().cuda().requires_grad_(one.requires_grad) for one in tensors()]
    for operator in (BY_HAND, BY_TAICHI):
        outputs = [torch_function(operator)(*one) for one in (there, here)]
        assert all(one.is_cuda for one in outputs[0])
        weight = torch.arange(4, dtype=torch.float64)
        gradients = [
            torch.autograd.grad((y**2).sum() + (weight.to(z.device) * z).sum(), given[:2])
            for (y, z), given in zip(outputs, (there, here), strict=True)
        ]
        for one, other in (*zip(*outputs, strict=True), *zip(*gradients, strict=True)):
            torch.testing.assert_close(one.cpu(), other)


def test_a_repeated_operator_keeps_few_states_and_has_torch_s_gradient():
    function = torch_function(repeated(kernels.growth(), 6, each=("push",)))
    given = [torch.from_numpy(one).requires_grad_() for one in kernels.grown_by(6)]
    assert torch.autograd.gradcheck(function, given)
    compiled = torch.compile(lambda *t: function(*t).sum(), backend="aot_eager", fullgraph=True)
    for found, right in zip(
        torch.autograd.grad(compiled(*given), given),
        torch.autograd.grad(function(*given).sum(), given),
        strict=True,
    ):
        torch.testing.assert_close(found, right)


def test_forward_mode_is_refused_by_name():
    """Torch alone gives a tangent of 0."""
    function, (x, a, to) = torch_function(BY_HAND), tensors()
    with pytest.raises(RuntimeError, match="tests::scattered has no forward mode"):
        torch.func.jvp(lambda x: function(x, a.detach(), to), (x.detach(),), (torch.ones_like(x),))
    with pytest.raises(RuntimeError, match="tests::scattered has no forward mode"):
        torch.func.jacfwd(lambda x: function(x, a.detach(), to)[0])(x.detach())


def test_bad_input_is_refused_with_a_sentence():
    function, (x, a, to) = torch_function(BY_HAND), tensors()
    with pytest.raises(InputError, match="operator tests::scattered was given 2 inputs, but has x, a, to"):
        function(x, a)
    with pytest.raises(InputError, match=r"x is of type ndarray, but must be a torch\.Tensor"):
        function(x.detach().numpy(), a, to)
    with pytest.raises(InputError, match=r"x is of dtype torch\.uint8, but must be real; divide the values"):
        function(x.to(torch.uint8), a, to)
    with pytest.raises(InputError, match="x on cpu, a on cpu, to on meta"):
        function(x, a, to.to("meta"))
    with pytest.raises(InputError, match="operator name tests::scattered is taken, by one with other"):
        torch_function(Operator("tests::scattered", print, print, **ONE_TO_ONE))

"""The layer of PyTorch: the model's dose and gradient, each gradient once, whatever the graph looks like."""

from __future__ import annotations

import copy
import itertools
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from laserpath.base.errors import InputError
from laserpath.operators.dose.torch import DoseLayer
from laserpath.physics.dose import DoseModel
from laserpath.types import Grid, Spot, Toolpath

pytestmark = pytest.mark.parity

GRID = Grid(origin=(-0.4, -0.3), pitch=0.02, shape=(30, 40))
SPOT = Spot(fwhm=0.1)
LAYER = DoseLayer(GRID, SPOT, precision="f64")
WEIGHT = torch.from_numpy(np.random.default_rng(1).normal(size=GRID.shape))
SMALL = DoseLayer(Grid(origin=(-0.26, -0.23), pitch=0.04, shape=(12, 14)), SPOT, precision="f64")
"""For `gradcheck`, which goes backward once for every pixel."""
NAMES = ("xy", "power", "speed")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")


def tensors(
    seed: int = 0, moves: int = 5, differentiated: Sequence[bool] = (True,) * 3, **kind
) -> list[torch.Tensor]:
    """xy, power, speed of random moves; `differentiated`: which of them need a gradient."""
    rng = np.random.default_rng(seed)
    arrays = rng.uniform(-0.2, 0.2, (moves + 1, 2)), rng.uniform(1, 5, moves), rng.uniform(20, 50, moves)
    made = [torch.tensor(a, **kind) for a in arrays]
    return [one.requires_grad_(needed) for one, needed in zip(made, differentiated, strict=True)]


def loss(dose: torch.Tensor) -> torch.Tensor:
    return (WEIGHT.to(dose) * dose).sum() + (dose**2).sum()


def gradients(inputs: Sequence[torch.Tensor], layer: DoseLayer = LAYER) -> list[torch.Tensor]:
    return list(torch.autograd.grad(loss(layer(*inputs)), inputs))


def same(found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> None:
    for name, one, other in zip(NAMES, found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=0, msg=lambda text, n=name: f"{n}: {text}")


def test_gradcheck_in_float64():
    assert torch.autograd.gradcheck(SMALL, tensors(moves=4), atol=1e-8, rtol=1e-5)


def test_gradcheck_with_a_dark_move_and_one_of_no_length():
    """Their own gradients are zero by definition; those of the moves beside them are right."""
    xy, power, speed = tensors(moves=6)
    power.data[2] = 0
    xy.data[5] = xy.data[4]
    lit = torch.tensor([True, True, False, True, False, True])
    some = power.detach()[lit].requires_grad_()

    def dose(some, speed):
        return SMALL(xy.detach(), power.detach().masked_scatter(lit, some), speed)

    assert torch.autograd.gradcheck(dose, (some, speed), atol=1e-8, rtol=1e-5)
    d_xy, d_power, d_speed = gradients([xy, power, speed])
    assert torch.isfinite(torch.cat([d_xy.ravel(), d_power, d_speed])).all()
    assert d_speed[2] == d_power[4] == d_speed[4] == 0


def test_dose_and_gradient_are_the_models_own():
    inputs = tensors()
    model, toolpath = DoseModel(GRID, SPOT, precision="f64"), Toolpath(*(t.detach().numpy() for t in inputs))
    np.testing.assert_array_equal(LAYER(*inputs).detach(), model.dose(toolpath))
    expected = model.gradient(toolpath, WEIGHT.numpy())
    LAYER(*inputs).backward(WEIGHT)
    for name, one in zip(NAMES, inputs, strict=True):
        np.testing.assert_array_equal(one.grad, getattr(expected, name))


def test_two_calls_give_the_same_bits():
    inputs = tensors(moves=200)
    assert torch.equal(LAYER(*inputs), LAYER(*inputs))
    assert all(torch.equal(a, b) for a, b in zip(gradients(inputs), gradients(inputs), strict=True))


def test_a_dose_stays_what_it_was_when_the_layer_is_called_again():
    inputs, others = tensors(0), tensors(1)
    first = LAYER(*inputs)
    kept = first.detach().clone()
    LAYER(*others)
    assert torch.equal(first.detach(), kept)
    same(list(torch.autograd.grad(loss(first), inputs)), gradients(inputs))


def test_two_calls_give_twice_the_gradient():
    inputs = tensors()
    twice = torch.autograd.grad(loss(LAYER(*inputs)) + loss(LAYER(*inputs)), inputs)
    same(twice, [2 * g for g in gradients(inputs)])


def test_grad_adds_up_from_call_to_call_until_it_is_cleared():
    inputs, expected = tensors(), gradients(tensors())
    for times in (1, 2, 3):
        loss(LAYER(*inputs)).backward()
        same([one.grad for one in inputs], [times * g for g in expected])
    for one in inputs:
        one.grad = None
    loss(LAYER(*inputs)).backward()
    same([one.grad for one in inputs], expected)


def test_two_layers_on_one_input_add_their_gradients():
    other = DoseLayer(GRID, Spot(fwhm=0.15), precision="f64")
    inputs = tensors()
    both = torch.autograd.grad(loss(LAYER(*inputs)) + loss(other(*inputs)), inputs)
    each = zip(gradients(inputs), gradients(inputs, other), strict=True)
    same(both, [a + b for a, b in each])


def test_one_tensor_as_power_and_as_speed():
    xy, power, _ = tensors()
    _, per_power, per_speed = gradients([xy, power, power.detach().clone().requires_grad_()])
    (both,) = torch.autograd.grad(loss(LAYER(xy, power, power)), power)
    torch.testing.assert_close(both, per_power + per_speed, rtol=1e-12, atol=1e-12)


def test_a_retained_graph_goes_backward_again():
    inputs = tensors()
    value = loss(LAYER(*inputs))
    value.backward(retain_graph=True)
    once = [one.grad.clone() for one in inputs]
    value.backward()
    same([one.grad for one in inputs], [2 * g for g in once])
    same(once, gradients(inputs))


@pytest.mark.parametrize("differentiated", [w for w in itertools.product([True, False], repeat=3) if any(w)])
def test_only_what_needs_a_gradient_gets_one(differentiated):
    inputs, expected = tensors(differentiated=differentiated), gradients(tensors())
    loss(LAYER(*inputs)).backward()
    for one, needed, right in zip(inputs, differentiated, expected, strict=True):
        assert torch.equal(one.grad, right) if needed else one.grad is None


def test_without_gradients_there_is_no_graph():
    assert not LAYER(*tensors(differentiated=(False,) * 3)).requires_grad
    with torch.no_grad():
        assert not LAYER(*tensors()).requires_grad


def test_the_chain_goes_on_before_and_behind_the_layer():
    """A gradient through what made the power, checked by differences."""
    xy, power, speed = tensors()
    scale = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

    def total(scale):
        return loss(torch.sigmoid(3 * LAYER(xy.detach(), power.detach() * scale**2, speed.detach()) - 1))

    assert torch.autograd.gradcheck(total, scale)


def test_a_second_derivative_is_refused():
    inputs = tensors()
    d_xy, *_ = torch.autograd.grad(loss(LAYER(*inputs)), inputs, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        d_xy.sum().backward()


def test_an_input_changed_before_backward_is_refused():
    xy, power, speed = tensors()
    changed = power * 1
    value = loss(LAYER(xy, changed, speed))
    changed += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_dtype_comes_back(dtype):
    inputs = tensors(dtype=dtype)
    dose = LAYER(*inputs)
    loss(dose).backward()
    assert {dose.dtype} | {one.grad.dtype for one in inputs} == {dtype}
    exact = LAYER(*(one.detach().double() for one in inputs))
    assert (dose - exact).abs().max() <= torch.finfo(dtype).eps * exact.max()


def test_of_several_dtypes_the_widest_comes_back():
    xy, power, speed = tensors()
    assert LAYER(xy.float(), power.float(), speed.int()).dtype == torch.float32
    assert LAYER(xy.float(), power, speed.float()).dtype == torch.float64


def test_strided_tensors_are_read_right():
    xy, power, speed = tensors()
    strided = (
        xy.detach().T.contiguous().T,
        power.detach().repeat_interleave(2)[::2],
        speed.detach().flip(0).flip(0),
    )
    assert torch.equal(LAYER(*strided), LAYER(xy, power, speed))
    LAYER(xy, power, speed).sum().backward()  # its gradient is one number, expanded
    LAYER(*(c := tensors())).backward(torch.ones(GRID.shape, dtype=torch.float64))
    assert torch.equal(xy.grad, c[0].grad)


@needs_cuda
def test_cuda_tensors_give_the_same_on_their_device():
    here, there = tensors(), tensors(device="cuda")
    dose = LAYER(*there)
    assert dose.is_cuda
    assert torch.equal(dose.cpu(), LAYER(*here))
    found = gradients(there)
    assert all(one.is_cuda for one in found)
    same([one.cpu() for one in found], gradients(here))


def test_off_the_main_thread_the_same_comes_out():
    """Where torch goes backward from CUDA: on a thread of its own."""
    inputs, found = tensors(), []
    thread = threading.Thread(target=lambda: found.extend(gradients(inputs)))
    thread.start()
    thread.join()
    same(found, gradients(inputs))


FIRST_IN_A_THREAD = """
import threading, torch
from laserpath.operators.dose.torch import DoseLayer
from laserpath.types import Grid, Spot
xy = torch.tensor([[0.0, 0.0], [0.1, 0.05]], requires_grad=True)
dose = DoseLayer(Grid((-0.2, -0.2), 0.02, (21, 21)), Spot())(xy, torch.ones(1), torch.ones(1))
thread = threading.Thread(target=dose.sum().backward)
thread.start(); thread.join()
print(bool(xy.grad.any()))
"""


def test_the_adjoint_may_first_be_needed_off_the_main_thread():
    """Taichi compiles it then, and cannot on just any thread."""
    run = subprocess.run(
        [sys.executable, "-c", FIRST_IN_A_THREAD], capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.returncode) == ("True", 0), run.stderr


@pytest.mark.parametrize("options", [{"method": "direct"}, {"method": "autodiff"}, {"tolerance": 1e-6}])
def test_the_options_are_those_of_the_model(options):
    spot = Spot(fwhm=0.1, profile="gaussian")
    layer, model = (make(GRID, spot, precision="f64", **options) for make in (DoseLayer, DoseModel))
    inputs = tensors()
    toolpath = Toolpath(*(one.detach().numpy() for one in inputs))
    np.testing.assert_allclose(layer(*inputs).detach(), model.dose(toolpath), rtol=1e-12)
    layer(*inputs).backward(WEIGHT)
    np.testing.assert_allclose(inputs[0].grad, model.gradient(toolpath, WEIGHT.numpy()).xy, rtol=1e-9)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="pixels"):
        DoseLayer(GRID, SPOT, pixels=6)


def test_a_copy_works_on_its_own():
    inputs = tensors()
    for twin in (copy.deepcopy(LAYER), pickle.loads(pickle.dumps(LAYER))):
        assert torch.equal(twin(*inputs), LAYER(*inputs))


def test_torch_compile_takes_it_without_a_break():
    inputs = tensors()
    compiled = torch.compile(lambda *t: loss(LAYER(*t)), backend="aot_eager", fullgraph=True)
    same(torch.autograd.grad(compiled(*inputs), inputs), gradients(inputs))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"power": [1.0, -2.0]}, "toolpath power -2 mW is below 0 mW"),
        ({"speed": [0.0, 1.0]}, "toolpath speed 0 mm/s is not above 0 mm/s"),
        ({"power": [1.0, float("nan")]}, "toolpath power is not finite in 1 of 2 values"),
        ({"xy": [[0.0, 0.0], [float("inf"), 0.0], [0.0, 0.1]]}, "toolpath xy is not finite in 1 of 6 values"),
        ({"power": [1.0]}, r"toolpath power has shape \(1,\), but \(2,\) is needed"),
        ({"xy": [[0.0, 0.0], [7.0, 0.0], [0.0, 0.1]]}, "outside the grid"),
        ({"speed": [1 + 1j, 1.0]}, "speed is of dtype torch.complex64, but must be real"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(change, sentence):
    good = {"xy": [[0.0, 0.0], [0.1, 0.0], [0.0, 0.1]], "power": [1.0, 1.0], "speed": [30.0, 30.0]}
    with pytest.raises(InputError, match=sentence):
        LAYER(**{name: torch.tensor(value) for name, value in (good | change).items()})


def test_arrays_and_tensors_elsewhere_are_refused_with_a_sentence():
    xy, power, speed = tensors()
    with pytest.raises(InputError, match=r"power is of type ndarray, but must be a torch\.Tensor"):
        LAYER(xy, power.detach().numpy(), speed)
    with pytest.raises(InputError, match="xy on cpu, power on cpu, speed on meta"):
        LAYER(xy, power, speed.to("meta"))


def test_nothing_but_one_vertex_is_no_dose():
    inputs = [one.requires_grad_() for one in (torch.zeros(1, 2), torch.zeros(0), torch.zeros(0))]
    dose = LAYER(*inputs)
    assert dose.shape == GRID.shape
    assert not dose.any()
    dose.sum().backward()
    assert not inputs[0].grad.any()

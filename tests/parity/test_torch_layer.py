"""The layer of PyTorch: the model's dose and gradient, each gradient once, whatever the graph looks like."""

from __future__ import annotations

import copy
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


def tensors(seed: int = 0, moves: int = 5) -> list[torch.Tensor]:
    """xy, power, speed of random moves."""
    rng = np.random.default_rng(seed)
    arrays = rng.uniform(-0.2, 0.2, (moves + 1, 2)), rng.uniform(1, 5, moves), rng.uniform(20, 50, moves)
    return [torch.tensor(one, requires_grad=True) for one in arrays]


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


def test_one_tensor_as_power_and_as_speed():
    xy, power, _ = tensors()
    _, per_power, per_speed = gradients([xy, power, power.detach().clone().requires_grad_()])
    (both,) = torch.autograd.grad(loss(LAYER(xy, power, power)), power)
    torch.testing.assert_close(both, per_power + per_speed, rtol=1e-12, atol=1e-12)


def test_calls_and_layers_add_up_and_a_retained_graph_goes_backward_again():
    """Each call has arrays of its own; what torch does with any operator is in test_operators_torch.py."""
    inputs, other = tensors(), DoseLayer(GRID, Spot(fwhm=0.15), precision="f64")
    value = loss(LAYER(*inputs)) + loss(LAYER(*inputs)) + loss(other(*inputs))
    value.backward(retain_graph=True)
    expected = [2 * a + b for a, b in zip(gradients(inputs), gradients(inputs, other), strict=True)]
    same([one.grad for one in inputs], expected)
    value.backward()
    same([one.grad for one in inputs], [2 * one for one in expected])


def test_the_chain_goes_on_before_and_behind_the_layer():
    """A gradient through what made the power, checked by differences."""
    xy, power, speed = tensors()
    scale = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

    def total(scale):
        return loss(torch.sigmoid(3 * LAYER(xy.detach(), power.detach() * scale**2, speed.detach()) - 1))

    assert torch.autograd.gradcheck(total, scale)


def test_an_input_changed_before_backward_is_refused():
    xy, power, speed = tensors()
    changed = power * 1
    value = loss(LAYER(xy, changed, speed))
    changed += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


def test_of_several_dtypes_the_widest_comes_back():
    xy, power, speed = tensors()
    assert LAYER(xy.float(), power.float(), speed.int()).dtype == torch.float32
    assert LAYER(xy.float(), power, speed.float()).dtype == torch.float64


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


def test_nothing_but_one_vertex_is_no_dose():
    inputs = [one.requires_grad_() for one in (torch.zeros(1, 2), torch.zeros(0), torch.zeros(0))]
    dose = LAYER(*inputs)
    assert dose.shape == GRID.shape
    assert not dose.any()
    dose.sum().backward()
    assert not inputs[0].grad.any()

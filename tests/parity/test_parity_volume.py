"""Picture and gradient of the ray march against PyTorch's `grid_sample` and autograd; and as an operator."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as functional
from jax.test_util import check_grads

from laserpath import InputError
from laserpath.operators import jax_function, torch_function
from laserpath.operators.volume import Cameras, March, RayMarcher, marcher_operator

pytestmark = pytest.mark.parity

SHAPE = (9, 8, 10)
"""z, y, x."""
PICTURE = (3, 4)
"""Of the operator: rows, columns."""
FIELDS = ("position", "rotation", "focal", "principal")
CORNERS = {
    False: {"origin": tuple(-1 + 1 / n for n in SHAPE[::-1]), "pitch": tuple(2 / n for n in SHAPE[::-1])},
    True: {"origin": (-1.0,) * 3, "pitch": tuple(2 / (n - 1) for n in SHAPE[::-1])},
}
"""The place of the volume for either value of align_corners."""
MARCH = March((0, 0, 0), (1, 1, 1), step=0.04, steps=90, near=2.1)


def cameras() -> Cameras:
    made = [
        Cameras.looking_at((0.3, -0.2, -4), (0.1, 0, 0), (0, 1, 0), 15.0, (11, 12)),
        Cameras.looking_at((3, 1.4, 2), (0, 0, 0.1), (0, 0, 1), 14.0, (11, 12)),
    ]
    return Cameras(*(np.concatenate([getattr(one, name) for one in made]) for name in FIELDS), (11, 12))


def jittered(march: March, rays: int) -> np.ndarray:
    """(K, R) of the samples' t, with the hash written in NumPy."""

    def scrambled(x):
        state = x * np.uint32(747796405) + np.uint32(2891336453)
        word = ((state >> ((state >> np.uint32(28)) + np.uint32(4))) ^ state) * np.uint32(277803737)
        return (word >> np.uint32(22)) ^ word

    with np.errstate(over="ignore"):
        key = scrambled(np.arange(rays, dtype=np.uint32) + scrambled(np.array([march.seed], np.uint32)))
        u = scrambled(key + np.arange(march.steps, dtype=np.uint32)[:, None]) / 2.0**32
    return march.near + (np.arange(march.steps)[:, None] + 0.5 + march.jitter * (u - 0.5)) * march.step


def in_torch(march: March, shape, align: bool, volume, position, rotation, focal, principal):
    """(N, rows, columns, 4): one grid_sample for all samples, then the opacity step by step."""
    kind, n = volume.dtype, len(position)
    j, i = torch.arange(shape[1], dtype=kind), torch.arange(shape[0], dtype=kind)
    a = ((j - principal[:, :1]) / focal[:, :1])[:, None, :].expand(n, *shape)
    b = ((i - principal[:, 1:]) / focal[:, 1:])[:, :, None].expand(n, *shape)
    ray = torch.einsum("nijk,nkc->nijc", torch.stack([a, b, torch.ones_like(a)], -1), rotation)
    ray = (ray / ray.norm(dim=-1, keepdim=True)).reshape(-1, 3)
    start = position[:, None, :].expand(n, shape[0] * shape[1], 3).reshape(-1, 3)
    t = torch.as_tensor(jittered(march, len(ray)), dtype=kind)
    at = start + t[..., None] * ray
    values = functional.grid_sample(
        volume.permute(3, 0, 1, 2)[None], at[None, None], padding_mode="zeros", align_corners=align
    )[0, :, 0]  # (4, K, R)
    box = march.box or ((-np.inf,) * 3, (np.inf,) * 3)
    inside = (at > torch.tensor(box[0])).all(-1) & (at < torch.tensor(box[1])).all(-1)
    colour, opacity = torch.zeros(3, len(ray), dtype=kind), torch.zeros(len(ray), dtype=kind)
    for k in range(march.steps):
        s = values[3, k] * march.step
        if march.opacity == "clamped":
            w = (opacity + s).clamp(max=1.0) - opacity
        else:
            w = (1 - opacity) * -torch.expm1(-s)
        w = w * inside[k]
        colour, opacity = colour + w * values[:3, k], opacity + w
    return torch.cat([colour, opacity[None]]).T.reshape(n, *shape, 4)


CUBE = (-1.0,) * 3, (1.0,) * 3


@pytest.mark.parametrize(("jitter", "box"), [(0.0, None), (0.9, None), (0.9, CUBE)])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("opacity", ["clamped", "exponential"])
def test_picture_and_gradients_are_those_of_grid_sample(opacity, align, jitter, box):
    """With the question's mask of samples outside the cube, too."""
    rng = np.random.default_rng(8)
    march = replace(MARCH, **CORNERS[align], opacity=opacity, jitter=jitter, seed=11, box=box)
    volume, seen = rng.uniform(0.1, 1, (*SHAPE, 4)), cameras()
    if opacity == "exponential":
        volume[..., 3] *= 3
    weight = rng.normal(size=(2, *seen.shape, 4))
    inputs = [torch.tensor(one, requires_grad=True) for one in (volume, *(getattr(seen, n) for n in FIELDS))]
    expected = in_torch(march, seen.shape, align, *inputs)
    gradients = torch.autograd.grad(expected, inputs, torch.tensor(weight))
    reached = expected[..., 3].detach().numpy() >= 1
    assert opacity == "exponential" or 0.1 < reached.mean() < 0.9, "some rays reach 1 and some do not"
    for precision, limit in (("f64", 1e-9), ("f32", 1e-5)):
        marcher = RayMarcher(march, precision)
        found = marcher.gradient(volume, seen, weight)
        ours = (marcher.render(volume, seen), found.volume, *(getattr(found.cameras, n) for n in FIELDS))
        for name, one, other in zip(
            ("picture", "volume", *FIELDS), ours, (expected, *gradients), strict=True
        ):
            other = other.detach().numpy()
            error = float(np.abs(one - other).max() / np.abs(other).max())
            assert error <= limit, f"{name} in {precision}"


def small() -> tuple[RayMarcher, list[np.ndarray]]:
    """A marcher in f64 whose rays miss, pass, and end in the volume, and inputs for its operator."""
    made = [
        Cameras.looking_at((0.3, -0.2, -4), (0.1, 0, 0), (0, 1, 0), 5.0, PICTURE),
        Cameras.looking_at((3, 1.4, 2), (0, 0, 0.1), (0, 0, 1), 4.0, PICTURE),
    ]
    march = March((-0.9, -0.8, -0.7), (0.5, 0.5, 0.5), step=0.15, steps=30, near=1.9, jitter=0.8, seed=5)
    volume = np.random.default_rng(6).uniform(0.1, 1, (2, 3, 3, 4))
    volume[..., 3] *= 2
    fields = (np.concatenate([getattr(one, name) for one in made]) for name in FIELDS)
    return RayMarcher(replace(march, opacity="clamped"), "f64"), [volume, *fields]


def tensors(arrays: list[np.ndarray], dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    return [torch.tensor(one, dtype=dtype, requires_grad=True) for one in arrays]


def test_gradcheck_of_the_operator():
    marcher, arrays = small()
    call = torch_function(marcher_operator(marcher, PICTURE))
    opacity = call(*tensors(arrays))[..., 3]
    assert (opacity == 0).any() and (opacity == 1).any() and ((opacity > 0) & (opacity < 1)).any()
    assert torch.autograd.gradcheck(call, tensors(arrays))


def test_torch_s_check_of_ops():
    marcher, arrays = small()
    call = torch_function(marcher_operator(marcher, PICTURE))
    torch.library.opcheck(torch.ops.laserpath.volume.default, (*tensors(arrays), call.which))


def test_torch_compile_makes_one_graph_of_strided_tensors_too():
    marcher, arrays = small()
    call, given = torch_function(marcher_operator(marcher, PICTURE)), tensors(arrays)
    strided = [one.detach().repeat_interleave(2, 0)[::2].requires_grad_() for one in given]
    compiled = torch.compile(lambda *t: (call(*t) ** 2).sum(), backend="aot_eager", fullgraph=True)
    right = torch.autograd.grad((call(*given) ** 2).sum(), given)
    for found in (torch.autograd.grad(compiled(*one), one) for one in (given, strided)):
        for one, other in zip(found, right, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_jax_has_the_derivatives_of_torch_and_of_differences():
    marcher, arrays = small()
    operator, given = marcher_operator(marcher, PICTURE), tensors(arrays)
    (torch_function(operator)(*given) ** 2).sum().backward()
    with jax.enable_x64(True):
        function = jax_function(operator)
        by_jax = jax.jit(jax.grad(lambda *t: (function(*t) ** 2).sum(), range(5)))(*arrays)
        for one, other in zip(by_jax, given, strict=True):
            np.testing.assert_allclose(np.asarray(one), other.grad.numpy(), rtol=1e-12, atol=1e-12)
        check_grads(function, arrays, order=1, modes=["rev"], eps=1e-6, atol=1e-6, rtol=1e-6)


def test_a_batch_of_volumes_has_the_gradient_of_each_in_torch_and_jax():
    marcher, (volume, *cameras) = small()
    operator = marcher_operator(marcher, PICTURE)
    batch, weight = np.stack([volume, 0.7 * volume]), np.random.default_rng(2).normal(size=(2, *PICTURE, 4))
    right = [
        marcher.gradient(
            one, Cameras(*(field[n : n + 1] for field in cameras), PICTURE), weight[n : n + 1]
        ).volume
        for n, one in enumerate(batch)
    ]
    given = tensors([batch, *cameras])
    (found,) = torch.autograd.grad(torch_function(operator)(*given), given[0], torch.tensor(weight))
    np.testing.assert_allclose(found.numpy(), right, rtol=1e-12, atol=1e-12)
    with jax.enable_x64(True):
        by_jax = jax.grad(lambda one: (jax_function(operator)(one, *cameras) * weight).sum())(batch)
    np.testing.assert_allclose(by_jax, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("asked", [(0,), (1, 3), (0, 4)])
def test_one_rendering_and_only_the_gradients_that_are_asked_for(asked, monkeypatch):
    marcher, arrays = small()
    operator, calls = marcher_operator(marcher, PICTURE), []
    march, gradient = RayMarcher._marched, RayMarcher.gradient
    monkeypatch.setattr(RayMarcher, "_marched", lambda *a: calls.append("rendered") or march(*a))

    def counted(*a, by_volume, by_cameras, **b):
        calls.append((by_volume, by_cameras))
        return gradient(*a, by_volume=by_volume, by_cameras=by_cameras, **b)

    right = gradient(marcher, arrays[0], Cameras(*arrays[1:], PICTURE), np.ones((2, *PICTURE, 4)))
    right = (right.volume, *(getattr(right.cameras, name) for name in FIELDS))
    monkeypatch.setattr(RayMarcher, "gradient", counted)
    expected = ["rendered", (0 in asked, asked != (0,))]
    calls.clear()
    given = [one.requires_grad_(n in asked) for n, one in enumerate(map(torch.tensor, arrays))]
    torch_function(operator)(*given).sum().backward()
    assert calls == expected
    for number, one in enumerate(given):
        assert (one.grad is not None) == (number in asked)
        if number in asked:
            np.testing.assert_allclose(one.grad, right[number], rtol=1e-9, atol=1e-12)
    with jax.enable_x64(True):
        for compiled in (jax.jit, lambda call: call):
            calls.clear()
            found = compiled(jax.grad(lambda *t: jax_function(operator)(*t).sum(), asked))(*arrays)
            jax.block_until_ready(found)
            assert calls == expected
            for number, one in zip(asked, found, strict=True):
                np.testing.assert_allclose(one, right[number], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_tensors_of_the_marcher_s_precision_are_not_copied(precision, monkeypatch):
    """Up to the marcher itself, which puts a rim of zeros around the volume."""
    seen, check, arrays = [], RayMarcher._volumes, small()[1]
    monkeypatch.setattr(
        RayMarcher, "_volumes", lambda self, values: seen.append(check(self, values)) or seen[-1]
    )
    operator = marcher_operator(RayMarcher(small()[0].march, precision), PICTURE)
    given = tensors(arrays, {"f32": torch.float32, "f64": torch.float64}[precision])
    picture = torch_function(operator)(*given)
    picture.sum().backward()
    assert picture.dtype == given[0].dtype == given[0].grad.dtype
    assert len(seen) >= 2
    assert {one.__array_interface__["data"][0] for one in seen} == {given[0].data_ptr()}


def test_refusals_name_what_is_wrong():
    marcher, arrays = small()
    operator, (volume, *cameras) = marcher_operator(marcher, PICTURE), tensors(arrays)
    call = torch_function(operator)
    with pytest.raises(InputError, match=r"a density of -\S+, but it must be at least 0"):
        call(-volume, *cameras)
    with pytest.raises(InputError, match=r"cameras rotation has shape \(1, 3, 3\), but \(2, 3, 3\)"):
        call(volume, cameras[0], cameras[1][:1], *cameras[2:])
    (slope,) = torch.autograd.grad(call(volume, *cameras).sum(), volume, create_graph=True)
    with pytest.raises(RuntimeError, match="laserpath::volume has no second derivative"):
        slope.sum().backward()
    with pytest.raises(jax.errors.JaxRuntimeError, match="volume is not finite in 72 values"):
        jax.block_until_ready(jax_function(operator)(np.nan * arrays[0], *arrays[1:]))

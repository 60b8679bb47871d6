"""Picture and gradient of the painter against a dense one in PyTorch and its autograd; and as an operator."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from laserpath.operators import jax_function, torch_function
from laserpath.operators.strokes import Canvas, StrokePainter, Strokes, strokes_operator

pytestmark = pytest.mark.parity

SHAPE = (61, 74)
FIELDS = ("points", "width", "colour", "alpha")


def strokes(seed: int, ends: int, channels: int, n: int = 24) -> Strokes:
    rng = np.random.default_rng(seed)
    return Strokes(
        rng.uniform(-8, 80, (n, ends, 2)), rng.uniform(0.5, 14, n), rng.random((n, channels)), rng.random(n)
    )


def nearest(points: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """t of the curve's nearest point: the best of the ends and the real roots of the distance's derivative,
    from the eigenvalues of its companion matrix. No gradient goes through it.
    """
    a, c, b = points.detach().numpy()
    e, f, w = c - a, a - 2 * c + b, a - p.numpy()
    low = np.stack([w @ e, 2 * e @ e + w @ f, np.full(SHAPE, 3 * e @ f)], -1)
    companion = np.zeros((*SHAPE, 3, 3))
    companion[..., 1, 0] = companion[..., 2, 1] = 1
    companion[..., :, 2] = -low / (f @ f)
    roots = np.linalg.eigvals(companion)
    t = np.clip(np.where(np.abs(roots.imag) < 1e-9, roots.real, 0), 0, 1)
    for _ in range(3):  # Newton's steps, to the last digits
        value = low[..., :1] + (low[..., 1:2] + (low[..., 2:] + f @ f * t) * t) * t
        slope = low[..., 1:2] + (2 * low[..., 2:] + 3 * (f @ f) * t) * t
        t = np.clip(t - np.where(np.abs(slope) > 1e-6, value / np.where(slope == 0, 1, slope), 0), 0, 1)
    t = np.concatenate([t, np.zeros((*SHAPE, 1)), np.ones((*SHAPE, 1))], -1)
    away = np.linalg.norm(w[..., None, :] + 2 * t[..., None] * e + t[..., None] ** 2 * f, axis=-1)
    return torch.from_numpy(np.take_along_axis(t, away.argmin(-1)[..., None], -1)[..., 0])


def in_torch(points, width, colour, alpha, background, mode: str) -> torch.Tensor:
    """(rows, columns, C), stroke by stroke over whole pictures."""
    y, x = torch.meshgrid(*(torch.arange(n, dtype=points.dtype) for n in SHAPE), indexing="ij")
    p, picture = torch.stack([x, y], -1), background
    for k in range(len(width)):
        a, b = points[k, 0], points[k, -1]
        if points.shape[1] == 3:
            t = nearest(points[k], p)[..., None]
            q = (1 - t) ** 2 * a + 2 * t * (1 - t) * points[k, 1] + t**2 * b
        else:
            e = b - a
            q = a + (((p - a) @ e) / (e @ e)).clamp(0, 1)[..., None] * e
        r = 0.5 + width[k] / 2 - torch.linalg.norm(p - q, dim=-1)
        share = (alpha[k] * r.clamp(0, 1))[..., None]
        picture = (picture if mode == "add" else (1 - share) * picture) + share * colour[k]
    return picture


@pytest.mark.parametrize(("ends", "mode", "channels"), [(2, "over", 3), (3, "over", 3), (2, "add", 1)])
def test_picture_and_gradients_are_those_of_autograd(ends, mode, channels):
    rng, given = np.random.default_rng(8), strokes(8, ends, channels)
    background, slope = rng.random((*SHAPE, channels)), rng.normal(size=(*SHAPE, channels))
    inputs = [torch.tensor(getattr(given, name), requires_grad=True) for name in FIELDS]
    expected = in_torch(*inputs, torch.tensor(background), mode)
    gradients = torch.autograd.grad(expected, inputs, torch.tensor(slope))
    for precision, limit in (("f64", 1e-9), ("f32", 1e-5)):
        painter = StrokePainter(Canvas(SHAPE, background, mode), precision)
        found = painter.gradient(given, slope)
        ours = (painter.paint(given), *(getattr(found, name) for name in FIELDS))
        for name, one, other in zip(("picture", *FIELDS), ours, (expected, *gradients), strict=True):
            other = other.detach().numpy()
            error = float(np.abs(one - other).max() / np.abs(other).max())
            assert error <= limit, f"{name} in {precision}"


def test_it_is_an_operator_of_torch_and_jax():
    given = strokes(3, 2, 3, n=5)
    operator = strokes_operator(StrokePainter(Canvas((20, 22)), "f64"))
    values = [np.array(getattr(given, name)) for name in FIELDS]
    values[0] = np.random.default_rng(3).uniform(2, 18, values[0].shape)
    tensors = [torch.tensor(one, requires_grad=True) for one in values]
    call = torch_function(operator)
    assert torch.autograd.gradcheck(call, tensors, eps=1e-6, atol=1e-5)
    (call(*tensors) ** 2).sum().backward()
    import jax

    with jax.enable_x64(True):
        by_jax = jax.grad(lambda *all_: (jax_function(operator)(*all_) ** 2).sum(), argnums=(0, 1, 2, 3))(
            *values
        )
        for one, other in zip(by_jax, tensors, strict=True):
            np.testing.assert_allclose(np.asarray(one), other.grad.numpy(), rtol=1e-9, atol=1e-9)

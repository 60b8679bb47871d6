"""The ray march and its peer: `python volume.py REQUEST` says their times as JSON.

A volume of 128³, a picture of 256², 300 steps of half a voxel; the clamped opacity, forward and gradient by
volume, float32. Measured in turns, in one process. PyTorch: one `grid_sample` for all samples, in as many
batches as there are threads, since it divides its work by batches; then cumulative sums.
"""

from __future__ import annotations

import time

import asked
import numpy as np

from laserpath.operators.volume import Cameras, March, RayMarcher

_PAUSE = 0.5
"""Seconds between the calls, in which the last one's threads go to sleep."""
VOXELS, PIXELS, STEPS = 128, 256, 300
MARCH = March(
    (-1 + 1 / VOXELS,) * 3, (2 / VOXELS,) * 3, step=2.34 / STEPS, steps=STEPS, near=2.83, opacity="clamped"
)  # fmt: skip
CAMERA = Cameras.looking_at((0, 0, -4), (0, 0, 0), (0, 1, 0), 700.0, (PIXELS, PIXELS))


def problem(density: float):
    """(volume, ∂L/∂picture)."""
    rng = np.random.default_rng(7)
    volume = rng.random((VOXELS,) * 3 + (4,), np.float32)
    volume[..., 3] *= 2 * density
    return volume, rng.standard_normal((1, PIXELS, PIXELS, 4), np.float32)


def ours(volume, weight):
    """One march forwards and one back, as for a loss whose derivative by the picture is `weight`."""
    found = RayMarcher(MARCH).gradient(volume, CAMERA, lambda picture: weight, by_cameras=False)
    return found.picture, found.volume


def in_torch(volume, weight):
    import torch
    from torch.nn.functional import grid_sample

    parts = torch.get_num_threads()
    given = torch.from_numpy(volume).requires_grad_()
    origin, direction = (torch.from_numpy(one.astype(np.float32)) for one in CAMERA.rays)
    t = MARCH.near + (torch.arange(STEPS) + 0.5) * MARCH.step
    at = (origin + t[:, None, None] * direction).reshape(STEPS, parts, -1, 3).permute(1, 0, 2, 3)
    field = given.permute(3, 0, 1, 2)[None].expand(parts, -1, -1, -1, -1)  # channels last in memory
    values = grid_sample(field, at[:, :, :, None], align_corners=False)
    values = values.permute(2, 1, 0, 3, 4).reshape(STEPS, 4, -1)
    opacity = torch.cumsum(values[:, 3] * MARCH.step, 0).clamp(max=1.0)
    share = torch.diff(opacity, dim=0, prepend=torch.zeros(1, opacity.shape[1]))
    colour = (share[:, None] * values[:, :3]).sum(0)
    picture = torch.cat([colour, opacity[-1:]]).T.reshape(1, PIXELS, PIXELS, 4)
    (gradient,) = torch.autograd.grad(picture, given, torch.from_numpy(weight))
    return picture.detach().numpy(), gradient.numpy()


def main(request) -> dict:
    import torch

    torch.set_num_threads(len(request["cores"]))
    answer = {}
    for name, density in (("no ray reaches 1", 0.2), ("rays reach 1 in their middle", 1.0)):
        task = problem(density)
        (a, by_a), (b, by_b) = ours(*task), in_torch(*task)
        errors = [float(np.linalg.norm(x - y) / np.linalg.norm(y)) for x, y in ((a, b), (by_a, by_b))]
        seconds: dict[str, list[float]] = {"ours": [], "torch": []}
        for _ in range(request["rounds"]):
            for key, call in (("ours", ours), ("torch", in_torch)):
                time.sleep(_PAUSE)
                begin = time.perf_counter()
                call(*task)
                seconds[key].append(time.perf_counter() - begin)
        answer[name] = {**seconds, "errors": errors, "reached": float((b[..., 3] >= 1).mean())}
    return answer


if __name__ == "__main__":
    asked.answer(main(asked.REQUEST))

"""A small network learns what power to write with: `python samples/torch_power.py [--out PICTURE.png]`.

The path is fixed, a spiral at constant speed. The network is told where on the spiral the laser is, as
t = 0..1 in Fourier features sin 2πkt, cos 2πkt, and answers with the power there. Its dose goes through
`DoseLayer` and the resin's logistic threshold; the loss is the mean squared deviation from the design,
a trefoil with a hole, and of the dose from thrice the critical one where it is above that. Needs PyTorch:
`pip install laserpath[torch]`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from laserpath.operators.dose.torch import DoseLayer
from laserpath.types import Grid, Spot

Floats = NDArray[np.float64]

FWHM, CRITICAL_DOSE, CONTRAST, OVER_DOSE = 0.1, 0.2, 10.0, 3.0
"""mm, mJ/mm², steepness of the threshold in D/D_c, largest dose wanted in D_c."""
SPEED = 50.0
"""mm/s."""
RADIUS, PITCH, STEP = 1.0, 0.08, 0.05
"""Of the spiral: largest radius, between its turns, between its vertices, mm."""
FREQUENCIES = 80
GRID = Grid(origin=(-1.2, -1.2), pitch=FWHM / 5, shape=(121, 121))


@dataclass(frozen=True)
class Result:
    """What training gave. iou: of the cured area and the design; dose: (rows, columns) mJ/mm²."""

    losses: list[float]
    iou: float
    xy: Floats
    power: Floats
    dose: Floats
    design: Floats


class PowerAlongCurve(torch.nn.Module):
    """Place on the curve 0..1 → power, mW, never below 0."""

    def __init__(self, typical: float, hidden: int = 64) -> None:
        super().__init__()
        self.typical = typical
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2 * FREQUENCIES, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, 1)
        )

    def forward(self, t: torch.Tensor) -> torch.Tensor:
        """t: (N,) → (N,)."""
        angle = 2 * torch.pi * t[:, None] * torch.arange(1, FREQUENCIES + 1)
        features = torch.cat([torch.sin(angle), torch.cos(angle)], dim=1)
        return self.typical * torch.nn.functional.softplus(self.net(features)[:, 0])


def spiral() -> Floats:
    """Vertices (N+1, 2), mm, of r = pitch · turns, about one STEP apart."""
    length = np.pi * RADIUS**2 / PITCH
    turns = RADIUS / PITCH * np.sqrt(np.linspace(0, 1, round(length / STEP) + 1))
    return PITCH * turns[:, None] * np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], axis=1)


def trefoil() -> Floats:
    """The design on the grid: 1 inside, 0 outside, in between over one pixel at the edge."""
    x, y = np.meshgrid(GRID.x(), GRID.y())
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    inside = np.minimum(0.68 + 0.2 * np.cos(3 * angle) - radius, radius - 0.25)
    return np.clip(inside / GRID.pitch + 0.5, 0, 1)


def loss_of(dose: torch.Tensor, design: torch.Tensor) -> torch.Tensor:
    """Mean squared deviation of what cures from the design, and of the dose above the largest wanted."""
    cured = torch.sigmoid(CONTRAST * (dose / CRITICAL_DOSE - 1))
    over = torch.relu(dose / CRITICAL_DOSE - OVER_DOSE)
    return ((cured - design) ** 2).mean() + (over**2).mean()


def train(steps: int = 300, seed: int = 0) -> Result:
    """Adam on the network's weights; the gradient comes through the dose."""
    torch.manual_seed(seed)
    xy, design = torch.tensor(spiral()), torch.tensor(trefoil())
    n = len(xy) - 1
    t, speed = (torch.arange(n) + 0.5) / n, torch.full((n,), SPEED)
    layer = DoseLayer(GRID, Spot(fwhm=FWHM))
    net = PowerAlongCurve(typical=1.5 * CRITICAL_DOSE * PITCH * SPEED)
    adam = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        adam.zero_grad()
        loss = loss_of(layer(xy, net(t), speed), design)
        loss.backward()
        adam.step()
        losses.append(loss.item())
    with torch.no_grad():
        power = net(t)
        dose = layer(xy, power, speed)
        final = loss_of(dose, design)
    cured, inside = (dose >= CRITICAL_DOSE).numpy(), trefoil() >= 0.5
    return Result(
        losses=[*losses, final.item()],
        iou=float((cured & inside).sum() / (cured | inside).sum()),
        xy=xy.numpy(),
        power=power.double().numpy(),
        dose=dose.numpy(),
        design=design.numpy(),
    )


def picture(result: Result, path: Path) -> None:
    """Power along the spiral, the dose, and the cured area with the design's edge."""
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.2), layout="constrained")
    curve, dose, cured = figure.subplots(1, 3)
    moves = LineCollection(
        np.stack([result.xy[:-1], result.xy[1:]], axis=1), array=result.power, cmap="viridis", linewidths=1.2
    )
    curve.add_collection(moves)
    figure.colorbar(moves, ax=curve, label="power, mW", shrink=0.8)
    image = dose.imshow(result.dose, origin="lower", extent=GRID.extent, cmap="magma")
    figure.colorbar(image, ax=dose, label="dose, mJ/mm²", shrink=0.8)
    cured.imshow(result.dose >= CRITICAL_DOSE, origin="lower", extent=GRID.extent, cmap="Greys", alpha=0.6)
    for axes, title in ((curve, "the network's power"), (dose, "dose"), (cured, f"IoU {result.iou:.3f}")):
        axes.contour(GRID.x(), GRID.y(), result.design, [0.5], colors="tab:red", linewidths=0.8)
        axes.set(title=title, aspect="equal", xlabel="mm", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    figure.savefig(path, dpi=120)


def main() -> None:
    """Train, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300, help="of Adam (300)")
    parser.add_argument("--seed", type=int, default=0, help="of the network's first weights (0)")
    parser.add_argument("--out", type=Path, help="picture to write, .png, .svg or .pdf")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error(f"--steps is {options.steps}, but must be at least 1")
    result = train(options.steps, options.seed)
    print(f"loss {result.losses[0]:.4f} at the start, {result.losses[-1]:.5f} after {options.steps} steps")
    print(f"IoU of the cured area and the design: {result.iou:.3f}")
    if options.out:
        picture(result, options.out)
        print(f"wrote {options.out}")


if __name__ == "__main__":
    main()

# mypy: disable-error-code="valid-type,attr-defined,index,untyped-decorator,no-untyped-def"
# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""A butterfly out of a random curve: `python samples/forum_butterfly.py [--out DIR]`, about a minute.

Someone asked in the Taichi forum (forum.taichi-lang.cn, topic 1535) why a curve would not move. A laser
spot, 15 × 15 pixels, is stamped on a canvas of 512 × 512 at 5000 points of a random walk, with the weight
power/speed; x, y, power and speed shall change until the canvas shows a butterfly. Power and speed did, but
canvas[⌊y⌋ + m, ⌊x⌋ + n] += power/speed · stencil[m, n] is a staircase in x and y, of slope 0.

1. That kernel, differentiated by Taichi: the gradients of x and y are zero, every one.
2. The same stencil with soft splatting, and laserpath's engine: gradients against central differences.
3. The butterfly, drawn by laserpath's engine from random walks, coarse to fine.

Parts 1 and 2 count in pixels, part 3 in mm, mW and s. `docs/forum-butterfly.md` tells the story.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from scipy.special import airy

from laserpath.base.arrays import Floats
from laserpath.base.compute.runtime import ti
from laserpath.machine.powers import to_levels
from laserpath.physics.dose import DoseModel, accurate_model
from laserpath.planning.optimise.loop import Schedule
from laserpath.planning.optimise.objective import OVER_DOSE_SHARE, OVER_DOSE_WEIGHT, Objective, OverDose
from laserpath.types import EnergyPath, Grid, Machine, Resin, Spot, Target, Toolpath

SIZE, POINTS, STENCIL = 512, 5000, 15
PITCH, FWHM, EDGE = 0.05, 0.35, 0.5
"""mm: of a pixel; of the spot, whose central disc is as wide as the stencil; of the canvas's margin."""
GRID = Grid(origin=(-(SIZE - 1) / 2 * PITCH,) * 2, pitch=PITCH, shape=(SIZE, SIZE))
LOW, HIGH = GRID.extent[0] + EDGE, GRID.extent[1] - EDGE
MACHINE, RESIN = Machine(), Resin()


def butterfly() -> Floats:
    """1 inside and 0 outside the design: r² < 50 mm² (e^sin θ − 2 cos 4θ + sin⁵((2θ − π)/24))."""
    x, y = np.meshgrid(GRID.x(), GRID.y() + 1.5)  # the wings reach higher than low
    t = np.mod(np.arctan2(y, x), 2 * np.pi)
    f = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5
    return (x**2 + y**2 < 50 * f).astype(float)


def random_walk(seed: int, low: float, high: float, step: float) -> Floats:
    """(POINTS, 2) normally distributed steps from the middle, folded back at low and high."""
    walk = np.cumsum(np.random.default_rng(seed).normal(0, step / np.sqrt(2), (POINTS, 2)), axis=0)
    size = high - low
    return high - np.abs(np.mod(walk + size / 2, 2 * size) - size)


# 1 and 2: gradients by Taichi. Its reverse mode is right for flat loops in which nothing is carried over.

CURVE, CANVAS = ti.types.ndarray(ti.f64, 2), ti.types.ndarray(ti.f64, 2)


@ti.kernel
def stamp_cast(curve: CURVE, stencil: CANVAS, canvas: CANVAS):
    """The stencil around the pixel that the point is in. curve: (4, N) x, y, power, speed."""
    for k, m, n in ti.ndrange(curve.shape[1], stencil.shape[0], stencil.shape[1]):
        i = ti.cast(curve[1, k], ti.i32) + m - stencil.shape[0] // 2
        j = ti.cast(curve[0, k], ti.i32) + n - stencil.shape[1] // 2
        if i >= 0 and i < canvas.shape[0] and j >= 0 and j < canvas.shape[1]:
            canvas[i, j] += curve[2, k] / curve[3, k] * stencil[m, n]


@ti.kernel
def stamp_soft(curve: CURVE, stencil: CANVAS, canvas: CANVAS):
    """The stencil around each of the four pixels that the point is between, with its bilinear weight."""
    for k, m, n, a, b in ti.ndrange(curve.shape[1], stencil.shape[0], stencil.shape[1], 2, 2):
        row, column = ti.floor(curve[1, k]), ti.floor(curve[0, k])
        up, right = curve[1, k] - row, curve[0, k] - column
        weight = (a * up + (1 - a) * (1 - up)) * (b * right + (1 - b) * (1 - right))
        i = ti.cast(row, ti.i32) + a + m - stencil.shape[0] // 2
        j = ti.cast(column, ti.i32) + b + n - stencil.shape[1] // 2
        if i >= 0 and i < canvas.shape[0] and j >= 0 and j < canvas.shape[1]:
            canvas[i, j] += weight * curve[2, k] / curve[3, k] * stencil[m, n]


def airy_function_stencil() -> Floats:
    """Airy's function Ai of the distance, which has faded out at the rim. It is not the spot of a lens."""
    offset = np.arange(STENCIL) - STENCIL // 2
    stencil = airy(np.hypot(offset[:, None], offset) / 2)[0]
    return stencil / stencil.sum()


class Stamp:
    """Canvas of a curve by one of the kernels, and its gradient by Taichi."""

    def __init__(self, kernel: Any) -> None:
        self._forward, self._backward = kernel, kernel.grad
        self._stencil = self._array(airy_function_stencil())

    def canvas(self, curve: Floats) -> Floats:
        """(SIZE, SIZE) from (4, N)."""
        canvas = self._array(np.zeros((SIZE, SIZE)))
        self._forward(self._array(curve), self._stencil, canvas)
        return canvas.to_numpy()

    def gradient(self, curve: Floats, d_canvas: Floats) -> Floats:
        """∂L/∂curve (4, N) from ∂L/∂canvas."""
        points, canvas = self._array(curve), self._array(np.zeros((SIZE, SIZE)))
        canvas.grad.from_numpy(d_canvas)
        self._forward(points, self._stencil, canvas)
        self._backward(points, self._stencil, canvas)
        return points.grad.to_numpy()

    @staticmethod
    def _array(values: Floats) -> Any:
        array = ti.ndarray(ti.f64, values.shape, needs_grad=True)
        array.from_numpy(np.ascontiguousarray(values))
        array.grad.fill(0)
        return array


class Lines:
    """The same by laserpath: lines from point to point, with the power and speed of the first."""

    def __init__(self) -> None:
        grid = Grid((0.0, 0.0), 1.0, (SIZE, SIZE))
        self._model = DoseModel(grid, Spot(FWHM / PITCH), precision="f64", tolerance=1e-6)

    def canvas(self, curve: Floats) -> Floats:
        """(SIZE, SIZE) from (4, N)."""
        return self._model.dose(Toolpath(curve[:2].T, curve[2, :-1], curve[3, :-1]))

    def gradient(self, curve: Floats, d_canvas: Floats) -> Floats:
        """∂L/∂curve (4, N) from ∂L/∂canvas; power and speed of the last point begin no line."""
        slope = self._model.gradient(Toolpath(curve[:2].T, curve[2, :-1], curve[3, :-1]), d_canvas)
        return np.vstack([slope.xy.T, np.append(slope.power, 0), np.append(slope.speed, 0)])


def kinds() -> dict[str, Stamp | Lines]:
    """What is compared."""
    return {"integer cast": Stamp(stamp_cast), "bilinear splat": Stamp(stamp_soft), "laserpath": Lines()}


def forum_curve() -> Floats:
    """(4, N): a random walk in pixels, with powers and speeds of about 1."""
    level = np.random.default_rng(1).uniform(0.5, 1.5, (2, POINTS))
    return np.vstack([random_walk(0, STENCIL, SIZE - 1 - STENCIL, 6.0).T, level])


def squares(canvas: Floats, design: Floats) -> float:
    """The L2 loss; its derivative is 2 (canvas − design)."""
    return float(((canvas - design) ** 2).sum())


def worst_errors(kind: Stamp | Lines, curve: Floats, count: int, step: float = 0.01) -> Floats:
    """(4,) largest relative error of the gradients of `count` points against central differences."""
    design = butterfly()
    gradient = kind.gradient(curve, 2 * (kind.canvas(curve) - design))
    # Where a bilinear weight has its kinks there is no derivative to compare with.
    smooth = np.abs(curve[:2] - np.rint(curve[:2])).min(axis=0)[:-1] > 2 * step
    chosen = np.random.default_rng(0).choice(np.flatnonzero(smooth), count, replace=False)

    def error(which: int, k: int) -> float:
        one = np.zeros_like(curve)
        one[which, k] = step
        losses = [squares(kind.canvas(curve + c * one), design) for c in (-2, -1, 1, 2)]
        difference = np.dot([1, -8, 8, -1], losses) / (12 * step)
        return abs(gradient[which, k] / difference - 1)

    return np.array([max(error(which, k) for k in chosen) for which in range(4)])


# 3: the butterfly


@dataclass(frozen=True)
class Drawing:
    """From `walk`, with the dose `start`, to `path`, with `dose`, of which is the IoU. Doses are in D_c.

    stages: of each the spot's FWHM in mm, the last loss, the dose with that spot, the IoU with the real one.
    """

    walk: Floats
    start: Floats
    stages: list[tuple[float, float, Floats, float]]
    path: Toolpath
    dose: Floats
    iou: float


def coarser(design: Floats, fwhm: float) -> Target:
    """The design on a grid of at least four pixels to a FWHM, each of 1, 2, 4, 8 or 16 squared of its own."""
    k = int(2 ** np.clip(np.floor(np.log2(fwhm / (4 * PITCH))), 0, 4))
    corner = GRID.origin[0] + (k - 1) / 2 * PITCH
    grid = Grid((corner, corner), k * PITCH, (SIZE // k, SIZE // k))
    return Target(grid, design.reshape(SIZE // k, k, SIZE // k, k).mean(axis=(1, 3)))


class Adam:
    """Kingma and Ba 2015. x and y of a point share a scale, so that a step has the gradient's direction."""

    mean, square, count = np.zeros(1), np.zeros(1), 0

    def step(self, slope: Floats) -> Floats:
        """The next step downhill, of about unit size. slope: (N, dimensions)."""
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * slope
        self.square = 0.99 * self.square + 0.01 * (slope**2).sum(axis=1, keepdims=True)
        size = np.sqrt(self.square / (1 - 0.99**self.count)) + 1e-30
        return -self.mean / (1 - 0.9**self.count) / size


def descend(
    xy: Floats, energy: Floats, model: DoseModel, objective: Objective, schedule: Schedule
) -> tuple[Floats, Floats, float]:
    """Points (N, 2) and line energies (N−1,) after a stage, and the last loss.

    Steps are in spot widths, and in the logarithm of the energy, which therefore stays above 0. Down to a
    thousandth of the mean it may fall: such a line is dark, and can still come back.
    """
    low, high = 1e-3 * energy.mean(), 20 * energy.mean()
    by_place, by_energy = Adam(), Adam()
    for k in range(schedule.iterations):
        relative, contrast = schedule.at(k)
        points = model.points(xy, energy)
        loss, slope = objective.at_contrast(contrast)(model.spread(points))
        pull = model.pull(points, slope, xy, energy)
        moved = schedule.shift * model.spot.fwhm * relative * by_place.step(pull.xy)
        change = schedule.energy * relative * by_energy.step((pull.line_energy * energy)[:, None])
        xy = np.clip(xy + moved, LOW, HIGH)
        energy = np.clip(energy * np.exp(change[:, 0]), low, high)
    return xy, energy, loss


def draw(seed: int, profile: str = "airy", find: int = 70, finish: int = 200) -> Drawing:
    """The butterfly from a random walk: `find` iterations with each wide spot, `finish` with the real one."""
    design = butterfly()
    real = accurate_model(GRID, Spot(FWHM, profile))
    walk = xy = random_walk(seed, LOW, HIGH, 0.3)
    energy = exposed(walk, np.ones(POINTS - 1), real, design)
    start, stages = real.line_dose(walk, energy) / RESIN.critical_dose, []
    # Half of the design, half of that and so on; last the real spot.
    wide = 10 / FWHM / 2 ** np.arange(np.ceil(np.log2(10 / FWHM / 1.3)))
    for width in (*wide, 1.0):
        target = coarser(design, width * FWHM)
        model = DoseModel(target.grid, Spot(width * FWHM, profile))
        coverage, scale = target.coverage.astype(np.float32), 1 / target.coverage.sum()
        limit = OVER_DOSE_SHARE * RESIN.over_dose
        bright = OverDose(1 / RESIN.critical_dose, limit, OVER_DOSE_WEIGHT * scale)
        objective = Objective(target, coverage, RESIN, scale, RESIN.contrast, bright)
        seek, settle = Schedule(find, 0.2, contrast=(4, 8)), Schedule(finish, 0.05, contrast=(8, 16))
        energy = exposed(xy, energy, model, target.coverage)
        xy, energy, loss = descend(xy, energy, model, objective, seek if width > 1 else settle)
        dose, true = (m.line_dose(xy, energy) / RESIN.critical_dose for m in (model, real))
        stages.append((width * FWHM, loss, dose, iou(true, design)))
    # At the machine's full speed, slower where its laser is too weak for that; powers on its levels, or off.
    path = to_levels(EnergyPath(xy, energy, np.full(POINTS - 1, min(MACHINE.speed_max))), MACHINE, real.spot)
    dose = real.dose(path) / RESIN.critical_dose
    return Drawing(walk, start, stages, path, dose, iou(dose, design))


def exposed(xy: Floats, energy: Floats, model: DoseModel, coverage: Floats) -> Floats:
    """The line energies times the factor that makes the mean dose inside the design 1.5 D_c."""
    return energy * (1.5 * RESIN.critical_dose / np.average(model.line_dose(xy, energy), weights=coverage))


def iou(dose: Floats, design: Floats) -> float:
    """Pixels cured (from the critical dose on) and wanted, over those cured or wanted."""
    cured, inside = dose >= 1, design == 1
    return float((cured & inside).sum() / (cured | inside).sum())


# What is printed, and the pictures


def print_gradients(count: int = 6) -> None:
    """Parts 1 and 2."""
    curve, design = forum_curve(), butterfly()
    print(f"{f'gradients of {POINTS} points':<36}{'x':>9}{'y':>9}{'power':>9}{'speed':>9}")
    for name, kind in kinds().items():
        gradient = kind.gradient(curve, 2 * (kind.canvas(curve) - design))
        print(f"{name + ', how many are zero':<36}" + "".join(f"{n:9d}" for n in (gradient == 0).sum(axis=1)))
        if gradient[:2].any():
            errors = worst_errors(kind, curve, count)
            print(f"{name + ', worst relative error':<36}" + "".join(f"{e:9.0e}" for e in errors))


def print_butterflies(seeds: int) -> Drawing:
    """Part 3; the first drawing."""
    print(f"\n{'random walk':<14}{'spot':<16}{'IoU at the start':>18}{'at the end':>12}{'seconds':>9}")
    drawings = []
    for seed, profile in [*((k, "airy") for k in range(seeds)), (0, "airy-function")]:
        began = time.perf_counter()
        drawings.append(draw(seed, profile))
        start, end, took = drawings[-1].start, drawings[-1].iou, time.perf_counter() - began
        print(f"{seed:<14}{profile:<16}{iou(start, butterfly()):18.4f}{end:12.4f}{took:9.0f}")
    print(f"\n{'walk 0, spot':<14}{'pixels':>7}{'loss':>10}{'IoU with the real spot':>26}")
    for fwhm, loss, dose, real in drawings[0].stages:
        print(f"{f'{fwhm:.3g} mm':<14}{f'{len(dose)}²':>7}{loss:10.4f}{real:26.4f}")
    return drawings[0]


def save(figure: Figure, path: Path) -> None:
    """As a small file of 256 colours."""
    figure.savefig(path, dpi=85)
    colours = Image.open(path).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=0)
    colours.save(path)


def picture_of_gradients(path: Path) -> None:
    """The loss as one point moves over three pixels, and in black the slope that the gradient says."""
    curve, design = forum_curve(), butterfly()
    k = int(np.argmin(np.hypot(*(curve[:2] - SIZE / 2 - 60))))
    left = np.floor(curve[0, k]) - 1
    figure = Figure(figsize=(9.5, 3.2), layout="constrained")
    for axes, (name, kind) in zip(figure.subplots(1, 3), kinds().items(), strict=True):
        places, losses = left + np.append(np.linspace(0, 3, 31), 1.5), []
        for curve[0, k] in places:
            canvas = kind.canvas(curve)
            losses.append(squares(canvas, design))
        slope = kind.gradient(curve, 2 * (canvas - design))[0, k]
        change, style = np.array(losses) - losses[0], "default" if slope else "steps-post"
        axes.plot(places[:-1], change[:-1], color="tab:orange", linewidth=2.5, drawstyle=style)
        axes.axline((places[-1], change[-1]), slope=slope, color="black", label=f"gradient {slope:.2g}")
        axes.set(title=name, xlabel="x of one point, pixels", xticks=left + np.arange(4))
        axes.legend(loc="upper right")
        axes.grid(axis="x", alpha=0.4)
    figure.axes[0].set_ylabel("change of the L2 loss")
    save(figure, path)


def picture_of_stages(drawing: Drawing, path: Path) -> None:
    """The design, the random start, and the dose at the end of each stage, as its own spot draws it."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    every = figure.subplots(2, 4)
    panels = [("the design", 2 * butterfly()), ("the random walk's dose", drawing.start)]
    panels += [(f"with a spot of {fwhm:.3g} mm", dose) for fwhm, _, dose, _ in drawing.stages]
    for axes, (title, dose) in zip(every.flat, panels, strict=True):
        colours = "Greys" if title == "the design" else "magma"
        image = axes.imshow(dose, colours, origin="lower", vmin=0, vmax=3)
        axes.set(title=title, xticks=[], yticks=[])
    figure.colorbar(image, ax=every, label="dose / critical dose", shrink=0.8)
    save(figure, path)


def picture_of_result(drawing: Drawing, path: Path) -> None:
    """The final dose; what is cured too much or too little; the same where the wings meet."""
    figure = Figure(figsize=(12.5, 3.9), layout="constrained")
    dose, errors, near = figure.subplots(1, 3)
    image = dose.imshow(drawing.dose, origin="lower", extent=GRID.extent, cmap="magma", vmin=0, vmax=3)
    figure.colorbar(image, ax=dose, label="dose / critical dose", shrink=0.8)
    kind = 2 * (drawing.dose >= 1) + butterfly()
    colours = ListedColormap(["white", "tab:blue", "tab:red", "0.8"])
    for axes in (errors, near):
        axes.imshow(kind, colours, origin="lower", extent=GRID.extent, vmin=0, vmax=3, interpolation="none")
    errors.add_patch(Rectangle((-1, -2.5), 2, 2, fill=False))
    dose.set(title="dose of the final path", xlabel="mm")
    errors.set(title=f"cured: IoU {drawing.iou:.4f}", xlabel="mm")
    title = f"red: {(kind == 2).sum()} pixels too many; blue: {(kind == 1).sum()} missing"
    near.set(title=title, xlabel="mm", xlim=(-1, 1), ylim=(-2.5, -0.5))
    save(figure, path)


def picture_of_path(drawing: Drawing, path: Path) -> None:
    """The curve before, and after: its lines by their power, those with the laser off in grey."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    before, after = figure.subplots(1, 2)
    before.plot(*drawing.walk.T, linewidth=0.4, color="tab:blue")
    lines = np.stack([drawing.path.xy[:-1], drawing.path.xy[1:]], axis=1)
    power, on = drawing.path.power, drawing.path.on
    after.add_collection(LineCollection(list(lines[~on]), colors="0.85", linewidths=0.5))
    style: dict[str, Any] = {"cmap": "viridis_r", "clim": (0, np.quantile(power, 0.995))}
    lit = after.add_collection(LineCollection(list(lines[on]), array=power[on], linewidths=0.6, **style))
    figure.colorbar(lit, ax=after, label="power, mW", extend="max", shrink=0.85)
    titles = f"the random walk, {POINTS} points", "the final path; grey: laser off"
    for axes, title in zip((before, after), titles, strict=True):
        axes.set(title=title, aspect="equal", xlim=GRID.extent[:2], ylim=GRID.extent[2:], xlabel="mm")
    save(figure, path)


def main() -> None:
    """All three parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the pictures (demo)")
    parser.add_argument("--seeds", type=int, choices=range(1, 21), default=3, help="random walks (3)")
    options = parser.parse_args()
    ti.init(arch=ti.cpu)  # laserpath runs on it too
    options.out.mkdir(parents=True, exist_ok=True)
    print_gradients()
    picture_of_gradients(options.out / "forum-gradient.png")
    drawing = print_butterflies(options.seeds)
    picture_of_stages(drawing, options.out / "forum-stages.png")
    picture_of_result(drawing, options.out / "forum-result.png")
    picture_of_path(drawing, options.out / "forum-path.png")


if __name__ == "__main__":
    main()

"""Commanded height map → printed height map, fitted to measured prints.

The surface that a commanded relief prints is where the dose of the whole volume is the critical one:

    D(x, z) = ∫ K(x − x′) Φ((m(x′) − z)/d) dx′,      D(x, z*(x)) = t,
    K = (1 − f) G(s) + f G(S),      ∫ K = 1, G(s) ∝ exp(−r²/2s²)

m: commanded height, mm.  z*: printed height, mm.  D: dose over that of the solid, 0 … 1.  t: critical dose
on that scale.  s, S: rms width of the spot and of its tail (scattering, diffusion), mm; f: the tail's share.
d: rms length of the spot along z, mm; Φ: the normal distribution.  Every layer z exposes where m > z; the
voxel's tails reach into the layers and the places beside it; material that got the critical dose remains.
This is the threshold model of two-photon printing (Fischer, Wegener, Laser Photonics Rev. 7 (2013) 22), for a
relief.

Its result: where the heights under K are normal with mean μ and variance v,

    z* = μ − Φ⁻¹(t) √(d² + v).

So a flat top is off by a constant, and for t > ½ a slope or a fine pattern prints lower than its mean: there
the dose is too low first. A blurred height, K ∗ m, does not include that loss.

Numbers. D is computed on layers at most d apart. Between them Φ⁻¹(D) is taken as linear in z, which is exact
for normal heights, and accurate to d/50 (rms) on random hills. Blurs multiply by the cosine transform: the
field is continued by its mirror image. The Gaussian's transfer function is exp(−s²k²/2) at k = π j/(N·pixel),
j = 0 … N−1.

The printed height follows from it:

    h(x) = ℓ + y(x),      y = g (z*(x) − z₀) + q (z*(x) − z₀)² − e B(x),      ℓ = ℓ₀ + κ (T − T₀)

z*: surface of equal dose of the commanded relief m (`IsoDose`: spot s, tail S with share f, depth d,
threshold t), mm.  z₀: mean of m over all prints.  g, q (1/mm): shrinkage, which may grow with height.
B = 1 − G(r) ∗ 1_field: share of a Gaussian of rms width r that lies outside the printed field, where nothing
was exposed; e, mm: the height that is missing there.  ℓ: the level of a whole print. A profilometer knows no
absolute height, so each print has a level of its own. It is predicted from T = rms(y)/rms(m), both about
their means: the share of the commanded relief that survives. κ = 0 without that term.

Fit. Shape: least squares of h − measured over all pixels, each print about its own mean, so that a print's
level cannot pull the shape; g, q, e come in closed form at each trial of the five numbers of z* (variable
projection, Golub & Pereyra 1973), which move by the trust-region method of scipy. Level: ℓ₀ and κ by linear
regression over the prints. Standard errors of the five take prints, not pixels, as independent, by the
sandwich (JᵀJ)⁻¹ (Σ_p J_pᵀ r_p r_pᵀ J_p) (JᵀJ)⁻¹ (Liang & Zeger 1986), on the logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.fft import dctn, idctn
from scipy.optimize import OptimizeResult, least_squares
from scipy.special import ndtr, ndtri

from laserpath.base import checks
from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.errors import InputError

BEYOND = 2.5
"""Margin of layers above and below the relief, in d. The limits of the threshold need as many."""

MOST_LAYERS = 200
"""Largest number of layers. A relief that needs more is refused, because it is far higher than the spot is
deep."""

_ALMOST = 1e-6
"""Distance of D from 0 and 1 that keeps Φ⁻¹ finite: the error of D in single precision."""


@dataclass(frozen=True, slots=True)
class IsoDose:
    """The five numbers of the module's equations. Lengths in mm, share and threshold without unit."""

    width: float
    tail_width: float
    tail_share: float
    depth: float
    threshold: float

    def __post_init__(self) -> None:
        checks.positive(self, "width", "tail_width", "depth")
        checks.between(self, tail_share=(0.0, 1.0), threshold=(0.02, 0.98))

    def transfer(self, shape: tuple[int, int], pixel: float) -> Floats:
        """K's transfer function for `dctn` of an array of that shape, float32."""
        near = transfer(self.width / pixel, shape)
        far = transfer(self.tail_width / pixel, shape)
        return ((1 - self.tail_share) * near + self.tail_share * far).astype(np.float32)

    def surface(self, commanded: Floats, pixel: float, count: int | None = None) -> Floats:
        """z* of m, both (H, W) mm. pixel: mm.  count: of the layers; None: `layer_count`.

        `layer_count` jumps with the depth, and z* with it. To take differences of z*, keep the count fixed.
        """
        layers = self._layers(commanded, count or self.layer_count(commanded))
        spread = self.transfer(commanded.shape, pixel)
        in_depths = (commanded / self.depth).astype(np.float32)
        surface = np.full(commanded.shape, layers[0])
        above = np.full(commanded.shape, 1 - _ALMOST, dtype=np.float32)  # D of the layer below
        for z, next_z in pairwise(layers):
            dose = blurred(ndtr(in_depths - np.float32(next_z / self.depth)), spread)
            crosses = (above >= self.threshold) & (dose < self.threshold)
            high, low = (_probit(d[crosses]) - ndtri(self.threshold) for d in (above, dose))
            surface[crosses] = z + (next_z - z) * high / (high - low)
            above = dose
        return surface

    def layer_count(self, commanded: Floats) -> int:
        """Layers at most d apart, from `BEYOND` d below the relief (H, W), mm, to as far above it."""
        low, high = self._range(commanded)
        count = int(np.ceil((high - low) / self.depth)) + 1
        if count > MOST_LAYERS:
            raise InputError(
                f"depth {self.depth:g} mm is below 1/{MOST_LAYERS} of the relief of {high - low:g} mm"
            )
        return count

    def _layers(self, commanded: Floats, count: int) -> Floats:
        """Heights of the layers, (Z,) mm."""
        return np.linspace(*self._range(commanded), count)

    def _range(self, commanded: Floats) -> tuple[float, float]:
        """Heights of the lowest and the highest layer, mm."""
        margin = BEYOND * self.depth
        return float(commanded.min()) - margin, float(commanded.max()) + margin


def _probit(dose: Floats) -> Floats:
    """Φ⁻¹ of single precision, finite."""
    return ndtri(np.clip(dose.astype(np.float64), _ALMOST, 1 - _ALMOST))


def transfer(sigma: float, shape: tuple[int, int]) -> Floats:
    """Transfer function of a Gaussian blur of rms width sigma, pixels, for `dctn`; (H, W)."""
    rows, columns = (np.exp(-0.5 * (np.pi * sigma * np.arange(n) / n) ** 2) for n in shape)
    return np.outer(rows, columns)


def blurred(image: Floats, spread: Floats) -> Floats:
    """The image (H, W), mirrored outside, filtered by a transfer function (H, W)."""
    return idctn(dctn(image, norm="ortho") * spread, norm="ortho")


Pair = tuple[Floats, Floats]
"""Commanded and measured height of one whole print, (H, W) mm each."""

EDGE_REACH = 60.0
"""r, pixels. The fit is much the same with any from 20 to 100."""

STRIDE = 4
"""Step in pixels and rows of the heights that are fitted. Neighbours are alike: smaller costs time."""

RIDGE = 1e-6
"""Ridge relative to the features' variance, just large enough to keep the closed form solvable."""

STEP = 0.01
"""Step of the forward differences on the fitted scale, well above the noise of single precision."""


@dataclass(frozen=True, slots=True)
class HeightModel:
    """The numbers of the module's first equation. pixel: mm, of the maps that it was fitted to.

    centre: z₀.  gain: g.  curve: q.  edge: e.  level: ℓ₀.  survival: T₀.  survival_slope: κ.
    """

    dose: IsoDose
    pixel: float
    centre: float
    gain: float
    curve: float
    edge: float
    level: float = 0.0
    survival: float = 0.0
    survival_slope: float = 0.0

    def __post_init__(self) -> None:
        checks.positive(self, "pixel")

    def predict(self, commanded: Floats) -> Floats:
        """Printed height of one whole print, (H, W) mm, from its commanded height, (H, W) mm."""
        commanded = frozen_array(commanded, "commanded height", (None, None))
        terms = features(self.dose.surface(commanded, self.pixel), self.centre)
        shape = np.tensordot(np.array([self.gain, self.curve, self.edge]), terms, 1)
        return shape + self.level + self.survival_slope * (survival(shape, commanded) - self.survival)


@dataclass(frozen=True, slots=True)
class HeightFit:
    """A fitted model and how well it describes the prints that it was fitted to. Lengths in mm.

    shape_rms: of the residual about each print's mean.  level_rms: of the prints' means.
    errors: standard errors on the fitted scale: relative for width, tail_width and depth, of the log odds for
    tail_share and threshold.
    """

    model: HeightModel
    shape_rms: float
    level_rms: float
    errors: dict[str, float]


def features(surface: Floats, centre: float) -> Floats:
    """The terms of y that g, q and e multiply: (3, H, W)."""
    about = surface - centre
    return np.stack([about, about**2, -outside(surface.shape, EDGE_REACH)])


def outside(shape: tuple[int, int], reach: float) -> Floats:
    """B: share of a Gaussian of rms width `reach`, pixels, that lies outside the field of that shape."""
    margin = int(np.ceil(5 * reach))
    inside = []
    for n in shape:
        line = np.zeros((n + 2 * margin, 1))
        line[margin : margin + n] = 1
        inside.append(blurred(line, transfer(reach, line.shape))[margin : margin + n, 0])
    return 1 - np.outer(*inside)


def survival(shape: Floats, commanded: Floats) -> float:
    """T: rms of the shape y over rms of the commanded height, both about their means; 0 without relief."""
    rms = float(np.std(commanded))
    return float(np.std(shape)) / rms if rms > 0 else 0.0


# The fit

_NAMES = ("width", "tail_width", "tail_share", "depth", "threshold")
_START = (1.5, 8.0, 0.2, 1.0, 0.8)  # widths in pixels, depth in twelfths of the highest relief


def fit_heights(pairs: Sequence[Pair], pixel: float, *, with_survival: bool = True) -> HeightFit:
    """Fit to whole prints. with_survival: also the level's dependence on T; needs prints that differ."""
    pairs = _checked(pairs, pixel)
    centre = float(np.mean([m.mean() for m, _ in pairs]))
    relief = max(float(np.ptp(m)) for m, _ in pairs)
    scale = np.array([pixel, pixel, 1.0, relief / 12, 1.0])

    def residual(theta: Floats, counts: Sequence[int] | None = None) -> Floats:
        terms, target = _centred(pairs, _dose(theta, scale), pixel, centre, counts)
        return (target - terms @ _ridge(terms, target)) / pixel

    def jacobian(theta: Floats) -> Floats:
        # One more layer within the step would change the difference by more than the parameter's own effect.
        counts = [_dose(theta, scale).layer_count(m) for m, _ in pairs]
        unchanged = residual(theta, counts)
        steps = STEP * np.eye(len(theta))
        return np.stack([(residual(theta + step, counts) - unchanged) / STEP for step in steps], axis=1)

    solution = least_squares(
        residual, _theta(_START), jacobian, _BOUNDS, x_scale=0.3, ftol=3e-4, xtol=1e-3, max_nfev=12
    )
    dose = _dose(solution.x, scale)
    terms, target = _centred(pairs, dose, pixel, centre)
    weights = _ridge(terms, target)
    shape = HeightModel(dose, pixel, centre, *map(float, weights))
    model, level_rms = _levelled(shape, pairs, with_survival)
    shape_rms = float(np.sqrt(np.mean((target - terms @ weights) ** 2)))
    return HeightFit(model, shape_rms, level_rms, _errors(solution, pairs))


def _checked(pairs: Sequence[Pair], pixel: float) -> list[Pair]:
    if len(pairs) < 2:
        raise InputError(f"{len(pairs)} prints are given, but a fit needs 2")
    if not (np.isfinite(pixel) and pixel > 0):
        raise InputError(f"pixel is {pixel}, but must be above 0")
    checked = []
    for commanded, measured in pairs:
        shape = np.shape(commanded)
        command = frozen_array(commanded, "commanded height", (None, None))
        checked.append((command, frozen_array(measured, "measured height", shape)))
        if min(shape) < 4 * STRIDE or np.ptp(command) == 0:
            raise InputError(f"a commanded height of {shape} pixels has no relief to fit to")
    return checked


def _logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def _theta(values: Sequence[float]) -> Floats:
    """Numbers of z* → logarithms, and log odds of shares."""
    s, tail, share, depth, threshold = values
    return np.array([np.log(s), np.log(tail), _logit(share), np.log(depth), _logit(threshold)])


_BOUNDS = (_theta((0.3, 4.0, 0.001, 0.3, 0.05)), _theta((8.0, 60.0, 0.9, 6.0, 0.95)))


def _dose(theta: Floats, scale: Floats) -> IsoDose:
    s, tail, share, depth, threshold = theta
    odds = 1 / (1 + np.exp(-np.array([share, threshold])))
    values = np.array([np.exp(s), np.exp(tail), odds[0], np.exp(depth), odds[1]]) * scale
    return IsoDose(**dict(zip(_NAMES, map(float, values), strict=True)))


def _centred(
    pairs: Sequence[Pair], dose: IsoDose, pixel: float, centre: float, counts: Sequence[int] | None = None
) -> tuple[Floats, Floats]:
    """Features (N, 3) and measured heights (N,) of every fourth pixel, each print about its mean.

    counts: layers of each print's surface, see `IsoDose.surface`.
    """
    terms, target = [], []
    counts = counts or [dose.layer_count(commanded) for commanded, _ in pairs]
    for (commanded, measured), count in zip(pairs, counts, strict=True):
        some = features(dose.surface(commanded, pixel, count), centre)[:, ::STRIDE, ::STRIDE]
        some = some.reshape(len(some), -1).T
        terms.append(some - some.mean(axis=0))
        target.append((measured[::STRIDE, ::STRIDE] - measured[::STRIDE, ::STRIDE].mean()).ravel())
    return np.concatenate(terms), np.concatenate(target)


def _ridge(terms: Floats, target: Floats) -> Floats:
    """Least-squares weights (3,) of the terms, with the ridge `RIDGE`."""
    gram = terms.T @ terms
    size = np.sqrt(np.diag(gram))
    normal = gram / np.outer(size, size) + RIDGE * np.eye(len(size))
    return np.linalg.solve(normal, terms.T @ target / size) / size


def _levelled(shape: HeightModel, pairs: Sequence[Pair], with_survival: bool) -> tuple[HeightModel, float]:
    """The shape with ℓ₀ and κ, and the rms of the residuals of the prints' levels."""
    shapes = [shape.predict(commanded) for commanded, _ in pairs]
    known = np.array([survival(y, m) for y, (m, _) in zip(shapes, pairs, strict=True)])
    level = np.array([a.mean() - y.mean() for y, (_, a) in zip(shapes, pairs, strict=True)])
    about = known - known.mean()
    slope = float(about @ level / (about @ about)) if with_survival and about @ about > 0 else 0.0
    mean, survived = float(level.mean()), float(known.mean())
    model = replace(shape, level=mean, survival=survived, survival_slope=slope)
    return model, float(np.std(level - slope * about))


def _errors(solution: OptimizeResult, pairs: Sequence[Pair]) -> dict[str, float]:
    """Standard errors on the scale of `_theta`, prints independent."""
    jacobian, residual = solution.jac, solution.fun
    bread = np.linalg.pinv(jacobian.T @ jacobian)
    counts = [m[::STRIDE, ::STRIDE].size for m, _ in pairs]
    ends = np.cumsum(counts)
    scores = [jacobian[e - n : e].T @ residual[e - n : e] for n, e in zip(counts, ends, strict=True)]
    filling = np.array(scores).T @ np.array(scores)
    return dict(zip(_NAMES, np.sqrt(np.diag(bread @ filling @ bread)).tolist(), strict=True))

"""The surface that a commanded relief prints: where the dose of the whole volume is the critical one.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.fft import dctn, idctn
from scipy.special import ndtr, ndtri

from laserpath.base import checks
from laserpath.base.arrays import Floats
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

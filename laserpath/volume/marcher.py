"""A picture of a volume that emits and absorbs light, and its gradient by volume and cameras.

A ray o + t d is marched from front to back in K steps of length Δ,

    t_k = near + (k + ½ + jitter (u_k − ½)) Δ,   k = 0 … K − 1,   u_k in 0..1 from a hash of (seed, ray, k)
    c_k, σ_k = the colour and the density at o + t_k d: trilinear between the centres of voxels, 0 beyond

and each sample adds w_k c_k to the colour C of its pixel, and w_k to its opacity A:

    'exponential'   w_k = (1 − A_k) (1 − e^(−σ_k Δ))              A_(k+1) = A_k + w_k       (Max 1995)
    'clamped'       w_k = min(A_k + σ_k Δ, 1) − A_k               A_(k+1) = min(A_k + σ_k Δ, 1)

**Adjoint.** With g = ∂L/∂C and γ = ∂L/∂A, the derivative by s_k = σ_k Δ, and ∂L/∂c_k = w_k g, are

    'exponential'   ∂L/∂s_k = (1 − A_(k+1)) g·c_k − Σ_(j>k) w_j g·c_j + γ (1 − A_K)
    'clamped'       ∂L/∂s_k = g·c_k + γ, where the ray never reaches 1; else, with e the step that reaches it,
                    g·c_k − g·c_e in front of e, and 0 from e on

so that front to back again is enough: the sum behind k is what is in the picture less what was seen so far.

**The kink.** Where A_k + σ_k Δ is 1 exactly, the sample counts as one that does not reach 1, as in PyTorch's
`clamp`. Behind a ray that has reached 1 nothing is sampled any more, and the derivative there is 0, also of a
sample of density 0: it is the derivative to the one side to which a density can go. A volume's densities must
be at least 0.

**Places.** A volume has the shape (z, y, x, 4), red, green, blue, density last; voxel [i, j, k] has its
centre at origin + pitch · (k, j, i). PyTorch's `grid_sample` on the cube −1..1 with `align_corners=False` is
the origin −1 + 1/n and the pitch 2/n; with True it is −1 and 2/(n − 1). Half a voxel outside the
outermost centres the field has fallen to a half, and one voxel outside to 0, continuously: a field that is
cut at the cube's faces would have no derivative by the camera.

N. Max, Optical models for direct volume rendering, IEEE TVCG 1(2), 1995.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base.arrays import Floats
from laserpath.base.checks import (
    between,
    check_real,
    finite_array,
    known_precision,
    on_cpu_only,
    positive,
    whole,
)
from laserpath.base.errors import InputError
from laserpath.compute.runtime import cpu_count, device
from laserpath.volume import kernels
from laserpath.volume.camera import CameraGradient, Cameras

OPACITIES = ("clamped", "exponential")
"""How the opacity of a ray adds up; see the module's docstring."""

MOST_STEPS = 1 << 20
MOST_VALUES = 1 << 27
"""Numbers in a volume with its rim, so that 32-bit indices reach all of `_SLABS` volumes: 320³ voxels."""
_SLABS = 8
"""Most gradient volumes at a time, one a thread. More need more memory, and longer to add up."""

Order = NDArray[np.int32]
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class March:
    """How rays are marched, and where the volume is.

    origin: (x, y, z), the centre of voxel [0, 0, 0].  pitch: (x, y, z) of the voxels; any unit of length.
    near: of the first step, from the camera.  step: Δ, in the same unit.  steps: K.
    jitter: 0 samples the middle of each step, 1 anywhere in it.  seed: of the jitter.
    opacity: 'clamped' or 'exponential'.
    """

    origin: Triple
    pitch: Triple
    step: float
    steps: int
    near: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    opacity: str = "exponential"

    def __post_init__(self) -> None:
        for name in ("origin", "pitch"):
            value = np.asarray(getattr(self, name))
            if value.shape != (3,) or value.dtype.kind not in "iuf" or not np.isfinite(value).all():
                raise InputError(f"march {name} is {getattr(self, name)}, but must be three finite numbers")
        positive(self, "pitch", "step")
        whole(self, "steps", "seed")
        between(self, steps=(1, MOST_STEPS), near=(0, 1e9), jitter=(0, 1), seed=(0, 2**32 - 1))
        if self.opacity not in OPACITIES:
            raise InputError(f"march opacity {self.opacity!r} is unknown; known: {', '.join(OPACITIES)}")

    def fixed(self) -> tuple[float, float, int, float, int]:
        """The numbers that the kernels take."""
        return float(self.near), float(self.step), int(self.steps), float(self.jitter), int(self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class _MarchInput:
    """What is marched. values: (z + 2, y + 2, x + 2, 4), the volume in a rim of zeros.

    start, along: (R, 3) origins and directions of the rays in voxels, the rim's first one at 0.
    order: (R,) in which the rays are marched; neighbours one after the other are quicker.
    """

    values: Floats
    start: Floats
    along: Floats
    order: Order

    def flat(self) -> tuple[Floats, int, int, int, Floats, Floats, Order]:
        """The kernels' first arguments: the volume, (voxels, 4), its sizes, and the rays."""
        depth, height, width = (n - 2 for n in self.values.shape[:3])
        return self.values.reshape(-1, 4), width, height, depth, self.start, self.along, self.order


@dataclass(frozen=True, slots=True, eq=False)
class _Marched:
    """The march of R rays. picture: (R, 4) red, green, blue, opacity.

    end: (R,) the step that reached an opacity of 1, or K.  edge: (R, 4) the last sample: that step's, if any.
    """

    picture: Floats
    end: Order
    edge: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RenderGradient:
    """Derivatives of a scalar by the volume (z, y, x, 4) and the cameras. None: not wanted.

    picture: (N, rows, columns, 4), as of `RayMarcher.render`.
    """

    picture: Floats
    volume: Floats | None
    cameras: CameraGradient | None


class RayMarcher:
    """Pictures and gradients in one precision, 'f32' or 'f64', on the CPU."""

    def __init__(self, march: March, precision: str = "f32") -> None:
        known_precision(precision)
        on_cpu_only("volumes are marched", device())
        self.march, self.precision = march, precision
        self._real = np.float32 if precision == "f32" else np.float64

    def render(self, volume: ArrayLike, cameras: Cameras) -> Floats:
        """The pictures, (N, rows, columns, 4): red, green, blue, opacity."""
        picture = self._marched(self._input(volume, cameras)).picture
        return picture.reshape(len(cameras), *cameras.shape, 4)

    def gradient(
        self, volume: ArrayLike, cameras: Cameras, d_picture: ArrayLike | Callable[[Floats], ArrayLike], *,
        by_volume: bool = True, by_cameras: bool = True,
    ) -> RenderGradient:  # fmt: skip
        """∂L/∂(volume, cameras) from ∂L/∂pictures, (N, rows, columns, 4).

        d_picture: that derivative, or a function of the pictures that returns it, so that they are rendered
        once for the loss and its gradient.
        """
        given = self._input(volume, cameras)
        marched = self._marched(given)
        picture = marched.picture.reshape(len(cameras), *cameras.shape, 4)
        slope = d_picture(picture.copy()) if callable(d_picture) else d_picture
        slope = finite_array(slope, "d_picture", picture.shape, self._real).reshape(-1, 4)
        slabs = min(cpu_count(), _SLABS) if by_volume else cpu_count()
        d_volume = np.zeros((slabs, *given.values.shape) if by_volume else (1, 4), self._real)
        d_start, d_along = np.zeros_like(given.start), np.zeros_like(given.along)
        kernels.adjoint(self.precision, *self._kind(), by_volume, by_cameras)(
            *given.flat(), *self.march.fixed(), marched.picture, marched.end, marched.edge, slope, slabs,
            d_volume.reshape(-1, 4), d_start, d_along,
        )  # fmt: skip
        pitch = np.asarray(self.march.pitch)
        return RenderGradient(
            picture,
            d_volume[:, 1:-1, 1:-1, 1:-1].sum(axis=0) if by_volume else None,
            cameras.pull(d_start / pitch, d_along / pitch) if by_cameras else None,
        )

    def _marched(self, given: _MarchInput) -> _Marched:
        rays = len(given.start)
        out = _Marched(
            np.zeros((rays, 4), self._real), np.zeros(rays, np.int32), np.zeros((rays, 4), self._real)
        )  # fmt: skip
        kernels.march(self.precision, *self._kind())(
            *given.flat(), *self.march.fixed(), out.picture, out.end, out.edge
        )  # fmt: skip
        return out

    def _input(self, volume: ArrayLike, cameras: Cameras) -> _MarchInput:
        values = self._volume(volume)
        rimmed = np.zeros((*(n + 2 for n in values.shape[:3]), 4), self._real)
        rimmed[1:-1, 1:-1, 1:-1] = values
        origin, direction = cameras.rays
        pitch = np.asarray(self.march.pitch)
        start = (origin - np.asarray(self.march.origin)) / pitch + 1
        return _MarchInput(rimmed, start, direction / pitch, cameras.order)

    def _kind(self) -> tuple[bool, bool]:
        """Of the kernels: whether the opacity is clamped, and whether steps are jittered."""
        return self.march.opacity == "clamped", self.march.jitter > 0

    def _volume(self, volume: ArrayLike) -> Floats:
        check_real("volume", given := np.asarray(volume))
        array: Floats = np.ascontiguousarray(given, dtype=self._real)
        if array.ndim != 4 or array.shape[3] != 4 or array.size == 0:
            raise InputError(f"volume has shape {array.shape}, but must have (z, y, x, 4), each at least 1")
        rimmed = 4 * int(np.prod([n + 2 for n in array.shape[:3]], dtype=object))
        if rimmed > MOST_VALUES:
            raise InputError(
                f"volume of shape {array.shape} has {rimmed} values with a rim of zeros around it, but must "
                f"have at most {MOST_VALUES}"
            )
        if not np.isfinite(array.sum()) and not np.isfinite(array).all():
            raise InputError(f"volume is not finite in {int((~np.isfinite(array)).sum())} values")
        if (least := float(array[..., 3].min())) < 0:
            raise InputError(f"volume has a density of {least:g}, but it must be at least 0")
        return array

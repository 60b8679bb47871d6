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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base.arrays import Floats
from laserpath.base.checks import between, on_cpu_only, positive, whole
from laserpath.base.errors import InputError
from laserpath.compute.runtime import REAL, cpu_count, device
from laserpath.volume import kernels
from laserpath.volume.camera import CameraGradient, Cameras

OPACITIES = ("clamped", "exponential")
"""How the opacity of a ray adds up; see the module's docstring."""

MOST_STEPS = 1 << 20
MOST_VALUES = 1 << 27
"""Numbers in a volume, so that 32-bit indices reach all of `_SLABS` volumes: 320³ voxels."""
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
class Rendered:
    """The march of R rays. picture: (R, 4) red, green, blue, opacity.

    end: (R,) the step that reached an opacity of 1, or K.  edge: (R, 3) its colour.
    """

    picture: Floats
    end: Order
    edge: Floats


@dataclass(frozen=True, slots=True, eq=False)
class RayGradient:
    """Derivatives of a scalar. volume: (z, y, x, 4).  origin, direction: (R, 3). None: not wanted."""

    volume: Floats | None
    origin: Floats | None
    direction: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class RenderGradient:
    """Derivatives of a scalar by the volume (z, y, x, 4) and the cameras. None: not wanted."""

    volume: Floats | None
    cameras: CameraGradient | None


class RayMarcher:
    """Pictures and gradients in one precision, 'f32' or 'f64', on the CPU."""

    def __init__(self, march: March, precision: str = "f32") -> None:
        if precision not in REAL:
            raise InputError(f"precision {precision!r} is unknown; known: {', '.join(REAL)}")
        on_cpu_only("volumes are marched", device())
        self.march, self.precision = march, precision
        self._real = np.float32 if precision == "f32" else np.float64

    def render(self, volume: ArrayLike, cameras: Cameras) -> Floats:
        """The pictures, (N, rows, columns, 4): red, green, blue, opacity."""
        picture = self.march_rays(volume, *cameras.rays, cameras.order).picture
        return picture.reshape(len(cameras), *cameras.shape, 4)

    def gradient(
        self, volume: ArrayLike, cameras: Cameras, d_picture: ArrayLike, *, by_volume: bool = True,
        by_cameras: bool = True,
    ) -> RenderGradient:  # fmt: skip
        """∂L/∂(volume, cameras) from ∂L/∂pictures, (N, rows, columns, 4)."""
        origin, direction = cameras.rays
        rendered = self.march_rays(volume, origin, direction, cameras.order)
        d_picture = self._checked(d_picture, "d_picture", (len(cameras), *cameras.shape, 4)).reshape(-1, 4)
        found = self.pull_rays(
            volume, origin, direction, rendered, d_picture, cameras.order, (by_volume, by_cameras)
        )
        by = None
        if found.origin is not None and found.direction is not None:
            by = cameras.pull(found.origin, found.direction)
        return RenderGradient(found.volume, by)

    def march_rays(
        self,
        volume: ArrayLike,
        origin: ArrayLike,
        direction: ArrayLike,
        order: Order | None = None,
    ) -> Rendered:
        """The march along rays: origin, direction (R, 3); t counts in lengths of the direction.

        order: (R,) in which the rays are marched; neighbours one after the other are quicker.
        """
        scene = self._scene(volume, origin, direction, order)
        rays = len(scene[4])
        out = (
            np.zeros((rays, 4), self._real), np.zeros(rays, np.int32), np.zeros((rays, 3), self._real)
        )  # fmt: skip
        kernels.march(self.precision, *self._kind())(*scene, *self.march.fixed(), *out)
        return Rendered(*out)

    def pull_rays(
        self, volume: ArrayLike, origin: ArrayLike, direction: ArrayLike, rendered: Rendered,
        d_picture: ArrayLike, order: Order | None = None, wanted: tuple[bool, bool] = (True, True),
    ) -> RayGradient:  # fmt: skip
        """∂L/∂(volume, origin, direction) from ∂L/∂picture (R, 4). wanted: by volume, by rays."""
        scene = self._scene(volume, origin, direction, order)
        size, rays = scene[0].size, len(scene[4])
        slabs = min(cpu_count(), _SLABS) if wanted[0] else cpu_count()
        d_volume = np.zeros(slabs * size if wanted[0] else 1, self._real)
        d_origin, d_along = np.zeros((rays, 3)), np.zeros((rays, 3))
        d_picture = self._checked(d_picture, "d_picture", (rays, 4))
        kernels.adjoint(self.precision, *self._kind(), *wanted)(
            *scene, *self.march.fixed(), rendered.picture, rendered.end, rendered.edge, d_picture, slabs,
            d_volume, d_origin, d_along,
        )  # fmt: skip
        pitch = np.asarray(self.march.pitch)
        depth, height, width = (int(scene[n]) for n in (3, 2, 1))
        total = None
        if wanted[0]:
            inner = slice(1, -1)
            rimmed = d_volume.reshape(slabs, depth + 2, height + 2, width + 2, 4)
            total = rimmed[:, inner, inner, inner].sum(axis=0)
        if not wanted[1]:
            return RayGradient(total, None, None)
        return RayGradient(total, d_origin / pitch, d_along / pitch)

    def _scene(
        self, volume: ArrayLike, origin: ArrayLike, direction: ArrayLike, order: Order | None
    ) -> tuple[Floats, int, int, int, Floats, Floats, Order]:
        """The kernels' first arguments: the volume, flat, its sizes, and the rays in voxels."""
        volume = self._volume(volume)
        depth, height, width, _ = volume.shape
        origin, direction = np.asarray(origin, np.float64), np.asarray(direction, np.float64)
        for name, one in (("origin", origin), ("direction", direction)):
            if one.shape != (len(origin), 3):
                raise InputError(f"rays {name} has shape {one.shape}, but must have {(len(origin), 3)}")
            if not np.isfinite(one).all():
                raise InputError(f"rays {name} is not finite in {int((~np.isfinite(one)).sum())} values")
        if order is None:
            order = np.arange(len(origin), dtype=np.int32)
        pitch = np.asarray(self.march.pitch)
        along = np.ascontiguousarray(direction / pitch)
        start = np.ascontiguousarray((origin - np.asarray(self.march.origin)) / pitch + 1)
        rimmed = np.zeros((depth + 2, height + 2, width + 2, 4), self._real)
        rimmed[1:-1, 1:-1, 1:-1] = volume
        return rimmed.reshape(-1), width, height, depth, start, along, order

    def _kind(self) -> tuple[bool, bool]:
        """Of the kernels: whether the opacity is clamped, and whether steps are jittered."""
        return self.march.opacity == "clamped", self.march.jitter > 0

    def _volume(self, volume: ArrayLike) -> Floats:
        array: Floats = np.ascontiguousarray(np.asarray(volume), dtype=self._real)
        if array.ndim != 4 or array.shape[3] != 4 or array.size == 0:
            raise InputError(f"volume has shape {array.shape}, but must have (z, y, x, 4), each at least 1")
        if array.size > MOST_VALUES:
            raise InputError(f"volume has {array.size} values, but must have at most {MOST_VALUES}")
        if not np.isfinite(array.sum()) and not np.isfinite(array).all():
            raise InputError(f"volume is not finite in {int((~np.isfinite(array)).sum())} values")
        if (least := float(array[..., 3].min())) < 0:
            raise InputError(f"volume has a density of {least:g}, but it must be at least 0")
        return array

    def _checked(self, values: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
        array: Floats = np.ascontiguousarray(np.asarray(values), dtype=self._real)
        if array.shape != shape:
            raise InputError(f"{name} has shape {array.shape}, but must have {shape}")
        if not np.isfinite(array).all():
            raise InputError(f"{name} is not finite in {int((~np.isfinite(array)).sum())} values")
        return array

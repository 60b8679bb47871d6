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
outermost centres the field has fallen to a half, and one voxel outside to 0, continuously.

**The box.** Samples outside `box` are left out, as by a mask. That a sample comes or goes as the camera moves
is not in the derivatives by the camera: they are those of autograd with that mask, not those of differences.

**Batches.** Of B volumes, (B, z, y, x, 4), each is seen by N/B of the N cameras, in order: the first ones see
the first. Each is marched as if it were alone, with the same jitter.

N. Max, Optical models for direct volume rendering, IEEE TVCG 1(2), 1995.

**Cameras** are pinholes, and the adjoint goes through their rays, too:

    ray of the pixel (i, j) = (row, column):   o + t d,   o = position,   d = e/|e|
    e = a R[0] + b R[1] + R[2],   a = (j − c_x)/f_x,   b = (i − c_y)/f_y

The rows of the rotation R are the directions, in the world, of the camera's axes: to the right, downwards in
the picture, forwards. Pixel (i, j) has its centre at the column j and the row i.

The marcher is also an operator, for PyTorch and JAX. It works in the host's memory, with a rim of zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from laserpath.base import checks
from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.compute.runtime import cpu_count, device
from laserpath.base.errors import InputError, one_line
from laserpath.operators.record import Operator
from laserpath.operators.volume import kernels

MOST_RAYS = 1 << 26
"""Pixels of all cameras together. More need more memory: 67 million take about 15 GB."""


@dataclass(frozen=True, slots=True, eq=False)
class Cameras:
    """N cameras with pictures of one size.

    position: (N, 3), in the unit of the volume's pitch.  rotation: (N, 3, 3), rows as in the module's
    docstring; need not be orthogonal.  focal: (N, 2) f_x, f_y, pixels.  principal: (N, 2) c_x, c_y, pixels.
    shape: (rows, columns).
    """

    position: Floats
    rotation: Floats
    focal: Floats
    principal: Floats
    shape: tuple[int, int]

    __repr__ = one_line

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", frozen_array(self.position, "cameras position", (None, 3)))
        if (n := len(self.position)) == 0:
            raise InputError("cameras has 0 cameras, but must have at least 1")
        shapes = {"rotation": (n, 3, 3), "focal": (n, 2), "principal": (n, 2)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"cameras {name}", shape))
        # Rows in one plane have no line of sight at all, or see a plane; zeros would give NaN.
        size = np.linalg.norm(self.rotation, axis=2).prod(axis=1)
        flat = ~(np.abs(np.linalg.det(self.rotation)) > _FLATTEST * size)
        if flat.any():
            at = int(np.flatnonzero(flat)[0])
            raise InputError(
                f"cameras rotation of camera {at} is {self.rotation[at].tolist()}, but its rows must be "
                "three directions that are not in one plane"
            )
        if not (self.focal > 0).all():
            raise InputError(f"cameras focal is {self.focal.min():g} pixels, but must be above 0")
        check_shape(self.shape)
        if (rays := n * int(self.shape[0]) * int(self.shape[1])) > MOST_RAYS:
            raise InputError(f"cameras have {rays} pixels in all, but must have at most {MOST_RAYS}")

    @classmethod
    def looking_at(
        cls, position: ArrayLike, target: ArrayLike, up: ArrayLike, focal: float, shape: tuple[int, int]
    ) -> Cameras:
        """One camera at `position` that sees `target` in the middle; `up` points upwards in the picture."""
        given = {"position": position, "target": target, "up": up}
        position, target, up = (frozen_array(one, f"camera {name}", (3,)) for name, one in given.items())
        forward = target - position
        if not np.linalg.norm(forward) > 0:
            raise InputError(f"camera position is {position}, which is its target, but must be another place")
        right = np.cross(forward, up)
        if not np.linalg.norm(right) > 1e-12 * np.linalg.norm(forward) * np.linalg.norm(up):
            raise InputError(f"camera up is {up}, along the line of sight {forward}, but must be across it")
        check_shape(shape)
        axes = np.stack([right, np.cross(forward, right), forward])
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        middle = (shape[1] - 1) / 2, (shape[0] - 1) / 2
        return cls(position[None], axes[None], np.full((1, 2), focal), np.array([middle]), shape)

    def __len__(self) -> int:
        return len(self.position)

    @property
    def rays(self) -> tuple[Floats, Floats]:
        """(origin, direction) of all pixels, (N·rows·columns, 3) each; directions have length 1."""
        plane = self._plane()
        e = np.einsum("nijk,nkc->nijc", plane, self.rotation)
        e /= np.linalg.norm(e, axis=-1, keepdims=True)
        origin = np.broadcast_to(self.position[:, None, None, :], e.shape)
        return np.ascontiguousarray(origin).reshape(-1, 3), e.reshape(-1, 3)

    def pull(self, d_origin: Floats, d_direction: Floats) -> CameraGradient:
        """∂L/∂(position, rotation, focal, principal) from ∂L/∂(origin, direction); shapes as of `rays`."""
        plane, shape = self._plane(), (len(self), *self.shape, 3)
        e = np.einsum("nijk,nkc->nijc", plane, self.rotation)
        length = np.linalg.norm(e, axis=-1, keepdims=True)
        d, g = e / length, d_direction.reshape(shape)
        d_e = (g - d * np.sum(g * d, axis=-1, keepdims=True)) / length
        # a = (j − c)/f: ∂a/∂c = −1/f, ∂a/∂f = −a/f.
        d_plane = np.einsum("nijc,nkc->nijk", d_e, self.rotation[:, :2])
        return CameraGradient(
            position=d_origin.reshape(shape).sum(axis=(1, 2)),
            rotation=np.einsum("nijk,nijc->nkc", plane, d_e),
            focal=-np.sum(d_plane * plane[..., :2], axis=(1, 2)) / self.focal,
            principal=-d_plane.sum(axis=(1, 2)) / self.focal,
        )

    def order(self, cameras: int) -> NDArray[np.int32]:
        """(cameras·rows·columns,) int32, the rays of so many cameras by tiles of 8 × 8, for `kernels`."""
        rows, columns = self.shape
        i, j = np.indices((rows, columns)).reshape(2, -1)
        within = np.lexsort((j, i, j // _TILE, i // _TILE)).astype(np.int32)
        return (np.arange(cameras, dtype=np.int32)[:, None] * (rows * columns) + within).reshape(-1)

    def _plane(self) -> Floats:
        """(a, b, 1) of each pixel, (N, rows, columns, 3)."""
        rows, columns = self.shape
        plane = np.ones((len(self), rows, columns, 3))
        plane[..., 0] = ((np.arange(columns) - self.principal[:, :1]) / self.focal[:, :1])[:, None, :]
        plane[..., 1] = ((np.arange(rows) - self.principal[:, 1:]) / self.focal[:, 1:])[:, :, None]
        return plane


def check_shape(shape: tuple[int, int]) -> None:
    """Raise InputError unless it can be that of a picture, (rows, columns)."""
    sizes = np.asarray(shape)
    if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise InputError(
            f"cameras shape is {shape}, but must be (rows, columns), whole numbers of at least 1"
        )


@dataclass(frozen=True, slots=True, eq=False)
class CameraGradient:
    """Derivatives of a scalar by the fields of `Cameras`, of the same shapes."""

    position: Floats
    rotation: Floats
    focal: Floats
    principal: Floats


_FLATTEST = 1e-12
"""Least |det R| of a rotation, in products of its rows' lengths. A smaller one lets rays of length 0 pass."""
_TILE = 8
"""Pixels. Larger tiles see more voxels than fit into a core's cache; smaller ones share fewer."""


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
    opacity: 'clamped' or 'exponential'.  box: two opposite corners, (x, y, z) each, the lower ones first;
    samples outside are left out; None: none are.
    """

    origin: Triple
    pitch: Triple
    step: float
    steps: int
    near: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    opacity: str = "exponential"
    box: tuple[Triple, Triple] | None = None

    def __post_init__(self) -> None:
        for name in ("origin", "pitch"):
            value = np.asarray(getattr(self, name))
            if value.shape != (3,) or value.dtype.kind not in "iuf" or not np.isfinite(value).all():
                raise InputError(f"march {name} is {getattr(self, name)}, but must be three finite numbers")
        checks.positive(self, "pitch", "step")
        checks.whole(self, "steps", "seed")
        checks.between(self, steps=(1, MOST_STEPS), near=(0, 1e9), jitter=(0, 1), seed=(0, 2**32 - 1))
        checks.one_of("march opacity", self.opacity, OPACITIES)
        if self.box is not None:
            corners = frozen_array(self.box, "march box", (2, 3))
            if not (corners[0] < corners[1]).all():
                raise InputError(
                    f"march box is {self.box}, but its first corner must be below the second in x, y and z"
                )

    def fixed(self) -> tuple[float, float, int, float, int]:
        """The numbers that the kernels take."""
        return float(self.near), float(self.step), int(self.steps), float(self.jitter), int(self.seed)

    def in_voxels(self, places: Floats) -> Floats:
        """Places (…, 3) in voxels, the centre of the first one of the rim at 0."""
        return (places - np.asarray(self.origin)) / np.asarray(self.pitch) + 1

    def bounds(self, shape: tuple[int, ...]) -> Floats:
        """(2, 3), from where to where samples of a volume of the shape (z, y, x, 4) count, in voxels."""
        rim = np.array([[0.0] * 3, [n + 1.0 for n in shape[2::-1]]])
        return rim if self.box is None else np.clip(self.in_voxels(np.asarray(self.box)), *rim)


@dataclass(frozen=True, slots=True, eq=False)
class _MarchInput:
    """What is marched. values: (z + 2, y + 2, x + 2, 4), the volume in a rim of zeros.

    start, along: (R, 3) origins and directions of the rays in voxels, the rim's first one at 0.
    bounds: (2, 3), of the samples that count.
    order: (R,) in which the rays are marched; neighbours one after the other are quicker.
    """

    values: Floats
    start: Floats
    along: Floats
    bounds: Floats
    order: Order

    def flat(self) -> tuple[Floats, int, int, Floats, Floats, Floats, Order]:
        """The kernels' first arguments: the volume, (voxels, 4), its sizes, the bounds, and the rays."""
        height, width = (n - 2 for n in self.values.shape[1:3])
        values = self.values.reshape(-1, 4)
        return values, width, height, self.bounds, self.start, self.along, self.order


@dataclass(frozen=True, slots=True, eq=False)
class Marched:
    """What marching all rays leaves for the gradient. picture: (N, rows, columns, 4), as of `render`.

    edge: (N, rows, columns, 4) the last sample: of the step that reached an opacity of 1, if any.
    end: (N, rows, columns) that step, or K.
    """

    picture: Floats
    edge: Floats
    end: Order

    def together(self) -> Floats:
        """(N, rows, columns, 9), the fields behind each other; steps are below 2^24, so f32 has them too."""
        return np.concatenate([self.picture, self.edge, self.end[..., None].astype(self.edge.dtype)], axis=-1)

    @classmethod
    def apart(cls, together: Floats) -> Marched:
        """The opposite of `together`."""
        picture, edge = map(np.ascontiguousarray, (together[..., :4], together[..., 4:8]))
        return cls(picture, edge, together[..., 8].astype(np.int32))

    def rays(self, chosen: slice) -> tuple[Floats, Order, Floats]:
        """Picture, end and edge of the rays (R, …) of some cameras, as the kernels take them."""
        picture, edge = (one[chosen].reshape(-1, 4) for one in (self.picture, self.edge))
        return picture, self.end[chosen].reshape(-1), edge


@dataclass(frozen=True, slots=True, eq=False)
class RenderGradient:
    """Derivatives of a scalar by the volume, of its shape, and the cameras. None: not wanted.

    picture: (N, rows, columns, 4), as of `RayMarcher.render`.
    """

    picture: Floats
    volume: Floats | None
    cameras: CameraGradient | None


class RayMarcher:
    """Pictures and gradients in one precision, 'f32' or 'f64', on the CPU."""

    def __init__(self, march: March, precision: str = "f32") -> None:
        checks.known_precision(precision)
        checks.on_cpu_only("volumes are marched", device())
        self.march, self.precision = march, precision
        self.real = np.float32 if precision == "f32" else np.float64

    def render(self, volume: ArrayLike, cameras: Cameras) -> Floats:
        """The pictures, (N, rows, columns, 4): red, green, blue, opacity.

        volume: (z, y, x, 4), or (B, z, y, x, 4), each for N/B of the cameras.
        """
        return self.marched(volume, cameras).picture

    def marched(self, volume: ArrayLike, cameras: Cameras) -> Marched:
        """The pictures, and what `gradient` needs in order not to render them again."""
        return self._marched(self._inputs(volume, cameras), cameras)

    def gradient(
        self, volume: ArrayLike, cameras: Cameras, d_picture: ArrayLike | Callable[[Floats], ArrayLike], *,
        by_volume: bool = True, by_cameras: bool = True, marched: Marched | None = None,
    ) -> RenderGradient:  # fmt: skip
        """∂L/∂(volume, cameras) from ∂L/∂pictures, (N, rows, columns, 4).

        d_picture: that derivative, or a function of the pictures that returns it, so that they are rendered
        once for the loss and its gradient.  marched: of the same volume and cameras; None: rendered here.
        """
        inputs = self._inputs(volume, cameras)
        marched = marched or self._marched(inputs, cameras)
        picture, expected = marched.picture, (len(cameras), *cameras.shape)
        if picture.shape[:3] != expected:
            raise InputError(
                f"marched has pictures of shape {picture.shape[:3]}, but the cameras' have {expected}"
            )
        slope = d_picture(picture.copy()) if callable(d_picture) else d_picture
        slope = checks.finite_array(slope, "d_picture", picture.shape, self.real)
        each = len(cameras) // len(inputs)
        shares = [slice(k * each, (k + 1) * each) for k in range(len(inputs))]
        found = [
            self._pulled(given, marched.rays(seen), slope[seen].reshape(-1, 4), by_volume, by_cameras)
            for given, seen in zip(inputs, shares, strict=True)
        ]
        values, starts, alongs = zip(*found, strict=True)
        return RenderGradient(
            picture,
            np.stack(values).reshape(np.shape(volume)) if by_volume else None,
            cameras.pull(np.concatenate(starts), np.concatenate(alongs)) if by_cameras else None,
        )

    def _pulled(
        self,
        given: _MarchInput,
        marched: tuple[Floats, Order, Floats],
        slope: Floats,
        by_volume: bool,
        by_cameras: bool,
    ) -> tuple[Floats, Floats, Floats]:
        """∂L/∂(volume, origins of the rays, their directions), of one volume."""
        slabs = min(cpu_count(), _SLABS) if by_volume else cpu_count()
        d_volume = np.zeros((slabs, *given.values.shape) if by_volume else (1, 1, 1, 1, 4), self.real)
        d_start, d_along = np.zeros_like(given.start), np.zeros_like(given.along)
        kernels.adjoint(self.precision, *self._kind(), by_volume, by_cameras)(
            *given.flat(), *self.march.fixed(), *marched, slope, slabs, d_volume.reshape(-1, 4), d_start,
            d_along,
        )  # fmt: skip
        pitch = np.asarray(self.march.pitch)
        return d_volume[:, 1:-1, 1:-1, 1:-1].sum(axis=0), d_start / pitch, d_along / pitch

    def _marched(self, inputs: list[_MarchInput], cameras: Cameras) -> Marched:
        rays = len(inputs[0].start)
        picture, edge = np.zeros((2, len(inputs), rays, 4), self.real)
        end = np.zeros((len(inputs), rays), np.int32)
        for number, given in enumerate(inputs):
            kernels.march(self.precision, *self._kind())(
                *given.flat(), *self.march.fixed(), picture[number], end[number], edge[number]
            )  # fmt: skip
        shape = len(cameras), *cameras.shape
        return Marched(picture.reshape(*shape, 4), edge.reshape(*shape, 4), end.reshape(shape))

    def _inputs(self, volume: ArrayLike, cameras: Cameras) -> list[_MarchInput]:
        """Each volume with the rays of its cameras."""
        volumes = self._volumes(volume)
        each, left = divmod(len(cameras), len(volumes))
        if left:
            raise InputError(
                f"volume has {len(volumes)} volumes for {len(cameras)} cameras, but each must have as many"
            )
        origin, direction = cameras.rays
        pitch = np.asarray(self.march.pitch)
        start, along = (
            one.reshape(len(volumes), -1, 3) for one in (self.march.in_voxels(origin), direction / pitch)
        )
        order, bounds = cameras.order(each), self.march.bounds(volumes.shape[1:])
        inputs = []
        for number, values in enumerate(volumes):
            rimmed = np.zeros((*(n + 2 for n in values.shape[:3]), 4), self.real)
            rimmed[1:-1, 1:-1, 1:-1] = values
            inputs.append(_MarchInput(rimmed, start[number], along[number], bounds, order))
        return inputs

    def _kind(self) -> tuple[bool, bool]:
        """Of the kernels: whether the opacity is clamped, and whether steps are jittered."""
        return self.march.opacity == "clamped", self.march.jitter > 0

    def _volumes(self, volume: ArrayLike) -> Floats:
        """(B, z, y, x, 4), checked; one volume is a batch of one."""
        checks.check_real("volume", given := np.asarray(volume))
        array: Floats = np.ascontiguousarray(given, dtype=self.real)
        if array.ndim not in (4, 5) or array.shape[-1] != 4 or array.size == 0:
            raise InputError(
                f"volume has shape {array.shape}, but must have (z, y, x, 4), or (volumes, z, y, x, 4), "
                "each at least 1"
            )
        rimmed = 4 * int(np.prod([n + 2 for n in array.shape[-4:-1]], dtype=object))
        if rimmed > MOST_VALUES:
            raise InputError(
                f"volume of shape {array.shape} has {rimmed} values with a rim of zeros around it, but must "
                f"have at most {MOST_VALUES}"
            )
        if not np.isfinite(array.sum()) and not np.isfinite(array).all():
            raise InputError(f"volume is not finite in {int((~np.isfinite(array)).sum())} values")
        if (least := float(array[..., 3].min())) < 0:
            raise InputError(f"volume has a density of {least:g}, but it must be at least 0")
        return array.reshape(-1, *array.shape[-4:])


NAME = "laserpath::volume"
FIELDS = ("position", "rotation", "focal", "principal")
"""Of `Cameras`."""


def marcher_operator(marcher: RayMarcher, shape: tuple[int, int]) -> Operator:
    """(volume (z, y, x, 4), position (N, 3), rotation (N, 3, 3), focal (N, 2), principal (N, 2)) → picture.

    The last four are the fields of `Cameras`, whose pictures have the shape (rows, columns); the output is
    that of `RayMarcher.render`, (N, rows, columns, 4), and the volume may be a batch as there. It is computed
    in the marcher's precision. PyTorch and JAX render once for value and gradient, and only the gradients
    that are asked for, by the volume or by the cameras, are computed. Raises InputError for a wrong shape.
    """
    check_shape(shape)
    rows, columns = map(int, shape)

    def picture(volume: Floats, *fields: Floats) -> tuple[Floats, Floats]:
        found = marcher.marched(volume, cameras(*fields))
        return found.picture, found.together()

    def adjoint(volume: Floats, *read: Floats, wanted: tuple[bool, ...]) -> tuple[Floats | None, ...]:
        *fields, rays, slope = read
        marched = Marched.apart(rays.astype(marcher.real, copy=False))
        by_cameras = any(wanted[1:])
        found = marcher.gradient(
            volume, cameras(*fields), slope, by_volume=wanted[0], by_cameras=by_cameras, marched=marched
        )
        return found.volume, *(getattr(found.cameras, name) if by_cameras else None for name in FIELDS)

    def cameras(position: Floats, rotation: Floats, focal: Floats, principal: Floats) -> Cameras:
        return Cameras(position, rotation, focal, principal, (rows, columns))

    return Operator(
        NAME,
        picture,
        adjoint,
        inputs=("volume", *FIELDS),
        # Wrong shapes are refused by `Cameras`, with a sentence: here they only must not fail.
        outputs={"picture": lambda volume, position, *_: (*position[:1], rows, columns, 4)},
        saved={"rays": lambda volume, position, *_: (*position[:1], rows, columns, 9)},
        on_host=True,
        selective=True,
    )

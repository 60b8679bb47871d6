# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels of the ray march, forward and adjoint; `marcher` has the equations.

Arrays: volume and d_volume (slabs ·) z, y, x, channel, flat, with the channels red, green, blue, density.
origin, along: (R, 3) float64, in voxels from the centre of voxel [0, 0, 0], x first; `along` is one unit of
length of the ray. order: (R,) the rays in the order in which they are marched: neighbours one after the
other, so that their voxels are in the cache.

- Positions are computed in float64 in both precisions: at voxel 100 a float32 leaves 1e-5 of a voxel.
- A corner outside the volume has the weight 0, and the index of a voxel inside.
- The adjoint marches front to back again: all that it needs of the samples behind is in the picture and in
  the two values `end` and `edge` of each ray.
- The adjoint adds to eight voxels a sample. Atomic additions of floats are loops on the CPU, so each thread
  has a slab: a gradient volume of its own; their sum is the gradient.
"""

from functools import cache
from types import SimpleNamespace

from laserpath.dose.runtime import CHUNK, POSITIONS, REAL, Kernel, ti

_INDICES = ti.types.ndarray(ti.i32, 1)
_FAR = 1e30
"""Length beyond all rays."""


@ti.func
def scrambled(x: ti.u32) -> ti.u32:
    """PCG's output function as a hash (Jarzynski and Olano, JCGT 9(3), 2020)."""
    state = x * ti.u32(747796405) + ti.u32(2891336453)
    word = ((state >> ((state >> ti.u32(28)) + ti.u32(4))) ^ state) * ti.u32(277803737)
    return (word >> ti.u32(22)) ^ word


@ti.func
def span(p, d, size, near: ti.f64, step: ti.f64, steps: ti.i32):
    """(first, last + 1) of the steps that may see the volume; a step too many at either end."""
    enter, leave = ti.cast(near, ti.f64), near + step * steps
    for c in ti.static(range(3)):
        if d[c] != 0:
            a, b = (-1 - p[c]) / d[c], (size[c] - p[c]) / d[c]
            enter, leave = ti.max(enter, ti.min(a, b)), ti.min(leave, ti.max(a, b))
        elif p[c] <= -1 or p[c] >= size[c]:
            leave = ti.cast(-_FAR, ti.f64)
    first, last = 0, 0
    if enter < leave:
        first = ti.max(0, ti.floor((enter - near) / step, ti.i32) - 1)
        last = ti.min(steps, ti.floor((leave - near) / step, ti.i32) + 2)
    return first, last


@cache
def sampling(precision: str) -> SimpleNamespace:
    """Taichi functions of one sample: its `corners`, and `blend` of two values each."""
    real = REAL[precision]
    vec2, vec3, vec4 = (ti.types.vector(n, real) for n in (2, 3, 4))
    ivec2 = ti.types.vector(2, ti.i32)

    @ti.func
    def axis(u: ti.f64, size: ti.i32, stride: ti.i32):
        """Offsets, weights, and derivatives of the weights by u, of the two voxels around u."""
        low = ti.floor(u, ti.i32)
        f = ti.cast(u - low, real)
        m0 = ti.cast(low >= 0 and low < size, real)
        m1 = ti.cast(low >= -1 and low < size - 1, real)
        at = ivec2(ti.min(ti.max(low, 0), size - 1), ti.min(ti.max(low + 1, 0), size - 1)) * stride
        return at, vec2((1 - f) * m0, f * m1), vec2(-m0, m1)

    @ti.func
    def voxel(volume: ti.template(), at: ti.i32) -> vec4:
        return vec4(volume[at], volume[at + 1], volume[at + 2], volume[at + 3])

    return SimpleNamespace(axis=axis, voxel=voxel, real=real, vec3=vec3, vec4=vec4)


@cache
def march(precision: str, clamped: bool) -> Kernel:
    """The forward kernel: picture (R, 4), end (R,) and edge (R, 3)."""
    use = sampling(precision)
    real, axis, voxel = use.real, use.axis, use.voxel
    values, rows = ti.types.ndarray(real, 1), ti.types.ndarray(real, 2)

    @ti.kernel
    def kernel(
        volume: values, width: ti.i32, height: ti.i32, depth: ti.i32, origin: POSITIONS, along: POSITIONS,
        order: _INDICES, near: ti.f64, step: ti.f64, steps: ti.i32, jitter: ti.f64, seed: ti.u32,
        picture: rows, end: _INDICES, edge: rows,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for m in range(order.shape[0]):
            ray = order[m]
            p = ti.Vector([origin[ray, 0], origin[ray, 1], origin[ray, 2]], ti.f64)
            d = ti.Vector([along[ray, 0], along[ray, 1], along[ray, 2]], ti.f64)
            first, last = span(p, d, ti.Vector([width, height, depth]), near, step, steps)
            key = scrambled(ti.cast(ray, ti.u32) + scrambled(seed))
            length = ti.cast(step, real)
            sum_ = use.vec4(0)  # colours, and in the end the opacity
            stop = steps
            for k in range(first, last):
                u = ti.cast(scrambled(key + ti.cast(k, ti.u32)), ti.f64) * 2.0**-32
                t = near + (k + 0.5 + jitter * (u - 0.5)) * step
                ax, wx, _x = axis(p[0] + t * d[0], width, 4)
                ay, wy, _y = axis(p[1] + t * d[1], height, 4 * width)
                az, wz, _z = axis(p[2] + t * d[2], depth, 4 * width * height)
                v = use.vec4(0)
                for i, j in ti.static(ti.ndrange(2, 2)):
                    row = az[i] + ay[j]
                    v += (wz[i] * wy[j]) * (
                        wx[0] * voxel(volume, row + ax[0]) + wx[1] * voxel(volume, row + ax[1])
                    )
                s = v[3] * length
                if ti.static(clamped):
                    if sum_[3] + s > 1:
                        w = 1 - sum_[3]
                        for c in ti.static(range(3)):
                            sum_[c] += w * v[c]
                            edge[ray, c] = v[c]
                        sum_[3] = 1
                        stop = k
                        break
                    for c in ti.static(range(3)):
                        sum_[c] += s * v[c]
                    sum_[3] += s
                else:
                    w = (1 - sum_[3]) * (1 - ti.exp(-s))
                    for c in ti.static(range(3)):
                        sum_[c] += w * v[c]
                    sum_[3] += w
            end[ray] = stop
            for c in ti.static(range(4)):
                picture[ray, c] = sum_[c]

    return Kernel(kernel)


@cache
def adjoint(precision: str, clamped: bool, by_volume: bool, by_rays: bool) -> Kernel:
    """The adjoint kernel: adds to d_volume, one gradient volume after the other for each of the slabs, and
    writes d_origin and d_along (R, 3).
    """
    use = sampling(precision)
    real, axis, voxel, vec3, vec4 = use.real, use.axis, use.voxel, use.vec3, use.vec4
    values, rows = ti.types.ndarray(real, 1), ti.types.ndarray(real, 2)

    @ti.kernel
    def kernel(
        volume: values, width: ti.i32, height: ti.i32, depth: ti.i32, origin: POSITIONS, along: POSITIONS,
        order: _INDICES, near: ti.f64, step: ti.f64, steps: ti.i32, jitter: ti.f64, seed: ti.u32,
        picture: rows, end: _INDICES, edge: rows, d_picture: rows, slabs: ti.i32, d_volume: values,
        d_origin: POSITIONS, d_along: POSITIONS,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for turn in range(slabs * CHUNK):
            slab = turn // CHUNK
            blocks = (order.shape[0] + CHUNK - 1) // CHUNK
            for block in range(blocks):
                if turn % CHUNK == 0 and block % slabs == slab:
                    for m in range(block * CHUNK, ti.min((block + 1) * CHUNK, order.shape[0])):
                        ray = order[m]
                        base = slab * (4 * width * height * depth)
                        p = ti.Vector([origin[ray, 0], origin[ray, 1], origin[ray, 2]], ti.f64)
                        d = ti.Vector([along[ray, 0], along[ray, 1], along[ray, 2]], ti.f64)
                        first, last = span(p, d, ti.Vector([width, height, depth]), near, step, steps)
                        key = scrambled(ti.cast(ray, ti.u32) + scrambled(seed))
                        length = ti.cast(step, real)
                        g = vec3(d_picture[ray, 0], d_picture[ray, 1], d_picture[ray, 2])
                        stop = end[ray]
                        # What more opacity, at any sample in front, does to all that is behind it.
                        behind = d_picture[ray, 3]
                        if ti.static(clamped):
                            if stop < steps:
                                behind = -(edge[ray, 0] * g[0] + edge[ray, 1] * g[1] + edge[ray, 2] * g[2])
                                last = stop + 1
                        else:
                            behind = picture[ray, 0] * g[0] + picture[ray, 1] * g[1] + picture[ray, 2] * g[2]
                        opacity, seen = ti.cast(0, real), ti.cast(0, real)
                        at_p, at_d = ti.Vector([0.0, 0.0, 0.0], ti.f64), ti.Vector([0.0, 0.0, 0.0], ti.f64)
                        for k in range(first, last):
                            u = ti.cast(scrambled(key + ti.cast(k, ti.u32)), ti.f64) * 2.0**-32
                            t = near + (k + 0.5 + jitter * (u - 0.5)) * step
                            ax, wx, sx = axis(p[0] + t * d[0], width, 4)
                            ay, wy, sy = axis(p[1] + t * d[1], height, 4 * width)
                            az, wz, sz = axis(p[2] + t * d[2], depth, 4 * width * height)
                            v, v_x, v_y, v_z = vec4(0), vec4(0), vec4(0), vec4(0)
                            for i, j in ti.static(ti.ndrange(2, 2)):
                                row = az[i] + ay[j]
                                v0, v1 = voxel(volume, row + ax[0]), voxel(volume, row + ax[1])
                                both = wx[0] * v0 + wx[1] * v1
                                v += (wz[i] * wy[j]) * both
                                if ti.static(by_rays):
                                    v_x += (wz[i] * wy[j]) * (sx[0] * v0 + sx[1] * v1)
                                    v_y += (wz[i] * sy[j]) * both
                                    v_z += (sz[i] * wy[j]) * both
                            s, q = v[3] * length, v[0] * g[0] + v[1] * g[1] + v[2] * g[2]
                            w, pull = s, behind + q
                            if ti.static(clamped):
                                if k == stop:
                                    w, pull = 1 - opacity, ti.cast(0, real)
                                opacity += s
                            else:
                                left = (1 - opacity) * ti.exp(-s)
                                w = 1 - opacity - left
                                seen += w * q
                                pull = left * q - (behind - seen) + d_picture[ray, 3] * (1 - picture[ray, 3])
                                opacity += w
                            h = vec4(w * g[0], w * g[1], w * g[2], pull * length)
                            if ti.static(by_volume):
                                for i, j, n in ti.static(ti.ndrange(2, 2, 2)):
                                    to, weight = base + az[i] + ay[j] + ax[n], wz[i] * wy[j] * wx[n]
                                    for c in ti.static(range(4)):
                                        # Not +=, which would be atomic: no other thread has this slab.
                                        d_volume[to + c] = d_volume[to + c] + weight * h[c]
                            if ti.static(by_rays):
                                slope = ti.Vector([h.dot(v_x), h.dot(v_y), h.dot(v_z)])
                                at_p += slope
                                at_d += t * slope
                        for c in ti.static(range(3)):
                            d_origin[ray, c], d_along[ray, c] = at_p[c], at_d[c]

    return Kernel(kernel)

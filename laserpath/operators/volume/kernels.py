# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels of the ray march, forward and adjoint; `marcher` has the equations.

Arrays: volume and d_volume, (voxels, 4), with the indices z, y, x; the channels are red, green, blue,
density. Around the volume is a rim of one voxel of zeros, so that no sample asks which of its corners is
outside; width and height are those without the rim. origin, along: (R, 3) float64, in voxels from the centre
of the first voxel of the rim, x first; `along` is one unit of length of the ray. bounds: (2, 3), in the same
voxels, from where to where samples count, without the end; at most the whole rim. order: (R,) the rays
in the order in which they are marched: neighbours one after the other, so that their voxels are in the cache.

- Positions are computed in float64 in both precisions: at voxel 100 a float32 leaves 1e-5 of a voxel.
- The adjoint marches front to back again: all that it needs of the samples behind is in the picture and in
  the two values `end` and `edge` of each ray.
- The four channels of a voxel are one vector. So that the compiler keeps them in one register, the sample `v`
  outlives the loop over the steps and is written to `edge` as a whole, and all four channels are treated
  alike. Otherwise it loads each channel by itself, which is slower.
- The adjoint adds to eight voxels a sample. Atomic additions of floats are loops on the CPU, so each thread
  has a slab: a gradient volume of its own; their sum is the gradient.
"""

from functools import cache
from types import SimpleNamespace

from laserpath.base.compute.runtime import CHUNK, POSITIONS, REAL, Kernel, ti

_INDICES = ti.types.ndarray(ti.i32, 1)


@ti.func
def scrambled(x: ti.u32) -> ti.u32:
    """PCG's output function as a hash (Jarzynski and Olano, JCGT 9(3), 2020)."""
    state = x * ti.u32(747796405) + ti.u32(2891336453)
    word = ((state >> ((state >> ti.u32(28)) + ti.u32(4))) ^ state) * ti.u32(277803737)
    return (word >> ti.u32(22)) ^ word


@ti.func
def span(p, d, low, high, near: ti.f64, step: ti.f64, steps: ti.i32):
    """(first, last + 1) of the steps that may be between the bounds; a step too many at either end."""
    enter, leave = ti.cast(near, ti.f64), near + step * steps
    for c in ti.static(range(3)):
        if d[c] != 0:
            a, b = (low[c] - p[c]) / d[c], (high[c] - p[c]) / d[c]
            enter, leave = ti.max(enter, ti.min(a, b)), ti.min(leave, ti.max(a, b))
        elif p[c] < low[c] or p[c] >= high[c]:
            leave = enter
    first, last = 0, 0
    if enter < leave:
        first = ti.max(0, ti.floor((enter - near) / step, ti.i32) - 1)
        last = ti.min(steps, ti.floor((leave - near) / step, ti.i32) + 2)
    return first, last


@ti.func
def within(u, low, high):
    """Whether a place in voxels is between the bounds; one far away has no index of 32 bits."""
    above = u[0] >= low[0] and u[1] >= low[1] and u[2] >= low[2]
    return above and u[0] < high[0] and u[1] < high[1] and u[2] < high[2]


@ti.func
def corner(bounds: ti.template(), row: ti.i32):
    """One of the bounds."""
    return ti.Vector([bounds[row, 0], bounds[row, 1], bounds[row, 2]], ti.f64)


@ti.func
def distance(
    k: ti.i32, near: ti.f64, step: ti.f64, jitter: ti.f64, key: ti.u32, jittered: ti.template()
) -> ti.f64:
    """t_k."""
    t = near + (k + 0.5) * step
    if ti.static(jittered):
        u = ti.cast(scrambled(key + ti.cast(k, ti.u32)), ti.f64) * 2.0**-32
        t += jitter * (u - 0.5) * step
    return t


@cache
def sampling(precision: str) -> SimpleNamespace:
    """Taichi functions of one sample, and the types of a precision."""
    real = REAL[precision]
    vec2, vec3, vec4 = (ti.types.vector(n, real) for n in (2, 3, 4))

    @ti.func
    def weights(u: ti.f64, low: ti.i32) -> vec2:
        f = ti.cast(u - low, real)
        return vec2(1 - f, f)

    return SimpleNamespace(
        weights=weights, real=real, vec3=vec3, vec4=vec4, fours=ti.types.ndarray(vec4, 1)
    )  # fmt: skip


@cache
def march(precision: str, clamped: bool, jittered: bool) -> Kernel:
    """The forward kernel: picture (R, 4), end (R,) and edge (R, 4), the last sample of each ray."""
    use = sampling(precision)
    real, weights, vec4, fours = use.real, use.weights, use.vec4, use.fours

    @ti.kernel
    def kernel(
        volume: fours, width: ti.i32, height: ti.i32, bounds: POSITIONS, origin: POSITIONS, along: POSITIONS,
        order: _INDICES, near: ti.f64, step: ti.f64, steps: ti.i32, jitter: ti.f64, seed: ti.u32,
        picture: fours, end: _INDICES, edge: fours,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for m in range(order.shape[0]):
            ray = order[m]
            p = ti.Vector([origin[ray, 0], origin[ray, 1], origin[ray, 2]], ti.f64)
            d = ti.Vector([along[ray, 0], along[ray, 1], along[ray, 2]], ti.f64)
            least, most = corner(bounds, 0), corner(bounds, 1)
            first, last = span(p, d, least, most, near, step, steps)
            key = scrambled(ti.cast(ray, ti.u32) + scrambled(seed))
            length, row = ti.cast(step, real), width + 2
            layer = row * (height + 2)
            sum_ = vec4(0)  # the colours, and the opacity
            v = vec4(0)  # the last sample
            stop = steps
            for k in range(first, last):
                t = distance(k, near, step, jitter, key, jittered)
                u = p + t * d
                low = ti.cast(u, ti.i32)
                if within(u, least, most):
                    wx, wy, wz = weights(u[0], low[0]), weights(u[1], low[1]), weights(u[2], low[2])
                    left, right = vec4(0), vec4(0)  # at the lower and the upper x
                    for i, j in ti.static(ti.ndrange(2, 2)):
                        at = (low[2] + i) * layer + (low[1] + j) * row + low[0]
                        left += (wz[i] * wy[j]) * volume[at]
                        right += (wz[i] * wy[j]) * volume[at + 1]
                    v = wx[0] * left + wx[1] * right
                    s = v[3] * length
                    w = s
                    if ti.static(clamped):
                        if sum_[3] + s > 1:
                            w = 1 - sum_[3]
                            stop = k
                    else:
                        w = (1 - sum_[3]) * (1 - ti.exp(-s))
                    sum_ += w * vec4(v[0], v[1], v[2], 1)
                    if stop < steps:
                        sum_[3] = 1
                        break
            end[ray], picture[ray], edge[ray] = stop, sum_, v

    return Kernel(kernel)


@cache
def adjoint(precision: str, clamped: bool, jittered: bool, by_volume: bool, by_rays: bool) -> Kernel:
    """The adjoint kernel: adds to d_volume, one gradient volume after the other for each of the slabs, and
    writes d_origin and d_along (R, 3). It writes `edge` again, as the forward kernel does.
    """
    use = sampling(precision)
    real, weights, vec3, vec4, fours = use.real, use.weights, use.vec3, use.vec4, use.fours

    @ti.func
    def pull(
        ray: ti.i32, base: ti.i32, volume: ti.template(), width: ti.i32, height: ti.i32,
        bounds: ti.template(), origin: ti.template(), along: ti.template(), near: ti.f64, step: ti.f64,
        steps: ti.i32, jitter: ti.f64, seed: ti.u32, picture: ti.template(), end: ti.template(),
        edge: ti.template(), d_picture: ti.template(), d_volume: ti.template(), d_origin: ti.template(),
        d_along: ti.template(),
    ):  # fmt: skip
        """One ray; base: where the slab begins."""
        p = ti.Vector([origin[ray, 0], origin[ray, 1], origin[ray, 2]], ti.f64)
        d = ti.Vector([along[ray, 0], along[ray, 1], along[ray, 2]], ti.f64)
        least, most = corner(bounds, 0), corner(bounds, 1)
        first, last = span(p, d, least, most, near, step, steps)
        key = scrambled(ti.cast(ray, ti.u32) + scrambled(seed))
        length, row = ti.cast(step, real), width + 2
        layer = row * (height + 2)
        by_picture, whole, cut, stop = d_picture[ray], picture[ray], edge[ray], end[ray]
        g, by_opacity = vec3(by_picture[0], by_picture[1], by_picture[2]), by_picture[3]
        # What the samples behind are worth, or what more opacity in front does to them.
        behind = by_opacity
        if ti.static(clamped):
            if stop < steps:
                behind = -(cut[0] * g[0] + cut[1] * g[1] + cut[2] * g[2])
                last = stop + 1
        else:
            behind = whole[0] * g[0] + whole[1] * g[1] + whole[2] * g[2]
        opacity, seen = ti.cast(0, real), ti.cast(0, real)
        v = vec4(0)
        at_p, at_d = ti.Vector([0.0, 0.0, 0.0], ti.f64), ti.Vector([0.0, 0.0, 0.0], ti.f64)
        for k in range(first, last):
            t = distance(k, near, step, jitter, key, jittered)
            u = p + t * d
            low = ti.cast(u, ti.i32)
            if within(u, least, most):
                wx, wy, wz = weights(u[0], low[0]), weights(u[1], low[1]), weights(u[2], low[2])
                left, right, v_y, v_z = vec4(0), vec4(0), vec4(0), vec4(0)
                for i, j in ti.static(ti.ndrange(2, 2)):
                    at = (low[2] + i) * layer + (low[1] + j) * row + low[0]
                    v0, v1 = volume[at], volume[at + 1]
                    left += (wz[i] * wy[j]) * v0
                    right += (wz[i] * wy[j]) * v1
                    if ti.static(by_rays):
                        both = wx[0] * v0 + wx[1] * v1
                        v_y += (wz[i] * (2 * j - 1)) * both
                        v_z += ((2 * i - 1) * wy[j]) * both
                v = wx[0] * left + wx[1] * right
                s, q = v[3] * length, v[0] * g[0] + v[1] * g[1] + v[2] * g[2]
                w, by_s = s, behind + q
                if ti.static(clamped):
                    if k == stop:
                        w, by_s = 1 - opacity, ti.cast(0, real)
                    opacity += s
                else:
                    through = (1 - opacity) * ti.exp(-s)
                    w = 1 - opacity - through
                    seen += w * q
                    by_s = through * q - (behind - seen) + by_opacity * (1 - whole[3])
                    opacity += w
                h = vec4(w * g[0], w * g[1], w * g[2], by_s * length)
                if ti.static(by_volume):
                    h0, h1 = wx[0] * h, wx[1] * h
                    for i, j in ti.static(ti.ndrange(2, 2)):
                        to = base + (low[2] + i) * layer + (low[1] + j) * row + low[0]
                        # Not +=, which would be atomic: no other thread has this slab.
                        d_volume[to] = d_volume[to] + (wz[i] * wy[j]) * h0
                        d_volume[to + 1] = d_volume[to + 1] + (wz[i] * wy[j]) * h1
                if ti.static(by_rays):
                    slope = ti.Vector([h.dot(right - left), h.dot(v_y), h.dot(v_z)])
                    at_p += slope
                    at_d += t * slope
        edge[ray] = v
        for c in ti.static(range(3)):
            d_origin[ray, c], d_along[ray, c] = at_p[c], at_d[c]

    @ti.kernel
    def kernel(
        volume: fours, width: ti.i32, height: ti.i32, bounds: POSITIONS, origin: POSITIONS, along: POSITIONS,
        order: _INDICES, near: ti.f64, step: ti.f64, steps: ti.i32, jitter: ti.f64, seed: ti.u32,
        picture: fours, end: _INDICES, edge: fours, d_picture: fours, slabs: ti.i32, d_volume: fours,
        d_origin: POSITIONS, d_along: POSITIONS,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for turn in range(slabs * CHUNK):
            slab, rays = turn // CHUNK, order.shape[0]
            if turn % CHUNK == 0:
                base = slab * volume.shape[0]
                # Blocks of rays in turns, so that each slab gets as many that hit the volume.
                for m in range(((rays + CHUNK * slabs - 1) // (CHUNK * slabs)) * CHUNK):
                    at = (m // CHUNK * slabs + slab) * CHUNK + m % CHUNK
                    if at < rays:
                        pull(
                            order[at], base, volume, width, height, bounds, origin, along, near, step, steps,
                            jitter, seed, picture, end, edge, d_picture, d_volume, d_origin, d_along,
                        )  # fmt: skip

    return Kernel(kernel)

# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Taichi kernels of the painter, forward and adjoint; `painter` has the equations.

Arrays: points (N, 4) or (N, 6), width (N,), alpha (N,) and colour (N, C), float64; picture and background
(rows, columns, C) in the precision of the painter. The picture is cut into tiles of TILE × TILE pixels, row
by row. Tile k has the strokes listed[first[k]] … listed[first[k + 1] − 1], in painter's order.

- Coverage is computed in float64 in both precisions: at pixel 500 a float32 leaves 3e-5 of a pixel, which
  puts pixels on the other side of the coverage's kinks.
- A tile's strokes are taken one after the other, each over the pixels that it may reach. So what belongs to
  a stroke is in registers, and what belongs to a tile's pixels is in the innermost cache.
- The adjoint writes one row of `parts` for each entry of the lists; `painter` adds up the rows of a stroke.
  So there are no atomics, and the result is the same for any number of threads.
- Taichi gives at least CHUNK iterations of an outer loop to one thread, so every CHUNK-th one is a slab: each
  `slabs`-th tile.
"""

from functools import cache

from laserpath.compute.runtime import CHUNK, POSITIONS, REAL, REALS, Kernel, ti
from laserpath.strokes.capsule import band, columns, coverage, outline, reach

TILE = 16
"""Pixels. Smaller tiles follow the strokes more closely, and larger ones have shorter lists."""

_DARK = 1e-30
"""Transmittance below which what is beneath has no gradient; float32 holds down to 1e-38."""

_INDICES = ti.types.ndarray(ti.i32, 1)


@cache
def lists(curved: bool, filling: bool) -> Kernel:
    """The kernel that counts each tile's strokes, or writes them into `listed` from first[tile] on."""

    @ti.kernel
    def kernel(
        points: POSITIONS, width: REALS, rows: ti.i32, wide: ti.i32, slabs: ti.i32, first: _INDICES,
        count: _INDICES, listed: _INDICES,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for turn in range(slabs * CHUNK):
            down, across = (rows + TILE - 1) // TILE, (wide + TILE - 1) // TILE
            row = turn // CHUNK
            while turn % CHUNK == 0 and row < down:
                for k in range(points.shape[0]):
                    o = outline(points, k, curved)
                    within = band(o, width[k], curved)
                    if within[2] <= (row + 1) * TILE and within[3] >= row * TILE - 1:
                        low = ti.cast(ti.max(0.0, ti.floor(within[0] / TILE)), ti.i32)
                        high = ti.cast(ti.min(across - 1.0, ti.floor(within[1] / TILE)), ti.i32)
                        for tile in range(low, high + 1):
                            middle = 0.5 * (TILE - 1)
                            near = reach(o, tile * TILE + middle, row * TILE + middle, curved)
                            most = 0.5 * width[k] + 0.5 + 1.41422 * middle
                            if near[1] * near[1] + near[2] * near[2] <= most * most:
                                at = row * across + tile
                                if ti.static(filling):
                                    listed[first[at] + count[at]] = k
                                count[at] = count[at] + 1
                row += slabs

    return Kernel(kernel)


@cache
def paint(precision: str, adding: bool, curved: bool, channels: int) -> Kernel:
    """The forward kernel: paints over the picture."""
    real = REAL[precision]
    pixels = ti.types.ndarray(real, 3)

    @ti.kernel
    def kernel(
        points: POSITIONS, width: REALS, alpha: REALS, colour: POSITIONS, first: _INDICES, listed: _INDICES,
        slabs: ti.i32, picture: pixels,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for turn in range(slabs * CHUNK):
            across = (picture.shape[1] + TILE - 1) // TILE
            tile = turn // CHUNK
            while turn % CHUNK == 0 and tile < first.shape[0] - 1:
                top, left = tile // across * TILE, tile % across * TILE
                bottom, right = ti.min(top + TILE, picture.shape[0]), ti.min(left + TILE, picture.shape[1])
                for m in range(first[tile], first[tile + 1]):
                    k = listed[m]
                    o, w, a = outline(points, k, curved), width[k], alpha[k]
                    within = band(o, w, curved)
                    ink = ti.Vector([0.0] * channels, real)
                    for c in ti.static(range(channels)):
                        ink[c] = ti.cast(colour[k, c], real)
                    for i in range(top, bottom):
                        ends = columns(o, within, i, left, right)
                        for j in range(ends[0], ends[1]):
                            share = a * ti.max(coverage(o, j, i, w, curved)[0], 0.0)
                            mine, through = ti.cast(share, real), ti.cast(1 - share, real)
                            if ti.static(adding):
                                through = ti.cast(1, real)
                            for c in ti.static(range(channels)):
                                picture[i, j, c] = through * picture[i, j, c] + mine * ink[c]
                tile += slabs

    return Kernel(kernel)


@cache
def adjoint(precision: str, adding: bool, curved: bool, channels: int) -> Kernel:
    """The adjoint kernel: writes parts (M, 2 P + 2 + C), for each entry of the lists the derivatives by the
    points, the width, alpha and the colour.

    passed, worth, closed: (slabs, TILE²), of the pixels of the tile at hand: T_k, g·C_k, and the entry of the
    stroke that hides what is beneath it, or −1.
    """
    real, ends = REAL[precision], 3 if curved else 2
    pixels, rows, marks = ti.types.ndarray(real, 3), ti.types.ndarray(real, 2), ti.types.ndarray(ti.i32, 2)
    of_alpha = 2 * ends + 1

    @ti.func
    def begin(
        slab: ti.i32, top: ti.i32, bottom: ti.i32, left: ti.i32, right: ti.i32, background: ti.template(),
        d_picture: ti.template(), passed: ti.template(), worth: ti.template(), closed: ti.template(),
    ):  # fmt: skip
        for i in range(top, bottom):
            for j in range(left, right):
                total, here = ti.cast(0, real), (i - top) * TILE + j - left
                for c in ti.static(range(channels)):
                    total += d_picture[i, j, c] * background[i, j, c]
                worth[slab, here], passed[slab, here], closed[slab, here] = total, ti.cast(1, real), -1

    @ti.func
    def downwards(
        slab: ti.i32, m: ti.i32, k: ti.i32, top: ti.i32, bottom: ti.i32, left: ti.i32, right: ti.i32,
        points: ti.template(), width: ti.template(), alpha: ti.template(), passed: ti.template(),
        closed: ti.template(),
    ):  # fmt: skip
        """The light that passes stroke k too, unless it hides what is beneath."""
        o, w, a = outline(points, k, curved), width[k], alpha[k]
        within = band(o, w, curved)
        for i in range(top, bottom):
            ends_ = columns(o, within, i, left, right)
            for j in range(ends_[0], ends_[1]):
                here = (i - top) * TILE + j - left
                through = ti.cast(1 - a * ti.max(coverage(o, j, i, w, curved)[0], 0.0), real)
                if closed[slab, here] < 0:
                    then = passed[slab, here] * through
                    if then > _DARK:
                        passed[slab, here] = then
                    else:
                        closed[slab, here] = m

    @ti.func
    def upwards(
        slab: ti.i32, m: ti.i32, k: ti.i32, top: ti.i32, bottom: ti.i32, left: ti.i32, right: ti.i32,
        points: ti.template(), width: ti.template(), alpha: ti.template(), colour: ti.template(),
        d_picture: ti.template(), passed: ti.template(), worth: ti.template(), closed: ti.template(),
        parts: ti.template(),
    ):  # fmt: skip
        """The derivatives of stroke k, and what the pixels are worth with it."""
        o, w, a = outline(points, k, curved), width[k], alpha[k]
        within = band(o, w, curved)
        ink, by_ink = ti.Vector([0.0] * channels, real), ti.Vector([0.0] * channels, real)
        sums = ti.Vector([0.0] * (of_alpha + 1), ti.f64)
        for c in ti.static(range(channels)):
            ink[c] = ti.cast(colour[k, c], real)
        for i in range(top, bottom):
            ends_ = columns(o, within, i, left, right)
            for j in range(ends_[0], ends_[1]):
                here = (i - top) * TILE + j - left
                cover = coverage(o, j, i, w, curved)
                if cover[0] >= 0:
                    mine, share = ti.cast(0, real), ti.cast(a * cover[0], real)
                    for c in ti.static(range(channels)):
                        mine += d_picture[i, j, c] * ink[c]
                    change, light = mine, ti.cast(1, real)
                    if ti.static(not adding):
                        through, hides = ti.cast(1 - a * cover[0], real), closed[slab, here]
                        light = passed[slab, here]
                        if m > hides:
                            light /= through
                            passed[slab, here] = light
                        elif m < hides:
                            light = ti.cast(0, real)
                        change = light * (mine - worth[slab, here])
                        worth[slab, here] = through * worth[slab, here] + share * mine
                    for c in ti.static(range(channels)):
                        by_ink[c] += light * share * d_picture[i, j, c]
                    sums[of_alpha] += cover[0] * change
                    if cover[1] > 0:
                        by_cover, s, t = a * change, 1 - cover[4], cover[4]
                        weights = ti.Vector([s * s, 2 * s * t, t * t] if curved else [s, t], ti.f64)
                        for n, x in ti.static(ti.ndrange(ends, 2)):
                            sums[2 * n + x] += by_cover * weights[n] * cover[2 + x]
                        sums[of_alpha - 1] += 0.5 * by_cover
        for n in ti.static(range(of_alpha + 1)):
            parts[m, n] = sums[n]
        for c in ti.static(range(channels)):
            parts[m, of_alpha + 1 + c] = by_ink[c]

    @ti.kernel
    def kernel(
        points: POSITIONS, width: REALS, alpha: REALS, colour: POSITIONS, first: _INDICES, listed: _INDICES,
        slabs: ti.i32, background: pixels, d_picture: pixels, passed: rows, worth: rows, closed: marks,
        parts: POSITIONS,
    ):  # fmt: skip
        ti.loop_config(block_dim=CHUNK)
        for turn in range(slabs * CHUNK):
            across = (d_picture.shape[1] + TILE - 1) // TILE
            slab = turn // CHUNK
            tile = slab
            while turn % CHUNK == 0 and tile < first.shape[0] - 1:
                top, left = tile // across * TILE, tile % across * TILE
                bottom, right = (
                    ti.min(top + TILE, d_picture.shape[0]),
                    ti.min(left + TILE, d_picture.shape[1]),
                )
                low, high = first[tile], first[tile + 1]
                if ti.static(not adding):
                    if low < high:
                        begin(slab, top, bottom, left, right, background, d_picture, passed, worth, closed)
                    for n in range(high - low):
                        m = high - 1 - n
                        downwards(
                            slab, m, listed[m], top, bottom, left, right, points, width, alpha, passed, closed
                        )  # fmt: skip
                for m in range(low, high):
                    upwards(
                        slab, m, listed[m], top, bottom, left, right, points, width, alpha, colour, d_picture,
                        passed, worth, closed, parts,
                    )  # fmt: skip
                tile += slabs

    return Kernel(kernel)

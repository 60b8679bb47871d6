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

Coverage of a pixel by a stroke, and its derivatives, are Taichi functions of scalars, in float64:

    coverage = clamp(r, 0, 1),   r = ½ + width/2 − |p − q|,   q = Σ_i w_i(t) P_i the stroke's point nearest p

    line        P = a, b             w = 1 − t, t
    quadratic   P = a, control, b    w = (1 − t)², 2 t (1 − t), t²

t minimises the distance, or is at an end, so the derivative of the distance by P_i is the one at a fixed t
(the envelope theorem): with u = (p − q)/|p − q| and 0 ≤ r ≤ 1,

    ∂coverage/∂P_i = w_i u,   ∂coverage/∂width = ½

and all are 0 for r outside 0..1. r = 0 and r = 1 count as inside, as in PyTorch's `clamp`; on the stroke's
axis u = 0, the mean of both sides. If all points of a stroke are one, t = ½, and a shift of all points has
its derivative. Of a line a change of one end then has the mean of the derivatives to either side, ½ of the
shift's. Of a quadratic it has not: the weights are ¼, ½, ¼, while the means of both sides are ½, ¼, ½, which
add up to more than the shift's. Where two places of a curve are equally near, the derivative is that of one.

All lengths are in pixels; the centre of the pixel in row i and column j is x = j, y = i.
"""

from functools import cache

from laserpath.base.compute.runtime import CHUNK, POSITIONS, REAL, REALS, Kernel, ti

# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)


_POINT = 1e-200
"""Square of a length, in pixels, below which a line is a point: 1/e² would overflow."""
_STEEP, _MARGIN = 1e-2, 1e-6
"""Least |e_y/e_x| of a line whose rows are narrowed, and pixels that its ends in a row may be wrong by."""
_STEPS = 60
"""Most steps of Newton's method; halving the interval instead, 53 are enough."""


@ti.func
def on_line(wx: ti.f64, wy: ti.f64, ex: ti.f64, ey: ti.f64, inverse: ti.f64) -> ti.f64:
    """The t of the point of the line a + t e nearest p, w = p − a. inverse: 1/e², or 0 where a is b."""
    t = ti.cast(0.5, ti.f64)
    if inverse > 0:
        t = ti.min(ti.max((wx * ex + wy * ey) * inverse, 0.0), 1.0)
    return t


@ti.func
def _rising(c0: ti.f64, c1: ti.f64, c2: ti.f64, c3: ti.f64, low: ti.f64, high: ti.f64) -> ti.f64:
    """Where a cubic that rises from low to high is 0; the end next to it if it is 0 nowhere between."""
    t, below, above = low, low, high
    if ((c3 * low + c2) * low + c1) * low + c0 < 0:
        t = high
        if ((c3 * high + c2) * high + c1) * high + c0 > 0:
            t = 0.5 * (low + high)
            for _ in range(_STEPS):
                value = ((c3 * t + c2) * t + c1) * t + c0
                slope = (3 * c3 * t + 2 * c2) * t + c1
                if value < 0:
                    below = t
                else:
                    above = t
                then = 0.5 * (below + above)
                if slope > 0:
                    newton = t - value / slope
                    if below <= newton <= above:
                        then = newton
                moved = ti.abs(then - t)
                t = then
                if moved <= 1e-15:
                    break
    return t


@ti.func
def on_quadratic(wx: ti.f64, wy: ti.f64, ex: ti.f64, ey: ti.f64, fx: ti.f64, fy: ti.f64) -> ti.f64:
    """The t of the point of the curve a + 2 t e + t² f nearest p, w = p − a.

    Half the derivative of the squared distance is a cubic in t whose first coefficient is not negative: it
    rises up to its first extremum and from its second on, and the distance has its minima there. Bracketed,
    each is found also where the curve is a line, or a point, and Cardano's formula divides by 0.
    """
    c0, c1 = -(wx * ex + wy * ey), 2 * (ex * ex + ey * ey) - (wx * fx + wy * fy)
    c2, c3 = 3 * (ex * fx + ey * fy), fx * fx + fy * fy
    root = c2 * c2 - 3 * c3 * c1
    t, first, second = ti.cast(0.5, ti.f64), ti.cast(1, ti.f64), ti.cast(1, ti.f64)
    if c3 > 0 and root > 0:
        s = -c2 - ti.sqrt(root)
        if c2 < 0:
            s = -c2 + ti.sqrt(root)
        one, other = s / (3 * c3), c1 / s
        first = ti.min(ti.max(ti.min(one, other), 0.0), 1.0)
        second = ti.min(ti.max(ti.max(one, other), 0.0), 1.0)
    if c3 > 0 or ex * ex + ey * ey > 0:
        least = ti.cast(1e300, ti.f64)
        for part in range(2):
            low, high = ti.cast(0, ti.f64), first
            if part == 1:
                low, high = second, ti.cast(1, ti.f64)
            if part == 0 or first < 1:
                here = _rising(c0, c1, c2, c3, low, high)
                x, y = wx - here * (2 * ex + here * fx), wy - here * (2 * ey + here * fy)
                if x * x + y * y < least:
                    t, least = here, x * x + y * y
    return t


@ti.func
def outline(points: ti.template(), k: ti.i32, curved: ti.template()):
    """What `reach` takes of stroke k. points: (N, 4) a, b or (N, 6) a, control, b.

    A line: a, e = b − a, 1/e². A quadratic: a, e = control − a, f = a − 2 control + b.
    """
    found = ti.Vector([0.0] * (6 if curved else 5), ti.f64)
    ax, ay = points[k, 0], points[k, 1]
    ex, ey = points[k, 2] - ax, points[k, 3] - ay
    found[0], found[1], found[2], found[3] = ax, ay, ex, ey
    if ti.static(curved):
        found[4], found[5] = points[k, 4] - ax - 2 * ex, points[k, 5] - ay - 2 * ey
    elif ex * ex + ey * ey > _POINT:
        found[4] = 1 / (ex * ex + ey * ey)
    return found


@ti.func
def reach(o: ti.template(), px: ti.f64, py: ti.f64, curved: ti.template()):
    """(t, x, y of p − q) of the stroke with `outline` o."""
    t, x, y = ti.cast(0, ti.f64), px - o[0], py - o[1]
    if ti.static(curved):
        t = on_quadratic(x, y, o[2], o[3], o[4], o[5])
        x -= t * (2 * o[2] + t * o[4])
        y -= t * (2 * o[3] + t * o[5])
    else:
        t = on_line(x, y, o[2], o[3], o[4])
        x -= t * o[2]
        y -= t * o[3]
    return ti.Vector([t, x, y], ti.f64)


@ti.func
def _chord(wx: ti.f64, wy: ti.f64, ex: ti.f64, ey: ti.f64) -> ti.f64:
    """Squared distance of w from the line from 0 to e."""
    square, inverse = ex * ex + ey * ey, ti.cast(0, ti.f64)
    if square > _POINT:
        inverse = 1 / square
    t = on_line(wx, wy, ex, ey, inverse)
    x, y = wx - t * ex, wy - t * ey
    return x * x + y * y


@ti.func
def beyond_rim(o: ti.template(), px: ti.f64, py: ti.f64, width: ti.f64) -> ti.i32:
    """1 where a quadratic surely covers the whole pixel, −1 where surely nothing of it, else 0.

    A half of the curve is at most |f|/16 away from its chord, so that most pixels need no nearest place.
    """
    wx, wy, found = px - o[0], py - o[1], 0
    mx, my = o[2] + 0.25 * o[4], o[3] + 0.25 * o[5]
    square = ti.min(
        _chord(wx, wy, mx, my), _chord(wx - mx, wy - my, 2 * o[2] + o[4] - mx, 2 * o[3] + o[5] - my)
    )
    slack = ti.sqrt(o[4] * o[4] + o[5] * o[5]) / 16 + _MARGIN
    outer, inner = 0.5 * width + 0.5 + slack, 0.5 * width - 0.5 - slack
    if square > outer * outer:
        found = -1
    elif inner > 0 and square < inner * inner:
        found = 1
    return found


@ti.func
def coverage(o: ti.template(), px: ti.f64, py: ti.f64, width: ti.f64, curved: ti.template()):
    """(coverage, ∂/∂r, u_x, u_y, t) of a pixel; a coverage of −1 stands for 0 with r < 0."""
    found, known = ti.Vector([-1.0, 0.0, 0.0, 0.0, 0.0], ti.f64), 0
    if ti.static(curved):
        known = beyond_rim(o, px, py, width)
    if known == 0:
        at = reach(o, px, py, curved)
        here = covered(at[1], at[2], width)
        found = ti.Vector([here[0], here[1], here[2], here[3], at[0]], ti.f64)
    elif known > 0:
        found[0] = 1.0
    return found


@ti.func
def covered(x: ti.f64, y: ti.f64, width: ti.f64):
    """(coverage, ∂/∂r, u_x, u_y) from p − q; a coverage of −1 stands for 0 with r < 0."""
    square, inner, outer = x * x + y * y, 0.5 * width - 0.5, 0.5 * width + 0.5
    found = ti.Vector([-1.0, 0.0, 0.0, 0.0], ti.f64)
    if square <= outer * outer:
        found[0] = 1.0
        if inner <= 0 or square >= inner * inner:
            distance = ti.sqrt(square)
            found[0], found[1] = ti.min(ti.max(outer - distance, 0.0), 1.0), 1.0
            if distance > 0:
                found[2], found[3] = x / distance, y / distance
    return found


@ti.func
def band(o: ti.template(), width: ti.f64, curved: ti.template()):
    """Where a stroke can be: lowest and highest x and y, and of a steep line (slope, half): in the row y it
    is between a_x + (y − a_y) slope ± half.
    """
    outer = 0.5 * width + 0.5
    bx, by = o[0] + o[2], o[1] + o[3]
    x0, x1, y0, y1 = ti.min(o[0], bx), ti.max(o[0], bx), ti.min(o[1], by), ti.max(o[1], by)
    slope, half = ti.cast(0, ti.f64), ti.cast(1e9, ti.f64)
    if ti.static(curved):
        bx, by = o[0] + 2 * o[2] + o[4], o[1] + 2 * o[3] + o[5]
        x0, x1, y0, y1 = ti.min(x0, bx), ti.max(x1, bx), ti.min(y0, by), ti.max(y1, by)
    elif ti.abs(o[3]) > _STEEP * ti.abs(o[2]):
        slope, half = o[2] / o[3], outer * ti.sqrt(1 + (o[2] / o[3]) ** 2)
    return ti.Vector([x0 - outer, x1 + outer, y0 - outer, y1 + outer, slope, half], ti.f64)


@ti.func
def columns(o: ti.template(), within: ti.template(), i: ti.i32, left: ti.i32, right: ti.i32):
    """(first, last + 1) of the columns, from left to right − 1, that a stroke may cover in row i."""
    middle = o[0] + (i - o[1]) * within[4]
    low = ti.max(within[0], middle - within[5]) - _MARGIN
    high = ti.min(within[1], middle + within[5]) + _MARGIN
    if i < within[2] - _MARGIN or i > within[3] + _MARGIN:
        high = low - 1
    begin = ti.cast(ti.ceil(ti.min(ti.max(low, left * 1.0), right * 1.0)), ti.i32)
    end = ti.cast(ti.floor(ti.min(ti.max(high, left - 1.0), right - 1.0)), ti.i32) + 1
    return ti.Vector([begin, end])


# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)


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

# (no `from __future__ import annotations` here: Taichi reads the annotations at run time)
"""Coverage of a pixel by a stroke, and its derivatives: Taichi functions of scalars, in float64.

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

from laserpath.compute.runtime import ti

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

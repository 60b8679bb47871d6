"""The spot's blur and the resist's contrast, from an image of a print and the commanded pattern.

The pose of one image on another, shift, rotation and scale, comes from their spectra. Phase correlation
(Kuglin, Hines 1975): with A, B the transforms of two images, the inverse transform of A B*/(|A B*| + ε) has
its peak at the shift of A against B; a negative peak if A is B's negative. A parabola through the peak and
its neighbours gives it to a fraction of a pixel. Rotation and scale (Reddy, Chatterji, IEEE Trans. Image
Process. 5 (1996) 1266): the spectrum's magnitude does not change with the shift; on the axes (angle, log
radius) rotation and scale are shifts. These are starting values; the fit refines them.

    x_commanded = c_commanded + R(−φ) (x_printed − c_printed − shift)/scale

x = (row, column) in each image's pixels, c the images' centres; φ > 0 turns from +row to +column,
counterclockwise in the image, since rows point down.

The model of the image:

    I(x) = a + b σ(D(T x)),      D = G(s) ∗ m,      σ(D) = 1/(1 + exp(−β (D/D_c − 1)))

I: the image, in any unit.  m: commanded dose, 1 where fully exposed.  G(s): Gaussian of rms width s, ∫ = 1;
FWHM = 2 √(2 ln 2) s.  σ: development, with the contrast β and the critical dose D_c (on m's scale) of
`resin`.  T: the pose.  b < 0 if exposed places are darker.

Fit. Phase correlation gives the pose to a pixel. Least squares over the pixels then find ln s,
ln β, ln D_c, shift, turn and ln scale together, by scipy's trust-region method; a and b in closed form each
time. m is read between its pixels as a cubic spline, which is blurred as a whole; beyond its border it is
mirrored, and pixels there do not count.

Intervals. Neighbouring pixels err together, so the image is cut into 8 × 8 tiles, and those count as
independent: covariance (JᵀJ)⁻¹ (Σ_k J_kᵀ r_k r_kᵀ J_k) (JᵀJ)⁻¹ (Liang & Zeger 1986), Student's t with 63
degrees of freedom, 95 %.

Limits: the blur of a microscope widens edges as a low contrast does; and without features near the spot's
size (gaps, tips, corners) blur and contrast make the same edges. The intervals grow then.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.fft import dctn, fft2, fftshift, idctn, ifft2
from scipy.ndimage import gaussian_filter, map_coordinates, spline_filter, zoom
from scipy.optimize import OptimizeResult, least_squares
from scipy.special import expit
from scipy.stats import t as student

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.errors import InputError
from laserpath.calibration.estimates import CONFIDENCE, Estimate
from laserpath.calibration.heights import transfer
from laserpath.physics.resin import gamma_of

ANGLES = 360
RADII = 180
LARGEST_TURN = np.radians(20.0)
LARGEST_SCALE = 1.25
"""Limits of rotation and scale, as prints are placed by hand. Larger ones admit false matches, since the
spectrum repeats after 180°."""


@dataclass(frozen=True, slots=True)
class Pose:
    """The module's equation. shift: (row, column) pixels of the printed image.  turn: φ, rad.

    scale: pixels of the printed image per pixel of the commanded one.
    """

    shift: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0
    scale: float = 1.0

    def commanded(self, printed: Floats, of: tuple[int, int], onto: tuple[int, int]) -> Floats:
        """x_commanded (2, N) of x_printed (2, N). of, onto: shapes of the printed, the commanded image."""
        about = printed - _centre(of) - np.array(self.shift)[:, None]
        cos, sin = np.cos(self.turn), np.sin(self.turn)
        return _centre(onto) + np.array([[cos, sin], [-sin, cos]]) @ about / self.scale

    def printed(self, commanded: Floats, of: tuple[int, int], onto: tuple[int, int]) -> Floats:
        """x_printed (2, N) of x_commanded (2, N): the inverse of `commanded`."""
        about = (commanded - _centre(onto)) * self.scale
        cos, sin = np.cos(self.turn), np.sin(self.turn)
        return _centre(of) + np.array([[cos, -sin], [sin, cos]]) @ about + np.array(self.shift)[:, None]


def _centre(shape: tuple[int, int]) -> Floats:
    return (np.array(shape, dtype=float)[:, None] - 1) / 2


def pose_of(printed: Floats, commanded: Floats, ratio: float = 1.0, *, turned: bool) -> Pose:
    """The pose of the printed image (H, W) on the commanded one (h, w), to about a pixel.

    ratio: size of the commanded image's pixels in those of the printed one.  turned: also try a rotation and
    a scale, and take them if they correlate better.
    """
    if ratio != 1:
        pose = pose_of(shrunk(printed, ratio), commanded, turned=turned)
        return Pose((ratio * pose.shift[0], ratio * pose.shift[1]), pose.turn, ratio * pose.scale)
    guesses = [Pose()]
    if turned:
        turn, scale = _turn_and_scale(*_alike(printed, commanded))
        if abs(turn) < LARGEST_TURN and abs(np.log(scale)) < np.log(LARGEST_SCALE):
            guesses.append(Pose(turn=turn, scale=scale))
    poses = [_shifted(printed, commanded, guess) for guess in guesses]
    return max(poses, key=lambda pose: likeness(printed, commanded, pose))


def shrunk(image: Floats, times: float) -> Floats:
    """The image with pixels so many times as large."""
    smooth = gaussian_filter(image, 0.4 * max(times - 1, 0))
    return np.asarray(zoom(smooth, 1 / times, order=1, mode="nearest", grid_mode=True))


def likeness(printed: Floats, commanded: Floats, pose: Pose) -> float:
    """|correlation| of the slightly blurred images where they overlap, 0 … 1."""
    laid, seen = _resampled(gaussian_filter(commanded, 1.0), printed.shape, pose)
    print_seen = gaussian_filter(printed, 1.0)[seen]
    if seen.sum() < 16 or np.ptp(print_seen) == 0 or np.ptp(laid[seen]) == 0:
        return 0.0
    return abs(float(np.corrcoef(laid[seen], print_seen)[0, 1]))


def phase_correlation(one: Floats, other: Floats) -> tuple[float, float]:
    """Shift (rows, columns) of `one` against `other`, both (H, W), to a fraction of a pixel."""
    cross = fft2(_windowed(one)) * np.conj(fft2(_windowed(other)))
    size = np.abs(cross)
    peak = np.abs(gaussian_filter(ifft2(cross / (size + 1e-2 * size.mean() + 1e-30)).real, 0.7, mode="wrap"))
    row, column = (int(i) for i in np.unravel_index(np.argmax(peak), peak.shape))
    shift = []
    for axis, place in ((0, row), (1, column)):
        line = peak[:, column] if axis == 0 else peak[row]
        n = len(line)
        left, middle, right = line[place - 1], line[place], line[(place + 1) % n]
        bend = left - 2 * middle + right
        exact = place + (0.5 * (left - right) / bend if bend < 0 else 0.0)
        shift.append(float(exact - n if exact > n / 2 else exact))
    return shift[0], shift[1]


def _shifted(printed: Floats, commanded: Floats, guess: Pose) -> Pose:
    """The guess with the shift that phase correlation finds."""
    shape = tuple(max(p, c) for p, c in zip(printed.shape, commanded.shape, strict=True))
    laid, _ = _resampled(commanded, shape, guess)
    return Pose(phase_correlation(_padded(printed, shape), laid), guess.turn, guess.scale)


def _resampled(commanded: Floats, shape: tuple[int, ...], pose: Pose) -> tuple[Floats, np.ndarray]:
    """The commanded image on the pixels of a printed one, and a mask of where it lies."""
    rows, columns = shape
    points = np.indices((rows, columns)).reshape(2, -1).astype(float)
    at = pose.commanded(points, (rows, columns), commanded.shape)
    h, w = commanded.shape
    inside = (at[0] >= 0) & (at[0] <= h - 1) & (at[1] >= 0) & (at[1] <= w - 1)
    values = map_coordinates(commanded, at, order=1, mode="constant", cval=float(commanded.mean()))
    return values.reshape(shape), inside.reshape(shape)


def _turn_and_scale(one: Floats, other: Floats) -> tuple[float, float]:
    """Turn (rad) and scale of `one` against `other`, both (H, W)."""
    n = min(one.shape)
    radii = np.exp(np.linspace(np.log(4.0), np.log(n / 2 - 1), RADII))
    angles = np.linspace(0, np.pi, ANGLES, endpoint=False)
    maps = [_log_polar(image, radii, angles) for image in (one, other)]
    turn, smaller = phase_correlation(maps[0], maps[1])
    angle = turn * np.pi / ANGLES
    angle -= np.pi * round(angle / np.pi)
    return angle, float(np.exp(-smaller * np.log(radii[1] / radii[0])))


def _log_polar(image: Floats, radii: Floats, angles: Floats) -> Floats:
    """The logarithm of the spectrum (angle, radius), about its mean over the angles."""
    rows, columns = image.shape
    spectrum = np.log1p(np.abs(fftshift(fft2(_windowed(image)))))
    # Cycles per image: the axes of an image that is not square differ in scale.
    n = min(rows, columns)
    down = rows // 2 + np.outer(np.cos(angles), radii) * rows / n
    across = columns // 2 + np.outer(np.sin(angles), radii) * columns / n
    polar = map_coordinates(spectrum, [down, across], order=1, mode="nearest")
    return polar - polar.mean(axis=0)


def _alike(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Both images padded about their middles to the larger of their shapes."""
    shape = tuple(max(p, c) for p, c in zip(one.shape, other.shape, strict=True))
    return _padded(one, shape), _padded(other, shape)


def _padded(image: Floats, shape: tuple[int, ...]) -> Floats:
    room = [(n - m) for n, m in zip(shape, image.shape, strict=True)]
    sides = [(r // 2, r - r // 2) for r in room]
    return np.pad(image, sides, constant_values=float(image.mean()))


def _windowed(image: Floats) -> Floats:
    rows, columns = image.shape
    return (image - image.mean()) * np.outer(np.hanning(rows + 2)[1:-1], np.hanning(columns + 2)[1:-1])


FWHM = 2 * np.sqrt(2 * np.log(2))
SMALLEST = 16
MOST_PIXELS = 120_000
"""Largest number of pixels that count; of a larger image, every k-th row and column. More take longer for
little gain."""
LARGEST_PIXEL = 20.0
"""Largest size of a printed pixel, in commanded ones."""
TILES = 8
STEP = 1e-3
LEAST_EXPLAINED = 0.3
"""Explained share of the variance below which a warning says that the images may not belong together."""

_WIDTHS = (0.6, 1.2, 2.5, 5.0, 10.0)
"""Initial values of s, pixels; more find the minimum more reliably and cost time."""
_LOW = np.log([0.2, 0.5, 0.02])
_HIGH = np.log([60.0, 300.0, 5.0])
"""Bounds of s in pixels, β, D_c."""


@dataclass(frozen=True, slots=True, eq=False)
class PrintFit:
    """The fitted parameters of a print.

    fwhm: of the spot's blur, mm.  contrast: β of `resin`.  critical_dose: D_c, 1 = the dose of a wide area
    that is fully exposed.  shift: of the print against the image's middle, (x, y) mm, y up.  turn: degrees,
    counterclockwise.  scale: of the print, relative to the commanded image.  darker: exposed places are.
    explained: share of the image's variance, 0 … 1.  registered, predicted: (H, W) the print on the commanded
    image's pixels, and the fit's image; in the image's unit, nan outside the image.
    warnings: sentences on parameters that the image does not determine.
    """

    fwhm: Estimate
    contrast: Estimate
    critical_dose: Estimate
    shift: tuple[float, float]
    turn: float
    scale: float
    darker: bool
    explained: float
    registered: Floats
    predicted: Floats
    warnings: tuple[str, ...]

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """All parameters with an interval."""
        return self.fwhm, self.contrast, self.gamma, self.critical_dose

    @property
    def gamma(self) -> Estimate:
        """The contrast as resists are specified: the slope over log₁₀ of the dose."""
        value, low, high = (gamma_of(b) for b in (self.contrast.value, self.contrast.low, self.contrast.high))
        return Estimate("gamma", value, low, high)


def fit_print(
    printed: Floats,
    commanded: Floats,
    pixel: float,
    *,
    printed_pixel: float | None = None,
    turned: bool = True,
) -> PrintFit:
    """Fit blur and contrast to an image (H, W) of a print of the commanded pattern (h, w), 0 … 1.

    pixel: mm, of the commanded image, and of the printed one if that has no `printed_pixel`.  turned: the
    print may also be turned and scaled a little, not only shifted.
    """
    printed, commanded = _checked(printed, "printed"), _checked(commanded, "commanded")
    for name, size in (
        ("pixel", pixel),
        ("printed pixel", pixel if printed_pixel is None else printed_pixel),
    ):
        if not (np.isfinite(size) and size > 0):
            raise InputError(f"{name} is {size}, but must be above 0")
    if commanded.min() < 0 or commanded.max() > 1:
        raise InputError(
            f"the commanded image is {commanded.min():g} to {commanded.max():g}, but must be within 0 and 1"
        )
    ratio = 1.0 if printed_pixel is None else pixel / printed_pixel
    if not min(printed.shape) / SMALLEST >= ratio >= 1 / LARGEST_PIXEL:
        raise InputError(f"a printed pixel of {printed_pixel} mm does not fit a commanded one of {pixel} mm")
    model = _ImageModel.of(printed, commanded, pose_of(printed, commanded, ratio, turned=turned), turned)
    start = min(map(model.start, _WIDTHS), key=lambda theta: float(np.sum(model.residual(theta) ** 2)))
    solution = least_squares(
        model.residual,
        start,
        model.slopes,
        model.bounds(start),
        x_scale=model.sizes(),
        xtol=1e-5,
        ftol=1e-6,
        max_nfev=60,
    )
    return _result(model, solution, pixel, ratio)


def _checked(image: Floats, name: str) -> Floats:
    array = frozen_array(image, f"the {name} image", (None, None))
    if min(array.shape) < SMALLEST:
        raise InputError(f"the {name} image is {array.shape} pixels, but must be {SMALLEST} each way")
    if np.ptp(array) == 0:
        raise InputError(f"the {name} image is {array.flat[0]:g} everywhere, there is nothing to compare")
    return array


@dataclass(frozen=True, slots=True, eq=False)
class _ImageModel:
    """The image as a function of θ = (ln s, ln β, ln D_c, row, column, turn, ln scale); lengths in pixels.

    spectrum: of the spline's coefficients of m.  points: (2, N) counted pixels.  values: (N,) there.
    """

    printed: Floats
    commanded: Floats
    spectrum: Floats
    points: Floats
    values: Floats
    pose: Pose
    turned: bool

    @classmethod
    def of(cls, printed: Floats, commanded: Floats, pose: Pose, turned: bool) -> _ImageModel:
        stride = int(np.ceil(np.sqrt(printed.size / MOST_PIXELS)))
        points = np.indices(printed.shape)[:, ::stride, ::stride].reshape(2, -1)
        at = pose.commanded(points.astype(float), printed.shape, commanded.shape)
        room = np.array(commanded.shape)[:, None] - 1
        points = points[:, np.all((at >= 0) & (at <= room), axis=0)]
        if points.shape[1] < 16 * TILES**2:
            raise InputError("the printed image shows too little of what was commanded: no overlap was found")
        coefficients = spline_filter(commanded, order=3, mode="reflect")
        return cls(
            printed,
            commanded,
            dctn(coefficients, norm="ortho"),
            points.astype(float),
            printed[points[0], points[1]],
            pose,
            turned,
        )

    def start(self, s: float) -> Floats:
        """Initial θ for an s in pixels."""
        place = [*self.pose.shift, self.pose.turn, np.log(self.pose.scale)]
        return np.array([np.log(s), np.log(6.0), np.log(0.5), *place[: 4 if self.turned else 2]])

    def bounds(self, start: Floats) -> tuple[Floats, Floats]:
        """Bounds of θ: the pose stays within 5 of the larger pixels, 3° and 5 % of the initial one."""
        pixels = 5 * max(1.0, self.pose.scale)
        room = np.array([pixels, pixels, 0.05, 0.05])[: len(start) - 3]
        return np.r_[_LOW, start[3:] - room], np.r_[_HIGH, start[3:] + room]

    def sizes(self) -> Floats:
        """(P,) typical change of each parameter, for the scaling of steps."""
        across = 1 / max(self.printed.shape)
        return np.array([0.3, 0.5, 0.2, 0.5, 0.5, across, across])[: len(self.start(1.0))]

    def pose_at(self, theta: Floats) -> Pose:
        turn, log_scale = theta[5:] if self.turned else (0.0, np.log(self.pose.scale))
        return Pose((float(theta[3]), float(theta[4])), float(turn), float(np.exp(log_scale)))

    def developed(self, theta: Floats, at: Floats) -> Floats:
        """σ(D) at x_commanded `at` (2, N)."""
        s, contrast, critical = np.exp(theta[:3])
        spread = idctn(self.spectrum * transfer(s, self.commanded.shape), norm="ortho")
        dose = map_coordinates(spread, at, order=3, mode="reflect", prefilter=False)
        return expit(contrast * (dose / critical - 1))

    def columns(self, theta: Floats) -> Floats:
        """(N, 2): 1 and σ(D(T x)), which a and b multiply."""
        at = self.pose_at(theta).commanded(self.points, self.printed.shape, self.commanded.shape)
        return np.stack([np.ones(at.shape[1]), self.developed(theta, at)], axis=1)

    def levels(self, theta: Floats) -> Floats:
        """(a, b)."""
        return np.linalg.lstsq(self.columns(theta), self.values, rcond=None)[0]

    def residual(self, theta: Floats) -> Floats:
        columns = self.columns(theta)
        return (self.values - columns @ self.levels(theta)) / np.std(self.values)

    def slopes(self, theta: Floats) -> Floats:
        """∂residual/∂θ by central differences, (N, P)."""
        steps = STEP * np.diag(self.sizes())
        return np.stack(
            [(self.residual(theta + h) - self.residual(theta - h)) / (2 * h.sum()) for h in steps], axis=1
        )


def _covariance(model: _ImageModel, solution: OptimizeResult) -> Floats:
    """Covariance of θ, tiles of the image independent."""
    rows, columns = model.points
    edges = [np.linspace(x.min(), x.max() + 1, TILES + 1) for x in (rows, columns)]
    tile = (np.digitize(rows, edges[0]) - 1) * TILES + np.digitize(columns, edges[1]) - 1
    slopes = solution.jac
    bread = np.linalg.pinv(slopes.T @ slopes)
    scores = np.zeros((TILES**2, slopes.shape[1]))
    np.add.at(scores, tile, slopes * solution.fun[:, None])
    filling = scores.T @ scores * TILES**2 / (TILES**2 - 1)
    return bread @ filling @ bread


def _result(model: _ImageModel, solution: OptimizeResult, pixel: float, ratio: float) -> PrintFit:
    theta = solution.x
    error = np.sqrt(np.diag(_covariance(model, solution))) * student.ppf((1 + CONFIDENCE) / 2, TILES**2 - 1)
    a, b = model.levels(theta)
    pose = model.pose_at(theta)
    estimate = partial(_estimate, theta, error)
    grid = np.indices(model.commanded.shape).reshape(2, -1).astype(float)
    at = pose.printed(grid, model.printed.shape, model.commanded.shape)
    seen = map_coordinates(model.printed, at, order=1, mode="constant", cval=np.nan)
    predicted = a + b * model.developed(theta, grid)
    predicted[np.isnan(seen)] = np.nan
    explained = 1 - float(np.mean(solution.fun**2))
    return PrintFit(
        fwhm=estimate("fwhm", 0, FWHM * pixel),
        contrast=estimate("contrast", 1, 1.0),
        critical_dose=estimate("critical_dose", 2, 1.0),
        shift=(pose.shift[1] * pixel / ratio, -pose.shift[0] * pixel / ratio),
        turn=float(np.degrees(pose.turn)),
        scale=pose.scale / ratio,
        darker=bool(b < 0),
        explained=explained,
        registered=seen.reshape(model.commanded.shape),
        predicted=predicted.reshape(model.commanded.shape),
        warnings=_warnings(theta, error, explained),
    )


def _estimate(theta: Floats, error: Floats, name: str, k: int, unit: float) -> Estimate:
    low, value, high = (
        float(unit * np.exp(np.clip(v, -50, 50))) for v in theta[k] + error[k] * np.array([-1, 0, 1])
    )
    return Estimate(name, value, low, high)


def _warnings(theta: Floats, error: Floats, explained: float) -> tuple[str, ...]:
    warnings = []
    if explained < LEAST_EXPLAINED:
        warnings.append(
            f"the fit explains {explained:.0%} of the printed image: it may not show what was commanded"
        )
    for k, name in enumerate(("blur", "contrast", "critical dose")):
        if min(theta[k] - _LOW[k], _HIGH[k] - theta[k]) < 0.01:
            warnings.append(f"the {name} ran into the limit of the search: this image does not determine it")
        elif error[k] > np.log(2):
            warnings.append(
                f"the {name} is known to less than a factor of 2: print features near the spot's size"
            )
    return tuple(warnings)

"""The pose of one image on another: shift, rotation and scale, from their spectra.

Phase correlation (Kuglin, Hines 1975): with A, B the transforms of two images, the inverse transform of
A B*/(|A B*| + ε) has its peak at the shift of A against B; a negative peak if A is B's negative. A parabola
through the peak and its neighbours gives it to a fraction of a pixel. Rotation and scale (Reddy, Chatterji,
IEEE Trans. Image Process. 5 (1996) 1266): the spectrum's magnitude does not change with the shift; on the
axes (angle, log radius) rotation and scale are shifts. These are starting values; `prints` refines them.

    x_commanded = c_commanded + R(−φ) (x_printed − c_printed − shift)/scale

x = (row, column) in each image's pixels, c the images' centres; φ > 0 turns from +row to +column,
counterclockwise in the image, since rows point down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import fft2, fftshift, ifft2
from scipy.ndimage import gaussian_filter, map_coordinates, zoom

from laserpath.base.arrays import Floats

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
        small = gaussian_filter(printed, 0.4 * max(ratio - 1, 0))
        pose = pose_of(
            zoom(small, 1 / ratio, order=1, mode="nearest", grid_mode=True), commanded, turned=turned
        )
        return Pose((ratio * pose.shift[0], ratio * pose.shift[1]), pose.turn, ratio * pose.scale)
    guesses = [Pose()]
    if turned:
        turn, scale = _turn_and_scale(*_alike(printed, commanded))
        if abs(turn) < LARGEST_TURN and abs(np.log(scale)) < np.log(LARGEST_SCALE):
            guesses.append(Pose(turn=turn, scale=scale))
    poses = [_shifted(printed, commanded, guess) for guess in guesses]
    return max(poses, key=lambda pose: likeness(printed, commanded, pose))


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

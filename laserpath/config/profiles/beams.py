"""Measured spots: a photograph of the beam (PNG), or a table of radius and intensity (CSV).

A photograph's values are taken as proportional to the intensity (no gamma); colours are added up. The
background, the median of the border (a twentieth of the picture on each side), is subtracted. Pixels are set
to 0 where a smoothed copy is below 5 standard deviations of the border (1.4826 × its median absolute
deviation). A table is used as it is.

Both are smoothed with a Gaussian whose FWHM is a third of the measured one unless given, against camera
noise and the kinks between a table's rows, which would need a finer grid than any spot. The spot is then
scaled to the FWHM measured before smoothing, so that it does not widen. The Gaussian is as elongated as the
area above a photograph's half maximum. Pixels are resampled to FWHM/64 to FWHM/24. For a table, with σ of
the Gaussian and i0e(x) = exp(−x) I₀(x),

    h(r) = ∫ h₀(r') exp(−(r − r')²/2σ²) i0e(r r'/σ²) r' dr'/σ².
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from gcode.errors import GcodeError
from laserpath.base import limits
from laserpath.base.arrays import Bools, Floats, block_means
from laserpath.base.errors import InputError, figure
from laserpath.base.isolated import picture
from laserpath.base.quantities import LENGTH, convert
from laserpath.physics.optics import BeamImage, BeamTable, profile
from laserpath.types import MeasuredBeam, Spot

_SMOOTH_FWHM = 1 / 3
_SIGMAS = 6.0
_PIXELS_PER_FWHM = 32
_NOISES = 5.0
"""Standard deviations of the border, above which a pixel is part of the beam; more cut off fainter parts."""
_DARK_END = 0.05
"""Largest intensity at the edge, relative to the peak; a brighter edge means that a part of the beam was not
measured."""
_OVEREXPOSED = 0.05
"""Largest share of the pixels above the half maximum that may have the highest value."""
_RADIUS = {f"radius_{unit}": unit for unit in ("um", "mm")}


@dataclass(frozen=True, slots=True)
class Beam:
    """A measured beam, and its FWHM in mm."""

    measured: MeasuredBeam
    fwhm: float


def read(path: Path, pixel: float | None = None, smooth: float | None = None) -> Beam:
    """Read a .png or a .csv. pixel: mm, of a .png.  smooth: FWHM of the Gaussian in mm; 0: none."""
    name = f"measured spot {str(path)!r}"
    kind = path.suffix.lower()
    if kind not in (".png", ".csv"):
        raise InputError(f"{name} is neither a .png nor a .csv")
    try:
        if kind == ".csv":
            if pixel is not None:
                raise InputError("it is a table, and has no pixels")
            return _beam(_table(path), smooth)
        if pixel is None:
            raise InputError("it is a photograph, and needs 'pixel_um', the size of a pixel in the resin")
        return _photograph(_values(path), pixel, smooth)
    except FileNotFoundError:
        raise InputError(f"{name} is missing") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    except GcodeError as error:
        raise InputError(f"{name} {error}") from None
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


# Photographs


def _values(path: Path) -> Floats:
    """Sum of the colours, row 0 lowest; refused when overexposed. float32 holds it, whole numbers to 2²⁴."""
    shown = picture(limits.plain(path, limits.TABLE_BYTES), ("PNG",))
    if shown is None:
        raise InputError("it is not a PNG file that can be read")
    colours = shown.colours
    highest = 255 if colours.dtype == np.uint8 else 65535
    values = colours.sum(axis=2, dtype=np.float32)
    bright = values > (values.min() + values.max()) / 2
    full = float((colours.max(axis=2) >= highest)[bright].mean()) if bright.any() else 0.0
    if full > _OVEREXPOSED:
        raise InputError(
            f"it is overexposed: {full:.0%} of its bright pixels have the highest value, {highest}; "
            f"at most {_OVEREXPOSED:.0%} may; attenuate the beam or expose shorter"
        )
    return values[::-1]


def _photograph(values: Floats, pixel: float, smooth: float | None) -> Beam:
    light = values - np.float32(_border(values)[0])
    rough = _rough_fwhm(light)
    if (fewer := int(rough / _PIXELS_PER_FWHM)) > 1:
        light = block_means(light.astype(np.float64), fewer)
        pixel, rough = pixel * fewer, rough / fewer
    light = _cropped(np.where(_lit(light, rough), light, 0.0)).astype(np.float64)
    light, pixel, rough = _refined(light, pixel, rough)
    # Measured with half of the smoothing, since the highest pixel of a noisy picture is too high. The squares
    # of the widths add up.
    half = rough * _SMOOTH_FWHM / 2
    fwhm = float(np.sqrt(BeamImage(_smoothed(light, half), 1.0).fwhm() ** 2 - half**2))
    light = _smoothed(light, fwhm * _SMOOTH_FWHM if smooth is None else smooth / pixel)
    return Beam(BeamImage(_cropped(light), pixel), fwhm * pixel)


def _border(values: Floats) -> tuple[float, float]:
    """Median and standard deviation of the twentieth of the picture on each side."""
    if min(values.shape) < 3:
        raise InputError(
            f"it has {values.shape[1]} × {values.shape[0]} pixels, but at least 3 × 3 are needed"
        )
    margin = [max(1, n // 20) for n in values.shape]
    border = np.ones(values.shape, bool)
    border[margin[0] : -margin[0], margin[1] : -margin[1]] = False
    level = float(np.median(values[border]))
    return level, 1.4826 * float(np.median(np.abs(values[border] - level)))


def _rough_fwhm(light: Floats) -> float:
    """FWHM in pixels, ignoring single bright pixels."""
    plain = scipy.ndimage.median_filter(light, 3)
    return float(np.sqrt(4 / np.pi * max(1, (plain > plain.max() / 2).sum())))


def _lit(light: Floats, fwhm: float) -> Bools:
    """The pixels at which a smoothed copy is above the noise of its border."""
    sigma = _SMOOTH_FWHM * fwhm / np.sqrt(8 * np.log(2))
    copy = scipy.ndimage.gaussian_filter(light, sigma, mode="nearest")
    # Smoothing removes noise, even if the beam is on the border, and leaves 1/(2√π σ) of it.
    white = _border(light - copy)[1] * min(1.0, 1 / (2 * np.sqrt(np.pi) * sigma))
    level, noise = _border(copy)
    copy -= level
    high = float(copy.max())
    if high <= 2 * _NOISES * white:
        raise InputError("it shows no beam: nothing in it is much brighter than its border")
    edge = max(float(side.max()) for side in (copy[0], copy[-1], copy[:, 0], copy[:, -1])) / high
    if edge > _DARK_END:
        raise InputError(
            f"it shows a part of the beam only: its edge has {edge:.0%} of the peak, but must be dark, below "
            f"{_DARK_END:.0%}; take a larger picture"
        )
    return copy > max(_NOISES * noise, 1e-4 * high)


def _cropped(light: Floats) -> Floats:
    """The rectangle that holds all light."""
    rows, columns = (np.flatnonzero(light.any(axis=axis)) for axis in (1, 0))
    return light[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _refined(light: Floats, pixel: float, fwhm: float) -> tuple[Floats, float, float]:
    """The pixels interpolated by a cubic spline, to at least 24 per FWHM."""
    finer = int(np.ceil(24 / fwhm))
    light = np.pad(light, 4)
    places = [(np.arange(n * finer) + 0.5) / finer - 0.5 for n in light.shape]
    fine = scipy.ndimage.map_coordinates(light, np.meshgrid(*places, indexing="ij"), order=3)
    return fine, pixel / finer, fwhm * finer


def _smoothed(light: Floats, fwhm: float) -> Floats:
    """Smoothed with a Gaussian of that FWHM in pixels, as elongated as the half maximum; nowhere below 0."""
    covariance = fwhm**2 / (8 * np.log(2)) * _elongation(light)
    room = int(np.ceil(_SIGMAS * np.sqrt(covariance.diagonal().max())))
    padded = np.pad(light, room)
    fy, fx = np.fft.fftfreq(padded.shape[0])[:, None], np.fft.rfftfreq(padded.shape[1])
    (yy, xy), (_, xx) = covariance
    gaussian = np.exp(-2 * np.pi**2 * (yy * fy**2 + 2 * xy * fy * fx + xx * fx**2))
    return np.maximum(scipy.fft.irfft2(scipy.fft.rfft2(padded) * gaussian, padded.shape), 0)


def _elongation(light: Floats) -> Floats:
    """Second moments (y, x) of the area above half the maximum, scaled to a determinant of 1; (2, 2)."""
    plain = scipy.ndimage.median_filter(light, 3)
    moments = np.atleast_2d(np.cov(np.argwhere(plain > plain.max() / 2), rowvar=False, ddof=0))
    moments = moments + np.eye(2) / 12  # of a pixel itself
    return moments / np.sqrt(np.linalg.det(moments))


# Tables


def _beam(table: BeamTable, smooth: float | None) -> Beam:
    fwhm = table.fwhm()
    wide = fwhm * _SMOOTH_FWHM if smooth is None else smooth
    if wide == 0:
        return Beam(table, fwhm)
    sigma = wide / np.sqrt(8 * np.log(2))
    step = min(sigma, fwhm / _PIXELS_PER_FWHM) / 2
    end = float(table.radius[-1])
    if end * (end + _SIGMAS * sigma) / step**2 > limits.now().pixels:
        raise InputError(f"it goes out to {figure(end / fwhm, 4)} FWHM, too far to smooth; cut it")
    rings = step * (np.arange(int(np.ceil(end / step))) + 0.5)
    radius = step * np.arange(int(np.ceil((end + _SIGMAS * sigma) / step)) + 1)
    spread = np.exp(-((radius[:, None] - rings) ** 2) / (2 * sigma**2))
    spread *= scipy.special.i0e(radius[:, None] * rings / sigma**2) * rings * step / sigma**2
    light = profile(Spot(fwhm, "measured", measured=table), rings)
    return Beam(BeamTable(radius, spread @ light), fwhm)


def _table(path: Path) -> BeamTable:
    try:
        text = limits.plain(path, limits.TABLE_BYTES).decode("utf-8-sig")
        with io.StringIO(text, newline="") as file:
            lines = [row for row in csv.reader(file) if row and not row[0].lstrip().startswith("#")]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError("it is not a text file of values with commas between them") from error
    head = [name.strip() for name in lines[0]] if lines else []
    if len(head) != 2 or head[0] not in _RADIUS or head[1] != "intensity":
        raise InputError(
            f"it begins with {','.join(head)!r}, but must with 'radius_um,intensity' (or radius_mm)"
        )
    values = np.array([_numbers(line, row) for line, row in enumerate(lines[1:], 2)]).reshape(-1, 2)
    table = BeamTable(values[:, 0] * convert(1, _RADIUS[head[0]], LENGTH), values[:, 1])
    end = float(table.intensity[-1] / table.intensity.max())
    if end > _DARK_END:
        raise InputError(f"it ends at {end:.0%} of its peak, above {_DARK_END:.0%}; measure farther out")
    return table


def _numbers(line: int, row: Sequence[str]) -> tuple[float, float]:
    try:
        radius, intensity = (float(cell) for cell in row)
    except ValueError:
        raise InputError(f"it has {','.join(row)!r} as row {line}, but two numbers are needed") from None
    return radius, intensity

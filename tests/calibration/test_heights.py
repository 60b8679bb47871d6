"""The printed surface of a relief: exact cases, what a fit finds again, and real prints."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import measured
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.special import ndtri

from laserpath.base.errors import InputError
from laserpath.calibration.heights import HeightFit, HeightModel, IsoDose, _centred, fit_heights, outside

PIXEL = 1e-4
DOSE = IsoDose(width=2e-4, tail_width=8e-4, tail_share=0.2, depth=1e-4, threshold=0.8)


def relief(seed: int, n: int = 80, grain: float = 4.0, rms: float = 2e-4) -> np.ndarray:
    """Smooth random hills about 0.6 µm, mm."""
    hills = gaussian_filter(np.random.default_rng(seed).normal(size=(n, n)), grain, mode="reflect")
    return 6e-4 + rms * hills / hills.std()


# The surface of equal dose


def test_a_plane_prints_as_a_plane_lower_by_the_threshold() -> None:
    flat = np.full((20, 30), 5e-4)
    assert DOSE.surface(flat, PIXEL) == pytest.approx(flat - ndtri(0.8) * 1e-4, abs=1e-8)


@pytest.mark.parametrize("slope", [0.3, 1.0, 2.0])
def test_a_slope_prints_lower_by_what_the_closed_form_says(slope: float) -> None:
    """Heights under the spot are normal on a slope: z* = m − Φ⁻¹(t) √(d² + slope² s²)."""
    dose = replace(DOSE, tail_share=0.0)
    ramp = np.tile(slope * PIXEL * np.arange(80.0), (10, 1))
    away = slice(20, -20)  # from the mirrored border
    expected = ramp - ndtri(0.8) * np.hypot(1e-4, slope * 2e-4)
    assert dose.surface(ramp, PIXEL)[:, away] == pytest.approx(expected[:, away], abs=1e-6)


def test_a_shallow_relief_is_only_blurred() -> None:
    """To first order in m/d, z* − ⟨z*⟩ is K ∗ m: a wave keeps exp(−s²k²/2) of its height."""
    n, periods = 128, 6
    k = 2 * np.pi * periods / (n * PIXEL)
    wave = 1e-5 * np.cos(k * PIXEL * (np.arange(n) + 0.5))
    surface = replace(DOSE, tail_share=0.0).surface(np.tile(wave, (16, 1)), PIXEL)
    kept = np.ptp(surface) / np.ptp(wave)
    assert kept == pytest.approx(np.exp(-0.5 * (2e-4 * k) ** 2), rel=0.02)


def test_more_dose_needed_prints_lower_everywhere() -> None:
    m = relief(0)
    surfaces = [replace(DOSE, threshold=t).surface(m, PIXEL) for t in (0.3, 0.5, 0.7, 0.9)]
    assert all((low < high).all() for high, low in pairwise(surfaces))


def test_hills_and_pits_are_alike_at_half_the_dose() -> None:
    dose, m = replace(DOSE, threshold=0.5), relief(1)
    assert dose.surface(-m, PIXEL) == pytest.approx(-dose.surface(m, PIXEL), abs=2e-6)


def test_the_zero_of_heights_does_not_matter() -> None:
    m = relief(2)
    assert DOSE.surface(m + 3.3e-4, PIXEL) == pytest.approx(DOSE.surface(m, PIXEL) + 3.3e-4, abs=1e-8)


def test_finer_layers_change_little() -> None:
    """The same surface from layers three times as close: the interpolation is good to d/50 (rms)."""

    m = relief(3, grain=3.0)
    off = DOSE.surface(m, PIXEL) - DOSE.surface(m, PIXEL, 3 * DOSE.layer_count(m) - 2)
    assert np.sqrt(np.mean(off**2)) < DOSE.depth / 50
    assert np.abs(off).max() < DOSE.depth / 10


def test_beyond_a_straight_edge_lies_half_of_the_plane() -> None:
    share = outside((201, 201), 10.0)
    assert share[100, 100] == pytest.approx(0, abs=1e-6)
    assert share[100, 0] == pytest.approx(0.5, abs=0.03)  # the border is half a pixel further out
    assert share[0, 0] == pytest.approx(0.75, abs=0.03)


# The fit

TRUTH = HeightModel(
    dose=DOSE,
    pixel=PIXEL,
    centre=6e-4,
    gain=0.7,
    curve=-200.0,
    edge=3e-5,
    level=5e-4,
    survival=0.6,
    survival_slope=0.0,
)


def printed(seed: int, noise: float = 1e-5) -> tuple[np.ndarray, np.ndarray]:
    m = relief(seed, grain=2.0 + seed % 3)
    return m, TRUTH.predict(m) + noise * np.random.default_rng(100 + seed).normal(size=m.shape)


@pytest.fixture(scope="module")
def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    return [printed(seed) for seed in range(4)]


@pytest.fixture(scope="module")
def fit(pairs: list[tuple[np.ndarray, np.ndarray]]) -> HeightFit:
    return fit_heights(pairs, PIXEL, with_survival=False)


@pytest.mark.slow
def test_a_fit_finds_again_what_printed(fit: HeightFit) -> None:
    found = fit.model.dose
    assert found.width == pytest.approx(DOSE.width, rel=0.1)
    assert found.tail_width == pytest.approx(DOSE.tail_width, rel=0.2)
    assert found.threshold == pytest.approx(DOSE.threshold, abs=0.05)
    assert fit.shape_rms == pytest.approx(1e-5, rel=0.05)  # the noise, and nothing more


@pytest.mark.slow
def test_it_predicts_prints_that_it_has_not_seen(fit: HeightFit) -> None:
    m, _ = printed(50)
    assert np.abs(fit.model.predict(m) - TRUTH.predict(m)).max() < 1e-5


@pytest.mark.slow
def test_the_level_of_a_print_does_not_pull_the_shape(
    pairs: list[tuple[np.ndarray, np.ndarray]], fit: HeightFit
) -> None:
    lifted = [(m, a + 5e-5 * (i - 2)) for i, (m, a) in enumerate(pairs)]
    one, other = fit.model, fit_heights(lifted, PIXEL, with_survival=False).model
    assert other.gain == pytest.approx(one.gain, rel=1e-6)
    assert other.dose.width == pytest.approx(one.dose.width, rel=1e-6)
    assert other.level == pytest.approx(one.level + -2.5e-5, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 20])
def test_standard_errors_follow_from_the_curvature_of_the_cost(count: int, fit: HeightFit) -> None:
    """σ² (JᵀJ)⁻¹, J by central differences of wide steps on layers five times as close.

    A step of 1 % in the depth that adds a layer made the error of the depth a tenth of that.
    """
    prints = [printed(seed) for seed in range(count)]
    if count > 4:
        fit = fit_heights(prints, PIXEL, with_survival=False)
    curvature = standard_errors(fit.model, prints)
    for name, error in fit.errors.items():
        assert error == pytest.approx(curvature[name], rel=0.4), name


def standard_errors(model: HeightModel, prints: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """Of the logarithms of the five numbers, log odds of share and threshold, every residual independent."""
    names = ("width", "tail_width", "tail_share", "depth", "threshold")
    fine = [5 * model.dose.layer_count(m) - 4 for m, _ in prints]

    def residual(dose: IsoDose) -> np.ndarray:
        terms, target = _centred(prints, dose, PIXEL, model.centre, fine)
        return target - terms @ np.linalg.lstsq(terms, target, rcond=None)[0]

    def moved(name: str, step: float) -> IsoDose:
        value = getattr(model.dose, name)
        logit = name in ("tail_share", "threshold")
        factor = 1 / (value + (1 - value) * np.exp(-step)) if logit else np.exp(step)
        return replace(model.dose, **{name: value * factor})

    slopes = np.stack([residual(moved(n, 0.05)) - residual(moved(n, -0.05)) for n in names], axis=1) / 0.1
    covariance = np.mean(residual(model.dose) ** 2) * np.linalg.inv(slopes.T @ slopes)
    return dict(zip(names, np.sqrt(np.diag(covariance)).tolist(), strict=True))


@pytest.mark.slow
def test_a_level_that_goes_with_the_survival_is_found(pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    sloped = replace(TRUTH, survival_slope=1e-3)
    prints = [(m, sloped.predict(m)) for m, _ in pairs]
    assert fit_heights(prints, PIXEL).model.survival_slope == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda p: (p[:1], PIXEL), "1 prints are given, but a fit needs 2"),
        (lambda p: (p, 0.0), "pixel is 0.0, but must be above 0"),
        (lambda p: ([p[0], (p[1][0], p[1][1][:-1])], PIXEL), "measured height has shape"),
        (lambda p: ([p[0], (p[1][0] * np.nan, p[1][1])], PIXEL), "commanded height is not finite"),
        (lambda p: ([p[0], (np.ones((80, 80)), p[1][1])], PIXEL), "has no relief to fit to"),
    ],
)
def test_bad_prints(wrong, sentence: str, pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=sentence):
        fit_heights(*wrong(pairs))


def test_a_relief_far_higher_than_the_spot_is_deep() -> None:
    with pytest.raises(InputError, match="depth 1e-08 mm is below 1/200 of the relief"):
        replace(DOSE, depth=1e-8).surface(relief(0), PIXEL)


# Real prints


def test_the_quarters_of_a_print_belong_together() -> None:
    """Across the seams the prints are as smooth as elsewhere: tests/data/measured/README.md says so."""
    for commanded, heights in measured.prints():
        for image in (commanded, heights):
            for whole in (image, image.T):
                steps = np.abs(np.diff(whole, axis=0)).mean(axis=1)
                assert steps[255] < 3 * np.median(steps)


@pytest.mark.slow(90)
def test_prints_are_predicted_from_prints_before_them() -> None:
    """Fitted to 18 prints (72 pairs), the 6 after them (24 pairs) are predicted to 0.064 µm."""
    prints = measured.prints()
    fitted, kept_back = prints[: measured.FITTED], prints[measured.FITTED :]
    model = fit_heights(fitted, measured.PIXEL).model
    assert measured.rms_error(model.predict, kept_back) <= 0.064
    assert model.dose.threshold > 0.5  # slopes print lower than their mean

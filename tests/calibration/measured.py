"""How well models predict real prints: `python tests/calibration/measured.py [--cv]` prints the table.

18 prints (72 pairs) to fit to, the 6 after them (24 pairs) to predict; tests/data/measured/README.md says
whose they are. Every number of every model comes from the 18. `--cv` adds what six-fold cross-validation
inside the 18 says, which is what the models were chosen by.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

from laserpath.calibration.heights import HeightModel, Pair, fit_heights, outside

DATA = Path(__file__).parents[1] / "data" / "measured"
PIXEL = 1e-4
"""mm."""

FITTED = 18
FOLDS = 6

Predict = Callable[[np.ndarray], np.ndarray]
"""Commanded height of one print, mm → its printed height, mm."""


def prints() -> list[Pair]:
    """Commanded and measured height of the 24 prints, (512, 512) mm each, in name order."""
    top = json.loads((DATA / "src_max_dict.txt").read_text())
    whole = []
    names = sorted(path.stem for path in (DATA / "afm").glob("*.tif"))
    for four in zip(*(names[k::4] for k in range(4)), strict=True):
        commanded = [np.asarray(Image.open(DATA / "mask" / f"{n}.png")) * 1e-4 for n in four]
        measured = [
            np.asarray(Image.open(DATA / "afm" / f"{n}.tif")) / 255 * top[f"{n}.tif"] * 1e3 for n in four
        ]
        whole.append((_joined(commanded), _joined(measured)))
    return whole


def _joined(quarters: Sequence[np.ndarray]) -> np.ndarray:
    return np.block([list(quarters[:2]), list(quarters[2:])])


def rms_error(predict: Predict, pairs: Sequence[Pair]) -> float:
    """Over all pixels of all pairs, µm."""
    return 1e3 * float(np.sqrt(np.mean([np.mean((predict(m) - a) ** 2) for m, a in pairs])))


# Models to compare with


def identity(pairs: Sequence[Pair]) -> Predict:
    """What was commanded."""
    return lambda m: m


def _linear(terms: Callable[[np.ndarray], list[np.ndarray]], pairs: Sequence[Pair]) -> tuple[Predict, float]:
    """Least squares of Σ_k w_k terms_k(m) + c over all pixels, lightly ridged; and its squared error."""
    gram: np.ndarray | float = 0.0
    for m, a in pairs:
        rows = np.stack([np.ones(m.size), *(t.ravel() for t in terms(m)), a.ravel() * 1e3])
        gram = gram + rows @ rows.T / m.size / len(pairs)
    inner, target = gram[:-1, :-1], gram[:-1, -1]
    weights = np.linalg.solve(inner + 1e-7 * np.diag(np.diag(inner)), target)

    def predict(m: np.ndarray) -> np.ndarray:
        rows = np.stack([np.ones_like(m), *terms(m)])
        return np.tensordot(weights, rows, 1) * 1e-3

    return predict, float(gram[-1, -1] - 2 * weights @ target + weights @ inner @ weights)


def blur(m: np.ndarray, micrometres: float) -> np.ndarray:
    """µm from mm."""
    return gaussian_filter(m * 1e3, micrometres * 1e-3 / PIXEL, mode="reflect")


def one_gaussian(pairs: Sequence[Pair]) -> Predict:
    """a + b G(σ) ∗ m."""
    widths = np.arange(0.1, 1.01, 0.05)
    best = min(widths, key=lambda s: _linear(lambda m: [blur(m, s)], pairs)[1])
    return _linear(lambda m: [blur(m, best)], pairs)[0]


def two_gaussians(pairs: Sequence[Pair]) -> Predict:
    """a + b₁ G(σ₁) ∗ m + b₂ G(σ₂) ∗ m + c (G(σ₂) ∗ m)²; the widths by Nelder and Mead."""

    def terms(sigmas: np.ndarray) -> Callable[[np.ndarray], list[np.ndarray]]:
        def of(m: np.ndarray) -> list[np.ndarray]:
            near, far = (blur(m, float(s)) for s in np.exp(sigmas))
            return [near, far, far**2]

        return of

    few = pairs[::3]  # for the widths; the weights have all
    found = minimize(
        lambda s: _linear(terms(s), few)[1], np.log([0.1, 0.4]), method="Nelder-Mead", options={"maxfev": 40}
    )
    return _linear(terms(found.x), pairs)[0]


def free_kernel(pairs: Sequence[Pair]) -> Predict:
    """Six Gaussians of any sign (a free radial kernel), a square, a loss on slopes, and the field's edge."""

    def terms(m: np.ndarray) -> list[np.ndarray]:
        spread = np.maximum(blur(1e3 * m**2, 0.5) - blur(m, 0.5) ** 2, 0)  # variance nearby, µm²
        square, slope = (blur(m, 0.2) - 0.55) ** 2, np.sqrt(0.02**2 + spread)
        return [*(blur(m, s) for s in (0.1, 0.2, 0.3, 0.4, 0.6, 0.9)), square, slope, outside(m.shape, 60)]

    return _linear(terms, pairs)[0]


def _iso_dose(pairs: Sequence[Pair]) -> HeightModel:
    key = tuple(id(commanded) for commanded, _ in pairs)
    if key not in _FITS:
        _FITS[key] = fit_heights(pairs, PIXEL).model
    return _FITS[key]


_FITS: dict[tuple[int, ...], HeightModel] = {}
"""With and without the level's term the shape is the same, and takes a minute to fit."""


def iso_dose(pairs: Sequence[Pair]) -> Predict:
    """`laserpath.calibration.heights`, one level for all prints."""
    return replace(_iso_dose(pairs), survival_slope=0.0).predict


def iso_dose_and_level(pairs: Sequence[Pair]) -> Predict:
    """`laserpath.calibration.heights`."""
    return _iso_dose(pairs).predict


MODELS: dict[str, Callable[[Sequence[Pair]], Predict]] = {
    "as commanded": identity,
    "linear + one Gaussian": one_gaussian,
    "two Gaussians + quadratic": two_gaussians,
    "free radial kernel + square + slopes + edge": free_kernel,
    "iso-dose surface": iso_dose,
    "iso-dose surface + level": iso_dose_and_level,
}


def cross_validated(model: Callable[[Sequence[Pair]], Predict], pairs: Sequence[Pair]) -> float:
    """Error on prints left out, six times a sixth of them, µm."""
    squares = []
    for fold in range(FOLDS):
        kept = [pair for i, pair in enumerate(pairs) if i % FOLDS != fold]
        left = pairs[fold::FOLDS]
        squares += [rms_error(model(kept), left) ** 2] * len(left)
    return float(np.sqrt(np.mean(squares)))


def main() -> None:
    everything = prints()
    fitted, kept_back = everything[:FITTED], everything[FITTED:]
    crossed = "--cv" in sys.argv
    _say(f"{'model':44}  {'fitted':>7}" + "    cross" * crossed + "  predicted   (height RMSE, µm)")
    for name, model in MODELS.items():
        if sys.argv[1:] and not crossed and not any(word in name for word in sys.argv[1:]):
            continue
        predict = model(fitted)
        cross = f"  {cross_validated(model, fitted):7.4f}" if crossed else ""
        _say(f"{name:44}  {rms_error(predict, fitted):7.4f}{cross}  {rms_error(predict, kept_back):9.4f}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

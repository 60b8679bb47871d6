"""The pictures of docs/measured.md: `python docs/figures/printed.py`; a minute or two.

A quarter of a print that was not fitted to: commanded, measured, predicted, and what is left. And the mean
heights of all prints against what is predicted of them.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent / "tests" / "calibration"))
import measured  # noqa: E402

from laserpath.calibration.heights import fit_heights  # noqa: E402

SHOWN = 20
"""The print whose pictures are shown, from 0; its first quarter."""
QUARTER = slice(0, 256)


def print_and_prediction(model, pair):
    commanded, heights = (1e3 * image for image in pair)
    predicted = 1e3 * model.predict(pair[0])
    quarter = [image[QUARTER, QUARTER] for image in (commanded, heights, predicted, heights - predicted)]
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
    titles = ("commanded", "measured", "predicted", "measured − predicted")
    for ax, image, title in zip(axes, quarter, titles, strict=True):
        left = title.count("−")
        shown = ax.imshow(
            image,
            cmap="RdBu_r" if left else "viridis",
            vmin=-0.15 if left else 0,
            vmax=0.15 if left else 1,
            extent=(0, 25.6, 0, 25.6),
        )
        ax.set_title(title, fontsize=10)
        ax.tick_params(labelsize=8)
        figure.colorbar(shown, ax=ax, shrink=0.75, label="µm").ax.tick_params(labelsize=8)
    axes[0].set_xlabel("µm", fontsize=8)
    figure.savefig(DOCS / "img" / "measured-print.png", dpi=90)


def level_against_survival(model, prints):
    figure, ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    for number, (commanded, heights) in enumerate(prints):
        predicted = model.predict(commanded)
        kept = number < measured.FITTED
        shape = predicted - predicted.mean()
        ax.plot(
            np.std(shape) / np.std(commanded),
            1e3 * (heights.mean() - predicted.mean()),
            "o" if kept else "s",
            color="#3366aa" if kept else "#cc5522",
            label={0: "fitted to", measured.FITTED: "predicted"}.get(number),
        )
    ax.axhline(0, color="0.6", lw=0.8)
    ax.set_xlabel("share T of the commanded relief that survives")
    ax.set_ylabel("mean height, measured − predicted (µm)")
    ax.legend()
    figure.savefig(DOCS / "img" / "measured-levels.png", dpi=90)


if __name__ == "__main__":
    prints = measured.prints()
    model = fit_heights(prints[: measured.FITTED], measured.PIXEL).model
    print_and_prediction(model, prints[SHOWN])
    level_against_survival(model, prints)

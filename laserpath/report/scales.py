"""Scales of colours, and the ticks of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from laserpath.base.arrays import Floats

CIVIDIS = (
    "#00224e", "#002e6a", "#1a386f", "#32436d", "#434e6c", "#535a6d", "#61656f", "#6f7073", "#7d7c78",
    "#8c8878", "#9b9476", "#aba072", "#bcae6c", "#cdbb63", "#dec958", "#f0d846", "#fee838",
)  # fmt: skip
"""Colours of doses, dark to bright, in which colour-blind readers see the same order (Nuñez, Anderton and
Renslow, PLoS ONE 13, e0199239, 2018)."""

DIVERGING = (
    "#053061", "#2065ab", "#4393c3", "#90c4dd", "#d1e5f0", "#f7f6f6", "#fddbc7", "#f3a481", "#d6604d",
    "#b1182b", "#67001f",
)  # fmt: skip
"""Colours of differences, from blue over white to red (ColorBrewer RdBu)."""

Pixels = NDArray[np.uint8]

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Steps of ticks, times a power of ten."""


def rgb(colour: str) -> NDArray[np.int64]:
    """(3,) 0..255 of '#rrggbb'."""
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)])


def coloured(share: Floats, stops: Sequence[str]) -> Pixels:
    """(…, 3) the colours of shares 0..1 (…), on a scale with evenly spaced stops."""
    table = np.array([rgb(one) for one in stops])
    position = np.clip(share, 0, 1) * (len(stops) - 1)
    channels = [np.interp(position, np.arange(len(stops)), table[:, c]) for c in range(3)]
    return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)


def hexes(share: Floats, stops: Sequence[str]) -> list[str]:
    """The same as '#rrggbb', of shares (N,)."""
    return ["#{:02x}{:02x}{:02x}".format(*one) for one in coloured(share, stops).tolist()]


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most `most` + 1 round numbers from low to high, evenly spaced."""
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * one for one in (*_STEPS, 20.0) if span / (power * one) <= most * (1 + 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from low to high; only the powers if these are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    every = [one * 10.0**power for power in powers for one in factors]
    return [tick for tick in every if low <= tick <= high]


def tick_texts(values: Sequence[float]) -> list[str]:
    """The ticks with as many decimals as all of them need, and a true minus."""
    places = max((len(f"{value:.6g}".partition(".")[2]) for value in values), default=0)
    if any("e" in f"{value:.6g}" for value in values):
        return [f"{value:.3g}".replace("-", "−") for value in values]
    return [f"{value + 0.0:.{places}f}".replace("-", "−") for value in values]

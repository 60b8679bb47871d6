"""Strokes, the canvas that they are painted on, and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from laserpath.base.arrays import Floats, frozen_array
from laserpath.base.errors import InputError, one_line

MODES = ("over", "add")
"""How a stroke is put onto what is beneath it."""

MOST_CHANNELS = 4
_FAR = 1e6
"""Largest coordinate and width, in pixels: coverage is then still known to 1e-9."""
_LARGEST = 1 << 14
"""Rows and columns of a canvas."""
_MOST_VALUES = 1 << 28
"""Rows · columns · channels of a canvas: 2 GB in float64, and a gradient needs it twice."""


@dataclass(frozen=True, slots=True, eq=False)
class Strokes:
    """N strokes, the first at the bottom.

    points: (N, 2, 2) ends a, b of lines, or (N, 3, 2) a, control, b of quadratic Bézier curves; x (columns),
    y (rows), pixels.  width: (N,) pixels.  colour: (N, C), 1 to 4 channels.  alpha: (N,) opacity, 0 to 1;
    in the mode 'add' any number, which multiplies the colour.
    """

    points: Floats
    width: Floats
    colour: Floats
    alpha: Floats

    __repr__ = one_line

    def __post_init__(self) -> None:
        n, ends = int(np.size(self.alpha)), np.shape(self.points)[1:2]
        if n == 0:
            raise InputError("strokes has 0 strokes, but must have at least 1")
        if ends not in ((2,), (3,)):
            raise InputError(
                f"strokes points has shape {np.shape(self.points)}, but must have (N, 2, 2) or (N, 3, 2)"
            )
        shapes = {"points": (n, *ends, 2), "width": (n,), "colour": (n, None), "alpha": (n,)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), f"strokes {name}", shape))
        if not 1 <= self.channels <= MOST_CHANNELS:
            raise InputError(
                f"strokes colour has {self.channels} channels, but must have 1 to {MOST_CHANNELS}"
            )
        if (far := float(np.abs(self.points).max())) > _FAR:
            raise InputError(f"strokes points reaches {far:g} pixels, but must be within ±{_FAR:g}")
        if not (self.width.min() >= 0 and self.width.max() <= _FAR):
            wrong = self.width.min() if self.width.min() < 0 else self.width.max()
            raise InputError(f"strokes width is {wrong:g} pixels, but must be between 0 and {_FAR:g}")

    def __len__(self) -> int:
        return len(self.width)

    @property
    def channels(self) -> int:
        """C."""
        return self.colour.shape[1]

    @property
    def curved(self) -> bool:
        """Whether they are quadratic curves."""
        return self.points.shape[1] == 3


@dataclass(frozen=True, slots=True, eq=False)
class StrokesGradient:
    """Derivatives of a scalar by the fields of `Strokes`, of the same shapes."""

    points: Floats
    width: Floats
    colour: Floats
    alpha: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Canvas:
    """shape: (rows, columns).  background: (C,) or (rows, columns, C).  mode: 'over' or 'add'.

    Without a background it is white, (1, 1, 1), or dark, (0, 0, 0), in the mode 'add'.
    """

    shape: tuple[int, int]
    background: ArrayLike = ()
    mode: str = "over"

    def __post_init__(self) -> None:
        shape = np.asarray(self.shape)
        if (
            shape.shape != (2,)
            or shape.dtype.kind not in "iu"
            or not (1 <= shape.min() <= shape.max() <= _LARGEST)
        ):
            raise InputError(
                f"canvas shape is {self.shape}, but must be (rows, columns), each from 1 to {_LARGEST}"
            )
        if self.mode not in MODES:
            raise InputError(f"canvas mode {self.mode!r} is unknown; known: {', '.join(MODES)}")
        given = self.background
        if np.size(given) == 0:
            given = (0.0,) * 3 if self.mode == "add" else (1.0,) * 3
        needed = (None,) if np.ndim(given) == 1 else (*self.shape, None)
        background = frozen_array(given, "canvas background", needed)
        if not 1 <= background.shape[-1] <= MOST_CHANNELS:
            raise InputError(
                f"canvas background has {background.shape[-1]} channels, but must have 1 to {MOST_CHANNELS}"
            )
        if (values := int(shape[0]) * int(shape[1]) * background.shape[-1]) > _MOST_VALUES:
            raise InputError(
                f"canvas of shape {self.shape} has {values} values in {background.shape[-1]} channels, "
                f"but must have at most {_MOST_VALUES}"
            )
        object.__setattr__(self, "background", background)

    @property
    def channels(self) -> int:
        """C."""
        return np.shape(self.background)[-1]

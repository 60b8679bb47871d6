"""A painter: a picture in few strokes, as an SVG: `python samples/paint_strokes.py [PICTURE] [-o OUT.svg]`.

Without a picture it paints a yin-yang. `fit_strokes` finds the places, widths, colours and opacities of
quadratic curves with round ends, by the gradients of `StrokePainter`, and each becomes a path of the SVG: the
painter and SVG blend strokes over each other alike.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from laserpath.operators.strokes import (
    Canvas,
    FitSettings,
    FittedStrokes,
    StrokePainter,
    Strokes,
    fit_strokes,
)

Floats = NDArray[np.float64]

_FINE = 4
"""Points along each side of a pixel of the yin-yang: more make its edges smoother."""


def yin_yang(size: int) -> Floats:
    """(size, size, 3): black and white on grey, each pixel the mean of its area."""
    y, x = (np.mgrid[: _FINE * size, : _FINE * size] + 0.5) / (_FINE * size) - 0.5
    radius, above, below = 0.44, np.hypot(x, y + 0.22), np.hypot(x, y - 0.22)
    black = ((x > 0) & (above >= 0.22)) | (below < 0.22)
    black = (black | (above < 0.055)) & (below >= 0.055)
    grey = np.where(np.hypot(x, y) < radius, np.where(black, 0.0, 1.0), 0.6)
    grey = grey.reshape(size, _FINE, size, _FINE).mean(axis=(1, 3))
    return np.repeat(grey[..., None], 3, axis=2)


def picture_of(file: Path, size: int) -> Floats:
    """(rows, columns, 3) 0 to 1, the longer side `size` pixels; what is transparent becomes white."""
    from PIL import Image

    with Image.open(file) as opened:
        image = Image.alpha_composite(Image.new("RGBA", opened.size, "white"), opened.convert("RGBA"))
    image.thumbnail((size, size))
    return np.asarray(image.convert("RGB")) / 255


def painted(target: Floats, settings: FitSettings) -> FittedStrokes:
    """The strokes of a picture on a canvas of its mean colour."""
    canvas = Canvas(target.shape[:2], background=target.mean(axis=(0, 1)))
    return fit_strokes(StrokePainter(canvas), target, settings)


def as_svg(strokes: Strokes, background: Floats, shape: tuple[int, ...]) -> str:
    """An SVG of one path for each stroke. background: (3,).  shape: (rows, columns) of the picture."""
    rows, columns = shape[:2]
    lines = [
        # The middle of the first pixel is at 0, as with the painter.
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-0.5 -0.5 {columns} {rows}">',
        f'<rect x="-0.5" y="-0.5" width="{columns}" height="{rows}" fill="{_hex(background)}"/>',
        '<g fill="none" stroke-linecap="round" stroke-linejoin="round">',
    ]
    for points, width, colour, alpha in zip(
        strokes.points, strokes.width, strokes.colour, strokes.alpha, strict=True
    ):
        first, *others = (f"{x:.2f},{y:.2f}" for x, y in points)
        lines.append(
            f'<path d="M{first} {"QL"[len(others) == 1]}{" ".join(others)}" stroke="{_hex(colour)}" '
            f'stroke-width="{width:.2f}" stroke-opacity="{alpha:.3f}"/>'
        )
    return "\n".join([*lines, "</g>", "</svg>", ""])


def _hex(colour: Floats) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def main(given: list[str] | None = None) -> None:
    """Fit, write, and say how near the strokes come."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", type=Path, nargs="?", help="PNG, JPEG or another; a yin-yang if left out")
    parser.add_argument("-o", "--out", type=Path, default=Path("strokes.svg"), help="(strokes.svg)")
    parser.add_argument("--size", type=int, default=256, help="pixels of the longer side (256)")
    parser.add_argument("--strokes", type=int, default=32, help="how many (32)")
    parser.add_argument("--steps", type=int, default=1000, help="of the fit: more come nearer (1000)")
    parser.add_argument("--straight", action="store_true", help="lines instead of curves")
    options = parser.parse_args(given)
    if options.size < 8:
        parser.error(f"--size is {options.size}, but must be at least 8")
    try:
        rounds = min(8, options.strokes)
        settings = FitSettings(options.strokes, options.steps, rounds, curved=not options.straight)
    except ValueError as error:
        parser.error(str(error))
    try:
        target = picture_of(options.picture, options.size) if options.picture else yin_yang(options.size)
    except OSError as error:
        parser.error(f"{options.picture} cannot be read: {error}")
    found = painted(target, settings)
    options.out.write_text(as_svg(found.strokes, target.mean(axis=(0, 1)), target.shape), encoding="utf-8")
    print(f"mean squared error {found.losses[0]:.4f} of the empty canvas, {found.loss:.2g} of the strokes")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()

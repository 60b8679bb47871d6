"""The picture of docs/questions/strokes.md: `python docs/figures/strokes.py`.

The yin-yang of `samples/paint_strokes.py` by 32 lines, and by 32 curves after each part of the steps.
"""

import runpy
from pathlib import Path

import numpy as np
from PIL import Image

from laserpath.operators.strokes import Canvas, FitSettings, StrokePainter

ROOT = Path(__file__).parents[2]
SIZE, SHOWN, GAP = 256, 170, 6
"""Pixels: of the fit, of each picture as shown, and between them."""

sample = runpy.run_path(str(ROOT / "samples" / "paint_strokes.py"))
target = sample["yin_yang"](SIZE)
painter = StrokePainter(Canvas(target.shape[:2], background=target.mean(axis=(0, 1))))
shown = [target]
for settings in (FitSettings(curved=False), FitSettings(steps=100), FitSettings()):
    found = sample["painted"](target, settings)
    print(f"{settings.steps} steps, {'curves' if settings.curved else 'lines'}: {found.loss:.2g}")
    shown.append(painter.paint(found.strokes))
strip = Image.new("RGB", (len(shown) * (SHOWN + GAP) - GAP, SHOWN), "white")
for k, picture in enumerate(shown):
    one = Image.fromarray((255 * np.clip(picture, 0, 1)).round().astype(np.uint8))
    strip.paste(one.resize((SHOWN, SHOWN), Image.Resampling.LANCZOS), (k * (SHOWN + GAP), 0))
strip.quantize(64, dither=Image.Dither.NONE).save(ROOT / "docs" / "img" / "strokes.png", optimize=True)

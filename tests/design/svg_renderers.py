"""Other programs' renderings of an SVG as coverage: what share of each pixel is black, 0 to 1.

Both blend black over white by the share α of a pixel that they find covered, without gamma: a channel is
255 (1 − α). So α = 1 − channel / 255, and its sum times the pixel's area is the drawn area.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from laserpath.design.target import rasterise
from laserpath.types import Design, Grid

Coverage = NDArray[np.float64]
"""(rows, columns), row 0 the highest y, as in a picture."""

PX = 25.4 / 96
"""mm"""

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--force-color-profile=srgb", "--disable-lcd-text",
]  # fmt: skip


def coverage(png: bytes) -> Coverage:
    """The coverage of a black-on-white image."""
    grey = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.float64).mean(axis=2)
    return 1 - grey / 255


def on_pixels(design: Design, scale: int) -> Coverage:
    """The exact coverage of the page's pixels, `scale` to the px of 1/96 inch."""
    assert design.page is not None
    pitch = PX / scale
    columns, rows = (round(side / pitch) for side in design.page[2:])
    grid = Grid((pitch / 2, pitch / 2), pitch, (rows + 1, columns + 1))
    return rasterise(design, grid).coverage[:rows, :columns][::-1]


def resvg(svg: str, scale: int) -> Coverage:
    """The rendering by resvg."""
    resvg_py = pytest.importorskip("resvg_py", reason="resvg_py is not here: pip install resvg_py")
    png = resvg_py.svg_to_bytes(
        svg_string=svg, background="#ffffff", zoom=scale, dpi=96, skip_system_fonts=True
    )
    return coverage(bytes(png))


class Chromium:
    """A browser that renders images. An `img` may open no other file."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._pages: dict[int, Any] = {}

    def __call__(self, svg: str, scale: int) -> Coverage:
        """The rendering by Chromium."""
        if scale not in self._pages:
            self._pages[scale] = self._browser.new_page(device_scale_factor=scale)
        page = self._pages[scale]
        data = base64.b64encode(svg.encode()).decode()
        page.set_content(
            "<style>*{margin:0;background:white} img{display:block}</style>"
            f'<img src="data:image/svg+xml;base64,{data}">'
        )
        return coverage(page.locator("img").screenshot(scale="device"))


@contextmanager
def chromium(path: str) -> Iterator[Chromium]:
    """A browser for many images. path: of the program."""
    from playwright import sync_api as api

    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield Chromium(browser)
        finally:
            browser.close()

"""Draw the sample designs: `python samples/make_samples.py [FOLDER]` writes the five SVG files.

Coordinates are mm with y down, as SVG has them; a user unit is a mm. The files are the same bytes on
every run. The text's outlines are those of DejaVu Sans, which comes with matplotlib (free licence).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MARGIN = 0.5


def sheet(width: float, height: float, body: Iterable[str], title: str) -> str:
    """An SVG file of width × height mm."""
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}mm" height="{height:g}mm" '
        f'viewBox="0 0 {width:g} {height:g}">\n<title>{title}</title>\n{lines}\n</svg>\n'
    )


def closed(points: Floats, decimals: int = 4) -> str:
    """Path data of a closed polygon."""
    return "M" + " ".join(f"{x:.{decimals}f},{y:.{decimals}f}" for x, y in points) + "Z"


def butterfly() -> str:
    """Radius 10/√2 · √max(f, 0) mm, f(t) = exp(sin t) − 2 cos 4t + sin⁵((2t − π)/24), one turn of t.

    Where f < 0 there is no curve, so the wings meet in a point. Half a wing grows from the centre
    like √t; equal steps of √t near it follow that.
    """
    lobes = []
    fine = np.linspace(0, 2 * np.pi, 200_001)
    positive = np.flatnonzero(_butterfly(fine) > 0)
    for run in np.split(positive, np.flatnonzero(np.diff(positive) > 1) + 1):
        start, end = fine[run[0]], fine[run[-1]]
        # cos packs the samples at both ends, quadratically.
        t = (start + end) / 2 - (end - start) / 2 * np.cos(np.linspace(0, np.pi, 700))
        r = 10 / np.sqrt(2) * np.sqrt(np.maximum(_butterfly(t), 0))
        points = np.stack([r * np.cos(t), -r * np.sin(t)], axis=1)
        lobes.append(np.concatenate([[[0.0, 0.0]], points[1:-1]]))
    everything = np.concatenate(lobes)
    low, high = everything.min(axis=0) - MARGIN, everything.max(axis=0) + MARGIN
    width, height = np.ceil((high - low) * 10) / 10
    data = " ".join(closed(lobe - low) for lobe in lobes)
    return sheet(width, height, [f'<path fill-rule="evenodd" d="{data}"/>'], "butterfly curve, 20 mm")


def _butterfly(t: Floats) -> Floats:
    f: Floats = np.exp(np.sin(t)) - 2 * np.cos(4 * t) + np.sin((2 * t - np.pi) / 24) ** 5
    return f


def pcb() -> str:
    """Pads, tracks with round ends, and vias: white holes on black discs. Six nets, none touching another."""
    tracks = [
        ("0.15", "M0.9,0.8 H6.1"),
        ("0.15", "M0.9,1.2 H2.6 L3,1.6 V3.3 L3.4,3.7 H4.1"),
        ("0.15", "M0.9,1.6 H2 L2.4,2 V3.9"),
        ("0.2", "M0.9,2 H1.3 L1.6,2.3 V4.6 H6.1"),
        ("0.12", "M6.1,1.2 H5 L4.6,1.6 V2.7"),
        ("0.12", "M6.1,1.6 H5.6 L5.3,1.9 V3.9"),
        ("0.3", "M6.1,2.05 V4.6"),
    ]
    pads = [(x, 0.8 + 0.4 * i) for x in (0.9, 6.1) for i in range(4)]
    vias = [(3.0, 2.7), (4.1, 3.7), (2.4, 3.9), (1.6, 4.6), (4.6, 2.7), (5.3, 3.9), (6.1, 4.6)]
    body = ['<g fill="none" stroke="#000" stroke-linecap="round" stroke-linejoin="round">']
    body += [f'<path stroke-width="{width}" d="{data}"/>' for width, data in tracks]
    body += ["</g>", '<g fill="#000">']
    body += [
        f'<rect x="{x - 0.4:g}" y="{y - 0.125:g}" width="0.8" height="0.25" rx="0.05"/>' for x, y in pads
    ]
    body += [f'<circle cx="{x:g}" cy="{y:g}" r="0.35"/>' for x, y in vias]
    body += ["</g>", '<g fill="#fff">']
    body += [f'<circle cx="{x:g}" cy="{y:g}" r="0.15"/>' for x, y in vias]
    body += ["</g>"]
    return sheet(7, 5.5, body, "circuit board with pads, tracks and vias")


STEM = 184 / 2048
"""Width of an upright stroke of DejaVu Sans, in its size."""


def text() -> str:
    """Three lines of letters as outlines, strokes of 0.2, 0.1 and 0.05 mm."""
    font = FontProperties(family="DejaVu Sans")
    paths, baseline = [], 0.0
    for words, stroke in (("laserpath", 0.2), ("strokes of 0.1 mm", 0.1), ("and of 0.05 mm", 0.05)):
        size = stroke / STEM
        baseline += 1.1 * size + 0.1
        outline = TextPath((0.5, 0), words, size=size, prop=font)
        paths.append(f'<path d="{_path_data(outline, baseline)}"/>')
    return sheet(12, round(baseline + 0.8, 1), paths, "text as outlines")


def _path_data(outline: TextPath, baseline: float) -> str:
    """Path data of a matplotlib path, y flipped about the baseline."""
    letters = {TextPath.MOVETO: "M", TextPath.LINETO: "L", TextPath.CURVE3: "Q", TextPath.CURVE4: "C"}
    parts = []
    for points, code in outline.iter_segments(curves=True, simplify=False):
        if code == TextPath.CLOSEPOLY:
            parts.append("Z")
            continue
        xy = np.asarray(points).reshape(-1, 2)
        parts.append(letters[code] + " ".join(f"{x:.4f},{baseline - y:.4f}" for x, y in xy))
    return "".join(parts)


def grating() -> str:
    """Blocks of lines as wide as their gaps: periods of 0.4, 0.3, 0.25, 0.2 and 0.15 mm."""
    body, x = ['<g fill="#000">'], 0.5
    for period in (0.4, 0.3, 0.25, 0.2, 0.15):
        lines = round(1.6 / period)
        for i in range(lines):
            body.append(f'<rect x="{x + i * period:.4f}" y="0.5" width="{period / 2:g}" height="2.5"/>')
            body.append(f'<rect x="{x:.4f}" y="{3.5 + i * period:.4f}" width="1.5" height="{period / 2:g}"/>')
        x += 2.0
    return sheet(10.4, 5.6, [*body, "</g>"], "gratings of period 0.4, 0.3, 0.25, 0.2, 0.15 mm")


def holes() -> str:
    """A washer (even-odd), a plate with white shapes on top, a ring in a ring, a star that winds twice."""
    angle = np.radians(-90 + 144 * np.arange(5))
    star = np.stack([6.3 + 1.3 * np.cos(angle), 1.9 + 1.3 * np.sin(angle)], axis=1)
    body = [
        f'<path fill-rule="evenodd" d="{_circle(1.9, 1.9, 1.4)} {_circle(1.9, 1.9, 0.7)}"/>',
        f'<path fill-rule="nonzero" d="{_circle(1.9, 5.2, 1.4)} {_circle(1.9, 5.2, 1, -1)}"/>',
        '<circle cx="1.9" cy="5.2" r="0.6"/>',
        f'<path fill-rule="evenodd" d="{closed(star, 3)}"/>',
        '<rect x="3.9" y="3.8" width="4" height="2.8" rx="0.3"/>',
        '<circle cx="4.8" cy="4.7" r="0.5" fill="#fff"/>',
        '<rect x="5.7" y="4.2" width="1.8" height="0.15" fill="white"/>',
        '<path d="M6,6.2 L6.6,4.9 L7.2,6.2Z" style="fill:#ffffff"/>',
        '<circle cx="6.6" cy="5.85" r="0.15"/>',
    ]
    return sheet(8.4, 7.1, body, "shapes with holes")


def _circle(x: float, y: float, r: float, turn: int = 1) -> str:
    sweep = 1 if turn > 0 else 0
    return f"M{x - r:g},{y:g}a{r:g},{r:g} 0 1 {sweep} {2 * r:g},0a{r:g},{r:g} 0 1 {sweep} {-2 * r:g},0Z"


SAMPLES: dict[str, Callable[[], str]] = {
    "butterfly.svg": butterfly,
    "pcb.svg": pcb,
    "text.svg": text,
    "grating.svg": grating,
    "holes.svg": holes,
}


def main(folder: Path) -> None:
    for name, draw in SAMPLES.items():
        (folder / name).write_text(draw(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

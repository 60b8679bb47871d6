"""Draws the five line drawings again: `python tests/data/line_drawings/draw.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WIDE, FINE = 0.12, 0.1
"""Line widths, mm."""


def line(points: np.ndarray | list[tuple[float, float]], width: float, closed: bool = False) -> str:
    """A polyline as an SVG path; points: (K, 2) mm, y down."""
    drawn = "L".join(f"{x:.3f},{y:.3f}" for x, y in points)
    return f'<path d="M{drawn}{"Z" if closed else ""}" stroke-width="{width}"/>'


def page(name: str, width: float, height: float, lines: list[str]) -> None:
    """Write an SVG of lines, in mm."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}mm" height="{height}mm" '
        f'viewBox="0 0 {width} {height}">\n'
        '<g fill="none" stroke="black" stroke-linecap="round" stroke-linejoin="round">\n'
    )
    text = head + "\n".join(lines) + "\n</g>\n</svg>\n"
    (Path(__file__).parent / f"{name}.svg").write_text(text, encoding="utf-8")


def circle(x: float, y: float, r: float, count: int = 48) -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return np.stack([x + r * np.cos(t), y + r * np.sin(t)], axis=1)


def circuit() -> list[str]:
    """A doodle of a circuit: two loops with a resistor, a coil, a capacitor, a lamp."""
    zigzag = [(1.5 + 0.15 * k, 1.0 + (0.25 if k % 2 else -0.25)) for k in range(1, 8)]
    top = [(0.6, 2.6), (0.6, 1.0), (1.5, 1.0), *zigzag, (2.7, 1.0), (5.4, 1.0), (5.4, 2.6)]
    coil = [np.stack([1.6 + 0.4 * k + 0.2 * (1 - np.cos(t)), 4.4 - 0.25 * np.sin(t)], axis=1)
            for k in range(4) for t in [np.linspace(0, np.pi, 13)]]  # fmt: skip
    bottom = [(0.6, 2.85), (0.6, 4.4), (1.6, 4.4), *np.concatenate(coil), (3.2, 4.4), (5.4, 4.4), (5.4, 3.4)]
    lamp = [line(circle(5.4, 3.0, 0.4), FINE, True)]
    lamp += [line([(5.4 - d, 3.0 - 0.28), (5.4 + d, 3.0 + 0.28)], FINE) for d in (-0.28, 0.28)]
    plates = [line([(0.2, y), (1.0, y)], WIDE) for y in (2.6, 2.85)]
    middle = [line([(3.4, 1.0), (3.4, 2.2)], WIDE), line([(3.4, 3.0), (3.4, 4.4)], WIDE)]
    diode = [line([(3.1, 2.2), (3.7, 2.2), (3.4, 2.8)], WIDE, True), line([(3.1, 2.8), (3.4, 2.8)], WIDE),
             line([(3.4, 2.8), (3.7, 2.8)], WIDE), line([(3.4, 2.8), (3.4, 3.0)], WIDE)]  # fmt: skip
    return [line(top, WIDE), line(bottom, WIDE), *plates, *lamp, *middle, *diode]


def tree() -> list[str]:
    """A tree that branches six times, its twigs finer."""
    lines: list[str] = []

    def branch(x: float, y: float, angle: float, length: float, depth: int) -> None:
        bend = angle + (0.12 if depth % 2 else -0.12)
        middle = (x + length / 2 * np.sin(angle), y - length / 2 * np.cos(angle))
        end = (middle[0] + length / 2 * np.sin(bend), middle[1] - length / 2 * np.cos(bend))
        lines.append(line([(x, y), middle, end], WIDE if depth > 2 else FINE))
        if depth:
            branch(*end, bend - 0.45, 0.74 * length, depth - 1)
            branch(*end, bend + 0.38, 0.78 * length, depth - 1)

    branch(4.0, 7.6, 0.0, 1.9, 5)
    return [line([(2.4, 7.6), (5.6, 7.6)], WIDE), *lines]


def cube() -> list[str]:
    """A cube whose two visible sides are shaded by hatching."""
    a, b, c, d = (1.0, 2.0), (3.6, 3.0), (3.6, 6.2), (1.0, 5.0)
    e, f, g = (6.2, 2.0), (6.2, 5.0), (3.6, 1.1)
    lines = [line([a, b, c, d], WIDE, True), line([b, e, f, c], WIDE), line([a, g, e], WIDE)]
    for t in np.linspace(0, 1, 14)[1:-1]:
        top, foot = np.array(a) + t * np.subtract(b, a), np.array(d) + t * np.subtract(c, d)
        lines.append(line([top + 0.06 * (foot - top), foot - 0.06 * (foot - top)], FINE))
    for t in np.linspace(0, 1, 7)[1:-1]:
        left, right = np.array(b) + t * np.subtract(c, b), np.array(e) + t * np.subtract(f, e)
        lines.append(line([left + 0.08 * (right - left), right - 0.08 * (right - left)], FINE))
    return lines


def spirals() -> list[str]:
    """Loops as in handwriting, a spiral beside them, and a wave below."""
    t = np.linspace(0, 10 * np.pi, 400)
    loops = np.stack([0.8 + 0.16 * t - 0.42 * np.sin(t), 2.0 + 0.7 * np.cos(t) + 0.1 * np.sin(t / 4)], axis=1)
    s = np.linspace(0.5, 8 * np.pi, 300)
    spiral = np.stack([7.6 + 0.05 * s * np.cos(s), 2.0 + 0.05 * s * np.sin(s)], axis=1)
    x = np.linspace(0.6, 8.6, 200)
    wave = np.stack([x, 3.9 + 0.3 * np.sin(3 * x) * np.cos(0.4 * x)], axis=1)
    return [line(loops, WIDE), line(spiral, FINE), line(wave, WIDE)]


def leaf() -> list[str]:
    """A leaf with a stalk, a midrib and veins that fork."""
    t = np.linspace(0, 1, 60)
    half = 1.7 * np.sin(np.pi * t**0.8) * (1 - 0.25 * t)
    x = 0.8 + 6 * t
    outline = np.concatenate([np.stack([x, 2.5 - half], axis=1), np.stack([x, 2.5 + half], axis=1)[-2:0:-1]])
    lines = [line(outline, WIDE, True), line([(0.2, 2.7), (0.8, 2.5), (6.4, 2.5)], WIDE)]
    for k, at in enumerate(np.linspace(0.1, 0.75, 7)):
        for side in (-1, 1):
            reach = 0.72 * float(np.interp(at + 0.1, t, half))
            root = np.array([0.8 + 6 * at + (0.15 if side > 0 else 0), 2.5])
            tip = root + np.array([0.75 * reach, side * reach])
            bend = root + np.array([0.3 * reach, side * 0.55 * reach])
            lines.append(line([root, bend, tip], FINE))
            if k % 2:
                lines.append(line([bend, bend + np.array([0.5 * reach, side * 0.12 * reach])], FINE))
    return lines


if __name__ == "__main__":
    page("circuit", 6.2, 5.2, circuit())
    page("tree", 8, 8, tree())
    page("cube", 7.2, 7.2, cube())
    page("spirals", 9.4, 4.8, spirals())
    page("leaf", 7.4, 5, leaf())

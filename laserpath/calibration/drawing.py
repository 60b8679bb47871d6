"""A chart as a labelled SVG drawing, in mm; only this module flips y.

Strokes of items are as wide as the profiles of the process predict, so that the drawing looks like the print
under the microscope; invisible strokes are thin and dashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import svgwrite
from svgwrite.container import Group

from laserpath.calibration.chart_data import ChartData
from laserpath.calibration.items import Item
from laserpath.calibration.program import Stroke

_INK, _MARK, _SHOWN, _HIDDEN, _PAPER = "#222222", "#9aa5ad", "#86216b", "#c9a0bd", "#ffffff"
_DECIMALS = 4
_ON_SCREEN = "@media screen { svg:root { width: 100vw; height: 100vh } }"
_LEFT, _ABOVE, _BELOW = 10.0, 7.0, 10.0
"""Margins for text, in letter heights."""


def chart_svg(chart: ChartData) -> str:
    """The chart with its rows and columns labelled, as the text of an SVG file."""
    width, height = chart.size
    letter = max(width, height) / 75
    left, above, below = (n * letter for n in (_LEFT, _ABOVE, _BELOW))
    whole = width + left + letter, height + above + below
    drawing = svgwrite.Drawing(
        size=(f"{whole[0]:.4f}mm", f"{whole[1]:.4f}mm"),
        viewBox=f"{-left:.4f} {-above:.4f} {whole[0]:.4f} {whole[1]:.4f}",
        debug=False,
    )
    drawing.set_desc(title="Calibration chart", desc="one unit is one mm")
    drawing.embed_stylesheet(_ON_SCREEN)
    drawing.add(drawing.rect((-left, -above), whole, fill=_PAPER))
    _add_strokes(drawing, chart.strokes, chart.shown(), height, chart.process.spot.fwhm)
    _add_words(drawing, chart, letter)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + str(drawing.tostring()) + "\n"


def _add_strokes(
    drawing: svgwrite.Drawing,
    strokes: Sequence[Stroke],
    wide: Mapping[str, float],
    height: float,
    fwhm: float,
) -> None:
    group: Group = drawing.g(fill="none", stroke_linecap="round", stroke_linejoin="round", id="chart")
    for stroke in strokes:
        points = "M" + " ".join(
            f"{x:.{_DECIMALS}f},{height - y:.{_DECIMALS}f}" for x, y in stroke.xy.tolist()
        )
        if not stroke.of:
            group.add(drawing.path(points, stroke=_MARK, stroke_width=round(fwhm, 5)))
        elif wide[stroke.of] > 0:
            style = {"stroke": _SHOWN, "stroke_width": round(min(wide[stroke.of], 4 * fwhm), 5)}
            group.add(drawing.path(points, id=_id(stroke, group), **style))
        else:
            dash = f"{fwhm:.4f},{fwhm:.4f}"
            style = {"stroke": _HIDDEN, "stroke_width": round(fwhm / 3, 5), "stroke_dasharray": dash}
            group.add(drawing.path(points, id=_id(stroke, group), **style))
    drawing.add(group)


def _id(stroke: Stroke, group: Group) -> str:
    """An id that is not in the group yet: a wedge has two strokes."""
    taken = {element.attribs.get("id") for element in group.elements}
    return stroke.of if stroke.of not in taken else f"{stroke.of}b"


def _add_words(drawing: svgwrite.Drawing, chart: ChartData, letter: float) -> None:
    """The speeds or levels above their columns, labels to the left of rows, and a description below."""
    width, height = chart.size
    style = {"font_family": "sans-serif", "fill": _INK}

    def say(text: str, x: float, y: float, size: float = 1.0, anchor: str = "start") -> None:
        place = {"insert": (round(x, _DECIMALS), round(y, _DECIMALS)), "text_anchor": anchor}
        drawing.add(drawing.text(text, font_size=round(size * letter, 5), **place, **style))

    rows: dict[str, list[Item]] = {}
    for item in chart.items:
        rows.setdefault(item.id[0], []).append(item)
    first = next(iter(rows.values()))
    say("speed, mm/s (first row)", first[0].x - first[0].length / 2, -4.6 * letter, 1.1)
    for item in first:
        say(f"{item.speed:.3g}", item.x, -2.9 * letter, 1.1, "middle")
    for name, items in rows.items():
        y = height - float(np.mean([items[0].y])) + 0.35 * letter
        say(f"{name}: {_what(items)}", -_LEFT * letter + 0.5 * letter, y, 1.1)
        for item, head in zip(items, _heads(items), strict=False):
            top = item.y + (item.length / 2 if item.along == "y" else 0.0)
            say(head, item.x, height - top - 0.6 * letter, 0.9, "middle")
    low, high = chart.energies
    facts = (
        f"{len(chart.items)} items, {width:.4g} × {height:.4g} mm, {_time(chart.write_time)} on "
        f"{chart.process.machine.name}",
        f"line energies {_short(low)} to {_short(high)} mJ/mm; the same along each diagonal of the lines"
        if chart.process.resin.order == 1 else "the same dose along each diagonal of the lines",
        f"drawn for a critical dose of {chart.process.resin.critical_dose * 100:.4g} mJ/cm² and a spot of "
        f"{chart.process.spot.fwhm * 1000:.4g} µm; dashed: would not show"
        if chart.process.resin.order == 1 else "dashed: would not show",
        "wedges: the pair of lines meets at the right; marks every 10 FWHM from that tip",
    )  # fmt: skip
    for k, line in enumerate(facts):
        say(line, 0, height + (2.2 + 1.8 * k) * letter, 1.2)


def _heads(items: Sequence[Item]) -> list[str]:
    """Of each line, if the heads of the columns do not do: speeds along y, or levels if they differ."""
    if items[0].kind != "line":
        return []
    if items[0].along == "y":
        return [f"{item.speed:.3g} mm/s" for item in items]
    return [f"level {item.level}" for item in items] if len({item.level for item in items}) > 1 else []


def _what(items: Sequence[Item]) -> str:
    powers = sorted({item.power for item in items})
    if items[0].kind == "line":
        return f"{powers[0]:.3g} mW" if len(powers) == 1 else "levels"
    return "dots" if items[0].kind == "dot" else "wedges"


def _short(value: float) -> str:
    """Three significant digits, without an exponent."""
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"

"""The report: one HTML file that shows what will cure, where it will miss and why.

`render` makes the page of a plan, `render_exposure` that of any program; `data` has the records they take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import gcode
from laserpath.base.errors import figure
from laserpath.report.data import Column, PageData, PageText, Picture, ShownProgram, Underlay
from laserpath.types.results import Measurement

__all__ = [
    "Column", "ShownProgram", "PageData", "PageText", "Picture", "headline_of", "in_notebook", "render",
    "render_colours", "render_exposure", "Underlay",
]  # fmt: skip

# The page imports its template engine only here: a plan without a report need not wait for it.


def render(data: PageData, text: PageText, run: gcode.motion.Executed) -> str:
    """The report of a plan as the text of one HTML file without outside references.

    text: name, header and project; warnings and subtitle come from the plan.
    run: the program as the controller executes it.
    """
    from laserpath.report.pages import planned_page

    width, height = data.design.size
    quality = f" · {data.settings.quality} quality" if data.settings else ""
    subtitle = (
        f"laserpath report · {figure(width, 4)} × {figure(height, 4)} mm · spot {data.fwhm:g} mm{quality}"
    )
    return planned_page(
        data.exposed(run), data, replace(text, subtitle=subtitle, warnings=data.report.warnings)
    )


def render_colours(
    name: str, shown: Sequence[tuple[PageData, gcode.motion.Executed]], board: Underlay | None = None
) -> str:
    """The page of a drawing in several colours; shown: the plan of each, and its execution.

    board: of which they are the layers, if they are no colours.
    """
    from laserpath.report.pages import colours_page

    return colours_page(name, shown, board)


def in_notebook(data: PageData, run: gcode.motion.Executed) -> str:
    """The verdict on a plan and the picture of what will cure, as HTML without scripts or references."""
    from laserpath.report.pictures import cured

    level, headline = headline_of(data)
    picture = cured(data.exposed(run), data.done)
    return (
        '<figure style="margin: 0; max-width: 40em">'
        f'<img src="{picture.source}" alt="{escape(picture.alt)}" style="width: 100%; background: white">'
        f"<figcaption><b>{escape(data.design.name)}: {level}.</b> {escape(headline)}</figcaption></figure>"
    )


def headline_of(data: PageData) -> tuple[str, str]:
    """The verdict on a plan: 'good', 'fair' or 'poor', and the reason in one line."""
    from laserpath.report.verdict import judge

    verdict = judge(data)
    return verdict.level, verdict.headline


def render_exposure(exposed: ShownProgram, text: PageText, executed: Measurement | None = None) -> str:
    """The page of any program; executed: measured against its design, if it has one."""
    from laserpath.report.pages import exposure_page

    return exposure_page(exposed, executed, text)
